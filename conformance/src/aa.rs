//! `cargo xtask aa`: a contender against itself must come out as no difference.
//!
//! Level 7 of our tests, on the whole program and through `dbduel aa`: verdicts over engines and
//! workloads, each of which may be false once in twenty. So many false ones as chance brings in three of
//! a hundred of such series are a bug, or a host that is not fit to measure on (method, section 8). It
//! does not show how small a difference would be detected.

mod null;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::held::dbduel;
use null::allowed;

#[derive(clap::Args)]
pub struct AaHistory {
    /// Verdicts over all engines and workloads, by turns: 21, of 60 for the full series; 200 with --null
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    verdicts: Option<u32>,
    /// Go on with this verdict of the series, where an earlier command measured those before it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "short")]
    from: u32,
    /// Measured seconds of a trial: 1, with --null 0.05
    #[arg(long, conflicts_with = "short")]
    seconds: Option<f64>,
    /// Blocks of a verdict: 8, with --null 20 at most
    #[arg(long, value_parser = clap::value_parser!(u32).range(8..=1000), conflicts_with = "short")]
    blocks: Option<u32>,
    /// Five verdicts on SQLite in trials of half a second, with --null a hundred in trials of 20 ms: a minute,
    /// for every push
    #[arg(long, conflicts_with = "verdicts")]
    short: bool,
    /// Against our own server that does nothing but wait, for times that are drawn: many verdicts, at little cost
    #[arg(long)]
    null: bool,
}

const ENGINES: [&str; 3] = ["sqlite", "mariadb@system", "postgres@system"];
const WORKLOADS: [&str; 3] = ["oltp_read_only", "oltp_write_only", "oltp_read_write"];

/// Verdicts that claim a difference.
const CLAIMS: [&str; 2] = ["faster", "slower"];

/// How rarely chance may bring as many false verdicts as fail the series.
const CHANCE_MAX: f64 = 0.03;

/// One engine under one workload.
#[derive(Debug, Clone, Copy)]
struct Pairing {
    engine: &'static str,
    workload: &'static str,
}

/// How a series measures.
struct Series {
    pairings: Vec<Pairing>,
    verdicts: u32,
    seconds: f64,
    blocks: u32,
}

pub fn run(options: &AaHistory, root: &Path) -> Result<()> {
    if options.null {
        return null::run(&null_series(options)?);
    }
    let dbduel = dbduel(root)?;
    let folder = tempfile::tempdir()?;
    // Servers under another account must be able to enter the cache in it. It is a cache of its own: these
    // verdicts test dbduel, and are nothing that later runs should quote.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
    let place = Place { dbduel: &dbduel, folder: folder.path() };
    let series = series(options, &place)?;
    println!(
        "{}",
        row(["engine", "workload", "seed", "word", "ratio", "interval", "s_d", "first in block", "flagged"])
    );
    let mut claims = 0;
    for index in options.from - 1..options.from - 1 + series.verdicts {
        let pairing = series.pairings[index as usize % series.pairings.len()];
        let seen = verdict(&place, &series, pairing, index)?;
        claims +=
            u32::from(CLAIMS.contains(&seen["verdict"].as_str().context("a record of an A/A test has a verdict")?));
        println!("{}", line(pairing, index + 1, &seen));
    }
    let (verdicts, allowed) = (series.verdicts, allowed(series.verdicts, CHANCE_MAX));
    println!("{claims} of {verdicts} verdicts found a false difference; at most {allowed} may");
    ensure!(
        claims <= allowed,
        "{claims} of {verdicts} verdicts found a false difference, which chance does not explain"
    );
    Ok(())
}

fn null_series(options: &AaHistory) -> Result<null::Series> {
    let skipped = options.from - 1;
    if options.short {
        return Ok(null::Series { verdicts: 100, trial: Duration::from_millis(20), blocks: 8, skipped });
    }
    let seconds = options.seconds.unwrap_or(0.05);
    let trial = Duration::try_from_secs_f64(seconds).ok().filter(|trial| *trial >= Duration::from_millis(5));
    Ok(null::Series {
        verdicts: options.verdicts.unwrap_or(200),
        trial: trial.with_context(|| format!("--seconds {seconds} is no time to measure; give at least 0.005"))?,
        blocks: options.blocks.unwrap_or(20),
        skipped,
    })
}

/// Engines that are not here are printed and left out.
fn series(options: &AaHistory, place: &Place) -> Result<Series> {
    if options.short {
        let pairings = vec![Pairing { engine: "sqlite", workload: "oltp_read_only" }];
        return Ok(Series { pairings, verdicts: 5, seconds: 0.5, blocks: 8 });
    }
    let mut here = Vec::new();
    let seconds = options.seconds.unwrap_or(1.0);
    for engine in ENGINES {
        place.write(&experiment(Pairing { engine, workload: WORKLOADS[0] }, seconds))?;
        let planned = place.run(&["plan"])?;
        if planned.status.success() {
            here.push(engine);
        } else {
            println!("skipped: {engine} is not here\n{}", String::from_utf8_lossy(&planned.stderr));
        }
    }
    // By workload first, so that a short series meets every engine.
    let of_workload = |workload: &'static str| here.iter().map(move |engine| Pairing { engine, workload });
    let pairings = WORKLOADS.into_iter().flat_map(of_workload).collect();
    let (verdicts, blocks) = (options.verdicts.unwrap_or(21), options.blocks.unwrap_or(8));
    Ok(Series { pairings, verdicts, seconds, blocks })
}

/// Two clients and few rows: what is left to differ is the instrument.
fn experiment(pairing: Pairing, seconds: f64) -> String {
    let Pairing { engine, workload } = pairing;
    format!(
        "name = \"aa\"\nquestion = \"Does an A/A test find a difference?\"\n\
         contender = [{{ name = \"one\", engine = \"{engine}\" }}]\n\
         workload = {{ name = \"{workload}\", rows = 10_000, clients = 2 }}\n\
         method = {{ preset = \"quick\", duration = \"{seconds}s\", warmup = \"200ms\" }}\n"
    )
}

/// Where the series runs.
struct Place<'a> {
    dbduel: &'a Path,
    folder: &'a Path,
}

impl Place<'_> {
    fn write(&self, experiment: &str) -> Result<()> {
        Ok(std::fs::write(self.folder.join("aa.toml"), experiment)?)
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.dbduel);
        command.args(words).arg("aa.toml").current_dir(self.folder).stdin(Stdio::null());
        command.env("DBDUEL_CACHE", self.folder.join("cache")).env_remove("DBDUEL_WORK");
        command.output().context("cannot start dbduel")
    }

    /// What the last A/A run left behind.
    fn last_record(&self) -> Result<Value> {
        let records = std::fs::read_to_string(self.folder.join("cache/twins.ndjson"))?;
        let last = records.lines().last().context("dbduel aa remembered nothing")?;
        Ok(serde_json::from_str(last)?)
    }
}

fn verdict(place: &Place, series: &Series, pairing: Pairing, index: u32) -> Result<Value> {
    place.write(&experiment(pairing, series.seconds))?;
    let (blocks, seed) = (series.blocks.to_string(), (index + 1).to_string());
    let output = place.run(&["aa", "--accept-noisy", "--blocks", &blocks, "--seed", &seed])?;
    if !output.status.success() {
        bail!("dbduel aa failed ({}) with {pairing:?}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let record = place.last_record()?;
    let (engine, workload) = (record["engine"].as_str(), record["workload"].as_str());
    let ours = engine.is_some_and(|engine| pairing.engine.starts_with(engine))
        && workload.is_some_and(|workload| workload.starts_with(pairing.workload));
    ensure!(ours, "the last record is of another run: {record}");
    ensure!(record["blocks"].as_u64() >= Some(8), "too few blocks for a word; the run proves nothing: {record}");
    Ok(record)
}

fn line(pairing: Pairing, seed: u32, seen: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let percent = |value: &Value| format!("{:.2} %", number(value) * 100.0);
    let effect = |log_ratio: f64| format!("{:+.2} %", log_ratio.exp_m1() * 100.0);
    let order = &seen["order_effect"];
    let first = match order[0].as_f64() {
        None => "one order only".to_owned(),
        Some(mean) => format!("{} ({} to {})", effect(mean), effect(number(&order[1])), effect(number(&order[2]))),
    };
    row([
        pairing.engine,
        pairing.workload,
        &seed.to_string(),
        seen["verdict"].as_str().unwrap_or("?"),
        &format!("{:.4}", number(&seen["ratio"])),
        &format!("{:.4} to {:.4}", number(&seen["low"]), number(&seen["high"])),
        &percent(&seen["sd"]),
        &first,
        &percent(&seen["flagged_share"]),
    ])
}

fn row(cells: [&str; 9]) -> String {
    let widths = [15, 15, 4, 19, 6, 16, 7, 28, 8];
    let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{CHANCE_MAX, allowed};

    #[test]
    fn as_many_false_verdicts_are_allowed_as_chance_brings_in_97_of_100_series() {
        assert_eq!([5, 20, 21, 60].map(|verdicts| allowed(verdicts, CHANCE_MAX)), [1, 3, 3, 6]);
        assert_eq!(allowed(1, CHANCE_MAX), 1);
        assert_eq!([100, 200].map(|verdicts| allowed(verdicts, 0.01)), [11, 18]);
    }
}
