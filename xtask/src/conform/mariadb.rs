//! MariaDB's view of our transactions: differences of its global status.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use driver::Admin;

use super::expected::{Expected, MARIADB, MARIADB_COUNTERS, Row};
use super::{Conform, Done, Line, load_afresh, print, run_client};
use crate::held::Held;

type Status = BTreeMap<String, f64>;

pub fn run(options: &Conform, server: &Held) -> Result<usize> {
    let mut admin = server.admin("sbtest")?;
    let mut wrong = 0;
    for row in MARIADB {
        let workload = row.script.build()?;
        load_afresh(&*workload, &server.target()?)?;
        // The first statement on a new table reads its statistics, once; that is no part of any script.
        run_client(&workload, &server.target()?, 1)?;
        let (idle, cost) = reading_and_its_cost(&mut admin)?;
        let done = run_client(&workload, &server.target()?, options.events)?;
        let (after, readings) = settled(&mut admin)?;
        let difference = |name: &str| after[name] - idle[name] - readings * cost.get(name).copied().unwrap_or_default();
        wrong += print("MariaDB", row.script.title, &done, &lines(row, &done, difference));
    }
    Ok(wrong)
}

fn lines(row: &Row<20>, done: &Done, difference: impl Fn(&str) -> f64) -> Vec<Line> {
    let own = ["our reads", "our writes", "our other"].into_iter().zip(row.statements).zip(done.statements);
    let own = own.map(|((counter, expected), seen)| Line { counter, expected: Expected::exactly(expected), seen });
    let counters = MARIADB_COUNTERS.into_iter().zip(row.counters);
    let counters = counters.map(|(counter, expected)| {
        let per = if counter == "Com_stmt_prepare" { done.connections } else { done.transactions };
        Line { counter, expected, seen: difference(counter) / per as f64 }
    });
    own.chain(counters).collect()
}

/// The status, and what reading it adds to itself.
fn reading_and_its_cost(admin: &mut Admin) -> Result<(Status, Status)> {
    settled(admin)?;
    let first = status(admin)?;
    let second = status(admin)?;
    let cost = second.iter().map(|(name, value)| (name.clone(), value - first.get(name).unwrap_or(value)));
    let cost = cost.collect();
    Ok((second, cost))
}

/// The status once all other connections are gone, and how often it had to be read.
fn settled(admin: &mut Admin) -> Result<(Status, f64)> {
    let mut readings = 1.0;
    loop {
        let status = status(admin)?;
        if status.get("Threads_connected") == Some(&1.0) {
            return Ok((status, readings));
        }
        readings += 1.0;
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn status(admin: &mut Admin) -> Result<Status> {
    let rows = admin.rows("SHOW GLOBAL STATUS")?;
    let numbers = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let name = cells.next()??;
        Some((name, cells.next()??.parse().ok()?))
    });
    Ok(numbers.collect())
}
