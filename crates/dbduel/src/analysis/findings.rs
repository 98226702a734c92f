//! What weakens a run, each with the records that show it.
//!
//! Every caveat behind a word has its finding here, so that nothing is only a line that scrolled
//! away while the run went on.

use std::collections::BTreeSet;

use crate::store::format::pass::PARTIAL;
use crate::store::format::{PlanRecord, RunRecord, Status, TrialRecord, point_text};

use super::comparison::{GENERATOR_BOUND, HOST_FLAGS};
use super::doubling::{self, Doubled};
use super::{Circumstances, Finding, WorkloadConclusions};

/// Evidence lines that a reader can take in; the rest is counted.
const EVIDENCE_LINES_MAX: usize = 8;

pub fn findings(
    plan: &PlanRecord,
    run: &RunRecord,
    trials: &[TrialRecord],
    circumstances: &Circumstances,
    workloads: &[WorkloadConclusions],
) -> Vec<Finding> {
    let found = [
        failed_trials(trials),
        given_up(circumstances),
        generator_bound(trials),
        doubled(circumstances),
        not_doubled(run),
        twins_told_apart(circumstances),
        noisy_host(trials),
        resumed(trials),
        shared_cores(circumstances),
        not_managed(plan),
        durability_differs(plan, circumstances, workloads),
        left_out(workloads),
    ];
    found.into_iter().flatten().collect()
}

fn failed_trials(trials: &[TrialRecord]) -> Option<Finding> {
    let failed: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.status == Status::Failed).collect();
    let line = |trial: &&TrialRecord| match &trial.failure {
        Some(failure) => format!("{}: {}: {}", place(trial), failure.step, failure.message),
        None => place(trial),
    };
    finding(
        "failed trials",
        format!("{} of {} trials failed; their pairs are missing", failed.len(), trials.len()),
        failed.iter().map(line).collect(),
    )
}

fn given_up(circumstances: &Circumstances) -> Option<Finding> {
    let given_up = &circumstances.given_up;
    let lines = given_up
        .iter()
        .map(|one| format!("{} at {}, {}: {}", one.contender, point_text(&one.point), one.workload, one.reason));
    finding(
        "given up",
        format!("{} given up, so there is no word about the whole sweep", counted(given_up.len(), "point")),
        lines.collect(),
    )
}

fn generator_bound(trials: &[TrialRecord]) -> Option<Finding> {
    let bound = flagged(trials, &[GENERATOR_BOUND]);
    let text = format!(
        "the load generator was the limit in {} of {} trials; a server's own limit lies higher there",
        bound.len(),
        trials.len()
    );
    finding(GENERATOR_BOUND, text, bound)
}

fn doubled(circumstances: &Circumstances) -> Option<Finding> {
    let bound = circumstances.doublings.iter().filter(|one| one.is_bound());
    let line = |one: &Doubled| {
        format!("{} at {}, {}: {:+.1} %", one.contender, point_text(&one.point), one.workload, one.rise * 100.0)
    };
    let text =
        "with twice the load generator's threads more was done: the generator was the limit, and the server's own \
                lies higher"
            .to_owned();
    finding(GENERATOR_BOUND, text, bound.map(line).collect())
}

/// What was planned and did not come about.
fn not_doubled(run: &RunRecord) -> Option<Finding> {
    let text = "whether the load generator was the limit was not tried out with twice its threads".to_owned();
    finding("generator not doubled", text, doubling::unfinished(run))
}

fn twins_told_apart(circumstances: &Circumstances) -> Option<Finding> {
    let text =
        "on this host contenders were told apart from their twins too often for chance; `dbduel aa` shows by what"
            .to_owned();
    finding("noisy host", text, circumstances.twins_told_apart.clone())
}

fn noisy_host(trials: &[TrialRecord]) -> Option<Finding> {
    let noisy = flagged(trials, &HOST_FLAGS);
    let text = format!("something else used the host during {} of {} trials", noisy.len(), trials.len());
    finding("noisy host", text, noisy)
}

fn resumed(trials: &[TrialRecord]) -> Option<Finding> {
    let resumed = flagged(trials, &["resumed"]);
    finding(
        "resumed",
        "the run was interrupted and went on later; a pair that spans the gap counts".to_owned(),
        resumed,
    )
}

fn shared_cores(circumstances: &Circumstances) -> Option<Finding> {
    let text = "client and server share the cores: CPU numbers are fine, peak throughput holds for this arrangement"
        .to_owned();
    let evidence = if circumstances.shared_cores { vec!["run.json: client.shared_cores".to_owned()] } else { vec![] };
    finding("shared cores", text, evidence)
}

/// What a reader must know of targets: nothing about them was made alike by dbduel.
fn not_managed(plan: &PlanRecord) -> Option<Finding> {
    let line = |name: &String, url: &String| format!("{name}: {url}");
    let targets = plan.contenders.iter().filter_map(|one| Some(line(&one.name, one.target.as_ref()?)));
    let text =
        "dbduel does not manage these servers: they run their own settings and are not restarted between trials; \
                tables are loaded again before each trial that writes, and once where the workload only reads; \
                the servers' CPU time and counters cannot be known and are absent"
            .to_owned();
    finding("not managed", text, targets.collect())
}

fn durability_differs(
    plan: &PlanRecord,
    circumstances: &Circumstances,
    workloads: &[WorkloadConclusions],
) -> Option<Finding> {
    let differs = workloads.iter().flat_map(|workload| &workload.duels).any(|duel| duel.durability.is_some());
    let classes = plan
        .contenders
        .iter()
        .filter_map(|contender| Some((&contender.name, circumstances.durability.get(&contender.name)?)));
    let lines: Vec<String> = classes.map(|(name, class)| format!("{name}: {class}")).collect();
    let text = "the contenders do not promise the same durability, so part of a difference may be its price".to_owned();
    finding("durability differs", text, if differs { lines } else { vec![] })
}

/// What some contender of a pass did not do, or not rightly.
fn left_out(workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let duels = workloads.iter().flat_map(|workload| &workload.duels);
    let all = duels.filter_map(|duel| duel.parts.as_ref()).flat_map(|parts| &parts.left_out);
    // A program without an operation is no news beside the operation.
    let lines: BTreeSet<String> = all
        .filter(|one| one.kind != PARTIAL)
        .map(|one| format!("{}: {} ({}): {}", one.contender, one.name, one.kind, one.why))
        .collect();
    let text = "not every contender did all of the work: what one of them lacks or answers wrongly is compared with \
                nothing, and totals are of what all have done"
        .to_owned();
    finding("unequal work", text, lines.into_iter().collect())
}

/// A finding exists exactly when there is evidence for it.
fn finding(kind: &'static str, text: String, mut evidence: Vec<String>) -> Option<Finding> {
    if evidence.is_empty() {
        return None;
    }
    let more = evidence.len().saturating_sub(EVIDENCE_LINES_MAX);
    evidence.truncate(EVIDENCE_LINES_MAX);
    if more > 0 {
        evidence.push(format!("and {more} more"));
    }
    Some(Finding { kind, grade: "confirmed", text, evidence })
}

fn flagged(trials: &[TrialRecord], wanted: &[&str]) -> Vec<String> {
    let ours = |trial: &TrialRecord| -> Vec<String> {
        trial.flags.iter().filter(|flag| wanted.contains(&flag.as_str())).cloned().collect()
    };
    let line = |trial: &TrialRecord| {
        let flags = ours(trial);
        (!flags.is_empty()).then(|| format!("{}: {}", place(trial), flags.join(", ")))
    };
    trials.iter().filter_map(line).collect()
}

fn place(trial: &TrialRecord) -> String {
    format!("trial {} (block {}, {}, {})", trial.trial, trial.block, trial.contender, point_text(&trial.point))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { " was" } else { "s were" })
}
