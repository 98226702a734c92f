//! MariaDB's view of our transactions: differences of its global status.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use driver::Admin;
use load::Workload;

use super::expected::{Line, MARIADB, MARIADB_COUNTERS, OWN_COUNTS, Row, print};
use super::script::{Conform, Done, load_afresh, run_client};
use super::sysbench;
use crate::held::Held;

type Status = BTreeMap<String, f64>;

pub fn run(options: &Conform, server: &Held) -> Result<usize> {
    let mut admin = server.admin("sbtest")?;
    let mut wrong = 0;
    for row in MARIADB.iter().filter(|row| row.script.title.contains(&options.only)) {
        let workload = row.script.build()?;
        let events = row.events.unwrap_or(options.events);
        let target = server.target()?;
        load_afresh(&*workload, &target)?;
        let ours = counted(&mut admin, &*workload, || run_client(&workload, &target, events).map(Some))?;
        if workload.spec().writes && row.script.sysbench.is_some() {
            load_afresh(&*workload, &target)?;
        }
        let theirs = counted(&mut admin, &*workload, || sysbench::run(server, &row.script, events))?;
        let ours = ours.context("our own client always runs")?;
        wrong += print("MariaDB", row.script.title, &ours.done, &lines(row, &ours, theirs.as_ref()));
    }
    Ok(wrong)
}

/// What clients did, and what the server counted meanwhile.
struct Counted {
    done: Done,
    status: Status,
}

impl Counted {
    /// A client takes leave of the server, which counts that as a question.
    fn without_farewell(mut self) -> Counted {
        *self.status.entry("Questions".to_owned()).or_default() -= self.done.connections as f64;
        self
    }

    fn per_transaction(&self, counter: &str) -> f64 {
        let per = if counter == "Com_stmt_prepare" { self.done.connections } else { self.done.transactions };
        self.status[counter] / per as f64
    }
}

fn counted(
    admin: &mut Admin,
    workload: &dyn Workload,
    clients: impl FnOnce() -> Result<Option<Done>>,
) -> Result<Option<Counted>> {
    // The first statement on a new table reads its statistics, once; that is no part of any script.
    for table in workload.tables(admin.dialect()) {
        admin.rows(&format!("SELECT c FROM {} WHERE id BETWEEN 1 AND 10 AND k > 0", table.name))?;
    }
    let (idle, cost) = reading_and_its_cost(admin)?;
    let Some(done) = clients()? else { return Ok(None) };
    let (after, readings) = settled(admin)?;
    let difference = |(name, value): (&String, &f64)| {
        let by_reading = readings * cost.get(name).copied().unwrap_or_default();
        (name.clone(), value - idle.get(name).unwrap_or(value) - by_reading)
    };
    Ok(Some(Counted { done, status: after.iter().map(difference).collect() }.without_farewell()))
}

fn lines(row: &Row<20>, ours: &Counted, theirs: Option<&Counted>) -> Vec<Line> {
    let own = OWN_COUNTS.into_iter().zip(row.statements).enumerate().map(|(at, (counter, expected))| Line {
        counter,
        expected,
        ours: ours.done.statements[at],
        sysbench: theirs.map(|theirs| theirs.done.statements[at]),
    });
    let counters = MARIADB_COUNTERS.into_iter().zip(row.counters).map(|(counter, expected)| Line {
        counter,
        expected,
        ours: ours.per_transaction(counter),
        sysbench: theirs.map(|theirs| theirs.per_transaction(counter)),
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

pub fn status(admin: &mut Admin) -> Result<Status> {
    let rows = admin.rows("SHOW GLOBAL STATUS")?;
    let numbers = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let name = cells.next()??;
        Some((name, cells.next()??.parse().ok()?))
    });
    Ok(numbers.collect())
}
