//! The life of one client: sessions of the log, one after the other.
//!
//! While a unit is under way its client waits for nothing but due times and answers; only between units does it wait
//! for others. That is what rules out a standstill: see `units`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use capture::Code;
use driver::{Answer, AnyConnection, Connection, Error, Rows, Statement as Prepared, Value};
use load::{AnswerLog, Attempt, Clock, Fatal, OneAnswer, Outcome, Slot, Timing, code_of};

use crate::answers;
use crate::digest::Kind;
use crate::options::{Pacing, Settings};
use crate::portable::sqlstate;
use crate::run::{Doing, Run};
use crate::schedule::{How, Parameter, Schedule, Session, Statement, Transaction};

/// How often a client that waits looks whether the load was stopped.
const STOP_POLL_NS: u64 = 250_000_000;
/// Parameters of a statement that need no memory of their own.
const VALUES_USUAL: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// What a client counts besides, in the order of [`COUNTS`].
#[derive(Debug, Clone, Copy)]
pub enum Count {
    Statements,
    Errors,
    ErrorsAsLogged,
    ErrorsMissing,
    LeftOut,
    OrderWaitUs,
    OrderBroken,
    SessionsLost,
    Cancelled,
    /// Nanoseconds, until a transaction has ended.
    HashingUs,
}

type Counts = [u64; COUNTS.len()];

pub const COUNTS: &[&str] = &[
    "replay.statements",
    "replay.errors",
    "replay.errors_as_logged",
    "replay.errors_missing",
    "replay.left_out",
    "replay.order_wait_us",
    "replay.order_broken",
    "replay.sessions_lost",
    "replay.cancelled",
    "replay.hashing_us",
];

/// What answers are kept of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noting {
    /// A pass that is not timed: sessions are set to the log's time, and asked for warnings.
    Pass,
    /// A timed trial: an answer is hashed when its time is taken, and nothing is sent for it.
    Trial,
}

pub struct Client {
    pub schedule: Arc<Schedule>,
    pub run: Arc<Run>,
    /// Which of the schedule's clients it is.
    pub number: u32,
    pub settings: Settings,
    /// Statements that are due earlier warm up, where the load does.
    pub warm_until_us: u64,
    pub slot: Slot,
    pub connection: AnyConnection,
    /// What makes a database the session's, by its number; of a log with one only, the target's.
    pub uses: Vec<Vec<u8>>,
    /// What each session begins with.
    pub opening: Option<Arc<str>>,
    /// Of its present session, by their numbers in it.
    pub prepared: Vec<Prepared>,
    /// Where answers are kept, and the rows of the last one.
    pub answers: Option<(Arc<AnswerLog>, Noting)>,
    pub rows: Rows,
    /// What its session's clock was set to, where answers are kept.
    pub second: Option<i64>,
}

/// The clock of the log against ours.
#[derive(Clone, Copy)]
struct Pace {
    started_ns: u64,
    pacing: Pacing,
}

impl Pace {
    /// When something of the log is due; None where it is due as soon as it can be sent.
    fn due_ns(self, log_us: u64) -> Option<u64> {
        match self.pacing {
            Pacing::Due(speed) => Some(self.started_ns + (log_us as f64 * 1e3 / speed) as u64),
            Pacing::Fast => None,
        }
    }
}

impl Client {
    /// From its first session to its last.
    pub async fn replay(mut self) -> Result<(), Fatal> {
        let pace = Pace { started_ns: self.slot.timeline.started_ns(), pacing: self.settings.pacing };
        if !self.slot.timeline.warms_up() {
            self.warm_until_us = 0;
        } else if let Some(opens_ns) = pace.due_ns(self.warm_until_us) {
            self.slot.timeline.open_at(opens_ns);
        }
        let schedule = Arc::clone(&self.schedule);
        let sessions = &schedule.clients[self.number as usize];
        for (number, session) in sessions.iter().map(|session| &schedule.sessions[*session as usize]).enumerate() {
            if !self.begin_session(session, number == 0, pace).await? {
                break;
            }
            for transaction in &schedule.transactions[as_usize(&session.transactions)] {
                if !self.transaction(transaction, pace).await? {
                    return Ok(());
                }
            }
        }
        self.run.doing(self.number, Doing::Rests);
        self.slot.be_done(self.slot.clock.now_ns()).await;
        Ok(self.connection.leave()?)
    }

    /// Connects as the session did; the first one of a client is connected already. False when the load was stopped.
    async fn begin_session(&mut self, session: &Session, is_first: bool, pace: Pace) -> Result<bool, Fatal> {
        let schedule = Arc::clone(&self.schedule);
        let database = session.database.filter(|_| !schedule.is_mysql).map(|one| &schedule.databases[one as usize]);
        if !is_first && !self.wait_until_due(pace.due_ns(session.due_us)).await.0 {
            return Ok(false);
        }
        self.connection.forget_statements();
        self.second = None;
        match database {
            Some(database) => {
                let dial = self.slot.dial.as_ref().ok_or_else(|| Fatal::new("sessions need connections"))?;
                self.connection = dial.connect_to(database)?;
            }
            None if !is_first => self.connection.reconnect(CONNECT_TIMEOUT)?,
            None => {}
        }
        self.open_session().await?;
        self.prepared.clear();
        for text in &schedule.prepared[as_usize(&session.prepared)] {
            self.prepared.push(self.connection.prepare_at_first_use(schedule.bytes(*text))?);
        }
        Ok(true)
    }

    /// Waits, and returns false when the load was stopped, and whether there was a wait.
    async fn wait_until_due(&mut self, due_ns: Option<u64>) -> (bool, bool) {
        let mut has_waited = false;
        while !self.slot.timeline.is_stopped() {
            let now_ns = self.slot.clock.now_ns();
            match due_ns.filter(|due_ns| *due_ns > now_ns) {
                Some(due_ns) => {
                    has_waited = true;
                    self.slot.clock.wait_until(due_ns.min(now_ns + STOP_POLL_NS)).await
                }
                None => return (true, has_waited),
            };
        }
        (false, has_waited)
    }

    /// Waits until the unit of a transaction may begin, and returns for how long; None when the load was stopped.
    async fn wait_for_turn(&mut self, transaction: &Transaction, counts: &mut Counts) -> Option<u64> {
        let run = Arc::clone(&self.run);
        let may_begin = || run.may_begin(transaction.unit);
        if may_begin() {
            return Some(0);
        }
        let client = self.number;
        let bell = Arc::clone(self.slot.bell.as_ref()?);
        let since_ns = self.slot.clock.now_ns();
        let limit_ns = self.settings.stall_limit.as_nanos() as u64;
        run.hold(client, self.schedule.begin_us(transaction));
        let mut now_ns = since_ns;
        while !may_begin() && !self.slot.timeline.is_stopped() {
            now_ns = self.slot.clock.wait_for(&bell, now_ns + STOP_POLL_NS, may_begin).await;
            let is_long = now_ns - since_ns > limit_ns;
            if is_long && !may_begin() && run.is_let_go(client, now_ns, limit_ns) {
                // The next one is let go when nothing is answered for as long again.
                run.answered(client, now_ns);
                counts[Count::OrderBroken as usize] += 1;
                break;
            }
        }
        (!self.slot.timeline.is_stopped()).then_some(now_ns - since_ns)
    }

    /// Sends a transaction. False when the load was stopped before its first statement.
    async fn transaction(&mut self, transaction: &Transaction, pace: Pace) -> Result<bool, Fatal> {
        let schedule = Arc::clone(&self.schedule);
        let statements = schedule.statements_of(transaction);
        let begin_us = schedule.begin_us(transaction);
        let is_measured = begin_us >= self.warm_until_us;
        let client = self.number;
        self.run.doing(client, if transaction.begins_unit { Doing::Rests } else { Doing::Thinks });
        let (goes_on, was_free) = self.wait_until_due(pace.due_ns(begin_us)).await;
        if !goes_on {
            return Ok(false);
        }
        let mut counts = Counts::default();
        let mut waited_ns = 0;
        if transaction.begins_unit {
            let Some(waited) = self.wait_for_turn(transaction, &mut counts).await else { return Ok(false) };
            waited_ns = waited;
            counts[Count::OrderWaitUs as usize] = waited / 1_000;
        }
        let start_ns = self.slot.clock.now_ns();
        if is_measured {
            // Only a clock of the log says before where the measured part begins.
            self.slot.timeline.open_at(start_ns);
        }
        let due_ns = pace.due_ns(begin_us).unwrap_or(start_ns);
        if is_measured && was_free && waited_ns == 0 {
            self.slot.recorder.borrow_mut().sent(due_ns, start_ns, self.slot.timeline.window());
        }
        self.slot.recorder.borrow().started(self.slot.client, start_ns);
        let mut attempt = Attempt::default();
        let mut came = Outcome::Committed;
        // The server has ended it, or the session.
        let mut is_over = false;
        for (number, statement) in statements.iter().enumerate() {
            if number > 0 {
                self.run.doing(client, Doing::Thinks);
                if !self.wait_until_due(pace.due_ns(statement.due_us)).await.0 {
                    came = Outcome::Failed;
                    break;
                }
            }
            self.run.doing(client, Doing::Asks);
            let numbered = (transaction.statements.start as usize + number, statement);
            let Some(error) = self.statement(numbered, pace, is_measured, &mut attempt, &mut counts).await? else {
                continue;
            };
            came = Outcome::Failed;
            attempt.last_error = Some(code_of(&error));
            if matches!(error, Error::Lost { .. }) {
                attempt.committing = number + 1 == statements.len();
                self.reopen(error, &mut counts).await?;
            } else if self.ends_transaction(&error, transaction) {
                self.roll_back(&mut attempt, &mut counts).await?;
            } else {
                continue;
            }
            counts[Count::LeftOut as usize] += left_of(statements, number);
            is_over = true;
            break;
        }
        if transaction.is_left_open && !is_over {
            self.roll_back(&mut attempt, &mut counts).await?;
            came = if came == Outcome::Failed { came } else { Outcome::RolledBack };
        } else if transaction.rolls_back && came == Outcome::Committed {
            came = Outcome::RolledBack;
        }
        if transaction.ends_unit {
            self.run.end(transaction.unit);
        }
        let end_ns = self.slot.clock.now_ns();
        counts[Count::HashingUs as usize] /= 1_000;
        self.record(came, &attempt, Timing { due_ns, start_ns, end_ns }, is_measured, &counts);
        Ok(!self.slot.timeline.is_stopped())
    }

    fn record(&self, outcome: Outcome, attempt: &Attempt, timing: Timing, is_measured: bool, counts: &Counts) {
        let window = self.slot.timeline.window();
        // What warms up belongs to no interval, whenever it is sent.
        let due_ns = if is_measured { timing.due_ns } else { timing.due_ns.min(window.start_ns.saturating_sub(1)) };
        let timing = Timing { due_ns, ..timing };
        let mut recorder = self.slot.recorder.borrow_mut();
        recorder.record(outcome, attempt, timing, window);
        recorder.log(self.slot.client, outcome, attempt, timing);
        recorder.ended(self.slot.client, timing, window);
        recorder.counts(counts, due_ns, window);
        self.slot.timeline.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends a statement and takes its times. Returns an error that the log does not have, or that does not show whether it
    /// has one; none where the statement came out as in the log, as far as that is known.
    async fn statement(
        &mut self,
        (at, statement): (usize, &Statement),
        pace: Pace,
        is_measured: bool,
        attempt: &mut Attempt,
        counts: &mut Counts,
    ) -> Result<Option<Error>, Fatal> {
        let start_ns = self.slot.clock.now_ns();
        let limit_ns = self.schedule.statement_limit_ns(statement, self.settings.statement_limit);
        self.run.asks(self.number, start_ns.saturating_add(limit_ns));
        let answered = match self.answers.clone() {
            None => self.send(statement, false).await,
            Some((log, Noting::Pass)) => self.send_noting(at, statement, &log).await,
            Some((_, Noting::Trial)) => self.send(statement, true).await,
        };
        let end_ns = self.slot.clock.now_ns();
        counts[Count::Cancelled as usize] += u64::from(self.run.answered(self.number, end_ns));
        if let Err(error @ (Error::Protocol(_) | Error::Client(_))) = &answered {
            return Err(error.clone().into());
        }
        if !statement.is_counted {
            return match answered {
                Ok(_) => Ok(None),
                Err(error) => Err(self.not_set_up(statement, &error)),
            };
        }
        let about = &self.schedule.digests[statement.digest as usize];
        match about.kind {
            Kind::Read => attempt.reads += 1,
            Kind::Write => attempt.writes += 1,
            Kind::Other => attempt.other += 1,
        }
        if let Some((log, _)) = self.answers.as_ref().filter(|(_, noting)| *noting == Noting::Trial) {
            log.note(at, self.hashed(statement, &answered));
            counts[Count::HashingUs as usize] += self.slot.clock.now_ns() - end_ns;
        }
        counts[Count::Statements as usize] += 1;
        let due_ns = pace.due_ns(statement.due_us).unwrap_or(start_ns);
        let window = self.slot.timeline.window();
        let mut recorder = self.slot.recorder.borrow_mut();
        if is_measured {
            recorder.answered(Timing { due_ns, start_ns, end_ns }, window);
            if let Some(tally) = recorder.statement(self.schedule.timed_as(statement.digest), end_ns, window) {
                match &answered {
                    Ok(answer) => {
                        tally.count += 1;
                        tally.rows += if answer.returns_rows { answer.rows } else { answer.matched() };
                        tally.latency.record(end_ns - start_ns);
                    }
                    Err(_) => tally.failed += 1,
                }
            }
        }
        let Err(error) = answered else {
            counts[Count::ErrorsMissing as usize] += u64::from(statement.error.is_some());
            return Ok(None);
        };
        if is_same(statement.error, &error, self.schedule.facts.portable.is_some()) {
            counts[Count::ErrorsAsLogged as usize] += 1;
            return Ok(None);
        }
        counts[Count::Errors as usize] += 1;
        recorder.error(code_of(&error), if is_measured { due_ns } else { 0 }, window);
        Ok(Some(error))
    }

    fn hashed(&self, statement: &Statement, answered: &Result<Answer, Error>) -> OneAnswer {
        let about = &self.schedule.digests[statement.digest as usize];
        let answer = answers::of(answered, &self.rows, about.has_sums, self.settings.float_digits);
        match self.schedule.facts.portable {
            Some(_) => answers::of_any_kind(answer, answered),
            None => answer,
        }
    }

    /// Sends a statement at the time of the log, as far as the session can be set to it, and keeps its answer.
    async fn send_noting(&mut self, at: usize, statement: &Statement, log: &AnswerLog) -> Result<Answer, Error> {
        let schedule = Arc::clone(&self.schedule);
        let second = schedule.log_us(statement.due_us).div_euclid(1_000_000);
        let is_portable = schedule.facts.portable.is_some();
        if schedule.is_mysql && !is_portable && self.second != Some(second) {
            // Columns may take the time as their default, so it is not for statements alone that ask for it.
            self.connection.query_bytes(format!("SET timestamp = {second}").as_bytes()).await?;
            self.second = Some(second);
        }
        let answered = self.send(statement, true).await;
        if statement.is_counted && !matches!(answered, Err(Error::Protocol(_) | Error::Client(_))) {
            let mut answer = self.hashed(statement, &answered);
            if !is_portable && answered.as_ref().is_ok_and(|answer| answer.warnings > 0) {
                self.connection.query_bytes_into(b"SHOW WARNINGS", &mut self.rows).await?;
                answer.warnings = answers::warnings(&self.rows);
            }
            log.note(at, answer);
        }
        answered
    }

    /// Sends a statement, and keeps what it returns where that is asked for.
    async fn send(&mut self, statement: &Statement, keeps_rows: bool) -> Result<Answer, Error> {
        let schedule = &self.schedule;
        let text = schedule.bytes(statement.text);
        let (first, count) = (statement.values.0 as usize, usize::from(statement.values.1));
        let value = |number: usize| match schedule.values[first + number] {
            Parameter::Text(text) => Value::Text(schedule.bytes(text)),
            Parameter::Int(value) => Value::Int(value),
            Parameter::Decimal { units, scale } => Value::Decimal { units, scale },
            Parameter::Null => Value::Null,
        };
        let mut usual = [Value::Null; VALUES_USUAL];
        let many: Vec<Value<'_>>;
        let values = if count <= VALUES_USUAL {
            (0..count).for_each(|number| usual[number] = value(number));
            &usual[..count]
        } else {
            many = (0..count).map(value).collect();
            &many[..]
        };
        let connection = &mut self.connection;
        match (statement.how, keeps_rows.then_some(&mut self.rows)) {
            (How::Text, None) => connection.query_bytes(text).await,
            (How::Text, Some(rows)) => connection.query_bytes_into(text, rows).await,
            (How::Unnamed, None) => connection.execute_unnamed(text, values).await,
            (How::Unnamed, Some(rows)) => connection.fetch_unnamed(text, values, rows).await,
            (How::Prepared(number) | How::PreparedAgain(number), rows) => {
                let prepared = self.prepared[number as usize];
                match rows {
                    None => connection.execute(prepared, values).await,
                    Some(rows) => connection.fetch(prepared, values, rows).await,
                }
            }
            (How::Use(number), _) => connection.query_bytes(&self.uses[number as usize]).await,
        }
    }

    /// Whether the server has ended the transaction, so that its client would not go on with it.
    fn ends_transaction(&self, error: &Error, transaction: &Transaction) -> bool {
        let is_alone = transaction.statements.len() == 1;
        let is_ended = matches!(error, Error::Retryable { .. }) || !self.schedule.is_mysql;
        is_ended && !is_alone && self.settings.skips_ended
    }

    async fn roll_back(&mut self, attempt: &mut Attempt, counts: &mut Counts) -> Result<(), Fatal> {
        attempt.other += 1;
        match self.connection.query_bytes(b"ROLLBACK").await {
            Ok(_) | Err(Error::Retryable { .. } | Error::Duplicate { .. } | Error::Refused { .. }) => Ok(()),
            Err(error @ Error::Lost { .. }) => self.reopen(error, counts).await,
            Err(error) => Err(error.into()),
        }
    }

    /// A lost session is opened again; more than one in a hundred are too many.
    async fn reopen(&mut self, error: Error, counts: &mut Counts) -> Result<(), Fatal> {
        counts[Count::SessionsLost as usize] += 1;
        let lost = u64::from(self.run.lost.fetch_add(1, Ordering::Relaxed)) + 1;
        let sessions = self.schedule.sessions.len() as u64;
        if self.slot.timeline.is_stopped() || lost * 100 > sessions {
            return Err(Fatal::new(format!("{lost} of {sessions} sessions lost their connection: {error}")));
        }
        self.second = None;
        self.connection.reconnect(CONNECT_TIMEOUT)?;
        self.open_session().await
    }

    /// A new connection is that of the client from now on, and has what its sessions begin with.
    async fn open_session(&mut self) -> Result<(), Fatal> {
        self.run.has_session(self.number, self.connection.canceller());
        let Some(opening) = self.opening.clone() else { return Ok(()) };
        let opened = self.connection.query_bytes(opening.as_bytes()).await;
        let why = |error| Fatal::new(format!("sessions cannot begin with `{opening}`, as `charset` asks: {error}"));
        opened.map(drop).map_err(why)
    }

    fn not_set_up(&self, statement: &Statement, error: &Error) -> Fatal {
        match statement.how {
            How::Use(number) => {
                let name = &self.schedule.databases[number as usize];
                Fatal::new(format!("the log has statements in database `{name}`, which cannot be used: {error}"))
            }
            _ => Fatal::new(format!("a statement that a session of the log had prepared before cannot be: {error}")),
        }
    }
}

/// Statements of the log behind this one.
fn left_of(statements: &[Statement], number: usize) -> u64 {
    statements[number + 1..].iter().filter(|statement| statement.is_counted).count() as u64
}

/// Whether the log has this error too; one without a code may be any.
fn is_same(logged: Option<[u8; 5]>, error: &Error, is_portable: bool) -> bool {
    let Code(code) = Code::of(code_of(error).as_str().as_bytes());
    let code = if is_portable { sqlstate(code) } else { code };
    logged.is_some_and(|logged| Code(logged) == Code::UNKNOWN || logged == code)
}

fn as_usize(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_logs_by_its_code() {
        let error = Error::Refused { code: driver::Code::new(b"42P01"), message: "no".to_owned() };
        assert!(is_same(Some(*b"42P01"), &error, false) && is_same(Some(Code::UNKNOWN.0), &error, false));
        assert!(!is_same(Some(*b"42P02"), &error, false) && !is_same(None, &error, false));
        let error = Error::Retryable { code: driver::Code::number(1213) };
        assert!(is_same(Some(*b"1213 "), &error, false) && is_same(Some(*b"40P01"), &error, true));
    }

    #[test]
    fn due_times_follow_the_log_by_the_speed() {
        let pace = |pacing| Pace { started_ns: 1_000, pacing };
        assert_eq!(pace(Pacing::Due(1.0)).due_ns(5), Some(6_000));
        assert_eq!(pace(Pacing::Due(2.0)).due_ns(5), Some(3_500));
        assert_eq!(pace(Pacing::Fast).due_ns(5), None);
    }
}
