//! `plan.json`: what is compared, how, and every trial in order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;
use super::crash::CrashKind;
use super::declared::{KindRecord, MetricRecord};
use super::gate::GateRecord;
use super::ladder::LadderRecord;
use super::purpose::Purpose;
use super::worker::ClusterRecord;
use crate::point::Point;
use crate::shell::shell_word;

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
    /// A trial is one pass over a log, with the log's clients and as long as it takes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replays: bool,
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
    /// Before the first block each contender is killed so often under this workload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kills: u32,
    /// Before the first block its tables are loaded so often into an empty server of each contender.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub loads: u32,
    /// What verdicts come from; absent where it is transactions per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<MetricRecord>,
    /// Transactions that are counted apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindRecord>,
    /// Sentences that belong beside its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What part of the work its figures are of; absent where they are of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Digests of a replayed log by the ids that their metrics have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, DigestRecord>,
}

/// A statement of a replayed log, literals taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestRecord {
    pub text: String,
    /// In the measured part.
    pub calls: u64,
    /// It is called often enough, and takes enough of the time of the log, for a verdict of its own.
    pub is_judged: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The metric of a workload that declares none.
const TPS: (&str, &str, &str) = ("tps", "tps", "committed transactions per second (tps)");

impl WorkloadRecord {
    /// Its trials take the time they take; the method's times are not for it.
    pub fn ends_itself(&self) -> bool {
        self.one_pass || self.replays
    }

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

    /// The metric that verdicts about it come from, by its name.
    pub fn primary_metric(&self) -> &str {
        self.primary.as_ref().map_or(TPS.0, |primary| &primary.name)
    }

    /// The same with its unit and title.
    pub fn primary(&self) -> MetricRecord {
        self.primary.clone().unwrap_or_else(|| MetricRecord::new(TPS.0, TPS.1, TPS.2))
    }

    /// The record with its metric written out, even where that goes without saying.
    pub fn whole(&self) -> WorkloadRecord {
        WorkloadRecord { primary: Some(self.primary()), ..self.clone() }
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

    /// No trial has a time that the method gives it.
    pub fn end_themselves(&self) -> bool {
        self.workloads.iter().all(WorkloadRecord::ends_itself)
    }

    /// Whether trials are as long as the logs that they replay.
    pub fn is_all_replays(&self) -> bool {
        self.workloads.iter().all(|workload| workload.replays)
    }

    /// No trial has a time of its own: all are passes.
    pub fn is_all_passes(&self) -> bool {
        self.workloads.iter().all(|workload| workload.one_pass)
    }

    /// The contenders that are compared with the baseline, each with a verdict of its own: all but those that
    /// only show what the steps of a ladder are worth elsewhere.
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        let names = self.contenders.iter().map(|contender| contender.name.as_str());
        names.filter(|name| *name != self.baseline && !self.ladders.iter().any(|ladder| ladder.attributes(name)))
    }

    /// The kinds of crashes that its trials end in; empty in other experiments.
    pub fn crashes(&self) -> Vec<CrashKind> {
        let kind = |purpose: &Purpose| match purpose {
            Purpose::Crash { kind, .. } => Some(*kind),
            _ => None,
        };
        let mut kinds: Vec<CrashKind> = self.trials.iter().filter_map(|trial| kind(&trial.purpose)).collect();
        kinds.sort();
        kinds.dedup();
        kinds
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
    #[serde(deserialize_with = "bounds::blocks")]
    pub blocks: u32,
    pub margin: f64,
    #[serde(deserialize_with = "bounds::inner_fraction")]
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
    #[serde(deserialize_with = "bounds::from_one")]
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
