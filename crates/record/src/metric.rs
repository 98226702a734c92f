//! Names of metrics that more than one room knows.

pub const CHECKPOINT_AGE: &str = "checkpoint_age_bytes";
/// More than nothing while a checkpoint is under way, where a server says so.
pub const CHECKPOINTS_RUNNING: &str = "checkpoints_running";

/// Flags that say something about the host, not about a contender.
pub const HOST_FLAGS: [&str; 8] =
    ["steal", "foreign-cpu", "foreign-disk", "frequency", "swap", "oom", "throttle", "clock-step"];
