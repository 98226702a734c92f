//! What a format of reports is.

use anyhow::Result;

use super::Evidence;
use super::sqlbench::{Column, Layout};

/// One format of a report. Lives beside the list that holds all of them.
pub struct Report {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) example: &'static str,
    pub(crate) write: fn(&Evidence, &Options) -> Result<String>,
    /// Whether it writes colours where they are asked for. It then shows control characters itself.
    pub(crate) has_colors: bool,
}

impl Report {
    pub(crate) const fn new(
        name: &'static str,
        description: &'static str,
        example: &'static str,
        write: fn(&Evidence, &Options) -> Result<String>,
    ) -> Report {
        Report { name, description, example, write, has_colors: false }
    }

    /// What stands behind `--format`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn description(&self) -> &'static str {
        self.description
    }

    /// A command line that makes one.
    pub fn example(&self) -> &'static str {
        self.example
    }

    pub fn write(&self, evidence: &Evidence, options: &Options) -> Result<String> {
        (self.write)(evidence, options)
    }
}

/// How a report should look, where that is the reader's choice.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The text report may use terminal colours.
    pub color: bool,
    /// Of the text report: the first screen alone.
    pub brief: bool,
    /// Of the text report: columns of the terminal; a file has 100.
    pub width: Option<usize>,
    /// How the comparison table of sql-bench should look.
    pub table: Layout,
    /// Columns that stand beside the run's own in that table.
    pub beside: Vec<Column>,
}
