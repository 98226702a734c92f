//! Reconnecting, against a server that sends the same bytes to every connection and hangs up on request.

mod greeting;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use driver::{AnyConnection, Connection, Dialect, Endpoint, Error, Login, Value};

use greeting::{message, mysql_greeting};

const LIMIT: Duration = Duration::from_secs(10);

/// Takes connections one after the other, passes each request to `heard`, and answers it by its first
/// letter: a login, a Parse, a Bind, or, for any text, a farewell with `57P01` in front of the end.
fn serve(listener: UnixListener, heard: mpsc::Sender<Vec<u8>>) {
    std::thread::spawn(move || {
        let ready = message(b'Z', b"I");
        let row = [message(b'2', b""), message(b'D', b"\0\0"), message(b'C', b"SELECT 1\0"), ready.clone()].concat();
        while let Ok((mut socket, _)) = listener.accept() {
            let mut request = [0; 4096];
            while let Ok(bytes @ 1..) = socket.read(&mut request) {
                heard.send(request[..bytes].to_vec()).unwrap();
                if request[0] == b'X' {
                    break;
                }
                let answer = match request[0] {
                    0 => [message(b'R', &[0; 4]), ready.clone()].concat(),
                    b'P' => [message(b'1', b""), ready.clone()].concat(),
                    b'B' => row.clone(),
                    _ => message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mgo away\0\0"),
                };
                socket.write_all(&answer).unwrap();
                if answer[0] == b'E' {
                    break;
                }
            }
        }
    });
}

fn complete<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking connection waits in the kernel only"),
    }
}

fn connect(path: &std::path::Path) -> AnyConnection {
    let login = Login { user: "app".to_owned(), ..Login::default() };
    AnyConnection::connect(Dialect::Postgres, &Endpoint::Unix(path.into()), &login, LIMIT).unwrap()
}

fn is_lost<T: std::fmt::Debug>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Lost { .. }))
}

#[test]
fn a_reconnect_prepares_the_same_statements_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (heard, hears) = mpsc::channel();
    serve(UnixListener::bind(&path).unwrap(), heard);
    let mut connection = connect(&path);
    let statements = ["SELECT 1", "SELECT 2"].map(|sql| connection.prepare(sql).unwrap());
    connection.block().unwrap();
    let first: Vec<Vec<u8>> = hears.try_iter().collect();

    let farewell = complete(connection.query("anything"));
    let Err(Error::Lost { code: Some(code), why }) = farewell else { panic!("{farewell:?}") };
    assert_eq!((code.as_str(), why.contains("go away")), ("57P01", true));
    assert!(is_lost(complete(connection.execute(statements[0], &[]))), "no server answers on the old socket");

    hears.try_iter().count();
    connection.reconnect(LIMIT).unwrap();
    assert_eq!(hears.try_iter().collect::<Vec<_>>(), first, "the same login and the same statements");
    for statement in statements {
        assert_eq!(complete(connection.execute(statement, &[Value::Int(1)])).unwrap().rows, 1);
    }
}

#[test]
fn a_server_that_is_gone_leaves_a_connection_that_can_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (heard, _hears) = mpsc::channel();
    serve(UnixListener::bind(&path).unwrap(), heard.clone());
    let mut connection = connect(&path);
    let statement = connection.prepare("SELECT 1").unwrap();
    connection.block().unwrap();
    std::fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        assert!(is_lost(connection.reconnect(LIMIT)));
        assert!(is_lost(complete(connection.execute(statement, &[]))));
        assert!(is_lost(complete(connection.query("SELECT 1"))));
    }
    serve(UnixListener::bind(&path).unwrap(), heard);
    connection.reconnect(LIMIT).unwrap();
    assert_eq!(complete(connection.execute(statement, &[])).unwrap().rows, 1);
}

#[test]
fn a_closer_ends_the_connection_that_came_after_it_and_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let (heard, hears) = mpsc::channel();
    serve(listener, heard);
    let mut connection = connect(&path);
    let closer = connection.closer();
    connection.reconnect(LIMIT).unwrap();
    connection.block().unwrap();
    closer.close();
    assert!(is_lost(complete(connection.query("SELECT 1"))));
    assert!(is_lost(connection.reconnect(LIMIT)), "closed is closed for good");
    drop(hears);
}

/// A server that accepts every login, and answers no statement.
fn never_answers(dialect: Dialect, listener: UnixListener, heard: mpsc::Sender<Vec<u8>>) {
    let packet = |number: u8, payload: &[u8]| [&[payload.len() as u8, 0, 0, number], payload].concat();
    let (greeting, let_in) = match dialect {
        Dialect::MySql => (packet(0, &mysql_greeting()), packet(2, &[0, 0, 0, 2, 0, 0, 0])),
        _ => {
            let key = message(b'K', &[0, 0, 0, 7, 0, 0, 0, 9]);
            (Vec::new(), [message(b'R', &[0; 4]), key, message(b'Z', b"I")].concat())
        }
    };
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, heard, greeting, let_in) =
                (socket.unwrap(), heard.clone(), greeting.clone(), let_in.clone());
            std::thread::spawn(move || {
                socket.write_all(&greeting).unwrap();
                let (mut request, mut is_in) = ([0; 4096], false);
                while let Ok(bytes @ 1..) = socket.read(&mut request) {
                    if !std::mem::replace(&mut is_in, true) {
                        let _ = socket.write_all(&let_in);
                    }
                    let _ = heard.send(request[..bytes].to_vec());
                }
            });
        }
    });
}

#[test]
fn a_statement_that_is_given_up_is_called_off_on_the_server() {
    for (dialect, expected) in [
        (Dialect::Postgres, [&[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 7, 0, 0, 0, 9][..]].concat()),
        (Dialect::MySql, b"\x07\0\0\0\x03KILL 1".to_vec()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (heard, hears) = mpsc::channel();
        never_answers(dialect, UnixListener::bind(&path).unwrap(), heard);
        let login = Login { user: "app".to_owned(), ..Login::default() };
        let mut connection = AnyConnection::connect(dialect, &Endpoint::Unix(path), &login, LIMIT).unwrap();
        connection.block().unwrap();
        let closer = connection.closer();
        let waits = std::thread::spawn(move || {
            let is_asked = |request: &Vec<u8>| String::from_utf8_lossy(request).contains("SELECT slow");
            while !is_asked(&hears.recv_timeout(LIMIT).unwrap()) {}
            closer.close();
            hears
        });
        assert!(is_lost(complete(connection.query("SELECT slow"))));
        let hears = waits.join().unwrap();
        let mut asked = std::iter::from_fn(|| hears.recv_timeout(LIMIT).ok()).take(4);
        assert!(asked.any(|request| request == expected), "{dialect:?}");
    }
}

#[test]
fn a_server_that_refuses_encryption_gets_no_login() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _): (UnixStream, _) = listener.accept().unwrap();
        let mut request = [0; 64];
        let asked = socket.read(&mut request).unwrap();
        socket.write_all(b"N").unwrap();
        (asked, socket.read(&mut request).unwrap())
    });
    let login = Login { user: "app".to_owned(), tls: driver::Tls::Require, ..Login::default() };
    let refused = AnyConnection::connect(Dialect::Postgres, &Endpoint::Unix(path), &login, LIMIT).map(|_| "let in");
    let Err(Error::Refused { message, .. }) = refused else { panic!("{refused:?}") };
    assert!(message.contains("does not encrypt"), "{message}");
    assert_eq!(server.join().unwrap(), (8, 0), "a request to encrypt, and then the end");
}
