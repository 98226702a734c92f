//! What clients wait for, as their server reports it. Asked in diagnostic trials only: it costs too much
//! beside a load that is measured.

use std::collections::BTreeMap;

use anyhow::Result;
use driver::Admin;

/// How a server shows waits.
#[derive(Clone, Copy)]
pub enum Waits {
    /// What each client at work waits for at this moment; [`RUNNING`] where it waits for nothing.
    Sampled(fn(&mut Admin) -> Result<Vec<String>>),
    /// Seconds waited since the server's start, by event; a server that does not sum them is sampled.
    Summed { ask: fn(&mut Admin) -> Result<BTreeMap<String, f64>>, or: fn(&mut Admin) -> Result<Vec<String>> },
}

pub const RUNNING: &str = "running";
