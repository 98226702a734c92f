//! What a load needs of a server, from its workload, its clients and its rate.

use std::time::Duration;

use driver::{Dialect, Error, ROWS_PER_INSERT, Value};
use engine::limits::Need;
use load::{Preparing, Table, Workload};

/// Rows whose size is looked at, of each table.
const ROWS_SEEN: u64 = 20;

/// What so many clients need, at a rate or as fast as they can. `option` writes an option with its value as the user
/// does.
pub fn of_clients(
    workload: &dyn Workload,
    dialect: Dialect,
    clients: u32,
    rate: Option<f64>,
    option: &dyn Fn(&str, &str) -> String,
) -> Need {
    let background = workload.defers_work().map_or(0, |work| work.background(clients).slots);
    let sessions = u64::from(clients) + u64::from(background);
    let spec = workload.spec();
    let mut need = Need { clients: sessions, writes: spec.writes, transactions: spec.transactions, ..Need::default() };
    let preparing = workload.preparing(dialect);
    need.may_prepare = preparing != Preparing::Nothing;
    match preparing {
        Preparing::Unknown => {}
        Preparing::Nothing => need.prepared = Some(0),
        Preparing::Statements { each, option: name, instead } => {
            need.prepared = Some(each * sessions);
            let ways: Vec<String> = instead.iter().map(|value| option(name, value)).collect();
            need.unprepared = (!ways.is_empty()).then(|| ways.join(" or "));
        }
    }
    need.idle = spec.rests.max(rate.map(|rate| longest_wait(clients, rate)));
    need
}

/// Clients take arrivals in turn, so each waits for as many gaps as there are clients. Of gaps that are drawn, sums
/// beyond five standard deviations are too rare to count with.
fn longest_wait(clients: u32, rate: f64) -> Duration {
    let gaps = f64::from(clients) + 5.0 * f64::from(clients).sqrt();
    Duration::from_secs_f64((gaps / rate).min(1e9))
}

/// What it needs that the tables of a workload are made and filled.
pub fn of_tables(workload: &dyn Workload, dialect: Dialect, data_seed: u64) -> Need {
    let tables = workload.tables(dialect);
    let spec = workload.spec();
    if tables.is_empty() && spec.scratch.is_none() {
        return Need::default();
    }
    let bytes = tables.iter().enumerate().filter_map(|(at, table)| {
        let rows = table.rows.clamp(1, ROWS_PER_INSERT as u64);
        Some(rows * row_bytes(workload, data_seed, at, table.units)?)
    });
    Need {
        writes: true,
        packet_bytes: bytes.max(),
        without_key: tables.iter().filter(|table| lacks_key(table)).map(|table| table.name.clone()).collect(),
        data_bytes: workload.data_bytes(dialect),
        ..Need::default()
    }
}

/// About how long a row is as a parameter list; None where a table has none.
fn row_bytes(workload: &dyn Workload, data_seed: u64, table: usize, units: u64) -> Option<u64> {
    let (mut rows, mut bytes) = (0, 0u64);
    for unit in 0..units.min(ROWS_SEEN) {
        let mut see = |row: &[Value<'_>]| -> Result<(), Error> {
            rows += 1;
            bytes += row.iter().map(value_bytes).sum::<u64>();
            Ok(())
        };
        workload.rows(data_seed, table, unit, &mut see).ok()?;
    }
    u64::checked_div(bytes, rows)
}

/// A text has its length in front, each value its type.
fn value_bytes(value: &Value<'_>) -> u64 {
    2 + match value {
        Value::Text(text) => text.len() as u64 + 3,
        Value::Int(_) | Value::Decimal { .. } => 8,
        Value::Null => 1,
    }
}

/// As it is made: a key that is added later comes too late for a server that asks for one.
fn lacks_key(table: &Table) -> bool {
    let mut statements = table.create.iter().map(|sql| sql.to_ascii_lowercase());
    statements.any(|sql| sql.contains("create table") && !sql.contains("primary key"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use load::OptionValue;

    fn workload(name: &str, options: &[(&str, OptionValue)]) -> Box<dyn Workload> {
        let given: BTreeMap<String, OptionValue> =
            options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        workloads::workload_kind(name).unwrap().with(&given).unwrap()
    }

    fn flag(name: &str, value: &str) -> String {
        format!("--{}={value}", name.replace('_', "-"))
    }

    #[test]
    fn each_client_prepares_the_statements_of_all_tables() {
        let ten = workload("oltp_read_write", &[("tables", OptionValue::Number(10))]);
        let need = of_clients(ten.as_ref(), Dialect::MySql, 64, None, &flag);
        // Nine kinds for each table, BEGIN and COMMIT.
        assert_eq!((need.clients, need.prepared, need.writes), (64, Some(64 * 92), true));
        assert_eq!(need.unprepared.as_deref(), Some("--db-ps-mode=disable"));
        assert_eq!(need.idle, None);
        let as_text = workload("oltp_read_write", &[("db_ps_mode", OptionValue::Text("disable".to_owned()))]);
        assert_eq!(of_clients(as_text.as_ref(), Dialect::MySql, 64, None, &flag).prepared, Some(0));
        let users = workload("tpcc", &[("pacing", OptionValue::Text("spec".to_owned()))]);
        let need = of_clients(users.as_ref(), Dialect::Postgres, 10, None, &flag);
        assert!(need.prepared.is_some_and(|statements| statements > 100), "{need:?}");
        assert_eq!(need.idle, Some(Duration::from_secs(138)));
    }

    #[test]
    fn a_client_of_an_open_loop_waits_for_the_arrivals_of_all_others() {
        let reads = workload("oltp_point_select", &[]);
        let need = of_clients(reads.as_ref(), Dialect::MySql, 64, Some(2.0), &flag);
        assert!(!need.writes);
        assert_eq!(need.idle, Some(Duration::from_secs(52)));
    }

    #[test]
    fn what_is_loaded_needs_room_for_its_longest_insert() {
        let reads = workload("oltp_point_select", &[]);
        let need = of_tables(reads.as_ref(), Dialect::MySql, 1);
        assert!(need.writes && need.without_key.is_empty());
        let bytes = need.packet_bytes.unwrap();
        assert!((512 * 180..512 * 260).contains(&bytes), "{bytes}");
        let few = workload("oltp_point_select", &[("rows", OptionValue::Number(10))]);
        let bytes = of_tables(few.as_ref(), Dialect::MySql, 1).packet_bytes.unwrap();
        assert!((10 * 180..10 * 260).contains(&bytes), "{bytes}");
        let secondary = workload("oltp_point_select", &[("secondary", OptionValue::Flag(true))]);
        assert_eq!(of_tables(secondary.as_ref(), Dialect::MySql, 1).without_key, ["sbtest1"]);
    }
}
