//! What a tuning is made of: settings with their limits, the memory that they take, and rungs of advice.

use std::collections::BTreeMap;

use record::setting_value::{parse_quantity, parse_size, parse_switch, plain};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// What a server is given, and how much it has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    pub memory_bytes: u64,
    pub cores: u32,
    pub data_bytes: u64,
}

/// What kind of value a setting takes, between which documented limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Bytes {
        least: u64,
        most: u64,
    },
    Count {
        least: u64,
        most: u64,
    },
    /// One of some names, a time or a cost: the table lists its values.
    Word,
}

/// One setting, over the versions in which it exists with these limits.
#[derive(Debug)]
pub struct Tunable {
    pub kind: &'static str,
    pub name: &'static str,
    pub what: What,
    /// The first version that has it so.
    pub from: &'static [u32],
    /// The first version that has it so no more; empty where all later ones do.
    pub until: &'static [u32],
    /// Its name from `until` on, where another setting took its place.
    pub then: Option<&'static str>,
    /// It can weaken what a commit promises: never for a search, and a marked trade elsewhere.
    pub touches_durability: bool,
    /// Data have to be loaded again, because it shapes the files.
    pub needs_reload: bool,
    values: fn(&Machine) -> Vec<String>,
}

impl Tunable {
    pub const fn new(
        kind: &'static str,
        name: &'static str,
        what: What,
        values: fn(&Machine) -> Vec<String>,
    ) -> Tunable {
        Tunable {
            kind,
            name,
            what,
            from: &[],
            until: &[],
            then: None,
            touches_durability: false,
            needs_reload: false,
            values,
        }
    }

    pub const fn from(self, version: &'static [u32]) -> Tunable {
        Tunable { from: version, ..self }
    }

    pub const fn until(self, version: &'static [u32]) -> Tunable {
        Tunable { until: version, ..self }
    }

    pub const fn then(self, name: &'static str) -> Tunable {
        Tunable { then: Some(name), ..self }
    }

    pub const fn durability(self) -> Tunable {
        Tunable { touches_durability: true, ..self }
    }

    pub const fn reload(self) -> Tunable {
        Tunable { needs_reload: true, ..self }
    }

    /// Values worth a try on a machine, the ones that one would try first in front; some may be the default.
    pub fn values(&self, machine: &Machine) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for value in (self.values)(machine) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Whether a server with so many connections takes a value as it stands: a cache of threads is cut down to
    /// them silently, and what is not in force as asked fails the start.
    pub fn is_taken(&self, value: &str, connections: u32) -> bool {
        self.name != "thread_cache_size" || value.parse::<u32>().is_ok_and(|threads| threads <= connections)
    }

    /// A number brought within the documented limits.
    pub fn within(&self, number: u64) -> u64 {
        match self.what {
            What::Bytes { least, most } | What::Count { least, most } => number.clamp(least, most),
            What::Word => number,
        }
    }

    pub fn exists_in(&self, version: &[u32]) -> bool {
        version >= self.from && (self.until.is_empty() || version < self.until)
    }
}

/// Down to a multiple, but to no less than one.
pub fn rounded_down(bytes: u64, unit: u64) -> u64 {
    (bytes / unit).max(1) * unit
}

/// Shared parts by name, and what each connection takes.
pub type Parts = (Vec<(&'static str, u64)>, u64);

/// Settings under plain names: lower case, underscores.
pub struct Given(BTreeMap<String, String>);

impl Given {
    pub(crate) fn new(settings: &BTreeMap<String, String>) -> Given {
        Given(settings.iter().map(|(name, value)| (plain(name), value.clone())).collect())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A size as MySQL reads it; None where what is given is none.
    pub fn mysql(&self, name: &str, default: u64) -> Option<u64> {
        match self.0.get(name) {
            None => Some(default),
            Some(text) => parse_size(text).and_then(|bytes| bytes.try_into().ok()),
        }
    }

    /// A size as PostgreSQL reads it, whose bare numbers are in `unit`; negative ones mean the default.
    pub fn postgres(&self, name: &str, default: u64, unit: &str) -> Option<u64> {
        match self.0.get(name) {
            None => Some(default),
            Some(text) => {
                let bytes = parse_quantity(text, unit)?;
                Some(if bytes < 0.0 { default } else { bytes as u64 })
            }
        }
    }

    pub fn switch(&self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(|text| parse_switch(text)).unwrap_or(default)
    }
}

/// The promise that nothing weakens: a commit survives a crash of the operating system (method, section 7).
pub const FULL_PROMISE: &str = "D3";

/// One change on top of everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub name: String,
    pub settings: Vec<(&'static str, String)>,
    pub reason: String,
    /// Where it is written, by the name of the page.
    pub source: String,
    /// What a commit promises from here on: `D3` … `D0`.
    pub promise: &'static str,
    /// What may be lost, for a rung that lowers the promise.
    pub trade: Option<&'static str>,
}

/// A setting that stays as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub setting: &'static str,
    pub reason: String,
}

/// Rungs and what stays, as the rules of an engine give them.
#[derive(Default)]
pub struct Draft {
    pub rungs: Vec<Rung>,
    pub left: Vec<Left>,
}

impl Draft {
    pub fn rung(
        &mut self,
        name: impl Into<String>,
        settings: Vec<(&'static str, String)>,
        reason: String,
        source: String,
    ) {
        self.rungs.push(Rung { name: name.into(), settings, reason, source, promise: FULL_PROMISE, trade: None });
    }

    pub fn leave(&mut self, setting: &'static str, reason: impl Into<String>) {
        self.left.push(Left { setting, reason: reason.into() });
    }
}
