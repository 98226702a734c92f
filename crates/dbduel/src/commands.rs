//! What each command does, from its flags to its exit status.
//!
//! Results go to stdout, everything else to stderr. It holds no knowledge of its own: it puts the
//! modules together in the order in which they are numbered.

mod aa;
mod advise;
mod capture;
mod cluster;
mod compare;
mod digest;
mod doctor;
mod follower;
mod history;
mod init;
pub mod lists;
mod mirror;
mod plan;
mod report;
mod run;
mod selftest;
mod serve;
pub mod shell;
mod stored;
mod try_out;
mod tune;
mod verify;
mod written;

use anyhow::Context;

pub use terminal::{Failure, note, print, print_bytes, print_report};

use crate::KNOWN;
use crate::cli::{Cli, Command, exit};
use bench::command_line::Verb;

/// Does what the command line asks and gives the exit status.
pub fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan::plan(args),
        Command::Aa(args) => aa::aa(args),
        Command::Tune(args) => match &args.resume {
            Some(run) => tune::stored::go_on(args, run),
            None => tune::tune(args),
        },
        Command::Report(args) => report::report_stored(args),
        Command::Compare(args) => compare::compare(args),
        Command::History(args) => history::command(args),
        Command::Serve(args) => serve::serve(args),
        Command::Prepare(args) => bench::command(Verb::Prepare, &args.words),
        Command::Bench(args) => bench::command(Verb::Bench, &args.words),
        Command::Pgbench(args) => bench::pgbench::command(&args.words),
        Command::Check(args) => bench::command(Verb::Check, &args.words),
        Command::Cleanup(args) => bench::command(Verb::Cleanup, &args.words),
        Command::Digest(args) => digest::digest(args),
        Command::Capture(args) => capture::capture(args),
        Command::List(args) => lists::list(args),
        Command::Push(args) => stored::push(args),
        Command::Pull(args) => stored::pull(args),
        Command::Runs(args) => stored::runs(args),
        Command::Host(args) => lists::host(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Fetch(args) => lists::fetch(args),
        Command::Cache(args) => lists::cache(args),
        Command::Advise(args) => advise::advise(args),
        Command::Init(args) => init::init(args),
        Command::Schema => schema(),
        Command::Completions(args) => shell::completions(args),
        Command::Cluster(args) => cluster::cluster(args),
        Command::Man(args) => shell::man(args),
        Command::Verify(args) => verify::verify(args),
        Command::Selftest(args) => selftest::selftest(args),
    }
}

/// `dbduel schema`: the JSON Schema of experiment files.
fn schema() -> Result<u8, Failure> {
    let schema = serde_json::to_string_pretty(&experiment::schema(&KNOWN)).context("cannot write the schema")?;
    print(&(schema + "\n"))?;
    Ok(exit::DONE)
}
