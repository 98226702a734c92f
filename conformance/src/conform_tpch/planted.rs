//! Settings that make known queries slower.

use crate::planted_operations::{Expected, Plant, Planted};

pub const PLANTED: Planted = Planted {
    workload: "name = \"tpch\", parameters = \"validation\", statement_limit = \"5s\"",
    key: "queries",
    blocks: 10,
};

pub const PLANTS: [Plant; 2] = [
    Plant {
        name: "sorts and hashes spill",
        engine: "postgres@system",
        sound: "work_mem = \"64MB\", max_parallel_workers_per_gather = 0",
        planted: "work_mem = \"64kB\", max_parallel_workers_per_gather = 0",
        // Bitmaps of rows become bitmaps of pages, and hash joins take several batches.
        expected: Expected { slower: &["Q4", "Q14"], untouched: &["Q1", "Q21"] },
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "max_parallel_workers_per_gather = 0",
        planted: "max_parallel_workers_per_gather = 0, enable_indexscan = \"off\", enable_bitmapscan = \"off\", \
                  enable_indexonlyscan = \"off\"",
        expected: Expected { slower: &["Q2", "Q17"], untouched: &["Q1", "Q13"] },
    },
];
