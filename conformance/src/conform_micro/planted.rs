//! Settings that make known kinds slower.

use crate::planted_operations::{Plant, Planted};

pub const PLANTED: Planted = Planted {
    workload: "name = \"micro\", rows = 20_000, seconds = \"250ms\"",
    key: "kinds",
    blocks: 10,
    plants: &PLANTS,
};

const PLANTS: [Plant; 2] = [
    Plant {
        name: "the log is flushed at each commit",
        engine: "mariadb@system",
        sound: "innodb_flush_log_at_trx_commit = 0",
        planted: "innodb_flush_log_at_trx_commit = 1",
        slower: &["write/commit", "write/insert", "write/update-index"],
        untouched: &["point/pk", "range/pk-100", "aggregate/sum-1000"],
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "",
        planted: "enable_indexscan = \"off\", enable_bitmapscan = \"off\", enable_indexonlyscan = \"off\"",
        slower: &["point/pk", "point/secondary", "range/pk-100"],
        // Without `point/round-trip`: it was at 0.7 with as many context switches, for a reason that is not known.
        untouched: &["range/scan", "range/scan-like", "aggregate/sum-all"],
    },
];
