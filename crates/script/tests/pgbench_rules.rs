//! What scripts do by pgbench's rules, on SQLite: variables last, errors end their client alone.

use std::sync::Arc;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Endpoint, Login, complete};
use load::{Attempt, Client, ErrorPolicy, MonotonicClock, Outcome, Recorder, Slot, Timeline, Turn, Window, drive};
use script::pgbench::{File, Pgbench, PgbenchTables, Protocol, Rules};

const CLIENT: u32 = 3;

/// A database with one table, which scripts write to.
struct Place {
    endpoint: Endpoint,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { endpoint: Endpoint::File(folder.path().join("db")), _folder: folder };
        place.admin().run("CREATE TABLE seen (v)").unwrap();
        place
    }

    fn admin(&self) -> Admin {
        Admin::connect(Dialect::Sqlite, &self.endpoint, &Login::default(), Duration::from_secs(5)).unwrap()
    }

    fn connection(&self) -> AnyConnection {
        let limit = Duration::from_secs(5);
        AnyConnection::connect(Dialect::Sqlite, &self.endpoint, &Login::default(), limit).unwrap()
    }

    fn seen(&self) -> Vec<String> {
        let rows = self.admin().rows("SELECT v FROM seen").unwrap();
        rows.into_iter().map(|row| row[0].clone().unwrap_or_else(|| "NULL".to_owned())).collect()
    }
}

fn slot(policy: ErrorPolicy) -> Slot {
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
    let alone = Slot::alone(MonotonicClock::sleeping(), timeline, Recorder::new(1, false));
    Slot { client: CLIENT, clients: 8, input_seed: 5, policy: Arc::new(policy), ..alone }
}

fn scripts(text: &str, protocol: Protocol) -> Pgbench {
    let file = File { title: "a.sql".to_owned(), text: text.to_owned(), weight: 1, is_builtin: false };
    let defines = [("n", "0"), ("word", "some words"), ("e", "1e3")];
    let defines = defines.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let rules = Rules { protocol, defines, max_tries: 5, by_pgbench: true, ..Rules::default() };
    Pgbench::new(&[file], PgbenchTables::new(1), &rules).unwrap()
}

const TURN: Turn = Turn { series: 0, number: 0, retry: 0 };

/// Runs turns of one client; what the table has afterwards.
fn ran(text: &str, protocol: Protocol, turns: &[Turn]) -> Vec<String> {
    let place = Place::new();
    let slot = slot(ErrorPolicy::default());
    let mut client = scripts(text, protocol).client_on(place.connection(), &slot).unwrap();
    for turn in turns {
        let outcome = complete(client.attempt(*turn, &mut Attempt::default())).unwrap();
        assert_eq!(outcome, Outcome::Committed);
    }
    drop(client);
    place.seen()
}

#[test]
fn variables_last_from_one_try_to_the_next() {
    let text = "\\set n :n + 1\nINSERT INTO seen VALUES (:n);";
    let turns = [TURN, Turn { number: 1, ..TURN }, Turn { number: 1, retry: 1, ..TURN }, Turn { number: 2, ..TURN }];
    for protocol in [Protocol::Simple, Protocol::Prepared] {
        assert_eq!(ran(text, protocol, &turns), ["1", "2", "3", "4"], "{protocol:?}");
    }
}

#[test]
fn notes_are_comments_to_pgbench() {
    let text = "-- expect: nothing at all\n-- label: 1\nINSERT INTO seen VALUES (1);\n-- transaction: a b\n\
        -- expect: 5 rows\nSELECT 1;";
    assert_eq!(ran(text, Protocol::Simple, &[TURN]), ["1"]);
}

#[test]
fn values_given_as_text_are_sent_as_they_came() {
    let text =
        "INSERT INTO seen VALUES (':word'), (':e'), (':unknown');\n\\set e :e + 1\nINSERT INTO seen VALUES (:e);";
    assert_eq!(ran(text, Protocol::Simple, &[TURN]), ["some words", "1e3", ":unknown", "1001"]);
    let text = "INSERT INTO seen VALUES (:word), (:e), (:unknown);";
    assert_eq!(ran(text, Protocol::Prepared, &[TURN]), ["some words", "1e3", "NULL"]);
}

#[test]
fn rows_fill_the_variables_that_are_called_like_their_columns() {
    let text = "SELECT 5 AS a, 'x y' AS b, NULL AS c \\gset p_\n\
        SELECT 7 AS a UNION SELECT 8 ORDER BY 1 \\aset\nSELECT 9 AS a WHERE 0 \\aset\n\
        INSERT INTO seen VALUES (:p_a + 1), (':p_b'), ('<:p_c>'), (:a), (':b');";
    assert_eq!(ran(text, Protocol::Simple, &[TURN, TURN])[..5], ["6", "x y", "<>", "8", ":b"]);
}

#[test]
fn a_statement_that_cannot_be_prepared_yet_is_prepared_when_it_runs() {
    let text = "CREATE TEMP TABLE IF NOT EXISTS mine (v);\nINSERT INTO mine VALUES (:n);\n\
        INSERT INTO seen SELECT v FROM mine;";
    assert_eq!(ran(text, Protocol::Prepared, &[TURN]), ["0"]);
}

#[test]
fn an_error_ends_its_client_in_the_words_of_pgbench() {
    for (text, words) in [
        (
            "SELECT 1;\n\\set x 1 / :n\n",
            "division by zero\nclient 3 aborted in command 1 (set) of script 0; evaluation of meta-command failed",
        ),
        ("SELECT 1 AS a UNION SELECT 2 \\gset\n", "client 3 script 0 command 0 query 0: expected one row, got 2"),
        (
            "\\if true\n\\endif\nSELECT missing;",
            "client 3 script 0 aborted in command 2 query 0: ERROR:  no such column: missing in SELECT missing at offset 7",
        ),
    ] {
        let place = Place::new();
        let mut slot = slot(ErrorPolicy { leaves_alone: true, ..ErrorPolicy::default() });
        let mut client = scripts(text, Protocol::Simple).client_on(place.connection(), &slot).unwrap();
        complete(drive(&mut client, &mut slot)).unwrap();
        let tally = slot.recorder.take().finish();
        assert_eq!((tally.aborted.as_slice(), tally.due), ([words.to_owned()].as_slice(), 0), "{text}");
        assert_eq!(slot.timeline.aborted.load(std::sync::atomic::Ordering::Relaxed), 1);
        assert!(tally.statements.iter().all(|one| one.failed == 0), "{text}");
    }
}

#[test]
fn each_client_has_its_number_of_transactions() {
    let place = Place::new();
    let mut slot = slot(ErrorPolicy::default());
    slot.timeline.limit_each(7);
    let text = "INSERT INTO seen VALUES (1);";
    let mut client = scripts(text, Protocol::Simple).client_on(place.connection(), &slot).unwrap();
    complete(drive(&mut client, &mut slot)).unwrap();
    assert_eq!((slot.recorder.take().tally.committed, place.seen().len()), (7, 7));
}
