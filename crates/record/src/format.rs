//! The file format of a stored run. What is written here is a promise: an older run can always be
//! reported again. Names of fields are names in the files.

pub mod answers;
pub mod bounds;
pub mod cause_test;
pub mod check;
pub mod crash;
pub mod decision;
mod declared;
pub mod diagnostic;
pub mod figures;
pub mod gate;
pub mod ladder;
pub mod operations;
mod other_baseline;
mod plan;
mod probes;
pub mod purpose;
mod statement_plan;
mod trial;
pub mod tuning;
mod worker;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::point::{Point, point_text};
pub use cause_test::{ContrastRecord, PlanTestRecord};
pub use check::CheckRecord;
pub use decision::{DecisionKind, DecisionRecord};
pub use declared::{KindRecord, MetricRecord};
pub use diagnostic::{DiagnosticRecord, ProfileRecord, WaitsRecord, WaitsUnit};
pub use plan::{
    ArchiveRecord, ContenderRecord, DigestRecord, ImageRecord, MethodRecord, PlanRecord, PlannedTrial, RuleName,
    WorkloadRecord, step,
};
pub use probes::{LoadRecord, PilotRecord, RecoveryRecord};
pub use purpose::{ContrastKind, Purpose};
pub use statement_plan::{PlanNode, QUERY, StatementPlan};
pub use trial::{Failure, Status, TrialRecord, measured};
pub use worker::{ClusterRecord, WorkerRecord};

/// Version of the format of runs and trials; any other is refused with a message.
pub const FORMAT_VERSION: u32 = 2;

/// Version of `plan.json`, whose hash covers every key of it.
pub const PLAN_FORMAT_VERSION: u32 = 1;

/// `run.json`: what is known only once the run goes on. Rewritten whole, atomically.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub format_version: u32,
    pub dbduel_version: String,
    pub started_at: String,
    /// Absent while the run goes on, and in one that was killed.
    pub finished_at: Option<String>,
    /// Why it ended: `decided`, `blocks`, `budget`, `interrupted`; absent as above.
    pub ended_by: Option<String>,
    pub host: HostRecord,
    /// That of the targets, where an agent observes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<HostRecord>,
    pub client: ClientRecord,
    /// By contender name, as learned when its server first answered.
    pub contenders: BTreeMap<String, ContenderFacts>,
    /// What was measured of generator and network before the first block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRecord>,
    /// How candidates answer the statements of a replayed log beside the baseline, and how well its replay agrees with
    /// what the log recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<answers::AnswersRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fidelity: Vec<answers::FidelityRecord>,
    /// What was decided while the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionRecord>,
    /// Earlier A/A results of this host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<AaRecord>,
    /// What the run has taken so far of the time that its user gave: loads, pilots, gaps and trials, those beside
    /// the plan included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spent_s: f64,
    /// What the user files the run under: commit, branch, class of host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The search over settings that this run is part of (`dbduel tune`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<tuning::SearchRecord>,
}

/// A contender against itself, under the full protocol: which difference this host can detect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaRecord {
    /// RFC 3339.
    pub at: String,
    /// Of the run that it comes from.
    pub plan_hash: String,
    /// Identifies the host: CPU, cores, memory, kernel, storage.
    pub host: String,
    pub engine: String,
    pub version: String,
    /// The workload with its options, in one line.
    pub workload: String,
    /// `duet` or `fast sweep`; absent where each trial had a start and a time of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrangement: Option<String>,
    pub point: Point,
    pub blocks: u32,
    /// Records from earlier versions have it as `word`.
    #[serde(alias = "word")]
    pub verdict: String,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// Standard deviation of the log ratio between blocks.
    pub sd: f64,
    /// Seconds a block took.
    pub block_s: f64,
    /// Seconds that a trial measured; absent for passes, which take as long as they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_s: Option<f64>,
    /// Seconds to measure for the most information in the time spent; absent where it cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_trial_s: Option<f64>,
    /// Log of first in the block over second, with its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_effect: Option<[f64; 3]>,
    /// Share of trials that carry a flag of the host.
    pub flagged_share: f64,
    /// Standard deviation between trials, and of one second within them, as fractions; absent where trials
    /// are too short to separate the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_between_trials: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_of_a_second: Option<f64>,
    /// Correlation of one second with the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocorrelation: Option<f64>,
}

/// Metrics of a trial about work that its server put off. The last three are followed by the name of a state:
/// `deferred_work_left.dirty_bytes`.
pub mod deferred_work {
    pub const DRAIN: &str = "deferred_work_s";
    /// What the interval took; only where something is left.
    pub const INTERVAL: &str = "deferred_work_interval_s";
    /// By how much it fell behind the interval, and in how many seconds.
    pub const PAID: &str = "deferred_work_done.";
    pub const PAID_S: &str = "deferred_work_done_s.";
    /// What was still there above the level of the beginning when the wait ended.
    pub const AMOUNT_LEFT: &str = "deferred_work_left.";
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    pub cpu_model: String,
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    /// File system and device under the work folder: `ext4 on vda`.
    pub storage: String,
    /// `kvm`, `container` …, or `none seen`.
    pub virtualisation: String,
    /// What else may matter and does not change: governor, transparent huge pages, NUMA nodes, mitigations …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// What cannot be seen here, by name; it is never reported as zero.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_visible: Vec<String>,
}

/// Names of facts that the hardware and system block prints.
impl HostRecord {
    pub const DISTRIBUTION: &str = "distribution";
    pub const MACHINE: &str = "machine";
    pub const CPUS: &str = "sockets, cores, threads";
    pub const CACHES: &str = "CPU caches";
    pub const DISK: &str = "disk";
    pub const IO_SCHEDULER: &str = "I/O scheduler";
    pub const MOUNT_OPTIONS: &str = "mount options";
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// Event-loop threads of the load generator.
    pub workers: u32,
    /// The load generator and the servers share cores (caveat `shared cores`).
    pub shared_cores: bool,
    pub cores: String,
    /// All that servers are kept on; absent where a server may run everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<String>,
    /// The two halves of a duet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<SideRecord>,
}

/// One side of a duet: a server and its generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideRecord {
    pub cores: String,
    /// Hyperthreads of one core counted once.
    pub physical_cores: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContenderFacts {
    /// As the server itself reports it: `5.6.24`.
    pub version: String,
    /// The engine's name as its makers write it: `MySQL`.
    pub title: String,
    /// Its SQL dialect; settings and plans of one family are comparable.
    pub family: String,
    /// Names of settings that decide speed or durability, the weightiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notable_settings: Vec<String>,
    /// All settings, as read back from the running server.
    pub effective_settings: BTreeMap<String, String>,
    /// Names of dbduel's own settings that replace a default of this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_defaults: Vec<String>,
    /// `D3` … `D0` of the method's section on durability, from the settings and from where the data lie.
    pub durability_class: String,
    /// File system and device of the data, and whether an OS crash empties it: `tmpfs on tmpfs, in memory`.
    /// Absent where it cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// What of a target's URL came from where, and which of its hosts answered:
    /// `postgres://app@db/x: user from PGUSER, password from ~/.pgpass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_sources: Option<String>,
    /// Isolation level of the clients' sessions as read back, by workload label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub isolation: BTreeMap<String, String>,
    /// CREATE statements as the server shows them, by workload label.
    pub ddl: BTreeMap<String, Vec<String>>,
    /// How the server runs the statements of a workload, by its label, with the point where points have data of their
    /// own: asked once, behind the interval of a trial. Older runs asked before the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans: BTreeMap<String, Vec<StatementPlan>>,
    /// The same inside cause tests that forced another plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan_tests: Vec<PlanTestRecord>,
    /// Checksums of what the rehearsal's queries returned, by workload label as above and by query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<String, BTreeMap<String, String>>,
    /// Bytes of the restored data directory, by workload label.
    pub data_bytes: BTreeMap<String, u64>,
    pub build: BuildRecord,
    /// What stands between the clients and the server: `PgBouncer 1.18.0 (transaction mode)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler: Option<String>,
}

/// What a server's program was compiled for, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildRecord {
    /// 32 or 64; null where it is not known.
    pub word_bits: Option<u32>,
    /// The processor that it was compiled for: `x86_64`.
    pub architecture: Option<String>,
    /// What the server reports of it: platform, compiler, flags.
    #[serde(rename = "told", default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<String>,
}

impl RunRecord {
    /// The host that the servers are on, as far as that is known.
    pub fn host_of_servers(&self) -> &HostRecord {
        self.server_host.as_ref().unwrap_or(&self.host)
    }

    /// Decisions of one kind, in their order.
    pub fn decided(&self, kind: DecisionKind) -> impl Iterator<Item = &DecisionRecord> {
        self.decisions.iter().filter(move |one| one.kind == kind)
    }

    /// Puts these in the place of all decisions of their kind.
    pub fn decide_anew(&mut self, kind: DecisionKind, decisions: impl IntoIterator<Item = DecisionRecord>) {
        self.decisions.retain(|one| one.kind != kind);
        self.decisions.extend(decisions);
    }
}

/// What an HTML report carries with it, so that its reader can judge the run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedRecords {
    pub plan: PlanRecord,
    pub run: RunRecord,
    pub trials: Vec<TrialRecord>,
    /// By number of trial: the time and what was committed.
    pub series: BTreeMap<u32, Series>,
    /// What observers saw, of the trials and in the columns that are drawn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<u32, Series>,
    /// By number of trial: its response times window by window, as `latency.hlog` has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub windows: BTreeMap<u32, String>,
    /// What the profiles left in their trials' folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<DiagnosticRecord>,
    /// What was odd about the records themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the page compares with, where that is not the baseline of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// `trials/<number>/series.csv` and `observed.csv`: one row per second of the measured interval; and `deferred.csv`,
/// one per transaction that clients had deferred and that committed. A value that could not be seen, or that there
/// is none of, is NaN, and an empty cell in the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Named as the metrics are, `second` first; of deferred transactions `queued_s` and `ended_s`, which count from
    /// the interval's beginning.
    pub columns: Vec<String>,
    #[serde(with = "seen")]
    pub rows: Vec<Vec<f64>>,
}

impl Series {
    /// These columns and those of another series, second by second; a second that only the other has is left out.
    pub fn with_columns_of(self, other: Series) -> Series {
        if self.columns.is_empty() || other.columns.is_empty() {
            return if self.columns.is_empty() { other } else { self };
        }
        let more = other.columns.len() - 1;
        let join = |mut row: Vec<f64>| {
            let beside = other.rows.iter().find(|one| one.first() == row.first());
            match beside {
                Some(beside) => row.extend_from_slice(&beside[1..]),
                None => row.extend(std::iter::repeat_n(f64::NAN, more)),
            }
            row
        };
        let rows = self.rows.into_iter().map(join).collect();
        Series { columns: self.columns.into_iter().chain(other.columns.into_iter().skip(1)).collect(), rows }
    }
}

/// Flag of a trial whose `deferred.csv` lacks lines.
pub const TORN_LOG: &str = "torn-log";

/// JSON has no NaN: what could not be seen is null there.
mod seen {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Cells = Vec<Option<f64>>;

    pub fn serialize<S: Serializer>(rows: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
        let cells = |row: &Vec<f64>| row.iter().map(|value| Some(*value).filter(|value| !value.is_nan())).collect();
        rows.iter().map(cells).collect::<Vec<Cells>>().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let rows = Vec::<Cells>::deserialize(deserializer)?;
        let values = |row: Cells| row.into_iter().map(|cell| cell.unwrap_or(f64::NAN)).collect();
        Ok(rows.into_iter().map(values).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_a_value_survives_json() {
        let series = Series { columns: vec!["second".into()], rows: vec![vec![0.0, f64::NAN], vec![1.5, 2.0]] };
        let text = serde_json::to_string(&series).unwrap();
        assert!(text.contains("[[0.0,null],[1.5,2.0]]"), "{text}");
        let again: Series = serde_json::from_str(&text).unwrap();
        assert!(again.rows[0][1].is_nan() && again.rows[1] == series.rows[1]);
    }

    #[test]
    fn series_of_two_hosts_become_one_second_by_second() {
        let series = |columns: &[&str], rows: &[&[f64]]| Series {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        };
        let here = || series(&["second", "a"], &[&[0.0, 1.0], &[1.0, 2.0], &[2.0, 3.0]]);
        let there = || series(&["second", "b", "c"], &[&[1.0, 5.0, 6.0], &[0.0, 7.0, 8.0], &[9.0, 0.0, 0.0]]);
        let both = here().with_columns_of(there());
        assert_eq!(both.columns, ["second", "a", "b", "c"]);
        assert_eq!(both.rows[..2], [vec![0.0, 1.0, 7.0, 8.0], vec![1.0, 2.0, 5.0, 6.0]]);
        assert!(
            both.rows.len() == 3 && both.rows[2][..2] == [2.0, 3.0] && both.rows[2][2..].iter().all(|b| b.is_nan())
        );
        assert_eq!(here().with_columns_of(Series::default()), here());
        assert_eq!(Series::default().with_columns_of(there()), there());
    }
}
