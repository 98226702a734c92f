//! Deliveries that were queued: their log against the clients' counts, and against tables and logs that are wrong.

use anyhow::{Context, Result};
use driver::Admin;
use load::{DeferredLog, Tally, Timing, Workload};

use super::after_run::Counts;
use super::corruptions::report;
use super::sheet::Sheet;

/// As places in the list of kinds.
const QUEUEING: usize = 3;
const DEFERRED: usize = 5;
/// Clause 2.7.2.1: nine in ten are done within so long.
const LIMIT_NS: i64 = 80_000_000_000;
/// Places in a line.
const WAREHOUSE: usize = 0;
const CARRIER: usize = 1;
const FIRST_DISTRICT: usize = 2;

pub fn look(tally: &Tally, sheet: &mut Sheet) {
    let (queued, lines) = (tally.kinds[QUEUEING].committed_ever as f64, tally.journal.len() as f64);
    sheet.exactly("Deliveries queued, and run", tally.kinds[DEFERRED].committed_ever as f64, queued);
    sheet.exactly("lines of their log", lines, queued);
    let delivered = tally.journal.lines().flat_map(|line| &line.numbers[FIRST_DISTRICT..]).filter(|order| **order > 0);
    sheet.exactly("orders in it", delivered.count() as f64, Counts(tally).of("delivered_orders"));
    let in_time = tally.journal.lines().filter(|line| line.ended_ns - line.queued_ns <= LIMIT_NS).count() as f64;
    sheet.within("done within 80 s, %", 100.0 * in_time / lines, 90.0, 100.0);
}

/// Changes the lines of a log.
type Spoil = fn(&mut Vec<Vec<u32>>);

/// What is done to the log, and the rules that it breaks.
const OF_THE_LOG: [(&str, Spoil, &str); 4] = [
    ("a lost line of the log", |lines| drop(lines.pop()), "E12 E13"),
    ("a line of the log twice", |lines| lines.extend(lines.last().cloned()), "E12 E13 E14"),
    ("another carrier in the log", |lines| lines[0][CARRIER] = lines[0][CARRIER] % 10 + 1, "E15"),
    ("an order in the log that was not delivered", |lines| lines[0][FIRST_DISTRICT] = 2_999, "E15"),
];

/// Spoils the log, and then the tables, in a way that only the log shows.
pub fn corrupt(workload: &dyn Workload, admin: &mut Admin, ran: &Tally, sheet: &mut Sheet) -> Result<()> {
    sheet.title(" corruptions of the log of deferred Deliveries, and the rules that they break");
    let lines: Vec<Vec<u32>> = ran.journal.lines().map(|line| line.numbers.to_vec()).collect();
    for (what, spoil, rules) in OF_THE_LOG {
        let mut spoilt = lines.clone();
        spoil(&mut spoilt);
        let ran = Tally { journal: journal(&spoilt), ..ran.clone() };
        report(what, rules, &workload.check(admin, Some(&ran))?, sheet);
    }
    let line = lines.first().context("some Delivery was deferred")?;
    let place = line[FIRST_DISTRICT..].iter().position(|order| *order > 0).context("it delivered an order")?;
    let (w, d, o) = (line[WAREHOUSE], place + 1, line[FIRST_DISTRICT + place]);
    let carrier = line[CARRIER] % 10 + 1;
    let sql = format!("UPDATE orders SET o_carrier_id = {carrier} WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {o}");
    admin.run("BEGIN")?;
    let changed = admin.run(&sql).with_context(|| format!("`{sql}` failed"))?;
    let violations = workload.check(admin, Some(ran))?;
    admin.run("ROLLBACK")?;
    report("another carrier in the tables", "E15", if changed == 1 { &violations } else { &[] }, sheet);
    Ok(())
}

fn journal(lines: &[Vec<u32>]) -> DeferredLog {
    let mut journal = DeferredLog::with_capacity(lines.first().map_or(0, Vec::len), lines.len());
    lines.iter().for_each(|numbers| journal.write(Timing { due_ns: 0, start_ns: 0, end_ns: 0 }, numbers));
    journal
}
