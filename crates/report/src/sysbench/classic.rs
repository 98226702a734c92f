//! The layout of sysbench 0.4.12, as articles before 2012 show it.
//!
//! That version had neither interval lines nor checkpoints; those come in the form that its later
//! development gave them.

use super::{
    Figures, Heading, IntervalFigures, NOT_KNOWN, Percentile, fairness, labelled, marks, per_second, queries, rated,
    remarks,
};

pub fn heading(heading: &Heading) -> String {
    let mut lines = vec![heading.version.clone(), String::new(), "Running the test with following options:".to_owned()];
    lines.push(format!("Number of threads: {}", heading.clients));
    lines.extend(heading.rate.map(|rate| format!("Target transaction rate: {rate}/sec")));
    lines.extend(heading.report_interval_s.map(|every| format!("Report intermediate results every {every} second(s)")));
    if let Some(seed) = heading.seed {
        lines.push(format!("Initializing random number generator from seed ({seed})."));
    }
    lines.push(String::new());
    lines.extend(heading.about.iter().cloned());
    lines.extend(["Threads started!", ""].map(str::to_owned));
    lines.join("\n") + "\n"
}

pub fn interval(interval: &IntervalFigures) -> String {
    let rate = |count| per_second(count, interval.interval_s);
    let Percentile { percent, value_ms } = interval.percentile.unwrap_or_default();
    let value_ms = value_ms.unwrap_or(0.0);
    format!(
        "[{:4.0}s] threads: {}, tps: {:.2}, reads/s: {:.2}, writes/s: {:.2} response time: {value_ms:.2}ms ({percent}%)\n",
        interval.elapsed_s,
        interval.clients,
        rate(interval.transactions),
        rate(interval.reads),
        rate(interval.writes),
    )
}

pub fn block(figures: &Figures) -> String {
    let rated = |label, value| rated(label, value, figures.interval_s);
    let busy = figures.latency.sum_ms.map_or_else(|| NOT_KNOWN.to_owned(), |sum_ms| format!("{:.4}", sum_ms / 1e3));
    [
        marks(figures),
        "OLTP test statistics:\n".to_owned(),
        queries(figures),
        rated("transactions:", Some(figures.transactions)),
        rated("deadlocks:", Some(figures.ignored_errors)),
        rated("read/write requests:", figures.queries.map(|it| it.reads + it.writes)),
        rated("other operations:", figures.queries.map(|it| it.other)),
        reconnects(figures),
        "\n".to_owned(),
        remarks(figures),
        "Test execution summary:\n".to_owned(),
        labelled(4, "total time:", format!("{:.4}s", figures.total_s)),
        labelled(4, "total number of events:", figures.transactions),
        labelled(4, "total time taken by event execution:", busy),
        request(figures),
        "\n".to_owned(),
        fairness(figures),
    ]
    .concat()
}

/// 0.4 ended at the first lost connection and so has no line for it; we go on, and must say so.
fn reconnects(figures: &Figures) -> String {
    match figures.reconnects {
        Some(0) | None => String::new(),
        reconnects => super::rated("reconnects:", reconnects, figures.interval_s),
    }
}

fn request(figures: &Figures) -> String {
    let time = |value_ms: Option<f64>| value_ms.map_or_else(|| NOT_KNOWN.to_owned(), |ms| format!("{ms:10.2}ms"));
    let row = |label: &str, value_ms| format!("         {label:<32}{}\n", time(value_ms));
    let percentile = |it: &Percentile| row(&format!("approx. {:>3} percentile:", it.percent), it.value_ms);
    let latency = &figures.latency;
    [
        "    per-request statistics:\n".to_owned(),
        row("min:", latency.min_ms),
        row("avg:", latency.avg_ms),
        row("max:", latency.max_ms),
        figures.percentiles.iter().map(percentile).collect(),
    ]
    .concat()
}
