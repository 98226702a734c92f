//! Lean wire connections to database servers.
//!
//! One [`Connection`] uses one protocol over one socket (or calls one library) and reuses its
//! buffers: between [`Connection::prepare`] and the end of a trial it allocates nothing. Parsing
//! never touches a socket: `mysql::packet` and `postgres::message` turn bytes into answers and report
//! when they need more; `connection.rs` beside them does the I/O. What is not on the measured path
//! (administration, bulk loading) goes through the blocking [`Admin`].
//!
//! This crate does not depend on workloads, trials or engines' versions.

mod admin;
mod advice;
mod any;
mod as_text;
mod catalog;
mod closer;
mod compression;
mod deadline;
mod decimal;
mod dial;
mod dialect;
mod isolation;
pub mod mysql;
mod null;
pub mod postgres;
mod reactor;
mod rows;
pub mod sqlite;
mod stream;
mod target;
mod tls;
mod transport;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use admin::{Admin, RowSink};
pub use advice::{Advice, advice_in};
pub use any::AnyConnection;
pub use as_text::AsText;
pub use closer::Closer;
pub use deadline::end_waits_on;
pub use dialect::Dialect;
pub use isolation::Isolation;
pub use null::{Delay, Honest, NullServer};
pub use reactor::{Reactor, Ready};
pub use rows::{Cell, Part, Rows};
pub use stream::{stream_loopback, stream_socket};
pub use target::Target;
pub use transport::{Traffic, complete, thread_traffic};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The socket file itself; PostgreSQL's is `<folder>/.s.PGSQL.<port>`.
    Unix(PathBuf),
    Tcp {
        host: String,
        port: u16,
    },
    /// A database file of an embedded engine.
    File(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) | Endpoint::File(path) => path.display().fmt(f),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A password that cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(password: impl Into<String>) -> Secret {
        Secret(password.into())
    }

    /// The password itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Whether a connection is encrypted. A server that cannot is an error, never a reason to go on in clear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tls {
    #[default]
    Off,
    /// Encrypted without a check of the server, as `sslmode=require` does: no one can eavesdrop, but nothing
    /// proves who the server is.
    Require,
    /// The server also shows a certificate that a root vouches for; whose name it bears is not checked.
    VerifyCa,
    /// The server also proves its name by a certificate that a root vouches for: of [`Certificates`], else of
    /// this host (a file of others is named in `SSL_CERT_FILE`).
    Verify,
}

/// Files of certificates, each in PEM form, for encrypted connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificates {
    /// What vouches for the server; without it this host's own.
    pub roots: Option<PathBuf>,
    /// The client's own certificate, with those between it and a root.
    pub chain: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The name that the server's certificate bears, where it is not the host that is dialled.
    pub server_name: Option<String>,
}

/// Whether a login of PostgreSQL by SCRAM proves that its TLS session ends at the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    Disable,
    /// Where server and certificate can.
    #[default]
    Prefer,
    Require,
}

/// Who connects, and how every new connection opens.
#[derive(Debug, Clone, Default)]
pub struct Login {
    pub user: String,
    pub password: Option<Secret>,
    pub database: Option<String>,
    /// SQL that every new connection runs before anything else, such as SQLite's pragmas.
    pub on_connect: Vec<String>,
    pub tls: Tls,
    pub certificates: Certificates,
    pub channel_binding: ChannelBinding,
    /// Statements and answers travel deflated; only MySQL's protocol can.
    pub compressed: bool,
}

/// A server's error code: a number, or five characters of SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    text: [u8; 5],
    length: u8,
}

impl Code {
    /// Keeps the first five bytes of `text`.
    pub fn new(text: &[u8]) -> Code {
        let length = text.len().min(5);
        let mut code = Code { text: [0; 5], length: length as u8 };
        code.text[..length].copy_from_slice(&text[..length]);
        code
    }

    pub fn number(number: u16) -> Code {
        let mut digits = [0; 5];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return Code::new(&digits[at..]);
            }
        }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or("?")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What can go wrong with one statement; the variants are what callers branch on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server asks for the transaction to be tried again (deadlock, lock wait, serialisation).
    /// It happens in measured time, so it carries no text that would have to be allocated.
    #[error("server error {code}: try the transaction again")]
    Retryable { code: Code },
    /// A key exists already; like `Retryable`, part of normal life.
    #[error("server error {code}: duplicate key")]
    Duplicate { code: Code },
    /// The server understood and refused.
    #[error("server error {code}: {message}")]
    Refused { code: Code, message: String },
    /// The connection is gone, by itself or by the server's farewell, which then has a code, or never came about. It
    /// takes [`Connection::reconnect`] to go on.
    #[error("{why}")]
    Lost { code: Option<Code>, why: String },
    /// The server sent something that its protocol does not allow.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// The client's own program has failed: no server is at fault, and no other try mends it.
    #[error("{0}")]
    Client(String),
}

impl Error {
    /// A connection that is gone without a farewell.
    pub fn lost(why: impl Into<String>) -> Error {
        Error::Lost { code: None, why: format!("connection lost: {}", why.into()) }
    }

    /// A connection that did not come about.
    pub(crate) fn unreachable(endpoint: &Endpoint, error: &std::io::Error) -> Error {
        let why = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => format!("nothing listens at {endpoint} (connection refused)"),
            std::io::ErrorKind::NotFound if matches!(endpoint, Endpoint::Unix(_)) => {
                format!("there is no socket {endpoint}")
            }
            _ => format!("{endpoint} cannot be reached: {error}"),
        };
        Error::Lost { code: None, why }
    }

    pub(crate) fn farewell(code: Code, message: &str) -> Error {
        Error::Lost { code: Some(code), why: format!("connection lost: server error {code}: {message}") }
    }
}

/// One parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Int(i64),
    Text(&'a [u8]),
    /// An exact number of so many units of its last of `scale` places. SQLite, which has no exact decimals,
    /// gets the units.
    Decimal {
        units: i64,
        scale: u8,
    },
    Null,
}

/// A prepared statement of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(usize);

impl Statement {
    /// For connections outside this crate: statements are numbered by their connection.
    pub fn numbered(number: usize) -> Statement {
        Statement(number)
    }

    pub fn number(self) -> usize {
        self.0
    }
}

/// What came back: enough to count and classify, which is all that most statements need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    /// Rows that were inserted, deleted or changed.
    pub affected: u64,
    /// Rows that an UPDATE found and that had its values already; only MySQL does not count them as affected.
    pub unchanged: u64,
    /// The statement returned columns, even if no row.
    pub returns_rows: bool,
}

impl Answer {
    /// Rows that a change found, whether it changed them or not.
    pub fn matched(&self) -> u64 {
        self.affected.wrapping_add(self.unchanged)
    }
}

/// One connection with prepared statements.
///
/// `execute`, `fetch`, `query` and `query_into` are the measured path: they must not allocate, and they complete at the
/// first poll when the connection blocks (until [`AnyConnection::attach`]).
pub trait Connection {
    fn dialect(&self) -> Dialect;
    /// Belongs to the set-up, and always blocks.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error>;
    /// A statement that is parsed at each execution, as many programs do that prepare nothing: unnamed in PostgreSQL;
    /// prepared and closed each time in MySQL and SQLite.
    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        let _ = sql;
        Err(Error::Protocol("this protocol has no statements that are parsed at each execution".to_owned()))
    }
    fn execute(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
    ) -> impl Future<Output = Result<Answer, Error>>;
    /// Executes, and fills `rows` with what comes back.
    fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<Answer, Error>>;
    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Answer, Error>>;
    /// Runs a text, and fills `rows` with what comes back.
    fn query_into(&mut self, sql: &str, rows: &mut Rows) -> impl Future<Output = Result<Answer, Error>> {
        let _ = (sql, rows);
        std::future::ready(Err(Error::Protocol("this kind of connection gives no rows of a text".to_owned())))
    }
    /// Keeps an execution back, to be sent with others by [`Connection::send_queued`]. Only PostgreSQL's protocol has
    /// such pipelines.
    fn queue(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<(), Error> {
        let _ = (statement, parameters);
        Err(Error::Protocol("this protocol has no pipelines".to_owned()))
    }
    /// Sends what was kept back at once, and returns the sum of the answers.
    fn send_queued(&mut self) -> impl Future<Output = Result<Answer, Error>> {
        std::future::ready(Err(Error::Protocol("this protocol has no pipelines".to_owned())))
    }
    /// Forgets what was kept back.
    fn drop_queued(&mut self) {}
    /// Behind the last statement: fails when the server has sent something without a request, which would have been
    /// taken for the next answer.
    fn leave(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Connects and logs in anew, prepares every statement again and keeps their numbers; a reactor or a
    /// closer of the old connection serves the new one. Blocks for up to `timeout` in each wait, since it
    /// is no statement; after a failure every statement is [`Error::Lost`] until a later attempt succeeds.
    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        let _ = timeout;
        Err(Error::lost("this kind of connection cannot be opened again"))
    }
}

/// Is shown the parts of an answer; without one, rows are only counted.
pub type OnPart<'a> = &'a mut dyn FnMut(Part<'_>);
