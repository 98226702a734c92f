//! What an engine would try first: the rungs of a ladder with the reason of each, and what it leaves as it is.
//!
//! Rules of thumb from manuals and release notes, each with its source; only a measurement shows whether a rung
//! brings anything. A rung that weakens what a commit promises comes last and is called a trade.

use crate::memory_need::memory_needed;
use crate::tunable::{self, Tunable};
use crate::version_numbers;

pub use crate::engine::Subject;
pub use crate::tuning::{Draft, FULL_PROMISE, Left, Rung};

impl Subject<'_> {
    pub fn numbers(&self) -> Vec<u32> {
        version_numbers(self.version)
    }

    /// Without the mark of a rolling source.
    pub fn version_text(&self) -> &str {
        self.version.trim_end_matches(".*")
    }

    /// The first numbers of the version, by which manuals are named: `5.6`, `17`.
    pub fn series(&self, numbers: usize) -> String {
        let numbers: Vec<String> = self.numbers().iter().take(numbers).map(u32::to_string).collect();
        numbers.join(".")
    }

    pub fn tunable(&self, name: &str) -> Option<&'static Tunable> {
        tunable::find(self.engine, self.version, name)
    }

    /// A number within the limits that the version documents for a setting.
    pub fn within(&self, name: &str, number: u64) -> u64 {
        self.tunable(name).map_or(number, |tunable| tunable.within(number))
    }

    /// Whether a server with these settings has room on the machine.
    pub fn has_room(&self, settings: &[(&'static str, String)]) -> bool {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let needed = memory_needed(self.engine, self.version, &settings, self.clients);
        needed.is_none_or(|bytes| bytes <= self.machine.memory_bytes)
    }
}

/// One setting of a rung.
pub fn set(name: &'static str, value: impl ToString) -> (&'static str, String) {
    (name, value.to_string())
}
