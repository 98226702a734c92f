//! `cargo xtask bench-load`: what our own client code costs.
//!
//! First against a connection that answers at once, which leaves workload, pacer, clocks and
//! recorder. Then the real driver by turns with the *raw-socket floor*: a loop that does nothing but
//! send one fixed request and read its answer. What lies between the two is the price of our driver
//! and load generator together; no client gets below the floor with one statement per round trip.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Target, Value};
use load::{
    Client, Clock, Exchange, Load, LoadOptions, MonotonicClock, OptionValue, Recorder, Slot, Tally, Timeline, Window,
    Workload,
};

use crate::bench::{ROWS, Spread, by_turns, done_in_release, loaded_mariadb, median, warn_if_busy, workload};
use crate::floor;

#[derive(clap::Args)]
pub struct BenchLoad {
    /// Runs of the driver and of the floor
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Connections of both, on one event loop
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=256))]
    connections: u32,
}

/// Statements in a transaction of `oltp_read_write`.
const STATEMENTS: f64 = 20.0;

pub fn run(options: &BenchLoad, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let interval = Duration::from_secs(options.seconds.into());
    let client = |_: &Slot| Ok(workloads::read_write_client(NullConnection { statements: 0 })?);
    let (tally, cpu_ns) = against_nothing(client, interval)?;
    let per_transaction = cpu_ns as f64 / tally.ended as f64;
    println!(
        "null connection, oltp_read_write: {:.0} transactions/s per core, {per_transaction:.0} ns per transaction, {:.1} ns per statement",
        1e9 / per_transaction,
        per_transaction / STATEMENTS
    );
    for form in ["rows", "batch"] {
        tpcc_against_nothing(form, interval)?;
    }
    draws_against_nothing(options, interval)?;
    scripts_against_nothing(options, interval)?;
    let server = loaded_mariadb(root)?;
    beside_the_floor(options, &server.target()?, interval)?;
    scripts_beside_built_in(options, &server.target()?, interval)?;
    server.stop()
}

/// Answers at once, as a server of infinite speed would.
struct NullConnection {
    statements: usize,
}

impl Connection for NullConnection {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        self.statements += 1;
        Ok(Statement::numbered(self.statements - 1))
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        // Without it the compiler would find the parameters unused, and not draw them.
        black_box((statement, parameters));
        Ok(Answer { rows: 1, returns_rows: true, ..Answer::default() })
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        self.execute(statement, values).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        black_box(sql);
        Ok(Answer::default())
    }
}

/// The TPC-C-derived workload, whose rows are read; making up the rows is part of the figure.
fn tpcc_against_nothing(form: &str, interval: Duration) -> Result<()> {
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        let given = [("form".to_owned(), OptionValue::Text(form.to_owned()))].into();
        let client = |_: &Slot| Ok(workloads::tpcc::client_on(&given, workloads::tpcc::NullEngine::new(dialect))?);
        let (tally, cpu_ns) = against_nothing(client, interval)?;
        let per_transaction = cpu_ns as f64 / tally.ended as f64;
        println!(
            "null engine, tpcc in form {form} on {dialect:?}: {:.0} transactions/s per core, {:.1} statements each, {:.1} ns per statement",
            1e9 / per_transaction,
            tally.queries() as f64 / tally.ended as f64,
            cpu_ns as f64 / tally.queries() as f64
        );
    }
    Ok(())
}

/// The statement of `oltp_point_select` as a script of the user's own, with the same distribution.
const POINT_SELECT: &str = "\\set id random(1, 100000)\nSELECT c FROM sbtest1 WHERE id = :id;";

fn script_options(text: &str) -> BTreeMap<String, OptionValue> {
    let file = OptionValue::File { path: "bench.sql".to_owned(), text: text.to_owned() };
    [("files".to_owned(), OptionValue::Items(vec![file]))].into()
}

fn uniform() -> BTreeMap<String, OptionValue> {
    let rows = OptionValue::Number(ROWS);
    [("rand_type".to_owned(), OptionValue::Text("uniform".to_owned())), ("rows".to_owned(), rows)].into()
}

/// What a `\set` costs: a script of many of them, and one statement that is answered at once.
fn draws_against_nothing(options: &BenchLoad, interval: Duration) -> Result<()> {
    const COMMANDS: usize = 1_000;
    for (drawn, bar_ns) in [("random(1, 1000000)", 60), ("random_zipfian(1, 1000000, 1.1)", 150)] {
        let text = format!("\\set x {drawn}\n").repeat(COMMANDS) + "SELECT 1;";
        let each_ns = |_| {
            let client =
                |slot: &Slot| Ok(script::client_on(&script_options(&text), NullConnection { statements: 0 }, slot)?);
            let (tally, cpu_ns) = against_nothing(client, interval)?;
            Ok(cpu_ns as f64 / tally.ended as f64 / COMMANDS as f64)
        };
        let each_ns = (0..options.pairs).map(each_ns).collect::<Result<Vec<f64>>>()?;
        println!("null connection, \\set to {drawn}: {:.1} ns; the bar is {bar_ns}", Spread::of(each_ns));
    }
    Ok(())
}

/// Compares a point select of a script with the built-in one, without a server: what the language costs.
fn scripts_against_nothing(options: &BenchLoad, interval: Duration) -> Result<()> {
    let each_ns = |(tally, cpu_ns): (Tally, u64)| cpu_ns as f64 / tally.ended as f64;
    let connection = || NullConnection { statements: 0 };
    let script = || {
        let client = |slot: &Slot| Ok(script::client_on(&script_options(POINT_SELECT), connection(), slot)?);
        against_nothing(client, interval).map(each_ns)
    };
    let built_in = || {
        let client = |_: &Slot| Ok(workloads::client_on("oltp_point_select", &uniform(), connection())?);
        against_nothing(client, interval).map(each_ns)
    };
    let pairs = (0..options.pairs).map(|pair| by_turns(pair, script, built_in)).collect::<Result<Vec<(f64, f64)>>>()?;
    let (script, built_in): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    println!(
        "null connection, point select: as a script {:.0} ns per transaction, built in {:.0} ns",
        median(script),
        median(built_in)
    );
    Ok(())
}

/// The same on a server: the bar is 1.1 times the client CPU of the built-in workload.
fn scripts_beside_built_in(options: &BenchLoad, target: &Target, interval: Duration) -> Result<()> {
    let built = |name: &str, given: &BTreeMap<String, OptionValue>| -> Result<Arc<dyn Workload>> {
        let kind = workloads::workload_kind(name).with_context(|| format!("{name} is no workload"))?;
        Ok(kind.with(given)?.into())
    };
    let (own, built_in) = (built("script", &script_options(POINT_SELECT))?, built("oltp_point_select", &uniform())?);
    for connections in [1, 8, options.connections] {
        let own = || us_per_query(&own, target, connections, interval);
        let built_in = || us_per_query(&built_in, target, connections, interval);
        let pairs =
            (0..options.pairs).map(|pair| by_turns(pair, own, built_in)).collect::<Result<Vec<(f64, f64)>>>()?;
        let ratios = Spread::of(pairs.iter().map(|(own, built_in)| own / built_in).collect());
        let (own, built_in): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        println!(
            "client CPU per point select, {connections} connections: as a script {:.2} us, built in {:.2} us, ratio {ratios}; the bar is 1.1",
            median(own),
            median(built_in)
        );
    }
    Ok(())
}

/// One client for `interval`; the tally, with `ended` counted here, and the CPU it took.
fn against_nothing<C: Client>(client: impl FnOnce(&Slot) -> Result<C>, interval: Duration) -> Result<(Tally, u64)> {
    let timeline = Arc::new(Timeline::default());
    // As in a trial; the windows are shorter, so that some end in an interval of two seconds.
    let exchange = Arc::new(Exchange::new(Duration::from_millis(500), interval.as_secs() as usize * 2));
    let recorder = Recorder::new(interval.as_secs() as usize, false).in_windows(exchange);
    let mut slot = Slot::alone(MonotonicClock::sleeping(), Arc::clone(&timeline), recorder);
    let mut client = client(&slot)?;
    let start_ns = slot.clock.now_ns();
    timeline.open_window(Window { start_ns, end_ns: start_ns + interval.as_nanos() as u64 });
    let before_ns = floor::thread_cpu_ns();
    match pin!(load::drive(&mut client, &mut slot)).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(ended) => ended?,
        Poll::Pending => bail!("a connection that answers at once made the client wait"),
    }
    let cpu_ns = floor::thread_cpu_ns() - before_ns;
    let mut tally = slot.recorder.take().tally;
    tally.ended = timeline.ended.load(std::sync::atomic::Ordering::Relaxed);
    ensure!(tally.ended > 0, "no transaction ended in {interval:?}");
    Ok((tally, cpu_ns))
}

fn beside_the_floor(options: &BenchLoad, target: &Target, interval: Duration) -> Result<()> {
    println!(
        "point selects over {} connections, by turns, {} pairs of {interval:?}",
        options.connections, options.pairs
    );
    let built_in = workload("oltp_point_select", ROWS)?;
    let driver = || us_per_query(&built_in, target, options.connections, interval);
    let floor = || floor::run(target, options.connections, interval).map(|floor| floor.us_per_query());
    let pairs = (0..options.pairs).map(|pair| by_turns(pair, driver, floor)).collect::<Result<Vec<(f64, f64)>>>()?;
    let ratios = Spread::of(pairs.iter().map(|(ours, raw)| ours / raw).collect());
    let (ours, raw): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    println!(
        "client CPU per query: driver {:.2} us, raw-socket floor {:.2} us, ratio {ratios}",
        median(ours),
        median(raw)
    );
    Ok(())
}

fn us_per_query(workload: &Arc<dyn Workload>, target: &Target, connections: u32, interval: Duration) -> Result<f64> {
    let options = LoadOptions {
        clients: connections,
        workers: 1,
        cpus: Vec::new(),
        input_seed: 1,
        data_seed: 1,
        interval_max: interval,
        drain_max: Duration::from_secs(10),
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let mut load = Load::prepare(workload, target, options, &interrupted)?;
    load.warm_up(Duration::from_millis(100), &mut |_| ())?;
    let tally = load.measure(Some(interval), &mut |_| (), &mut || ()).whole()?;
    let cpu_ns = tally.worker_cpu_ns.first().context("one worker has one figure")?;
    ensure!(tally.queries() > 0, "no query was answered in {interval:?}");
    Ok(*cpu_ns as f64 / 1000.0 / tally.queries() as f64)
}
