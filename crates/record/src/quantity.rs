//! Numbers with units, as a person writes them: `60s`, `2m`, `1%`.
//!
//! A bare number is refused everywhere, because `60` may be seconds or minutes. Errors are
//! fragments without a file or line; the caller adds them.

use std::time::Duration;

use crate::format::figures::fixed;

/// The longest time that a file may ask for. A week-long trial is a slip of the finger.
const LONGEST_SECS: f64 = 7.0 * 86_400.0;

/// Reads `500ms`, `60s`, `2m`, `1.5h` or a chain such as `1m30s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("no time given; write a number and a unit: \"60s\", \"2m\"".into());
    }
    let mut secs = 0.0;
    while !rest.is_empty() {
        let (number, behind) = split_number(rest);
        let unit_len = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_len);
        let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a time; write \"60s\" or \"2m\""))?;
        secs += number * unit_secs(unit, text)?;
        rest = behind.trim_start();
    }
    if secs > LONGEST_SECS {
        return Err(format!("`{text}` is longer than a week"));
    }
    Ok(Duration::from_secs_f64(secs))
}

fn split_number(text: &str) -> (&str, &str) {
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, behind) = text.split_at(number_len);
    (number, behind.trim_start())
}

fn unit_secs(unit: &str, text: &str) -> Result<f64, String> {
    match unit {
        "ms" => Ok(0.001),
        "s" => Ok(1.0),
        "m" | "min" => Ok(60.0),
        "h" => Ok(3600.0),
        "" => Err(format!("`{text}` has no unit; give a unit: \"{text}s\" or \"{text}m\"")),
        other => Err(format!("unknown unit `{other}` in `{text}`; use ms, s, m or h")),
    }
}

/// Reads `1%` as 0.01.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').ok_or(format!("`{text}` has no unit; give a per cent sign: \"1%\""))?;
    let number: f64 = number.trim().parse().map_err(|_| format!("`{text}` is not a percentage; write \"1%\""))?;
    if !number.is_finite() || number <= 0.0 || number >= 100.0 {
        return Err(format!("`{text}` is out of range; more than 0% and less than 100% makes sense"));
    }
    Ok(number / 100.0)
}

/// A share that was given, or an error rate, with the digits that matter: `3 %`, `2.5 %`.
pub fn percent_text(fraction: f64) -> String {
    let text = fixed(fraction * 100.0, 2);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Reads a size as servers write it: `256M`, `1GB`, `8kB`, `131072`; K is 1024 to all of them.
pub fn bytes(text: &str) -> Option<u64> {
    size(text).map(|size| size as u64)
}

fn size(text: &str) -> Option<f64> {
    let (number, unit) = split_number(text.trim());
    let number: f64 = number.parse().ok()?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tb" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

/// Whether two settings are the same text or the same size: `256MB` and `262144kB`. Bare numbers are compared with
/// bare numbers only, because only the server knows their unit; `bare_is_bytes` where it is known.
pub fn same_value(one: &str, other: &str, bare_is_bytes: bool) -> bool {
    let has_unit = |text: &str| text.trim().ends_with(|last: char| last.is_ascii_alphabetic());
    let comparable = bare_is_bytes || has_unit(one) == has_unit(other);
    one.trim() == other.trim() || (comparable && size(one).is_some() && size(one) == size(other))
}

/// Says a time as a reader would: `45 s`, `12 min`, `3.4 h`.
pub fn duration_text(duration: Duration) -> String {
    let secs = duration.as_secs_f64();
    match secs {
        _ if secs < 10.0 => format!("{secs:.1} s"),
        _ if secs < 120.0 => format!("{secs:.0} s"),
        _ if secs < 7200.0 => format!("{:.0} min", secs / 60.0),
        _ => format!("{:.1} h", secs / 3600.0),
    }
}

/// Says a size as a reader would: `512 MiB`, `1.5 GiB`.
pub fn bytes_text(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    if bytes < 1024 * 1024 {
        return format!("{:.0} KiB", bytes as f64 / 1024.0);
    }
    let mib = bytes as f64 / (1024.0 * 1024.0);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units_only() {
        let check = |text, millis: Option<u64>| {
            assert_eq!(duration(text).ok(), millis.map(Duration::from_millis), "{text}");
        };
        check("60s", Some(60_000));
        check("2m", Some(120_000));
        check("1m30s", Some(90_000));
        check("1.5 h", Some(5_400_000));
        check("250ms", Some(250));
        for wrong in ["60", "", "s", "1x", "-5s", "1.2.3s", "9999h", "2m 30"] {
            check(wrong, None);
        }
    }

    #[test]
    fn sizes_are_compared_by_value() {
        let check = |one, other, bare_is_bytes, expected| {
            assert_eq!(same_value(one, other, bare_is_bytes), expected, "{one} {other}");
        };
        check("256MB", "262144kB", false, true);
        check("256M", "268435456", true, true);
        // PostgreSQL's bare numbers are pages, kilobytes or milliseconds.
        check("256MB", "268435456", false, false);
        check("32768", "32768", false, true);
        check("1G", "1GB", true, true);
        check("ON", "1", true, false);
        check("1.5", "1.7", true, false);
        check("128M", "256M", true, false);
    }

    #[test]
    fn a_time_without_a_unit_is_answered_with_the_units() {
        assert_eq!(duration("60").unwrap_err(), "`60` has no unit; give a unit: \"60s\" or \"60m\"");
    }

    #[test]
    fn percentages_and_sizes_are_read() {
        assert_eq!(percent("1%"), Ok(0.01));
        assert!(percent("1").is_err() && percent("0%").is_err() && percent("100%").is_err());
        assert_eq!(bytes("256M"), Some(268_435_456));
        assert_eq!(bytes("256MB"), bytes("256M"));
        assert_eq!(bytes("131072"), Some(131_072));
        assert_eq!(bytes("lots"), None);
    }
}
