//! The layout of sysbench 1.0.

use super::{
    Figures, Heading, IntervalFigures, NOT_KNOWN, Percentile, Queries, fairness, labelled, marks, per_second, queries,
    rated, remarks,
};

pub fn heading(heading: &Heading) -> String {
    let mut lines = vec![heading.version.clone(), String::new(), "Running the test with following options:".to_owned()];
    lines.push(format!("Number of threads: {}", heading.clients));
    lines.extend(heading.rate.map(|rate| format!("Target transaction rate: {rate}/sec")));
    lines.extend(heading.report_interval_s.map(|every| format!("Report intermediate results every {every} second(s)")));
    if !heading.checkpoints_s.is_empty() {
        let times: Vec<String> = heading.checkpoints_s.iter().map(u64::to_string).collect();
        lines.push(format!("Report checkpoint(s) at {} seconds", times.join(", ")));
    }
    lines.push(match heading.seed {
        Some(seed) => format!("Initializing random number generator from seed ({seed})."),
        None => "Initializing random number generator from current time".to_owned(),
    });
    lines.extend(["", "", "Initializing worker threads...", "", "Threads started!", ""].map(str::to_owned));
    lines.join("\n") + "\n"
}

pub fn interval(interval: &IntervalFigures) -> String {
    let IntervalFigures { elapsed_s, interval_s, clients, .. } = *interval;
    let rate = |count| per_second(count, interval_s);
    let queries = interval.reads + interval.writes + interval.other;
    let Percentile { percent, value_ms } = interval.percentile.unwrap_or_default();
    let value_ms = value_ms.unwrap_or(0.0);
    let mut lines = format!(
        "[ {elapsed_s:.0}s ] thds: {clients} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{percent}%): {value_ms:.2} err/s: {:.2} reconn/s: {:.2}\n",
        rate(interval.transactions),
        rate(queries),
        rate(interval.reads),
        rate(interval.writes),
        rate(interval.other),
        rate(interval.ignored_errors),
        rate(interval.reconnects),
    );
    if let Some((waiting, running)) = interval.queue {
        lines.push_str(&format!("[ {elapsed_s:.0}s ] queue length: {waiting}, concurrency: {running}\n"));
    }
    lines
}

pub fn block(figures: &Figures) -> String {
    let rated = |label, value| rated(label, value, figures.interval_s);
    [
        marks(figures),
        "SQL statistics:\n".to_owned(),
        queries(figures),
        rated("transactions:", Some(figures.transactions)),
        rated("queries:", figures.queries.map(Queries::total)),
        rated("ignored errors:", Some(figures.ignored_errors)),
        rated("reconnects:", figures.reconnects),
        "\n".to_owned(),
        remarks(figures),
        "General statistics:\n".to_owned(),
        labelled(4, "total time:", format!("{:.4}s", figures.total_s)),
        labelled(4, "total number of events:", figures.transactions),
        "\n".to_owned(),
        latency(figures),
        "\n".to_owned(),
        fairness(figures),
    ]
    .concat()
}

fn latency(figures: &Figures) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| NOT_KNOWN.to_owned(), |value| format!("{value:.2}"));
    let row = |label: &str, value: &str| format!("         {label:<22}{value:>22}\n");
    let percentile = |it: &Percentile| row(&format!("{}th percentile:", it.percent), &value(it.value_ms));
    let percentiles = match figures.percentiles.as_slice() {
        // As sysbench has it: this line alone ends four columns before the others.
        [] => "         percentile stats:               disabled\n".to_owned(),
        percentiles => percentiles.iter().map(percentile).collect(),
    };
    let latency = &figures.latency;
    [
        "Latency (ms):\n".to_owned(),
        row("min:", &value(latency.min_ms)),
        row("avg:", &value(latency.avg_ms)),
        row("max:", &value(latency.max_ms)),
        percentiles,
        row("sum:", &value(latency.sum_ms)),
    ]
    .concat()
}
