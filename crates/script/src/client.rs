//! One client: runs a compiled script over one connection.
//!
//! What stands between the barriers of a trial allocates nothing: variables, rows and parameters keep their places.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use driver::{Answer, Cell, Code, Connection, Dialect, Error, Rows, Statement, Value, complete};
use load::{Answers, Attempt, Client, Clock, Outcome, Recorder, Rng, StatementTally, Timeline, Turn};

use crate::eval::{Expr, Scalar, Slot, int, is_true};
use crate::pgbench::AsPgbench;
use crate::program::{CLIENT_ID, DEFAULT_SEED, Op, PARAMETERS_MAX, Protocol, RANDOM_SEED};
use crate::statement::{Expectation, Piece, Role, SqlStatement};
use crate::workload::Script;

/// Room for the text of a variable; one that outgrows it keeps the larger room.
const TEXT_BYTES: usize = 512;
/// Parameters that most statements do with.
const PARAMETERS_FEW: usize = 8;
/// MySQL's error for statements that cannot be prepared.
const CANNOT_BE_PREPARED: &str = "1295";

/// How one statement travels.
enum Form {
    Prepared(Statement, Vec<usize>),
    Text(String),
    /// With the values written into it each time.
    Filled(Vec<Piece>),
}

pub struct ScriptClient<C, K> {
    connection: C,
    script: Arc<Script>,
    dialect: Dialect,
    /// By transaction, then by statement.
    forms: Vec<Vec<Form>>,
    slots: Vec<Slot>,
    rng: Rng,
    rows: Rows,
    /// By command, for one transaction after the other, each with one more for its end.
    answers: Vec<Answers>,
    /// By transaction: where its commands begin in `answers`, and its statements among the timed ones.
    firsts: Vec<First>,
    recorder: Rc<RefCell<Recorder>>,
    /// The timed statement that has met an error, until it is decided whether the transaction is tried again.
    refused: Option<usize>,
    clock: K,
    timeline: Arc<Timeline>,
    client: u32,
    input_seed: u64,
    /// BEGIN has been answered, and nothing yet that ends it.
    open: bool,
    /// The statement that is filled in; keeps its memory.
    text: String,
    /// Why the last expression had no value.
    why: &'static str,
}

/// What comes behind a command.
enum Step {
    Next,
    Jump(usize),
    /// The transaction has failed: a value or an answer is not what it has to be.
    Fail,
}

/// Where a transaction begins among the commands, and among the statements, of all of them.
#[derive(Debug, Clone, Copy)]
struct First {
    site: usize,
    statement: usize,
}

/// The command under way.
#[derive(Debug, Clone, Copy)]
struct At {
    kind: usize,
    site: usize,
}

impl<C: Connection, K: Clock> ScriptClient<C, K> {
    pub fn new(script: Arc<Script>, mut connection: C, place: &load::Slot<K>) -> Result<Self, Error>
    where
        K: Clone,
    {
        let dialect = connection.dialect();
        script.on_connect(dialect).try_for_each(|sql| complete(connection.query(sql)).map(drop))?;
        let mut forms = Vec::new();
        for transaction in &script.transactions {
            let program = transaction.program(dialect);
            let prepared = program
                .statements
                .iter()
                .map(|one| form(&mut connection, script.protocol, one, transaction.path(dialect)));
            forms.push(prepared.collect::<Result<_, _>>()?);
        }
        let slots = script.transactions.iter().map(|one| one.program(dialect).initial.len()).max().unwrap_or(0);
        let slot = || Slot { value: Scalar::Undefined, text: String::with_capacity(TEXT_BYTES) };
        let answers = vec![Answers::default(); script.sites(dialect).count()];
        let firsts = script.transactions.iter().scan(First { site: 0, statement: 0 }, |next, transaction| {
            let (first, program) = (*next, transaction.program(dialect));
            *next = First {
                site: first.site + program.ops.len() + 1,
                statement: first.statement + program.statements.len(),
            };
            Some(first)
        });
        Ok(ScriptClient {
            connection,
            dialect,
            forms,
            slots: std::iter::repeat_with(slot).take(slots).collect(),
            rng: Rng::stream(0, 0, 0),
            rows: Rows::default(),
            answers,
            firsts: firsts.collect(),
            recorder: Rc::clone(&place.recorder),
            refused: None,
            clock: place.clock.clone(),
            timeline: Arc::clone(&place.timeline),
            client: place.client,
            input_seed: place.input_seed,
            open: false,
            text: String::with_capacity(TEXT_BYTES),
            why: "",
            script,
        })
    }

    /// Why the last expression had no value.
    pub fn why(&self) -> &'static str {
        self.why
    }

    /// Draws the transaction, and gives its variables their first values.
    fn begin(&mut self, script: &Script, turn: Turn) -> usize {
        self.decide_refused(turn);
        self.rng = Rng::stream(self.input_seed, turn.series, turn.number);
        self.open = false;
        let kind = script.draw(&mut self.rng);
        for (slot, value) in self.slots.iter_mut().zip(script.transactions[kind].program(self.dialect).initial) {
            slot.set(*value);
        }
        self.slots[CLIENT_ID].set(Scalar::Int(self.client.into()));
        self.slots[RANDOM_SEED].set(Scalar::Int(self.input_seed as i64));
        let seed =
            script.default_seed.unwrap_or_else(|| Rng::stream(self.input_seed, u64::MAX, u64::MAX).next_u64() as i64);
        self.slots[DEFAULT_SEED].set(Scalar::Int(seed));
        kind
    }

    async fn step(&mut self, op: &Op, at: At, attempt: &mut Attempt) -> Result<Step, Error> {
        let site = at.site;
        match op {
            Op::Jump(to) => Ok(Step::Jump(*to)),
            Op::Set { slot, to } => Ok(match self.evaluated(site, to) {
                Some(value) => {
                    self.slots[*slot].set(value);
                    Step::Next
                }
                None => Step::Fail,
            }),
            Op::JumpUnless { condition, to } => Ok(match self.evaluated(site, condition) {
                Some(value) if is_true(value) => Step::Next,
                Some(_) => Step::Jump(*to),
                None => Step::Fail,
            }),
            Op::Sleep { count, unit_us } => {
                let Some(count) = self.evaluated(site, count).and_then(|count| int(count).ok()) else {
                    return Ok(Step::Fail);
                };
                self.sleep(u64::try_from(count).unwrap_or(0).saturating_mul(unit_us * 1_000)).await;
                Ok(Step::Next)
            }
            Op::Run(statement) => self.run(at, *statement, attempt).await,
        }
    }

    /// The value of an expression; one that has none makes its command wrong.
    fn evaluated(&mut self, site: usize, expr: &Expr) -> Option<Scalar> {
        self.answers[site].count += 1;
        let value = expr.evaluate(&self.slots, &mut self.rng);
        self.why = value.err().map_or("", |why| why.0);
        let value = value.ok();
        self.answers[site].wrong += u64::from(value.is_none());
        value
    }

    /// Sleeps, but not behind the end of the trial.
    async fn sleep(&mut self, ns: u64) {
        let due_ns = self.clock.now_ns().saturating_add(ns);
        self.clock.wait_until(due_ns.min(self.timeline.window().end_ns)).await;
    }

    async fn run(&mut self, at: At, number: usize, attempt: &mut Attempt) -> Result<Step, Error> {
        let script = Arc::clone(&self.script);
        let (kind, site) = (at.kind, at.site);
        let timed = self.firsts[kind].statement + number;
        let statement = &script.transactions[kind].program(self.dialect).statements[number];
        attempt.committing = statement.role == Role::End || (statement.role == Role::Write && !self.open);
        match statement.role {
            Role::Read => attempt.reads += 1,
            Role::Write => attempt.writes += 1,
            Role::Begin | Role::End | Role::Other => attempt.other += 1,
        }
        let start_ns = self.clock.now_ns();
        let sent = self.send(kind, number, statement.reads_values()).await;
        let end_ns = self.clock.now_ns();
        let answer = match sent {
            Ok(answer) => answer,
            Err(error) => {
                let counted = self.count(timed, end_ns, |tally| tally.failed += 1);
                self.refused = counted.then_some(timed);
                return Err(placed(error, &script, script.transactions[kind].path(self.dialect), statement.line));
            }
        };
        attempt.committing = false;
        let Some(answer) = answer else {
            self.answers[site].count += 1;
            self.answers[site].wrong += 1;
            self.count(timed, end_ns, |tally| tally.failed += 1);
            return Ok(Step::Fail);
        };
        match statement.role {
            Role::Begin => self.open = true,
            Role::End => self.open = false,
            _ => {}
        }
        self.answers[site].take(answer);
        let is_right = self.is_as_expected(statement, answer) && self.gset(statement);
        self.answers[site].wrong += u64::from(!is_right);
        self.count(timed, end_ns, |tally| {
            tally.count += 1;
            tally.failed += u64::from(!is_right);
            tally.rows += if answer.returns_rows { answer.rows } else { answer.matched() };
            tally.latency.record(end_ns - start_ns);
        });
        Ok(if is_right { Step::Next } else { Step::Fail })
    }

    /// Counts a call of a timed statement that ended inside the interval; false for any other.
    fn count(&self, timed: usize, end_ns: u64, count: impl FnOnce(&mut StatementTally)) -> bool {
        self.recorder.borrow_mut().statement(timed, end_ns, self.timeline.window()).map(count).is_some()
    }

    /// Counts the call that met an error as one that was tried again, if this turn is that.
    fn decide_refused(&mut self, turn: Turn) {
        let Some(timed) = self.refused.take().filter(|_| turn.retry > 0) else { return };
        if let Some(tally) = self.recorder.borrow_mut().tally.statements.get_mut(timed) {
            tally.failed -= 1;
            tally.retries += 1;
        }
    }

    /// Sends a statement with the values of its variables; None where one of them has none.
    async fn send(&mut self, kind: usize, at: usize, reads: bool) -> Result<Option<Answer>, Error> {
        let few = !matches!(&self.forms[kind][at], Form::Prepared(_, parameters) if parameters.len() > PARAMETERS_FEW);
        if few {
            self.send_up_to::<PARAMETERS_FEW>(kind, at, reads).await
        } else {
            self.send_up_to::<PARAMETERS_MAX>(kind, at, reads).await
        }
    }

    async fn send_up_to<const N: usize>(
        &mut self,
        kind: usize,
        at: usize,
        reads: bool,
    ) -> Result<Option<Answer>, Error> {
        let ScriptClient { connection, script, forms, slots, rows, dialect, text: filled, .. } = self;
        if reads {
            rows.clear();
        }
        let answer = match &forms[kind][at] {
            Form::Text(text) if reads => connection.query_into(text, rows).await,
            Form::Text(text) => connection.query(text).await,
            Form::Filled(pieces) => {
                let literals = (!script.aborts).then_some(*dialect);
                if !fill(filled, pieces, slots, literals) {
                    return Ok(None);
                }
                if reads { connection.query_into(filled, rows).await } else { connection.query(filled).await }
            }
            Form::Prepared(statement, parameters) => {
                let mut values = [Value::Null; N];
                for (value, slot) in values.iter_mut().zip(parameters) {
                    let Some(given) = slots[*slot].parameter(*dialect) else { return Ok(None) };
                    *value = given;
                }
                let values = &values[..parameters.len()];
                if reads {
                    connection.fetch(*statement, values, rows).await
                } else {
                    connection.execute(*statement, values).await
                }
            }
        };
        answer.map(Some)
    }

    fn is_as_expected(&self, statement: &SqlStatement, answer: Answer) -> bool {
        statement.expectations.iter().all(|expectation| match expectation {
            Expectation::Rows(range) => range.contains(&answer.rows),
            Expectation::Changed(range) => range.contains(&answer.matched()),
            Expectation::Value(slot) => self.rows.cell(0, 0).is_some_and(|cell| self.slots[*slot].is_same(cell)),
        })
    }

    /// What ends a client that follows pgbench's rules, in its words.
    fn aborted(&self, kind: usize, command: usize) -> Error {
        let why = if self.why.is_empty() { "expected one row" } else { self.why };
        let message = format!("client {} aborted in command {command} of script {kind}: {why}", self.client);
        Error::Refused { code: Code::new(b"ABORT"), message }
    }

    /// Takes the one row of a `\gset` into its variables.
    fn gset(&mut self, statement: &SqlStatement) -> bool {
        let Some(slots) = &statement.gset else { return true };
        self.rows.len() == 1
            && slots
                .iter()
                .enumerate()
                .all(|(column, slot)| self.rows.cell(0, column).is_some_and(|cell| self.slots[*slot].take(cell)))
    }
}

/// What a server refuses, with the place in the script; pgbench's messages have places of their own.
fn placed(error: Error, script: &Script, path: &str, line: usize) -> Error {
    match error {
        Error::Refused { code, message } if !script.aborts => {
            Error::Refused { code, message: format!("{path}:{line}: {message}") }
        }
        other => other,
    }
}

/// How a statement travels.
fn form<C: Connection>(
    connection: &mut C,
    protocol: Protocol,
    statement: &SqlStatement,
    path: &str,
) -> Result<Form, Error> {
    match protocol {
        Protocol::Simple => Ok(Form::Filled(statement.pieces.clone())),
        Protocol::Extended => {
            let (text, parameters) = statement.prepared(connection.dialect());
            Ok(Form::Prepared(connection.prepare_each_time(&text)?, parameters))
        }
        Protocol::Prepared => prepare(connection, statement, path),
    }
}

/// Writes a statement with its values, as literals of a dialect or bare as pgbench does; false where one of them has
/// none.
fn fill(text: &mut String, pieces: &[Piece], slots: &[Slot], literals: Option<Dialect>) -> bool {
    text.clear();
    pieces.iter().all(|piece| match piece {
        Piece::Text(part) => {
            text.push_str(part);
            true
        }
        Piece::Variable(slot) => match literals {
            Some(dialect) => slots[*slot].write_literal(text, dialect),
            None => slots[*slot].write(text),
        },
    })
}

/// A text in quotes; MySQL also takes a backslash for the beginning of something else.
fn quote(text: &mut String, value: &str, dialect: Dialect) {
    text.push('\'');
    for c in value.chars() {
        if c == '\'' || (c == '\\' && dialect == Dialect::MySql) {
            text.push(c);
        }
        text.push(c);
    }
    text.push('\'');
}

/// Prepares a statement, or keeps its text where the server cannot prepare this kind.
fn prepare<C: Connection>(connection: &mut C, statement: &SqlStatement, path: &str) -> Result<Form, Error> {
    let (text, parameters) = statement.prepared(connection.dialect());
    match connection.prepare(&text) {
        Ok(prepared) => Ok(Form::Prepared(prepared, parameters)),
        Err(Error::Refused { code, .. }) if code.as_str() == CANNOT_BE_PREPARED && parameters.is_empty() => {
            Ok(Form::Text(text))
        }
        Err(Error::Refused { code, message }) => {
            Err(Error::Refused { code, message: format!("{path}:{}: {message}", statement.line) })
        }
        Err(other) => Err(other),
    }
}

impl Slot {
    pub fn set(&mut self, value: Scalar) {
        self.value = value;
        if let Scalar::Double(number) = value {
            self.text.clear();
            let _ = write!(self.text, "{number}");
        }
    }

    /// Writes the value bare, as pgbench does; false where there is none.
    fn write(&self, text: &mut String) -> bool {
        let written = match self.value {
            Scalar::Null => text.write_str("NULL"),
            Scalar::Int(number) => write!(text, "{number}"),
            Scalar::Double(number) => write!(text, "{}", AsPgbench(number)),
            Scalar::Bool(flag) => write!(text, "{flag}"),
            Scalar::Text => text.write_str(&self.text),
            Scalar::Undefined => return false,
        };
        written.is_ok()
    }

    /// Writes what the parameter would be; false where there is no value. A sign has room, so that it makes no comment.
    fn write_literal(&self, text: &mut String, dialect: Dialect) -> bool {
        match self.value {
            Scalar::Undefined => return false,
            Scalar::Text => quote(text, &self.text, dialect),
            Scalar::Double(number) if !number.is_finite() => quote(text, &self.text, dialect),
            Scalar::Double(_) => {
                text.push_str(if self.text.starts_with('-') { " " } else { "" });
                text.push_str(&self.text);
            }
            Scalar::Int(number) if number < 0 => return write!(text, " {number}").is_ok(),
            Scalar::Bool(flag) if dialect != Dialect::Postgres => return write!(text, "{}", i64::from(flag)).is_ok(),
            Scalar::Null | Scalar::Int(_) | Scalar::Bool(_) => return self.write(text),
        }
        true
    }

    fn parameter(&self, dialect: Dialect) -> Option<Value<'_>> {
        Some(match self.value {
            Scalar::Null => Value::Null,
            Scalar::Int(number) => Value::Int(number),
            Scalar::Bool(flag) if dialect == Dialect::Postgres => Value::Text(if flag { b"t" } else { b"f" }),
            Scalar::Bool(flag) => Value::Int(flag.into()),
            Scalar::Double(_) | Scalar::Text => Value::Text(self.text.as_bytes()),
            Scalar::Undefined => return None,
        })
    }

    /// Takes what a query brought: a number where it is one, and its text in any case.
    fn take(&mut self, cell: Cell<'_>) -> bool {
        let bytes = match cell {
            Cell::Null => {
                return {
                    self.value = Scalar::Null;
                    true
                };
            }
            Cell::Int(number) => {
                return {
                    self.value = Scalar::Int(number);
                    true
                };
            }
            Cell::Text(bytes) => bytes,
        };
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        self.text.clear();
        self.text.push_str(text);
        self.value = match (text.parse(), text) {
            (Ok(number), _) => Scalar::Int(number),
            (_, "t" | "true") => Scalar::Bool(true),
            (_, "f" | "false") => Scalar::Bool(false),
            _ if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
                text.parse().map_or(Scalar::Text, Scalar::Double)
            }
            _ => Scalar::Text,
        };
        true
    }

    fn is_same(&self, cell: Cell<'_>) -> bool {
        match (self.value, cell) {
            (Scalar::Null, Cell::Null) => true,
            (Scalar::Int(wanted), Cell::Int(found)) => wanted == found,
            (Scalar::Int(wanted), Cell::Text(found)) => {
                std::str::from_utf8(found).ok().and_then(|text| text.parse().ok()) == Some(wanted)
            }
            (Scalar::Bool(wanted), Cell::Int(found)) => i64::from(wanted) == found,
            (Scalar::Bool(wanted), Cell::Text(found)) => found == if wanted { b"t".as_slice() } else { b"f" },
            (Scalar::Double(_) | Scalar::Text, Cell::Text(found)) => self.text.as_bytes() == found,
            _ => false,
        }
    }
}

impl<C: Connection, K: Clock> Client for ScriptClient<C, K> {
    type Connection = C;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let script = Arc::clone(&self.script);
        let kind = self.begin(&script, turn);
        attempt.kind = kind;
        let (program, first) = (script.transactions[kind].program(self.dialect), self.firsts[kind].site);
        let mut next = 0;
        while let Some(op) = program.ops.get(next) {
            next = match self.step(op, At { kind, site: first + next }, attempt).await? {
                Step::Next => next + 1,
                Step::Jump(to) => to,
                Step::Fail if script.aborts => return Err(self.aborted(kind, next)),
                Step::Fail => {
                    self.answers[first + next].first_wrong.get_or_insert(turn);
                    self.roll_back(attempt).await?;
                    return Ok(Outcome::Failed);
                }
            };
        }
        let end = &mut self.answers[first + program.ops.len()];
        end.count += 1;
        end.wrong += u64::from(self.open);
        // A file of pgbench may leave its transaction open for the next.
        if self.open && !script.aborts {
            self.answers[first + program.ops.len()].first_wrong.get_or_insert(turn);
            self.roll_back(attempt).await?;
            return Ok(Outcome::Failed);
        }
        Ok(Outcome::Committed)
    }

    /// After an error some servers are still inside the transaction and others are not; ROLLBACK is right in the
    /// first case, and refused or ignored in the second.
    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        match self.connection.query("ROLLBACK").await {
            Ok(_) | Err(Error::Refused { .. }) => {
                attempt.other += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The session of the new connection begins like that of the first.
    async fn reconnected(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        let script = Arc::clone(&self.script);
        for sql in script.on_connect(self.dialect) {
            self.connection.query(sql).await?;
            attempt.other += 1;
        }
        Ok(())
    }

    fn retry_pause_ns(&mut self, turn: Turn) -> Option<u64> {
        (self.script.max_tries == 0 || turn.retry < self.script.max_tries).then_some(0)
    }

    fn answers(&self) -> &[Answers] {
        &self.answers
    }

    fn connection(&mut self) -> &mut C {
        &mut self.connection
    }
}
