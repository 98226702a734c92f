//! A socket with a reusable inbox.
//!
//! In *blocking* mode a read waits in the kernel, so every future over it completes at its first poll;
//! administration works like this, and so does a worker that owns one connection. In *polled* mode a read is
//! tried only after a [`Reactor`] has seen the socket readable. Between statements the socket may be replaced
//! by a new one ([`Transport::reopen`]); what must stay true is that no byte of an old answer outlives it.

#![expect(unsafe_code, reason = "receives and waits by the system call itself")]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::closer::{Closer, Slot};
use crate::compression::Compressor;
use crate::deadline::{self, Deadline};
use crate::reactor::Reactor;
use crate::socket::{count, receive, send_some};
use crate::tls::Session;
use crate::{Certificates, Endpoint, Error, Tls, dial};

/// Large enough for a whole `SELECT c … BETWEEN` answer of 100 rows, so that one read gets it.
pub(crate) const INBOX_BYTES: usize = 16 * 1024;

/// No message of which all bytes must be there at once is longer: MySQL's packets end here, and so does what
/// dbduel asks of PostgreSQL. What is longer comes from no server that means well.
const INBOX_BYTES_MAX: usize = (16 << 20) + 64;

/// Inboxes that a thread keeps for its next answers.
const SPARE_INBOXES_MAX: usize = 64;

thread_local! {
    /// Inboxes without bytes. An answer is mostly read in one go, so the connections of a thread take
    /// turns with one inbox, whose memory stays in the CPU's caches; sixty-four of their own did not.
    static SPARE_INBOXES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };

    /// The outbox without bytes, for the same reason: a request is built and sent in one go.
    static SPARE_OUTBOX: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };

    static TRAFFIC: Cell<Traffic> = const { Cell::new(Traffic { sent: 0, received: 0 }) };
}

/// Bytes of statements and answers, before encryption.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent: u64,
    pub received: u64,
}

impl Traffic {
    /// What came after `earlier`.
    pub fn since(self, earlier: Traffic) -> Traffic {
        Traffic { sent: self.sent - earlier.sent, received: self.received - earlier.received }
    }

    pub fn add(&mut self, other: Traffic) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// All that the connections of this thread have carried so far.
pub fn thread_traffic() -> Traffic {
    TRAFFIC.get()
}

fn count_traffic(sent: usize, received: usize) {
    let mut traffic = TRAFFIC.get();
    traffic.add(Traffic { sent: sent as u64, received: received as u64 });
    TRAFFIC.set(traffic);
}

/// Room for one request; most are a tenth of it.
const OUTBOX_BYTES: usize = 1024;

/// Longest wait for the answer to a prepare.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest that a server may take to cancel a statement that is no longer waited for.
pub(crate) const CALL_OFF_LIMIT: Duration = Duration::from_millis(500);

/// Asks the server, over a connection of its own, to end the statement that this connection waits for: a server
/// reads its client's socket only when it answers. Whether the request arrived is not checked.
pub(crate) type CallOff = Arc<dyn Fn(&Endpoint, Ended) -> Result<(), Error> + Send + Sync>;

/// What is ended together with a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its session goes on.
    Statement,
    Session,
}

/// Ends the statement of a session that is under way, from another thread; the session goes on.
pub struct Canceller {
    endpoint: Endpoint,
    call_off: CallOff,
}

impl Canceller {
    /// Connects, asks for it, and does not wait until it is done.
    pub fn cancel(&self) -> Result<(), Error> {
        (self.call_off)(&self.endpoint, Ended::Statement)
    }
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canceller").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// What the descriptor is while there is no socket.
const NO_SOCKET: RawFd = -1;

pub(crate) struct Transport {
    endpoint: Endpoint,
    /// Owns the socket, and lends it to what may have to end this connection.
    slot: Slot,
    /// The socket in `slot`, at hand for the measured path.
    descriptor: RawFd,
    tls: Option<Box<Session>>,
    compressor: Option<Box<Compressor>>,
    /// Reads wait for the reactor below.
    polled: bool,
    /// The reactor of the socket, and the number there.
    attached: Option<(Arc<Reactor>, usize)>,
    /// Longest wait for a whole answer; none for measured statements.
    limit: Option<Duration>,
    /// The end of the exchange under way, where there is a limit.
    deadline: Option<Deadline>,
    /// What the protocol asks a client to send before it leaves.
    farewell: &'static [u8],
    /// The login is over, so that the session has to be closed.
    greeted: bool,
    /// From the login on.
    call_off: Option<CallOff>,
    /// The last read took as much as there was room for, so the kernel may hold more.
    more_waits: bool,
    /// The request under construction; without memory, in between, like the inbox.
    outbox: Vec<u8>,
    /// Borrowed from the thread while it holds unread bytes; empty, without memory, in between.
    inbox: Vec<u8>,
    /// The unread part of the inbox.
    start: usize,
    end: usize,
}

impl Transport {
    pub(crate) fn connect(endpoint: &Endpoint, farewell: &'static [u8], timeout: Duration) -> Result<Transport, Error> {
        let mut transport = Transport {
            endpoint: endpoint.clone(),
            slot: Slot::default(),
            descriptor: NO_SOCKET,
            tls: None,
            compressor: None,
            polled: false,
            attached: None,
            limit: Some(timeout),
            deadline: None,
            farewell,
            greeted: false,
            call_off: None,
            more_waits: false,
            outbox: Vec::new(),
            inbox: Vec::new(),
            start: 0,
            end: 0,
        };
        transport.open(timeout)?;
        Ok(transport)
    }

    /// A new socket in place of the old one, which goes first: the server may have as many connections
    /// as it takes. It blocks, with a time limit, until [`Transport::settle`].
    pub(crate) fn reopen(&mut self, timeout: Duration) -> Result<(), Error> {
        self.take_leave();
        self.disconnect();
        self.polled = false;
        self.open(timeout)
    }

    /// Ends what [`Transport::reopen`] began: waits and is registered as before, or, when the new connection
    /// did not come about, has no socket until a later attempt.
    pub(crate) fn settle(&mut self, restored: Result<(), Error>, limit: Option<Duration>) -> Result<(), Error> {
        let settled = restored.and_then(|()| self.register_again());
        if settled.is_err() {
            self.disconnect();
        }
        self.set_limit(limit);
        settled
    }

    fn register_again(&mut self) -> Result<(), Error> {
        match self.attached.clone() {
            Some((reactor, token)) => self.attach(&reactor, token),
            None => Ok(()),
        }
    }

    /// Closes the session if that needs no wait: a server counts a client that leaves without it as aborted.
    fn take_leave(&mut self) {
        if !std::mem::replace(&mut self.greeted, false) {
            return;
        }
        let now = Some(Deadline::after(Duration::ZERO));
        let bytes = match &mut self.compressor {
            None => Ok(self.farewell),
            Some(compressor) => compressor.pack(self.farewell),
        };
        // Nobody minds when the server has left first.
        let _ = bytes.and_then(|bytes| match &mut self.tls {
            None => send_clear(self.descriptor, bytes, now),
            Some(session) => session.send(self.descriptor, bytes, now),
        });
    }

    /// Leaves no socket, and no byte of an answer that will not be read.
    pub(crate) fn disconnect(&mut self) {
        self.descriptor = NO_SOCKET;
        self.greeted = false;
        self.call_off = None;
        self.slot.clear();
        self.tls = None;
        self.compressor = None;
        self.more_waits = false;
        self.return_outbox();
        self.discard();
    }

    /// Ends the connection where its rows cannot be understood: the rest of them is not waited for.
    pub(crate) fn end_if(&mut self, broken: &mut Option<Error>) -> Result<(), Error> {
        match broken.take() {
            None => Ok(()),
            Some(error) => {
                self.disconnect();
                Err(error)
            }
        }
    }

    /// The limit is one for everything up to [`Transport::end_login`].
    fn open(&mut self, timeout: Duration) -> Result<(), Error> {
        let deadline = Deadline::after(timeout);
        let socket = match &self.endpoint {
            Endpoint::Unix(path) => dial::unix(path, deadline),
            Endpoint::Tcp { host, port } => dial::tcp(host, *port, deadline),
            Endpoint::File(path) => return Err(lost(&format!("{} is a file, not a server", path.display()))),
        };
        let socket = socket.map_err(|error| Error::unreachable(&self.endpoint, &error))?;
        let descriptor = socket.as_raw_fd();
        self.slot.fill(socket)?;
        self.descriptor = descriptor;
        self.limit = Some(timeout);
        self.deadline = Some(deadline);
        Ok(())
    }

    /// The server has let us in. `call_off` ends a statement of ours.
    pub(crate) fn end_login(&mut self, call_off: CallOff) {
        self.greeted = true;
        self.call_off = Some(call_off);
    }

    /// From here on all bytes are encrypted. Whoever slipped bytes in behind the server's consent
    /// would have them taken for encrypted ones, so there must be none.
    pub(crate) fn start_tls(&mut self, tls: Tls, certificates: &Certificates) -> Result<(), Error> {
        if !self.unread().is_empty() {
            return Err(Error::Protocol("the server went on in clear after it agreed to encrypt".to_owned()));
        }
        let session = Session::start(tls, certificates, &self.endpoint, self.descriptor, self.deadline)?;
        self.tls = Some(Box::new(session));
        Ok(())
    }

    /// The TLS session, where there is one.
    pub(crate) fn encryption(&self) -> Option<&Session> {
        self.tls.as_deref()
    }

    /// From here on all bytes are compressed, below their encryption.
    pub(crate) fn start_compression(&mut self) -> Result<(), Error> {
        if !self.unread().is_empty() {
            return Err(Error::Protocol("the server went on in clear after it agreed to compress".to_owned()));
        }
        self.compressor = Some(Box::new(Compressor::new()));
        Ok(())
    }

    /// Nobody between us and the server can read along.
    pub(crate) fn is_private(&self) -> bool {
        self.tls.is_some() || matches!(self.endpoint, Endpoint::Unix(_))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// Reads wait for `reactor` from here on, which reports this connection as `token`.
    pub(crate) fn attach(&mut self, reactor: &Arc<Reactor>, token: usize) -> Result<(), Error> {
        reactor.watch(self.descriptor, token).map_err(|e| lost(&format!("the socket cannot be watched: {e}")))?;
        self.attached = Some((Arc::clone(reactor), token));
        self.polled = true;
        Ok(())
    }

    /// Blocks, with a time limit, for a step of the set-up between measured statements.
    pub(crate) fn enter_set_up(&mut self) -> SetUp {
        let before = SetUp { polled: self.polled, limit: self.limit };
        self.set_limit(Some(self.limit.map_or(SET_UP_TIMEOUT, |limit| limit.min(SET_UP_TIMEOUT))));
        self.polled = false;
        before
    }

    pub(crate) fn leave_set_up(&mut self, before: SetUp) {
        self.polled = before.polled;
        self.set_limit(before.limit);
    }

    /// Whether reads wait for the reactor; returns what was before.
    pub(crate) fn set_polled(&mut self, polled: bool) -> bool {
        std::mem::replace(&mut self.polled, polled)
    }

    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// How long each answer may take from here on, whole. `None` waits for ever: a measured statement is ended
    /// by its [`Closer`], not by a time-out.
    pub(crate) fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
        self.deadline = None;
    }

    pub(crate) fn closer(&self) -> Closer {
        Closer::of(&self.slot)
    }

    /// None while there is no session.
    pub(crate) fn canceller(&self) -> Option<Canceller> {
        let call_off = Arc::clone(self.call_off.as_ref()?);
        Some(Canceller { endpoint: self.endpoint.clone(), call_off })
    }

    /// Sends the outbox and empties it, whatever becomes of it: the next request starts afresh.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        if let Some(limit) = self.limit {
            self.deadline = Some(Deadline::after(limit));
        }
        self.send_on()
    }

    /// The same within the exchange under way, whose deadline stays.
    pub(crate) fn send_on(&mut self) -> Result<(), Error> {
        let bytes = match &mut self.compressor {
            None => Ok(self.outbox.as_slice()),
            Some(compressor) => compressor.pack(&self.outbox),
        };
        let sent = bytes.and_then(|bytes| match &mut self.tls {
            None => send_clear(self.descriptor, bytes, self.deadline),
            Some(session) => session.send(self.descriptor, bytes, self.deadline),
        });
        count_traffic(self.outbox.len(), 0);
        self.return_outbox();
        sent.map_err(|error| self.lost_by(&error))
    }

    /// Requests are built here and sent with one system call.
    pub(crate) fn outbox(&mut self) -> &mut Vec<u8> {
        if self.outbox.capacity() == 0 {
            let spare = SPARE_OUTBOX.take();
            self.outbox = if spare.capacity() == 0 { Vec::with_capacity(OUTBOX_BYTES) } else { spare };
        }
        &mut self.outbox
    }

    fn return_outbox(&mut self) {
        let mut outbox = std::mem::take(&mut self.outbox);
        if outbox.capacity() > 0 {
            outbox.clear();
            SPARE_OUTBOX.set(outbox);
        }
    }

    fn lost_by(&self, error: &io::Error) -> Error {
        match error.kind() {
            _ if self.descriptor == NO_SOCKET => lost("there is no connection; reconnect first"),
            io::ErrorKind::InvalidData => Error::Protocol(error.to_string()),
            _ => lost(&error.to_string()),
        }
    }

    /// An error ends an answer, so whatever was read behind it belongs to it.
    pub(crate) fn discard(&mut self) {
        self.start = 0;
        self.end = 0;
        self.return_inbox();
    }

    fn borrow_inbox(&mut self) {
        if self.inbox.is_empty() {
            let spare = SPARE_INBOXES.with_borrow_mut(Vec::pop);
            self.inbox = spare.unwrap_or_else(|| vec![0; INBOX_BYTES]);
        }
    }

    /// Nothing is unread, so another connection may have it.
    fn return_inbox(&mut self) {
        let inbox = std::mem::take(&mut self.inbox);
        // One that grew for a single large message is not worth keeping.
        if inbox.len() == INBOX_BYTES {
            SPARE_INBOXES.with_borrow_mut(|spare| {
                if spare.len() < SPARE_INBOXES_MAX {
                    spare.push(inbox);
                }
            });
        }
    }

    pub(crate) fn unread(&self) -> &[u8] {
        &self.inbox[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end, "only bytes that were read can be consumed");
        if self.start == self.end {
            self.discard();
        }
    }

    /// Reads at least one more byte behind the unread ones.
    pub(crate) async fn fill(&mut self) -> Result<(), Error> {
        self.make_room()?;
        if !self.polled {
            return self.wait_and_receive();
        }
        // The answer to a statement just sent is never there yet, so the first poll does not even try;
        // unless the last read filled all the room it had. The event loop gets events for new bytes only.
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
        self.borrow_inbox();
        let received = self.receive_into_inbox(flags);
        if self.end == 0 {
            self.return_inbox();
        }
        received
    }

    fn receive_into_inbox(&mut self, flags: libc::c_int) -> Result<bool, Error> {
        loop {
            let (room, descriptor, tls) = (&mut self.inbox[self.end..], self.descriptor, &mut self.tls);
            let room_bytes = room.len();
            let mut read = |room: &mut [u8]| match tls {
                // SAFETY: the socket is this transport's own; without one the call fails and touches nothing.
                None => count(unsafe { receive(descriptor, room, flags) }),
                Some(session) => session.receive(descriptor, room, flags),
            };
            let received = match &mut self.compressor {
                None => read(room),
                Some(compressor) => compressor.receive(room, read),
            };
            match received {
                Ok(0) => return Err(lost("the server closed the connection")),
                Ok(count) => {
                    // Behind what was unpacked there may be more, both with the unpacker and in the socket.
                    self.more_waits = count == room_bytes || self.unpacks();
                    self.end += count;
                    count_traffic(0, count);
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && flags & libc::MSG_DONTWAIT != 0 => return Ok(false),
                Err(e) => return Err(self.lost_by(&e)),
            }
        }
    }

    /// A blocking read. On a socket file the wait is `poll`'s: a reader asleep in `recv` is also woken when
    /// the server takes the request off the queue, for nothing (two context switches per point select
    /// instead of one; 8.8 us of CPU against 6.9 us, and less in each of four rounds). TCP has no such
    /// wake-up.
    fn wait_and_receive(&mut self) -> Result<(), Error> {
        let received = match self.deadline {
            Some(deadline) => self.receive_until(deadline),
            None => self.receive_at_last(),
        };
        if received.is_err() {
            self.call_off();
        }
        received
    }

    /// Only where we gave up the wait: otherwise the statement would run on.
    #[cold]
    fn call_off(&mut self) {
        let given_up = deadline::is_interrupted() || self.slot.is_closed();
        if let Some(call_off) = self.call_off.take_if(|_| given_up) {
            deadline::after_interruption(|| drop(call_off(&self.endpoint, Ended::Session)));
        }
    }

    fn receive_at_last(&mut self) -> Result<(), Error> {
        // Without a socket `poll` would wait for ever, and the read below fails at once.
        let is_file = matches!(self.endpoint, Endpoint::Unix(_)) && self.descriptor != NO_SOCKET;
        if is_file && !self.unpacks() {
            let mut wanted = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
            let (no_limit, same_mask) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<libc::sigset_t>());
            // SAFETY: the pointer is to one live pollfd. What it found, the read below finds as well. ARM has no older call.
            unsafe { libc::syscall(libc::SYS_ppoll, &raw mut wanted, 1, no_limit, same_mask, 0usize) };
        }
        self.receive(0).map(|_| ())
    }

    /// The deadline also ends an answer of which more is always there.
    fn receive_until(&mut self, deadline: Deadline) -> Result<(), Error> {
        deadline.slice().map_err(|error| self.lost_by(&error))?;
        while !self.receive(libc::MSG_DONTWAIT)? {
            deadline.wait(self.descriptor, libc::POLLIN).map_err(|error| self.lost_by(&error))?;
        }
        Ok(())
    }

    /// Whether the server has sent something without a request; it then lies in the inbox.
    pub(crate) fn has_more(&mut self) -> bool {
        self.end > self.start || (self.descriptor != NO_SOCKET && self.receive(libc::MSG_DONTWAIT) == Ok(true))
    }

    /// Bytes may lie ready in TLS that the socket does not show.
    fn unpacks(&self) -> bool {
        self.tls.is_some() || self.compressor.is_some()
    }

    /// Moves the unread bytes to the front, and grows the inbox only when one message fills it.
    fn make_room(&mut self) -> Result<(), Error> {
        if self.start > 0 {
            self.inbox.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end > 0 && self.end == self.inbox.len() {
            if self.end >= INBOX_BYTES_MAX {
                return Err(Error::Protocol("the server sent a message of more than 16 MiB".to_owned()));
            }
            self.inbox.resize((self.inbox.len() * 2).min(INBOX_BYTES_MAX), 0);
        }
        Ok(())
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.take_leave();
    }
}

// The system calls themselves: the C library's `send` and `recv` also switch thread cancellation on
// and off, which costs 2 % of a point select and which is not used here.

fn send_clear(socket: RawFd, bytes: &[u8], deadline: Option<Deadline>) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        match send_some(socket, &bytes[sent..], deadline) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn lost(why: &str) -> Error {
    Error::lost(why)
}

/// How a connection waited before a step of set-up.
pub(crate) struct SetUp {
    polled: bool,
    limit: Option<Duration>,
}

/// Completes a future over a blocking transport, which never waits anywhere but in the kernel.
pub fn complete<T>(future: impl Future<Output = T>) -> T {
    let future = std::pin::pin!(future);
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking transport completes at the first poll"),
    }
}
