//! A loopback proxy that makes every round trip longer by a time of our choice.
//!
//! One thread per connection passes bytes on, both ways. An answer is held back for a short delay by
//! spinning, because a sleep of a few microseconds ends when the kernel likes. The proxy keeps time
//! itself: of each connection it counts how long it took without the delays and how long the delays
//! were, so how much slower it made a closed loop follows by construction. It parses no protocol: a
//! round trip begins with bytes from the client and ends with the first bytes of the answer.

#![expect(unsafe_code, reason = "waits for two sockets")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A client that was just connected prepares its statements and waits for the others; what it does
/// until this round trip is no load yet. Sessions of an administrator never come so far.
const FIRST_COUNTED: u64 = 100;
/// A delay above this is slept through, however late the kernel wakes us: clients that spin would take
/// the CPU from each other and from the server. What it came to is counted all the same.
const SPIN_MAX: Duration = Duration::from_micros(100);

/// What one connection left behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    round_trips: u64,
    /// From the end of a round trip to the first byte of the next answer, all of them together.
    undelayed_ns: u64,
    delayed_ns: u64,
}

impl Passed {
    /// How many times as fast the closed loop was as it would have been without the delays: R/(R + d)
    /// (method, section 8, V4).
    pub fn log_ratio(&self) -> Option<f64> {
        let (without, with) = (self.undelayed_ns, self.undelayed_ns + self.delayed_ns);
        (self.round_trips > FIRST_COUNTED && without > 0).then(|| (without as f64 / with as f64).ln())
    }
}

pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    upstream: SocketAddr,
    delay_ns: AtomicU64,
    ended: AtomicBool,
    passed: Mutex<Vec<Passed>>,
}

impl Proxy {
    /// In front of what listens on loopback at `port`.
    pub fn start(port: u16) -> Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
        let shared = Arc::new(Shared {
            upstream: (Ipv4Addr::LOCALHOST, port).into(),
            delay_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            passed: Mutex::default(),
        });
        let address = listener.local_addr()?;
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.listen(&listener)
        });
        Ok(Proxy { address, shared, listening: Some(listening) })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From the next round trip on.
    pub fn set_delay(&self, delay: Duration) {
        self.shared.delay_ns.store(delay.as_nanos() as u64, Ordering::Relaxed);
    }

    /// What the connections that ended since the last call left.
    pub fn take_passed(&self) -> Vec<Passed> {
        std::mem::take(&mut *self.shared.passed.lock().expect("nothing panics with the list in hand"))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the listener up; connections end when their client or their server does.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Shared>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            let shared = Arc::clone(self);
            std::thread::spawn(move || shared.serve(client));
        }
    }

    /// One connection to its end, however it ends: both sides get the other's.
    fn serve(&self, client: TcpStream) {
        let mut passing = Passing { passed: Passed::default(), is_waiting: false, answered: Instant::now() };
        if let Ok(server) = TcpStream::connect(self.upstream) {
            let _ = passing.run(client, server, &self.delay_ns);
        }
        self.passed.lock().expect("nothing panics with the list in hand").push(passing.passed);
    }
}

/// One connection.
struct Passing {
    passed: Passed,
    /// The client has asked and nothing has been answered.
    is_waiting: bool,
    /// When the last answer left for the client.
    answered: Instant,
}

impl Passing {
    fn run(&mut self, mut client: TcpStream, mut server: TcpStream, delay_ns: &AtomicU64) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut buffer = vec![0; 64 * 1024];
        let wanted = |socket: &TcpStream| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut sockets = [wanted(&client), wanted(&server)];
        loop {
            // SAFETY: the pointer is to two live descriptions of open sockets.
            unsafe { libc::poll(sockets.as_mut_ptr(), 2, -1) };
            if sockets[0].revents != 0 {
                let count = client.read(&mut buffer)?;
                if count == 0 {
                    return Ok(());
                }
                self.is_waiting = true;
                server.write_all(&buffer[..count])?;
            }
            if sockets[1].revents != 0 {
                let count = server.read(&mut buffer)?;
                if count == 0 {
                    return Ok(());
                }
                if std::mem::replace(&mut self.is_waiting, false) {
                    self.hold_back(Duration::from_nanos(delay_ns.load(Ordering::Relaxed)));
                }
                client.write_all(&buffer[..count])?;
            }
        }
    }

    /// The end of a round trip: its answer is here, and goes out when this returns.
    fn hold_back(&mut self, delay: Duration) {
        let arrived = Instant::now();
        if delay > SPIN_MAX {
            std::thread::sleep(delay);
        }
        while arrived.elapsed() < delay {
            std::hint::spin_loop();
        }
        let leaves = Instant::now();
        self.passed.round_trips += 1;
        if self.passed.round_trips > FIRST_COUNTED {
            self.passed.undelayed_ns += (arrived - self.answered).as_nanos() as u64;
            self.passed.delayed_ns += (leaves - arrived).as_nanos() as u64;
        }
        self.answered = leaves;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back every byte, and a client that asks it `round_trips` times through a proxy.
    fn echoed(round_trips: u64, delay: Duration) -> (Duration, Passed) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().port()).unwrap();
        proxy.set_delay(delay);
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut byte = [0];
            while socket.read(&mut byte).unwrap() == 1 {
                socket.write_all(&byte).unwrap();
            }
        });
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap();
        client.set_nodelay(true).unwrap();
        let started = Instant::now();
        for number in 0..round_trips {
            let (sent, mut byte) = ([number as u8], [0]);
            client.write_all(&sent).unwrap();
            client.read_exact(&mut byte).unwrap();
            assert_eq!(byte, sent);
        }
        let took = started.elapsed();
        drop(client);
        server.join().unwrap();
        loop {
            if let [passed] = proxy.take_passed()[..] {
                return (took, passed);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn every_round_trip_is_delayed_and_the_delays_are_counted() {
        let delay = Duration::from_micros(500);
        let (took, passed) = echoed(FIRST_COUNTED + 50, delay);
        assert!(took >= delay * (FIRST_COUNTED as u32 + 50), "{took:?}");
        assert_eq!(passed.round_trips, FIRST_COUNTED + 50);
        assert!(passed.delayed_ns >= 50 * delay.as_nanos() as u64, "{passed:?}");
        assert!(passed.undelayed_ns + passed.delayed_ns < took.as_nanos() as u64, "{passed:?} in {took:?}");
        assert!(passed.log_ratio().is_some_and(|ratio| ratio < 0.0));
    }

    #[test]
    fn a_session_of_few_round_trips_is_no_load() {
        let (_, passed) = echoed(5, Duration::ZERO);
        assert_eq!((passed.round_trips, passed.log_ratio()), (5, None));
    }

    #[test]
    fn a_delay_of_three_hundredths_makes_a_loop_so_much_slower() {
        let passed = Passed { round_trips: 1000, undelayed_ns: 100_000, delayed_ns: 3000 };
        assert!((passed.log_ratio().unwrap() - (1.0_f64 / 1.03).ln()).abs() < 1e-12);
    }
}
