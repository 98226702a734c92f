//! Values of options as people and sysbench write them.
//!
//! Errors are fragments without the option's name; the caller adds it.

use std::time::Duration;

use experiment::quantity;

/// `60` means seconds, as with sysbench; `90s` and `2m` are understood too.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=7.0 * 86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        Ok(_) => Err(format!("a time from 0 to a week was expected, not `{text}`")),
        Err(_) => quantity::duration(text),
    }
}

/// A whole number; `10K`, `5M` and `1G` are thousands, millions and thousand millions, since what is
/// counted here are rows and clients and never bytes.
pub fn count(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let wrong = || format!("a whole number from {least} to {most} was expected, not `{text}`");
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|number| (least..=most).contains(number)).ok_or_else(wrong)
}

/// A list separated by commas, each part read by `read`.
pub fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(read).collect()
}

pub fn percentile(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err(format!("a number above 0 and up to 100 was expected, not `{text}`")),
    }
}

/// Arrivals in a second; 0 is sysbench's notation for a closed loop.
pub fn rate(text: &str) -> Result<Option<f64>, String> {
    match text.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate > 0.0 && rate <= 10_000_000.0 => Ok(Some(rate)),
        _ => Err(format!("transactions per second were expected, from 0 (none) to 10000000, not `{text}`")),
    }
}

/// The index of the word in `words`.
pub fn choice(text: &str, words: &[&str]) -> Result<usize, String> {
    let position = words.iter().position(|word| word.eq_ignore_ascii_case(text));
    position.ok_or_else(|| format!("one of {} was expected, not `{text}`", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_a_unit_is_given() {
        let check = |text, millis: Option<u64>| {
            assert_eq!(seconds(text).ok(), millis.map(Duration::from_millis), "{text}");
        };
        check("60", Some(60_000));
        check("0.5", Some(500));
        check("2m", Some(120_000));
        check("0", Some(0));
        check("-1", None);
        check("soon", None);
        check("nan", None);
    }

    #[test]
    fn counts_may_carry_a_suffix() {
        let check = |text, number: Option<u64>| assert_eq!(count(text, 1, 2_000_000_000).ok(), number, "{text}");
        check("10000", Some(10_000));
        check("10K", Some(10_000));
        check("1m", Some(1_000_000));
        check("1_000_000", Some(1_000_000));
        check("0", None);
        check("3G", None);
        check("", None);
        check("1.5K", None);
    }

    #[test]
    fn lists_rates_percentiles_and_choices_are_read() {
        assert_eq!(list("50, 99.9", percentile), Ok(vec![50.0, 99.9]));
        assert!(list("50,101", percentile).is_err());
        assert_eq!((rate("0"), rate("500")), (Ok(None), Ok(Some(500.0))));
        assert!(rate("-1").is_err() && rate("nan").is_err());
        assert_eq!(choice("Poisson", &["poisson", "constant"]), Ok(0));
        assert!(choice("x", &["poisson", "constant"]).unwrap_err().contains("poisson, constant"));
    }
}
