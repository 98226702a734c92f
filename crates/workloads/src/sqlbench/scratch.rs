//! The names of all tables that the programs make, so that no other tables are dropped for them.

const NAMES: &[&str] = &[
    "bench",
    "bench1",
    "bench2",
    "bench3",
    "onek",
    "tenk1",
    "tenk2",
    "bprime",
    "aircraft",
    "airline",
    "airport",
    "airport_service",
    "city",
    "class_of_service",
    "code_description",
    "compound_class",
    "connect_leg",
    "fconnection",
    "day_name",
    "dual_carrier",
    "fare",
    "flight",
    "flight_class",
    "flight_day",
    "flight_fare",
    "food_service",
    "ground_service",
    "time_interval",
    "month_name",
    "restrict_carrier",
    "restrict_class",
    "restriction",
    "state",
    "stop1",
    "time_zone",
    "transport",
];

/// The numbered tables of `create`.
const NUMBERED: &str = "bench_";

/// Whether a program makes a table of this name, in lower case.
pub fn has(table: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_digit());
    NAMES.contains(&table) || table.strip_prefix(NUMBERED).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_programs_is_known_and_no_other() {
        assert_eq!(NAMES.len(), 8 + 28);
        assert!(has("bench_1") && has("bench_10000") && has("time_zone") && has("bprime"));
        assert!(!has("bench_") && !has("bench_x1") && !has("benchmarks") && !has("cities"));
    }
}
