//! A schedule made of a capture: statements sorted by session, transactions and units found, clients dealt out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Duration;

use capture::{Act, Bound, Capture, Event, Format, Instance, bound_values, parameters};

use crate::assignment::assigned;
use crate::cuts::Cuts;
use crate::digest::{About, Kind};
use crate::filter::{Filter, Wanted, Why, Window};
use crate::plans::samples;
use crate::portable::{for_other_kind, is_collated, is_control, ported, sqlstate};
use crate::schedule::{Facts, How, Portable, Raw, Schedule, Session, Span, Statement, Text, Transaction};
use crate::sharing::share;
use crate::units::Held;

/// Bytes of statements that are held in memory while they are replayed.
const BYTES_MAX: usize = 2 << 30;

/// A session of the log as it is met.
#[derive(Default)]
struct Open {
    connected_us: i64,
    connected_at: i64,
    quit: Option<(i64, i64)>,
    /// Its database as the statements so far leave it: its number, from 1 on.
    database: u32,
    first_database: u32,
    /// Prepared statements by their texts, and names that SQL has prepared.
    prepared: HashMap<u64, u32>,
    prepared_texts: Vec<Text>,
    named: Vec<Vec<u8>>,
    /// None of its statements is replayed.
    left_out: Option<Why>,
    /// The transaction whose statements come now, and why they are left out.
    now: (u64, Option<Why>),
}

/// Why a capture is not replayed: the option that it belongs to, and what to do.
pub type Refusal = (&'static str, String);

const NOT_PORTABLE: Why = ("not portable", "MySQL and PostgreSQL do not both read it alike");

pub fn schedule(capture: &mut Capture, wanted: &Wanted) -> Result<Schedule, Refusal> {
    let filter = &wanted.filter;
    let contents = &capture.contents;
    let window = filter.window(contents.first_us, contents.last_us)?;
    let data_are_older_us = filter.data_are_older_us(contents.first_us);
    let is_mysql = contents.format().is_some_and(Format::is_mysql);
    let digests: Vec<About> = capture.digests.iter().map(|digest| About::of(digest, is_mysql)).collect();
    let timed = timed(&capture.digests, wanted.digests_max);
    let logs = capture.contents.logs.iter().map(|(_, path, _)| path.clone()).collect();
    let mut maker = Maker {
        filter,
        window,
        schedule: Schedule { is_mysql, logs, digests, timed, ..Schedule::default() },
        raws: Vec::new(),
        sessions: BTreeMap::new(),
        databases: BTreeMap::new(),
        known: HashMap::new(),
        left_out: BTreeMap::new(),
        portable: wanted.is_portable.then(Portable::default),
        prepared: (wanted.prepares && is_mysql).then_some(0),
    };
    let mut refused = None;
    let read = capture.instances_from(i64::MIN, &mut |instance| {
        refused = maker.take(instance).err();
        refused.is_none()
    });
    read.map_err(|why| ("log", why.to_string()))?;
    refused.map_or(Ok(()), Err)?;
    if !maker.raws.iter().any(|raw| raw.statement.is_counted) {
        let left_out = if maker.left_out.is_empty() { "" } else { ", or the filters leave none" };
        let why = format!("a log with statements that can be replayed was expected; this one has none{left_out}");
        return Err(("log", why));
    }
    if !(wanted.accepts_partial || wanted.is_portable || filter.chooses()) {
        maker.expect_whole()?;
    }
    let skipped = capture.contents.skipped.iter().filter(|(kind, _)| !filter.includes(**kind));
    maker.left_out.extend(skipped.map(|(kind, count)| (kind.name(), (*count, kind.reason().to_owned()))));
    maker.expect_one_database()?;
    let mut schedule = maker.finish(capture.contents.is_coarse, wanted.idle_max, wanted.clients_limit);
    schedule.facts.data_are_older_us = data_are_older_us;
    if wanted.is_portable {
        schedule.for_other_kind = Some(Arc::new(for_other_kind(&schedule)));
    }
    Ok(schedule)
}

/// The place of each digest among those that are timed: the ones that cost most in the log, or were called most; the
/// others share a place behind them.
fn timed(digests: &[capture::Digest], max: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..digests.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse((digests[*at].total_us, digests[*at].calls)));
    let mut places = vec![max as u32; digests.len()];
    order.iter().take(max).enumerate().for_each(|(place, at)| places[*at] = place as u32);
    places
}

struct Maker<'a> {
    filter: &'a Filter,
    window: Window,
    schedule: Schedule,
    raws: Vec<Raw>,
    sessions: BTreeMap<u64, Open>,
    /// Numbers of databases, from 1 on.
    databases: BTreeMap<Vec<u8>, u32>,
    /// Texts that the schedule holds already, by their hashes.
    known: HashMap<u64, Text>,
    left_out: BTreeMap<&'static str, (u64, String)>,
    /// What others than MySQL and PostgreSQL alike read is left out.
    portable: Option<Portable>,
    /// Statements whose literals are parameters again, where that is asked for.
    prepared: Option<u64>,
}

impl Maker<'_> {
    fn take(&mut self, one: &Instance<'_>) -> Result<(), Refusal> {
        let place = i64::from(one.file) << 40 | one.line as i64;
        let session = self.sessions.entry(one.session).or_insert_with(|| Open {
            connected_us: one.start_us,
            connected_at: place,
            ..Open::default()
        });
        match one.act {
            Act::Connect => session.left_out = self.filter.why_not_user(one.user),
            Act::Quit => session.quit = Some((one.start_us, place)),
            act if act.is_statement() && one.skipped.is_none_or(|kind| self.filter.includes(kind)) => {
                return self.chosen(one, place);
            }
            _ => {}
        }
        Ok(())
    }

    /// A statement, unless the filter leaves it out.
    fn chosen(&mut self, one: &Instance<'_>, place: i64) -> Result<(), Refusal> {
        let Some(session) = self.sessions.get_mut(&one.session) else { return Ok(()) };
        if session.now.0 != one.transaction {
            session.now = (one.transaction, self.window.why_not(one.start_us));
        }
        let of_session = session.left_out;
        let about = &self.schedule.digests[one.digest as usize];
        let kind = about.kind;
        let why = of_session.or(session.now.1).or_else(|| self.filter.why_not(one, about));
        let Some((what, reason)) = why.or_else(|| self.why_not_portable(one)) else {
            return self.statement(one, place);
        };
        self.left_out.entry(what).or_insert((0, reason.to_owned())).0 += 1;
        let is_before = one.start_us < self.window.from_us && of_session.is_none();
        if is_before && self.portable.is_none() && kind == Kind::Other && starts_with_word(one.text, b"set") {
            let text = self.text(one.text);
            let event = Event { start_us: self.window.from_us, ..one.event };
            self.push_uncounted(&Instance { event, ..*one }, place, How::Text, text);
        }
        Ok(())
    }

    fn why_not_portable(&mut self, one: &Instance<'_>) -> Option<Why> {
        let portable = self.portable.as_mut()?;
        let dialect = self.schedule.dialect();
        let is_portable = ported(one.text, dialect).is_some();
        portable.add(is_portable, one.duration_us.unwrap_or(0));
        self.schedule.digests[one.digest as usize].is_collated |= is_portable && is_collated(one.text, dialect);
        (!is_portable).then_some(NOT_PORTABLE)
    }

    /// The other kind of server has one database for all sessions.
    fn expect_one_database(&self) -> Result<(), Refusal> {
        if self.portable.is_none() || self.databases.len() < 2 {
            return Ok(());
        }
        let names: Vec<_> = self.databases.keys().map(|name| String::from_utf8_lossy(name)).collect();
        let why = format!(
            "a log of one database was expected beside it: this one has {}; choose one by `databases`",
            names.join(", ")
        );
        Err(("portable", why))
    }

    fn statement(&mut self, one: &Instance<'_>, place: i64) -> Result<(), Refusal> {
        let size = self.schedule.texts.len() + self.raws.len() * size_of::<Raw>();
        if size > BYTES_MAX || self.raws.len() >= u32::MAX as usize / 2 {
            let next = "its statements lie in memory while they are replayed; take logs of a shorter time";
            return Err(("log", format!("at most 2 GiB of statements were expected: {next}")));
        }
        self.enter_database(one, place);
        if !self.schedule.is_mysql {
            self.prepare_by_sql(one, place);
        }
        let again = self.prepared.and_then(|_| values_again(one));
        let is_again = again.is_some();
        let values = again.or_else(|| {
            let bound = |value: Option<Vec<u8>>| value.map_or(Bound::Null, Bound::Text);
            Some(parameters(one.parameters)?.into_iter().map(bound).collect())
        });
        let Some(values) = values.and_then(|values| self.kept(values)) else {
            let why = "the list of parameters cannot be read".to_owned();
            self.left_out.entry("parameters").or_insert((0, why)).0 += 1;
            return Ok(());
        };
        let text = self.text(one.text);
        let is_use = self.schedule.digests[one.digest as usize].is_use;
        let is_text = self.portable.is_some() && is_control(one.text, self.schedule.dialect());
        let how = match one.act {
            _ if is_text => How::Text,
            _ if is_again => {
                self.prepared = self.prepared.map(|count| count + 1);
                let prepared_as = self.text(one.prepared_as);
                How::PreparedAgain(self.prepared(one.session, one.prepared_as, prepared_as))
            }
            Act::Execute if !self.schedule.is_mysql => How::Prepared(self.prepared(one.session, one.text, text)),
            Act::ExecuteUnnamed => How::Unnamed,
            _ if is_use => How::Use(self.used(one)),
            _ => How::Text,
        };
        let rows = |rows: u64| rows.try_into().unwrap_or(u32::MAX);
        let statement = Statement {
            values,
            is_counted: true,
            error: one.error.map(|code| if self.portable.is_some() { sqlstate(code.0) } else { code.0 }),
            rows: one.rows_sent.map(rows),
            affected: one.rows_affected.map(rows),
            ..self.uncounted(one, how, text)
        };
        self.push(one, place, one.ends_transaction, statement);
        self.forget_prepared(one);
        Ok(())
    }

    /// Behind DISCARD and DEALLOCATE a session of PostgreSQL has fewer prepared statements; what it uses later is
    /// prepared anew.
    fn forget_prepared(&mut self, one: &Instance<'_>) {
        let Some(session) = self.sessions.get_mut(&one.session).filter(|_| !self.schedule.is_mysql) else { return };
        let mut words =
            one.text.split(|byte| byte.is_ascii_whitespace() || *byte == b';').filter(|word| !word.is_empty());
        let mut word = || words.next().unwrap_or_default().to_ascii_lowercase();
        let (verb, mut what) = (word(), word());
        if verb == b"deallocate" && what == b"prepare" {
            what = word();
        }
        match (verb.as_slice(), what.as_slice()) {
            (b"discard" | b"deallocate", b"all") => {
                session.prepared.clear();
                session.named.clear();
            }
            (b"deallocate", name) => session.named.retain(|known| known != name),
            _ => {}
        }
    }

    fn push(&mut self, one: &Instance<'_>, place: i64, ends: bool, statement: Statement) {
        let about = &mut self.schedule.digests[one.digest as usize];
        about.longest_us = about.longest_us.max(one.duration_us.unwrap_or(0));
        let database = self.sessions.get(&one.session).map_or(0, |session| session.database);
        self.raws.push(Raw {
            database,
            session: one.session,
            transaction: one.transaction,
            ends,
            start_us: one.start_us,
            duration_us: one.duration_us.unwrap_or(0),
            place,
            statement,
        });
    }

    /// A statement that is sent for what the session had already, before the one that needs it and in its transaction.
    fn push_uncounted(&mut self, one: &Instance<'_>, place: i64, how: How, text: Text) {
        let statement = self.uncounted(one, how, text);
        self.push(one, place, false, statement);
    }

    fn uncounted(&self, one: &Instance<'_>, how: How, text: Text) -> Statement {
        Statement {
            text,
            values: (self.schedule.values.len() as u32, 0),
            digest: one.digest,
            how,
            log: one.file,
            line: one.line,
            ..Statement::default()
        }
    }

    /// Of MySQL a session may change its database in ways that the log shows by the next statement only.
    fn enter_database(&mut self, one: &Instance<'_>, place: i64) {
        if one.database.is_empty() {
            return;
        }
        let (number, is_new) = self.enter(one.session, one.database);
        let is_use = self.schedule.digests[one.digest as usize].is_use;
        if is_new && self.schedule.is_mysql && !is_use {
            self.push_uncounted(one, place, How::Use(number - 1), Text::default());
        }
    }

    /// Makes a database that of a session; gives its number, and whether it was another one.
    fn enter(&mut self, session: u64, name: &[u8]) -> (u32, bool) {
        let names = &mut self.schedule.databases;
        let number = *self.databases.entry(name.to_vec()).or_insert_with(|| {
            names.push(String::from_utf8_lossy(name).into_owned());
            names.len() as u32
        });
        let session = self.sessions.entry(session).or_default();
        if session.first_database == 0 {
            session.first_database = number;
        }
        (number, std::mem::replace(&mut session.database, number) != number)
    }

    /// The database of a `USE`.
    fn used(&mut self, one: &Instance<'_>) -> u32 {
        let name = one.text.trim_ascii();
        let name = name.get(3..).unwrap_or_default().trim_ascii();
        let name = name.strip_suffix(b";").unwrap_or(name).trim_ascii_end();
        let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
        self.enter(one.session, name).0 - 1
    }

    /// `execute s1(2)`, where the log repeats the PREPARE: it may lie before the log began.
    fn prepare_by_sql(&mut self, one: &Instance<'_>, place: i64) {
        let Some(session) = self.sessions.get_mut(&one.session) else { return };
        if one.prepared_as.is_empty() {
            session.named.extend(starts_with_word(one.text, b"prepare").then(|| prepared_name(one.text)));
            return;
        }
        let name = prepared_name(one.prepared_as);
        if session.named.contains(&name) {
            return;
        }
        session.named.push(name);
        let text = self.text(one.prepared_as);
        self.push_uncounted(one, place, How::Text, text);
    }

    /// The place of a statement's parameters; none where they are too many.
    fn kept(&mut self, values: Vec<Bound>) -> Option<(u32, u16)> {
        let first = self.schedule.values.len() as u32;
        let count = u16::try_from(values.len()).ok()?;
        for value in values {
            let value = value.map(|text| self.text(&text));
            self.schedule.values.push(value);
        }
        Some((first, count))
    }

    /// The place of a text; one that was met already is not kept again.
    fn text(&mut self, bytes: &[u8]) -> Text {
        let hash = hash_of(bytes);
        if let Some(text) = self.known.get(&hash).filter(|text| self.schedule.bytes(**text) == bytes) {
            return *text;
        }
        let text = Text { start: self.schedule.texts.len() as u64, length: bytes.len() as u32 };
        self.schedule.texts.extend_from_slice(bytes);
        self.known.entry(hash).or_insert(text);
        text
    }

    /// The number of a prepared statement in its session.
    fn prepared(&mut self, session: u64, bytes: &[u8], text: Text) -> u32 {
        let Some(session) = self.sessions.get_mut(&session) else { return 0 };
        let next = session.prepared_texts.len() as u32;
        let number = *session.prepared.entry(hash_of(bytes)).or_insert(next);
        if number == next {
            session.prepared_texts.push(text);
        }
        number
    }

    /// A log that leaves statements out is no load.
    fn expect_whole(&self) -> Result<(), Refusal> {
        const FEW: usize = 100;
        let counted = self.raws.iter().filter(|raw| raw.statement.is_counted);
        let kind = |raw: &Raw| self.schedule.digests[raw.statement.digest as usize].kind;
        let reads = counted.clone().filter(|raw| kind(raw) == Kind::Read).count();
        let shortest_us = counted.clone().map(|raw| raw.duration_us).min().unwrap_or(0);
        let looks = match counted.count() {
            FEW.. if reads == 0 => "has no statement that reads, as with log_statement = mod",
            FEW.. if shortest_us > 1_000 => "has no statement below 1 ms, as with long_query_time above 0",
            _ => return Ok(()),
        };
        let next = "log all statements, or set partial_log = true where this is all that was sent";
        Err(("log", format!("a log of all statements was expected: this one {looks}; {next}")))
    }

    fn finish(mut self, is_coarse: bool, idle_max: Option<Duration>, clients_limit: Option<usize>) -> Schedule {
        // A session has nothing before the window but what it SET there.
        let counted = self.raws.iter().filter(|raw| raw.statement.is_counted);
        let used: HashSet<u64> = counted.map(|raw| raw.session).collect();
        self.raws.retain(|raw| used.contains(&raw.session));
        if self.databases.len() < 2 {
            // All sessions are in the target's database.
            self.raws.retain(|raw| raw.statement.is_counted || !matches!(raw.statement.how, How::Use(_)));
        }
        let first_us = self.raws.iter().map(|raw| raw.start_us).min().unwrap_or(0);
        let last_us = self.raws.iter().map(Raw::end_us).max().unwrap_or(first_us);
        self.schedule.first_us = first_us;
        let cuts = idle_max.map_or_else(Cuts::default, |idle_max| {
            Cuts::of(self.raws.iter().map(|raw| (raw.start_us - first_us, raw.end_us() - first_us)), idle_max)
        });
        self.raws.iter_mut().for_each(|raw| raw.statement.due_us = cuts.moved((raw.start_us - first_us) as u64));
        if is_coarse {
            self.spread();
        }
        let counted = || self.raws.iter().filter(|raw| raw.statement.is_counted);
        let writes = counted()
            .map(|raw| &self.schedule.digests[raw.statement.digest as usize])
            .find(|about| about.kind == Kind::Write)
            .map(|about| about.text.clone());
        let mut facts = Facts {
            statements: counted().count() as u64,
            span_us: cuts.moved((last_us - first_us) as u64) + if is_coarse { 1_000_000 } else { 0 },
            cut_us: cuts.total_us(),
            portable: self.portable,
            prepared: self.prepared,
            is_coarse,
            writes,
            longest_us: self.raws.iter().map(|raw| raw.duration_us).max().unwrap_or(0),
            ..Facts::default()
        };
        self.schedule.samples = samples(&self.raws, &self.schedule);
        let left_out = std::mem::take(&mut self.left_out);
        facts.left_out = left_out.into_iter().map(|(kind, (count, why))| (kind.to_owned(), count, why)).collect();
        // A sort that is stable keeps the order of each session.
        self.raws.sort_by_key(|raw| raw.session);
        let mut spans = Vec::new();
        let mut ends_us = Vec::new();
        let raws = std::mem::take(&mut self.raws);
        for of_session in raws.chunk_by(|one, other| one.session == other.session) {
            let Some(open) = self.sessions.remove(&of_session[0].session) else { continue };
            let key = |raw: &Raw| if is_coarse { (raw.place, raw.place) } else { (raw.start_us, raw.end_us()) };
            let begin = if is_coarse { open.connected_at } else { open.connected_us };
            let last = of_session.iter().map(|raw| key(raw).1).max().unwrap_or(begin);
            let quit = open.quit.map_or(last, |(us, place)| if is_coarse { place } else { us });
            spans.push((begin.min(key(&of_session[0]).0), quit.max(last)));
            let first_transaction = self.schedule.transactions.len() as u32;
            self.transactions(of_session, &key, &mut ends_us);
            let first_prepared = self.schedule.prepared.len() as u32;
            self.schedule.prepared.extend_from_slice(&open.prepared_texts);
            self.schedule.sessions.push(Session {
                due_us: cuts.moved((open.connected_us - first_us).max(0) as u64).min(of_session[0].statement.due_us),
                database: open.first_database.checked_sub(1).filter(|_| self.schedule.databases.len() > 1),
                transactions: first_transaction..self.schedule.transactions.len() as u32,
                prepared: first_prepared..self.schedule.prepared.len() as u32,
            });
        }
        ends_us.push(0);
        ends_us.sort_unstable();
        facts.quiet_us = ends_us.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        self.schedule.facts = facts;
        self.schedule.clients = assigned(&spans);
        self.schedule.cuts = cuts.moved_places();
        if let Some(limit) = clients_limit {
            let sessions = spans.len();
            let sharing = share(&mut self.schedule, &spans, limit);
            self.schedule.facts.sharing = (sharing > 0).then_some((sharing, sessions));
        }
        self.schedule
    }

    /// Stamps of whole seconds: what began in one second is spread over it, in the order of the file.
    fn spread(&mut self) {
        let mut all: Vec<&mut Raw> = self.raws.iter_mut().collect();
        all.sort_by_key(|raw| (raw.start_us, raw.place));
        for second in all.chunk_by_mut(|one, other| one.start_us == other.start_us) {
            let count = second.len() as u64;
            (0..).zip(second).for_each(|(number, raw)| raw.statement.due_us += number * 1_000_000 / count);
        }
        let mut last = HashMap::new();
        for raw in &mut self.raws {
            let last = last.entry(raw.session).or_insert(0);
            *last = raw.statement.due_us.max(*last);
            raw.statement.due_us = *last;
        }
    }

    /// Of a session without autocommit, whose SET is left out, a transaction is opened as all servers open one.
    fn open_transaction(&mut self, raws: &[Raw]) {
        let is_begin = |raw: &Raw| {
            let text = &self.schedule.digests[raw.statement.digest as usize].text;
            text.starts_with("begin") || text.starts_with("start ")
        };
        if self.portable.is_some() && raws.len() > 1 && !is_begin(&raws[0]) {
            let text = self.text(b"begin");
            let values = (raws[0].statement.values.0, 0);
            let statement =
                Statement { text, values, how: How::Text, is_counted: false, error: None, ..raws[0].statement };
            self.schedule.statements.push(statement);
        }
    }

    /// The transactions of a session, and the units that they belong to.
    fn transactions(&mut self, raws: &[Raw], key: &dyn Fn(&Raw) -> Span, ends_us: &mut Vec<u64>) {
        let mut held = Held::default();
        let mut goes_on = false;
        let mut last_end = i64::MIN;
        let mut all = raws.chunk_by(|one, other| one.transaction == other.transaction).peekable();
        while let Some(of_one) = all.next() {
            let begin = self.schedule.statements.len() as u32;
            self.open_transaction(of_one);
            let (mut rolls_back, mut end) = (false, i64::MIN);
            for raw in of_one {
                let about = &self.schedule.digests[raw.statement.digest as usize];
                if raw.statement.is_counted {
                    held.take(about.locks);
                    rolls_back = about.rolls_back;
                }
                end = end.max(key(raw).1);
                self.schedule.statements.push(raw.statement);
            }
            let units = &mut self.schedule.units;
            if !goes_on {
                units.push((key(&of_one[0]).0, end));
            }
            let unit = units.len() as u32 - 1;
            // By stamps of milliseconds one may seem to have ended before the one ahead of it in its session, which it would
            // then wait for and be waited for by.
            last_end = last_end.max(end);
            units[unit as usize].1 = last_end;
            ends_us.push(of_one.iter().map(|raw| raw.statement.due_us + raw.duration_us).max().unwrap_or(0));
            let is_ended = of_one.last().is_some_and(|last| last.ends);
            let (begins_unit, is_last) = (!goes_on, all.peek().is_none());
            goes_on = held.any() || !is_ended;
            self.schedule.transactions.push(Transaction {
                statements: begin..self.schedule.statements.len() as u32,
                is_left_open: !is_ended && is_last,
                rolls_back,
                unit,
                begins_unit,
                ends_unit: !goes_on || is_last,
            });
        }
    }
}

/// The values of an execution that a log of MySQL shows as one, as many as a statement may have.
fn values_again(one: &Instance<'_>) -> Option<Vec<Bound>> {
    let values = bound_values(one.prepared_as, one.text).filter(|_| !one.prepared_as.is_empty())?;
    (values.len() <= usize::from(u16::MAX)).then_some(values)
}

fn hash_of(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.len() > word.len() && text[..word.len()].eq_ignore_ascii_case(word) && text[word.len()].is_ascii_whitespace()
}

/// The name behind the word PREPARE, in lower case.
fn prepared_name(text: &[u8]) -> Vec<u8> {
    let rest = text.trim_ascii().get(7..).unwrap_or_default().trim_ascii();
    let is_name = |byte: &&u8| !byte.is_ascii_whitespace() && **byte != b'(';
    rest.iter().take_while(is_name).map(u8::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests;
