//! Captures made of files, read back, and refused where they are damaged.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use capture::{Act, Capture, Contents, Making, Options, Refused, Skipped};
use flate2::Compression;
use flate2::write::GzEncoder;

fn making(folder: &Path) -> Making {
    Making { options: Options::default(), memory: 1 << 20, work: folder.to_owned(), parameter_length_max: None }
}

/// An entry of MySQL: session, end in microseconds after 04:41:47, duration, text.
fn slow(session: u32, end_us: u32, duration_us: u32, text: &str) -> String {
    format!(
        "# Time: 2026-11-23T04:41:47.{end_us:06}Z\n# User@Host: u[u] @ localhost []  Id:  {session}\n# Query_time: 0.{duration_us:06}  \
         Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795408907;\n{text};\n"
    )
}

struct Made {
    folder: tempfile::TempDir,
    path: PathBuf,
    contents: Contents,
}

fn made(logs: &[(&str, &[u8])], change: impl Fn(&mut Making)) -> Result<Made, Refused> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = logs.iter().map(|(name, _)| folder.path().join(name)).collect();
    logs.iter().zip(&paths).for_each(|((_, bytes), path)| fs::write(path, bytes).unwrap());
    let path = folder.path().join("a.dbcap");
    let mut making = making(folder.path());
    change(&mut making);
    let (_, contents) = capture::capture(&paths, &path, &making)?;
    Ok(Made { folder, path, contents })
}

impl Made {
    /// Session, transaction, act and text of each record.
    fn records(&self) -> Vec<(u64, u64, Act, String)> {
        let mut found = Vec::new();
        let mut capture = Capture::open(&self.path).unwrap();
        assert_eq!(capture.contents, self.contents);
        let mut last_us = i64::MIN;
        capture
            .instances_from(i64::MIN, &mut |one| {
                assert!(one.start_us >= last_us);
                last_us = one.start_us;
                found.push((one.session, one.transaction, one.act, String::from_utf8_lossy(one.text).into_owned()));
                true
            })
            .unwrap();
        found
    }

    fn texts(&self) -> Vec<String> {
        self.records().into_iter().filter(|(_, _, act, _)| act.is_statement()).map(|(.., text)| text).collect()
    }
}

#[test]
fn a_capture_has_the_statements_in_the_order_of_their_starts() {
    let log = slow(7, 500, 10, "begin") + &slow(8, 600, 300, "select 'long'") + &slow(7, 700, 10, "commit");
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    let statement = |session, transaction, text: &str| (session, transaction, Act::Statement, text.to_owned());
    let begin = |session| (session, 0, Act::Connect, String::new());
    let expected =
        [begin(2), statement(2, 1, "select 'long'"), begin(1), statement(1, 1, "begin"), statement(1, 1, "commit")];
    assert_eq!(made.records(), expected);
    assert_eq!((made.contents.sessions, made.contents.statements, made.contents.transactions), (2, 3, 2));
    assert_eq!((made.contents.first_us, made.contents.last_us), (1_795_408_907_000_300, 1_795_408_907_000_700));
    let digests = Capture::open(&made.path).unwrap().digests;
    let texts: Vec<_> =
        digests.iter().map(|digest| (String::from_utf8_lossy(&digest.text).into_owned(), digest.calls)).collect();
    assert_eq!(texts, [("begin".to_owned(), 1), ("select ?".to_owned(), 1), ("commit".to_owned(), 1)]);
}

#[test]
fn only_its_owner_may_read_a_capture_and_none_is_overwritten() {
    let log = slow(7, 500, 10, "select 1");
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    assert_eq!(fs::metadata(&made.path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = capture::capture(&[made.folder.path().join("slow.log")], &made.path, &making(made.folder.path()));
    assert!(again.unwrap_err().to_string().contains("is there already"));
    let new = made.folder.path().join("new/deep/b.dbcap");
    capture::capture(&[made.folder.path().join("slow.log")], &new, &making(made.folder.path())).unwrap();
    assert_eq!(fs::metadata(new.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let left: Vec<_> = fs::read_dir(new.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["b.dbcap"]);
}

#[test]
fn any_memory_gives_the_same_file() {
    let log: String = (0..3_000)
        .map(|number| slow(number % 7, number * 100 + 1_000, number % 900, &format!("select {number}")))
        .collect();
    let [small, large] = [20_000, 64 << 20]
        .map(|memory| made(&[("slow.log", log.as_bytes())], |making| making.memory = memory).unwrap());
    assert_eq!(small.texts().len(), 3_000);
    // The table of logs behind the chunks has the folders.
    let chunks = |made: &Made| {
        let last = *Capture::open(&made.path).unwrap().chunks.last().unwrap();
        fs::read(&made.path).unwrap()[..(last.offset + last.bytes) as usize].to_vec()
    };
    assert!(chunks(&small) == chunks(&large));
}

#[test]
fn a_rotated_series_is_one_log_whatever_order_and_compression_it_has() {
    let first = slow(7, 100, 10, "begin") + &slow(7, 200, 10, "select 1");
    let second = slow(7, 300, 10, "select 2") + &slow(7, 400, 10, "select 3");
    let third = slow(7, 500, 10, "commit");
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(first.as_bytes()).unwrap();
    let zst = zstd::encode_all(second.as_bytes(), 3).unwrap();
    let logs = [("slow.log", third.as_bytes()), ("slow.log.1", &zst[..]), ("slow.log.2", &gz.finish().unwrap()[..])];
    let made = made(&logs, |_| {}).unwrap();
    assert_eq!(made.texts(), ["begin", "select 1", "select 2", "select 3", "commit"]);
    assert_eq!((made.contents.sessions, made.contents.transactions, made.contents.overlapping), (1, 1, 0));
}

#[test]
fn files_that_begin_in_one_second_are_read_in_the_order_in_which_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let entry =
        |text: &str| format!("# User@Host: u[u] @ h []\n# Query_time: 0.1\nSET timestamp=1795408907;\n{text};\n");
    let [new, old] = ["slow.log", "slow.log.1"].map(|name| folder.path().join(name));
    fs::write(&old, entry("select 1")).unwrap();
    fs::write(&new, entry("select 2")).unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&old).unwrap().set_modified(earlier).unwrap();
    let mut texts = Vec::new();
    let take = &mut |event: &capture::Event<'_>, _, _| texts.push(String::from_utf8_lossy(event.text).into_owned());
    capture::read_logs(&[new, old], &Options::default(), take).unwrap();
    assert_eq!(texts, ["select 1", "select 2"]);
}

#[test]
fn entries_that_two_files_hold_are_taken_once() {
    let entries: Vec<String> = (0..40).map(|number| slow(7, 1_000 * (number + 1), 10, "select 1")).collect();
    let (first, second) = (entries[..30].concat(), entries[20..].concat());
    let made = made(&[("a.log", first.as_bytes()), ("b.log", second.as_bytes())], |_| {}).unwrap();
    // The very first entry of the second file has the stamp that divides the files, and stays.
    assert_eq!((made.texts().len() as u64, made.contents.overlapping), (41, 9));
}

#[test]
fn passwords_are_left_out_and_what_is_never_replayed_is_counted_by_kind() {
    let texts =
        ["alter user u identified by 'sekret'", "set global a = 1", "select 1", "load data infile '/x' into table t"];
    let log: String =
        texts.iter().enumerate().map(|(number, text)| slow(7, 100 * (number as u32 + 1), 10, text)).collect();
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    assert_eq!(made.texts(), ["set global a = 1", "select 1", "load data infile '/x' into table t"]);
    let expected = [(Skipped::FileAccess, 1), (Skipped::Server, 1), (Skipped::Password, 1)];
    assert_eq!(made.contents.skipped, expected.into());
    for entry in fs::read_dir(made.folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
        let is_log = entry.ends_with("slow.log");
        assert!(is_log || !fs::read(&entry).unwrap().windows(6).any(|part| part == b"sekret"), "{}", entry.display());
    }
    let mut capture = Capture::open(&made.path).unwrap();
    assert!(capture.digests.iter().all(|digest| !digest.text.windows(6).any(|part| part == b"sekret")));
    let mut is_held = false;
    capture
        .instances_from(i64::MIN, &mut |one| {
            is_held |= one.text.windows(6).any(|part| part == b"sekret");
            true
        })
        .unwrap();
    assert!(!is_held);
}

#[test]
fn statements_inside_of_a_call_are_left_out() {
    let log = slow(7, 1_300, 100, "select 'inner'")
        + &slow(7, 1_500, 500, "call p(1)")
        + &slow(7, 1_700, 100, "select 'after'");
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    assert_eq!(made.texts(), ["call p(1)", "select 'after'"]);
    assert_eq!(made.contents.skipped, [(Skipped::InsideCall, 1)].into());
}

#[test]
fn the_end_of_summer_time_in_a_log_of_local_times_keeps_the_order() {
    let log = "261025  2:59:58\t     9 Query\tselect 1\n261025  2:00:01\t     9 Query\tselect 2\n261025  2:00:05\t     9 Query\tselect 3\n";
    let made = made(&[("general.log", log.as_bytes())], |_| {}).unwrap();
    assert_eq!(made.texts(), ["select 1", "select 2", "select 3"]);
    assert_eq!(made.contents.last_us - made.contents.first_us, 4_000_000);
    assert!(
        made.contents.problems[0]
            .ends_with("general.log:2: time goes back by 3597 s here; the order of the file is kept")
    );
    assert!(made.contents.is_coarse);
}

#[test]
fn the_sql_mode_of_a_session_decides_what_its_values_are() {
    let log = "2026-11-23T04:41:47.487135Z\t    9 Query\tSET sql_mode = 'NO_BACKSLASH_ESCAPES'\n\
               2026-11-23T04:41:47.487235Z\t    9 Query\tselect 'a\\', 'sekret', '\\'\n";
    let made = made(&[("general.log", log.as_bytes())], |_| {}).unwrap();
    assert_eq!(Capture::open(&made.path).unwrap().digests[1].text, b"select ?, ?, ?");
}

#[test]
fn a_log_that_begins_inside_of_a_transaction_has_its_statements_one_by_one() {
    let log = slow(7, 100, 10, "update t set a = 1") + &slow(7, 200, 10, "commit") + &slow(7, 300, 10, "begin");
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    let transactions: Vec<u64> = made.records().iter().skip(1).map(|(_, transaction, ..)| *transaction).collect();
    assert_eq!(transactions, [1, 2, 3]);
}

/// A proxy logs in by one account, and gives the same server session to one client after the other.
#[test]
fn sessions_of_a_proxys_single_user_stay_apart_and_their_transactions_too() {
    let log = [
        slow(7, 100, 10, "begin"),
        slow(8, 150, 10, "begin"),
        slow(7, 200, 10, "update stock set n = 1"),
        slow(8, 250, 10, "update stock set n = 2"),
        slow(7, 300, 10, "commit"),
        slow(7, 350, 10, "begin"),
        slow(8, 400, 10, "rollback"),
        slow(7, 450, 10, "select 3"),
        slow(7, 500, 10, "commit"),
    ];
    let made = made(&[("slow.log", log.concat().as_bytes())], |_| {}).unwrap();
    assert_eq!((made.contents.sessions, made.contents.transactions), (2, 3));
    let records = made.records();
    let of = |session: u64, transaction: u64| -> Vec<&str> {
        let ours = records.iter().filter(|one| (one.0, one.1) == (session, transaction) && one.2.is_statement());
        ours.map(|(.., text)| text.as_str()).collect()
    };
    assert_eq!(of(1, 1), ["begin", "update stock set n = 1", "commit"]);
    assert_eq!(of(2, 1), ["begin", "update stock set n = 2", "rollback"]);
    assert_eq!(of(1, 2), ["begin", "select 3", "commit"]);
}

#[test]
fn logs_that_hold_invalid_text_keep_their_bytes() {
    let mut log = slow(7, 100, 10, "select 'X'").into_bytes();
    let at = log.iter().rposition(|byte| *byte == b'X').unwrap();
    log.splice(at..=at, *b"\xff\0\xc3");
    let made = made(&[("slow.log", &log)], |_| {}).unwrap();
    let mut capture = Capture::open(&made.path).unwrap();
    let mut texts = Vec::new();
    capture
        .instances_from(i64::MIN, &mut |one| {
            texts.push(one.text.to_vec());
            true
        })
        .unwrap();
    assert_eq!(texts[1], b"select '\xff\0\xc3'");
}

#[test]
fn a_capture_that_is_cut_or_changed_is_refused() {
    let log: String = (0..500).map(|number| slow(7, number * 100 + 1_000, 10, &format!("select {number}"))).collect();
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    let whole = fs::read(&made.path).unwrap();
    for end in 0..whole.len() {
        fs::write(&made.path, &whole[..end]).unwrap();
        assert!(Capture::open(&made.path).is_err(), "cut at {end}");
    }
    for at in (0..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        fs::write(&made.path, &changed).unwrap();
        let read = Capture::open(&made.path).and_then(|mut one| one.instances_from(i64::MIN, &mut |_| true));
        assert!(read.is_err(), "byte {at} changed");
    }
}

#[test]
fn a_window_of_a_capture_begins_at_its_time() {
    let log: String = (0..500).map(|number| slow(7, number * 100 + 1_000, 10, &format!("select {number}"))).collect();
    let made = made(&[("slow.log", log.as_bytes())], |_| {}).unwrap();
    let mut capture = Capture::open(&made.path).unwrap();
    let from = capture.contents.first_us + 100 * 490;
    let mut found = Vec::new();
    capture
        .instances_from(from, &mut |one| {
            found.push(one.text.to_vec());
            found.len() < 3
        })
        .unwrap();
    assert_eq!(found, [b"select 490", b"select 491", b"select 492"]);
}
