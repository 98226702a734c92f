//! About how long a pass takes, before one has run.

use std::time::Duration;

use super::bench::Program;
use super::options::SqlBench;

/// Of each program: seconds at full scale with MySQL 5.5, published in 2013, and milliseconds of the small test, the mean
/// of MySQL 5.5, 5.6 and MariaDB 10.11 on two machines of two virtual cores, one a third faster. The small test is no
/// even share of the whole: `wisconsin` does a tenth of its loops and `insert` a thousandth. A server of today may take a
/// third of the full scale or, where it syncs its log at every commit to a slow disk, ten times as long.
const PROGRAMS: [(&str, u64, u64); 8] = [
    ("ATIS", 29, 1700),
    ("alter-table", 26, 550),
    ("big-tables", 14, 80),
    ("connect", 329, 430),
    ("create", 724, 730),
    ("insert", 2682, 2300),
    ("select", 283, 1850),
    ("wisconsin", 61, 5000),
];
/// For a program that is not in that table.
const OTHER: (u64, u64) = (60, 1000);
/// In the small test nearly every operation is so short that it is run until this much was timed.
const LOOPED: Duration = Duration::from_secs(2);

pub fn pass(options: &SqlBench, programs: &[&Program]) -> Duration {
    let of_program = |name: &str| {
        let known = PROGRAMS.iter().find(|(known, ..)| *known == name);
        let (full_s, small_ms) = known.map_or(OTHER, |(_, full_s, small_ms)| (*full_s, *small_ms));
        if options.small { Duration::from_millis(small_ms) } else { Duration::from_secs(full_s) }
    };
    let whole: Duration = programs.iter().map(|program| of_program(program.name)).sum();
    let operations = programs.iter().flat_map(|program| program.operations);
    let looped =
        if options.small && options.loop_short { operations.filter(|name| options.reports(name)).count() } else { 0 };
    whole + LOOPED * looped as u32
}
