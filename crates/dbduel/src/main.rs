//! dbduel: which of these database servers is faster for this work, by how much, and how sure are we?
//!
//! `main` reads the command line, lets `commands.rs` do the work, and turns failures into messages
//! and exit statuses. Nothing else happens here, but for the five hidden roles this program plays for
//! itself: the keeper of a server, the way into an image's root, a worker of a load, the load on an embedded engine that is
//! to be killed, and the hand of the tests.

mod cli;
mod commands;
mod hidden;
mod known;
mod progress_bar;
#[cfg(test)]
mod reference;
mod shipped;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use campaign::aa::{Unfit, UnfitBecause};
use experiment::Mistakes;
use known::KNOWN;
use record::shell::shell_path;
use report::sentences;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        // Before anything else: the keeper must be a process with one thread and no ambitions.
        Some(first) if first == engine::keeper::SUBCOMMAND => engine::keeper::keeper_main(args),
        Some(first) if first == tap::guard::SUBCOMMAND => tap::guard::guard_main(),
        Some(first) if first == engine::volume::SUBCOMMAND => engine::volume::guard_main(args),
        Some(first) if first == engine::inside::SUBCOMMAND => engine::inside::inside_main(args),
        Some(first) if first == "agent" => return cluster::agent_main(&args.collect::<Vec<OsString>>(), &KNOWN),
        Some(first) if first == trial::durability::SUBCOMMAND => return hidden::ledger(args),
        Some(first) if first == hidden::SUBCOMMAND => hidden::main(args.collect::<Vec<OsString>>()),
        _ => {}
    }
    commands::shell::answer_completion_script();
    let arguments = match cli::hide_password::arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            commands::note(&message(&error));
            return ExitCode::from(cli::exit::USAGE);
        }
    };
    if arguments.len() == 1 && !is_link(&arguments) {
        cli::FIRST_LINES.iter().for_each(|line| commands::note(line));
        return ExitCode::from(cli::exit::USAGE);
    }
    match commands::dispatch(&cli::parse(with_command_of_link(arguments))) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            commands::note(&message(&failure.error));
            ExitCode::from(failure.status)
        }
    }
}

/// A link to this program whose name ends in `pgbench` is `dbduel pgbench`.
fn with_command_of_link(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if is_link(&arguments) {
        arguments.insert(1, "pgbench".into());
    }
    arguments
}

fn is_link(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    name.is_some_and(|name| name.to_string_lossy().ends_with("pgbench"))
}

/// What went wrong, and its causes; the mistakes of a file stand alone.
fn message(error: &anyhow::Error) -> String {
    if let Some(mistakes) = error.downcast_ref::<Mistakes>() {
        return mistakes.to_string();
    }
    let causes: Vec<String> = error.chain().map(cause_text).collect();
    next_last(&indented(&driver::with_advice(format!("error: {}", causes.join("\nbecause: ")))))
}

/// What to do stands at the end, whichever cause it came with.
fn next_last(message: &str) -> String {
    let (next, rest): (Vec<&str>, Vec<&str>) = message.lines().partition(|line| line.starts_with("  next: "));
    [rest, next].concat().join("\n")
}

/// Facts from a campaign have their sentences in the reports.
fn cause_text(cause: &(dyn std::error::Error + 'static)) -> String {
    let Some(Unfit { file, because }) = cause.downcast_ref() else { return cause.to_string() };
    let file = shell_path(file);
    match because {
        UnfitBecause::FalseDifferences { apart, verdicts } => sentences::aa::unfit_host(apart, *verdicts, &file),
        UnfitBecause::Uncovered(missing) => sentences::aa::uncovered(missing, &file),
    }
}

/// Every line but the first two columns in, so that an error reads as one thing in a log.
fn indented(message: &str) -> String {
    let is_indented = |line: &str| line.starts_with("  ") && !line.starts_with("   ");
    let line = |(index, line): (usize, &str)| match line {
        line if index == 0 || is_indented(line) => line.to_owned(),
        line => format!("  {line}"),
    };
    message.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_the_output_of_a_server_stand_below_the_error() {
        let error =
            anyhow::anyhow!("mysqld exited\nit said: one\n         two\n  next: see the log").context("no start");
        let expected = "error: no start\n  because: mysqld exited\n  it said: one\n           two\n  next: see the log";
        assert_eq!(message(&error), expected);
        let error = anyhow::anyhow!("server error 1040: Too many connections").context("client 7 cannot connect");
        let expected = "error: client 7 cannot connect\n  because: server error 1040: Too many connections\n  \
                        that is: the server has as many connections as max_connections allows\n  \
                        next: ask for fewer clients, or SET GLOBAL max_connections";
        assert_eq!(message(&error), expected);
        let error = anyhow::anyhow!("no such file").context("no runs\n  next: make one");
        assert_eq!(message(&error), "error: no runs\n  because: no such file\n  next: make one");
    }
}
