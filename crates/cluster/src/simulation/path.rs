//! A network path that takes its time: what is sent comes out later, in its order.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::Result;
use load::Rng;

/// How long what is sent is under way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Path {
    /// From a worker to the coordinator.
    pub there: Duration,
    pub back: Duration,
    /// At most so much more, drawn anew for whatever is sent at once.
    pub jitter: Duration,
}

impl Path {
    /// An address whose connections lead to another one along this path, as long as this process lives.
    pub fn to(self, address: &str) -> Result<String> {
        let door = TcpListener::bind("127.0.0.1:0")?;
        let (own, address) = (door.local_addr()?.to_string(), address.to_owned());
        let lead = move || {
            for (number, from) in door.incoming().flatten().enumerate() {
                // Who asked notices that its connection ends.
                let _ = self.lead(from, &address, number as u64);
            }
        };
        spawn(lead);
        Ok(own)
    }

    fn lead(self, worker: TcpStream, address: &str, number: u64) -> Result<()> {
        let coordinator = TcpStream::connect(address)?;
        let both = [(worker.try_clone()?, coordinator.try_clone()?, self.there), (coordinator, worker, self.back)];
        for (direction, (from, to, delay)) in both.into_iter().enumerate() {
            to.set_nodelay(true)?;
            carry(from, to, delay, self.jitter, Rng::stream(number, direction as u64, 0));
        }
        Ok(())
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration, jitter: Duration, mut rng: Rng) {
    let (enter, leave) = mpsc::channel::<(Instant, Vec<u8>)>();
    spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            let due = Instant::now() + delay + jitter.mul_f64(rng.unit());
            if enter.send((due, bytes[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    spawn(move || {
        for (due, bytes) in leave {
            sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
