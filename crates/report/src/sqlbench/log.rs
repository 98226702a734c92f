//! Reads the files that the classic suite left: `RUN-*`, its summary of a whole run.
//!
//! Only figures are taken. What does not read as such a file is an error that names its line.

use super::table::{Column, Operation, Program};

/// A line that is not what it has to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: line {line}: {what}, expected {expected}")]
pub struct LogError {
    file: String,
    line: usize,
    what: String,
    expected: String,
}

/// What names of summaries begin with.
const PREFIX: &str = "RUN-";
const TOTALS_TITLE: &str = "Totals per operation:";
const TOTALS: &str = "TOTALS";
/// Options that say where and as whom a run was made, not what it did.
const SILENT_ARGUMENTS: [&str; 10] =
    ["--force", "--log", "--use-old", "--server=", "--cmp=", "--user=", "--pass", "--machine=", "--dir=", "--comment"];

/// The text of one summary as a column; `file` is its name without folders.
pub fn column(file: &str, text: &str) -> Result<Column, LogError> {
    // Editors put a byte order mark before the first line.
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = Lines { file, lines: text.lines().enumerate(), last: 0 };
    let mut column = Column { name: stem(file).to_owned(), ..Column::default() };
    read_header(&mut lines, &mut column)?;
    read_programs(&mut lines, &mut column)?;
    read_operations(&mut lines, &mut column)?;
    Ok(column)
}

/// `RUN-mysql-5.5-cmp-mysql,pg` is the column `mysql-5.5`.
fn stem(file: &str) -> &str {
    let name = file.strip_prefix(PREFIX).unwrap_or(file);
    name.split_once("-cmp-").map_or(name, |(stem, _)| stem)
}

/// The lines of a file with their numbers.
struct Lines<'a> {
    file: &'a str,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// Number of the line that was taken last.
    last: usize,
}

impl<'a> Lines<'a> {
    /// The next line; an error at the end of the file, where more was `expected`.
    fn take(&mut self, expected: &str) -> Result<&'a str, LogError> {
        match self.lines.next() {
            Some((index, line)) => {
                self.last = index + 1;
                Ok(line.trim_end())
            }
            None => Err(LogError { line: self.last + 1, ..self.error("the file ends", expected) }),
        }
    }

    /// What is wrong with the line that was taken last.
    fn error(&self, what: impl Into<String>, expected: &str) -> LogError {
        LogError { file: self.file.to_owned(), line: self.last, what: what.into(), expected: expected.to_owned() }
    }

    fn odd(&self, line: &str, expected: &str) -> LogError {
        let begin: String = line.chars().take(60).collect();
        self.error(format!("`{begin}`"), expected)
    }
}

/// Labels and values, to the first empty line.
fn read_header(lines: &mut Lines, column: &mut Column) -> Result<(), LogError> {
    const EXPECTED: &str = "a heading such as `Server version:      MySQL 5.5.30`";
    let (mut is_suite, mut in_comments) = (false, false);
    loop {
        let line = lines.take("a heading and an empty line below it")?;
        if line.is_empty() && !is_suite {
            return Err(lines.odd(line, "`Benchmark DBD suite:` first"));
        }
        if line.is_empty() {
            return Ok(());
        }
        let Some((label, value)) = line.split_once(':').filter(|(label, _)| !label.starts_with(' ')) else {
            // Comments may run over several lines.
            if !in_comments {
                return Err(lines.odd(line, EXPECTED));
            }
            column.comments = format!("{} {}", column.comments, line.trim()).trim().to_owned();
            continue;
        };
        if !is_suite && label != "Benchmark DBD suite" {
            return Err(lines.odd(line, "`Benchmark DBD suite:` first"));
        }
        is_suite = true;
        in_comments = label == "Comments";
        let value = value.trim().to_owned();
        match label {
            "Benchmark DBD suite" => column.suite = value,
            "Arguments" => column.arguments = told_arguments(&value),
            "Comments" => column.comments = value,
            "Limits from" => column.limits_from = value,
            "Server version" => column.version = value,
            _ => {}
        }
    }
}

/// What the work was shaped by, with single blanks.
fn told_arguments(arguments: &str) -> String {
    let mut told = Vec::new();
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        let silent = SILENT_ARGUMENTS.iter().any(|silent| word.starts_with(silent));
        if !silent {
            told.push(word);
        } else if let Some(quote) = opens_quote(word) {
            // The rest of a text in quotes belongs to the option.
            words.by_ref().find(|word| word.ends_with(quote));
        }
    }
    told.join(" ")
}

/// The quote that this word opens and does not close.
fn opens_quote(word: &str) -> Option<char> {
    ['\'', '"'].into_iter().find(|quote| word.matches(*quote).count() == 1)
}

/// The programs with their total times, to the title of the operations.
fn read_programs(lines: &mut Lines, column: &mut Column) -> Result<(), LogError> {
    loop {
        let line = lines.take(TOTALS_TITLE)?;
        if line == TOTALS_TITLE {
            return Ok(());
        }
        // Sentences about successes and marks stand between; a program's line has its colon before any blank.
        let Some((name, rest)) = line.split_once(": ").filter(|(name, _)| !name.contains(' ')) else { continue };
        let told = rest.trim().to_lowercase();
        let Some((before, time)) = told.split_once("total time:") else {
            // It was skipped, or it failed, and contributes nothing.
            column.not_run.insert(name.to_owned(), rest.trim().to_owned());
            continue;
        };
        // Some versions of the suite put a count of tests before the time.
        let estimated = before.split_whitespace().any(|word| word == "estimated");
        let seconds = time.split_whitespace().next().and_then(seconds);
        let seconds = seconds.ok_or_else(|| lines.odd(line, "seconds behind `Total time:`, none below zero"))?;
        if column.programs.insert(name.to_owned(), Program { seconds, estimated }).is_some() {
            return Err(lines.odd(line, "each program once"));
        }
    }
}

/// The operations, down to their total, which must be their sum.
fn read_operations(lines: &mut Lines, column: &mut Column) -> Result<(), LogError> {
    const EXPECTED: &str = "an operation: its name, four times that are not below zero, a count and its marks";
    let heading = lines.take("the heading of the operations")?;
    if !heading.starts_with("Operation") {
        return Err(lines.odd(heading, "the heading `Operation seconds usr sys cpu tests`"));
    }
    loop {
        let line = lines.take(TOTALS)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, seconds, user, system, cpu, count, marks @ ..] = words.as_slice() else {
            return Err(lines.odd(line, EXPECTED));
        };
        let times: Option<Vec<f64>> = [seconds, user, system, cpu].iter().map(|time| self::seconds(time)).collect();
        let (Some(times), Ok(count)) = (times, count.parse()) else { return Err(lines.odd(line, EXPECTED)) };
        if *name == TOTALS {
            return agree(lines, column, times[0]);
        }
        let has = |mark: char| marks.iter().any(|marks| marks.contains(mark));
        let operation = Operation { seconds: times[0], count, estimated: has('+'), wrong: has('?') };
        if column.operations.insert((*name).to_owned(), operation).is_some() {
            return Err(lines.odd(line, "each operation once"));
        }
    }
}

/// A time that a clock can have shown.
fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}

/// A file that was edited or cut is not what the suite measured.
fn agree(lines: &Lines, column: &Column, total: f64) -> Result<(), LogError> {
    let sum = super::table::total_s(column);
    // Each time is rounded to hundredths.
    let rounding = 0.01 * (column.operations.len() + 1) as f64;
    if (sum - total).abs() <= rounding {
        return Ok(());
    }
    Err(lines.error(format!("TOTALS of {total:.2} s"), &format!("the sum of the operations above, {sum:.2} s")))
}
