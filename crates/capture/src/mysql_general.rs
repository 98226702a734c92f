//! The general log of MySQL and MariaDB: what arrived, in the order of arrival, without durations.
//!
//! ```text
//! 2026-11-23T04:41:47.487135Z\t    9 Query\tselect 1        MySQL
//! 261123  4:41:18\t     9 Query\tselect 1                   MariaDB
//! \t\t     9 Query\tselect 2                                MariaDB, in the same second
//! ```
//!
//! A line that does not begin so belongs to the statement before it.

use std::collections::HashMap;

use crate::bytes::number_of;
use crate::event::{Act, Event, Found, Problem, Reader, What, line_of, read_entries, whole_line};
use crate::times;

pub struct GeneralLog {
    line: u64,
    offset_secs: i64,
    /// Of the last entry with a stamp.
    time_us: i64,
    is_coarse: bool,
    sessions: HashMap<u64, Session>,
}

#[derive(Debug, Default)]
struct Session {
    user: Vec<u8>,
    host: Vec<u8>,
    database: Vec<u8>,
    /// The last statement was `EXECUTE`: the inner one follows as an entry of its own.
    has_execute: bool,
}

struct Head {
    time_us: Option<(i64, bool)>,
    session: u64,
    act: Act,
    /// Its text is the name of a database.
    enters_database: bool,
    /// Length up to the text.
    length: usize,
}

/// What a command of the protocol does; none where it is no such command.
fn act_of(command: &[u8]) -> Option<Act> {
    Some(match command {
        b"Connect" => Act::Connect,
        b"Quit" => Act::Quit,
        b"Query" => Act::Statement,
        b"Prepare" => Act::Prepare,
        b"Execute" => Act::Execute,
        b"Close stmt" => Act::Close,
        b"Reset stmt" | b"Init DB" | b"Statistics" | b"Ping" | b"Field List" | b"Long Data" | b"Fetch"
        | b"Set option" | b"Change user" | b"Binlog Dump" | b"Binlog Dump GTID" | b"Register Slave"
        | b"Processlist" | b"Refresh" | b"Shutdown" | b"Reset Connection" => Act::Command,
        _ => return None,
    })
}

/// Whether a line begins an entry.
pub(crate) fn is_head(line: &[u8]) -> bool {
    head_of(line, 0).is_some()
}

fn head_of(line: &[u8], offset_secs: i64) -> Option<Head> {
    let (time_us, rest) = match line.first()? {
        b'\t' => (None, line.strip_prefix(b"\t\t")?),
        b'0'..=b'9' => {
            let long = times::long(line, offset_secs).map(|(time, rest)| ((time, false), rest));
            let (time, rest) =
                long.or_else(|| times::short(line, offset_secs).map(|(time, rest)| ((time, true), rest)))?;
            (Some(time), rest.strip_prefix(b"\t")?)
        }
        _ => return None,
    };
    let number = rest.trim_ascii_start();
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let session = number_of(&number[..digits])?;
    let command = number[digits..].strip_prefix(b" ")?;
    let end =
        command.iter().take(24).position(|byte| *byte == b'\t').or((command.len() < 24).then_some(command.len()))?;
    let name = command[..end].trim_ascii_end();
    let length = (line.len() - command.len() + end + 1).min(line.len());
    Some(Head { time_us, session, act: act_of(name)?, enters_database: name == b"Init DB", length })
}

impl GeneralLog {
    pub fn new(offset_secs: i64) -> GeneralLog {
        GeneralLog { line: 1, offset_secs, time_us: 0, is_coarse: false, sessions: HashMap::new() }
    }

    fn entry(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        let first = whole_line(input)?;
        let length = first.len() + 1;
        let Some(head) = head_of(first, self.offset_secs) else {
            self.no_entry(first, sink);
            return Some(length);
        };
        let mut end = length;
        while end < input.len() {
            let line = line_of(&input[end..], is_last)?;
            if head_of(line, 0).is_some() || line.ends_with(b"started with:") {
                break;
            }
            end = (end + line.len() + 1).min(input.len());
        }
        if end == input.len() && !is_last {
            return None;
        }
        self.hand_on(&head, input[head.length..end].strip_suffix(b"\n")?, sink);
        Some(end)
    }

    fn no_entry(&mut self, line: &[u8], sink: &mut dyn FnMut(Found<'_>)) {
        if line.ends_with(b"started with:") {
            self.sessions.clear();
            sink(Found::Event(Event { act: Act::Restart, line: self.line, ..Event::default() }));
        } else if !(line.is_empty() || line.starts_with(b"Tcp port:") || line.starts_with(b"Time")) {
            sink(Found::Problem(Problem { line: self.line, what: What::NoEntry }));
        }
    }

    fn hand_on(&mut self, head: &Head, text: &[u8], sink: &mut dyn FnMut(Found<'_>)) {
        if let Some((time_us, is_coarse)) = head.time_us {
            self.time_us = time_us;
            self.is_coarse = is_coarse;
        }
        let session = self.sessions.entry(head.session).or_default();
        let follows_execute = std::mem::take(&mut session.has_execute);
        let act = if head.act == Act::Execute && follows_execute { Act::Command } else { head.act };
        match act {
            Act::Connect => session.connect(text),
            Act::Statement => session.follow(text),
            Act::Command if head.enters_database => text.clone_into(&mut session.database),
            _ => {}
        }
        sink(Found::Event(Event {
            line: self.line,
            act,
            session: head.session,
            user: &session.user,
            host: &session.host,
            database: &session.database,
            start_us: self.time_us,
            logged_us: self.time_us,
            is_coarse: self.is_coarse,
            text: if act.is_statement() || act == Act::Prepare { text } else { b"" },
            ..Event::default()
        }));
        if act == Act::Quit {
            self.sessions.remove(&head.session);
        }
    }
}

impl Session {
    /// `u@host on db using TCP/IP`; of an old server without the end, and `Access denied …` where the login failed.
    fn connect(&mut self, text: &[u8]) {
        let mut words = text.split(|byte| *byte == b' ');
        let account = words.next().unwrap_or_default();
        let at = account.iter().rposition(|byte| *byte == b'@').unwrap_or(account.len());
        account[..at].clone_into(&mut self.user);
        account.get(at + 1..).unwrap_or_default().clone_into(&mut self.host);
        let database = words.skip_while(|word| *word != b"on").nth(1).filter(|word| *word != b"using");
        database.unwrap_or_default().clone_into(&mut self.database);
    }

    /// Keeps what a statement changes: the database, and that an execution follows.
    fn follow(&mut self, text: &[u8]) {
        let mut words = text.split(|byte| byte.is_ascii_whitespace() || *byte == b';').filter(|word| !word.is_empty());
        let Some(first) = words.next() else { return };
        self.has_execute = first.eq_ignore_ascii_case(b"execute");
        if first.eq_ignore_ascii_case(b"use")
            && let (Some(name), None) = (words.next(), words.next())
        {
            let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
            name.clone_into(&mut self.database);
        }
    }
}

impl Reader for GeneralLog {
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize {
        read_entries(self, input, is_last, sink, |log| &mut log.line, GeneralLog::entry)
    }
}
