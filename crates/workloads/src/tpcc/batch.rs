//! The batch form: a statement for each set of rows, where the rows form has one for each row.
//!
//! A set is an array on PostgreSQL (`batch/arrays.rs`), and a list of keys on the others (`batch/lists.rs`), with
//! a prepared statement for each length. Statements without BEGIN and COMMIT, for k lines of u different stock
//! rows, and m districts that have an order:
//!
//! | type | PostgreSQL | MySQL, MariaDB, SQLite |
//! |---|---|---|
//! | New-Order | 8 | 8 + u: their UPDATE gives one row one value, so stock is written row by row |
//! | Payment | 4, by name 5 | 6, by name 7: without RETURNING both places are read by one join |
//! | Order-Status | 2 | 2 |
//! | Delivery | 5 | 10 + 5 + m: orders are locked and customers billed one by one |
//! | Stock-Level | 1 | 1 |
//!
//! What must stay true beside the rules of the rows form: prices and district texts are attached to lines by key,
//! since nothing orders the rows of a set; a stock row that several lines take from is changed line by line in
//! memory and written once; an item that is missing from its set ends the order, after the work of the others.

mod arrays;
mod lists;
mod sets;

use std::ops::RangeInclusive;

use driver::{Connection, Dialect, Error, Statement, Value};

use self::arrays::Arrays;
use self::lists::Lists;
use self::sets::{FILE, Few, Priced, PricedLines, StockChange, StockChanges, TakenOrders};
use super::desk::{Count, Desk};
use super::inputs::{Customer, Delivery, LINES_MAX, NewOrder, OrderStatus, Payment, StockLevel};
use super::options::Tpcc;
use super::random::DISTRICTS;
use super::statements::{
    Brackets, Change, LINES_OF_ORDER, Preparer, Shown, expect_unused, is_original, middle, missing, order_total, read,
    read_row, stock_after, write,
};
use super::{options, rows};
use load::{Attempt, Outcome};

pub struct BatchForm {
    brackets: Brackets,
    order_customer: Statement,
    number: Change,
    insert_order: Statement,
    insert_new_order: Statement,
    of_name: Statement,
    insert_history: Statement,
    customer: Statement,
    customers_of_name: Statement,
    newest_order: Statement,
    low_stock: Statement,
    per_district: bool,
    sets: Sets,
}

/// How a set of keys travels.
enum Sets {
    Arrays(Arrays),
    Lists(Lists),
}

impl BatchForm {
    pub fn prepare<C: Connection>(tpcc: &Tpcc, connection: &mut C) -> Result<BatchForm, Error> {
        let mut shared = Preparer::new(rows::FILE, connection);
        let brackets = shared.brackets()?;
        let order_customer = shared.one("order-customer")?;
        let number = shared.change("number-order", "order-district", Shown::Before)?;
        let insert_order = shared.one("insert-order")?;
        let insert_new_order = shared.one("insert-new-order")?;
        let of_name = shared.one("customers-of-name")?;
        let insert_history = shared.one("insert-history")?;
        let sets = match shared.dialect {
            Dialect::Postgres => Sets::Arrays(Arrays::prepare(connection)?),
            Dialect::MySql | Dialect::Sqlite => Sets::Lists(Lists::prepare(connection)?),
        };
        let mut sql = Preparer::new(FILE, connection);
        Ok(BatchForm {
            brackets,
            order_customer,
            number,
            insert_order,
            insert_new_order,
            of_name,
            insert_history,
            customer: sql.one("customer")?,
            customers_of_name: sql.one("customers-of-name")?,
            newest_order: sql.one("newest-order")?,
            low_stock: sql.one("low-stock")?,
            per_district: tpcc.delivery == options::Delivery::PerDistrict,
            sets,
        })
    }

    pub async fn new_order<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d, c) = (Value::Int(order.w), Value::Int(order.d), Value::Int(order.c));
        self.brackets.begin_write(desk, attempt).await?;
        read_row(desk, self.order_customer, &[w, d, c], attempt).await?;
        let (discount, w_tax) = (desk.rows.decimal(0, 0, 4)?, desk.rows.decimal(0, 3, 4)?);
        self.number.run(desk, &[w, d], 2, attempt).await?;
        let (d_tax, o_id) = (desk.rows.decimal(0, 0, 4)?, desk.rows.int(0, 1)?);
        let now = desk.stamp.now();
        let (count, all_local) = (Value::Int(order.lines().len() as i64), Value::Int(order.all_local().into()));
        let row = [Value::Int(o_id), d, w, c, Value::Text(&now), count, all_local];
        write(&mut desk.connection, self.insert_order, &row, attempt).await?.is(1, "insert-order")?;
        write(&mut desk.connection, self.insert_new_order, &row[..3], attempt).await?.is(1, "insert-new-order")?;
        let lines = self.lines(desk, order, o_id, attempt).await?;
        if lines.len() < order.lines().len() {
            self.brackets.roll_back(desk, attempt).await?;
            return Ok(Outcome::RolledBack);
        }
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add_order(order);
        let lines_cents = lines.iter().map(|line| line.amount_cents).sum();
        desk.shown.cents = order_total(lines_cents, discount, w_tax + d_tax);
        desk.shown.brand_lines = lines.iter().filter(|line| line.is_original).count() as u64;
        Ok(Outcome::Committed)
    }

    /// Items, stock and order lines; returns the lines whose items are sold.
    async fn lines<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        o_id: i64,
        attempt: &mut Attempt,
    ) -> Result<PricedLines, Error> {
        match &self.sets {
            Sets::Arrays(arrays) => arrays.items(desk, order, attempt).await?,
            Sets::Lists(lists) => lists.items(desk, order, attempt).await?,
        }
        let (mut lines, mut changes) = priced(desk, order)?;
        match &self.sets {
            Sets::Arrays(arrays) => arrays.stock(desk, order.d, &changes, attempt).await?,
            Sets::Lists(lists) => lists.stock(desk, order.d, &changes, attempt).await?,
        }
        take_stock(desk, order.w, &mut lines, &mut changes)?;
        match &self.sets {
            Sets::Arrays(arrays) => {
                arrays.write_lines(desk, (order.w, order.d, o_id), &lines, &changes, attempt).await?
            }
            Sets::Lists(lists) => {
                lists.write_lines(desk, (order.w, order.d, o_id), &lines, &changes, attempt).await?;
            }
        }
        Ok(lines)
    }

    pub async fn payment<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        self.brackets.begin_write(desk, attempt).await?;
        let history = match &self.sets {
            Sets::Arrays(arrays) => arrays.pay_places(desk, payment, attempt).await?,
            Sets::Lists(lists) => lists.pay_places(desk, payment, attempt).await?,
        };
        let (c_w, c_d) = (Value::Int(payment.c_w), Value::Int(payment.c_d));
        let (c_id, of_name) = match &payment.customer {
            Customer::Id(id) => (*id, None),
            Customer::LastName(name) => {
                let found = read(desk, self.of_name, &[c_w, c_d, Value::Text(name.as_bytes())], attempt).await?;
                (desk.rows.int(middle_of(found)?, 0)?, Some(found as u64))
            }
        };
        let (is_bad, balance) = match &self.sets {
            Sets::Arrays(arrays) => arrays.pay_customer(desk, payment, c_id, attempt).await?,
            Sets::Lists(lists) => lists.pay_customer(desk, payment, c_id, attempt).await?,
        };
        let now = desk.stamp.now();
        let amount = super::statements::money(payment.amount_cents);
        let (w, d) = (Value::Int(payment.w), Value::Int(payment.d));
        let row = [Value::Int(c_id), c_d, c_w, d, w, Value::Text(&now), amount, history.value()];
        write(&mut desk.connection, self.insert_history, &row, attempt).await?.is(1, "insert-history")?;
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add_payment(payment, of_name, is_bad);
        desk.shown.cents = balance;
        Ok(Outcome::Committed)
    }

    /// One statement shows the customer, or all of the name, and another the newest order with its lines.
    pub async fn order_status<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &OrderStatus,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d) = (Value::Int(asked.w), Value::Int(asked.d));
        self.brackets.begin(desk, attempt).await?;
        let (place, of_name) = match &asked.customer {
            Customer::Id(id) => {
                read_row(desk, self.customer, &[w, d, Value::Int(*id)], attempt).await?;
                (0, None)
            }
            Customer::LastName(name) => {
                let values = [w, d, Value::Text(name.as_bytes())];
                let found = read(desk, self.customers_of_name, &values, attempt).await?;
                (middle_of(found)?, Some(found as u64))
            }
        };
        let c_id = Value::Int(desk.rows.int(place, 0)?);
        desk.shown.cents = desk.rows.decimal(place, 1, 2)?;
        let lines = read(desk, self.newest_order, &[w, d, w, d, c_id], attempt).await?;
        if !LINES_OF_ORDER.contains(&(lines as u64)) {
            return Err(missing("an order of every customer, with its 5 to 15 lines,"));
        }
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add_order_status(of_name);
        Ok(Outcome::Committed)
    }

    pub async fn delivery<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        if !self.per_district {
            desk.progress = Default::default();
        }
        while desk.progress.district() <= DISTRICTS {
            let first = desk.progress.district();
            let districts = first..=if self.per_district { first } else { DISTRICTS };
            self.brackets.begin_write(desk, attempt).await?;
            let taken = self.deliver(desk, delivery, districts.clone(), attempt).await?;
            self.brackets.commit(desk, attempt).await?;
            for d in districts {
                desk.progress.pass(taken.iter().find(|order| order.d == d).map(|order| order.o));
            }
        }
        desk.count_delivery();
        Ok(Outcome::Committed)
    }

    /// Delivers the oldest order of each of these districts that has one, and returns which they are.
    async fn deliver<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        districts: RangeInclusive<i64>,
        attempt: &mut Attempt,
    ) -> Result<TakenOrders, Error> {
        let mut taken = match &self.sets {
            Sets::Arrays(arrays) => arrays.take_oldest(desk, delivery.w, districts, attempt).await?,
            Sets::Lists(lists) => lists.take_oldest(desk, delivery.w, districts, attempt).await?,
        };
        if taken.is_empty() {
            return Ok(taken);
        }
        let now = desk.stamp.now();
        match &self.sets {
            Sets::Arrays(arrays) => arrays.deliver(desk, delivery, &now, &mut taken, attempt).await?,
            Sets::Lists(lists) => lists.deliver(desk, delivery, &now, &mut taken, attempt).await?,
        }
        desk.shown.cents = taken.last().map_or(0, |order| order.sum_cents);
        Ok(taken)
    }

    pub async fn stock_level<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &StockLevel,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let values = [Value::Int(asked.w), Value::Int(asked.d), Value::Int(asked.threshold)];
        self.brackets.begin(desk, attempt).await?;
        read_row(desk, self.low_stock, &values, attempt).await?;
        let low = desk.rows.int(0, 0)?;
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add(Count::LowStock, low as u64);
        Ok(Outcome::Committed)
    }
}

/// The place of the customer that a name means.
fn middle_of(found: usize) -> Result<usize, Error> {
    if found == 0 { Err(missing("a customer of every name in every district")) } else { Ok(middle(found)) }
}

/// The lines whose items are in `desk.rows`, in the order of locks, and the stock rows that they need.
fn priced<C>(desk: &Desk<C>, order: &NewOrder) -> Result<(PricedLines, StockChanges), Error> {
    let mut items = Few::<i64, LINES_MAX>::default();
    for row in 0..desk.rows.len().min(LINES_MAX) {
        items.push(desk.rows.int(row, 0)?);
    }
    let (mut lines, mut changes) = (PricedLines::default(), StockChanges::default());
    for place in order.in_lock_order() {
        let line = order.lines()[place];
        let Some(row) = items.iter().position(|item| *item == line.item) else {
            expect_unused(line.item)?;
            continue;
        };
        // Lines of one stock row follow each other in this order.
        if changes.last().is_none_or(|last| (last.w, last.item) != (line.supply_w, line.item)) {
            changes.push(StockChange { w: line.supply_w, item: line.item, ..StockChange::default() });
        }
        lines.push(Priced {
            number: place as i64 + 1,
            line,
            amount_cents: line.quantity * desk.rows.decimal(row, 1, 2)?,
            is_original: is_original(desk.rows.text(row, 2)),
            change: changes.len() - 1,
        });
    }
    Ok((lines, changes))
}

/// Applies the lines one by one to the stock in `desk.rows`.
fn take_stock<C>(desk: &Desk<C>, home: i64, lines: &mut PricedLines, changes: &mut StockChanges) -> Result<(), Error> {
    for row in 0..desk.rows.len() {
        let key = (desk.rows.int(row, 0)?, desk.rows.int(row, 1)?);
        if let Some(change) = changes.iter_mut().find(|change| (change.w, change.item) == key) {
            (change.row, change.left) = (row, desk.rows.int(row, 2)?);
        }
    }
    // An amount that no stock has: its row was not there.
    if changes.iter().any(|change| change.left == 0) {
        return Err(missing("the stock of every item in every warehouse"));
    }
    for priced in lines.iter_mut() {
        let change = &mut changes[priced.change];
        let quantity = priced.line.quantity;
        change.left = stock_after(change.left, quantity);
        change.quantity += quantity;
        change.lines += 1;
        change.remote += i64::from(change.w != home);
        priced.is_original = priced.is_original && is_original(desk.rows.text(change.row, 3));
    }
    Ok(())
}
