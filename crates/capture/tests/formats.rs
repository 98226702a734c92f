//! Readers of every format, fed with logs as servers write them: whole, in pieces of any size, and cut at every byte.

#[path = "formats/logs.rs"]
mod logs;
#[path = "formats/properties.rs"]
mod properties;

use capture::{Format, Reading, What};
use logs::{GENERAL_MARIADB, GENERAL_MYSQL, SLOW_MARIADB, SLOW_MYSQL, csv, json, reading, stderr};
use properties::{Read, read};

fn texts(read: &Read) -> Vec<&str> {
    read.statements.iter().map(|one| one.text.as_str()).collect()
}

#[test]
fn statements_of_a_slow_log_of_mariadb_are_as_they_were_sent() {
    let read = read(Format::MySqlSlow, &Reading::default(), SLOW_MARIADB, usize::MAX);
    assert_eq!(read.problems, []);
    assert_eq!(
        texts(&read),
        [
            "select ';\n# Query_time: 99' as x",
            "select a from t where a = 1\n# Time: 261123  4:41:17\n# User@Host: u[u] @ localhost []\n and b = 2",
            "insert into t values ('it''s', \"a;\n\", 1)",
            "select 'q\\'uo\nte;\n', NULL, 12.5 -- comment",
            "select 'a\u{0}b\u{FFFD}'",
        ]
    );
    let first = &read.statements[0];
    assert_eq!((first.session, first.user.as_str(), first.database.as_str()), (9, "u", "odd"));
    assert_eq!((first.start_us, first.duration_us, first.is_coarse), (1_795_408_877_000_000, Some(123), true));
    assert_eq!((first.rows, read.statements[2].rows), (Some(1), Some(3)));
}

#[test]
fn a_slow_log_of_mysql_has_commands_errors_and_times_of_microseconds() {
    let read = read(Format::MySqlSlow, &Reading::default(), SLOW_MYSQL, usize::MAX);
    assert_eq!(read.problems, []);
    assert_eq!(texts(&read), ["select 1", "select * from nothing", "use shop"]);
    let [one, failed, used] = &read.statements[..] else { panic!("{read:?}") };
    assert_eq!((one.start_us, one.duration_us), (1_795_408_907_487_186 - 123, Some(123)));
    assert_eq!((failed.error.as_deref(), one.error.as_deref()), (Some("1146 "), None));
    assert_eq!((one.database.as_str(), used.database.as_str()), ("odd", "shop"));
    assert_eq!(read.others, ["Restart", "Prepare", "Quit"]);
}

#[test]
fn a_quote_that_a_whole_header_follows_is_a_cut_entry_and_reading_goes_on() {
    let log = String::from_utf8_lossy(SLOW_MARIADB)
        .replace("insert into t values ('it''s', \"a;\n\", 1);\n", "insert into t values ('it\n");
    let read = read(Format::MySqlSlow, &Reading::default(), log.as_bytes(), usize::MAX);
    assert_eq!(read.problems.iter().map(|(_, what)| *what).collect::<Vec<_>>(), [What::OpenQuote]);
    let line = log.lines().position(|line| line.starts_with("insert into t")).unwrap() + 1;
    assert_eq!(read.problems[0].0, line as u64);
    assert_eq!(read.statements.len(), 4);
}

#[test]
fn the_sql_mode_of_a_session_decides_about_backslashes() {
    let entry = |text: &str| {
        format!(
            "# User@Host: u[u] @ h []\n# Thread_id: 5  Schema: d  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=5;\n{text};\n"
        )
    };
    let log = entry("SET sql_mode = 'NO_BACKSLASH_ESCAPES'") + &entry(r"select '\'") + &entry("select 2");
    let read = read(Format::MySqlSlow, &Reading::default(), log.as_bytes(), usize::MAX);
    assert_eq!(texts(&read)[1..], [r"select '\'", "select 2"]);
}

#[test]
fn a_general_log_has_the_statements_in_the_order_of_arrival() {
    let read_mariadb = read(Format::MySqlGeneral, &Reading::default(), GENERAL_MARIADB, usize::MAX);
    assert_eq!(read_mariadb.problems, []);
    assert_eq!(
        texts(&read_mariadb),
        ["select 1\nfrom t", "insert into t values (?)", "EXECUTE s1", "use shop", "select 2"]
    );
    assert_eq!(read_mariadb.statements[4].database, "shop");
    assert_eq!(read_mariadb.statements[0].database, "odd");
    let read_mysql = read(Format::MySqlGeneral, &Reading::default(), GENERAL_MYSQL, usize::MAX);
    assert_eq!(texts(&read_mysql), ["select 1", "select 2"]);
    assert_eq!(read_mysql.statements[0].start_us, 1_795_408_907_487_135);
}

/// The same session in all three formats of PostgreSQL.
#[test]
fn every_format_of_postgres_gives_the_same_statements() {
    for (format, log) in [(Format::PgCsv, csv()), (Format::PgJson, json()), (Format::PgStderr, stderr())] {
        let read = read(format, &reading(format), &log, usize::MAX);
        assert_eq!(read.problems, [], "{format:?}");
        assert_eq!(texts(&read), ["select \"a\",\n'x'", "select $1", "selec 1", "select 1/$1"], "{format:?}");
        let [simple, prepared, wrong, failed] = &read.statements[..] else { panic!("{read:?}") };
        assert_eq!((simple.duration_us, simple.start_us), (Some(83), 1_795_408_907_487_000), "{format:?}");
        assert_eq!((prepared.duration_us, prepared.parameters.as_str()), (Some(300), "$1 = 'q''uo\nte'"), "{format:?}");
        assert_eq!(failed.parameters, "$1 = '0'", "{format:?}");
        let code = if format == Format::PgStderr { "?????" } else { "42601" };
        assert_eq!(wrong.error.as_deref(), Some(code), "{format:?}");
        assert_eq!((simple.user.as_str(), simple.database.as_str()), ("u", "odd"), "{format:?}");
    }
}

#[test]
fn a_gap_in_the_lines_of_a_session_is_named() {
    let log = String::from_utf8(csv()).unwrap().replace(",c1.1,3,", ",c1.1,7,");
    let read = read(Format::PgCsv, &reading(Format::PgCsv), log.as_bytes(), usize::MAX);
    assert!(matches!(read.problems[..], [(_, What::Gap { missing: 4 }), ..]), "{:?}", read.problems);
}

#[test]
fn a_row_with_another_number_of_fields_is_named_and_left_out() {
    let mut log = b"2026-11-23 04:41:47.487 UTC,\"u\",\"odd\",1\n".to_vec();
    log.extend(csv());
    let read = read(Format::PgCsv, &reading(Format::PgCsv), &log, usize::MAX);
    assert_eq!((read.problems.as_slice(), read.statements.len()), (&[(1, What::FieldCount(4))][..], 4));
}

/// What a cut log holds is a beginning of what the whole one holds.
#[test]
fn a_log_cut_at_any_byte_gives_a_beginning_of_its_statements() {
    for (format, log) in logs::all() {
        let whole = read(format, &reading(format), &log, usize::MAX);
        for end in log.len().saturating_sub(4096)..log.len() {
            let cut = read(format, &reading(format), &log[..end], usize::MAX);
            // The last entry of a log without ends of entries may be longer in the whole log.
            let sure =
                cut.statements.len().saturating_sub(usize::from(!format.is_mysql() || format == Format::MySqlGeneral));
            assert_eq!(texts(&cut)[..sure], texts(&whole)[..sure], "{format:?} cut at {end}");
            assert!(
                cut.problems.iter().all(|(_, what)| matches!(what, What::CutAtEnd)),
                "{format:?} {end}: {:?}",
                cut.problems
            );
        }
    }
}

#[test]
fn pieces_of_any_size_give_the_same_statements() {
    for (format, log) in logs::all() {
        for size in [1, 2, 7, 64, 1000] {
            properties::in_pieces(format, &log, size);
        }
    }
}

proptest::proptest! {
    /// Logs with bytes changed, left out and put in.
    #[test]
    fn damaged_logs_are_read_the_same_way_in_pieces(
        number in 0..logs::all().len(),
        changes in proptest::collection::vec((proptest::prelude::any::<u32>(), proptest::prelude::any::<u8>(), 0..4_u8), 0..12),
        size in 1..300_usize,
    ) {
        let (format, mut log) = logs::all().swap_remove(number);
        changes.iter().for_each(|(at, byte, how)| properties::damage(&mut log, *at as usize, *byte, *how));
        properties::in_pieces(format, &log, size);
    }
}
