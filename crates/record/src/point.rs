//! Names that a point of a sweep may have beside the options of its workload.

/// The key of `[workload]` and `[sweep]` that belongs to no workload.
pub const CLIENTS: &str = "clients";
/// The key of `[sweep]` for how many CPUs the servers have.
pub const CORES: &str = "cores";
/// The key of `[workload]` and `[sweep]` for arrivals a second.
pub const RATE: &str = "rate";
