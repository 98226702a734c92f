//! A trial that ends in a crash: what crashed, when, and what it left, as metrics.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is made to crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CrashKind {
    /// All processes of the server, by SIGKILL.
    Kill,
    /// The file system of the data: what was never synced is gone.
    Os,
}

impl CrashKind {
    /// For a reader.
    pub fn title(self) -> &'static str {
        match self {
            CrashKind::Kill => "kill",
            CrashKind::Os => "OS crash",
        }
    }
}

/// Metrics of such a trial, beside `tps`, `t_conn_s` and `t_rw_s`.
pub const LOAD: &str = "load_s";
pub const FIRST_LOGIN: &str = "t_conn_s";
pub const FIRST_COMMIT: &str = "t_rw_s";
pub const FULL_RATE: &str = "t_95_s";
pub const ACKNOWLEDGED: &str = "acknowledged_commits";
pub const LOST: &str = "lost_commits";
pub const WINDOW: &str = "loss_window_s";
pub const PHANTOM: &str = "phantom_commits";
pub const RESURRECTED: &str = "resurrected_commits";
pub const PARTIAL: &str = "partial_commits";
pub const HOLES: &str = "commit_holes";
pub const UNKNOWN: &str = "unknown_commits";
pub const WRONG_BALANCES: &str = "wrong_balances";
pub const WRONG_LISTS: &str = "wrong_lists";
pub const INTEGRITY_ERRORS: &str = "integrity_errors";
pub const LOG_ERRORS: &str = "log_errors";
pub const REDO: &str = "redo_bytes";
/// Of a workload that runs beside the ledger's clients.
pub const WORK_COMMITS: &str = "work_commits";

/// Those that no setting of a server may lead to, short of one that promises nothing.
pub const CORRUPTION: [&str; 6] = [PHANTOM, RESURRECTED, PARTIAL, WRONG_BALANCES, WRONG_LISTS, INTEGRITY_ERRORS];

/// The remark with the lines of the engine's own check.
pub const INTEGRITY_REMARK: &str = "integrity";
/// The remark that names that check.
pub const INTEGRITY_CHECK: &str = "integrity_check";
/// The remark with the lines of the server's log that report damage; the finding has the same name.
pub const LOG_REMARK: &str = "damage in the log";

/// `under load for 4.2 s, kill, first commit 0.31 s after the restart, 0 of 1,200 acknowledged commits lost`.
pub fn shown(kind: CrashKind, metrics: &BTreeMap<String, f64>) -> Option<String> {
    let value = |name: &str| metrics.get(name).copied();
    let corrupt: f64 = CORRUPTION.iter().filter_map(|name| value(name)).sum();
    let corrupt = if corrupt > 0.0 { format!(", {corrupt:.0} wrong") } else { String::new() };
    Some(format!(
        "{} after {:.1} s under load, first commit {:.2} s after the restart, {:.0} of {:.0} acknowledged commits lost{corrupt}",
        kind.title(),
        value(LOAD)?,
        value(FIRST_COMMIT)?,
        value(LOST)?,
        value(ACKNOWLEDGED)?,
    ))
}
