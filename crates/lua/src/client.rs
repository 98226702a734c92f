//! One client: its Lua state, and the coroutine that its events run in.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Value};
use load::{Attempt, Client, Clock, Outcome, Recorder, Timeline, Turn, code_of, monotonic_ns};
use mlua::Thread;

use crate::host::{Host, Request, resume};
use crate::random::Random;
use crate::session::{Shared, perform, perform_blocking};

/// Flags of trials.
const RANDOM_WRAPS: &str = "script-random-wraps";
const REAL_PARAMETER: &str = "script-real-parameter";

pub struct LuaClient {
    number: u32,
    host: Host,
    events: Thread,
    session: Shared,
    random: Rc<RefCell<Random>>,
    lease: Lease,
    timeline: Arc<Timeline>,
    recorder: Rc<RefCell<Recorder>>,
    /// The state of the whole run, whose `done` comes last; the first client has it.
    whole: Option<Host>,
    has_begun: bool,
    has_left: bool,
}

impl LuaClient {
    /// Runs `thread_init`; its statements block.
    pub fn new<K: Clock>(
        host: Host,
        session: Shared,
        whole: Option<Host>,
        slot: &load::Slot<K>,
    ) -> Result<LuaClient, Error> {
        host.call_if_there("thread_init", slot.client)?;
        // What is counted is what events do.
        session.borrow_mut().counted = Attempt::default();
        let events = host.events().map_err(Error::Client)?;
        let lease = Lease { session: Rc::clone(&session), dialect: session.borrow().dialect() };
        Ok(LuaClient {
            number: slot.client,
            random: host.random(),
            host,
            events,
            session,
            lease,
            timeline: Arc::clone(&slot.timeline),
            recorder: Rc::clone(&slot.recorder),
            whole,
            has_begun: false,
            has_left: false,
        })
    }

    fn take_counted(&self, attempt: &mut Attempt) {
        let counted = std::mem::take(&mut self.session.borrow_mut().counted);
        attempt.reads += counted.reads;
        attempt.writes += counted.writes;
        attempt.other += counted.other;
        attempt.reconnects += counted.reconnects;
        attempt.retries += counted.retries;
        attempt.collected_ns += counted.collected_ns;
        attempt.blocked_ns += counted.blocked_ns;
    }

    fn leave_remarks(&self) {
        let places = [
            (RANDOM_WRAPS, self.random.borrow_mut().wrapped_at.take()),
            (REAL_PARAMETER, self.session.borrow_mut().real_parameter_at.take()),
        ];
        for (flag, place) in places {
            place.into_iter().for_each(|place| self.recorder.borrow_mut().remark(flag, place));
        }
    }

    /// A loop of the script's own is left as sysbench leaves it: there are no more events.
    fn leave_own_loop(&mut self) -> Result<(), Error> {
        if self.has_left || self.host.function("thread_run").is_none() || !self.has_begun {
            return Ok(());
        }
        let failed = |why: String| Error::Client(format!("`thread_run' function failed: {why}"));
        let mut request = resume(&self.events, false, &self.session).map_err(failed)?;
        loop {
            request = match request {
                Request::Do(task) => {
                    let brought = perform_blocking(&self.session, &task);
                    resume(&self.events, brought, &self.session).map_err(failed)?
                }
                Request::Failed(why) => return Err(failed(why)),
                Request::Ended(_) | Request::Restarted(_) => return Ok(()),
            };
        }
    }

    /// From one request of the script to the end of an event, or of one try of it.
    async fn run(&mut self, attempt: &mut Attempt) -> Result<Outcome, Error> {
        let failed = |why: String| Error::Client(format!("`thread_run' function failed: {why}"));
        self.has_begun = true;
        let mut request = resume(&self.events, self.number, &self.session).map_err(failed)?;
        loop {
            request = match request {
                Request::Do(task) => {
                    let brought = perform(&self.session, &task).await;
                    resume(&self.events, brought, &self.session).map_err(failed)?
                }
                Request::Ended(leaves) => {
                    self.has_left = leaves;
                    return Ok(Outcome::Committed);
                }
                Request::Restarted(by_hook) => {
                    let failed_by = self.session.borrow_mut().failed.clone();
                    let error = failed_by.map_or_else(|| Error::Client("RESTART_EVENT".to_owned()), |(error, _)| error);
                    if !by_hook {
                        return Err(error);
                    }
                    let now_ns = monotonic_ns();
                    self.recorder.borrow_mut().error(code_of(&error), now_ns, self.timeline.window());
                    if self.timeline.is_over_for_retries(now_ns) {
                        return Ok(Outcome::Failed);
                    }
                    attempt.retries += 1;
                    roll_back(&self.session).await?;
                    resume(&self.events, self.number, &self.session).map_err(failed)?
                }
                Request::Failed(why) => return Err(failed(why)),
            };
        }
    }
}

/// sysbench leaves it to the next BEGIN on MySQL; PostgreSQL refuses everything but a ROLLBACK.
async fn roll_back(session: &Shared) -> Result<(), Error> {
    if session.borrow().dialect() == Dialect::MySql {
        return Ok(());
    }
    let at = session.borrow().failed.as_ref().map_or(0, |(_, connection)| *connection);
    let Ok(mut open) = session.borrow_mut().take(at) else { return Ok(()) };
    let rolled_back = open.connection.query("ROLLBACK").await;
    session.borrow_mut().put(at, open);
    match rolled_back {
        Ok(_) | Err(Error::Refused { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Client for LuaClient {
    type Connection = Lease;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        self.random.borrow_mut().begin(turn);
        let ran = self.run(attempt).await;
        self.take_counted(attempt);
        ran
    }

    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        roll_back(&self.session).await
    }

    /// `thread_done` may still send what it held back.
    async fn finish(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        self.leave_own_loop()?;
        let done = self.host.call_if_there("thread_done", self.number);
        self.take_counted(attempt);
        self.leave_remarks();
        done?;
        self.whole.as_ref().map_or(Ok(()), |whole| whole.call_if_there("done", 0))
    }

    fn has_left(&self) -> bool {
        self.has_left
    }

    fn connection(&mut self) -> &mut Lease {
        &mut self.lease
    }
}

/// All connections of a client, for what the load does with them: statements come from the script alone.
pub struct Lease {
    session: Shared,
    dialect: Dialect,
}

fn of_the_script() -> Error {
    Error::Client("statements come from the script".to_owned())
}

impl Connection for Lease {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        Err(of_the_script())
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        Err(of_the_script())
    }

    async fn fetch(&mut self, _: Statement, _: &[Value<'_>], _: &mut Rows) -> Result<Answer, Error> {
        Err(of_the_script())
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        Err(of_the_script())
    }

    fn leave(&mut self) -> Result<(), Error> {
        self.session.borrow_mut().all().try_for_each(Connection::leave)
    }

    /// The one that was lost.
    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        match self.session.borrow_mut().last_failed() {
            Some(connection) => connection.reconnect(timeout),
            None => Ok(()),
        }
    }
}
