//! What dbduel keeps: every stored type and the run folder they lie in.
//!
//! This crate is the language that the others share. It reads and writes run folders, and does not depend on how
//! a trial is run or what its figures mean.

mod aa_history;
pub mod blocks;
pub mod format;
pub mod metric;
pub mod own_file;
pub mod plain_file;
pub mod point;
pub mod quantity;
pub mod rule;
pub mod run_copy;
mod run_folder;
mod run_summary;
pub mod secrets;
pub mod setting_value;
pub mod shell;

pub use self::aa_history::AaHistory;
pub use run_folder::{RunDir, StoredTrials, expect_format};
pub use run_summary::{RunState, RunSummary, TrialCursor};
