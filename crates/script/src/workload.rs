//! The user's files as a workload: tables, transactions and checks.

pub use crate::files::{Check, PlainSql, Script, Transaction, When};
use crate::files::{GENERATED_ROW_BYTES, statements};

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};
use load::{
    Answers, ClientFuture, Expected, HasPlans, OwnData, OwnDataForm, Preparing, RunsOnce, Setting, Slot, Table, Tally,
    TransactionKind, Workload, WorkloadSpec,
};

use crate::client::ScriptClient;
use crate::program::{Program, Protocol};
use crate::statement::Role;

/// The values of `protocol` with which nothing is prepared under a name.
const UNPREPARED: &[&str] = &[Protocol::Extended.name(), Protocol::Simple.name()];

/// The names of the tables that statements make.
fn made_tables<'a>(statements: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names = Vec::new();
    for statement in statements {
        let words: Vec<&str> =
            statement.split(|c: char| c.is_whitespace() || c == '(').filter(|w| !w.is_empty()).collect();
        let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found.eq_ignore_ascii_case(word));
        let name = match () {
            () if !is(0, "create") || !is(1, "table") => continue,
            () if is(2, "if") => words.get(5),
            () => words.get(2),
        };
        names.extend(name.map(|name| name.trim_matches(['`', '"', ';']).to_owned()));
    }
    names
}

impl Workload for Script {
    fn spec(&self) -> WorkloadSpec {
        let kind = |one: &Transaction| TransactionKind {
            name: one.name.clone().into(),
            title: one.name.clone().into(),
            p90_limit_s: None,
        };
        let opens = |program: &Program| program.statements.iter().any(|one| one.role == Role::Begin);
        let reads_values = |program: &Program| program.statements.iter().any(|one| one.reads_values);
        let mut notes = Vec::new();
        if !self.has_notes() && self.checks.is_empty() {
            notes.push(
                "no script has an `-- expect:` note and there are no checks, so wrong answers go unnoticed".into(),
            );
        }
        let is_unclean = |own: &OwnData| own.form == OwnDataForm::Directory { accept_unclean: true };
        if self.own_data.as_ref().is_some_and(is_unclean) {
            notes.push(
                "the data need not have been shut down cleanly: recovery ran, where it was due, once on the copy that all trials begin with".into(),
            );
        }
        WorkloadSpec {
            writes: self.changes_rows(),
            transactions: self.programs().any(opens),
            keeps_its_size: !self.changes_rows(),
            needs_answers: self.has_notes() || self.programs().any(reads_values),
            latency_limit: self.latency_limit,
            kinds: self.transactions.iter().map(kind).collect(),
            own_data: self.own_data.clone(),
            notes,
            warnings: self.warnings(),
            ..WorkloadSpec::reading(self.data_key())
        }
    }

    /// Generated tables first; those that setup makes beside them have their rows from there, if any.
    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let empty = |name: String| Table {
            name,
            create: Vec::new(),
            columns: vec!["*".into()],
            units: 0,
            rows: 0,
            finish: Vec::new(),
            link: Vec::new(),
            seals: false,
        };
        let generated = self.tables.iter().map(|table| Table {
            columns: table.columns.iter().map(|(name, _)| name.clone().into()).collect(),
            units: table.rows,
            rows: table.rows,
            ..empty(table.name.clone())
        });
        let made = made_tables(statements(&self.setup, dialect));
        let others = made.into_iter().filter(|name| !self.tables.iter().any(|table| table.name == *name)).map(empty);
        let mut tables: Vec<Table> = generated.chain(others).collect();
        if let Some(first) = tables.first_mut() {
            first.create = statements(&self.setup, dialect).cloned().collect();
            first.link = statements(&self.after_load, dialect).cloned().collect();
        }
        tables
    }

    fn data_bytes(&self, _dialect: Dialect) -> u64 {
        let tables: u64 = self.tables.iter().map(|table| table.rows.saturating_mul(GENERATED_ROW_BYTES)).sum();
        let brought = self.own_data.iter().flat_map(|own| own.places.iter().map(|(_, place)| own.form.grows_to(place)));
        brought.max().unwrap_or(tables)
    }

    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        self.tables[table].row(data_seed, table as u64, unit, sink)
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let client = ScriptClient::new(self.clone(), connection, &slot)?;
        Ok(slot.drive(client))
    }

    fn preparing(&self, dialect: Dialect) -> Preparing {
        if self.protocol != Protocol::Prepared {
            return Preparing::Nothing;
        }
        let prepared = |program: &Program| program.statements.iter().filter(|one| !one.pieces.is_empty()).count();
        let each: usize = self.transactions.iter().map(|one| prepared(&one.program(dialect))).sum();
        Preparing::Statements { each: each as u64, option: "protocol", instead: UNPREPARED }
    }

    fn runs_once(&self) -> Option<&dyn RunsOnce> {
        Some(self)
    }

    fn has_plans(&self) -> Option<&dyn HasPlans> {
        Some(self)
    }

    fn timed_statements(&self, dialect: Dialect) -> Vec<String> {
        let named = |one: &Transaction| {
            let names = one.program(dialect).statement_names();
            names.into_iter().map(|name| format!("{}.{name}", one.name)).collect::<Vec<_>>()
        };
        self.transactions.iter().flat_map(named).collect()
    }

    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        let now = if ran.is_none() { When::Load } else { When::After };
        let mut violations = Vec::new();
        for check in &self.checks {
            let Check::Value { sql, expect, when } = check else { continue };
            if *when == now {
                let found = admin.value(sql)?.unwrap_or_else(|| "NULL".to_owned());
                violations.extend((found != *expect).then(|| format!("{sql}: {expect} was expected, {found} found")));
            }
        }
        Ok(violations)
    }

    fn kept_values(&self) -> Vec<String> {
        let kept = |check: &Check| match check {
            Check::Kept { sql } => Some(sql.clone()),
            Check::Value { .. } => None,
        };
        self.checks.iter().filter_map(kept).collect()
    }

    fn remains(&self, admin: &mut Admin) -> Result<Vec<(String, String)>, Error> {
        let drops = statements(&self.teardown, admin.dialect()).map(|sql| (sql.clone(), sql.clone()));
        Ok(drops.collect())
    }

    fn lasting(&self, dialect: Dialect) -> Vec<String> {
        if !self.teardown.is_empty() {
            return Vec::new();
        }
        let goes_with_a_table = |statement: &&String| {
            let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
            let kinds = ["table", "index", "unique", "fulltext", "spatial", "trigger"];
            words.next().is_none_or(|word| word != "create")
                || words.next().is_none_or(|word| kinds.contains(&word.as_str()))
        };
        let made = statements(&self.setup, dialect).chain(statements(&self.after_load, dialect));
        made.filter(|statement| !goes_with_a_table(statement)).cloned().collect()
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        let has = |is: fn(&Program) -> bool| self.transactions.iter().any(|one| is(&one.program(dialect)));
        match dialect {
            Dialect::MySql | Dialect::Sqlite if has(Program::has_pipeline) => {
                Err("\\startpipeline is PostgreSQL's: no other server has pipelines".to_owned())
            }
            Dialect::Sqlite if has(Program::joins_statements) => {
                Err("`\\;` is not SQLite's: it runs one statement at a time".to_owned())
            }
            Dialect::MySql => self.no_end(),
            _ => Ok(()),
        }
    }

    fn expected_answers(&self, seen: &[Answers], setting: &Setting) -> Vec<Expected> {
        let is_allowed = self.allows(seen, setting.dialect);
        let expected = |(statement, seen): (String, &Answers)| Expected {
            statement: statement.into(),
            seen: Answers { wrong: if is_allowed { 0 } else { seen.wrong }, ..*seen },
            rows: None,
            matched: None,
        };
        self.sites(setting.dialect).zip(seen).map(expected).collect()
    }
}
