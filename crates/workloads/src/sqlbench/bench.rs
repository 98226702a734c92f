//! Times the operations of a program: where the clock starts and stops, when a short operation runs
//! again, when a long one is cut off, and what becomes of one that the server refuses.
//!
//! It defines no operation; programs hand theirs over as loops.

use driver::{Answer, Dialect, Error};

use super::asking::Asking;
use super::ddl::Shape;
use super::limits::Limits;
use super::options::SqlBench;
use super::session::{Seen, Session, excerpt};
use load::{Fatal, Gauge, OperationTally, SHORT_NS, monotonic_ns, thread_cpu_ns};

/// A read-only operation shorter than [`SHORT_NS`] runs again, until all of its passes took this long.
const LOOPED_NS: u64 = 2_000_000_000;

/// One timed loop.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub name: &'static str,
    /// What the table reports for this loop; several loops of one name add up.
    pub count: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Data change, so that it cannot run again.
    changes: bool,
    /// The time limit may cut it off.
    limited: bool,
    /// Where its time begins, if not with its first turn.
    from: Option<Mark>,
    /// The table that `fast` locks for the whole loop, or changes in one transaction.
    batched: Option<&'static str>,
}

impl Operation {
    /// A loop that leaves data as they are.
    pub fn reads(name: &'static str, count: u64, turns: u64) -> Operation {
        Operation { name, count, turns, changes: false, limited: false, from: None, batched: None }
    }

    /// A loop that changes data.
    pub fn changes(name: &'static str, count: u64, turns: u64) -> Operation {
        Operation { changes: true, ..Operation::reads(name, count, turns) }
    }

    /// The suite estimates this one, when it takes longer than the time limit.
    pub fn limited(self) -> Operation {
        Operation { limited: true, ..self }
    }

    /// Its time begins at `mark`, before its first turn; it is then never run again.
    pub fn from(self, mark: Mark) -> Operation {
        Operation { from: Some(mark), ..self }
    }

    /// Changes of single rows of `table`, which `fast` puts together. Those of ranges are left alone: InnoDB takes
    /// ten times as long over `update_of_key_big` when all of its statements share a transaction.
    pub fn batched(self, table: &'static str) -> Operation {
        Operation { batched: Some(table), ..self }
    }
}

/// A moment, with everything an operation is measured by.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    wall_ns: u64,
    cpu_ns: u64,
    gauge: Option<u64>,
    seen: Seen,
}

/// Why a program ends before its last operation.
#[derive(Debug)]
pub enum Stop {
    /// The server would not do what all later operations need; other programs go on.
    Program(String),
    /// The connection is gone, or the load was stopped: the pass is over.
    Pass(Fatal),
}

/// One program of the suite.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// Its operations, in the order they run: what is missing when it ends early is named by this list.
    pub operations: &'static [&'static str],
    /// One of the eight of the classic table.
    pub classic: bool,
    pub run: fn(&mut Bench<'_>) -> Result<(), Stop>,
}

/// One program under way.
pub struct Bench<'a> {
    pub options: &'a SqlBench,
    pub limits: Limits,
    pub session: &'a mut Session,
    gauge: Option<&'a Gauge>,
    tallies: Vec<OperationTally>,
    /// What the suite's clock would show beyond ours: what was estimated, less what ran only to time a short
    /// operation or to check answers.
    beyond_ns: i64,
    /// Queries are handed over instead of being timed.
    asking: Option<Asking<'a>>,
}

impl<'a> Bench<'a> {
    pub fn new(options: &'a SqlBench, session: &'a mut Session, gauge: Option<&'a Gauge>) -> Bench<'a> {
        let limits = options.limits(session.dialect());
        Bench { options, limits, session, gauge, tallies: Vec::new(), beyond_ns: 0, asking: None }
    }

    pub fn asking(self, asking: Asking<'a>) -> Bench<'a> {
        Bench { asking: Some(asking), ..self }
    }

    /// Whether as few statements as there can be fill a table, and in one transaction.
    pub fn is_fast(&self) -> bool {
        self.options.fast || self.asking.is_some()
    }

    pub fn dialect(&self) -> Dialect {
        self.session.dialect()
    }

    /// The time of the whole program by the suite's reckoning, when so much has passed since it began.
    pub fn program_ns(&self, passed_ns: u64) -> u64 {
        passed_ns.saturating_add_signed(self.beyond_ns)
    }

    /// What the operations took, in the order of their first loops.
    pub fn into_tallies(self) -> Vec<OperationTally> {
        self.tallies
    }

    /// A statement between operations, which the rest of the program needs.
    pub fn set_up(&mut self, sql: &str) -> Result<Answer, Stop> {
        if self.asking.as_ref().is_some_and(Asking::is_over) {
            return Ok(Answer::default());
        }
        self.session.run(sql).map_err(|error| Stop::of(error, sql))
    }

    /// Makes a table anew, between operations.
    pub fn make(&mut self, shape: &Shape) -> Result<(), Stop> {
        self.drop_if_there(&shape.name)?;
        let statements = shape.create(self.dialect(), &self.options.create_options);
        statements.iter().try_for_each(|sql| self.set_up(sql).map(drop))
    }

    /// Drops a table that may not be there.
    pub fn drop_if_there(&mut self, table: &str) -> Result<(), Stop> {
        self.set_up(&format!("DROP TABLE IF EXISTS {table}")).map(drop)
    }

    /// Now, for an operation whose time begins before its first turn. The gauge takes its time, which must not be
    /// counted: here it is read before the clocks, at the end behind them.
    pub fn mark(&self) -> Mark {
        let gauge = self.gauge.and_then(Gauge::read);
        Mark { seen: self.session.seen(), gauge, cpu_ns: thread_cpu_ns(), wall_ns: monotonic_ns() }
    }

    fn end(&self) -> Mark {
        let (wall_ns, cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        Mark { seen: self.session.seen(), gauge: self.gauge.and_then(Gauge::read), cpu_ns, wall_ns }
    }

    /// Holds what an operation left behind to one row of values, outside its time.
    pub fn verify(&mut self, name: &'static str, sql: &str, values: &[u64]) -> Result<(), Stop> {
        self.gauge_with(name, |session| match session.run_for_values(values, format_args!("{sql}")) {
            Err(error) if !is_fatal(&error) => {
                session.expect(false, || format!("`{}` failed: {error}", excerpt(sql)));
                Ok(())
            }
            answered => answered,
        })
    }

    /// Holds what an operation left behind to a number of rows.
    pub fn verify_count(&mut self, name: &'static str, from: &str, rows: u64) -> Result<(), Stop> {
        self.verify(name, &format!("select count(*) from {from}"), &[rows])
    }

    /// Notes with an operation that dropped a table if the table is still there.
    pub fn verify_gone(&mut self, name: &'static str, table: &str) -> Result<(), Stop> {
        let sql = format!("select count(*) from {table}");
        self.gauge_with(name, |session| match session.run(&sql) {
            Err(error) if !is_fatal(&error) => Ok(()),
            answered => {
                session.expect(false, || format!("the table {table} is still there"));
                answered.map(drop)
            }
        })
    }

    /// Looks, outside the time of an operation that is over, whether it did what it had to.
    fn gauge_with(
        &mut self,
        name: &'static str,
        check: impl FnOnce(&mut Session) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        if !self.options.reports(name) || self.asking.is_some() {
            return Ok(());
        }
        let begun_ns = monotonic_ns();
        check(self.session).map_err(|error| Stop::Pass(error.into()))?;
        self.beyond_ns -= (monotonic_ns() - begun_ns) as i64;
        let wrong = self.session.take_wrong();
        let tally = self.tally(name);
        if tally.wrong.is_none() && tally.refused.is_none() {
            tally.wrong = wrong;
        }
        Ok(())
    }

    /// Notes an operation that this server lacks. What it did of it counts for nothing.
    pub fn lacks(&mut self, name: &'static str, why: impl Into<String>) {
        let tally = self.tally(name);
        let refused = tally.refused.take().unwrap_or_else(|| why.into());
        *tally = OperationTally { name, refused: Some(refused), ..OperationTally::default() };
    }

    /// Notes an operation of which this server lacks some statements.
    pub fn does_less(&mut self, name: &'static str, why: impl Into<String>) {
        if self.options.reports(name) {
            self.tally(name).fewer = Some(why.into());
        }
    }

    /// Times a loop without a state of its own: `turn` is called with 0, 1, … and sends statements.
    pub fn time(
        &mut self,
        operation: Operation,
        mut turn: impl FnMut(&mut Session, u64) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        self.time_with(operation, &mut (), |session, (), number| turn(session, number))
    }

    /// Times a loop over a state, such as where a generator of numbers stands. The state moves on once,
    /// however often the loop runs.
    ///
    /// A server that refuses a statement ends the operation and leaves a gap under its name.
    pub fn time_with<S: Clone>(
        &mut self,
        operation: Operation,
        state: &mut S,
        mut turn: impl FnMut(&mut Session, &mut S, u64) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        let reported = self.options.reports(operation.name);
        if !reported && !operation.changes {
            return Ok(());
        }
        if let Some(asking) = self.asking.as_mut().filter(|asking| !asking.runs(operation.name)) {
            // All turns of one that only reads are alike.
            let turns = if operation.changes { operation.turns } else { 1 };
            asking.ask(self.session, (operation.name, turns), state, &mut turn);
            return Ok(());
        }
        let batched = operation.batched.filter(|_| self.is_fast());
        if let Some(table) = batched {
            self.begin_batch(table)?;
        }
        let before = state.clone();
        let mark = operation.from.unwrap_or_else(|| self.mark());
        let mut done = self.run_once(operation, mark, state, &mut turn)?;
        if batched.is_some() && done.error.is_none() {
            done.error = self.commit_batch().err();
        }
        let mut passes = 1;
        let whole = done.error.is_none() && done.turns == operation.turns;
        let again = self.options.loop_short && whole && !operation.changes && operation.from.is_none();
        if again && monotonic_ns() - mark.wall_ns < SHORT_NS {
            // The limit is for one pass, and this one was short.
            let unlimited = Operation { limited: false, ..operation };
            while done.error.is_none() && monotonic_ns() - mark.wall_ns < LOOPED_NS {
                done.error = self.run_once(unlimited, mark, &mut before.clone(), &mut turn)?.error;
                passes += 1;
            }
        }
        let after = self.end();
        if batched.is_some() {
            self.end_batch(done.error.is_some())?;
        }
        let wrong = self.session.take_wrong();
        if reported {
            self.note(operation, &Interval { mark, after, passes, done }, wrong);
        }
        Ok(())
    }

    /// One pass over the loop, or as much of it as time and server allow.
    fn run_once<S>(
        &mut self,
        operation: Operation,
        mark: Mark,
        state: &mut S,
        turn: &mut impl FnMut(&mut Session, &mut S, u64) -> Result<(), Error>,
    ) -> Result<Done, Stop> {
        let limit_ns = self.options.time_limit.as_nanos() as u64;
        for number in 0..operation.turns {
            match turn(self.session, state, number) {
                Ok(()) => {}
                Err(error) if is_fatal(&error) => return Err(Stop::Pass(error.into())),
                Err(error) => return Ok(Done { turns: number, error: Some(error) }),
            }
            if operation.limited && number + 1 < operation.turns && monotonic_ns() - mark.wall_ns > limit_ns {
                return Ok(Done { turns: number + 1, error: None });
            }
        }
        Ok(Done { turns: operation.turns, error: None })
    }

    fn note(&mut self, operation: Operation, interval: &Interval, wrong: Option<String>) {
        let (mark, after, done) = (interval.mark, interval.after, &interval.done);
        if let Some(error) = &done.error {
            self.lacks(operation.name, error.to_string());
            return;
        }
        let per_pass =
            |from: u64, to: u64, scale: f64| ((to - from) as f64 * scale / f64::from(interval.passes)).round() as u64;
        // Times of a loop that was cut off are scaled up to the whole loop; what the server saw is not.
        let planned_share = operation.turns.max(1) as f64 / done.turns.max(1) as f64;
        let time = |from, to| per_pass(from, to, planned_share);
        let seen = |from, to| per_pass(from, to, 1.0);
        let wall_ns = time(mark.wall_ns, after.wall_ns);
        self.beyond_ns += wall_ns as i64 - (after.wall_ns - mark.wall_ns) as i64;
        let tally = self.tally(operation.name);
        if tally.refused.is_some() {
            return;
        }
        tally.count += operation.count;
        tally.executed += seen(mark.seen.statements, after.seen.statements);
        tally.connections += seen(mark.seen.connections, after.seen.connections);
        tally.rows += seen(mark.seen.rows, after.seen.rows);
        tally.wall_ns += wall_ns;
        tally.client_cpu_ns += time(mark.cpu_ns, after.cpu_ns);
        let gauged = mark.gauge.zip(after.gauge).map(|(from, to)| time(from, to.max(from)));
        tally.gauged = match (tally.gauged, gauged) {
            (Some(sum), Some(more)) => Some(sum + more),
            (None, more) if tally.passes == 0 => more,
            // One loop without a reading leaves none for the operation.
            _ => None,
        };
        tally.passes = tally.passes.max(interval.passes);
        tally.estimated |= done.turns < operation.turns;
        tally.timed_ns += after.wall_ns - mark.wall_ns;
        if tally.wrong.is_none() {
            tally.wrong = wrong;
        }
    }

    fn tally(&mut self, name: &'static str) -> &mut OperationTally {
        let place = self.tallies.iter().position(|tally| tally.name == name).unwrap_or_else(|| {
            self.tallies.push(OperationTally { name, ..OperationTally::default() });
            self.tallies.len() - 1
        });
        &mut self.tallies[place]
    }
}

/// How far a loop came.
struct Done {
    turns: u64,
    error: Option<Error>,
}

/// One timed interval: all passes over a loop.
struct Interval {
    mark: Mark,
    after: Mark,
    passes: u32,
    done: Done,
}

impl Stop {
    pub fn of(error: Error, sql: &str) -> Stop {
        if is_fatal(&error) {
            return Stop::Pass(error.into());
        }
        Stop::Program(format!("`{}` failed: {error}", excerpt(sql)))
    }
}

/// After this nothing more can be asked of the server.
fn is_fatal(error: &Error) -> bool {
    matches!(error, Error::Lost { .. } | Error::Protocol(_))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use driver::{AnyConnection, Endpoint, Login};

    use super::*;
    use crate::sqlbench::options::OPTIONS;
    use load::Options;

    /// An operation of loops that run one statement each, and of what `check` does behind them.
    fn tally_of(loops: &[&str], check: impl FnOnce(&mut Bench)) -> OperationTally {
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join("bench.db"));
        let connection =
            AnyConnection::connect(Dialect::Sqlite, &file, &Login::default(), Duration::from_secs(1)).unwrap();
        let options = SqlBench::new(&Options::new(OPTIONS, &BTreeMap::new()).unwrap()).unwrap();
        let mut session = Session::new(connection);
        let mut bench = Bench::new(&options, &mut session, None);
        for sql in loops {
            bench.time(Operation::changes("some", 1, 1), |session, _| session.run(sql).map(drop)).unwrap();
        }
        check(&mut bench);
        bench.into_tallies().remove(0)
    }

    #[test]
    fn loops_of_one_name_add_up() {
        let tally = tally_of(&["select 1", "select 2"], |_| ());
        assert_eq!((tally.count, tally.executed, tally.rows, tally.refused), (2, 2, 2, None));
    }

    #[test]
    fn what_is_refused_in_one_of_its_loops_counts_for_nothing() {
        for loops in [["select 1", "select a from nowhere"], ["select a from nowhere", "select 1"]] {
            let tally = tally_of(&loops, |_| ());
            assert_eq!((tally.count, tally.executed, tally.wall_ns), (0, 0, 0));
            assert!(tally.refused.is_some_and(|why| why.contains("nowhere")));
        }
    }

    #[test]
    fn what_an_operation_left_behind_marks_it_and_counts_for_nothing_in_it() {
        let wrong_after = |check: &dyn Fn(&mut Bench)| {
            let tally = tally_of(&["create table t (a integer)"], |bench| check(bench));
            assert_eq!((tally.count, tally.executed, tally.refused), (1, 1, None));
            tally.wrong
        };
        let rows = |rows| wrong_after(&move |bench| bench.verify("some", "select count(*) from t", &[rows]).unwrap());
        assert_eq!(rows(0), None);
        assert_eq!(rows(3).as_deref(), Some("[0] instead of [3] for `select count(*) from t`"));
        let absent = wrong_after(&|bench| bench.verify("some", "select a from nowhere", &[1]).unwrap()).unwrap();
        assert!(absent.starts_with("`select a from nowhere` failed: "), "{absent}");
        let gone = |table| wrong_after(&move |bench| bench.verify_gone("some", table).unwrap());
        assert_eq!(gone("nowhere"), None);
        assert_eq!(gone("t").as_deref(), Some("the table t is still there"));
    }
}
