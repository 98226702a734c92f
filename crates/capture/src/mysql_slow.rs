//! The slow log of MySQL, MariaDB and Percona Server.
//!
//! An entry is header lines that begin with `#`, `use db;` where the database changed since the last entry of the file,
//! `SET timestamp=N;`, and the statement as the client sent it, ended by `;` and a line end:
//!
//! ```text
//! # Time: 2026-11-23T04:41:47.487186Z
//! # User@Host: u[u] @ localhost [127.0.0.1]  Id:     9
//! # Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
//! SET timestamp=1795408907;
//! select 1;
//! ```
//!
//! A statement may hold lines that read like a header. So an entry ends only outside of quotes and before a whole
//! header, a banner or the end of the file.

use memchr::{memchr, memchr_iter, memmem};

use crate::bytes::number_of;
use crate::event::{Act, Code, Event, Found, Problem, Reader, What, line_of, lines_in, read_entries, whole_line};
use crate::modes::Modes;
use crate::times;
use crate::tokens::{Dialect, Inside, Scan};

pub struct SlowLog {
    line: u64,
    modes: Modes,
    /// The database of the last `use` in the file.
    database: Vec<u8>,
    /// What is no entry is left out up to the next header.
    is_skipping: bool,
}

/// What the lines before a statement hold.
#[derive(Debug, Default)]
struct Header<'a> {
    time_us: Option<i64>,
    start_us: Option<i64>,
    set_timestamp_us: Option<i64>,
    schema: Option<&'a [u8]>,
    used: Option<&'a [u8]>,
    bytes_received: usize,
    /// What is handed on as it is read.
    event: Event<'a>,
}

/// How a statement ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The statement without its `;`, and the entry with it.
    Whole {
        text: usize,
        entry: usize,
    },
    Broken {
        at: usize,
        entry: usize,
        what: What,
    },
}

impl SlowLog {
    pub fn new(dialect: Dialect) -> SlowLog {
        SlowLog { line: 1, modes: Modes::new(dialect), database: Vec::new(), is_skipping: false }
    }

    fn entry(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        if self.is_skipping {
            return self.skip(input, is_last);
        }
        let line = whole_line(input)?;
        let problem = |what| Found::Problem(Problem { line: self.line, what });
        if line.is_empty() || line == b"\r" {
            return Some(line.len() + 1);
        }
        if is_banner(line) {
            return self.banner(input, is_last, sink);
        }
        if !line.starts_with(b"# ") {
            sink(problem(What::NoEntry));
            self.is_skipping = true;
            return Some(line.len());
        }
        let (header, length) = read_header(input, is_last)?;
        if header.event.duration_us.is_none() {
            sink(problem(if length == input.len() { What::CutAtEnd } else { What::NoEntry }));
            self.is_skipping = true;
            return Some(length.max(line.len() + 1) - 1);
        }
        self.statement(header, input, length, is_last, sink).map(|entry| length + entry)
    }

    /// Finds the next line that begins a header.
    fn skip(&mut self, input: &[u8], is_last: bool) -> Option<usize> {
        let heads = [&b"\n# Time: "[..], b"\n# User@Host: "];
        let found = heads.into_iter().filter_map(|head| memmem::find(input, head)).min();
        self.is_skipping = found.is_none();
        match found {
            Some(at) => Some(at + 1),
            None if is_last => Some(input.len()),
            // The begin of such a line may be at the end.
            None => input.len().checked_sub(heads[1].len()).filter(|length| *length > 0),
        }
    }

    fn banner(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        let mut length = 0;
        for head in [&b""[..], b"Tcp port:", b"Time"] {
            let line = line_of(&input[length.min(input.len())..], is_last)?;
            if line.starts_with(head) {
                length += line.len() + 1;
            }
        }
        self.database.clear();
        self.modes.note(Act::Restart, 0, b"");
        sink(Found::Event(Event { act: Act::Restart, line: self.line, ..Event::default() }));
        Some(length.min(input.len()))
    }

    fn statement(
        &mut self,
        header: Header<'_>,
        input: &[u8],
        length: usize,
        is_last: bool,
        sink: &mut dyn FnMut(Found<'_>),
    ) -> Option<usize> {
        let dialect = self.modes.of_session(header.event.session);
        let rest = &input[length..];
        match end_of(rest, is_last, dialect, header.bytes_received)? {
            End::Broken { at, entry, what } => {
                let line = self.line + lines_in(&input[..length + at]);
                sink(Found::Problem(Problem { line, what }));
                Some(entry)
            }
            End::Whole { text, entry } => {
                self.hand_on(header, &rest[..text], sink);
                Some(entry)
            }
        }
    }

    fn hand_on(&mut self, header: Header<'_>, text: &[u8], sink: &mut dyn FnMut(Found<'_>)) {
        if let Some(used) = header.used {
            self.database.clear();
            self.database.extend_from_slice(used);
        }
        let duration_us = header.event.duration_us.unwrap_or(0);
        let fine = header.start_us.or(header.time_us.map(|end_us| end_us - duration_us as i64));
        let start_us = fine.or(header.set_timestamp_us).unwrap_or(0);
        let act = act_of(text);
        self.modes.note(act, header.event.session, text);
        let is_statement = act == Act::Statement;
        sink(Found::Event(Event {
            line: self.line,
            act,
            database: header.schema.unwrap_or(&self.database),
            start_us,
            logged_us: start_us + duration_us as i64,
            is_coarse: fine.is_none(),
            text: if is_statement { text } else { b"" },
            // A command of MySQL has the rows of the statement before it.
            rows_sent: header.event.rows_sent.filter(|_| is_statement),
            ..header.event
        }));
    }
}

impl Reader for SlowLog {
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize {
        read_entries(self, input, is_last, sink, |log| &mut log.line, SlowLog::entry)
    }
}

fn is_banner(line: &[u8]) -> bool {
    line.ends_with(b"started with:") && memmem::find(line, b", Version: ").is_some()
}

fn act_of(text: &[u8]) -> Act {
    let Some(command) = text.strip_prefix(ADMINISTRATOR) else { return Act::Statement };
    match command {
        b"Quit" => Act::Quit,
        b"Connect" => Act::Connect,
        b"Prepare" => Act::Prepare,
        b"Close stmt" => Act::Close,
        _ => Act::Command,
    }
}

const ADMINISTRATOR: &[u8] = b"# administrator command: ";

/// The lines up to the statement, and their length.
fn read_header(input: &[u8], is_last: bool) -> Option<(Header<'_>, usize)> {
    let mut header = Header::default();
    let mut at = 0;
    loop {
        let line = line_of(&input[at..], is_last)?;
        let is_next = at > 0
            && (line.starts_with(b"# Time: ") || (line.starts_with(b"# User@Host: ") && !header.event.user.is_empty()));
        if !line.starts_with(b"#") || line.starts_with(ADMINISTRATOR) || (is_next && header.event.duration_us.is_some())
        {
            break;
        }
        header.read_line(line);
        at = (at + line.len() + 1).min(input.len());
    }
    for _ in 0..2 {
        let line = line_of(&input[at..], is_last)?;
        let length = (line.len() + 1).min(input.len() - at);
        if let Some(used) = line.strip_prefix(b"use ").and_then(|rest| rest.strip_suffix(b";")) {
            // Only before the time stamp: a client's own `use` comes after it.
            let next = line_of(&input[at + length..], is_last)?;
            let is_cut = input.len() == at + length;
            if set_timestamp_us(next).is_none() && !is_cut {
                break;
            }
            header.used = Some(used);
            at += length;
        } else if let Some(stamp) = set_timestamp_us(line) {
            header.set_timestamp_us = Some(stamp);
            at += length;
            break;
        }
    }
    // Whether a statement follows is not seen yet.
    (at < input.len() || is_last).then_some((header, at))
}

/// `SET timestamp=N;`, with `last_insert_id=…,insert_id=…,` before the stamp where the statement had them.
fn set_timestamp_us(line: &[u8]) -> Option<i64> {
    let stamp = line.strip_prefix(b"SET ")?.strip_suffix(b";")?;
    let at = memmem::find(stamp, b"timestamp=")?;
    let before = &stamp[..at];
    if !(before.is_empty() || before.starts_with(b"last_insert_id=") || before.starts_with(b"insert_id=")) {
        return None;
    }
    times::secs_us(&stamp[at + 10..]).map(|micros| micros as i64)
}

impl<'a> Header<'a> {
    fn read_line(&mut self, line: &'a [u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(time) = line.strip_prefix(b"# Time: ") {
            self.time_us = times::long(time, 0).map(|(time, _)| time);
        } else if let Some(account) = line.strip_prefix(b"# User@Host: ") {
            self.read_account(account);
        } else if !line.starts_with(b"# explain:") {
            self.read_pairs(line.strip_prefix(b"# ").unwrap_or(line));
        }
    }

    /// `u[u] @ localhost [127.0.0.1]  Id:     9`
    fn read_account(&mut self, account: &'a [u8]) {
        // What stands before a mark, and behind it.
        let parted = |text: &'a [u8], at: Option<usize>, mark: &[u8]| match at {
            Some(at) => (&text[..at], &text[at + mark.len()..]),
            None => (text, &b""[..]),
        };
        let (account, id) = parted(account, memmem::rfind(account, b"  Id:"), b"  Id:");
        self.event.session = number_of(id.trim_ascii()).unwrap_or(self.event.session);
        let (user, host) = parted(account, memmem::find(account, b" @ "), b" @ ");
        self.event.user = parted(user, memchr(b'[', user), b"[").0;
        let (name, address) = parted(host, memchr(b'[', host), b"[");
        let address = address.strip_suffix(b"]").unwrap_or(address);
        self.event.host = if name.trim_ascii().is_empty() { address } else { name.trim_ascii() };
    }

    /// `Key: value  Key: value`; a value may be empty.
    fn read_pairs(&mut self, line: &'a [u8]) {
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            let Some(key) = word.strip_suffix(b":") else { continue };
            let value = words.next_if(|value| !value.ends_with(b":")).unwrap_or_default();
            self.read_pair(key, value);
        }
    }

    fn read_pair(&mut self, key: &[u8], value: &'a [u8]) {
        match key {
            b"Query_time" => self.event.duration_us = times::secs_us(value),
            b"Rows_sent" => self.event.rows_sent = number_of(value),
            b"Rows_affected" => self.event.rows_affected = number_of(value),
            b"Thread_id" | b"Id" => self.event.session = number_of(value).unwrap_or(self.event.session),
            b"Schema" => self.schema = Some(value),
            b"Errno" | b"Last_errno" if value != b"0" => self.event.error = Some(Code::of(value)),
            b"Bytes_received" => self.bytes_received = number_of(value).unwrap_or(0),
            b"Start" => self.start_us = times::long(value, 0).map(|(start, _)| start),
            _ => {}
        }
    }
}

/// Finds the end of a statement that `text` begins with; none where that needs more.
fn end_of(text: &[u8], is_last: bool, dialect: Dialect, bytes_received: usize) -> Option<End> {
    let cut = End::Broken { at: 0, entry: text.len(), what: What::CutAtEnd };
    if text.starts_with(ADMINISTRATOR) {
        return match whole_line(text) {
            Some(line) => {
                Some(End::Whole { text: line.strip_suffix(b";").unwrap_or(line).len(), entry: line.len() + 1 })
            }
            None => is_last.then_some(cut),
        };
    }
    // A text statement has five bytes less than its packet.
    let sent = bytes_received.wrapping_sub(5);
    if sent > 0 && text.get(sent..sent.saturating_add(2)) == Some(b";\n") {
        match follows(&text[sent + 2..], is_last)? {
            Follows::Nothing => {}
            _ => return Some(End::Whole { text: sent, entry: sent + 2 }),
        }
    }
    let mut scan = Scan::new(dialect);
    for at in memchr_iter(b'\n', text) {
        let found = follows(&text[at + 1..], is_last)?;
        if found == Follows::Nothing {
            continue;
        }
        let is_terminated = at > 0 && text[at - 1] == b';';
        let (opened, what) = match scan.to(text, at) {
            Inside::Nothing | Inside::LineComment if is_terminated => {
                return Some(End::Whole { text: at - 1, entry: at + 1 });
            }
            _ if found == Follows::CutHeader => continue,
            Inside::Nothing | Inside::LineComment => (0, What::CutEntry),
            Inside::Quote { opened } => (opened, What::OpenQuote),
            Inside::Comment { opened } => (opened, What::OpenComment),
        };
        let what = if found == Follows::End { What::CutAtEnd } else { what };
        return Some(End::Broken { at: opened, entry: at + 1, what });
    }
    is_last.then_some(cut)
}

/// What stands behind a line end, as far as the bytes show it.
#[derive(Debug, PartialEq, Eq)]
enum Follows {
    /// A whole header or a banner.
    Header,
    /// The file ends in what may be a header.
    CutHeader,
    End,
    Nothing,
}

/// None where more bytes are needed to see it.
fn follows(text: &[u8], is_last: bool) -> Option<Follows> {
    match text.first() {
        None => is_last.then_some(Follows::End),
        Some(b'#') => header_follows(text, is_last),
        Some(b'/' | b'A'..=b'Z') => banner_follows(text, is_last),
        Some(_) => Some(Follows::Nothing),
    }
}

/// The lines of a header in their order: `# Time:` or `# User@Host:`, more `#` lines with `# Query_time:` among them,
/// then `use` or `SET`. At the end of a file it may be cut.
fn header_follows(text: &[u8], is_last: bool) -> Option<Follows> {
    let heads = [&b"# Time: "[..], b"# User@Host: "];
    if !heads.iter().any(|head| text.starts_with(head) || (head.starts_with(text) && text.len() < head.len())) {
        return Some(Follows::Nothing);
    }
    let (mut at, mut has_account, mut has_time) = (0, false, false);
    while let Some(length) = memchr(b'\n', &text[at..]) {
        let line = &text[at..at + length];
        has_account |= line.starts_with(b"# User@Host: ");
        has_time |= has_account && line.starts_with(b"# Query_time: ");
        if !line.starts_with(b"#") {
            let is_whole = has_time && (line.starts_with(b"use ") || line.starts_with(b"SET "));
            return Some(if is_whole { Follows::Header } else { Follows::Nothing });
        }
        at += length + 1;
    }
    is_last.then_some(Follows::CutHeader)
}

fn banner_follows(text: &[u8], is_last: bool) -> Option<Follows> {
    match memchr(b'\n', &text[..text.len().min(BANNER_MAX)]) {
        Some(length) if !is_banner(&text[..length]) => Some(Follows::Nothing),
        Some(length) if text[length + 1..].starts_with(b"Tcp port:") => Some(Follows::Header),
        Some(length) if text.len() < length + 10 && !is_last => None,
        None if text.len() < BANNER_MAX && !is_last => None,
        Some(_) | None => Some(Follows::Nothing),
    }
}

const BANNER_MAX: usize = 1024;
