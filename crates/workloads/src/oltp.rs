//! sysbench's OLTP workloads: the scripts of 1.0 and, as `oltp`, the built-in test of 0.4.12.
//!
//! Statements, their order and their counts are sysbench's. Data and inputs are not: they follow
//! from the seed, so that every contender gets the same. Distribution, counting and retries are
//! dbduel's own unless `compat` asks for sysbench's.

mod answers;
mod brackets;
pub mod bulk;
pub mod classic;
mod client;
mod options;
mod rest;
mod rules;
mod schema;
pub mod scripts;
mod session;
mod sql;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink, Value};

use self::brackets::Brackets;
use self::client::{OltpClient, Parameter};
use self::rest::{NoRest, Rest};
use self::rules::Rules;
use self::schema::{Rows, Schema};
use self::sql::{Kind, Statements};
use crate::workload_kind;
use load::Distribution;
use load::{
    Answers, Client, ClientFuture, Expected, HasPlans, Ignored, NamedStatement, OptionValue, Options, OtherMix,
    ReusesTables, Setting, Slot, Table, Tally, Workload, WorkloadSpec, queries,
};

/// How many statements of each kind a transaction has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Mix {
    transaction: bool,
    point_selects: u64,
    /// Point selects read all columns, and not only `c`.
    whole_rows: bool,
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
    /// The kinds of statements it needs, in the order it runs them.
    fn kinds(&self) -> Vec<Kind> {
        [
            (self.point_kind(), self.point_selects),
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
        .collect()
    }

    fn point_kind(&self) -> Kind {
        if self.whole_rows { Kind::RowSelect } else { Kind::PointSelect }
    }

    /// There are point selects, and nothing else.
    fn is_points_only(&self) -> bool {
        *self == Mix { point_selects: self.point_selects, whole_rows: self.whole_rows, ..Mix::default() }
    }
}

/// What one transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Mix(Mix),
    /// A delete without an insert behind it: the table drains.
    Delete,
    Insert,
    RandomPoints {
        points: usize,
    },
    RandomRanges {
        ranges: usize,
        delta: u64,
    },
    /// 0.4, `nontrx`: a select of the other text column.
    PadSelect,
    /// 0.4, `nontrx`: a delete of an id that was not deleted before.
    UniqueDelete,
    /// 0.4, `nontrx`: an insert into the table that was emptied when the run began.
    FreshInsert,
    /// 0.4, `sp`: a call of the user's own procedure.
    Procedure,
}

/// What only 0.4 has.
#[derive(Debug, Clone, Default)]
struct ClassicWays {
    brackets: Brackets,
    /// The user's own, for mode `sp`.
    procedure: String,
    /// The user's rest before each statement but BEGIN and COMMIT, inside the request: least and most.
    delay_us: Option<(u64, u64)>,
}

/// Whose rules the text of statements, ranges and strings follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 1.0.
    Modern,
    /// 0.4.12.
    Classic,
}

#[derive(Debug, Clone)]
struct Oltp {
    schema: Schema,
    rules: Rules,
    ids: Distribution,
    range_size: u64,
    /// Whether statements are prepared, or sent as text with their values in it.
    prepares: bool,
    script: Script,
    /// The script that has every statement, and whose other mix is one with the reads alone.
    is_read_write: bool,
    classic: ClassicWays,
}

/// One client of a script on any connection, as real as those of a trial: it is how our own code is
/// measured and tested without a server. The name and the options must be valid.
pub fn client_on<C: Connection>(
    name: &str,
    given: &BTreeMap<String, OptionValue>,
    connection: C,
) -> Result<impl Client<Connection = C> + use<C>, Error> {
    let kind = workload_kind(name).expect("the caller names a workload");
    let built = Options::new(kind.options, given).map(|options| scripts::by_name(name, &options));
    let oltp = built.and_then(|oltp| oltp.expect("the caller names a script of one client's own"));
    let oltp = oltp.expect("the caller's options are valid");
    OltpClient::new(Arc::new(oltp), Parameter { client: 0, clients: 1, input_seed: 1 }, connection, NoRest)
}

/// One client of the default `oltp_read_write`: what `cargo xtask bench-load` measures.
pub fn read_write_client<C: Connection>(connection: C) -> Result<impl Client<Connection = C> + use<C>, Error> {
    client_on("oltp_read_write", &BTreeMap::new(), connection)
}

impl Oltp {
    /// The kinds of statements its transactions have.
    fn kinds(&self) -> Vec<Kind> {
        let insert = if self.schema.auto_inc { Kind::InsertNumbered } else { Kind::Insert };
        match self.script {
            Script::Mix(mix) => mix.kinds(),
            Script::Delete | Script::UniqueDelete => vec![Kind::Delete],
            Script::Insert | Script::FreshInsert => vec![insert],
            Script::RandomPoints { .. } => vec![Kind::RandomPoints],
            Script::RandomRanges { .. } => vec![Kind::RandomRanges],
            Script::PadSelect => vec![Kind::PadSelect],
            Script::Procedure => vec![Kind::Procedure],
        }
    }

    /// How many values stand in the lists of `select_random_*`.
    fn list_values(&self) -> usize {
        match self.script {
            Script::RandomPoints { points } => points,
            Script::RandomRanges { ranges, .. } => 2 * ranges,
            _ => 0,
        }
    }

    /// What a kind's statement names: a table, but for a procedure.
    fn subject(&self, kind: Kind, table: u64) -> String {
        match kind {
            Kind::Procedure => self.classic.procedure.clone(),
            _ => self.schema.table_name(table),
        }
    }

    fn changes_rows(&self) -> bool {
        self.kinds().into_iter().any(|kind| !kind.is_read())
    }

    /// A statement about the row in the middle of the first table, where most distributions draw.
    fn explained(&self, kind: Kind, dialect: Dialect) -> NamedStatement {
        let id = (self.schema.rows / 2).max(1) as i64;
        let end = id + self.range_size as i64 - 1;
        let values = match kind {
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                vec![Value::Int(id), Value::Int(end)]
            }
            Kind::UpdateNonIndex => vec![Value::Text(b"12-34"), Value::Int(id)],
            Kind::RandomPoints => (0..self.list_values() as i64).map(|place| Value::Int(id + place)).collect(),
            Kind::RandomRanges => {
                let delta = if let Script::RandomRanges { delta, .. } = self.script { delta as i64 } else { 0 };
                let range = |place: i64| [Value::Int(id + place), Value::Int(id + place + delta)];
                (0..self.list_values() as i64 / 2).flat_map(range).collect()
            }
            _ => vec![Value::Int(id)],
        };
        let sql = Statements::of(self.schema.version);
        let template = sql.template(kind, &self.subject(kind, 0), dialect, self.list_values());
        let mut text = String::new();
        template.fill(&values, &mut text);
        NamedStatement { name: kind.section(dialect).to_owned(), sql: text }
    }

    fn transaction(&self) -> bool {
        matches!(self.script, Script::Mix(mix) if mix.transaction)
    }

    fn rows_after(&self) -> Rows {
        match self.script {
            // A delete that committed alone, and whose insert was then refused, is not repeated.
            Script::Mix(mix) if !mix.transaction && self.rules == Rules::Modern => Rows::Drain,
            Script::Mix(_) | Script::RandomPoints { .. } | Script::RandomRanges { .. } | Script::PadSelect => {
                Rows::Stay
            }
            Script::Delete | Script::UniqueDelete => Rows::Drain,
            Script::Insert if self.schema.auto_inc => Rows::Grow,
            Script::Insert => Rows::Scatter,
            Script::FreshInsert => Rows::Restart,
            Script::Procedure => Rows::Unknown,
        }
    }
}

impl Workload for Oltp {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            writes: self.changes_rows(),
            keeps_its_size: self.rows_after() == Rows::Stay,
            rests: self.classic.delay_us.is_some(),
            ..WorkloadSpec::reading(self.schema.data_key())
        }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        self.schema.tables(dialect)
    }

    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        self.schema.row(data_seed, table, unit, sink)
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        if self.script == Script::Procedure && dialect == Dialect::Sqlite {
            return Err("mode = \"sp\" calls a stored procedure, and SQLite has none".to_owned());
        }
        Ok(())
    }

    fn ignored_errors(&self, dialect: Dialect) -> Ignored {
        match self.script {
            Script::Insert | Script::FreshInsert if !self.schema.auto_inc => Rules::errors_without_duplicates(dialect),
            _ => self.rules.ignored_errors(dialect),
        }
    }

    fn client(&self, slot: Slot, mut connection: AnyConnection) -> Result<ClientFuture, Error> {
        let place = Parameter { client: slot.client, clients: slot.clients, input_seed: slot.input_seed };
        let mut workload = self.clone();
        workload.classic.brackets = self.brackets(connection.dialect(), |sql| connection.ask(sql))?;
        let workload = Arc::new(workload);
        match self.classic.delay_us {
            None => Ok(slot.drive(OltpClient::new(workload, place, connection, NoRest)?)),
            Some(delay_us) => {
                let rest = Rest::new(delay_us, slot.clock.clone(), place);
                Ok(slot.drive(OltpClient::new(workload, place, connection, rest)?))
            }
        }
    }

    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        let mut violations = self.schema.check(self.rows_after(), admin)?;
        if let Some(expected) = ran.and_then(|ran| self.rows_left(&ran.answers)) {
            violations.extend(self.schema.check_count(expected, admin)?);
        }
        Ok(violations)
    }

    fn expected_answers(&self, seen: &[Answers], setting: &Setting) -> Vec<Expected> {
        self.expected(seen, setting)
    }

    fn other_mix(&self) -> Option<OtherMix> {
        if self.schema.version == Version::Modern {
            let workload = if self.is_read_write { scripts::READ_ONLY.name } else { scripts::READ_WRITE.name };
            return Some(OtherMix { workload, label: None, keeps: Some(options::OF_TABLES), set: Vec::new() });
        }
        let (reads, name) = (!self.changes_rows(), classic::CLASSIC.name);
        let mix = if reads { "read and write" } else { "read only" };
        Some(OtherMix {
            workload: name,
            label: Some(format!("{name}, {mix}")),
            keeps: None,
            set: vec![("read_only", OptionValue::Flag(!reads)), ("write_only", OptionValue::Flag(false))],
        })
    }

    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }
}

impl ReusesTables for Oltp {
    /// Where every id is to be there, one that is not would be inserted.
    fn recognise(&self, admin: &mut Admin, _: u64) -> Result<Result<(), String>, Error> {
        let rows = self.schema.loaded_rows();
        let draws_ids = matches!(
            self.script,
            Script::Mix(_) | Script::RandomPoints { .. } | Script::RandomRanges { .. } | Script::PadSelect
        );
        if !draws_ids || rows == 0 {
            return Ok(Ok(()));
        }
        for name in (0..self.schema.tables).map(|table| self.schema.table_name(table)) {
            let most = admin.value(&format!("SELECT MAX(id) FROM {name}"))?;
            let most = most.and_then(|id| id.parse::<u64>().ok()).unwrap_or(0);
            if most < rows {
                return Ok(Err(format!(
                    "{name} has ids up to {most}, and {rows} rows were asked for\n  next: give --rows {most}, or drop \
                     the tables with `dbduel cleanup` and make larger ones with `dbduel prepare`"
                )));
            }
        }
        Ok(Ok(()))
    }

    fn prepare_run(&self, dialect: Dialect) -> Vec<String> {
        let verb = match dialect {
            Dialect::MySql | Dialect::Postgres => "TRUNCATE TABLE",
            Dialect::Sqlite => "DELETE FROM",
        };
        let empties = self.script == Script::FreshInsert;
        (0..self.schema.tables)
            .filter(|_| empties)
            .map(|table| format!("{verb} {}", self.schema.table_name(table)))
            .collect()
    }

    fn opening_statement(&self, admin: &mut Admin) -> Result<Option<String>, Error> {
        if !self.transaction() {
            return Ok(None);
        }
        let dialect = admin.dialect();
        let brackets = self.brackets(dialect, |sql| admin.rows(sql))?;
        Ok(Some(self.bracket_texts(brackets, dialect).open))
    }
}

impl HasPlans for Oltp {
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let kinds = self.kinds().into_iter().filter(|kind| !kind.is_insert() && *kind != Kind::Procedure);
        kinds.map(|kind| self.explained(kind, dialect)).collect()
    }

    fn compared_queries(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let rows = |table| {
            let name = self.schema.table_name(table);
            let first = (self.schema.rows / 2).max(1);
            let sql = format!("SELECT id, k, c, pad FROM {name} WHERE id BETWEEN {first} AND {}", first + 99);
            NamedStatement { name: format!("rows of {name}"), sql }
        };
        queries(self.explained_statements(dialect)).into_iter().chain((0..self.schema.tables).map(rows)).collect()
    }
}

#[cfg(test)]
mod tests;
