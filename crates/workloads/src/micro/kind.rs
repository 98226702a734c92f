//! The file of one kind of statements, read: what it does, what is run, and what is made for it and taken away again.
//!
//! ```text
//! -- does: inserts one row into a table of its own
//! -- not sqlite: a reason
//!
//! -- before:
//! CREATE TABLE micro_scratch ({id}, n INTEGER);
//!
//! -- run mysql postgres:
//! \set n random(1, :rows)
//! -- expect: changed 1
//! INSERT INTO micro_scratch (n) VALUES (:n);
//!
//! -- after:
//! DROP TABLE IF EXISTS micro_scratch;
//! ```
//!
//! What is run is a script of `dbduel_script`, with its notes on answers; the other sections are plain SQL. A section
//! without dialects is for all of them.

use std::collections::BTreeMap;

use driver::Dialect;
use load::{OptionError, OptionValue, Workload};
use script::{SCRIPT, plain_statements};

use super::template::filled;

/// Sections, in the order in which they run.
const BEFORE: &str = "before";
const RUN: &str = "run";
const UNDO: &str = "undo";
const AFTER: &str = "after";
const SECTIONS: [&str; 4] = [BEFORE, RUN, UNDO, AFTER];

/// What may stand above the sections.
const NOTES: &str = "does, group, sysbench, protocol, count, connect, over, or `not DIALECT`";

/// The way that connections of a kind take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Socket,
    Tcp,
    /// Encrypted, over the way that all clients take.
    Tls,
}

const OVER: [(&str, Over); 3] = [("socket", Over::Socket), ("tcp", Over::Tcp), ("tls", Over::Tls)];

#[derive(Debug, Clone)]
pub struct Kind {
    /// `point/pk`. A tally has it for as long as the program lives.
    pub name: &'static str,
    pub does: String,
    /// The workload of sysbench whose statement it is.
    pub sysbench: Option<String>,
    /// How statements travel, as the key `protocol` of own SQL has it.
    protocol: String,
    /// How often it is run, where not for a time.
    pub count: Option<u64>,
    /// Each execution has a connection of its own.
    pub connects: bool,
    /// None is the way of all clients.
    pub over: Option<Over>,
    not_on: Vec<(Dialect, String)>,
    sections: Vec<Section>,
    path: String,
}

#[derive(Debug, Clone)]
struct Section {
    word: &'static str,
    dialects: Vec<Dialect>,
    text: String,
}

impl Kind {
    /// Reads a file of the user's, whose note names its group, and all of its statements.
    pub fn own(path: &str, text: &str) -> Result<Kind, String> {
        let kind = Kind::read(path, None, text)?;
        kind.expect_complete()?;
        Ok(kind)
    }

    /// Reads a file, but not its statements.
    pub fn read(path: &str, group: Option<&str>, text: &str) -> Result<Kind, String> {
        let mut head = Head::default();
        let mut sections: Vec<Section> = Vec::new();
        for (line, row) in text.lines().zip(1..) {
            let told = |why: String| format!("{path}:{row}: {why}");
            match (section_of(line).map_err(told)?, sections.last_mut()) {
                (Some((word, dialects)), _) => sections.push(Section { word, dialects, text: String::new() }),
                (None, Some(open)) => open.text += &format!("{line}\n"),
                (None, None) => head.note(line).map_err(told)?,
            }
        }
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".sql");
        let missing = |what: &str, note: &str| format!("{path}: {what}; expected a note `{note}` above the sections");
        let group = group.map(str::to_owned).or(head.group).ok_or_else(|| missing("no group", "-- group: mine"))?;
        let name = format!("{group}/{stem}");
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c)) {
            return Err(format!("{path}: `{name}` is no name of a kind; expected letters, digits, - and _"));
        }
        Ok(Kind {
            name: Box::leak(name.into_boxed_str()),
            does: head.does.ok_or_else(|| missing("it is not known what it does", "-- does: reads one row"))?,
            sysbench: head.sysbench,
            protocol: head.protocol.unwrap_or_else(|| "prepared".to_owned()),
            count: head.count,
            connects: head.connects,
            over: head.over,
            not_on: head.not_on,
            sections,
            path: path.to_owned(),
        })
    }

    /// Every dialect has something to run, or a reason why not; and all of it can be read.
    pub fn expect_complete(&self) -> Result<(), String> {
        for dialect in Dialect::ALL.into_iter().filter(|dialect| self.lacks(*dialect).is_none()) {
            if self.section(RUN, dialect).is_none() {
                let word = dialect.name();
                return Err(format!(
                    "{}: nothing to run on {word}; expected `-- run:`, or a note `-- not {word}: why`",
                    self.path
                ));
            }
            self.script(dialect, 1).map_err(|error| error.to_string())?;
            for word in [BEFORE, UNDO, AFTER] {
                self.plain(word, dialect)?;
            }
        }
        Ok(())
    }

    pub fn group(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }

    /// Why a server of this dialect cannot run it.
    pub fn lacks(&self, dialect: Dialect) -> Option<&str> {
        self.not_on.iter().find(|(one, _)| *one == dialect).map(|(_, why)| why.as_str())
    }

    fn section(&self, word: &str, dialect: Dialect) -> Option<&str> {
        let fits = |one: &&Section| one.word == word && (one.dialects.is_empty() || one.dialects.contains(&dialect));
        self.sections.iter().find(fits).map(|one| one.text.as_str())
    }

    /// Statements of a section other than the one that is measured.
    fn plain(&self, word: &str, dialect: Dialect) -> Result<Vec<String>, String> {
        let text = self.section(word, dialect).unwrap_or_default();
        plain_statements(&self.path, &filled(text, dialect))
    }

    fn known_plain(&self, word: &str, dialect: Dialect) -> Vec<String> {
        self.plain(word, dialect).expect("every section was read when the kind was")
    }

    /// What it needs, made before anything of it is measured.
    pub fn before(&self, dialect: Dialect) -> Vec<String> {
        self.known_plain(BEFORE, dialect)
    }

    /// What takes back one execution; that is not measured.
    pub fn undo(&self, dialect: Dialect) -> Vec<String> {
        self.known_plain(UNDO, dialect)
    }

    pub fn after(&self, dialect: Dialect) -> Vec<String> {
        self.known_plain(AFTER, dialect)
    }

    /// What is measured, as the options of a workload of own SQL.
    pub fn options(&self, dialect: Dialect, rows: u64) -> BTreeMap<String, OptionValue> {
        let text = filled(self.section(RUN, dialect).unwrap_or_default(), dialect);
        let variables = BTreeMap::from([("rows".to_owned(), OptionValue::Number(rows as i64))]);
        let file = OptionValue::File { path: self.path.clone(), text };
        let entry = [("path".to_owned(), file), ("name".to_owned(), OptionValue::Text("kind".to_owned()))];
        BTreeMap::from([
            ("files".to_owned(), OptionValue::Items(vec![OptionValue::Table(entry.into())])),
            ("variables".to_owned(), OptionValue::Table(variables)),
            ("protocol".to_owned(), OptionValue::Text(self.protocol.clone())),
        ])
    }

    /// The same as a workload, which has the words for answers that are wrong.
    pub fn script(&self, dialect: Dialect, rows: u64) -> Result<Box<dyn Workload>, OptionError> {
        SCRIPT.with(&self.options(dialect, rows))
    }
}

/// The notes above the sections.
#[derive(Default)]
struct Head {
    does: Option<String>,
    group: Option<String>,
    sysbench: Option<String>,
    protocol: Option<String>,
    count: Option<u64>,
    connects: bool,
    over: Option<Over>,
    not_on: Vec<(Dialect, String)>,
}

impl Head {
    fn note(&mut self, line: &str) -> Result<(), String> {
        let Some(comment) = line.trim().strip_prefix("--").map(str::trim) else {
            let is_empty = line.trim().is_empty();
            return if is_empty {
                Ok(())
            } else {
                Err("a statement in no section; expected `-- run:` before it".into())
            };
        };
        let unknown = || format!("unknown note `{comment}`; expected {NOTES}");
        let (word, text) = comment.split_once(':').ok_or_else(unknown)?;
        let text = text.trim().to_owned();
        match word.trim() {
            "does" => self.does = Some(text),
            "group" => self.group = Some(text),
            "sysbench" => self.sysbench = Some(text),
            "protocol" => self.protocol = Some(text),
            "connect" if text == "each" => self.connects = true,
            "over" => {
                let over = OVER.iter().find(|(word, _)| *word == text).map(|(_, over)| *over);
                self.over = Some(over.ok_or_else(|| format!("`{text}` is no way; expected socket, tcp or tls"))?);
            }
            "count" => {
                let count = text.parse().ok().filter(|count| *count > 0);
                self.count = Some(count.ok_or_else(|| format!("`{text}` is no count; expected a whole number"))?);
            }
            other => {
                let dialect = other.strip_prefix("not ").and_then(dialect).ok_or_else(unknown)?;
                self.not_on.push((dialect, text));
            }
        }
        Ok(())
    }
}

fn dialect(word: &str) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == word.trim())
}

/// `-- run mysql sqlite:`
fn section_of(line: &str) -> Result<Option<(&'static str, Vec<Dialect>)>, String> {
    let Some(heading) = line.trim().strip_prefix("--").and_then(|rest| rest.trim().strip_suffix(':')) else {
        return Ok(None);
    };
    let mut words = heading.split_whitespace();
    let first = words.next();
    let Some(word) = SECTIONS.into_iter().find(|known| Some(*known) == first) else { return Ok(None) };
    let named =
        |word: &str| dialect(word).ok_or_else(|| format!("`{word}` is no dialect; expected mysql, postgres or sqlite"));
    Ok(Some((word, words.map(named).collect::<Result<_, _>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- does: reads\n-- not sqlite: it cannot\n-- count: 3\n\n-- before:\nCREATE TABLE t ({id});\n\
        -- run mysql:\nSELECT 1;\n-- run postgres:\n-- expect: 1 row\nSELECT 2;\n-- after:\nDROP TABLE t;\n";

    #[test]
    fn a_file_is_notes_and_sections_by_dialect() {
        let kind = Kind::read("own/a-b.sql", Some("mine"), FILE).unwrap();
        assert_eq!((kind.name, kind.group(), kind.count, kind.does.as_str()), ("mine/a-b", "mine", Some(3), "reads"));
        assert_eq!(kind.lacks(Dialect::Sqlite), Some("it cannot"));
        assert_eq!(kind.section(RUN, Dialect::Postgres), Some("-- expect: 1 row\nSELECT 2;\n"));
        assert_eq!(kind.before(Dialect::Postgres), ["CREATE TABLE t (id SERIAL PRIMARY KEY)"]);
        assert_eq!(kind.after(Dialect::MySql), ["DROP TABLE t"]);
        assert!(kind.undo(Dialect::MySql).is_empty());
    }

    #[test]
    fn what_is_wrong_has_its_place_and_what_was_expected() {
        let check = |text: &str, expected: &str| {
            let why = Kind::own("a.sql", text).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check("-- does: x\n-- run:\nSELECT 1;", "no group; expected a note `-- group: mine`");
        check("-- group: g\n-- run:\nSELECT 1;", "expected a note `-- does:");
        check("-- goes: x", "a.sql:1: unknown note `goes: x`; expected does");
        check("SELECT 1;", "a.sql:1: a statement in no section");
        check("-- run oracle:\nSELECT 1;", "a.sql:1: `oracle` is no dialect");
        check("-- count: many", "`many` is no count");
        check("-- over: air", "`air` is no way; expected socket, tcp or tls");
        check("-- does: x\n-- group: g\n-- run mysql:\nSELECT 1;", "nothing to run on postgres");
        check("-- does: x\n-- group: g\n-- run:\nSELECT :none;", "unknown variable `none`");
        check("-- does: x\n-- group: g h\n-- run:\nSELECT 1;", "is no name of a kind");
    }
}
