//! Rules of the data, and how a broken one is shown.

pub const SQL: &str = include_str!("../conditions.sql");

/// Rows of one query that are shown; a broken table would have millions.
pub const ROWS_MAX: usize = 1000;
/// Rows that a violation shows.
const ROWS_SHOWN: usize = 5;

pub struct Rule {
    pub name: &'static str,
    pub text: &'static str,
}

pub const fn rule(name: &'static str, text: &'static str) -> Rule {
    Rule { name, text }
}

/// `rule (its text) is broken in N places: (w 1, d 2: -1), …; by: SELECT …`
pub fn violation(rule: &Rule, keys: &[&str], place: usize, broken: &[&Vec<Option<String>>], sql: &str) -> String {
    let shown = |row: &&Vec<Option<String>>| {
        let cell = |at: usize| row[at].as_deref().unwrap_or("NULL");
        let named: Vec<String> = keys.iter().enumerate().map(|(at, key)| format!("{key} {}", cell(at))).collect();
        format!("({}: {})", named.join(", "), cell(keys.len() + place))
    };
    let first: Vec<String> = broken.iter().take(ROWS_SHOWN).map(shown).collect();
    let more = if broken.len() > ROWS_SHOWN { ", …" } else { "" };
    let places = match broken.len() {
        1 => "1 place".to_owned(),
        ROWS_MAX.. => format!("{ROWS_MAX} places or more"),
        count => format!("{count} places"),
    };
    let Rule { name, text } = rule;
    format!("{name} ({text}) is broken in {places}: {}{more}; by: {}", first.join(", "), one_line(sql))
}

pub fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// 12,345
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
