//! What the batch form works on, in place: priced lines, changes of stock rows, orders that leave the queue.

use std::ops::{Deref, DerefMut};

use driver::{Error, Rows};

use super::super::desk::Desk;
use super::super::inputs::{LINES_MAX, Line};
use super::super::random::DISTRICTS;
use super::super::statements::missing;

pub const FILE: &str = include_str!("../batch.sql");

/// At most `N` values in place.
#[derive(Debug, Clone, Copy)]
pub struct Few<T, const N: usize> {
    pub values: [T; N],
    pub count: usize,
}

impl<T: Copy + Default, const N: usize> Default for Few<T, N> {
    fn default() -> Few<T, N> {
        Few { values: [T::default(); N], count: 0 }
    }
}

impl<T, const N: usize> Few<T, N> {
    pub fn push(&mut self, value: T) {
        self.values[self.count] = value;
        self.count += 1;
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..self.count]
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.count]
    }
}

/// A line whose item is sold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Priced {
    pub number: i64,
    pub line: Line,
    pub amount_cents: i64,
    pub is_original: bool,
    /// Its stock, as a place among the changes.
    pub change: usize,
}

/// What an order does to one stock row.
#[derive(Debug, Clone, Copy, Default)]
pub struct StockChange {
    pub w: i64,
    pub item: i64,
    pub left: i64,
    pub quantity: i64,
    pub lines: i64,
    pub remote: i64,
    /// Where the row is in the answer.
    pub row: usize,
}

pub type PricedLines = Few<Priced, LINES_MAX>;
pub type StockChanges = Few<StockChange, LINES_MAX>;

/// An order that leaves the queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    pub d: i64,
    pub o: i64,
    pub c: i64,
    pub sum_cents: i64,
}

pub const DISTRICTS_MAX: usize = DISTRICTS as usize;
pub type TakenOrders = Few<Taken, DISTRICTS_MAX>;

/// Column of `desk.rows` in which a stock row has the text of the order's district.
pub const DISTRICT_TEXT: usize = 4;

/// Gives each order the values of its row in `desk.rows`; the district is the row's first column.
pub fn attach<C>(
    desk: &Desk<C>,
    orders: &mut TakenOrders,
    take: impl Fn(&mut Taken, &Rows, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    for row in 0..desk.rows.len() {
        let d = desk.rows.int(row, 0)?;
        if let Some(order) = orders.iter_mut().find(|order| order.d == d) {
            take(order, &desk.rows, row)?;
        }
    }
    if desk.rows.len() == orders.len() { Ok(()) } else { Err(missing("the order of every row of new_order")) }
}
