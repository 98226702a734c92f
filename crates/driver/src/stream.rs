//! How much a way between two processes of this host carries: bytes streamed through it for a moment, one thread
//! at each end, in pieces as large as those that connections read.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::transport::INBOX_BYTES;

/// Bytes a second through a socket that has no network below it, as socket files have none.
pub fn stream_socket(interval: Duration) -> io::Result<f64> {
    let (sender, receiver) = UnixStream::pair()?;
    stream(sender, receiver, interval)
}

/// Bytes a second through TCP on the loopback interface.
pub fn stream_loopback(interval: Duration) -> io::Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    stream(sender, receiver, interval)
}

fn stream(mut sender: impl Write + Send + 'static, mut receiver: impl Read, interval: Duration) -> io::Result<f64> {
    let sending = std::thread::Builder::new().name("stream".to_owned()).spawn(move || {
        let piece = [0; INBOX_BYTES];
        while sender.write_all(&piece).is_ok() {}
    })?;
    let (mut piece, mut bytes, begun) = ([0; INBOX_BYTES], 0u64, Instant::now());
    let mut elapsed = Duration::ZERO;
    while elapsed < interval {
        bytes += receiver.read(&mut piece)? as u64;
        elapsed = begun.elapsed();
    }
    // There is no reader any more, which ends the other side.
    drop(receiver);
    let _ = sending.join();
    Ok(bytes as f64 / elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_carry_more_than_any_disk_and_end_by_themselves() {
        for carried in [stream_socket, stream_loopback] {
            let bytes_per_s = carried(Duration::from_millis(30)).unwrap();
            assert!(bytes_per_s > 1e6, "{bytes_per_s}");
        }
    }
}
