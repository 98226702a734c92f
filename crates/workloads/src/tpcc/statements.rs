//! What the forms share: sections of SQL prepared on a connection, statements sent and counted, and text in
//! place. Nothing here allocates but [`Preparer`], which belongs to the set-up.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;

use driver::{Code, Connection, Dialect, Error, Statement, Value};

use super::desk::Desk;
use super::random::ITEMS;
use crate::sections::{find, prepared, section};
use load::Attempt;

/// Prepares the sections of one file.
pub struct Preparer<'a, C> {
    file: &'static str,
    pub dialect: Dialect,
    connection: &'a mut C,
}

impl<'a, C: Connection> Preparer<'a, C> {
    pub fn new(file: &'static str, connection: &'a mut C) -> Preparer<'a, C> {
        Preparer { file, dialect: connection.dialect(), connection }
    }

    pub fn text(&self, name: &str) -> &'static str {
        section(self.file, name, self.dialect)
    }

    pub fn sql(&mut self, text: &str) -> Result<Statement, Error> {
        self.connection.prepare(&prepared(text, self.dialect))
    }

    pub fn one(&mut self, name: &str) -> Result<Statement, Error> {
        self.sql(self.text(name))
    }

    /// Where a dialect may do without.
    pub fn optional(&mut self, name: &str) -> Result<Option<Statement>, Error> {
        find(self.file, name, self.dialect).map(|text| self.sql(text)).transpose()
    }

    /// A change, and how its row is shown: by the change itself, where there is no section `show`.
    pub fn change(&mut self, change: &'static str, show: &str, when: Shown) -> Result<Change, Error> {
        Ok(Change { name: change, change: self.one(change)?, show: self.optional(show)?, when })
    }

    /// One statement for each number of pieces: `{, |?}` in the text is so many `?` with commas between.
    pub fn by_count(&mut self, name: &str, counts: std::ops::RangeInclusive<usize>) -> Result<ByCount, Error> {
        let text = self.text(name);
        let least = *counts.start();
        let statements = counts.map(|count| self.sql(&repeat(text, count))).collect::<Result<_, _>>()?;
        Ok(ByCount { least, statements })
    }

    /// One statement per district, which chooses the column of stock that an order there prints.
    pub fn by_district(&mut self, name: &str) -> Result<Vec<Statement>, Error> {
        let text = self.text(name);
        (1..=10).map(|district| self.sql(&text.replace("s_dist_xx", &format!("s_dist_{district:02}")))).collect()
    }

    pub fn brackets(&mut self) -> Result<Brackets, Error> {
        Ok(Brackets {
            begin: self.sql("BEGIN")?,
            begin_write: self.sql(self.dialect.begin_write())?,
            commit: self.sql("COMMIT")?,
            roll_back: self.sql("ROLLBACK")?,
        })
    }
}

/// Statements of one text, by how many pieces it has.
#[derive(Debug)]
pub struct ByCount {
    least: usize,
    statements: Vec<Statement>,
}

impl ByCount {
    /// The statement for so many pieces, or for the least number there is, and that number.
    pub fn of(&self, count: usize) -> (Statement, usize) {
        let count = count.max(self.least);
        (self.statements[count - self.least], count)
    }
}

/// Writes each `{separator|piece}` out.
fn repeat(text: &str, count: usize) -> String {
    let mut parts = text.split('{');
    let mut sql = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (list, rest) = part.split_once('}').expect("every list in a section is closed");
        let (separator, piece) = list.split_once('|').expect("every list in a section has a separator");
        sql.push_str(&vec![piece; count].join(separator));
        sql.push_str(rest);
    }
    sql
}

/// When a row is shown by a statement of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Read and locked, then changed.
    Before,
    After,
}

/// Changes one row and shows it: in one statement where the engine can, else in two.
#[derive(Debug)]
pub struct Change {
    name: &'static str,
    change: Statement,
    show: Option<Statement>,
    when: Shown,
}

impl Change {
    /// `values` are the change's; the last `keys` of them find the row. What it shows is in `desk.rows`.
    pub async fn run<C: Connection>(
        &self,
        desk: &mut Desk<C>,
        values: &[Value<'_>],
        keys: usize,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let Some(show) = self.show else {
            attempt.writes += 1;
            desk.connection.fetch(self.change, values, &mut desk.rows).await?;
            return found(desk);
        };
        if self.when == Shown::After {
            write(&mut desk.connection, self.change, values, attempt).await?.is(1, self.name)?;
        }
        read(desk, show, &values[values.len() - keys..], attempt).await?;
        found(desk)?;
        if self.when == Shown::Before {
            write(&mut desk.connection, self.change, values, attempt).await?.is(1, self.name)?;
        }
        Ok(())
    }
}

/// The ends of transactions.
#[derive(Debug)]
pub struct Brackets {
    begin: Statement,
    begin_write: Statement,
    commit: Statement,
    roll_back: Statement,
}

impl Brackets {
    /// Opens a transaction that only reads.
    pub async fn begin<C: Connection>(&self, desk: &mut Desk<C>, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.other += 1;
        desk.connection.execute(self.begin, &[]).await.map(|_| ())
    }

    pub async fn begin_write<C: Connection>(&self, desk: &mut Desk<C>, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.other += 1;
        desk.connection.execute(self.begin_write, &[]).await.map(|_| ())
    }

    pub async fn commit<C: Connection>(&self, desk: &mut Desk<C>, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.committing = true;
        attempt.other += 1;
        desk.connection.execute(self.commit, &[]).await?;
        attempt.committing = false;
        Ok(())
    }

    /// On purpose, not after an error.
    pub async fn roll_back<C: Connection>(&self, desk: &mut Desk<C>, attempt: &mut Attempt) -> Result<(), Error> {
        attempt.other += 1;
        desk.connection.execute(self.roll_back, &[]).await.map(|_| ())
    }
}

/// Reads into `desk.rows` and returns how many rows there are.
pub async fn read<C: Connection>(
    desk: &mut Desk<C>,
    statement: Statement,
    values: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<usize, Error> {
    attempt.reads += 1;
    desk.connection.fetch(statement, values, &mut desk.rows).await?;
    Ok(desk.rows.len())
}

/// Reads a row that is there.
pub async fn read_row<C: Connection>(
    desk: &mut Desk<C>,
    statement: Statement,
    values: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<(), Error> {
    read(desk, statement, values, attempt).await?;
    found(desk)
}

/// Writes and returns how many rows the change found. The connection stands alone so that values may be borrowed
/// from the desk's rows.
pub async fn write<C: Connection>(
    connection: &mut C,
    statement: Statement,
    values: &[Value<'_>],
    attempt: &mut Attempt,
) -> Result<Matched, Error> {
    attempt.writes += 1;
    connection.execute(statement, values).await.map(|answer| Matched(answer.matched()))
}

/// Rows that a change found. No row of these tables is deleted but from the queue of new orders, so the inputs of
/// a transaction decide how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Matched(pub u64);

impl Matched {
    #[inline]
    pub fn is(self, expected: u64, statement: &str) -> Result<(), Error> {
        if self.0 == expected { Ok(()) } else { Err(mismatch(self.0, &(expected..=expected), statement)) }
    }

    pub fn is_within(self, expected: RangeInclusive<u64>, statement: &str) -> Result<(), Error> {
        if expected.contains(&self.0) { Ok(()) } else { Err(mismatch(self.0, &expected, statement)) }
    }
}

/// Apart from the check, so that the measured path stays short.
#[cold]
fn mismatch(seen: u64, expected: &RangeInclusive<u64>, statement: &str) -> Error {
    let (least, most) = (expected.start(), expected.end());
    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Error::Protocol(format!("{statement}: {expected} matched rows expected, {seen} seen"))
}

fn found<C>(desk: &Desk<C>) -> Result<(), Error> {
    if desk.rows.is_empty() { Err(missing("a row that every loaded database has")) } else { Ok(()) }
}

/// The tables lack what the population put there, so whatever is measured on them means nothing.
pub fn missing(what: &str) -> Error {
    Error::Protocol(format!("{what} is not in the tables; check them, and load them again"))
}

/// An order has so many lines (clause 2.4.1.3).
pub const LINES_OF_ORDER: RangeInclusive<u64> = 5..=15;

/// Fails unless an item that was not found is the unused one, whose New-Order rolls back on purpose.
pub fn expect_unused(item: i64) -> Result<(), Error> {
    if item > ITEMS { Ok(()) } else { Err(missing("every item")) }
}

/// How often a Delivery queries again for the oldest order when others were faster.
pub const REREADS_MAX: u32 = 100;

/// Others took the oldest order every time: a conflict like those that servers report.
pub fn outrun() -> Error {
    Error::Retryable { code: Code::new(b"moved") }
}

pub fn money(cents: i64) -> Value<'static> {
    Value::Decimal { units: cents, scale: 2 }
}

/// The stock left behind an order line (clause 2.4.2.2): restocked by 91 where fewer than ten would remain.
pub fn stock_after(stock: i64, quantity: i64) -> i64 {
    if stock >= quantity + 10 { stock - quantity } else { stock - quantity + 91 }
}

/// What an order costs, in cents: discount and taxes are 1/10000, and half a cent is rounded up.
pub fn order_total(lines_cents: i64, discount: i64, taxes: i64) -> i64 {
    (lines_cents * (10_000 - discount) * (10_000 + taxes) + 50_000_000) / 100_000_000
}

/// Whether data hold the text that marks brand goods.
pub fn is_original(data: &[u8]) -> bool {
    const WORD: &[u8] = b"ORIGINAL";
    data.windows(WORD.len()).any(|window| window[0] == b'O' && window == WORD)
}

/// The place, from 0, of the customer that a last name means among so many (clause 2.5.2.2).
pub fn middle(count: usize) -> usize {
    count.div_ceil(2) - 1
}

/// Text of at most `N` bytes; what is more is cut off.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Buffer<N> {
    fn default() -> Buffer<N> {
        Buffer { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Buffer<N> {
    pub fn push(&mut self, text: &[u8]) {
        let length = text.len().min(N - self.length);
        self.bytes[self.length..self.length + length].copy_from_slice(&text[..length]);
        self.length += length;
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// `{1,2,3}`, as PostgreSQL takes arrays.
    pub fn array(elements: impl Iterator<Item = impl fmt::Display>) -> Buffer<N> {
        let mut array = Buffer::default();
        let mut before = '{';
        for element in elements {
            write!(array, "{before}{element}").expect(NEVER_REFUSED);
            before = ',';
        }
        array.push(if before == '{' { b"{}" } else { b"}" });
        array
    }

    pub fn value(&self) -> Value<'_> {
        Value::Text(self.as_bytes())
    }
}

const NEVER_REFUSED: &str = "text in place takes what fits and is never refused";

impl<const N: usize> Write for Buffer<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// Cents as a decimal in an array.
pub struct Cents(pub i64);

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// What a payment leaves behind in the data of a customer with bad credit: whose it was, and how much.
pub fn payment_note(payment: &super::inputs::Payment, c_id: i64) -> Buffer<64> {
    let mut note = Buffer::default();
    let super::inputs::Payment { w, d, c_w, c_d, amount_cents, .. } = *payment;
    write!(note, "{c_id} {c_d} {c_w} {d} {w} {}|", Cents(amount_cents)).expect(NEVER_REFUSED);
    note
}

/// Room for `c_data`.
pub const C_DATA_BYTES: usize = 500;
/// Room for `h_data`.
pub const H_DATA_BYTES: usize = 24;

/// `h_data`: the names of warehouse and district, four spaces apart.
pub fn history_data(warehouse: &[u8], district: &[u8]) -> Buffer<H_DATA_BYTES> {
    let mut data = Buffer::default();
    [warehouse, b"    ", district].into_iter().for_each(|part| data.push(part));
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_stays_between_ten_and_a_hundred() {
        for stock in 10..=100 {
            for quantity in 1..=10 {
                assert!((10..=100).contains(&stock_after(stock, quantity)), "{stock} less {quantity}");
            }
        }
        assert_eq!([stock_after(20, 10), stock_after(19, 10), stock_after(10, 1)], [10, 100, 100]);
    }

    #[test]
    fn a_total_takes_discount_and_both_taxes() {
        assert_eq!(order_total(10_000, 0, 0), 10_000);
        assert_eq!(order_total(10_000, 5_000, 4_000), 7_000);
        assert_eq!(order_total(1, 5_000, 0), 1, "half a cent is rounded up");
    }

    #[test]
    fn a_name_means_the_customer_in_the_middle() {
        let check = |count, expected| assert_eq!(middle(count), expected, "of {count}");
        [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)].into_iter().for_each(|(count, place)| check(count, place));
    }

    #[test]
    fn brand_goods_are_recognised_by_their_text() {
        let check = |data: &[u8], expected| assert_eq!(is_original(data), expected);
        check(b"xxORIGINALyy", true);
        check(b"ORIGINAL", true);
        check(b"xORIGINAORIGINA", false);
        check(b"original words", false);
        check(b"", false);
    }

    #[test]
    fn text_in_place_is_cut_at_its_end() {
        let mut text = Buffer::<5>::default();
        text.push(b"abc");
        text.push(b"defg");
        text.push(b"h");
        assert_eq!(text.as_bytes(), b"abcde");
        assert_eq!(Buffer::<9>::array([1, 22, 3].iter()).as_bytes(), b"{1,22,3}");
        assert_eq!(Buffer::<9>::array([Cents(1), Cents(210)].iter()).as_bytes(), b"{0.01,2.1", "cut off");
        assert_eq!(Buffer::<9>::array(std::iter::empty::<i64>()).as_bytes(), b"{}");
    }

    #[test]
    fn lists_are_written_out() {
        assert_eq!(repeat("a IN ({, |?}) OR {;|b}", 3), "a IN (?, ?, ?) OR b;b;b");
        assert_eq!(repeat("plain", 3), "plain");
    }

    #[test]
    fn history_names_both_places() {
        assert_eq!(history_data(b"Warehouse1", b"District10").as_bytes(), b"Warehouse1    District10");
    }
}
