//! The options of a workload, as the experiment file and the command line give them.
//!
//! Knows names, types and defaults; what a value means is the workload's business.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A value of one workload option, as the experiment file or the command line gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OptionValue {
    Number(i64),
    Real(f64),
    Text(String),
    Flag(bool),
    /// Names, in the order they were given.
    List(Vec<String>),
    /// A file that an option names, with what stands in it; of one that a server or the workload opens, the absolute
    /// path and what it is recognised by.
    File {
        path: String,
        text: String,
    },
    /// Values of any kind, such as tables, in the order they were given.
    Items(Vec<OptionValue>),
    Table(BTreeMap<String, OptionValue>),
}

/// One option a workload understands.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    /// Other names for the same key (`table_size` for `rows`).
    pub aliases: &'static [&'static str],
    /// The default as it would stand in an experiment file.
    pub default: &'static str,
    /// Keys, of the option itself or inside of its tables, whose texts are paths of files.
    pub paths: &'static [&'static str],
    /// Who reads its files.
    pub files: FileUse,
    /// The default beside `compat`, where the program to be compatible with has another.
    pub compat_default: Option<&'static str>,
    pub help: &'static str,
}

/// Who reads the files of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Their texts are the option's value.
    Text,
    /// Servers that dbduel starts: the files are named, and nothing of dbduel's reads what is in them.
    Servers,
    /// The workload, which opens them by their paths: they may be large.
    Workload,
}

/// The option that asks for another program's rules, and its value for dbduel's own.
pub const COMPAT: &str = "compat";
pub const NO_COMPAT: &str = "none";

impl OptionSpec {
    pub const fn new(name: &'static str, default: &'static str, help: &'static str) -> OptionSpec {
        OptionSpec { name, aliases: &[], default, paths: &[], files: FileUse::Text, compat_default: None, help }
    }

    pub const fn alias(self, aliases: &'static [&'static str]) -> OptionSpec {
        OptionSpec { aliases, ..self }
    }

    pub const fn paths(self, paths: &'static [&'static str]) -> OptionSpec {
        OptionSpec { paths, ..self }
    }

    pub const fn for_servers(self) -> OptionSpec {
        OptionSpec { files: FileUse::Servers, ..self }
    }

    pub const fn opened(self) -> OptionSpec {
        OptionSpec { files: FileUse::Workload, ..self }
    }

    pub const fn beside_compat(self, default: &'static str) -> OptionSpec {
        OptionSpec { compat_default: Some(default), ..self }
    }

    /// Its name, then its other names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The default that is in force beside the options that were given.
    pub fn default_beside(&self, given: &BTreeMap<String, OptionValue>) -> &'static str {
        let compat = match given.get(COMPAT) {
            Some(OptionValue::Text(word)) => word != NO_COMPAT,
            _ => false,
        };
        self.compat_default.filter(|_| compat).unwrap_or(self.default)
    }
}

/// An option that cannot be honoured: which, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    pub option: String,
    pub expected: String,
    /// What is wrong in files that the option names, each with its place; there is then nothing else.
    pub in_files: Vec<String>,
}

impl std::fmt::Display for OptionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.in_files.is_empty() {
            return write!(f, "`{}`: {}", self.option, self.expected);
        }
        f.write_str(&self.in_files.join("\n"))
    }
}

impl std::error::Error for OptionError {}

impl OptionError {
    pub fn new(option: impl Into<String>, expected: impl Into<String>) -> OptionError {
        OptionError { option: option.into(), expected: expected.into(), in_files: Vec::new() }
    }
}

/// Given options over a workload's defaults.
#[derive(Debug, Clone)]
pub struct Options {
    specs: &'static [OptionSpec],
    values: BTreeMap<&'static str, OptionValue>,
}

impl Options {
    /// Fills in the defaults of `specs`; refuses a key that none of them names.
    pub fn new(specs: &'static [OptionSpec], given: &BTreeMap<String, OptionValue>) -> Result<Options, OptionError> {
        let default = |spec: &OptionSpec| (spec.name, parse_default(spec.default_beside(given)));
        let mut values: BTreeMap<_, _> = specs.iter().map(default).collect();
        for (key, value) in given {
            let spec = specs.iter().find(|spec| spec.names().any(|name| name == key)).ok_or_else(|| {
                let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
                OptionError::new(key, format!("unknown option; known are {}", known.join(", ")))
            })?;
            values.insert(spec.name, value.clone());
        }
        Ok(Options { specs, values })
    }

    /// Every option in force, defaults included, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &OptionValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The options whose value is not their default.
    pub fn changed(&self) -> impl Iterator<Item = &'static str> {
        let changed = |spec: &&OptionSpec| self.values[spec.name] != parse_default(spec.default);
        self.specs.iter().filter(changed).map(|spec| spec.name)
    }

    pub fn value(&self, name: &str) -> &OptionValue {
        self.values.get(name).expect("a workload asks for options of its own list only")
    }

    pub fn number(&self, name: &str, least: u64, most: u64) -> Result<u64, OptionError> {
        match self.value(name) {
            OptionValue::Number(number) if (least as i64..=most as i64).contains(number) => Ok(*number as u64),
            _ => Err(self.error(name, format!("a whole number from {least} to {most} was expected"))),
        }
    }

    pub fn real(&self, name: &str, least: f64, most: f64) -> Result<f64, OptionError> {
        let real = match self.value(name) {
            OptionValue::Number(number) => *number as f64,
            OptionValue::Real(real) => *real,
            _ => f64::NAN,
        };
        if (least..=most).contains(&real) {
            Ok(real)
        } else {
            Err(self.error(name, format!("a number from {least} to {most} was expected")))
        }
    }

    pub fn flag(&self, name: &str) -> Result<bool, OptionError> {
        match self.value(name) {
            OptionValue::Flag(flag) => Ok(*flag),
            OptionValue::Text(text) if text.eq_ignore_ascii_case("on") => Ok(true),
            OptionValue::Text(text) if text.eq_ignore_ascii_case("off") => Ok(false),
            _ => Err(self.error(name, "true or false was expected".to_owned())),
        }
    }

    /// The index of the option's value in `words`.
    pub fn choice(&self, name: &str, words: &[&str]) -> Result<usize, OptionError> {
        let position = match self.value(name) {
            OptionValue::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        position.ok_or_else(|| self.error(name, format!("one of {} was expected", words.join(", "))))
    }

    pub fn text(&self, name: &str) -> Result<&str, OptionError> {
        match self.value(name) {
            OptionValue::Text(text) => Ok(text),
            _ => Err(self.error(name, "a text was expected".to_owned())),
        }
    }

    /// Several names; on a command line they stand in one argument, with commas between them.
    pub fn list(&self, name: &str) -> Result<Vec<String>, OptionError> {
        match self.value(name) {
            OptionValue::List(names) => Ok(names.clone()),
            OptionValue::Text(text) => {
                Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
            }
            _ => Err(self.error(name, "a list of names was expected".to_owned())),
        }
    }

    /// A time with its unit: `600s`, `10m`.
    pub fn duration(&self, name: &str) -> Result<Duration, OptionError> {
        let unit = |text: &str| {
            [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)].into_iter().find_map(|(unit, seconds)| {
                text.strip_suffix(unit).and_then(|number| number.trim().parse::<f64>().ok()).map(|n| n * seconds)
            })
        };
        let seconds = match self.value(name) {
            OptionValue::Text(text) => unit(text),
            _ => None,
        };
        let positive = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite());
        let duration = positive.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        duration.ok_or_else(|| self.error(name, "a time with its unit, such as \"600s\", was expected".to_owned()))
    }

    /// A name of letters, digits and underscores, as it may stand in SQL without quotes.
    pub fn word(&self, name: &str) -> Result<&str, OptionError> {
        let plain = |text: &str| {
            let mut letters = text.bytes();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
                && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
        };
        match self.value(name) {
            OptionValue::Text(text) if plain(text) => Ok(text),
            _ => Err(self.error(name, "a word of letters, digits and underscores was expected".to_owned())),
        }
    }

    pub fn error(&self, option: &str, expected: String) -> OptionError {
        OptionError::new(option, format!("{expected}, not {}", self.value(option)))
    }
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OptionValue::Number(number) => number.fmt(f),
            OptionValue::Real(real) => real.fmt(f),
            OptionValue::Text(text) => write!(f, "\"{text}\""),
            OptionValue::Flag(flag) => flag.fmt(f),
            OptionValue::List(names) => write!(f, "[{}]", names.join(", ")),
            OptionValue::File { path, .. } => write!(f, "\"{path}\""),
            OptionValue::Items(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            OptionValue::Table(entries) => {
                let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// Defaults that stand for nothing given, of options that are lists of anything, and tables.
pub const ITEMS: &str = "[{}]";
pub const TABLE: &str = "{}";

fn parse_default(text: &str) -> OptionValue {
    match text {
        "true" => OptionValue::Flag(true),
        "false" => OptionValue::Flag(false),
        "[]" => OptionValue::List(Vec::new()),
        ITEMS => OptionValue::Items(Vec::new()),
        TABLE => OptionValue::Table(BTreeMap::new()),
        _ => text
            .parse()
            .map(OptionValue::Number)
            .or_else(|_| text.parse().map(OptionValue::Real))
            .unwrap_or_else(|_| OptionValue::Text(text.to_owned())),
    }
}
