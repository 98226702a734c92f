//! Ends a connection from another thread.
//!
//! A connection lends its socket by a [`Slot`], and puts the next one there when it reconnects, so a closer
//! made at the beginning works to the end, and costs no descriptor of its own. The lock is taken when a
//! socket comes or goes, never by a statement.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use nix::sys::socket::{Shutdown, shutdown};

use crate::Error;

/// Where a connection keeps what can be closed: a socket, or the handle of a library.
#[derive(Default)]
pub(crate) struct Slot(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Changes under the lock.
    closed: AtomicBool,
    held: Mutex<Option<Held>>,
}

enum Held {
    Socket(OwnedFd),
    Sqlite(rusqlite::InterruptHandle),
}

impl Held {
    fn close(&self) {
        match self {
            // A socket that the server has closed is none to shut down.
            Held::Socket(socket) => _ = shutdown(socket.as_raw_fd(), Shutdown::Both),
            Held::Sqlite(handle) => handle.interrupt(),
        }
    }
}

impl Slot {
    /// Takes the socket of a new connection, unless there is to be none any more.
    pub(crate) fn fill(&self, socket: OwnedFd) -> Result<(), Error> {
        self.put(Held::Socket(socket))
    }

    pub(crate) fn fill_sqlite(&self, handle: rusqlite::InterruptHandle) -> Result<(), Error> {
        self.put(Held::Sqlite(handle))
    }

    fn put(&self, held: Held) -> Result<(), Error> {
        let mut place = self.0.lock();
        self.expect_open()?;
        *place = Some(held);
        Ok(())
    }

    /// For a library: it has no socket that fails, and gives up only the statement that runs when it is interrupted.
    pub(crate) fn expect_open(&self) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::lost("this connection was closed for good"));
        }
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Relaxed)
    }

    /// Closes what is held; a closer then finds nothing to do.
    pub(crate) fn clear(&self) {
        *self.0.lock() = None;
    }
}

impl Drop for Slot {
    /// The socket ends with its connection, however many closers remember it.
    fn drop(&mut self) {
        self.clear();
    }
}

/// Ends a connection from another thread: what waits on it fails with [`Error::Lost`].
pub struct Closer(Arc<Inner>);

impl Closer {
    pub(crate) fn of(slot: &Slot) -> Closer {
        Closer(Arc::clone(&slot.0))
    }

    /// Ends the connection for good: neither will it reconnect. A statement of SQLite that is just about to begin
    /// may not notice; who waits for the end calls this again until it is there.
    pub fn close(&self) {
        let place = self.0.lock();
        self.0.closed.store(true, Ordering::Relaxed);
        if let Some(held) = &*place {
            held.close();
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().expect("no thread panics while holding a slot")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_closer_ends_the_socket_that_came_after_it_was_made() {
        let slot = Slot::default();
        let closer = Closer::of(&slot);
        let (first, _first_far) = UnixStream::pair().unwrap();
        slot.fill(first.into()).unwrap();
        let (second, mut far) = UnixStream::pair().unwrap();
        slot.fill(second.into()).unwrap();
        closer.close();
        assert_eq!(far.read(&mut [0; 8]).unwrap(), 0, "the far end sees the end");
        let (third, _third_far) = UnixStream::pair().unwrap();
        assert!(matches!(slot.fill(third.into()), Err(Error::Lost { .. })), "closed is closed for good");
    }

    #[test]
    fn a_dropped_connection_closes_its_socket_although_a_closer_remembers_it() {
        let slot = Slot::default();
        let closer = Closer::of(&slot);
        let (near, mut far) = UnixStream::pair().unwrap();
        slot.fill(near.into()).unwrap();
        drop(slot);
        assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
        closer.close();
    }
}
