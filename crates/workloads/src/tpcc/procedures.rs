//! The `procedures` form: one call per transaction, and the server does the rest.
//!
//! MySQL and MariaDB get procedures that open and commit their transaction themselves, called by a
//! prepared CALL; PostgreSQL gets PL/pgSQL functions, called by a prepared SELECT that is a transaction
//! of its own. Inside, both go row by row as the `rows` form does, with the same locks in the same
//! order, so that what differs from it is where the statements come from. Inputs are drawn here and
//! never by the server; only the time is the routine's own, one per transaction.
//!
//! Each call has one answer, of one result. What an order's lines display comes packed in one text:
//! a procedure could otherwise only answer with a result per line, each described anew.
//!
//! A Delivery that commits each district is a call per district, on every server: PostgreSQL's functions
//! cannot commit, its procedures (since 11) cannot answer with rows, and one call that commits ten times
//! and is then sent back could not return what it had done.

use driver::{Admin, Connection, Dialect, Error, Statement, Value};

use super::desk::{Count, Desk, Progress};
use super::inputs::{Customer, Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use super::options::{self, Tpcc};
use super::random::DISTRICTS;
use super::statements::{Buffer, Preparer, expect_unused, missing, money, outrun};
use crate::sections::section;
use load::{Attempt, Outcome};

const MYSQL: &str = include_str!("procedures-mysql.sql");
const POSTGRES: &str = include_str!("procedures-postgres.sql");

const ROUTINES: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// The SQLSTATE by which PostgreSQL's New-Order undoes an order with an unknown item.
const UNKNOWN_ITEM: &str = "TPC01";

/// MySQL's New-Order returns these for its end; anything else is a customer who is not there.
const COMMITTED: i64 = 0;
const ROLLED_BACK: i64 = 1;

/// The routines that earlier runs left behind, by name, each with the statement that drops it.
pub fn remains(admin: &mut Admin) -> Result<Vec<(String, String)>, Error> {
    let dialect = admin.dialect();
    if dialect == Dialect::Sqlite {
        return Ok(Vec::new());
    }
    let there = admin.rows(section(file(dialect), "routines", dialect))?;
    let is_there = |name: &String| there.iter().any(|row| row[0].as_ref() == Some(name));
    let named = ROUTINES.iter().map(|routine| (format!("tpcc_{}", routine.replace('-', "_")), routine));
    let left = named.filter(|(name, _)| is_there(name));
    Ok(left
        .map(|(name, routine)| (name, section(file(dialect), &format!("drop-{routine}"), dialect).to_owned()))
        .collect())
}

/// SQLite gets here only for the error that it has no routines.
fn file(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::MySql | Dialect::Sqlite => MYSQL,
    }
}

/// Statements that make the routines anew. They are dropped first, because neither family replaces a
/// routine whatever it was before.
pub fn definitions(_: &Tpcc, dialect: Dialect) -> Vec<String> {
    let one = |verb: &str, routine: &str| section(file(dialect), &format!("{verb}-{routine}"), dialect).to_owned();
    ROUTINES.iter().flat_map(|routine| [one("drop", routine), one("create", routine)]).collect()
}

pub struct ProceduresForm {
    dialect: Dialect,
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
    per_district: bool,
}

impl ProceduresForm {
    pub fn prepare<C: Connection>(tpcc: &Tpcc, connection: &mut C) -> Result<ProceduresForm, Error> {
        let dialect = connection.dialect();
        let mut preparer = Preparer::new(file(dialect), connection);
        Ok(ProceduresForm {
            dialect,
            new_order: preparer.one("call-new-order")?,
            payment: preparer.one("call-payment")?,
            order_status: preparer.one("call-order-status")?,
            delivery: preparer.one("call-delivery")?,
            stock_level: preparer.one("call-stock-level")?,
            per_district: tpcc.delivery == options::Delivery::PerDistrict,
        })
    }

    pub async fn new_order<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let [w, d, c] = [order.w, order.d, order.c].map(Value::Int);
        let (all_local, count) = (Value::Int(i64::from(order.all_local())), Value::Int(order.lines().len() as i64));
        let called = if self.dialect == Dialect::Postgres {
            let [numbers, items, supplies, quantities] = &arrays(order);
            let lines = [numbers.value(), items.value(), supplies.value(), quantities.value()];
            let values = [w, d, c, all_local, lines[0], lines[1], lines[2], lines[3]];
            change(desk, self.new_order, &values, attempt).await
        } else {
            change(desk, self.new_order, &[w, d, c, all_local, count, packed(order).value()], attempt).await
        };
        match called {
            Ok(()) => read_order(desk, order),
            Err(Error::Refused { code, .. }) if code.as_str() == UNKNOWN_ITEM => rolled_back(order),
            Err(error) => Err(error),
        }
    }

    pub async fn payment<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let [w, d, c_w, c_d] = [payment.w, payment.d, payment.c_w, payment.c_d].map(Value::Int);
        let [c, last] = named(&payment.customer);
        let values = [w, d, c_w, c_d, c, last, money(payment.amount_cents)];
        change(desk, self.payment, &values, attempt).await?;
        let is_bad = match desk.rows.text(0, 0) {
            b"GC" => false,
            b"BC" => true,
            _ => return Err(missing("a customer of every name and number in every district")),
        };
        let of_name = of_name(&payment.customer, desk.rows.int(0, 1)?);
        desk.shown.cents = desk.rows.decimal(0, 3, 2)?;
        desk.counts.add_payment(payment, of_name, is_bad);
        Ok(Outcome::Committed)
    }

    pub async fn order_status<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &OrderStatus,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let [c, last] = named(&asked.customer);
        let values = [Value::Int(asked.w), Value::Int(asked.d), c, last];
        // One row per line of the order, each with customer and order in front.
        read(desk, self.order_status, &values, attempt).await?;
        if desk.rows.is_empty() {
            return Err(missing("an order with lines of every customer"));
        }
        let of_name = of_name(&asked.customer, desk.rows.int(0, 0)?);
        desk.shown.cents = desk.rows.decimal(0, 2, 2)?;
        desk.counts.add_order_status(of_name);
        Ok(Outcome::Committed)
    }

    pub async fn delivery<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let districts = if self.per_district { 1 } else { DISTRICTS };
        if !self.per_district {
            desk.progress = Progress::default();
        }
        while desk.progress.district() <= DISTRICTS {
            self.deliver(desk, delivery, districts, attempt).await?;
        }
        desk.count_delivery();
        Ok(Outcome::Committed)
    }

    /// The next so many districts, in one transaction.
    async fn deliver<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        districts: i64,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let first_d = desk.progress.district();
        let values = [delivery.w, delivery.carrier, first_d, first_d + districts - 1].map(Value::Int);
        change(desk, self.delivery, &values, attempt).await?;
        if desk.rows.int(0, 0)? != 0 {
            return Err(outrun());
        }
        let (delivered, skipped) = (desk.rows.int(0, 1)?, desk.rows.int(0, 2)?);
        let mut shown = delivered_orders(desk.rows.text(0, 4)).peekable();
        let mut named = 0;
        for d in first_d..first_d + districts {
            let order = shown.next_if(|order| order.0 == d).map(|order| order.1);
            named += i64::from(order.is_some());
            desk.progress.pass(order);
        }
        if delivered + skipped != districts || named != delivered || shown.next().is_some() {
            return Err(Error::Protocol(format!(
                "tpcc_delivery delivered {delivered} and skipped {skipped} districts of {districts}, and names {named}"
            )));
        }
        desk.shown.cents = desk.rows.decimal(0, 3, 2)?;
        Ok(())
    }

    pub async fn stock_level<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &StockLevel,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let values = [asked.w, asked.d, asked.threshold].map(Value::Int);
        read(desk, self.stock_level, &values, attempt).await?;
        // The district's next order: no number where there is no district, and then nothing was counted.
        desk.rows.int(0, 0)?;
        let low_stock = desk.rows.int(0, 1)?;
        desk.counts.add(Count::LowStock, low_stock as u64);
        Ok(Outcome::Committed)
    }
}

/// The districts and orders of `district:order;` each, as a Delivery shows them.
fn delivered_orders(text: &[u8]) -> impl Iterator<Item = (i64, i64)> {
    let number =
        |digits: &[u8]| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit.wrapping_sub(b'0')));
    text.split(|byte| *byte == b';').filter(|pair| !pair.is_empty()).map(move |pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b':');
        (number(halves.next().unwrap_or_default()), number(halves.next().unwrap_or_default()))
    })
}

/// Calls a routine that makes its changes permanent, which is the last that it does: an error means that it
/// did not, and only a lost answer leaves it open.
async fn change<C: Connection>(
    desk: &mut Desk<C>,
    routine: Statement,
    values: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<(), Error> {
    attempt.writes += 1;
    attempt.committing = true;
    let called = desk.connection.fetch(routine, values, &mut desk.rows).await;
    attempt.committing = matches!(called, Err(Error::Lost { .. } | Error::Protocol(_)));
    called.map(drop)
}

/// Calls a routine that changes nothing, and so can be called again whatever became of its answer.
async fn read<C: Connection>(
    desk: &mut Desk<C>,
    routine: Statement,
    values: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<(), Error> {
    attempt.reads += 1;
    desk.connection.fetch(routine, values, &mut desk.rows).await?;
    Ok(())
}

/// How routines get a customer: by number, or by 0 and a last name.
fn named(customer: &Customer) -> [Value<'_>; 2] {
    match customer {
        Customer::Id(id) => [Value::Int(*id), Value::Text(b"")],
        Customer::LastName(name) => [Value::Int(0), Value::Text(name.as_bytes())],
    }
}

/// How many have the name, if it was one.
fn of_name(customer: &Customer, found: i64) -> Option<u64> {
    matches!(customer, Customer::LastName(_)).then_some(found as u64)
}

/// Takes in the answer of a New-Order: status, order, customer, taxes, total, and the lines as
/// `name,stock,brand,price,amount;` each.
fn read_order<C>(desk: &mut Desk<C>, order: &NewOrder) -> Result<Outcome, Error> {
    match desk.rows.int(0, 0)? {
        COMMITTED => {}
        ROLLED_BACK => return rolled_back(order),
        _ => return Err(missing("a customer of every number in every district")),
    }
    desk.shown.cents = desk.rows.decimal(0, 7, 2)?;
    let (mut shown, mut brand_lines) = (0, 0);
    for line in desk.rows.text(0, 8).split(|byte| *byte == b';').filter(|line| !line.is_empty()) {
        shown += 1;
        brand_lines += u64::from(line.split(|byte| *byte == b',').nth(2) == Some(b"B"));
    }
    if shown != order.lines().len() {
        return Err(Error::Protocol(format!("tpcc_new_order shows {shown} of {} lines", order.lines().len())));
    }
    desk.shown.brand_lines = brand_lines;
    desk.counts.add_order(order);
    Ok(Outcome::Committed)
}

/// An order whose last item is unused; no other one is rolled back on purpose.
fn rolled_back(order: &NewOrder) -> Result<Outcome, Error> {
    let items = order.lines().iter().map(|line| line.item);
    expect_unused(items.max().unwrap_or(0)).map(|()| Outcome::RolledBack)
}

/// Digits of one line for MySQL, by field: its number, the item, the supplying warehouse, the quantity.
const FIELD_DIGITS: [usize; 4] = [2, 6, 7, 2];

/// The lines for MySQL, which has no arrays: one text, and the procedure cuts it at fixed places of the fields.
/// A parameter per field would not be cheaper: to cut ten lines takes MariaDB 10.11 0.12 ms, to choose
/// them among sixty parameters 0.26 ms, because a procedure cannot count through its parameters.
fn packed(order: &NewOrder) -> Buffer<255> {
    let mut text = Buffer::default();
    for place in order.in_lock_order() {
        let fields = fields(order, place);
        fields.into_iter().zip(FIELD_DIGITS).for_each(|(number, digits)| push_digits(&mut text, number, digits));
    }
    text
}

/// The lines for PostgreSQL: arrays of their numbers, items, supplying warehouses and quantities.
fn arrays(order: &NewOrder) -> [Buffer<128>; 4] {
    let mut texts = [Buffer::default(); 4];
    let mut before: &[u8] = b"{";
    for place in order.in_lock_order() {
        for (text, number) in texts.iter_mut().zip(fields(order, place)) {
            text.push(before);
            push_digits(text, number, number.checked_ilog10().unwrap_or(0) as usize + 1);
        }
        before = b",";
    }
    texts.iter_mut().for_each(|text| text.push(b"}"));
    texts
}

fn fields(order: &NewOrder, place: usize) -> [u64; 4] {
    let line = order.lines()[place];
    [place as u64 + 1, line.item as u64, line.supply_w as u64, line.quantity as u64]
}

/// So many digits, eight at most, with zeros in front.
fn push_digits<const N: usize>(text: &mut Buffer<N>, number: u64, digits: usize) {
    let mut room = [b'0'; 8];
    let mut rest = number;
    for place in room[..digits].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    debug_assert_eq!(rest, 0, "{number} has no more than {digits} digits");
    text.push(&room[..digits]);
}

#[cfg(test)]
mod tests;
