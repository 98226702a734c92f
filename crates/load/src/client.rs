//! One emulated user, and where it sits.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use driver::{Connection, Error};

use crate::answers::Answers;
use crate::backlog::Giver;
use crate::bells::Bell;
use crate::clock::MonotonicClock;
use crate::dial::Dial;
use crate::ledger::Ledger;
use crate::pacer::Pacer;
use crate::policy::ErrorPolicy;
use crate::recorder::Recorder;
use crate::single_pass::Gauge;
use crate::timeline::Timeline;
use crate::transaction::{Attempt, Outcome, Turn};

pub type ClientFuture = Pin<Box<dyn Future<Output = Result<(), Fatal>>>>;

/// Where one client sits: its number, its seeds, and the worker it runs on.
pub struct Slot<K = MonotonicClock> {
    /// From 0, over all workers; background slots have the numbers behind the clients'.
    pub client: u32,
    pub clients: u32,
    pub input_seed: u64,
    /// What the tables were drawn from.
    pub data_seed: u64,
    pub timeline: Arc<Timeline>,
    pub recorder: Rc<RefCell<Recorder>>,
    pub clock: K,
    pub pacer: Pacer,
    pub policy: Arc<ErrorPolicy>,
    /// For operations that are measured one by one.
    pub gauge: Option<Gauge>,
    /// Where a client leaves what it defers, if there are slots that run it.
    pub giver: Option<Giver>,
    /// For clients that want more connections than the one they get; None where no load runs them.
    pub dial: Option<Dial>,
    /// Where a client of a workload that keeps a ledger writes.
    pub ledger: Option<Arc<Ledger>>,
    /// What wakes a client that waits for others, where the workload has such clients.
    pub bell: Option<Arc<Bell>>,
}

impl<K> Slot<K> {
    /// One client of a closed loop that no load runs, with seeds of 1 and the usual policy.
    pub fn alone(clock: K, timeline: impl Into<Arc<Timeline>>, recorder: Recorder) -> Slot<K> {
        Slot {
            client: 0,
            clients: 1,
            input_seed: 1,
            data_seed: 1,
            timeline: timeline.into(),
            recorder: Rc::new(RefCell::new(recorder)),
            clock,
            pacer: Pacer::Closed,
            policy: Arc::default(),
            gauge: None,
            giver: None,
            dial: None,
            ledger: None,
            bell: None,
        }
    }

    pub fn is_in_background(&self) -> bool {
        matches!(self.pacer, Pacer::Deferred(_))
    }

    /// No other try of a transaction should start here any more.
    pub fn is_over_for_retries(&self, now_ns: u64) -> bool {
        match &self.pacer {
            Pacer::Deferred(_) => self.is_over(now_ns),
            Pacer::Closed | Pacer::Open(_) => self.timeline.is_over_for_retries(now_ns),
        }
    }

    /// No transaction should start here any more. In the background the interval's end is not the end: what was
    /// deferred until then is still to be done.
    pub fn is_over(&self, now_ns: u64) -> bool {
        match &self.pacer {
            Pacer::Deferred(backlog) => backlog.is_given_up() || self.timeline.is_stopped(),
            Pacer::Closed | Pacer::Open(_) => self.timeline.is_over(now_ns),
        }
    }
}

/// One emulated user.
///
/// A client tries a transaction once; whether an error is worth another try, and when there is no
/// time left for one, is the same for all workloads and decided by the loop that drives it.
pub trait Client {
    type Connection: Connection;

    /// Tries one transaction and counts its statements. The first try of a turn and every later one
    /// run the same inputs, unless the workload imitates a program that draws new ones.
    fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> impl Future<Output = Result<Outcome, Error>>;

    /// After a failed try: leaves the transaction that the server may still hold open.
    fn roll_back(&mut self, attempt: &mut Attempt) -> impl Future<Output = Result<(), Error>>;

    /// After the client's last transaction: sends what it still holds back, and counts it. No
    /// transaction of its own, so it has no latency and is not tried again.
    fn finish(&mut self, attempt: &mut Attempt) -> impl Future<Output = Result<(), Error>> {
        let _ = attempt;
        std::future::ready(Ok(()))
    }

    /// Called on each new connection behind the first: what a session needs before its transactions.
    fn reconnected(&mut self, attempt: &mut Attempt) -> impl Future<Output = Result<(), Error>> {
        let _ = attempt;
        std::future::ready(Ok(()))
    }

    /// How long the user rests before this transaction; 0 in a loop without rests. Asked once per
    /// transaction of a closed loop.
    fn pause_ns(&mut self, turn: Turn) -> u64 {
        let _ = turn;
        0
    }

    /// How long to wait before this try, which is not the first of its turn; `None` gives the transaction up.
    /// By itself a client tries again at once, for as long as there is time.
    fn retry_pause_ns(&mut self, turn: Turn) -> Option<u64> {
        let _ = turn;
        Some(0)
    }

    /// The error that ends the client, in its own words.
    fn fatal(&self, error: Error) -> Fatal {
        error.into()
    }

    /// What else the last try counted, in the order of the workload's names; kept only if it committed.
    fn counts(&self) -> &[u64] {
        &[]
    }

    /// What the answers to its statements have brought so far, by kind of statement.
    fn answers(&self) -> &[Answers] {
        &[]
    }

    /// The log entry of the last transaction, if it was deferred and has committed, in the order of the
    /// workload's names; 0 stands for none.
    fn journal(&self) -> &[u32] {
        &[]
    }

    /// Whether the client has left of itself: its last try was none, and it makes no other.
    fn has_left(&self) -> bool {
        false
    }

    fn connection(&mut self) -> &mut Self::Connection;
}

/// An error that no retry mends: it ends the trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fatal {
    message: String,
}

impl Fatal {
    pub fn new(message: impl Into<String>) -> Fatal {
        Fatal { message: message.into() }
    }
}

impl From<Error> for Fatal {
    fn from(error: Error) -> Fatal {
        Fatal::new(error.to_string())
    }
}
