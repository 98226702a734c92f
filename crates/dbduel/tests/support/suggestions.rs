//! Every command of dbduel that it prints is one that it takes, as it stands there and through a shell; and no error
//! leaves a reader without a next step.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

/// Longer ones are pages and data.
const TEXT_MAX: usize = 100_000;

/// A shell's own quoting, and every flag in its place: the help of a command comes only where all words before it fit.
const SHELL: &str = "dbduel() { \"$DBDUEL\" \"$@\" --help; }; ";

/// A next step that stands in the line of the error.
const STEPS: [&str; 7] =
    [", expected ", "; expected ", "; leave ", "; give ", "? give ", "; did you mean ", " was expected, not "];

/// What a reader is to fill in, where not every word is taken.
const PLACEHOLDERS: [(&str, &str); 2] = [("WORKLOAD", "oltp_read_only"), (" URL", " sqlite:///x.db")];

static ACCEPTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Of what a command printed on both streams.
pub fn assert_accepted(output: &Output) {
    for text in [&output.stdout, &output.stderr] {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        if text.len() <= TEXT_MAX && !text.starts_with(['<', '{', '[']) {
            commands(text).into_iter().for_each(|command| assert_is_command(&command, text));
        }
    }
}

/// An error has more than its first line: what was expected, or what to do.
pub fn assert_no_error_stands_alone(output: &Output) {
    let Ok(text) = std::str::from_utf8(&output.stderr) else { return };
    if let Some(alone) = alone(text) {
        panic!("this error has no next step: {alone}\nin: {text}");
    }
}

fn alone(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let errors = (0..lines.len()).filter(|at| lines[*at].starts_with("error: "));
    // The usage of a command stands behind an empty line.
    let goes_on = |at: &usize| {
        lines
            .get(at + 1)
            .is_some_and(|line| line.is_empty() || line.starts_with([' ', '\t']) || line.starts_with("next"))
    };
    let mut alone = errors.filter(|at| !goes_on(at)).map(|at| lines[at]);
    alone.find(|line| !STEPS.iter().any(|step| line.contains(step)))
}

/// Between backticks, and what a line with the next step begins with.
fn commands(text: &str) -> BTreeSet<String> {
    let quoted =
        text.split('`').skip(1).step_by(2).map(|quoted| quoted.split_whitespace().collect::<Vec<_>>().join(" "));
    let next = text.lines().filter_map(|line| line.trim_start().strip_prefix("next: ")).map(until_it_explains);
    let is_whole = |command: &String| command.starts_with("dbduel ") && !command.contains(['…', '[']);
    quoted.chain(next).filter(is_whole).collect()
}

fn until_it_explains(line: &str) -> String {
    line.split([';', '(']).next().unwrap_or_default().trim_end().to_owned()
}

fn assert_is_command(command: &str, text: &str) {
    let command = &PLACEHOLDERS.iter().fold(command.to_owned(), |line, (name, value)| line.replace(name, value));
    if ACCEPTED.lock().unwrap_or_else(PoisonError::into_inner).contains(command.as_str()) {
        return;
    }
    let shell = Command::new("sh")
        .args(["-c", &format!("{SHELL}{command}")])
        .env("DBDUEL", env!("CARGO_BIN_EXE_dbduel"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&shell.stderr);
    assert!(shell.status.success(), "`{command}` is suggested and refused: {error}\nin: {text}");
    ACCEPTED.lock().unwrap_or_else(PoisonError::into_inner).insert(command.clone());
}

#[test]
fn commands_stand_between_backticks_and_behind_next() {
    let text =
        "error: no\n  next: dbduel fetch x (once)\n  next: run `dbduel run a\n  b`, or `x`\n  next: `dbduel a […]`\n";
    assert_eq!(commands(text).into_iter().collect::<Vec<_>>(), ["dbduel fetch x", "dbduel run a b"]);
}

#[test]
fn an_error_of_one_line_is_found() {
    assert_eq!(alone("error: no\n  next: dbduel fetch x\n"), None);
    assert_eq!(alone("note\nerror: no\n\nUsage: dbduel\n"), None);
    assert_eq!(alone("error: no\n"), Some("error: no"));
    assert_eq!(alone("error: a\nerror: b\n  expected c\n"), Some("error: a"));
}
