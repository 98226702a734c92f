//! What must hold for any bytes a server may send, right or wrong.
//!
//! Each property takes arbitrary bytes; the fuzz targets and the test with mutated transcripts feed
//! the same ones. None may panic, use up more than it was given, or understand the same bytes
//! differently when they come in pieces.

use driver::mysql::packet::{self, Greeting};
use driver::{Answer, Error, OnPart, Part, Rows, mysql, postgres};

/// What became of one answer: how it ended, and the rows that were handed over.
type Understood = (Result<Ended, Error>, Vec<Vec<u8>>);

#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The bytes ended first.
    Cut,
    Done(Answer),
    /// The server asked for rows or for a file.
    WantsMore,
}

/// One call of a parser: bytes used up, and the end, if this was one.
type Fed = Result<(usize, Ended), Error>;

/// Feeds `data` in pieces of `piece` bytes, as a socket may deliver them.
fn feed_in_pieces(data: &[u8], piece: usize, mut feed: impl FnMut(&[u8], &mut Vec<Vec<u8>>) -> Fed) -> Understood {
    let mut rows = Vec::new();
    let mut start = 0;
    let mut end = 0;
    while end < data.len() {
        end = (end + piece).min(data.len());
        let unread = &data[start..end];
        match feed(unread, &mut rows) {
            Ok((consumed, ended)) => {
                assert!(consumed <= unread.len(), "{consumed} bytes of {} were used up", unread.len());
                start += consumed;
                if ended != Ended::Cut {
                    return (Ok(ended), rows);
                }
            }
            Err(error) => return (Err(error), rows),
        }
    }
    (Ok(Ended::Cut), rows)
}

/// The first byte sets how long the pieces are and whether rows are wanted; the rest is the answer.
fn same_in_pieces(data: &[u8], understand: impl Fn(&[u8], usize, bool) -> Understood) {
    let Some((choice, answer)) = data.split_first() else { return };
    let (piece, with_rows) = (usize::from(choice >> 1) + 1, choice & 1 == 1);
    let whole = understand(answer, usize::MAX / 2, with_rows);
    let pieces = understand(answer, piece, with_rows);
    assert_eq!(whole, pieces, "in pieces of {piece} bytes");
}

pub fn mysql_answer(data: &[u8]) {
    // Numbers that are right are rare in what is drawn, so most of it is read without them.
    mysql_answer_by(data, packet::AnswerParser::default);
    mysql_answer_by(data, || packet::AnswerParser::default().unnumbered());
    mysql_answer_by(data, || packet::AnswerParser::to_request(0, true).unnumbered());
}

fn mysql_answer_by(data: &[u8], parser: fn() -> packet::AnswerParser) {
    same_in_pieces(data, |answer, piece, with_rows| {
        let mut parser = parser();
        feed_in_pieces(answer, piece, |unread, rows| {
            let mut keep = |part: Part<'_>| rows.extend(row_of(part));
            let on_part = with_rows.then_some(&mut keep as OnPart<'_>);
            parser.feed(unread, on_part).map(|(consumed, step)| {
                let ended = match step {
                    mysql::packet::Step::More => Ended::Cut,
                    mysql::packet::Step::Done(answer) => Ended::Done(answer),
                };
                (consumed, ended)
            })
        })
    });
}

fn row_of(part: Part<'_>) -> Option<Vec<u8>> {
    match part {
        Part::Row(row) => Some(row.to_vec()),
        Part::Result | Part::Column(_) | Part::Columns(_) => None,
    }
}

/// The values of an answer, binary and as text: read wherever they can be, and never beyond their row.
pub fn mysql_values(data: &[u8]) {
    let Some((choice, answer)) = data.split_first() else { return };
    let mut rows = Rows::default();
    let mut take = |part: Part<'_>| drop(rows.take_mysql(part, choice & 1 == 1));
    let _ = packet::AnswerParser::default().unnumbered().feed(answer, Some(&mut take));
    for row in 0..rows.len() {
        rows.cell(row, 0);
        let _ = rows.decimal(row, 0, 2);
    }
}

/// The greeting comes as a payload already.
pub fn mysql_greeting(data: &[u8]) {
    if let Ok(greeting) = Greeting::parse(data) {
        assert_eq!(greeting.scramble.len(), 20, "every scramble has 20 bytes");
    }
    if let Some((payload, _, size)) = packet::whole_packet(data) {
        assert!(size <= data.len() && payload.len() < size);
    }
}

pub fn mysql_text_row(data: &[u8]) {
    if let Ok(columns) = packet::text_row(data) {
        assert!(columns.len() <= data.len(), "every column takes a byte at least");
    }
}

pub fn postgres_answer(data: &[u8]) {
    use postgres::message::Request;
    for request in [Request::Query, Request::Parse, Request::Execute, Request::CopyEnd] {
        postgres_answer_to(request, data);
    }
}

fn postgres_answer_to(request: postgres::message::Request, data: &[u8]) {
    same_in_pieces(data, |answer, piece, with_rows| {
        let mut parser = postgres::message::AnswerParser::to_request(request);
        feed_in_pieces(answer, piece, |unread, rows| {
            let mut keep = |part: Part<'_>| rows.extend(row_of(part));
            let on_part = with_rows.then_some(&mut keep as OnPart<'_>);
            parser.feed(unread, on_part).map(|(consumed, step)| {
                let ended = match step {
                    postgres::message::Step::More => Ended::Cut,
                    postgres::message::Step::Done(answer) => Ended::Done(answer),
                    postgres::message::Step::WantsRows => Ended::WantsMore,
                };
                (consumed, ended)
            })
        })
    });
}

pub fn postgres_text_row(data: &[u8]) {
    if let Ok(columns) = postgres::message::text_row(data) {
        let announced = usize::from(u16::from_be_bytes([data[0], data[1]]));
        assert_eq!(columns.len(), announced, "as many columns as the row has");
    }
}
