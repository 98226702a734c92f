//! The measured path over real sockets, under an allocator that counts: a server that sends the same
//! bytes for ever, and a client that must not allocate to read them.

mod counting;
mod greeting;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use counting::allocations;
use driver::{AnyConnection, Connection, Dialect, Endpoint, Login, Reactor, Ready, Value};
use greeting::{message, mysql_greeting, packet};

const STATEMENTS: u64 = 1_000;
const ROWS: u64 = 100;

/// The bytes of a canned server: first of all, after a login, after a prepare, and to every prepared statement and
/// every text.
struct Script {
    greeting: Vec<u8>,
    welcome: Vec<u8>,
    prepared: Vec<u8>,
    executed: Vec<u8>,
    asked: Vec<u8>,
    /// Where a request has the letter by which a text is known.
    text: (usize, u8),
}

fn mysql() -> Script {
    let eof: &[u8] = &[0xfe, 0, 0, 2, 0];
    // A binary row begins with a zero, and one in text with the length of its first column.
    let answer = |first: u8| {
        let mut answer = [packet(1, &[1]), packet(2, b"\x03def one column"), packet(3, eof)].concat();
        (0..ROWS).for_each(|row| answer.extend(packet((4 + row) as u8, &[&[first][..], &[b'x'; 124]].concat())));
        answer.extend(packet((4 + ROWS) as u8, eof));
        answer
    };
    Script {
        greeting: packet(0, &mysql_greeting()),
        welcome: packet(2, &[0, 0, 0, 2, 0, 0, 0]),
        // Statement 1 with one column and two parameters, each list ended by EOF.
        prepared: [
            packet(1, &[0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]),
            packet(2, b"\x03def"),
            packet(3, b"\x03def"),
            packet(4, eof),
            packet(5, b"\x03def"),
            packet(6, eof),
        ]
        .concat(),
        executed: answer(0),
        asked: answer(124),
        text: (4, 0x03),
    }
}

fn postgres() -> Script {
    let ready = message(b'Z', b"I");
    let row = message(b'D', &[b"\0\x01\0\0\0\x78".as_slice(), &[b'x'; 120]].concat());
    let rows = [row.repeat(ROWS as usize), message(b'C', b"SELECT 100\0"), ready.clone()].concat();
    Script {
        greeting: Vec::new(),
        welcome: [message(b'R', &[0; 4]), ready.clone()].concat(),
        prepared: [message(b'1', b""), ready].concat(),
        executed: [message(b'2', b""), rows.clone()].concat(),
        asked: [message(b'T', b"\0\0"), rows].concat(),
        text: (0, b'Q'),
    }
}

/// Answers one connection by the script; a request is whatever arrives in one read.
fn serve(listener: UnixListener, script: Script) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(&script.greeting).unwrap();
        let mut request = [0; 4096];
        for answer in [&script.welcome, &script.prepared] {
            assert!(socket.read(&mut request).unwrap() > 0, "the client goes on");
            socket.write_all(answer).unwrap();
        }
        while socket.read(&mut request).is_ok_and(|bytes| bytes > 0) {
            let (place, letter) = script.text;
            let answer = if request[place] == letter { &script.asked } else { &script.executed };
            if socket.write_all(answer).is_err() {
                return; // The client has heard enough.
            }
        }
    })
}

/// How a client waits for its answers.
enum Waiting {
    InTheKernel,
    ForTheReactor(Arc<Reactor>, Box<Ready>),
}

impl Waiting {
    fn on_reactor() -> Waiting {
        Waiting::ForTheReactor(Reactor::new().unwrap(), Box::default())
    }

    fn complete<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            match (future.as_mut().poll(&mut Context::from_waker(Waker::noop())), &mut *self) {
                (Poll::Ready(value), _) => return value,
                (Poll::Pending, Waiting::ForTheReactor(reactor, ready)) => {
                    reactor.wait(ready, u64::MAX).unwrap();
                    assert_eq!(ready.tokens().collect::<ArrayOfOne>(), ArrayOfOne(Some(TOKEN)));
                }
                (Poll::Pending, Waiting::InTheKernel) => panic!("a blocking connection never waits outside the kernel"),
            }
        }
    }
}

/// The number of our only connection in the reactor.
const TOKEN: usize = 3;

/// Collects without allocating.
#[derive(Debug, PartialEq)]
struct ArrayOfOne(Option<usize>);

impl FromIterator<usize> for ArrayOfOne {
    fn from_iter<I: IntoIterator<Item = usize>>(tokens: I) -> ArrayOfOne {
        let mut tokens = tokens.into_iter();
        let first = tokens.next();
        assert!(tokens.next().is_none(), "one connection is reported once");
        ArrayOfOne(first)
    }
}

fn check(dialect: Dialect, script: Script, mut waiting: Waiting) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = serve(UnixListener::bind(&path).unwrap(), script);
    let login = Login { user: "app".to_owned(), ..Login::default() };
    let mut connection =
        AnyConnection::connect(dialect, &Endpoint::Unix(path), &login, Duration::from_secs(10)).unwrap();
    let statement = connection.prepare("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?").unwrap();
    match &waiting {
        Waiting::InTheKernel => connection.block().unwrap(),
        Waiting::ForTheReactor(reactor, _) => connection.attach(reactor, TOKEN).unwrap(),
    }
    let mut run = |connection: &mut AnyConnection, low: i64| {
        let executed = waiting.complete(connection.execute(statement, &[Value::Int(low), Value::Text(b"123456")]));
        let asked = waiting.complete(connection.query("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100"));
        for answer in [executed.unwrap(), asked.unwrap()] {
            assert_eq!((answer.rows, answer.returns_rows), (ROWS, true));
        }
    };
    run(&mut connection, 0); // Buffers may grow once.
    let before = allocations();
    (0..STATEMENTS as i64).for_each(|low| run(&mut connection, low));
    let allocated = allocations() - before;
    drop(connection);
    server.join().unwrap();
    assert_eq!(allocated, 0, "allocations in {STATEMENTS} statements and as many texts of {dialect:?}");
}

#[test]
fn a_mysql_statement_allocates_nothing() {
    check(Dialect::MySql, mysql(), Waiting::InTheKernel);
    check(Dialect::MySql, mysql(), Waiting::on_reactor());
}

#[test]
fn a_postgres_statement_allocates_nothing() {
    check(Dialect::Postgres, postgres(), Waiting::InTheKernel);
    check(Dialect::Postgres, postgres(), Waiting::on_reactor());
}

#[test]
fn a_sqlite_statement_allocates_nothing_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let login =
        Login { user: String::new(), password: None, database: None, on_connect: Vec::new(), ..Login::default() };
    let file = Endpoint::File(folder.path().join("bench.db"));
    let mut connection = AnyConnection::connect(Dialect::Sqlite, &file, &login, Duration::from_secs(10)).unwrap();
    Waiting::InTheKernel.complete(connection.query("CREATE TABLE t (id INTEGER PRIMARY KEY, c TEXT)")).unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let select = connection.prepare("SELECT c FROM t WHERE id = ?").unwrap();
    let before = allocations();
    for id in 0..100 {
        let changed =
            Waiting::InTheKernel.complete(connection.execute(insert, &[Value::Int(id), Value::Text(b"abc")])).unwrap();
        assert_eq!(changed.affected, 1);
        assert_eq!(Waiting::InTheKernel.complete(connection.execute(select, &[Value::Int(id)])).unwrap().rows, 1);
    }
    assert_eq!(allocations() - before, 0);
}
