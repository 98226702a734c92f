//! Random strings of the population (clause 4.3.2), drawn into places that are there already.
//!
//! A load draws some 60 MB of text per warehouse, so one draw gives ten characters by a table, with
//! no division. 64 places hold 62 characters: two of them come twice as often as the others.

use super::random::rnd;
use load::Rng;

const ALPHANUMERIC: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ07";
const CHARACTERS_PER_DRAW: usize = 10;

/// A text of so many bytes at most, in place.
#[derive(Debug, Clone, Copy)]
pub struct Text<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Text<BYTES> {
    /// `a-string [least .. BYTES]`.
    pub fn alphanumeric(rng: &mut Rng, least: usize) -> Text<BYTES> {
        let length = rnd(rng, least as i64, BYTES as i64) as usize;
        let mut bytes = [0; BYTES];
        fill(rng, &mut bytes[..length]);
        Text { bytes, length }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Fills all of `bytes` with letters and digits.
pub fn fill(rng: &mut Rng, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(CHARACTERS_PER_DRAW) {
        let mut bits = rng.next_u64();
        for byte in chunk {
            *byte = ALPHANUMERIC[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// The data of an item or of a stock: in one of ten, `ORIGINAL` stands somewhere (clause 4.3.3.1).
pub fn data(rng: &mut Rng) -> Text<50> {
    const MARK: &[u8] = b"ORIGINAL";
    let mut text = Text::alphanumeric(rng, 26);
    if rnd(rng, 1, 10) == 1 {
        let start = rnd(rng, 0, (text.length - MARK.len()) as i64) as usize;
        text.bytes[start..start + MARK.len()].copy_from_slice(MARK);
    }
    text
}

/// Fills all of `bytes` with digits; up to 19 of them come from one draw, from its highest place down.
pub fn digits(rng: &mut Rng, bytes: &mut [u8]) {
    let mut fraction = rng.next_u64();
    for byte in bytes {
        let wide = u128::from(fraction) * 10;
        *byte = b'0' + (wide >> 64) as u8;
        fraction = wide as u64;
    }
}

/// The part of a row that is an address.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pub streets: [Text<20>; 2],
    pub city: Text<20>,
    pub state: [u8; 2],
    pub zip: [u8; 9],
}

impl Address {
    pub fn draw(rng: &mut Rng) -> Address {
        let streets = [Text::alphanumeric(rng, 10), Text::alphanumeric(rng, 10)];
        let city = Text::alphanumeric(rng, 10);
        let state = [(); 2].map(|()| b'A' + rng.below(26) as u8);
        let mut zip = *b"000011111";
        digits(rng, &mut zip[..4]);
        Address { streets, city, state, zip }
    }
}
