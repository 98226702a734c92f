//! `cargo xtask bench-report`: how large a page of a long run is, and how long its report takes.
//!
//! The run is made up: two contenders at many levels, trials of a minute, as many metrics as a server has counters.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fixtures::{StoredRun, Story, sweep_run};
use latency::{Histogram, Sealed, Windows};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use record::RunDir;
use record::format::{Point, Series};
use report::Options;

use crate::bench::done_in_release;

/// Blocks and levels of 320 trials, and of a thousand.
const LONG: (u32, u64) = (8, 20);
const LONGEST: (u32, u64) = (20, 25);
const SECONDS: u32 = 60;
const WINDOW_NS: u64 = 5_000_000_000;
/// Beside those that every trial has.
const COUNTERS: u32 = 170;
/// A page of 320 trials of a minute can be sent by mail.
const PAGE_BYTES_MAX: usize = 1_500_000;
/// Of a thousand trials.
const REPORT_MAX: Duration = Duration::from_secs(2);

pub fn run(root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    let runs = tempfile::tempdir()?;
    let (page, _) = written(&stored(runs.path(), LONG)?, "html")?;
    let stream =
        page.split("id=\"dbduel-records\">").nth(1).and_then(|rest| rest.split('<').next()).map_or(0, str::len);
    let unpacked = report::unpacked(&page)?.len() - page.len() + stream;
    println!(
        "page of 320 trials of a minute: {} bytes, of which raw data {stream} ({unpacked} decompressed)",
        page.len()
    );
    let (run, mut slowest) = (stored(runs.path(), LONGEST)?, Duration::ZERO);
    for format in ["html", "text", "json"] {
        let (_, took) = written(&run, format)?;
        println!("report of 1,000 trials as {format}: {:.2} s of CPU", took.as_secs_f64());
        slowest = slowest.max(took);
    }
    ensure!(page.len() < PAGE_BYTES_MAX, "the page is larger than {PAGE_BYTES_MAX} bytes");
    ensure!(slowest < REPORT_MAX, "a report takes longer than {} s", REPORT_MAX.as_secs());
    Ok(())
}

/// A report as it is made from the run's folder, and the CPU time that it took: on one thread, and whatever else the
/// host does.
fn written(run: &RunDir, format: &str) -> Result<(String, Duration)> {
    let begun = cpu_time();
    let report = report::write(run, format, &Options::default())?;
    Ok((report, cpu_time() - begun))
}

/// Of this process so far.
fn cpu_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    clock.now().map_or(Duration::ZERO, Duration::from)
}

/// A run of so many blocks and levels.
fn stored(runs: &Path, (blocks, levels): (u32, u64)) -> Result<RunDir> {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let points: Vec<Point> = (1..=levels).map(|level| Point::from([("clients".to_owned(), 4 * level)])).collect();
    let story = Story { blocks, ..Story::default() };
    let StoredRun { plan, run, mut trials } =
        sweep_run(&story, &points, |contender, _| if contender == fixtures::BASELINE { 1500.0 } else { 1400.0 });
    let mut lines = String::new();
    let log = windows(&mut random);
    let folder = StoredRun { plan, run, trials: Vec::new() }.store(runs);
    for trial in &mut trials {
        let counter = |number: u32| format!("counter.innodb.of_the_server_{number}");
        trial.metrics.extend((0..COUNTERS).map(|number| (counter(number), f64::from(random.next_u32() >> 8) / 60.0)));
        writeln!(lines, "{}", serde_json::to_string(trial)?)?;
        folder.write_series(trial.trial, &seconds(&mut random))?;
        folder.write_windows(trial.trial, &log)?;
    }
    // One by one, a folder takes each trial only after it has read all others.
    std::fs::write(folder.path().join("trials.ndjson"), lines).context("cannot write the trials")?;
    Ok(folder)
}

fn seconds(random: &mut ChaCha8Rng) -> Series {
    let row = |second: u32, random: &mut ChaCha8Rng| vec![f64::from(second), f64::from(1200 + random.next_u32() % 300)];
    let rows = (1..=SECONDS).map(|second| row(second, random)).collect();
    Series { columns: vec!["second".into(), "committed".into()], rows }
}

/// Latencies of a minute at 1,500 transactions per second.
fn windows(random: &mut ChaCha8Rng) -> String {
    let window = |random: &mut ChaCha8Rng| {
        let mut latencies = Histogram::default();
        (0..7500).for_each(|_| latencies.record(5_000_000 + u64::from(random.next_u32()) % 20_000_000));
        Sealed::of(&latencies)
    };
    let interval_ns = u64::from(SECONDS) * 1_000_000_000;
    Windows::new(WINDOW_NS, interval_ns, (0..interval_ns / WINDOW_NS).map(|_| window(random)).collect(), 0).log()
}
