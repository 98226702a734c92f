//! The suite's pseudo-random numbers: one value that every step carries on from.
//!
//! It falls into one orbit, so keys drawn by it are far from even; it is kept because the counts of rows
//! that the suite is known by follow from it.

use std::ops::Range;

/// Where the numbers of one program stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence(u64);

impl Sequence {
    pub fn starting_at(value: u64) -> Sequence {
        Sequence(value)
    }

    /// The next number, for turn `turn` of a loop of `loops`.
    pub fn step(&mut self, turn: u64, loops: u64) -> u64 {
        self.0 ^= ((self.0 + 63 + turn) * 3) % loops;
        self.0
    }

    /// The numbers of a whole loop, drawn before its time begins.
    pub fn draw(&mut self, turns: Range<u64>, loops: u64) -> Vec<u64> {
        turns.map(|turn| self.step(turn, loops)).collect()
    }
}

/// The numbers from `loops` to twice as many, shuffled, and a zero behind them; and where the sequence
/// then stands.
pub fn shuffled(loops: u64) -> (Vec<u64>, Sequence) {
    let mut numbers: Vec<u64> = (loops..2 * loops).chain([0]).collect();
    let mut sequence = Sequence::starting_at(1);
    for turn in 0..loops {
        let other = sequence.step(turn, loops) % loops;
        numbers.swap(turn as usize, other as usize);
    }
    (numbers, sequence)
}

#[cfg(test)]
mod tests {
    use md5::{Digest, Md5};

    use super::*;

    fn check(loops: usize, first: [u64; 5], last: [u64; 3], after: u64, md5: &str) {
        let (numbers, sequence) = shuffled(loops as u64);
        assert_eq!(numbers.len(), loops + 1);
        assert_eq!(numbers[..5], first);
        assert_eq!(numbers[loops - 3..loops], last);
        assert_eq!(numbers[loops], 0);
        assert_eq!(sequence, Sequence::starting_at(after));
        let joined = numbers[..loops].iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let sum: String = Md5::digest(joined).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, md5);
    }

    #[test]
    fn shuffled_numbers_are_those_of_the_suite() {
        check(100, [193, 119, 123, 118, 166], [175, 109, 149], 120, "cda0cd4b5f54dcf43869e4edd7ce7569");
        check(1000, [1007, 1962, 1217, 1035, 1435], [1133, 1143, 1783], 56, "378a0b7a1a1b4b364bcb46310dbb99a8");
        let first = [104_566, 126_596, 108_393, 170_890, 161_058];
        check(100_000, first, [115_350, 148_504, 167_151], 55_112, "9aba7e9353b65f44ceca5f5e98752739");
    }

    #[test]
    fn a_drawn_loop_moves_the_sequence_on_as_its_steps_do() {
        let (_, mut drawn) = shuffled(1000);
        let mut stepped = drawn;
        let numbers = drawn.draw(1..4, 1000);
        assert_eq!(numbers, [stepped.step(1, 1000), stepped.step(2, 1000), stepped.step(3, 1000)]);
        assert_eq!(drawn, stepped);
    }
}
