//! What weakens a run: a sentence for each finding, and lines of what shows it.

use analysis::{
    Deferring, Facts, Finding, FindingKind, Gain, Growth, HOST_FLAGS, HeadToHead, Interaction, Missing, ResultsDiffer,
    Trend, WorkLeft,
};
use record::format::figures::{percent_of_log, signed_percent};
use record::format::operations::PARTIAL;
use record::format::{ContenderRecord, DecisionKind, Point, SideRecord, TrialRecord, point_text};
use record::point::CORES;

use super::{Said, aa, duet, one_line, parts, probes};
use crate::{Evidence, wording};

/// Evidence lines that a reader can take in; the rest is counted.
const EVIDENCE_LINES_MAX: usize = 8;

const MEBIBYTE: f64 = 1048576.0;

pub fn said(evidence: &Evidence, finding: &Finding) -> Said {
    let mut lines = lines(evidence, finding);
    let more = lines.len().saturating_sub(EVIDENCE_LINES_MAX);
    lines.truncate(EVIDENCE_LINES_MAX);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    Said { kind: finding.kind.as_str(), grade: finding.grade.as_str(), text: text(evidence, finding), evidence: lines }
}

fn text(evidence: &Evidence, finding: &Finding) -> String {
    let of_trials = format!("{} of {} trials", finding.trials.len(), evidence.trials.measured().len());
    match &finding.facts {
        Facts::GivenUp(all) => {
            return format!("{} given up, so there is no verdict for the whole sweep", counted(all.len(), "point"));
        }
        Facts::OrderMatters { interaction, .. } => return order_matters(interaction),
        Facts::Headroom(_) => {
            return "with twice the load generator's threads more was done: the generator was the limit, and the \
                    server's own lies higher"
                .to_owned();
        }
        Facts::FalseDifferences(_) => {
            return "A/A tests of this host found a difference too often for chance; `dbduel aa` shows by what"
                .to_owned();
        }
        _ => {}
    }
    match finding.kind {
        FindingKind::FailedTrials => format!("{of_trials} failed; their pairs are missing"),
        FindingKind::Outages => format!(
            "nothing was committed in {of_trials}. Each counts as half a transaction, and a contender with such trials \
             in 10 % of its pairs or more, and more than the other, is not called faster or equal"
        ),
        FindingKind::GeneratorBound => {
            format!("the load generator was the limit in {of_trials}; a server's own limit lies higher there")
        }
        FindingKind::Saturated => format!(
            "more transactions arrived than the server took in {of_trials}. Those that were never run are in the \
             quantiles with the time they had waited, so the true quantiles are higher (>=). Use a lower `rate`"
        ),
        FindingKind::Starved => format!(
            "not all clients worked in {of_trials}: throughput and response times are those of fewer clients than \
             asked for"
        ),
        FindingKind::NoisyHost => noisy_host(evidence, &of_trials),
        FindingKind::Unsteady => format!(
            "throughput still rose or fell inside the trials, so ratios hold for their first {} s and for nothing \
             longer",
            evidence.plan.method.duration_s
        ),
        FindingKind::Short => {
            format!("{of_trials} held fewer than two cycles of flushing or checkpoints; give `duration` more time")
        }
        FindingKind::SharedCores => shared_cores(evidence),
        FindingKind::Refused => match evidence.run.decided(DecisionKind::Refused).count() {
            1 => "1 contender of the file could not be had, and was not measured".to_owned(),
            several => format!("{several} contenders of the file could not be had, and were not measured"),
        },
        other => standing(other).to_owned(),
    }
}

/// Sentences without a figure.
fn standing(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::OutOfRange => "some response times lie outside of 1 us to an hour, which is what histograms hold",
        FindingKind::MissingQuantiles => {
            "a quantile of response time needs 30 requests above it in each trial. Where more than 10 % of the pairs \
             lack that, there is no row and no verdict for it: the trials that have it are the fast ones"
        }
        FindingKind::HeadroomUnfinished => {
            "whether the load generator was the limit was not tried out with twice its threads"
        }
        FindingKind::CauseTestUnfinished => "a cause was being put to the test when the run ended",
        FindingKind::FlagImbalance => {
            "flags of the host fall on one contender more often than chance allows, so what disturbed the host may \
             come with that contender; a verdict that the blocks without flags do not give is withheld"
        }
        FindingKind::DeferringWork => {
            "faster only while deferring work: with the time that background work takes behind the interval, the \
             other one is ahead, so there is no verdict"
        }
        FindingKind::Accumulating => {
            "what a server puts off stood higher, or lower, at the end of every trial than at its beginning: longer \
             trials may see another throughput"
        }
        FindingKind::TornLog => {
            "the log of deferred transactions lacks lines, so only a part of them was held to the tables"
        }
        FindingKind::Resumed => "the run was interrupted and went on later; a pair that spans the gap counts",
        FindingKind::NotManaged => {
            "dbduel does not manage these servers: they run their own settings and are not restarted between trials; \
             tables are loaded again before each trial that writes, and once where the workload only reads; the \
             servers' CPU time and counters cannot be known and are absent"
        }
        FindingKind::ResultsDiffer => {
            "a statement brings other numbers of rows on either side: the servers do not answer from the same data, or \
             not by the same rules. Say in an `-- expect:` note what is right"
        }
        FindingKind::DurabilityDiffers => {
            "the contenders do not promise the same durability, so part of a difference may be its price"
        }
        FindingKind::WordSizeDiffers => {
            "32-bit and 64-bit builds are compared: differences in throughput and CPU time include the effect of word \
             size"
        }
        FindingKind::Duet => {
            "both contenders ran at the same time, each on its half of the cores: ratios are relative, under co-run, \
             and none of the rates is what a server does alone"
        }
        FindingKind::FastSweep => {
            "points of a block shared a start of each server, in one common order: pairs stand further apart in time, \
             and what one point leaves in caches and tables meets the next"
        }
        FindingKind::ClonedData => {
            "each trial began on clones of the data files: the first write to a block copies it then, so that a \
             workload that writes pays in its trials for what a full copy pays before them"
        }
        FindingKind::UnequalWork => {
            "not every contender did all of the work: what one of them lacks or answers wrongly is compared with \
             nothing, and totals are of what all have done"
        }
        FindingKind::WorkLeft => {
            "servers had not done all of the work that they put off when nobody waited any longer; what was left is \
             charged at the slowest contender's measured rate"
        }
        counted => unreachable!("{} has a sentence with figures", counted.as_str()),
    }
}

fn noisy_host(evidence: &Evidence, of_trials: &str) -> String {
    let text = format!("something else used the host during {of_trials}");
    match evidence.trials.measured().iter().filter(|trial| trial.purpose.repeats().is_some()).count() {
        0 => text,
        repeated => format!("{text}; {repeated} trials were run again, and count in place of the first try"),
    }
}

fn shared_cores(evidence: &Evidence) -> String {
    let text = "client and server share the cores: CPU numbers are fine, peak throughput holds for this arrangement";
    // A server on one of two cores leaves the other one to its clients, and a server on both does not.
    let steps = "; a server on fewer cores than there are leaves the others to the client, so that speed-ups come \
                 out smaller than they are";
    let varies = evidence.plan.trials.iter().any(|trial| trial.point.contains_key(CORES));
    format!("{text}{}", if varies { steps } else { "" })
}

fn order_matters(one: &Interaction) -> String {
    let percent = |gain: &Option<Gain>| gain.map_or("-".to_owned(), |gain| signed_percent(gain.ratio - 1.0, 1));
    format!(
        "order matters: `{}` is credited {} in the ladder, {} in the final configuration",
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
                format!("{one} at {}, {workload}: {why}", point_text(at))
            };
            all.iter().map(|one| line(&one.point, &one.contender, &one.workload, &one.because)).collect()
        }
        Facts::Headroom(all) => all.iter().map(probes::headroom).collect(),
        Facts::HeadroomUnfinished(all) => all.iter().map(probes::headroom_unfinished).collect(),
        Facts::CauseTestsUnfinished(all) => all.iter().map(probes::cause_test_unfinished).collect(),
        Facts::FalseDifferences(all) => all.iter().map(aa::found).collect(),
        Facts::OrderMatters { workload, interaction } => of_interaction(workload, interaction),
        Facts::WorkLeft(all) => all.iter().map(work_left).collect(),
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
        FindingKind::Accumulating => lines_of(evidence, |duel| duel.growths.iter().map(growth).collect()),
        FindingKind::SharedCores => vec!["run.json: client.shared_cores".to_owned()],
        FindingKind::ClonedData => {
            plan.method.work_copy.iter().map(|how| format!("plan.json: method.clone = {how}")).collect()
        }
        FindingKind::NotManaged => {
            let line = |one: &ContenderRecord| Some(format!("{}: {}", one.name, one.target.as_ref()?));
            plan.contenders.iter().filter_map(line).collect()
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
            format!("{place}: {skipped:.0} of {due:.0} arrivals had no turn")
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
    let points: Vec<String> = missing.points.iter().map(point_text).collect();
    format!(
        "{} at {}, `{}` against `{}`: {} of {} trials lack it; trials of {:.0} s would have it",
        missing.quantile,
        points.join(", "),
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
    point.map_or("whole sweep".to_owned(), point_text)
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
    format!("{}, {place}: ratio {:.3}, with deferred work {:.3}{lead}", duel.candidate, one.ratio, one.adjusted)
}

fn growth((point, growth): &(Point, Growth)) -> String {
    let rounded = |value: f64| if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    format!(
        "{}, {}: {} from {} to {} in a trial, mean of {} blocks",
        growth.contender,
        point_text(point),
        growth.gauge,
        rounded(growth.begin),
        rounded(growth.end),
        growth.blocks
    )
}

fn durability(evidence: &Evidence, contender: &ContenderRecord) -> Option<String> {
    let facts = evidence.run.contenders.get(&contender.name)?;
    let below = facts.file_system.as_ref().map_or_else(String::new, |below| format!(" ({below})"));
    Some(format!("{}: {}, data on {}{below}", contender.name, facts.durability_class, contender.storage))
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
        let bounds = gain.bounds.map(|(low, high)| format!(", interval {low:.3}..{high:.3}")).unwrap_or_default();
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
        None => "not charged, because no contender was seen doing such work".to_owned(),
    };
    let of = format!("{} of {} trials", one.trials_with_work_left, one.trials);
    format!("{}, {}: {} left in {of}, {charged}", one.contender, one.workload, amounts.join(" and "))
}

fn amount(name: &str, mean: f64) -> String {
    match name.strip_suffix("_bytes") {
        Some("dirty") => format!("{:.1} MiB of dirty pages", mean / MEBIBYTE),
        Some("checkpoint_age") => format!("{:.1} MiB of log since the last checkpoint", mean / MEBIBYTE),
        Some(other) => format!("{:.1} MiB of {other}", mean / MEBIBYTE),
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

    #[test]
    fn every_kind_of_finding_has_a_sentence() {
        let evidence = full_method();
        for kind in FindingKind::ALL {
            // These have facts of their own.
            if matches!(kind, FindingKind::GivenUp | FindingKind::OrderMatters) {
                continue;
            }
            let (grade, facts) = (Grade::Confirmed, Facts::InRecords);
            assert!(!text(&evidence, &Finding { kind: *kind, grade, facts, trials: vec![1] }).is_empty(), "{kind:?}");
        }
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
            "b, whole sweep: second half -4.9 % against the first (98.3 % t interval -6.0 % to -4.0 %, 8 blocks)";
        assert_eq!(drift(&(None, steady)), expected);
        let grown =
            Growth { contender: "b".into(), gauge: "dirty_bytes".into(), begin: 1004.5, end: 1995.5, blocks: 8 };
        let point = Point::from([("clients".to_owned(), 16)]);
        let expected = "b, 16 clients: dirty_bytes from 1004 to 1996 in a trial, mean of 8 blocks";
        assert_eq!(growth(&(point, grown)), expected);
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
        let expected = "order matters: `pool` is credited +40.0 % in the ladder, 0.0 % in the final configuration";
        assert_eq!(order_matters(&one), expected);
        let lines = of_interaction("w", &one);
        assert_eq!(lines[1], "w: against `top without pool` 1.000x, interval 1.200..1.600, 8 blocks");
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
        assert!(work_left(&uncharged).ends_with("not charged, because no contender was seen doing such work"));
    }
}
