//! The options of the sql-bench workload.

use std::time::Duration;

use driver::Dialect;

use super::limits::{Era, Limits};
use load::{OptionError, OptionSpec, Options};

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("programs", "[]", "programs to run, in the suite's order; empty for all of the classic table"),
    OptionSpec::new(
        "operations",
        "[]",
        "operations to report; empty for all. Others run only where they change data that these need",
    ),
    OptionSpec::new("small", "false", "the suite's small test: loops a tenth to a thousandth as long"),
    OptionSpec::new(
        "fast",
        "false",
        "multi-row inserts, changes in one transaction, bulk loads and single drops, where the server has them",
    ),
    OptionSpec::new("create_options", "", "appended to every CREATE TABLE: \"ENGINE=InnoDB\""),
    OptionSpec::new("time_limit", "600s", "a longer loop is cut off where the suite allows it, and estimated"),
    OptionSpec::new(
        "limits",
        "modern",
        "what servers are taken to be able to do: modern, or classic as in the suite's own tables",
    ),
    OptionSpec::new("loop_short", "true", "run read-only operations under 1 s again, until 2 s are timed"),
    OptionSpec::new("prepare", "client", "where once_prepared_select is prepared: client or server"),
];

/// Where a statement with a placeholder is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepare {
    /// The value goes into the text, quoted.
    Client,
    Server,
}

/// All options decided but the programs.
#[derive(Debug, Clone)]
pub struct SqlBench {
    /// Empty for all.
    pub operations: Vec<String>,
    pub small: bool,
    pub fast: bool,
    pub create_options: String,
    pub time_limit: Duration,
    pub era: Era,
    pub loop_short: bool,
    pub prepare: Prepare,
}

impl SqlBench {
    pub fn new(options: &Options) -> Result<SqlBench, OptionError> {
        Ok(SqlBench {
            operations: options.list("operations")?,
            small: options.flag("small")?,
            fast: options.flag("fast")?,
            create_options: options.text("create_options")?.trim().to_owned(),
            time_limit: options.duration("time_limit")?,
            era: Era::ALL[options.choice("limits", &Era::WORDS)?],
            loop_short: options.flag("loop_short")?,
            prepare: [Prepare::Client, Prepare::Server][options.choice("prepare", &["client", "server"])?],
        })
    }

    pub fn limits(&self, dialect: Dialect) -> Limits {
        Limits::of(dialect, self.era).with_create_options(&self.create_options)
    }

    /// Whether this operation is asked for.
    pub fn reports(&self, operation: &str) -> bool {
        self.operations.is_empty() || self.operations.iter().any(|wanted| wanted == operation)
    }

    /// `full`, or a part of it in the small test.
    pub fn loops(&self, full: u64, divisor: u64) -> u64 {
        if self.small { full / divisor } else { full }
    }
}
