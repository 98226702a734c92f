//! Waits of the set-up: each has an end, and an interruption of the program ends them all.
//!
//! Logins, administration and loading wait like this. A measured statement does not: it has no deadline, and
//! its [`crate::Closer`] ends it.

#![expect(unsafe_code, reason = "waits for a descriptor that its caller owns")]

use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How soon a wait notices an interruption.
const SLICE: Duration = Duration::from_millis(50);

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on every wait that has a deadline also ends when `interrupted` is set. For the program's own flag,
/// once: an interruption concerns the whole process.
pub fn end_waits_on(interrupted: &Arc<AtomicBool>) {
    let _ = INTERRUPTED.set(Arc::clone(interrupted));
}

thread_local! {
    static HEEDLESS: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn is_interrupted() -> bool {
    !HEEDLESS.get() && INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Does what an interruption asks for; its waits go on to their own ends.
pub(crate) fn after_interruption(work: impl FnOnce()) {
    HEEDLESS.set(true);
    work();
    HEEDLESS.set(false);
}

/// The end of one exchange with a server, however many reads and writes it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Deadline {
        Deadline { end: Instant::now() + limit, limit }
    }

    /// Waits until `socket` is ready for `events` of `poll`, or has failed.
    pub(crate) fn wait(self, socket: RawFd, events: libc::c_short) -> io::Result<()> {
        loop {
            let mut wanted = libc::pollfd { fd: socket, events, revents: 0 };
            // At least a millisecond, since `poll` counts in nothing finer.
            let slice_ms = self.slice()?.as_millis().max(1) as libc::c_int;
            // SAFETY: the pointer is to one live pollfd.
            match unsafe { libc::poll(&raw mut wanted, 1, slice_ms) } {
                0 => {}
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return Ok(()),
            }
        }
    }

    /// Waits a moment, where there is nothing to wait for but time.
    pub(crate) fn pause(self) -> io::Result<()> {
        std::thread::sleep(self.slice()?.min(Duration::from_millis(10)));
        Ok(())
    }

    /// The next part of the wait; an error when it is over.
    pub(crate) fn slice(self) -> io::Result<Duration> {
        if is_interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = format!("no answer within {} s", self.limit.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        Ok(left.min(SLICE))
    }
}
