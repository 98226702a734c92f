//! What clients asked for and what they were answered, transaction by transaction, kept outside of the crash domain.
//!
//! A ledger is a file that is mapped into memory and shared: what a client has written there survives the end of its
//! process, and every process of the host can read it. Room for all transactions is made before the start; the file has
//! holes where nothing was written. What must stay true: a client writes its intent before it sends COMMIT and the
//! answer after it has come, and both are plain stores to memory.

#![expect(unsafe_code, reason = "a shared mapping, which is there after a kill")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which transactions a ledger has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerShape {
    /// The number of the first client in the tables: clients of a later load have other numbers.
    pub first_client: u32,
    pub clients: u32,
    /// Transactions of one client.
    pub numbers: u64,
    /// What the transactions are drawn from.
    pub seed: u64,
}

/// What a client knows of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerEntry {
    /// When its COMMIT was about to be sent, or its first statement; of several attempts the last.
    pub intent_ns: u64,
    pub end: LedgerEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerEnd {
    Acknowledged {
        at_ns: u64,
    },
    /// The server reported that it did nothing, or COMMIT was never sent.
    Aborted,
    /// COMMIT was sent, and nothing or an error came back: either outcome is right.
    Unknown,
}

/// Intent, acknowledgement, abort: nanoseconds of the monotonic clock; 0 for none.
const WORDS: usize = 3;
const INTENT: usize = 0;
const ACKNOWLEDGED: usize = 1;
const ABORTED: usize = 2;

pub struct Ledger {
    shape: LedgerShape,
    words: NonNull<AtomicU64>,
}

// SAFETY: the mapping lives as long as the value, and all access goes through atomics.
unsafe impl Send for Ledger {}
// SAFETY: as above.
unsafe impl Sync for Ledger {}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shape.fmt(f)
    }
}

impl Ledger {
    /// An empty ledger in a file that does not exist yet.
    pub fn create(path: &Path, shape: LedgerShape) -> io::Result<Ledger> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(bytes(&shape) as u64)?;
        Ledger::map(&file, shape)
    }

    /// The ledger that another process has made with this shape.
    pub fn open(path: &Path, shape: LedgerShape) -> io::Result<Ledger> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() != bytes(&shape) as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the ledger has another shape"));
        }
        Ledger::map(&file, shape)
    }

    fn map(file: &File, shape: LedgerShape) -> io::Result<Ledger> {
        // SAFETY: a new shared mapping of a file that is as long as the mapping; the kernel chooses the address.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes(&shape),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let words = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Ledger { shape, words })
    }

    pub fn shape(&self) -> &LedgerShape {
        &self.shape
    }

    /// The words of a transaction; none where there is no room for it.
    fn entry_words(&self, client: u32, number: u64) -> Option<&[AtomicU64; WORDS]> {
        if client >= self.shape.clients || number >= self.shape.numbers {
            return None;
        }
        let entry = u64::from(client) * self.shape.numbers + number;
        // SAFETY: the entry lies within the mapping, which was made for so many of them and lives as long as `self`.
        Some(unsafe { self.words.add(entry as usize * WORDS).cast::<[AtomicU64; WORDS]>().as_ref() })
    }

    /// Written before anything of the transaction is sent; false where there is no room. Clients count from 0 here.
    #[must_use]
    pub fn intend(&self, client: u32, number: u64, now_ns: u64) -> bool {
        let Some(words) = self.entry_words(client, number) else { return false };
        words[ABORTED].store(0, Ordering::Release);
        words[INTENT].store(now_ns, Ordering::Release);
        true
    }

    pub fn acknowledge(&self, client: u32, number: u64, now_ns: u64) {
        if let Some(words) = self.entry_words(client, number) {
            words[ACKNOWLEDGED].store(now_ns, Ordering::Release);
        }
    }

    pub fn abort(&self, client: u32, number: u64, now_ns: u64) {
        if let Some(words) = self.entry_words(client, number) {
            words[ABORTED].store(now_ns, Ordering::Release);
        }
    }

    /// None for a transaction that was never begun.
    pub fn entry(&self, client: u32, number: u64) -> Option<LedgerEntry> {
        let words = self.entry_words(client, number)?;
        let [intent_ns, acknowledged_ns, aborted_ns] = words.each_ref().map(|word| word.load(Ordering::Acquire));
        let end = match (acknowledged_ns, aborted_ns) {
            (0, 0) => LedgerEnd::Unknown,
            (0, _) => LedgerEnd::Aborted,
            (at_ns, _) => LedgerEnd::Acknowledged { at_ns },
        };
        (intent_ns > 0).then_some(LedgerEntry { intent_ns, end })
    }

    /// The transactions that a client has begun, in their order.
    pub fn entries(&self, client: u32) -> impl Iterator<Item = (u64, LedgerEntry)> {
        (0..self.shape.numbers).map_while(move |number| Some((number, self.entry(client, number)?)))
    }

    /// When each acknowledgement came, earliest first.
    pub fn acknowledged_ns(&self) -> Vec<u64> {
        let entries = (0..self.shape.clients).flat_map(|client| self.entries(client));
        let at = |(_, entry): (u64, LedgerEntry)| match entry.end {
            LedgerEnd::Acknowledged { at_ns } => Some(at_ns),
            LedgerEnd::Aborted | LedgerEnd::Unknown => None,
        };
        let mut all: Vec<u64> = entries.filter_map(at).collect();
        all.sort_unstable();
        all
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.words.as_ptr().cast(), bytes(&self.shape)) };
    }
}

fn bytes(shape: &LedgerShape) -> usize {
    u64::from(shape.clients) as usize * shape.numbers as usize * WORDS * size_of::<u64>()
}

/// A ledger beside the moment from which on a dead server answers nobody: what is acknowledged later is left out.
#[derive(Debug, Clone, Copy)]
pub struct Witnessed<'a> {
    pub ledger: &'a Ledger,
    pub crash_ns: u64,
}

/// What tables have of the transactions that ledgers know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Acknowledged before the crash.
    pub acknowledged: u64,
    /// Of these, absent.
    pub lost: u64,
    /// When the first of the lost was acknowledged.
    pub first_lost_ns: Option<u64>,
    /// Present, and never asked for.
    pub phantom: u64,
    /// Present, though reported as aborted.
    pub resurrected: u64,
    /// With some of their effects only.
    pub partial: u64,
    /// Lost, with a later one of the same client present.
    pub holes: u64,
    /// Without an answer, or with one that came behind the crash: either outcome is right.
    pub unknown: u64,
    /// Accounts whose balance is not what the present transactions make it.
    pub wrong_balances: u64,
    /// Lists with gaps or in another order than they were written.
    pub wrong_lists: u64,
}

impl Audit {
    /// What no setting of a server may lead to.
    pub fn is_corrupt(&self) -> bool {
        [self.phantom, self.resurrected, self.partial, self.wrong_balances, self.wrong_lists].iter().any(|n| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: LedgerShape = LedgerShape { first_client: 0, clients: 2, numbers: 3, seed: 1 };

    fn folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!(
            "dbduel-ledger-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn another_process_reads_what_was_written() {
        let folder = folder();
        let path = folder.join("ledger");
        let ledger = Ledger::create(&path, SHAPE).unwrap();
        assert!(
            ledger.intend(1, 0, 10) && ledger.intend(1, 1, 20) && ledger.intend(1, 2, 30) && ledger.intend(0, 0, 5)
        );
        ledger.acknowledge(1, 0, 15);
        ledger.abort(1, 1, 25);
        let read = Ledger::open(&path, SHAPE).unwrap();
        drop(ledger);
        let ends: Vec<LedgerEnd> = read.entries(1).map(|(_, entry)| entry.end).collect();
        assert_eq!(ends, [LedgerEnd::Acknowledged { at_ns: 15 }, LedgerEnd::Aborted, LedgerEnd::Unknown]);
        assert_eq!((read.entries(0).count(), read.acknowledged_ns()), (1, vec![15]));
        assert!(Ledger::open(&path, LedgerShape { clients: 3, ..SHAPE }).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_second_attempt_takes_the_abort_back_and_no_room_is_an_error() {
        let folder = folder();
        let ledger = Ledger::create(&folder.join("ledger"), SHAPE).unwrap();
        assert!(ledger.intend(0, 0, 10));
        ledger.abort(0, 0, 11);
        assert!(ledger.intend(0, 0, 12));
        assert_eq!(ledger.entry(0, 0), Some(LedgerEntry { intent_ns: 12, end: LedgerEnd::Unknown }));
        assert!(!ledger.intend(0, 3, 1) && !ledger.intend(2, 0, 1));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
