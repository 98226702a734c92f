//! What became of each kind of transaction, over the trials of one contender at one point.
//!
//! Which kinds there are is read from the names of the metrics (`payment.committed`), so that it
//! does not depend on a workload. Counts are sums. A mean is that of all transactions; a percentile of
//! several trials is the mean of theirs, weighted by their transactions, because a record holds no
//! histogram: close to the whole's where trials are alike.

use std::collections::{BTreeMap, BTreeSet};

use record::metric::counted;

type Metrics = BTreeMap<String, f64>;

/// One kind of transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kind {
    pub name: String,
    /// Of those that were due in the interval.
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub retries: u64,
    /// Ended inside the interval, whenever they were due: what rates a minute are made of.
    pub committed_inside: u64,
    pub rolled_back_inside: u64,
    pub latency_ms_avg: Option<f64>,
    pub latency_ms_p90: Option<f64>,
}

/// The prefix of what is counted of all kinds together.
const ALL: &str = "transactions";

/// The kinds that these trials counted apart, in the order of their names.
pub fn kinds(trials: &[&Metrics]) -> Vec<Kind> {
    let of_trial = |trial: &&Metrics| {
        trial.keys().filter_map(|name| name.strip_suffix(".committed").map(str::to_owned)).collect::<Vec<_>>()
    };
    let names: BTreeSet<String> = trials.iter().flat_map(of_trial).filter(|name| name != ALL).collect();
    names.into_iter().map(|name| kind(name, trials)).collect()
}

fn kind(name: String, trials: &[&Metrics]) -> Kind {
    let value = |trial: &Metrics, what: &str| trial.get(&format!("{name}.{what}")).copied();
    let sum = |what: &str| counted(trials.iter().filter_map(|trial| value(trial, what)).sum());
    let ended = |trial: &Metrics| {
        ["committed", "rolled_back", "failed"].iter().filter_map(|what| value(trial, what)).sum::<f64>()
    };
    // A mean over the trials that answered enough alone would flatter.
    let all_have = |what: &str| trials.iter().all(|trial| value(trial, what).is_some() || ended(trial) == 0.0);
    let mean = |what: &str| {
        let weighted = trials.iter().filter_map(|trial| Some((value(trial, what)?, ended(trial))));
        let (total, weight) =
            weighted.fold((0.0, 0.0), |(total, all), (value, weight)| (total + value * weight, all + weight));
        (weight > 0.0 && all_have(what)).then(|| total / weight)
    };
    Kind {
        committed: sum("committed"),
        rolled_back: sum("rolled_back"),
        failed: sum("failed"),
        retries: sum("retries"),
        committed_inside: sum("committed_inside"),
        rolled_back_inside: sum("rolled_back_inside"),
        latency_ms_avg: mean("latency_ms_avg"),
        latency_ms_p90: mean("latency_ms_p90"),
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(values: &[(&str, f64)]) -> Metrics {
        values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn counts_add_up_and_times_are_weighted_by_transactions() {
        let one = trial(&[
            ("transactions.committed", 40.0),
            ("payment.committed", 30.0),
            ("payment.latency_ms_avg", 2.0),
            ("payment.latency_ms_p90", 4.0),
            ("delivery.committed", 0.0),
        ]);
        let two = trial(&[("payment.committed", 9.0), ("payment.rolled_back", 1.0), ("payment.latency_ms_avg", 6.0)]);
        let kinds = kinds(&[&one, &two]);
        assert_eq!(kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(), ["delivery", "payment"]);
        assert_eq!((kinds[1].committed, kinds[1].rolled_back), (39, 1));
        assert_eq!((kinds[1].latency_ms_avg, kinds[1].latency_ms_p90), (Some(3.0), None), "one trial lacks its p90");
        assert_eq!(kinds[0].latency_ms_avg, None);
    }

    #[test]
    fn a_workload_without_kinds_has_none() {
        assert!(kinds(&[&trial(&[("transactions.committed", 5.0), ("tps", 1.0)])]).is_empty());
    }
}
