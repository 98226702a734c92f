//! Where dbduel meets its user: exit statuses, failures, stdout and stderr. Nothing else prints.

mod visible;

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};

pub use visible::visible;

/// dbduel's exit statuses, besides clap's own 2 for a command line it cannot read.
pub mod exit {
    /// Done, whatever the verdict.
    pub const DONE: u8 = 0;
    /// `--gate`, and a candidate is slower, overall or at a point.
    pub const GATE_SLOWER: u8 = 1;
    /// Bad usage or a bad experiment file.
    pub const USAGE: u8 = 2;
    /// `--gate`, and a verdict is inconclusive.
    pub const GATE_INCONCLUSIVE: u8 = 3;
    /// A contender did not start or has no trial that succeeded, a point was given up, a server was gone at the
    /// end, or something needed is not there.
    pub const NOT_MEASURED: u8 = 4;
    /// `check` found data that are not as they should be, `verify` a difference, `selftest` missed a target, or a run
    /// is another than the one in a store.
    pub const VIOLATION: u8 = 5;
    /// Interrupted; what was measured is kept.
    pub const INTERRUPTED: u8 = 130;
}

/// Why a command did not do what it was asked, and its exit status.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub error: anyhow::Error,
}

impl Failure {
    /// The command line or the experiment file is at fault.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Failure { status: exit::USAGE, error: error.into() }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure { status: exit::NOT_MEASURED, error }
    }
}

/// Whether stdout is a terminal.
pub fn is_interactive() -> bool {
    std::io::stdout().is_terminal()
}

/// Colours go to a terminal unless the user has set `NO_COLOR`.
pub fn wants_color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal that stdout is; 80 where it is none.
pub fn width() -> usize {
    let seen = terminal_size::terminal_size_of(std::io::stdout());
    seen.map_or(80, |(width, _)| usize::from(width.0))
}

/// Columns of the terminal that stderr is; none where it is none, or where the terminal cannot move its cursor.
pub fn stderr_width() -> Option<usize> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let seen = terminal_size::terminal_size_of(std::io::stderr()).filter(|_| !is_dumb);
    seen.map(|(width, _)| usize::from(width.0))
}

/// Writes to stderr what moves the cursor; foreign text in it has been made visible.
pub fn draw(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Writes a result to stdout, and no control character with it.
pub fn print(text: &str) -> Result<()> {
    print_report(&visible(text))
}

/// Writes a report, whose only control characters are its colours. A reader that has gone away (`| head`) has seen
/// enough.
pub fn print_report(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes a result that is no text.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// Writes a line of progress or a message to stderr. Nobody listening is no reason to end a run that
/// measures for hours, so what cannot be written is lost. No control character is written.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}
