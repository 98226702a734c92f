//! Names of metrics that more than one crate uses.

pub const CHECKPOINT_AGE: &str = "checkpoint_age_bytes";
/// Above zero while a checkpoint is under way, where a server reports it.
pub const CHECKPOINTS_RUNNING: &str = "checkpoints_running";

/// Flags about the host, not about a contender.
pub const HOST_FLAGS: [&str; 8] =
    ["steal", "foreign-cpu", "foreign-disk", "frequency", "swap", "oom", "throttle", "clock-step"];

/// The unit that a metric's name carries.
pub fn unit(metric: &str) -> &'static str {
    let named = [
        ("tps", "tps"),
        ("qps", "qps"),
        ("nopm", "NOPM"),
        ("tpm", "TPM"),
        ("_ms_", "ms"),
        ("cpu_us_per_tx", "us"),
        ("seconds", "s"),
    ];
    named.iter().find(|(part, _)| metric.contains(part)).map_or("", |(_, unit)| unit)
}
