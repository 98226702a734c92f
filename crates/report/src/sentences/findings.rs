//! What weakens a run: sentences for each finding with what to do, and lines of evidence.

use analysis::{
    Deferring, FAILURES_UNTIL_GIVEN_UP, Facts, Finding, FindingKind, Gain, Growth, HOST_FLAGS, HeadToHead, Interaction,
    Lost, Missing, ResultsDiffer, Trend, WorkLeft,
};
use record::format::answers::FidelityRecord;
use record::format::figures::{percent_of_log, signed_percent};
use record::format::operations::PARTIAL;
use record::format::{ContenderRecord, DecisionKind, Point, SideRecord, TrialRecord, point_text};
use record::point::CORES;

use super::{Said, aa, duet, one_line, parts, probes, servers};
use crate::sections::answers::share_text;
use crate::sentences::verdicts::of_replay;
use crate::wording::{joined, percent, ratio_text};
use crate::{Evidence, wording};

/// Evidence lines that a reader can take in; the rest is counted.
const EVIDENCE_LINES_MAX: usize = 8;

const MEBIBYTE: f64 = 1048576.0;

/// A finding as prose.
pub fn sentence(evidence: &Evidence, kind: FindingKind) -> Option<String> {
    evidence.conclusions.findings.iter().find(|finding| finding.kind == kind).map(|finding| text(evidence, finding))
}

pub fn said(evidence: &Evidence, finding: &Finding) -> Said {
    let mut lines = lines(evidence, finding);
    let more = lines.len().saturating_sub(EVIDENCE_LINES_MAX);
    lines.truncate(EVIDENCE_LINES_MAX);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    Said { kind: finding.kind.as_str(), grade: finding.grade.as_str(), text: text(evidence, finding), evidence: lines }
}

/// What this run shows, and then what that means.
fn text(evidence: &Evidence, finding: &Finding) -> String {
    let means = meaning(finding.kind).to_owned();
    let means = if finding.kind == FindingKind::SharedCores { means + sweep_of_cores(evidence) } else { means };
    let means = if evidence.plan.is_all_replays() { of_replay(means) } else { means };
    shown(evidence, finding).map_or_else(|| means.clone(), |shown| format!("{shown} {means}"))
}

/// A sentence with the run's own figures; none where the kind says all there is.
fn shown(evidence: &Evidence, finding: &Finding) -> Option<String> {
    let of_trials = format!("{} of {} trials", finding.trials.len(), evidence.trials.measured().len());
    Some(match &finding.facts {
        Facts::GivenUp(all) => format!("{} given up.", counted(all.len(), "load level")),
        Facts::OrderMatters { interaction, .. } => order_matters(interaction),
        Facts::Lost(all) => lost(all),
        Facts::BehindPooler(all) => servers::behind_pooler(all),
        Facts::WorkDiffers(all) => servers::work_differs(all),
        Facts::Headroom(_) => "Throughput rose with twice the generator's threads.".to_owned(),
        Facts::FalseDifferences(_) => {
            "A/A tests found differences on this host more often than chance allows; `dbduel aa` shows where."
                .to_owned()
        }
        _ => match finding.kind {
            FindingKind::FailedTrials => format!("{of_trials} failed."),
            FindingKind::Outages => format!("Nothing was committed in {of_trials}."),
            FindingKind::GeneratorBound => format!("The load generator was the limit in {of_trials}."),
            FindingKind::Saturated => format!("In {of_trials} more transactions arrived than the server completed."),
            FindingKind::Starved => format!("In {of_trials} some clients did no work."),
            FindingKind::NoisyHost => noisy_host(evidence, &of_trials),
            FindingKind::Unsteady => {
                format!("Throughput still rose or fell inside the trials of {} s.", evidence.plan.method.duration_s)
            }
            FindingKind::DamageInLog => format!("After the crash of {of_trials} the server's log reports damage."),
            FindingKind::DefaultsChanged => changed_defaults(evidence),
            FindingKind::Short => format!("{of_trials} held fewer than two cycles of flushing or checkpoints."),
            FindingKind::LowFidelity => low_fidelity(evidence),
            FindingKind::Refused => match evidence.run.decided(DecisionKind::Refused).count() {
                1 => "1 contender of the file was not measured.".to_owned(),
                several => format!("{several} contenders of the file were not measured."),
            },
            _ => return None,
        },
    })
}

/// What a kind of finding means, and what to do about it.
pub fn meaning(kind: FindingKind) -> &'static str {
    MEANINGS.iter().find(|(one, _)| *one == kind).map_or("", |(_, meaning)| meaning)
}

fn low_fidelity(evidence: &Evidence) -> String {
    let low = evidence.run.fidelity.iter().filter(|one| one.is_low());
    let line = |one: &FidelityRecord| {
        let share = share_text(one.share().unwrap_or_default());
        format!("{share} of the statements whose outcome the log has came out the same on `{}`.", one.contender)
    };
    low.map(line).collect::<Vec<_>>().join(" ")
}

const MEANINGS: [(FindingKind, &str); 37] = [
    (
        FindingKind::FailedTrials,
        "The pair of a failed trial is missing; with more than one pair in ten missing there is no verdict. The \
         trial's folder has the server's log.",
    ),
    (
        FindingKind::Outages,
        "A trial without a commit counts as half a transaction. A contender with such trials in 10 % of its pairs or \
         more, and more of them than the other, is not called faster or equal. The server's log may show why.",
    ),
    (
        FindingKind::LostTransactions,
        "Rates and response times are of those that were carried out, and are no measure of the work where many were \
         not. The server's errors are counted by code in the trials; remove their cause and repeat the run.",
    ),
    (
        FindingKind::LowFidelity,
        "The data are not those that the log began with, or sessions are missing in it: statements find other rows \
         than in production, and may take other times. Take data and log from the same moment.",
    ),
    (
        FindingKind::GivenUp,
        "A contender that fails three times in a row at a load level is not measured there any more, so there is no \
         overall verdict. Remove the cause and repeat the run.",
    ),
    (
        FindingKind::GeneratorBound,
        "A server's own limit lies higher than the measured throughput, and a difference may be larger. Give the \
         generator more cores (`cores` in [clients]).",
    ),
    (
        FindingKind::Saturated,
        "Transactions that were never run count in the quantiles with the time they had waited, so the true quantiles \
         are higher (>=). Use a lower `rate`.",
    ),
    (
        FindingKind::Starved,
        "Throughput and response times are those of fewer clients than asked for. Use fewer clients or longer trials.",
    ),
    (
        FindingKind::OutOfRange,
        "Some response times lie outside of 1 µs to 1 hour, the range of the histograms: the extreme quantiles are not \
         exact.",
    ),
    (
        FindingKind::MissingQuantiles,
        "A quantile of response time needs 30 requests above it in each trial. Where more than 10 % of the pairs lack \
         that, there is no row and no verdict for it, because the trials that have it are the fast ones. Use a longer \
         `duration`.",
    ),
    (
        FindingKind::HeadroomUnfinished,
        "The headroom check did not finish, so whether the load generator was the limit is not known. Repeat the run \
         with a larger budget.",
    ),
    (
        FindingKind::CauseTestUnfinished,
        "The run ended before a cause test did, so that cause is not confirmed. Repeat the run with a larger budget.",
    ),
    (FindingKind::NoisyHost, "Repeat the run on a quiet host to be sure."),
    (
        FindingKind::FlagImbalance,
        "Disturbances of the host fall on one contender more often than chance allows, so that contender may cause \
         them. A verdict that the undisturbed blocks do not give is withheld. Repeat the run on a quiet host.",
    ),
    (
        FindingKind::Unsteady,
        "Ratios hold for trials of this length and for nothing longer. Use a longer `warmup` or `duration`.",
    ),
    (
        FindingKind::DeferringWork,
        "A contender is faster only because it defers work: with the time that this work takes after the interval, the \
         other one is ahead, so there is no verdict. Use a longer `duration`.",
    ),
    (
        FindingKind::Accumulating,
        "Deferred work (unflushed pages, WAL since the last checkpoint) grew or shrank in every trial: longer trials \
         may show another throughput. Use a longer `duration`.",
    ),
    (FindingKind::Short, "Differences in steady state may be missed. Use a longer `duration`."),
    (
        FindingKind::TornLog,
        "The log of deferred transactions lacks lines, so only a part of these transactions was checked against the \
         tables.",
    ),
    (
        FindingKind::DamageInLog,
        "A recovery should meet no such error, whatever the tables show: the lines are quoted, and the trial's folder \
         has the whole log.",
    ),
    (FindingKind::Resumed, "The run was interrupted and continued later. Pairs that span the interruption count."),
    (
        FindingKind::SharedCores,
        "Client and server shared the cores. CPU per transaction is not affected; peak throughput holds for this \
         machine only. Use a host with at least 4 cores to separate them.",
    ),
    (
        FindingKind::NotManaged,
        "dbduel does not manage these servers: they run with their own settings and are not restarted between trials. \
         Tables are loaded again before each trial that writes, and once for a read-only workload. CPU time \
         is seen of servers on this host only, and counters as far as the account may ask.",
    ),
    (
        FindingKind::BehindPooler,
        "Every statement passes the pooler, so its time is part of each figure, and how many sessions the server has is \
         the pooler's to decide. Counters of the server are those of the one behind it. Name the server itself to \
         measure it alone.",
    ),
    (
        FindingKind::WorkDiffers,
        "The same statements mean or do something else under these settings, so part of a difference may be theirs. Give \
         all contenders the same values to compare the servers alone.",
    ),
    (
        FindingKind::TransportDiffers,
        "Clients do not reach all contenders the same way, so part of a difference is the way there: it is in every \
         statement. Give them the same `transport` to compare the servers alone.",
    ),
    (
        FindingKind::ResultsDiffer,
        "A statement returns other numbers of rows on either side: the servers do not answer from the same data or by \
         the same rules. State the right number in an `-- expect:` note.",
    ),
    (
        FindingKind::DurabilityDiffers,
        "The contenders do not promise the same durability, so part of a difference may be its price. Compare them \
         with equal durability settings to separate the two.",
    ),
    (
        FindingKind::WordSizeDiffers,
        "32-bit and 64-bit builds are compared: differences in throughput and CPU time include the effect of the word \
         size. Use builds of one word size to exclude it.",
    ),
    (
        FindingKind::DefaultsChanged,
        "With its defaults the version may be slower or faster than measured. Give the setting in `settings` to \
         measure with it.",
    ),
    (
        FindingKind::Duet,
        "Both contenders ran at the same time, each on half of the cores. Ratios hold for servers that share a host; \
         no rate is what a server reaches alone. Use `duet = false` for such rates.",
    ),
    (
        FindingKind::FastSweep,
        "The load levels of a block shared one start of each server. Pairs are further apart in time, and one level \
         can affect the next through caches and tables. Use `fast_sweep = false` for independent levels.",
    ),
    (
        FindingKind::ClonedData,
        "Each trial began on clones of the data files: the first write to a block copies it inside the trial. Use \
         `work_copy = \"copy\"` for a workload that writes.",
    ),
    (
        FindingKind::UnequalWork,
        "Not every contender did all of the work. What one of them lacks or answers wrongly is compared with nothing, \
         and totals are of what all have done.",
    ),
    (FindingKind::Refused, "The evidence has the reason. Remove it and repeat the run."),
    (
        FindingKind::OrderMatters,
        "A step gains another amount on its own rung than with the other steps in place. Judge it by the final \
         configuration.",
    ),
    (
        FindingKind::WorkLeft,
        "A server still had deferred work when the wait after a trial ended. What was left is charged at the slowest \
         contender's measured rate.",
    ),
];

/// `dbduel set `log_bin` and `mysqlx` to OFF for `8.0`, which are on by default there.`
fn changed_defaults(evidence: &Evidence) -> String {
    let one = |contender: &ContenderRecord| {
        let names = &evidence.run.contenders.get(&contender.name)?.changed_defaults;
        let set = |name: &String| format!("`{name} = {}`", contender.own_settings.get(name).map_or("", String::as_str));
        (!names.is_empty()).then(|| format!("{} for `{}`", joined(names.iter().map(set).collect()), contender.name))
    };
    let all: Vec<String> = evidence.plan.contenders.iter().filter_map(one).collect();
    format!("dbduel set {}: not what the version has by default.", all.join("; "))
}

fn noisy_host(evidence: &Evidence, of_trials: &str) -> String {
    let text = format!("Other work on the host disturbed {of_trials}");
    match evidence.trials.measured().iter().filter(|trial| trial.purpose.repeats().is_some()).count() {
        0 => text + ".",
        1 => format!("{text}; 1 trial was run again and replaces the first try."),
        repeated => format!("{text}; {repeated} trials were run again and replace the first try."),
    }
}

/// A server on one of two cores leaves the other one to its clients, and a server on both does not.
fn sweep_of_cores(evidence: &Evidence) -> &'static str {
    let varies = evidence.plan.trials.iter().any(|trial| trial.point.contains_key(CORES));
    let text =
        " A server on few cores leaves the others to the client, so speed-ups are smaller than on separate cores.";
    if varies { text } else { "" }
}

fn order_matters(one: &Interaction) -> String {
    let percent = |gain: &Option<Gain>| gain.map_or("-".to_owned(), |gain| signed_percent(gain.ratio - 1.0, 1));
    format!(
        "`{}` changes throughput by {} on its rung, by {} in the final configuration.",
        one.step,
        percent(&one.in_ladder),
        percent(&one.at_top)
    )
}

fn lines(evidence: &Evidence, finding: &Finding) -> Vec<String> {
    match &finding.facts {
        Facts::InRecords => in_records(evidence, finding),
        Facts::GivenUp(all) => {
            let line = |at: &Point, one: &str, workload: &str, why: &str| {
                format!(
                    "{one} at {}, {workload}: {FAILURES_UNTIL_GIVEN_UP} failures in a row, the last: {why}",
                    point_text(at)
                )
            };
            all.iter().map(|one| line(&one.point, &one.contender, &one.workload, &one.because)).collect()
        }
        Facts::BehindPooler(all) => all.iter().map(servers::behind_pooler_line).collect(),
        Facts::WorkDiffers(all) => all.iter().map(servers::work_differs_line).collect(),
        Facts::Headroom(all) => all.iter().map(probes::headroom).collect(),
        Facts::HeadroomUnfinished(all) => all.iter().map(probes::headroom_unfinished).collect(),
        Facts::CauseTestsUnfinished(all) => all.iter().map(probes::cause_test_unfinished).collect(),
        Facts::FalseDifferences(all) => all.iter().map(aa::found).collect(),
        Facts::OrderMatters { workload, interaction } => of_interaction(workload, interaction),
        Facts::WorkLeft(all) => all.iter().map(work_left).collect(),
        Facts::Lost(all) => all.iter().map(lost_by).collect(),
    }
}

fn in_records(evidence: &Evidence, finding: &Finding) -> Vec<String> {
    let (plan, run) = (&evidence.plan, &evidence.run);
    match finding.kind {
        FindingKind::MissingQuantiles => {
            lines_of(evidence, |duel| duel.missing.iter().map(|one| missing(duel, one)).collect())
        }
        FindingKind::FlagImbalance => lines_of(evidence, |duel| flag_imbalance(duel).into_iter().collect()),
        FindingKind::Unsteady => lines_of(evidence, |duel| duel.drifts.iter().map(drift).collect()),
        FindingKind::DeferringWork => {
            lines_of(evidence, |duel| duel.deferring.iter().map(|one| deferring(duel, one)).collect())
        }
        FindingKind::Accumulating => lines_of(evidence, |duel| duel.growths.iter().filter_map(growth).collect()),
        FindingKind::SharedCores => Vec::new(),
        FindingKind::ClonedData => plan.method.work_copy.iter().map(|how| format!("data by {how}")).collect(),
        FindingKind::NotManaged => {
            let line = |one: &ContenderRecord| Some(format!("{}: {}", one.name, one.target.as_ref()?));
            plan.contenders.iter().filter_map(line).collect()
        }
        FindingKind::TransportDiffers => {
            let line = |one: &ContenderRecord| Some(format!("`{}` by {}", one.name, one.transport.as_ref()?));
            plan.contenders
                .iter()
                .filter_map(line)
                .chain([format!("the others by {}", plan.method.transport)])
                .collect()
        }
        FindingKind::DurabilityDiffers => plan.contenders.iter().filter_map(|one| durability(evidence, one)).collect(),
        FindingKind::WordSizeDiffers => {
            let line = |one: &ContenderRecord| {
                let bits = run.contenders.get(&one.name)?.build.word_bits?;
                Some(format!("`{}` is a {bits}-bit build", one.name))
            };
            plan.contenders.iter().filter_map(line).collect()
        }
        FindingKind::UnequalWork => unequal_work(evidence),
        FindingKind::ResultsDiffer => lines_of(evidence, results_differ),
        FindingKind::Duet => of_duet(evidence),
        FindingKind::Refused => {
            let refused = run.decided(DecisionKind::Refused);
            refused.map(|one| format!("{}: {}", one.contender, one_line(&one.because))).collect()
        }
        _ => of_trials(evidence, finding),
    }
}

fn of_trials(evidence: &Evidence, finding: &Finding) -> Vec<String> {
    let trials = evidence.trials.measured().iter().filter(|trial| finding.trials.contains(&trial.trial));
    trials.map(|trial| of_trial(finding.kind, trial)).collect()
}

fn of_trial(kind: FindingKind, trial: &TrialRecord) -> String {
    let place = place(trial);
    match kind {
        FindingKind::FailedTrials => match &trial.failure {
            Some(failure) => format!("{place}: {}: {}", failure.step, failure.message),
            None => place,
        },
        FindingKind::Saturated => {
            let count = |name: &str| trial.metrics.get(name).copied().unwrap_or(0.0);
            let [skipped, due] = ["transactions.skipped", "transactions.due"].map(count);
            format!("{place}: {skipped:.0} of {due:.0} arrivals were never run")
        }
        FindingKind::NoisyHost => {
            let flags = trial.flags.iter().map(String::as_str).filter(|flag| HOST_FLAGS.contains(flag));
            format!("{place}: {}", flags.collect::<Vec<_>>().join(", "))
        }
        FindingKind::Resumed => format!("{place}: {}", kind.as_str()),
        FindingKind::FastSweep => match trial.shares_start_with {
            Some(first) => format!("{place} ran in the start of trial {first}"),
            None => place,
        },
        // Their kinds are the names of the flags.
        _ => match trial.remarks.get(kind.as_str()) {
            Some(remark) => format!("{place}: {remark}"),
            None => place,
        },
    }
}

fn place(trial: &TrialRecord) -> String {
    format!("trial {} (block {}, {}, {})", trial.trial, trial.block, trial.contender, point_text(&trial.point))
}

/// Each line once: duels share their baseline.
fn lines_of(evidence: &Evidence, of_duel: impl Fn(&HeadToHead) -> Vec<String>) -> Vec<String> {
    let workloads = &evidence.conclusions.workloads;
    let mut lines: Vec<String> = Vec::new();
    for workload in workloads {
        for line in workload.duels.iter().flat_map(&of_duel) {
            let line = if workloads.len() > 1 { format!("{}: {line}", workload.workload) } else { line };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn missing(duel: &HeadToHead, missing: &Missing) -> String {
    let places = match missing.points.len() {
        all if all > 1 && all == duel.points.len() => format!("every one of the {all} levels"),
        _ => missing.points.iter().map(point_text).collect::<Vec<_>>().join(", "),
    };
    format!(
        "{} at {places}, `{}` against `{}`: {} of {} trials lack it; trials of {:.0} s would have it",
        missing.quantile,
        duel.candidate,
        duel.baseline,
        missing.trials_lacking,
        missing.trials,
        missing.needed_s.ceil()
    )
}

fn flag_imbalance(duel: &HeadToHead) -> Option<String> {
    let found = duel.flag_imbalance?;
    Some(format!(
        "blocks flagged for `{}` only: {}, for `{}` only: {}; sign test p {:.4}",
        duel.candidate, found.candidate_only, duel.baseline, found.baseline_only, found.p
    ))
}

fn point_or_sweep(point: Option<&Point>) -> String {
    point.map_or("overall".to_owned(), point_text)
}

fn drift((point, drift): &(Option<Point>, Trend)) -> String {
    let percent = |log_ratio: f64| percent_of_log(log_ratio, 1);
    format!(
        "{}, {}: second half {} against the first ({:.1} % t interval {} to {}, {} blocks)",
        drift.contender.as_deref().unwrap_or("candidate over baseline"),
        point_or_sweep(point.as_ref()),
        percent(drift.mean),
        drift.confidence * 100.0,
        percent(drift.low),
        percent(drift.high),
        drift.blocks
    )
}

fn deferring(duel: &HeadToHead, one: &Deferring) -> String {
    let place = point_or_sweep(one.point.as_ref());
    let lead = if one.is_shown { "" } else { ", not shown beyond chance" };
    format!(
        "{}, {place}: ratio {}, with deferred work {}{lead}",
        duel.candidate,
        ratio_text(one.ratio),
        ratio_text(one.adjusted)
    )
}

/// What is told in bytes is not told again in pages or as a share.
fn growth((point, growth): &(Point, Growth)) -> Option<String> {
    if ["dirty_pages", "dirty_share", "checkpoint_age_share"].contains(&growth.gauge.as_str()) {
        return None;
    }
    let amount = |value: f64| amount(&growth.gauge, value);
    Some(format!(
        "{}, {}: from {} to {} in a trial, mean of {} blocks",
        growth.contender,
        point_text(point),
        amount(growth.begin),
        amount(growth.end),
        growth.blocks
    ))
}

fn durability(evidence: &Evidence, contender: &ContenderRecord) -> Option<String> {
    let facts = evidence.run.contenders.get(&contender.name)?;
    let below = facts.file_system.as_ref().map_or_else(String::new, |below| format!(" ({below})"));
    Some(format!(
        "{}: {} by its settings, data on {}{below}",
        contender.name, facts.durability_class, contender.storage
    ))
}

fn unequal_work(evidence: &Evidence) -> Vec<String> {
    let duels = evidence.conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    let all = duels.filter_map(|duel| duel.parts.as_ref()).flat_map(|parts| &parts.left_out);
    let lines: std::collections::BTreeSet<String> = all
        .filter(|one| one.kind != PARTIAL)
        .map(|one| format!("{}: {} ({}): {}", one.contender, one.name, one.kind, parts::why(one)))
        .collect();
    lines.into_iter().collect()
}

fn results_differ(duel: &HeadToHead) -> Vec<String> {
    let line = |one: &ResultsDiffer| {
        let [baseline, candidate] = one.rows.map(wording::number);
        format!("{}: {baseline} rows a call on `{}`, {candidate} on `{}`", one.name, duel.baseline, duel.candidate)
    };
    duel.parts.iter().flat_map(|parts| &parts.results_differ).map(line).collect()
}

fn of_duet(evidence: &Evidence) -> Vec<String> {
    let side = |(number, side): (usize, &SideRecord)| {
        format!("side {}: cores {}, {} physical", number + 1, side.cores, side.physical_cores)
    };
    let sides = evidence.run.client.sides.iter().enumerate().map(side);
    let lacks = |duel: &HeadToHead| {
        duel.unfounded.iter().map(|why| format!("does not hold: {}", duet::unfounded(why))).collect()
    };
    let solo = lines_of(evidence, |duel| duet::solo(duel).into_iter().collect());
    solo.into_iter().chain(sides).chain(lines_of(evidence, lacks)).collect()
}

fn of_interaction(workload: &str, one: &Interaction) -> Vec<String> {
    let with_bounds = |title: &str, gain: &Option<Gain>| {
        let gain = gain.as_ref()?;
        let bounds = gain.bounds.map(|(low, high)| format!(", interval {low:.3}–{high:.3}")).unwrap_or_default();
        Some(format!("{workload}: {title} {:.3}x{bounds}, {} blocks", gain.ratio, gain.blocks))
    };
    let lines = [
        with_bounds("on its rung", &one.in_ladder),
        with_bounds(&format!("against `{}`", one.contender), &one.at_top),
        with_bounds("the second over the first", &one.interaction),
    ];
    lines.into_iter().flatten().collect()
}

fn work_left(one: &WorkLeft) -> String {
    let amounts: Vec<String> = one.amounts.iter().map(|(name, mean)| amount(name, *mean)).collect();
    let charged = match one.charged_s {
        Some(seconds) => format!("charged with {seconds:.1} s"),
        None => "not charged, because no contender did such work in this run".to_owned(),
    };
    let of = format!("{} of {} trials", one.trials_with_work_left, one.trials);
    format!("{}, {}: {} left in {of}, {charged}", one.contender, one.workload, amounts.join(" and "))
}

/// Of the contender that lost the largest share.
fn lost(all: &[Lost]) -> String {
    let most = all.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    most.map_or_else(String::new, |one| {
        format!("{} of the transactions of {} failed.", percent(one.share), one.contender)
    })
}

fn lost_by(one: &Lost) -> String {
    format!("{}, {}: {:.0} of {:.0} transactions failed", one.contender, one.workload, one.failed, one.due)
}

fn amount(name: &str, mean: f64) -> String {
    match name.strip_suffix("_bytes") {
        Some("dirty") => format!("{:.1} MiB of dirty pages", mean / MEBIBYTE),
        Some("checkpoint_age") => format!("{:.1} MiB of log since the last checkpoint", mean / MEBIBYTE),
        Some(other) => format!("{:.1} MiB of {other}", mean / MEBIBYTE),
        None if name == "history_list_length" => format!("a history list of {mean:.0}"),
        None => format!("{mean:.0} ({name})"),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { " was" } else { "s were" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::full_method;
    use analysis::Grade;
    use record::format::crash::{LOG_ERRORS, LOG_REMARK};

    #[test]
    fn every_kind_of_finding_has_a_sentence() {
        let evidence = full_method();
        for kind in FindingKind::ALL {
            // These have facts of their own.
            assert!(!meaning(*kind).is_empty(), "{kind:?}");
            if matches!(kind, FindingKind::GivenUp | FindingKind::OrderMatters) {
                continue;
            }
            let (grade, facts) = (Grade::Confirmed, Facts::InRecords);
            assert!(!text(&evidence, &Finding { kind: *kind, grade, facts, trials: vec![1] }).is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn a_line_of_the_log_about_damage_is_quoted() {
        let mut evidence = full_method();
        let (line, mut stored) = ("PANIC:  could not locate a valid checkpoint record", evidence.trials.all());
        stored[0].metrics.insert(LOG_ERRORS.to_owned(), 1.0);
        stored[0].remarks.insert(LOG_REMARK.to_owned(), line.to_owned());
        evidence.conclusions = analysis::conclude(&evidence.plan, &evidence.run, &stored);
        evidence.trials = record::StoredTrials::new(stored, None);
        let of_log = |one: &&Finding| one.kind == FindingKind::DamageInLog;
        let said = said(&evidence, evidence.conclusions.findings.iter().find(of_log).unwrap());
        assert!(said.text.starts_with("After the crash of 1 of "), "{}", said.text);
        assert!(said.evidence[0].ends_with(line), "{:?}", said.evidence);
    }

    #[test]
    fn a_changed_default_is_named_with_its_value_and_contender() {
        let mut evidence = full_method();
        let contender = &mut evidence.plan.contenders[1];
        contender.own_settings.insert("log_bin".into(), "OFF".into());
        evidence.run.contenders.get_mut(&contender.name).unwrap().changed_defaults = vec!["log_bin".into()];
        let expected = "dbduel set `log_bin = OFF` for `5.6 <b>&tuned`: not what the version has by default.";
        assert_eq!(changed_defaults(&evidence), expected);
    }

    #[test]
    fn what_changes_inside_trials_is_told_with_its_figures() {
        let steady = Trend {
            contender: Some("b".into()),
            mean: 0.951_f64.ln(),
            low: 0.94_f64.ln(),
            high: 0.96_f64.ln(),
            confidence: 0.983,
            blocks: 8,
        };
        let expected =
            "b, overall: second half -4.9 % against the first (98.3 % t interval -6.0 % to -4.0 %, 8 blocks)";
        assert_eq!(drift(&(None, steady)), expected);
        let grown = Growth {
            contender: "b".into(),
            gauge: "dirty_bytes".into(),
            begin: MEBIBYTE,
            end: 2.0 * MEBIBYTE,
            blocks: 8,
        };
        let point = Point::from([("clients".to_owned(), 16)]);
        let expected =
            "b, 16 clients: from 1.0 MiB of dirty pages to 2.0 MiB of dirty pages in a trial, mean of 8 blocks";
        assert_eq!(growth(&(point, grown)).as_deref(), Some(expected));
    }

    #[test]
    fn a_step_is_told_with_its_gain_in_the_ladder_and_on_top() {
        let gain = |ratio| Some(Gain { ratio, bounds: Some((1.2, 1.6)), basis: stats::Basis::Plain, blocks: 8 });
        let one = Interaction {
            step: "pool".into(),
            contender: "top without pool".into(),
            refused: None,
            in_ladder: gain(1.4),
            at_top: gain(1.0),
            interaction: gain(0.714),
        };
        let expected = "`pool` changes throughput by +40.0 % on its rung, by 0.0 % in the final configuration.";
        assert_eq!(order_matters(&one), expected);
        let lines = of_interaction("w", &one);
        assert_eq!(lines[1], "w: against `top without pool` 1.000x, interval 1.200–1.600, 8 blocks");
    }

    #[test]
    fn work_that_was_left_is_told_with_what_it_is_charged() {
        let left = WorkLeft {
            contender: "a".into(),
            workload: "w".into(),
            trials_with_work_left: 3,
            trials: 4,
            amounts: [
                ("checkpoint_age_bytes".to_owned(), 2.0 * MEBIBYTE),
                ("dirty_bytes".to_owned(), 300.0 * MEBIBYTE),
            ]
            .into(),
            charged_s: Some(30.0),
        };
        let amounts = "2.0 MiB of log since the last checkpoint and 300.0 MiB of dirty pages";
        assert_eq!(work_left(&left), format!("a, w: {amounts} left in 3 of 4 trials, charged with 30.0 s"));
        let uncharged = WorkLeft { charged_s: None, ..left };
        assert!(work_left(&uncharged).ends_with("not charged, because no contender did such work in this run"));
    }
}
