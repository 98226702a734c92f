//! What to try first: a tuning ladder for one engine and version on one machine, with the reason of each rung.
//!
//! Rules of thumb from manuals and release notes, each with its source; only a measurement shows whether a rung
//! brings anything. It reads no server and no machine: its arguments are its only input. What must stay true:
//! every setting exists in the version and lies within its limits (engine's `tunable.rs`), the whole ladder fits into the
//! memory (engine's `memory_need.rs`), and a rung that weakens what a commit promises comes last and is called a trade.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use engine::Engine;
use engine::advice::Draft;
pub use engine::advice::{FULL_PROMISE, Left, Rung, Subject};
use engine::memory_need::{self, Need, need};
use engine::tunable::{GIB, MIB, Machine, Tuning};
use record::quantity::bytes_text;

#[derive(Debug, Clone)]
pub struct Advice {
    pub engine: &'static dyn Engine,
    pub version: String,
    pub machine: Machine,
    pub clients: u32,
    pub rungs: Vec<Rung>,
    pub left: Vec<Left>,
    /// What the server takes with its defaults, and on top of the ladder.
    pub need_at_first: Need,
    pub need_at_last: Need,
}

impl Advice {
    /// Everything the ladder sets, from the lowest rung on.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let changes = self.rungs.iter().flat_map(|rung| &rung.settings);
        changes.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }
}

/// The ladder for a server on a machine; fails where the server could not run there at all.
pub fn advise(subject: &Subject) -> Result<Advice> {
    let Subject { engine, version, machine, clients } = *subject;
    ensure!(machine.data_bytes > 0, "no data: a ladder for an empty database would tune nothing; give --data a size");
    ensure!(machine.cores > 0, "no cores: a server needs one at least; give --cores a number");
    let tuning = engine.tuning().with_context(|| format!("there are no rules for {}", engine.kind()))?;
    ensure_it_can_run(tuning, subject)?;
    let Draft { rungs, left } = tuning.advice(subject);
    let settings = settings_of(&rungs);
    memory_need::fits(engine, version, &settings, clients, machine.memory_bytes)?;
    let needed = |settings| need(engine, version, settings, clients).expect("what the rules set can be read");
    Ok(Advice {
        engine,
        version: version.to_owned(),
        machine,
        clients,
        need_at_first: needed(&BTreeMap::new()),
        need_at_last: needed(&settings),
        rungs,
        left,
    })
}

fn ensure_it_can_run(tuning: &dyn Tuning, subject: &Subject) -> Result<()> {
    let smallest = tuning.smallest().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let Some(need) = need(subject.engine, subject.version, &smallest, subject.clients) else { return Ok(()) };
    ensure!(
        need.total_bytes() <= subject.machine.memory_bytes,
        "{} {} cannot run in {}: with the smallest settings and {} clients it takes {}\n  next: give more --memory or fewer --clients",
        subject.engine.kind(),
        subject.version_text(),
        bytes_text(subject.machine.memory_bytes),
        subject.clients,
        bytes_text(need.total_bytes().next_multiple_of(MIB)),
    );
    Ok(())
}

fn settings_of(rungs: &[Rung]) -> BTreeMap<String, String> {
    let changes = rungs.iter().flat_map(|rung| &rung.settings);
    changes.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// From a toy to a large server.
pub const MACHINES: [Machine; 5] = [
    Machine { memory_bytes: 512 * MIB, cores: 1, data_bytes: GIB },
    Machine { memory_bytes: 2 * GIB, cores: 2, data_bytes: 4 * GIB },
    Machine { memory_bytes: 8 * GIB, cores: 4, data_bytes: 4 * GIB },
    Machine { memory_bytes: 64 * GIB, cores: 16, data_bytes: 200 * GIB },
    Machine { memory_bytes: 512 * GIB, cores: 64, data_bytes: 2048 * GIB },
];

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Engines;
    use engine::tunable::{self, What};
    use engines::ENGINES;

    const VERSIONS: &[(&str, &[&str])] = &[
        ("mysql", &["5.0.21", "5.5.9", "5.6.24", "5.7.29", "8.0.15", "8.0.31", "9.7.*"]),
        ("mariadb", &["10.1.23", "10.2.11", "10.11.19", "11.4.5", "11.8.*"]),
        ("postgres", &["9.6.24", "11.22", "15.18", "17.7", "18.6"]),
        ("sqlite", &["3.50.2"]),
    ];

    fn engine(kind: &str) -> &'static dyn Engine {
        Engines(ENGINES).find(kind).unwrap()
    }

    fn given(kind: &str, version: &str, machine: Machine) -> Advice {
        advise(&Subject { engine: engine(kind), version, machine, clients: 16 }).unwrap()
    }

    fn setting(kind: &str, version: &str, machine: Machine, name: &str) -> Option<String> {
        given(kind, version, machine).settings().remove(name)
    }

    #[test]
    fn advice_stays_within_the_version_the_memory_and_the_promise() {
        for (kind, versions) in VERSIONS {
            for (version, machine) in versions.iter().flat_map(|version| MACHINES.map(|machine| (version, machine))) {
                let advice = given(kind, version, machine);
                assert!(advice.rungs.len() >= 3, "{kind} {version} {machine:?}: {:?}", advice.rungs);
                assert!(advice.need_at_last.total_bytes() <= machine.memory_bytes, "{kind} {version} {machine:?}");
                let (safe, trades): (Vec<_>, Vec<_>) = advice.rungs.iter().partition(|rung| rung.trade.is_none());
                assert!(safe.iter().all(|rung| rung.promise == FULL_PROMISE));
                assert_eq!(trades.len(), 1, "{kind} {version}");
                assert_eq!(advice.rungs.last(), trades.last().copied(), "{kind} {version}: the trade comes last");
                for (name, value) in advice.rungs.iter().flat_map(|rung| &rung.settings) {
                    let tunable = tunable::find(engine(kind), version, name);
                    let tunable = tunable.unwrap_or_else(|| panic!("{kind} {version} has no {name} in its table"));
                    let number = record::quantity::bytes(value);
                    if let (Some(number), false) = (number, tunable.what == What::Word) {
                        assert_eq!(tunable.within(number), number, "{kind} {version}: {name} = {value}");
                    }
                }
                // Each rung on its way up has to start as well.
                for height in 0..=advice.rungs.len() {
                    let settings = settings_of(&advice.rungs[..height]);
                    let first = height == 0;
                    let fits = memory_need::fits(engine(kind), version, &settings, 16, machine.memory_bytes);
                    assert!(fits.is_ok() || first, "{kind} {version} {machine:?} rung {height}: {fits:?}");
                }
            }
        }
    }

    #[test]
    fn a_trade_lowers_the_durability_class_and_no_other_rung_does() {
        let defaults: &[(&str, &[(&str, &str)])] = &[
            ("mysql", &[("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON"), ("log_bin", "OFF")]),
            ("mariadb", &[("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON"), ("log_bin", "OFF")]),
            ("postgres", &[("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on")]),
            ("sqlite", &[("synchronous", "2"), ("journal_mode", "delete")]),
        ];
        for (kind, versions) in VERSIONS {
            let (_, defaults) = defaults.iter().find(|(known, _)| known == kind).unwrap();
            for version in *versions {
                let mut effective: BTreeMap<String, String> =
                    defaults.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
                for rung in given(kind, version, MACHINES[2]).rungs {
                    effective.extend(rung.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
                    // SQLite shows the verdict as its number.
                    if effective.get("synchronous").is_some_and(|word| word == "NORMAL") {
                        effective.insert("synchronous".to_owned(), "1".to_owned());
                    }
                    let class = engine(kind).durability_class(&effective);
                    assert_eq!(class, rung.promise, "{kind} {version}: {}", rung.name);
                    assert_eq!(class == FULL_PROMISE, rung.trade.is_none(), "{kind} {version}: {}", rung.name);
                }
            }
        }
    }

    #[test]
    fn a_pool_is_four_fifths_of_the_memory_or_the_data_and_a_tenth_and_fits() {
        let pool = |version, machine| setting("mysql", version, machine, "innodb_buffer_pool_size");
        // The data and a tenth are 4.4 GiB.
        assert_eq!(pool("5.5.9", MACHINES[2]).as_deref(), Some("4608M"));
        // Eight instances of 128 MiB: anything between would be rounded up by the server.
        assert_eq!(pool("5.7.29", MACHINES[2]).as_deref(), Some("5G"));
        // 51 GiB are four fifths.
        assert_eq!(pool("8.0.31", MACHINES[3]).as_deref(), Some("50G"));
        assert_eq!(pool("5.0.21", MACHINES[3]).as_deref(), Some("2000M"));
        let small = Machine { data_bytes: 50 * MIB, ..MACHINES[2] };
        assert_eq!(pool("5.5.9", small), None);
    }

    #[test]
    fn logs_keep_to_the_limit_of_their_version() {
        let log = |version, machine| setting("mysql", version, machine, "innodb_log_file_size");
        assert_eq!(log("5.5.9", MACHINES[2]).as_deref(), Some("576M"));
        assert_eq!(log("5.5.9", MACHINES[4]).as_deref(), Some("1G"));
        assert_eq!(log("5.6.24", MACHINES[4]).as_deref(), Some("8G"));
        assert_eq!(log("8.0.31", MACHINES[4]), None);
        assert_eq!(setting("mysql", "8.0.31", MACHINES[4], "innodb_redo_log_capacity").as_deref(), Some("16G"));
        assert_eq!(setting("mariadb", "10.11.19", MACHINES[2], "innodb_log_file_size").as_deref(), Some("1152M"));
    }

    #[test]
    fn instances_have_a_gigabyte_each_and_are_no_more_than_the_cores() {
        let instances = |kind, version, machine| setting(kind, version, machine, "innodb_buffer_pool_instances");
        assert_eq!(instances("mysql", "5.5.9", MACHINES[2]).as_deref(), Some("4"));
        assert_eq!(instances("mysql", "5.5.9", MACHINES[1]), None);
        assert_eq!(instances("mysql", "5.7.29", MACHINES[3]).as_deref(), Some("16"));
        assert_eq!(instances("mysql", "5.0.21", MACHINES[3]), None);
        assert_eq!(instances("mariadb", "10.11.19", MACHINES[3]), None);
        assert_eq!(instances("mysql", "9.7.*", MACHINES[3]), None);
    }

    #[test]
    fn postgres_gets_a_quarter_of_the_memory() {
        let buffers = |machine| setting("postgres", "17.7", machine, "shared_buffers");
        assert_eq!(buffers(MACHINES[2]).as_deref(), Some("2GB"));
        assert_eq!(buffers(MACHINES[3]).as_deref(), Some("16GB"));
        assert_eq!(buffers(MACHINES[0]), None);
        assert_eq!(setting("postgres", "9.6.24", MACHINES[2], "checkpoint_completion_target").as_deref(), Some("0.9"));
        assert_eq!(setting("postgres", "17.7", MACHINES[2], "checkpoint_completion_target"), None);
        assert_eq!(setting("postgres", "9.6.24", MACHINES[2], "jit"), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        let refused = |kind, machine, clients| {
            advise(&Subject { engine: engine(kind), version: "5.6.24", machine, clients }).unwrap_err().to_string()
        };
        let error = refused("mysql", Machine { memory_bytes: 64 * MIB, ..MACHINES[0] }, 16);
        assert!(error.starts_with("mysql 5.6.24 cannot run in 64 MiB"), "{error}");
        assert!(error.contains("more --memory or fewer --clients"), "{error}");
        assert!(refused("mysql", Machine { data_bytes: 0, ..MACHINES[0] }, 16).contains("--data"));
        assert!(refused("mysql", Machine { cores: 0, ..MACHINES[0] }, 16).contains("--cores"));
    }
}
