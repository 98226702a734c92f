//! The raw-socket floor: the least a client can do per point select.
//!
//! Logging in is the driver's; from then on one fixed request goes out on each connection, and exactly as
//! many bytes are read as its answer has. Nothing is parsed, drawn, timed or recorded. It waits as our own
//! load does, so that what lies between the two is our code and nothing else: several connections behind
//! one epoll, on a thread that others are not interrupted for; one connection behind `poll`.

#![expect(unsafe_code, reason = "the raw-socket floor makes the system calls itself")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use driver::mysql::packet::{self, begin_packet, end_packet, whole_packet};
use driver::postgres::message::{self, begin_message, end_message};
use driver::{AnyConnection, Connection, Dialect, Target};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// The answer to preparing a statement with a parameter and a column: itself, then one definition
/// and an EOF for each.
const PREPARE_PACKETS: usize = 5;
const TYPE_LONGLONG: u8 = 0x08;
const LOGIN_LIMIT: Duration = Duration::from_secs(30);
const ID: i64 = 50_000;

/// What a floor took.
pub struct Floor {
    pub queries: u64,
    /// Of this thread, from the first request on.
    cpu_ns: u64,
}

impl Floor {
    pub fn us_per_query(&self) -> f64 {
        self.cpu_ns as f64 / 1000.0 / self.queries as f64
    }
}

struct RawConnection {
    /// Keeps the socket open.
    session: AnyConnection,
    request: Vec<u8>,
    /// Bytes of the answer that is under way.
    received: usize,
}

pub fn run(target: &Target, connections: u32, interval: Duration) -> Result<Floor> {
    let mut raw = (0..connections).map(|_| RawConnection::open(target)).collect::<Result<Vec<_>>>()?;
    // The first execution sends the types of the parameters, and shows how long an answer is.
    let lengths = raw.iter_mut().map(RawConnection::first_answer_bytes).collect::<Result<Vec<_>>>()?;
    let length = lengths[0];
    ensure!(lengths.iter().all(|other| *other == length), "answers to one request differ in length");
    let before_ns = thread_cpu_ns();
    let queries = match raw.as_mut_slice() {
        [alone] => exchange_alone(alone, length, interval)?,
        many => {
            be_woken_less_often();
            exchange(&epoll_of(many)?, many, length, interval)?
        }
    };
    ensure!(queries > 0, "no query was answered in {interval:?}");
    Ok(Floor { queries, cpu_ns: thread_cpu_ns() - before_ns })
}

/// As the load's event loop does.
fn be_woken_less_often() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is live, and the call concerns this thread only.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
}

impl RawConnection {
    fn open(target: &Target) -> Result<RawConnection> {
        let session = AnyConnection::connect(target.dialect, &target.endpoint, &target.login, LOGIN_LIMIT)?;
        Ok(RawConnection { session, request: Vec::new(), received: 0 })
    }

    /// Prepares the statement and executes it once; what is left to do is `self.request`.
    fn first_answer_bytes(&mut self) -> Result<usize> {
        if self.session.dialect() == Dialect::Postgres {
            self.session.prepare("SELECT c FROM sbtest1 WHERE id=$1")?;
            self.request = postgres_request();
            return answer_bytes(self.descriptor(), &self.request, postgres_answer_is_whole);
        }
        let id = prepare(self.descriptor())?;
        self.request = request(&id, false);
        answer_bytes(self.descriptor(), &request(&id, true), mysql_answer_is_whole)
    }

    fn descriptor(&self) -> RawFd {
        self.session.descriptor().expect("a connection to a server has a socket")
    }
}

/// Prepares the point select and returns the number that the server gave it.
fn prepare(descriptor: RawFd) -> Result<[u8; 4]> {
    let mut out = Vec::new();
    let at = begin_packet(&mut out, 0);
    out.push(COM_STMT_PREPARE);
    out.extend_from_slice(b"SELECT c FROM sbtest1 WHERE id=?");
    end_packet(&mut out, at);
    send(descriptor, &out)?;
    let (mut answer, mut packets, mut consumed) = (Vec::new(), 0, 0);
    let mut buffer = [0; 4096];
    while packets < PREPARE_PACKETS {
        let count = receive(descriptor, &mut buffer, 0)?.context("a blocking read gave nothing")?;
        answer.extend_from_slice(&buffer[..count]);
        while let Some((payload, _, size)) = whole_packet(&answer[consumed..]) {
            ensure!(packets > 0 || payload.first() == Some(&0), "the point select was not prepared");
            packets += 1;
            consumed += size;
        }
    }
    Ok([answer[5], answer[6], answer[7], answer[8]])
}

fn request(statement: &[u8; 4], with_types: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let at = begin_packet(&mut out, 0);
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(statement);
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    out.extend_from_slice(&[0, u8::from(with_types)]);
    if with_types {
        out.extend_from_slice(&[TYPE_LONGLONG, 0]);
    }
    out.extend_from_slice(&ID.to_le_bytes());
    end_packet(&mut out, at);
    out
}

/// Bind with one text parameter and a binary answer, Execute and Sync, as the driver sends them; the
/// first statement of a session is called `s0`.
fn postgres_request() -> Vec<u8> {
    let id = ID.to_string();
    let mut out = Vec::new();
    let at = begin_message(&mut out, b'B');
    out.extend_from_slice(b"\0s0\0\0\0\0\x01");
    out.extend_from_slice(&(id.len() as u32).to_be_bytes());
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(&[0, 1, 0, 1]);
    end_message(&mut out, at);
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
    out
}

/// Sends the request once and counts the bytes of its answer.
fn answer_bytes(descriptor: RawFd, request: &[u8], is_whole: fn(&[u8]) -> Result<bool>) -> Result<usize> {
    send(descriptor, request)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !is_whole(&answer)? {
        let count = receive(descriptor, &mut buffer, 0)?.context("a blocking read gave nothing")?;
        answer.extend_from_slice(&buffer[..count]);
    }
    Ok(answer.len())
}

fn mysql_answer_is_whole(answer: &[u8]) -> Result<bool> {
    match packet::AnswerParser::default().feed(answer, None)?.1 {
        packet::Step::More => Ok(false),
        packet::Step::Done(found) if found.rows == 1 => Ok(true),
        other => bail!("a point select was answered with {other:?}"),
    }
}

fn postgres_answer_is_whole(answer: &[u8]) -> Result<bool> {
    match message::AnswerParser::to_request(message::Request::Execute).feed(answer, None)?.1 {
        message::Step::More => Ok(false),
        message::Step::Done(found) if found.rows == 1 => Ok(true),
        other => bail!("a point select was answered with {other:?}"),
    }
}

/// One request after the other on the only connection, until the time is up.
fn exchange_alone(alone: &RawConnection, answer_bytes: usize, interval: Duration) -> Result<u64> {
    let (descriptor, mut buffer) = (alone.descriptor(), vec![0; 16 * 1024]);
    let mut wanted = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let started = Instant::now();
    let mut queries = 0;
    while started.elapsed() < interval {
        send(descriptor, &alone.request)?;
        let mut received = 0;
        while received < answer_bytes {
            // SAFETY: the pointer is to one live pollfd.
            unsafe { libc::poll(&raw mut wanted, 1, -1) };
            received += receive(descriptor, &mut buffer, 0)?.unwrap_or(0);
        }
        queries += 1;
    }
    Ok(queries)
}

/// Keeps one request under way on every connection until the time is up; returns how many were answered.
fn exchange(epoll: &OwnedFd, raw: &mut [RawConnection], answer_bytes: usize, interval: Duration) -> Result<u64> {
    let mut buffer = vec![0; 32 * 1024];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
    let started = Instant::now();
    raw.iter().try_for_each(|connection| send(connection.descriptor(), &connection.request))?;
    let mut queries = 0;
    while started.elapsed() < interval {
        // SAFETY: pointer and length describe the live array `events`.
        let ready =
            unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, 1000) };
        ensure!(ready > 0, "the server fell silent");
        for event in &events[..ready as usize] {
            let connection = &mut raw[event.u64 as usize];
            let descriptor = connection.descriptor();
            connection.received += receive(descriptor, &mut buffer, libc::MSG_DONTWAIT)?.unwrap_or(0);
            if connection.received == answer_bytes {
                connection.received = 0;
                queries += 1;
                send(descriptor, &connection.request)?;
            }
        }
    }
    Ok(queries)
}

fn epoll_of(raw: &[RawConnection]) -> Result<OwnedFd> {
    // SAFETY: no pointers are involved; a valid descriptor is owned from here on.
    let epoll = match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
        -1 => return Err(io::Error::last_os_error().into()),
        // SAFETY: it has just been opened, and nothing else owns it.
        descriptor => unsafe { OwnedFd::from_raw_fd(descriptor) },
    };
    for (index, connection) in raw.iter().enumerate() {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: both descriptors are open and the event is live during the call.
        let added =
            unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, connection.descriptor(), &mut event) };
        ensure!(added == 0, "cannot watch a connection: {}", io::Error::last_os_error());
    }
    Ok(epoll)
}

fn send(descriptor: RawFd, request: &[u8]) -> Result<()> {
    // SAFETY: pointer and length describe the live slice `request`.
    let count = unsafe { libc::send(descriptor, request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL) };
    ensure!(count == request.len() as isize, "a request was not sent whole: {}", io::Error::last_os_error());
    Ok(())
}

/// How many bytes came; none when there are none yet.
fn receive(descriptor: RawFd, buffer: &mut [u8], flags: libc::c_int) -> Result<Option<usize>> {
    // SAFETY: pointer and length describe the live slice `buffer`.
    match unsafe { libc::recv(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), flags) } {
        0 => bail!("the server closed the connection"),
        count @ 1.. => Ok(Some(count as usize)),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error.into()),
        },
    }
}

/// CPU time of this thread so far.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is live; the clock of the calling thread always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
