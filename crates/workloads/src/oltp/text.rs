//! The strings of columns `c` and `pad`, built in place.

use load::Rng;

/// Ten groups of eleven digits and nine hyphens.
pub const C_BYTES: usize = 119;
/// Five groups of eleven digits and four hyphens.
pub const PAD_BYTES: usize = 59;

/// What sysbench 0.4 loads into `pad`, and what it inserts there.
pub const CLASSIC_LOAD_PAD: &[u8; 50] = b"qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt";
pub const CLASSIC_INSERT_PAD: &[u8; 50] = b"aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

/// Fills `out` with groups of eleven random digits joined by hyphens.
pub fn digit_groups(rng: &mut Rng, out: &mut [u8]) {
    for group in out.chunks_mut(GROUP_DIGITS + 1) {
        let mut rest = rng.below(GROUP_VALUES);
        for digit in group[..GROUP_DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if let Some(hyphen) = group.get_mut(GROUP_DIGITS) {
            *hyphen = b'-';
        }
    }
}

/// sysbench 0.4's strings: numbers below 2^30 - 1 joined by hyphens, not padded, cut at the end of
/// `out`. An update has ten of them, `pad` of an insert five. Returns the length.
pub fn classic_numbers(rng: &mut Rng, numbers: usize, out: &mut [u8]) -> usize {
    let mut length = 0;
    for number in 0..numbers {
        if number > 0 {
            length = push(out, length, b'-');
        }
        let value = rng.below((1 << 30) - 1);
        let digits = value.checked_ilog10().unwrap_or(0);
        for power in (0..=digits).rev() {
            length = push(out, length, b'0' + (value / 10u64.pow(power) % 10) as u8);
        }
    }
    length
}

fn push(out: &mut [u8], length: usize, byte: u8) -> usize {
    let Some(slot) = out.get_mut(length) else { return length };
    *slot = byte;
    length + 1
}
