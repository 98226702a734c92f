//! What servers cost, estimated, so that a plan can show how long it will take and what it needs.
//!
//! Orders of magnitude from one small machine; no result depends on them.

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
