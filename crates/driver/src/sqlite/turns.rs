//! Who writes next: one queue for all connections of this process to one database file.
//!
//! SQLite has one writer at a time, and lets the others sleep, for longer each time they find the file taken. Who
//! has just committed is awake and finds it free, so of four clients one did the work and three slept. Programs
//! with several writers line them up; so do these connections: a transaction that will write waits for its turn, in
//! the order of asking, and then opens as it always does. Other processes are met by SQLite's own busy time-out.
//!
//! A connection alone in the queue costs three changes of a number. Nothing here allocates after the start.

#![expect(unsafe_code, reason = "a futex: a wait with a limit, without a lock that the waker holds")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// More than there can be threads waiting for one file; a power of two, so that tickets may overflow.
const PLACES: usize = 1 << 14;

/// The state of a place in the queue; each ticket has one.
const FREE: u32 = 0;
const WAITING: u32 = 1;
const CALLED: u32 = 2;
const GONE: u32 = 3;

#[derive(Debug)]
pub struct Turns {
    next: AtomicU32,
    places: Box<[AtomicU32]>,
}

/// The right to write, until it is handed on.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Turn(u32);

impl Turns {
    fn new() -> Turns {
        let places: Box<[AtomicU32]> = (0..PLACES).map(|_| AtomicU32::new(FREE)).collect();
        places[0].store(CALLED, Ordering::Relaxed);
        Turns { next: AtomicU32::new(0), places }
    }

    /// The queue of this file; none of a database that no other connection can open.
    pub fn of(file: &Path) -> Option<Arc<Turns>> {
        static ALL: Mutex<Option<HashMap<PathBuf, Weak<Turns>>>> = Mutex::new(None);
        let file = file.canonicalize().ok()?;
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        all.retain(|_, turns| turns.strong_count() > 0);
        let known = all.get(&file).and_then(Weak::upgrade);
        Some(known.unwrap_or_else(|| {
            let turns = Arc::new(Turns::new());
            all.insert(file, Arc::downgrade(&turns));
            turns
        }))
    }

    /// Waits for a turn; none after `limit`.
    pub fn take(&self, limit: Duration) -> Option<Turn> {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        if self.is_called(ticket) { Some(Turn(ticket)) } else { self.wait(ticket, limit) }
    }

    #[cold]
    fn wait(&self, ticket: u32, limit: Duration) -> Option<Turn> {
        let (place, until) = (self.place(ticket), Instant::now() + limit);
        let _ = place.compare_exchange(FREE, WAITING, Ordering::AcqRel, Ordering::Acquire);
        while !self.is_called(ticket) {
            let rest = until.saturating_duration_since(Instant::now());
            let is_late = rest.is_zero();
            if is_late && place.compare_exchange(WAITING, GONE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return None;
            }
            if !is_late {
                sleep_on(place, WAITING, rest);
            }
        }
        Some(Turn(ticket))
    }

    /// Whether the turn has come to this ticket, whose place is then free for another one.
    fn is_called(&self, ticket: u32) -> bool {
        self.place(ticket).compare_exchange(CALLED, FREE, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Calls the next one in the queue, whether it is there already or not; those that have gone are passed over.
    pub fn hand_on(&self, turn: Turn) {
        let mut ticket = turn.0.wrapping_add(1);
        loop {
            let place = self.place(ticket);
            match place.swap(CALLED, Ordering::AcqRel) {
                GONE => place.store(FREE, Ordering::Release),
                WAITING => return wake(place),
                _ => return,
            }
            ticket = ticket.wrapping_add(1);
        }
    }

    fn place(&self, ticket: u32) -> &AtomicU32 {
        &self.places[ticket as usize % PLACES]
    }
}

/// Sleeps while `place` is `expected`, or a little less.
fn sleep_on(place: &AtomicU32, expected: u32, limit: Duration) {
    let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos().into() };
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: both pointers are live during the call.
    unsafe { libc::syscall(libc::SYS_futex, place.as_ptr(), wait, expected, &raw const limit) };
}

fn wake(place: &AtomicU32) {
    // SAFETY: the pointer is live; no other thread sleeps there.
    unsafe { libc::syscall(libc::SYS_futex, place.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn turns_are_given_in_the_order_of_asking() {
        let (turns, served) = (Turns::new(), Mutex::new(Vec::new()));
        let first = turns.take(LONG).unwrap();
        std::thread::scope(|scope| {
            for number in 1..=5 {
                let (turns, served) = (&turns, &served);
                scope.spawn(move || {
                    let turn = turns.take(LONG).unwrap();
                    served.lock().unwrap().push(number);
                    turns.hand_on(turn);
                });
                // The next one asks when this one has.
                while turns.next.load(Ordering::Relaxed) <= number {
                    std::thread::yield_now();
                }
            }
            turns.hand_on(first);
        });
        assert_eq!(served.into_inner().unwrap(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn who_has_gone_is_passed_over() {
        let turns = Turns::new();
        let first = turns.take(LONG).unwrap();
        assert_eq!(turns.take(Duration::ZERO), None);
        assert_eq!(turns.take(Duration::from_millis(1)), None);
        turns.hand_on(first);
        let next = turns.take(Duration::ZERO).expect("no connection has the turn");
        assert_eq!(next, Turn(3));
        turns.hand_on(next);
    }

    #[test]
    fn only_one_has_the_turn_however_many_ask() {
        let (turns, counter) = (Turns::new(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let turn = turns.take(LONG).unwrap();
                        // Not one operation, so that two at a time would lose some.
                        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        turns.hand_on(turn);
                    }
                });
            }
        });
        assert_eq!(counter.into_inner(), 80_000);
    }

    #[test]
    fn connections_to_one_file_share_a_queue() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one.db"), folder.path().join("other.db"));
        std::fs::write(&one, "").unwrap();
        std::fs::write(&other, "").unwrap();
        let turns = Turns::of(&one).unwrap();
        assert!(Arc::ptr_eq(&turns, &Turns::of(&folder.path().join("./one.db")).unwrap()));
        assert!(!Arc::ptr_eq(&turns, &Turns::of(&other).unwrap()));
        assert!(Turns::of(Path::new(":memory:")).is_none());
    }
}
