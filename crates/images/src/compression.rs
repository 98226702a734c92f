//! What a file was compressed with is read from its first bytes, whatever its name or its media type.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use xz2::bufread::XzDecoder;
use xz2::stream::{CONCATENATED, Stream};

/// A hostile file may ask for more.
const XZ_MEMORY_MAX: u64 = 128 << 20;
/// `zstd --long` has 128 MiB.
const ZSTD_WINDOW_MAX: u64 = 128 << 20;

/// The bytes as they were before compression with gzip, xz or zstd; other bytes as they are.
pub fn decompressed<'a>(mut reader: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let mut start = Vec::new();
    reader.by_ref().take(6).read_to_end(&mut start).context("cannot read the first bytes")?;
    let magic = start.clone();
    let reader: BufReader<Chain<Cursor<Vec<u8>>, _>> = BufReader::new(Cursor::new(start).chain(reader));
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(reader)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            Box::new(XzDecoder::new_stream(reader, Stream::new_stream_decoder(XZ_MEMORY_MAX, CONCATENATED)?))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(ZstdFrames::new(reader)),
        _ => Box::new(reader),
    })
}

/// One frame behind the other, as parallel compressors write them.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW_MAX);
        ZstdFrames { source, decoder, is_in_frame: false }
    }

    /// Begins the next frame that holds data; false at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        loop {
            if !self.is_in_frame {
                self.is_in_frame = self.next_frame()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.source, UptoBlocks(1)).map_err(io::Error::other)?;
            }
            let length = self.decoder.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            self.is_in_frame = !self.decoder.is_finished();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn check(compressed: &[u8], expected: &[u8]) {
        let mut found = Vec::new();
        decompressed(compressed).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_are_read_by_their_first_bytes() {
        let text = b"one two one two one two".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        check(&gzip, &text);
        check(&[gzip.clone(), gzip].concat(), &text.repeat(2));
        let mut xz = xz2::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&text).unwrap();
        check(&xz.finish().unwrap(), &text);
        check(&text, &text);
        check(b"", b"");
    }

    #[test]
    fn zstd_may_have_several_frames_and_skipped_ones() {
        let frame = |text: &[u8]| ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let text = b"some text".repeat(20_000);
        check(&frame(&text), &text);
        check(&[frame(b"one "), skipped.clone(), frame(&text), skipped].concat(), &[b"one ", &text[..]].concat());
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let text = b"some text, and more of it".repeat(2000);
        let frame = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        let cut = &frame[..frame.len() / 2];
        assert!(decompressed(cut).unwrap().read_to_end(&mut Vec::new()).is_err());
    }
}
