//! `cargo xtask by-hand`: are dbduel's figures of a server those that its own programs show?
//!
//! While dbduel runs a trial, this reads the same server in the ways that a person would: the files of its
//! processes in /proc, and its counters by its own client program. None of dbduel's code has a part in it. The
//! readings grow evenly under an even load, so that what lies between two of them gives the edges of the
//! interval, which are in the trial's record.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::held::dbduel;

#[derive(clap::Args)]
pub struct ByHand {
    /// Measured seconds of the trial
    #[arg(long, default_value_t = 15)]
    seconds: u32,
    /// Most that two readings of one thing may differ by, in per cent
    #[arg(long, default_value_t = 3.0)]
    tolerance: f64,
}

const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// A client program takes CPU too.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// What happens so rarely in an interval is not compared: a single one decides.
const LEAST: f64 = 100.0;

/// A server, and how a person asks it.
struct Subject {
    engine: &'static str,
    program: &'static str,
    /// What its client program prints, as names and figures that only grow.
    ask: fn(&[String]) -> Option<Command>,
    /// Our metric, and what the client program calls it.
    counters: &'static [(&'static str, &'static str)],
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        engine: "mariadb@system",
        program: "mariadbd",
        ask: ask_mariadb,
        counters: &[
            ("counter.mysql.questions", "Questions"),
            ("counter.mysql.com_commit", "Com_commit"),
            ("counter.innodb.buffer_pool_read_requests", "Innodb_buffer_pool_read_requests"),
            ("counter.innodb.data_fsyncs", "Innodb_data_fsyncs"),
            ("counter.innodb.redo_bytes", "Innodb_lsn_current"),
        ],
    },
    Subject {
        engine: "postgres@system",
        program: "postgres",
        ask: ask_postgres,
        counters: &[("counter.postgres.wal_bytes", "wal_bytes")],
    },
];

/// Our metrics, and the names below of what /proc shows of them.
const PROCESSES: [(&str, &str); 6] = [
    ("server_cpu_user_s", "user_s"),
    ("server_cpu_system_s", "system_s"),
    ("server_ctx_voluntary", "voluntary"),
    ("server_ctx_involuntary", "involuntary"),
    ("server_write_bytes", "write_bytes"),
    ("server_write_calls", "syscw"),
];

/// Seconds since 1970, and what had grown to what by then.
type Reading = (f64, BTreeMap<String, f64>);

pub fn run(options: &ByHand, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let mut apart = Vec::new();
    for subject in &SUBJECTS {
        println!("{}, {} s of oltp_write_only with 4 clients", subject.engine, options.seconds);
        let Some((record, readings)) = observe(subject, options, &dbduel)? else {
            println!("  skipped: not on this machine");
            continue;
        };
        apart.extend(compare(subject, options, &record, &readings)?);
    }
    ensure!(apart.is_empty(), "more than {} % apart: {}", options.tolerance, apart.join(", "));
    Ok(())
}

/// The record of one trial and what was read meanwhile; none where there is no such server.
fn observe(subject: &Subject, options: &ByHand, dbduel: &Path) -> Result<Option<(Value, Vec<Reading>)>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("by-hand.toml");
    fs::write(&file, experiment(subject, options))?;
    let planned = Command::new(dbduel).arg("plan").arg(&file).output().context("cannot start dbduel")?;
    if !planned.status.success() {
        let why = String::from_utf8_lossy(&planned.stderr);
        ensure!(why.contains("not installed") || why.contains("not here"), "dbduel plan failed\n{why}");
        return Ok(None);
    }
    let runs = folder.path().join("runs");
    let mut command = Command::new(dbduel);
    command.args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&file);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let readings = read_until_it_ends(subject, &mut child)?;
    let run = fs::read_dir(&runs)?.next().context("dbduel kept no run")??.path();
    let trials = fs::read_to_string(run.join("trials.ndjson")).context("dbduel ran no trial")?;
    let record = serde_json::from_str(trials.lines().next().context("dbduel ran no trial")?)?;
    Ok(Some((record, readings)))
}

fn experiment(subject: &Subject, options: &ByHand) -> String {
    format!(
        "name = \"by-hand\"\nworkload = {{ name = \"oltp_write_only\", rows = 20000 }}\nsweep.clients = [4]\n\
         contender = [{{ engine = \"{}\" }}]\n\
         method = {{ preset = \"quick\", blocks = 1, duration = \"{}s\", warmup = \"2s\" }}\n",
        subject.engine, options.seconds
    )
}

fn read_until_it_ends(subject: &Subject, child: &mut Child) -> Result<Vec<Reading>> {
    let (mut readings, mut asked, mut switches) = (Vec::new(), Instant::now(), Switches::new());
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "dbduel run failed ({status})");
            return Ok(readings);
        }
        let servers = servers(child.id(), subject.program);
        if !servers.is_empty() {
            readings.push((now(), look(&servers, &mut switches)));
            if asked.elapsed() >= ASK_EVERY {
                asked = Instant::now();
                readings.extend(ask(subject, servers[0]));
            }
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Processes of this name below dbduel, parents first.
fn servers(dbduel: u32, program: &str) -> Vec<u32> {
    let all: BTreeMap<u32, (u32, String)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let (name, fields) = stat(&format!("/proc/{pid}/stat"))?;
            Some((pid, (fields.get(1)?.parse().ok()?, name)))
        })
        .collect();
    let is_below = |pid: u32| {
        let mut pid = pid;
        while let Some((parent, _)) = all.get(&pid).filter(|_| pid != dbduel) {
            pid = *parent;
        }
        pid == dbduel
    };
    all.iter().filter(|(pid, (_, name))| name == program && is_below(**pid)).map(|(pid, _)| *pid).collect()
}

/// The name of a process, and the fields behind it: state, parent …
fn stat(path: &str) -> Option<(String, Vec<String>)> {
    let text = fs::read_to_string(path).ok()?;
    let (before, behind) = (text.find('(')?, text.rfind(')')?);
    let fields = text[behind + 1..].split_whitespace().map(str::to_owned).collect();
    Some((text[before + 1..behind].to_owned(), fields))
}

/// Context switches of each thread, by process and thread. Sessions of PostgreSQL are processes that end with
/// their clients, just behind the interval; unlike CPU and I/O, no other process inherits their switches.
type Switches = BTreeMap<(u32, String), [f64; 2]>;

/// Sums over all processes of the server; of context switches, over all threads that were ever seen.
fn look(servers: &[u32], switches: &mut Switches) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |name: &str, value: f64| *sums.entry(name.to_owned()).or_default() += value;
    let ticks = procfs::ticks_per_second() as f64;
    for pid in servers {
        if let Some((_, fields)) = stat(&format!("/proc/{pid}/stat")) {
            // proc(5) counts from 1 and begins with pid and name: utime is 14, stime 15, those of children 16 and 17.
            let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok()).unwrap_or(0.0);
            add("user_s", (field(14) + field(16)) / ticks);
            add("system_s", (field(15) + field(17)) / ticks);
        }
        for line in fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default().lines() {
            let Some((name, value)) = line.split_once(": ") else { continue };
            add(name, value.parse().unwrap_or(0.0));
        }
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
            let counts = (value("voluntary_ctxt_switches:"), value("nonvoluntary_ctxt_switches:"));
            if let (Some(voluntary), Some(involuntary)) = counts {
                let name = thread.file_name().to_string_lossy().into_owned();
                switches.insert((*pid, name), [voluntary, involuntary]);
            }
        }
    }
    add("voluntary", switches.values().map(|[voluntary, _]| voluntary).sum());
    add("involuntary", switches.values().map(|[_, involuntary]| involuntary).sum());
    sums
}

/// The output of the server's own client program; none while the server does not answer.
fn ask(subject: &Subject, server: u32) -> Option<Reading> {
    let arguments: Vec<String> =
        fs::read_to_string(format!("/proc/{server}/cmdline")).ok()?.split('\0').map(str::to_owned).collect();
    let mut command = (subject.ask)(&arguments)?;
    let begun = now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let at = (begun + now()) / 2.0;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pair =
        |line: &str| line.split_once('\t').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    let values: BTreeMap<String, f64> = text.lines().filter_map(pair).collect();
    (!values.is_empty()).then_some((at, values))
}

fn ask_mariadb(arguments: &[String]) -> Option<Command> {
    let socket = arguments.iter().find(|argument| argument.starts_with("--socket="))?;
    let mut command = Command::new("mariadb");
    command.args([
        "--no-defaults",
        "--user=root",
        "--batch",
        "--skip-column-names",
        socket,
        "--execute=SHOW GLOBAL STATUS",
    ]);
    Some(command)
}

fn ask_postgres(arguments: &[String]) -> Option<Command> {
    let folder = arguments.iter().skip_while(|argument| *argument != "-k").nth(1)?;
    let mut command = Command::new("psql");
    command.args([
        "--no-psqlrc",
        "--host",
        folder,
        "--username=postgres",
        "--dbname=postgres",
        "--tuples-only",
        "--no-align",
    ]);
    command.arg("--command=SELECT E'wal_bytes\\t' || pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')");
    Some(command)
}

/// Prints both readings of everything; what differs by too much comes back.
fn compare(subject: &Subject, options: &ByHand, record: &Value, readings: &[Reading]) -> Result<Vec<String>> {
    let (from, to) = interval(record, options)?;
    let mut apart = Vec::new();
    println!("  {:<44} {:>16} {:>16} {:>9}", "", "dbduel", "by hand", "differ by");
    for (metric, name) in PROCESSES.iter().chain(subject.counters) {
        let ours = record["metrics"][*metric].as_f64();
        let theirs = at(readings, name, to).zip(at(readings, name, from)).map(|(after, before)| after - before);
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            bail!("{}: {metric} is {ours:?} by dbduel and {theirs:?} by hand", subject.engine);
        };
        // CPU is in seconds, of which few are a hundred ticks of the kernel's clock.
        let is_rare = theirs < if name.ends_with("_s") { 1.0 } else { LEAST };
        let percent = (ours / theirs - 1.0) * 100.0;
        let note = if is_rare { "  too few to compare" } else { "" };
        println!("  {metric:<44} {ours:>16.2} {theirs:>16.2} {percent:>+8.2} %{note}");
        if !is_rare && percent.abs() > options.tolerance {
            apart.push(format!("{} {metric} ({percent:+.1} %)", subject.engine));
        }
    }
    Ok(apart)
}

/// When the measured interval began and ended. A record has the time of its end, and how long its steps took.
fn interval(record: &Value, options: &ByHand) -> Result<(f64, f64)> {
    let ended = seconds_since_1970(record["finished_at"].as_str().context("the record has no end")?)?;
    let steps = record["steps"].as_array().context("the record has no steps")?;
    let from_measure = steps.iter().skip_while(|step| step[0] != "measure");
    let behind: f64 = from_measure.filter_map(|step| step[1].as_f64()).sum();
    let from = ended - behind;
    Ok((from, from + f64::from(options.seconds)))
}

/// Of a time like `2031-05-04T10:15:00.25Z`, by `date`.
fn seconds_since_1970(time: &str) -> Result<f64> {
    let output =
        Command::new("date").args(["--utc", "+%s.%N", "--date", time]).output().context("cannot start date")?;
    String::from_utf8_lossy(&output.stdout).trim().parse().with_context(|| format!("`{time}` is no time"))
}

/// The straight line between the readings around a moment. A server ends so soon behind its interval that a
/// client program may come too late: then the line of the last two goes on, for a second at most.
fn at(readings: &[Reading], name: &str, moment: f64) -> Option<f64> {
    let seen: Vec<(f64, f64)> =
        readings.iter().filter_map(|(time, values)| Some((*time, *values.get(name)?))).collect();
    let behind = seen.iter().position(|(time, _)| *time >= moment);
    let (last, _) = seen.last()?;
    let behind = behind.or((moment - last <= 1.0).then_some(seen.len() - 1))?;
    let ((before, low), (after, high)) = (*seen.get(behind.checked_sub(1)?)?, seen[behind]);
    Some(low + (high - low) * (moment - before) / (after - before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_lies_on_the_line_between_two_readings() {
        let reading = |time: f64, value: f64| (time, BTreeMap::from([("x".to_owned(), value)]));
        let readings = [reading(10.0, 100.0), (11.0, BTreeMap::new()), reading(12.0, 300.0)];
        assert_eq!(at(&readings, "x", 11.5), Some(250.0));
        assert_eq!(at(&readings, "x", 12.5), Some(350.0), "the last client program came too early");
        assert_eq!((at(&readings, "x", 9.0), at(&readings, "x", 13.5), at(&readings, "y", 11.0)), (None, None, None));
    }

    #[test]
    fn the_interval_begins_with_its_step() {
        let record = serde_json::json!({
            "finished_at": "1970-01-01T00:01:40.5Z",
            "steps": [["warm_up", 2.0], ["measure", 10.5], ["check", 1.0], ["stop", 3.0]]
        });
        let options = ByHand { seconds: 10, tolerance: 3.0 };
        assert_eq!(interval(&record, &options).unwrap(), (86.0, 96.0));
    }

    #[test]
    fn a_process_is_read_as_documented_even_with_brackets_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        fs::write(&path, "12 (a (b) c) S 7 12\n").unwrap();
        let (name, fields) = stat(path.to_str().unwrap()).unwrap();
        assert_eq!((name.as_str(), fields[1].as_str()), ("a (b) c", "7"));
    }
}
