//! One stream: its queries in their order, each timed from sent to its last row, and new orders around them where the
//! user asks for them.
//!
//! What an answer is compared with, and whatever a session needs anew behind a limit, is outside the time of a query.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use driver::{AnyConnection, Connection, Dialect, Error, Rows};
use load::{Clock, Fatal, Gauge, OperationTally, Outcome, ProgramTally, Slot, monotonic_ns, thread_cpu_ns};

use super::options::{STREAMS_MAX, Tpch};
use super::queries::{Query, of_stream};
use super::refresh::{NewOrders, RF1, RF2};
use super::watch::Watch;

/// Places in the list of what a pass goes through.
const WARM_UP: usize = 0;
const MEASURED: usize = 1;

/// `PGSTAT_STAT_INTERVAL` of PostgreSQL before 15.
const OLD_COUNTS_NS: u64 = 510_000_000;

pub const PARTS: [&str; 2] = ["warm-up", "queries"];

/// A query with the values of its stream.
struct Asked {
    query: &'static Query,
    sql: String,
    /// The same for all dialects.
    question: String,
}

/// How a statement ended, and what it took.
struct Ran {
    outcome: Came,
    wall_ns: u64,
    client_cpu_ns: u64,
    gauged: Option<u64>,
}

impl Ran {
    fn is_answered(&self) -> bool {
        matches!(self.outcome, Came::Answered)
    }
}

enum Came {
    Answered,
    AtTheLimit,
    Refused(String),
}

struct Stream<'a> {
    tpch: &'a Tpch,
    slot: &'a Slot,
    connection: AnyConnection,
    dialect: Dialect,
    watch: Watch,
    rows: Rows,
    statements: u64,
}

pub async fn run(tpch: &Tpch, slot: &Slot, connection: AnyConnection, orders: Option<NewOrders>) -> Result<(), Fatal> {
    let watch = Watch::start().map_err(|error| Fatal::new(format!("no thread for the statement limit: {error}")))?;
    let dialect = connection.dialect();
    let mut stream = Stream { tpch, slot, connection, dialect, watch, rows: Rows::default(), statements: 0 };
    // A power run is stream 0, and those of a throughput run begin with 1.
    let number = if tpch.streams == 0 { 0 } else { slot.client + 1 };
    let asked: Vec<Asked> = of_stream(&tpch.queries, number)
        .into_iter()
        .map(|query| {
            let values = query.values(tpch.parameters, tpch.scale_factor, slot.input_seed, number);
            let sql = query.sql(dialect, &values);
            Asked { query, sql, question: format!("{} {values:?} {}", query.name, orders.is_some()) }
        })
        .collect();
    let begun_ns = monotonic_ns();
    let mut tally = ProgramTally { name: program_name(number), wall_ns: 0, operations: Vec::new() };
    let ended = stream.all(&asked, orders.as_ref(), &mut tally).await;
    slot.timeline.ended.fetch_add(1, Ordering::Relaxed);
    let outcome = if ended.is_ok() { Outcome::Committed } else { Outcome::Failed };
    slot.recorder.borrow_mut().pass(outcome, vec![tally], stream.statements, monotonic_ns() - begun_ns);
    ended
}

impl Stream<'_> {
    async fn all(
        &mut self,
        asked: &[Asked],
        orders: Option<&NewOrders>,
        tally: &mut ProgramTally,
    ) -> Result<(), Fatal> {
        self.begin(WARM_UP);
        if let Some(orders) = orders {
            // What a run has left that was cut off.
            self.transactions(orders.removing()).await?;
        }
        for one in asked.iter().filter(|_| self.tpch.warm) {
            self.statement(&one.sql).await?;
        }
        if self.tpch.warm && self.slot.timeline.warms_up() {
            self.hand_in_counts().await?;
            self.slot.begin_interval().await;
            self.statements = 0;
        }
        self.begin(MEASURED);
        let begun_ns = monotonic_ns();
        if let Some(orders) = orders {
            tally.operations.push(self.refresh(RF1, orders.adding()).await?);
        }
        for one in asked {
            tally.operations.push(self.query(one).await?);
        }
        if let Some(orders) = orders {
            tally.operations.push(self.refresh(RF2, orders.removing()).await?);
        }
        tally.wall_ns = monotonic_ns() - begun_ns;
        Ok(())
    }

    fn begin(&self, part: usize) {
        self.slot.timeline.part.store(part, Ordering::Relaxed);
    }

    /// A session of PostgreSQL adds what it has counted at the end of a statement, at most once a second. Before 15, which
    /// cannot be asked to, it does so every half, and whoever reads may get figures that are as old.
    async fn hand_in_counts(&mut self) -> Result<(), Fatal> {
        if self.dialect != Dialect::Postgres || self.statement("SELECT pg_stat_force_next_flush()").await?.is_answered()
        {
            return Ok(());
        }
        for _ in 0..2 {
            self.slot.clock.wait_until(monotonic_ns() + OLD_COUNTS_NS).await;
            self.statement("SELECT 1").await?;
        }
        Ok(())
    }

    async fn query(&mut self, one: &Asked) -> Result<OperationTally, Fatal> {
        let ran = self.statement(&one.sql).await?;
        let mut tally = operation(one.query.name, &ran);
        match ran.outcome {
            Came::Answered => {
                let shape = one.query.shape();
                let rows: Vec<String> =
                    (0..self.rows.len()).map(|row| shape.text(self.dialect, &self.rows, row)).collect();
                let answer = shape.answer(&rows);
                tally.rows = answer.rows;
                tally.wrong = self.tpch.known.compare(&one.question, answer);
            }
            Came::AtTheLimit => {
                tally.wall_ns = self.tpch.statement_limit.as_nanos() as u64;
                tally.limited = Some(not_within(self.tpch.statement_limit));
            }
            Came::Refused(why) => tally.refused = Some(why),
        }
        Ok(tally)
    }

    async fn refresh(&mut self, name: &'static str, transactions: &[Vec<String>]) -> Result<OperationTally, Fatal> {
        let (mark, statements) = (self.mark(), self.statements);
        let outcome = self.transactions(transactions).await?;
        let ran = self.since(mark, outcome);
        let mut tally = operation(name, &ran);
        tally.count = transactions.len() as u64;
        tally.executed = self.statements - statements;
        if let Came::Refused(why) = ran.outcome {
            tally.refused = Some(why);
        }
        Ok(tally)
    }

    /// One after the other; the first that is refused ends them.
    async fn transactions(&mut self, transactions: &[Vec<String>]) -> Result<Came, Fatal> {
        for sql in transactions.iter().flatten() {
            self.statements += 1;
            match self.connection.query(sql).await {
                Ok(_) => {}
                Err(error @ (Error::Lost { .. } | Error::Protocol(_))) => return Err(error.into()),
                Err(error) => return Ok(Came::Refused(error.to_string())),
            }
        }
        Ok(Came::Answered)
    }

    /// Runs a query under the limit; its rows are there afterwards.
    async fn statement(&mut self, sql: &str) -> Result<Ran, Fatal> {
        self.rows.clear();
        self.statements += 1;
        self.watch.arm(self.connection.closer(), self.tpch.statement_limit);
        let mark = self.mark();
        let answered = self.connection.query_into(sql, &mut self.rows).await;
        let mut ran = self.since(mark, Came::Answered);
        let at_the_limit = self.watch.disarm();
        ran.outcome = match answered {
            // Its connection is closed, whatever came first.
            answered if at_the_limit => {
                let connection = self.slot.dial.as_ref().map(|dial| dial.connect());
                self.connection = connection
                    .ok_or_else(|| Fatal::new("a query took longer than the statement limit"))?
                    .map_err(Fatal::from)?;
                if answered.is_ok() { Came::Answered } else { Came::AtTheLimit }
            }
            Ok(_) => Came::Answered,
            Err(error @ (Error::Lost { .. } | Error::Protocol(_))) => return Err(error.into()),
            Err(error) => Came::Refused(error.to_string()),
        };
        Ok(ran)
    }

    /// Beside other streams, neither the thread's CPU time nor the server's is that of one of them.
    fn gauge(&self) -> Option<&Gauge> {
        self.slot.gauge.as_ref().filter(|_| self.tpch.streams == 0)
    }

    fn mark(&self) -> (Option<u64>, u64, u64) {
        let gauged = self.gauge().and_then(Gauge::read);
        (gauged, thread_cpu_ns(), monotonic_ns())
    }

    fn since(&self, (gauged, cpu_ns, wall_ns): (Option<u64>, u64, u64), outcome: Came) -> Ran {
        let wall_ns = monotonic_ns() - wall_ns;
        let cpu_ns = thread_cpu_ns() - cpu_ns;
        let read = self.gauge().and_then(Gauge::read);
        let gauged = gauged.zip(read).map(|(from, to)| to.saturating_sub(from));
        // An embedded engine has a thread for each stream.
        let is_alone = self.tpch.streams == 0 || self.dialect.is_embedded();
        Ran { outcome, wall_ns, client_cpu_ns: if is_alone { cpu_ns } else { 0 }, gauged }
    }
}

fn operation(name: &'static str, ran: &Ran) -> OperationTally {
    OperationTally {
        name,
        count: 1,
        executed: 1,
        wall_ns: ran.wall_ns,
        timed_ns: ran.wall_ns,
        client_cpu_ns: ran.client_cpu_ns,
        gauged: ran.gauged,
        passes: 1,
        whole: true,
        ..OperationTally::default()
    }
}

fn not_within(limit: Duration) -> String {
    format!("not within {} s", limit.as_secs_f64())
}

/// `power`, `stream 1` …
fn program_name(stream: u32) -> &'static str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let name = |stream: u32| if stream == 0 { "power".to_owned() } else { format!("stream {stream}") };
    let names = NAMES.get_or_init(|| (0..=STREAMS_MAX as u32).map(name).collect());
    &names[stream as usize]
}

/// About how long a pass takes: an order of magnitude.
pub fn guess(tpch: &Tpch) -> Duration {
    const SECONDS_AT_ONE: f64 = 3.0;
    let passes = if tpch.warm { 2.0 } else { 1.0 };
    let seconds = SECONDS_AT_ONE * tpch.scale_factor * tpch.queries.len() as f64 * f64::from(tpch.clients());
    Duration::from_secs_f64(passes * seconds.max(0.2))
}
