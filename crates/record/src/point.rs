//! A point of a sweep, and the names that it may have beside the options of its workload.

use std::collections::BTreeMap;

/// The key of `[workload]` and `[sweep]` that belongs to no workload.
pub const CLIENTS: &str = "clients";
/// The key of `[sweep]` for how many CPUs the servers have.
pub const CORES: &str = "cores";
/// The key of `[workload]` and `[sweep]` for arrivals a second.
pub const RATE: &str = "rate";

/// What varies, with its value: `{"clients": 16}`; empty where nothing varies.
pub type Point = BTreeMap<String, u64>;

/// A point for a reader: `16 clients`, `1 client`, `500/s`; `one point` where nothing varies.
pub fn point_text(point: &Point) -> String {
    let part = |(name, value): (&String, &u64)| match (value, name.strip_suffix('s')) {
        (1, Some(singular)) => format!("1 {singular}"),
        _ if name == "rate" => format!("{value}/s"),
        _ => format!("{value} {name}"),
    };
    let parts: Vec<String> = point.iter().map(part).collect();
    if parts.is_empty() { "one point".to_owned() } else { parts.join(", ") }
}
