//! What servers cost, estimated, so that a plan can show how long it will take and what it needs.
//!
//! Orders of magnitude from one small machine; no result depends on them.

/// What one kind of server costs, estimated.
pub struct Cost {
    pub start_ms: u64,
    pub stop_ms: u64,
    /// Initialising an empty data directory, once: from which version on, and how long; the oldest first.
    pub initialise: &'static [(&'static [u32], u64)],
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

impl Cost {
    /// Initialising a data directory of this version; without numbers it is the newest.
    pub fn initialise_ms(&self, version: &[u32]) -> u64 {
        let mut known = self.initialise.iter().rev();
        known.find(|(from, _)| version.is_empty() || version >= *from).map_or(0, |(_, ms)| *ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_initialises_as_the_latest_known_before_it() {
        const COST: Cost = Cost {
            start_ms: 0,
            stop_ms: 0,
            initialise: &[(&[], 1), (&[5, 7], 2), (&[8], 3)],
            template_bytes: 0,
            server_bytes: 0,
            connection_bytes: 0,
            buffers: &[],
            logs: &[],
        };
        let check = |version: &[u32], expected| assert_eq!(COST.initialise_ms(version), expected, "{version:?}");
        check(&[5, 6, 24], 1);
        check(&[5, 7], 2);
        check(&[8, 0, 31], 3);
        check(&[], 3);
    }
}
