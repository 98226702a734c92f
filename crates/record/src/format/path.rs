//! What the way between the clients and the servers can carry, as a stored run has it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRecord {
    /// `socket`, `tcp` (loopback), or the name of a network interface.
    pub path: String,
    /// The most; absent where it is not visible.
    pub bytes_per_s: Option<f64>,
    /// How it is known: [`PathRecord::STREAMED`] or [`PathRecord::SPEED`].
    pub seen_by: String,
}

impl PathRecord {
    /// Bytes were sent through it for a moment: both directions are the work of the same processors.
    pub const STREAMED: &str = "streamed";
    /// What the interface says of itself, for each direction.
    pub const SPEED: &str = "speed";
}
