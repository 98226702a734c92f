//! Settings that later versions of PostgreSQL no longer have.

use engine::departed::{Departures, Instead};

use Instead::{Nothing, Other, Renamed};

pub const GONE: &[Departures] = &[
    Departures {
        up_to: "9.6",
        gone: &[11],
        settings: &[
            ("min_parallel_relation_size", Renamed("min_parallel_table_scan_size")),
            ("replacement_sort_tuples", Nothing),
            ("sql_inheritance", Nothing),
        ],
    },
    Departures {
        up_to: "11",
        gone: &[13],
        settings: &[("default_with_oids", Nothing), ("wal_keep_segments", Other("wal_keep_size"))],
    },
    Departures {
        up_to: "13",
        gone: &[14],
        settings: &[("operator_precedence_warning", Nothing), ("vacuum_cleanup_index_scale_factor", Nothing)],
    },
    Departures { up_to: "15", gone: &[16], settings: &[("vacuum_defer_cleanup_age", Nothing)] },
    Departures {
        up_to: "16",
        gone: &[17],
        settings: &[("db_user_namespace", Nothing), ("old_snapshot_threshold", Nothing)],
    },
    Departures { up_to: "17", gone: &[18], settings: &[("ssl_ecdh_curve", Renamed("ssl_groups"))] },
];
