//! Commands that hold dbduel to other programs and to real servers, and measure its own cost: `cargo xtask NAME`.
//!
//! Each prints what it runs, so that it can be typed by hand as well.

mod aa;
mod bench;
mod bench_capture;
mod bench_load;
mod bench_pgbench;
mod bench_report;
mod bench_sysbench;
mod bench_tpcc;
mod by_hand;
mod certificates;
mod client_cost;
mod client_programs;
mod cluster_sim;
mod conform;
mod conform_bisect;
mod conform_capture;
mod conform_cluster;
mod conform_history;
mod conform_login;
mod conform_lua;
mod conform_micro;
mod conform_pgbench;
mod conform_pooler;
mod conform_recovery;
mod conform_replay;
mod conform_sqlbench;
mod conform_tap;
mod conform_tpcc;
mod conform_tpch;
mod core_counters;
mod engines;
mod findings;
mod floor;
mod forwarder;
mod held;
mod hostile;
mod image_files;
mod image_servers;
mod kill;
mod one_trial;
mod place;
mod planted;
mod planted_operations;
mod programs;
mod slowdowns;
mod soak;
mod traces;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use programs::{run, run_quietly};

/// Developer commands of dbduel that measure, or take real servers
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Compare what our OLTP workloads ask of a server with what sysbench asks of it
    Conform(conform::Conform),
    /// Hold the TPC-C-derived tables and transactions to their specification, and break them on purpose
    ConformTpcc(conform_tpcc::ConformTpcc),
    /// Compare the TPC-H-derived rows with DuckDB's generator, and the answers of engines with DuckDB's
    ConformTpch(conform_tpch::ConformTpch),
    /// Count the statements of every sql-bench operation, by the server and by us, against the suite's own table
    ConformSqlbench(conform_sqlbench::ConformSqlbench),
    /// Run every kind of statements on real servers, and compare their answers
    ConformMicro(conform_micro::ConformMicro),
    /// Compare our language of scripts, builtin scripts included, with the real pgbench
    ConformPgbench(conform_pgbench::ConformPgbench),
    /// Put PgBouncer in its three modes between the load and PostgreSQL, and count what comes through
    ConformPooler(conform_pooler::ConformPooler),
    /// Run workers below a real Slurm cluster and over ssh between network namespaces, and kill what can be killed
    ConformCluster(conform_cluster::ConformCluster),
    /// Measure what coordinating a hundred workers of a thousand clients takes, without their load
    ClusterSim(cluster_sim::ClusterSim),
    /// Compare the changes that `history` finds in series of ratios with those of Apache Otava
    ConformHistory(conform_history::ConformHistory),
    /// Plant a slow build among sixteen, and have `dbduel history bisect` name it
    ConformBisect(conform_bisect::ConformBisect),
    /// Kill servers and crash their file systems, and compare the commits that survive with what engines document
    ConformRecovery(conform_recovery::ConformRecovery),
    /// Compare the statements that readers find in the logs of real servers with those that a client sent
    ConformCapture(conform_capture::ConformCapture),
    /// Kill captures of running servers at random moments: settings afterwards beside settings before
    ConformTap(conform_tap::ConformTap),
    /// Replay the logs of real loads, which must end and leave the tables that production left
    ConformReplay(conform_replay::ConformReplay),
    /// Log in to real servers in every way, by the connection strings that people have
    ConformLogin(conform_login::ConformLogin),
    /// Compare what the scripts of sysbench do here with what they do with sysbench itself
    ConformLua(conform_lua::ConformLua),
    /// Take each server found here from start to stop, and test the driver on real servers
    Engines(engines::Engines),
    /// Play servers that do wrong against every command that connects to one
    Hostile(hostile::Hostile),
    /// Kill what runs at random moments, resume it, and search for what is lost or left
    Kill(kill::Kill),
    /// Load servers for hours: memory, open files and counts of dbduel, and the server's own count of commits
    Soak(soak::Soak),
    /// Compare what dbduel unpacks of container images with what umoci unpacks
    Images(image_files::Images),
    /// Run a contender against itself, which must come out as no difference
    Aa(aa::AaHistory),
    /// Slow one side of a server's duel with itself, and hold dbduel to what it finds
    Slowdowns(slowdowns::Slowdowns),
    /// Plant causes in one side of a server's duel with itself, and hold dbduel to what it names
    Planted(planted::Planted),
    /// Compare dbduel's figures of a server under load with what its processes and its client program show
    ByHand(by_hand::ByHand),
    /// Compare the client CPU per query with sysbench's, pgbench's and the raw-socket floor's, by turns
    BenchClient(client_cost::ClientCost),
    /// Measure our own client code: against a null connection, and against the raw-socket floor
    BenchLoad(bench_load::BenchLoad),
    /// Compare the client CPU of pgbench's scripts with the real pgbench's, and with our own point select, by turns
    BenchPgbench(bench_pgbench::BenchPgbench),
    /// Print how fast logs are read, digested and made into captures, and in how much memory
    BenchCapture(bench_capture::BenchCapture),
    /// Print the size of a long run's page and the time that its reports take
    BenchReport,
    /// Compare how fast a table is loaded, and the throughput that is measured, with sysbench's, by turns
    BenchSysbench(bench_sysbench::BenchSysbench),
    /// Compare TPC-C-derived transactions and loads with go-tpc's, by turns on one MariaDB
    BenchTpcc(bench_tpcc::BenchTpcc),
    #[command(hide = true)]
    ClientWorker(client_programs::ClientWorker),
    #[command(hide = true)]
    TpccWorker(bench_tpcc::TpccWorker),
    /// Inputs from a seeded generator for a fuzz target of scripts
    #[command(hide = true)]
    FuzzInputs { name: String, runs: u64, seed: u64 },
}

fn main() -> ExitCode {
    match perform(Cli::parse().task, &workspace_root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task, root: &Path) -> Result<()> {
    match task {
        Task::Conform(options) => conform::run(&options, root),
        Task::ConformTpcc(options) => conform_tpcc::run(&options, root),
        Task::ConformTpch(options) => conform_tpch::run(&options, root),
        Task::ConformSqlbench(options) => conform_sqlbench::run(&options, root),
        Task::ConformMicro(options) => conform_micro::run(&options, root),
        Task::ConformPgbench(options) => conform_pgbench::run(&options, root),
        Task::ConformPooler(options) => conform_pooler::run(&options, root),
        Task::ConformHistory(options) => conform_history::run(&options),
        Task::ConformBisect(options) => conform_bisect::run(&options, root),
        Task::ConformCluster(options) => conform_cluster::run(&options, root),
        Task::ClusterSim(options) => cluster_sim::run(&options),
        Task::ConformRecovery(options) => conform_recovery::run(&options, root),
        Task::BenchCapture(options) => bench_capture::run(&options, root),
        Task::ConformCapture(options) => conform_capture::run(&options, root),
        Task::ConformTap(options) => conform_tap::run(&options, root),
        Task::ConformReplay(options) => conform_replay::run(&options, root),
        Task::ConformLogin(options) => conform_login::run(&options, root),
        Task::ConformLua(options) => conform_lua::run(&options, root),
        Task::Engines(options) => engines::engines(&options, root),
        Task::Hostile(options) => hostile::run(&options, root),
        Task::Kill(options) => kill::run(&options, root),
        Task::Soak(options) => soak::run(&options, root),
        Task::Images(options) => {
            image_files::run(&options)?;
            image_servers::run(root, options.kills, &options.cache)
        }
        Task::Aa(options) => aa::run(&options, root),
        Task::Slowdowns(options) => slowdowns::run(&options, root),
        Task::Planted(options) => planted::run(&options, root),
        Task::ByHand(options) => by_hand::run(&options, root),
        Task::BenchClient(options) => client_cost::run(&options, root),
        Task::BenchLoad(options) => bench_load::run(&options, root),
        Task::BenchPgbench(options) => bench_pgbench::run(&options, root),
        Task::BenchReport => bench_report::run(root),
        Task::BenchSysbench(options) => bench_sysbench::run(&options, root),
        Task::BenchTpcc(options) => bench_tpcc::run(&options, root),
        Task::ClientWorker(worker) => client_programs::run_worker(&worker),
        Task::TpccWorker(worker) => bench_tpcc::run_worker(&worker),
        Task::FuzzInputs { name, runs, seed } => check_inputs(root, &name, seed, runs),
    }
}

/// The folder that holds the workspace: the one above this crate.
fn workspace_root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().expect("xtask lies in the workspace").to_owned()
}

/// The properties of a target for so many inputs of a seeded generator, in a release build.
fn check_inputs(root: &Path, name: &str, seed: u64, runs: u64) -> Result<()> {
    if capture::fuzzing::TARGETS.iter().any(|target| target.name == name) {
        let (runs, seed) = (runs.to_string(), seed.to_string());
        let line =
            ["run", "--quiet", "--release", "-p", "dbduel-capture", "--example", "inputs", "--", name, &runs, &seed];
        return run(root, "cargo", &line, &[]);
    }
    let target = script::fuzzing::TARGETS.into_iter().find(|target| target.name == name);
    let known = || {
        let logs = capture::fuzzing::TARGETS.map(|target| target.name);
        [&script::fuzzing::TARGETS.map(|target| target.name)[..], &logs].concat().join(", ")
    };
    let target = target.with_context(|| format!("no generator for `{name}`; there are: {}", known()))?;
    if bench::done_in_release(root)? {
        return Ok(());
    }
    (0..runs).for_each(|number| target.check(seed, number));
    println!("{name}: {runs} inputs of seed {seed}, no property is broken");
    Ok(())
}
