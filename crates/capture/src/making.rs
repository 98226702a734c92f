//! A capture is made of logs: sessions numbered, transactions found, records sorted, what is not replayed counted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::bytes::{Taking, put, put_signed, put_text};
use crate::digests::Digests;
use crate::event::{Act, Event};
use crate::file::Writer;
use crate::format::Format;
use crate::input::{Options, Refused, Summary, read_logs};
use crate::instance::Instance;
use crate::kinds::Skipped;
use crate::pg_message::has_cut_value;
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

/// What a capture holds, beside its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Name of the format, path and bytes of each log.
    pub logs: Vec<(String, String, u64)>,
    pub first_us: i64,
    pub last_us: i64,
    pub sessions: u64,
    pub most_sessions: u64,
    pub connects: u64,
    pub statements: u64,
    pub transactions: u64,
    /// Instances that are not replayed, by kind.
    pub skipped: BTreeMap<Skipped, u64>,
    pub overlapping: u64,
    pub bad_entries: u64,
    pub is_coarse: bool,
    pub problems: Vec<String>,
}

impl Contents {
    pub(crate) fn written(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.logs.len() as u64);
        for (format, path, bytes) in &self.logs {
            put_text(&mut out, format.as_bytes());
            put_text(&mut out, path.as_bytes());
            put(&mut out, *bytes);
        }
        [self.first_us, self.last_us].iter().for_each(|number| put_signed(&mut out, *number));
        let Contents { sessions, most_sessions, connects, statements, transactions, overlapping, bad_entries, .. } =
            self;
        let numbers = [sessions, most_sessions, connects, statements, transactions, overlapping, bad_entries];
        numbers.into_iter().for_each(|number| put(&mut out, *number));
        put(&mut out, u64::from(self.is_coarse));
        put(&mut out, self.skipped.len() as u64);
        for (kind, count) in &self.skipped {
            put(&mut out, u64::from(kind.number()));
            put(&mut out, *count);
        }
        put(&mut out, self.problems.len() as u64);
        self.problems.iter().for_each(|line| put_text(&mut out, line.as_bytes()));
        out
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Contents> {
        let mut taking = Taking(bytes);
        let text = |taking: &mut Taking<'_>| Some(String::from_utf8_lossy(taking.text()?).into_owned());
        let log = |taking: &mut Taking<'_>| Some((text(taking)?, text(taking)?, taking.number()?));
        let logs = (0..taking.number()?).map(|_| log(&mut taking)).collect::<Option<_>>()?;
        let mut contents = Contents {
            logs,
            first_us: taking.signed()?,
            last_us: taking.signed()?,
            sessions: taking.number()?,
            most_sessions: taking.number()?,
            connects: taking.number()?,
            statements: taking.number()?,
            transactions: taking.number()?,
            overlapping: taking.number()?,
            bad_entries: taking.number()?,
            is_coarse: taking.number()? != 0,
            ..Contents::default()
        };
        for _ in 0..taking.number()? {
            contents.skipped.insert(Skipped::of_number(taking.number()? as u8)?, taking.number()?);
        }
        contents.problems = (0..taking.number()?).map(|_| text(&mut taking)).collect::<Option<_>>()?;
        Some(contents)
    }
}

/// Reads logs and writes a capture; gives its size in bytes, and what it holds.
pub fn capture(logs: &[PathBuf], out: &Path, making: &Making) -> Result<(u64, Contents), Refused> {
    let mut writer = Writer::create(out)?;
    let mut maker = Maker::new(making);
    let mut failed = None;
    let summary = read_logs(logs, &making.options, &mut |event, format| {
        if failed.is_none() {
            failed = maker.take(event, format).err();
        }
    })?;
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |cause| Refused::Unwritable { path, cause }
    };
    failed.map_or(Ok(()), Err).map_err(unwritable(&making.work))?;
    let Maker { sorter, digests, mut contents, sessions, mut calls, .. } = maker;
    sorter
        .finish(|record| {
            let start_us = calls.check(record, &mut contents);
            start_us.map_or(Ok(()), |start_us| writer.add(start_us, record))
        })
        .map_err(unwritable(out))?;
    contents.sessions = sessions.count;
    contents.most_sessions = sessions.most_at_once;
    contents.connects = sessions.connects;
    contents.add(&summary);
    let bytes = writer.finish(digests.rows(), &contents)?;
    Ok((bytes, contents))
}

impl Contents {
    fn count(&mut self, event: &Event<'_>, skipped: Option<Skipped>) {
        self.statements += 1;
        self.last_us = self.last_us.max(event.start_us + event.duration_us.unwrap_or(0) as i64);
        self.first_us = self.first_us.min(event.start_us);
        if let Some(kind) = skipped {
            *self.skipped.entry(kind).or_default() += 1;
        }
    }

    fn add(&mut self, summary: &Summary) {
        self.logs = summary
            .files
            .iter()
            .map(|file| (file.format.name().to_owned(), file.path.display().to_string(), file.bytes))
            .collect();
        self.overlapping = summary.overlapping;
        self.bad_entries = summary.bad_entries;
        self.is_coarse = summary.is_coarse;
        self.problems = summary.problem_lines();
    }
}

struct Maker {
    sorter: Sorter,
    digests: Digests,
    dialects: [Dialect; 5],
    /// Of each digest.
    effects: Vec<Effect>,
    sessions: Sessions,
    contents: Contents,
    parameter_length_max: Option<usize>,
    calls: Calls,
}

impl Maker {
    fn new(making: &Making) -> Maker {
        Maker {
            sorter: Sorter::new(&making.work, making.memory),
            digests: Digests::new(making.options.merge_numbered_names),
            dialects: Format::ALL.map(|format| making.options.reading.dialect(format)),
            effects: Vec::new(),
            sessions: Sessions::default(),
            contents: Contents { first_us: i64::MAX, last_us: i64::MIN, ..Contents::default() },
            parameter_length_max: making.parameter_length_max,
            calls: Calls::default(),
        }
    }

    fn take(&mut self, event: &Event<'_>, format: Format) -> io::Result<()> {
        if event.act == Act::Quit && !self.sessions.has(event.session) {
            return Ok(());
        }
        let Some((session, is_new)) = self.sessions.of(event) else { return Ok(()) };
        let number = session.number;
        let begin = Instance {
            act: Act::Connect,
            session: number,
            start_us: event.start_us,
            database: event.database,
            user: event.user,
            host: event.host,
            application: event.application,
            line: event.line,
            file: event.file,
            ..Instance::default()
        };
        if is_new {
            session.start(event.start_us);
            self.sorter.add(event.start_us, |out| begin.write(out))?;
        }
        if event.act == Act::Quit {
            let start_us = session.start(event.start_us);
            self.sessions.end(event.session);
            let end = Instance { act: Act::Quit, start_us, user: b"", host: b"", application: b"", ..begin };
            return self.sorter.add(start_us, |out| end.write(out));
        }
        if event.act.is_statement() { self.statement(event, format) } else { Ok(()) }
    }

    fn statement(&mut self, event: &Event<'_>, format: Format) -> io::Result<()> {
        let dialect = self.dialects[format as usize];
        let digest = self.digests.add(event, dialect);
        let row = &self.digests.rows()[digest as usize];
        while self.effects.len() < self.digests.rows().len() {
            let text = &self.digests.rows()[self.effects.len()].text;
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
        let instance = Instance {
            act: event.act,
            session: session.number,
            transaction,
            ends_transaction,
            start_us,
            duration_us: event.duration_us,
            is_coarse: event.is_coarse,
            digest,
            skipped,
            database: event.database,
            text: event.text,
            parameters: event.parameters,
            prepared_as: event.prepared_as,
            rows_sent: event.rows_sent,
            rows_affected: event.rows_affected,
            error: event.error,
            line: event.line,
            file: event.file,
            ..Instance::default()
        };
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
