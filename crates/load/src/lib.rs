//! The data plane of dbduel: the code that runs while the clock runs.

/// A value of one workload option, as the experiment file or the command line gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Number(i64),
    Real(f64),
    Text(String),
    Flag(bool),
}

/// One option a workload understands.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    /// Another name for the same key (`table_size` for `rows`).
    pub alias: Option<&'static str>,
    /// The default as it would stand in an experiment file.
    pub default: &'static str,
    pub help: &'static str,
}
