//! Stamps of logs as microseconds since 1970.

const DAY_SECS: i64 = 86_400;

/// Days since 1970-01-01 of a date of the Gregorian calendar.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, month) = (year.div_euclid(400), (month + 9) % 12);
    let (of_era, of_year) = (year.rem_euclid(400), (153 * month + 2) / 5 + day - 1);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of so many days since 1970-01-01.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let day = days + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    // Years begin in March here too.
    let march = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    (year + era * 400 + i64::from(month <= 2), month, date)
}

/// `2026-11-23 04:41:47.487186`, in UTC.
pub fn utc(micros: i64) -> String {
    let (secs, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (year, month, date) = date_of(secs.div_euclid(DAY_SECS));
    let second = secs.rem_euclid(DAY_SECS);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}.{fraction:06}")
}

/// Digits at the start, at least `min` and at most `max` of them.
pub(crate) fn digits(text: &mut &[u8], min: usize, max: usize) -> Option<i64> {
    let length = text.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    if length < min {
        return None;
    }
    let (number, rest) = text.split_at(length);
    *text = rest;
    Some(number.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

fn mark(text: &mut &[u8], marks: &[u8]) -> Option<()> {
    let (first, rest) = text.split_first()?;
    *text = rest;
    marks.contains(first).then_some(())
}

fn clock(text: &mut &[u8]) -> Option<i64> {
    let hour = digits(text, 1, 2)?;
    mark(text, b":")?;
    let minute = digits(text, 2, 2)?;
    mark(text, b":")?;
    let second = digits(text, 2, 2)?;
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

fn midnight_secs(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| days(year, month, day) * DAY_SECS)
}

fn fraction_us(text: &mut &[u8]) -> i64 {
    if text.first() != Some(&b'.') {
        return 0;
    }
    *text = &text[1..];
    let length = text.len();
    let micros = digits(text, 1, 6).unwrap_or(0);
    let written = length - text.len();
    while digits(text, 1, 18).is_some() {}
    micros * 10_i64.pow(6 - written.min(6) as u32)
}

/// `2026-11-23T04:41:47.487186Z`, `2026-11-23 04:41:47.487 CET`; and the text behind it. A stamp without a zone is
/// taken as one at `offset_secs` east of UTC.
pub(crate) fn long(mut text: &[u8], offset_secs: i64) -> Option<(i64, &[u8])> {
    let year = digits(&mut text, 4, 4)?;
    mark(&mut text, b"-")?;
    let month = digits(&mut text, 2, 2)?;
    mark(&mut text, b"-")?;
    let day = digits(&mut text, 2, 2)?;
    mark(&mut text, b"T ")?;
    let secs = midnight_secs(year, month, day)? + clock(&mut text)?;
    let micros = fraction_us(&mut text);
    let offset = zone(&mut text).unwrap_or(offset_secs);
    Some(((secs - offset) * 1_000_000 + micros, text))
}

/// `261123  4:41:17` of MariaDB and old MySQL, and the text behind it.
pub(crate) fn short(mut text: &[u8], offset_secs: i64) -> Option<(i64, &[u8])> {
    let date = digits(&mut text, 6, 6)?;
    let (year, month, day) = (2000 + date / 10_000, date / 100 % 100, date % 100);
    mark(&mut text, b" ")?;
    text = text.strip_prefix(b" ").unwrap_or(text);
    let secs = midnight_secs(year, month, day)? + clock(&mut text)?;
    Some(((secs - offset_secs) * 1_000_000, text))
}

/// Seconds east of UTC: `Z`, `+02:00`, ` CEST`, ` +03`. None where no known zone stands.
fn zone(text: &mut &[u8]) -> Option<i64> {
    let rest = text.strip_prefix(b" ").unwrap_or(text);
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if length > 0 {
        let (name, behind) = rest.split_at(length);
        *text = behind;
        return hours_of(name).map(|hours| hours * 3600);
    }
    let sign = match rest.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let mut behind = &rest[1..];
    let hours = digits(&mut behind, 2, 2)?;
    behind = behind.strip_prefix(b":").unwrap_or(behind);
    let minutes = digits(&mut behind, 2, 2).unwrap_or(0);
    *text = behind;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The offset that a user gives: `UTC`, `CET`, `+02:00`.
pub fn offset_secs(mut name: &[u8]) -> Option<i64> {
    let offset = zone(&mut name)?;
    name.is_empty().then_some(offset)
}

/// A time that a user gives for a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds since 1970.
    At(i64),
    /// Seconds since midnight.
    OfDay(i64),
}

impl Moment {
    /// `04:10:00`, or `2026-11-23 04:10:00` with a zone behind it or without one, which is then `offset_secs` east of UTC.
    pub fn parse(text: &str, offset_secs: i64) -> Option<Moment> {
        if let Some((at, rest)) = long(text.as_bytes(), offset_secs) {
            return rest.is_empty().then_some(Moment::At(at));
        }
        let mut text = text.as_bytes();
        let secs = clock(&mut text)?;
        text.is_empty().then_some(Moment::OfDay(secs))
    }

    /// A time of day is the log's first day, or the second one of a log that goes on over midnight.
    pub fn in_log(self, first_us: i64, last_us: i64, offset_secs: i64) -> i64 {
        let secs = match self {
            Moment::At(at) => return at,
            Moment::OfDay(secs) => secs,
        };
        const DAY_US: i64 = DAY_SECS * 1_000_000;
        let offset_us = offset_secs * 1_000_000;
        let midnight = (first_us + offset_us).div_euclid(DAY_US) * DAY_US - offset_us;
        let at = midnight + secs * 1_000_000;
        if at < first_us && at + DAY_US <= last_us { at + DAY_US } else { at }
    }
}

/// Hours east of UTC, with the meanings of PostgreSQL's default set of abbreviations.
fn hours_of(abbreviation: &[u8]) -> Option<i64> {
    Some(match abbreviation {
        b"Z" | b"UTC" | b"GMT" | b"WET" => 0,
        b"WEST" | b"BST" | b"CET" => 1,
        b"CEST" | b"EET" | b"SAST" => 2,
        b"EEST" | b"MSK" => 3,
        b"AST" | b"EDT" => -4,
        b"ADT" => -3,
        b"EST" | b"CDT" => -5,
        b"CST" | b"MDT" => -6,
        b"MST" | b"PDT" => -7,
        b"PST" => -8,
        b"JST" | b"KST" => 9,
        b"AEST" => 10,
        b"AEDT" => 11,
        b"NZST" => 12,
        _ => return None,
    })
}

/// `0.000123` or `12` seconds as microseconds.
pub(crate) fn secs_us(mut text: &[u8]) -> Option<u64> {
    let secs = digits(&mut text, 1, 12)?;
    Some((secs * 1_000_000 + fraction_us(&mut text)) as u64)
}

/// `0.083` milliseconds as microseconds, and the text behind it.
pub(crate) fn millis_us(mut text: &[u8]) -> Option<(u64, &[u8])> {
    let millis = digits(&mut text, 1, 15)?;
    let fraction = fraction_us(&mut text);
    Some(((millis * 1000 + fraction / 1000) as u64, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_one_of_the_log() {
        let at = |text: &str| Moment::parse(text, 0);
        let us = |text: &str| long(text.as_bytes(), 0).unwrap().0;
        assert_eq!(at("2026-11-23 04:10:00"), Some(Moment::At(us("2026-11-23 04:10:00"))));
        assert_eq!(at("2026-11-23 04:10:00 CET"), Some(Moment::At(us("2026-11-23 03:10:00"))));
        for wrong in ["", "4", "04:10", "25:00:00", "04:10:00 x", "2026-13-01 00:00:00"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
        let (first, last) = (us("2026-11-23 23:00:00"), us("2026-11-24 02:00:00"));
        let check = |text: &str, offset_secs: i64, expected: &str| {
            assert_eq!(at(text).unwrap().in_log(first, last, offset_secs), us(expected), "{text}");
        };
        check("23:30:00", 0, "2026-11-23 23:30:00");
        check("01:00:00", 0, "2026-11-24 01:00:00");
        check("22:00:00", 0, "2026-11-23 22:00:00");
        check("00:30:00", 3600, "2026-11-23 23:30:00");
    }

    #[test]
    fn stamps_of_every_server_are_the_same_moment() {
        let expected = 1_795_408_907_487_000;
        for text in [
            "2026-11-23T04:41:47.487Z",
            "2026-11-23T05:41:47.487000+01:00",
            "2026-11-23 04:41:47.487 UTC",
            "2026-11-23 06:41:47.487 EET",
            "2026-11-23 04:41:47.487",
        ] {
            assert_eq!(long(text.as_bytes(), 0), Some((expected, &b""[..])), "{text}");
        }
        assert_eq!(short(b"261123  4:41:47\t", 0), Some((1_795_408_907_000_000, &b"\t"[..])));
        assert_eq!(short(b"261123 14:41:47", 36_000), Some((1_795_408_907_000_000, &b""[..])));
    }

    #[test]
    fn a_moment_is_written_as_it_is_read() {
        for text in [
            "2026-11-23 04:41:47.487186",
            "2024-02-29 23:59:59.000000",
            "1969-12-31 00:00:00.000001",
            "2000-03-01 12:00:00.5",
        ] {
            let (micros, _) = long(text.as_bytes(), 0).unwrap();
            assert!(utc(micros).starts_with(text), "{text}: {}", utc(micros));
        }
    }

    #[test]
    fn summer_time_of_an_abbreviation_is_one_hour_more() {
        let summer = long(b"2026-10-25 02:30:00.000 CEST", 0).unwrap().0;
        let winter = long(b"2026-10-25 02:30:00.000 CET", 0).unwrap().0;
        assert_eq!(winter - summer, 3_600_000_000);
    }

    #[test]
    fn what_is_no_stamp_is_refused() {
        for text in ["", "2026-13-01 00:00:00", "2026-11-23T24:00:00", "26-11-23", "2026-11-23"] {
            assert_eq!(long(text.as_bytes(), 0), None, "{text}");
        }
        assert_eq!(offset_secs(b"+05:30"), Some(19_800));
        assert_eq!(offset_secs(b"nowhere"), None);
    }

    #[test]
    fn durations_keep_their_microseconds() {
        assert_eq!(secs_us(b"0.000123"), Some(123));
        assert_eq!(secs_us(b"2"), Some(2_000_000));
        assert_eq!(millis_us(b"0.083 ms"), Some((83, &b" ms"[..])));
    }
}
