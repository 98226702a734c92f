//! The scale of the program, and the numbers that its rows and queries are drawn from.

use crate::sqlbench::options::SqlBench;
use crate::sqlbench::sequence::{Sequence, shuffled};

/// How long the loops are, and how many rows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// Rows of one of the three parts that the table is filled in.
    pub(super) loops: u64,
    pub(super) rows: u64,
    /// Turns of what reads or changes the whole table.
    pub(super) repeats: u64,
    /// Turns of what reads a range.
    pub(super) ranges: u64,
    /// Turns of what reads a row by a key.
    pub(super) keys: u64,
    /// Rows of the table with many keys.
    pub(super) many_keys: u64,
}

impl Scale {
    pub(crate) const FULL: Scale = Scale::new(100_000, 500, 100_000, 100_000);
    pub(crate) const SMALL: Scale = Scale::new(1000, 10, 10, 100);

    pub(super) const fn new(loops: u64, ranges: u64, keys: u64, many_keys: u64) -> Scale {
        Scale { loops, rows: 3 * loops, repeats: 10, ranges, keys, many_keys }
    }

    pub(crate) fn of(options: &SqlBench) -> Scale {
        if options.small { Scale::SMALL } else { Scale::FULL }
    }
}

/// The scale, and the numbers that rows and queries are drawn from.
pub(super) struct Data {
    pub(super) scale: Scale,
    /// The keys of the table's middle third in a shuffled order, and a zero behind them.
    pub(super) shuffled: Vec<u64>,
    /// Goes on through the whole program.
    pub(super) sequence: Sequence,
}

impl Data {
    pub(crate) fn new(scale: Scale) -> Data {
        let (shuffled, sequence) = shuffled(scale.loops);
        Data { scale, shuffled, sequence }
    }

    /// Number `place` of the shuffled ones.
    pub(crate) fn shuffled(&self, place: u64) -> u64 {
        self.shuffled[place as usize]
    }
}
