//! The words behind `prepare`, `bench`, `check` and `cleanup`, taken apart.
//!
//! sysbench's users write `--opt=value`, others also `--opt value`, and both write `_` or `-`;
//! which word is a value depends on the options. The meaning of an option plays no part
//! here.

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A value, always.
    Value,
    /// Nothing, or `on`, `off` or a number.
    Switch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Not an option: a workload, or sysbench's `run`.
    Plain(String),
    Option(Given),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// As it was typed, for messages.
    pub typed: String,
    /// Without dashes in front, and with `-` for `_`.
    pub name: String,
    /// `on` where a switch stood alone.
    pub value: String,
}

/// `--Table_Size` and `table-size` are the same option.
pub fn normal(name: &str) -> String {
    name.trim_start_matches('-').replace('_', "-").to_ascii_lowercase()
}

/// Takes the words apart. `takes` returns what a known option takes; an unknown one is left for
/// the caller to complain about, with whatever follows its `=`.
pub fn take_apart(words: &[String], takes: impl Fn(&str) -> Option<Takes>) -> Result<Vec<Word>, String> {
    let mut taken = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-').filter(|rest| !rest.is_empty()))
        else {
            taken.push(Word::Plain(word.clone()));
            continue;
        };
        let (typed, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let name = normal(typed);
        let value = match (value, takes(&name)) {
            (Some(value), _) => value,
            (None, Some(Takes::Value)) => rest
                .next_if(|next| !next.starts_with("--"))
                .cloned()
                .ok_or_else(|| format!("--{typed} needs a value"))?,
            (None, Some(Takes::Switch)) => rest.next_if(|next| is_state(next)).cloned().unwrap_or("on".to_owned()),
            (None, None) => "on".to_owned(),
        };
        taken.push(Word::Option(Given { typed: format!("--{typed}"), name, value }));
    }
    Ok(taken)
}

/// What may follow a switch and still belong to it.
fn is_state(word: &str) -> bool {
    switch(word).is_ok() || !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit())
}

/// Reads `on` or `off`, in the spellings that sysbench and people use for them.
pub fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(format!("`on` or `off` was expected, not `{text}`")),
    }
}

/// The options of a file in sysbench's form: `name=value` a line, `#` for comments.
pub fn of_config_file(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let option = |line: &str| match line.split_once('=') {
        Some((name, value)) => format!("--{}={}", name.trim().trim_start_matches('-'), value.trim()),
        None => format!("--{}", line.trim_start_matches('-')),
    };
    lines.map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(name: &str) -> Option<Takes> {
        match name {
            "threads" | "table-size" => Some(Takes::Value),
            "histogram" => Some(Takes::Switch),
            _ => None,
        }
    }

    /// Options as `name=value`, plain words as they are.
    fn check(line: &str, expected: &[&str]) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parts = take_apart(&words, takes).unwrap().into_iter().map(|word| match word {
            Word::Plain(word) => word,
            Word::Option(given) => format!("{}={}", given.name, given.value),
        });
        assert_eq!(parts.collect::<Vec<_>>(), expected, "{line}");
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        check("oltp --threads=4 run", &["oltp", "threads=4", "run"]);
        check("oltp --threads 4 run", &["oltp", "threads=4", "run"]);
        check("--table_size=10 --TABLE-SIZE 20", &["table-size=10", "table-size=20"]);
        check("--histogram run", &["histogram=on", "run"]);
        check("--histogram off run", &["histogram=off", "run"]);
        check("--threads -1", &["threads=-1"]);
        check("--unknown run", &["unknown=on", "run"]);
        check("--threads=", &["threads="]);
    }

    #[test]
    fn a_missing_value_is_named() {
        let words = ["--threads", "--histogram"].map(str::to_owned);
        assert_eq!(take_apart(&words, takes).unwrap_err(), "--threads needs a value");
    }

    #[test]
    fn a_config_file_gives_options() {
        let text = "# a comment\nthreads=8\n\nmysql-user = app\nhistogram\n";
        assert_eq!(of_config_file(text), ["--threads=8", "--mysql-user=app", "--histogram"]);
    }
}
