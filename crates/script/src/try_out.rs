//! Each transaction once, to see what its statements bring: through the client of a trial, over a connection that takes
//! back what it can.

use std::collections::BTreeMap;

use driver::{Answer, AnyConnection, Connection, Dialect, Error, Rows, Statement, Value, complete};
use load::{
    Attempt, Client, MonotonicClock, Outcome, Recorder, RunsOnce, Slot, StatementTally, Timeline, TriedOutcome,
    TriedStatement, TriedTransaction, Turn, Window,
};

use crate::client::ScriptClient;
use crate::program::Op;
use crate::statement::{Expectation, Role, SqlStatement, first_word, role};
use crate::workload::{Script, Transaction};

/// MySQL's warning that a rolled back transaction changed a table without transactions.
const NOT_ROLLED_BACK: &str = "1196";

impl RunsOnce for Script {
    fn run_once(
        &self,
        connect: &mut dyn FnMut() -> Result<AnyConnection, Error>,
        input_seed: u64,
    ) -> Result<Vec<TriedTransaction>, Error> {
        self.transactions.iter().map(|one| self.try_one(one, connect()?, input_seed)).collect()
    }
}

impl Script {
    fn try_one(
        &self,
        transaction: &Transaction,
        connection: AnyConnection,
        input_seed: u64,
    ) -> Result<TriedTransaction, Error> {
        let dialect = connection.dialect();
        let alone = Script { transactions: vec![transaction.clone()].into(), ..self.clone() };
        let slot = only_slot(&alone, dialect, input_seed);
        let mut tried = TriedTransaction {
            name: transaction.name.clone(),
            statements: Vec::new(),
            failure: None,
            lasting: Vec::new(),
        };
        match ScriptClient::new(alone.clone(), Undoing::new(connection), &slot) {
            Err(Error::Refused { code, message }) => tried.failure = Some(format!("server error {code}: {message}")),
            Err(error) => return Err(error),
            Ok(mut client) => {
                client.connection().begins = true;
                let turn = Turn { series: 0, number: 0, retry: 0 };
                let ended = complete(client.attempt(turn, &mut Attempt::default()));
                tried.failure = match ended {
                    Err(error) => Some(error.to_string()),
                    Ok(Outcome::Failed) => Some(alone.what_was_wrong(&client, dialect)),
                    Ok(_) => None,
                };
                let connection = client.connection();
                connection.take_back()?;
                tried.lasting = std::mem::take(&mut connection.lasting);
            }
        }
        let tallies = &slot.recorder.borrow().tally.statements;
        let program = transaction.program(dialect);
        let statements = program.statements.iter().zip(tallies);
        tried.statements = statements.map(|(statement, seen)| tried_statement(statement, seen, dialect)).collect();
        Ok(tried)
    }

    /// The first command of the only transaction that did not bring what it had to.
    fn what_was_wrong<C: Connection>(&self, client: &ScriptClient<C, MonotonicClock>, dialect: Dialect) -> String {
        let program = self.transactions[0].program(dialect);
        let wrong = self.sites(dialect).zip(client.answers()).enumerate().find(|(_, (_, seen))| seen.wrong > 0);
        let Some((at, (site, seen))) = wrong else { return "it failed".to_owned() };
        match program.ops.get(at) {
            None => site,
            Some(Op::Run(statement)) => {
                let statement = &program.statements[*statement];
                let expected = statement.expectations.iter().map(Expectation::to_string);
                let gset = statement.gather.iter().map(|_| "\\gset takes 1 row".to_owned());
                let expected = expected.chain(gset).collect::<Vec<_>>().join(", ");
                let rows = if seen.rows == 1 { "1 row".to_owned() } else { format!("{} rows", seen.rows) };
                let changed = if seen.matched > 0 { format!(", {} changed", seen.matched) } else { String::new() };
                format!("{site}: {expected}; it brought {rows}{changed}")
            }
            Some(_) => format!("{site}: {}", client.why()),
        }
    }
}

/// The place of the only client, with a measured interval without an end.
fn only_slot(script: &Script, dialect: Dialect, input_seed: u64) -> Slot {
    use load::Workload as _;
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
    let recorder = Recorder::new(0, false).with_statements(script.timed_statements(dialect));
    Slot { input_seed, ..Slot::alone(MonotonicClock::sleeping(), timeline, recorder) }
}

fn tried_statement(statement: &SqlStatement, seen: &StatementTally, dialect: Dialect) -> TriedStatement {
    let sql = statement.prepared(dialect).0;
    let outcome = match (seen.failed, seen.count) {
        (0, 0) => TriedOutcome::NotReached,
        (0, _) if commits(&sql) => TriedOutcome::HeldBack,
        (0, _) => TriedOutcome::Answered { rows: seen.rows, took_ns: (seen.latency.max_ms() * 1e6) as u64 },
        _ => TriedOutcome::Failed,
    };
    TriedStatement { line: statement.line, label: statement.label.clone(), sql, outcome }
}

/// A connection on which nothing is committed that can be taken back. A transaction is opened before the first statement
/// that needs one and ended by a ROLLBACK; a COMMIT of the script is not sent.
pub(crate) struct Undoing<C> {
    connection: C,
    /// By the statement's number.
    texts: BTreeMap<usize, String>,
    /// From here on statements are the script's, and not what its sessions begin with.
    pub(crate) begins: bool,
    is_open: bool,
    lasting: Vec<String>,
}

impl<C: Connection> Undoing<C> {
    pub(crate) fn new(connection: C) -> Undoing<C> {
        Undoing { connection, texts: BTreeMap::new(), begins: false, is_open: false, lasting: Vec::new() }
    }

    /// Whether a statement is to be sent, in a transaction if one can take it back.
    async fn admit(&mut self, sql: &str) -> Result<bool, Error> {
        if !self.begins || commits(sql) {
            return Ok(!self.begins);
        }
        let effect = effect(sql, self.connection.dialect());
        match effect {
            Effect::Opens if self.is_open => return Ok(false),
            Effect::Opens => self.is_open = true,
            Effect::RollsBack => self.is_open = false,
            Effect::Undone if !self.is_open => {
                self.connection.query("BEGIN").await?;
                self.is_open = true;
            }
            Effect::Undone | Effect::OfSession => {}
            Effect::Lasts => {
                let commits = self.is_open && self.connection.dialect() == Dialect::MySql;
                let more = if commits { ", and what came before it, which it commits" } else { "" };
                self.lasting.push(format!("{sql}{more}"));
                // Elsewhere the transaction goes on, if the statement may be part of one at all.
                self.is_open &= !commits;
            }
        }
        Ok(true)
    }

    pub(crate) fn take_back(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        complete(self.connection.query("ROLLBACK"))?;
        if self.connection.dialect() == Dialect::MySql {
            let mut warnings = Rows::default();
            complete(self.connection.query_into("SHOW WARNINGS", &mut warnings))?;
            if (0..warnings.len()).any(|row| warnings.text(row, 1) == NOT_ROLLED_BACK.as_bytes()) {
                self.lasting.push("what it changed in tables without transactions (MyISAM)".to_owned());
            }
        }
        Ok(())
    }
}

/// What a statement does to the transaction around it.
enum Effect {
    Opens,
    RollsBack,
    /// A ROLLBACK takes back what it does.
    Undone,
    /// It changes nothing but its session.
    OfSession,
    /// It commits by itself, or may.
    Lasts,
}

fn effect(sql: &str, dialect: Dialect) -> Effect {
    // Definitions are part of a transaction in PostgreSQL and SQLite; MySQL commits before and behind them.
    const DEFINITIONS: [&str; 7] = ["CREATE", "ALTER", "DROP", "TRUNCATE", "COMMENT", "GRANT", "REVOKE"];
    const OF_SESSION: [&str; 9] =
        ["SET", "RESET", "USE", "SAVEPOINT", "RELEASE", "ROLLBACK", "EXPLAIN", "DESCRIBE", "PRAGMA"];
    let first = first_word(sql);
    match role(sql) {
        Role::Begin => Effect::Opens,
        Role::End => Effect::RollsBack,
        Role::Read | Role::Write => Effect::Undone,
        Role::Other if dialect != Dialect::MySql && DEFINITIONS.contains(&first.as_str()) => Effect::Undone,
        Role::Other if OF_SESSION.contains(&first.as_str()) => Effect::OfSession,
        Role::Other => Effect::Lasts,
    }
}

/// COMMIT and its other words, but not ROLLBACK.
fn commits(sql: &str) -> bool {
    role(sql) == Role::End && first_word(sql) != "ROLLBACK"
}

impl<C: Connection> Connection for Undoing<C> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let statement = self.connection.prepare(sql)?;
        self.texts.insert(statement.number(), sql.to_owned());
        Ok(statement)
    }

    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        let statement = self.connection.prepare_each_time(sql)?;
        self.texts.insert(statement.number(), sql.to_owned());
        Ok(statement)
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        let sql = self.texts[&statement.number()].clone();
        if !self.admit(&sql).await? {
            return Ok(Answer::default());
        }
        self.connection.execute(statement, parameters).await
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        let sql = self.texts[&statement.number()].clone();
        if !self.admit(&sql).await? {
            return Ok(Answer::default());
        }
        self.connection.fetch(statement, parameters, rows).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        if !self.admit(sql).await? {
            return Ok(Answer::default());
        }
        self.connection.query(sql).await
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        if !self.admit(sql).await? {
            return Ok(Answer::default());
        }
        self.connection.query_into(sql, rows).await
    }

    fn queue(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<(), Error> {
        let sql = self.texts[&statement.number()].clone();
        if complete(self.admit(&sql))? { self.connection.queue(statement, parameters) } else { Ok(()) }
    }

    async fn send_queued(&mut self) -> Result<Answer, Error> {
        self.connection.send_queued().await
    }

    fn drop_queued(&mut self) {
        self.connection.drop_queued();
    }
}
