//! How a pass over operations, and statements that are timed one by one, stand in a record: the names of their metrics
//! and flags.
//!
//! A flag is `KIND:NAME`, where KIND is the trouble of an operation (or, for `partial` and
//! `estimated_program`, with a program); the record's remark of that flag is the reason.

/// All operations that have a time.
pub const SECONDS: &str = "seconds";

/// Executions a second of an operation that ran for a time, which it is compared by.
pub const RATE: &str = "per_s";
/// CPU time of the server in one execution of it.
pub const EXECUTION_CPU: &str = "cpu_us_per_execution";
/// What the server did in one execution of it beside that: context switches, bytes read from disks and written to them.
pub const MOVED: [&str; 3] = ["switches_per_execution", "read_bytes_per_execution", "written_bytes_per_execution"];
/// The geometric mean of the rates of all operations: each weighs the same, however long it takes.
pub const GEOMEAN_RATE: &str = "geomean_per_s";
/// Time of a pass in which no operation was measured.
pub const BETWEEN_SECONDS: &str = "between_s";

/// The server would not run it, or it was not reached: no time, no count.
pub const GAP: &str = "gap";
/// It was answered wrongly: its time is reported, and compared with nothing.
pub const WRONG: &str = "wrong";
/// The server lacks some of its statements, so that its time is that of less work.
pub const FEWER: &str = "fewer";
/// The time limit ended it: its time is scaled up to the planned count.
pub const ESTIMATED: &str = "estimated";
/// A program of which an operation was estimated.
pub const ESTIMATED_PROGRAM: &str = "estimated_program";
/// It was ended at the limit of a statement: that is its time, and it would have taken longer.
pub const LIMITED: &str = "limited";
/// Too short to be timed well, and not repeated: it changes data, or `loop_short` was off.
pub const SHORT: &str = "short";
/// A program of which an operation is missing or wrong, so that its time is that of less work.
pub const PARTIAL: &str = "partial";

pub fn flag(kind: &str, name: &str) -> String {
    format!("{kind}:{name}")
}

/// The name behind a flag of this kind.
pub fn flagged<'a>(flag: &'a str, kind: &str) -> Option<&'a str> {
    flag.strip_prefix(kind)?.strip_prefix(':')
}

/// `op.create+drop.seconds`; `what` is `seconds`, `count`, `executed`, `server_cpu_s` or `client_cpu_s`, and of one that
/// ran for a time [`RATE`] in place of `seconds`, and [`EXECUTION_CPU`].
pub fn operation_metric(operation: &str, what: &str) -> String {
    format!("op.{operation}.{what}")
}

pub fn program_metric(program: &str) -> String {
    format!("program.{program}.{SECONDS}")
}

/// The sum of its operations' counts.
pub fn program_count_metric(program: &str) -> String {
    format!("program.{program}.count")
}

/// `statement.order.pay.latency_ms_p95`; `what` is `count`, `failed`, `retries`, `rows` of a call, `share` of the time
/// of all statements, or a latency.
pub fn statement_metric(statement: &str, what: &str) -> String {
    format!("statement.{statement}.{what}")
}

/// The mean latency of a statement, which it is compared by.
pub const STATEMENT_LATENCY: &str = "latency_ms_avg";

/// The statement whose mean latency this metric is.
pub fn statement_of(metric: &str) -> Option<&str> {
    metric.strip_prefix("statement.")?.strip_suffix(STATEMENT_LATENCY)?.strip_suffix('.')
}

/// The operation whose time this metric is.
pub fn operation_of(metric: &str) -> Option<&str> {
    metric.strip_prefix("op.")?.strip_suffix(SECONDS)?.strip_suffix('.')
}

/// The operation whose rate this metric is.
pub fn rated(metric: &str) -> Option<&str> {
    metric.strip_prefix("op.")?.strip_suffix(RATE)?.strip_suffix('.')
}

/// The group of an operation that ran for a time: `point` of `point/pk`.
pub fn group_of(operation: &str) -> Option<&str> {
    operation.split_once('/').map(|(group, _)| group)
}

/// The geometric mean of the rates of a group.
pub fn group_metric(group: &str) -> String {
    format!("group.{group}.{GEOMEAN_RATE}")
}

/// Whether a metric is a geometric mean of rates.
pub fn is_mean_rate(metric: &str) -> bool {
    metric == GEOMEAN_RATE || metric.starts_with("group.") && metric.ends_with(GEOMEAN_RATE)
}

/// The program whose time this metric is.
pub fn program_of(metric: &str) -> Option<&str> {
    metric.strip_prefix("program.")?.strip_suffix(SECONDS)?.strip_suffix('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        assert_eq!(operation_of(&operation_metric("create+drop", SECONDS)), Some("create+drop"));
        assert_eq!(operation_of(&operation_metric("count", "count")), None);
        assert_eq!(program_of(&program_metric("alter-table")), Some("alter-table"));
        assert_eq!((operation_of(SECONDS), program_of(SECONDS)), (None, None));
        assert_eq!(statement_of(&statement_metric("order.new line", STATEMENT_LATENCY)), Some("order.new line"));
        assert_eq!(statement_of("statement.a.count"), None);
        assert_eq!(rated(&operation_metric("point/pk", RATE)), Some("point/pk"));
        assert_eq!((rated(&operation_metric("std", SECONDS)), rated(GEOMEAN_RATE)), (None, None));
        assert_eq!((group_of("point/pk"), group_of("std")), (Some("point"), None));
        assert!(is_mean_rate(&group_metric("point")) && !is_mean_rate(&operation_metric("point/pk", RATE)));
        assert_eq!(flagged(&flag(WRONG, "count"), WRONG), Some("count"));
        assert_eq!((flagged("steal", WRONG), flagged("wrong", WRONG)), (None, None));
    }
}
