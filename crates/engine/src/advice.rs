//! What an engine would try first: the rungs of a ladder with the reason of each, and what it leaves as it is.
//!
//! Rules of thumb from manuals and release notes, each with its source; only a measurement shows whether a rung
//! brings anything. A rung that weakens what a commit promises comes last and is called a trade.

use crate::memory_need::memory_needed;
use crate::tunable::{self, Machine, Tunable};
use crate::{Engine, version_numbers};

/// The promise that nothing weakens: a commit survives a crash of the operating system (method, section 7).
pub const FULL_PROMISE: &str = "D3";

/// One change on top of everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub name: String,
    pub settings: Vec<(&'static str, String)>,
    pub reason: String,
    /// Where it is written, by the name of the page.
    pub source: String,
    /// What a commit promises from here on: `D3` … `D0`.
    pub promise: &'static str,
    /// What may be lost, for a rung that lowers the promise.
    pub trade: Option<&'static str>,
}

/// A setting that stays as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub setting: &'static str,
    pub reason: String,
}

/// What advice is asked for.
pub struct Subject<'a> {
    pub engine: &'static dyn Engine,
    pub version: &'a str,
    pub machine: Machine,
    pub clients: u32,
}

/// Rungs and what stays, as the rules of an engine give them.
#[derive(Default)]
pub struct Draft {
    pub rungs: Vec<Rung>,
    pub left: Vec<Left>,
}

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

impl Draft {
    pub fn rung(
        &mut self,
        name: impl Into<String>,
        settings: Vec<(&'static str, String)>,
        reason: String,
        source: String,
    ) {
        self.rungs.push(Rung { name: name.into(), settings, reason, source, promise: FULL_PROMISE, trade: None });
    }

    pub fn leave(&mut self, setting: &'static str, reason: impl Into<String>) {
        self.left.push(Left { setting, reason: reason.into() });
    }
}

/// One setting of a rung.
pub fn set(name: &'static str, value: impl ToString) -> (&'static str, String) {
    (name, value.to_string())
}
