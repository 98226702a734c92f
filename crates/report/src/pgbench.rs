//! The report of pgbench 15, to the byte.
//!
//! Plain figures in, text out: nothing here measures. Rates, averages and counts come as they are; a figure that is
//! not known is `None` and shown as `-`, never as a number.

#[cfg(test)]
mod tests;

/// Everything that one run came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// The first line: which program printed this.
    pub program: String,
    pub scripts: Vec<ScriptFigures>,
    pub scale: u64,
    /// Method and number, where the accounts are partitioned.
    pub partitions: Option<(String, u64)>,
    pub query_mode: &'static str,
    pub clients: u32,
    pub threads: u32,
    /// 0 for no limit.
    pub tries_max: u32,
    pub length: Length,
    pub total: Counts,
    /// Of all scripts; without a measurement the average follows from the run's time and clients.
    pub latency: Latency,
    pub limit: Option<Limit>,
    pub lag: Option<Lag>,
    pub connections: Connections,
    pub tps: f64,
    pub show: Show,
}

/// What ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    PerClient(u64),
    Seconds(u64),
}

impl Default for Length {
    fn default() -> Length {
        Length::PerClient(10)
    }
}

/// What was asked for beside the usual lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Show {
    pub failures_by_kind: bool,
    pub commands: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub committed: u64,
    pub serialization_failures: u64,
    pub deadlock_failures: u64,
    pub retried: u64,
    pub retries: u64,
    pub skipped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Latency {
    /// Each transaction was timed. None where there was none.
    Measured(Option<Spread>),
    /// The run's time, shared out.
    Derived { average_ms: f64 },
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::Measured(None)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub average_ms: f64,
    pub stddev_ms: f64,
}

/// Transactions that took longer than they should.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    pub ms: f64,
    pub above: u64,
}

/// How late transactions of a schedule began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    pub average_ms: f64,
    pub max_ms: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Connections {
    /// All of them, before the run.
    Initial { ms: f64 },
    /// One for each transaction, on average.
    Each { average_ms: f64 },
}

impl Default for Connections {
    fn default() -> Connections {
        Connections::Initial { ms: 0.0 }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptFigures {
    /// The path as it was given, or the builtin's title.
    pub title: String,
    pub weight: u64,
    pub counts: Counts,
    pub latency: Option<Spread>,
    pub tps: f64,
    pub commands: Vec<Command>,
}

/// One command of a script: its first line, and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Command {
    pub text: String,
    pub average_ms: Option<f64>,
    pub failures: u64,
    pub retries: u64,
}

/// One line while the run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Since the start, or since 1970 with three decimals.
    pub at_s: f64,
    pub as_timestamp: bool,
    pub tps: f64,
    pub latency: Option<Spread>,
    pub failed: u64,
    pub lag_ms: Option<f64>,
    pub skipped: Option<u64>,
    /// Where a transaction may be tried more than once: how many were, and how often.
    pub retries: Option<(u64, u64)>,
}

impl Counts {
    pub fn failed(&self) -> u64 {
        self.serialization_failures + self.deadlock_failures
    }

    fn all(&self) -> u64 {
        self.committed + self.skipped + self.failed()
    }
}

/// As printf prints it: nothing of nothing is NaN.
fn percent(part: u64, of: u64, decimals: usize) -> String {
    if of == 0 { "NaN%".to_owned() } else { format!("{:.decimals$}%", 100.0 * part as f64 / of as f64) }
}

fn counted(count: u64, of: u64) -> String {
    format!("{count} ({})", percent(count, of, 3))
}

/// The report on standard output.
pub fn report(figures: &Figures) -> String {
    let mut lines = heading(figures);
    lines.extend(counts(figures, &figures.total, ""));
    if figures.total.committed + figures.total.skipped > 0 {
        lines.extend(times(figures));
        if figures.scripts.len() > 1 {
            let blocks = figures.scripts.iter().enumerate();
            lines.extend(blocks.flat_map(|(at, script)| block(figures, at, script)));
        } else if figures.show.commands {
            lines.extend(figures.scripts.iter().flat_map(|script| commands(figures, script, "")));
        }
    }
    lines.join("\n") + "\n"
}

fn heading(figures: &Figures) -> Vec<String> {
    let title = match figures.scripts.as_slice() {
        [one] => one.title.as_str(),
        _ => "multiple scripts",
    };
    let mut lines = vec![
        figures.program.clone(),
        format!("transaction type: {title}"),
        format!("scaling factor: {}", figures.scale),
    ];
    if let Some((method, count)) = &figures.partitions {
        lines.extend([format!("partition method: {method}"), format!("partitions: {count}")]);
    }
    lines.extend([
        format!("query mode: {}", figures.query_mode),
        format!("number of clients: {}", figures.clients),
        format!("number of threads: {}", figures.threads),
    ]);
    lines.extend((figures.tries_max > 0).then(|| format!("maximum number of tries: {}", figures.tries_max)));
    let processed = format!("number of transactions actually processed: {}", figures.total.committed);
    match figures.length {
        Length::PerClient(each) => {
            lines.push(format!("number of transactions per client: {each}"));
            lines.push(format!("{processed}/{}", each * u64::from(figures.clients)));
        }
        Length::Seconds(seconds) => lines.extend([format!("duration: {seconds} s"), processed]),
    }
    lines
}

/// Failures and retries, of the run or, with a prefix, of one script.
fn counts(figures: &Figures, of: &Counts, prefix: &str) -> Vec<String> {
    let all = of.all();
    let mut lines = vec![format!("{prefix}number of failed transactions: {}", counted(of.failed(), all))];
    if figures.show.failures_by_kind {
        lines.extend([
            format!("{prefix}number of serialization failures: {}", counted(of.serialization_failures, all)),
            format!("{prefix}number of deadlock failures: {}", counted(of.deadlock_failures, all)),
        ]);
    }
    if figures.tries_max != 1 {
        lines.extend([
            format!("{prefix}number of transactions retried: {}", counted(of.retried, all)),
            format!("{prefix}total number of retries: {}", of.retries),
        ]);
    }
    lines
}

fn times(figures: &Figures) -> Vec<String> {
    let total = &figures.total;
    let mut lines = Vec::new();
    if let Some(Limit { ms, above }) = figures.limit {
        let skipped = counted(total.skipped, total.all());
        lines.extend(figures.lag.map(|_| format!("number of transactions skipped: {skipped}")));
        let share = if total.committed == 0 { "0.000%".to_owned() } else { percent(above, total.committed, 3) };
        let committed = total.committed;
        lines.push(format!("number of transactions above the {ms:.1} ms latency limit: {above}/{committed} ({share})"));
    }
    match figures.latency {
        Latency::Measured(spread) => lines.extend(spread_lines("latency", spread)),
        Latency::Derived { average_ms } => {
            let note = if total.failed() > 0 { " (including failures)" } else { "" };
            lines.push(format!("latency average = {average_ms:.3} ms{note}"));
        }
    }
    lines.extend(figures.lag.map(|lag| {
        let most = lag.max_ms.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
        format!("rate limit schedule lag: avg {:.3} (max {most}) ms", lag.average_ms)
    }));
    let tps = figures.tps;
    lines.extend(match figures.connections {
        Connections::Initial { ms } => [
            format!("initial connection time = {ms:.3} ms"),
            format!("tps = {tps:.6} (without initial connection time)"),
        ],
        Connections::Each { average_ms } => [
            format!("average connection time = {average_ms:.3} ms"),
            format!("tps = {tps:.6} (including reconnection times)"),
        ],
    });
    lines
}

fn spread_lines(prefix: &str, spread: Option<Spread>) -> Vec<String> {
    let lines = spread.map(|Spread { average_ms, stddev_ms }| {
        [format!("{prefix} average = {average_ms:.3} ms"), format!("{prefix} stddev = {stddev_ms:.3} ms")]
    });
    lines.into_iter().flatten().collect()
}

fn block(figures: &Figures, at: usize, script: &ScriptFigures) -> Vec<String> {
    let weights: u64 = figures.scripts.iter().map(|one| one.weight).sum();
    let ScriptFigures { title, weight, counts: of, tps, .. } = script;
    let share = percent(of.committed, figures.total.committed, 1);
    let mut lines = vec![
        format!("SQL script {}: {title}", at + 1),
        format!(" - weight: {weight} (targets {} of total)", percent(*weight, weights, 1)),
        format!(" - {} transactions ({share} of total, tps = {tps:.6})", of.committed),
    ];
    lines.extend(counts(figures, of, " - "));
    if figures.lag.is_some() && figures.limit.is_some() && of.all() > 0 {
        lines.push(format!(" - number of transactions skipped: {}", counted(of.skipped, of.all())));
    }
    lines.extend(spread_lines(" - latency", script.latency));
    if figures.show.commands {
        lines.extend(commands(figures, script, " - "));
    }
    lines
}

fn commands(figures: &Figures, script: &ScriptFigures, prefix: &str) -> Vec<String> {
    let has_retries = figures.tries_max != 1;
    let what = if has_retries { ", failures and retries" } else { " and failures" };
    let line = |one: &Command| {
        let time = one.average_ms.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
        let retries = if has_retries { format!("  {:>10}", one.retries) } else { String::new() };
        format!("   {time:>11}  {:>10}{retries}  {}", one.failures, one.text)
    };
    let title = format!("{prefix}statement latencies in milliseconds{what}:");
    std::iter::once(title).chain(script.commands.iter().map(line)).collect()
}

/// The line on standard error.
pub fn progress(progress: &Progress) -> String {
    let Progress { at_s, tps, failed, .. } = *progress;
    let at = if progress.as_timestamp { format!("{at_s:.3} s") } else { format!("{at_s:.1} s") };
    let Spread { average_ms, stddev_ms } = progress.latency.unwrap_or(Spread { average_ms: 0.0, stddev_ms: 0.0 });
    let mut line =
        format!("progress: {at}, {tps:.1} tps, lat {average_ms:.3} ms stddev {stddev_ms:.3}, {failed} failed");
    if let Some(lag_ms) = progress.lag_ms {
        line += &format!(", lag {lag_ms:.3} ms");
        line += &progress.skipped.map_or(String::new(), |skipped| format!(", {skipped} skipped"));
    }
    let retries = |(retried, retries)| format!(", {retried} retried, {retries} retries");
    line + &progress.retries.map_or(String::new(), retries)
}
