//! The settings that may be tuned, per version of an engine: limits, and values worth a try.
//!
//! Engines give the tables ([`Tuning`]), which `dbduel __engines check-tables` holds against real servers; nothing
//! here starts a server or reads a file. What
//! must stay true: a setting that can weaken what a commit promises is marked, a value that is offered lies
//! within the documented limits of its version, and nothing here turns off work that a server owes (vacuum,
//! purge, checkpoints), because that would only move it behind the measurement.

pub use crate::engine::Tuning;
pub use crate::tuning::{GIB, KIB, MIB, Machine, Tunable, What, rounded_down};
use crate::{Engine, version_numbers};

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
