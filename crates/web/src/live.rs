//! The events of a run that is being measured, by another process: what its folder gains, trial by trial.
//!
//! A reader gets `plan`, what there is already, and then what comes. Seconds of a trial are on disk when it ends, so a
//! curve grows by a trial at a time. The interval is judged when a block is complete, as the report would judge it.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use analysis::{SERIES_COLUMN, SoFar, so_far};
use record::format::{PlanRecord, Status, TrialRecord, point_text};
use record::{RunDir, RunState, TrialCursor};

pub const SCRIPT: &str = include_str!("live.js");

/// How often the folder is looked at.
const POLL: Duration = Duration::from_millis(500);
/// A line for a proxy or a browser that counts silence as an end; it also finds a reader that is gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// Points of a curve that one trial gives.
const POINTS_OF_A_TRIAL_MAX: usize = 30;
/// Trials of a run whose earlier blocks are judged one by one, for the curve of the interval; of a longer one the last.
const REPLAYED_TRIALS_MAX: usize = 2000;

/// Sends events until the run has ended, the reader is gone or the server ends.
pub fn stream(run: &RunDir, mut reader: &TcpStream, interrupted: &AtomicBool) -> std::io::Result<()> {
    let mut watched = Watched::new(run);
    let mut last_sent = Instant::now();
    while !interrupted.load(Ordering::Relaxed) {
        let (events, is_over) = match watched.news() {
            Ok(news) => news,
            Err(error) => (vec![("failure", json!({ "message": format!("{error:#}") }))], true),
        };
        for (name, data) in &events {
            reader.write_all(event(name, data).as_bytes())?;
            last_sent = Instant::now();
        }
        if is_over {
            return Ok(());
        }
        if last_sent.elapsed() > SIGN_OF_LIFE {
            reader.write_all(b": waiting\n\n")?;
            last_sent = Instant::now();
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// JSON has no line break of its own, so an event is always two lines.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

type Events = Vec<(&'static str, Value)>;

/// A run as far as its reader knows it.
struct Watched<'a> {
    run: &'a RunDir,
    plan: Option<PlanRecord>,
    trials: Vec<TrialRecord>,
    /// Their numbers.
    stored: BTreeSet<u32>,
    read: TrialCursor,
    judged_blocks: u32,
    state: Value,
}

impl<'a> Watched<'a> {
    fn new(run: &'a RunDir) -> Watched<'a> {
        Watched {
            run,
            plan: None,
            trials: Vec::new(),
            stored: BTreeSet::new(),
            read: TrialCursor::default(),
            judged_blocks: 0,
            state: Value::Null,
        }
    }

    /// What the reader does not know yet, and whether nothing more will come.
    fn news(&mut self) -> Result<(Events, bool)> {
        let mut events = Events::new();
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => {
                let plan = self.run.plan()?;
                events.push(("plan", plan_event(&plan)));
                plan
            }
        };
        // Asked first: what a run stored before it ended is read below.
        let state = self.run.state();
        let new = self.run.new_trials(&mut self.read)?;
        for trial in &new {
            events.push(("trial", self.trial_event(trial)));
        }
        self.stored.extend(new.iter().map(|trial| trial.trial));
        self.trials.extend(new);
        let is_over = state == RunState::Ended;
        events.extend(self.intervals(&plan, is_over)?);
        let state = state_event(&plan, &self.stored, state, self.run);
        if state != self.state {
            events.push(("state", state.clone()));
            self.state = state;
        }
        self.plan = Some(plan);
        Ok((events, is_over))
    }

    fn trial_event(&self, trial: &TrialRecord) -> Value {
        let metric = |name: &str| trial.metrics.get(name).copied();
        json!({
            "trial": trial.trial, "block": trial.block, "workload": trial.workload, "contender": trial.contender,
            "point": point_text(&trial.point), "ok": trial.status == Status::Ok, "probe": trial.purpose.is_probe(),
            "flags": trial.flags, "started_at": trial.started_at, "finished_at": trial.finished_at,
            "tps": metric("tps"), "p95_ms": metric("latency_ms_p95"), "cpu_us": metric("cpu_us_per_tx"),
            "seconds": self.seconds(trial.trial),
        })
    }

    /// Transactions a second of a trial, thinned out; none where they cannot be read.
    fn seconds(&self, trial: u32) -> Vec<f64> {
        let Some(series) = self.run.series(trial).ok().flatten() else { return Vec::new() };
        let Some(column) = series.columns.iter().position(|name| name == SERIES_COLUMN) else { return Vec::new() };
        let values: Vec<f64> = series.rows.iter().filter_map(|row| row.get(column).copied()).collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        values.chunks(values.len().div_ceil(POINTS_OF_A_TRIAL_MAX).max(1)).map(mean).collect()
    }

    /// The interval after each block that is complete and was not judged yet.
    fn intervals(&mut self, plan: &PlanRecord, is_over: bool) -> Result<Events> {
        let block = complete_block(plan, &self.stored).max(if is_over { plan.method.blocks } else { 0 });
        if block <= self.judged_blocks {
            return Ok(Events::new());
        }
        let first = if self.trials.len() > REPLAYED_TRIALS_MAX { block } else { self.judged_blocks + 1 };
        self.judged_blocks = block;
        let run = self.run.run_record()?;
        let mut events = Events::new();
        for block in first..=block {
            let by_then: Vec<TrialRecord> = self.trials.iter().filter(|trial| trial.block <= block).cloned().collect();
            for SoFar { workload, candidate, overall } in so_far(plan, &run, &by_then) {
                events.push(("interval", json!({
                    "block": block, "workload": workload, "baseline": plan.baseline, "candidate": candidate,
                    "ratio": overall.ratio, "low": overall.low, "high": overall.high, "verdict": overall.verdict.as_str(),
                })));
            }
        }
        Ok(events)
    }
}

/// The last block of which every planned trial is stored.
fn complete_block(plan: &PlanRecord, stored: &BTreeSet<u32>) -> u32 {
    let missing =
        plan.trials.iter().filter(|planned| !stored.contains(&planned.trial)).map(|planned| planned.block).min();
    match missing {
        Some(block) => block.saturating_sub(1),
        None => plan.trials.iter().map(|planned| planned.block).max().unwrap_or_default(),
    }
}

fn plan_event(plan: &PlanRecord) -> Value {
    let contenders: Vec<&str> = plan.contenders.iter().map(|one| one.name.as_str()).collect();
    let workloads: Vec<&str> = plan.workloads.iter().map(|one| one.label.as_str()).collect();
    json!({ "name": plan.name, "baseline": plan.baseline, "contenders": contenders, "workloads": workloads, "margin": plan.method.margin })
}

/// In which phase the run is.
fn state_event(plan: &PlanRecord, stored: &BTreeSet<u32>, state: RunState, run: &RunDir) -> Value {
    let planned = plan.trials.iter().filter(|planned| stored.contains(&planned.trial)).count();
    let next = plan.trials.iter().find(|planned| !stored.contains(&planned.trial));
    let blocks = plan.trials.iter().map(|planned| planned.block).max().unwrap_or_default();
    let beside = stored.len() - planned;
    let text = match (state, next) {
        (RunState::Ended, _) => match run.run_record().ok().and_then(|record| record.ended_by) {
            Some(why) if why == "blocks" => "The run is complete.".to_owned(),
            Some(why) => format!("The run has ended: {why}."),
            None => "The run has ended.".to_owned(),
        },
        (RunState::Abandoned, _) => format!(
            "The run was abandoned: no process works on it. `dbduel run --resume {}` goes on with it.",
            run.name()
        ),
        (RunState::Running, _) if stored.is_empty() => "Setting up: servers, data, pilots.".to_owned(),
        (RunState::Running, Some(next)) => {
            format!(
                "Block {} of at most {blocks}: {}, {}, {} is next or running.",
                next.block,
                next.workload,
                point_text(&next.point),
                next.contender
            )
        }
        (RunState::Running, None) => "All planned trials are stored; repeats and probes are running.".to_owned(),
    };
    let name = match state {
        RunState::Running => "running",
        RunState::Ended => "ended",
        RunState::Abandoned => "abandoned",
    };
    json!({ "state": name, "text": text, "stored": planned, "planned": plan.trials.len(), "beside": beside })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::HOSTILE;
    use fixtures::{StoredRun, Story, stored_run};

    /// A run of the fixtures before its first trial.
    fn begun(runs: &std::path::Path) -> (StoredRun, RunDir) {
        let mut stored = stored_run(&Story::default());
        stored.run.finished_at = None;
        let run = RunDir::create(runs, "live", "2031-05-04T10:15:00Z".parse().unwrap()).unwrap();
        run.write_plan(&stored.plan).unwrap();
        run.write_run(&stored.run).unwrap();
        (stored, run)
    }

    fn names(events: &Events) -> Vec<&'static str> {
        let mut names: Vec<_> = events.iter().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }

    #[test]
    fn what_a_run_gains_is_sent_once_and_its_interval_block_by_block() {
        let runs = tempfile::tempdir().unwrap();
        let (mut stored, run) = begun(runs.path());
        let reader = RunDir::all(runs.path()).unwrap().remove(0);
        let mut watched = Watched::new(&reader);
        let (events, is_over) = watched.news().unwrap();
        assert_eq!((names(&events), is_over), (vec!["plan", "state"], false));
        assert!(events[1].1["text"].as_str().unwrap().starts_with("Setting up"), "{events:?}");
        assert_eq!(watched.news().unwrap(), (Vec::new(), false));
        let (first, rest): (Vec<_>, Vec<_>) = stored.trials.iter().partition(|trial| trial.block <= 2);
        first.iter().for_each(|trial| run.append(trial).unwrap());
        let (events, _) = watched.news().unwrap();
        assert_eq!(names(&events), ["trial", "interval", "state"]);
        assert_eq!(events.iter().filter(|(name, _)| *name == "trial").count(), first.len());
        let blocks: Vec<_> =
            events.iter().filter(|(name, _)| *name == "interval").map(|(_, data)| data["block"].clone()).collect();
        assert_eq!(blocks, [1, 2]);
        rest.iter().for_each(|trial| run.append(trial).unwrap());
        stored.run.finished_at = Some("2031-05-04T12:00:00Z".to_owned());
        run.write_run(&stored.run).unwrap();
        drop(run);
        let (events, is_over) = watched.news().unwrap();
        assert!(is_over);
        let (_, last) = events.iter().rfind(|(name, _)| *name == "interval").unwrap();
        let report = analysis::conclude(&stored.plan, &stored.run, &stored.trials);
        let overall = &report.workloads[0].duels[0].overall;
        assert_eq!((last["low"].as_f64(), last["verdict"].as_str()), (overall.low, Some(overall.verdict.as_str())));
        let (_, state) = events.last().unwrap();
        assert_eq!((state["state"].as_str(), &state["stored"]), (Some("ended"), &state["planned"]));
    }

    #[test]
    fn a_run_without_its_process_is_abandoned() {
        let runs = tempfile::tempdir().unwrap();
        let (stored, run) = begun(runs.path());
        run.append(&stored.trials[0]).unwrap();
        let (name, reader) = (run.name(), RunDir::all(runs.path()).unwrap().remove(0));
        let mut watched = Watched::new(&reader);
        let state = |events: Events| events.last().unwrap().1["state"].clone();
        assert_eq!(state(watched.news().unwrap().0), "running");
        drop(run);
        let (events, is_over) = watched.news().unwrap();
        assert_eq!((state(events), is_over), ("abandoned".into(), false));
        let resumed = RunDir::open_to_write(runs.path(), &name).unwrap();
        assert_eq!(state(watched.news().unwrap().0), "running");
        drop(resumed);
    }

    #[test]
    fn an_event_is_one_line_of_data_whatever_stands_in_it() {
        let text = event("trial", &json!({ "flag": format!("a\nb\r\ndata: {HOSTILE}\u{2028}") }));
        assert_eq!(text.matches('\n').count(), 3, "{text}");
        assert_eq!(text.lines().count(), 3);
    }
}
