//! What we keep: the run folder.
pub mod format;
