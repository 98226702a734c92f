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
pub mod schema;
mod script;
pub mod scripts;
mod session;
mod sql;
mod text;

use script::{Oltp, Script};
pub use sql::Version;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink};

use self::client::{OltpClient, Parameter};
use self::rest::{NoRest, Rest};
use self::rules::Rules;
use self::schema::Rows;
use self::session::Session;
use self::sql::Kind;
use load::{
    Answers, Client, ClientFuture, Expected, HasPlans, Ignored, NamedStatement, OptionValue, Options, OtherMix,
    Preparing, ReusesTables, Rng, Setting, Slot, Table, Tally, Workload, WorkloadKind, WorkloadSpec, queries,
};

/// One client of a script on any connection. The options must be valid.
pub fn client_on<C: Connection>(
    kind: &WorkloadKind,
    given: &BTreeMap<String, OptionValue>,
    connection: C,
) -> Result<impl Client<Connection = C> + use<C>, Error> {
    let built = Options::new(kind.options, given).map(|options| scripts::by_name(kind.name, &options));
    let oltp = built.and_then(|oltp| oltp.expect("the caller names a script of one client's own"));
    let oltp = oltp.expect("the caller's options are valid");
    OltpClient::new(Arc::new(oltp), Parameter { client: 0, clients: 1, input_seed: 1 }, connection, NoRest)
}

/// One client of the default `oltp_read_write`: what `cargo xtask bench-load` measures.
pub fn read_write_client<C: Connection>(connection: C) -> Result<impl Client<Connection = C> + use<C>, Error> {
    client_on(&scripts::READ_WRITE, &BTreeMap::new(), connection)
}

impl Workload for Oltp {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            writes: self.changes_rows(),
            transactions: self.transaction(),
            keeps_its_size: self.rows_after() == Rows::Stay,
            rests: self.classic.delay_us.map(|(_, most_us)| Duration::from_micros(most_us)),
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

    fn preparing(&self, dialect: Dialect) -> Preparing {
        if !self.prepares {
            return Preparing::Nothing;
        }
        let unprepared = (options::DB_PS_MODE.name, ["disable"].as_slice());
        Preparing::counted(dialect, unprepared, |counted| Session::new(self, counted, NoRest))
    }

    fn client(&self, slot: Slot, mut connection: AnyConnection) -> Result<ClientFuture, Error> {
        let place = Parameter { client: slot.client, clients: slot.clients, input_seed: slot.input_seed };
        let mut workload = self.clone();
        workload.classic.brackets = self.brackets(connection.dialect(), |sql| connection.ask(sql))?;
        let workload = Arc::new(workload);
        match self.classic.delay_us {
            None => Ok(slot.drive(OltpClient::new(workload, place, connection, NoRest)?)),
            Some(delay_us) => {
                let rng = Rng::stream(place.input_seed, u64::from(place.client), u64::MAX);
                let rest = Rest::new(delay_us, slot.clock.clone(), rng);
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
