//! Random numbers for data and inputs: small, fast and the same on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
//! generators"). Its whole state is one number, so a stream of its own for each transaction costs
//! nothing, and the inputs of a client's n-th transaction depend on the seed, the client and n alone.

#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads every bit of a number over all of the result.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream that belongs to `(seed, a, b)`: a client and its transaction, a table and its row.
    pub fn stream(seed: u64, a: u64, b: u64) -> Rng {
        let with = |state: u64, part: u64| mix(state.wrapping_add(GOLDEN) ^ mix(part.wrapping_add(GOLDEN)));
        Rng { state: with(with(mix(seed), a), b) }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..bound` (Lemire's multiplication; its bias is below bound / 2^64).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Every order is as likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Uniform in [0, 1) with 52 bits, as sysbench draws.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 / (1u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_client_and_number_and_on_nothing_else() {
        let first = |seed, a, b| Rng::stream(seed, a, b).next_u64();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let others = [first(1, 3, 2), first(2, 2, 3), first(1, 2, 4), first(1, 1, 3)];
        assert!(others.iter().all(|other| *other != first(1, 2, 3)), "{others:?}");
    }

    #[test]
    fn draws_below_a_bound_are_uniform() {
        let mut rng = Rng::stream(7, 0, 0);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[rng.below(10) as usize] += 1);
        let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 27.9, "chi-square {chi_square} with 9 degrees of freedom, 0.1 % point 27.9");
    }
}
