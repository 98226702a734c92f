//! The names that an experiment file may use; they come in from the rooms that own them.

use std::collections::BTreeMap;

use driver::Dialect;
use engine::Refusal;
use load::{OptionError, OptionSpec, OptionValue};

/// The names that a file may use: the engines and the workloads that there are.
pub struct Vocabulary<'a> {
    pub engines: Vec<EngineWords>,
    pub workloads: Vec<&'static str>,
    /// The options of a workload; `None` when there is no workload of that name.
    pub options: &'a dyn Fn(&str) -> Option<&'static [OptionSpec]>,
    /// What the workload itself says about options of the right name and type: its ranges and words,
    /// and what it needs with them.
    pub check: &'a OptionCheck,
    /// Why an engine takes a setting from nobody but dbduel; None where it is the user's to make.
    pub refused: &'a SettingCheck,
}

/// Checks the given options of a workload, by its name.
pub type OptionCheck = dyn Fn(&str, &BTreeMap<String, OptionValue>) -> Result<Needs, OptionError>;

/// Holds a setting of an engine, by its name and value, against what is dbduel's own.
pub type SettingCheck = dyn Fn(&str, &str, &str) -> Option<Refusal>;

/// What a workload needs, its options decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Clients, where it wants a number of its own.
    pub clients: Option<u32>,
    /// It runs once through: it has its clients, and takes the time it takes.
    pub one_pass: bool,
    /// Its clients rest between transactions on purpose.
    pub rests: bool,
    /// Its tables are as large after a run as before.
    pub keeps_its_size: bool,
    /// Engines that it cannot run on, and why not.
    pub not_on: Vec<(&'static str, String)>,
}

/// One engine's name, and how it spells a switch that the file sets to true or false.
#[derive(Debug, Clone, Copy)]
pub struct EngineWords {
    pub name: &'static str,
    /// What its servers understand.
    pub dialect: Dialect,
    pub on: &'static str,
    pub off: &'static str,
}
