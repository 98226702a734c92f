//! Why one contender is faster: a sentence for each cause, and the figures behind it.

use analysis::cause_test::BLOCKS;
use analysis::{Cause, CauseKind, CauseTest, Change, GapChange, Measure, Observed, Side, TestOutcome};
use record::format::figures::short_percent;
use record::format::{ContrastKind, Point, point_text};

use super::probes::{setting, trial_failed};
use super::{Said, costs};
use crate::wording::number;
use crate::{Evidence, verdict};

pub fn said(evidence: &Evidence, cause: &Cause) -> Said {
    Said { kind: cause.kind.as_str(), grade: cause.grade.as_str(), text: text(evidence, cause), evidence: lines(cause) }
}

fn text(evidence: &Evidence, cause: &Cause) -> String {
    let points = evidence.conclusions.workloads.iter().find(|one| one.workload == cause.workload);
    let mut text = claim(cause);
    if points.is_some_and(|workload| workload.points.len() > 1) {
        let mut places: Vec<&Point> = cause.observed.iter().map(|one| &one.point).collect();
        places.sort();
        text += &format!(" at {}", verdict::places(places.into_iter()));
    }
    let first = cause.observed.first();
    if let Some(most) = first.and_then(|first| first.signs.first().or(first.moves.last())) {
        text += &format!(": {}", measure(cause, most));
    }
    if evidence.plan.workloads.len() > 1 {
        text = format!("{}: {text}", cause.workload);
    }
    text += &cause.test.as_ref().map_or(String::new(), tested);
    if !cause.confirmed_alike.is_empty() {
        let kinds: Vec<String> = cause.confirmed_alike.iter().map(|kind| format!("\"{}\"", kind.as_str())).collect();
        text += &format!("; the same test confirms {}", kinds.join(" and "));
    }
    text
}

fn claim(cause: &Cause) -> String {
    let (own, theirs) = match cause.side {
        Side::Candidate => (Side::Candidate, Side::Baseline),
        Side::Baseline => (Side::Baseline, Side::Candidate),
    };
    let [who, other] = [own, theirs].map(|side| format!("`{}`", cause.contender(side)));
    claim_of(cause.kind, &who, &other)
}

/// What a kind of cause claims of `A` beside `B`.
pub fn meaning(kind: CauseKind) -> String {
    claim_of(kind, "`A`", "`B`")
}

fn claim_of(kind: CauseKind, who: &str, other: &str) -> String {
    match kind {
        CauseKind::HostLimits => "other processes used the host's CPU, so no cause is claimed".to_owned(),
        CauseKind::GeneratorLimits => "the load generator was the limit, so no cause is claimed".to_owned(),
        CauseKind::LogWrites => format!("{who} waits for log writes to reach the disk"),
        CauseKind::LogSyncs => format!("{who} syncs its log to disk far more often, which costs time and CPU"),
        CauseKind::CompressedPages => {
            format!("{who} compresses and decompresses pages, which {other} does not")
        }
        CauseKind::BufferMisses => format!("{who} reads from disk what {other} finds in its buffers"),
        CauseKind::TemporaryFiles => {
            format!("sorts and hashes of {who} go through temporary files, for which {other} has memory (`work_mem`)")
        }
        CauseKind::TemporaryTables => format!(
            "{who} makes temporary tables on disk or sorts in several passes, for which {other} has memory \
             (`tmp_table_size`, `sort_buffer_size`)"
        ),
        CauseKind::DoubleWrites => format!("{who} waits for pages that it writes twice (doublewrite)"),
        CauseKind::RowLocks => format!("transactions on {who} wait for each other's row locks"),
        CauseKind::Disks => format!("{who} waits for disk I/O"),
        CauseKind::Latches => format!(
            "threads of {who} wait for each other: it does less work with less CPU, and neither disks nor row locks explain it"
        ),
        CauseKind::LocksOrLatches => {
            format!("{who} has more context switches per transaction: its threads wait for locks or latches")
        }
        CauseKind::CheckpointStalls => {
            format!("{who} has seconds with almost no commits while its log is nearly full (checkpoint stalls)")
        }
        CauseKind::KernelTime => format!("{who} spends a larger share of its CPU time in the kernel"),
        CauseKind::Spinning => format!("threads of {who} spin while they wait for each other"),
        CauseKind::LongerCodePath => {
            format!("{who} needs more CPU per transaction than {other} (a longer code path)")
        }
        CauseKind::ShorterCodePath => {
            format!("{who} needs less CPU per transaction than {other} (a shorter code path)")
        }
        CauseKind::MoreConcurrency => format!("{who} waits less and uses more of the CPU than {other}"),
        CauseKind::MoreEfficient => {
            format!("{who} does the same work as {other} with less CPU; the limit lies elsewhere")
        }
    }
}

/// The cause test first, then point by point.
fn lines(cause: &Cause) -> Vec<String> {
    let test = cause.test.as_ref().and_then(|test| match &test.outcome {
        TestOutcome::Ended(change) => Some(changed(cause, test.without, change)),
        TestOutcome::NotRun { .. } | TestOutcome::Failed { .. } | TestOutcome::NotAlike => None,
    });
    let of_point = |one: &Observed| -> Vec<String> {
        let place = if one.point.is_empty() { String::new() } else { format!("{}: ", point_text(&one.point)) };
        one.moves.iter().chain(&one.signs).map(|sign| format!("{place}{}", measure(cause, sign))).collect()
    };
    test.into_iter().chain(cause.observed.iter().flat_map(of_point)).collect()
}

fn measure(cause: &Cause, one: &Measure) -> String {
    if cause.kind.is_of_the_run() { of_both(cause, one) } else { of_side(one) }
}

/// `share of … 0.37 beside `5.5`, 0.75 beside `5.6` (means of 8 blocks)`.
fn of_both(cause: &Cause, one: &Measure) -> String {
    let (baseline, candidate) = match cause.side {
        Side::Candidate => (one.other, one.own),
        Side::Baseline => (one.own, one.other),
    };
    let (title, unit) = costs::measured(&one.metric);
    format!(
        "{title} {}{unit} beside `{}`, {}{unit} beside `{}` (means of {} blocks)",
        number(baseline),
        cause.baseline,
        number(candidate),
        cause.candidate,
        one.blocks
    )
}

/// `syncs per transaction 0.739 against 0.000123 (difference 0.71 to 0.76, 8 blocks)`.
fn of_side(one: &Measure) -> String {
    let interval = match one.change {
        Some(Change::Factor { low, high }) => format!("factor {} to {}", number(low), number(high)),
        Some(Change::Difference { low, high }) => format!("difference {} to {}", number(low), number(high)),
        None => "no interval".to_owned(),
    };
    let blocks = if one.blocks == 1 { "block" } else { "blocks" };
    let time = if costs::work(&one.metric) == "pass" { "time" } else { "response time" };
    let aside = one.of_gap_ms.map_or(String::new(), |gap| format!(", of {} ms more {time}", number(gap)));
    let ((title, unit), own, other) = (costs::measured(&one.metric), number(one.own), number(one.other));
    format!("{title} {own}{unit} against {other}{unit} ({interval}, {} {blocks}){aside}", one.blocks)
}

/// Goes on from the sentence of the cause.
fn tested(test: &CauseTest) -> String {
    tested_with(setting(test.without), &test.outcome)
}

pub fn tested_with(setting: &str, outcome: &TestOutcome) -> String {
    let change = match outcome {
        TestOutcome::NotRun { because } => return format!("; not tested with {setting}: {because}"),
        TestOutcome::Failed { contender, failure } => {
            return format!("; not tested with {setting}: {}", trial_failed(contender, failure));
        }
        TestOutcome::NotAlike => return format!("; with {setting} the servers still run it differently"),
        TestOutcome::Ended(change) => change,
    };
    let bounds = change.after_bounds;
    let bounds = bounds.map(|(low, high)| format!(" (t interval {} to {})", percent(low), percent(high)));
    let verdict = if change.confirms { "" } else { ", which does not confirm it" };
    let (before, after) = (percent(change.before), percent(change.after));
    format!("; with {setting} the gap went from {before} to {after}{}{verdict}", bounds.unwrap_or_default())
}

fn changed(cause: &Cause, without: ContrastKind, change: &GapChange) -> String {
    let mean = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    format!(
        "with {}, {}: {} {} against {} (geometric means of {BLOCKS} blocks); {:.0} % of the gap went away \
         (difference of log ratios {:.3}, t interval {:.3} to {:.3}, {} blocks before and {BLOCKS} after)",
        setting(without),
        cause.observed.first().map(|one| point_text(&one.point)).unwrap_or_default(),
        costs::measured(&change.metric).0,
        mean(change.own),
        mean(change.other),
        change.removed_share * 100.0,
        change.removed,
        change.removed_bounds.0,
        change.removed_bounds.1,
        change.blocks_before,
    )
}

fn percent(log_ratio: f64) -> String {
    short_percent(log_ratio.exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::full_method;
    use analysis::Grade;
    use record::format::Failure;

    /// A cause with one sign, and what became of its test.
    fn cause(test: Option<TestOutcome>) -> Cause {
        let sign = Measure {
            metric: "syncs_per_tx".into(),
            own: 0.75,
            other: 0.0,
            change: Some(Change::Difference { low: 0.71, high: 0.76 }),
            blocks: 8,
            of_gap_ms: None,
        };
        let tps = Measure { metric: "tps".into(), change: None, blocks: 1, ..sign.clone() };
        Cause {
            kind: CauseKind::LogWrites,
            grade: Grade::Supported,
            workload: "oltp_read_write".into(),
            baseline: "a".into(),
            candidate: "b".into(),
            side: Side::Baseline,
            observed: vec![Observed { point: Point::new(), moves: vec![tps], signs: vec![sign] }],
            test: test.map(|outcome| CauseTest { without: ContrastKind::Tmpfs, outcome }),
            confirmed_alike: Vec::new(),
            trials: Vec::new(),
        }
    }

    fn gap(confirms: bool) -> GapChange {
        GapChange {
            metric: "tps".into(),
            own: Some(1000.0),
            other: Some(1050.0),
            before: 0.3_f64.ln(),
            after: 0.98_f64.ln(),
            after_bounds: Some((0.97_f64.ln(), 0.99_f64.ln())),
            removed: 1.18,
            removed_bounds: (1.1, 1.2),
            removed_share: 0.98,
            blocks_before: 8,
            confirms,
        }
    }

    #[test]
    fn a_cause_names_its_contender_and_the_figures_of_both() {
        let expected = "syncs per transaction 0.750 against 0 (difference 0.710 to 0.760, 8 blocks)";
        assert_eq!(of_side(&cause(None).observed[0].signs[0]), expected);
        assert_eq!(claim(&cause(None)), "`a` waits for log writes to reach the disk");
        let lines = lines(&cause(None));
        assert_eq!(lines, ["tps 0.750 against 0 (no interval, 1 block)", expected]);
        let cpu = Measure {
            metric: "cpu_us_per_tx".into(),
            own: 13567.0,
            other: 19158.0,
            change: None,
            blocks: 8,
            of_gap_ms: None,
        };
        assert_eq!(of_side(&cpu), "server CPU per transaction 13,567 µs against 19,158 µs (no interval, 8 blocks)");
    }

    #[test]
    fn what_became_of_a_cause_test_stands_behind_the_cause() {
        let check = |outcome: TestOutcome, expected: &str| {
            let told = cause(Some(outcome)).test.as_ref().map(tested).unwrap();
            assert_eq!(told, expected);
        };
        let changed =
            "; with the data of both on tmpfs the gap went from -70 % to -2.0 % (t interval -3.0 % to -1.0 %)";
        check(TestOutcome::Ended(gap(true)), changed);
        check(TestOutcome::Ended(gap(false)), &format!("{changed}, which does not confirm it"));
        let not_run = "; not tested with the data of both on tmpfs: ";
        check(TestOutcome::NotRun { because: "1 GiB is free".into() }, &format!("{not_run}1 GiB is free"));
        let failure = Failure { step: "start".into(), message: "no room".into(), ..Failure::default() };
        let failed = TestOutcome::Failed { contender: "b".into(), failure };
        check(failed, &format!("{not_run}a trial of `b` failed at `start`: no room"));
        let lines = lines(&cause(Some(TestOutcome::Ended(gap(true)))));
        assert!(lines[0].contains("tps 1,000 against 1,050") && lines.len() == 3, "{lines:?}");
    }

    #[test]
    fn causes_that_one_test_confirms_name_each_other() {
        let alike = Cause { confirmed_alike: vec![CauseKind::DoubleWrites], ..cause(None) };
        let text = text(&full_method(), &alike);
        assert!(text.ends_with("; the same test confirms \"waiting on double writes\""), "{text}");
    }
}
