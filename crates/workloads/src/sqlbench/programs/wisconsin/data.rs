//! The rows of the Wisconsin tables: everything follows from two permutations of a fixed seed.

use load::Rng;

/// Any permutation will do, since queries choose by ranges of `unique1` and `unique2`; it must only be the
/// same for every server.
const SEED: u64 = 0x0077_6973_636f_6e73;

/// How a table's columns follow from `unique1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u64,
    /// The column `hundred` has as many values, `thousand` ten times as many.
    hundred: u64,
    twothousand: u64,
    fivethous: u64,
    tenthous: u64,
    odd: u64,
}

pub const ONE_THOUSAND: Size =
    Size { rows: 1000, hundred: 10, twothousand: 200, fivethous: 500, tenthous: 1000, odd: 10 };
pub const TEN_THOUSAND: Size =
    Size { rows: 10_000, hundred: 100, twothousand: 2000, fivethous: 5000, tenthous: 10_000, odd: 100 };

impl Size {
    /// All rows as they stand behind VALUES, in the order of `unique2`.
    pub fn values(self) -> Vec<String> {
        let unique1 = permutation(self.rows);
        unique1.iter().zip(0..).map(|(unique1, unique2)| self.row(*unique1, unique2)).collect()
    }

    fn row(self, u: u64, unique2: u64) -> String {
        let odd = 2 * (u % self.odd);
        let small = [2, 4, 10, 20, self.hundred, 10 * self.hundred, self.twothousand, self.fivethous, self.tenthous];
        let small: Vec<String> = small.iter().map(|modulus| (u % modulus).to_string()).collect();
        let text = ["AAAAxx", "HHHHxx", "OOOOxx", "VVVVxx"][(unique2 % 4) as usize];
        let (first, second) = (letters_of_two(u), digits_in_letters(unique2));
        format!("({u},{unique2},{},{odd},{},'{first}','{second}','{text}')", small.join(","), odd + 1)
    }
}

/// The numbers below `count` in an order of chance.
fn permutation(count: u64) -> Vec<u64> {
    let mut rng = Rng::stream(SEED, count, 0);
    let mut numbers: Vec<u64> = (0..count).collect();
    rng.shuffle(&mut numbers);
    numbers
}

fn letter(digit: u64) -> char {
    char::from(b'A' + (digit % 26) as u8)
}

fn letters_of_two(u: u64) -> String {
    format!("{}{}AAAA", letter(u), letter(u / 26))
}

/// Six digits to base 26, the lowest first.
fn digits_in_letters(number: u64) -> String {
    (0..6).map(|place| letter(number / 26u64.pow(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in [1000, 10_000] {
            let mut numbers = permutation(count);
            assert_ne!(numbers[..10], (0..10).collect::<Vec<_>>());
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_follow_from_the_two_unique_ones() {
        let expected = "(9876,30,0,0,6,16,76,876,1876,4876,9876,152,153,'WPAAAA','EBAAAA','OOOOxx')";
        assert_eq!(TEN_THOUSAND.row(9876, 30), expected);
        let expected = "(876,703,0,0,6,16,6,76,76,376,876,12,13,'SHAAAA','BBBAAA','VVVVxx')";
        assert_eq!(ONE_THOUSAND.row(876, 703), expected);
    }

    #[test]
    fn rows_come_in_the_order_of_unique2() {
        let rows = ONE_THOUSAND.values();
        assert_eq!(rows.len(), 1000);
        let second = |row: &String| row.split(',').nth(1).and_then(|field| field.parse().ok());
        assert!(rows.iter().zip(0u64..).all(|(row, number)| second(row) == Some(number)));
    }
}
