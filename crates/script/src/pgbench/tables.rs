//! The four tables of pgbench on each kind of server.

use driver::{Dialect, Error, RowSink, Value};
use load::Table;

/// How the tables are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PgbenchTables {
    /// Branches; each has 10 tellers and 100,000 accounts.
    pub scale: u64,
    /// PostgreSQL: how full pages are filled, per cent.
    pub fillfactor: u64,
    /// PostgreSQL: tables that are not written to its log.
    pub unlogged: bool,
    pub vacuum: bool,
    pub primary_keys: bool,
    pub foreign_keys: bool,
}

/// The order in which they are loaded: names, filled columns, rows for each branch, and bytes of filler, which stays
/// NULL but in accounts.
pub const TABLES: [(&str, &[&str], u64, usize); 4] = [
    ("pgbench_branches", &["bid", "bbalance"], 1, 88),
    ("pgbench_tellers", &["tid", "bid", "tbalance"], TELLERS, 84),
    ("pgbench_accounts", &["aid", "bid", "abalance", "filler"], ACCOUNTS, 84),
    ("pgbench_history", &["tid"], 0, 22),
];
const HISTORY: usize = 3;
const ACCOUNTS: u64 = 100_000;
const TELLERS: u64 = 10;
/// What fills an account.
const BLANKS: [u8; 84] = [b' '; 84];
/// From this scale on the numbers of accounts need eight bytes.
const SCALE_OF_LONG_IDS: u64 = 20_000;

impl PgbenchTables {
    /// As pgbench makes them by default.
    pub fn new(scale: u64) -> PgbenchTables {
        PgbenchTables { scale, fillfactor: 100, unlogged: false, vacuum: true, primary_keys: true, foreign_keys: false }
    }

    pub fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let table = |(at, (name, columns, rows, _)): (usize, &(&str, &[&'static str], u64, usize))| Table {
            name: (*name).to_owned(),
            create: vec![self.create(at, dialect)],
            columns: columns.iter().map(|column| (*column).into()).collect(),
            units: rows * self.scale,
            rows: rows * self.scale,
            finish: self.finish(at, dialect),
            link: if at == HISTORY { self.links(dialect) } else { Vec::new() },
            seals: false,
        };
        TABLES.iter().enumerate().map(table).collect()
    }

    fn create(&self, table: usize, dialect: Dialect) -> String {
        let (name, .., filler) = TABLES[table];
        let long = if self.scale >= SCALE_OF_LONG_IDS { "bigint" } else { "int" };
        // InnoDB orders rows by the primary key, and SQLite only by one of this type: both have it from the start.
        let id = |name: &str, of: &str| match dialect {
            Dialect::MySql if self.primary_keys => format!("{name} {of} not null primary key"),
            Dialect::Sqlite if self.primary_keys => format!("{name} integer primary key"),
            _ => format!("{name} {of} not null"),
        };
        let time = if dialect == Dialect::MySql { "timestamp null" } else { "timestamp" };
        let columns = match table {
            0 => format!("{}, bbalance int", id("bid", "int")),
            1 => format!("{}, bid int, tbalance int", id("tid", "int")),
            2 => format!("{}, bid int, abalance int", id("aid", long)),
            _ => format!("tid int, bid int, aid {long}, delta int, mtime {time}"),
        };
        let storage = match dialect {
            Dialect::Postgres if table < HISTORY => format!(" with (fillfactor={})", self.fillfactor),
            Dialect::MySql => " engine=InnoDB".to_owned(),
            Dialect::Postgres | Dialect::Sqlite => String::new(),
        };
        let unlogged = if self.unlogged { "unlogged " } else { "" };
        format!("create {unlogged}table {name}({columns}, filler char({filler})){storage}")
    }

    /// What comes behind the rows: PostgreSQL gets the keys last, as pgbench does it.
    fn finish(&self, table: usize, dialect: Dialect) -> Vec<String> {
        let (name, columns, ..) = TABLES[table];
        let analyze = match dialect {
            Dialect::Postgres => format!("vacuum analyze {name}"),
            Dialect::MySql => format!("analyze table {name}"),
            Dialect::Sqlite => format!("analyze {name}"),
        };
        let has_key = dialect == Dialect::Postgres && self.primary_keys && table < HISTORY;
        let key = has_key.then(|| format!("alter table {name} add primary key ({})", columns[0]));
        self.vacuum.then_some(analyze).into_iter().chain(key).collect()
    }

    fn links(&self, dialect: Dialect) -> Vec<String> {
        if !self.foreign_keys || dialect != Dialect::Postgres {
            return Vec::new();
        }
        let references = [
            ("pgbench_tellers", "bid", "pgbench_branches"),
            ("pgbench_accounts", "bid", "pgbench_branches"),
            ("pgbench_history", "bid", "pgbench_branches"),
            ("pgbench_history", "tid", "pgbench_tellers"),
            ("pgbench_history", "aid", "pgbench_accounts"),
        ];
        let link = |(table, column, other): (&str, &str, &str)| {
            format!(
                "alter table {table} add constraint {table}_{column}_fkey foreign key ({column}) references {other}"
            )
        };
        references.map(link).into()
    }

    pub fn row(&self, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        let number = |number: u64| Value::Int(number as i64);
        let id = number(unit + 1);
        match table {
            0 => sink(&[id, number(0)]),
            1 => sink(&[id, number(unit / TELLERS + 1), number(0)]),
            _ => sink(&[id, number(unit / ACCOUNTS + 1), number(0), Value::Text(&BLANKS)]),
        }
    }
}
