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
    Prepared(Statement, Parameters),
    Text(String),
    /// With the values written into it each time.
    Filled,
}

/// The variables of a statement's parameters; those of most statements lie beside it.
enum Parameters {
    Few([u16; PARAMETERS_FEW], usize),
    Many(Vec<usize>),
}

impl Parameters {
    fn new(slots: Vec<usize>) -> Parameters {
        let mut few = [0; PARAMETERS_FEW];
        let fits = slots.len() <= few.len() && slots.iter().all(|slot| u16::try_from(*slot).is_ok());
        if !fits {
            return Parameters::Many(slots);
        }
        few.iter_mut().zip(&slots).for_each(|(place, slot)| *place = *slot as u16);
        Parameters::Few(few, slots.len())
    }
}

pub struct ScriptClient<C, K> {
    script: Script,
    /// By transaction: where its commands begin in `answers`, and its statements among all.
    firsts: Vec<First>,
    session: Session<C, K>,
}

/// What changes while scripts run.
struct Session<C, K> {
    connection: C,
    dialect: Dialect,
    /// By statement, for one transaction after the other.
    forms: Vec<Form>,
    slots: Vec<Slot>,
    rng: Rng,
    rows: Rows,
    /// By command, for one transaction after the other, each with one more for its end.
    answers: Vec<Answers>,
    recorder: Rc<RefCell<Recorder>>,
    /// The statement that has met an error, until it is decided whether the transaction is tried again.
    refused: Option<usize>,
    clock: K,
    timeline: Arc<Timeline>,
    client: u32,
    input_seed: u64,
    default_seed: i64,
    /// BEGIN has been answered, and nothing yet that ends it.
    open: bool,
    /// Commands that have been evaluated since the clock was read.
    evaluated: u32,
    /// The statement that is filled in; keeps its memory.
    text: String,
    /// Why the last expression had no value.
    why: &'static str,
}

/// What comes behind a command.
enum Step {
    Next,
    /// The transaction has failed: a value or an answer is not what it has to be.
    Fail,
}

/// Where a transaction begins among the commands, and among the statements, of all of them.
#[derive(Debug, Clone, Copy, Default)]
struct First {
    site: usize,
    statement: usize,
}

/// So many commands take no time worth a reading of the clock: a drawn number takes 5 ns, a reading 20.
const EVALUATED_MAX: u32 = 8;

impl<C: Connection, K: Clock> ScriptClient<C, K> {
    pub fn new(script: Script, mut connection: C, place: &load::Slot<K>) -> Result<Self, Error>
    where
        K: Clone,
    {
        let dialect = connection.dialect();
        script.on_connect(dialect).try_for_each(|sql| complete(connection.query(sql)).map(drop))?;
        let (mut forms, mut firsts, mut next) = (Vec::new(), Vec::new(), First::default());
        for transaction in &*script.transactions {
            let program = transaction.program(dialect);
            for one in &program.statements {
                forms.push(form(&mut connection, script.protocol, one, transaction.path(dialect))?);
            }
            firsts.push(next);
            next = First { site: next.site + program.ops.len() + 1, statement: forms.len() };
        }
        let slots = script.transactions.iter().map(|one| one.program(dialect).initial.len()).max().unwrap_or(0);
        let slot = || Slot { value: Scalar::Undefined, text: String::with_capacity(TEXT_BYTES) };
        let drawn = || Rng::stream(place.input_seed, u64::MAX, u64::MAX).next_u64() as i64;
        let session = Session {
            connection,
            dialect,
            forms,
            slots: std::iter::repeat_with(slot).take(slots).collect(),
            rng: Rng::stream(0, 0, 0),
            rows: Rows::default(),
            answers: vec![Answers::default(); next.site],
            recorder: Rc::clone(&place.recorder),
            refused: None,
            clock: place.clock.clone(),
            timeline: Arc::clone(&place.timeline),
            client: place.client,
            input_seed: place.input_seed,
            default_seed: script.default_seed.unwrap_or_else(drawn),
            open: false,
            evaluated: 0,
            text: String::with_capacity(TEXT_BYTES),
            why: "",
        };
        Ok(ScriptClient { script, firsts, session })
    }
}

impl<C: Connection, K: Clock> Session<C, K> {
    /// Draws the transaction, and gives its variables their first values.
    fn begin(&mut self, script: &Script, turn: Turn) -> usize {
        if let Some(refused) = self.refused.take() {
            self.decide_refused(refused, turn);
        }
        self.rng = Rng::stream(self.input_seed, turn.series, turn.number);
        self.open = false;
        self.evaluated = 0;
        let kind = script.draw(&mut self.rng);
        for (slot, value) in self.slots.iter_mut().zip(script.transactions[kind].program(self.dialect).initial) {
            if slot.value != *value {
                slot.set(*value);
            }
        }
        self.slots[CLIENT_ID].value = Scalar::Int(self.client.into());
        self.slots[RANDOM_SEED].value = Scalar::Int(self.input_seed as i64);
        self.slots[DEFAULT_SEED].value = Scalar::Int(self.default_seed);
        kind
    }

    /// The value of an expression; one that has none makes its command wrong.
    #[inline]
    fn evaluated(&mut self, site: usize, expr: &Expr) -> Option<Scalar> {
        self.evaluated += 1;
        let seen = &mut self.answers[site];
        seen.count += 1;
        match expr.evaluate(&self.slots, &mut self.rng) {
            Ok(value) => Some(value),
            Err(why) => {
                seen.wrong += 1;
                self.why = why.0;
                None
            }
        }
    }

    /// Sleeps, but not behind the end of the trial.
    async fn sleep(&mut self, ns: u64, attempt: &mut Attempt) {
        let due_ns = self.clock.now_ns().saturating_add(ns);
        attempt.clock_ns = self.clock.wait_until(due_ns.min(self.timeline.window().end_ns)).await;
        self.evaluated = 0;
    }

    /// When a statement begins: the end of the last one, if hardly anything was done since.
    fn begins_ns(&mut self, attempt: &Attempt) -> u64 {
        let evaluated = std::mem::take(&mut self.evaluated);
        if evaluated <= EVALUATED_MAX && attempt.clock_ns > 0 { attempt.clock_ns } else { self.clock.now_ns() }
    }

    /// Runs a statement, which is the `number`-th of all, and takes its answer.
    async fn run(
        &mut self,
        statement: &SqlStatement,
        number: usize,
        site: usize,
        attempt: &mut Attempt,
    ) -> Result<Step, Error> {
        attempt.committing = statement.role == Role::End || (statement.role == Role::Write && !self.open);
        match statement.role {
            Role::Read => attempt.reads += 1,
            Role::Write => attempt.writes += 1,
            Role::Begin | Role::End | Role::Other => attempt.other += 1,
        }
        let start_ns = self.begins_ns(attempt);
        let sent = self.send(statement, number).await;
        attempt.clock_ns = self.clock.now_ns();
        match sent {
            Ok(Some(answer)) => {
                attempt.committing = false;
                Ok(self.take(statement, answer, (number, site), (start_ns, attempt.clock_ns)))
            }
            Ok(None) => {
                attempt.committing = false;
                self.answers[site].count += 1;
                self.answers[site].wrong += 1;
                self.count(number, attempt.clock_ns, |tally| tally.failed += 1);
                Ok(Step::Fail)
            }
            Err(error) => {
                let counted = self.count(number, attempt.clock_ns, |tally| tally.failed += 1);
                self.refused = counted.then_some(number);
                Err(error)
            }
        }
    }

    /// Looks at an answer as far as the script asks for that, and counts it.
    fn take(
        &mut self,
        statement: &SqlStatement,
        answer: Answer,
        (number, site): (usize, usize),
        (start_ns, end_ns): (u64, u64),
    ) -> Step {
        match statement.role {
            Role::Begin => self.open = true,
            Role::End => self.open = false,
            _ => {}
        }
        self.answers[site].take(answer);
        let is_right = self.is_as_expected(statement, answer) && self.gset(statement);
        self.answers[site].wrong += u64::from(!is_right);
        self.count(number, end_ns, |tally| {
            tally.count += 1;
            tally.failed += u64::from(!is_right);
            tally.rows += if answer.returns_rows { answer.rows } else { answer.matched() };
            tally.latency.record(end_ns - start_ns);
        });
        if is_right { Step::Next } else { Step::Fail }
    }

    /// Counts a call of a timed statement that ended inside the interval; false for any other.
    fn count(&self, number: usize, end_ns: u64, count: impl FnOnce(&mut StatementTally)) -> bool {
        self.recorder.borrow_mut().statement(number, end_ns, self.timeline.window()).map(count).is_some()
    }

    /// Counts the call that met an error as one that was tried again, if this turn is that.
    #[cold]
    fn decide_refused(&mut self, refused: usize, turn: Turn) {
        if turn.retry == 0 {
            return;
        }
        if let Some(tally) = self.recorder.borrow_mut().tally.statements.get_mut(refused) {
            tally.failed -= 1;
            tally.retries += 1;
        }
    }

    /// Sends a statement with the values of its variables; None where one of them has none.
    async fn send(&mut self, statement: &SqlStatement, number: usize) -> Result<Option<Answer>, Error> {
        let Session { connection, forms, slots, rows, dialect, text, .. } = self;
        let reads = statement.reads_values;
        if reads {
            rows.clear();
        }
        let answer = match &forms[number] {
            Form::Prepared(prepared, Parameters::Few(parameters, count)) => {
                let mut values = [Value::Null; PARAMETERS_FEW];
                let values = &mut values[..*count];
                for (value, slot) in values.iter_mut().zip(parameters) {
                    let Some(given) = slots[usize::from(*slot)].parameter(*dialect) else { return Ok(None) };
                    *value = given;
                }
                if reads {
                    connection.fetch(*prepared, values, rows).await
                } else {
                    connection.execute(*prepared, values).await
                }
            }
            Form::Prepared(prepared, Parameters::Many(parameters)) => {
                let mut values = [Value::Null; PARAMETERS_MAX];
                let values = &mut values[..parameters.len()];
                for (value, slot) in values.iter_mut().zip(parameters) {
                    let Some(given) = slots[*slot].parameter(*dialect) else { return Ok(None) };
                    *value = given;
                }
                if reads {
                    connection.fetch(*prepared, values, rows).await
                } else {
                    connection.execute(*prepared, values).await
                }
            }
            Form::Filled if !fill(text, &statement.pieces, slots) => return Ok(None),
            Form::Filled if reads => connection.query_into(text, rows).await,
            Form::Filled => connection.query(text).await,
            Form::Text(text) if reads => connection.query_into(text, rows).await,
            Form::Text(text) => connection.query(text).await,
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

    /// Ends a transaction that has failed by itself.
    async fn give_up(&mut self, attempt: &mut Attempt) -> Result<Outcome, Error> {
        self.roll_back(attempt).await?;
        attempt.clock_ns = 0;
        Ok(Outcome::Failed)
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

/// How a statement travels.
fn form<C: Connection>(
    connection: &mut C,
    protocol: Protocol,
    statement: &SqlStatement,
    path: &str,
) -> Result<Form, Error> {
    match protocol {
        Protocol::Simple => Ok(Form::Filled),
        Protocol::Extended => {
            let (text, parameters) = statement.prepared(connection.dialect());
            Ok(Form::Prepared(connection.prepare_each_time(&text)?, Parameters::new(parameters)))
        }
        Protocol::Prepared => prepare(connection, statement, path),
    }
}

/// Writes a statement with its values as pgbench does; false where one of them has none.
fn fill(text: &mut String, pieces: &[Piece], slots: &[Slot]) -> bool {
    text.clear();
    pieces.iter().all(|piece| match piece {
        Piece::Text(part) => {
            text.push_str(part);
            true
        }
        Piece::Variable(slot) => slots[*slot].write(text),
    })
}

/// Prepares a statement, or keeps its text where the server cannot prepare this kind.
fn prepare<C: Connection>(connection: &mut C, statement: &SqlStatement, path: &str) -> Result<Form, Error> {
    let (text, parameters) = statement.prepared(connection.dialect());
    match connection.prepare(&text) {
        Ok(prepared) => Ok(Form::Prepared(prepared, Parameters::new(parameters))),
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
        let ScriptClient { script, firsts, session } = self;
        let kind = session.begin(script, turn);
        attempt.kind = kind;
        let (program, first) = (script.transactions[kind].program(session.dialect), firsts[kind]);
        let mut next = 0;
        while let Some(op) = program.ops.get(next) {
            let site = first.site + next;
            next += 1;
            let step = match op {
                Op::Set { slot, to } => match session.evaluated(site, to) {
                    Some(value) => {
                        session.slots[*slot].set(value);
                        Step::Next
                    }
                    None => Step::Fail,
                },
                Op::JumpUnless { condition, to } => match session.evaluated(site, condition) {
                    Some(value) => {
                        next = if is_true(value) { next } else { *to };
                        Step::Next
                    }
                    None => Step::Fail,
                },
                Op::Jump(to) => {
                    next = *to;
                    Step::Next
                }
                Op::Sleep { count, unit_us } => {
                    match session.evaluated(site, count).and_then(|count| int(count).ok()) {
                        Some(count) => {
                            let ns = u64::try_from(count).unwrap_or(0).saturating_mul(unit_us * 1_000);
                            session.sleep(ns, attempt).await;
                            Step::Next
                        }
                        None => Step::Fail,
                    }
                }
                Op::Run(number) => {
                    session.run(&program.statements[*number], first.statement + number, site, attempt).await?
                }
            };
            if let Step::Fail = step {
                return match script.aborts {
                    true => Err(session.aborted(kind, next - 1)),
                    false => session.give_up(attempt).await,
                };
            }
        }
        let end = &mut session.answers[first.site + program.ops.len()];
        end.count += 1;
        end.wrong += u64::from(session.open);
        // A file of pgbench may leave its transaction open for the next.
        if session.open && !script.aborts {
            return session.give_up(attempt).await;
        }
        if session.evaluated > EVALUATED_MAX {
            attempt.clock_ns = 0;
        }
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        self.session.roll_back(attempt).await
    }

    /// The session of the new connection begins like that of the first.
    async fn reconnected(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        for sql in self.script.on_connect(self.session.dialect) {
            self.session.connection.query(sql).await?;
            attempt.other += 1;
        }
        Ok(())
    }

    fn retry_pause_ns(&mut self, turn: Turn) -> Option<u64> {
        (self.script.max_tries == 0 || turn.retry < self.script.max_tries).then_some(0)
    }

    fn answers(&self) -> &[Answers] {
        &self.session.answers
    }

    fn connection(&mut self) -> &mut C {
        &mut self.session.connection
    }
}
