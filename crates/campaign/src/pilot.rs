//! Pilots: one long trial of each contender before the first block, from which the warm-up follows.
//!
//! A pilot is no trial of the plan: it has a folder of its own, no line among the trials, and no
//! word comes from it.

use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow};

use super::warmups::by_pilots;
use crate::Sitting;
use crate::progress::Progress;
use crate::stage::Stage;
use experiment::plan;
use record::format::{PilotRecord, PlannedTrial, RunRecord, Series, WarmupRecord, point_text};
use trial::observe::{CHECKPOINT_CYCLE, Observers};
use trial::{Interval, Trial, run_trial};

/// Runs the pilots that are missing and sets the warm-up of each workload; one that an earlier sitting
/// has set stays. Contenders that fail are named with their reason.
pub fn run_pilots(
    sitting: &Sitting,
    stage: &Stage,
    observers: &mut Observers,
    run: &mut RunRecord,
    progress: &Progress,
) -> Result<Vec<(String, Error)>> {
    let mut failures = Vec::new();
    let pilots = plan::pilots(&sitting.experiment);
    for of_workload in pilots.chunk_by(|one, next| one.workload == next.workload) {
        let workload = &of_workload[0].workload;
        if run.warmups.iter().any(|record| record.workload == *workload) {
            continue;
        }
        for pilot in of_workload.iter().filter(|pilot| stage.has(&pilot.contender)) {
            // Who did not even start in the rehearsal is known to fail, and who has run need not again.
            if !run.contenders.contains_key(&pilot.contender) || has_run(run, pilot) {
                continue;
            }
            match run_pilot(sitting, stage, pilot, observers, progress)? {
                Ok(record) => run.pilots.push(record),
                Err(error) => failures.push((pilot.contender.clone(), error)),
            }
            sitting.run_dir.write_run(run)?;
        }
        let warmup = by_pilots(&sitting.plan.record, &run.pilots, workload);
        progress.say(&told(run, &warmup));
        run.warmups.push(warmup);
        sitting.run_dir.write_run(run)?;
    }
    Ok(failures)
}

fn has_run(run: &RunRecord, pilot: &PlannedTrial) -> bool {
    run.pilots.iter().any(|record| (&record.workload, &record.contender) == (&pilot.workload, &pilot.contender))
}

/// The inner result is the contender's: it failed, and others may not.
fn run_pilot(
    sitting: &Sitting,
    stage: &Stage,
    pilot: &PlannedTrial,
    observers: &mut Observers,
    progress: &Progress,
) -> Result<Result<PilotRecord>> {
    let duration =
        sitting.experiment.method.pilot.expect("pilots are planned only where the method has a time for them");
    let title = format!("pilot run of {}, {}, {}", pilot.contender, pilot.workload, point_text(&pilot.point));
    progress.say(&format!("{title}: {} s", duration.as_secs_f64()));
    let folder = sitting.run_dir.pilot_folder(pilot.trial)?;
    let trial = Trial { interval: Interval::of_pilot(duration), ..stage.trial(pilot, &folder, Duration::ZERO) };
    let mut live = |live: load::Live| {
        let seconds = live.elapsed.as_secs_f64();
        progress.status(&format!("{title}: {}, {seconds:.0} s, {:.0} tps", live.phase, live.tps));
    };
    let begun = Instant::now();
    let finished = run_trial(&trial, observers, &mut live)?;
    progress.pilot_done(begun.elapsed());
    if let Some(failure) = finished.record.failure {
        let (contender, log) = (&pilot.contender, folder.join("server.log"));
        return Ok(Err(anyhow!(
            "the pilot run of contender `{contender}` failed at `{}`: {}\n  see: {}",
            failure.step,
            failure.message,
            log.display()
        )));
    }
    sitting.run_dir.write_pilot_series(pilot.trial, &finished.series)?;
    let needed = stats::warm_up_needed(&committed(&finished.series, duration));
    let cycle_s = finished.record.metrics.get(CHECKPOINT_CYCLE).filter(|_| trial.workload.spec().writes);
    Ok(Ok(PilotRecord {
        workload: pilot.workload.clone(),
        contender: pilot.contender.clone(),
        point: pilot.point.clone(),
        seconds: duration.as_secs_f64(),
        warmup_s: needed.map(|seconds| seconds as f64),
        checkpoint_cycle_s: cycle_s.copied(),
    }))
}

/// Committed transactions of each whole second.
fn committed(series: &Series, duration: Duration) -> Vec<f64> {
    let column = series.columns.iter().position(|name| name == "committed");
    let column = column.expect("a series of a trial counts what was committed");
    series.rows.iter().take(duration.as_secs() as usize).map(|row| row[column]).collect()
}

/// What the pilots of a workload showed, for the terminal.
fn told(run: &RunRecord, warmup: &WarmupRecord) -> String {
    let ours = run.pilots.iter().filter(|pilot| pilot.workload == warmup.workload);
    let each = ours.map(|pilot| {
        let level = match pilot.warmup_s {
            Some(seconds) => format!("{} is steady after {seconds} s", pilot.contender),
            None => format!("{} did not settle within {} s", pilot.contender, pilot.seconds),
        };
        level + &cycle_told(pilot)
    });
    let each: Vec<String> = each.collect();
    let seen = if each.is_empty() { "no pilot run came to its end".to_owned() } else { each.join(", ") };
    format!("trials of {} warm up {} s: {seen}", warmup.workload, warmup.seconds)
}

/// Of a load that writes: whether a cycle of checkpoints fits what may be warmed up for.
fn cycle_told(pilot: &PilotRecord) -> String {
    match pilot.checkpoint_cycle_s {
        None => String::new(),
        Some(cycle_s) if pilot.holds_a_cycle() => format!(" and makes a checkpoint every {cycle_s:.0} s"),
        Some(cycle_s) => {
            format!(" (no checkpoint cycle has passed: one takes {cycle_s:.0} s, and the warm-up holds none)")
        }
    }
}
