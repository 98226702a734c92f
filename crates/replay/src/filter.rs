//! The part of a log that is replayed: a window of its time, some databases, users and digests, or what reads.
//!
//! Users choose sessions, the window whole transactions, by their starts; databases and digests choose statements. What a
//! session had SET before the window still holds in it.

use std::time::Duration;

use capture::{Instance, Moment, Skipped};
use load::{OptionError, OptionValue, Options};

use crate::digest::{About, Kind};

/// What of a capture is replayed.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub filter: Filter,
    /// A log that seems to leave statements out is taken.
    pub accepts_partial: bool,
    /// More of a gap without statements is cut.
    pub idle_max: Option<Duration>,
    /// Digests that are timed apart, at 200 KiB a client thread each.
    pub digests_max: usize,
    /// Statements alone that both MySQL and PostgreSQL read.
    pub is_portable: bool,
    /// Of MySQL, executions of prepared statements are such again, as far as the log shows them.
    pub prepares: bool,
    /// Sessions share connections beyond so many.
    pub clients_limit: Option<usize>,
}

/// Nothing is left out by the default.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    from: Option<Moment>,
    to: Option<Moment>,
    /// When the data were taken.
    position_us: Option<i64>,
    offset_secs: i64,
    databases: Names,
    users: Names,
    digests: Names,
    /// Kinds that are replayed though they are left out as a rule.
    included: Vec<Skipped>,
    /// What may change data is left out.
    reads_only: bool,
}

/// Those that are taken, or all, and those that are left out.
#[derive(Debug, Clone, Default)]
struct Names {
    only: Vec<String>,
    without: Vec<String>,
}

/// The window of a filter on one log, as microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from_us: i64,
    to_us: i64,
    is_from_data: bool,
}

/// Why a statement is left out: the kind under which it is counted, and the reason.
pub type Why = (&'static str, &'static str);

const OUTSIDE: Why = ("outside", "began outside `from` and `to`");
const IN_DATA: Why = ("before the data", "began before `position` of the data, which have it already");
const OTHER_USER: Why = ("user", "the session is of another user");
const OTHER_DATABASE: Why = ("database", "it is of another database");
const WRITES: Why = ("writes", "it may change data, and `reads_only` is set");
const OTHER_DIGEST: Why = ("digest", "its digest is not chosen");

impl Filter {
    /// `offset_secs` is the log's zone, east of UTC.
    pub fn of(options: &Options, offset_secs: i64) -> Result<Filter, OptionError> {
        let moment = |name: &str| match options.text(name)?.trim_matches('"') {
            "" => Ok(None),
            text => Moment::parse(text, offset_secs)
                .map(Some)
                .ok_or_else(|| options.error(name, "\"04:10:00\" or \"2026-11-23 04:10:00\" was expected".to_owned())),
        };
        let names =
            |only: &str, without: &str| Ok(Names { only: options.list(only)?, without: options.list(without)? });
        Ok(Filter {
            from: moment("from")?,
            to: moment("to")?,
            position_us: position(options, offset_secs)?,
            offset_secs,
            databases: names("databases", "exclude_databases")?,
            users: names("users", "exclude_users")?,
            digests: names("digests", "exclude_digests")?,
            included: included(options)?,
            reads_only: options.flag("reads_only")?,
        })
    }

    pub fn includes(&self, kind: Skipped) -> bool {
        self.included.contains(&kind)
    }

    /// Whether statements are chosen by what they are; such a log leaves some out and is no mistake.
    pub fn chooses(&self) -> bool {
        let names = [&self.databases, &self.users, &self.digests];
        self.reads_only || names.iter().any(|names| !names.only.is_empty() || !names.without.is_empty())
    }

    /// The window on a log that begins and ends then.
    pub fn window(&self, first_us: i64, last_us: i64) -> Result<Window, (&'static str, String)> {
        let at = |moment: Option<Moment>| moment.map(|moment| moment.in_log(first_us, last_us, self.offset_secs));
        let from_us = at(self.from).unwrap_or(i64::MIN);
        let position_us = self.position_us.unwrap_or(i64::MIN);
        let window = Window {
            from_us: from_us.max(position_us),
            to_us: at(self.to).unwrap_or(i64::MAX),
            is_from_data: position_us > from_us,
        };
        let is_in_log = window.from_us < window.to_us && window.from_us <= last_us && window.to_us > first_us;
        let span = || format!("{} to {} UTC", capture::utc(first_us), capture::utc(last_us));
        let key = if window.is_from_data { "data" } else { "from" };
        is_in_log.then_some(window).ok_or_else(|| (key, format!("a time of the log was expected: it has {}", span())))
    }

    /// By how much the data are older than the log, where it is known when they were taken.
    pub fn data_are_older_us(&self, first_us: i64) -> Option<i64> {
        self.position_us.map(|position| first_us - position).filter(|gap| *gap > 0)
    }

    pub fn why_not_user(&self, user: &[u8]) -> Option<Why> {
        (!self.users.take(user)).then_some(OTHER_USER)
    }

    pub fn why_not(&self, one: &Instance<'_>, about: &About) -> Option<Why> {
        // What belongs to no database, such as COMMIT after a login without one, belongs to all.
        let is_other = !one.database.is_empty() && !self.databases.take(one.database);
        let is_written = self.reads_only && about.kind == Kind::Write;
        let is_chosen = || self.digests.take(about.name.as_bytes());
        match (is_other, is_written) {
            (true, _) => Some(OTHER_DATABASE),
            (_, true) => Some(WRITES),
            _ => (!is_chosen()).then_some(OTHER_DIGEST),
        }
    }
}

/// What a log holds whole and is left out for what it does, or for who sent it.
const SESSIONS: [Skipped; 2] = [Skipped::Backup, Skipped::Own];
const STATEMENTS: [Skipped; 3] = [Skipped::Account, Skipped::Server, Skipped::FileAccess];

fn included(options: &Options) -> Result<Vec<Skipped>, OptionError> {
    let kind = |name: String| {
        SESSIONS.into_iter().chain(STATEMENTS).find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = SESSIONS.iter().chain(&STATEMENTS).map(|kind| format!("\"{}\"", kind.name())).collect();
            options.error("include", format!("kinds out of {} were expected", names.join(", ")))
        })
    };
    let kinds: Vec<Skipped> = options.list("include")?.into_iter().map(kind).collect::<Result<_, _>>()?;
    // Nothing puts back what they do to a server that dbduel has not started.
    match kinds.iter().find(|kind| STATEMENTS.contains(kind)) {
        Some(kind) if options.flag("writes")? => {
            let expected = format!(
                "sessions alone were expected beside `writes`: \"{}\" is for servers that dbduel starts",
                kind.name()
            );
            Err(options.error("include", expected))
        }
        _ => Ok(kinds),
    }
}

/// When the data were taken, where that is said: what of the log is older is in them.
fn position(options: &Options, offset_secs: i64) -> Result<Option<i64>, OptionError> {
    let OptionValue::Table(entries) = options.value("data") else { return Ok(None) };
    let expected = "position = \"2026-11-23 04:00:00\" was expected, with its day; UTC, or of log_timezone";
    let wrong = || OptionError::new("data", expected);
    let text = match entries.get("position") {
        None => return Ok(None),
        Some(OptionValue::Text(text)) => text,
        Some(_) => return Err(wrong()),
    };
    match Moment::parse(text.trim(), offset_secs) {
        Some(Moment::At(at)) => Ok(Some(at)),
        _ => Err(wrong()),
    }
}

impl Window {
    /// Of a transaction that began then.
    pub fn why_not(self, start_us: i64) -> Option<Why> {
        let why = if self.is_from_data && start_us < self.from_us { IN_DATA } else { OUTSIDE };
        (!(self.from_us..self.to_us).contains(&start_us)).then_some(why)
    }
}

impl Names {
    fn take(&self, name: &[u8]) -> bool {
        let has = |names: &[String]| names.iter().any(|known| known.as_bytes() == name);
        (self.only.is_empty() || has(&self.only)) && !has(&self.without)
    }
}

#[cfg(test)]
impl Filter {
    pub fn window_of(from: &str, to: &str) -> Filter {
        let moment = |text: &str| Moment::parse(text, 0);
        Filter { from: moment(from), to: moment(to), ..Filter::default() }
    }

    pub fn behind_data_of(text: &str) -> Filter {
        let position_us = Moment::parse(text, 0).map(|moment| moment.in_log(0, 0, 0));
        Filter { position_us, ..Filter::default() }
    }

    pub fn with(kind: Skipped) -> Filter {
        Filter { included: vec![kind], ..Filter::default() }
    }

    pub fn of_reads() -> Filter {
        Filter { reads_only: true, ..Filter::default() }
    }

    /// One key with one name.
    pub fn by(key: &str, name: &str) -> Filter {
        let mut filter = Filter::default();
        let (kind, is_without) = key.strip_prefix("exclude_").map_or((key, false), |kind| (kind, true));
        let names = match kind {
            "databases" => &mut filter.databases,
            "users" => &mut filter.users,
            _ => &mut filter.digests,
        };
        let list = if is_without { &mut names.without } else { &mut names.only };
        list.push(name.to_owned());
        filter
    }
}
