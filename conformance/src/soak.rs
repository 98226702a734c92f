//! `cargo xtask soak`: hours of load leave dbduel as it was after five minutes, and its counts are the server's.
//!
//! On each server, two loads of many clients go on beside each other, one as fast as it can and one at a fixed rate, with a
//! line a second. Every transaction adds one to the row of its client, so that the sum of a table is the number of
//! transactions that the server committed.

mod many_trials;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::held::{Held, dbduel};

#[derive(clap::Args)]
pub struct Soak {
    /// Servers to load
    #[arg(value_name = "ENGINE@VERSION", default_values = ["mariadb@system", "postgres@system"])]
    engines: Vec<String>,
    /// How long
    #[arg(long, default_value_t = 120.0)]
    minutes: f64,
    /// Clients of each load
    #[arg(long, default_value_t = 64)]
    clients: u32,
    /// Transactions a second of the load at a fixed rate
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// In place of it, a run of so many short trials on SQLite, whose folder, pauses and reports must grow as their number does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(40..=10_000))]
    trials: Option<u32>,
}

/// What dbduel takes within it is no leak: buffers of its connections, the first answers.
const SETTLED_AFTER: Duration = Duration::from_secs(300);
/// Of a shorter soak, a quarter.
const SETTLING_PART: f64 = 0.25;
const GROWTH_MAX_KIB: u64 = 1024;
/// Lines are part of the report at the end, and kept until then.
const BYTES_OF_A_LINE: u64 = 256;
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

struct Load {
    name: &'static str,
    at_rate: bool,
}

const LOADS: [Load; 2] = [Load { name: "soak_closed", at_rate: false }, Load { name: "soak_rate", at_rate: true }];

pub fn run(options: &Soak, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    if let Some(trials) = options.trials {
        return many_trials::run(trials, &dbduel);
    }
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let soaked = |engine: &String| server(options, &dbduel, engine).with_context(|| engine.clone());
        let servers: Vec<_> = options.engines.iter().map(|engine| scope.spawn(move || soaked(engine))).collect();
        servers.into_iter().map(|server| server.join().expect("a soak does not panic")).collect()
    });
    results.into_iter().collect()
}

fn server(options: &Soak, dbduel: &Path, engine: &str) -> Result<()> {
    let connections = format!("max_connections={}", options.clients * LOADS.len() as u32 + 20);
    let server = Held::start_or_fail(dbduel, engine, &[&connections])?;
    let folder = tempfile::tempdir()?;
    let mut admin = server.admin(server.text("database")?)?;
    for load in &LOADS {
        let table = load.name;
        admin.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, n BIGINT NOT NULL)"))?;
        let rows: Vec<String> = (0..options.clients).map(|client| format!("({client}, 0)")).collect();
        admin.run(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
        let transaction = format!(
            "BEGIN;\nSELECT n FROM {table} WHERE id = :client_id;\n\
             UPDATE {table} SET n = n + 1 WHERE id = :client_id;\nCOMMIT;\n"
        );
        fs::write(folder.path().join(format!("{table}.sql")), transaction)?;
    }
    drop(admin);
    let children = LOADS.iter().map(|load| start(options, dbduel, &server, load, folder.path()));
    let mut children = children.collect::<Result<Vec<Child>>>()?;
    let watched = watch(&mut children, options).with_context(|| said(folder.path()))?;
    let mut wrong = 0;
    for (load, sizes) in LOADS.iter().zip(&watched) {
        let report = fs::read_to_string(folder.path().join(format!("{}.json", load.name)))?;
        let report: Value = serde_json::from_str(&report).with_context(|| format!("{}: no report", load.name))?;
        let counted = server.admin(server.text("database")?)?.value(&format!("SELECT SUM(n) FROM {}", load.name))?;
        let counted: f64 = counted.context("an empty table")?.parse()?;
        let faults = faults(options, load, &report, counted, sizes);
        let [first, last] = [sizes.first(), sizes.last()].map(|size| size.map_or(0, |size| size.kib));
        println!(
            "{engine:<16} {:<11} {} clients, {:.0} s: {counted} commits, {first} KiB, then {last} KiB, {} files: {}",
            load.name,
            options.clients,
            report["measured_s"].as_f64().unwrap_or(0.0),
            sizes.last().map_or(0, |size| size.files),
            if faults.is_empty() { "ok".to_owned() } else { faults.join("; ") }
        );
        wrong += faults.len();
    }
    server.stop()?;
    ensure!(wrong == 0, "{wrong} promises were not kept");
    Ok(())
}

fn start(options: &Soak, dbduel: &Path, server: &Held, load: &Load, folder: &Path) -> Result<Child> {
    let file = |kind: &str| folder.join(format!("{}.{kind}", load.name));
    let mut command = Command::new(dbduel);
    command.args(["bench", "script", "--no-wait", "--json", "--report-interval", "1", "--target"]);
    command.arg(server.connection_string(server.text("database")?)?);
    command.arg("--files").arg(file("sql"));
    command.args(["--clients", &options.clients.to_string()]);
    command.args(["--duration", &format!("{:.0}s", options.minutes * 60.0)]);
    if load.at_rate {
        command.args(["--rate", &options.rate.to_string(), "--arrivals", "constant"]);
    }
    command.stdin(Stdio::null()).stdout(fs::File::create(file("json"))?).stderr(fs::File::create(file("lines"))?);
    command.spawn().context("cannot start dbduel")
}

/// The last line of each load, for an error.
fn said(folder: &Path) -> String {
    let text = |load: &Load| fs::read_to_string(folder.join(format!("{}.lines", load.name))).unwrap_or_default();
    let lines = LOADS.iter().filter_map(|load| text(load).lines().last().map(str::to_owned));
    lines.collect::<Vec<_>>().join("; ")
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    kib: u64,
    files: usize,
}

impl Size {
    /// None when the process is about to end.
    fn of(pid: u32) -> Option<Size> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim_end_matches("kB").trim();
        Some(Size { kib: kib.parse().ok()?, files: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() })
    }
}

/// What each process held, from when it had settled until shortly before its end.
fn watch(children: &mut [Child], options: &Soak) -> Result<Vec<Vec<Size>>> {
    let whole = Duration::from_secs_f64(options.minutes * 60.0);
    let (begun, settled) = (Instant::now(), SETTLED_AFTER.min(whole.mul_f64(SETTLING_PART)));
    let mut sizes = vec![Vec::new(); children.len()];
    while begun.elapsed() + SAMPLE_EVERY < whole {
        std::thread::sleep(SAMPLE_EVERY);
        for (child, sizes) in children.iter().zip(&mut sizes) {
            sizes.extend(Size::of(child.id()).filter(|_| begun.elapsed() >= settled));
        }
    }
    for child in children {
        let status = child.wait()?;
        if !status.success() {
            bail!("dbduel bench: {status}");
        }
    }
    Ok(sizes)
}

fn faults(options: &Soak, load: &Load, report: &Value, counted: f64, sizes: &[Size]) -> Vec<String> {
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap_or(f64::NAN);
    let mut faults = Vec::new();
    let mut expect = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault)
        }
    };
    let (committed, seconds) = (metric("transactions.committed"), report["measured_s"].as_f64().unwrap_or(f64::NAN));
    expect(committed == counted, format!("{committed} commits were counted here, {counted} by the server"));
    expect((seconds - options.minutes * 60.0).abs() < 1.0, format!("it lasted {seconds} s"));
    let lines = report["intervals"].as_array().map_or(&[][..], Vec::as_slice);
    // Where the CPU was away for longer than a second, a line is of more than one.
    let edge = |line: &Value, name: &str| line[name].as_f64().unwrap_or(f64::NAN);
    let is_whole = lines.windows(2).all(|pair| edge(&pair[0], "to_s") == edge(&pair[1], "from_s"))
        && lines.last().is_some_and(|last| (edge(last, "to_s") - seconds).abs() < 1.0);
    expect(is_whole && lines[0]["from_s"] == 0.0, format!("{} lines leave time out", lines.len()));
    if load.at_rate {
        let (due, wanted) = (metric("transactions.due"), f64::from(options.rate) * seconds);
        expect((due - wanted).abs() <= 1.0, format!("{due} transactions were due, of {wanted}"));
    }
    let (least, most) =
        sizes.iter().fold((u64::MAX, 0), |(least, most), size| (least.min(size.kib), most.max(size.kib)));
    let first = sizes.first().map_or(0, |size| size.kib);
    let growth_max = GROWTH_MAX_KIB + lines.len() as u64 * BYTES_OF_A_LINE / 1024;
    let is_flat = most <= first + growth_max && first <= least + growth_max;
    expect(is_flat && !sizes.is_empty(), format!("memory between {least} and {most} KiB, {first} at first"));
    let files: BTreeSet<usize> = sizes.iter().map(|size| size.files).collect();
    expect(files.len() == 1, format!("open files: {files:?}"));
    faults
}
