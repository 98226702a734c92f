//! What a form works with, and what a client counts beside statements.

use driver::Rows;

use super::inputs::{NewOrder, Payment};
use super::random::DISTRICTS;
use super::stamp::Stamp;

/// What clients count beside statements, of committed transactions.
pub const COUNT_NAMES: &[&str] = &[
    "lines",
    "quantity",
    "remote_lines",
    "remote_orders",
    "repeated_item_orders",
    "payment_cents",
    "remote_payments",
    "payments_by_name",
    "payment_name_rows",
    "bad_credit_payments",
    "order_statuses_by_name",
    "order_status_name_rows",
    "delivered_orders",
    "skipped_districts",
    "low_stock",
];

/// Places in [`COUNT_NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Lines,
    Quantity,
    RemoteLines,
    RemoteOrders,
    RepeatedItemOrders,
    PaymentCents,
    RemotePayments,
    PaymentsByName,
    PaymentNameRows,
    BadCreditPayments,
    OrderStatusesByName,
    OrderStatusNameRows,
    DeliveredOrders,
    SkippedDistricts,
    LowStock,
}

/// The counts of one try.
#[derive(Debug, Clone, Default)]
pub struct Counts(pub [u64; COUNT_NAMES.len()]);

impl Counts {
    pub fn add(&mut self, count: Count, by: u64) {
        self.0[count as usize] += by;
    }

    /// A New-Order that committed.
    pub fn add_order(&mut self, order: &NewOrder) {
        let lines = order.lines();
        let remote = lines.iter().filter(|line| line.supply_w != order.w).count() as u64;
        let repeats = |at: usize| lines[..at].iter().any(|earlier| earlier.item == lines[at].item);
        self.add(Count::Lines, lines.len() as u64);
        self.add(Count::Quantity, lines.iter().map(|line| line.quantity as u64).sum());
        self.add(Count::RemoteLines, remote);
        self.add(Count::RemoteOrders, u64::from(remote > 0));
        self.add(Count::RepeatedItemOrders, u64::from((1..lines.len()).any(repeats)));
    }

    /// A Payment that committed; `of_name` customers have the name, if it went by name.
    pub fn add_payment(&mut self, payment: &Payment, of_name: Option<u64>, is_bad: bool) {
        self.add(Count::PaymentCents, payment.amount_cents as u64);
        self.add(Count::RemotePayments, u64::from(payment.c_w != payment.w));
        self.add(Count::PaymentsByName, u64::from(of_name.is_some()));
        self.add(Count::PaymentNameRows, of_name.unwrap_or(0));
        self.add(Count::BadCreditPayments, u64::from(is_bad));
    }

    pub fn add_order_status(&mut self, of_name: Option<u64>) {
        self.add(Count::OrderStatusesByName, u64::from(of_name.is_some()));
        self.add(Count::OrderStatusNameRows, of_name.unwrap_or(0));
    }
}

/// How far a Delivery has come. Where each district is committed alone, another try goes on from here: to
/// begin anew would deliver twice in the districts that are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    done: usize,
    /// By district, of those that are done: the order that was delivered, or 0 where there was none.
    pub orders: [u32; DISTRICTS as usize],
}

impl Progress {
    /// The district that is next, from 1.
    pub fn district(&self) -> i64 {
        self.done as i64 + 1
    }

    /// The next district is done: this order of it was delivered, or there was none.
    pub fn pass(&mut self, order: Option<i64>) {
        if let Some(place) = self.orders.get_mut(self.done) {
            *place = order.map_or(0, |order| order as u32);
        }
        self.done += 1;
    }

    fn delivered(&self) -> u64 {
        self.orders.iter().filter(|order| **order > 0).count() as u64
    }
}

/// What the terminal of the last transaction would show of values that the client computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Display {
    /// A New-Order's total; a customer's balance; the last sum that a Delivery billed.
    pub cents: i64,
    pub brand_lines: u64,
}

/// What a form works with: the connection, room for rows, the time, and what came of this try.
pub struct Desk<C> {
    pub connection: C,
    pub rows: Rows,
    pub counts: Counts,
    pub stamp: Stamp,
    pub progress: Progress,
    pub shown: Display,
}

impl<C> Desk<C> {
    pub fn new(connection: C) -> Desk<C> {
        Desk {
            connection,
            rows: Rows::default(),
            counts: Counts::default(),
            stamp: Stamp::default(),
            progress: Progress::default(),
            shown: Display::default(),
        }
    }

    /// Counts a Delivery of all districts that committed.
    pub fn count_delivery(&mut self) {
        let delivered = self.progress.delivered();
        self.counts.add(Count::DeliveredOrders, delivered);
        self.counts.add(Count::SkippedDistricts, DISTRICTS as u64 - delivered);
    }
}
