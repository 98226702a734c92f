//! sysbench's OLTP workloads: the scripts of 1.0 and, as `oltp` with `compat = "sysbench-0.4"`, the
//! built-in test of 0.4.12.
//!
//! Statements, their order and their counts are sysbench's. Data and inputs are not: they follow
//! from the seed, so that every contender gets the same.

mod client;
mod distribution;
mod sql;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink, Value};

use self::client::OltpClient;
use self::distribution::Distribution;
use self::sql::{Kind, Statements};
use crate::rng::Rng;
use crate::workload::{Client, ClientFuture, OptionError, OptionSpec, Options, Seat, Table, Workload, WorkloadKind};

pub const POINT_SELECT: WorkloadKind = WorkloadKind {
    name: "oltp_point_select",
    description: "sysbench 1.0: one SELECT by primary key, autocommit",
    example: "name = \"oltp_point_select\"\nrows = 100_000",
    options: &[TABLES, ROWS, RAND_TYPE],
    build: |options| modern(options, Mix { point_selects: 1, ..Mix::default() }),
};

pub const READ_ONLY: WorkloadKind = WorkloadKind {
    name: "oltp_read_only",
    description: "sysbench 1.0: 10 point selects and 4 range selects in a transaction",
    example: "name = \"oltp_read_only\"\nrows = 100_000\ntables = 1",
    options: &[
        TABLES,
        ROWS,
        RAND_TYPE,
        SKIP_TRX,
        RANGE_SIZE,
        RANGE_SELECTS,
        POINT_SELECTS,
        SIMPLE_RANGES,
        SUM_RANGES,
        ORDER_RANGES,
        DISTINCT_RANGES,
    ],
    build: |options| modern(options, reads(options)?),
};

pub const WRITE_ONLY: WorkloadKind = WorkloadKind {
    name: "oltp_write_only",
    description: "sysbench 1.0: 2 updates, a delete and an insert in a transaction",
    example: "name = \"oltp_write_only\"\nrows = 100_000",
    options: &[TABLES, ROWS, RAND_TYPE, SKIP_TRX, INDEX_UPDATES, NON_INDEX_UPDATES, DELETE_INSERTS],
    build: |options| modern(options, writes(options, Mix { transaction: transaction(options)?, ..Mix::default() })?),
};

pub const READ_WRITE: WorkloadKind = WorkloadKind {
    name: "oltp_read_write",
    description: "sysbench 1.0: the reads of oltp_read_only and the writes of oltp_write_only in a transaction",
    example: "name = \"oltp_read_write\"\nrows = 100_000\ntables = 1",
    options: &[
        TABLES,
        ROWS,
        RAND_TYPE,
        SKIP_TRX,
        RANGE_SIZE,
        RANGE_SELECTS,
        POINT_SELECTS,
        SIMPLE_RANGES,
        SUM_RANGES,
        ORDER_RANGES,
        DISTINCT_RANGES,
        INDEX_UPDATES,
        NON_INDEX_UPDATES,
        DELETE_INSERTS,
    ],
    build: |options| modern(options, writes(options, reads(options)?)?),
};

pub const UPDATE_INDEX: WorkloadKind = WorkloadKind {
    name: "oltp_update_index",
    description: "sysbench 1.0: an update of an indexed column by primary key, autocommit",
    example: "name = \"oltp_update_index\"\nrows = 100_000",
    options: &[TABLES, ROWS, RAND_TYPE, INDEX_UPDATES],
    build: |options| modern(options, Mix { index_updates: statements(options, "index_updates")?, ..Mix::default() }),
};

pub const UPDATE_NON_INDEX: WorkloadKind = WorkloadKind {
    name: "oltp_update_non_index",
    description: "sysbench 1.0: an update of a column without index by primary key, autocommit",
    example: "name = \"oltp_update_non_index\"\nrows = 100_000",
    options: &[TABLES, ROWS, RAND_TYPE, NON_INDEX_UPDATES],
    build: |options| {
        modern(options, Mix { non_index_updates: statements(options, "non_index_updates")?, ..Mix::default() })
    },
};

pub const CLASSIC: WorkloadKind = WorkloadKind {
    name: "oltp",
    description: "sysbench 0.4.12: --test=oltp in mode simple or complex, as in articles before 2012",
    example: "name = \"oltp\"\ncompat = \"sysbench-0.4\"\nmode = \"complex\"\nrows = 100_000",
    options: &[
        ROWS,
        OptionSpec {
            name: "compat",
            alias: None,
            default: "sysbench-0.4",
            help: "whose rules to follow; sysbench-0.4 is what `oltp` knows",
        },
        OptionSpec {
            name: "mode",
            alias: None,
            default: "complex",
            help: "simple: one point select; complex: a transaction",
        },
        OptionSpec { name: "read_only", alias: None, default: "false", help: "complex without its writes" },
        SKIP_TRX,
        RANGE_SIZE,
        OptionSpec {
            name: "rand_type",
            alias: None,
            default: "special",
            help: "distribution of ids: special, uniform or gaussian",
        },
    ],
    build: classic,
};

const TABLES: OptionSpec = OptionSpec { name: "tables", alias: None, default: "1", help: "number of tables" };
const ROWS: OptionSpec =
    OptionSpec { name: "rows", alias: Some("table_size"), default: "100000", help: "rows per table" };
const RAND_TYPE: OptionSpec = OptionSpec {
    name: "rand_type",
    alias: None,
    default: "uniform",
    help: "distribution of ids, in the load and in the run: uniform, gaussian, special or pareto",
};
const SKIP_TRX: OptionSpec = OptionSpec {
    name: "skip_trx",
    alias: None,
    default: "false",
    help: "no BEGIN and COMMIT: every statement commits itself",
};
const RANGE_SIZE: OptionSpec =
    OptionSpec { name: "range_size", alias: None, default: "100", help: "ids in a range select" };
const RANGE_SELECTS: OptionSpec = OptionSpec {
    name: "range_selects",
    alias: None,
    default: "true",
    help: "false leaves out all four kinds of range selects",
};
const POINT_SELECTS: OptionSpec = count_option("point_selects", "10");
const SIMPLE_RANGES: OptionSpec = count_option("simple_ranges", "1");
const SUM_RANGES: OptionSpec = count_option("sum_ranges", "1");
const ORDER_RANGES: OptionSpec = count_option("order_ranges", "1");
const DISTINCT_RANGES: OptionSpec = count_option("distinct_ranges", "1");
const INDEX_UPDATES: OptionSpec = count_option("index_updates", "1");
const NON_INDEX_UPDATES: OptionSpec = count_option("non_index_updates", "1");
const DELETE_INSERTS: OptionSpec = count_option("delete_inserts", "1");

const fn count_option(name: &'static str, default: &'static str) -> OptionSpec {
    OptionSpec { name, alias: None, default, help: "statements of this kind per transaction" }
}

/// How many statements of each kind a transaction has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Mix {
    transaction: bool,
    point_selects: u64,
    simple_ranges: u64,
    sum_ranges: u64,
    order_ranges: u64,
    distinct_ranges: u64,
    index_updates: u64,
    non_index_updates: u64,
    /// sysbench 0.4.12 updates the row once more that it then deletes and inserts.
    update_before_delete: bool,
    delete_inserts: u64,
}

impl Mix {
    fn writes(&self) -> bool {
        self.index_updates + self.non_index_updates + self.delete_inserts > 0
    }

    /// The kinds of statements it needs, in the order it runs them.
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        [
            (Kind::PointSelect, self.point_selects),
            (Kind::SimpleRange, self.simple_ranges),
            (Kind::SumRange, self.sum_ranges),
            (Kind::OrderRange, self.order_ranges),
            (Kind::DistinctRange, self.distinct_ranges),
            (Kind::UpdateIndex, self.index_updates + u64::from(self.update_before_delete)),
            (Kind::UpdateNonIndex, self.non_index_updates),
            (Kind::Delete, self.delete_inserts),
            (Kind::Insert, self.delete_inserts),
        ]
        .into_iter()
        .filter_map(|(kind, count)| (count > 0).then_some(kind))
    }
}

/// Whose rules the text of statements, ranges and strings follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// 1.0.
    Modern,
    /// 0.4.12.
    Classic,
}

#[derive(Debug, Clone)]
struct Oltp {
    version: Version,
    tables: u64,
    rows: u64,
    range_size: u64,
    distribution: Distribution,
    mix: Mix,
}

const ROWS_MAX: u64 = i32::MAX as u64;

fn transaction(options: &Options) -> Result<bool, OptionError> {
    options.flag("skip_trx").map(|skip| !skip)
}

/// How many statements of one kind a transaction has.
fn statements(options: &Options, name: &str) -> Result<u64, OptionError> {
    options.number(name, 0, 10_000)
}

fn reads(options: &Options) -> Result<Mix, OptionError> {
    let count = |name| statements(options, name);
    let ranges = u64::from(options.flag("range_selects")?);
    Ok(Mix {
        transaction: transaction(options)?,
        point_selects: count("point_selects")?,
        simple_ranges: count("simple_ranges")? * ranges,
        sum_ranges: count("sum_ranges")? * ranges,
        order_ranges: count("order_ranges")? * ranges,
        distinct_ranges: count("distinct_ranges")? * ranges,
        ..Mix::default()
    })
}

fn writes(options: &Options, mix: Mix) -> Result<Mix, OptionError> {
    let count = |name| statements(options, name);
    Ok(Mix {
        index_updates: count("index_updates")?,
        non_index_updates: count("non_index_updates")?,
        delete_inserts: count("delete_inserts")?,
        ..mix
    })
}

fn modern(options: &Options, mix: Mix) -> Result<Box<dyn Workload>, OptionError> {
    Ok(Box::new(modern_oltp(options, mix)?))
}

fn modern_oltp(options: &Options, mix: Mix) -> Result<Oltp, OptionError> {
    let distributions = [Distribution::Uniform, Distribution::Gaussian, Distribution::Special, Distribution::Pareto];
    let chosen = options.choice("rand_type", &["uniform", "gaussian", "special", "pareto"])?;
    let ranges = mix.simple_ranges + mix.sum_ranges + mix.order_ranges + mix.distinct_ranges;
    Ok(Oltp {
        version: Version::Modern,
        tables: options.number("tables", 1, 10_000)?,
        rows: options.number("rows", 1, ROWS_MAX)?,
        range_size: if ranges > 0 { options.number("range_size", 1, ROWS_MAX)? } else { 0 },
        distribution: distributions[chosen],
        mix,
    })
}

fn classic(options: &Options) -> Result<Box<dyn Workload>, OptionError> {
    Ok(Box::new(classic_oltp(options)?))
}

fn classic_oltp(options: &Options) -> Result<Oltp, OptionError> {
    options.choice("compat", &["sysbench-0.4"])?;
    let simple = options.choice("mode", &["simple", "complex"])? == 0;
    let writes = u64::from(!options.flag("read_only")?);
    let complex = Mix {
        transaction: transaction(options)?,
        point_selects: 10,
        simple_ranges: 1,
        sum_ranges: 1,
        order_ranges: 1,
        distinct_ranges: 1,
        index_updates: writes,
        non_index_updates: writes,
        update_before_delete: writes > 0,
        delete_inserts: writes,
    };
    let distributions = [Distribution::SpecialClassic, Distribution::Uniform, Distribution::Gaussian];
    Ok(Oltp {
        version: Version::Classic,
        tables: 1,
        rows: options.number("rows", 1, ROWS_MAX)?,
        range_size: options.number("range_size", 1, ROWS_MAX)?,
        distribution: distributions[options.choice("rand_type", &["special", "uniform", "gaussian"])?],
        mix: if simple { Mix { point_selects: 1, ..Mix::default() } } else { complex },
    })
}

/// One client of the default `oltp_read_write` on any connection, as real as those of a trial: it is
/// how `cargo xtask bench-load` measures our own code without a server.
pub fn read_write_client<C: Connection>(connection: C) -> Result<impl Client, Error> {
    let oltp = Options::new(READ_WRITE.options, &BTreeMap::new())
        .and_then(|options| modern_oltp(&options, writes(&options, reads(&options)?)?));
    OltpClient::new(Arc::new(oltp.expect("the defaults of a workload are valid")), 1, connection)
}

impl Oltp {
    fn table_name(&self, table: u64) -> String {
        match self.version {
            Version::Modern => format!("sbtest{}", table + 1),
            Version::Classic => "sbtest".to_owned(),
        }
    }

    fn index_name(&self, table: u64) -> String {
        match self.version {
            Version::Modern => format!("k_{}", table + 1),
            Version::Classic => "k".to_owned(),
        }
    }

    fn sql(&self) -> Statements {
        Statements::new(match self.version {
            Version::Modern => include_str!("oltp/sysbench-1.0.sql"),
            Version::Classic => include_str!("oltp/sysbench-0.4.sql"),
        })
    }

    fn finish(&self, dialect: Dialect, table: u64) -> Vec<String> {
        let name = self.table_name(table);
        let index = self.sql().text("index", &name).replace("{index}", &self.index_name(table));
        match dialect {
            Dialect::MySql => vec![index, format!("ANALYZE TABLE {name}")],
            Dialect::Postgres => {
                let rows = self.rows;
                let sequence = format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {rows})");
                vec![index, sequence, format!("VACUUM ANALYZE {name}")]
            }
            Dialect::Sqlite => vec![index, format!("ANALYZE {name}")],
        }
    }
}

impl Workload for Oltp {
    fn data_key(&self) -> String {
        let Oltp { version, tables, rows, distribution, .. } = self;
        match version {
            Version::Modern => format!("oltp-1.0 tables={tables} rows={rows} k={distribution:?}"),
            Version::Classic => format!("oltp-0.4 rows={rows}"),
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let create = match dialect {
            Dialect::MySql => "create-mysql",
            Dialect::Postgres => "create-postgres",
            Dialect::Sqlite => "create-sqlite",
        };
        let table = |table| Table {
            name: self.table_name(table),
            create: vec![self.sql().text(create, &self.table_name(table))],
            columns: vec!["id", "k", "c", "pad"],
            rows: self.rows,
            finish: self.finish(dialect, table),
        };
        (0..self.tables).map(table).collect()
    }

    fn row(&self, data_seed: u64, table: usize, row: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        let id = Value::Int(row as i64 + 1);
        if self.version == Version::Classic {
            return sink(&[id, Value::Int(0), Value::Text(b" "), Value::Text(text::CLASSIC_LOAD_PAD)]);
        }
        let mut rng = Rng::stream(data_seed, table as u64, row);
        let k = self.distribution.draw(&mut rng, self.rows) as i64;
        let (mut c, mut pad) = ([0; text::C_BYTES], [0; text::PAD_BYTES]);
        text::digit_groups(&mut rng, &mut c);
        text::digit_groups(&mut rng, &mut pad);
        sink(&[id, Value::Int(k), Value::Text(&c), Value::Text(&pad)])
    }

    fn writes(&self) -> bool {
        self.mix.writes()
    }

    fn client(&self, seat: Seat, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let client = OltpClient::new(Arc::new(self.clone()), seat.input_seed, connection)?;
        Ok(seat.drive(client))
    }

    /// Deletes and inserts come in pairs, so every id is there exactly once when all have ended.
    fn check(&self, admin: &mut Admin) -> Result<Vec<String>, Error> {
        let mut violations = Vec::new();
        for table in 0..self.tables {
            let name = self.table_name(table);
            let sql = format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {name}");
            let found: Vec<String> =
                admin.rows(&sql)?.concat().into_iter().map(|value| value.unwrap_or_default()).collect();
            let expected = [self.rows.to_string(), "1".to_owned(), self.rows.to_string()];
            if found != expected {
                violations.push(format!("{sql}: {} was expected, {} found", expected.join(", "), found.join(", ")));
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
}

#[cfg(test)]
mod tests;
