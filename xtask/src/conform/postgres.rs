//! PostgreSQL's view of our transactions: differences of its statistics views.
//!
//! A backend reports what it did at its end at the latest, before it leaves `pg_stat_activity`; so a
//! reading waits until nobody is connected to the load's database.

use std::time::Duration;

use anyhow::{Context, Result};
use driver::Admin;

use super::expected::{Expected, POSTGRES, POSTGRES_COUNTERS};
use super::{Conform, Done, Line, load_afresh, print, run_client};
use crate::held::Held;

/// In the order of [`POSTGRES_COUNTERS`].
type Reading = [f64; 6];

pub fn run(options: &Conform, server: &Held) -> Result<usize> {
    let mut wrong = 0;
    for (prepared, row) in POSTGRES {
        let workload = row.script.build()?;
        load_afresh(&*workload, &server.target()?)?;
        let first = reading(server)?;
        let before = reading(server)?;
        let done = run_client(&workload, &server.target()?, options.events)?;
        let after = reading(server)?;
        let counters = POSTGRES_COUNTERS.into_iter().zip(row.counters).enumerate();
        let mut lines: Vec<Line> = own_counts(row.statements, &done).collect();
        lines.extend(counters.map(|(at, (counter, expected))| {
            let by_reading = before[at] - first[at];
            // A login and every statement that is prepared are transactions of their own.
            let by_connecting = if counter == "xact_commit" { done.connections * (1 + prepared) } else { 0 };
            let seen = after[at] - before[at] - by_reading - by_connecting as f64;
            Line { counter, expected, seen: seen / done.transactions as f64 }
        }));
        wrong += print("PostgreSQL", row.script.title, &done, &lines);
    }
    Ok(wrong)
}

fn own_counts(expected: [f64; 3], done: &Done) -> impl Iterator<Item = Line> {
    let names = ["our reads", "our writes", "our other"].into_iter();
    let both = names.zip(expected).zip(done.statements);
    both.map(|((counter, expected), seen)| Line { counter, expected: Expected::exactly(expected), seen })
}

fn reading(server: &Held) -> Result<Reading> {
    let mut postgres = server.admin("postgres")?;
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'sbtest'";
    while postgres.value(busy)?.as_deref() != Some("0") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let commits = numbers(&mut postgres, "SELECT xact_commit FROM pg_stat_database WHERE datname = 'sbtest'")?;
    let tables = "SELECT sum(idx_scan), sum(idx_tup_fetch), sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del) \
                  FROM pg_stat_user_tables";
    let tables = numbers(&mut server.admin("sbtest")?, tables)?;
    let all: Vec<f64> = tables.into_iter().chain(commits).collect();
    all.try_into().ok().context("PostgreSQL's views have lost a column")
}

fn numbers(admin: &mut Admin, sql: &str) -> Result<Vec<f64>> {
    let row = admin.rows(sql)?.into_iter().next().context("a statistics view was empty")?;
    row.into_iter().map(|cell| Ok(cell.context("a counter is NULL")?.parse()?)).collect()
}
