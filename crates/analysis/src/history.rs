//! Stored runs of one question over time: which of them can stand in one series, and where a series took a new level.
//!
//! A run's ratio is that of its own blocks, against its own baseline, so drift of the host between runs cancels.
//! What must stay true: runs that differ in anything but the candidate's version never share a series.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{ChangePointRules, change_points};

use crate::comparison::Verdict;
use crate::conclusions::Conclusions;
use record::format::{ClusterRecord, MethodRecord, PlanRecord, RunRecord, WorkloadRecord, point_text};

/// One stored run, judged.
#[derive(Clone, Copy)]
pub struct StoredRun<'a> {
    pub name: &'a str,
    pub plan: &'a PlanRecord,
    pub run: &'a RunRecord,
    pub conclusions: &'a Conclusions,
}

/// All that the runs of one name say together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct History {
    pub name: String,
    pub question: Option<String>,
    /// By workload and candidate.
    pub series: Vec<Series>,
    /// Runs that cannot be compared with the last one, by what differs.
    pub apart: Vec<Apart>,
}

/// A candidate's ratio to the baseline, run by run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    pub workload: String,
    pub metric: String,
    pub baseline: String,
    pub candidate: String,
    /// The oldest first.
    pub runs: Vec<Entry>,
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    pub run: String,
    pub started_at: String,
    pub labels: BTreeMap<String, String>,
    /// As the server said it.
    pub version: String,
    /// Above 1 the candidate is better.
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Verdict,
    pub blocks: usize,
}

/// A series takes a new level at a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The first run of the new level.
    pub run: String,
    /// Its place in the series, from 0.
    pub at: usize,
    /// Of the permutation test.
    pub p: f64,
    /// Geometric means of the levels' ratios.
    pub before: f64,
    pub after: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Apart {
    pub runs: Vec<String>,
    pub because: Vec<Condition>,
}

/// What differs from the last run.
#[derive(Debug, Clone, PartialEq, PartialOrd, Eq, Ord, Serialize, JsonSchema)]
pub struct Condition {
    pub what: String,
    /// In these runs; absent where they have no such thing.
    pub here: Option<String>,
    /// In the last run.
    pub last: Option<String>,
}

/// The series of the last run, and what had to stay apart from it. Nothing without runs.
pub fn history(runs: &[StoredRun<'_>], rules: ChangePointRules) -> Option<History> {
    let mut runs = runs.to_vec();
    runs.sort_by(|one, other| (&one.run.started_at, one.name).cmp(&(&other.run.started_at, other.name)));
    let last = runs.last()?;
    let conditions_of_last = conditions(last);
    let mut apart: BTreeMap<Vec<Condition>, Vec<String>> = BTreeMap::new();
    let mut together = Vec::new();
    for run in &runs {
        match differences(&conditions(run), &conditions_of_last) {
            same if same.is_empty() => together.push(*run),
            because => apart.entry(because).or_default().push(run.name.to_owned()),
        }
    }
    Some(History {
        name: last.plan.name.clone(),
        question: last.plan.question.clone(),
        series: series(&together, rules),
        apart: apart.into_iter().map(|(because, runs)| Apart { runs, because }).collect(),
    })
}

/// Everything that a ratio depends on, but for the candidates' versions.
fn conditions(of: &StoredRun<'_>) -> BTreeMap<String, String> {
    let (plan, host) = (of.plan, &of.run.host);
    let gib = |bytes: u64| format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30));
    let mut found = BTreeMap::from(
        [
            ("CPU", host.cpu_model.clone()),
            ("cores", host.cores.to_string()),
            ("memory", gib(host.memory_bytes)),
            ("storage", host.storage.clone()),
            ("virtualisation", host.virtualisation.clone()),
            ("baseline", plan.baseline.clone()),
            ("version of the baseline", version(of, &plan.baseline)),
            ("shared cores", of.run.client.shared_cores.to_string()),
        ]
        .map(|(what, value)| (what.to_owned(), value)),
    );
    found.extend(of_method(&plan.method));
    for workload in &plan.workloads {
        let levels = plan.trials.iter().filter(|trial| trial.block == 1 && trial.workload == workload.label);
        let mut levels: Vec<String> = levels.map(|trial| point_text(&trial.point)).collect();
        levels.sort_unstable();
        levels.dedup();
        found.insert(format!("levels of {}", workload.label), levels.join(", "));
        found.extend(of_workload(workload));
    }
    for one in &plan.contenders {
        let mut set = |what: &str, value: String| found.insert(format!("{what} of {}", one.name), value);
        set("engine", one.kind.clone());
        set("storage", one.storage.clone());
        set("transport", one.transport.clone().unwrap_or_default());
        set("cores", one.cores.clone().unwrap_or_default());
        set("memory", one.memory_bytes.map(gib).unwrap_or_default());
        set("target", one.target.clone().unwrap_or_default());
        for (setting, value) in &one.settings {
            set(setting, value.clone());
        }
    }
    found
}

/// Neither blocks nor budget: they decide how sure a ratio is, not what it is.
fn of_method(method: &MethodRecord) -> BTreeMap<String, String> {
    let of = [
        ("duration", format!("{} s", method.duration_s)),
        ("warm-up", format!("{} s", method.warmup_s)),
        ("page cache", method.page_cache.clone()),
        ("transport", method.transport.clone()),
        ("arrangement", method.arrangement().unwrap_or_default().to_owned()),
        ("client cores", method.client_cores.clone().unwrap_or_default()),
        ("workers", method.cluster.as_ref().map(ClusterRecord::text).unwrap_or_default()),
    ];
    of.map(|(what, value)| (what.to_owned(), value)).into()
}

fn of_workload(workload: &WorkloadRecord) -> BTreeMap<String, String> {
    let label = &workload.label;
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let of = [
        ("workload", workload.name.clone()),
        ("clients", workload.clients.to_string()),
        ("isolation", workload.isolation.clone().unwrap_or_default()),
        ("rate", number(workload.rate)),
        ("arrivals", workload.arrivals.clone().unwrap_or_default()),
        ("data seed", workload.data_seed.to_string()),
    ];
    let options = workload.options.iter().map(|(option, value)| (format!("{option} of {label}"), value.to_string()));
    of.map(|(what, value)| (format!("{what} of {label}"), value)).into_iter().chain(options).collect()
}

/// As the server said it, and as it was asked for where none has answered.
fn version(of: &StoredRun<'_>, contender: &str) -> String {
    let asked = || of.plan.contenders.iter().find(|one| one.name == contender).map(|one| one.version.clone());
    let said = of.run.contenders.get(contender).map(|facts| facts.version.clone());
    said.filter(|version| !version.is_empty()).or_else(asked).unwrap_or_default()
}

fn differences(here: &BTreeMap<String, String>, last: &BTreeMap<String, String>) -> Vec<Condition> {
    let mut names: Vec<&String> = here.keys().chain(last.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differ = names.into_iter().filter(|name| here.get(*name) != last.get(*name));
    differ
        .map(|name| Condition { what: name.clone(), here: here.get(name).cloned(), last: last.get(name).cloned() })
        .collect()
}

/// A run without a ratio of its own has no place in a series.
fn series(runs: &[StoredRun<'_>], rules: ChangePointRules) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for run in runs {
        for workload in &run.conclusions.workloads {
            for duel in &workload.duels {
                let comparison = &duel.overall;
                let Some(ratio) = comparison.ratio else { continue };
                let is_ours = |one: &&mut Series| one.workload == workload.workload && one.candidate == duel.candidate;
                let entry = Entry {
                    run: run.name.to_owned(),
                    started_at: run.run.started_at.clone(),
                    labels: run.run.labels.clone(),
                    version: version(run, &duel.candidate),
                    ratio,
                    low: comparison.low,
                    high: comparison.high,
                    verdict: comparison.verdict,
                    blocks: comparison.blocks,
                };
                match found.iter_mut().find(is_ours) {
                    Some(series) => series.runs.push(entry),
                    None => found.push(Series {
                        workload: workload.workload.clone(),
                        metric: workload.metric.clone(),
                        baseline: duel.baseline.clone(),
                        candidate: duel.candidate.clone(),
                        runs: vec![entry],
                        changes: Vec::new(),
                    }),
                }
            }
        }
    }
    found.iter_mut().for_each(|series| series.changes = changes(&series.runs, rules));
    found
}

fn changes(runs: &[Entry], rules: ChangePointRules) -> Vec<Change> {
    let logs: Vec<f64> = runs.iter().map(|run| run.ratio.ln()).collect();
    let found = change_points(&logs, rules);
    let ends: Vec<usize> = found.iter().map(|change| change.at).chain([logs.len()]).collect();
    let level = |from: usize, to: usize| stats::mean(&logs[from..to]).map_or(f64::NAN, f64::exp);
    let starts = std::iter::once(0).chain(found.iter().map(|change| change.at));
    let each = found.iter().zip(starts).zip(ends.iter().skip(1));
    each.map(|((change, start), end)| Change {
        run: runs[change.at].run.clone(),
        at: change.at,
        p: change.p,
        before: level(start, change.at),
        after: level(change.at, *end),
    })
    .collect()
}
