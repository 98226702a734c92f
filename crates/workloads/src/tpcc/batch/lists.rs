//! Sets as lists of keys in the text of a statement, one text for each length: MySQL, MariaDB and SQLite.
//!
//! Keys are written out as `(w = ? AND i = ?) OR ...`, which every version finds by the primary key; row
//! constructors in an IN list make MySQL before 5.7 read whole tables. A list that is too short is filled up
//! with its last key, which finds the same row again.

use std::ops::RangeInclusive;

use driver::{Connection, Error, Statement, Value};

use super::super::desk::Desk;
use super::super::inputs::{Delivery, LINES_MAX, NewOrder, Payment};
use super::super::rows;
use super::super::stamp::StampText;
use super::super::statements::{
    Buffer, ByCount, C_DATA_BYTES, H_DATA_BYTES, LINES_OF_ORDER, Preparer, history_data, money, outrun, payment_note,
    read, read_row, write,
};
use super::sets::{DISTRICT_TEXT, DISTRICTS_MAX, FILE, PricedLines, StockChanges, Taken, TakenOrders, attach};
use load::Attempt;

/// Lines of an order whose items are sold: one of five may not be.
const LINES_LEAST: usize = 4;
/// Values of a line in its INSERT.
const LINE_VALUES: usize = 9;

pub struct Lists {
    items: ByCount,
    stock: ByCount,
    change_stock: Statement,
    insert_lines: ByCount,
    pay_warehouse: Statement,
    pay_district: Statement,
    show_places: Statement,
    lock_customer: Statement,
    pay_customer: Statement,
    pay_bad_customer: Statement,
    oldest: Statement,
    take: ByCount,
    customers: ByCount,
    carry: ByCount,
    lines: ByCount,
    sums: ByCount,
    bill: Statement,
}

impl Lists {
    pub fn prepare<C: Connection>(connection: &mut C) -> Result<Lists, Error> {
        let mut shared = Preparer::new(rows::FILE, connection);
        let pay_warehouse = shared.one("pay-warehouse")?;
        let pay_district = shared.one("pay-district")?;
        let pay_customer = shared.one("pay-customer")?;
        let pay_bad_customer = shared.one("pay-bad-customer")?;
        let oldest = shared.one("oldest-order")?;
        let bill = shared.one("bill-customer")?;
        let mut sql = Preparer::new(FILE, connection);
        let lines = LINES_LEAST..=LINES_MAX;
        // Nearly all Deliveries find an order in every district; the others repeat one.
        let districts = DISTRICTS_MAX..=DISTRICTS_MAX;
        Ok(Lists {
            items: sql.by_count("items", lines.clone())?,
            stock: sql.by_count("stock", lines.clone())?,
            change_stock: sql.one("change-stock")?,
            insert_lines: sql.by_count("insert-lines", lines)?,
            pay_warehouse,
            pay_district,
            show_places: sql.one("show-places")?,
            lock_customer: sql.one("lock-customer")?,
            pay_customer,
            pay_bad_customer,
            oldest,
            take: sql.by_count("take-orders", districts.clone())?,
            customers: sql.by_count("customers-of-orders", districts.clone())?,
            carry: sql.by_count("carry-orders", districts.clone())?,
            lines: sql.by_count("deliver-lines", districts.clone())?,
            sums: sql.by_count("sums-of-lines", districts)?,
            bill,
        })
    }

    pub async fn items<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let lines = order.lines();
        let values: [Value<'_>; LINES_MAX] = std::array::from_fn(|at| Value::Int(lines[at.min(lines.len() - 1)].item));
        let (statement, count) = self.items.of(lines.len());
        read(desk, statement, &values[..count], attempt).await.map(|_| ())
    }

    pub async fn stock<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        d: i64,
        changes: &StockChanges,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let mut values = [Value::Int(d); 1 + 2 * LINES_MAX];
        for (at, pair) in values[1..].chunks_exact_mut(2).enumerate() {
            let change = &changes[at.min(changes.len() - 1)];
            pair.copy_from_slice(&[Value::Int(change.w), Value::Int(change.item)]);
        }
        let (statement, count) = self.stock.of(changes.len());
        read(desk, statement, &values[..1 + 2 * count], attempt).await.map(|_| ())
    }

    pub async fn write_lines<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        (w, d, o_id): (i64, i64, i64),
        lines: &PricedLines,
        changes: &StockChanges,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        for change in changes.iter() {
            let numbers = [change.left, change.quantity, change.lines, change.remote, change.w, change.item];
            write(&mut desk.connection, self.change_stock, &numbers.map(Value::Int), attempt)
                .await?
                .is(1, "change-stock")?;
        }
        let mut values = [Value::Null; LINE_VALUES * LINES_MAX];
        for (priced, row) in lines.iter().zip(values.chunks_exact_mut(LINE_VALUES)) {
            row.copy_from_slice(&[
                Value::Int(o_id),
                Value::Int(d),
                Value::Int(w),
                Value::Int(priced.number),
                Value::Int(priced.line.item),
                Value::Int(priced.line.supply_w),
                Value::Int(priced.line.quantity),
                money(priced.amount_cents),
                Value::Text(desk.rows.text(changes[priced.change].row, DISTRICT_TEXT)),
            ]);
        }
        let (statement, count) = self.insert_lines.of(lines.len());
        write(&mut desk.connection, statement, &values[..LINE_VALUES * count], attempt)
            .await?
            .is(lines.len() as u64, "insert-lines")
    }

    /// Returns the text for the history.
    pub async fn pay_places<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Buffer<H_DATA_BYTES>, Error> {
        let (w, d, amount) = (Value::Int(payment.w), Value::Int(payment.d), money(payment.amount_cents));
        write(&mut desk.connection, self.pay_warehouse, &[amount, w], attempt).await?.is(1, "pay-warehouse")?;
        write(&mut desk.connection, self.pay_district, &[amount, w, d], attempt).await?.is(1, "pay-district")?;
        read_row(desk, self.show_places, &[w, d], attempt).await?;
        Ok(history_data(desk.rows.text(0, 0), desk.rows.text(0, 1)))
    }

    /// Returns whether the customer has bad credit, and the balance.
    pub async fn pay_customer<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        payment: &Payment,
        c_id: i64,
        attempt: &mut Attempt,
    ) -> Result<(bool, i64), Error> {
        let amount = money(payment.amount_cents);
        let key = [Value::Int(payment.c_w), Value::Int(payment.c_d), Value::Int(c_id)];
        read_row(desk, self.lock_customer, &key, attempt).await?;
        let balance = desk.rows.decimal(0, 1, 2)? - payment.amount_cents;
        if desk.rows.text(0, 0) != b"BC" {
            let values = [amount, amount, key[0], key[1], key[2]];
            write(&mut desk.connection, self.pay_customer, &values, attempt).await?.is(1, "pay-customer")?;
            return Ok((false, balance));
        }
        let mut data = Buffer::<C_DATA_BYTES>::default();
        data.push(payment_note(payment, c_id).as_bytes());
        data.push(desk.rows.text(0, 2));
        let values = [amount, amount, data.value(), key[0], key[1], key[2]];
        write(&mut desk.connection, self.pay_bad_customer, &values, attempt).await?.is(1, "pay-bad-customer")?;
        Ok((true, balance))
    }

    /// Takes the oldest order of each district out of its queue: they are locked one by one, since a lock on
    /// the result of MIN over districts would be one on whatever was read for it, and deleted together.
    pub async fn take_oldest<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        w: i64,
        districts: RangeInclusive<i64>,
        attempt: &mut Attempt,
    ) -> Result<TakenOrders, Error> {
        let mut taken = TakenOrders::default();
        for d in districts {
            if read(desk, self.oldest, &[Value::Int(w), Value::Int(d)], attempt).await? > 0 {
                taken.push(Taken { d, o: desk.rows.int(0, 0)?, ..Taken::default() });
            }
        }
        if taken.is_empty() {
            return Ok(taken);
        }
        let (statement, count) = self.take.of(taken.len());
        let deleted = write(&mut desk.connection, statement, &keys(w, &taken)[..3 * count], attempt).await?;
        // Locked rows cannot go; should they, the transaction is as good as refused.
        if deleted.0 == taken.len() as u64 { Ok(taken) } else { Err(outrun()) }
    }

    /// Carrier, lines and customers of the orders taken.
    pub async fn deliver<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        now: &StampText,
        taken: &mut TakenOrders,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let mut values = [Value::Int(delivery.carrier); 1 + 3 * DISTRICTS_MAX];
        values[1..].copy_from_slice(&keys(delivery.w, taken));
        // Changed before they are read: what a transaction has changed it can read, however old its snapshot is.
        let orders = taken.len() as u64;
        write(&mut desk.connection, self.carry.of(taken.len()).0, &values, attempt)
            .await?
            .is(orders, "carry-orders")?;
        read(desk, self.customers.of(taken.len()).0, &values[1..], attempt).await?;
        attach(desk, taken, |order, rows, row| {
            order.c = rows.int(row, 1)?;
            Ok(())
        })?;
        values[0] = Value::Text(now);
        let lines = write(&mut desk.connection, self.lines.of(taken.len()).0, &values, attempt).await?;
        let (least, most) = (LINES_OF_ORDER.start() * orders, LINES_OF_ORDER.end() * orders);
        lines.is_within(least..=most, "deliver-lines")?;
        read(desk, self.sums.of(taken.len()).0, &values[1..], attempt).await?;
        attach(desk, taken, |order, rows, row| {
            order.sum_cents = rows.decimal(row, 1, 2)?;
            Ok(())
        })?;
        for order in taken.iter() {
            let values = [money(order.sum_cents), Value::Int(delivery.w), Value::Int(order.d), Value::Int(order.c)];
            write(&mut desk.connection, self.bill, &values, attempt).await?.is(1, "bill-customer")?;
        }
        Ok(())
    }
}

/// Keys of so many orders as there are districts; the last one fills the rest.
fn keys(w: i64, orders: &TakenOrders) -> [Value<'static>; 3 * DISTRICTS_MAX] {
    std::array::from_fn(|at| {
        let order = &orders[(at / 3).min(orders.len() - 1)];
        Value::Int([w, order.d, order.o][at % 3])
    })
}
