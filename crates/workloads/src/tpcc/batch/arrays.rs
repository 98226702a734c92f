//! Sets as PostgreSQL's arrays: one statement for any number of rows, and changes that show what they changed.

use std::ops::RangeInclusive;

use driver::{Connection, Error, Statement, Value};

use super::super::desk::Desk;
use super::super::inputs::{Delivery, NewOrder, Payment};
use super::super::rows;
use super::super::stamp::StampText;
use super::super::statements::{
    Buffer, Cents, Change, H_DATA_BYTES, Preparer, REREADS_MAX, Shown, history_data, missing, money, outrun,
    payment_note, read, write,
};
use super::sets::{DISTRICT_TEXT, DISTRICTS_MAX, FILE, Few, PricedLines, StockChanges, Taken, TakenOrders, attach};
use load::Attempt;

pub struct Arrays {
    items: Statement,
    /// By district.
    stock: Vec<Statement>,
    change_stock: Statement,
    insert_lines: Statement,
    pay_warehouse: Change,
    pay_district: Change,
    pay_customer: Statement,
    oldest: Statement,
    take: Statement,
    carry: Statement,
    lines: Statement,
    bill: Statement,
}

/// Fifteen numbers of ten digits, with commas and braces; most money here is shorter.
type Numbers = Buffer<256>;
/// Fifteen texts of 24 letters in quotes.
type Texts = Buffer<512>;

/// A text with the quotes that it needs in an array. District texts are letters and digits.
struct Quoted<'a>(&'a [u8]);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", std::str::from_utf8(self.0).unwrap_or_default())
    }
}

impl Arrays {
    pub fn prepare<C: Connection>(connection: &mut C) -> Result<Arrays, Error> {
        let mut shared = Preparer::new(rows::FILE, connection);
        let pay_warehouse = shared.change("pay-warehouse", "show-warehouse", Shown::After)?;
        let pay_district = shared.change("pay-district", "show-district", Shown::After)?;
        let mut sql = Preparer::new(FILE, connection);
        Ok(Arrays {
            items: sql.one("items")?,
            stock: sql.by_district("stock")?,
            change_stock: sql.one("change-stock")?,
            insert_lines: sql.one("insert-lines")?,
            pay_warehouse,
            pay_district,
            pay_customer: sql.one("pay-customer")?,
            oldest: sql.one("oldest-orders")?,
            take: sql.one("take-orders")?,
            carry: sql.one("carry-orders")?,
            lines: sql.one("deliver-lines")?,
            bill: sql.one("bill-customers")?,
        })
    }

    pub async fn items<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let items = Numbers::array(order.lines().iter().map(|line| line.item));
        read(desk, self.items, &[items.value()], attempt).await.map(|_| ())
    }

    pub async fn stock<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        d: i64,
        changes: &StockChanges,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let warehouses = Numbers::array(changes.iter().map(|change| change.w));
        let items = Numbers::array(changes.iter().map(|change| change.item));
        read(desk, self.stock[d as usize - 1], &[warehouses.value(), items.value()], attempt).await.map(|_| ())
    }

    pub async fn write_lines<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        (w, d, o_id): (i64, i64, i64),
        lines: &PricedLines,
        changes: &StockChanges,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let columns = [
            Numbers::array(changes.iter().map(|change| change.left)),
            Numbers::array(changes.iter().map(|change| change.quantity)),
            Numbers::array(changes.iter().map(|change| change.lines)),
            Numbers::array(changes.iter().map(|change| change.remote)),
            Numbers::array(changes.iter().map(|change| change.w)),
            Numbers::array(changes.iter().map(|change| change.item)),
        ];
        let values: [Value<'_>; 6] = std::array::from_fn(|at| columns[at].value());
        write(&mut desk.connection, self.change_stock, &values, attempt)
            .await?
            .is(changes.len() as u64, "change-stock")?;
        let numbers = Numbers::array(lines.iter().map(|priced| priced.number));
        let items = Numbers::array(lines.iter().map(|priced| priced.line.item));
        let supplies = Numbers::array(lines.iter().map(|priced| priced.line.supply_w));
        let quantities = Numbers::array(lines.iter().map(|priced| priced.line.quantity));
        let amounts = Numbers::array(lines.iter().map(|priced| Cents(priced.amount_cents)));
        let text = |change: usize| Quoted(desk.rows.text(changes[change].row, DISTRICT_TEXT));
        let texts = Texts::array(lines.iter().map(|priced| text(priced.change)));
        let values = [
            Value::Int(o_id),
            Value::Int(d),
            Value::Int(w),
            numbers.value(),
            items.value(),
            supplies.value(),
            quantities.value(),
            amounts.value(),
            texts.value(),
        ];
        write(&mut desk.connection, self.insert_lines, &values, attempt).await?.is(lines.len() as u64, "insert-lines")
    }

    /// Returns the text for the history.
    pub async fn pay_places<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Buffer<H_DATA_BYTES>, Error> {
        let (w, d, amount) = (Value::Int(payment.w), Value::Int(payment.d), money(payment.amount_cents));
        self.pay_warehouse.run(desk, &[amount, w], 1, attempt).await?;
        let mut name = Buffer::<10>::default();
        name.push(desk.rows.text(0, 0));
        self.pay_district.run(desk, &[amount, w, d], 2, attempt).await?;
        Ok(history_data(name.as_bytes(), desk.rows.text(0, 0)))
    }

    /// Returns whether the customer has bad credit, and the balance.
    pub async fn pay_customer<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        payment: &Payment,
        c_id: i64,
        attempt: &mut Attempt,
    ) -> Result<(bool, i64), Error> {
        let (amount, note) = (money(payment.amount_cents), payment_note(payment, c_id));
        let key = [Value::Int(payment.c_w), Value::Int(payment.c_d), Value::Int(c_id)];
        let values = [amount, amount, note.value(), key[0], key[1], key[2]];
        attempt.writes += 1;
        desk.connection.fetch(self.pay_customer, &values, &mut desk.rows).await?;
        if desk.rows.is_empty() {
            return Err(missing("every customer"));
        }
        Ok((desk.rows.text(0, 0) == b"BC", desk.rows.decimal(0, 1, 2)?))
    }

    /// Takes the oldest order of each district out of its queue. The transaction that deletes a row has it: where
    /// others were faster to delete, the districts are queried again.
    pub async fn take_oldest<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        w: i64,
        districts: RangeInclusive<i64>,
        attempt: &mut Attempt,
    ) -> Result<TakenOrders, Error> {
        let mut taken = TakenOrders::default();
        let mut wanted = Few::<i64, DISTRICTS_MAX>::default();
        districts.for_each(|d| wanted.push(d));
        for _ in 0..REREADS_MAX {
            let found = self.oldest(desk, w, &wanted, attempt).await?;
            if found.is_empty() {
                taken.sort_unstable_by_key(|order| order.d);
                return Ok(taken);
            }
            let (ds, os) = keys(&found);
            attempt.writes += 1;
            let values = [ds.value(), os.value(), Value::Int(w)];
            desk.connection.fetch(self.take, &values, &mut desk.rows).await?;
            for row in 0..desk.rows.len().min(found.len()) {
                taken.push(Taken { d: desk.rows.int(row, 0)?, o: desk.rows.int(row, 1)?, ..Taken::default() });
            }
            wanted = Few::default();
            let is_taken = |d: i64| taken.iter().any(|order| order.d == d);
            found.iter().filter(|order| !is_taken(order.d)).for_each(|order| wanted.push(order.d));
            if wanted.is_empty() {
                taken.sort_unstable_by_key(|order| order.d);
                return Ok(taken);
            }
        }
        Err(outrun())
    }

    async fn oldest<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        w: i64,
        wanted: &[i64],
        attempt: &mut Attempt,
    ) -> Result<TakenOrders, Error> {
        let mut found = TakenOrders::default();
        let districts = Numbers::array(wanted.iter());
        read(desk, self.oldest, &[Value::Int(w), districts.value()], attempt).await?;
        for row in 0..desk.rows.len().min(wanted.len()) {
            if !desk.rows.text(row, 1).is_empty() {
                found.push(Taken { d: desk.rows.int(row, 0)?, o: desk.rows.int(row, 1)?, ..Taken::default() });
            }
        }
        Ok(found)
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
        let w = Value::Int(delivery.w);
        let (ds, os) = keys(taken);
        attempt.writes += 2;
        let values = [Value::Int(delivery.carrier), ds.value(), os.value(), w];
        desk.connection.fetch(self.carry, &values, &mut desk.rows).await?;
        attach(desk, taken, |order, rows, row| {
            order.c = rows.int(row, 1)?;
            Ok(())
        })?;
        let values = [Value::Text(now), ds.value(), os.value(), w];
        desk.connection.fetch(self.lines, &values, &mut desk.rows).await?;
        attach(desk, taken, |order, rows, row| {
            order.sum_cents = rows.decimal(row, 1, 2)?;
            Ok(())
        })?;
        let sums = Numbers::array(taken.iter().map(|order| Cents(order.sum_cents)));
        let customers = Numbers::array(taken.iter().map(|order| order.c));
        let values = [sums.value(), ds.value(), customers.value(), w];
        write(&mut desk.connection, self.bill, &values, attempt).await?.is(taken.len() as u64, "bill-customers")
    }
}

/// Districts and numbers of orders.
fn keys(orders: &TakenOrders) -> (Numbers, Numbers) {
    (Numbers::array(orders.iter().map(|order| order.d)), Numbers::array(orders.iter().map(|order| order.o)))
}
