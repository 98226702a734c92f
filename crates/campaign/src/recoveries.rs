//! Behind the duel of a search's winner: how long both sides are away after a kill.
//!
//! Settings that make a server faster can make it slow to come back (a larger log, rarer checkpoints), so
//! one number is not told without the other. Three kills a side are a first look: their range is told, and
//! no word comes from them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::budget::Clock;
use crate::Sitting;
use crate::progress::Progress;
use crate::stage::Stage;
use record::format::search::{RecoveryRecord, SearchRecord};
use record::format::{ContenderRecord, PlannedTrial, RunRecord};
use trial::Interrupted;
use trial::recovery::{Recovered, recover};

/// Kills of each side.
const KILLS: usize = 3;

/// The kills come after a third, two thirds and all of this time under load, or of a trial that is shorter.
const LOAD_MAX: Duration = Duration::from_secs(30);

/// Kills both sides' servers in turn, unless an earlier sitting did; what it did is kept after each kill.
pub fn measure(
    sitting: &Sitting,
    stage: &Stage,
    run: &mut RunRecord,
    clock: &Clock,
    interrupted: &AtomicBool,
    progress: &Progress,
) -> Result<()> {
    let Some(search) = run.search.as_mut().filter(|search| search.run.is_some()) else { return Ok(()) };
    let Some(first) = sides(sitting, search) else { return Ok(()) };
    search.no_recovery = why_not(sitting, stage, &first);
    if search.no_recovery.is_none() && search.recoveries.is_empty() {
        search.recoveries = first.iter().map(record).collect();
    }
    for kill in 0..KILLS {
        for (side, planned) in first.iter().enumerate() {
            let Some(search) = run.search.as_mut().filter(|search| search.no_recovery.is_none()) else { break };
            if search.recoveries[side].t_rw_s.len() > kill {
                continue;
            }
            let load_for = load_time(sitting) * (kill as u32 + 1) / KILLS as u32;
            if !clock.holds(load_for) {
                search.no_recovery = Some("the budget leaves no time for it".to_owned());
                break;
            }
            progress.status(&format!("kill {} of {KILLS}: {} under load", kill + 1, planned.contender));
            let recovered = kill_once(sitting, stage, planned, side * KILLS + kill, load_for);
            if interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            match recovered {
                Ok(recovered) => keep(&mut search.recoveries[side], load_for, recovered, progress),
                Err(error) => search.no_recovery = Some(format!("`{}`: {error:#}", planned.contender)),
            }
            sitting.run_dir.write_run(run)?;
        }
    }
    sitting.run_dir.write_run(run)
}

/// A planned trial of each contender, at the point where the search raced; where the duel's points have another
/// name for it, that is their first.
fn sides(sitting: &Sitting, search: &SearchRecord) -> Option<Vec<PlannedTrial>> {
    let plan = &sitting.plan.record;
    let of = |contender: &ContenderRecord| {
        let ours = |trial: &&PlannedTrial| trial.contender == contender.name && trial.workload == search.workload;
        let at = plan.trials.iter().filter(ours);
        at.min_by_key(|trial| (trial.point != search.point, &trial.point)).cloned()
    };
    plan.contenders.iter().map(of).collect()
}

/// Why nobody is killed.
fn why_not(sitting: &Sitting, stage: &Stage, sides: &[PlannedTrial]) -> Option<String> {
    if sides.iter().any(|planned| !stage.has(&planned.contender)) {
        return Some("a contender could not be prepared".to_owned());
    }
    if sides.iter().any(|planned| !stage.is_behind_a_connection(&planned.contender)) {
        return Some("an embedded engine runs inside dbduel: there is no server that could be killed".to_owned());
    }
    let folder = sitting.run_dir.path();
    let workload = stage.trial(&sides[0], folder, Duration::ZERO).workload;
    (!workload.spec().writes).then(|| "the workload writes nothing: there is nothing to recover".to_owned())
}

fn record(planned: &PlannedTrial) -> RecoveryRecord {
    RecoveryRecord {
        contender: planned.contender.clone(),
        workload: planned.workload.clone(),
        point: planned.point.clone(),
        load_s: Vec::new(),
        t_conn_s: Vec::new(),
        t_rw_s: Vec::new(),
    }
}

fn load_time(sitting: &Sitting) -> Duration {
    let method = &sitting.experiment.method;
    (method.warmup + method.duration).min(LOAD_MAX)
}

fn kill_once(
    sitting: &Sitting,
    stage: &Stage,
    planned: &PlannedTrial,
    number: usize,
    load_for: Duration,
) -> Result<Recovered> {
    let folder = sitting.run_dir.recovery_folder(number + 1)?;
    recover(&stage.trial(planned, &folder, Duration::ZERO), load_for)
}

fn keep(record: &mut RecoveryRecord, load_for: Duration, recovered: Recovered, progress: &Progress) {
    record.load_s.push(load_for.as_secs_f64());
    record.t_conn_s.push(recovered.t_conn_s);
    record.t_rw_s.push(recovered.t_rw_s);
    let (contender, number) = (&record.contender, record.t_rw_s.len());
    progress.say(&format!(
        "[kill {number}/{KILLS}] {contender}: killed after {:.0} s under load, first commit {:.2} s after its next start",
        load_for.as_secs_f64(),
        recovered.t_rw_s
    ));
}
