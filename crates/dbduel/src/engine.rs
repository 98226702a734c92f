//! Who can compete: the engines, how each is provisioned, configured, started and stopped.
//!
//! An engine does not know which workload it serves.
