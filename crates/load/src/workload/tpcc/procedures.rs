//! The `procedures` form: one call per transaction, and the server does the rest.
//!
//! MySQL and MariaDB get procedures that open and commit their transaction themselves, called by a
//! prepared CALL; PostgreSQL gets PL/pgSQL functions, called by a prepared SELECT that is a transaction
//! of its own. Inside, both go row by row as the `rows` form does, with the same locks in the same
//! order, so that what differs from it is where the statements come from. Inputs are drawn here and
//! never by the server, and the time of a transaction is read once by the routine.
//!
//! Each call has one answer, of one result. What an order's lines display comes packed in one text:
//! a procedure could otherwise only answer with a result per line, each described anew.
//!
//! A Delivery that commits each district is a call per district, on every server: PostgreSQL's functions
//! cannot commit, its procedures (since 11) cannot answer with rows, and one call that commits ten times
//! and is then sent back could not say what it had done.

use driver::{Connection, Dialect, Error, Statement, Value};

use super::Tpcc;
use super::client::{Count, Desk};
use super::inputs::{Customer, Delivery, LINES_MAX, Line, NewOrder, OrderStatus, Payment, StockLevel};
use super::options;
use super::random::{DISTRICTS, ITEMS};
use crate::workload::sections::{prepared, section};
use crate::workload::{Attempt, Outcome};

const MYSQL: &str = include_str!("procedures-mysql.sql");
const POSTGRES: &str = include_str!("procedures-postgres.sql");

const ROUTINES: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// The SQLSTATE by which PostgreSQL's New-Order undoes an order with an unknown item.
const UNKNOWN_ITEM: &str = "TPC01";

/// First columns of a New-Order's answer.
const STATUS_COMMITTED: i64 = 0;
const STATUS_ROLLED_BACK: i64 = 1;

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
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
    per_district: bool,
    /// Districts of the Delivery that was sent back on the way through them.
    done: Option<Done>,
    lines: LinesText,
}

/// What a Delivery has committed of its districts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Done {
    delivery: Delivery,
    next_d: i64,
    delivered: u64,
    skipped: u64,
}

impl ProceduresForm {
    pub fn prepare<C: Connection>(tpcc: &Tpcc, connection: &mut C) -> Result<ProceduresForm, Error> {
        let dialect = connection.dialect();
        let mut call = |routine: &str| {
            connection.prepare(&prepared(section(file(dialect), &format!("call-{routine}"), dialect), dialect))
        };
        Ok(ProceduresForm {
            new_order: call("new-order")?,
            payment: call("payment")?,
            order_status: call("order-status")?,
            delivery: call("delivery")?,
            stock_level: call("stock-level")?,
            per_district: tpcc.delivery == options::Delivery::PerDistrict,
            done: None,
            lines: LinesText::default(),
        })
    }

    pub async fn new_order<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        self.done = None;
        count_order(desk, order);
        let head = [order.w, order.d, order.c, i64::from(order.all_local())].map(Value::Int);
        let [w, d, c, all_local] = head;
        let answered = if desk.connection.dialect() == Dialect::Postgres {
            let [numbers, items, supplies, quantities] = self.lines.arrays(order);
            change(desk, self.new_order, &[w, d, c, all_local, numbers, items, supplies, quantities], attempt).await
        } else {
            let count = Value::Int(order.lines().len() as i64);
            change(desk, self.new_order, &[w, d, c, all_local, count, self.lines.packed(order)], attempt).await
        };
        match answered {
            Ok(()) => order_outcome(desk, order),
            Err(Error::Refused { code, .. }) if code.as_str() == UNKNOWN_ITEM => {
                attempt.committing = false;
                Ok(Outcome::RolledBack)
            }
            Err(error) => Err(error),
        }
    }

    pub async fn payment<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        self.done = None;
        let Payment { w, d, c_w, c_d, amount_cents, .. } = *payment;
        let [c, last] = named(&payment.customer);
        let amount = Value::Decimal { units: amount_cents, scale: 2 };
        let parameters =
            [Value::Int(w), Value::Int(d), Value::Int(c_w), Value::Int(c_d), c, last, amount];
        change(desk, self.payment, &parameters, attempt).await?;
        let is_bad_credit = match desk.rows.text(0, 0) {
            b"GC" => false,
            b"BC" => true,
            _ => return Err(nothing_found("tpcc_payment", "customer")),
        };
        // The balance is what the customer came for.
        desk.rows.decimal(0, 3, 2)?;
        let name_rows = desk.rows.int(0, 1)? as u64;
        let counts = &mut desk.counts;
        counts.add(Count::PaymentCents, amount_cents as u64);
        counts.add(Count::RemotePayments, u64::from(c_w != w));
        counts.add(Count::PaymentsByName, u64::from(is_by_name(&payment.customer)));
        counts.add(Count::PaymentNameRows, name_rows);
        counts.add(Count::BadCreditPayments, u64::from(is_bad_credit));
        Ok(Outcome::Committed)
    }

    pub async fn order_status<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &OrderStatus,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        self.done = None;
        let [c, last] = named(&asked.customer);
        read(desk, self.order_status, &[Value::Int(asked.w), Value::Int(asked.d), c, last], attempt).await?;
        // One row per line of the order, each with the customer in front.
        if desk.rows.is_empty() {
            return Err(nothing_found("tpcc_order_status", "order"));
        }
        for line in 0..desk.rows.len() {
            desk.rows.int(line, 9)?;
            desk.rows.decimal(line, 12, 2)?;
        }
        let name_rows = desk.rows.int(0, 0)? as u64;
        desk.counts.add(Count::OrderStatusesByName, u64::from(is_by_name(&asked.customer)));
        desk.counts.add(Count::OrderStatusNameRows, name_rows);
        Ok(Outcome::Committed)
    }

    pub async fn delivery<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let fresh = Done { delivery: *delivery, next_d: 1, delivered: 0, skipped: 0 };
        // A try that was sent back goes on behind the districts that it had committed.
        let mut done = self.done.take().filter(|done| done.delivery == *delivery).unwrap_or(fresh);
        let districts = if self.per_district { 1 } else { DISTRICTS };
        while done.next_d <= DISTRICTS {
            if let Err(error) = self.deliver(desk, &mut done, districts, attempt).await {
                self.done = matches!(error, Error::Retryable { .. }).then_some(done);
                return Err(error);
            }
        }
        desk.counts.add(Count::DeliveredOrders, done.delivered);
        desk.counts.add(Count::SkippedDistricts, done.skipped);
        Ok(Outcome::Committed)
    }

    /// The next so many districts, in one transaction.
    async fn deliver<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        done: &mut Done,
        districts: i64,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let last_d = done.next_d + districts - 1;
        let parameters = [done.delivery.w, done.delivery.carrier, done.next_d, last_d].map(Value::Int);
        change(desk, self.delivery, &parameters, attempt).await?;
        let (delivered, skipped) = (desk.rows.int(0, 1)?, desk.rows.int(0, 2)?);
        if desk.rows.int(0, 0)? != 0 || delivered + skipped != districts {
            return Err(nothing_found("tpcc_delivery", "order that could be deleted"));
        }
        *done = Done {
            next_d: last_d + 1,
            delivered: done.delivered + delivered as u64,
            skipped: done.skipped + skipped as u64,
            ..*done
        };
        Ok(())
    }

    pub async fn stock_level<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &StockLevel,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        self.done = None;
        let parameters = [asked.w, asked.d, asked.threshold].map(Value::Int);
        read(desk, self.stock_level, &parameters, attempt).await?;
        // The district's next order: NULL where there is no district, and then nothing was counted.
        desk.rows.int(0, 0)?;
        let low_stock = desk.rows.int(0, 1)? as u64;
        desk.counts.add(Count::LowStock, low_stock);
        Ok(Outcome::Committed)
    }
}

/// Calls a routine that commits changes of its own.
async fn change<C: Connection>(
    desk: &mut Desk<C>,
    routine: Statement,
    parameters: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<(), Error> {
    attempt.writes += 1;
    attempt.committing = true;
    desk.connection.fetch(routine, parameters, &mut desk.rows).await?;
    attempt.committing = false;
    Ok(())
}

/// Calls a routine that changes nothing, and so can be called again whatever became of the answer.
async fn read<C: Connection>(
    desk: &mut Desk<C>,
    routine: Statement,
    parameters: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<(), Error> {
    attempt.reads += 1;
    desk.connection.fetch(routine, parameters, &mut desk.rows).await?;
    Ok(())
}

fn nothing_found(routine: &str, what: &str) -> Error {
    Error::Protocol(format!("{routine} found no {what}; load the tables again"))
}

/// How routines are told of a customer: a number, or 0 and a last name.
fn named(customer: &Customer) -> [Value<'_>; 2] {
    match customer {
        Customer::Id(id) => [Value::Int(*id), Value::Text(b"")],
        Customer::LastName(name) => [Value::Int(0), Value::Text(name.as_bytes())],
    }
}

fn is_by_name(customer: &Customer) -> bool {
    matches!(customer, Customer::LastName(_))
}

/// What the answer of a New-Order says of its end.
fn order_outcome<C>(desk: &Desk<C>, order: &NewOrder) -> Result<Outcome, Error> {
    match desk.rows.int(0, 0)? {
        STATUS_COMMITTED => {}
        STATUS_ROLLED_BACK => return Ok(Outcome::RolledBack),
        _ => return Err(nothing_found("tpcc_new_order", "customer")),
    }
    desk.rows.int(0, 1)?;
    desk.rows.decimal(0, 7, 2)?;
    let shown = desk.rows.text(0, 8).iter().filter(|byte| **byte == b';').count();
    if shown != order.lines().len() {
        let wanted = order.lines().len();
        return Err(Error::Protocol(format!("tpcc_new_order showed {shown} lines of an order of {wanted}")));
    }
    Ok(Outcome::Committed)
}

fn count_order<C>(desk: &mut Desk<C>, order: &NewOrder) {
    let lines = order.lines();
    let remote = lines.iter().filter(|line| line.supply_w != order.w).count();
    let is_repeated = |(at, line): (usize, &Line)| lines[..at].iter().any(|before| before.item == line.item);
    let counts = &mut desk.counts;
    counts.add(Count::Lines, lines.len() as u64);
    counts.add(Count::Quantity, lines.iter().map(|line| line.quantity as u64).sum());
    counts.add(Count::RemoteLines, remote as u64);
    counts.add(Count::RemoteOrders, u64::from(remote > 0));
    counts.add(Count::RepeatedItemOrders, u64::from(lines.iter().enumerate().any(is_repeated)));
}

/// Numbers of an order's lines, from 0, in the order in which their stock is locked: the same in every
/// transaction, so that two of them cannot wait for each other. The line that nobody can serve is the last.
fn in_lock_order(lines: &[Line], places: &mut [usize; LINES_MAX]) {
    let key = |place: &usize| (lines[*place].item > ITEMS, lines[*place].supply_w, lines[*place].item, *place);
    *places = std::array::from_fn(|place| place);
    places[..lines.len()].sort_unstable_by_key(key);
}

/// Room for the digits of up to fifteen numbers below ten million, and what stands between them.
const TEXT_BYTES_MAX: usize = 256;

/// The lines of an order as text, in place.
#[derive(Default)]
struct LinesText {
    places: [usize; LINES_MAX],
    texts: [Text; 4],
}

impl LinesText {
    /// For MySQL, which has no arrays: `number:2 item:6 supplying warehouse:7 quantity:2` per line. The
    /// procedure cuts it where it knows the fields to be.
    fn packed(&mut self, order: &NewOrder) -> Value<'_> {
        let lines = order.lines();
        in_lock_order(lines, &mut self.places);
        let text = &mut self.texts[0];
        text.clear();
        for place in &self.places[..lines.len()] {
            let line = &lines[*place];
            text.push_padded(*place as u64 + 1, 2);
            text.push_padded(line.item as u64, 6);
            text.push_padded(line.supply_w as u64, 7);
            text.push_padded(line.quantity as u64, 2);
        }
        Value::Text(self.texts[0].as_bytes())
    }

    /// For PostgreSQL, arrays of the lines' numbers, items, supplying warehouses and quantities.
    fn arrays(&mut self, order: &NewOrder) -> [Value<'_>; 4] {
        let lines = order.lines();
        in_lock_order(lines, &mut self.places);
        self.texts.iter_mut().for_each(Text::clear);
        for (before, place) in self.places[..lines.len()].iter().enumerate() {
            let line = &lines[*place];
            let fields = [*place as i64 + 1, line.item, line.supply_w, line.quantity];
            for (text, field) in self.texts.iter_mut().zip(fields) {
                text.push(if before == 0 { b'{' } else { b',' });
                text.push_number(field as u64);
            }
        }
        self.texts.each_mut().map(|text| {
            text.push(b'}');
            Value::Text(text.as_bytes())
        })
    }
}

struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    length: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; TEXT_BYTES_MAX], length: 0 }
    }
}

impl Text {
    fn clear(&mut self) {
        self.length = 0;
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn push_number(&mut self, number: u64) {
        self.push_padded(number, number.checked_ilog10().unwrap_or(0) as usize + 1);
    }

    /// So many digits, with zeros in front.
    fn push_padded(&mut self, number: u64, digits: usize) {
        let mut rest = number;
        let end = self.length + digits;
        for place in self.bytes[self.length..end].iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        debug_assert_eq!(rest, 0, "{number} has no more than {digits} digits");
        self.length = end;
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
