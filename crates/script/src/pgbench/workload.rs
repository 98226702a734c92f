//! Scripts that run by pgbench's rules, over its tables.

use std::collections::BTreeMap;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink};
use load::{
    Answers, Client, ClientFuture, Clock, Expected, Preparing, ReusesTables, Setting, Slot, Table, Tally,
    TransactionKind, Workload, WorkloadSpec,
};

use super::expressions::value_of;
use super::tables::{PgbenchTables, TABLES};
use crate::client::ScriptClient;
use crate::eval::Scalar;
use crate::fault::Source;
use crate::program::{Listing, Op, Program, Protocol, Variables, compile};
use crate::statement::Role;
use crate::watch::Watch;
use crate::workload::{Script, Transaction};

/// One script: a file, or one that pgbench brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path as it was given, or the builtin's title.
    pub title: String,
    pub text: String,
    pub weight: u64,
    pub is_builtin: bool,
}

/// What holds for all scripts of a run.
#[derive(Debug, Clone)]
pub struct Rules {
    pub protocol: Protocol,
    /// `-D`: names with their values as text.
    pub defines: Vec<(String, String)>,
    /// How often a transaction is tried at most; 0 for as often as there is time.
    pub max_tries: u64,
    /// Names in SQL and errors follow pgbench; without it every name has to be known, and an error fails its
    /// transaction only.
    pub by_pgbench: bool,
    /// `\shell` and `\setshell` run programs.
    pub allows_shell: bool,
    pub watch: Option<Watch>,
}

impl Default for Rules {
    /// Those of an experiment.
    fn default() -> Rules {
        Rules {
            protocol: Protocol::Prepared,
            defines: Vec::new(),
            max_tries: 0,
            by_pgbench: false,
            allows_shell: false,
            watch: None,
        }
    }
}

/// A command as reports list it, and its place among the timed statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub text: String,
    pub statement: Option<usize>,
}

pub struct Pgbench {
    script: Script,
    tables: PgbenchTables,
    files: Vec<File>,
    /// Answers have to be those of pgbench's own tables: known only of builtin scripts.
    is_checked: bool,
}

impl Pgbench {
    /// Compiles the scripts, or lists what is wrong with them.
    pub fn new(files: &[File], tables: PgbenchTables, rules: &Rules) -> Result<Pgbench, Vec<String>> {
        let given = given(tables.scale, rules);
        // One set of variables for all scripts, since they last from one transaction of a client to the next.
        let [mut mysql, mut postgres, mut sqlite] = [(); 3].map(|()| variables(&given, rules));
        let (mut compiled, mut faults) = (Vec::new(), Vec::new());
        for file in files {
            let compile = |dialect, variables: &mut Variables| {
                let source = Source { path: file.title.clone(), text: file.text_for(dialect) };
                compile(&source, variables).map_err(|faults| faults.0)
            };
            let programs = [
                compile(Dialect::MySql, &mut mysql),
                compile(Dialect::Postgres, &mut postgres),
                compile(Dialect::Sqlite, &mut sqlite),
            ];
            match programs {
                [Ok(mysql), Ok(postgres), Ok(sqlite)] => compiled.push((file, [mysql, postgres, sqlite])),
                programs => faults.extend(programs.into_iter().find_map(Result::err).unwrap_or_default()),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let (names, texts) = if rules.by_pgbench {
            (postgres.names().into(), postgres.texts.as_slice().into())
        } else {
            Default::default()
        };
        let initial = [mysql.initial, postgres.initial, sqlite.initial];
        let transactions: Vec<Transaction> =
            compiled.into_iter().map(|(file, programs)| transaction(file, programs, &initial)).collect();
        let script = Script {
            transactions: transactions.into(),
            protocol: rules.protocol,
            by_pgbench: rules.by_pgbench,
            watch: rules.watch,
            names,
            texts,
            max_tries: rules.max_tries,
            default_seed: match given.get("default_seed") {
                Some((Scalar::Int(seed), _)) => Some(*seed),
                _ => None,
            },
            ..Script::default()
        };
        Ok(Pgbench { script, tables, files: files.to_vec(), is_checked: false })
    }

    /// Holds data and answers to what builtin scripts make of the tables.
    pub fn with_checks(self) -> Pgbench {
        Pgbench { is_checked: true, ..self }
    }

    /// One client on any connection, as real as those of a run; the slot's recorder gets the statements.
    pub fn client_on<C: Connection, K: Clock + Clone>(
        &self,
        connection: C,
        slot: &Slot<K>,
    ) -> Result<impl Client<Connection = C> + use<C, K>, Error> {
        let names = self.script.timed_statements(connection.dialect());
        slot.recorder.replace_with(|recorder| std::mem::take(recorder).with_statements(names));
        ScriptClient::new(self.script.clone(), connection, slot)
    }

    /// The commands of each script, in the order of their statements among the timed ones.
    pub fn listed(&self, dialect: Dialect) -> Vec<Vec<Listed>> {
        let mut first = 0;
        let of = |transaction: &Transaction| {
            let program = transaction.program(dialect);
            let listed = |one: &Listing| Listed {
                text: one.text.clone(),
                statement: one.statement.map(|statement| first + statement),
            };
            let all = program.listing.iter().map(listed).collect();
            first += program.statements.len();
            all
        };
        self.script.transactions.iter().map(of).collect()
    }

    /// Where the first command stands that runs a program.
    pub fn runs_programs(&self, dialect: Dialect) -> Option<String> {
        let of = |one: &Transaction| {
            let program = one.program(dialect);
            let at = program.ops.iter().position(|op| matches!(op, Op::Shell { .. }))?;
            Some(format!("{}:{}", one.path(dialect), program.lines[at]))
        };
        self.script.transactions.iter().find_map(of)
    }

    fn writes_to(&self, table: &str) -> bool {
        let writes =
            |file: &File| ["UPDATE", "INSERT INTO"].iter().any(|word| file.text.contains(&format!("{word} {table} ")));
        self.files.iter().any(writes)
    }
}

/// Values from outside, each with the text that it was given as.
type Given = BTreeMap<String, (Scalar, Option<String>)>;

fn given(scale: u64, rules: &Rules) -> Given {
    let scale = [("scale".to_owned(), (Scalar::Int(scale as i64), None))];
    let define =
        |(name, text): &(String, String)| (name.clone(), (value_of(text).unwrap_or(Scalar::Text), Some(text.clone())));
    scale.into_iter().chain(rules.defines.iter().map(define)).collect()
}

fn variables(given: &Given, rules: &Rules) -> Variables {
    let values = given.iter().map(|(name, (value, _))| (name.clone(), *value)).collect();
    if !rules.by_pgbench {
        return Variables::new(&values);
    }
    let texts = given.iter().filter_map(|(name, (_, text))| Some((name.clone(), text.clone()?))).collect();
    let mut variables = Variables::of_pgbench(&values, &texts, rules.protocol);
    variables.allows_shell = rules.allows_shell;
    variables
}

fn transaction(file: &File, programs: [Program; 3], initial: &[Vec<Scalar>; 3]) -> Transaction {
    let name = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut initial = initial.iter().cloned();
    let programs = programs.map(|program| (program, initial.next().unwrap_or_default()));
    let paths = [(); 3].map(|()| file.title.clone());
    Transaction { name: file.title.chars().map(name).collect(), weight: file.weight, programs, paths }
}

impl Workload for Pgbench {
    fn spec(&self) -> WorkloadSpec {
        let spec = self.script.spec();
        let kinds: Vec<TransactionKind> = if self.script.transactions.len() > 1 { spec.kinds } else { Vec::new() };
        let scale = self.tables.scale;
        WorkloadSpec { data_key: format!("pgbench {scale}"), notes: Vec::new(), kinds, ..spec }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        self.tables.tables(dialect)
    }

    fn rows(&self, _: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error> {
        self.tables.row(table, unit, sink)
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        self.script.client(slot, connection)
    }

    fn preparing(&self, dialect: Dialect) -> Preparing {
        self.script.preparing(dialect)
    }

    fn timed_statements(&self, dialect: Dialect) -> Vec<String> {
        self.script.timed_statements(dialect)
    }

    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        match (self.script.protocol, dialect) {
            (Protocol::Extended, Dialect::MySql | Dialect::Sqlite) => {
                Err("protocol `extended` is PostgreSQL's: use simple or prepared here".to_owned())
            }
            _ => self.script.runs_on(dialect),
        }
    }

    /// Every delta is in the history and, in tpcb-like, in the balances of one account, teller and branch.
    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        let mut expected = Vec::new();
        for (name, _, rows, _) in TABLES.iter().filter(|(_, _, rows, _)| *rows > 0) {
            expected.push((format!("SELECT count(*) FROM {name}"), (rows * self.tables.scale).to_string()));
        }
        let sum = |column: &str, table: &str| format!("SELECT coalesce(sum({column}), 0) FROM {table}");
        if self.is_checked && ran.is_some() && self.writes_to("pgbench_history") {
            let deltas = admin.value(&sum("delta", "pgbench_history"))?.unwrap_or_default();
            let balances =
                [("pgbench_accounts", "abalance"), ("pgbench_tellers", "tbalance"), ("pgbench_branches", "bbalance")];
            let changed = balances.into_iter().filter(|(table, _)| self.writes_to(table));
            expected.extend(changed.map(|(table, column)| (sum(column, table), deltas.clone())));
        }
        let mut violations = Vec::new();
        for (sql, expected) in expected {
            let found = admin.value(&sql)?.unwrap_or_else(|| "NULL".to_owned());
            if found != expected {
                violations.push(format!("{sql}: {expected} was expected, {found} found"));
            }
        }
        Ok(violations)
    }

    /// Each statement of a builtin script finds the one row of its key, or makes one.
    fn expected_answers(&self, seen: &[Answers], setting: &Setting) -> Vec<Expected> {
        let mut expected = self.script.expected_answers(seen, setting);
        let program = self.script.transactions[0].program(setting.dialect);
        for (one, op) in expected.iter_mut().zip(&program.ops).filter(|_| self.is_checked) {
            let Op::Run(statement) = op else { continue };
            let each = Some(one.seen.count..=one.seen.count);
            match program.statements[*statement].role {
                Role::Read => one.rows = each,
                Role::Write => one.matched = each,
                Role::Begin | Role::End | Role::Other => {}
            }
        }
        expected
    }

    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        Some(self)
    }
}

impl ReusesTables for Pgbench {
    fn recognise(&self, admin: &mut Admin, _: u64) -> Result<Result<(), String>, Error> {
        let found = admin.value("SELECT count(*) FROM pgbench_branches")?.unwrap_or_default();
        let scale = self.tables.scale;
        let differs = || format!("pgbench_branches has {found} rows, and scale {scale} was asked for");
        Ok(if found == scale.to_string() { Ok(()) } else { Err(differs()) })
    }

    /// As pgbench does before each run: small tables without dead rows, and an empty history.
    fn prepare_run(&self, dialect: Dialect) -> Vec<String> {
        let statements: &[&str] = match dialect {
            Dialect::Postgres => &["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"],
            Dialect::MySql => &["truncate table pgbench_history"],
            Dialect::Sqlite => &["delete from pgbench_history"],
        };
        statements.iter().map(|sql| (*sql).to_owned()).collect()
    }
}
