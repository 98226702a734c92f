//! The settings that may be tuned, per engine and version: limits, and values worth a try.
//!
//! It is data, held against real servers by `dbduel __engines advise`; it starts nothing and reads no file. What
//! must stay true: a setting that can weaken what a commit promises says so, a value that is offered lies
//! within the documented limits of its version, and nothing here turns off work that a server owes (vacuum,
//! purge, checkpoints), because that would only move it behind the measurement.

pub mod mysql_family;
pub mod postgres;
pub mod sqlite;

use super::version_numbers;

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
    /// One of some words, a time or a cost: what it may be is what the table offers.
    Word,
}

/// One setting, over the versions in which it exists with these limits.
#[derive(Debug)]
pub struct Knob {
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

impl Knob {
    const fn new(kind: &'static str, name: &'static str, what: What, values: fn(&Machine) -> Vec<String>) -> Knob {
        Knob {
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

    const fn from(self, version: &'static [u32]) -> Knob {
        Knob { from: version, ..self }
    }

    const fn until(self, version: &'static [u32]) -> Knob {
        Knob { until: version, ..self }
    }

    const fn then(self, name: &'static str) -> Knob {
        Knob { then: Some(name), ..self }
    }

    const fn durability(self) -> Knob {
        Knob { touches_durability: true, ..self }
    }

    const fn reload(self) -> Knob {
        Knob { needs_reload: true, ..self }
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
    /// them without a word, and what is not in force as asked fails the start.
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

    fn exists_in(&self, version: &[u32]) -> bool {
        version >= self.from && (self.until.is_empty() || version < self.until)
    }
}

/// The settings of an engine that may be tuned in a version; none for an engine that this table does not know.
pub fn knobs(kind: &str, version: &str) -> Vec<&'static Knob> {
    let version = version_numbers(version);
    all().filter(|knob| knob.kind == kind && knob.exists_in(&version)).collect()
}

/// One of [`knobs`], by its name.
pub fn find(kind: &str, version: &str, name: &str) -> Option<&'static Knob> {
    knobs(kind, version).into_iter().find(|knob| knob.name == name)
}

/// What a setting is called in earlier or later versions: `innodb_redo_log_capacity` was `innodb_log_file_size`.
pub fn other_names(kind: &str, name: &str) -> Vec<&'static str> {
    let of_kind = all().filter(|knob| knob.kind == kind);
    let linked = of_kind.filter_map(|knob| match knob.then {
        Some(then) if then == name && knob.name != name => Some(knob.name),
        Some(then) if knob.name == name && then != name => Some(then),
        _ => None,
    });
    linked.collect()
}

fn all() -> impl Iterator<Item = &'static Knob> {
    [mysql_family::KNOBS, postgres::KNOBS, sqlite::KNOBS].into_iter().flatten()
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
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// Counts, each once.
fn counts<const N: usize>(counts: [u64; N]) -> Vec<String> {
    counts.into_iter().map(|count| count.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINES: &[Machine] = &[
        Machine { memory_bytes: 512 * MIB, cores: 1, data_bytes: GIB },
        Machine { memory_bytes: 8 * GIB, cores: 4, data_bytes: 4 * GIB },
        Machine { memory_bytes: 512 * GIB, cores: 64, data_bytes: 2048 * GIB },
    ];

    fn names(kind: &str, version: &str) -> Vec<&'static str> {
        knobs(kind, version).iter().map(|knob| knob.name).collect()
    }

    #[test]
    fn a_setting_exists_in_its_versions_only() {
        let check = |kind: &str, version: &str, name: &str, there: bool| {
            assert_eq!(names(kind, version).contains(&name), there, "{kind} {version} {name}");
        };
        check("mysql", "5.0.21", "innodb_buffer_pool_instances", false);
        check("mysql", "5.5.9", "innodb_buffer_pool_instances", true);
        check("mariadb", "10.1.23", "innodb_buffer_pool_instances", true);
        check("mariadb", "10.11.19", "innodb_buffer_pool_instances", false);
        check("mysql", "8.0.15", "innodb_log_file_size", true);
        check("mysql", "8.0.31", "innodb_log_file_size", false);
        check("mysql", "8.0.31", "innodb_redo_log_capacity", true);
        check("mysql", "9.7.*", "innodb_redo_log_capacity", true);
        check("mariadb", "11.4.5", "innodb_log_file_size", true);
        check("mysql", "5.0.21", "table_cache", true);
        check("mysql", "5.5.9", "table_cache", false);
        check("postgres", "9.6.24", "jit", false);
        check("postgres", "17.7", "jit", true);
        check("postgres", "17.7", "io_workers", false);
        check("sqlite", "3.50.2", "cache_size", true);
        assert!(knobs("dolt", "1.86").is_empty());
    }

    #[test]
    fn a_setting_that_was_renamed_is_known_by_both_names() {
        assert_eq!(other_names("mysql", "innodb_redo_log_capacity"), ["innodb_log_file_size"]);
        assert_eq!(other_names("mysql", "innodb_log_file_size"), ["innodb_redo_log_capacity"]);
        assert_eq!(other_names("mysql", "table_cache"), ["table_open_cache"]);
        assert!(other_names("mariadb", "innodb_log_file_size").is_empty());
        assert!(other_names("mysql", "innodb_io_capacity").is_empty());
    }

    #[test]
    fn limits_are_those_of_the_version() {
        let most = |kind: &str, version: &str, name: &str| match find(kind, version, name).unwrap().what {
            What::Bytes { most, .. } | What::Count { most, .. } => most,
            What::Word => unreachable!("{name} is no number"),
        };
        assert_eq!(most("mysql", "5.0.21", "innodb_buffer_pool_size"), 2000 * MIB);
        // Two files, together less than 4 GB, and from 5.6.3 on less than 512 GB.
        assert!(2 * most("mysql", "5.5.9", "innodb_log_file_size") < 4 * GIB);
        assert!(2 * most("mysql", "5.6.24", "innodb_log_file_size") < 512 * GIB);
        assert_eq!(most("mysql", "8.0.31", "innodb_redo_log_capacity"), 128 * GIB);
        assert_eq!(most("mysql", "9.7.*", "innodb_redo_log_capacity"), 512 * GIB);
        assert_eq!(most("mysql", "5.5.9", "innodb_purge_threads"), 1);
        assert_eq!(most("mysql", "5.6.24", "innodb_purge_threads"), 32);
        assert_eq!(most("mysql", "5.6.24", "innodb_buffer_pool_instances"), 64);
    }

    #[test]
    fn a_name_stands_for_one_setting_in_each_version_and_goes_over_into_one_that_exists() {
        for (kind, versions) in [
            ("mysql", &["5.0.21", "5.5.9", "5.6.24", "5.7.29", "8.0.12", "8.0.31", "9.7.*"][..]),
            ("mariadb", &["10.1.23", "10.2.11", "10.11.5", "11.4.5", "11.8.*"]),
            ("postgres", &["9.6.24", "10.23", "15.18", "17.7", "18.6"]),
            ("sqlite", &["3.50.2"]),
        ] {
            for version in versions {
                let mut names = names(kind, version);
                assert!(names.len() >= 6, "{kind} {version}");
                names.sort_unstable();
                assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{kind} {version}: {names:?}");
            }
        }
        for knob in all() {
            let Some(then) = knob.then else { continue };
            let there = |other: &Knob| other.kind == knob.kind && other.name == then && other.exists_in(knob.until);
            assert!(all().any(there), "{} goes over into {then}, which is not there", knob.name);
        }
    }

    #[test]
    fn what_is_offered_lies_within_the_limits_of_its_version() {
        for (knob, machine) in all().flat_map(|knob| MACHINES.iter().map(move |machine| (knob, machine))) {
            let values = knob.values(machine);
            assert!(values.len() <= 6, "{} offers {values:?}: a handful is enough", knob.name);
            let read = |value: &String| match knob.kind {
                "postgres" => super::super::parse_quantity(value, "B").map(|bytes| bytes as u64),
                _ => super::super::settings::parse_size(value).map(|bytes| bytes.unsigned_abs() as u64),
            };
            for value in &values {
                let number = read(value);
                match knob.what {
                    What::Word => {}
                    // PostgreSQL: "as large as the server thinks"; SQLite: kibibytes, where others mean pages.
                    _ if value.starts_with('-') => {}
                    _ => assert_eq!(number.map(|number| knob.within(number)), number, "{} = {value}", knob.name),
                }
            }
        }
    }

    #[test]
    fn a_cache_of_threads_is_no_larger_than_the_connections() {
        let threads = find("mariadb", "10.11.19", "thread_cache_size").unwrap();
        assert!(threads.is_taken("24", 24) && !threads.is_taken("64", 24));
        assert!(find("mariadb", "10.11.19", "table_open_cache").unwrap().is_taken("2000", 24));
    }

    #[test]
    fn nothing_larger_than_the_machine_is_offered() {
        for (knob, machine) in all().flat_map(|knob| MACHINES.iter().map(move |machine| (knob, machine))) {
            if ["innodb_buffer_pool_size", "shared_buffers"].contains(&knob.name) {
                for value in knob.values(machine) {
                    let bytes = record::quantity::bytes(&value).unwrap();
                    assert!(bytes <= machine.memory_bytes / 5 * 4, "{} = {value} on {machine:?}", knob.name);
                }
            }
        }
    }

    #[test]
    fn a_cache_takes_four_fifths_of_the_memory_or_the_data_and_a_tenth() {
        assert_eq!(cache_bytes_max(&MACHINES[1]), 4 * GIB + 4 * GIB / 10);
        assert_eq!(cache_bytes_max(&MACHINES[0]), 512 * MIB / 5 * 4);
        assert_eq!(enough_for_data(&MACHINES[1], |bytes| rounded_down(bytes, GIB)), 5 * GIB);
        assert_eq!(enough_for_data(&MACHINES[0], |bytes| rounded_down(bytes, 128 * MIB)), 384 * MIB);
    }
}
