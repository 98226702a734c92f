//! The four tables of pgbench on each kind of server.

use driver::{Dialect, Error, RowSink, Value};
use load::Table;

/// PostgreSQL: how accounts are spread over partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    Range(u64),
    Hash(u64),
}

/// How the tables are made.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub partitions: Option<Partitions>,
    /// PostgreSQL: where tables and the indexes of primary keys lie.
    pub tablespace: Option<String>,
    pub index_tablespace: Option<String>,
}

/// The order in which they are loaded: names, filled columns, rows for each branch, and bytes of filler, which stays
/// NULL but in accounts.
pub const TABLES: [(&str, &[&str], u64, usize); 4] = [
    ("pgbench_branches", &["bid", "bbalance"], 1, 88),
    ("pgbench_tellers", &["tid", "bid", "tbalance"], TELLERS, 84),
    ("pgbench_accounts", &["aid", "bid", "abalance", "filler"], ACCOUNTS, 84),
    ("pgbench_history", &["tid"], 0, 22),
];
const OF_ACCOUNTS: usize = 2;
const HISTORY: usize = 3;
const ACCOUNTS: u64 = 100_000;
const TELLERS: u64 = 10;
/// What fills an account.
const BLANKS: [u8; 84] = [b' '; 84];
/// From this scale on the numbers of accounts need eight bytes.
const SCALE_OF_LONG_IDS: u64 = 20_000;

/// A clause with the name of a tablespace in quotes; nothing without one.
fn in_tablespace(clause: &str, name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("{clause} \"{}\"", name.replace('"', "\"\"")))
}

impl PgbenchTables {
    /// As pgbench makes them by default.
    pub fn new(scale: u64) -> PgbenchTables {
        PgbenchTables {
            scale,
            fillfactor: 100,
            unlogged: false,
            vacuum: true,
            primary_keys: true,
            foreign_keys: false,
            partitions: None,
            tablespace: None,
            index_tablespace: None,
        }
    }

    pub fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let table = |(at, (name, columns, rows, _)): (usize, &(&str, &[&'static str], u64, usize))| Table {
            name: (*name).to_owned(),
            create: std::iter::once(self.create(at, dialect)).chain(self.create_partitions(at, dialect)).collect(),
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
            Dialect::Postgres => self.storage(table),
            Dialect::MySql => " engine=InnoDB".to_owned(),
            Dialect::Sqlite => String::new(),
        };
        let unlogged = if self.unlogged { "unlogged " } else { "" };
        format!("create {unlogged}table {name}({columns}, filler char({filler})){storage}")
    }

    /// How PostgreSQL keeps a table.
    fn storage(&self, table: usize) -> String {
        let how = match self.partitions {
            Some(Partitions::Range(_)) if table == OF_ACCOUNTS => " partition by range (aid)".to_owned(),
            Some(Partitions::Hash(_)) if table == OF_ACCOUNTS => " partition by hash (aid)".to_owned(),
            _ if table < HISTORY => format!(" with (fillfactor={})", self.fillfactor),
            _ => String::new(),
        };
        how + &in_tablespace(" tablespace", self.tablespace.as_deref())
    }

    fn create_partitions(&self, table: usize, dialect: Dialect) -> Vec<String> {
        let (Some(partitions), OF_ACCOUNTS, Dialect::Postgres) = (self.partitions, table, dialect) else {
            return Vec::new();
        };
        let (Partitions::Range(count) | Partitions::Hash(count)) = partitions;
        let size = (ACCOUNTS * self.scale).div_ceil(count);
        let values = |part: u64| match partitions {
            Partitions::Hash(_) => format!("with (modulus {count}, remainder {})", part - 1),
            Partitions::Range(_) => {
                let from = if part == 1 { "minvalue".to_owned() } else { ((part - 1) * size + 1).to_string() };
                let to = if part == count { "maxvalue".to_owned() } else { (part * size + 1).to_string() };
                format!("from ({from}) to ({to})")
            }
        };
        let unlogged = if self.unlogged { "unlogged " } else { "" };
        let create = |part: u64| {
            let (values, fillfactor) = (values(part), self.fillfactor);
            let table = format!("create {unlogged}table pgbench_accounts_{part} partition of pgbench_accounts");
            format!("{table} for values {values} with (fillfactor={fillfactor})")
        };
        (1..=count).map(create).collect()
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
        let place = in_tablespace(" using index tablespace", self.index_tablespace.as_deref());
        let key = has_key.then(|| format!("alter table {name} add primary key ({}){place}", columns[0]));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn created(tables: &PgbenchTables) -> Vec<String> {
        tables.tables(Dialect::Postgres)[OF_ACCOUNTS].create.clone()
    }

    #[test]
    fn partitions_are_those_of_pgbench() {
        let ranges = PgbenchTables { partitions: Some(Partitions::Range(3)), fillfactor: 90, ..PgbenchTables::new(2) };
        let made = created(&ranges);
        assert!(made[0].ends_with("filler char(84)) partition by range (aid)"), "{}", made[0]);
        let part = |number: u32, values: &str| {
            let table = format!("create table pgbench_accounts_{number} partition of pgbench_accounts");
            format!("{table} for values {values} with (fillfactor=90)")
        };
        let expected = ["from (minvalue) to (66668)", "from (66668) to (133335)", "from (133335) to (maxvalue)"];
        assert_eq!(made[1..], [part(1, expected[0]), part(2, expected[1]), part(3, expected[2])]);
        let hashed = PgbenchTables { partitions: Some(Partitions::Hash(2)), unlogged: true, ..PgbenchTables::new(1) };
        let made = created(&hashed);
        assert!(made[0].ends_with(" partition by hash (aid)"), "{}", made[0]);
        assert!(made[2].starts_with("create unlogged table pgbench_accounts_2 "), "{}", made[2]);
        assert!(made[2].contains("for values with (modulus 2, remainder 1)"), "{}", made[2]);
        assert_eq!(ranges.tables(Dialect::MySql)[OF_ACCOUNTS].create.len(), 1);
    }

    #[test]
    fn tables_and_their_keys_lie_where_they_are_asked_to() {
        let placed = PgbenchTables {
            tablespace: Some("fast".to_owned()),
            index_tablespace: Some("a \"b".to_owned()),
            ..PgbenchTables::new(1)
        };
        let tables = placed.tables(Dialect::Postgres);
        assert!(tables[0].create[0].ends_with(" with (fillfactor=100) tablespace \"fast\""));
        assert!(tables[HISTORY].create[0].ends_with("filler char(22)) tablespace \"fast\""));
        let key = "alter table pgbench_tellers add primary key (tid) using index tablespace \"a \"\"b\"";
        assert_eq!(tables[1].finish.last().map(String::as_str), Some(key));
    }
}
