//! What weakens a run, each with the records that show it.
//!
//! Every caveat behind a word has its finding here, so that nothing is only a line that scrolled
//! away while the run went on.

use std::collections::BTreeSet;

use record::format::figures::{percent_of_log, signed_percent};
use record::format::pass::PARTIAL;
use record::format::{ContenderRecord, PlanRecord, Point, RunRecord, Status, TORN_LOG, TrialRecord, point_text};
use record::point::CORES;

use super::arrangement;
use super::comparison::{GENERATOR_BOUND, HOST_FLAGS, SHORT, is_outage};
use super::doubling::Doubled;
use super::ladder;
use super::missing::missing_quantiles;
use super::{Circumstances, Deferring, Drift, Duel, Finding, FlagImbalance, Growth, WorkloadConclusions};

/// What arrived in an open loop found no client in time.
const SATURATED: &str = "saturated";

/// A closed loop in which some clients did nothing.
const STARVED: &str = "starved";

/// Response times that lie outside of the histogram's bounds.
const OUT_OF_RANGE: &str = "out-of-range";

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
        outages(trials),
        given_up(circumstances),
        generator_bound(trials),
        saturated(trials),
        starved(trials),
        out_of_range(trials),
        missing_quantiles(workloads),
        doubled(circumstances),
        not_doubled(circumstances),
        not_contrasted(circumstances),
        twins_told_apart(circumstances),
        noisy_host(trials),
        flag_imbalance(workloads),
        unsteady(plan, workloads),
        deferring(workloads),
        accumulating(workloads),
        short(trials),
        torn_log(trials),
        resumed(trials),
        shared_cores(plan, circumstances),
        not_managed(plan),
        durability_differs(plan, circumstances, workloads),
        word_sizes(plan, run),
        arrangement::duet(plan, run, workloads),
        arrangement::fast_sweep(plan, trials),
        arrangement::clones(plan),
        left_out(workloads),
    ];
    let of_ladders = workloads.iter().map(|one| (one.workload.clone(), one.ladders.as_slice())).collect::<Vec<_>>();
    found.into_iter().flatten().chain(ladder::findings(circumstances, &of_ladders)).collect()
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

fn outages(trials: &[TrialRecord]) -> Option<Finding> {
    let out: Vec<String> = trials.iter().filter(|trial| is_outage(trial)).map(place).collect();
    let text = format!(
        "nothing was committed in {} of {} trials. Each counts as half a transaction, and a contender with such trials \
         in 10 % of its pairs or more, and more than the other, is not called faster or equal",
        out.len(),
        trials.len()
    );
    finding("trials without a commit", text, out)
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
    let bound = trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == GENERATOR_BOUND));
    let bound: Vec<String> = bound.map(|trial| with_remark(trial, GENERATOR_BOUND)).collect();
    let text = format!(
        "the load generator was the limit in {} of {} trials; a server's own limit lies higher there",
        bound.len(),
        trials.len()
    );
    finding(GENERATOR_BOUND, text, bound)
}

fn saturated(trials: &[TrialRecord]) -> Option<Finding> {
    let overloaded: Vec<&TrialRecord> =
        trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == SATURATED)).collect();
    let count = |trial: &TrialRecord, name: &str| trial.metrics.get(name).copied().unwrap_or(0.0);
    let line = |trial: &&TrialRecord| {
        let [skipped, due] = ["transactions.skipped", "transactions.due"].map(|name| count(trial, name));
        format!("{}: {skipped:.0} of {due:.0} arrivals had no turn", place(trial))
    };
    let text = format!(
        "more transactions arrived than the server took in {} of {} trials. Those that were never run are in the \
         quantiles with the time they had waited, so the true quantiles are higher (>=). Use a lower `rate`",
        overloaded.len(),
        trials.len()
    );
    supported(finding(SATURATED, text, overloaded.iter().map(line).collect()))
}

fn starved(trials: &[TrialRecord]) -> Option<Finding> {
    let starved: Vec<&TrialRecord> =
        trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == STARVED)).collect();
    let text = format!(
        "not all clients worked in {} of {} trials: throughput and response times are those of fewer clients than asked for",
        starved.len(),
        trials.len()
    );
    supported(finding(STARVED, text, starved.into_iter().map(|trial| with_remark(trial, STARVED)).collect()))
}

fn out_of_range(trials: &[TrialRecord]) -> Option<Finding> {
    let outside = trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == OUT_OF_RANGE));
    let text = "some response times lie outside of 1 us to an hour, which is what histograms hold".to_owned();
    finding(OUT_OF_RANGE, text, outside.map(|trial| with_remark(trial, OUT_OF_RANGE)).collect())
}

fn doubled(circumstances: &Circumstances) -> Option<Finding> {
    let bound = circumstances.doublings.iter().filter(|one| one.is_bound());
    let line = |one: &Doubled| {
        format!("{} at {}, {}: {}", one.contender, point_text(&one.point), one.workload, signed_percent(one.rise, 1))
    };
    let text =
        "with twice the load generator's threads more was done: the generator was the limit, and the server's own \
                lies higher"
            .to_owned();
    finding(GENERATOR_BOUND, text, bound.map(line).collect())
}

/// What was planned and did not come about.
fn not_doubled(circumstances: &Circumstances) -> Option<Finding> {
    let text = "whether the load generator was the limit was not tried out with twice its threads".to_owned();
    finding("generator not doubled", text, circumstances.headroom_open.clone())
}

fn not_contrasted(circumstances: &Circumstances) -> Option<Finding> {
    let text = "a cause was being put to the test when the run ended".to_owned();
    finding("contrast unfinished", text, circumstances.contrasts_open.clone())
}

fn twins_told_apart(circumstances: &Circumstances) -> Option<Finding> {
    let text =
        "on this host contenders were told apart from their twins too often for chance; `dbduel aa` shows by what"
            .to_owned();
    finding("noisy host", text, circumstances.twins_told_apart.clone())
}

fn noisy_host(trials: &[TrialRecord]) -> Option<Finding> {
    let noisy = flagged(trials, &HOST_FLAGS);
    let repeated = trials.iter().filter(|trial| trial.purpose.repeats().is_some()).count();
    let mut text = format!("something else used the host during {} of {} trials", noisy.len(), trials.len());
    if repeated > 0 {
        text += &format!("; {repeated} trials were run again, and count in place of the first try");
    }
    finding("noisy host", text, noisy)
}

/// Flags see the host alone, but what disturbs it may come with one contender.
fn flag_imbalance(workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let text = "flags of the host fall on one contender more often than chance allows, so what disturbed the host may \
                come with that contender; a verdict that the blocks without flags do not give is withheld";
    let line = |duel: &Duel| {
        let FlagImbalance { baseline_only, candidate_only, p } = duel.flag_imbalance?;
        let (baseline, candidate) = (&duel.baseline, &duel.candidate);
        Some(format!(
            "blocks flagged for `{candidate}` only: {candidate_only}, for `{baseline}` only: {baseline_only}; sign test \
             p {p:.4}"
        ))
    };
    finding("flag imbalance", text.to_owned(), lines_of(workloads, |duel| line(duel).into_iter().collect()))
}

/// The ratio holds for the time that was measured, and for no longer.
fn unsteady(plan: &PlanRecord, workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let text = format!(
        "throughput still rose or fell inside the trials, so ratios hold for their first {} s and for nothing longer",
        plan.method.duration_s
    );
    supported(finding("unsteady", text, lines_of(workloads, |duel| duel.drifts.iter().map(drift_line).collect())))
}

fn drift_line((point, drift): &(Option<Point>, Drift)) -> String {
    let place = point.as_ref().map_or("whole sweep".to_owned(), point_text);
    let who = drift.contender.as_deref().unwrap_or("candidate over baseline");
    let percent = |log_ratio: f64| percent_of_log(log_ratio, 1);
    format!(
        "{who}, {place}: second half {} against the first ({:.1} % t interval {} to {}, {} blocks)",
        percent(drift.mean),
        drift.confidence * 100.0,
        percent(drift.low),
        percent(drift.high),
        drift.blocks
    )
}

/// A lead that is paid back later.
fn deferring(workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let text = "faster only while deferring work: with the time that background work takes behind the interval, the \
                other one is ahead, so there is no verdict"
        .to_owned();
    let of_duel = |duel: &Duel| -> Vec<String> {
        let line = |one: &Deferring| {
            let place = one.point.as_ref().map_or("whole sweep".to_owned(), point_text);
            let lead = if one.is_shown { "" } else { ", not shown beyond chance" };
            format!("{}, {place}: ratio {:.3}, with its debt {:.3}{lead}", duel.candidate, one.ratio, one.adjusted)
        };
        duel.deferring.iter().map(line).collect()
    };
    supported(finding("deferring work", text, lines_of(workloads, of_duel)))
}

fn accumulating(workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let text =
        "what a server puts off stood higher, or lower, at the end of every trial than at its beginning: longer \
                trials may see another throughput"
            .to_owned();
    let line = |(point, growth): &(Point, Growth)| {
        format!(
            "{}, {}: {} from {} to {} in a trial, mean of {} blocks",
            growth.contender,
            point_text(point),
            growth.gauge,
            rounded(growth.begin),
            rounded(growth.end),
            growth.blocks
        )
    };
    finding("accumulating", text, lines_of(workloads, |duel| duel.growths.iter().map(line).collect()))
}

fn short(trials: &[TrialRecord]) -> Option<Finding> {
    let short: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == SHORT)).collect();
    let text = format!(
        "{} of {} trials held fewer than two cycles of flushing or checkpoints; give `duration` more time",
        short.len(),
        trials.len()
    );
    finding(SHORT, text, short.iter().map(|trial| with_remark(trial, SHORT)).collect())
}

fn torn_log(trials: &[TrialRecord]) -> Option<Finding> {
    let torn = trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == TORN_LOG));
    let text = "the log of deferred transactions lacks lines, so only a part of them was held to the tables".to_owned();
    finding(TORN_LOG, text, torn.map(|trial| with_remark(trial, TORN_LOG)).collect())
}

fn with_remark(trial: &TrialRecord, flag: &str) -> String {
    match trial.remarks.get(flag) {
        Some(remark) => format!("{}: {remark}", place(trial)),
        None => place(trial),
    }
}

/// Each line once: duels share their baseline.
pub fn lines_of(workloads: &[WorkloadConclusions], of_duel: impl Fn(&Duel) -> Vec<String>) -> Vec<String> {
    let several = workloads.len() > 1;
    let mut lines: Vec<String> = Vec::new();
    for workload in workloads {
        for line in workload.duels.iter().flat_map(&of_duel) {
            let line = if several { format!("{}: {line}", workload.workload) } else { line };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn rounded(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// A conclusion of statistics, not a recorded fact.
fn supported(finding: Option<Finding>) -> Option<Finding> {
    finding.map(|finding| Finding { grade: "supported", ..finding })
}

fn resumed(trials: &[TrialRecord]) -> Option<Finding> {
    let resumed = flagged(trials, &["resumed"]);
    finding(
        "resumed",
        "the run was interrupted and went on later; a pair that spans the gap counts".to_owned(),
        resumed,
    )
}

fn shared_cores(plan: &PlanRecord, circumstances: &Circumstances) -> Option<Finding> {
    let text = "client and server share the cores: CPU numbers are fine, peak throughput holds for this arrangement";
    // A server on one of two cores leaves the other one to its clients, and a server on both does not.
    let steps = "; a server on fewer cores than there are leaves the others to the client, so that speed-ups come \
                 out smaller than they are";
    let varies = plan.trials.iter().any(|trial| trial.point.contains_key(CORES));
    let evidence = if circumstances.shared_cores { vec!["run.json: client.shared_cores".to_owned()] } else { vec![] };
    finding("shared cores", format!("{text}{}", if varies { steps } else { "" }), evidence)
}

/// Pointers of half the size make other caches, other instructions and other costs of a transaction.
fn word_sizes(plan: &PlanRecord, run: &RunRecord) -> Option<Finding> {
    let bits = |name: &str| run.contenders.get(name)?.build.word_bits;
    let known: Vec<(&str, u32)> =
        plan.contenders.iter().filter_map(|one| Some((one.name.as_str(), bits(&one.name)?))).collect();
    let sizes: BTreeSet<u32> = known.iter().map(|(_, bits)| *bits).collect();
    let lines = known.iter().map(|(name, bits)| format!("`{name}` is a {bits}-bit build"));
    finding(
        "word size differs",
        "32-bit and 64-bit builds are compared: differences in throughput and CPU time include the effect of word size"
            .to_owned(),
        if sizes.len() > 1 { lines.collect() } else { Vec::new() },
    )
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
    let line = |contender: &ContenderRecord| {
        let class = circumstances.durability.get(&contender.name)?;
        let below = circumstances.file_systems.get(&contender.name);
        let below = below.map_or_else(String::new, |below| format!(" ({below})"));
        Some(format!("{}: {class}, data on {}{below}", contender.name, contender.storage))
    };
    let lines: Vec<String> = plan.contenders.iter().filter_map(line).collect();
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
pub fn finding(kind: &'static str, text: String, mut evidence: Vec<String>) -> Option<Finding> {
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

pub fn place(trial: &TrialRecord) -> String {
    format!("trial {} (block {}, {}, {})", trial.trial, trial.block, trial.contender, point_text(&trial.point))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { " was" } else { "s were" })
}
