//! MySQL's compressed protocol: its packets in frames of zlib, between the clear bytes and the socket (or its
//! encryption).
//!
//! ```text
//! frame_length:3 sequence:1 clear_length:3 frame
//! ```
//!
//! A clear length of 0 means that the frame holds the bytes as they are. What must stay true: a length in a frame
//! is trusted no further than the bytes that came.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

const HEADER_BYTES: usize = 7;
/// Fewer bytes are not worth a deflation; the servers do the same.
const WORTH_BYTES: usize = 50;
/// The most clear bytes that we put into a frame; the format has room for a byte less than 16 MiB.
const CHUNK_BYTES: usize = 1 << 20;
/// One read from the socket.
const READ_BYTES: usize = 16 << 10;
/// Buffers that grew beyond this for one large answer are given back behind it.
const KEPT_BYTES: usize = 64 << 10;

pub(crate) struct Compressor {
    deflate: Compress,
    inflate: Decompress,
    /// Of the next frame to send; a command begins with 0, and both sides count on.
    sequence: u8,
    /// Frames to send.
    wire: Vec<u8>,
    /// What came and is not a whole frame yet.
    arrived: Vec<u8>,
    /// What was unpacked, and how much of it was handed out.
    clear: Vec<u8>,
    handed_out: usize,
}

impl Compressor {
    pub(crate) fn new() -> Compressor {
        Compressor {
            deflate: Compress::new(Compression::default(), true),
            inflate: Decompress::new(true),
            sequence: 0,
            wire: Vec::new(),
            arrived: Vec::new(),
            clear: Vec::new(),
            handed_out: 0,
        }
    }

    /// The frames of whole packets, until the next call.
    pub(crate) fn pack(&mut self, packets: &[u8]) -> io::Result<&[u8]> {
        self.wire.clear();
        // The first packet of a command has number 0.
        if packets.get(3) == Some(&0) {
            self.sequence = 0;
        }
        for chunk in packets.chunks(CHUNK_BYTES) {
            self.put_frame(chunk)?;
        }
        Ok(&self.wire)
    }

    fn put_frame(&mut self, chunk: &[u8]) -> io::Result<()> {
        let at = self.wire.len();
        self.wire.extend_from_slice(&[0; HEADER_BYTES]);
        let start = self.wire.len();
        let mut clear_length = chunk.len();
        if chunk.len() < WORTH_BYTES || !self.deflated(chunk)? {
            self.wire.truncate(start);
            self.wire.extend_from_slice(chunk);
            clear_length = 0;
        }
        let frame_length = self.wire.len() - start;
        self.wire[at..at + 3].copy_from_slice(&three_bytes(frame_length));
        self.wire[at + 3] = self.sequence;
        self.wire[at + 4..at + 7].copy_from_slice(&three_bytes(clear_length));
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    /// Puts the deflated chunk behind the wire's bytes; `false` when that makes it no shorter.
    fn deflated(&mut self, chunk: &[u8]) -> io::Result<bool> {
        self.deflate.reset();
        self.wire.reserve(chunk.len());
        let end = self.wire.len() + chunk.len();
        let status = self.deflate.compress_vec(chunk, &mut self.wire, FlushCompress::Finish)?;
        Ok(status == Status::StreamEnd && self.wire.len() < end)
    }

    /// Clear bytes for `room`, which has some; `read` reads from the socket, and 0 is the end.
    pub(crate) fn receive(
        &mut self,
        room: &mut [u8],
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        while self.handed_out == self.clear.len() {
            if self.unpack()? {
                continue;
            }
            let start = self.arrived.len();
            self.arrived.resize(start + READ_BYTES, 0);
            let count = read(&mut self.arrived[start..]);
            self.arrived.truncate(start + count.as_ref().map_or(0, |count| *count));
            if count? == 0 {
                return Ok(0);
            }
        }
        let count = room.len().min(self.clear.len() - self.handed_out);
        room[..count].copy_from_slice(&self.clear[self.handed_out..self.handed_out + count]);
        self.handed_out += count;
        Ok(count)
    }

    /// Unpacks the next frame, if all of it is here, in place of what was handed out.
    fn unpack(&mut self) -> io::Result<bool> {
        let Some((header, rest)) = self.arrived.split_at_checked(HEADER_BYTES) else { return Ok(false) };
        let (frame_length, clear_length) = (length(&header[..3]), length(&header[4..]));
        if header[3] != self.sequence {
            return Err(invalid(format!("frame number {} where number {} was due", header[3], self.sequence)));
        }
        let Some(frame) = rest.get(..frame_length) else { return Ok(false) };
        self.sequence = header[3].wrapping_add(1);
        self.clear.clear();
        self.clear.shrink_to(KEPT_BYTES);
        self.handed_out = 0;
        if clear_length == 0 {
            self.clear.extend_from_slice(frame);
        } else {
            self.inflate.reset(true);
            self.clear.reserve(clear_length);
            self.inflate
                .decompress_vec(frame, &mut self.clear, FlushDecompress::Finish)
                .map_err(|e| invalid(e.to_string()))?;
            if self.clear.len() != clear_length {
                return Err(invalid("a compressed packet is not as long as it says".to_owned()));
            }
        }
        self.arrived.drain(..HEADER_BYTES + frame_length);
        self.arrived.shrink_to(KEPT_BYTES);
        Ok(true)
    }
}

/// What the protocol does not allow, other than an error of the socket.
fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn length(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16
}

fn three_bytes(length: usize) -> [u8; 3] {
    let [first, second, third, ..] = (length as u32).to_le_bytes();
    [first, second, third]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        [&three_bytes(payload.len())[..], &[sequence], payload].concat()
    }

    /// Sends `bytes` to another compressor in pieces of `piece` bytes, and returns what comes out.
    fn carried(bytes: &[u8], piece: usize) -> Vec<u8> {
        let wire = Compressor::new().pack(bytes).unwrap().to_vec();
        let (mut receiver, mut pieces) = (Compressor::new(), wire.chunks(piece));
        let mut room = [0; 100];
        let mut out = Vec::new();
        while out.len() < bytes.len() {
            let count = receiver.receive(&mut room, |into| {
                let piece = pieces.next().ok_or(io::ErrorKind::WouldBlock)?;
                into[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            });
            out.extend_from_slice(&room[..count.unwrap()]);
        }
        out
    }

    #[test]
    fn what_is_packed_comes_out_again_however_it_arrives() {
        let noise: Vec<u8> = (0..3_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for payload in [&b"COMMIT"[..], &[b'a'; 4_000], &noise, &vec![b'x'; CHUNK_BYTES + 5]] {
            let bytes = packet(0, payload);
            for piece in [1, 7, 8, 4_096] {
                assert!(carried(&bytes, piece) == bytes, "{} bytes in pieces of {piece}", bytes.len());
            }
        }
    }

    #[test]
    fn frames_are_numbered_from_each_command_on_and_carry_the_length_they_had() {
        let mut compressor = Compressor::new();
        let short = compressor.pack(&packet(0, b"COMMIT")).unwrap().to_vec();
        assert_eq!(short[..HEADER_BYTES], [10, 0, 0, 0, 0, 0, 0]);
        let long = compressor.pack(&packet(1, &[b'a'; 4_000])).unwrap().to_vec();
        assert_eq!((long[3], length(&long[4..7])), (1, 4_004), "it goes on where the command before it ended");
        assert!(long.len() < 100);
        assert_eq!(compressor.pack(&packet(0, b"BEGIN")).unwrap()[3], 0);
    }

    #[test]
    fn a_frame_with_a_wrong_header_is_an_error_and_half_a_frame_is_not_one_yet() {
        let receive = |wire: &[u8]| {
            let mut wire = Some(wire);
            Compressor::new().receive(&mut [0; 64], |into| {
                let wire = wire.take().ok_or(io::ErrorKind::WouldBlock)?;
                into[..wire.len()].copy_from_slice(wire);
                Ok(wire.len())
            })
        };
        let mut whole = Compressor::new().pack(&packet(0, &[b'a'; 400])).unwrap().to_vec();
        assert_eq!(receive(&whole).unwrap(), 64);
        assert_eq!(receive(&whole[..whole.len() - 1]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        whole[4] ^= 1;
        assert!(receive(&whole).unwrap_err().to_string().contains("as long as it says"));
        whole[HEADER_BYTES] ^= 0xff;
        assert!(receive(&whole).is_err());
        assert_eq!(Compressor::new().receive(&mut [0; 8], |_| Ok(0)).unwrap(), 0, "the end");
    }
}
