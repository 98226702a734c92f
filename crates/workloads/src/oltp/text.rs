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

/// "00" to "99". Two digits a division: these strings are a quarter of what an update costs the client.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Fills `out` with groups of eleven random digits joined by hyphens.
pub fn digit_groups(rng: &mut Rng, out: &mut [u8]) {
    for group in out.chunks_mut(GROUP_DIGITS + 1) {
        let (digits, hyphen) = group.split_at_mut(GROUP_DIGITS);
        write_digits(rng.below(GROUP_VALUES), digits);
        hyphen.fill(b'-');
    }
}

/// Eight low digits and three high ones: each part fits 32 bits, where a division is cheaper.
fn write_digits(value: u64, digits: &mut [u8]) {
    let (mut high, mut low) = ((value / 100_000_000) as u32, (value % 100_000_000) as u32);
    for pair in digits[3..].rchunks_exact_mut(2) {
        pair.copy_from_slice(&PAIRS[(low % 100) as usize]);
        low /= 100;
    }
    for digit in digits[..3].iter_mut().rev() {
        *digit = b'0' + (high % 10) as u8;
        high /= 10;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_drawn_numbers_with_leading_zeros() {
        for seed in 0..2_000 {
            let mut out = [0; PAD_BYTES];
            digit_groups(&mut Rng::stream(seed, 0, 0), &mut out);
            let mut rng = Rng::stream(seed, 0, 0);
            let numbers: Vec<String> = (0..5).map(|_| format!("{:011}", rng.below(GROUP_VALUES))).collect();
            assert_eq!(String::from_utf8_lossy(&out), numbers.join("-"));
        }
        let mut out = [0; 11];
        for (value, text) in [(0, b"00000000000"), (GROUP_VALUES - 1, b"99999999999"), (12_345_678_901, b"12345678901")]
        {
            write_digits(value, &mut out);
            assert_eq!(&out, text);
        }
    }
}
