//! The two halves of a connection to the other side, whatever carries it: pipes, or TLS over TCP.
//!
//! Sending never waits: a thread of its own writes, so that a peer that has stopped reading cannot hold up who
//! detects that it is lost.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::Connection;
use serde::Serialize;

use crate::frame;

/// A connection whose first message is still to come.
pub struct Channel {
    pub from: Box<dyn Read + Send>,
    pub to: Box<dyn Write + Send>,
    /// Who is there, for messages.
    pub peer: String,
    /// Bytes that only the two ends of this session have; none where who speaks is known otherwise.
    pub session: Option<[u8; 32]>,
}

/// The sending half; the last clone that is dropped closes the channel.
#[derive(Clone)]
pub struct Sender(mpsc::Sender<Vec<u8>>);

impl Sender {
    pub fn new(mut to: Box<dyn Write + Send>) -> Sender {
        let (sender, frames) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            for frame in frames {
                if to.write_all(&frame).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
        };
        // Without its thread nothing is sent, and the other side is soon missed.
        let _ = std::thread::Builder::new().name("send".to_owned()).spawn(write);
        Sender(sender)
    }

    /// A channel that is broken is noticed by who reads it.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        log_frame("sent", message);
        let _ = self.0.send(frame::encoded(message)?);
        Ok(())
    }
}

/// Writes every frame into the file that `DBDUEL_CLUSTER_LOG` names, passwords masked.
pub fn log_frame(direction: &str, message: &impl Serialize) {
    let Some(file) = std::env::var_os("DBDUEL_CLUSTER_LOG") else { return };
    let Ok(mut value) = serde_json::to_value(message) else { return };
    mask(&mut value);
    let line = format!("{} {direction} {value}\n", load::monotonic_ns());
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    // A log that cannot be written is no reason to end a measurement.
    let _ = opened.and_then(|mut log| log.write_all(line.as_bytes()));
}

fn mask(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(entries) => entries.iter_mut().for_each(|(key, value)| match key.as_str() {
            "password" | "proof" | "token" if !value.is_null() => *value = record::secrets::MASK.into(),
            _ => mask(value),
        }),
        serde_json::Value::Array(values) => values.iter_mut().for_each(mask),
        _ => {}
    }
}

/// A TLS session whose halves are used by two threads.
struct Session {
    tls: Mutex<Connection>,
    tcp: TcpStream,
}

impl Session {
    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, tls: &mut Connection) -> io::Result<()> {
        while tls.wants_write() {
            tls.write_tls(&mut &self.tcp)?;
        }
        Ok(())
    }
}

struct Receiving {
    session: Arc<Session>,
    /// Received, and not decrypted yet.
    raw: Vec<u8>,
}

struct Sending(Arc<Session>);

impl Read for Receiving {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.raw.is_empty() {
                match self.session.tls().reader().read(out) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
                let mut raw = [0; 16 << 10];
                let length = (&self.session.tcp).read(&mut raw)?;
                if length == 0 {
                    return Ok(0);
                }
                self.raw.extend_from_slice(&raw[..length]);
            }
            let mut tls = self.session.tls();
            match tls.reader().read(out) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            let taken = tls.read_tls(&mut &self.raw[..])?;
            self.raw.drain(..taken);
            tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            self.session.flush(&mut tls)?;
        }
    }
}

impl Write for Sending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.0.tls();
        let written = tls.writer().write(bytes)?;
        self.0.flush(&mut tls)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush(&mut self.0.tls())
    }
}

impl Drop for Sending {
    /// The other half would wait for ever.
    fn drop(&mut self) {
        let _ = self.0.tcp.shutdown(Shutdown::Both);
    }
}

/// Ends the handshake and splits the session.
pub fn over_tls(mut tls: Connection, mut tcp: TcpStream, peer: String) -> io::Result<Channel> {
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp)?;
    }
    while tls.wants_write() {
        tls.write_tls(&mut tcp)?;
    }
    let session = tls.export_keying_material([0; 32], b"EXPORTER-dbduel-agent", None).map_err(io::Error::other)?;
    tls.set_buffer_limit(None);
    tcp.set_nodelay(true)?;
    let shared = Arc::new(Session { tls: Mutex::new(tls), tcp });
    let from = Box::new(Receiving { session: Arc::clone(&shared), raw: Vec::new() });
    Ok(Channel { from, to: Box::new(Sending(shared)), peer, session: Some(session) })
}
