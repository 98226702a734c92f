//! What observers saw of the host and the server over a whole run.
//!
//! No judgement here: flags were raised when the trials ran. It finds what was usual, and the worst.

use std::collections::BTreeMap;

use record::format::{Series, Status, TrialRecord};
use record::metric::OF_SERVER;

/// What is summed up, where trials have it.
const METRICS: [&str; 8] = [
    "host_foreign_cpu_share",
    "host_foreign_disk_share",
    "host_steal_share",
    "host_iowait_share",
    "host_pressure_cpu_some_share",
    "host_pressure_io_some_share",
    "host_pressure_memory_some_share",
    "server_threads_blocked",
];

/// One metric over the trials of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    pub metric: String,
    /// Over the trials.
    pub mean: f64,
    pub worst_trial: f64,
    pub trials: usize,
    /// Of all trials; absent where it is known of whole trials only.
    pub worst_second: Option<f64>,
}

pub fn watched(trials: &[TrialRecord], seconds: &BTreeMap<u32, Series>) -> Vec<Watched> {
    let names = METRICS.iter().flat_map(|metric| {
        let of_server = metric.starts_with("host_").then(|| format!("{OF_SERVER}{metric}"));
        of_server.into_iter().chain([(*metric).to_owned()])
    });
    names.filter_map(|metric| of_metric(metric, trials, seconds)).collect()
}

fn of_metric(metric: String, trials: &[TrialRecord], seconds: &BTreeMap<u32, Series>) -> Option<Watched> {
    let ok = trials.iter().filter(|trial| trial.status == Status::Ok);
    let values: Vec<f64> = ok.filter_map(|trial| trial.metrics.get(&metric).copied()).collect();
    let in_seconds = seconds.values().filter_map(|series| {
        let column = series.columns.iter().position(|name| *name == metric)?;
        series
            .rows
            .iter()
            .filter_map(|row| row.get(column).copied())
            .filter(|value| !value.is_nan())
            .max_by(f64::total_cmp)
    });
    let worst_second = in_seconds.max_by(f64::total_cmp);
    Some(Watched {
        mean: stats::mean(&values)?,
        worst_trial: values.iter().copied().max_by(f64::total_cmp)?,
        trials: values.len(),
        worst_second,
        metric,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{Story, stored_run};

    #[test]
    fn the_worst_second_is_found_and_what_could_not_be_seen_is_passed_over() {
        let mut trials = stored_run(&Story::default()).trials;
        trials.truncate(3);
        for (trial, share) in trials.iter_mut().zip([0.01, 0.03]) {
            trial.metrics.insert("host_iowait_share".to_owned(), share);
        }
        let series = |shares: &[f64]| Series {
            columns: vec!["second".to_owned(), "host_iowait_share".to_owned()],
            rows: shares.iter().enumerate().map(|(second, share)| vec![second as f64, *share]).collect(),
        };
        let seconds = BTreeMap::from([(1, series(&[0.0, 0.2, f64::NAN])), (2, series(&[0.1]))]);
        let seen = watched(&trials, &seconds);
        let iowait = seen.iter().find(|one| one.metric == "host_iowait_share").unwrap();
        assert!((iowait.mean - 0.02).abs() < 1e-12, "{iowait:?}");
        assert_eq!((iowait.worst_trial, iowait.trials, iowait.worst_second), (0.03, 2, Some(0.2)));
        assert!(!seen.iter().any(|one| one.metric == "server_threads_blocked"), "it was not seen");
    }
}
