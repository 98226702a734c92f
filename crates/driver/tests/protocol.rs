//! What a connection does with a server that keeps to no protocol: one that answers by a list, whatever it is
//! asked.

mod greeting;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use driver::{AnyConnection, Connection, Dialect, Endpoint, Error, Login, complete};
use greeting::{message, mysql_greeting, packet};

const LIMIT: Duration = Duration::from_secs(10);
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const READY: (u8, &[u8]) = (b'Z', b"I");

fn messages(all: &[(u8, &[u8])]) -> Vec<u8> {
    all.iter().flat_map(|(kind, body)| message(*kind, body)).collect()
}

/// What is sent before the first request, and to the login.
fn login_of(dialect: Dialect) -> Vec<Vec<u8>> {
    match dialect {
        Dialect::MySql => vec![packet(0, &mysql_greeting()), packet(2, OK)],
        _ => vec![Vec::new(), messages(&[(b'R', &[0; 4]), READY])],
    }
}

/// Serves one connection: the first reply without a request, each other one to the next request. Returns what it
/// read; nothing at all stands for the end.
fn serve(path: &Path, replies: Vec<Vec<u8>>) -> Receiver<Vec<u8>> {
    let listener = UnixListener::bind(path).unwrap();
    let (heard, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut socket, _): (UnixStream, _) = listener.accept().unwrap();
        let (mut request, mut replies) = ([0; 4096], replies.into_iter());
        socket.write_all(&replies.next().unwrap()).unwrap();
        loop {
            let bytes = socket.read(&mut request).unwrap_or(0);
            if heard.send(request[..bytes].to_vec()).is_err() || bytes == 0 {
                return;
            }
            let _ = socket.write_all(&replies.next().unwrap_or_default());
        }
    });
    hears
}

fn connect(
    dialect: Dialect,
    replies: &[Vec<u8>],
    limit: Duration,
) -> Result<(AnyConnection, Receiver<Vec<u8>>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let hears = serve(&path, replies.to_vec());
    let login = Login { user: "app".to_owned(), ..Login::default() };
    AnyConnection::connect(dialect, &Endpoint::Unix(path), &login, limit).map(|connection| (connection, hears))
}

/// A connection that is logged in, to a server that answers statements like this.
fn logged_in(dialect: Dialect, replies: &[Vec<u8>]) -> (AnyConnection, Receiver<Vec<u8>>) {
    connect(dialect, &[login_of(dialect), replies.to_vec()].concat(), LIMIT).unwrap()
}

fn is_protocol<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    assert!(matches!(outcome, Err(Error::Protocol(_))), "{outcome:?}");
}

#[test]
fn a_connection_takes_leave_when_it_ends_and_before_it_is_opened_again() {
    for (dialect, farewell) in [(Dialect::MySql, &b"\x01\0\0\0\x01"[..]), (Dialect::Postgres, b"X\0\0\0\x04")] {
        let heard_last = |end: fn(AnyConnection)| {
            let (connection, hears) = logged_in(dialect, &[]);
            end(connection);
            hears.iter().filter(|request| !request.is_empty()).last().unwrap()
        };
        assert_eq!(heard_last(drop), farewell, "{dialect:?}");
        assert_eq!(heard_last(|mut connection| drop(connection.reconnect(LIMIT))), farewell, "{dialect:?}");
    }
}

#[test]
fn what_follows_an_answer_is_no_answer_to_the_next_request() {
    let twice = |answer: Vec<u8>| [answer.clone(), answer].concat();
    let changed = messages(&[(b'C', b"INSERT 0 1\0"), READY]);
    let refused = messages(&[(b'E', b"SERROR\0C42601\0Mno\0\0"), READY]);
    for (dialect, answer, is_ok) in [
        (Dialect::MySql, packet(1, OK), true),
        (Dialect::MySql, packet(1, b"\xff\x28\x04#42000no"), false),
        (Dialect::Postgres, changed, true),
        (Dialect::Postgres, refused, false),
    ] {
        let (mut connection, _hears) = logged_in(dialect, &[twice(answer.clone())]);
        assert_eq!(complete(connection.query("x")).is_ok(), is_ok);
        is_protocol(complete(connection.query("x")));
        let (mut connection, _hears) = logged_in(dialect, &[twice(answer)]);
        let _ = complete(connection.query("x"));
        is_protocol(connection.leave());
    }
    let (mut connection, _hears) = logged_in(Dialect::Postgres, &[messages(&[(b'C', b"BEGIN\0"), READY, READY])]);
    complete(connection.query("x")).unwrap();
    is_protocol(complete(connection.query("x")));
}

#[test]
fn a_postgres_server_may_send_a_parameter_between_two_answers_and_may_end_the_session() {
    let answer = messages(&[(b'C', b"BEGIN\0"), READY]);
    let notice = messages(&[(b'S', b"TimeZone\0UTC\0"), (b'N', b"SNOTICE\0\0")]);
    let (mut connection, _hears) =
        logged_in(Dialect::Postgres, &[[answer.clone(), notice.clone()].concat(), [answer.clone(), notice].concat()]);
    complete(connection.query("x")).unwrap();
    complete(connection.query("x")).unwrap();
    connection.leave().unwrap();
    let farewell = messages(&[(b'E', b"SFATAL\0VFATAL\0C57P01\0Mgo away\0\0")]);
    let (mut connection, _hears) = logged_in(Dialect::Postgres, &[[answer, farewell].concat()]);
    complete(connection.query("x")).unwrap();
    assert!(matches!(complete(connection.query("x")), Err(Error::Lost { .. })));
}

#[test]
fn definitions_of_a_prepared_statement_are_neither_errors_nor_too_many_nor_out_of_turn() {
    let prepared = packet(1, &[0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
    let deadlock = b"\xff\xbd\x04#40001Deadlock found";
    let column = b"\x03def";
    let whole = [prepared.clone(), packet(2, column), packet(3, column), packet(4, EOF)];
    let prepare = |reply: &[Vec<u8>]| {
        let (mut connection, _hears) = logged_in(Dialect::MySql, &[reply.concat()]);
        connection.prepare("SELECT ?, ?").map(|_| ())
    };
    prepare(&whole).unwrap();
    is_protocol(prepare(&[prepared.clone(), packet(2, deadlock)]));
    is_protocol(prepare(&[prepared.clone(), packet(2, column), packet(3, EOF)]));
    is_protocol(prepare(&[prepared.clone(), packet(2, column), packet(3, column), packet(4, column)]));
    is_protocol(prepare(&[prepared, packet(3, column), packet(4, column), packet(5, EOF)]));
    is_protocol(prepare(&[packet(1, &[7; 12])]));
}

#[test]
fn a_login_of_many_small_bytes_ends_in_time_and_garbage_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        // Each byte comes well before the limit.
        while socket.write_all(&[10]).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let begun = Instant::now();
    let login = Login { user: "app".to_owned(), ..Login::default() };
    let limit = Duration::from_millis(300);
    let dripped = AnyConnection::connect(Dialect::Postgres, &Endpoint::Unix(path), &login, limit).map(|_| ());
    assert!(matches!(dripped, Err(Error::Lost { .. } | Error::Protocol(_))), "{dripped:?}");
    assert!(begun.elapsed() < LIMIT);
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        let garbage = vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(); 2];
        is_protocol(connect(dialect, &garbage, LIMIT).map(|_| ()));
    }
    let endless = [login_of(Dialect::MySql)[0].clone(), packet(7, OK)];
    is_protocol(connect(Dialect::MySql, &endless, LIMIT).map(|_| ()));
}

#[test]
fn notices_without_end_end_with_the_limit_of_their_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let notices = messages(&[(b'N', b"SNOTICE\0\0")]).repeat(1000);
        while socket.write_all(&notices).is_ok() {}
    });
    let login = Login { user: "app".to_owned(), ..Login::default() };
    let limit = Duration::from_millis(200);
    let endless = AnyConnection::connect(Dialect::Postgres, &Endpoint::Unix(path), &login, limit).map(|_| ());
    assert!(matches!(endless, Err(Error::Lost { .. })), "{endless:?}");
}

#[test]
fn an_answer_that_comes_in_small_bytes_ends_with_the_limit_of_its_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        for reply in login_of(Dialect::MySql) {
            socket.write_all(&reply).unwrap();
            let _ = socket.read(&mut request).unwrap();
        }
        for byte in [packet(1, &[0xff; 0xff_fffe])].concat() {
            if socket.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let login = Login { user: "app".to_owned(), ..Login::default() };
    let limit = Duration::from_millis(500);
    let mut connection = AnyConnection::connect(Dialect::MySql, &Endpoint::Unix(path), &login, limit).unwrap();
    let answer = complete(connection.query("x"));
    let Err(Error::Lost { why, .. }) = answer else { panic!("{answer:?}") };
    assert!(why.contains("no answer within 0.5 s"), "{why}");
}

#[test]
fn a_message_that_never_ends_ends_at_16_mebibytes() {
    let huge = [b"E".to_vec(), (1u32 << 29).to_be_bytes().to_vec(), vec![b'x'; 20 << 20]].concat();
    let (mut connection, _hears) = logged_in(Dialect::Postgres, &[huge]);
    is_protocol(complete(connection.query("x")));
}
