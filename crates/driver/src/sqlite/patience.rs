//! The end of what a set-up session does on its file, at an interruption of the program: statements, and waits for
//! a lock.
//!
//! SQLite's own wait ends after its time and for nothing else. This one sleeps as that does, but ends with an
//! interruption of the program too, and notes what it waited for. Measured clients wait by SQLite's own.

#![expect(unsafe_code, reason = "handlers of SQLite with a context of their own, which rusqlite does not take")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ffi;

use crate::deadline::is_interrupted;

/// SQLite's own, one after the other; the last one again and again.
const SLEEPS_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// A wait for a lock that an interruption of the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWait {
    pub file: PathBuf,
    pub waited: Duration,
}

static GIVEN_UP: Mutex<Option<LockWait>> = Mutex::new(None);

/// The last wait for a lock of SQLite that an interruption ended, if one did.
pub fn lock_wait() -> Option<LockWait> {
    GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

pub struct Patience {
    file: PathBuf,
    limit: Duration,
    begun: Cell<Instant>,
}

impl Patience {
    /// For as long as `connection` lives, which ends before what this returns.
    pub fn of(connection: &rusqlite::Connection, file: &Path, limit: Duration) -> Box<Patience> {
        let patience = Box::new(Patience { file: file.to_owned(), limit, begun: Cell::new(Instant::now()) });
        let context = (&raw const *patience).cast_mut().cast::<c_void>();
        // SAFETY: the handle is open, and the box outlives it at the place where both are kept.
        unsafe { ffi::sqlite3_busy_handler(connection.handle(), Some(wait), context) };
        patience
    }

    fn goes_on(&self, tries: usize) -> bool {
        if tries == 0 {
            self.begun.set(Instant::now());
        }
        let waited = self.begun.get().elapsed();
        if is_interrupted() {
            let wait = LockWait { file: self.file.clone(), waited };
            *GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner) = Some(wait);
            return false;
        }
        let left = self.limit.saturating_sub(waited);
        let sleep = Duration::from_millis(SLEEPS_MS[tries.min(SLEEPS_MS.len() - 1)]);
        std::thread::sleep(sleep.min(left));
        !left.is_zero()
    }
}

/// Instructions of SQLite's virtual machine between two readings of the flag: microseconds.
const INSTRUCTIONS: c_int = 1_000;

/// From now on an interruption of the program ends a statement of this connection, as it ends the wait for a server.
pub fn end_on_interruption(connection: &rusqlite::Connection) {
    // SAFETY: the handle is open, and what it is given needs no context.
    unsafe {
        ffi::sqlite3_progress_handler(connection.handle(), INSTRUCTIONS, Some(ends), std::ptr::null_mut());
    }
}

extern "C" fn ends(_: *mut c_void) -> c_int {
    c_int::from(is_interrupted())
}

extern "C" fn wait(patience: *mut c_void, tries: c_int) -> c_int {
    // SAFETY: the context given to SQLite above; SQLite calls from the one thread that uses the connection.
    let patience = unsafe { &*patience.cast::<Patience>() };
    c_int::from(patience.goes_on(tries.max(0) as usize))
}
