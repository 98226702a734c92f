//! What a shell and a manual reader get: `dbduel completions` and `dbduel man`.
//!
//! The completion script asks the program itself for candidates, so that runs and versions are those of today.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::{Arg, Command};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use clap_mangen::Man;

use super::{Failure, print};
use crate::KNOWN;
use crate::cli::{self, CompletionsArgs, ManArgs, exit};
use engine::Cache;
use record::RunDir;

/// Set by the completion scripts when they ask for candidates.
const VARIABLE: &str = "DBDUEL_COMPLETE";

/// `dbduel completions`: prints the script that a shell reads.
pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).ok_or_else(|| anyhow!("no completions for `{}`", args.shell))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "dbduel", "dbduel", "dbduel", &mut script)
        .context("cannot write the completion script")?;
    print(&String::from_utf8(script).context("the completion script is no text")?)?;
    Ok(exit::DONE)
}

/// Answers a completion script, and then ends the program; does nothing where none asks.
pub fn answer_completion_script() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

fn command() -> Command {
    cli::command().mut_subcommands(|sub| sub.mut_args(with_candidates))
}

/// An argument has the same candidates under every command.
fn with_candidates(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "contenders" => arg.add(ArgValueCompleter::new(files_and_servers)),
        "file" => arg.add(ArgValueCompleter::new(PathCompleter::file().filter(is_toml))),
        "run" | "resume" | "results" | "subject" => arg.add(ArgValueCandidates::new(runs)),
        "engine" | "engines" | "servers" => arg.add(ArgValueCandidates::new(servers)),
        "words" | "workload" => arg.add(ArgValueCandidates::new(workloads)),
        _ => arg,
    }
}

/// What an experiment is made from: a file, and servers.
fn files_and_servers(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begins = |candidate: &CompletionCandidate| {
        candidate.get_value().to_string_lossy().starts_with(&*begun.to_string_lossy())
    };
    let files = PathCompleter::file().filter(is_toml).complete(begun);
    files.into_iter().chain(servers().into_iter().filter(begins)).collect()
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Runs of the usual folder.
fn runs() -> Vec<CompletionCandidate> {
    let stored = RunDir::all(Path::new("runs")).unwrap_or_default();
    let names = stored.iter().map(|run| CompletionCandidate::new(run.name()));
    names.chain([CompletionCandidate::new("last")]).collect()
}

fn servers() -> Vec<CompletionCandidate> {
    let Ok(cache) = Cache::open() else { return Vec::new() };
    let name = |listed: engine::Listed| CompletionCandidate::new(format!("{}@{}", listed.kind, listed.version));
    KNOWN.engines.list(&cache).into_iter().map(name).collect()
}

fn workloads() -> Vec<CompletionCandidate> {
    let one = |name: &'static str, help: &'static str| CompletionCandidate::new(name).help(Some(help.into()));
    KNOWN.workloads.0.iter().map(|kind| one(kind.name, kind.description)).collect()
}

/// `dbduel man`: writes `dbduel.1` and one page for each command.
pub fn man(args: &ManArgs) -> Result<u8, Failure> {
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    let pages = pages()?;
    for (name, page) in &pages {
        let path = args.out.join(name);
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&format!("{} pages in {}\n", pages.len(), args.out.display()))?;
    Ok(exit::DONE)
}

/// File name and text of every page.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut whole = cli::command().term_width(80).after_help("");
    whole.build();
    let commands = whole.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    let mut pages = vec![("dbduel.1".to_owned(), page(&whole)?)];
    for command in commands {
        pages.push((format!("dbduel-{}.1", command.get_name()), page(command)?));
    }
    Ok(pages)
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let man = Man::new(command.clone()).source(format!("dbduel {}", env!("CARGO_PKG_VERSION"))).manual("dbduel");
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    // These commands have options that clap does not parse: their help is the page.
    if command.get_arguments().any(|arg| arg.get_id() == "words") {
        text.extend(as_it_is("DESCRIPTION", &command.clone().render_long_help().to_string()).bytes());
    } else {
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if command.get_subcommands().any(|sub| sub.get_name() != "help") {
            man.render_subcommands_section(&mut text)?;
        }
    }
    let status = cli::EXIT_HELP.split_once('\n').map_or("", |(_, lines)| lines);
    text.extend(as_it_is("EXIT STATUS", status).bytes());
    Ok(text)
}

/// A section whose lines stay as they are.
fn as_it_is(title: &str, lines: &str) -> String {
    let line = |line: &str| {
        let escaped = line.trim_end().replace('\\', "\\e").replace('-', "\\-");
        if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}\n") } else { escaped + "\n" }
    };
    format!(".SH \"{title}\"\n.nf\n{}.fi\n", lines.trim_end().lines().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options_and_the_exit_status() {
        let pages = pages().unwrap();
        for sub in cli::command().get_subcommands() {
            let name = format!("dbduel-{}.1", sub.get_name());
            let (_, page) = pages.iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("{name}"));
            let page = String::from_utf8(page.clone()).unwrap();
            assert!(page.contains(".SH \"EXIT STATUS\"\n.nf\n    0  finished"), "{page}");
        }
        let of =
            |name: &str| String::from_utf8(pages.iter().find(|(found, _)| found == name).unwrap().1.clone()).unwrap();
        assert!(of("dbduel-run.1").contains("\\-\\-resume"));
        assert!(of("dbduel-bench.1").contains("\\-\\-target"), "{}", of("dbduel-bench.1"));
        assert!(!pages.iter().any(|(name, _)| name.contains("__")));
    }

    #[test]
    fn a_line_that_starts_with_a_dot_is_no_request() {
        assert_eq!(as_it_is("X", ".so a\\b"), ".SH \"X\"\n.nf\n\\&.so a\\eb\n.fi\n");
    }

    #[test]
    fn every_shell_has_a_script_that_asks_the_program() {
        for shell in cli::SHELLS {
            let mut script = Vec::new();
            let shells = Shells::builtins();
            shells
                .completer(shell)
                .unwrap()
                .write_registration(VARIABLE, "dbduel", "dbduel", "dbduel", &mut script)
                .unwrap();
            assert!(String::from_utf8(script).unwrap().contains(VARIABLE), "{shell}");
        }
    }
}
