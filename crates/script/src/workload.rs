//! The user's files as a workload: tables, transactions and checks.

use std::sync::Arc;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};
use load::{
    Answers, ClientFuture, Expected, OwnData, OwnDataForm, Rng, RunsOnce, Setting, Slot, Table, Tally, TransactionKind,
    Workload, WorkloadSpec,
};
use sha2::{Digest, Sha256};

use crate::client::ScriptClient;
use crate::eval::Scalar;
use crate::program::{Op, Program, Protocol};
use crate::rows::GeneratedTable;
use crate::statement::first_word;
use crate::watch::Watch;

/// A transaction, in the text of each dialect.
#[derive(Debug, Clone)]
pub struct Transaction {
    pub name: String,
    pub weight: u64,
    /// By dialect, each with its variables as they are when it begins.
    pub programs: [(Program, Vec<Scalar>); 3],
    pub paths: [String; 3],
}

/// Statements of plain SQL by dialect.
#[derive(Debug, Clone)]
pub struct PlainSql(pub [Vec<String>; 3]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Load,
    After,
}

/// What a query over the tables has to bring.
#[derive(Debug, Clone)]
pub enum Check {
    Value {
        sql: String,
        expect: String,
        when: When,
    },
    /// After each trial what it brought on the loaded tables.
    Kept {
        sql: String,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Script {
    pub protocol: Protocol,
    /// As in pgbench, a value or an answer that is not what it has to be ends the client, and variables keep their
    /// values from one transaction of a client to the next.
    pub by_pgbench: bool,
    pub watch: Option<Watch>,
    /// Of all variables, and the values that were given as text; both for scripts that follow pgbench.
    pub names: Arc<[String]>,
    pub texts: Arc<[(usize, String)]>,
    /// Shared by all clients.
    pub transactions: Arc<[Transaction]>,
    pub default_seed: Option<i64>,
    pub setup: Vec<PlainSql>,
    pub after_load: Vec<PlainSql>,
    pub connect: Vec<PlainSql>,
    pub teardown: Vec<PlainSql>,
    pub checks: Vec<Check>,
    pub writes: bool,
    pub latency_limit: Option<Duration>,
    /// How often a transaction is tried at most; 0 for as often as there is time.
    pub max_tries: u64,
    /// The share of transactions that may fail by a wrong answer or a missing value.
    pub expect_failures: f64,
    pub tables: Vec<GeneratedTable>,
    /// In place of what setup makes.
    pub own_data: Option<OwnData>,
}

/// About a row with its share of an index and of free space.
const GENERATED_ROW_BYTES: u64 = 260;

fn place(dialect: Dialect) -> usize {
    match dialect {
        Dialect::MySql => 0,
        Dialect::Postgres => 1,
        Dialect::Sqlite => 2,
    }
}

/// A program with its variables' first values.
pub struct Compiled<'a> {
    pub program: &'a Program,
    pub initial: &'a [Scalar],
}

impl std::ops::Deref for Compiled<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        self.program
    }
}

impl Transaction {
    pub fn program(&self, dialect: Dialect) -> Compiled<'_> {
        let (program, initial) = &self.programs[place(dialect)];
        Compiled { program, initial }
    }

    pub fn path(&self, dialect: Dialect) -> &str {
        &self.paths[place(dialect)]
    }
}

fn statements(files: &[PlainSql], dialect: Dialect) -> impl Iterator<Item = &String> {
    files.iter().flat_map(move |file| &file.0[place(dialect)])
}

impl Script {
    /// A transaction by its weight.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        if self.transactions.len() == 1 {
            return 0;
        }
        let mut left = rng.below(self.transactions.iter().map(|one| one.weight).sum());
        let is_it = |one: &Transaction| {
            let found = left < one.weight;
            left = left.saturating_sub(one.weight);
            found
        };
        self.transactions.iter().position(is_it).unwrap_or(0)
    }

    /// What the answers are counted by: each command of each transaction, and its end.
    pub fn sites(&self, dialect: Dialect) -> impl Iterator<Item = String> {
        self.transactions.iter().flat_map(move |transaction| {
            let (program, path) = (transaction.program(dialect).program, transaction.path(dialect));
            let site = move |(op, line): (&Op, &usize)| {
                let label = match op {
                    Op::Run(statement) | Op::Queue(statement) => program.statements[*statement].label.as_deref(),
                    _ => None,
                };
                format!("{path}:{line}{}", label.map_or(String::new(), |label| format!(" ({label})")))
            };
            let end = format!("{path} (a transaction is open at its end)");
            program.ops.iter().zip(&program.lines).map(site).chain(std::iter::once(end))
        })
    }

    /// What each client's session begins with.
    pub fn on_connect(&self, dialect: Dialect) -> impl Iterator<Item = &String> {
        statements(&self.connect, dialect)
    }

    /// Whether so few answers are wrong that the user has allowed for them.
    fn allows(&self, seen: &[Answers], dialect: Dialect) -> bool {
        let ends = self.transactions.iter().scan(0, |next, one| {
            *next += one.program(dialect).ops.len() + 1;
            Some(*next - 1)
        });
        let ended: u64 = ends.filter_map(|end| Some(seen.get(end)?.count)).sum();
        let wrong: u64 = seen.iter().map(|one| one.wrong).sum();
        wrong as f64 <= self.expect_failures * (ended + wrong) as f64
    }

    fn programs(&self) -> impl Iterator<Item = &Program> {
        self.transactions.iter().flat_map(|one| one.programs.iter().map(|(program, _)| program))
    }

    fn changes_rows(&self) -> bool {
        self.writes || !self.programs().all(Program::only_reads)
    }

    fn has_notes(&self) -> bool {
        self.programs().any(|program| program.statements.iter().any(|statement| !statement.expectations.is_empty()))
    }

    /// Fails where a transaction ends by a word that MySQL lacks.
    fn no_end(&self) -> Result<(), String> {
        let ends = |one: &Transaction| {
            let program = one.program(Dialect::MySql);
            let end = program.statements.iter().find(|one| first_word(&one.prepared(Dialect::MySql).0) == "END");
            let path = one.path(Dialect::MySql);
            end.map(|end| format!("{path}:{}: END does not commit in MySQL; write COMMIT", end.line))
        };
        self.transactions.iter().find_map(ends).map_or(Ok(()), Err)
    }

    /// Of all files, each once: a text may serve several dialects.
    fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for warning in self.programs().flat_map(|program| &program.warnings) {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        all
    }

    fn data_key(&self) -> String {
        let made = format!("{:?} {:?} {:?}", self.setup, self.tables, self.after_load);
        let made = self.own_data.iter().fold(made, |made, own| {
            let identities = own.places.iter().map(|(engine, place)| (engine, &place.identity));
            format!("{made} {:?} {:?}", own.form, identities.collect::<Vec<_>>())
        });
        let hash = Sha256::digest(made.as_bytes());
        format!("script {}", hash[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

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

    fn runs_once(&self) -> Option<&dyn RunsOnce> {
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
