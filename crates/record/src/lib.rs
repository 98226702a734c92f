//! What dbduel keeps: every stored type and the run folder they lie in.
//!
//! This crate is the language that the others share. It reads and writes run folders, and knows nothing of how
//! a trial is run or what its figures mean.

pub mod blocks;
pub mod format;
pub mod metric;
pub mod own_file;
pub mod plain_file;
pub mod point;
pub mod quantity;
pub mod rule;
mod run_folder;
pub mod secrets;
pub mod setting_value;
pub mod shell;
mod twins;

pub use self::twins::Twins;
pub use run_folder::{RunDir, StoredTrials, expect_format};
