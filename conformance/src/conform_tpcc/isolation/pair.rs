//! Two transactions on connections of their own: one is held at a statement, the other runs against it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use driver::{Admin, AnyConnection, Connection, Dialect, Error, Isolation, Target};
use load::{OptionValue, Outcome};
use workloads::tpcc::by_hand::{ByHand, Inputs};

use super::stepped::{Lead, Robbed, Seen, Stepped, Stop};

/// SQLite's second writer is refused after so long; servers let it wait until it is seen to.
const BUSY_LIMIT: Duration = Duration::from_millis(300);
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for a transaction to end, or to be seen to wait.
const LIMIT: Duration = Duration::from_secs(30);
/// InnoDB updates its list of waits only when it has not been read for a tenth of a second.
const POLL_EVERY: Duration = Duration::from_millis(150);

/// Where transactions run, and under which level.
#[derive(Clone)]
pub struct Arena {
    pub target: Target,
    pub given: BTreeMap<String, OptionValue>,
    /// None is the server's own.
    pub level: Option<Isolation>,
    /// Of the transaction that is held.
    pub robbed: Robbed,
}

impl Arena {
    pub fn dialect(&self) -> Dialect {
        self.target.dialect
    }

    fn connect(&self) -> Result<AnyConnection> {
        let Target { dialect, endpoint, mut login } = self.target.clone();
        if let Some(level) = self.level {
            login.on_connect.extend(dialect.isolation_sql(level).map_err(|why| anyhow!(why))?);
        }
        let limit = if dialect == Dialect::Sqlite { BUSY_LIMIT } else { STATEMENT_LIMIT };
        let mut connection = AnyConnection::connect(dialect, &endpoint, &login, limit)?;
        connection.block()?;
        Ok(connection)
    }

    fn client(&self, lead: &Rc<Lead>) -> Result<ByHand<Stepped>> {
        Ok(ByHand::new(&self.given, Stepped::new(self.connect()?, Rc::clone(lead)))?)
    }
}

/// A transaction that is under way and stopped until it is let go on.
pub struct Held {
    lead: Rc<Lead>,
    future: Pin<Box<dyn Future<Output = Result<Outcome, Error>>>>,
}

impl Held {
    /// Runs it up to its stop.
    pub fn at(arena: &Arena, asked: Inputs, stop: Stop, rolls_back: bool) -> Result<Held> {
        let lead = Lead::new(Some(stop), arena.robbed, rolls_back);
        let mut client = arena.client(&lead)?;
        let mut held = Held { lead, future: Box::pin(async move { client.run(&asked).await }) };
        if let Poll::Ready(ended) = held.poll() {
            bail!("it came to its end ({ended:?}) before `{}`", stop.at);
        }
        ensure!(held.lead.is_held(), "it waits elsewhere than at `{}`", stop.at);
        Ok(held)
    }

    fn poll(&mut self) -> Poll<Result<Outcome, Error>> {
        self.future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()))
    }

    /// Lets it run to its end.
    pub fn end(mut self) -> Result<Ended> {
        self.lead.let_go();
        match self.poll() {
            Poll::Ready(outcome) => {
                Ok(Ended { outcome, seen: self.lead.seen.take(), again: self.lead.again.get().flatten() })
            }
            Poll::Pending => bail!("it stopped twice"),
        }
    }
}

/// What came of a transaction.
#[derive(Debug)]
pub struct Ended {
    pub outcome: Result<Outcome, Error>,
    seen: Vec<Seen>,
    /// The answer of the statement at which it was held, when it was sent again.
    pub again: Option<i64>,
}

impl Ended {
    /// The number that the last statement which begins so was answered by.
    pub fn answer(&self, sql: &str) -> Option<i64> {
        self.seen.iter().rev().find(|seen| seen.sql.starts_with(sql)).and_then(|seen| seen.number)
    }

    /// The number that the so-manieth statement which begins so was answered by, from 1.
    pub fn answer_at(&self, sql: &str, time: usize) -> Option<i64> {
        self.seen.iter().filter(|seen| seen.sql.starts_with(sql)).nth(time - 1).and_then(|seen| seen.number)
    }

    /// The number of its order, as the district gave it.
    pub fn order(&self) -> Option<i64> {
        let numbered = |seen: &&Seen| seen.sql.contains("d_next_o_id") && seen.number.is_some();
        self.seen.iter().find(numbered).and_then(|seen| seen.number)
    }
}

/// What a transaction or statement runs against one that is held.
#[derive(Clone)]
pub enum Asked {
    Transaction(Box<Inputs>),
    Statement(String),
}

impl Asked {
    pub fn transaction(inputs: Inputs) -> Asked {
        Asked::Transaction(Box::new(inputs))
    }
}

/// How it fared while the other one was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    Passed,
    Waited,
    /// The engine sent it back, to be tried again.
    Refused,
}

impl Met {
    pub fn as_str(self) -> &'static str {
        match self {
            Met::Passed => "passed",
            Met::Waited => "waited",
            Met::Refused => "refused",
        }
    }
}

/// The transaction that runs against the held one, on a thread of its own since it may have to wait.
pub struct Other {
    arena: Arena,
    asked: Asked,
    thread: JoinHandle<Result<Ended>>,
}

impl Other {
    pub fn start(arena: &Arena, asked: Asked) -> Other {
        // It keeps what makes it a transaction: the test is about the other one. Locks protect only who asks for them.
        let robbed = if arena.robbed == Robbed::Locks { Robbed::Locks } else { Robbed::Nothing };
        let arena = Arena { robbed, ..arena.clone() };
        let (its_arena, its_own) = (arena.clone(), asked.clone());
        Other { arena, asked, thread: std::thread::spawn(move || run(&its_arena, its_own)) }
    }

    /// How it fares, as the server shows it; not as a clock would guess.
    pub fn met(&self, admin: &mut Admin) -> Result<Met> {
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            // Before the first reading too: what it shows may otherwise be of the test before.
            std::thread::sleep(POLL_EVERY);
            if self.thread.is_finished() {
                return Ok(Met::Passed);
            }
            if waiting(admin)? > 0 {
                return Ok(Met::Waited);
            }
        }
        bail!("it neither came to its end nor was it seen to wait")
    }

    /// Its end, once nothing is in its way; where it was refused meanwhile, that of another try.
    pub fn end(self, met: &mut Met) -> Result<Ended> {
        let ended = self.thread.join().map_err(|_| anyhow!("the other transaction panicked"))??;
        if matches!(ended.outcome, Err(Error::Retryable { .. })) {
            *met = Met::Refused;
            return run(&self.arena, self.asked);
        }
        Ok(ended)
    }
}

/// Runs it from beginning to end.
pub fn run(arena: &Arena, asked: Asked) -> Result<Ended> {
    let lead = Lead::new(None, arena.robbed, false);
    let outcome = match asked {
        Asked::Transaction(inputs) => driver::complete(arena.client(&lead)?.run(&inputs)),
        Asked::Statement(sql) => driver::complete(arena.connect()?.query(&sql)).map(|_| Outcome::Committed),
    };
    Ok(Ended { outcome, seen: lead.seen.take(), again: None })
}

/// Transactions that wait for a lock. SQLite shows none: who finds it locked is refused instead.
fn waiting(admin: &mut Admin) -> Result<i64> {
    let sql = match admin.dialect() {
        Dialect::MySql => "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
        Dialect::Postgres => "SELECT COUNT(*) FROM pg_locks WHERE NOT granted",
        Dialect::Sqlite => return Ok(0),
    };
    let waiting = admin.value(sql)?.with_context(|| format!("no row from {sql}"))?;
    waiting.parse().with_context(|| format!("no number but {waiting}"))
}
