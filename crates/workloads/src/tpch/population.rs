//! The rows of each table (clause 4.2.3), as the specification's own generator makes them: by the crate `tpchgen`, whose
//! rows are those of dbgen to the byte. They depend on the scale factor alone.
//!
//! A unit is about a thousand rows, made from its number by jumping ahead in the generator's streams, so that any number
//! of sessions load side by side and no file is written.

use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex, PoisonError};

use driver::{Error, RowSink, Value};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

use super::relation::{Kind, Relation};

/// About as many rows are made together; lines of an order count as one.
const UNIT_ROWS: u64 = 1000;
const SUPPLIERS_OF_A_PART: u64 = 4;
/// Lines of an order on average.
const LINES: u64 = 4;
const COLUMNS_MAX: usize = 16;
/// Raise it when the same scale factor gives other rows.
const FORMAT_VERSION: u32 = 1;

/// What the tables depend on.
pub fn data_key(scale_factor: f64) -> String {
    format!("tpch format={FORMAT_VERSION} scale_factor={scale_factor}")
}

/// Rows that the generator counts by, and all rows: exact but for lines, of which there are one to seven an order.
fn counts(scale_factor: f64, relation: Relation) -> (u64, u64) {
    let (counted, times) = match relation {
        Relation::LineItem => (OrderGenerator::calculate_row_count(scale_factor, 1, 1), LINES),
        Relation::Orders => (OrderGenerator::calculate_row_count(scale_factor, 1, 1), 1),
        Relation::PartSupp => (PartGenerator::calculate_row_count(scale_factor, 1, 1), SUPPLIERS_OF_A_PART),
        Relation::Part => (PartGenerator::calculate_row_count(scale_factor, 1, 1), 1),
        Relation::Customer => (CustomerGenerator::calculate_row_count(scale_factor, 1, 1), 1),
        Relation::Supplier => (SupplierGenerator::calculate_row_count(scale_factor, 1, 1), 1),
        Relation::Nation => (25, 1),
        Relation::Region => (5, 1),
    };
    (counted as u64, counted as u64 * times)
}

/// Units and rows.
pub fn size(scale_factor: f64, relation: Relation) -> (u64, u64) {
    let (counted, rows) = counts(scale_factor, relation);
    let is_whole = matches!(relation, Relation::Nation | Relation::Region);
    (if is_whole { 1 } else { (counted / UNIT_ROWS).max(1) }, rows)
}

/// The exact number of rows.
pub fn rows_of(scale_factor: f64, relation: Relation) -> u64 {
    let (orders, rows) = counts(scale_factor, relation);
    if relation != Relation::LineItem {
        return rows;
    }
    let mut lines = OrderGenerator::create_line_count_random();
    let next = |_| {
        let count = lines.next_value();
        lines.row_finished();
        count as u64
    };
    (0..orders).map(next).sum()
}

pub fn rows(scale_factor: f64, relation: Relation, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let (units, _) = size(scale_factor, relation);
    let too_many = |_| Error::Protocol(format!("scale factor {scale_factor} has more parts than dbduel can count"));
    let (part, parts) = (i32::try_from(unit + 1).map_err(too_many)?, i32::try_from(units).map_err(too_many)?);
    let (words, pool) = (Distributions::static_default(), &*pool());
    macro_rules! of {
        ($generator:ident) => {
            $generator::new_with_distributions_and_text_pool(scale_factor, part, parts, words, pool).iter()
        };
    }
    match relation {
        Relation::LineItem => give(of!(LineItemGenerator), relation, sink),
        Relation::Orders => give(of!(OrderGenerator), relation, sink),
        Relation::PartSupp => {
            give(PartSuppGenerator::new_with_text_pool(scale_factor, part, parts, pool).iter(), relation, sink)
        }
        Relation::Part => give(of!(PartGenerator), relation, sink),
        Relation::Customer => give(of!(CustomerGenerator), relation, sink),
        Relation::Supplier => give(of!(SupplierGenerator), relation, sink),
        Relation::Nation => {
            give(NationGenerator::new_with_distributions_and_text_pool(words, pool).iter(), relation, sink)
        }
        Relation::Region => {
            give(RegionGenerator::new_with_distributions_and_text_pool(words, pool).iter(), relation, sink)
        }
    }
}

/// Orders by their numbers from 0, each with its lines, as the generator makes them: values as text, in the order of
/// the columns.
pub fn orders_with_lines(scale_factor: f64, numbers: std::ops::Range<u64>) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let (orders, _) = counts(scale_factor, Relation::Orders);
    // A part of its own for each order jumps right to it.
    let (Ok(parts), pool) = (i32::try_from(orders), &*pool()) else { return Vec::new() };
    let words = Distributions::static_default();
    let values = |row: String| row.trim_end_matches('|').split('|').map(str::to_owned).collect::<Vec<String>>();
    let one = |number: u64| {
        let part = number as i32 + 1;
        let order = OrderGenerator::new_with_distributions_and_text_pool(scale_factor, part, parts, words, pool);
        let lines = LineItemGenerator::new_with_distributions_and_text_pool(scale_factor, part, parts, words, pool);
        let order = order.iter().next()?.to_string();
        Some((values(order), lines.iter().map(|line| values(line.to_string())).collect()))
    };
    numbers.filter(|number| *number < orders).filter_map(one).collect()
}

/// Hands each row to the sink, its values in the order of the columns, which is the generator's.
fn give(rows: impl Iterator<Item = impl Display>, relation: Relation, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let (columns, mut text) = (relation.columns(), String::new());
    for row in rows {
        text.clear();
        // A text takes whatever is written.
        let _ = write!(text, "{row}");
        let mut values = [Value::Null; COLUMNS_MAX];
        for ((place, value), (_, kind)) in values.iter_mut().zip(text.split('|')).zip(&columns) {
            *place = as_value(value, *kind)?;
        }
        sink(&values[..columns.len()])?;
    }
    Ok(())
}

fn as_value(text: &str, kind: Kind) -> Result<Value<'_>, Error> {
    let broken = || Error::Protocol(format!("the generator made `{text}` where a number was expected"));
    Ok(match kind {
        Kind::Text => Value::Text(text.as_bytes()),
        Kind::Integer => Value::Int(text.parse().map_err(|_| broken())?),
        Kind::Money => Value::Decimal { units: hundredths(text).ok_or_else(broken)?, scale: 2 },
    })
}

/// `-12.30`, or a whole number.
pub fn hundredths(text: &str) -> Option<i64> {
    match text.split_once('.') {
        Some((whole, places)) if places.len() == 2 => format!("{whole}{places}").parse().ok(),
        Some(_) => None,
        None => Some(text.parse::<i64>().ok()? * 100),
    }
}

/// The words that comments are cut from, 300 MB of them, made at the first row that is asked for.
static POOL: Mutex<Option<Arc<TextPool>>> = Mutex::new(None);
/// As many bytes as dbgen has: with another number rows differ.
const POOL_BYTES: i32 = 300 << 20;

fn pool() -> Arc<TextPool> {
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(held.get_or_insert_with(|| Arc::new(TextPool::new(POOL_BYTES, Distributions::static_default()))))
}

/// Gives the memory of the words back: clients measure without it.
pub fn release_words() {
    *POOL.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
