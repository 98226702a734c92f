//! Annotated transcripts, fed whole and cut off at every length.

use super::*;

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let at = begin_packet(&mut out, sequence);
    out.extend_from_slice(payload);
    end_packet(&mut out, at);
    out
}

/// Two columns, two rows, in the text protocol.
fn result_set() -> Vec<u8> {
    [
        packet(1, &[2]),                     // two columns
        packet(2, b"\x03def column one"),    // definitions are skipped
        packet(3, b"\x03def column two"),    //
        packet(4, &[0xfe, 0, 0, 2, 0]),      // EOF: status autocommit
        packet(5, b"\x0242\x0bhello world"), // row: 42, hello world
        packet(6, b"\xfb\x00"),              // row: NULL, empty
        packet(7, &[0xfe, 0, 0, 2, 0]),      // EOF
    ]
    .concat()
}

/// Feeds `bytes` in two parts, as a socket may deliver them.
fn parse_cut_at(bytes: &[u8], cut: usize, rows: &mut Option<Vec<Vec<u8>>>) -> Result<Step, Error> {
    let mut parser = AnswerParser::default();
    let mut unread = Vec::new();
    let mut last = Step::More;
    for part in [&bytes[..cut], &bytes[cut..]] {
        unread.extend_from_slice(part);
        let mut keep = |part: Part<'_>| {
            if let (Part::Row(row), Some(rows)) = (part, &mut *rows) {
                rows.push(row.to_vec());
            }
        };
        let whole_rows = if cut.is_multiple_of(2) { Some(&mut keep as OnPart<'_>) } else { None };
        let (consumed, step) = parser.feed(&unread, whole_rows)?;
        unread.drain(..consumed);
        last = step;
    }
    assert!(unread.is_empty(), "all bytes of the answer are used up");
    Ok(last)
}

fn check(bytes: &[u8], expected: Answer) {
    for cut in 0..bytes.len() {
        assert_eq!(parse_cut_at(bytes, cut, &mut None), Ok(Step::Done(expected)), "cut at {cut}");
    }
}

#[test]
fn a_result_set_is_counted_wherever_it_is_cut() {
    check(&result_set(), Answer { rows: 2, returns_rows: true, ..Answer::default() });
}

#[test]
fn an_ok_packet_gives_the_rows_it_changed() {
    check(&packet(1, &[0, 0xfc, 0x2c, 0x01, 0, 2, 0, 0, 0]), Answer { affected: 300, ..Answer::default() });
}

#[test]
fn an_update_that_changes_nothing_has_still_found_its_rows() {
    let ok = |affected, info: &[u8]| packet(1, &[&[0, affected, 0, 2, 0, 0, 0][..], info].concat());
    let found = b"9Rows matched: 12  Changed: 0  Warnings: 0";
    check(&ok(0, found), Answer { unchanged: 12, ..Answer::default() });
    check(&ok(0, b""), Answer::default());
    // What was changed was found.
    check(&ok(1, b"\x28Rows matched: 1  Changed: 1  Warnings: 0"), Answer { affected: 1, ..Answer::default() });
    let some = Answer { affected: 101, unchanged: 1, ..Answer::default() };
    check(&ok(101, b"\x2aRows matched: 102  Changed: 101  Warnings: 0"), some);
}

#[test]
fn warnings_and_a_new_key_come_with_the_answer() {
    let insert = packet(1, &[0, 1, 0xfc, 0x39, 0x05, 2, 0, 3, 0]);
    check(&insert, Answer { affected: 1, new_key: 1337, warnings: 3, ..Answer::default() });
    let rows = [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0]), packet(4, &[0xfe, 2, 0, 2, 0])];
    check(&rows.concat(), Answer { returns_rows: true, warnings: 2, ..Answer::default() });
}

#[test]
fn an_answer_goes_on_while_more_results_are_announced() {
    let first = packet(1, &[0, 1, 0, 0x0a, 0, 0, 0]); // OK with SERVER_MORE_RESULTS_EXISTS
    let second = packet(2, &[0, 2, 0, 0x02, 0, 0, 0]);
    check(&[first, second].concat(), Answer { affected: 3, ..Answer::default() });
}

#[test]
fn a_row_that_starts_like_an_end_but_is_long_is_a_row() {
    // 0xfe opens an 8-byte length: a text column of more than 16 MiB, here only its beginning.
    let row = packet(4, &[0xfe, 1, 0, 0, 0, 0, 0, 0, 0, b'x']);
    let bytes =
        [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0]), row, packet(5, &[0xfe, 0, 0, 2, 0])];
    check(&bytes.concat(), Answer { rows: 1, returns_rows: true, ..Answer::default() });
}

#[test]
fn a_deadlock_is_worth_a_retry_and_a_syntax_error_is_not() {
    let deadlock = packet(1, b"\xff\xbd\x04#40001Deadlock found");
    let syntax = packet(1, b"\xff\x28\x04#42000You have an error");
    let old = packet(1, b"\xff\x28\x04You have an error"); // without SQLSTATE, as at login
    let parse = |bytes: &[u8]| AnswerParser::default().feed(bytes, None).unwrap_err();
    assert_eq!(parse(&deadlock), Error::Retryable { code: Code::number(1213) });
    let refused = Error::Refused { code: Code::number(1064), message: "You have an error".to_owned() };
    assert_eq!(parse(&syntax), refused);
    assert_eq!(parse(&old), refused);
}

#[test]
fn an_error_among_the_rows_is_seen_wherever_it_is_cut() {
    let rows =
        [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0]), packet(4, b"\x0acolumn ten")].concat();
    let bytes = [rows, packet(5, b"\xff\x25\x05#70100Query execution was interrupted")].concat();
    for cut in 0..bytes.len() {
        assert!(matches!(parse_cut_at(&bytes, cut, &mut None), Err(Error::Refused { .. })), "cut at {cut}");
    }
}

#[test]
fn text_rows_give_their_columns() {
    let mut rows = Some(Vec::new());
    parse_cut_at(&result_set(), 0, &mut rows).unwrap();
    let rows: Vec<_> = rows.unwrap().iter().map(|row| text_row(row).unwrap()).collect();
    assert_eq!(rows[0], [Some("42".to_owned()), Some("hello world".to_owned())]);
    assert_eq!(rows[1], [None, Some(String::new())]);
    assert!(text_row(b"\x05abc").is_err());
}

#[test]
fn greetings_from_5_0_to_mariadb_are_read() {
    // 5.0: lower capabilities only, no plugin name.
    let old = [
        b"\x0a5.0.21-max\0".as_slice(),
        &[1, 0, 0, 0],
        b"abcdefgh\0",
        &[0x2c, 0xa2, 8, 2, 0],
        &[0; 13],
        b"ijklmnopqrst\0",
    ];
    let greeting = Greeting::parse(&old.concat()).unwrap();
    assert_eq!((greeting.version.as_str(), greeting.plugin, greeting.charset), ("5.0.21-max", None, 8));
    assert_eq!(greeting.scramble, b"abcdefghijklmnopqrst");

    let new = [
        b"\x0a8.0.31\0".as_slice(),
        &[1, 0, 0, 0],
        b"abcdefgh\0",
        &[0xff, 0xff, 0xff, 2, 0, 0xff, 0xdf, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        b"caching_sha2_password\0",
    ];
    let greeting = Greeting::parse(&new.concat()).unwrap();
    assert_eq!(greeting.plugin.as_deref(), Some("caching_sha2_password"));
    for cut in 0..40 {
        assert!(Greeting::parse(&new.concat()[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn length_encoded_integers_survive_the_round_trip() {
    for value in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
        let mut out = Vec::new();
        put_lenenc(&mut out, value);
        assert_eq!(lenenc(&out), Some((value, out.len())));
        assert_eq!(lenenc(&out[..out.len() - 1]), None);
    }
}

/// One column, and one row of a little more than 16 MiB, which therefore comes in two packets.
fn long_row() -> (Vec<u8>, usize) {
    let text = vec![b'x'; (1 << 24) + 100];
    let mut payload = Vec::new();
    put_lenenc(&mut payload, text.len() as u64);
    payload.extend_from_slice(&text);
    let end = packet(6, &[0xfe, 0, 0, 2, 0]);
    let head = [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0])].concat();
    ([head, packet(4, &payload), end].concat(), payload.len())
}

#[test]
fn a_row_of_several_packets_is_one_row() {
    let (bytes, length) = long_row();
    let expected = Answer { rows: 1, returns_rows: true, ..Answer::default() };
    let mut rows = Some(Vec::new());
    assert_eq!(parse_cut_at(&bytes, 0, &mut rows), Ok(Step::Done(expected)));
    assert_eq!(rows.unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [length]);
    assert_eq!(parse_cut_at(&bytes, 1, &mut None), Ok(Step::Done(expected)), "skipped instead of handed over");
}

#[test]
fn a_payload_of_just_the_greatest_length_is_closed_by_an_empty_packet() {
    let out = packet(7, &vec![b'x'; 0xff_ffff]);
    assert_eq!(out[..4], [0xff, 0xff, 0xff, 7]);
    assert_eq!(out[out.len() - 4..], [0, 0, 0, 8]);
}

#[test]
fn a_result_set_without_columns_is_refused() {
    assert!(AnswerParser::default().feed(&packet(1, &[0xfc, 0, 0]), None).is_err());
}

fn refused(bytes: &[u8], parser: fn() -> AnswerParser) -> String {
    let seen = |rows: Option<OnPart<'_>>| match parser().feed(bytes, rows) {
        Err(Error::Protocol(why)) => why,
        other => panic!("{other:?}"),
    };
    let counted = seen(None);
    assert_eq!(counted, seen(Some(&mut |_| {})), "with rows and without");
    counted
}

#[test]
fn a_packet_with_another_number_than_its_turn_has_is_refused_in_every_place() {
    let whole = result_set();
    let mut at = 0;
    while let Some((_, sequence, size)) = whole_packet(&whole[at..]) {
        let mut bytes = whole.clone();
        bytes[at + 3] = sequence.wrapping_sub(1);
        assert!(refused(&bytes, AnswerParser::default).contains(&format!("where number {sequence} was due")));
        at += size;
    }
    // A row of more than eight bytes takes another way through the parser.
    let head = [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0])].concat();
    refused(&[head, packet(3, b"\x0acolumn ten")].concat(), AnswerParser::default);
    let unnumbered = AnswerParser::default().unnumbered().feed(&packet(7, &[0, 0, 0, 2, 0, 0, 0]), None);
    assert_eq!(unnumbered.unwrap().1, Step::Done(Answer::default()));
    let behind = AnswerParser::to_request(2, false).feed(&packet(3, &[0, 0, 0, 2, 0, 0, 0]), None);
    assert_eq!(behind.unwrap().1, Step::Done(Answer::default()));
}

#[test]
fn a_farewell_is_one_whatever_its_number_is() {
    let farewell = packet(0, b"\xff\x1d\x04#08S01Server shutdown in progress");
    assert!(matches!(AnswerParser::default().feed(&farewell, None), Err(Error::Lost { .. })));
    refused(&packet(0, b"\xff\xbd\x04#40001Deadlock found"), AnswerParser::default);
}

#[test]
fn an_error_where_a_column_was_to_be_described_is_no_answer() {
    let deadlock = b"\xff\xbd\x04#40001Deadlock found";
    let (count, column) = (packet(1, &[2]), packet(2, b"\x03def column one"));
    refused(&[count.clone(), packet(2, deadlock)].concat(), AnswerParser::default);
    refused(&[count.clone(), column.clone(), packet(3, deadlock)].concat(), AnswerParser::default);
    let two = [count.clone(), column.clone(), packet(3, b"\x03def column two")].concat();
    refused(&[two, packet(4, deadlock)].concat(), AnswerParser::default);
    refused(&[count, column, packet(3, &[0xfe, 0, 0, 2, 0])].concat(), AnswerParser::default);
}

#[test]
fn a_binary_row_begins_with_a_zero() {
    let head = [packet(1, &[1]), packet(2, b"def"), packet(3, &[0xfe, 0, 0, 2, 0])].concat();
    for row in [&b"\x01\0abc"[..], b"\x01\0abcdefghijk"] {
        refused(&[head.clone(), packet(4, row)].concat(), || AnswerParser::to_request(0, true));
    }
}

#[test]
fn bytes_behind_an_error_are_not_taken_for_a_part_of_it() {
    let error = packet(1, b"\xff\x28\x04#42000You have an error");
    let mut parser = AnswerParser::default();
    assert!(parser.feed(&[error.clone(), packet(2, &[0, 0, 0, 2, 0, 0, 0])].concat(), None).is_err());
    assert_eq!(parser.consumed(), error.len());
}

#[test]
fn the_last_packet_of_a_long_request_has_the_number_of_packets_before_it() {
    let last = |payload: usize| {
        let out = packet(0, &vec![b'x'; payload]);
        (last_sequence(out.len()), out[out.len() - payload % 0xff_ffff - 1])
    };
    assert_eq!(last(10), (0, 0));
    assert_eq!(last(0xff_ffff), (1, 1));
    assert_eq!(last(0xff_ffff + 10), (1, 1));
}
