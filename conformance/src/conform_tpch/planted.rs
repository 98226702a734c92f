//! Settings that make known queries slower.

use crate::planted_operations::{Cause, Expected, Plant, Planted, Sabotage};

pub const PLANTED: Planted = Planted {
    workload: "name = \"tpch\", parameters = \"validation\", statement_limit = \"5s\"",
    key: "queries",
    blocks: 10,
};

pub const PLANTS: [Plant; 3] = [
    Plant {
        name: "sorts and hashes spill",
        engine: "postgres@system",
        sound: "work_mem = \"64MB\", max_parallel_workers_per_gather = 0",
        planted: "work_mem = \"64kB\", max_parallel_workers_per_gather = 0",
        // Bitmaps of rows become bitmaps of pages, and hash joins take several batches.
        expected: Expected {
            slower: &["Q4", "Q14"],
            untouched: &["Q1", "Q21"],
            cause: Cause::Named("temporary files"),
        },
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "max_parallel_workers_per_gather = 0",
        planted: "max_parallel_workers_per_gather = 0, enable_indexscan = \"off\", enable_bitmapscan = \"off\", \
                  enable_indexonlyscan = \"off\"",
        expected: Expected { slower: &["Q2", "Q17"], untouched: &["Q1", "Q13"], cause: Cause::OtherPlan },
    },
    Plant {
        name: "no parallel workers",
        engine: "postgres@system",
        sound: "min_parallel_table_scan_size = 0, parallel_setup_cost = 10, parallel_tuple_cost = 0",
        planted: "min_parallel_table_scan_size = 0, parallel_setup_cost = 10, parallel_tuple_cost = 0, \
                  max_parallel_workers_per_gather = 0",
        // Other queries get plans that these costs make worse.
        expected: Expected { slower: &["Q1"], untouched: &[], cause: Cause::OtherPlan },
    },
];

pub const SABOTAGES: [Sabotage; 2] = [
    Sabotage {
        name: "a dropped index",
        engine: "mariadb@system",
        settings: &["innodb_buffer_pool_size=512M"],
        statements: &["DROP INDEX lineitem_part ON lineitem"],
        // Not Q6: in two runs of nine it was faster on this side, whose CPU worked at Q17 for 5 s shortly before.
        expected: Expected { slower: &["Q17"], untouched: &["Q1", "Q11", "Q13"], cause: Cause::OtherPlan },
    },
    Sabotage {
        name: "statistics of empty tables",
        engine: "postgres@system",
        settings: &["shared_buffers=512MB"],
        statements: &[
            "DELETE FROM pg_statistic WHERE starelid IN ('lineitem'::regclass, 'orders'::regclass)",
            "UPDATE pg_class SET reltuples = 1, relpages = 1 WHERE relname IN ('lineitem', 'orders')",
        ],
        expected: Expected { slower: &["Q5", "Q8"], untouched: &["Q2", "Q11", "Q16"], cause: Cause::OtherPlan },
    },
];
