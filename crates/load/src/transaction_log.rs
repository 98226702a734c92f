//! A line for each transaction, for those who keep them all.
//!
//! A worker writes into a block of memory that was made before the start and hands full blocks over; whoever made the
//! log takes the lines and hands the blocks back. A worker that finds no empty block drops the line and counts that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use driver::Code;

use crate::transaction::{Outcome, Timing};

/// How one transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedTransaction {
    pub client: u32,
    /// Its place among the workload's kinds.
    pub kind: usize,
    pub outcome: Outcome,
    pub timing: Timing,
    pub retries: u64,
    pub last_error: Option<Code>,
}

/// Lines of a block, and blocks of a worker: enough for 160,000 transactions a second where they are taken ten times
/// a second.
const LINES: usize = 4096;
const BLOCKS: usize = 4;

type Block = Vec<LoggedTransaction>;

/// Where workers leave full blocks and find empty ones.
#[derive(Debug)]
pub struct TransactionLog {
    full: ArrayQueue<(usize, Block)>,
    empty: ArrayQueue<Block>,
    lost: AtomicU64,
}

impl TransactionLog {
    pub fn new(workers: usize) -> TransactionLog {
        let blocks = workers.max(1) * BLOCKS;
        let log =
            TransactionLog { full: ArrayQueue::new(blocks), empty: ArrayQueue::new(blocks), lost: AtomicU64::new(0) };
        (0..blocks).for_each(|_| log.offer(Vec::with_capacity(LINES)));
        log
    }

    fn offer(&self, mut block: Block) {
        block.clear();
        // Never full: there are no more blocks than places.
        let _ = self.empty.push(block);
    }

    /// Hands out the lines that are there, with the number of their worker, in its order.
    pub fn drain(&self, mut take: impl FnMut(usize, &LoggedTransaction)) {
        while let Some((worker, block)) = self.full.pop() {
            block.iter().for_each(|line| take(worker, line));
            self.offer(block);
        }
    }

    /// Lines that found no place.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// One worker's side of the log.
#[derive(Debug, Clone)]
pub(crate) struct LogWriter {
    log: Arc<TransactionLog>,
    worker: usize,
    block: Block,
}

impl LogWriter {
    pub(crate) fn new(log: Arc<TransactionLog>, worker: usize) -> LogWriter {
        let block = log.empty.pop().unwrap_or_default();
        LogWriter { log, worker, block }
    }

    pub(crate) fn write(&mut self, line: LoggedTransaction) {
        if self.block.len() == self.block.capacity() {
            let Some(next) = self.log.empty.pop() else {
                self.log.lost.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let _ = self.log.full.push((self.worker, std::mem::replace(&mut self.block, next)));
        }
        self.block.push(line);
    }

    /// Behind the worker's last transaction.
    pub(crate) fn end(self) {
        let _ = self.log.full.push((self.worker, self.block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(client: u32) -> LoggedTransaction {
        let timing = Timing { due_ns: 1, start_ns: 2, end_ns: 3 };
        LoggedTransaction { client, kind: 0, outcome: Outcome::Committed, timing, retries: 0, last_error: None }
    }

    #[test]
    fn lines_arrive_in_their_order_and_those_without_a_place_are_counted() {
        let log = Arc::new(TransactionLog::new(1));
        let mut writer = LogWriter::new(Arc::clone(&log), 0);
        let places = (BLOCKS * LINES) as u32;
        (0..places + 7).for_each(|client| writer.write(line(client)));
        assert_eq!(log.lost(), 7);
        let mut seen = Vec::new();
        log.drain(|worker, line| seen.push((worker, line.client)));
        assert_eq!(seen.len(), (BLOCKS - 1) * LINES);
        writer.write(line(places));
        writer.end();
        log.drain(|worker, line| seen.push((worker, line.client)));
        assert!(seen.into_iter().eq((0..=places).map(|client| (0, client))));
    }
}
