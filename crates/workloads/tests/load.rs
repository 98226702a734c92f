//! A whole load against servers that do nothing, or less: when an interval ends, and how.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Endpoint, Error, Login, NullServer, RowSink, Target};
use load::{
    Attempt, Client, Failure, Load, LoadOptions, Loader, OptionValue, Options, Outcome, Slot, Table, Tally, Turn,
    Workload,
};

fn target(dialect: Dialect, endpoint: Endpoint) -> Target {
    Target { dialect, endpoint, login: Login { user: "nobody".to_owned(), ..Login::default() } }
}

fn build(name: &str, rows: i64) -> Arc<dyn Workload> {
    let kind = workloads::workload_kind(name).unwrap();
    let given = [("rows".to_owned(), OptionValue::Number(rows))].into();
    (kind.build)(&Options::new(kind.options, &given).unwrap()).unwrap().into()
}

/// A workload without tables, of clients that rest for so long before each transaction, and do nothing in it.
struct Resting(Duration);

struct RestingClient {
    connection: AnyConnection,
    rest: Duration,
}

impl Client for RestingClient {
    type Connection = AnyConnection;

    async fn attempt(&mut self, _: Turn, _: &mut Attempt) -> Result<Outcome, Error> {
        Ok(Outcome::Committed)
    }

    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        Ok(())
    }

    fn pause_ns(&mut self, turn: Turn) -> u64 {
        if turn.number == 0 { 0 } else { self.rest.as_nanos() as u64 }
    }

    fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}

impl Workload for Resting {
    fn spec(&self) -> load::WorkloadSpec {
        load::WorkloadSpec::reading("nothing")
    }

    fn tables(&self, _: Dialect) -> Vec<Table> {
        Vec::new()
    }

    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<load::ClientFuture, Error> {
        Ok(slot.drive(RestingClient { connection, rest: self.0 }))
    }

    fn check(&self, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

#[test]
fn an_interval_lasts_as_long_as_asked_for_although_all_clients_rest_until_after_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = NullServer::start(Dialect::MySql, &folder.path().join("null.sock")).unwrap();
    let target = target(Dialect::MySql, server.endpoint());
    let measure = |transactions_max| {
        let workload: Arc<dyn Workload> = Arc::new(Resting(Duration::from_secs(3_600)));
        let options = LoadOptions { clients: 2, transactions_max, ..LoadOptions::default() };
        let interrupted = AtomicBool::new(false);
        let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
        load.measure(Some(Duration::from_millis(700)), &mut |_| (), &mut || ()).whole().unwrap()
    };
    let tally = measure(None);
    assert_eq!((tally.committed, tally.seconds.len()), (2, 1));
    assert!(tally.interval_ns >= 700_000_000, "{} ns", tally.interval_ns);
    let tally = measure(Some(5));
    assert!(tally.committed == 2 && tally.interval_ns >= 700_000_000, "three more were asked for");
    let tally = measure(Some(2));
    assert!(tally.committed == 2 && tally.interval_ns < 700_000_000, "all that were asked for are done");
}

#[test]
fn a_limited_number_is_of_transactions_of_the_interval_whatever_ran_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = NullServer::start(Dialect::MySql, &folder.path().join("null.sock")).unwrap();
    let target = target(Dialect::MySql, server.endpoint());
    for _ in 0..20 {
        let workload: Arc<dyn Workload> = Arc::new(Resting(Duration::ZERO));
        let options = LoadOptions { clients: 2, transactions_max: Some(500), ..LoadOptions::default() };
        let interrupted = AtomicBool::new(false);
        let mut load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
        load.warm_up(Duration::ZERO, &mut |_| ()).unwrap();
        let tally = load.measure(Some(Duration::from_secs(60)), &mut |_| (), &mut || ()).whole().unwrap();
        assert_eq!(tally.committed, 500);
    }
}

/// Passes so many answers on, and of the next one only three bytes.
fn cut_off(mut client: UnixStream, server: &Path, answers: u32) {
    let mut server = UnixStream::connect(server).unwrap();
    let mut room = [0; 4096];
    for number in 0.. {
        // The greeting comes unasked.
        if number > 0 {
            match client.read(&mut room) {
                Ok(0) | Err(_) => return,
                Ok(length) => server.write_all(&room[..length]).unwrap(),
            }
        }
        let length = server.read(&mut room).unwrap();
        let passed = if number < answers { length } else { 3 };
        if client.write_all(&room[..passed]).is_err() || number == answers {
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
    }
}

#[test]
fn an_answer_that_is_cut_off_ends_the_load_at_once_with_any_number_of_clients() {
    for clients in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("null.sock");
        let server = NullServer::start(Dialect::MySql, &path).unwrap();
        let cutting = folder.path().join("cutting.sock");
        let listener = UnixListener::bind(&cutting).unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let path = path.clone();
                std::thread::spawn(move || cut_off(client, &path, 20));
            }
        });
        let workload = build("oltp_point_select", 10_000);
        let interrupted = AtomicBool::new(false);
        let options = LoadOptions { clients, ..LoadOptions::default() };
        let target = target(Dialect::MySql, Endpoint::Unix(cutting));
        let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
        let measured = load.measure(Some(Duration::from_secs(3_600)), &mut |_| (), &mut || ());
        let Some(Failure::Client(why)) = measured.failure else { panic!("{:?}", measured.failure) };
        assert!(why.contains("connection lost"), "{why}");
        drop(server);
    }
}

/// SQLite alone lets the client write again that has just written, and the others sleep.
#[test]
fn clients_that_write_to_one_sqlite_file_take_turns() {
    const CLIENTS: u32 = 4;
    let folder = tempfile::tempdir().unwrap();
    let mut target = target(Dialect::Sqlite, Endpoint::File(folder.path().join("turns.db")));
    target.login.on_connect = ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = OFF"].map(str::to_owned).to_vec();
    let (workload, interrupted) = (build("oltp_write_only", 1_000), AtomicBool::new(false));
    Loader { target: &target, sessions: 1, interrupted: &interrupted }.load(&*workload, 1, &mut |_| ()).unwrap();
    let options =
        LoadOptions { clients: CLIENTS, transactions_max: Some(8_000), board: true, ..LoadOptions::default() };
    let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
    let board = load.board().unwrap();
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap();
    let ended: Vec<u64> = board.read().clients.iter().map(|(ended, _)| *ended).collect();
    assert_eq!((tally.committed, tally.retries), (8_000, 0));
    assert!(ended.iter().all(|ended| *ended >= 8_000 / u64::from(CLIENTS) / 2), "{ended:?}");
}
