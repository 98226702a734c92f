//! Replays of one log at one pace, and what they must be like.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Replays of each log at each pace.
    pub turns: u32,
    /// How long production runs.
    pub seconds: u32,
}

/// Most of what a replay may take, as a multiple of the log's length; a machine that others use needs some time to start.
const TIMES_MAX: f64 = 3.0;
const START_MAX: Duration = Duration::from_secs(10);
/// Of the statements, by errors that production did not have.
const ERRORS_MAX: f64 = 0.001;

/// Paces and orders of a replay, as words of a command line.
pub const REPLAYS: [(&str, &[&str]); 4] = [
    ("original, transaction", &["--pacing", "original"]),
    ("speed 4, transaction", &["--pacing", "speed", "--speed", "4"]),
    ("fast, transaction", &["--pacing", "fast"]),
    ("fast, conflict", &["--pacing", "fast", "--order", "conflict"]),
];

/// The head of the table that [`Series::end`] prints rows of.
pub fn heading() -> String {
    format!(
        "{:<22} {:<26} {:>6} {:>9} {:>12} {:>8}  tables",
        "log", "replay", "turns", "seconds", "statements", "errors"
    )
}

/// A replay by the program itself.
pub struct Replay<'a> {
    pub dbduel: &'a Path,
    pub log: &'a Path,
    pub target: &'a str,
}

/// What a replay printed.
pub struct Replayed {
    took: Duration,
    statements: f64,
    pub errors: f64,
}

impl Replay<'_> {
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.dbduel);
        command.args(["bench", "replay", "--json", "--no-wait", "--target", self.target, "--log"]);
        command.arg(self.log).args(words);
        command
    }

    /// Fails when it does not end in time, or breaks its order.
    pub fn run(&self, words: &[&str], span: Duration) -> Result<Replayed> {
        let begun = Instant::now();
        let mut command = self.command(words);
        command.args(["--writes", "--silence", "60"]);
        let output = command.output().context("cannot start dbduel")?;
        let took = begun.elapsed();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "replay {} failed: {errors}", words.join(" "));
        let limit = span.mul_f64(TIMES_MAX) + START_MAX;
        ensure!(took <= limit, "replay {} of {span:.1?} took {took:.1?}", words.join(" "));
        let json: Value = serde_json::from_slice(&output.stdout)?;
        let metric = |name: &str| json["metrics"][name].as_f64().with_context(|| format!("no metric {name}"));
        ensure!(metric("replay.order_broken")? == 0.0, "replay {} broke its order", words.join(" "));
        Ok(Replayed { took, statements: metric("replay.statements")?, errors: metric("replay.errors")? })
    }
}

/// Replays of one log at one pace.
pub struct Series<'a> {
    log: &'a str,
    replay: String,
    longest: Duration,
    turns: u32,
    errors: f64,
    statements: f64,
    /// What is not as it should be.
    wrong: Option<String>,
}

impl<'a> Series<'a> {
    pub fn new(log: &'a str, replay: impl Into<String>) -> Series<'a> {
        Series {
            log,
            replay: replay.into(),
            longest: Duration::ZERO,
            turns: 0,
            errors: 0.0,
            statements: 0.0,
            wrong: None,
        }
    }

    pub fn add(&mut self, one: &Result<Replayed>, expected_statements: f64) {
        self.turns += 1;
        match one {
            Ok(one) => {
                self.longest = self.longest.max(one.took);
                self.errors += one.errors;
                self.statements += one.statements;
                let lost = one.statements != expected_statements;
                self.note(lost, || format!("{} of {expected_statements} statements", one.statements));
                let errs = one.errors > ERRORS_MAX * expected_statements + 1.0;
                self.note(errs, || format!("{} errors", one.errors));
            }
            Err(error) => self.note(true, || format!("{error:#}")),
        }
    }

    pub fn note(&mut self, is_wrong: bool, what: impl FnOnce() -> String) {
        if is_wrong && self.wrong.is_none() {
            self.wrong = Some(what());
        }
    }

    /// Prints its row, and returns how many are wrong.
    pub fn end(self) -> usize {
        let verdict = self.wrong.as_deref().unwrap_or("ok");
        println!(
            "{:<22} {:<26} {:>6} {:>9.1} {:>12} {:>8}  {verdict}",
            self.log,
            self.replay,
            self.turns,
            self.longest.as_secs_f64(),
            self.statements / f64::from(self.turns.max(1)),
            self.errors
        );
        usize::from(self.wrong.is_some())
    }
}

/// Statements that are replayed of a log, and its length.
pub fn expected_of(dbduel: &Path, log: &Path) -> Result<(f64, Duration)> {
    let words = ["digest", "--json", "--top", "1000000"];
    let output = Command::new(dbduel).args(words).arg(log).output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "{}: {}", log.display(), String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let digests = json["digests"].as_array().context("no digests")?;
    let replayed = digests.iter().filter(|digest| digest["never_replayed"].is_null());
    let calls: f64 = replayed.filter_map(|digest| digest["calls"].as_f64()).sum();
    Ok((calls, span_of(log)?))
}

/// From the first stamp to the last.
fn span_of(log: &Path) -> Result<Duration> {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    capture::read_logs(&[log.to_owned()], &capture::Options::default(), &mut |event, _, _| {
        if event.act.is_statement() {
            first = first.min(event.start_us);
            last = last.max(event.logged_us);
        }
    })?;
    ensure!(first <= last, "{} has no statement", log.display());
    Ok(Duration::from_micros((last - first) as u64))
}
