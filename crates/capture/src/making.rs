//! A capture is made of logs: sessions numbered, transactions found, records sorted, what is not replayed counted.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::contents::Contents;
use crate::digests::Digests;
use crate::event::{Act, Event};
use crate::file::Writer;
use crate::format::Format;
use crate::input::{Options, Refused, read_logs};
use crate::instance::Instance;
use crate::kinds::Skipped;
use crate::pg_message::has_cut_value;
use crate::prepared::Prepared;
use crate::sessions::{Effect, Sessions, effect_of};
use crate::sort::Sorter;
use crate::tokens::Dialect;

/// How a capture is made.
#[derive(Debug, Clone)]
pub struct Making {
    pub options: Options,
    /// Bytes of records that are held in memory, besides a few MiB.
    pub memory: usize,
    /// Where runs of the sort lie meanwhile.
    pub work: PathBuf,
    /// `log_parameter_max_length` of the log's server: longer values are cut.
    pub parameter_length_max: Option<usize>,
}

/// Reads logs and writes a capture; gives its size in bytes, and what it holds.
pub fn capture(logs: &[PathBuf], out: &Path, making: &Making) -> Result<(u64, Contents), Refused> {
    let mut writer = Writer::create(out)?;
    let mut maker = Maker::new(making);
    let mut failed = None;
    let summary = read_logs(logs, &making.options, &mut |event, format, dialect| {
        if failed.is_none() {
            failed = maker.take(event, format, dialect).err();
        }
    })?;
    failed.map_or(Ok(()), |cause| Err(Refused::Unwritable { path: making.work.clone(), cause }))?;
    let Maker { sorter, digests, mut contents, sessions, mut calls, .. } = maker;
    sorter
        .finish(|record| {
            let start_us = calls.check(record, &mut contents);
            start_us.map_or(Ok(()), |start_us| writer.add(start_us, record))
        })
        .map_err(|cause| Refused::Unwritable { path: out.to_owned(), cause })?;
    contents.sessions = sessions.count;
    contents.most_sessions = sessions.most_at_once;
    contents.connects = sessions.connects;
    contents.add(&summary);
    let bytes = writer.finish(&digests.rows, &contents)?;
    Ok((bytes, contents))
}

struct Maker {
    sorter: Sorter,
    digests: Digests,
    /// Of each digest.
    effects: Vec<Effect>,
    sessions: Sessions,
    prepared: Prepared,
    contents: Contents,
    parameter_length_max: Option<usize>,
    calls: Calls,
}

impl Maker {
    fn new(making: &Making) -> Maker {
        Maker {
            sorter: Sorter::new(&making.work, making.memory),
            digests: Digests::new(making.options.merge_numbered_names),
            effects: Vec::new(),
            sessions: Sessions::default(),
            prepared: Prepared::default(),
            contents: Contents { first_us: i64::MAX, last_us: i64::MIN, ..Contents::default() },
            parameter_length_max: making.parameter_length_max,
            calls: Calls::default(),
        }
    }

    fn take(&mut self, event: &Event<'_>, format: Format, dialect: Dialect) -> io::Result<()> {
        self.prepared.note(event, dialect, self.digests.merge_numbered_names);
        if event.act == Act::Quit && !self.sessions.open.contains_key(&event.session) {
            return Ok(());
        }
        let Some((session, is_new)) = self.sessions.of(event) else { return Ok(()) };
        let begin = Event {
            act: Act::Connect,
            session: session.number,
            start_us: event.start_us,
            database: event.database,
            user: event.user,
            host: event.host,
            application: event.application,
            line: event.line,
            file: event.file,
            ..Event::default()
        };
        if is_new {
            session.start(event.start_us);
            let begin = Instance { event: begin, ..Instance::default() };
            self.sorter.add(event.start_us, |out| begin.write(out))?;
        }
        if event.act == Act::Quit {
            let start_us = session.start(event.start_us);
            self.sessions.open.remove(&event.session);
            let event = Event { act: Act::Quit, start_us, user: b"", host: b"", application: b"", ..begin };
            let end = Instance { event, ..Instance::default() };
            return self.sorter.add(start_us, |out| end.write(out));
        }
        if event.act.is_statement() { self.statement(event, format, dialect) } else { Ok(()) }
    }

    fn statement(&mut self, event: &Event<'_>, format: Format, dialect: Dialect) -> io::Result<()> {
        let digest = self.digests.add(event, dialect);
        let row = &self.digests.rows[digest as usize];
        while self.effects.len() < self.digests.rows.len() {
            let text = &self.digests.rows[self.effects.len()].text;
            self.effects.push(effect_of(text, dialect.is_mysql()));
        }
        let Some((session, _)) = self.sessions.of(event) else { return Ok(()) };
        let before = session.transaction;
        let (transaction, ends_transaction) = session.step(self.effects[digest as usize], event.text);
        self.contents.transactions += session.transaction - before;
        let is_cut = self.parameter_length_max.is_some_and(|length| has_cut_value(event.parameters, length));
        let skipped = row.skipped.or_else(|| Skipped::of_session(event.user, event.application));
        let skipped = skipped.or(is_cut.then_some(Skipped::CutParameters));
        self.contents.count(event, skipped);
        // A password is not kept.
        if skipped == Some(Skipped::Password) {
            return Ok(());
        }
        let is_call = row.text.starts_with(b"call ");
        if is_call && format == Format::MySqlSlow && !event.is_coarse {
            self.calls.digests.insert(digest);
        }
        // Statements inside of a call are logged before it and start after it.
        let start_us = if is_call { event.start_us } else { session.start(event.start_us) };
        let prepared_as = self.prepared.text_of(event, format, digest, &row.text);
        let prepared_as = if format.is_mysql() { prepared_as } else { event.prepared_as };
        let event = Event { session: session.number, start_us, prepared_as, ..*event };
        let instance = Instance { event, transaction, ends_transaction, digest, skipped };
        self.sorter.add(start_us, |out| instance.write(out))
    }
}

/// Calls of procedures of a slow log, which may hold their inner statements too.
#[derive(Default)]
struct Calls {
    digests: HashSet<u32>,
    /// The end of the last call of each session.
    until_us: HashMap<u64, i64>,
}

impl Calls {
    /// The start of a record that is kept. One inside of a call was logged a second time.
    fn check(&mut self, record: &[u8], contents: &mut Contents) -> Option<i64> {
        let instance = Instance::read(record)?;
        let end_us = instance.start_us + instance.duration_us.unwrap_or(0) as i64;
        if !instance.act.is_statement() || self.digests.is_empty() {
            return Some(instance.start_us);
        }
        let is_inside = self
            .until_us
            .get(&instance.session)
            .is_some_and(|until_us| end_us <= *until_us && instance.start_us < *until_us);
        if is_inside {
            *contents.skipped.entry(Skipped::InsideCall).or_default() += 1;
            return None;
        }
        if self.digests.contains(&instance.digest) {
            self.until_us.insert(instance.session, end_us);
        }
        Some(instance.start_us)
    }
}
