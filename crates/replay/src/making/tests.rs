//! Logs as text, and the schedules that are made of them.

use std::fs;
use std::path::PathBuf;

use capture::{Making, Options, Skipped};

use super::*;
use crate::order::Order;
use crate::schedule::Parameter;
use crate::waits::Waits;

/// A row of a csvlog: milliseconds after 04:41:40, session, message, DETAIL, SQLSTATE with the statement of an error.
type Row<'a> = (u32, u32, &'a str, &'a str, Option<(&'a str, &'a str)>);

fn csv(rows: &[Row<'_>]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let row = |(number, (ms, session, message, detail, error)): (usize, &Row<'_>)| {
        let (severity, code, statement) =
            error.map_or(("LOG", "00000", ""), |(code, statement)| ("ERROR", code, statement));
        format!(
            "2026-11-23 04:41:{:02}.{:03} UTC,\"app\",\"shop\",{session},\"[local]\",{session:x}.1,{number},\"x\",2026-11-23 04:41:00 UTC,1/1,0,{severity},{code},{},{},,,,,{},,,\"app\",\"client backend\",,0\n",
            40 + ms / 1000,
            ms % 1000,
            quoted(message),
            if detail.is_empty() { String::new() } else { quoted(detail) },
            if statement.is_empty() { String::new() } else { quoted(statement) },
        )
    };
    rows.iter().enumerate().map(row).collect()
}

/// All that the filter takes of a whole log.
fn usual(filter: &Filter) -> Wanted {
    Wanted {
        filter: filter.clone(),
        accepts_partial: false,
        idle_max: None,
        digests_max: 200,
        is_portable: false,
        prepares: false,
        clients_limit: None,
    }
}

fn made(name: &str, log: &str, accepts_partial: bool) -> Result<Schedule, Refusal> {
    wanted(name, log, Wanted { accepts_partial, ..usual(&Filter::default()) })
}

fn filtered(name: &str, log: &str, filter: &Filter, accepts_partial: bool) -> Result<Schedule, Refusal> {
    wanted(name, log, Wanted { accepts_partial, ..usual(filter) })
}

fn wanted(name: &str, log: &str, wanted: Wanted) -> Result<Schedule, Refusal> {
    let folder = tempfile::tempdir().unwrap();
    let (path, out): (PathBuf, PathBuf) = (folder.path().join(name), folder.path().join("a.dbcap"));
    fs::write(&path, log).unwrap();
    let making = Making {
        options: Options::default(),
        memory: 1 << 20,
        work: folder.path().to_owned(),
        parameter_length_max: None,
    };
    capture::capture(&[path], &out, &making).unwrap();
    schedule(&mut Capture::open(&out).unwrap(), &wanted)
}

/// Due time, text and way of each statement, session by session.
fn statements(schedule: &Schedule) -> Vec<(u64, String, How)> {
    let shown = |one: &Statement| (one.due_us, String::from_utf8_lossy(schedule.bytes(one.text)).into_owned(), one.how);
    schedule.statements.iter().map(shown).collect()
}

/// How many units had ended before each one began.
fn ended_before(schedule: &Schedule) -> Vec<u32> {
    let waits = Waits::of(Order::Transaction, schedule);
    let units = 0..schedule.units.len() as u32;
    units.map(|unit| waits.of_unit(unit).first().map_or(0, |step| step.count)).collect()
}

fn took(ms: u32, rest: &str) -> String {
    format!("duration: {ms}.000 ms  {rest}")
}

/// The second statement ended in the millisecond of the third and took longer, so that their starts were put in order.
#[test]
fn transactions_of_a_session_end_in_its_order() {
    let messages = ["0.050", "0.800", "0.050"].map(|ms| format!("duration: {ms} ms  statement: select 1"));
    let rows: Vec<_> = messages.iter().map(|message| (10, 7, message.as_str(), "", None)).collect();
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    assert!(schedule.units.is_sorted_by_key(|(_, end)| *end), "{:?}", schedule.units);
}

#[test]
fn sessions_of_a_csvlog_have_their_transactions_and_due_times() {
    let messages = [
        took(1, "statement: begin"),
        took(2, "statement: update t set a = 1"),
        took(1, "statement: commit"),
        took(5, "statement: select 1"),
    ];
    let rows = [(11, 7), (15, 7), (20, 7), (17, 8)];
    let rows: Vec<_> = rows
        .iter()
        .zip(&messages)
        .map(|((ms, session), message)| (*ms, *session, message.as_str(), "", None))
        .collect();
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let text = |due_us, text: &str| (due_us, text.to_owned(), How::Text);
    let expected =
        [text(0, "begin"), text(3_000, "update t set a = 1"), text(9_000, "commit"), text(2_000, "select 1")];
    assert_eq!(statements(&schedule), expected);
    assert_eq!(schedule.transactions.len(), 2);
    assert_eq!((schedule.clients.len(), schedule.facts.statements), (2, 4));
    assert_eq!(ended_before(&schedule), [0, 0], "they overlap");
    assert_eq!(schedule.facts.writes.as_deref(), Some("update t set a = ?"));
}

#[test]
fn what_was_prepared_is_prepared_once_a_session_with_its_values() {
    let list = "parameters: $1 = 'it''s', $2 = NULL";
    let named = took(1, "execute s1: select $1, $2");
    let unnamed = took(1, "execute <unnamed>: select $1, $2");
    let rows = [
        (10, 7, named.as_str(), list, None),
        (20, 7, named.as_str(), list, None),
        (30, 7, unnamed.as_str(), list, None),
    ];
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let ways: Vec<How> = schedule.statements.iter().map(|one| one.how).collect();
    assert_eq!(ways, [How::Prepared(0), How::Prepared(0), How::Unnamed]);
    assert_eq!(schedule.sessions[0].prepared, 0..1);
    let (first, count) = schedule.statements[0].values;
    let values = &schedule.values[first as usize..][..usize::from(count)];
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.text().map(|text| schedule.bytes(text))).collect();
    assert_eq!(values, [Some(&b"it's"[..]), None]);
    assert_eq!(schedule.texts.len(), "select $1, $2it's".len(), "a text is kept once");
}

#[test]
fn a_prepare_before_the_log_began_is_sent_and_not_counted() {
    let execute = took(1, "statement: execute s1(2)");
    let detail = "prepare: prepare s1(int) as select $1";
    let rows = [(10, 7, execute.as_str(), detail, None), (20, 7, execute.as_str(), detail, None)];
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let counted: Vec<bool> = schedule.statements.iter().map(|one| one.is_counted).collect();
    assert_eq!(counted, [false, true, true]);
    assert_eq!(statements(&schedule)[0].1, "prepare s1(int) as select $1");
    assert_eq!(schedule.facts.statements, 2);
}

#[test]
fn what_is_discarded_is_prepared_anew() {
    let named = took(1, "execute s1: select 1");
    let by_sql = took(1, "statement: execute s2(2)");
    let detail = "prepare: prepare s2(int) as select $1";
    let rows = [
        (10, 7, named.as_str(), "", None),
        (20, 7, by_sql.as_str(), detail, None),
        (30, 7, "duration: 1.000 ms  statement: DISCARD ALL", "", None),
        (40, 7, named.as_str(), "", None),
        (50, 7, by_sql.as_str(), detail, None),
        (60, 7, "duration: 1.000 ms  statement: deallocate s3;", "", None),
        (70, 7, by_sql.as_str(), detail, None),
        (80, 7, "duration: 1.000 ms  statement: Deallocate Prepare S2", "", None),
        (90, 7, by_sql.as_str(), detail, None),
    ];
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let ways: Vec<How> =
        schedule.statements.iter().map(|one| one.how).filter(|how| matches!(how, How::Prepared(_))).collect();
    assert_eq!(ways, [How::Prepared(0), How::Prepared(1)]);
    assert_eq!(schedule.sessions[0].prepared.len(), 2);
    let uncounted = schedule.statements.iter().filter(|one| !one.is_counted).count();
    assert_eq!(uncounted, 3, "once at first, and behind each statement that took it away");
}

#[test]
fn an_error_of_the_log_stays_with_its_statement() {
    let rows = [(10, 7, "relation \"t\" does not exist", "", Some(("42P01", "select a from t")))];
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    assert_eq!(schedule.statements[0].error, Some(*b"42P01"));
}

#[test]
fn a_lock_that_outlives_its_transaction_makes_one_unit_of_several() {
    let lines = [
        "select pg_advisory_lock(1)",
        "begin",
        "update t set a = 1",
        "commit",
        "select pg_advisory_unlock(1)",
        "select 2",
    ];
    let messages: Vec<String> = lines.iter().map(|line| took(1, &format!("statement: {line}"))).collect();
    let rows: Vec<_> =
        messages.iter().enumerate().map(|(at, message)| (10 * at as u32 + 10, 7, message.as_str(), "", None)).collect();
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let units: Vec<(u32, bool, bool)> =
        schedule.transactions.iter().map(|one| (one.unit, one.begins_unit, one.ends_unit)).collect();
    assert_eq!(units, [(0, true, false), (0, false, false), (0, false, true), (1, true, true)]);
}

#[test]
fn a_transaction_without_an_end_is_left_open() {
    let messages = [took(1, "statement: begin"), took(1, "statement: update t set a = 1")];
    let rows: Vec<_> =
        messages.iter().enumerate().map(|(at, message)| (10 * at as u32 + 10, 7, message.as_str(), "", None)).collect();
    let schedule = made("pg.csv", &csv(&rows), false).unwrap();
    let one = &schedule.transactions[0];
    assert!(one.is_left_open && one.ends_unit);
}

const GENERAL: &str = "/usr/sbin/mysqld, Version: 8.0.31 (MySQL). started with:
Tcp port: 3306  Unix socket: mysql.sock
Time                 Id Command    Argument
2026-11-23T04:41:47.487135Z\t    9 Connect\tapp@localhost on shop using Socket
2026-11-23T04:41:47.487235Z\t    9 Prepare\tselect a from t where b = ? and c = 'x' limit ?
2026-11-23T04:41:47.487335Z\t    9 Execute\tselect a from t where b = 'it''s' and c = 'x' limit 5
2026-11-23T04:41:47.487435Z\t    9 Execute\tselect a from t where b = NULL and c = 'x' limit 6
2026-11-23T04:41:47.487535Z\t    9 Query\tselect a from t where b = 'y' and c = 'x' limit 7
2026-11-23T04:41:47.487635Z\t    9 Execute\tselect a from t where b = x'61' and c = 'x' limit 8
";

#[test]
fn executions_of_a_general_log_are_prepared_again_where_it_is_asked_for() {
    let filter = Filter::default();
    let ways = |prepares| {
        let schedule = wanted("general.log", GENERAL, Wanted { prepares, ..usual(&filter) }).unwrap();
        let ways: Vec<How> = schedule.statements.iter().map(|one| one.how).collect();
        (ways, schedule)
    };
    assert_eq!(ways(false).0, [How::Text; 4]);
    let (ways, schedule) = ways(true);
    // The log does not show the type of the last one's value.
    assert_eq!(ways, [How::PreparedAgain(0), How::PreparedAgain(0), How::Text, How::Text]);
    assert_eq!(schedule.facts.prepared, Some(2));
    let prepared: Vec<_> = schedule.prepared.iter().map(|text| schedule.bytes(*text)).collect();
    assert_eq!(prepared, [b"select a from t where b = ? and c = 'x' limit ?"]);
    let text = schedule.values[0].text().map(|text| schedule.bytes(text));
    assert_eq!(
        (text, &schedule.values[1..]),
        (Some(&b"it's"[..]), &[Parameter::Int(5), Parameter::Null, Parameter::Int(6)][..])
    );
    assert_eq!(schedule.statements[0].apart().1, 0, "the text of the log has the values");
}

/// A slow log says only that something was prepared: its digest is met first behind that.
#[test]
fn executions_of_a_slow_log_are_those_of_what_was_prepared() {
    let entry = |us: u32, text: &str| {
        format!(
            "# Time: 2026-11-23T04:41:47.{us:06}Z\n# User@Host: a[a] @ h []  Id:     9\n# Query_time: 0.000001  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795409107;\n{text};\n"
        )
    };
    let log: String = [
        "# administrator command: Prepare",
        "select a from t where b = 5",
        "select c from t where d = 6",
        "select a from t where b = 7",
    ]
    .iter()
    .enumerate()
    .map(|(at, text)| entry(at as u32 * 10, text))
    .collect();
    let filter = Filter::default();
    let schedule = wanted("slow.log", &log, Wanted { prepares: true, ..usual(&filter) }).unwrap();
    let ways: Vec<How> = schedule.statements.iter().map(|one| one.how).collect();
    assert_eq!(ways, [How::PreparedAgain(0), How::Text, How::PreparedAgain(0)]);
    assert_eq!(schedule.values, [Parameter::Int(5), Parameter::Int(7)]);
}

/// Entries of MariaDB: second, session, text; times are whole seconds.
fn slow(entries: &[(u32, u32, &str)]) -> String {
    let entry = |(second, session, text): &(u32, u32, &str)| {
        format!(
            "# Time: 261123  4:41:{second:02}\n# User@Host: u[u] @ localhost []\n# Thread_id: {session}  Schema: shop  QC_hit: No\n# Query_time: 0.000100  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 1\nSET timestamp={};\n{text};\n",
            1_795_408_860 + second
        )
    };
    entries.iter().map(entry).collect()
}

#[test]
fn statements_of_one_second_are_spread_over_it_in_the_order_of_the_file() {
    let log = slow(&[
        (10, 1, "select 1"),
        (10, 2, "select 2"),
        (10, 1, "select 3"),
        (10, 2, "select 4"),
        (11, 1, "select 5"),
    ]);
    let schedule = made("slow.log", &log, false).unwrap();
    let dues: Vec<u64> = schedule.statements.iter().map(|one| one.due_us).collect();
    assert_eq!(dues, [0, 500_000, 1_000_000, 250_000, 750_000]);
    assert!(schedule.facts.is_coarse);
    // Each stood in the file before the next one: none overlap.
    assert_eq!(ended_before(&schedule), [0, 2, 4, 1, 3]);
}

#[test]
fn a_log_that_seems_to_leave_statements_out_is_refused() {
    let writes: Vec<(u32, u32, &str)> = (0..120).map(|_| (10, 1, "update t set a = 1")).collect();
    let refused = made("slow.log", &slow(&writes), false).unwrap_err();
    assert!(refused.1.contains("no statement that reads"), "{}", refused.1);
    assert!(made("slow.log", &slow(&writes), true).is_ok());
}

#[test]
fn a_log_of_several_databases_changes_them_as_its_sessions_did() {
    let log = slow(&[(10, 1, "select 1"), (10, 1, "select 2")]).replacen("Schema: shop", "Schema: crm", 1);
    let schedule = made("slow.log", &log, false).unwrap();
    assert_eq!(schedule.databases, ["crm", "shop"]);
    let ways: Vec<(How, bool)> = schedule.statements.iter().map(|one| (one.how, one.is_counted)).collect();
    assert_eq!(ways, [(How::Use(0), false), (How::Text, true), (How::Use(1), false), (How::Text, true)]);
}

#[test]
fn a_window_takes_whole_transactions_and_what_sessions_had_set_before() {
    let messages = [
        took(0, "statement: set search_path = shop"),
        took(0, "statement: begin"),
        took(1, "statement: select 1"),
        took(0, "statement: commit"),
        took(0, "statement: begin"),
        took(1, "statement: select 2"),
        took(0, "statement: commit"),
        took(1, "statement: select 3"),
        took(0, "statement: set x = 1"),
    ];
    let at = [0, 1_000, 1_500, 2_500, 3_000, 3_500, 6_000, 7_000, 500];
    let session = [7, 7, 7, 7, 7, 7, 7, 7, 8];
    let rows =
        at.iter().zip(session).zip(&messages).map(|((at, session), text)| (*at, session, text.as_str(), "", None));
    let log = csv(&rows.collect::<Vec<_>>());
    let filter = Filter::window_of("04:41:42", "04:41:46");
    let schedule = filtered("pg.csv", &log, &filter, true).unwrap();
    let texts: Vec<(u64, String)> = statements(&schedule).into_iter().map(|(due, text, _)| (due, text)).collect();
    let expected =
        [(0, "set search_path = shop"), (1_000_000, "begin"), (1_499_000, "select 2"), (4_000_000, "commit")];
    assert_eq!(texts, expected.map(|(due, text)| (due, text.to_owned())));
    assert_eq!(schedule.sessions.len(), 1);
    assert_eq!(schedule.facts.left_out, [("outside".to_owned(), 6, "began outside `from` and `to`".to_owned())]);
    let wrong = Filter::window_of("05:00:00", "06:00:00");
    let (key, why) = filtered("pg.csv", &log, &wrong, true).err().unwrap();
    assert!(key == "from" && why.contains("2026-11-23 04:41:40"), "{why}");
}

#[test]
fn users_databases_and_digests_choose_what_is_replayed() {
    let rows = [(0, 7, took(0, "statement: select 1")), (1_000, 7, took(0, "statement: select 'x' from t"))];
    let log = csv(&rows.iter().map(|(at, session, text)| (*at, *session, text.as_str(), "", None)).collect::<Vec<_>>());
    let whole = made("pg.csv", &log, true).unwrap();
    let digest = |text: &[u8]| whole.digests.iter().find(|about| about.text.as_bytes() == text).unwrap().name.clone();
    let check = |key: &str, value: &str, left: usize| {
        let replayed = filtered("pg.csv", &log, &Filter::by(key, value), false);
        assert_eq!(replayed.map_or(0, |schedule| schedule.statements.len()), left, "{key} {value}");
    };
    check("users", "app", 2);
    check("users", "other", 0);
    check("exclude_users", "app", 0);
    check("databases", "shop", 2);
    check("exclude_databases", "shop", 0);
    check("digests", &digest(b"select ?"), 1);
    check("exclude_digests", &digest(b"select ?"), 1);
}

#[test]
fn of_a_log_that_writes_its_reads_alone_can_be_replayed() {
    let texts = ["begin", "select v from t where id = 1", "update t set v = 2 where id = 1", "commit"];
    let rows: Vec<_> = texts.iter().map(|text| took(0, &format!("statement: {text}"))).collect();
    let rows: Vec<_> = rows.iter().zip(0u32..).map(|(text, at)| (at * 1_000, 7, text.as_str(), "", None)).collect();
    let replayed = filtered("pg.csv", &csv(&rows), &Filter::of_reads(), false).unwrap();
    assert_eq!((replayed.statements.len(), replayed.facts.writes.clone()), (3, None));
    let [(kind, count, _)] = replayed.facts.left_out.as_slice() else { panic!("{:?}", replayed.facts) };
    assert_eq!((kind.as_str(), *count), ("writes", 1));
}

#[test]
fn kinds_that_are_left_out_as_a_rule_are_replayed_where_they_are_included() {
    let texts = ["select 1", "grant select on t to app", "alter system set work_mem = '8MB'"];
    let rows: Vec<_> = texts.iter().map(|text| took(0, &format!("statement: {text}"))).collect();
    let rows: Vec<_> = rows.iter().zip(0u32..).map(|(text, at)| (at * 1_000, 7, text.as_str(), "", None)).collect();
    let check = |filter: &Filter, statements: usize, left_out: &[&str], writes: Option<&str>| {
        let replayed = filtered("pg.csv", &csv(&rows), filter, false).unwrap();
        let kinds: Vec<_> = replayed.facts.left_out.iter().map(|(kind, ..)| kind.as_str()).collect();
        assert_eq!((replayed.statements.len(), kinds.as_slice()), (statements, left_out));
        assert_eq!(replayed.facts.writes.as_deref(), writes);
    };
    check(&Filter::default(), 1, &["account", "server"], None);
    check(&Filter::with(Skipped::Account), 2, &["server"], Some("grant select on t to app"));
    // SET and its like change no table, and yet no server that goes on afterwards.
    check(&Filter::with(Skipped::Server), 2, &["account"], Some("alter system set work_mem = ?"));
}

#[test]
fn digests_beyond_the_most_share_a_line() {
    let texts = ["select a from t", "select b from t", "select c from t"];
    let rows: Vec<_> = texts.iter().zip(1..).map(|(text, ms)| took(ms, &format!("statement: {text}"))).collect();
    let rows: Vec<_> = rows.iter().zip(0u32..).map(|(text, at)| (at * 1_000, 7, text.as_str(), "", None)).collect();
    let names = |digests_max| {
        let filter = Filter::default();
        let kept = Wanted { digests_max, ..usual(&filter) };
        wanted("pg.csv", &csv(&rows), kept).unwrap().timed_names()
    };
    let [all, two] = [3, 1].map(names);
    assert_eq!((all.len(), two.len(), two[1].as_str()), (3, 2, "others"));
    assert_eq!(two[0], all[0], "the one that cost most has a line of its own");
}

#[test]
fn gaps_are_cut_and_answers_keep_the_time_of_the_log() {
    let messages = [took(1, "statement: select 1"), took(1, "statement: select now()"), took(1, "statement: select 2")];
    let rows = [(1, 7), (9_001, 7), (9_051, 8)];
    let rows: Vec<_> =
        rows.iter().zip(&messages).map(|((ms, session), text)| (*ms, *session, text.as_str(), "", None)).collect();
    let idle_max = Some(Duration::from_secs(2));
    let schedule = wanted("pg.csv", &csv(&rows), Wanted { idle_max, ..usual(&Filter::default()) }).unwrap();
    let dues: Vec<u64> = schedule.statements.iter().map(|one| one.due_us).collect();
    assert_eq!(dues, [0, 2_001_000, 2_051_000]);
    assert_eq!((schedule.facts.cut_us, schedule.facts.span_us), (6_999_000, 2_052_000));
    assert_eq!(schedule.log_us(2_001_000) - schedule.first_us, 9_000_000);
    assert_eq!(schedule.log_us(0), schedule.first_us);
}

#[test]
fn what_the_data_have_already_is_not_replayed() {
    let messages = [took(1, "statement: select 1"), took(1, "statement: select 2")];
    let rows: Vec<_> =
        [1_001, 5_001].iter().zip(&messages).map(|(ms, text)| (*ms, 7, text.as_str(), "", None)).collect();
    let behind = |text: &str| filtered("pg.csv", &csv(&rows), &Filter::behind_data_of(text), true);
    let schedule = behind("2026-11-23 04:41:43").unwrap();
    assert_eq!((schedule.facts.statements, schedule.facts.data_are_older_us), (1, None));
    assert_eq!(schedule.facts.left_out[0].0, "before the data");
    let schedule = behind("2026-11-23 04:40:41").unwrap();
    assert_eq!((schedule.facts.statements, schedule.facts.data_are_older_us), (2, Some(60_000_000)));
    assert_eq!(behind("2026-11-23 05:00:00").unwrap_err().0, "data");
}

#[test]
fn of_a_log_what_both_kinds_of_servers_read_is_left_and_its_share_is_known() {
    let rows = [
        (10, 7, took(1, "statement: BEGIN;"), ""),
        (20, 7, took(3, "statement: select \"A\" from t where b = 'x'"), ""),
        (30, 7, took(1, "execute S_1: COMMIT"), ""),
        (40, 7, took(4, "statement: select a::text from t"), ""),
        (50, 7, took(1, "execute <unnamed>: select a from t where b = $1"), "parameters: $1 = '7'"),
    ];
    let rows: Vec<_> =
        rows.iter().map(|(ms, session, message, list)| (*ms, *session, message.as_str(), *list, None)).collect();
    let filter = Filter::default();
    let kept = Wanted { is_portable: true, ..usual(&filter) };
    let schedule = wanted("pg.csv", &csv(&rows), kept).unwrap();
    assert_eq!(schedule.facts.portable.unwrap().shares(), [Some(0.8), Some(0.6)]);
    let left_out: Vec<_> = schedule.facts.left_out.iter().map(|(kind, count, _)| (kind.as_str(), *count)).collect();
    assert_eq!(left_out, [("not portable", 1)]);
    let sent =
        |schedule: &Schedule| statements(schedule).into_iter().map(|(_, text, how)| (text, how)).collect::<Vec<_>>();
    let text = |text: &str| (text.to_owned(), How::Text);
    let same = text("select \"A\" from t where b = 'x'");
    let unnamed = ("select a from t where b = $1".to_owned(), How::Unnamed);
    assert_eq!(sent(&schedule), [text("BEGIN;"), same, text("COMMIT"), unnamed]);
    let other = schedule.for_other_kind.as_ref().unwrap();
    let expected = ["begin", "select `A` from t where b = 'x'", "commit", "select a from t where b = '7'"];
    assert_eq!(sent(other), expected.map(text));
    assert!(schedule.digests.iter().any(|about| about.is_collated));
}

#[test]
fn a_transaction_without_begin_is_opened_where_its_set_is_left_out() {
    let log = "\
# Time: 2026-11-23T04:41:47.000000Z
# User@Host: a[a] @ h []  Id:     9
# Query_time: 0.001  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0
use shop;
SET timestamp=1795409107;
set autocommit = 0;
# Time: 2026-11-23T04:41:48.000000Z
# User@Host: a[a] @ h []  Id:     9
# Query_time: 0.001  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795409108;
update t set a = 1;
# Time: 2026-11-23T04:41:49.000000Z
# User@Host: a[a] @ h []  Id:     9
# Query_time: 0.001  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795409109;
commit;
";
    let filter = Filter::default();
    let kept = Wanted { accepts_partial: true, is_portable: true, ..usual(&filter) };
    let schedule = wanted("slow.log", log, kept).unwrap();
    let sent: Vec<_> = schedule.statements.iter().map(|one| (schedule.bytes(one.text), one.is_counted)).collect();
    assert_eq!(sent, [(&b"begin"[..], false), (b"update t set a = 1", true), (b"commit", true)]);
}
