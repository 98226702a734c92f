//! What servers cost, estimated, so that a plan can say how long it will take and what it needs.
//!
//! Orders of magnitude from one small machine; no result depends on them.

const MIB: u64 = 1 << 20;

/// What one kind of server costs, estimated.
pub struct Cost {
    pub start_ms: u64,
    pub stop_ms: u64,
    /// Initialising an empty data directory, once.
    pub initialise_ms: u64,
    /// An empty data directory.
    pub template_bytes: u64,
    /// A server without buffers and connections.
    pub server_bytes: u64,
    pub connection_bytes: u64,
    /// Settings that are memory: name, default, and the unit of a bare number.
    pub buffers: &'static [(&'static str, u64, u64)],
    /// Settings that are files beside the data, where they are given: name, and how many of that size.
    pub logs: &'static [(&'static str, u64)],
}

pub static MYSQL: Cost = Cost {
    start_ms: 2500,
    stop_ms: 2000,
    initialise_ms: 10_000,
    template_bytes: 200 * MIB,
    server_bytes: 350 * MIB,
    connection_bytes: MIB,
    buffers: &[("innodb_buffer_pool_size", 128 * MIB, 1), ("key_buffer_size", 8 * MIB, 1)],
    logs: &[("innodb_log_file_size", 2), ("innodb_redo_log_capacity", 1)],
};

pub static MARIADB: Cost = Cost {
    start_ms: 1500,
    stop_ms: 1500,
    initialise_ms: 5000,
    template_bytes: 130 * MIB,
    server_bytes: 120 * MIB,
    connection_bytes: MIB,
    buffers: &[("innodb_buffer_pool_size", 128 * MIB, 1), ("key_buffer_size", 128 * MIB, 1)],
    logs: &[("innodb_log_file_size", 1)],
};

pub static POSTGRES: Cost = Cost {
    start_ms: 800,
    stop_ms: 800,
    initialise_ms: 3000,
    template_bytes: 60 * MIB,
    server_bytes: 40 * MIB,
    connection_bytes: 5 * MIB,
    buffers: &[("shared_buffers", 128 * MIB, 8192)],
    logs: &[("max_wal_size", 1)],
};

pub static SQLITE: Cost = Cost {
    start_ms: 50,
    stop_ms: 50,
    initialise_ms: 50,
    template_bytes: MIB,
    server_bytes: 10 * MIB,
    connection_bytes: 3 * MIB,
    buffers: &[("mmap_size", 0, 1)],
    logs: &[],
};
