//! Stored trials in sysbench's layouts: one block each.
//!
//! What a record does not hold, the block leaves out and says so.

use super::super::{Evidence, Report};
use super::{Buckets, Fairness, Figures, Latency, Layout, Percentile, Queries};
use record::format::{Status, TrialRecord, point_text};
use record::metric::{counted, fairness};

/// sysbench's default percentile, which a record of enough transactions holds.
const PERCENT: f64 = 95.0;

pub const MODERN: Report = Report::new(
    "sysbench-1.0",
    "each trial in the layout of sysbench 1.0, for scripts that read it",
    "dbduel report last --format sysbench-1.0",
    |evidence, _| Ok(trials(evidence, Layout::Modern)),
);
pub const CLASSIC: Report = Report::new(
    "sysbench-0.4",
    "each trial in the layout of sysbench 0.4.12, as articles before 2012 show it",
    "dbduel report last --format sysbench-0.4",
    |evidence, _| Ok(trials(evidence, Layout::Classic)),
);

fn trials(evidence: &Evidence, layout: Layout) -> String {
    evidence.trials.measured().iter().map(|one| title(one) + &trial(evidence, layout, one)).collect()
}

fn title(trial: &TrialRecord) -> String {
    let TrialRecord { trial: number, workload, contender, point, block, .. } = trial;
    format!("Trial {number}: {workload} on `{contender}`, {}, block {block}\n", point_text(point))
}

fn trial(evidence: &Evidence, layout: Layout, trial: &TrialRecord) -> String {
    if trial.status == Status::Failed {
        let failure = trial.failure.as_ref();
        let why = failure.map_or("no reason is stored".to_owned(), |it| format!("{}: {}", it.step, it.message));
        return format!("FAILED at {why}\n\n");
    }
    layout.block(&figures(trial, trial.interval_s(&evidence.plan.method)))
}

fn figures(trial: &TrialRecord, duration_s: f64) -> Figures {
    let metric = |name: &str| trial.metrics.get(name).copied();
    let count = |name: &str| metric(name).map_or(0, counted);
    let transactions = count("transactions.committed");
    let ended = transactions + count("transactions.rolled_back") + count("transactions.failed");
    let avg_ms = metric("latency_ms_avg");
    let bucketed = |ms| Buckets::new([(ms, 1)]).percentile_ms(PERCENT);
    let percentile = Percentile { percent: PERCENT, value_ms: metric("latency_ms_p95").map(bucketed) };
    let total_s = duration_s + metric("drain_s").unwrap_or(0.0);
    Figures {
        queries: metric("queries.read").map(|reads| Queries {
            reads: counted(reads),
            writes: count("queries.write"),
            other: count("queries.other"),
        }),
        transactions,
        ignored_errors: count("transactions.retries"),
        reconnects: metric("reconnects").map(counted),
        interval_s: duration_s,
        total_s,
        latency: Latency {
            min_ms: metric("latency_ms_min"),
            avg_ms,
            max_ms: metric("latency_ms_max"),
            sum_ms: avg_ms.map(|ms| ms * ended as f64),
        },
        percentiles: vec![percentile],
        fairness: fairness_of(trial),
        unfinished: None,
        skipped: count("transactions.skipped"),
        left_waiting: 0,
        partial: None,
        wrong: None,
    }
}

/// How evenly the clients were served, where the record has it.
fn fairness_of(trial: &TrialRecord) -> Option<Fairness> {
    let metric = |name: &str| trial.metrics.get(name).copied();
    Some(Fairness {
        events_mean: metric(fairness::EVENTS_AVG)?,
        events_deviation: metric(fairness::EVENTS_STDDEV)?,
        busy_s_mean: metric(fairness::BUSY_S_AVG)?,
        busy_s_deviation: metric(fairness::BUSY_S_STDDEV)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{Story, stored_run};

    #[test]
    fn transactions_per_second_are_those_of_every_other_report() {
        let mut trial = stored_run(&Story::default()).trials.remove(0);
        let put = |(name, value): (&str, f64)| (name.to_owned(), value);
        trial.metrics.extend([("tps", 10.0), ("transactions.committed", 600.0), ("drain_s", 15.0)].map(put));
        let figures = figures(&trial, 60.0);
        assert_eq!((figures.transactions, figures.interval_s, figures.total_s), (600, 60.0, 75.0));
        assert_eq!(figures.fairness, None, "no counts by client are stored");
        for layout in [Layout::Modern, Layout::Classic] {
            let block = layout.block(&figures);
            assert!(block.contains("600    (10.00 per sec.)"), "{block}");
        }
    }

    #[test]
    fn the_fastest_transaction_and_each_clients_share_are_those_of_the_record() {
        let mut trial = stored_run(&Story::default()).trials.remove(0);
        let stored = [
            ("latency_ms_min", 14.91),
            ("queries.read", 471_772.0),
            ("queries.write", 168_490.0),
            ("queries.other", 67_396.0),
            (fairness::EVENTS_AVG, 8424.5),
            (fairness::EVENTS_STDDEV, 22.07),
            (fairness::BUSY_S_AVG, 299.7557),
            (fairness::BUSY_S_STDDEV, 0.01),
        ];
        trial.metrics.extend(stored.map(|(name, value)| (name.to_owned(), value)));
        let block = Layout::Classic.block(&figures(&trial, 300.0));
        for line in [
            "         min:                                 14.91ms",
            "    events (avg/stddev):           8424.5000/22.07",
            "    execution time (avg/stddev):   299.7557/0.01",
        ] {
            assert!(block.lines().any(|shown| shown == line), "{line}: {block}");
        }
        assert!(!block.contains("not stored"), "{block}");
    }
}
