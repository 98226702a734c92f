//! The logs of deferred Deliveries against the counts of their trials, and against themselves.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Findings;
use record::RunDir;
use record::format::{Series, Status, TORN_LOG, TrialRecord};
use report::Evidence;

/// How a trial counts them.
const COMMITTED: &str = "deferred_delivery.committed";
/// Columns of a log in front of the orders, one of each district.
const QUEUED: &str = "queued_s";
const WAREHOUSE: &str = "w_id";
const ORDERS: &str = "o_id_d";

/// As many lines were queued inside the interval as were counted, and no order stands in two of them.
pub fn against_counts(run: &RunDir, evidence: &Evidence, findings: &mut Findings) -> Result<()> {
    let (mut logs, mut lines) = (0, 0);
    for trial in evidence.trials.measured().iter().filter(|trial| trial.status == Status::Ok) {
        let Some(committed) = trial.metrics.get(COMMITTED) else { continue };
        let Some(log) = run.deferred(trial.trial)? else {
            findings.differs(format!("trial {}: {committed} deferred Deliveries, and no log of them", trial.trial));
            continue;
        };
        (logs, lines) = (logs + 1, lines + log.rows.len());
        for what in differences(trial, &log, *committed) {
            findings.differs(format!("trial {}: {what}", trial.trial));
        }
    }
    if logs > 0 {
        findings.checked(format!("{lines} lines of {logs} logs of deferred Deliveries, no order delivered twice"));
    }
    Ok(())
}

fn differences(trial: &TrialRecord, log: &Series, committed: f64) -> Vec<String> {
    let column = |name: &str| log.columns.iter().position(|column| column == name);
    let (Some(queued), Some(warehouse)) = (column(QUEUED), column(WAREHOUSE)) else {
        return vec!["its log of deferred Deliveries cannot be read".to_owned()];
    };
    let (mut orders, mut twice) = (BTreeSet::new(), 0);
    for row in &log.rows {
        let delivered = log.columns.iter().zip(row).filter(|(name, order)| name.starts_with(ORDERS) && !order.is_nan());
        for (district, order) in delivered {
            let is_new = orders.insert((row[warehouse] as u64, district, *order as u64));
            twice += usize::from(!is_new);
        }
    }
    let interval_s = trial.metrics.get("transactions.committed").zip(trial.metrics.get("tps"));
    let interval_s = interval_s.map_or(f64::NAN, |(committed, tps)| committed / tps);
    let inside = log.rows.iter().filter(|row| (0.0..interval_s).contains(&row[queued])).count() as f64;
    let is_torn = trial.flags.iter().any(|flag| flag == TORN_LOG);
    let miscounted = (inside != committed && !is_torn).then(|| {
        format!("its log has {inside} Deliveries that were queued inside the interval, its record {committed}")
    });
    miscounted.into_iter().chain((twice > 0).then(|| format!("{twice} orders stand in its log twice"))).collect()
}
