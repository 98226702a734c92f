//! The tables: two of sysbench's OLTP tables, one to read and one to write, and a third whose values follow from the
//! number of the row, so that counts and sums of any range are known.

use driver::{Admin, Dialect, Error, RowSink, Value};
use load::{Distribution, Table};

use crate::oltp::Version;
use crate::oltp::schema::{ROWS_MAX, Rows, Schema};

/// Ranges are of 10,000 rows.
pub const ROWS_MIN: u64 = 10_000;
pub const MOST_ROWS: u64 = ROWS_MAX;
/// Behind sysbench's.
const DETAIL: usize = 2;
const DETAIL_TABLE: &str = "micro_detail";
const COLUMNS: [&str; 7] = ["id", "parent", "place", "few", "many", "amount", "name"];
/// A prime: neighbours in the order of `place` lie far apart in the table.
const STEP: u64 = 7919;
const OTHER_STEP: u64 = 7907;

#[derive(Debug, Clone)]
pub struct Tables {
    sbtest: Schema,
    rows: u64,
}

impl Tables {
    pub fn new(rows: u64) -> Tables {
        let sbtest = Schema {
            version: Version::Modern,
            tables: DETAIL as u64,
            rows,
            keys: Distribution::Uniform,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            engine: "innodb".to_owned(),
            table_options: String::new(),
            redshift: false,
            classic_name: String::new(),
            loaded: true,
        };
        Tables { sbtest, rows }
    }

    pub fn data_key(&self) -> String {
        format!("micro {} detail=1", self.sbtest.data_key())
    }

    pub fn all(&self, dialect: Dialect) -> Vec<Table> {
        self.sbtest.tables(dialect).into_iter().chain([self.detail(dialect)]).collect()
    }

    fn detail(&self, dialect: Dialect) -> Table {
        // A prefix is found by an index only where texts are compared byte by byte, or as LIKE does.
        let (text, operators, analyze) = match dialect {
            Dialect::MySql => ("VARCHAR(40)", "", "ANALYZE TABLE"),
            Dialect::Postgres => ("VARCHAR(40)", " text_pattern_ops", "VACUUM ANALYZE"),
            Dialect::Sqlite => ("VARCHAR(40) COLLATE NOCASE", "", "ANALYZE"),
        };
        let create = format!(
            "CREATE TABLE {DETAIL_TABLE} (id INTEGER NOT NULL PRIMARY KEY, parent INTEGER NOT NULL, place INTEGER NOT NULL, \
             few INTEGER NOT NULL, many INTEGER NOT NULL, amount INTEGER NOT NULL, name {text} NOT NULL)"
        );
        let index = |column: &str, operators: &str| {
            format!("CREATE INDEX {DETAIL_TABLE}_{column} ON {DETAIL_TABLE} ({column}{operators})")
        };
        Table {
            name: DETAIL_TABLE.to_owned(),
            create: vec![create + &dialect.table_options("innodb")],
            columns: COLUMNS.map(Into::into).into(),
            units: self.rows,
            rows: self.rows,
            finish: vec![
                index("parent", ""),
                index("place", ""),
                index("name", operators),
                format!("{analyze} {DETAIL_TABLE}"),
            ],
            link: Vec::new(),
            seals: false,
        }
    }

    pub fn row(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        if table < DETAIL {
            return self.sbtest.row(data_seed, table, unit, sink);
        }
        let row = unit + 1;
        let name = format!("item-{row:08}");
        let numbers = [row, row.div_ceil(2) * 2, self.place(row), row % 10, unit / 4, row];
        let [id, parent, place, few, many, amount] = numbers.map(|number| Value::Int(number as i64));
        sink(&[id, parent, place, few, many, amount, Value::Text(name.as_bytes())])
    }

    /// Each number below that of the rows once.
    fn place(&self, row: u64) -> u64 {
        let step = if self.rows.is_multiple_of(STEP) { OTHER_STEP } else { STEP };
        row * step % self.rows
    }

    /// What a run has to leave as it was: every row, and no table of a kind.
    pub fn check(&self, admin: &mut Admin) -> Result<Vec<String>, Error> {
        let mut violations = self.sbtest.check(Rows::Stay, admin)?;
        let sql = format!("SELECT COUNT(*), SUM(amount), SUM(place) FROM {DETAIL_TABLE}");
        let found: Vec<String> = admin.rows(&sql)?.concat().into_iter().map(Option::unwrap_or_default).collect();
        let rows = self.rows;
        let expected = [rows, rows * (rows + 1) / 2, rows * (rows - 1) / 2].map(|number| number.to_string());
        if found != expected {
            violations.push(format!("{sql}: {} was expected, {} found", expected.join(", "), found.join(", ")));
        }
        Ok(violations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once_whatever_the_number_of_rows() {
        for rows in [ROWS_MIN, STEP * 2, STEP * OTHER_STEP / 4000] {
            let tables = Tables::new(rows);
            let mut places: Vec<u64> = (1..=rows).map(|row| tables.place(row)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..rows), "{rows}");
        }
    }
}
