//! Checksums of tables: of what a server holds, and of the population.
//!
//! A checksum is the number of rows and the sum of their hashes, so it depends on neither the order of rows
//! nor on who loaded them. Every column counts. Numbers are hashed as numbers, since servers write them
//! differently: SQLite writes 1230 where others write 12.30. The population defines which columns are numbers.
//! What a server holds is streamed; memory does not grow with the table.

use std::borrow::Cow;

use driver::{Admin, Cell, Error, Rows, Value};

use crate::rng::mix;
use crate::workload::{Table, Workload};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    pub rows: u64,
    /// Of the rows' hashes, modulo 2^64.
    pub sum: u64,
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows, {:016x}", self.rows, self.sum)
    }
}

impl Checksum {
    fn add(&mut self, row: RowHash) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(mix(row.0));
    }

    /// Of the rows that a table has after its load.
    pub fn expected(workload: &dyn Workload, data_seed: u64, index: usize, table: &Table) -> Result<Checksum, Error> {
        let mut checksum = Checksum::default();
        (0..table.units).try_for_each(|unit| {
            workload.rows(data_seed, index, unit, &mut |row| {
                let mut hash = RowHash::default();
                row.iter().for_each(|value| hash.value(value));
                checksum.add(hash);
                Ok(())
            })
        })?;
        Ok(checksum)
    }

    /// Of the rows that a query returns, whatever kinds of values they are.
    pub fn of_query(admin: &mut Admin, sql: &str) -> Result<Checksum, Error> {
        let mut checksum = Checksum::default();
        for row in admin.rows(sql)? {
            let mut hash = RowHash::default();
            row.iter().for_each(|cell| match cell {
                None => hash.value(&Value::Null),
                Some(text) => hash.value(&Value::Text(digits_of(text).as_bytes())),
            });
            checksum.add(hash);
        }
        Ok(checksum)
    }

    /// Of the rows that the server has. The seed may be any: it only shows what kinds of values there are.
    pub fn found(admin: &mut Admin, workload: &dyn Workload, index: usize, table: &Table) -> Result<Checksum, Error> {
        let kinds = kinds(workload, index)?;
        let (mut checksum, mut broken) = (Checksum::default(), None);
        let sql = format!("SELECT {} FROM {}", table.columns.join(", "), table.name);
        admin.each_row(&sql, &mut |row| match row_hash(&kinds, row) {
            Ok(hash) => checksum.add(hash),
            Err(error) => drop(broken.get_or_insert(error)),
        })?;
        broken.map_or(Ok(checksum), Err)
    }
}

/// A number in units of its last place and without zeros in front, as SQLite keeps decimals; any other text without
/// the spaces at its end, since a CHAR column keeps none in MySQL, all in SQLite, and in PostgreSQL as many as fit.
fn digits_of(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches(' ');
    let (sign, number) = text.strip_prefix('-').map_or(("", text), |number| ("-", number));
    let digits_only = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_number =
        digits_only && number.matches('.').count() < 2 && number.contains(|digit: char| digit.is_ascii_digit());
    if !is_number {
        return Cow::Borrowed(text);
    }
    let digits = number.replace('.', "");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { Cow::Borrowed("0") } else { Cow::Owned(format!("{sign}{digits}")) }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In units of the last of so many places.
    Number(u8),
    Text,
}

/// Of a table's columns, by its first row. No column begins with NULL.
fn kinds(workload: &dyn Workload, index: usize) -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    workload.rows(0, index, 0, &mut |row| {
        if kinds.is_empty() {
            kinds.extend(row.iter().map(|value| match value {
                Value::Int(_) => Kind::Number(0),
                Value::Decimal { scale, .. } => Kind::Number(*scale),
                Value::Text(_) | Value::Null => Kind::Text,
            }));
        }
        Ok(())
    })?;
    Ok(kinds)
}

fn row_hash(kinds: &[Kind], row: &Rows) -> Result<RowHash, Error> {
    let mut hash = RowHash::default();
    for (column, kind) in kinds.iter().enumerate() {
        match (row.cell(0, column), kind) {
            (Some(Cell::Null), _) => hash.value(&Value::Null),
            (_, Kind::Number(scale)) => hash.value(&Value::Int(row.decimal(0, column, u32::from(*scale))?)),
            (_, Kind::Text) => hash.value(&Value::Text(row.text(0, column))),
        }
    }
    Ok(hash)
}

/// FNV-1a (Fowler, Noll and Vo) over the values of a row, each with its kind and its end.
struct RowHash(u64);

impl Default for RowHash {
    fn default() -> RowHash {
        RowHash(0xcbf2_9ce4_8422_2325)
    }
}

impl RowHash {
    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Null => self.bytes(b"0"),
            Value::Int(number) | Value::Decimal { units: number, .. } => {
                self.bytes(b"1");
                self.bytes(&number.to_le_bytes());
            }
            Value::Text(text) => {
                // PostgreSQL shows a CHAR with the spaces that fill it and MySQL without.
                let text = text.trim_ascii_end();
                self.bytes(b"2");
                self.bytes(&(text.len() as u32).to_le_bytes());
                self.bytes(text);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use driver::{Dialect, Endpoint, Login};

    use super::*;

    #[test]
    fn a_number_is_the_same_however_a_server_writes_it() {
        for (one, other) in [("12.30", "1230"), ("-0.50", "-50"), ("0.0000", "0"), ("007", "7"), ("-0.00", "0")] {
            assert_eq!(digits_of(one), digits_of(other));
        }
        for text in ["1.2.3", "12-34", "abc", "2011-01-01 00:00:00"] {
            assert_eq!(digits_of(text), text);
        }
    }

    #[test]
    fn the_order_of_rows_does_not_count_and_every_value_does() {
        let login = Login::default();
        let endpoint = Endpoint::File(":memory:".into());
        let mut admin = Admin::connect(Dialect::Sqlite, &endpoint, &login, std::time::Duration::from_secs(1)).unwrap();
        let mut sum = |sql: &str| Checksum::of_query(&mut admin, sql).unwrap();
        let rows = sum("SELECT 1, 'a' UNION ALL SELECT 2, NULL");
        assert_eq!(rows, sum("SELECT 2, NULL UNION ALL SELECT 1, 'a  '"));
        assert_ne!(rows, sum("SELECT 1, 'a' UNION ALL SELECT 2, ''"));
        assert_ne!(rows, sum("SELECT 1, 'a'"));
        assert_ne!(rows, sum("SELECT 2, 'a' UNION ALL SELECT 1, NULL"));
    }

    #[test]
    fn a_text_is_the_same_whatever_spaces_its_server_keeps_at_the_end() {
        for (one, other) in [("", " "), ("abc", "abc   "), ("12.30", "1230"), ("007", "7")] {
            assert_eq!(digits_of(one), digits_of(other), "{one:?} and {other:?}");
        }
        assert_ne!(digits_of(""), digits_of("0"));
        assert_ne!(digits_of(" a"), digits_of("a"));
    }
}
