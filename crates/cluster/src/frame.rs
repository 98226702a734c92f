//! Frames of the protocol: four bytes of length, little endian, and JSON.
//!
//! What must stay true: nothing is allocated for a length that the caller does not allow.

use std::io::{self, ErrorKind, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{ToAgent, ToCoordinator};

/// More than the tally of any trial.
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub enum Broken {
    /// The other side is gone.
    Closed,
    /// What came is no message of the protocol.
    NoMessage(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Closed => f.write_str("its channel was closed"),
            Broken::NoMessage(why) => write!(f, "its channel brought what is no message: {why}"),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        match error.kind() {
            ErrorKind::InvalidData => Broken::NoMessage(error.to_string()),
            _ => Broken::Closed,
        }
    }
}

/// A message with its length before it.
pub fn encoded(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > BYTES_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes is longer than {BYTES_MAX}")));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

#[cfg(test)]
pub fn write(to: &mut impl io::Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encoded(message)?)?;
    to.flush()
}

/// The next message, which may have so many bytes.
pub fn read<M: DeserializeOwned>(from: &mut impl Read, bytes_max: usize) -> Result<M, Broken> {
    decoded(&read_bytes(from, bytes_max)?)
}

/// The next message as it came, without its length.
pub fn read_bytes(from: &mut impl Read, bytes_max: usize) -> Result<Vec<u8>, Broken> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > bytes_max {
        return Err(Broken::NoMessage(format!("{length} bytes announced, at most {bytes_max} allowed")));
    }
    let mut frame = Vec::new();
    from.take(length as u64).read_to_end(&mut frame)?;
    if frame.len() < length {
        return Err(Broken::Closed);
    }
    Ok(frame)
}

pub fn decoded<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, Broken> {
    serde_json::from_slice(bytes).map_err(|error| Broken::NoMessage(error.to_string()))
}

/// Whether these bytes are a frame of either side; for the fuzz target.
pub fn is_message(bytes: &[u8]) -> bool {
    let (mut ours, mut theirs) = (bytes, bytes);
    read::<ToAgent>(&mut ours, BYTES_MAX).is_ok() || read::<ToCoordinator>(&mut theirs, BYTES_MAX).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_is_refused_when_cut_off_or_too_long() {
        let frame = encoded(&ToAgent::Go { start_ns: 17 }).unwrap();
        let read = |mut bytes: &[u8]| read::<ToAgent>(&mut bytes, 4096);
        assert!(matches!(read(&frame), Ok(ToAgent::Go { start_ns: 17 })));
        for cut in 0..frame.len() {
            assert!(matches!(read(&frame[..cut]), Err(Broken::Closed)), "cut off at {cut}");
        }
        assert!(matches!(read(b"\xff\xff\xff\xff{}"), Err(Broken::NoMessage(_))));
        assert!(matches!(read(b"\x0f\0\0\0{\"type\":\"none\"}"), Err(Broken::NoMessage(_))), "an unknown message");
        let with_more = br#"{"type":"go","start_ns":1,"colour":"red"}"#;
        let framed = [&(with_more.len() as u32).to_le_bytes()[..], with_more].concat();
        assert!(read(&framed).is_ok(), "unknown fields are ignored");
    }
}
