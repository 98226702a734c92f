//! What sysbench prints of a run or of an interval, and the lines that both layouts share.

/// What one run, or one part of it between checkpoints, came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    pub queries: Option<Queries>,
    /// Events that ended well.
    pub transactions: u64,
    /// Attempts that were made again; 0.4 calls them deadlocks.
    pub ignored_errors: u64,
    pub reconnects: Option<u64>,
    /// Time since the start or the last checkpoint: what rates are divided by.
    pub interval_s: f64,
    /// Time since the start.
    pub total_s: f64,
    pub latency: Latency,
    /// Empty leaves percentiles out on request.
    pub percentiles: Vec<Percentile>,
    pub fairness: Option<Fairness>,
    /// Transactions that a forced shutdown cut off.
    pub unfinished: Option<u64>,
    /// Arrivals of an open loop that found the queue full.
    pub skipped: u64,
    /// Arrivals that still waited for a client at the end.
    pub left_waiting: u64,
    /// Why the run ended before its time.
    pub partial: Option<String>,
    /// Answers that are not what the workload declares: kind, expected, seen.
    pub wrong: Option<String>,
}

/// Statements by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queries {
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
}

impl Queries {
    pub fn total(self) -> u64 {
        self.reads + self.writes + self.other
    }
}

/// Exact values over all events, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    pub min_ms: Option<f64>,
    pub avg_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub sum_ms: Option<f64>,
}

/// One percentile; its value by the rule of [`Buckets`], where it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentile {
    pub percent: f64,
    pub value_ms: Option<f64>,
}

/// How evenly the clients were served: mean and population standard deviation over them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fairness {
    pub events_mean: f64,
    pub events_deviation: f64,
    pub busy_s_mean: f64,
    pub busy_s_deviation: f64,
}

impl Fairness {
    /// From each client's number of events and the time it was busy with them.
    pub fn over(clients: &[(u64, f64)]) -> Fairness {
        let (events, busy_s): (Vec<f64>, Vec<f64>) =
            clients.iter().map(|(events, busy_s)| (*events as f64, *busy_s)).unzip();
        let of = |value: Option<f64>| value.unwrap_or(0.0);
        Fairness {
            events_mean: of(stats::mean(&events)),
            events_deviation: of(stats::population_sd(&events)),
            busy_s_mean: of(stats::mean(&busy_s)),
            busy_s_deviation: of(stats::population_sd(&busy_s)),
        }
    }
}

/// What stands in one line while the run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IntervalFigures {
    /// Since the start.
    pub elapsed_s: f64,
    /// Real length of the interval.
    pub interval_s: f64,
    pub clients: u32,
    pub transactions: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub ignored_errors: u64,
    pub reconnects: u64,
    /// Of this interval only. In one that nothing ended in, the age of the oldest running transaction.
    pub percentile: Option<Percentile>,
    /// In an open loop: arrivals that wait, and transactions that run.
    pub queue: Option<(u64, u64)>,
}

/// What stands above a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heading {
    pub version: String,
    pub clients: u32,
    pub rate: Option<u64>,
    pub report_interval_s: Option<u64>,
    pub checkpoints_s: Vec<u64>,
    pub seed: Option<u64>,
    /// What 0.4 says about the test: its mode, distribution and limits, a line each.
    pub about: Vec<String>,
}

pub(super) const NOT_KNOWN: &str = "not stored";

/// One of the counts of statements.
type CountOf = fn(Queries) -> u64;

/// A label with its value from column 42 on, which sysbench counts from 1.
pub(super) fn labelled(indent: usize, label: &str, value: impl std::fmt::Display) -> String {
    format!("{:indent$}{label:<width$}{value}\n", "", width = 41 - indent)
}

/// A count with its rate behind it.
pub(super) fn rated(label: &str, value: Option<u64>, interval_s: f64) -> String {
    let Some(value) = value else { return labelled(4, label, NOT_KNOWN) };
    labelled(4, label, format!("{value:<6} ({:.2} per sec.)", per_second(value, interval_s)))
}

pub(super) fn per_second(count: u64, interval_s: f64) -> f64 {
    if interval_s > 0.0 { count as f64 / interval_s } else { 0.0 }
}

/// The block that both layouts begin with.
pub(super) fn queries(figures: &Figures) -> String {
    let kinds: [(&str, CountOf); 4] = [
        ("read:", |queries| queries.reads),
        ("write:", |queries| queries.writes),
        ("other:", |queries| queries.other),
        ("total:", Queries::total),
    ];
    let count = |of: CountOf| figures.queries.map_or(NOT_KNOWN.to_owned(), |it| of(it).to_string());
    let rows = kinds.into_iter().map(|(label, of)| labelled(8, label, count(of)));
    "    queries performed:\n".to_owned() + &rows.collect::<String>()
}

/// What sysbench has no line for, but for the first: nothing in most runs.
pub(super) fn remarks(figures: &Figures) -> String {
    let line = |what: &str, count: u64| format!("Number of {what}: {count}\n\n");
    let unfinished = figures.unfinished.map(|count| line("unfinished transactions on forced shutdown", count));
    let counted = [("skipped arrivals (queue full)", figures.skipped), ("arrivals left waiting", figures.left_waiting)];
    let counted = counted.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| line(what, count));
    // The columns have no room for a sign.
    let bounds = (figures.skipped + figures.left_waiting > 0).then(|| {
        "Average, percentiles and maximum of latency are lower bounds: these arrivals waited longer\n\n".to_owned()
    });
    unfinished.into_iter().chain(counted).chain(bounds).collect()
}

/// The marks of a run that ended before its time or was answered wrongly, above its block.
pub(super) fn marks(figures: &Figures) -> String {
    let partial = figures.partial.iter().map(|why| format!("PARTIAL: {why}\n"));
    partial.chain(figures.wrong.iter().map(|why| wrong_answers(why) + "\n")).collect()
}

/// The last block, the same in both layouts.
pub(super) fn fairness(figures: &Figures) -> String {
    let text = |mean: f64, deviation: f64| format!("{mean:.4}/{deviation:.2}");
    let (events, busy) = figures.fairness.map_or_else(
        || (NOT_KNOWN.to_owned(), NOT_KNOWN.to_owned()),
        |fair| (text(fair.events_mean, fair.events_deviation), text(fair.busy_s_mean, fair.busy_s_deviation)),
    );
    format!(
        "Threads fairness:\n    events (avg/stddev):           {events}\n    execution time (avg/stddev):   {busy}\n\n"
    )
}

/// The mark of a run whose answers are not what its workload declares, above its figures.
pub fn wrong_answers(why: &str) -> String {
    format!("WRONG ANSWERS: {why}; the figures are no result of this workload")
}
