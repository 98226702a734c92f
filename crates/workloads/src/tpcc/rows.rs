//! The rows form: the specification's steps one by one, a statement for each row (clauses 2.4.2 to 2.8.2).
//!
//! With k lines a New-Order reads 2 + 2k times, updates 1 + k times and inserts 2 + k rows; a Payment takes
//! 7 statements, one more by name and one more with bad credit; an Order-Status 3, one more by name; a
//! Delivery 7 per district; a Stock-Level 2. PostgreSQL's UPDATE ... RETURNING saves 1 of a New-Order, 2 of a
//! Payment and 10 of a Delivery.
//!
//! What must stay true: rows are locked in one order (warehouse, district, customer; stock by warehouse and
//! item; districts ascending), and every value that a next step needs is read under its lock.

use driver::{Connection, Error, Statement, Value};

use super::desk::{Count, Desk};
use super::inputs::{Customer, Delivery, Line, NewOrder, OrderStatus, Payment, StockLevel};
use super::options::{self, Tpcc};
use super::random::DISTRICTS;
use super::stamp::StampText;
use super::statements::{
    Brackets, Buffer, C_DATA_BYTES, Change, LINES_OF_ORDER, Preparer, REREADS_MAX, Shown, expect_unused, history_data,
    is_original, middle, missing, money, order_total, outrun, payment_note, read, read_row, stock_after, write,
};
use load::{Attempt, Outcome};

pub const FILE: &str = include_str!("rows.sql");

pub struct RowsForm {
    brackets: Brackets,
    order: OrderStatements,
    pay: PaymentStatements,
    status: StatusStatements,
    deliver: DeliveryStatements,
    next_order: Statement,
    low_stock: Statement,
}

struct OrderStatements {
    customer: Statement,
    number: Change,
    insert_order: Statement,
    insert_new_order: Statement,
    item: Statement,
    /// By district.
    stock: Vec<Statement>,
    change_stock: Statement,
    insert_line: Statement,
}

struct PaymentStatements {
    warehouse: Change,
    district: Change,
    of_name: Statement,
    lock_customer: Statement,
    customer_data: Statement,
    customer: Statement,
    bad_customer: Statement,
    insert_history: Statement,
}

struct StatusStatements {
    customer: Statement,
    newest_order: Statement,
    lines: Statement,
}

struct DeliveryStatements {
    per_district: bool,
    oldest: Statement,
    /// Where an empty answer does not prove that there is no order.
    look: Option<Statement>,
    take: Statement,
    carry: Change,
    lines: Statement,
    sum: Statement,
    bill: Statement,
}

/// What an order has in common for all of its lines.
struct Head {
    o_id: i64,
    lines_cents: i64,
    brand_lines: u64,
}

impl RowsForm {
    pub fn prepare<C: Connection>(tpcc: &Tpcc, connection: &mut C) -> Result<RowsForm, Error> {
        let mut sql = Preparer::new(FILE, connection);
        Ok(RowsForm {
            brackets: sql.brackets()?,
            order: OrderStatements {
                customer: sql.one("order-customer")?,
                number: sql.change("number-order", "order-district", Shown::Before)?,
                insert_order: sql.one("insert-order")?,
                insert_new_order: sql.one("insert-new-order")?,
                item: sql.one("item")?,
                stock: sql.by_district("stock")?,
                change_stock: sql.one("change-stock")?,
                insert_line: sql.one("insert-line")?,
            },
            pay: PaymentStatements {
                warehouse: sql.change("pay-warehouse", "show-warehouse", Shown::After)?,
                district: sql.change("pay-district", "show-district", Shown::After)?,
                of_name: sql.one("customers-of-name")?,
                lock_customer: sql.one("lock-customer")?,
                customer_data: sql.one("customer-data")?,
                customer: sql.one("pay-customer")?,
                bad_customer: sql.one("pay-bad-customer")?,
                insert_history: sql.one("insert-history")?,
            },
            status: StatusStatements {
                customer: sql.one("customer")?,
                newest_order: sql.one("newest-order")?,
                lines: sql.one("lines-of-order")?,
            },
            deliver: DeliveryStatements {
                per_district: tpcc.delivery == options::Delivery::PerDistrict,
                oldest: sql.one("oldest-order")?,
                look: sql.optional("look-for-orders")?,
                take: sql.one("take-order")?,
                carry: sql.change("carry-order", "customer-of-order", Shown::After)?,
                lines: sql.one("deliver-lines")?,
                sum: sql.one("sum-of-lines")?,
                bill: sql.one("bill-customer")?,
            },
            next_order: sql.one("next-order")?,
            low_stock: sql.one("low-stock")?,
        })
    }

    pub async fn new_order<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d, c) = (Value::Int(order.w), Value::Int(order.d), Value::Int(order.c));
        let statements = &self.order;
        self.brackets.begin_write(desk, attempt).await?;
        read_row(desk, statements.customer, &[w, d, c], attempt).await?;
        let (discount, w_tax) = (desk.rows.decimal(0, 0, 4)?, desk.rows.decimal(0, 3, 4)?);
        statements.number.run(desk, &[w, d], 2, attempt).await?;
        let (d_tax, o_id) = (desk.rows.decimal(0, 0, 4)?, desk.rows.int(0, 1)?);
        let now = desk.stamp.now();
        let (count, all_local) = (Value::Int(order.lines().len() as i64), Value::Int(order.all_local().into()));
        let row = [Value::Int(o_id), d, w, c, Value::Text(&now), count, all_local];
        write(&mut desk.connection, statements.insert_order, &row, attempt).await?.is(1, "insert-order")?;
        write(&mut desk.connection, statements.insert_new_order, &row[..3], attempt)
            .await?
            .is(1, "insert-new-order")?;
        let mut head = Head { o_id, lines_cents: 0, brand_lines: 0 };
        for number in order.in_lock_order() {
            if !self.line(desk, order, number, &mut head, attempt).await? {
                self.brackets.roll_back(desk, attempt).await?;
                return Ok(Outcome::RolledBack);
            }
        }
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add_order(order);
        desk.shown.cents = order_total(head.lines_cents, discount, w_tax + d_tax);
        desk.shown.brand_lines = head.brand_lines;
        Ok(Outcome::Committed)
    }

    /// One line, from its item to its row; `false` when the item is unused.
    async fn line<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        order: &NewOrder,
        number: usize,
        head: &mut Head,
        attempt: &mut Attempt,
    ) -> Result<bool, Error> {
        let Line { item, supply_w, quantity } = order.lines()[number];
        let statements = &self.order;
        let stock_key = [Value::Int(supply_w), Value::Int(item)];
        if read(desk, statements.item, &stock_key[1..], attempt).await? == 0 {
            return expect_unused(item).map(|()| false);
        }
        let amount_cents = quantity * desk.rows.decimal(0, 0, 2)?;
        let is_original_item = is_original(desk.rows.text(0, 2));
        read_row(desk, statements.stock[order.d as usize - 1], &stock_key, attempt).await?;
        let left = stock_after(desk.rows.int(0, 0)?, quantity);
        head.lines_cents += amount_cents;
        head.brand_lines += u64::from(is_original_item && is_original(desk.rows.text(0, 2)));
        let (quantity, is_remote) = (Value::Int(quantity), Value::Int((supply_w != order.w).into()));
        let values = [Value::Int(left), quantity, is_remote, stock_key[0], stock_key[1]];
        write(&mut desk.connection, statements.change_stock, &values, attempt).await?.is(1, "change-stock")?;
        let row = [
            Value::Int(head.o_id),
            Value::Int(order.d),
            Value::Int(order.w),
            Value::Int(number as i64 + 1),
            stock_key[1],
            stock_key[0],
            quantity,
            money(amount_cents),
            Value::Text(desk.rows.text(0, 1)),
        ];
        write(&mut desk.connection, statements.insert_line, &row, attempt).await?.is(1, "insert-line")?;
        Ok(true)
    }

    pub async fn payment<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        payment: &Payment,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d, amount) = (Value::Int(payment.w), Value::Int(payment.d), money(payment.amount_cents));
        let statements = &self.pay;
        self.brackets.begin_write(desk, attempt).await?;
        statements.warehouse.run(desk, &[amount, w], 1, attempt).await?;
        let mut names = Buffer::<10>::default();
        names.push(desk.rows.text(0, 0));
        statements.district.run(desk, &[amount, w, d], 2, attempt).await?;
        let history = history_data(names.as_bytes(), desk.rows.text(0, 0));
        let home = (payment.c_w, payment.c_d);
        let (c_id, of_name) = self.customer_id(desk, home, &payment.customer, attempt).await?;
        let key = [Value::Int(payment.c_w), Value::Int(payment.c_d), Value::Int(c_id)];
        read_row(desk, statements.lock_customer, &key, attempt).await?;
        let is_bad = desk.rows.text(0, 0) == b"BC";
        let balance = desk.rows.decimal(0, 1, 2)? - payment.amount_cents;
        if is_bad {
            read_row(desk, statements.customer_data, &key, attempt).await?;
            let mut data = Buffer::<C_DATA_BYTES>::default();
            data.push(payment_note(payment, c_id).as_bytes());
            data.push(desk.rows.text(0, 0));
            let values = [amount, amount, data.value(), key[0], key[1], key[2]];
            write(&mut desk.connection, statements.bad_customer, &values, attempt).await?.is(1, "pay-bad-customer")?;
        } else {
            let values = [amount, amount, key[0], key[1], key[2]];
            write(&mut desk.connection, statements.customer, &values, attempt).await?.is(1, "pay-customer")?;
        }
        let now = desk.stamp.now();
        let row = [key[2], key[1], key[0], d, w, Value::Text(&now), amount, history.value()];
        write(&mut desk.connection, statements.insert_history, &row, attempt).await?.is(1, "insert-history")?;
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add_payment(payment, of_name, is_bad);
        desk.shown.cents = balance;
        Ok(Outcome::Committed)
    }

    /// The customer meant, and how many have the name, if it was one.
    async fn customer_id<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        (w, d): (i64, i64),
        customer: &Customer,
        attempt: &mut Attempt,
    ) -> Result<(i64, Option<u64>), Error> {
        let name = match customer {
            Customer::Id(id) => return Ok((*id, None)),
            Customer::LastName(name) => Value::Text(name.as_bytes()),
        };
        match read(desk, self.pay.of_name, &[Value::Int(w), Value::Int(d), name], attempt).await? {
            0 => Err(missing("a customer of every name in every district")),
            found => Ok((desk.rows.int(middle(found), 0)?, Some(found as u64))),
        }
    }

    pub async fn order_status<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &OrderStatus,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d) = (Value::Int(asked.w), Value::Int(asked.d));
        self.brackets.begin(desk, attempt).await?;
        let (c_id, of_name) = self.customer_id(desk, (asked.w, asked.d), &asked.customer, attempt).await?;
        let key = [w, d, Value::Int(c_id)];
        read_row(desk, self.status.customer, &key, attempt).await?;
        desk.shown.cents = desk.rows.decimal(0, 0, 2)?;
        if read(desk, self.status.newest_order, &key, attempt).await? == 0 {
            return Err(missing("an order of every customer"));
        }
        let o_id = Value::Int(desk.rows.int(0, 0)?);
        let lines = read(desk, self.status.lines, &[w, d, o_id], attempt).await?;
        if !LINES_OF_ORDER.contains(&(lines as u64)) {
            return Err(missing("the 5 to 15 lines of every order"));
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
        let now = desk.stamp.now();
        let per_district = self.deliver.per_district;
        if !per_district {
            desk.progress = Default::default();
            self.brackets.begin_write(desk, attempt).await?;
        }
        while desk.progress.district() <= DISTRICTS {
            if per_district {
                self.brackets.begin_write(desk, attempt).await?;
            }
            let order = self.district(desk, delivery, &now, attempt).await?;
            if per_district {
                self.brackets.commit(desk, attempt).await?;
            }
            desk.progress.pass(order);
        }
        if !per_district {
            self.brackets.commit(desk, attempt).await?;
        }
        desk.count_delivery();
        Ok(Outcome::Committed)
    }

    /// Delivers the oldest order of the next district, and returns which; none where none is left.
    async fn district<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        delivery: &Delivery,
        now: &StampText,
        attempt: &mut Attempt,
    ) -> Result<Option<i64>, Error> {
        let (w, d) = (Value::Int(delivery.w), Value::Int(desk.progress.district()));
        let statements = &self.deliver;
        let Some(o_id) = self.take_oldest(desk, [w, d], attempt).await? else { return Ok(None) };
        let key = [w, d, Value::Int(o_id)];
        let carrier = Value::Int(delivery.carrier);
        statements.carry.run(desk, &[carrier, key[0], key[1], key[2]], 3, attempt).await?;
        let customer = Value::Int(desk.rows.int(0, 0)?);
        let values = [Value::Text(now), key[0], key[1], key[2]];
        let lines = write(&mut desk.connection, statements.lines, &values, attempt).await?;
        lines.is_within(LINES_OF_ORDER, "deliver-lines")?;
        read_row(desk, statements.sum, &key, attempt).await?;
        let sum_cents = desk.rows.decimal(0, 0, 2)?;
        write(&mut desk.connection, statements.bill, &[money(sum_cents), w, d, customer], attempt)
            .await?
            .is(1, "bill-customer")?;
        desk.shown.cents = sum_cents;
        Ok(Some(o_id))
    }

    /// Locks the oldest order of a district and takes it out of the queue.
    ///
    /// A transaction that waited for a row that was then deleted gets nothing from PostgreSQL, though other orders may
    /// be
    /// there; it queries again, without a lock, before it takes the queue for empty. Rows that others
    /// hold are never passed over: if they rolled back, a hole would stay in the queue (condition 3).
    async fn take_oldest<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        district: [Value<'_>; 2],
        attempt: &mut Attempt,
    ) -> Result<Option<i64>, Error> {
        let statements = &self.deliver;
        for _ in 0..REREADS_MAX {
            if read(desk, statements.oldest, &district, attempt).await? == 0 {
                let Some(look) = statements.look else { return Ok(None) };
                if read(desk, look, &district, attempt).await? == 0 {
                    return Ok(None);
                }
                continue;
            }
            let o_id = desk.rows.int(0, 0)?;
            let key = [district[0], district[1], Value::Int(o_id)];
            if write(&mut desk.connection, statements.take, &key, attempt).await?.0 == 1 {
                return Ok(Some(o_id));
            }
        }
        Err(outrun())
    }

    pub async fn stock_level<C: Connection>(
        &mut self,
        desk: &mut Desk<C>,
        asked: &StockLevel,
        attempt: &mut Attempt,
    ) -> Result<Outcome, Error> {
        let (w, d) = (Value::Int(asked.w), Value::Int(asked.d));
        self.brackets.begin(desk, attempt).await?;
        read_row(desk, self.next_order, &[w, d], attempt).await?;
        let next = desk.rows.int(0, 0)?;
        let values = [w, d, Value::Int(next - 20), Value::Int(next), Value::Int(asked.threshold)];
        read_row(desk, self.low_stock, &values, attempt).await?;
        let low = desk.rows.int(0, 0)?;
        self.brackets.commit(desk, attempt).await?;
        desk.counts.add(Count::LowStock, low as u64);
        Ok(Outcome::Committed)
    }
}
