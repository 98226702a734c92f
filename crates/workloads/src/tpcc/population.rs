//! The initial population (clause 4.3.3): the rows of each table, from the seed.
//!
//! Every unit has a generator of its own, so rows do not depend on who draws them or in which order.
//! Dates are one constant: the specification's "now" would make each load different. Nothing allocates.

use driver::{Error, RowSink, Value};

use super::meta::{self, FORMAT_VERSION};
use super::options::Tpcc;
use super::random::{CUSTOMERS_PER_DISTRICT, DISTRICTS, ITEMS, LAST_NAMES, LastName, c_last_of_load, nurand, rnd};
use super::schema::{NEW_ORDERS_PER_DISTRICT, RELATIONS, Relation};
use super::text::{Address, Text, data, digits, fill};
use load::Rng;

/// The oldest order that waits.
const FIRST_NEW_ORDER: i64 = CUSTOMERS_PER_DISTRICT - NEW_ORDERS_PER_DISTRICT + 1;
const LOADED_AT: Value<'static> = Value::Text(b"2025-01-01 00:00:00");
const DISTRICT_INFO_BYTES: usize = 24;

/// What the tables depend on besides the seed.
pub fn data_key(tpcc: &Tpcc) -> String {
    format!("tpcc format={FORMAT_VERSION} warehouses={}", tpcc.warehouses)
}

pub fn rows(tpcc: &Tpcc, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let relation = RELATIONS[table];
    let rng = &mut stream(data_seed, relation, unit);
    let (w, d) = (unit as i64 / DISTRICTS + 1, unit as i64 % DISTRICTS + 1);
    match relation {
        Relation::OrderLine => order_lines(data_seed, unit, rng, sink),
        Relation::Stock => stock(unit as i64 / ITEMS + 1, unit as i64 % ITEMS + 1, rng, sink),
        Relation::Customer => customers(c_last_of_load(data_seed), w, d, rng, sink),
        Relation::Orders => orders(data_seed, unit, rng, sink),
        Relation::History => history(w, d, rng, sink),
        Relation::NewOrder => (FIRST_NEW_ORDER..=CUSTOMERS_PER_DISTRICT)
            .try_for_each(|o| sink(&[Value::Int(o), Value::Int(d), Value::Int(w)])),
        Relation::District => district(w, d, rng, sink),
        Relation::Warehouse => warehouse(unit as i64 + 1, rng, sink),
        Relation::Item => item(unit as i64 + 1, rng, sink),
        Relation::Meta => sink(&meta::row(tpcc, data_seed).map(Value::Int)),
    }
}

fn stream(data_seed: u64, relation: Relation, unit: u64) -> Rng {
    Rng::stream(data_seed, relation as u64, unit)
}

fn cents(units: i64) -> Value<'static> {
    Value::Decimal { units, scale: 2 }
}

/// In ten-thousandths.
fn rate(units: i64) -> Value<'static> {
    Value::Decimal { units, scale: 4 }
}

fn item(i: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let image = rnd(rng, 1, 10_000);
    let name = Text::<24>::alphanumeric(rng, 14);
    let price = rnd(rng, 100, 10_000);
    let data = data(rng);
    sink(&[Value::Int(i), Value::Int(image), Value::Text(name.as_bytes()), cents(price), Value::Text(data.as_bytes())])
}

fn warehouse(w: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let name = Text::<10>::alphanumeric(rng, 6);
    let Address { streets, city, state, zip } = &Address::draw(rng);
    sink(&[
        Value::Int(w),
        Value::Text(name.as_bytes()),
        Value::Text(streets[0].as_bytes()),
        Value::Text(streets[1].as_bytes()),
        Value::Text(city.as_bytes()),
        Value::Text(state),
        Value::Text(zip),
        rate(rnd(rng, 0, 2_000)),
        cents(30_000_000),
    ])
}

fn district(w: i64, d: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let name = Text::<10>::alphanumeric(rng, 6);
    let Address { streets, city, state, zip } = &Address::draw(rng);
    sink(&[
        Value::Int(d),
        Value::Int(w),
        Value::Text(name.as_bytes()),
        Value::Text(streets[0].as_bytes()),
        Value::Text(streets[1].as_bytes()),
        Value::Text(city.as_bytes()),
        Value::Text(state),
        Value::Text(zip),
        rate(rnd(rng, 0, 2_000)),
        cents(3_000_000),
        Value::Int(CUSTOMERS_PER_DISTRICT + 1),
    ])
}

fn stock(w: i64, i: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let quantity = rnd(rng, 10, 100);
    let mut infos = [0; DISTRICT_INFO_BYTES * DISTRICTS as usize];
    fill(rng, &mut infos);
    let data = data(rng);
    let mut row = [Value::Int(0); 17];
    row[..3].copy_from_slice(&[Value::Int(i), Value::Int(w), Value::Int(quantity)]);
    for (place, info) in row[3..13].iter_mut().zip(infos.chunks(DISTRICT_INFO_BYTES)) {
        *place = Value::Text(info);
    }
    row[16] = Value::Text(data.as_bytes());
    sink(&row)
}

fn customers(c_last: i64, w: i64, d: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    (1..=CUSTOMERS_PER_DISTRICT).try_for_each(|c| customer(c_last, [w, d, c], rng, sink))
}

fn customer(c_last: i64, [w, d, c]: [i64; 3], rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    // Every name is there once before any is there twice.
    let number = if c <= LAST_NAMES { c - 1 } else { nurand(rng, 255, c_last, 0, LAST_NAMES - 1) };
    let last = LastName::of(number);
    let first = Text::<16>::alphanumeric(rng, 8);
    let Address { streets, city, state, zip } = &Address::draw(rng);
    let mut phone = [0; 16];
    digits(rng, &mut phone);
    let credit: &[u8] = if rnd(rng, 1, 10) == 1 { b"BC" } else { b"GC" };
    let discount = rnd(rng, 0, 5_000);
    let data = Text::<500>::alphanumeric(rng, 300);
    sink(&[
        Value::Int(c),
        Value::Int(d),
        Value::Int(w),
        Value::Text(first.as_bytes()),
        Value::Text(b"OE"),
        Value::Text(last.as_bytes()),
        Value::Text(streets[0].as_bytes()),
        Value::Text(streets[1].as_bytes()),
        Value::Text(city.as_bytes()),
        Value::Text(state),
        Value::Text(zip),
        Value::Text(&phone),
        LOADED_AT,
        Value::Text(credit),
        cents(5_000_000),
        rate(discount),
        cents(-1_000),
        cents(1_000),
        Value::Int(1),
        Value::Int(0),
        Value::Text(data.as_bytes()),
    ])
}

fn history(w: i64, d: i64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    (1..=CUSTOMERS_PER_DISTRICT).try_for_each(|c| {
        let data = Text::<24>::alphanumeric(rng, 12);
        let [c, d, w] = [c, d, w].map(Value::Int);
        sink(&[c, d, w, d, w, LOADED_AT, cents(1_000), Value::Text(data.as_bytes())])
    })
}

fn orders(data_seed: u64, unit: u64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let customers = shuffled_customers(rng);
    let mut counts = line_counts(data_seed, unit);
    let (w, d) = (unit as i64 / DISTRICTS + 1, unit as i64 % DISTRICTS + 1);
    (1..=CUSTOMERS_PER_DISTRICT).zip(customers).try_for_each(|(o, c)| {
        let carrier = rnd(rng, 1, 10);
        let carrier = if o < FIRST_NEW_ORDER { Value::Int(carrier) } else { Value::Null };
        let lines = Value::Int(counts.draw());
        let [o, d, w, c] = [o, d, w, i64::from(c)].map(Value::Int);
        sink(&[o, d, w, c, LOADED_AT, carrier, lines, Value::Int(1)])
    })
}

/// Each customer of a district once, in random order.
fn shuffled_customers(rng: &mut Rng) -> [u16; CUSTOMERS_PER_DISTRICT as usize] {
    let mut customers = std::array::from_fn(|at| at as u16 + 1);
    rng.shuffle(&mut customers);
    customers
}

/// How many lines the orders of a district have, one after the other; two tables depend on it.
struct LineCounts(Rng);

fn line_counts(data_seed: u64, unit: u64) -> LineCounts {
    LineCounts(Rng::stream(data_seed, u64::from_be_bytes(*b"o_ol_cnt"), unit))
}

impl LineCounts {
    fn draw(&mut self) -> i64 {
        rnd(&mut self.0, 5, 15)
    }
}

fn order_lines(data_seed: u64, unit: u64, rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let mut counts = line_counts(data_seed, unit);
    let (w, d) = (unit as i64 / DISTRICTS + 1, unit as i64 % DISTRICTS + 1);
    for o in 1..=CUSTOMERS_PER_DISTRICT {
        (1..=counts.draw()).try_for_each(|number| order_line([w, d, o, number], rng, sink))?;
    }
    Ok(())
}

fn order_line([w, d, o, number]: [i64; 4], rng: &mut Rng, sink: &mut RowSink<'_>) -> Result<(), Error> {
    let item = rnd(rng, 1, ITEMS);
    let amount = rnd(rng, 1, 999_999);
    let (delivered, amount) = if o < FIRST_NEW_ORDER { (LOADED_AT, 0) } else { (Value::Null, amount) };
    let mut info = [0; DISTRICT_INFO_BYTES];
    fill(rng, &mut info);
    let [o, d, w, number, item] = [o, d, w, number, item].map(Value::Int);
    sink(&[o, d, w, number, item, w, delivered, Value::Int(5), cents(amount), Value::Text(&info)])
}

#[cfg(test)]
mod tests;
