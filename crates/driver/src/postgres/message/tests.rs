//! Annotated transcripts, cut off at every length.

use super::*;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let at = begin_message(&mut out, kind);
    out.extend_from_slice(body);
    end_message(&mut out, at);
    out
}

/// What the server answers to Bind, Execute, Sync of a select of two rows.
fn select_answer() -> Vec<u8> {
    [
        message(b'2', b""),                                   // BindComplete
        message(b'D', b"\0\x02\0\0\0\x0242\xff\xff\xff\xff"), // DataRow: 42, NULL
        message(b'D', b"\0\x02\0\0\0\x017\0\0\0\0"),          // DataRow: 7, empty
        message(b'C', b"SELECT 2\0"),                         // CommandComplete
        message(b'Z', b"I"),                                  // ReadyForQuery, idle
    ]
    .concat()
}

fn parse_cut_at(bytes: &[u8], cut: usize) -> Result<Step, Error> {
    let mut parser = AnswerParser::to_request(Request::Execute);
    let mut unread = Vec::new();
    let mut last = Step::More;
    for part in [&bytes[..cut], &bytes[cut..]] {
        unread.extend_from_slice(part);
        let mut ignore = |_: Part<'_>| {};
        let whole_rows = if cut.is_multiple_of(2) { Some(&mut ignore as OnPart<'_>) } else { None };
        let (consumed, step) = parser.feed(&unread, whole_rows)?;
        unread.drain(..consumed);
        last = step;
    }
    assert!(unread.is_empty(), "all bytes of the answer are used up");
    Ok(last)
}

fn check(bytes: &[u8], expected: Answer) {
    for cut in 0..bytes.len() {
        assert_eq!(parse_cut_at(bytes, cut), Ok(Step::Done(expected)), "cut at {cut}");
    }
}

#[test]
fn a_select_is_counted_wherever_it_is_cut() {
    check(&select_answer(), Answer { rows: 2, returns_rows: true, ..Answer::default() });
}

#[test]
fn command_tags_give_the_rows_they_changed() {
    let answer = |tag: &[u8]| [message(b'2', b""), message(b'C', tag), message(b'Z', b"T")].concat();
    check(&answer(b"UPDATE 12\0"), Answer { affected: 12, ..Answer::default() });
    check(&answer(b"INSERT 0 1\0"), Answer { affected: 1, ..Answer::default() });
    check(&answer(b"BEGIN\0"), Answer::default());
}

#[test]
fn an_error_is_returned_once_the_server_is_ready_again() {
    let error = message(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0");
    let bytes = [error, message(b'Z', b"E")].concat();
    for cut in 0..bytes.len() {
        assert_eq!(parse_cut_at(&bytes, cut), Err(Error::Retryable { code: Code::new(b"40P01") }), "cut at {cut}");
    }
}

#[test]
fn errors_keep_code_message_and_detail() {
    let body = b"SERROR\0C22P02\0Minvalid input\0Dcolumn id\0\0";
    let expected = Error::Refused { code: Code::new(b"22P02"), message: "invalid input (column id)".to_owned() };
    assert_eq!(server_error(body), expected);
    assert!(matches!(server_error(b"C23505\0Mduplicate key\0\0"), Error::Duplicate { .. }));
    assert!(matches!(server_error(b"C57P01\0Mshutting down\0\0"), Error::Lost { .. }));
}

#[test]
fn rows_in_text_format_give_their_columns() {
    assert_eq!(text_row(b"\0\x02\0\0\0\x0242\xff\xff\xff\xff").unwrap(), [Some("42".to_owned()), None]);
    assert!(text_row(b"\0\x01\0\0\0\x05ab").is_err());
}

#[test]
fn a_message_shorter_than_its_own_length_field_is_refused() {
    assert!(AnswerParser::default().feed(b"C\0\0\0\x03", None).is_err());
}

#[test]
fn a_length_that_no_server_means_is_refused_before_any_of_it_is_awaited() {
    assert!(AnswerParser::default().feed(b"C\xff\xff\xff\xff", None).is_err());
    assert!(whole_message(b"R\x7f\xff\xff\xff").is_err());
}

#[test]
fn a_count_beyond_all_numbers_does_not_wrap() {
    let tag = [message(b'C', b"UPDATE 99999999999999999999999\0"), message(b'C', b"UPDATE 1\0"), message(b'Z', b"I")];
    let answer = Step::Done(Answer { affected: u64::MAX, ..Answer::default() });
    assert_eq!(AnswerParser::default().feed(&tag.concat(), None).unwrap().1, answer);
}

fn refused(request: Request, messages: &[(u8, &[u8])]) {
    let bytes: Vec<u8> = messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect();
    for with_rows in [false, true] {
        let mut ignore = |_: Part<'_>| {};
        let on_part = with_rows.then_some(&mut ignore as OnPart<'_>);
        let fed = AnswerParser::to_request(request).feed(&bytes, on_part);
        assert!(matches!(fed, Err(Error::Protocol(_))), "{request:?}: {messages:?} gave {fed:?}");
    }
}

#[test]
fn messages_of_another_kind_or_order_than_the_request_causes_are_refused() {
    use Request::{CopyEnd, Execute, Parse, Query};
    let ready: (u8, &[u8]) = (b'Z', b"I");
    let row: (u8, &[u8]) = (b'D', b"\0\0");
    for request in [Query, Parse, Execute, CopyEnd] {
        refused(request, &[ready]);
        refused(request, &[row]);
        refused(request, &[(b'R', &[0; 4])]);
        refused(request, &[(b'3', b"")]);
    }
    refused(Parse, &[(b'2', b""), ready]);
    refused(Execute, &[(b'1', b""), ready]);
    refused(Execute, &[(b'2', b""), ready]);
    refused(Execute, &[(b'2', b""), (b'2', b"")]);
    refused(Execute, &[(b'C', b"SELECT 1\0"), ready]);
    refused(Execute, &[(b'2', b""), (b'C', b"SELECT 1\0"), row]);
    refused(Execute, &[(b'2', b""), (b'C', b"SELECT 1\0"), (b'C', b"SELECT 1\0")]);
    refused(Query, &[(b'T', b"\0\0"), ready]);
    refused(Query, &[(b'E', b"SERROR\0C42601\0Mno\0\0"), (b'C', b"SELECT 1\0")]);
    refused(CopyEnd, &[(b'C', b"COPY 1\0"), (b'C', b"COPY 1\0")]);
}

#[test]
fn messages_of_another_length_than_their_kind_has_are_refused() {
    refused(Request::Parse, &[(b'1', b"x")]);
    refused(Request::Execute, &[(b'2', b"x")]);
    refused(Request::Query, &[(b'C', b"BEGIN")]);
    for status in [&b""[..], b"II", b"x"] {
        refused(Request::Query, &[(b'C', b"BEGIN\0"), (b'Z', status)]);
    }
}

#[test]
fn messages_that_may_come_at_any_time_are_passed_over() {
    let whole = select_answer();
    let mut at = 0;
    while let Some((.., size)) = whole_message(&whole[at..]).unwrap() {
        let notice = message(b'N', b"SNOTICE\0\0");
        let bytes = [&whole[..at], &notice, &whole[at..]].concat();
        assert_eq!(parse_cut_at(&bytes, 1).unwrap(), parse_cut_at(&whole, 1).unwrap());
        at += size;
    }
}

#[test]
fn a_warning_of_a_crash_ends_the_session() {
    let warning = message(b'N', b"SWARNING\0VWARNING\0C57P02\0Mterminating\0\0");
    for cut in 0..warning.len() {
        let ended = parse_cut_at(&warning, cut);
        assert_eq!(ended, Err(Error::farewell(Code::new(b"57P02"), "terminating")), "cut at {cut}");
    }
}

#[test]
fn an_error_behind_the_end_of_a_statement_is_that_of_its_commit() {
    let bytes = [
        message(b'2', b""),
        message(b'C', b"INSERT 0 1\0"),
        message(b'E', b"SERROR\0C40001\0Mno\0\0"),
        message(b'Z', b"I"),
    ];
    assert!(matches!(parse_cut_at(&bytes.concat(), 1), Err(Error::Retryable { .. })));
}

const READY: (u8, &[u8]) = (b'Z', b"I");
const BOUND: (u8, &[u8]) = (b'2', b"");

fn fed(parser: AnswerParser, messages: &[(u8, &[u8])]) -> Result<Step, Error> {
    let mut parser = parser;
    let bytes: Vec<u8> = messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect();
    parser.feed(&bytes, None).map(|(_, step)| step)
}

#[test]
fn the_answers_of_a_pipeline_are_one_sum() {
    let pipeline = || AnswerParser::to_request(Request::Pipeline);
    let row: (u8, &[u8]) = (b'D', b"\0\0");
    let sum = Answer { rows: 1, affected: 2, returns_rows: true, ..Answer::default() };
    let messages = [BOUND, row, (b'C', b"SELECT 1\0"), (b'1', b""), BOUND, (b'C', b"UPDATE 2\0"), READY];
    assert_eq!(fed(pipeline(), &messages), Ok(Step::Done(sum)));
    assert_eq!(fed(pipeline(), &[READY]), Ok(Step::Done(Answer::default())));
    let broken = [BOUND, (b'C', b"BEGIN\0"), (b'E', b"SERROR\0C40001\0Mno\0\0"), (b'Z', b"E")];
    assert_eq!(fed(pipeline(), &broken), Err(Error::Retryable { code: Code::new(b"40001") }));
    refused(Request::Pipeline, &[BOUND, BOUND]);
    refused(Request::Pipeline, &[row]);
}

#[test]
fn rows_are_described_where_that_was_asked_for() {
    let execute = || AnswerParser::to_request(Request::Execute).described(true);
    let messages = [BOUND, (b'T', b"\0\0"), (b'D', b"\0\0"), (b'C', b"SELECT 1\0"), READY];
    let answer = Answer { rows: 1, returns_rows: true, ..Answer::default() };
    assert_eq!(fed(execute(), &messages), Ok(Step::Done(answer)));
    assert_eq!(fed(execute(), &[BOUND, (b'n', b""), (b'C', b"BEGIN\0"), READY]), Ok(Step::Done(Answer::default())));
    refused(Request::Execute, &[BOUND, (b'T', b"\0\0")]);
}
