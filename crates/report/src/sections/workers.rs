//! The workers that made the load.

use analysis::workers::{WorkerSummary, have_moved, workers};
use record::format::{Status, TrialRecord};

use super::{Topic, stopped};
use crate::document::{Block, Column, Section, Table};
use crate::{Evidence, wording};

pub struct Workers;

impl Topic for Workers {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let trials = evidence.trials.measured();
        let summaries = workers(trials);
        if summaries.is_empty() && failures(trials).is_empty() {
            return None;
        }
        let mut body: Vec<Block> = Block::list(stopped(lines(evidence, &summaries))).into_iter().collect();
        body.extend(Block::table(table(&summaries)).map(|table| Block::OnPage(vec![table])));
        body.extend(Block::list(stopped(failures(trials))));
        Section::of("workers", "Workers", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

/// What holds for all of them.
fn lines(evidence: &Evidence, summaries: &[WorkerSummary]) -> Vec<String> {
    let trials = evidence.trials.measured();
    let largest =
        |metric: &str| trials.iter().filter_map(|trial| trial.metrics.get(metric).copied()).max_by(f64::total_cmp);
    let how = evidence.plan.method.cluster.as_ref().map(|cluster| {
        let hosts: Vec<String> =
            summaries.iter().map(|worker| format!("{} on {}", worker.worker, worker.hosts.join(", "))).collect();
        format!(
            "The load came from {} by {}: {}",
            wording::count(cluster.workers as usize, "worker"),
            cluster.launcher,
            hosts.join("; ")
        )
    });
    let edges = largest("start_spread_ms").zip(largest("edge_error_ms")).map(|(spread, edge)| {
        format!("Workers started within {spread:.1} ms of each other; their intervals lie within {edge:.2} ms")
    });
    let moved = have_moved(trials)
        .then(|| "Workers changed hosts during the run: blocks on other hosts are other measurements".to_owned());
    how.into_iter().chain(edges).chain(moved).collect()
}

fn failures(trials: &[TrialRecord]) -> Vec<String> {
    let of_worker = |trial: &TrialRecord| {
        let failure = trial.failure.as_ref().filter(|_| trial.status == Status::Failed)?;
        failure.worker?;
        Some(format!("Trial {} failed at {}: {}", trial.trial, failure.step, failure.message))
    };
    trials.iter().filter_map(of_worker).collect()
}

/// Medians over the trials. Quantiles of single workers are beside the point: results come from all together.
fn table(summaries: &[WorkerSummary]) -> Table {
    let columns = [
        Column::number("worker", 0),
        Column::name("host", 0),
        Column::number("CPUs", 3),
        Column::number("clients", 1),
        Column::number("tps", 0),
        Column::number("share", 1),
        Column::number("own p99 (ms)", 2),
        Column::number("cores used", 2),
        Column::number("ceiling used", 1),
        Column::number("lateness p99 (ms)", 3),
        Column::number("clock offset (ms)", 4),
        Column::number("edge error (ms)", 4),
    ];
    let known = |value: Option<f64>, text: &dyn Fn(f64) -> String| value.map_or("-".to_owned(), text);
    let row = |worker: &WorkerSummary| {
        [
            worker.worker.to_string(),
            worker.hosts.join(", "),
            worker.cpus.to_string(),
            wording::number(worker.clients),
            wording::number(worker.tps),
            wording::percent(worker.share),
            known(worker.own_latency_ms_p99, &wording::number),
            wording::number(worker.cores_used),
            known(worker.ceiling_share, &wording::percent),
            known(worker.lateness_ms_p99, &wording::number),
            format!("{:.3}", worker.clock_offset_ms),
            format!("{:.3}", worker.edge_error_ms),
        ]
    };
    Table::new(columns).with_rows(summaries.iter().map(row))
}
