//! The file format of a stored run. What is written here is a promise: an older run can always be
//! reported again. Names of fields are names in the files.

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
pub mod purpose;
pub mod tuning;
mod worker;

pub use decision::{DecisionKind, DecisionRecord};
pub use declared::{KindRecord, MetricRecord};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shell::shell_word;

pub use cause_test::{ContrastKind, ContrastRecord};
pub use check::CheckRecord;
pub use diagnostic::{DiagnosticRecord, ProfileRecord, WaitsRecord, WaitsUnit};
use gate::GateRecord;
use ladder::LadderRecord;
pub use purpose::{Purpose, measured};
pub use worker::{ClusterRecord, WorkerRecord};

/// Version of the format of runs and trials; any other is refused with a message.
pub const FORMAT_VERSION: u32 = 2;

/// Version of `plan.json`, whose hash covers every key of it.
pub const PLAN_FORMAT_VERSION: u32 = 1;

/// What varies, with its value: `{"clients": 16}`; empty where nothing varies.
pub type Point = BTreeMap<String, u64>;

/// A point for a reader: `16 clients`, `1 client`, `500/s`; `one point` where nothing varies.
pub fn point_text(point: &Point) -> String {
    let part = |(name, value): (&String, &u64)| match (value, name.strip_suffix('s')) {
        (1, Some(singular)) => format!("1 {singular}"),
        _ if name == "rate" => format!("{value}/s"),
        _ => format!("{value} {name}"),
    };
    let parts: Vec<String> = point.iter().map(part).collect();
    if parts.is_empty() { "one point".to_owned() } else { parts.join(", ") }
}

/// `plan.json`: all the work in order. Written and hashed before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    pub format_version: u32,
    pub name: String,
    pub question: Option<String>,
    /// SHA-256 of everything else in this record, in hexadecimal.
    pub plan_hash: String,
    pub seed: u64,
    pub baseline: String,
    /// The run's own baseline, while a reader compares with another one. Never stored.
    #[serde(skip)]
    pub baseline_of_run: Option<String>,
    /// The second contender is the first one again (`dbduel aa`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub twins: bool,
    /// Keys of the experiment file that the command line set, by their dotted paths, passwords masked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    pub contenders: Vec<ContenderRecord>,
    /// Contenders that build on each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<LadderRecord>,
    pub workloads: Vec<WorkloadRecord>,
    /// How much slower a candidate may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRecord>,
    pub method: MethodRecord,
    pub trials: Vec<PlannedTrial>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContenderRecord {
    pub name: String,
    /// As asked for: `mysql@5.6`.
    pub engine: String,
    /// `mysql`, `mariadb`, `postgres`, `sqlite`.
    pub kind: String,
    /// The version the request was resolved to.
    pub version: String,
    /// Where the server comes from, for a reader: `Maven mysql:mysql-connector-mxj-db-files:5.0.12`.
    pub source: String,
    pub settings: BTreeMap<String, String>,
    /// What dbduel sets by itself (binary log off …), printed beside the user's own.
    pub own_settings: BTreeMap<String, String>,
    pub storage: String,
    /// How clients connect to it, where that is not as to all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    pub cores: Option<String>,
    pub memory_bytes: Option<u64>,
    /// The URL, without its password, of a server that dbduel does not manage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The vendor's archive that the server was unpacked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ArchiveRecord>,
    /// The container image that the server's files are from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArchiveRecord {
    /// Where it was when the run began.
    pub path: String,
    pub sha256: String,
}

/// An image as it was when the run began; its tag may be another one's by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageRecord {
    /// Where it was: `oci:/images/layout:8.4`.
    pub reference: String,
    /// Of its manifest, in hexadecimal; of its configuration where there is no manifest.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_digest: Option<String>,
    pub config_digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    pub platform: String,
    /// The server's path inside.
    pub server: String,
    /// What it sets that changes how its programs run.
    pub environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    pub label: String,
    pub name: String,
    /// Every option in force, defaults included.
    pub options: BTreeMap<String, serde_json::Value>,
    /// A trial is one pass, however long it takes; the method's times are not for this workload.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_pass: bool,
    /// The level that was asked for; absent where each server has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Arrivals a second in an open loop; absent where the sweep varies them, and in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// A trial ends when so many transactions have ended, if its time is not up before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// `poisson` or `constant`, in an open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// What the rows were drawn from.
    pub data_seed: u64,
    pub clients: u32,
    /// Clients at each value of the sweep, where they grow with what it varies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clients_at: BTreeMap<u64, u32>,
    /// Clients of a ledger beside these, which show what a crash has kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_clients: Option<u32>,
    /// What verdicts come from; absent where it is transactions per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<MetricRecord>,
    /// Transactions that are counted apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindRecord>,
    /// Sentences that belong beside its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl WorkloadRecord {
    /// The options for a reader: files by their paths, without what stands in them.
    pub fn shown_options(&self) -> BTreeMap<String, serde_json::Value> {
        fn shown(value: &serde_json::Value) -> serde_json::Value {
            match value {
                serde_json::Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().into(),
                serde_json::Value::Object(entries) => match entries.get("path") {
                    Some(path) if entries.len() == 2 && entries.contains_key("text") => path.clone(),
                    _ => entries.iter().map(|(key, value)| (key.clone(), shown(value))).collect(),
                },
                flat => flat.clone(),
            }
        }
        self.options.iter().map(|(key, value)| (key.clone(), shown(value))).collect()
    }

    /// Transactions arrived at a given rate, whatever the server did.
    pub fn is_open_loop(&self) -> bool {
        self.arrivals.is_some()
    }

    /// `open loop, poisson arrivals, 500/s`; nothing in a closed loop.
    pub fn open_loop_text(&self) -> Option<String> {
        let rate = self.rate.map_or(String::new(), |rate| format!(", {rate}/s"));
        self.arrivals.as_ref().map(|arrivals| format!("open loop, {arrivals} arrivals{rate}"))
    }

    /// How many clients ran at a point.
    pub fn clients_at(&self, point: &Point) -> u32 {
        let swept = point.get("clients").map(|clients| *clients as u32);
        let grown = || point.values().find_map(|value| self.clients_at.get(value)).copied();
        swept.or_else(grown).unwrap_or(self.clients)
    }
}

impl PlanRecord {
    /// What the command line set of the file, as one would type it again.
    pub fn set_flags(&self) -> Option<String> {
        let flag = |(path, value): (&String, &String)| format!("--set {}", shell_word(&format!("{path}={value}")));
        let flags: Vec<String> = self.set.iter().map(flag).collect();
        (!flags.is_empty()).then(|| flags.join(" "))
    }

    /// Workloads and points of a block, each with all contenders.
    pub fn entries_in_a_block(&self) -> u32 {
        let first = self.trials.iter().take_while(|trial| trial.block == 1).count();
        (first / self.contenders.len().max(1)) as u32
    }

    /// Whether a block of a duet is one in which each contender runs alone (method, section 1, "Duet mode").
    pub fn is_solo(&self, block: u32) -> bool {
        self.method.duet && block > self.method.blocks
    }

    /// The second side of a duet takes no time of its own.
    pub fn is_beside(&self, block: u32, order: u32) -> bool {
        self.method.duet && !self.is_solo(block) && order == 2
    }

    /// Whether these are the two sides of a duet, which are measured at the same time.
    pub fn runs_at_once(&self, trials: &[&PlannedTrial]) -> bool {
        let [one, other] = trials else { return false };
        let place = |trial: &PlannedTrial| (trial.block, trial.workload.clone(), trial.point.clone());
        self.method.duet && !self.is_solo(one.block) && place(one) == place(other) && one.order != other.order
    }

    /// No trial has a time of its own: all are passes.
    pub fn is_all_passes(&self) -> bool {
        self.workloads.iter().all(|workload| workload.one_pass)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MethodRecord {
    pub preset: String,
    pub rule: RuleName,
    pub stop: String,
    pub duration_s: f64,
    /// With a pilot the least that it may choose; what it chose stands in the run's record.
    pub warmup_s: f64,
    /// How long each pilot runs; absent without pilots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot_s: Option<f64>,
    pub blocks: u32,
    pub margin: f64,
    pub confidence: f64,
    pub budget_s: Option<f64>,
    pub noisy_host: String,
    pub page_cache: String,
    /// How trials come by their data, where not by full copies: `reflink`.
    #[serde(default, rename = "clone", skip_serializing_if = "Option::is_none")]
    pub work_copy: Option<String>,
    /// Both contenders run at the same time; blocks behind the last one are solo.
    #[serde(default, skip_serializing_if = "is_false")]
    pub duet: bool,
    /// A contender goes through all points of a block in one start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fast_sweep: bool,
    pub transport: String,
    /// CPUs that the load generator was given; absent where dbduel shares them out itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cores: Option<String>,
    /// Who makes the load, where other processes do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterRecord>,
    /// Steps of the full method that this run does not take, by their names in [`step`]; not empty
    /// means that its verdicts carry the caveat `quick`.
    pub left_out: Vec<String>,
    /// Behind the verdict, what a finding supposes is put to the test.
    #[serde(default, skip_serializing_if = "is_false")]
    pub contrast: bool,
    /// Behind it, a trial of each contender is profiled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diagnose: bool,
    /// What flags a trial, by flag: all of it blind to the outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, f64>,
    /// Keys that differ from the preset.
    pub changed: Vec<String>,
}

impl MethodRecord {
    /// Where trials share a time or a start: `duet` or `fast sweep`.
    pub fn arrangement(&self) -> Option<&'static str> {
        match (self.duet, self.fast_sweep) {
            (true, _) => Some("duet"),
            (_, true) => Some("fast sweep"),
            _ => None,
        }
    }

    /// Whether this run takes a step of the full method.
    pub fn takes(&self, step: &str) -> bool {
        !self.left_out.iter().any(|one| one == step)
    }

    /// Steps that this run does not take, for a reader.
    pub fn steps_left_out(&self) -> String {
        let in_words = |step: &String| match step.as_str() {
            step::DRAIN => "wait for deferred work".to_owned(),
            step::REPEATS => "repeats of disturbed blocks".to_owned(),
            step::DOUBLING => "generator headroom check".to_owned(),
            other => other.to_owned(),
        };
        self.left_out.iter().map(in_words).collect::<Vec<_>>().join(", ")
    }
}

/// Steps of the full method that a run may leave out.
pub mod step {
    /// One long trial per contender before the first block, from which the warm-up follows; without
    /// it, `warmup_s` is what every trial takes, and with it the least.
    pub const PILOT: &str = "pilot";
    pub const STEADY_STATE: &str = "steady-state check";
    /// After the interval the server's deferred work is waited for, and the time counted.
    pub const DRAIN: &str = "drain of server debt";
    pub const REPEATS: &str = "repeats of flagged blocks";
    /// Behind the last block the peak point runs with twice the generator's threads.
    pub const DOUBLING: &str = "generator doubling";
}

/// The rule that verdicts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleName {
    Exact,
    T,
}

impl RuleName {
    /// As it stands in an experiment file and in the records.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleName::Exact => "exact",
            RuleName::T => "t",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Number in the plan, from 1.
    pub trial: u32,
    /// From 1.
    pub block: u32,
    /// Place among the contenders of its block and point, from 1.
    pub order: u32,
    pub workload: String,
    pub contender: String,
    pub point: Point,
    /// Random idle time before the trial, so that nothing periodic stays in step.
    pub gap_ms: u64,
    /// Seed of the clients' inputs: the same for all contenders in a block, new in each block.
    pub input_seed: u64,
    /// In a plan only where all trials end in a crash: what is repeated follows from flags, what is probed from
    /// results, and how from the plan's seed.
    #[serde(default, skip_serializing_if = "Purpose::is_compare")]
    pub purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Failed,
}

/// One line of `trials.ndjson`: everything one trial left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub trial: u32,
    pub block: u32,
    pub order: u32,
    pub workload: String,
    pub contender: String,
    pub point: Point,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Purpose::is_compare")]
    pub purpose: Purpose,
    /// The trial that began the start of the server in which this one ran too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_start_with: Option<u32>,
    /// Why it failed; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    pub flags: Vec<String>,
    /// The explanation of a flag, where its name is not enough.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, String>,
    /// UTC, RFC 3339.
    pub started_at: String,
    pub finished_at: String,
    /// Seconds each step took: `restore`, `start`, `connect`, `warm_up`, `measure`, `drain_debt`, `check`, `stop`; of a
    /// recovery `restore`, `start`, `load`, `restart`, `first_commit`, `stop`; of a crash `restore`, `start`, `load`,
    /// `restart`, `recover`, `audit`, `check`, `stop`.
    pub steps: Vec<(String, f64)>,
    /// Named as in the JSON report; empty for a failed trial: failures are records, never numbers.
    pub metrics: BTreeMap<String, f64>,
    /// Who made the load, where several workers did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRecord>,
}

impl TrialRecord {
    /// The metric of a trial that its transactions may end before its time.
    pub const INTERVAL: &str = "interval_s";

    /// How long its measured part took.
    pub fn interval_s(&self, method: &MethodRecord) -> f64 {
        self.metrics.get(TrialRecord::INTERVAL).copied().unwrap_or(method.duration_s)
    }

    /// How long it took by the monotonic times of its steps: the wall clock may be set while it runs.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|(_, seconds)| seconds).sum()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The step that failed: `start`, `connect`, `measure`, `check` …
    pub step: String,
    /// The message, as printed on the terminal.
    pub message: String,
    /// The worker of the load that was late, lost or failed, from 1: then it is no failure of the contender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

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
    /// Isolation level of the clients' sessions as read back, by workload label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub isolation: BTreeMap<String, String>,
    /// CREATE statements as the server shows them, by workload label.
    pub ddl: BTreeMap<String, Vec<String>>,
    /// How the server would run the statements of a workload, by its label, with the point where points have
    /// data of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans: BTreeMap<String, Vec<StatementPlan>>,
    /// Checksums of what the rehearsal's queries returned, by workload label as above and by query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<String, BTreeMap<String, String>>,
    /// Bytes of the restored data directory, by workload label.
    pub data_bytes: BTreeMap<String, u64>,
    pub build: BuildRecord,
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

/// A server's answer to how it would run a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementPlan {
    /// The same for all engines.
    pub statement: String,
    pub sql: String,
    /// As the server reports it; empty where it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The same without estimates, for comparing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<String>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
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
