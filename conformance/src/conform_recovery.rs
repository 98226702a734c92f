//! `cargo xtask conform-recovery`: do crashes show the classes that the engines document?
//!
//! Each engine found here runs its durability settings under kills and OS crashes, through `dbduel run`. The measured
//! class must be the documented one, nothing may be damaged, and no mount, loop device or work folder may be left.
//! A setting that may lose commits has to lose some: a harness that sees no loss anywhere would pass otherwise.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::held::dbduel;

#[derive(clap::Args)]
pub struct ConformRecovery {
    /// Engines: `sqlite`, `mariadb@system`, `postgres@system` by default; any MySQL or MariaDB such as mysql@8.0.31
    engine: Vec<String>,
    /// Kills, and as many OS crashes, of each setting
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// One kill and one OS crash of each setting, in a minute and a half. A setting that may lose commits has to lose some in either
    #[arg(long, conflicts_with = "kills")]
    short: bool,
}

const ENGINES: [&str; 3] = ["sqlite", "mariadb@system", "postgres@system"];
const SHORT_KILLS: u32 = 1;

/// A name, its settings, and the class that the engine documents for them.
type Setting = (&'static str, &'static str, &'static str);

const SQLITE: &[Setting] = &[
    ("full", "journal_mode = \"WAL\", synchronous = \"FULL\"", "D3"),
    // Without checkpoints nothing is synced at all.
    ("normal", "wal_autocheckpoint = 0, journal_mode = \"WAL\", synchronous = \"NORMAL\"", "D2"),
];
const POSTGRES: &[Setting] =
    &[("on", "synchronous_commit = \"on\"", "D3"), ("off", "synchronous_commit = \"off\"", "D1")];
const INNODB: &[Setting] = &[
    ("flush 1", "innodb_flush_log_at_trx_commit = 1", "D3"),
    ("flush 2", "innodb_flush_log_at_trx_commit = 2", "D2"),
    ("flush 0", "innodb_flush_log_at_trx_commit = 0", "D1"),
];

/// MariaDB flushes for 0 and 2 every 30 s in place of each second, so that no crash comes a moment behind a flush.
/// MySQL 5.5 has no such setting.
const SELDOM: &str = ", innodb_flush_log_at_timeout = 30";

fn settings(engine: &str) -> &'static [Setting] {
    match engine.split('@').next() {
        Some("sqlite") => SQLITE,
        Some("postgres") => POSTGRES,
        _ => INNODB,
    }
}

pub fn run(options: &ConformRecovery, root: &Path) -> Result<()> {
    ensure!(nix::unistd::geteuid().is_root(), "OS crashes need root and loop devices; `dbduel run` makes kills alone");
    let dbduel = dbduel(root)?;
    let kills = if options.short { SHORT_KILLS } else { options.kills };
    let default = ENGINES.map(str::to_owned);
    let engines = if options.engine.is_empty() { &default[..] } else { &options.engine[..] };
    println!("engine          setting   documented measured  kills  lost  OS crashes  lost  damage");
    let mut wrong = Vec::new();
    for engine in engines {
        match judged(&dbduel, engine, kills)? {
            Some(found) => wrong.extend(found),
            None => println!("{engine:15} skipped: not installed here"),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What is wrong with an engine; none where it is not here.
fn judged(dbduel: &Path, engine: &str, kills: u32) -> Result<Option<Vec<String>>> {
    let folder = tempfile::tempdir()?;
    // Servers under another account must be able to enter the cache in it.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
    let file = folder.path().join("crash.toml");
    std::fs::write(&file, experiment(engine, kills))?;
    let dbduel = |words: &[&str]| {
        let mut command = Command::new(dbduel);
        command.env("DBDUEL_CACHE", folder.path().join("cache")).args(words).arg(&file).stdin(Stdio::null()).output()
    };
    let planned = dbduel(&["plan"]).context("cannot start dbduel")?;
    let why = String::from_utf8_lossy(&planned.stderr);
    if !planned.status.success() {
        ensure!(why.contains("not installed") || why.contains("not here"), "dbduel plan failed\n{why}");
        return Ok(None);
    }
    let runs = folder.path().join("runs");
    let output = dbduel(&["run", "--json", "--accept-noisy", "--runs", &runs.to_string_lossy()])?;
    if !output.status.success() {
        bail!("dbduel run failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("dbduel run --json printed no JSON")?;
    let all = report["durability"].as_array().context("no durability in the report")?;
    ensure!(all.len() == settings(engine).len(), "{engine}: a setting is missing in the report");
    let judged = |(setting, found)| judge(engine, setting, found, kills > SHORT_KILLS);
    let mut wrong: Vec<String> = settings(engine).iter().zip(all).filter_map(judged).collect();
    wrong.extend(failures(&report).map(|failure| format!("{engine} {failure}")));
    wrong.extend(left(folder.path())?.into_iter().map(|left| format!("{engine} left {left}")));
    Ok(Some(wrong))
}

fn experiment(engine: &str, kills: u32) -> String {
    let seldom = if engine.starts_with("mariadb") { SELDOM } else { "" };
    let contender = |(name, settings, _): &Setting| {
        format!("[[contender]]\nname = \"{name}\"\nengine = \"{engine}\"\nsettings = {{ {settings}{seldom} }}\n\n")
    };
    format!(
        "workload = {{ name = \"ledger\", accounts = 2_000, clients = 4 }}\n\
         method = {{ preset = \"quick\", duration = \"1s\", warmup = \"1s\" }}\n\
         recovery = {{ kills = {kills}, crash = \"both\", full_rate_within = \"0s\" }}\n\n{}",
        settings(engine).iter().map(contender).collect::<String>()
    )
}

/// What each failed trial failed of.
fn failures(report: &Value) -> impl Iterator<Item = String> {
    let failed = report["trials"].as_array().into_iter().flatten().filter(|trial| trial["status"] == "failed");
    failed.map(|trial| format!("{}, trial {}: {}", trial["contender"], trial["trial"], trial["failure"]))
}

/// One kill may come a moment after a flush and lose nothing, so `is_exact` only with more of them.
fn judge(engine: &str, (name, _, documented): &Setting, found: &Value, is_exact: bool) -> Option<String> {
    let (claimed, measured) = (found["claimed"].as_str()?, found["measured"]["class"].as_str().unwrap_or("none"));
    let of = |kind: usize, figure: &str| found["crashes"][kind][figure].as_u64().unwrap_or(0);
    let failed = of(0, "failed") + of(1, "failed");
    let damage = found["crashes"].as_array()?.iter().map(|kind| kind["damage"].to_string()).collect::<String>();
    println!(
        "{engine:15} {name:9} {documented:10} {measured:9} {:5} {:5} {:11} {:5}  {}",
        of(0, "crashes"),
        of(0, "lost"),
        of(1, "crashes"),
        of(1, "lost"),
        if damage == "[][]" { "none" } else { damage.as_str() }
    );
    let has_lost = of(0, "lost") + of(1, "lost") > 0;
    let is_class = measured == *documented || !is_exact && measured > *documented && has_lost;
    let is_right = claimed == *documented && is_class && damage == "[][]" && failed == 0;
    (!is_right).then(|| {
        format!("{engine} {name}: documented {documented}, claimed {claimed}, measured {measured}, {failed} trials failed, damage {damage}")
    })
}

/// Mounts, loop devices and work folders below a folder.
fn left(folder: &Path) -> Result<Vec<String>> {
    let word = folder.to_string_lossy();
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&*word)).map(str::to_owned).collect();
    for device in std::fs::read_dir("/sys/class/block")?.flatten() {
        let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        left.extend(backing.contains(&*word).then(|| format!("loop device {}", device.path().display())));
    }
    let work = std::fs::read_dir(folder.join("cache/work")).into_iter().flatten().flatten();
    left.extend(work.filter(|entry| entry.path().is_dir()).map(|entry| entry.path().display().to_string()));
    Ok(left)
}
