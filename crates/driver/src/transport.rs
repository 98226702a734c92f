//! A socket with a reusable inbox.
//!
//! In *blocking* mode a read waits in the kernel, so every future over it completes at its first
//! poll; administration works like this, and so does a worker that owns one connection (an event
//! loop would pay for a poll before each read: measured 10-14 us against 7-9 us per query). In
//! *polled* mode a read is tried only after the event loop has seen the socket readable.

use std::future::poll_fn;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::task::Poll;
use std::time::Duration;

use crate::{Endpoint, Error};

/// Large enough for a whole `SELECT c … BETWEEN` answer of 100 rows, so that one read gets it.
const INBOX_BYTES: usize = 32 * 1024;

/// Longest wait for the answer to a prepare.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Transport {
    socket: OwnedFd,
    polled: bool,
    /// The last read took as much as there was room for, so the kernel may hold more.
    more_waits: bool,
    /// Requests are built here and sent with one system call.
    pub(crate) outbox: Vec<u8>,
    inbox: Vec<u8>,
    /// The unread part of the inbox.
    start: usize,
    end: usize,
}

impl Transport {
    pub(crate) fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Transport, Error> {
        let socket = match endpoint {
            Endpoint::Unix(path) => {
                UnixStream::connect(path).map(OwnedFd::from).map_err(|e| lost(&format!("{}: {e}", path.display())))?
            }
            Endpoint::Tcp { host, port } => connect_tcp(host, *port, timeout)?,
            Endpoint::File(path) => return Err(lost(&format!("{} is a file, not a server", path.display()))),
        };
        let transport = Transport {
            socket,
            polled: false,
            more_waits: false,
            outbox: Vec::with_capacity(4096),
            inbox: vec![0; INBOX_BYTES],
            start: 0,
            end: 0,
        };
        transport.set_receive_timeout(Some(timeout))?;
        Ok(transport)
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(crate) fn set_polled(&mut self, polled: bool) {
        self.polled = polled;
    }

    /// Blocks, with a time limit, for a step of the set-up between measured statements.
    pub(crate) fn enter_set_up(&mut self) -> Result<bool, Error> {
        self.set_receive_timeout(Some(SET_UP_TIMEOUT))?;
        Ok(std::mem::replace(&mut self.polled, false))
    }

    pub(crate) fn leave_set_up(&mut self, polled: bool) -> Result<(), Error> {
        self.polled = polled;
        self.set_receive_timeout(None)
    }

    /// `None` waits for ever: a measured statement is ended by its [`Closer`], not by a time-out.
    pub(crate) fn set_receive_timeout(&self, timeout: Option<Duration>) -> Result<(), Error> {
        let timeout = timeout.unwrap_or(Duration::ZERO);
        let value = libc::timeval {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_usec: timeout.subsec_micros() as libc::suseconds_t,
        };
        // SAFETY: the option takes a timeval, whose address and size are those passed.
        let status = unsafe {
            libc::setsockopt(
                self.descriptor(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const value).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            )
        };
        if status == 0 { Ok(()) } else { Err(lost(&io::Error::last_os_error().to_string())) }
    }

    pub(crate) fn closer(&self) -> Result<Closer, Error> {
        let socket = self.socket.try_clone().map_err(|e| lost(&e.to_string()))?;
        Ok(Closer::Socket(socket))
    }

    /// Sends the outbox and empties it.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        let mut sent = 0;
        while sent < self.outbox.len() {
            let rest = &self.outbox[sent..];
            // SAFETY: the socket is this transport's own, hence open.
            let count = unsafe { send(self.descriptor(), rest, libc::MSG_NOSIGNAL) };
            match count {
                0.. => sent += count as usize,
                _ => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e => return Err(lost(&e.to_string())),
                },
            }
        }
        self.outbox.clear();
        Ok(())
    }

    pub(crate) fn unread(&self) -> &[u8] {
        &self.inbox[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end, "only bytes that were read can be consumed");
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Reads at least one more byte behind the unread ones.
    pub(crate) async fn fill(&mut self) -> Result<(), Error> {
        self.make_room();
        if !self.polled {
            return self.receive(0).map(|_| ());
        }
        // The answer to a statement just sent is never there yet, so the first poll does not even try;
        // unless the last read filled all the room it had. The event loop hears of new bytes only.
        let mut tried = self.more_waits;
        poll_fn(|_| {
            if !std::mem::replace(&mut tried, true) {
                return Poll::Pending;
            }
            match self.receive(libc::MSG_DONTWAIT) {
                Ok(true) => Poll::Ready(Ok(())),
                Ok(false) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    /// `false` when there is nothing to read yet.
    fn receive(&mut self, flags: libc::c_int) -> Result<bool, Error> {
        loop {
            let room = &mut self.inbox[self.end..];
            // SAFETY: the socket is this transport's own, hence open.
            let count = unsafe { receive(self.socket.as_raw_fd(), room, flags) };
            match count {
                0 => return Err(lost("the server closed the connection")),
                1.. => {
                    self.more_waits = count as usize == room.len();
                    self.end += count as usize;
                    return Ok(true);
                }
                _ => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e if e.kind() == io::ErrorKind::WouldBlock && flags & libc::MSG_DONTWAIT != 0 => return Ok(false),
                    e if e.kind() == io::ErrorKind::WouldBlock => return Err(lost("no answer within the time limit")),
                    e => return Err(lost(&e.to_string())),
                },
            }
        }
    }

    /// Moves the unread bytes to the front, and grows the inbox only when one message fills it.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.inbox.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.inbox.len() {
            self.inbox.resize(self.inbox.len() * 2, 0);
        }
    }
}

fn connect_tcp(host: &str, port: u16, timeout: Duration) -> Result<OwnedFd, Error> {
    let addresses = (host, port).to_socket_addrs().map_err(|e| lost(&format!("{host}: {e}")))?;
    let mut last = lost(&format!("{host} has no address"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|e| lost(&e.to_string()))?;
                return Ok(stream.into());
            }
            Err(error) => last = lost(&format!("{address}: {error}")),
        }
    }
    Err(last)
}

// The system calls themselves: the C library's `send` and `recv` also switch thread cancellation on
// and off, which costs 2 % of a point select and which nobody here uses.

/// # Safety
/// `socket` must be an open descriptor.
unsafe fn send(socket: RawFd, bytes: &[u8], flags: libc::c_int) -> libc::c_long {
    // SAFETY: pointer and length describe the live slice `bytes`.
    unsafe { libc::syscall(libc::SYS_sendto, socket, bytes.as_ptr(), bytes.len(), flags, 0usize, 0usize) }
}

/// # Safety
/// `socket` must be an open descriptor.
unsafe fn receive(socket: RawFd, room: &mut [u8], flags: libc::c_int) -> libc::c_long {
    // SAFETY: pointer and length describe the live slice `room`.
    unsafe { libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, 0usize, 0usize) }
}

fn lost(why: &str) -> Error {
    Error::Lost(why.to_owned())
}

/// Ends a connection from another thread: what waits on it fails with [`Error::Lost`].
pub enum Closer {
    Socket(OwnedFd),
    Sqlite(rusqlite::InterruptHandle),
}

impl Closer {
    pub fn close(&self) {
        match self {
            // SAFETY: the descriptor is owned by this value, hence open.
            Closer::Socket(socket) => unsafe {
                libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR);
            },
            Closer::Sqlite(handle) => handle.interrupt(),
        }
    }
}

/// Completes a future over a blocking transport, which never waits anywhere but in the kernel.
pub(crate) fn complete<T>(future: impl Future<Output = T>) -> T {
    let future = std::pin::pin!(future);
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking transport completes at the first poll"),
    }
}
