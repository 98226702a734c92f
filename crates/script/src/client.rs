//! One client: runs a compiled script over one connection.
//!
//! What stands between the barriers of a trial allocates nothing: variables, rows and parameters keep their places.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use driver::{Answer, Cell, Code, Connection, Dialect, Error, Rows, Statement, Value, complete};
use load::{Answers, Attempt, Client, Clock, Fatal, Outcome, Recorder, Rng, StatementTally, Timeline, Turn};

use crate::eval::{DEBUGGED, Debugged, Expr, Scalar, Slot, UNDEFINED, int, is_true};
use crate::files::Script;
use crate::pgbench::AsPgbench;
use crate::pgbench::value_of;
use crate::program::{AUTOMATIC, CLIENT_ID, DEFAULT_SEED, Op, PARAMETERS_MAX, Program, Protocol, RANDOM_SEED};
use crate::statement::{Expectation, Gather, Piece, Role, SqlStatement};
use crate::watch::Watch;

/// Room for the text of a variable; one that outgrows it keeps the larger room.
const TEXT_BYTES: usize = 512;
/// Parameters that most statements do with.
const PARAMETERS_FEW: usize = 8;
/// MySQL's error for statements that cannot be prepared.
const CANNOT_BE_PREPARED: &str = "1295";
/// The code of errors that are the script's own.
const ABORT: &[u8] = b"ABORT";

/// How one statement travels.
enum Form {
    Prepared(Statement, Parameters),
    Text(String),
    /// With the values written into it each time.
    Filled,
    /// Prepared when it first runs: what it needs may be made by statements before it.
    Later(String, Parameters),
}

/// The variables of a statement's parameters; those of most statements lie beside it.
#[derive(Clone)]
enum Parameters {
    Few([u16; PARAMETERS_FEW], usize),
    Many(Vec<usize>),
}

impl Parameters {
    fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        let (few, many): (&[u16], &[usize]) = match self {
            Parameters::Few(few, count) => (&few[..*count], &[]),
            Parameters::Many(many) => (&[], many),
        };
        few.iter().map(|slot| usize::from(*slot)).chain(many.iter().copied())
    }

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
    /// BEGIN has been answered, and nothing yet that ends it.
    open: bool,
    /// Statements that are kept back in a pipeline, and whether they leave a transaction open.
    queued: Vec<usize>,
    queue_opens: Option<bool>,
    /// By statement: the variables of the columns of its results, once they are known.
    columns: Vec<Vec<Option<usize>>>,
    /// An error ends the client, and not its transaction alone.
    aborts: bool,
    /// The transaction and the command under way.
    at: (usize, usize),
    /// Rows that came where one was expected; None while nothing of that kind has happened.
    odd_rows: Option<usize>,
    /// Commands that have been evaluated since the clock was read.
    evaluated: u32,
    /// The statement that is filled in; keeps its memory.
    text: String,
    /// By variable, where names without a value stay in the text.
    names: Arc<[String]>,
    /// Why the last expression had no value, and the variable that had none.
    why: &'static str,
    missing: Option<usize>,
    watch: Option<Watch>,
    /// The number of the try under way, and the error that it has met, until it is known what becomes of it.
    try_number: u64,
    met: Option<Code>,
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
                let made = form(&mut connection, script.protocol, one, transaction.path(dialect));
                forms.push(match made {
                    Err(Error::Refused { .. } | Error::Duplicate { .. }) if script.by_pgbench => {
                        let (text, parameters) = one.prepared(dialect);
                        Form::Later(text, Parameters::new(parameters))
                    }
                    made => made?,
                });
            }
            firsts.push(next);
            next = First { site: next.site + program.ops.len() + 1, statement: forms.len() };
        }
        let drawn = || Rng::stream(place.input_seed, u64::MAX, u64::MAX).next_u64() as i64;
        let default_seed = script.default_seed.unwrap_or_else(drawn);
        let slots = slots(&script, dialect, place, default_seed);
        let has_names = script.transactions.iter().any(|one| one.program(dialect).reads_names());
        let session = Session {
            connection,
            dialect,
            columns: vec![Vec::new(); forms.len()],
            queued: Vec::with_capacity(forms.len()),
            forms,
            rng: Rng::stream(0, 0, 0),
            rows: if has_names { Rows::with_names() } else { Rows::default() },
            answers: vec![Answers::default(); next.site],
            recorder: Rc::clone(&place.recorder),
            refused: None,
            clock: place.clock.clone(),
            timeline: Arc::clone(&place.timeline),
            client: place.client,
            input_seed: place.input_seed,
            open: false,
            queue_opens: None,
            aborts: script.by_pgbench,
            at: (0, 0),
            odd_rows: None,
            evaluated: 0,
            text: String::with_capacity(TEXT_BYTES),
            why: "",
            missing: None,
            watch: script.watch,
            try_number: 0,
            met: None,
            names: Arc::clone(&script.names),
            slots,
        };
        Ok(ScriptClient { script, firsts, session })
    }

    /// Why the last expression had no value.
    pub fn why(&self) -> String {
        let (kind, _) = self.session.at;
        self.session.reason(&self.script.transactions[kind].program(self.session.dialect))
    }

    /// Draws the transaction. Its variables have their first values, or where they follow pgbench those that the
    /// client's last try has left.
    fn begin(&mut self, turn: Turn) -> usize {
        let ScriptClient { script, session, .. } = self;
        let kind = session.begin(script, turn);
        if let Some(watch) = session.watch {
            let title = script.transactions[kind].path(session.dialect);
            watch.command(session.client, &format!("executing script \"{title}\""));
        }
        if !script.by_pgbench {
            session.open = false;
            session.reset(script.transactions[kind].program(session.dialect).initial);
        }
        kind
    }
}

/// The variables of a client, as its first transaction finds them.
fn slots<K>(script: &Script, dialect: Dialect, place: &load::Slot<K>, default_seed: i64) -> Vec<Slot> {
    let most = script.transactions.iter().map(|one| one.program(dialect).initial).max_by_key(|initial| initial.len());
    let with_room = |value: &Scalar| {
        let mut slot = Slot { text: String::with_capacity(TEXT_BYTES), ..Slot::new(Scalar::Undefined) };
        slot.set(*value);
        slot
    };
    let mut slots: Vec<Slot> = most.unwrap_or_default().iter().map(with_room).collect();
    let automatic =
        [(CLIENT_ID, place.client.into()), (RANDOM_SEED, place.input_seed as i64), (DEFAULT_SEED, default_seed)];
    for (slot, value) in automatic {
        slots[slot].set(Scalar::Int(value));
    }
    for (slot, text) in &*script.texts {
        slots[*slot].text.clear();
        slots[*slot].text.push_str(text);
        slots[*slot].is_text = true;
    }
    slots
}

impl<C: Connection, K: Clock> Session<C, K> {
    fn begin(&mut self, script: &Script, turn: Turn) -> usize {
        if let Some(refused) = self.refused.take() {
            self.decide_refused(refused, turn);
        }
        self.end_try(turn.retry > 0, script.max_tries);
        self.try_number = turn.retry + 1;
        self.rng = Rng::stream(self.input_seed, turn.series, turn.number);
        self.evaluated = 0;
        script.draw(&mut self.rng)
    }

    /// Prints what became of a try that met an error, once that is known.
    fn end_try(&mut self, is_repeated: bool, max_tries: u64) {
        if let (Some(_), Some(watch)) = (self.met.take(), self.watch.filter(|watch| watch.errors)) {
            watch.ended_try(self.client, is_repeated, self.try_number, max_tries);
        }
    }

    fn print_error(&self, script: &Script) {
        let Some((watch, code)) = self.watch.filter(|watch| watch.errors).zip(self.met) else { return };
        let (client, (kind, at)) = (self.client, self.at);
        let command = script.transactions[kind].program(self.dialect).listed[at];
        let error = Error::Retryable { code };
        (watch.print)(&format!("client {client} got an error in command {command} (SQL) of script {kind}; {error}"));
    }

    /// Prints the command that is next. Of a statement it is the text that is sent.
    #[cold]
    fn print_command(&mut self, watch: Watch, program: &Program, op: usize, number: usize) {
        let listed = &program.listing[program.listed[op]].text;
        let what = match &program.ops[op] {
            Op::Set { .. } => format!("executing {}", listed.split_whitespace().take(2).collect::<Vec<_>>().join(" ")),
            Op::JumpUnless { .. } => {
                format!("executing {}", listed.split_whitespace().next().unwrap_or_default())
            }
            Op::Jump(_) | Op::Sleep { .. } | Op::Shell { .. } => format!("executing {listed}"),
            Op::EndPipeline(_) => "executing \\endpipeline".to_owned(),
            Op::Run(one) | Op::Queue(one) => {
                let statement = &program.statements[*one];
                let Session { forms, text, slots, names, dialect, .. } = self;
                match &forms[number + one] {
                    Form::Filled if fill(text, &statement.pieces, slots, names, None) => format!("sending {text}"),
                    _ => format!("sending {}", statement.prepared(*dialect).0),
                }
            }
        };
        let (script, command) = (self.at.0, program.listed[op] + 1);
        DEBUGGED.set(Some(Debugged { print: watch.print, script, command }));
        watch.command(self.client, &what);
        if matches!(program.ops[op], Op::Run(_) | Op::EndPipeline(_)) {
            watch.command(self.client, "receiving");
        }
    }

    /// Runs a program, with the values of variables among its words; `\setshell` keeps the number that it prints.
    #[cold]
    fn shell(&mut self, words: &[Piece], keep: Option<usize>) -> Step {
        let mut command = String::new();
        for word in words {
            command.push_str(if command.is_empty() { "" } else { " " });
            match word {
                Piece::Text(word) => command.push_str(word),
                Piece::Variable(slot) if self.slots[*slot].write(&mut command) => {}
                Piece::Variable(slot) => {
                    self.missing = Some(*slot);
                    return self.without_value(UNDEFINED.0);
                }
            }
        }
        self.evaluated = EVALUATED_MAX + 1;
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(&command);
        let Some(slot) = keep else {
            return match shell.status() {
                Ok(status) if status.success() => Step::Next,
                _ => self.without_value("could not launch shell command"),
            };
        };
        let printed = shell.stderr(std::process::Stdio::inherit()).output();
        let first = printed.ok().and_then(|output| {
            String::from_utf8_lossy(&output.stdout).lines().next().and_then(|line| line.trim().parse().ok())
        });
        let Some(number) = first else { return self.without_value("shell command must return an integer") };
        self.slots[slot].set(Scalar::Int(number));
        Step::Next
    }

    fn without_value(&mut self, why: &'static str) -> Step {
        self.missing = self.missing.filter(|_| why == UNDEFINED.0);
        self.why = why;
        Step::Fail
    }

    /// Gives variables their first values; those that are the client's own stay.
    fn reset(&mut self, initial: &[Scalar]) {
        for (slot, value) in self.slots.iter_mut().zip(initial).skip(AUTOMATIC.len()) {
            if slot.value != *value {
                slot.set(*value);
            }
        }
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
                self.missing = expr.undefined(&self.slots).filter(|_| why == UNDEFINED);
                None
            }
        }
    }

    /// Sets a variable, or decides which command is next.
    #[inline]
    fn compute(&mut self, op: &Op, site: usize, next: &mut usize) -> Step {
        match op {
            Op::Set { slot, to } => {
                let Some(value) = self.evaluated(site, to) else { return Step::Fail };
                self.slots[*slot].set(value);
            }
            Op::JumpUnless { condition, to } => {
                let Some(value) = self.evaluated(site, condition) else { return Step::Fail };
                *next = if is_true(value) { *next } else { *to };
            }
            Op::Jump(to) => *next = *to,
            Op::Shell { words, keep } => return self.shell(words, *keep),
            Op::Sleep { .. } | Op::Run(_) | Op::Queue(_) | Op::EndPipeline(_) => {}
        }
        Step::Next
    }

    /// Sleeps, but not behind the end of the trial.
    async fn sleep(&mut self, count: &Expr, unit_us: u64, site: usize, attempt: &mut Attempt) -> Step {
        let count = self.evaluated(site, count).and_then(|count| int(count).ok());
        let Some(count) = count else { return Step::Fail };
        let ns = u64::try_from(count).unwrap_or(0).saturating_mul(unit_us * 1_000);
        let due_ns = self.clock.now_ns().saturating_add(ns);
        attempt.clock_ns = self.clock.wait_until(due_ns.min(self.timeline.window().end_ns)).await;
        self.evaluated = 0;
        Step::Next
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
        attempt.committing = self.may_commit(statement);
        count_sent(statement, attempt);
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
            Err(error) => Err(self.refuse(number, attempt.clock_ns, error)),
        }
    }

    fn may_commit(&self, statement: &SqlStatement) -> bool {
        statement.opens == Some(false) || (statement.role == Role::Write && !self.open)
    }

    /// Keeps a statement back, with the values that it has now; false where one of them has none.
    fn queue(&mut self, statement: &SqlStatement, number: usize, attempt: &mut Attempt) -> Result<bool, Error> {
        if self.queued.is_empty() {
            self.prepare_now(number)?;
        }
        let Session { connection, forms, slots, dialect, aborts, .. } = self;
        let Form::Prepared(prepared, parameters) = &forms[number] else {
            return Err(Error::Protocol("a statement of a pipeline has to be prepared".to_owned()));
        };
        let mut values = [Value::Null; PARAMETERS_MAX];
        let mut count = 0;
        for slot in parameters.slots() {
            let Some(given) = slots[slot].parameter(*dialect, *aborts) else { return Ok(false) };
            values[count] = given;
            count += 1;
        }
        connection.queue(*prepared, &values[..count])?;
        count_sent(statement, attempt);
        attempt.committing |= self.may_commit(statement);
        self.queued.push(number);
        self.open |= statement.opens == Some(true);
        self.queue_opens = statement.opens.or(self.queue_opens);
        Ok(true)
    }

    /// Sends what was kept back; the pipeline's end is the `number`-th statement.
    async fn end_pipeline(&mut self, number: usize, site: usize, attempt: &mut Attempt) -> Result<Step, Error> {
        let start_ns = self.begins_ns(attempt);
        let sent = self.connection.send_queued().await;
        attempt.clock_ns = self.clock.now_ns();
        let answer = match sent {
            Ok(answer) => answer,
            Err(error) => {
                self.queued.clear();
                return Err(self.refuse(number, attempt.clock_ns, error));
            }
        };
        attempt.committing = false;
        self.open = self.queue_opens.take().unwrap_or(self.open);
        self.answers[site].take(answer);
        let end_ns = attempt.clock_ns;
        self.count(number, end_ns, |tally| {
            tally.count += 1;
            tally.latency.record(end_ns - start_ns);
        });
        while let Some(member) = self.queued.pop() {
            self.count(member, end_ns, |tally| tally.count += 1);
        }
        Ok(Step::Next)
    }

    /// Counts a call that met an error, until it is known whether it is tried again.
    #[cold]
    fn refuse(&mut self, number: usize, end_ns: u64, error: Error) -> Error {
        if let Error::Retryable { code } = error {
            self.met = Some(code);
        }
        // What ends a client of pgbench is no failure of a statement.
        if self.aborts && !matches!(error, Error::Retryable { .. }) {
            return error;
        }
        let counted = self.count(number, end_ns, |tally| tally.failed += 1);
        self.refused = counted.then_some(number);
        error
    }

    /// Looks at an answer as far as the script asks for that, and counts it.
    fn take(
        &mut self,
        statement: &SqlStatement,
        answer: Answer,
        (number, site): (usize, usize),
        (start_ns, end_ns): (u64, u64),
    ) -> Step {
        self.open = statement.opens.unwrap_or(self.open);
        self.answers[site].take(answer);
        let is_right = self.is_as_expected(statement, answer) && self.gather(statement, number);
        self.answers[site].wrong += u64::from(!is_right);
        let has_failed = !is_right && !self.aborts;
        self.count(number, end_ns, |tally| {
            tally.count += 1;
            tally.failed += u64::from(has_failed);
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

    /// Prepares a statement that could not be prepared when the client started.
    fn prepare_now(&mut self, number: usize) -> Result<(), Error> {
        if let Form::Later(text, parameters) = &self.forms[number] {
            let prepared = self.connection.prepare(text)?;
            self.forms[number] = Form::Prepared(prepared, parameters.clone());
        }
        Ok(())
    }

    /// Sends a statement with the values of its variables; None where one of them has none.
    async fn send(&mut self, statement: &SqlStatement, number: usize) -> Result<Option<Answer>, Error> {
        self.prepare_now(number)?;
        let Session { connection, forms, slots, rows, dialect, text, names, aborts, .. } = self;
        let reads = statement.reads_values;
        if reads {
            rows.clear();
        }
        let literals = (!*aborts).then_some(*dialect);
        let answer = match &forms[number] {
            Form::Prepared(prepared, Parameters::Few(parameters, count)) => {
                let mut values = [Value::Null; PARAMETERS_FEW];
                let values = &mut values[..*count];
                for (value, slot) in values.iter_mut().zip(parameters) {
                    let Some(given) = slots[usize::from(*slot)].parameter(*dialect, *aborts) else { return Ok(None) };
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
                    let Some(given) = slots[*slot].parameter(*dialect, *aborts) else { return Ok(None) };
                    *value = given;
                }
                if reads {
                    connection.fetch(*prepared, values, rows).await
                } else {
                    connection.execute(*prepared, values).await
                }
            }
            Form::Filled if !fill(text, &statement.pieces, slots, names, literals) => return Ok(None),
            Form::Filled if reads => connection.query_into(text, rows).await,
            Form::Filled => connection.query(text).await,
            Form::Text(text) if reads => connection.query_into(text, rows).await,
            Form::Text(text) => connection.query(text).await,
            Form::Later(..) => return Ok(None),
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

    /// What ends a client that follows pgbench's rules; [`Client::fatal`] has the words.
    #[cold]
    fn aborted(&self, program: &Program) -> Error {
        Error::Refused { code: Code::new(ABORT), message: self.reason(program) }
    }

    /// Why an expression had no value, with the variable's name.
    fn reason(&self, program: &Program) -> String {
        match self.missing.and_then(|slot| program.names.get(slot)) {
            Some(name) => format!("{} \"{name}\"", self.why),
            None => self.why.to_owned(),
        }
    }

    /// After an error some servers are still inside the transaction and others are not; ROLLBACK is right in the
    /// first case, and refused or ignored in the second.
    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        self.connection.drop_queued();
        self.queued.clear();
        self.queue_opens = None;
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

    /// Takes the row of a `\gset`, or the last rows of an `\aset`, into variables.
    fn gather(&mut self, statement: &SqlStatement, number: usize) -> bool {
        match &statement.gather {
            None => true,
            Some(Gather::Columns { slots, last }) => match (self.rows.len(), last) {
                (0, true) => true,
                (1, _) | (_, true) => {
                    let row = self.rows.len() - 1;
                    let mut columns = slots.iter().enumerate();
                    columns.all(|(column, slot)| {
                        self.rows.cell(row, column).is_some_and(|cell| self.slots[*slot].take(cell))
                    })
                }
                (_, false) => false,
            },
            Some(Gather::Named { prefix, last }) => self.gather_named(prefix, *last, number),
        }
    }

    /// The same by the names of the columns.
    fn gather_named(&mut self, prefix: &str, last: bool, number: usize) -> bool {
        let Session { rows, slots, names, columns, .. } = self;
        let results = rows.results();
        let known = &mut columns[number];
        let all: usize = (0..results).filter_map(|at| rows.result(at)).map(|(_, names)| names.len()).sum();
        if known.len() != all {
            known.clear();
            let columns = (0..results).filter_map(|at| rows.result(at)).flat_map(|(_, columns)| columns);
            let slot = |column: &String| {
                names.iter().position(|name| name.strip_prefix(prefix).is_some_and(|rest| rest == column))
            };
            known.extend(columns.map(slot));
        }
        let mut first = 0;
        for at in 0..results {
            let Some((range, columns)) = rows.result(at) else { continue };
            let targets = &known[first..first + columns.len()];
            first += columns.len();
            let is_asked = last || at + 1 == results;
            if !is_asked || (last && range.is_empty()) {
                continue;
            }
            if !last && range.len() != 1 {
                self.odd_rows = Some(range.len());
                return false;
            }
            for (column, slot) in targets.iter().enumerate() {
                if let (Some(slot), Some(cell)) = (slot, rows.cell(range.end - 1, column)) {
                    slots[*slot].take_as_text(cell);
                }
            }
        }
        if results == 0 && !last {
            self.odd_rows = Some(0);
        }
        results > 0 || last
    }
}

fn count_sent(statement: &SqlStatement, attempt: &mut Attempt) {
    match statement.role {
        Role::Read => attempt.reads += 1,
        Role::Write => attempt.writes += 1,
        Role::Begin | Role::End | Role::Other => attempt.other += 1,
    }
}

/// How a statement travels.
fn form<C: Connection>(
    connection: &mut C,
    protocol: Protocol,
    statement: &SqlStatement,
    path: &str,
) -> Result<Form, Error> {
    if statement.pieces.is_empty() {
        return Ok(Form::Text(String::new()));
    }
    match protocol {
        Protocol::Simple => Ok(Form::Filled),
        Protocol::Extended => {
            let (text, parameters) = statement.prepared(connection.dialect());
            Ok(Form::Prepared(connection.prepare_each_time(&text)?, Parameters::new(parameters)))
        }
        Protocol::Prepared => prepare(connection, statement, path),
    }
}

/// What a server refuses, with the place in the script; pgbench's messages have places of their own.
fn placed(error: Error, script: &Script, path: &str, line: usize) -> Error {
    match error {
        Error::Refused { code, message } if !script.by_pgbench => {
            Error::Refused { code, message: format!("{path}:{line}: {message}") }
        }
        other => other,
    }
}

/// Writes a statement with its values, as literals of a dialect or bare as pgbench does; false where one of them has
/// none, and its name is unknown.
fn fill(text: &mut String, pieces: &[Piece], slots: &[Slot], names: &[String], literals: Option<Dialect>) -> bool {
    text.clear();
    pieces.iter().all(|piece| match piece {
        Piece::Text(part) => {
            text.push_str(part);
            true
        }
        Piece::Variable(slot) if slots[*slot].write_as(text, literals) => true,
        Piece::Variable(slot) => match names.get(*slot) {
            Some(name) => {
                text.push(':');
                text.push_str(name);
                true
            }
            None => false,
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
        self.is_text = false;
        if let Scalar::Double(number) = value {
            self.text.clear();
            let _ = write!(self.text, "{number}");
        }
    }

    /// Writes the value bare, as pgbench does; false where there is none.
    fn write(&self, text: &mut String) -> bool {
        let written = match self.value {
            _ if self.is_text => text.write_str(&self.text),
            Scalar::Null => text.write_str("NULL"),
            Scalar::Int(number) => write!(text, "{number}"),
            Scalar::Double(number) => write!(text, "{}", AsPgbench(number)),
            Scalar::Bool(flag) => write!(text, "{flag}"),
            Scalar::Text => text.write_str(&self.text),
            Scalar::Undefined => return false,
        };
        written.is_ok()
    }

    fn write_as(&self, text: &mut String, literals: Option<Dialect>) -> bool {
        match literals {
            Some(dialect) => self.write_literal(text, dialect),
            None => self.write(text),
        }
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

    /// The value as it is sent beside a statement; pgbench sends NULL where there is none.
    fn parameter(&self, dialect: Dialect, or_null: bool) -> Option<Value<'_>> {
        Some(match self.value {
            _ if self.is_text => Value::Text(self.text.as_bytes()),
            Scalar::Null => Value::Null,
            Scalar::Int(number) => Value::Int(number),
            Scalar::Bool(flag) if dialect == Dialect::Postgres => Value::Text(if flag { b"t" } else { b"f" }),
            Scalar::Bool(flag) => Value::Int(flag.into()),
            Scalar::Double(_) | Scalar::Text => Value::Text(self.text.as_bytes()),
            Scalar::Undefined if or_null => Value::Null,
            Scalar::Undefined => return None,
        })
    }

    /// Takes what a query brought as pgbench does: as its text, which is empty for NULL.
    fn take_as_text(&mut self, cell: Cell<'_>) {
        self.text.clear();
        match cell {
            Cell::Null => {}
            Cell::Int(number) => return self.set(Scalar::Int(number)),
            Cell::Text(bytes) => self.text.extend(bytes.utf8_chunks().map(|chunk| chunk.valid())),
        }
        self.is_text = true;
        self.value = value_of(&self.text).unwrap_or(Scalar::Text);
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
        let kind = self.begin(turn);
        let ScriptClient { script, firsts, session } = self;
        attempt.kind = kind;
        session.at = (kind, 0);
        let (program, first) = (script.transactions[kind].program(session.dialect), firsts[kind]);
        let mut next = 0;
        while let Some(op) = program.ops.get(next) {
            let site = first.site + next;
            if let Some(watch) = session.watch {
                session.print_command(watch, &program, next, first.statement);
            }
            next += 1;
            let step = match op {
                Op::Set { .. } | Op::JumpUnless { .. } | Op::Jump(_) | Op::Shell { .. } => {
                    session.compute(op, site, &mut next)
                }
                Op::Sleep { count, unit_us } => session.sleep(count, *unit_us, site, attempt).await,
                Op::Run(number) => {
                    session.at = (kind, site - first.site);
                    let statement = &program.statements[*number];
                    let ran = session.run(statement, first.statement + number, site, attempt).await;
                    let path = script.transactions[kind].path(session.dialect);
                    ran.map_err(|error| placed(error, script, path, statement.line))?
                }
                Op::Queue(number) => {
                    session.at = (kind, site - first.site);
                    match session.queue(&program.statements[*number], first.statement + number, attempt)? {
                        true => Step::Next,
                        false => Step::Fail,
                    }
                }
                Op::EndPipeline(number) => {
                    session.at = (kind, site - first.site);
                    session.end_pipeline(first.statement + number, site, attempt).await?
                }
            };
            if let Step::Fail = step {
                session.at = (kind, site - first.site);
                session.answers[site].first_wrong.get_or_insert(turn);
                return match script.by_pgbench {
                    true => Err(session.aborted(&program)),
                    false => session.give_up(attempt).await,
                };
            }
        }
        let end = &mut session.answers[first.site + program.ops.len()];
        end.count += 1;
        end.wrong += u64::from(session.open);
        // A file of pgbench may leave its transaction open for the next.
        if session.open && !script.by_pgbench {
            end.first_wrong.get_or_insert(turn);
            return session.give_up(attempt).await;
        }
        if session.evaluated > EVALUATED_MAX {
            attempt.clock_ns = 0;
        }
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        self.session.print_error(&self.script);
        self.session.roll_back(attempt).await
    }

    /// In pgbench's words, where the script follows its rules.
    fn fatal(&self, error: Error) -> Fatal {
        if !self.script.by_pgbench {
            return error.into();
        }
        let Session { client, at: (kind, at), odd_rows, dialect, .. } = &self.session;
        let program = self.script.transactions[*kind].program(*dialect);
        let command = program.listed[*at];
        Fatal::new(match (error, odd_rows) {
            (Error::Refused { code, .. }, Some(rows)) if code == Code::new(ABORT) => {
                format!("client {client} script {kind} command {command} query 0: expected one row, got {rows}")
            }
            (Error::Refused { code, message }, None) if code == Code::new(ABORT) => {
                let word = program.listing[command].text.trim_start_matches('\\').split_whitespace().next();
                let word = word.unwrap_or_default();
                format!(
                    "{message}\nclient {client} aborted in command {command} ({word}) of script {kind}; evaluation of meta-command failed"
                )
            }
            (Error::Refused { message, .. }, _) => {
                format!("client {client} script {kind} aborted in command {command} query 0: ERROR:  {message}")
            }
            (lost @ Error::Lost { .. }, _) => format!(
                "client {client} aborted in command {command} (SQL) of script {kind}; perhaps the backend died while processing ({lost})"
            ),
            (other, _) => format!("client {client} script {kind} aborted in command {command} query 0: {other}"),
        })
    }

    async fn finish(&mut self, _: &mut Attempt) -> Result<(), Error> {
        self.session.end_try(false, self.script.max_tries);
        Ok(())
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
