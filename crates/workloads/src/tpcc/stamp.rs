//! The time of day as the transactions write it, made by the client so that every engine does the same work.
//!
//! It is the time of the host in UTC, and stays the same for a second, so most calls only compare.

use std::time::{SystemTime, UNIX_EPOCH};

/// `2031-05-04 10:11:12`
pub type StampText = [u8; 19];

#[derive(Debug, Clone)]
pub struct Stamp {
    second: u64,
    text: StampText,
}

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp { second: 0, text: text_of(0) }
    }
}

impl Stamp {
    pub fn now(&mut self) -> StampText {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second {
            *self = Stamp { second, text: text_of(second) };
        }
        self.text
    }
}

/// The civil date of a second since 1970 (Gregorian calendar, in eras of 400 years that begin in March, so that
/// a leap day ends its year).
fn text_of(second: u64) -> StampText {
    const ERA_DAYS: u64 = 146_097;
    /// From 1 March 0000 to 1970.
    const DAYS_TO_EPOCH: u64 = 719_468;
    let days = second / 86_400 + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let mut text = *b"0000-00-00 00:00:00";
    let clock = [second / 3_600 % 24, second / 60 % 60, second % 60];
    let fields = [(0, 4, year), (5, 2, month), (8, 2, day), (11, 2, clock[0]), (14, 2, clock[1]), (17, 2, clock[2])];
    for (start, digits, mut number) in fields {
        for at in (start..start + digits).rev() {
            text[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_civil_dates() {
        let check = |second, expected: &str| assert_eq!(std::str::from_utf8(&text_of(second)), Ok(expected));
        check(0, "1970-01-01 00:00:00");
        check(951_782_399, "2000-02-28 23:59:59");
        check(951_782_400, "2000-02-29 00:00:00");
        check(951_868_800, "2000-03-01 00:00:00");
        check(1_735_689_599, "2024-12-31 23:59:59");
        check(1_735_689_600, "2025-01-01 00:00:00");
        check(4_107_542_400, "2100-03-01 00:00:00");
    }

    #[test]
    fn a_stamp_follows_the_clock() {
        let mut stamp = Stamp::default();
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let text = stamp.now();
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!((before..=after).any(|second| text_of(second) == text));
    }
}
