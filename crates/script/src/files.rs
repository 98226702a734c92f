//! The user's files in memory: transactions, statements of plain SQL, checks.

use crate::eval::Scalar;
use crate::program::{Op, Program, Protocol};
use crate::rows::GeneratedTable;
use crate::statement::first_word;
use crate::watch::Watch;
use driver::Dialect;
use load::{Answers, OwnData, Rng};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

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
pub(crate) const GENERATED_ROW_BYTES: u64 = 260;

pub(crate) fn place(dialect: Dialect) -> usize {
    match dialect {
        Dialect::MySql => 0,
        Dialect::Postgres => 1,
        Dialect::Sqlite => 2,
    }
}

/// A program with its variables' first values.
pub struct Compiled<'a> {
    program: &'a Program,
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

pub(crate) fn statements(files: &[PlainSql], dialect: Dialect) -> impl Iterator<Item = &String> {
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
    pub(crate) fn allows(&self, seen: &[Answers], dialect: Dialect) -> bool {
        let ends = self.transactions.iter().scan(0, |next, one| {
            *next += one.program(dialect).ops.len() + 1;
            Some(*next - 1)
        });
        let ended: u64 = ends.filter_map(|end| Some(seen.get(end)?.count)).sum();
        let wrong: u64 = seen.iter().map(|one| one.wrong).sum();
        wrong as f64 <= self.expect_failures * (ended + wrong) as f64
    }

    pub(crate) fn programs(&self) -> impl Iterator<Item = &Program> {
        self.transactions.iter().flat_map(|one| one.programs.iter().map(|(program, _)| program))
    }

    pub(crate) fn changes_rows(&self) -> bool {
        self.writes || !self.programs().all(Program::only_reads)
    }

    pub(crate) fn has_notes(&self) -> bool {
        self.programs().any(|program| program.statements.iter().any(|statement| !statement.expectations.is_empty()))
    }

    /// Fails where a transaction ends by a word that MySQL lacks.
    pub(crate) fn no_end(&self) -> Result<(), String> {
        let ends = |one: &Transaction| {
            let program = one.program(Dialect::MySql);
            let end = program.statements.iter().find(|one| first_word(&one.prepared(Dialect::MySql).0) == "END");
            let path = one.path(Dialect::MySql);
            end.map(|end| format!("{path}:{}: END does not commit in MySQL; write COMMIT", end.line))
        };
        self.transactions.iter().find_map(ends).map_or(Ok(()), Err)
    }

    /// Of all files, each once: a text may serve several dialects.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for warning in self.programs().flat_map(|program| &program.warnings) {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        all
    }

    pub(crate) fn data_key(&self) -> String {
        let made = format!("{:?} {:?} {:?}", self.setup, self.tables, self.after_load);
        let made = self.own_data.iter().fold(made, |made, own| {
            let identities = own.places.iter().map(|(engine, place)| (engine, &place.identity));
            format!("{made} {:?} {:?}", own.form, identities.collect::<Vec<_>>())
        });
        let hash = Sha256::digest(made.as_bytes());
        format!("script {}", hash[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}
