//! Tables, rows and checks of the OLTP workloads.

use driver::{Admin, Dialect, Error, RowSink, Value};

use super::sql::Statements;
use super::{sql::Version, text};
use load::Distribution;
use load::{OptionError, Options, Rng, Table};

/// The form of the tables and what they hold before a run.
#[derive(Debug, Clone)]
pub struct Schema {
    pub version: Version,
    pub tables: u64,
    pub rows: u64,
    /// Of `k`, in 1.0.
    pub keys: Distribution,
    /// Whether the server numbers rows that come without an id.
    pub auto_inc: bool,
    /// Whether `id` has a plain index instead of the primary key.
    pub secondary: bool,
    /// Whether `k` has an index.
    pub create_secondary: bool,
    /// MySQL's storage engine.
    pub engine: String,
    /// The user's text behind CREATE TABLE.
    pub table_options: String,
    /// PostgreSQL's relative without sequences and secondary indexes.
    pub redshift: bool,
    /// 0.4 has one table, whose name can be chosen.
    pub classic_name: String,
    /// Whether the tables are loaded; `oltp_insert` with ids of its own begins with empty ones.
    pub loaded: bool,
}

/// What transactions do to the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Every id is there exactly once when all transactions have ended.
    Stay,
    /// Rows are deleted and not inserted again.
    Drain,
    /// Rows come, with ids behind those that were there.
    Grow,
    /// Rows come, with ids anywhere.
    Scatter,
    /// The table was emptied when the run began.
    Restart,
    /// What the user's own procedure does is unknown.
    Unknown,
}

pub const ROWS_MAX: u64 = i32::MAX as u64;

impl Schema {
    pub fn modern(options: &Options, keys: Distribution) -> Result<Schema, OptionError> {
        let variants = ["", "redshift"];
        Ok(Schema {
            version: Version::Modern,
            tables: options.number("tables", 1, 10_000)?,
            rows: options.number("rows", 1, ROWS_MAX)?,
            keys,
            auto_inc: options.flag("auto_inc")?,
            secondary: options.flag("secondary")?,
            create_secondary: options.flag("create_secondary")?,
            engine: options.word("mysql_storage_engine")?.to_owned(),
            table_options: options.text("create_table_options")?.to_owned(),
            redshift: options.choice("pgsql_variant", &variants)? == 1,
            classic_name: String::new(),
            loaded: true,
        })
    }

    pub fn classic(options: &Options) -> Result<Schema, OptionError> {
        Ok(Schema {
            version: Version::Classic,
            tables: 1,
            rows: options.number("rows", 1, ROWS_MAX)?,
            keys: Distribution::Uniform,
            auto_inc: options.flag("auto_inc")?,
            secondary: options.flag("secondary")?,
            create_secondary: true,
            engine: options.word("mysql_storage_engine")?.to_owned(),
            table_options: options.text("create_table_options")?.to_owned(),
            redshift: false,
            classic_name: options.word("table_name")?.to_owned(),
            loaded: true,
        })
    }

    pub fn table_name(&self, table: u64) -> String {
        match self.version {
            Version::Modern => format!("sbtest{}", table + 1),
            Version::Classic => self.classic_name.clone(),
        }
    }

    pub fn loaded_rows(&self) -> u64 {
        if self.loaded { self.rows } else { 0 }
    }

    /// What the rows depend on besides the seed; the form of the tables is no part of it.
    pub fn data_key(&self) -> String {
        let (tables, rows) = (self.tables, self.loaded_rows());
        match self.version {
            Version::Modern => format!("oltp-1.0 tables={tables} rows={rows} k={:?}", self.keys),
            Version::Classic => format!("oltp-0.4 rows={rows}"),
        }
    }

    pub fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let table = |table| Table {
            name: self.table_name(table),
            create: vec![self.create(dialect, table)],
            columns: ["id", "k", "c", "pad"].map(Into::into).into(),
            units: self.loaded_rows(),
            rows: self.loaded_rows(),
            finish: self.finish(dialect, table),
            link: Vec::new(),
            seals: false,
        };
        (0..self.tables).map(table).collect()
    }

    fn create(&self, dialect: Dialect, table: u64) -> String {
        let section = match dialect {
            Dialect::MySql => "create-mysql",
            Dialect::Postgres => "create-postgres",
            Dialect::Sqlite => "create-sqlite",
        };
        let text = Statements::of(self.version).text(section, &self.table_name(table));
        let text = text.replace("{id}", self.id_type(dialect)).replace("{key}", self.key(dialect));
        let text = text.replace("{engine}", &self.engine);
        format!("{text} {}", self.table_options).trim_end().to_owned()
    }

    fn id_type(&self, dialect: Dialect) -> &'static str {
        match (dialect, self.version, self.auto_inc) {
            (Dialect::MySql, Version::Modern, true) => "INTEGER NOT NULL AUTO_INCREMENT",
            (Dialect::MySql, Version::Classic, true) => "INTEGER UNSIGNED NOT NULL AUTO_INCREMENT",
            (Dialect::MySql, Version::Classic, false) => "INTEGER UNSIGNED NOT NULL",
            (Dialect::Postgres, _, true) if self.redshift => "INTEGER IDENTITY(1,1)",
            (Dialect::Postgres, _, true) => "SERIAL",
            // In SQLite only a primary key numbers rows.
            (Dialect::Sqlite, _, true) if !self.secondary => "INTEGER PRIMARY KEY AUTOINCREMENT",
            (Dialect::Sqlite, _, false) if !self.secondary => "INTEGER PRIMARY KEY",
            _ => "INTEGER NOT NULL",
        }
    }

    /// The key of `id` behind the columns; an index where the dialect names it there.
    fn key(&self, dialect: Dialect) -> &'static str {
        match (dialect, self.secondary) {
            (Dialect::MySql, true) => ",\n  KEY xid (id)",
            (Dialect::MySql | Dialect::Postgres, false) => ",\n  PRIMARY KEY (id)",
            _ => "",
        }
    }

    fn finish(&self, dialect: Dialect, table: u64) -> Vec<String> {
        let (name, number) = (self.table_name(table), table + 1);
        let mut finish = Vec::new();
        if self.create_secondary && !self.redshift {
            let index = match self.version {
                Version::Modern => format!("k_{number}"),
                Version::Classic => "k".to_owned(),
            };
            finish.push(Statements::of(self.version).text("index", &name).replace("{index}", &index));
        }
        // Where names of indexes belong to the schema and not to the table, each has its own.
        if self.secondary && dialect != Dialect::MySql {
            finish.push(format!("CREATE INDEX xid_{number} ON {name}(id)"));
        }
        if dialect == Dialect::Postgres && self.auto_inc && !self.redshift && self.loaded {
            let rows = self.rows;
            finish.push(format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {rows})"));
        }
        finish.push(match dialect {
            Dialect::MySql => format!("ANALYZE TABLE {name}"),
            Dialect::Postgres => format!("VACUUM ANALYZE {name}"),
            Dialect::Sqlite => format!("ANALYZE {name}"),
        });
        finish
    }

    pub fn row(&self, data_seed: u64, table: usize, row: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        let id = Value::Int(row as i64 + 1);
        if self.version == Version::Classic {
            return sink(&[id, Value::Int(0), Value::Text(b" "), Value::Text(text::CLASSIC_LOAD_PAD)]);
        }
        let mut rng = Rng::stream(data_seed, table as u64, row);
        let k = self.keys.draw(&mut rng, self.rows) as i64;
        let (mut c, mut pad) = ([0; text::C_BYTES], [0; text::PAD_BYTES]);
        text::digit_groups(&mut rng, &mut c);
        text::digit_groups(&mut rng, &mut pad);
        sink(&[id, Value::Int(k), Value::Text(&c), Value::Text(&pad)])
    }

    /// Holds before a run as well as after it.
    pub fn check(&self, rows: Rows, admin: &mut Admin) -> Result<Vec<String>, Error> {
        let mut violations = Vec::new();
        for table in 0..self.tables {
            let name = self.table_name(table);
            let sql = format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {name}");
            let found = admin.rows(&sql)?.concat();
            let number = |at: usize| found.get(at).and_then(|value| value.as_deref()?.parse::<i64>().ok());
            let found = Found { count: number(0).unwrap_or(0), least: number(1), most: number(2) };
            if let Err(expected) = self.check_ids(rows, &found) {
                violations.push(format!("{sql}: {expected} was expected, {found} found"));
            }
            if self.version == Version::Modern {
                let sql = format!("SELECT COUNT(*) FROM {name} WHERE LENGTH(c) <> {}", text::C_BYTES);
                let odd = admin.value(&sql)?.unwrap_or_default();
                if odd != "0" {
                    violations.push(format!("{sql}: 0 was expected, {odd} found"));
                }
            }
        }
        Ok(violations)
    }

    /// Whether all tables together hold so many rows.
    pub fn check_count(&self, expected: u64, admin: &mut Admin) -> Result<Option<String>, Error> {
        let mut found = 0;
        for table in 0..self.tables {
            let count = admin.value(&format!("SELECT COUNT(*) FROM {}", self.table_name(table)))?;
            found += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        }
        let wrong = format!("{expected} rows were expected by what the server acknowledged, {found} found");
        Ok((found != expected).then_some(wrong))
    }

    /// What was expected, when it is not what was found.
    fn check_ids(&self, rows: Rows, found: &Found) -> Result<(), String> {
        let loaded = self.loaded_rows() as i64;
        let inside = found.least.is_none_or(|id| id >= 1) && found.most.is_none_or(|id| id <= loaded);
        let (right, expected) = match rows {
            // Nothing but the primary key keeps two clients from inserting one id.
            Rows::Stay if self.secondary => (inside, format!("ids from 1 to {loaded}")),
            Rows::Stay => (inside && found.count == loaded, format!("{loaded} rows, ids from 1 to {loaded}")),
            Rows::Drain => (inside && found.count <= loaded, format!("at most {loaded} rows, ids from 1 to {loaded}")),
            Rows::Grow => {
                (found.count >= loaded && found.least == Some(1), format!("at least {loaded} rows, ids from 1"))
            }
            Rows::Scatter | Rows::Restart | Rows::Unknown => (true, String::new()),
        };
        if right { Ok(()) } else { Err(expected) }
    }
}

struct Found {
    count: i64,
    least: Option<i64>,
    most: Option<i64>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.count)?;
        match (self.least, self.most) {
            (Some(least), Some(most)) => write!(f, ", ids from {least} to {most}"),
            _ => Ok(()),
        }
    }
}
