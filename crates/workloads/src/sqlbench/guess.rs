//! About how long a pass takes, before one has run.

use std::time::Duration;

use super::options::SqlBench;

/// Seconds of each program at full scale with MySQL 5.5, published in 2013. A server of today may take a
/// third of it or, where it syncs its log at every commit to a slow disk, ten times as long.
const SECONDS: [(&str, u64); 8] = [
    ("ATIS", 29),
    ("alter-table", 26),
    ("big-tables", 14),
    ("connect", 329),
    ("create", 724),
    ("insert", 2682),
    ("select", 283),
    ("wisconsin", 61),
];
/// For a program that was not in that table.
const OTHER_SECONDS: u64 = 60;
/// The small test counts 78,237 of the 3,425,950 statements of the whole.
const SMALL_DIVISOR: u32 = 44;
/// In the small test nearly every operation is so short that it is run until this much was timed.
const LOOPED: Duration = Duration::from_secs(2);
/// Whatever the scale, a program makes its tables and fills them.
const LEAST: Duration = Duration::from_secs(1);

pub fn pass(options: &SqlBench) -> Duration {
    let seconds = |name: &str| SECONDS.iter().find(|(known, _)| *known == name).map_or(OTHER_SECONDS, |(_, s)| *s);
    let of_program = |name: &str| {
        let full = Duration::from_secs(seconds(name));
        if options.small { (full / SMALL_DIVISOR).max(LEAST) } else { full }
    };
    let programs: Duration = options.programs.iter().map(|program| of_program(program.name)).sum();
    let operations = options.programs.iter().flat_map(|program| program.operations);
    let looped =
        if options.small && options.loop_short { operations.filter(|name| options.reports(name)).count() } else { 0 };
    programs + LOOPED * looped as u32
}
