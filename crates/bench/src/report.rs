//! The report of `dbduel bench` about one run against one server: text for a terminal, or JSON.
//!
//! Plain figures in, text out. A single run has no pair and so gets no verdict: nothing here compares.
//! What must stay true: a run cut short is marked before any number.

mod operations;

use operations::{TABLE_STYLE, grouped};
use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use load::ProgramTally;
use serde_json::{Value, json};

use ::report::{dbt2, kinds, sysbench::wrong_answers, tpcc};
use record::format::KindRecord;
use record::format::operations::{SHORT, flagged};

/// Version of the JSON below.
const FORMAT_VERSION: u32 = 1;

/// The flag of answers that are not what the workload declares.
pub const WRONG_ANSWERS: &str = "wrong-answers";

/// Everything one run came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchReport {
    pub workload: String,
    /// Without its password.
    pub target: String,
    pub server_version: String,
    /// What the target's URL calls the server: `mysql`, `mariadb`, `postgres`, `sqlite`.
    pub kind: String,
    pub clients: u32,
    pub seed: u64,
    /// Arrivals a second; None is a closed loop.
    pub rate: Option<f64>,
    /// How the due times of statements follow from a log, where one is replayed.
    pub pacing: Option<String>,
    pub measured_s: f64,
    /// Why the run ended before its time.
    pub partial: Option<String>,
    /// Answers that are not what the workload declares: kind, expected, seen.
    pub wrong: Option<String>,
    pub flags: Vec<String>,
    /// The reason of a flag, where its name is not enough.
    pub remarks: BTreeMap<String, String>,
    /// What tables were asked for and which are there.
    pub tables: Option<String>,
    /// What a workload did that runs once through; empty for all others.
    pub programs: Vec<ProgramTally>,
    /// Named as in the JSON report of a run.
    pub metrics: BTreeMap<String, f64>,
    /// Times between due and answered, and between sent and answered.
    pub response: Times,
    pub service: Times,
    /// Least time that an arrival had waited which was never run; quantiles from there on are lower bounds.
    pub unanswered_ms: Option<f64>,
    /// By the server's code.
    pub errors: Vec<(String, u64)>,
    pub intervals: Vec<BenchInterval>,
    /// The histogram of response times, where it was asked for.
    pub histogram: Option<String>,
    /// Kinds of transactions that the workload counts apart.
    pub declared: Vec<KindRecord>,
    /// The workload's notes beside its numbers.
    pub notes: Vec<String>,
    /// Whether its clients rested as specified, so that a rate has a ceiling.
    pub paced: bool,
}

/// Percentiles in milliseconds by per cent, and what lies around them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub min_ms: f64,
    pub mean_ms: f64,
    pub max_ms: f64,
    pub percentiles: Vec<(f64, f64)>,
}

/// One line of progress, or one part between checkpoints.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchInterval {
    /// Since the start of what is counted.
    pub from_s: f64,
    pub to_s: f64,
    pub checkpoint: bool,
    pub committed: u64,
    pub queries: u64,
    pub retries: u64,
    pub failed: u64,
    pub skipped: u64,
    pub reconnects: u64,
    /// Response times of what ended in the interval.
    pub percentiles: Vec<(f64, f64)>,
    /// Age of the oldest transaction under way at the interval's end.
    pub oldest_ms: Option<f64>,
    /// Arrivals that waited at the interval's end; in an open loop.
    pub waiting: Option<u64>,
}

/// `p95`, `p999`.
pub fn percentile_name(percent: f64) -> String {
    format!("p{percent}").replace('.', "")
}

impl BenchInterval {
    fn seconds(&self) -> f64 {
        (self.to_s - self.from_s).max(f64::MIN_POSITIVE)
    }

    /// The line for a reader who waits.
    pub fn text(&self) -> String {
        let rate = |count: u64| grouped((count as f64 / self.seconds()).round());
        let times = self.percentiles.iter().map(|(percent, ms)| format!("{} {}", percentile_name(*percent), time(*ms)));
        let times = match (self.percentiles.is_empty(), self.committed + self.failed, self.oldest_ms) {
            (_, 0, Some(oldest_ms)) => format!("nothing ended; the oldest runs for {} ms", time(oldest_ms)),
            (_, 0, None) => "nothing ended, nothing under way".to_owned(),
            (true, ..) => String::new(),
            (false, ..) => format!("{} ms", times.collect::<Vec<_>>().join(", ")),
        };
        let mut parts = vec![format!("{} tps", rate(self.committed)), format!("{} qps", rate(self.queries)), times];
        let counted = [("retries", self.retries), ("failed", self.failed), ("skipped", self.skipped)];
        let counted = counted.into_iter().chain([("reconnects", self.reconnects)]).filter(|(_, count)| *count > 0);
        parts.extend(counted.map(|(name, count)| format!("{count} {name}")));
        parts.extend(self.waiting.filter(|waiting| *waiting > 0).map(|waiting| format!("{waiting} waiting")));
        parts.retain(|part| !part.is_empty());
        let kind = if self.checkpoint { "checkpoint, " } else { "" };
        format!("[{:>5.0} s] {kind}{}", self.to_s, parts.join(", "))
    }

    fn json(&self) -> Value {
        let times = self
            .percentiles
            .iter()
            .map(|(percent, ms)| (format!("latency_ms_{}", percentile_name(*percent)), json!(ms)));
        let mut object: serde_json::Map<String, Value> = times.collect();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("from_s", json!(self.from_s));
        put("to_s", json!(self.to_s));
        put("checkpoint", json!(self.checkpoint));
        put("tps", json!(self.committed as f64 / self.seconds()));
        put("qps", json!(self.queries as f64 / self.seconds()));
        put("transactions.committed", json!(self.committed));
        put("transactions.failed", json!(self.failed));
        put("transactions.skipped", json!(self.skipped));
        put("transactions.retries", json!(self.retries));
        put("reconnects", json!(self.reconnects));
        put("oldest_ms", json!(self.oldest_ms));
        put("waiting", json!(self.waiting));
        Value::Object(object)
    }
}

impl BenchReport {
    pub fn json(&self) -> Value {
        let errors: serde_json::Map<String, Value> =
            self.errors.iter().map(|(code, count)| (code.clone(), json!(count))).collect();
        let mut metrics = self.metrics.clone();
        let timed = self.programs.is_empty().then_some([("latency_ms", &self.response), ("service_ms", &self.service)]);
        for (prefix, times) in timed.into_iter().flatten() {
            let percentiles = times.percentiles.iter().map(|(percent, ms)| (percentile_name(*percent), *ms));
            let around = [("min", times.min_ms), ("avg", times.mean_ms), ("max", times.max_ms)];
            let around = around.map(|(name, ms)| (name.to_owned(), ms));
            metrics.extend(percentiles.chain(around).map(|(name, ms)| (format!("{prefix}_{name}"), ms)));
        }
        json!({
            "format_version": FORMAT_VERSION,
            "workload": self.workload,
            "target": self.target,
            "server_version": self.server_version,
            "clients": self.clients,
            "seed": self.seed,
            "rate": self.rate,
            "measured_s": self.measured_s,
            "partial": self.partial.is_some(),
            "partial_reason": self.partial,
            "lower_bounds_from_ms": self.unanswered_ms,
            "tables": self.tables,
            "flags": self.flags,
            "remarks": self.remarks,
            "errors": errors,
            "intervals": self.intervals.iter().map(BenchInterval::json).collect::<Vec<_>>(),
            // A sum of nothing is -0.0.
            "metrics": metrics.into_iter().map(|(name, value)| (name, value + 0.0)).collect::<BTreeMap<_, _>>(),
        })
    }

    /// At most so many columns wide, but for words that are longer.
    pub fn text(&self, width: usize) -> String {
        let folded = |by: usize| move |line: String| folded(&line, by, width);
        let mut lines: Vec<String> = self.title().lines().map(str::to_owned).collect();
        lines.extend(self.partial.iter().map(|why| format!("PARTIAL: {why}; the figures cover what was measured")));
        lines.extend(self.wrong.as_deref().map(wrong_answers));
        lines.extend(self.lost());
        lines = lines.into_iter().map(folded(2)).collect();
        lines.push(String::new());
        if self.programs.is_empty() {
            lines.extend(self.counts().into_iter().map(folded(NAME_WIDTH + 1)));
            lines.push(String::new());
            lines.push(self.times(width));
            lines.extend(self.types(width));
        } else {
            lines.extend(operations::lines(&self.programs, width));
        }
        // A short operation is marked in its line, and wrong answers stand on top.
        let others = self.flags.iter().filter(|flag| flagged(flag, SHORT).is_none() && *flag != WRONG_ANSWERS);
        let flag_line = |flag: &String| match self.remarks.get(flag) {
            Some(why) => format!("flag: {flag} ({why})"),
            None => format!("flag: {flag}"),
        };
        lines.extend(others.map(flag_line).map(folded(2)));
        lines.extend(self.histogram.iter().map(|histogram| format!("\n{}", histogram.trim_end())));
        lines.join("\n") + "\n"
    }

    fn title(&self) -> String {
        let BenchReport { workload, target, server_version, kind, clients, seed, measured_s, .. } = self;
        let clients = if *clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
        let pacing = match self.rate {
            _ if !self.programs.is_empty() => "one pass".to_owned(),
            None => "closed loop".to_owned(),
            Some(rate) => format!("open loop at {rate} per s"),
        };
        if let Some(pacing) = &self.pacing {
            return format!("{workload} on {target}\n{kind} {server_version}; {clients}, {measured_s:.1} s, {pacing}");
        }
        format!("{workload} on {target}\n{kind} {server_version}; {clients}, {measured_s:.1} s, {pacing}, seed {seed}")
    }

    /// What an open loop did not carry out, which a rate of answers hides.
    fn lost(&self) -> Option<String> {
        let ends = ["failed", "skipped"].map(|end| (end, self.metric(&format!("transactions.{end}"))));
        let (lost, due) = (ends.iter().map(|(_, count)| count).sum::<f64>(), self.metric("transactions.due"));
        (self.rate.is_some() && lost > 0.0).then(|| {
            let ends = ends.iter().filter(|(_, count)| *count > 0.0);
            let ends: Vec<String> = ends.map(|(end, count)| format!("{} {end}", grouped(*count))).collect();
            let (share, all) = (100.0 * lost / due.max(1.0), grouped(due));
            format!(
                "LOST: {} of the {all} transactions that were due ({share:.1} %): {}",
                grouped(lost),
                ends.join(", ")
            )
        })
    }

    fn metric(&self, name: &str) -> f64 {
        self.metrics.get(name).copied().unwrap_or(0.0)
    }

    fn counts(&self) -> Vec<String> {
        let count = |name: &str| grouped(self.metric(name));
        let ends: Vec<String> = ["rolled_back", "failed", "skipped"]
            .iter()
            .filter(|end| self.metric(&format!("transactions.{end}")) > 0.0)
            .map(|end| format!("{} {}", count(&format!("transactions.{end}")), end.replace('_', " ")))
            .collect();
        let ends = if ends.is_empty() { String::new() } else { format!("; {}", ends.join(", ")) };
        let new_orders = self.metrics.get("nopm").map(|nopm| {
            let all = [("nopm_with_rollbacks", "with rollbacks"), ("tpm", "transactions a minute of all types")];
            let all = all.map(|(name, what)| format!("{:.2} {what}", self.metric(name)));
            row("New-Orders", &format!("{nopm:.2} NOPM ({})", all.join("; ")))
        });
        let mut lines: Vec<String> = new_orders.into_iter().collect();
        lines.extend([
            row(
                "transactions",
                &format!("{:.2} tps ({} committed{ends})", self.metric("tps"), count("transactions.committed")),
            ),
            row(
                "queries",
                &format!(
                    "{:.2} qps (read {}, write {}, other {})",
                    self.metric("qps"),
                    count("queries.read"),
                    count("queries.write"),
                    count("queries.other")
                ),
            ),
        ]);
        lines.extend(self.replayed());
        if self.metric("transactions.retries") > 0.0 {
            let text = format!(
                "{} in {} transactions, {:.3} s behind their first tries",
                count("transactions.retries"),
                count("transactions.retried"),
                self.metric("retry_s")
            );
            lines.push(row("retries", &text));
        }
        if self.metric("transactions.unknown") > 0.0 {
            let text = format!("{} of the failed: the answer to their commit was lost", count("transactions.unknown"));
            lines.push(row("unknown", &text));
        }
        if self.metric("reconnects") > 0.0 {
            lines.push(row("reconnects", &count("reconnects")));
        }
        if !self.errors.is_empty() {
            let errors = self.errors.iter().map(|(code, times)| format!("{code}: {}", grouped(*times as f64)));
            lines.push(row("errors by code", &errors.collect::<Vec<_>>().join(", ")));
        }
        if let Some(above) = self.metrics.get("above_limit") {
            lines.push(row("above limit", &format!("{} transactions", grouped(*above))));
        }
        lines.extend(self.skipped());
        let cpu = self.metrics.get("client_cpu_us_per_query");
        lines.extend(cpu.map(|us| row("client CPU", &format!("{us:.1} us per query"))));
        lines.extend(self.tables.iter().map(|tables| row("tables", tables)));
        lines
    }

    /// What became of the statements of a log.
    fn replayed(&self) -> Vec<String> {
        if self.pacing.is_none() {
            return Vec::new();
        }
        let count = |name: &str| grouped(self.metric(&format!("replay.{name}")));
        let notes = self.notes.iter().map(|note| row("log", note));
        let lines = [
            row(
                "statements",
                &format!(
                    "{} answered; errors: {} that the log does not have, {} as in the log; {} of the log's errors missing",
                    count("statements"),
                    count("errors"),
                    count("errors_as_logged"),
                    count("errors_missing")
                ),
            ),
            row("left out", &format!("{} statements behind an error that ended their transaction", count("left_out"))),
            row(
                "order",
                &format!(
                    "{:.2} s of waiting, all sessions together; broken {} times",
                    self.metric("order_wait_s"),
                    count("order_broken")
                ),
            ),
        ];
        let lost = Some(count("sessions_lost")).filter(|count| count != "0");
        let lost =
            lost.map(|count| row("lost", &format!("{count} sessions lost their connection and were opened again")));
        let cancelled = Some(count("cancelled")).filter(|count| count != "0");
        let cancelled =
            cancelled.map(|count| row("cancelled", &format!("{count} statements ran longer than statement_limit")));
        notes.chain(lines).chain(lost).chain(cancelled).collect()
    }

    /// An overloaded open loop names what it left out, since a rate of answers hides it.
    fn skipped(&self) -> Option<String> {
        let (due, skipped) = (self.metric("transactions.due"), self.metric("transactions.skipped"));
        (skipped > 0.0).then(|| {
            let share = 100.0 * skipped / due.max(1.0);
            let left = self.metric("transactions.left_waiting");
            let is_limited = self.metrics.contains_key("above_limit");
            let why = if is_limited { "were later than the limit" } else { "found the queue full" };
            row(
                "skipped",
                &format!(
                    "{} of {} arrivals ({share:.1} %): {} {why}, {} still waited at the end",
                    grouped(skipped),
                    grouped(due),
                    grouped(skipped - left),
                    grouped(left)
                ),
            )
        })
    }

    /// The kinds apart, with their notes.
    fn types(&self, width: usize) -> Vec<String> {
        if self.declared.is_empty() {
            return Vec::new();
        }
        let mut table = Table::new();
        table.load_preset(TABLE_STYLE).set_header(kinds::COLUMNS.into_iter().chain([kinds::LIMIT_COLUMN]));
        table.add_rows(kinds::rows(&self.declared, &analysis::kinds(&[&self.metrics])));
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        let table = fitted(table, width).join("\n");
        let efficiency =
            self.metrics.get("nopm_per_warehouse").filter(|_| self.paced).map(|rate| tpcc::efficiency(*rate));
        [String::new(), table]
            .into_iter()
            .chain(efficiency)
            .chain(tpcc::skipped_deliveries(|name| self.metrics.get(name).copied()))
            .chain(self.notes.iter().map(|note| format!("{note}.")))
            .map(|line| if line.contains('\n') { line } else { folded(&line, 0, width) })
            .collect()
    }

    /// In DBT-2's layout.
    pub fn dbt2(&self, arithmetic: dbt2::Arithmetic, ramp_up_s: f64) -> String {
        let kinds = analysis::kinds(&[&self.metrics]);
        let partial = self.partial.iter().map(|why| format!("PARTIAL: {why}\n"));
        let figures = dbt2::Figures {
            kinds: &kinds,
            measured_s: self.measured_s,
            ramp_up_s,
            never_ran: self.metric("transactions.skipped"),
        };
        let wrong = self.wrong.iter().map(|why| wrong_answers(why) + "\n");
        let note = self.notes.first().map(|note| format!("{note}\n"));
        partial.chain(wrong).chain([dbt2::table(&figures, arithmetic)]).chain(note).collect()
    }

    /// A row for each kind of time; on a narrow terminal a column.
    fn times(&self, width: usize) -> String {
        let names = self.response.percentiles.iter().map(|(percent, _)| format!("p{percent}"));
        let header = ["ms", "min", "mean"].map(str::to_owned).into_iter().chain(names).chain(["max".to_owned()]);
        let mut rows = vec![header.collect(), times_row("response", &self.response, self.unanswered_ms)];
        let what = match self.rate {
            _ if self.pacing.is_some() => {
                rows.push(times_row("service", &self.service, None));
                "Of each statement; response time is from due, service time from sent."
            }
            None => "In this closed loop response time is service time, which hides queueing.",
            Some(_) => {
                rows.push(times_row("service", &self.service, None));
                "Response time is from due, service time from sent."
            }
        };
        let lines = table_of(&rows);
        let is_too_wide = lines.iter().any(|line| line.chars().count() > width);
        let lines = if is_too_wide { table_of(&transposed(&rows)) } else { lines };
        format!("{}\n{}", lines.join("\n"), folded(what, 0, width))
    }
}

/// Its first row is the header, and all columns but the first hold numbers.
fn table_of(rows: &[Vec<String>]) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(TABLE_STYLE).set_header(&rows[0]).add_rows(&rows[1..]);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn transposed(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column].clone()).collect()).collect()
}

/// The library's blanks left and right of a cell.
const CELL_PADDING: u16 = 2;

/// A table whose cells are broken at spaces where it is wider than this.
fn fitted(mut table: Table, width: usize) -> Vec<String> {
    if table.lines().any(|line| line.trim_end().chars().count() > width) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.try_into().unwrap_or(u16::MAX));
        // No word is broken: a name is one.
        for place in 0..table.column_count() {
            let cells = table.header().into_iter().chain(table.row_iter());
            let words = cells.filter_map(|row| row.cell_iter().nth(place)).map(Cell::content);
            let longest =
                words.flat_map(|text| text.split(' ').map(|word| word.chars().count()).collect::<Vec<_>>()).max();
            let least = longest.unwrap_or(0) as u16 + CELL_PADDING;
            if let Some(column) = table.column_mut(place) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Where the text of a [`row`] begins.
const NAME_WIDTH: usize = 15;

fn row(name: &str, text: &str) -> String {
    format!("{name:<NAME_WIDTH$} {text}")
}

/// Broken at spaces, its further lines so many columns in.
fn folded(line: &str, by: usize, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    // Blanks behind the name of a row are no place to break.
    let (name, text) = line.split_at(line.char_indices().nth(by).map_or(0, |(at, _)| at));
    let (name, text) = if name.ends_with(' ') { (name, text) } else { ("", line) };
    let lines = report::wrapped(text, width - by);
    format!("{name}{}", lines.join(&format!("\n{}", " ".repeat(by))))
}

/// Where arrivals were never run, what is no less than they had waited is a lower bound, and so is the mean.
fn times_row(name: &str, times: &Times, unanswered_ms: Option<f64>) -> Vec<String> {
    let at_least = |ms: f64| if unanswered_ms.is_some_and(|least| ms >= least) { ">=" } else { "" };
    let mean = format!("{}{}", unanswered_ms.map_or("", |_| ">="), time(times.mean_ms));
    let percentiles = times.percentiles.iter().map(|(_, ms)| *ms).chain([times.max_ms]);
    let bounded = percentiles.map(|ms| format!("{}{}", at_least(ms), time(ms)));
    [name.to_owned(), time(times.min_ms), mean].into_iter().chain(bounded).collect()
}

/// Three digits at least: `0.123`, `12.3`, `1,234`.
fn time(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.3}"),
        _ if ms < 100.0 => format!("{ms:.2}"),
        _ if ms < 1000.0 => format!("{ms:.1}"),
        _ => grouped(ms.round()),
    }
}

#[cfg(test)]
mod tests;
