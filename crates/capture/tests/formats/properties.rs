//! What must hold of any bytes at all; tests and fuzz targets feed it.

use capture::{Act, Event, Format, Found, Prefix, Reading, What};

#[derive(Debug, Default, PartialEq)]
pub struct Read {
    pub statements: Vec<Statement>,
    /// Begins and ends of sessions, and commands.
    pub others: Vec<String>,
    pub problems: Vec<(u64, What)>,
}

#[derive(Debug, PartialEq)]
pub struct Statement {
    pub line: u64,
    pub session: u64,
    pub user: String,
    pub database: String,
    pub text: String,
    pub parameters: String,
    pub start_us: i64,
    pub duration_us: Option<u64>,
    pub is_coarse: bool,
    pub rows: Option<u64>,
    pub error: Option<String>,
}

fn owned(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Read {
    fn add(&mut self, event: &Event<'_>) {
        if !event.act.is_statement() {
            self.others.push(format!("{:?}", event.act));
            return;
        }
        self.statements.push(Statement {
            line: event.line,
            session: event.session,
            user: owned(event.user),
            database: owned(event.database),
            text: owned(event.text),
            parameters: owned(event.parameters),
            start_us: event.start_us,
            duration_us: event.duration_us,
            is_coarse: event.is_coarse,
            rows: event.rows(),
            error: event.error.map(|code| owned(&code.0)),
        });
    }
}

/// Reads a log that comes in pieces of this size.
pub fn read(format: Format, reading: &Reading, log: &[u8], size: usize) -> Read {
    let mut found = Read::default();
    let mut reader = format.reader(reading);
    let (mut from, mut to) = (0, 0_usize);
    loop {
        to = to.saturating_add(size).min(log.len());
        let taken = reader.read(&log[from..to], to == log.len(), &mut |one| match one {
            Found::Event(event) => found.add(&event),
            Found::Problem(problem) => found.problems.push((problem.line, problem.what)),
        });
        assert!(taken <= to - from);
        from += taken;
        if to == log.len() {
            assert_eq!(from, to, "the last bytes are taken");
            return found;
        }
    }
}

pub fn reading(format: Format) -> Reading {
    let prefix = Prefix::parse("%m|%u|%d|%c|").expect("the prefix has a time and a session");
    Reading { prefix: (format == Format::PgStderr).then_some(prefix), ..Reading::default() }
}

/// Whatever the bytes are, reading ends, and finds the same in pieces as in one.
pub fn in_pieces(format: Format, log: &[u8], size: usize) {
    let whole = read(format, &reading(format), log, usize::MAX);
    let pieces = read(format, &reading(format), log, size);
    assert_eq!(whole, pieces, "{format:?} in pieces of {size}");
    let restarts = whole.others.iter().filter(|act| **act == format!("{:?}", Act::Restart)).count();
    assert!(whole.statements.len() + whole.problems.len() + restarts <= log.len() + 1);
}

/// Changes a byte, leaves one out, puts one in, or cuts.
pub fn damage(log: &mut Vec<u8>, at: usize, byte: u8, how: u8) {
    if log.is_empty() {
        return;
    }
    let at = at % log.len();
    match how {
        0 => log[at] = byte,
        1 => drop(log.remove(at)),
        2 => log.insert(at, byte),
        _ => log.truncate(at),
    }
}
