//! Messages of PostgreSQL, from whichever format, put together to statements.
//!
//! One statement leaves several messages: with `log_statement` one at its start, with `log_duration` a duration after
//! it, with `log_min_duration_statement` one at its end; in the extended protocol parse, bind and execute apart. After
//! an error the line of the execution is missing: then the bind has the values.

use std::collections::HashMap;

use memchr::memmem;

use crate::bytes::number_of;
use crate::event::{Act, Code, Event, Found, Problem, What, hash_of};
use crate::times;

/// One message of a log, with texts that lie in it or are kept.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Message<T> {
    pub line: u64,
    pub time_us: i64,
    pub session: u64,
    /// The number of the message in its session.
    pub number: Option<u64>,
    pub code: Option<Code>,
    pub user: T,
    pub database: T,
    pub host: T,
    pub application: T,
    pub severity: T,
    pub message: T,
    pub detail: T,
    pub statement: T,
}

impl<T> Message<T> {
    /// The same with other texts.
    pub fn map<'a, U>(&'a self, text: impl Fn(&'a T) -> U) -> Message<U> {
        Message {
            line: self.line,
            time_us: self.time_us,
            session: self.session,
            number: self.number,
            code: self.code,
            user: text(&self.user),
            database: text(&self.database),
            host: text(&self.host),
            application: text(&self.application),
            severity: text(&self.severity),
            message: text(&self.message),
            detail: text(&self.detail),
            statement: text(&self.statement),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Statements {
    sessions: HashMap<u64, Session>,
}

#[derive(Debug, Default)]
struct Session {
    last_number: u64,
    state: State,
    line: u64,
    start_us: i64,
    act: Act,
    text: Vec<u8>,
    detail: Vec<u8>,
    user: Vec<u8>,
    database: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// A statement is logged whose end may follow.
    Started,
    /// A bind is logged, whose execution follows unless it fails.
    Bound,
}

/// What a message of severity LOG is about.
enum About<'a> {
    /// A statement, in which state it leaves its session, and how long that took.
    Statement {
        leaves: State,
        act: Act,
        text: &'a [u8],
        duration_us: u64,
    },
    Duration(u64),
    Connected,
    Disconnected,
    Nothing,
}

impl Statements {
    pub fn take(&mut self, message: &Message<&[u8]>, sink: &mut dyn FnMut(Found<'_>)) {
        let session = self.sessions.entry(message.session).or_default();
        if let Some(number) = message.number {
            let expected = session.last_number + 1;
            if session.last_number > 0 && number > expected {
                let what = What::Gap { missing: number - expected };
                sink(Found::Problem(Problem { line: message.line, what }));
            }
            session.last_number = number;
        }
        let is_fatal = matches!(message.severity, b"FATAL" | b"PANIC");
        if is_fatal || message.severity == b"ERROR" {
            session.error(message, sink);
        }
        if is_fatal || (message.severity == b"LOG" && session.log(message, sink)) {
            sink(Found::Event(Event { act: Act::Quit, text: b"", ..message.event() }));
            self.sessions.remove(&message.session);
        }
    }

    /// The statements whose end the log does not have.
    pub fn flush(&mut self, sink: &mut dyn FnMut(Found<'_>)) {
        let mut open: Vec<(u64, Session)> = self.sessions.drain().collect();
        open.sort_by_key(|(_, session)| (session.start_us, session.line));
        for (number, mut session) in open {
            let (user, database) = (std::mem::take(&mut session.user), std::mem::take(&mut session.database));
            let time_us = session.start_us;
            let message =
                Message { session: number, user: &user[..], database: &database[..], time_us, ..Message::default() };
            session.close(&message, None, None, sink);
        }
    }
}

impl Session {
    /// Whether the session ends with it.
    fn log(&mut self, message: &Message<&[u8]>, sink: &mut dyn FnMut(Found<'_>)) -> bool {
        match about(message.message) {
            About::Statement { leaves, act, text, duration_us } => {
                self.close(message, None, None, sink);
                let start_us = message.time_us - duration_us as i64;
                if leaves != State::Idle {
                    self.open(leaves, act, text, start_us, message);
                    return false;
                }
                let event = Event { act, text, start_us, duration_us: Some(duration_us), ..message.event() };
                sink(Found::Event(with_detail(event, message.detail)));
            }
            About::Duration(duration_us) => {
                if self.state == State::Started {
                    self.close(message, Some(duration_us), None, sink);
                }
            }
            About::Connected => sink(Found::Event(Event { act: Act::Connect, ..message.event() })),
            About::Disconnected => {
                self.close(message, None, None, sink);
                return true;
            }
            About::Nothing => {}
        }
        false
    }

    fn error(&mut self, message: &Message<&[u8]>, sink: &mut dyn FnMut(Found<'_>)) {
        let code = Some(message.code.unwrap_or(Code::UNKNOWN));
        if self.state != State::Idle && self.text == message.statement {
            self.state = State::Started;
            self.close(message, None, code, sink);
        } else if !message.statement.is_empty() {
            self.close(message, None, None, sink);
            sink(Found::Event(Event { text: message.statement, error: code, ..message.event() }));
        }
    }

    fn open(&mut self, state: State, act: Act, text: &[u8], start_us: i64, message: &Message<&[u8]>) {
        self.state = state;
        self.act = act;
        self.start_us = start_us;
        self.line = message.line;
        text.clone_into(&mut self.text);
        message.detail.clone_into(&mut self.detail);
        message.user.clone_into(&mut self.user);
        message.database.clone_into(&mut self.database);
    }

    /// Hands on the statement that was started; a bind without an error has its execution elsewhere.
    fn close(
        &mut self,
        message: &Message<&[u8]>,
        duration_us: Option<u64>,
        error: Option<Code>,
        sink: &mut dyn FnMut(Found<'_>),
    ) {
        if std::mem::take(&mut self.state) != State::Started {
            return;
        }
        let event = Event {
            line: self.line,
            act: self.act,
            start_us: self.start_us,
            duration_us,
            text: &self.text,
            error,
            ..message.event()
        };
        sink(Found::Event(with_detail(event, &self.detail)));
    }
}

impl<'a> Message<&'a [u8]> {
    /// Of the fields of csvlog and jsonlog: time, user, database, host, session, number, severity, code, message, detail,
    /// statement and application. None without a time.
    pub fn of(line: u64, offset_secs: i64, fields: [&'a [u8]; 12]) -> Option<Message<&'a [u8]>> {
        let [time, user, database, host, session, number, severity, code, message, detail, statement, application] =
            fields;
        Some(Message {
            line,
            time_us: times::long(time, offset_secs)?.0,
            session: hash_of(session),
            number: number_of(number),
            code: (!code.is_empty()).then(|| Code::of(code)),
            user,
            database,
            host,
            application,
            severity,
            message,
            detail,
            statement,
        })
    }

    fn event(&self) -> Event<'a> {
        Event {
            line: self.line,
            session: self.session,
            user: self.user,
            host: self.host,
            application: self.application,
            database: self.database,
            start_us: self.time_us,
            logged_us: self.time_us,
            ..Event::default()
        }
    }
}

fn with_detail<'a>(event: Event<'a>, detail: &'a [u8]) -> Event<'a> {
    match detail.split_at_checked(DETAIL.len()) {
        Some((head, list)) if head.eq_ignore_ascii_case(DETAIL) => Event { parameters: list, ..event },
        _ => Event { prepared_as: detail.strip_prefix(b"prepare: ").unwrap_or_default(), ..event },
    }
}

const DETAIL: &[u8] = b"parameters: ";

fn about(message: &[u8]) -> About<'_> {
    if let Some(rest) = message.strip_prefix(b"duration: ") {
        let Some((duration_us, rest)) = times::millis_us(rest) else { return About::Nothing };
        let Some(rest) = rest.strip_prefix(b" ms") else { return About::Nothing };
        let Some(rest) = rest.strip_prefix(b"  ") else { return About::Duration(duration_us) };
        return match rest.strip_prefix(b"bind ") {
            Some(bind) => statement(named(bind), State::Bound, duration_us),
            None => statement(phase(rest), State::Idle, duration_us),
        };
    }
    if message.starts_with(b"connection authorized: ") {
        return About::Connected;
    }
    if message.starts_with(b"disconnection: ") {
        return About::Disconnected;
    }
    statement(phase(message), State::Started, 0)
}

fn statement(phase: Option<(Act, &[u8])>, leaves: State, duration_us: u64) -> About<'_> {
    match phase {
        Some((Act::Command, _)) | None => About::Nothing,
        Some((act, text)) => About::Statement { leaves, act, text, duration_us },
    }
}

/// `statement: TEXT` or `execute NAME: TEXT`; fetching more rows of a portal is no execution.
fn phase(message: &[u8]) -> Option<(Act, &[u8])> {
    if let Some(text) = message.strip_prefix(b"statement: ") {
        return Some((Act::Statement, text));
    }
    named(message.strip_prefix(b"execute ")?)
}

/// `NAME: TEXT`
fn named(text: &[u8]) -> Option<(Act, &[u8])> {
    Some((act_of(text), &text[memmem::find(text, b": ")? + 2..]))
}

/// By what follows the word `execute` or `bind`.
fn act_of(named: &[u8]) -> Act {
    if named.starts_with(b"fetch from ") {
        Act::Command
    } else if named.starts_with(b"<unnamed>") {
        Act::ExecuteUnnamed
    } else {
        Act::Execute
    }
}

/// The values of `$1 = '…', $2 = NULL`, in their order. None where the list is not one.
pub fn parameters(list: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut values = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let name = format!("${} = ", values.len() + 1);
        rest = rest.strip_prefix(name.as_bytes())?;
        let (value, behind) = value(rest)?;
        values.push(value);
        rest = if behind.is_empty() { behind } else { behind.strip_prefix(b", ")? };
    }
    Some(values)
}

fn value(text: &[u8]) -> Option<(Option<Vec<u8>>, &[u8])> {
    if let Some(behind) = text.strip_prefix(b"NULL") {
        return Some((None, behind));
    }
    let mut rest = text.strip_prefix(b"'")?;
    let mut value = Vec::new();
    loop {
        let quote = memchr::memchr(b'\'', rest)?;
        value.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix(b"'") {
            Some(behind) => {
                value.push(b'\'');
                rest = behind;
            }
            None => return Some((Some(value), rest)),
        }
    }
}

/// Whether one of the values may be cut: it has as many characters as the server logs at most, and `...` after them.
pub fn has_cut_value(list: &[u8], length_max: usize) -> bool {
    let is_cut = |value: &Vec<u8>| {
        let characters = value.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        value.ends_with(b"...") && characters == length_max + 3
    };
    parameters(list).is_some_and(|values| values.iter().flatten().any(is_cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_doubled_quotes_line_ends_and_nulls() {
        let found = parameters(b"$1 = 'q''uo\nte', $2 = NULL, $3 = ''").unwrap();
        assert_eq!(found, [Some(b"q'uo\nte".to_vec()), None, Some(Vec::new())]);
        assert_eq!(parameters(b""), Some(Vec::new()));
        assert_eq!(parameters(b"$1 = 'open"), None);
    }

    #[test]
    fn a_value_is_cut_where_it_has_the_length_of_the_setting() {
        assert!(has_cut_value(b"$1 = 'AAAA...'", 4));
        assert!(!has_cut_value(b"$1 = 'AAA...'", 4));
        assert!(has_cut_value("$1 = 'äöü...'".as_bytes(), 3));
    }

    /// Messages of one session, a microsecond apart, as what comes out: text, duration, error, parameters.
    fn check(messages: &[(&str, &str, &str, &str)], expected: &[(&str, Option<u64>, bool, &str)]) {
        let mut statements = Statements::default();
        let mut found = Vec::new();
        let mut sink = |one: Found<'_>| {
            let Found::Event(event) = one else { panic!("{one:?}") };
            if event.act.is_statement() {
                let text = String::from_utf8_lossy(event.text).into_owned();
                let parameters = String::from_utf8_lossy(event.parameters).into_owned();
                found.push((text, event.duration_us, event.error.is_some(), parameters));
            }
        };
        for (number, (severity, message, detail, statement)) in messages.iter().enumerate() {
            let [severity, message, detail, statement] =
                [severity, message, detail, statement].map(|text| text.as_bytes());
            let time_us = number as i64;
            statements
                .take(&Message { severity, message, detail, statement, time_us, ..Message::default() }, &mut sink);
        }
        statements.flush(&mut sink);
        let found: Vec<_> =
            found.iter().map(|(text, us, error, list)| (text.as_str(), *us, *error, list.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_duration_completes_the_statement_before_it() {
        check(
            &[("LOG", "statement: select 1", "", ""), ("LOG", "duration: 0.083 ms", "", "")],
            &[("select 1", Some(83), false, "")],
        );
        check(
            &[("LOG", "statement: select 1", "", ""), ("LOG", "statement: select 2", "", "")],
            &[("select 1", None, false, ""), ("select 2", None, false, "")],
        );
    }

    #[test]
    fn the_execution_of_the_extended_protocol_counts_and_not_its_bind() {
        let list = "parameters: $1 = '5'";
        check(
            &[
                ("LOG", "duration: 0.1 ms  parse <unnamed>: select $1", "", ""),
                ("LOG", "duration: 0.2 ms  bind <unnamed>: select $1", list, ""),
                ("LOG", "duration: 0.3 ms  execute <unnamed>: select $1", list, ""),
                ("LOG", "duration: 0.3 ms  execute fetch from c1: select $1", list, ""),
            ],
            &[("select $1", Some(300), false, "$1 = '5'")],
        );
    }

    #[test]
    fn a_statement_without_a_name_is_distinguished_from_a_prepared_one() {
        let cases = [
            ("statement: x", Act::Statement),
            ("execute s1: x", Act::Execute),
            ("execute s1/c1: x", Act::Execute),
            ("execute <unnamed>: x", Act::ExecuteUnnamed),
            ("execute fetch from c1: x", Act::Command),
        ];
        cases
            .iter()
            .for_each(|(message, act)| assert_eq!(phase(message.as_bytes()), Some((*act, &b"x"[..])), "{message}"));
    }

    #[test]
    fn a_failed_execution_has_the_values_of_its_bind() {
        check(
            &[
                ("LOG", "duration: 0.2 ms  bind s: select 1/$1", "parameters: $1 = '0'", ""),
                ("ERROR", "division by zero", "", "select 1/$1"),
            ],
            &[("select 1/$1", None, true, "$1 = '0'")],
        );
    }

    #[test]
    fn an_error_without_a_statement_line_is_a_statement() {
        check(&[("ERROR", "syntax error", "", "selec 1")], &[("selec 1", None, true, "")]);
        check(
            &[("LOG", "statement: select 1/0", "", ""), ("ERROR", "division by zero", "", "select 1/0")],
            &[("select 1/0", None, true, "")],
        );
    }
}
