//! A connection that stops at one statement of a transaction until it is let go on, writes down the answers,
//! and leaves out what protects the transaction where a test is to fail.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use driver::{Answer, AnyConnection, Connection, Dialect, Error, Rows, Statement, Value};

/// The end of a transaction, whichever it chose.
pub const END: &str = "the end";

/// Where a transaction is held.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    /// How the statement begins, or [`END`].
    pub at: &'static str,
    /// At its so-manieth time, from 1.
    pub time: u32,
}

/// What a transaction is robbed of, so that a test can be seen to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Robbed {
    Nothing,
    /// Its BEGIN and its end: every statement stands alone.
    Transaction,
    /// What its reads would lock.
    Locks,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub sql: String,
    /// The number that the test is about, of the first row.
    pub number: Option<i64>,
}

/// What the connection and its controller share.
pub struct Lead {
    pub stop: Option<Stop>,
    pub robbed: Robbed,
    /// A COMMIT that is reached becomes a ROLLBACK.
    pub rolls_back: bool,
    times: Cell<u32>,
    is_held: Cell<bool>,
    may_go: Cell<bool>,
    pub seen: RefCell<Vec<Seen>>,
    /// The answer of the statement at which it was held when it was sent once more, after the stop.
    pub again: Cell<Option<Option<i64>>>,
}

impl Lead {
    pub fn new(stop: Option<Stop>, robbed: Robbed, rolls_back: bool) -> Rc<Lead> {
        Rc::new(Lead {
            stop,
            robbed,
            rolls_back,
            times: Cell::new(0),
            is_held: Cell::new(false),
            may_go: Cell::new(false),
            seen: RefCell::default(),
            again: Cell::new(None),
        })
    }

    pub fn is_held(&self) -> bool {
        self.is_held.get()
    }

    pub fn let_go(&self) {
        self.may_go.set(true);
    }

    /// Whether the transaction stops at this statement; counts its times.
    fn stops_at(&self, sql: &str) -> bool {
        let Some(stop) = self.stop else { return false };
        if !(sql.starts_with(stop.at) || stop.at == END && is_end(sql)) {
            return false;
        }
        self.times.set(self.times.get() + 1);
        self.times.get() == stop.time
    }

    async fn wait(&self) {
        self.is_held.set(true);
        poll_fn(|_| if self.may_go.get() { Poll::Ready(()) } else { Poll::Pending }).await;
        self.is_held.set(false);
    }

    fn note(&self, sql: &str, rows: &Rows) -> Option<i64> {
        let number = number(sql, rows);
        self.seen.borrow_mut().push(Seen { sql: sql.to_owned(), number });
        number
    }
}

fn is_end(sql: &str) -> bool {
    matches!(sql, "COMMIT" | "ROLLBACK")
}

/// The number of an order, or a price in cents; none where no row came.
fn number(sql: &str, rows: &Rows) -> Option<i64> {
    if rows.is_empty() {
        return None;
    }
    let is_price = sql.starts_with("SELECT i_price");
    let column = usize::from(sql.contains("d_next_o_id") && sql.contains("d_tax"));
    if is_price { rows.decimal(0, 0, 2).ok() } else { rows.int(0, column).ok() }
}

pub struct Stepped {
    inner: AnyConnection,
    texts: Vec<String>,
    lead: Rc<Lead>,
}

impl Stepped {
    /// Around a connection that blocks.
    pub fn new(inner: AnyConnection, lead: Rc<Lead>) -> Stepped {
        Stepped { inner, texts: Vec::new(), lead }
    }

    fn text(&self, statement: Statement) -> Result<&str, Error> {
        let known = self.texts.get(statement.number()).map(String::as_str);
        known.ok_or_else(|| Error::Protocol("a statement that was not prepared here".to_owned()))
    }
}

impl Connection for Stepped {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let robbed = sql.strip_suffix(" FOR UPDATE").filter(|_| self.lead.robbed == Robbed::Locks);
        let statement = self.inner.prepare(robbed.unwrap_or(sql))?;
        self.texts.resize(self.texts.len().max(statement.number() + 1), String::new());
        self.texts[statement.number()] = sql.to_owned();
        Ok(statement)
    }

    async fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Answer, Error> {
        let sql = self.text(statement)?.to_owned();
        if self.lead.stops_at(&sql) {
            self.lead.wait().await;
        }
        let is_bracket = is_end(&sql) || sql.starts_with("BEGIN");
        if is_bracket && self.lead.robbed == Robbed::Transaction {
            return Ok(Answer::default());
        }
        if sql == "COMMIT" && self.lead.rolls_back {
            return self.inner.query("ROLLBACK").await;
        }
        self.inner.execute(statement, values).await
    }

    /// It stops behind the answer, and asks once more when it goes on.
    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        let sql = self.text(statement)?.to_owned();
        let answer = self.inner.fetch(statement, values, rows).await?;
        self.lead.note(&sql, rows);
        if self.lead.stops_at(&sql) {
            self.lead.wait().await;
            let mut again = Rows::default();
            self.inner.fetch(statement, values, &mut again).await?;
            self.lead.again.set(Some(number(&sql, &again)));
        }
        Ok(answer)
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        if is_end(sql) && self.lead.robbed == Robbed::Transaction {
            return Ok(Answer::default());
        }
        self.inner.query(sql).await
    }
}
