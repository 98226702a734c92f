//! One pass: each kind made ready, warmed up, measured and taken away again.
//!
//! What is measured is the executions of a kind and nothing else. Everything else of a pass is the time between kinds,
//! which the record has beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use driver::{AnyConnection, Connection, Dialect, Endpoint, Error, Isolation, Rows, Tls, complete};
use load::{
    Answers, Attempt, Client, Dial, Fatal, Gauge, MonotonicClock, Moved, OperationTally, Outcome, ProgramTally,
    Recorder, Rng, Setting, Slot, Tally, Timeline, Turn, Window, monotonic_ns, thread_cpu_ns, wrong_answers,
};

use super::kind::{Kind, Over};
use super::tables::Tables;

/// The share of its time that a kind runs before it is measured.
const WARM_UP: f64 = 0.05;
/// So often an execution is sent again that the server sent back.
const RETRIES_MAX: u64 = 1000;
/// A kind that is counted ends after so many times the time of the others.
const COUNTED_MAX: u64 = 2;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a kind ends before its time.
enum Stop {
    /// The server would not do it: other kinds go on.
    Kind(String),
    /// An answer was not what it has to be.
    Wrong(String),
    /// The connection is gone, or the load was stopped: the pass is over.
    Pass(Fatal),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        match error {
            Error::Lost { .. } | Error::Protocol(_) => Stop::Pass(error.into()),
            refused => Stop::Kind(refused.to_string()),
        }
    }
}

/// The workload: everything that is decided.
#[derive(Debug, Clone)]
pub struct Micro {
    pub kinds: Arc<[Kind]>,
    pub rows: u64,
    pub seconds: Duration,
    pub tables: Tables,
}

impl Micro {
    /// In the order of the first kind of each.
    pub fn groups(&self) -> Vec<&'static str> {
        let mut groups = Vec::new();
        for group in self.kinds.iter().map(Kind::group) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }
}

/// The whole pass. It never waits but for the server, so its future completes at the first poll.
pub fn run(micro: &Micro, slot: &Slot, connection: AnyConnection) -> Result<(), Fatal> {
    let begun_ns = monotonic_ns();
    let groups = micro.groups();
    let program = |name: &&'static str| ProgramTally { name, wall_ns: 0, operations: Vec::new() };
    let mut programs: Vec<ProgramTally> = groups.iter().map(program).collect();
    let mut stage = Stage::new(micro, slot, connection)?;
    let mut broken_off = None;
    for place in order(micro.kinds.len(), slot.input_seed) {
        let kind = &micro.kinds[place];
        let group = groups.iter().position(|group| *group == kind.group()).unwrap_or(0);
        slot.timeline.part.store(group, Ordering::Relaxed);
        let kind_begun_ns = monotonic_ns();
        let (tally, fatal) = stage.kind(kind);
        programs[group].operations.push(tally);
        programs[group].wall_ns += monotonic_ns() - kind_begun_ns;
        broken_off = fatal;
        if broken_off.is_some() {
            break;
        }
    }
    slot.timeline.ended.fetch_add(1, Ordering::Relaxed);
    let outcome = if broken_off.is_none() { Outcome::Committed } else { Outcome::Failed };
    slot.recorder.borrow_mut().pass(outcome, programs, stage.statements, monotonic_ns() - begun_ns);
    broken_off.map_or(Ok(()), Err)
}

/// A shuffled list of so many places, the same for one seed.
fn order(count: usize, seed: u64) -> Vec<usize> {
    let mut rng = Rng::stream(seed, 0, count as u64);
    let mut places: Vec<usize> = (0..count).collect();
    rng.shuffle(&mut places);
    places
}

/// What all kinds of a pass share.
struct Stage<'a> {
    micro: &'a Micro,
    dial: &'a Dial,
    gauge: Option<&'a Gauge>,
    input_seed: u64,
    /// For what is not measured.
    admin: AnyConnection,
    dialect: Dialect,
    statements: u64,
}

/// What a span of executions is measured by.
#[derive(Clone, Copy)]
struct Mark {
    wall_ns: u64,
    cpu_ns: u64,
    gauge: Option<u64>,
    moved: Moved,
}

impl<'a> Stage<'a> {
    fn new(micro: &'a Micro, slot: &'a Slot, admin: AnyConnection) -> Result<Stage<'a>, Fatal> {
        let dial = slot.dial.as_ref().ok_or_else(|| Fatal::new("kinds need connections of their own"))?;
        Ok(Stage {
            micro,
            dial,
            gauge: slot.gauge.as_ref(),
            input_seed: slot.input_seed,
            dialect: admin.dialect(),
            admin,
            statements: 0,
        })
    }

    /// One kind from what it needs to what it leaves, and what ended the whole pass in it.
    fn kind(&mut self, kind: &Kind) -> (OperationTally, Option<Fatal>) {
        let mut tally = OperationTally { name: kind.name, by_rate: true, passes: 1, ..OperationTally::default() };
        if let Some(why) = kind.lacks(self.dialect) {
            tally.refused = Some(why.to_owned());
            return (tally, None);
        }
        let done = self.clear(kind).and_then(|()| self.measure(kind, &mut tally)).and(self.clear(kind));
        self.statements += tally.executed;
        match done {
            Ok(()) => (tally, None),
            Err(Stop::Wrong(why)) => (OperationTally { wrong: Some(why), ..tally }, None),
            Err(Stop::Kind(why)) => (refused(kind, why), None),
            Err(Stop::Pass(fatal)) => (refused(kind, fatal.to_string()), Some(fatal)),
        }
    }

    /// Takes away what a kind made: behind it, and before it what a run that was cut off has left.
    fn clear(&mut self, kind: &Kind) -> Result<(), Stop> {
        self.run_all(&kind.after(self.dialect))
    }

    fn run_all(&mut self, statements: &[String]) -> Result<(), Stop> {
        statements.iter().try_for_each(|sql| {
            self.statements += 1;
            complete(self.admin.query(sql)).map(drop).map_err(Stop::from)
        })
    }

    fn measure(&mut self, kind: &Kind, tally: &mut OperationTally) -> Result<(), Stop> {
        self.run_all(&kind.before(self.dialect))?;
        let mut connection = self.connect(kind)?;
        connection.block()?;
        let timeline = Timeline::default();
        timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
        let recorder = Recorder::new(0, false);
        let alone = Slot::alone(MonotonicClock::sleeping(), Arc::new(timeline), recorder);
        let slot = Slot { input_seed: self.input_seed ^ seed_of(kind.name), ..alone };
        let client = script::client_on(&kind.options(self.dialect, self.micro.rows), connection, &slot)?;
        let undo = kind.undo(self.dialect);
        let mut runner = Runner { client, kind, number: 0, attempt: Attempt::default() };
        let budget_ns = self.micro.seconds.as_nanos() as u64;
        let ended = self.warm_up(&mut runner, &undo, budget_ns).and_then(|()| {
            let before = runner.attempt.clone();
            let measured = self.spans(&mut runner, &undo, budget_ns, tally);
            tally.executed = sent(&runner.attempt) - sent(&before);
            measured
        });
        match ended {
            Err(Stop::Wrong(_)) => Err(Stop::Wrong(self.what_was_wrong(kind, runner.client.answers()))),
            ended => ended,
        }
    }

    /// Opens the connection of a kind, by its way where it has one.
    fn connect(&mut self, kind: &Kind) -> Result<AnyConnection, Stop> {
        let mut target = self.dial.target().clone();
        let is_tcp = matches!(target.endpoint, Endpoint::Tcp { .. });
        match kind.over {
            Some(Over::Tcp) if !is_tcp => {
                return Err(Stop::Kind(
                    "clients reach this server by its socket; write transport = \"tcp\" in [clients]".into(),
                ));
            }
            Some(Over::Socket) if is_tcp => target.endpoint = self.socket()?,
            Some(Over::Tls) if target.login.tls == Tls::Off => target.login.tls = Tls::Require,
            _ => {}
        }
        Ok(self.dial.connect_as(&target)?)
    }

    /// Where the server listens beside TCP, if that is on this host.
    fn socket(&mut self) -> Result<Endpoint, Stop> {
        let mut rows = Rows::default();
        complete(self.admin.query_into(socket_sql(self.dialect), &mut rows))?;
        let path = (!rows.is_empty()).then(|| PathBuf::from(String::from_utf8_lossy(rows.text(0, 0)).into_owned()));
        let here = path.filter(|path| path.exists());
        here.map(Endpoint::Unix).ok_or_else(|| Stop::Kind("the server has no socket on this host".into()))
    }

    /// Runs a kind that is measured for a time, without measuring it.
    fn warm_up<C: Client<Connection = AnyConnection>>(
        &self,
        runner: &mut Runner<'_, C>,
        undo: &[String],
        budget_ns: u64,
    ) -> Result<(), Stop> {
        let until_ns = monotonic_ns() + (budget_ns as f64 * WARM_UP) as u64;
        while runner.kind.count.is_none() {
            runner.execute()?;
            runner.undo(undo)?;
            if monotonic_ns() >= until_ns {
                break;
            }
        }
        Ok(())
    }

    /// Measures all executions: in one span, or where each is taken back, in one of its own.
    fn spans<C: Client<Connection = AnyConnection>>(
        &self,
        runner: &mut Runner<'_, C>,
        undo: &[String],
        budget_ns: u64,
        tally: &mut OperationTally,
    ) -> Result<(), Stop> {
        let (most, limit_ns) = match runner.kind.count {
            Some(count) => (count, budget_ns * COUNTED_MAX),
            None => (u64::MAX, budget_ns),
        };
        while tally.count < most && tally.wall_ns < limit_ns {
            let until_ns = if undo.is_empty() { limit_ns } else { 0 };
            let from = self.mark();
            let mut done = 0;
            loop {
                runner.execute()?;
                done += 1;
                if monotonic_ns() - from.wall_ns >= until_ns || done == most {
                    break;
                }
            }
            let to = self.end();
            add(tally, done, from, to);
            runner.undo(undo)?;
        }
        Ok(())
    }

    /// The gauge takes its time, which must not be counted: here it is read before the clocks, at the end behind them.
    fn mark(&self) -> Mark {
        let moved = self.gauge.map(Gauge::moved).unwrap_or_default();
        let gauge = self.gauge.and_then(Gauge::read);
        Mark { moved, gauge, cpu_ns: thread_cpu_ns(), wall_ns: monotonic_ns() }
    }

    fn end(&self) -> Mark {
        let (wall_ns, cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        let gauge = self.gauge.and_then(Gauge::read);
        Mark { wall_ns, cpu_ns, gauge, moved: self.gauge.map(Gauge::moved).unwrap_or_default() }
    }

    /// Which statement, and what it had to bring.
    fn what_was_wrong(&self, kind: &Kind, answers: &[Answers]) -> String {
        let Ok(workload) = kind.script(self.dialect, self.micro.rows) else { return "a wrong answer".to_owned() };
        let setting = Setting { dialect: self.dialect, isolation: Isolation::ReadCommitted };
        let seen = Tally { answers: answers.to_vec(), ..Tally::default() };
        wrong_answers(workload.as_ref(), &seen, &setting).join("; ")
    }
}

/// The path of the server's socket.
fn socket_sql(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "SELECT split_part(current_setting('unix_socket_directories'), ',', 1) || '/.s.PGSQL.' || current_setting('port')"
        }
        Dialect::MySql | Dialect::Sqlite => "SELECT @@socket",
    }
}

fn refused(kind: &Kind, why: String) -> OperationTally {
    OperationTally { name: kind.name, by_rate: true, refused: Some(why), ..OperationTally::default() }
}

fn sent(attempt: &Attempt) -> u64 {
    attempt.reads + attempt.writes + attempt.other
}

/// Inputs of a kind are its own, whatever its place in the order.
fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0, |seed, byte| Rng::stream(seed, byte.into(), 0).next_u64())
}

fn add(tally: &mut OperationTally, executions: u64, from: Mark, to: Mark) {
    let wall_ns = to.wall_ns - from.wall_ns;
    let gauged = from.gauge.zip(to.gauge).map(|(from, to)| to.saturating_sub(from));
    let moved = to.moved.since(from.moved);
    tally.moved = if tally.count == 0 { moved } else { tally.moved.and(moved) };
    // One span without a reading leaves none for the kind.
    tally.gauged = if tally.count == 0 { gauged } else { tally.gauged.zip(gauged).map(|(sum, more)| sum + more) };
    tally.count += executions;
    tally.wall_ns += wall_ns;
    tally.timed_ns += wall_ns;
    tally.client_cpu_ns += to.cpu_ns - from.cpu_ns;
}

/// Executes one kind again and again.
struct Runner<'a, C> {
    client: C,
    kind: &'a Kind,
    number: u64,
    attempt: Attempt,
}

impl<C: Client<Connection = AnyConnection>> Runner<'_, C> {
    /// Takes back the last execution, on the connection that made it: SQLite reads a statement by what its connection
    /// has last seen of the tables.
    fn undo(&mut self, statements: &[String]) -> Result<(), Stop> {
        let connection = self.client.connection();
        statements.iter().try_for_each(|sql| complete(connection.query(sql)).map(drop).map_err(Stop::from))
    }

    /// One execution. What the server sends back is sent again.
    fn execute(&mut self) -> Result<(), Stop> {
        if self.kind.connects {
            self.client.connection().reconnect(CONNECT_TIMEOUT)?;
            self.client.connection().block()?;
        }
        self.number += 1;
        for retry in 0..RETRIES_MAX {
            let turn = Turn { series: 0, number: self.number, retry };
            match complete(self.client.attempt(turn, &mut self.attempt)) {
                Ok(Outcome::Failed) => return Err(Stop::Wrong(String::new())),
                Ok(_) => return Ok(()),
                Err(Error::Retryable { .. }) => complete(self.client.roll_back(&mut self.attempt))?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Stop::Kind(format!("the server sent it back {RETRIES_MAX} times")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_follows_from_the_seed_and_has_every_kind_once() {
        let mut one = order(82, 7);
        assert_eq!(one, order(82, 7));
        assert_ne!(one, order(82, 8));
        one.sort_unstable();
        assert!(one.into_iter().eq(0..82));
    }

    #[test]
    fn spans_add_up_and_one_without_a_reading_leaves_none() {
        let moved = |gauge: Option<u64>| Moved([gauge, gauge.map(|value| 2 * value), None]);
        let mark = |wall_ns, gauge| Mark { wall_ns, cpu_ns: wall_ns / 2, gauge, moved: moved(gauge) };
        let mut tally = OperationTally::default();
        add(&mut tally, 3, mark(10, Some(1)), mark(30, Some(5)));
        add(&mut tally, 1, mark(50, Some(7)), mark(60, Some(9)));
        assert_eq!((tally.count, tally.wall_ns, tally.client_cpu_ns, tally.gauged), (4, 30, 15, Some(6)));
        assert_eq!(tally.moved, Moved([Some(6), Some(12), None]));
        add(&mut tally, 1, mark(70, None), mark(80, Some(9)));
        assert_eq!((tally.count, tally.gauged), (5, None));
    }
}
