//! How much memory a server may take with some settings, asked before it is started.
//!
//! The rule is method, section 6: buffers, what each connection takes, and 15 % to spare. It is an estimate
//! on the safe side of what servers take under load: a buffer counts as if it were full, and what only some
//! statements need (temporary tables, second sorts) is in what is spared. What cannot be read is no estimate:
//! the answer is then absent, and the server itself will report what is wrong.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::tuning::{GIB, KIB, MIB, rounded_down};
pub use crate::tuning::{Given, Parts};
use crate::{Engine, version_numbers};
use record::quantity::bytes_text;

/// What is kept free besides buffers and connections, in per cent of both.
const SPARE_PERCENT: u64 = 15;

/// What a server takes, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Whatever the number of connections, the largest first: a setting's name or `the program itself`.
    pub shared: Vec<(&'static str, u64)>,
    pub per_connection_bytes: u64,
    pub connections: u32,
}

impl Need {
    pub fn total_bytes(&self) -> u64 {
        let shared = self.shared.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let sum = shared.saturating_add(self.of_connections());
        sum.saturating_add(sum / 100 * SPARE_PERCENT)
    }

    fn of_connections(&self) -> u64 {
        self.per_connection_bytes.saturating_mul(u64::from(self.connections))
    }

    /// What it adds up to, for a reader.
    pub fn text(&self) -> String {
        let counted = self.shared.iter().filter(|(_, bytes)| *bytes >= MIB).take(3);
        let mut parts: Vec<String> = counted.map(|(name, bytes)| format!("{name} {}", bytes_text(*bytes))).collect();
        parts.push(format!("{} connections with {} each", self.connections, bytes_text(self.per_connection_bytes)));
        format!("{} ({}, and {SPARE_PERCENT} % to spare)", bytes_text(self.total_bytes()), parts.join(", "))
    }
}

/// The bytes a server needs with these settings while so many connections work; None for an engine that does
/// show it, or where a setting cannot be read.
pub fn memory_needed(
    engine: &dyn Engine,
    version: &str,
    settings: &BTreeMap<String, String>,
    connections: u32,
) -> Option<u64> {
    need(engine, version, settings, connections).map(|need| need.total_bytes())
}

/// Fails when a server cannot have what its settings ask for; the message has the sum and what would fit.
pub fn fits(
    engine: &dyn Engine,
    version: &str,
    settings: &BTreeMap<String, String>,
    connections: u32,
    memory_bytes: u64,
) -> Result<()> {
    let Some(need) = need(engine, version, settings, connections) else { return Ok(()) };
    let total = need.total_bytes();
    if total <= memory_bytes {
        return Ok(());
    }
    bail!(
        "{} {version} does not fit into {}: with these settings it takes {}\nnext: {}",
        engine.kind(),
        bytes_text(memory_bytes),
        need.text(),
        next_step(&need, total - memory_bytes)
    )
}

/// Less of what takes most, where that is enough.
fn next_step(need: &Need, missing: u64) -> String {
    let missing = missing.saturating_mul(100) / (100 + SPARE_PERCENT) + MIB;
    match need.shared.first() {
        Some((name, bytes)) if *name != PROGRAM && bytes.saturating_sub(missing) >= 16 * MIB => {
            let fitting = bytes - missing;
            let fitting = rounded_down(fitting, if fitting >= GIB { 128 * MIB } else { 16 * MIB });
            format!("lower {name} to {} MiB at most, or give it more memory", fitting / MIB)
        }
        _ => "give it more memory, or fewer clients".to_owned(),
    }
}

/// What a server takes, part by part; None as in [`memory_needed`].
pub fn need(engine: &dyn Engine, version: &str, settings: &BTreeMap<String, String>, connections: u32) -> Option<Need> {
    let (mut shared, per_connection_bytes) =
        engine.tuning()?.memory(&version_numbers(version), &Given::new(settings))?;
    shared.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Some(Need { shared, per_connection_bytes, connections })
}

/// The part that no setting changes.
pub const PROGRAM: &str = "the program itself";

/// Network buffers, the statements that are prepared, and what a session holds besides.
pub const CONNECTION_BYTES: u64 = 256 * KIB;
