//! Doubles as pgbench writes them: `%.15g`, and words where there are no digits.

use std::fmt::{self, Display, Write as _};

/// Significant digits of a double (`DBL_DIG`).
const DIGITS: i32 = 15;

/// A double in pgbench's form.
pub struct AsPgbench(pub f64);

/// The digits of `%.14e` lie in here: sign, 15 digits, point, exponent.
#[derive(Default)]
struct Room {
    bytes: [u8; 32],
    length: usize,
}

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl Display for AsPgbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.write_str(match self.0 {
                number if number.is_nan() => "NaN",
                number if number > 0.0 => "Infinity",
                _ => "-Infinity",
            });
        }
        let mut room = Room::default();
        write!(room, "{:.*e}", DIGITS as usize - 1, self.0)?;
        let text = std::str::from_utf8(&room.bytes[..room.length]).map_err(|_| fmt::Error)?;
        let (mantissa, exponent) = text.split_once('e').ok_or(fmt::Error)?;
        let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
        if (-4..DIGITS).contains(&exponent) {
            fixed(f, mantissa, exponent)
        } else {
            let sign = if exponent < 0 { '-' } else { '+' };
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            write!(f, "{mantissa}e{sign}{:02}", exponent.abs())
        }
    }
}

/// `1.25` and 1 are `12.5`: the point moves, and zeros behind the last digit go.
fn fixed(f: &mut fmt::Formatter<'_>, mantissa: &str, exponent: i32) -> fmt::Result {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let rest = rest.trim_end_matches('0');
    f.write_str(sign)?;
    let Ok(before) = usize::try_from(exponent) else {
        f.write_str("0.")?;
        (0..-exponent - 1).try_for_each(|_| f.write_char('0'))?;
        return write!(f, "{first}{rest}");
    };
    f.write_str(first)?;
    match rest.split_at_checked(before) {
        Some((whole, "")) => f.write_str(whole),
        Some((whole, part)) => write!(f, "{whole}.{part}"),
        None => {
            f.write_str(rest)?;
            (rest.len()..before).try_for_each(|_| f.write_char('0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_fifteen_digits_at_most() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (12.5, "12.5"),
            (100.0, "100"),
            (1.0 / 3.0, "0.333333333333333"),
            (0.1 + 0.2, "0.3"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (-f64::NAN, "NaN"),
        ] {
            assert_eq!(AsPgbench(number).to_string(), expected);
        }
    }
}
