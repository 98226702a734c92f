//! Waits for many sockets at once, on behalf of one thread.
//!
//! It handles sockets and the numbers they were registered under, and does not depend on protocols, futures or
//! clients. Between barriers it allocates nothing: the caller brings the [`Ready`] list.
//!
//! **Why epoll, and not io_uring** (point selects on MariaDB, 2 cores for both, client CPU per query of bare
//! loops by turns). Where the server shares the client's scheduling group, a ring of linked sends and
//! receives takes 3.3 us at 64 connections, epoll 4.4 us; at 8, 4.3 and 4.1 us. But a server started by
//! another session is in another group, and there the kernel wakes the client for each answer: 7 to 9 us
//! with either, nearly all of it falling asleep and waking up. What helps is to be woken less often (see the
//! event loop in `load`): then epoll takes 5.1 us and the ring 5.6 us at 64, 5.9 and 5.6 us at 8. A ring that
//! waits up to 50 us for more answers takes 4.2 us, and puts those 50 us on every latency; that is no
//! bargain. So a ring would add buffers that the kernel owns, and nothing else.

#![expect(unsafe_code, reason = "waits to the nanosecond, and watches descriptors that connections own")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most sockets that one wait reports; the others are reported by the next.
const READY_MAX: usize = 256;

/// Longest single wait in milliseconds, where the kernel counts in nothing finer.
const WAIT_MS_MAX: u64 = 60_000;

pub struct Reactor {
    epoll: OwnedFd,
    /// `epoll_pwait2` is there (Linux 5.11), so waits end to the nanosecond.
    fine: AtomicBool,
}

/// The sockets that one wait found readable, by their numbers.
pub struct Ready {
    events: [libc::epoll_event; READY_MAX],
    count: usize,
}

impl Default for Ready {
    fn default() -> Ready {
        Ready { events: [libc::epoll_event { events: 0, u64: 0 }; READY_MAX], count: 0 }
    }
}

/// The other side has closed its end, or the connection is broken.
const ENDED: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

impl Ready {
    /// A socket whose end came with its last bytes is named twice. There will be no other event, so a reader of
    /// those bytes that waits for the rest of an answer has to try once more, and finds the end.
    pub fn tokens(&self) -> impl Iterator<Item = usize> + '_ {
        let times = |event: &libc::epoll_event| 1 + usize::from(event.events & ENDED != 0);
        self.events[..self.count].iter().flat_map(move |event| std::iter::repeat_n(event.u64 as usize, times(event)))
    }
}

impl Reactor {
    pub fn new() -> io::Result<Arc<Reactor>> {
        // SAFETY: no pointers are involved; a valid descriptor is owned from here on.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            epoll => {
                // SAFETY: it has just been opened, and nothing else owns it.
                let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
                Ok(Arc::new(Reactor { epoll, fine: AtomicBool::new(true) }))
            }
        }
    }

    /// Reports `socket`, or another descriptor that becomes readable, under `token` from now on, until it is closed.
    ///
    /// Edge-triggered: a connection reads until nothing is left, so the kernel need not ask each
    /// socket again whether it is still readable.
    pub fn watch(&self, socket: RawFd, token: usize) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: token as u64 };
        // SAFETY: the event is live during the call, and a wrong descriptor is an error, not a fault.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &mut event) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Waits for any socket, but for no more than `wait_ns` (`u64::MAX`: for ever).
    pub fn wait(&self, ready: &mut Ready, wait_ns: u64) -> io::Result<()> {
        ready.count = 0;
        let found = match wait_ns {
            u64::MAX => self.wait_ms(ready, -1),
            _ if self.fine.load(Ordering::Relaxed) => self.wait_fine(ready, wait_ns),
            _ => self.wait_ms(ready, wait_ns.div_ceil(1_000_000).min(WAIT_MS_MAX) as libc::c_int),
        };
        match found {
            0.. => ready.count = found as usize,
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error if error.raw_os_error() == Some(libc::ENOSYS) && self.fine.swap(false, Ordering::Relaxed) => {}
                error => return Err(error),
            },
        }
        Ok(())
    }

    fn wait_ms(&self, ready: &mut Ready, timeout_ms: libc::c_int) -> libc::c_long {
        let events = &mut ready.events;
        // SAFETY: pointer and length describe the live array `events`.
        let found = unsafe {
            libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, timeout_ms)
        };
        libc::c_long::from(found)
    }

    fn wait_fine(&self, ready: &mut Ready, wait_ns: u64) -> libc::c_long {
        let timeout = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as _,
            tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
        };
        let events = &mut ready.events;
        // SAFETY: pointer and length describe the live array `events`, and the time is live as well.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.as_mut_ptr(),
                events.len(),
                &raw const timeout,
                0usize,
                0usize,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_readable_socket_is_reported_once_under_its_number() {
        let reactor = Reactor::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        reactor.watch(near.as_raw_fd(), 7).unwrap();
        far.write_all(b"x").unwrap();
        let mut ready = Ready::default();
        reactor.wait(&mut ready, u64::MAX).unwrap();
        assert_eq!(ready.tokens().collect::<Vec<_>>(), [7]);
        // Nobody has read, but nothing new has come either.
        reactor.wait(&mut ready, 0).unwrap();
        assert_eq!(ready.tokens().count(), 0);
    }

    #[test]
    fn a_socket_whose_end_came_with_its_last_bytes_is_reported_for_both() {
        let reactor = Reactor::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        reactor.watch(near.as_raw_fd(), 7).unwrap();
        far.write_all(b"half an answ").unwrap();
        drop(far);
        let mut ready = Ready::default();
        reactor.wait(&mut ready, u64::MAX).unwrap();
        assert_eq!(ready.tokens().collect::<Vec<_>>(), [7, 7]);
    }

    #[test]
    fn a_wait_without_sockets_ends_when_its_time_is_up_and_not_before() {
        for fine in [true, false] {
            let reactor = Reactor::new().unwrap();
            reactor.fine.store(fine, Ordering::Relaxed);
            let started = Instant::now();
            reactor.wait(&mut Ready::default(), 300_000).unwrap();
            assert!(started.elapsed() >= Duration::from_micros(300), "fine: {fine}");
        }
    }
}
