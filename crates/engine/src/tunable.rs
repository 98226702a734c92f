//! The settings that may be tuned, per version of an engine: limits, and values worth a try.
//!
//! Engines give the tables ([`Tuning`]), which `dbduel __engines check-tables` holds against real servers; nothing
//! here starts a server or reads a file. What
//! must stay true: a setting that can weaken what a commit promises is marked, a value that is offered lies
//! within the documented limits of its version, and nothing here turns off work that a server owes (vacuum,
//! purge, checkpoints), because that would only move it behind the measurement.

use crate::advice::{Draft, Subject};
use crate::memory_need::{Given, Parts};
use crate::{Engine, version_numbers};

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

/// The tuning side of an engine.
pub trait Tuning: Sync {
    /// The settings that may be tuned, over all versions.
    fn tunables(&self) -> &'static [Tunable];
    /// What a server takes, part by part; None where a setting cannot be read.
    fn memory(&self, version: &[u32], given: &Given) -> Option<Parts>;
    /// The smallest settings: what it needs at all.
    fn smallest(&self) -> &'static [(&'static str, &'static str)];
    /// What to try first, and what to leave as it is.
    fn advice(&self, subject: &Subject) -> Draft;
    /// How a size is written in its settings.
    fn size_text(&self, bytes: u64) -> String;
}

/// The settings of an engine that may be tuned in a version; none for an engine without a table.
pub fn tunables(engine: &dyn Engine, version: &str) -> Vec<&'static Tunable> {
    let version = version_numbers(version);
    all(engine).filter(|tunable| tunable.exists_in(&version)).collect()
}

/// One of [`tunables`], by its name.
pub fn find(engine: &dyn Engine, version: &str, name: &str) -> Option<&'static Tunable> {
    tunables(engine, version).into_iter().find(|tunable| tunable.name == name)
}

/// What a setting is called in earlier or later versions: `innodb_redo_log_capacity` was `innodb_log_file_size`.
pub fn other_names(engine: &dyn Engine, name: &str) -> Vec<&'static str> {
    let linked = all(engine).filter_map(|tunable| match tunable.then {
        Some(then) if then == name && tunable.name != name => Some(tunable.name),
        Some(then) if tunable.name == name && then != name => Some(then),
        _ => None,
    });
    linked.collect()
}

fn all(engine: &dyn Engine) -> impl Iterator<Item = &'static Tunable> {
    let table = engine.tuning().map_or(&[][..], |tuning| tuning.tunables());
    table.iter().filter(move |tunable| tunable.kind == engine.kind())
}

/// The most that a cache which holds whole tables may take: 80 % of the memory, or the data and a tenth.
pub fn cache_bytes_max(machine: &Machine) -> u64 {
    let four_fifths = machine.memory_bytes / 5 * 4;
    four_fifths.min(machine.data_bytes.saturating_add(machine.data_bytes / 10))
}

/// [`cache_bytes_max`] in a size that a server takes as it is: one that holds the data and a tenth whole, where 80 %
/// of the memory allow it.
pub fn enough_for_data(machine: &Machine, rounded: impl Fn(u64) -> u64) -> u64 {
    let wanted = cache_bytes_max(machine);
    let most = machine.memory_bytes / 5 * 4;
    let larger = (0..=64).map(|steps| rounded(wanted.saturating_add(steps * 128 * MIB)));
    larger.take_while(|bytes| *bytes <= most).find(|bytes| *bytes >= wanted).unwrap_or_else(|| rounded(wanted))
}

/// Down to a multiple, but to no less than one.
pub fn rounded_down(bytes: u64, unit: u64) -> u64 {
    (bytes / unit).max(1) * unit
}

/// Words as they stand.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// Counts, each once.
pub fn counts<const N: usize>(counts: [u64; N]) -> Vec<String> {
    counts.into_iter().map(|count| count.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINES: &[Machine] = &[
        Machine { memory_bytes: 512 * MIB, cores: 1, data_bytes: GIB },
        Machine { memory_bytes: 8 * GIB, cores: 4, data_bytes: 4 * GIB },
    ];

    #[test]
    fn a_cache_takes_four_fifths_of_the_memory_or_the_data_and_a_tenth() {
        assert_eq!(cache_bytes_max(&MACHINES[1]), 4 * GIB + 4 * GIB / 10);
        assert_eq!(cache_bytes_max(&MACHINES[0]), 512 * MIB / 5 * 4);
        assert_eq!(enough_for_data(&MACHINES[1], |bytes| rounded_down(bytes, GIB)), 5 * GIB);
        assert_eq!(enough_for_data(&MACHINES[0], |bytes| rounded_down(bytes, 128 * MIB)), 384 * MIB);
    }
}
