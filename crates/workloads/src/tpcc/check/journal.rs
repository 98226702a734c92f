//! The log of deferred Deliveries, compared with the counts and the tables (clause 2.7.2 requires it in writing).
//!
//! That each order in it was delivered, once, and that it has as many orders as were counted, leaves nothing
//! out: as many as were counted stand in the tables (E6).

use std::collections::BTreeMap;

use driver::{Admin, Error};

use super::violation::{Rule, SQL, grouped, one_line, rule, violation};
use crate::sections::section;
use crate::tpcc::DEFERRED_DELIVERY;
use crate::tpcc::desk::Count;
use crate::tpcc::options::{Delivery, Tpcc};
use crate::tpcc::random::DISTRICTS;
use load::{Line, Tally};

const LINES: Rule = rule("E12", "the log has a line for each deferred Delivery that committed");
const ORDERS: Rule = rule("E13", "the log has each order that deferred Deliveries delivered");
const TWICE: Rule = rule("E14", "no order stands in the log twice");
const CARRIERS: Rule = rule("E15", "each order in the log was delivered, by the carrier that the log has");
const KEYS: &[&str] = &["w", "d", "o"];

/// An order that is delivered by a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Delivered {
    w: u32,
    d: u32,
    o: u32,
    carrier: u32,
}

/// The entries of a line, named in [`super::super::client::JOURNAL`].
fn entries(line: Line<'_>) -> impl Iterator<Item = Delivered> {
    let (w, carrier) = (line.numbers[0], line.numbers[1]);
    let orders = line.numbers[2..].iter().zip(1..).filter(|(o, _)| **o > 0);
    orders.map(move |(o, d)| Delivered { w, d, o: *o, carrier })
}

/// Where Deliveries are queued; each line is a violation. `loaded` orders of each district were delivered when the
/// tables were loaded.
pub fn violations(tpcc: &Tpcc, loaded: i64, admin: &mut Admin, ran: &Tally) -> Result<Vec<String>, Error> {
    if tpcc.delivery != Delivery::Queued {
        return Ok(Vec::new());
    }
    let mut delivered: Vec<Delivered> = ran.journal.lines().flat_map(entries).collect();
    delivered.sort_unstable();
    let mut violations = counted(ran, delivered.len() as u64);
    violations.extend(twice(&delivered));
    violations.extend(carriers(loaded, admin, &delivered)?);
    Ok(violations)
}

/// The log against the counts; what found no room in it is open.
fn counted(ran: &Tally, orders: u64) -> Vec<String> {
    let (lines, lost) = (ran.journal.len() as u64, ran.journal.lost);
    let committed = ran.kinds[DEFERRED_DELIVERY].committed_ever;
    let delivered = ran.counts_ever[Count::DeliveredOrders as usize];
    let differs = |Rule { name, text }: Rule, found: u64, expected: u64| {
        let [found, expected] = [found, expected].map(|count| grouped(count as i64));
        format!("{name} ({text}) is broken: found {found}, expected {expected}")
    };
    let mut violations = Vec::new();
    if lines + lost != committed {
        violations.push(differs(LINES, lines + lost, committed));
    }
    if !(orders..=orders + lost * DISTRICTS as u64).contains(&delivered) {
        violations.push(differs(ORDERS, orders, delivered));
    }
    violations
}

/// `delivered` is sorted.
fn twice(delivered: &[Delivered]) -> Option<String> {
    let same = delivered.chunk_by(|one, other| (one.w, one.d, one.o) == (other.w, other.d, other.o));
    let rows = same.filter(|lines| lines.len() > 1).map(|lines| row(&lines[0], format!("{} lines", lines.len())));
    broken(&TWICE, rows.collect(), "")
}

/// District by district, since an answer is held in memory.
fn carriers(loaded: i64, admin: &mut Admin, delivered: &[Delivered]) -> Result<Option<String>, Error> {
    let sql = section(SQL, "carriers", admin.dialect());
    let sql = sql.replace("{delivered}", &loaded.to_string());
    let mut rows = Vec::new();
    for district in delivered.chunk_by(|one, other| (one.w, one.d) == (other.w, other.d)) {
        let Delivered { w, d, .. } = district[0];
        let found = admin.rows(&sql.replace("{w}", &w.to_string()).replace("{d}", &d.to_string()))?;
        let mut carriers: BTreeMap<u32, u32> = BTreeMap::new();
        for row in &found {
            let number = |at: usize| row[at].as_deref().and_then(|digits| digits.parse::<u32>().ok());
            carriers.extend(number(0).zip(number(1)));
        }
        rows.extend(district.iter().filter_map(|entry| match carriers.get(&entry.o) {
            Some(carrier) if *carrier == entry.carrier => None,
            Some(carrier) => Some(row(entry, format!("carrier {carrier}, and {} in the log", entry.carrier))),
            None => Some(row(entry, "not delivered".to_owned())),
        }));
    }
    Ok(broken(&CARRIERS, rows, &sql))
}

fn row(delivered: &Delivered, what: String) -> Vec<Option<String>> {
    let Delivered { w, d, o, .. } = delivered;
    [w, d, o].map(|key| Some(key.to_string())).into_iter().chain([Some(what)]).collect()
}

fn broken(rule: &Rule, rows: Vec<Vec<Option<String>>>, sql: &str) -> Option<String> {
    let by = if sql.is_empty() { "trials/<number>/deferred.csv".to_owned() } else { one_line(sql) };
    (!rows.is_empty()).then(|| violation(rule, KEYS, 0, &rows.iter().collect::<Vec<_>>(), &by))
}
