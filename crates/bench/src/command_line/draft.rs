//! A request while its arguments are being read.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::PasswordSource;
use load::OptionValue;

use super::program::Program;
use super::request::{Arrivals, Compat, DefaultTarget, ForcedShutdown, Format, Reconnect, Verb};
use super::target::TargetParts;
use super::words::Given;

/// What has been read so far; None where nothing was given.
#[derive(Debug, Default)]
pub struct Draft {
    pub verb: Option<Verb>,
    pub plain: Vec<String>,
    /// Options of the workload, by their names in it.
    pub workload_words: Vec<Given>,
    /// Those that name files, with what stands in them.
    pub with_files: BTreeMap<String, OptionValue>,
    /// A script that is a program of its own, with the options that are meant for it.
    pub program: Option<Program>,
    pub command: Option<String>,
    pub target: TargetParts,
    /// What is meant without any of them.
    pub default: DefaultTarget,
    pub test: Option<String>,
    pub help: bool,
    pub compat: Option<Compat>,
    pub format: Option<Format>,
    pub password: PasswordSource,
    pub clients: Option<u32>,
    pub duration: Option<Duration>,
    pub events: Option<u64>,
    pub rate: Option<f64>,
    pub arrivals: Option<Arrivals>,
    pub queue: Option<u32>,
    pub warmup: Option<Duration>,
    pub report_interval: Option<Duration>,
    pub checkpoints: Vec<Duration>,
    pub percentiles: Option<Vec<f64>>,
    pub histogram: bool,
    pub rand_seed: Option<u64>,
    pub reconnect: Option<Reconnect>,
    pub ignore_errors: Option<Vec<String>>,
    pub dry_run: bool,
    pub no_wait: bool,
    pub workers: Option<u32>,
    pub forced_shutdown: Option<ForcedShutdown>,
    pub silence: Option<Duration>,
    pub notes: Vec<String>,
}

impl Draft {
    /// Gives an option of the workload its value, by an option of another name.
    pub fn give(&mut self, typed: &str, name: &str, value: &str) {
        let given = Given { typed: format!("--{typed}"), name: name.to_owned(), value: value.to_owned() };
        self.workload_words.push(given);
    }

    /// Notes an option that is understood and changes nothing.
    pub fn note(&mut self, what: &str) {
        self.notes.push(what.to_owned());
    }
}
