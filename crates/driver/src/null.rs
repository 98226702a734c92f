//! A server that does nothing: it has a protocol and answers every statement at once, with as many
//! columns and rows as the statement asks for without data.
//!
//! What a load costs against it is the load's own cost, and the kernel's; how much it reaches there is the
//! most that the generator can reach anywhere. It checks no password, keeps no data and parses no SQL but
//! how a statement begins that returns rows, or changes none. One thread serves all connections.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::answers::Answers;
use crate::mysql::canned::MySqlAnswers;
use crate::postgres::canned::PostgresAnswers;
use crate::{Dialect, Endpoint, Error, Reactor, Ready};

/// One connection of a server that does nothing, as bytes: for tests of what a server may do wrong.
pub struct Honest {
    answers: Box<dyn Answers>,
    inbox: Vec<u8>,
}

impl Honest {
    /// None for an engine that is no server.
    pub fn new(dialect: Dialect) -> Option<Honest> {
        Some(Honest { answers: answers(dialect)?(), inbox: Vec::new() })
    }

    pub fn greeting(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.answers.greet(&mut out);
        out
    }

    /// The answers to all whole requests that have come; an error when the client has left.
    pub fn answer(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        self.inbox.extend_from_slice(bytes);
        let mut out = Vec::new();
        let used = self.answers.answer(&self.inbox, &mut out)?;
        self.inbox.drain(..used);
        Ok(out)
    }
}

fn answers(dialect: Dialect) -> Option<fn() -> Box<dyn Answers>> {
    match dialect {
        Dialect::MySql => Some(|| Box::<MySqlAnswers>::default()),
        Dialect::Postgres => Some(|| Box::<PostgresAnswers>::default()),
        Dialect::Sqlite => None,
    }
}

/// How long each answer waits.
pub type Delay = Box<dyn FnMut() -> Duration + Send>;

/// Listens until it is dropped.
pub struct NullServer {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The listener's number; connections count from 1.
const LISTENER: usize = 0;

impl NullServer {
    /// Listens on a socket file, which must not be there yet.
    pub fn start(dialect: Dialect, path: &Path) -> Result<NullServer, Error> {
        NullServer::start_delayed(dialect, path, Box::new(|| Duration::ZERO))
    }

    /// The same with a delay before each answer, one answer after the other: a server whose speed is known.
    pub fn start_delayed(dialect: Dialect, path: &Path, delay: Delay) -> Result<NullServer, Error> {
        let answers =
            answers(dialect).ok_or_else(|| Error::lost("SQLite is a library, which no server can stand for"))?;
        let failed = |error: std::io::Error| Error::lost(format!("cannot listen on {}: {error}", path.display()));
        let listener = UnixListener::bind(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let reactor = Reactor::new().map_err(failed)?;
        reactor.watch(listener.as_raw_fd(), LISTENER).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let service = Service { listener, reactor, answers, sessions: HashMap::new(), stop: Arc::clone(&stop), delay };
        let thread = std::thread::Builder::new().name("null".to_owned()).spawn(|| service.serve()).map_err(failed)?;
        Ok(NullServer { path: path.to_owned(), stop, thread: Some(thread) })
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.path.clone())
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the thread, which then finds that it is over; should that fail, it ends with the process.
        if UnixStream::connect(&self.path).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Everybody who is connected.
struct Service {
    listener: UnixListener,
    reactor: Arc<Reactor>,
    answers: fn() -> Box<dyn Answers>,
    sessions: HashMap<usize, Session>,
    stop: Arc<AtomicBool>,
    delay: Delay,
}

struct Session {
    stream: UnixStream,
    answers: Box<dyn Answers>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Service {
    fn serve(mut self) {
        let (mut ready, mut number) = (Ready::default(), LISTENER);
        while !self.stop.load(Ordering::Acquire) {
            if self.reactor.wait(&mut ready, u64::MAX).is_err() {
                return;
            }
            for token in ready.tokens() {
                if token == LISTENER {
                    self.let_in(&mut number);
                } else if let Some(session) = self.sessions.get_mut(&token)
                    && !session.serve(&mut self.delay)
                {
                    self.sessions.remove(&token);
                }
            }
        }
    }

    /// A connection that cannot be served is closed.
    fn let_in(&mut self, number: &mut usize) {
        while let Ok((stream, _)) = self.listener.accept() {
            *number += 1;
            let mut session = Session { stream, answers: (self.answers)(), inbox: Vec::new(), outbox: Vec::new() };
            session.answers.greet(&mut session.outbox);
            let registered = session.stream.set_nonblocking(true).is_ok()
                && self.reactor.watch(session.stream.as_raw_fd(), *number).is_ok();
            if registered && session.send() {
                self.sessions.insert(*number, session);
            }
        }
    }
}

impl Session {
    /// Reads and answers until nothing is left to read; `false` when the connection is over.
    fn serve(&mut self, delay: &mut Delay) -> bool {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(length) => self.inbox.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return false,
            }
            let Ok(used) = self.answers.answer(&self.inbox, &mut self.outbox) else { return false };
            self.inbox.drain(..used);
            let waits = delay();
            if !waits.is_zero() {
                std::thread::sleep(waits);
            }
            if !self.send() {
                return false;
            }
        }
    }

    /// Answers are shorter than a socket's buffer, so one that does not fit means a client that does not read.
    fn send(&mut self) -> bool {
        let sent = self.outbox.is_empty() || self.stream.write_all(&self.outbox).is_ok();
        self.outbox.clear();
        sent
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{AnyConnection, Connection, Login, Value, complete};

    fn connect(dialect: Dialect, server: &NullServer) -> AnyConnection {
        let login = Login { user: "nobody".to_owned(), database: Some("nothing".to_owned()), ..Login::default() };
        AnyConnection::connect(dialect, &server.endpoint(), &login, Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn our_own_connections_take_it_for_a_server() {
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            let folder = tempfile::tempdir().unwrap();
            let server = NullServer::start(dialect, &folder.path().join("null.sock")).unwrap();
            let mut connection = connect(dialect, &server);
            let selected = complete(connection.query("select 12")).unwrap();
            assert_eq!((selected.rows, selected.returns_rows), (1, true), "{dialect:?}");
            let changed = complete(connection.query("insert into t values (1)")).unwrap();
            assert_eq!((changed.rows, changed.affected), (0, 1), "{dialect:?}");
            let begun = complete(connection.query("BEGIN")).unwrap();
            assert_eq!((begun.rows, begun.affected, begun.returns_rows), (0, 0, false), "{dialect:?}");
            let place = dialect.placeholder(1);
            let select = connection.prepare(&format!("SELECT c FROM t WHERE id = {place}")).unwrap();
            let update = connection.prepare(&format!("UPDATE t SET c = {place}")).unwrap();
            for _ in 0..3 {
                assert_eq!(complete(connection.execute(select, &[Value::Int(7)])).unwrap().rows, 1, "{dialect:?}");
                let answer = complete(connection.execute(update, &[Value::Text(b"x")])).unwrap();
                assert_eq!((answer.rows, answer.affected), (0, 1), "{dialect:?}");
            }
            assert_eq!(connection.rows("select 1").unwrap(), [[Some("1".to_owned())]], "{dialect:?}");
            connection.reconnect(Duration::from_secs(5)).unwrap();
            assert_eq!(complete(connection.execute(select, &[Value::Int(7)])).unwrap().rows, 1, "{dialect:?}");
            let second = connect(dialect, &server);
            drop((second, server));
            assert!(complete(connection.query("select 1")).is_err(), "the client is gone");
        }
    }
}
