//! sysbench's report layouts, to the column: of 1.0 and of 0.4.12.
//!
//! Plain figures in, text out: nothing here measures, rounds twice or knows where figures come from.
//! `dbduel bench` fills them from a live run, `dbduel report` from a stored one. A figure that is not
//! known is `None` and is said to be so; none is invented to fill a column. What sysbench has no line
//! for (a partial run, skipped arrivals) gets a line of its own only when there is something to say.

mod buckets;
mod classic;
mod figures;
mod modern;
pub(crate) mod stored;

pub use buckets::Buckets;
pub use figures::wrong_answers;
pub use figures::{Fairness, Figures, Heading, IntervalFigures, Latency, Percentile, Queries};
use figures::{NOT_KNOWN, fairness, labelled, marks, per_second, queries, rated, remarks};

/// Whose layout to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// sysbench 1.0.
    Modern,
    /// sysbench 0.4.12.
    Classic,
}

impl Layout {
    pub fn heading(self, heading: &Heading) -> String {
        match self {
            Layout::Modern => modern::heading(heading),
            Layout::Classic => classic::heading(heading),
        }
    }

    pub fn interval(self, interval: &IntervalFigures) -> String {
        match self {
            Layout::Modern => modern::interval(interval),
            Layout::Classic => classic::interval(interval),
        }
    }

    /// The line above a checkpoint's block.
    pub fn checkpoint(self, elapsed_s: f64) -> String {
        match self {
            Layout::Modern => format!("[ {elapsed_s:.0}s ] Checkpoint report:\n"),
            Layout::Classic => format!("[{elapsed_s:4.0}s] Checkpoint report:\n"),
        }
    }

    pub fn block(self, figures: &Figures) -> String {
        match self {
            Layout::Modern => modern::block(figures),
            Layout::Classic => classic::block(figures),
        }
    }
}

#[cfg(test)]
mod tests;
