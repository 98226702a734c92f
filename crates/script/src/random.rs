//! pgbench's distributions, hashes and permutation.
//!
//! Hashes and `permute` give pgbench's values bit for bit. Draws follow its distributions but not its sequence of
//! random numbers: they come from the stream of the transaction.

use load::Rng;

/// Least and greatest exponent of `random_zipfian`.
pub const ZIPFIAN: (f64, f64) = (1.001, 1000.0);
/// Least width of `random_gaussian`, in standard deviations.
pub const GAUSSIAN_MIN: f64 = 2.0;

pub fn uniform(rng: &mut Rng, low: i64, high: i64) -> i64 {
    let size = high.wrapping_sub(low) as u64 + 1;
    low.wrapping_add(rng.below(size) as i64)
}

/// Normal, cut at `width` standard deviations, by the transformation of Box and Muller.
pub fn gaussian(rng: &mut Rng, low: i64, high: i64, width: f64) -> i64 {
    let deviation = loop {
        let (one, two) = (1.0 - rng.unit(), 1.0 - rng.unit());
        let deviation = (-2.0 * one.ln()).sqrt() * (2.0 * std::f64::consts::PI * two).sin();
        if (-width..width).contains(&deviation) {
            break deviation;
        }
    };
    place(low, high, (deviation + width) / (width * 2.0))
}

pub fn exponential(rng: &mut Rng, low: i64, high: i64, parameter: f64) -> i64 {
    let cut = (-parameter).exp();
    let uniform = 1.0 - rng.unit();
    place(low, high, -(cut + (1.0 - cut) * uniform).ln() / parameter)
}

/// The value at this share, from 0 to below 1, of the range.
fn place(low: i64, high: i64, share: f64) -> i64 {
    let size = high.wrapping_sub(low) as f64 + 1.0;
    low.wrapping_add((size * share) as i64).min(high)
}

/// Devroye, "Non-Uniform Random Variate Generation", page 551: rejection, without a table.
///
/// A candidate `x` is kept where `v * x * (t - 1) / (b - 1) <= t / b`, with `t = (1 + 1/x)^p`. Two things make it cheaper
/// and change no probability: candidates are drawn within the range alone, and where `p <= 1` bounds of `t` decide nearly
/// always without a power.
pub fn zipfian(rng: &mut Rng, low: i64, high: i64, exponent: f64) -> i64 {
    let size = high.wrapping_sub(low) as f64 + 1.0;
    if size <= 1.0 {
        return low;
    }
    let p = exponent - 1.0;
    let b = p.exp2();
    // Below that a candidate is beyond the range.
    let u_min = (-p * (size + 1.0).ln()).exp();
    loop {
        let (u, v) = (u_min + (1.0 - u_min) * rng.unit(), rng.unit() * b / (b - 1.0));
        let x = (-u.ln() / p).exp().floor();
        if x > size {
            continue;
        }
        let value = low.wrapping_add(x as i64 - 1);
        if p <= 1.0 {
            // p - p (1 - p) / 2x <= x (t - 1) <= p, and 1 <= t <= 1 + p/x.
            if v * p <= 1.0 {
                return value;
            }
            if v * p * (1.0 - (1.0 - p) / (2.0 * x)) > 1.0 + p / x {
                continue;
            }
        }
        let t = (1.0 + 1.0 / x).powf(p);
        if v * x * (t - 1.0) <= t {
            return value;
        }
    }
}

pub fn fnv1a(value: u64, seed: u64) -> i64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    value.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325 ^ seed, step) as i64
}

pub fn murmur2(value: u64, seed: u64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const EIGHT_TIMES: u64 = 0x3525_3c9a_de8f_4ca8;
    let mut k = value.wrapping_mul(MULTIPLIER);
    k = (k ^ (k >> 47)).wrapping_mul(MULTIPLIER);
    let mut hash = ((seed ^ EIGHT_TIMES) ^ k).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> 47)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 47)) as i64
}

/// xoroshiro128**, seeded as PostgreSQL's `pg_prng` is: `permute` draws its rounds from it.
struct Xoroshiro {
    low: u64,
    high: u64,
}

impl Xoroshiro {
    fn seeded(mut seed: u64) -> Xoroshiro {
        let mut next = || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Xoroshiro { low: next(), high: next() }
    }

    fn next(&mut self) -> u64 {
        let (low, mixed) = (self.low, self.high ^ self.low);
        self.low = low.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.high = mixed.rotate_left(37);
        low.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform in `0..=most`.
    fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let shift = most.leading_zeros();
        loop {
            let drawn = self.next() >> shift;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

/// A permutation of `0..size` for each seed; `size` is at least 1.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let (mut state, size) = (Xoroshiro::seeded(seed as u64), size as u64);
    let mut v = value as u64 % size;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    let scramble = |v: u64, m: u64, r: u64| {
        let v = (v.wrapping_mul(m) ^ r) & mask;
        ((v << 1) & mask) | (v >> (bits - 1))
    };
    for _ in 0..6 {
        let (m, r) = (state.next() | 1, state.next() & mask);
        if v <= mask {
            v = scramble(v, m, r);
        }
        let (m, r) = (state.next() | 1, state.next() & mask);
        let t = size - 1 - v;
        if t <= mask {
            v = size - 1 - scramble(t, m, r);
        }
        let r = state.up_to(size - 1);
        v = ((u128::from(v) + u128::from(r)) % u128::from(size)) as u64;
    }
    v as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_permutations_are_those_of_pgbench() {
        assert_eq!(murmur2(42, 7), 1_340_367_696_533_541_376);
        assert_eq!(fnv1a(42, 7), 2_765_047_632_110_736_392);
        assert_eq!(murmur2(2, 0), -4_083_905_729_319_787_502);
        assert_eq!((permute(0, 10, 5432), permute(9, 10, 5432)), (6, 2));
        assert_eq!(permute(-1, 10, 5432), 7);
        assert_eq!(permute(5, 1_000_000, 3), 68_733);
        let mut seen: Vec<i64> = (0..1000).map(|value| permute(value, 1000, 1)).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1000));
    }

    #[test]
    fn ranges_may_reach_over_all_numbers() {
        let mut rng = Rng::stream(1, 2, 3);
        for _ in 0..100 {
            assert!((-5..=-3).contains(&uniform(&mut rng, -5, -3)));
            assert!((i64::MIN..=-2).contains(&uniform(&mut rng, i64::MIN, -2)));
            assert!((1..=3).contains(&exponential(&mut rng, 1, 3, 0.1)));
        }
    }
}
