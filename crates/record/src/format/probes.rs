//! What trials that are not measured for a verdict show: pilots, kills, crashes.

use super::crash;
use super::plan::PlanRecord;
use super::purpose::Purpose;
use super::trial::{Status, TrialRecord};
use crate::point::Point;

/// What a long trial before the first block showed.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotRecord {
    pub workload: String,
    pub contender: String,
    pub point: Point,
    /// How long it ran.
    pub seconds: f64,
    /// The least warm-up after which it was steady; absent where it never was.
    pub warmup_s: Option<f64>,
    /// Of a load that writes: how often a checkpoint comes at its rate, where the server shows it.
    pub checkpoint_cycle_s: Option<f64>,
}

impl PilotRecord {
    /// Metrics of such a trial.
    pub const STEADY_AFTER: &str = "steady_after_s";
    pub const CHECKPOINT_CYCLE: &str = "checkpoint_cycle_s";

    /// Of the pilots that succeeded.
    pub fn all(plan: &PlanRecord, trials: &[TrialRecord]) -> Vec<PilotRecord> {
        let done = trials.iter().filter(|trial| trial.purpose == Purpose::Pilot && trial.status == Status::Ok);
        let pilot = |trial: &TrialRecord| PilotRecord {
            workload: trial.workload.clone(),
            contender: trial.contender.clone(),
            point: trial.point.clone(),
            seconds: plan.method.pilot_s.unwrap_or_default(),
            warmup_s: trial.metrics.get(PilotRecord::STEADY_AFTER).copied(),
            checkpoint_cycle_s: trial.metrics.get(PilotRecord::CHECKPOINT_CYCLE).copied(),
        };
        done.map(pilot).collect()
    }

    /// Whether a cycle of checkpoints was over before the pilot was. A longer one is not waited for: a
    /// trial would be mostly warm-up, and reports mention that none has passed.
    pub fn holds_a_cycle(&self) -> bool {
        self.checkpoint_cycle_s.is_some_and(|cycle_s| cycle_s < self.seconds)
    }
}

/// Kills of one contender's server under load, and how long it was away.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryRecord {
    pub contender: String,
    pub workload: String,
    pub point: Point,
    /// Of each kill: how long the server had been under load.
    pub load_s: Vec<f64>,
    /// From its start on the files that were left to the first login and query.
    pub t_conn_s: Vec<f64>,
    /// From the same start to the first transaction of the workload that was committed.
    pub t_rw_s: Vec<f64>,
}

impl RecoveryRecord {
    /// Of each contender, as far as its stored trials came.
    pub fn all(trials: &[TrialRecord]) -> Vec<RecoveryRecord> {
        let mut all: Vec<RecoveryRecord> = Vec::new();
        let done =
            |trial: &&TrialRecord| matches!(trial.purpose, Purpose::Recovery { .. }) && trial.status == Status::Ok;
        for trial in trials.iter().filter(done) {
            let at = all.iter().position(|one| one.contender == trial.contender);
            let at = at.unwrap_or_else(|| {
                let (workload, point) = (trial.workload.clone(), trial.point.clone());
                let (load_s, t_conn_s, t_rw_s) = Default::default();
                all.push(RecoveryRecord {
                    contender: trial.contender.clone(),
                    workload,
                    point,
                    load_s,
                    t_conn_s,
                    t_rw_s,
                });
                all.len() - 1
            });
            let value = |name: &str| trial.metrics.get(name).copied();
            all[at].load_s.extend(value(crash::LOAD));
            all[at].t_conn_s.extend(value(crash::FIRST_LOGIN));
            all[at].t_rw_s.extend(value(crash::FIRST_COMMIT));
        }
        all
    }
}

/// How long the tables of a workload took to load into an empty server of one contender.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRecord {
    pub contender: String,
    pub workload: String,
    /// Rows of all tables.
    pub rows: f64,
    /// Of each load.
    pub seconds: Vec<f64>,
}

impl LoadRecord {
    /// Metrics of such a trial.
    pub const SECONDS: &str = "tables_load_s";
    pub const ROWS: &str = "tables_rows";

    /// Of each contender and workload, as far as its stored trials came.
    pub fn all(trials: &[TrialRecord]) -> Vec<LoadRecord> {
        let mut all: Vec<LoadRecord> = Vec::new();
        let is_load =
            |trial: &&TrialRecord| matches!(trial.purpose, Purpose::Load { .. }) && trial.status == Status::Ok;
        for trial in trials.iter().filter(is_load) {
            let value = |name: &str| trial.metrics.get(name).copied();
            let (Some(seconds), Some(rows)) = (value(LoadRecord::SECONDS), value(LoadRecord::ROWS)) else { continue };
            let is_same =
                |one: &&mut LoadRecord| (&one.contender, &one.workload) == (&trial.contender, &trial.workload);
            match all.iter_mut().find(is_same) {
                Some(known) => known.seconds.push(seconds),
                None => all.push(LoadRecord {
                    contender: trial.contender.clone(),
                    workload: trial.workload.clone(),
                    rows,
                    seconds: vec![seconds],
                }),
            }
        }
        all
    }
}

impl TrialRecord {
    /// What it shows in place of throughput, for a reader.
    pub fn shows(&self) -> Option<String> {
        let value = |name: &str| self.metrics.get(name).copied();
        match &self.purpose {
            Purpose::Pilot => Some(match value(PilotRecord::STEADY_AFTER) {
                Some(seconds) => format!("steady after {seconds:.0} s"),
                None => "not steady".to_owned(),
            }),
            Purpose::Recovery { .. } => Some(format!(
                "killed after {:.0} s under load, first commit {:.2} s after the restart",
                value(crash::LOAD)?,
                value(crash::FIRST_COMMIT)?
            )),
            Purpose::Load { .. } => {
                Some(format!("{:.0} rows in {:.2} s", value(LoadRecord::ROWS)?, value(LoadRecord::SECONDS)?))
            }
            Purpose::Crash { kind, .. } => crash::shown(*kind, &self.metrics),
            _ => None,
        }
    }
}
