//! Generated rows: what `[[workload.table]]` puts into a table, the same on every engine for the same seed.

use std::fmt::Write as _;

use driver::{Error, RowSink, Value};
use load::Rng;

use crate::eval::{Expr, Scalar, Slot, int};
use crate::expression::{Names, Parser, Token};
use crate::fault::Fault;
use crate::program::{AUTOMATIC, DEFAULT_SEED, Variables};

/// What fills one column.
#[derive(Debug, Clone, PartialEq)]
enum Generator {
    Expr(Expr),
    /// Lower-case letters, so many.
    Letters(i64, i64),
    /// `#` is a digit, `@` a letter, all else itself.
    Pattern(String),
    Text(String),
    Pick(Vec<Generator>),
    /// Days since 1970-01-01.
    Date(i64, i64),
    /// Seconds since then.
    Timestamp(i64, i64),
    Null(f64, Box<Generator>),
    Concat(Vec<Generator>),
}

const GENERATORS: [&str; 7] = ["text", "pattern", "pick", "date", "timestamp", "null", "concat"];

#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedTable {
    pub name: String,
    pub rows: u64,
    pub columns: Vec<(String, Column)>,
}

/// One column, with the variables of its expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    generator: Generator,
    slots: Vec<Scalar>,
}

/// Reads what fills a column; places of faults are in `text`.
pub fn column(text: &str, rows: u64, variables: &Variables) -> Result<Column, Fault> {
    // Behind the experiment's variables, which do not change from row to row.
    let names: Vec<&str> = variables.names().iter().map(String::as_str).chain(["row", "rows"]).collect();
    let visible = |name: &str| !AUTOMATIC.contains(&name) || name == "scale" || name == "default_seed";
    let resolve = |name: &str| names.iter().position(|known| *known == name && visible(name));
    let known = || names.iter().filter(|name| visible(name)).map(|name| (*name).to_owned()).collect();
    let names_of = Names { resolve: &resolve, known: &known, bare: true, default_seed: DEFAULT_SEED };
    let mut parser = Parser::new(text, 0, &names_of)?;
    let generator = generator(&mut parser)?;
    if parser.token != Token::End {
        return Err(parser.unexpected("the end"));
    }
    let mut slots = variables.initial.clone();
    slots.extend([Scalar::Int(0), Scalar::Int(rows as i64)]);
    Ok(Column { generator, slots })
}

fn generator(parser: &mut Parser<'_>) -> Result<Generator, Fault> {
    match parser.token.clone() {
        Token::Text(text) => {
            parser.advance()?;
            Ok(Generator::Text(text.to_owned()))
        }
        // NULL alone is a value of an expression, and `null(...)` is a generator.
        Token::Word(word) if GENERATORS.contains(&word) && parser.is_called() => call(parser, word),
        _ => parser.expression(0).map(Generator::Expr),
    }
}

fn call(parser: &mut Parser<'_>, word: &str) -> Result<Generator, Fault> {
    let at = parser.at;
    parser.advance()?;
    parser.expect_sign("(")?;
    let mut arguments = Vec::new();
    while !parser.is_sign(")") {
        if !arguments.is_empty() {
            parser.expect_sign(",")?;
        }
        arguments.push(generator(parser)?);
    }
    parser.advance()?;
    built(word, arguments).ok_or_else(|| {
        let expected = match word {
            "text" => "expected text(n) or text(least, most), 0 to 65535 letters",
            "pattern" => "expected pattern('##-@@')",
            "pick" => "expected pick('NEW', 'PAID', ...), constants",
            "date" => "expected date('1950-01-01', '2005-12-31'), the earlier day first",
            "timestamp" => "expected timestamp('2020-01-01', '2020-12-31 23:59:59'), the earlier time first",
            "null" => "expected null(0.3, text(10, 200)): a probability, and what else there is",
            _ => "expected concat('user', row)",
        };
        Fault::new(at, format!("these arguments do not fit `{word}`"), expected)
    })
}

fn built(word: &str, mut arguments: Vec<Generator>) -> Option<Generator> {
    const LETTERS_MAX: i64 = 65_535;
    let whole = |generator: &Generator| match generator {
        Generator::Expr(Expr::Constant(Scalar::Int(number))) => Some(*number),
        _ => None,
    };
    let moment = |generator: &Generator| match generator {
        Generator::Text(text) => seconds_of(text),
        _ => None,
    };
    let is_constant =
        |generator: &Generator| matches!(generator, Generator::Text(_) | Generator::Expr(Expr::Constant(_)));
    let ordered = |low: i64, high: i64| (low <= high).then_some((low, high));
    match (word, arguments.as_slice()) {
        ("text", [one] | [one, _]) => {
            let (low, high) = ordered(whole(one)?, whole(arguments.last()?)?)?;
            (0 <= low && high <= LETTERS_MAX).then_some(Generator::Letters(low, high))
        }
        ("pattern", [Generator::Text(text)]) => Some(Generator::Pattern(text.clone())),
        ("pick", [_, ..]) if arguments.iter().all(is_constant) => Some(Generator::Pick(arguments)),
        ("date", [from, to]) => {
            let (from, to) = ordered(moment(from)?.div_euclid(DAY_S), moment(to)?.div_euclid(DAY_S))?;
            Some(Generator::Date(from, to))
        }
        ("timestamp", [from, to]) => {
            ordered(moment(from)?, moment(to)?).map(|(from, to)| Generator::Timestamp(from, to))
        }
        ("null", [Generator::Expr(Expr::Constant(share)), _]) => {
            let share = crate::eval::double(*share).ok().filter(|share| (0.0..=1.0).contains(share))?;
            Some(Generator::Null(share, Box::new(arguments.pop()?)))
        }
        ("concat", [_, ..]) => Some(Generator::Concat(arguments)),
        _ => None,
    }
}

const DAY_S: i64 = 86_400;

/// `YYYY-MM-DD[ hh:mm:ss]` in seconds since 1970.
fn seconds_of(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, sign: char| -> Option<[i64; 3]> {
        let numbers: Option<Vec<i64>> = text.split(sign).map(|part| part.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let fits =
        (1..=9999).contains(&year) && (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    let days = days_of(year, month, day);
    // A day that the calendar does not have comes back as another one.
    (fits && (1..=12).contains(&month) && date_of(days) == (year, month, day))
        .then(|| days * DAY_S + hour * 3600 + minute * 60 + second)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar (Howard Hinnant, "chrono-compatible date algorithms").
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days - era * 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// A value under way; its text lies in the buffer.
enum Made {
    Null,
    Int(i64),
    Text,
}

impl GeneratedTable {
    /// Gives one row to the sink: drawn from the seed, the table, the column and the row, and nothing else.
    pub fn row(&self, seed: u64, table: u64, row: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        let mut made = Vec::with_capacity(self.columns.len());
        let mut texts = vec![String::new(); self.columns.len()];
        for (number, ((name, column), text)) in self.columns.iter().zip(&mut texts).enumerate() {
            let mut rng = Rng::stream(seed, (table << 32) | number as u64, row);
            let value = column.make(row + 1, &mut rng, text);
            made.push(value.map_err(|why| Error::Protocol(format!("{}.{name}, row {}: {why}", self.name, row + 1)))?);
        }
        sink(&made.iter().zip(&texts).map(value_of).collect::<Vec<_>>())
    }
}

fn value_of<'a>((made, text): (&Made, &'a String)) -> Value<'a> {
    match made {
        Made::Null => Value::Null,
        Made::Int(number) => Value::Int(*number),
        Made::Text => Value::Text(text.as_bytes()),
    }
}

impl Column {
    fn make(&self, row: u64, rng: &mut Rng, text: &mut String) -> Result<Made, &'static str> {
        let row_slot = self.slots.len() - 2;
        let value = |slot: usize| if slot == row_slot { Scalar::Int(row as i64) } else { self.slots[slot] };
        let slots: Vec<Slot> = (0..self.slots.len()).map(|slot| Slot::new(value(slot))).collect();
        self.generator.make(&slots, rng, text)
    }
}

impl Generator {
    fn make(&self, slots: &[Slot], rng: &mut Rng, text: &mut String) -> Result<Made, &'static str> {
        let letter = |rng: &mut Rng| char::from(b'a' + rng.below(26) as u8);
        let between = |rng: &mut Rng, low: i64, high: i64| low + rng.below((high - low + 1) as u64) as i64;
        match self {
            Generator::Expr(expr) => return scalar(expr.evaluate(slots, rng).map_err(|why| why.0)?, text),
            Generator::Text(fixed) => text.push_str(fixed),
            Generator::Letters(low, high) => (0..between(rng, *low, *high)).for_each(|_| text.push(letter(rng))),
            Generator::Pattern(pattern) => pattern.chars().for_each(|sign| match sign {
                '#' => text.push(char::from(b'0' + rng.below(10) as u8)),
                '@' => text.push(letter(rng)),
                other => text.push(other),
            }),
            Generator::Pick(choices) => {
                return choices[rng.below(choices.len() as u64) as usize].make(slots, rng, text);
            }
            Generator::Date(low, high) => write_date(text, between(rng, *low, *high)),
            Generator::Timestamp(low, high) => {
                let at = between(rng, *low, *high);
                let second = at.rem_euclid(DAY_S);
                write_date(text, at.div_euclid(DAY_S));
                let _ = write!(text, " {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            }
            Generator::Null(share, _) if rng.unit() < *share => return Ok(Made::Null),
            Generator::Null(_, other) => return other.make(slots, rng, text),
            Generator::Concat(parts) => {
                for part in parts {
                    if let Made::Int(number) = part.make(slots, rng, text)? {
                        let _ = write!(text, "{number}");
                    }
                }
            }
        }
        Ok(Made::Text)
    }
}

fn write_date(text: &mut String, days: i64) {
    let (year, month, day) = date_of(days);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}");
}

fn scalar(value: Scalar, text: &mut String) -> Result<Made, &'static str> {
    match value {
        Scalar::Null => Ok(Made::Null),
        Scalar::Double(number) => {
            let _ = write!(text, "{number}");
            Ok(Made::Text)
        }
        Scalar::Bool(flag) => Ok(Made::Int(i64::from(flag))),
        other => int(other).map(Made::Int).map_err(|why| why.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn made(text: &str, row: u64) -> String {
        let variables = Variables::new(&BTreeMap::from([("hot".to_owned(), Scalar::Double(1.5))]));
        let column = column(text, 100, &variables).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        let mut out = String::new();
        match column.make(row, &mut Rng::stream(7, 0, row), &mut out).unwrap() {
            Made::Null => "NULL".to_owned(),
            Made::Int(number) => number.to_string(),
            Made::Text => out,
        }
    }

    #[test]
    fn columns_hold_what_their_generators_make() {
        assert_eq!(made("row", 5), "5");
        assert_eq!(made("rows - row", 5), "95");
        assert_eq!(made("hot * 2 + 0.25", 5), "3.25");
        assert_eq!(made("concat('user', row, '-', 'x')", 12), "user12-x");
        assert_eq!(made("null", 1), "NULL");
        assert_eq!(made("null(1, row)", 1), "NULL");
        assert_eq!(made("null(0, row)", 3), "3");
        for row in 1..200 {
            let text = made("text(2, 4)", row);
            assert!((2..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase()), "{text}");
            let code = made("pattern('##-@')", row);
            let bytes = code.as_bytes();
            assert!(bytes.len() == 4 && bytes[0].is_ascii_digit() && bytes[2] == b'-' && bytes[3].is_ascii_lowercase());
            assert!(["NEW", "2"].contains(&made("pick('NEW', 2)", row).as_str()));
            let day = made("date('1999-12-30', '2000-03-01')", row);
            assert!(("1999-12-30"..="2000-03-01").contains(&day.as_str()), "{day}");
            let time = made("timestamp('2020-02-29', '2020-02-29 00:00:59')", row);
            assert!(time.starts_with("2020-02-29 00:00:"), "{time}");
        }
        assert_eq!(made("text(8)", 3), made("text(8)", 3));
        assert_ne!(made("text(8)", 3), made("text(8)", 4));
    }

    #[test]
    fn what_no_generator_takes_is_refused() {
        let variables = Variables::new(&BTreeMap::new());
        for (text, expected) in [
            ("text(5, 2)", "these arguments do not fit `text`"),
            ("date('2001-02-30', '2002-01-01')", "these arguments do not fit `date`"),
            ("txt(5)", "unknown function `txt`"),
            ("rwo", "unknown variable `rwo`"),
            ("row row", "`row` was not expected"),
            ("pick(row)", "these arguments do not fit `pick`"),
        ] {
            assert_eq!(column(text, 1, &variables).unwrap_err().what, expected, "{text}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!((seconds_of("1970-01-01"), seconds_of("2000-03-01")), (Some(0), Some(951_868_800)));
        (-200_000..200_000).step_by(37).for_each(|days| {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        });
    }
}
