//! PostgreSQL's view of our transactions: differences of its statistics views.
//!
//! A backend reports what it did at its end at the latest, before it leaves `pg_stat_activity`; so a
//! reading waits until there is no connection to the load's database.

use std::time::Duration;

use anyhow::{Context, Result};
use driver::Admin;

use super::expected::{Line, OWN_COUNTS, POSTGRES, POSTGRES_COUNTERS, Row, print};
use super::script::{Conform, Done, load_afresh, run_client};
use super::sysbench;
use crate::held::Held;

/// In the order of [`POSTGRES_COUNTERS`].
type Reading = [f64; 7];

/// What clients did, and what the server counted meanwhile, per transaction.
struct Counted {
    done: Done,
    counters: Reading,
}

pub fn run(options: &Conform, server: &Held) -> Result<usize> {
    let mut wrong = 0;
    for (prepared, row) in POSTGRES.iter().filter(|(_, row)| row.script.title.contains(&options.only)) {
        let workload = row.script.build()?;
        let events = row.events.unwrap_or(options.events);
        let target = server.target()?;
        load_afresh(&*workload, &target)?;
        let ours = counted(server, *prepared, || run_client(&workload, &target, events).map(Some))?;
        if workload.spec().writes && row.script.sysbench.is_some() {
            load_afresh(&*workload, &target)?;
        }
        let theirs = counted(server, *prepared, || sysbench::run(server, &row.script, events))?;
        let ours = ours.context("our own client always runs")?;
        wrong += print("PostgreSQL", row.script.title, &ours.done, &lines(row, &ours, theirs.as_ref()));
    }
    Ok(wrong)
}

fn counted(server: &Held, prepared: u64, clients: impl FnOnce() -> Result<Option<Done>>) -> Result<Option<Counted>> {
    let first = reading(server)?;
    let before = reading(server)?;
    let Some(done) = clients()? else { return Ok(None) };
    let after = reading(server)?;
    let counters = std::array::from_fn(|at| {
        let by_reading = before[at] - first[at];
        // A login and every statement that is prepared are transactions of their own.
        let by_connecting = if at == XACT_COMMIT { done.connections * (1 + prepared) } else { 0 };
        (after[at] - before[at] - by_reading - by_connecting as f64) / done.transactions as f64
    });
    Ok(Some(Counted { done, counters }))
}

const XACT_COMMIT: usize = 6;

fn lines(row: &Row<7>, ours: &Counted, theirs: Option<&Counted>) -> Vec<Line> {
    let own = OWN_COUNTS.into_iter().zip(row.statements).enumerate().map(|(at, (counter, expected))| Line {
        counter,
        expected,
        ours: ours.done.statements[at],
        sysbench: theirs.map(|theirs| theirs.done.statements[at]),
    });
    let counters = POSTGRES_COUNTERS.into_iter().zip(row.counters).enumerate();
    let counters = counters.map(|(at, (counter, expected))| Line {
        counter,
        expected,
        ours: ours.counters[at],
        sysbench: theirs.map(|theirs| theirs.counters[at]),
    });
    own.chain(counters).collect()
}

fn reading(server: &Held) -> Result<Reading> {
    let mut postgres = server.admin("postgres")?;
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'sbtest'";
    while postgres.value(busy)?.as_deref() != Some("0") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let commits = numbers(&mut postgres, "SELECT xact_commit FROM pg_stat_database WHERE datname = 'sbtest'")?;
    let tables = "SELECT sum(idx_scan), sum(idx_tup_fetch), sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del), \
                  sum(n_tup_hot_upd) FROM pg_stat_user_tables";
    let tables = numbers(&mut server.admin("sbtest")?, tables)?;
    let all: Vec<f64> = tables.into_iter().chain(commits).collect();
    all.try_into().ok().context("PostgreSQL's views have lost a column")
}

fn numbers(admin: &mut Admin, sql: &str) -> Result<Vec<f64>> {
    let row = admin.rows(sql)?.into_iter().next().context("a statistics view was empty")?;
    row.into_iter().map(|cell| Ok(cell.context("a counter is NULL")?.parse()?)).collect()
}
