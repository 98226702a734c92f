//! The random functions of clause 2.1.6 and 4.3.2, over the project's own generator.

use load::Rng;

/// Uniform in `low..=high`.
pub fn rnd(rng: &mut Rng, low: i64, high: i64) -> i64 {
    low + rng.below((high - low + 1) as u64) as i64
}

/// `NURand(a, x, y)` with its constant (clause 2.1.6).
pub fn nurand(rng: &mut Rng, a: i64, constant: i64, x: i64, y: i64) -> i64 {
    let mixed = rnd(rng, 0, a) | rnd(rng, x, y);
    (mixed + constant) % (y - x + 1) + x
}

pub const ITEMS: i64 = 100_000;
pub const CUSTOMERS_PER_DISTRICT: i64 = 3_000;
pub const DISTRICTS: i64 = 10;
/// Last names that there can be.
pub const LAST_NAMES: i64 = 1_000;

/// The constants of NURand. The one for last names differs between load and run (clause 2.1.6.1): with the
/// same one, the names that are asked for most would also be the ones that most customers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    pub c_last_load: i64,
    pub c_last_run: i64,
    pub c_id: i64,
    pub item_id: i64,
}

impl Constants {
    pub fn of(data_seed: u64, input_seed: u64) -> Constants {
        let c_last_load = c_last_of_load(data_seed);
        let mut rng = Rng::stream(input_seed, u64::from_be_bytes(*b"constant"), 0);
        let c_last_run = loop {
            let candidate = rnd(&mut rng, 0, 255);
            if is_legal_delta((candidate - c_last_load).abs()) {
                break candidate;
            }
        };
        Constants { c_last_load, c_last_run, c_id: rnd(&mut rng, 0, 1023), item_id: rnd(&mut rng, 0, 8191) }
    }
}

/// What the population draws last names with.
pub fn c_last_of_load(data_seed: u64) -> i64 {
    rnd(&mut Rng::stream(data_seed, u64::from_be_bytes(*b"constant"), 1), 0, 255)
}

/// Clause 2.1.6.1.
pub fn is_legal_delta(delta: i64) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];
/// Three syllables of five letters.
pub const LAST_NAME_BYTES_MAX: usize = 15;

/// A last name in place (clause 4.3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastName {
    bytes: [u8; LAST_NAME_BYTES_MAX],
    length: usize,
}

impl LastName {
    /// The name of a number in 0..1000.
    pub fn of(number: i64) -> LastName {
        let mut name = LastName { bytes: [0; LAST_NAME_BYTES_MAX], length: 0 };
        for digit in [number / 100, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize];
            name.bytes[name.length..name.length + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len();
        }
        name
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_syllables() {
        assert_eq!(LastName::of(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(LastName::of(0).as_bytes(), b"BARBARBAR");
        assert_eq!(LastName::of(999).as_bytes(), b"EINGEINGEING");
    }

    #[test]
    fn constants_of_load_and_run_differ_as_the_clause_demands() {
        for seed in 0..2_000 {
            let constants = Constants::of(seed / 40, seed);
            assert!(is_legal_delta((constants.c_last_run - constants.c_last_load).abs()), "{constants:?}");
            assert_eq!(constants.c_last_load, c_last_of_load(seed / 40));
        }
    }

    /// The exact shape of NURand does not depend on its constant; the figures are the specification sheet's.
    #[test]
    fn nurand_has_the_shape_of_its_definition() {
        let check = |a: i64, x: i64, y: i64, hottest: f64, top_tenth: f64| {
            let mut rng = Rng::stream(3, a as u64, 0);
            let (draws, keys) = (1_000_000, (y - x + 1) as usize);
            let mut counts = vec![0u32; keys];
            (0..draws).for_each(|_| counts[(nurand(&mut rng, a, 77, x, y) - x) as usize] += 1);
            counts.sort_unstable_by(|one, other| other.cmp(one));
            let share = |keys: usize| f64::from(counts[..keys].iter().sum::<u32>()) / f64::from(draws);
            assert!((share(1) / hottest - 1.0).abs() < 0.08, "A={a}: hottest {}", share(1));
            // The keys that happened to be drawn most are a little more than the ones that are drawn most.
            assert!((share(keys / 10) / top_tenth - 1.0).abs() < 0.035, "A={a}: top tenth {}", share(keys / 10));
        };
        check(255, 0, 999, 0.02563, 0.542);
        check(1023, 1, 3000, 0.01922, 0.613);
        check(8191, 1, 100_000, 0.001946, 0.710);
    }
}
