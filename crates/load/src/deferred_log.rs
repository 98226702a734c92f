//! What became of each transaction that clients deferred, a line each: for the trial's record, and for
//! comparing it with the tables.
//!
//! A background slot writes a line when its transaction has committed. The memory is made before the
//! start and never grows; what must stay true: a line that finds no room is counted in [`DeferredLog::lost`].

use serde::{Deserialize, Serialize};

use crate::transaction::Timing;

/// Lines that all slots of a load have room for: a slot's share of the pages is touched as it is written.
pub const LINES_MAX: usize = 1 << 20;

/// Lines in the order in which one worker's slots ended them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredLog {
    /// Numbers of a line.
    width: usize,
    /// Lines that there is room for.
    lines_max: usize,
    times: Vec<[i64; 2]>,
    numbers: Vec<u32>,
    /// Lines that found no room.
    pub lost: u64,
}

/// One transaction that committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// By the clock of the process; behind [`DeferredLog::count_from`] since the interval's beginning.
    pub queued_ns: i64,
    pub ended_ns: i64,
    /// Named by [`crate::Workload::journal`]; 0 stands for none.
    pub numbers: &'a [u32],
}

impl DeferredLog {
    pub fn with_capacity(width: usize, lines: usize) -> DeferredLog {
        let (times, numbers) = (Vec::with_capacity(lines), Vec::with_capacity(lines * width));
        DeferredLog { width, lines_max: lines, times, numbers, lost: 0 }
    }

    pub fn write(&mut self, timing: Timing, numbers: &[u32]) {
        if self.times.len() == self.lines_max || numbers.len() != self.width {
            self.lost += 1;
            return;
        }
        self.times.push([timing.due_ns as i64, timing.end_ns as i64]);
        self.numbers.extend_from_slice(numbers);
    }

    pub fn add(&mut self, other: &DeferredLog) {
        // Without lines the width is unknown.
        if other.width > 0 {
            self.width = other.width;
        }
        self.times.extend_from_slice(&other.times);
        self.numbers.extend_from_slice(&other.numbers);
        self.lost += other.lost;
    }

    /// Tells times from `start_ns` on; what came before is below 0. Only for the end of a load.
    pub fn count_from(&mut self, start_ns: u64) {
        self.times.iter_mut().flatten().for_each(|ns| *ns -= start_ns as i64);
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let numbers = self.numbers.chunks_exact(self.width.max(1));
        self.times.iter().zip(numbers).map(|([queued_ns, ended_ns], numbers)| Line {
            queued_ns: *queued_ns,
            ended_ns: *ended_ns,
            numbers,
        })
    }

    pub fn len(&self) -> usize {
        self.times.len()
    }

    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(due_ns: u64, end_ns: u64) -> Timing {
        Timing { due_ns, start_ns: due_ns, end_ns }
    }

    #[test]
    fn a_line_is_kept_or_counted_as_lost() {
        let mut journal = DeferredLog::with_capacity(2, 2);
        for number in 1..=3 {
            journal.write(timing(10 * u64::from(number), 10 * u64::from(number) + 5), &[number, 7]);
        }
        let kept: Vec<(i64, i64, &[u32])> =
            journal.lines().map(|line| (line.queued_ns, line.ended_ns, line.numbers)).collect();
        assert_eq!(kept, [(10, 15, &[1, 7][..]), (20, 25, &[2, 7])]);
        assert_eq!((journal.len(), journal.lost), (2, 1));
        journal.write(timing(1, 2), &[1]);
        assert_eq!(journal.lost, 2, "half a line is none");
    }

    #[test]
    fn the_lines_of_all_workers_come_together_and_count_from_the_interval() {
        let (mut all, mut one, mut other) =
            (DeferredLog::default(), DeferredLog::with_capacity(1, 1), DeferredLog::with_capacity(1, 1));
        one.write(timing(900, 1_100), &[1]);
        other.write(timing(1_000, 1_500), &[2]);
        other.write(timing(1_000, 1_600), &[3]);
        [&one, &DeferredLog::default(), &other].into_iter().for_each(|journal| all.add(journal));
        all.count_from(1_000);
        let lines: Vec<(i64, i64, u32)> =
            all.lines().map(|line| (line.queued_ns, line.ended_ns, line.numbers[0])).collect();
        assert_eq!((lines, all.lost), (vec![(-100, 100, 1), (0, 500, 2)], 1));
    }
}
