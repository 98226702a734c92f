//! Numbers as text, for every output. A zero has no sign: neither -0.0 (what a sum of nothing is) nor a
//! number that is rounded to zero is printed as `-0.00`.

/// `value` with so many digits behind the point.
pub fn fixed(value: f64, digits: usize) -> String {
    without_sign_of_zero(format!("{value:.digits$}"))
}

/// The digits of a whole number with thousands set apart: `1,234,567`.
pub fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A share of 1 as a signed percentage: `+4.1 %`, `0.0 %`.
pub fn signed_percent(share: f64, digits: usize) -> String {
    without_sign_of_zero(format!("{:+.digits$}", share * 100.0)) + " %"
}

/// The same, with a digit behind the point where it is below 10 %.
pub fn short_percent(share: f64) -> String {
    signed_percent(share, if share.abs() * 100.0 >= 9.95 { 0 } else { 1 })
}

/// The percentage that a logarithm of a ratio stands for.
pub fn percent_of_log(log_ratio: f64, digits: usize) -> String {
    signed_percent(log_ratio.exp_m1(), digits)
}

fn without_sign_of_zero(text: String) -> String {
    let is_zero = text.bytes().all(|byte| b"+-0.".contains(&byte));
    if is_zero { text.trim_start_matches(['+', '-']).to_owned() } else { text }
}

/// Whether a negative zero stands somewhere in a text, which tests of the formats ask. Dates, names and longer numbers have none.
pub fn has_negative_zero(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let is_negative_zero = |number: &str| {
        number.strip_prefix('-').and_then(|rest| rest.parse::<f64>().ok()).is_some_and(|value| value == 0.0)
    };
    text.split(|letter| !is_part(letter)).any(|word| is_negative_zero(word.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign() {
        let nothing: f64 = [].iter().sum::<f64>();
        assert!(nothing.is_sign_negative(), "what a sum of nothing is");
        for value in [nothing, 0.0, -0.004, 0.004] {
            assert_eq!(fixed(value, 2), "0.00");
            assert_eq!(signed_percent(value / 100.0, 2), "0.00 %");
        }
        assert_eq!((fixed(-0.006, 2), fixed(-3.0, 0)), ("-0.01".to_owned(), "-3".to_owned()));
        assert_eq!(signed_percent(0.041, 1), "+4.1 %");
        assert_eq!(percent_of_log(-0.0001, 1), "0.0 %");
        assert_eq!([0.0994, -0.0996].map(short_percent), ["+9.9 %", "-10 %"]);
    }

    #[test]
    fn negative_zeros_are_found_and_nothing_else_is() {
        for text in ["|  -0.00|", "makes -0.0 % (", "[-0]", "{\"a\":-0.0}", "it is -0.", "-0e0"] {
            assert!(has_negative_zero(text), "{text}");
        }
        for text in ["0.00", "-0.01", "2023-01-01", "mysql-0.4", "-0x", "5 -1.0"] {
            assert!(!has_negative_zero(text), "{text}");
        }
    }
}
