//! `bulk_insert`: how many rows share a statement, ours beside sysbench's.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use driver::Admin;
use load::{OptionValue, Options, Workload};

use super::mariadb::status;
use super::script::{load_afresh, run_clients};
use super::sysbench;
use crate::held::Held;

const EVENTS: u64 = 200_000;
const CLIENTS: u32 = 2;

/// The published figure is 7 statements; it is 6 when both clients insert about as many rows.
pub fn run(server: &Held) -> Result<usize> {
    let kind = workloads::workload_kind("bulk_insert").context("there is a bulk_insert")?;
    let given = BTreeMap::from([("tables".to_owned(), OptionValue::Number(i64::from(CLIENTS)))]);
    let workload: Arc<dyn Workload> = (kind.build)(&Options::new(kind.options, &given)?)?.into();
    let mut admin = server.admin("sbtest")?;
    let target = server.target()?;
    load_afresh(&*workload, &target)?;
    let mut wrong = count("dbduel", &mut admin, &*workload, || {
        run_clients(&workload, &target, CLIENTS, EVENTS).map(|tally| tally.writes)
    })?;
    if sysbench::is_here() {
        load_afresh(&*workload, &target)?;
        wrong += count("sysbench", &mut admin, &*workload, || {
            let done = sysbench::run_with(server, "bulk_insert", &[], CLIENTS, EVENTS)?;
            Ok((done.statements[1] * done.transactions as f64).round() as u64)
        })?;
    }
    Ok(wrong)
}

/// Prints what one program's clients did, and returns whether it is wrong.
fn count(
    who: &str,
    admin: &mut Admin,
    workload: &dyn Workload,
    clients: impl FnOnce() -> Result<u64>,
) -> Result<usize> {
    let before = status(admin)?["Com_insert"];
    let counted = clients()?;
    let sent = (status(admin)?["Com_insert"] - before) as u64;
    let mut rows = Vec::new();
    for table in workload.tables(admin.dialect()) {
        let found = admin.value(&format!("SELECT COUNT(*) FROM {}", table.name))?;
        rows.push(found.context("a count is a number")?.parse::<u64>()?);
    }
    let expected: u64 = rows.iter().map(|rows| statements_for(*rows)).sum();
    let violations = workload.check(admin, None)?;
    let right = sent == expected && counted == expected && violations.is_empty() && rows.iter().sum::<u64>() >= EVENTS;
    let verdict = if right { "ok" } else { "WRONG" };
    println!(
        "bulk_insert by {who}: {rows:?} rows in {sent} statements, expected {expected}, counted {counted}  {verdict}"
    );
    violations.iter().for_each(|violation| println!("  {violation}"));
    Ok(usize::from(!right))
}

/// Rows (i,i) with commas between them, in statements of at most 512 KiB with the byte behind them.
fn statements_for(rows: u64) -> u64 {
    let head = "INSERT INTO sbtest1 VALUES".len();
    let (mut statements, mut length) = (0, usize::MAX);
    for row in 1..=rows {
        let bytes = format!("({row},{row})").len();
        length = match length.checked_add(1 + bytes) {
            Some(length) if length < 512 << 10 => length,
            _ => {
                statements += 1;
                head + bytes
            }
        };
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_run_needs_seven_statements() {
        // As sysbench divided 200,000 rows between two threads when it sent seven.
        assert_eq!(statements_for(112_187) + statements_for(87_813), 7);
        assert_eq!(statements_for(1), 1);
        assert_eq!(statements_for(0), 0);
    }
}
