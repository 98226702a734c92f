//! Values in place of values: each keeps its length and the kinds of its characters, equal ones stay equal, and different
//! ones stay different.
//!
//! A value is changed by a Feistel network over its characters, each of which counts in its own alphabet. Every round
//! can be undone by who has the key, so no two values of one form become one. Where the form of a result would be
//! another one (a date, a number), the value goes round again until it is the same: a permutation comes back.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::times::{date_of, days, digits};

/// What maps values. Nothing of it is written anywhere.
pub struct Mask {
    key: hmac::Key,
    /// By which dates move, always into the past.
    shift_days: i64,
}

/// Days that a calendar of the years 1 to 9999 has.
const CALENDAR_DAYS: i64 = 3_652_059;

/// A character that is replaced: where it stands, and the alphabet it counts in.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    first: u8,
    count: u8,
}

/// What a value is taken for. A result has the form of what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing, or the date zero of MySQL.
    Kept,
    Date,
    Number,
    Text,
    Bytes,
}

impl Mask {
    /// The same bytes give the same values, in another capture too.
    pub fn of_key(bytes: &[u8]) -> Mask {
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let [a, b, c, d, ..] = tag(&key, &[b"days"]);
        let shift_days = -366 - i64::from(u32::from_be_bytes([a, b, c, d]) % 6_000);
        Mask { key, shift_days }
    }

    /// A key of its own, which is gone with it. None where the system gives no random bytes.
    pub fn random() -> Option<Mask> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Mask::of_key(&bytes))
    }

    /// A name for a user.
    pub fn name(&self, user: &[u8]) -> String {
        let hash = tag(&self.key, &[b"user", user]);
        format!("user-{:016x}", u64::from_be_bytes(std::array::from_fn(|at| hash[at])))
    }

    /// A value that was written in quotes or bound.
    pub fn text(&self, value: &[u8]) -> Vec<u8> {
        let form = form_of(value);
        let mut masked = match form {
            Form::Kept => return value.to_vec(),
            Form::Date => return self.date(value),
            Form::Number => return self.number(value),
            Form::Text | Form::Bytes => value.to_vec(),
        };
        let places = places_of(value, form);
        loop {
            self.permute(&mut masked, &places, None);
            if form_of(&masked) == form {
                return masked;
            }
        }
    }

    /// Digits with a point, an exponent or neither: sign, number of digits and exponent stay, and so do zeros in front and
    /// behind the last place of a fraction, so that `1.50` and `1.5` stay equal. Also digits behind `0x` or `0b`.
    pub fn number(&self, number: &[u8]) -> Vec<u8> {
        let mut masked = number.to_vec();
        if let [b'0', b'x' | b'X' | b'b' | b'B' | b'o' | b'O', ..] = number {
            masked[2..].clone_from_slice(&self.digits_of_base(&number[2..], number[1]));
            return masked;
        }
        let end = number.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(number.len());
        let point = number[..end].iter().position(|byte| *byte == b'.').unwrap_or(end);
        let is_significant = |byte: &u8| (b'1'..=b'9').contains(byte);
        let Some(first) = number[..end].iter().position(is_significant) else { return masked };
        // The last place of a fraction that has one, else the last of the whole.
        let last = number[point..end].iter().rposition(is_significant).map_or_else(|| point - 1, |at| point + at);
        let all = (first..=last).filter(|at| number[*at].is_ascii_digit());
        let is_no_zero = |at: usize| at == first || (at == last && at > point);
        let place = |at| if is_no_zero(at) { Place { at, first: b'1', count: 9 } } else { digit(at) };
        let places: Vec<Place> = all.map(place).collect();
        let whole = places.iter().filter(|place| place.at < point).count();
        let zeros = first.saturating_sub(point);
        let shape = format!("number {whole} {} {zeros}", places.len() - whole);
        self.permute(&mut masked, &places, Some(shape.as_bytes()));
        masked
    }

    /// Hexadecimal or binary digits; letters become small.
    pub fn digits_of_base(&self, digits: &[u8], base: u8) -> Vec<u8> {
        let count = match base {
            b'x' | b'X' => 16,
            b'o' | b'O' => 8,
            _ => 2,
        };
        let value = |byte: &u8| (*byte as char).to_digit(16).map(|value| value as u8).filter(|value| *value < count);
        let mut values: Vec<u8> = digits.iter().map(|byte| value(byte).unwrap_or(0)).collect();
        let is_place = |(at, byte): (usize, &u8)| value(byte).map(|_| Place { at, first: 0, count });
        let places: Vec<Place> = digits.iter().enumerate().filter_map(is_place).collect();
        self.permute(&mut values, &places, Some(format!("base {count} {}", places.len()).as_bytes()));
        let mut masked = digits.to_vec();
        let written = |value: u8| char::from_digit(u32::from(value), 16).map_or(b'0', |digit| digit as u8);
        places.iter().for_each(|place| masked[place.at] = written(values[place.at]));
        masked
    }

    /// The days move together; the time of day and the zone stay.
    fn date(&self, value: &[u8]) -> Vec<u8> {
        let Some((year, month, day)) = date_parts(value) else { return value.to_vec() };
        let first = days(1, 1, 1);
        let moved = (days(year, month, day) - first + self.shift_days).rem_euclid(CALENDAR_DAYS) + first;
        let (year, month, day) = date_of(moved);
        let marks = [value[4] as char, value[7] as char];
        let date = format!("{year:04}{}{month:02}{}{day:02}", marks[0], marks[1]);
        [date.as_bytes(), &value[10..]].concat()
    }

    /// Changes the characters at some places, by a function of what stands at all places, and of the shape.
    fn permute(&self, value: &mut [u8], places: &[Place], shape: Option<&[u8]>) {
        let seed = match shape {
            Some(shape) => tag(&self.key, &[b"shape", shape]),
            None => {
                // What stays, and the alphabets of what does not.
                let mut shape = value.to_vec();
                places.iter().for_each(|place| shape[place.at] = place.first);
                tag(&self.key, &[b"text", &shape])
            }
        };
        let (one, other) = places.split_at(places.len().div_ceil(2));
        // Long values have so many others that few rounds are enough.
        let rounds = if places.len() <= 24 { 10 } else { 4 };
        let mut known = Vec::with_capacity(other.len() + 1);
        for round in 0..rounds {
            let (changed, by) = if round % 2 == 0 { (one, other) } else { (other, one) };
            known.clear();
            known.push(round);
            known.extend(by.iter().map(|place| value[place.at]));
            let from = tag(&self.key, &[&seed, &known]);
            let mut stream = [0; 32];
            for (number, place) in changed.iter().enumerate() {
                let at = number % 16 * 2;
                if at == 0 {
                    stream = tag(&self.key, &[&from, &(number as u64).to_be_bytes()]);
                }
                let step = u16::from_be_bytes([stream[at], stream[at + 1]]) % u16::from(place.count);
                let symbol = (u16::from(value[place.at] - place.first) + step) % u16::from(place.count);
                value[place.at] = place.first + symbol as u8;
            }
        }
    }
}

/// Parts with their lengths in front, so that no two lists of parts are the same bytes.
fn tag(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let tag = context.sign();
    std::array::from_fn(|at| tag.as_ref()[at])
}

fn digit(at: usize) -> Place {
    Place { at, first: b'0', count: 10 }
}

fn form_of(value: &[u8]) -> Form {
    match value {
        [] => Form::Kept,
        _ if value.starts_with(b"0000-00-00") && is_time(&value[10..]) => Form::Kept,
        _ if date_parts(value).is_some() => Form::Date,
        _ if is_number(value) => Form::Number,
        _ if std::str::from_utf8(value).is_ok() => Form::Text,
        _ => Form::Bytes,
    }
}

/// Letters by their case, digits, and what is not ASCII: of a text in UTF-8 the last bytes of its characters, so that it
/// stays one. All other characters stay, wildcards of LIKE among them.
fn places_of(value: &[u8], form: Form) -> Vec<Place> {
    let place = |(at, byte): (usize, &u8)| {
        let (first, count) = match byte {
            b'a'..=b'z' => (b'a', 26),
            b'A'..=b'Z' => (b'A', 26),
            b'0'..=b'9' => (b'0', 10),
            0x80.. if form == Form::Bytes => (0x80, 128),
            // The second byte of some characters is not free.
            0x80..=0xbf if !matches!(value[at.saturating_sub(1)], 0xe0 | 0xed | 0xf0 | 0xf4) => (0x80, 64),
            _ => return None,
        };
        Some(Place { at, first, count })
    };
    value.iter().enumerate().filter_map(place).collect()
}

/// `-12`, `0.5`
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

/// Year, month and day of `2026-11-23` or `2026/11/23`, alone or with a time of day behind it.
fn date_parts(value: &[u8]) -> Option<(i64, i64, i64)> {
    let (date, time) = value.split_first_chunk::<10>()?;
    let (mut year, mut month, mut day) = (&date[..4], &date[5..7], &date[8..]);
    let (year, month, day) = (digits(&mut year, 4, 4)?, digits(&mut month, 2, 2)?, digits(&mut day, 2, 2)?);
    let is_marked = matches!(date[4], b'-' | b'/') && date[4] == date[7];
    let is_date = is_marked && year > 0 && (1..=12).contains(&month) && day > 0;
    // The 31st of a month of 30 days is the first of the next one.
    (is_date && date_of(days(year, month, day)) == (year, month, day) && is_time(time)).then_some((year, month, day))
}

/// Nothing, or ` 10:20:30.123456+02:00` in one of its forms.
fn is_time(text: &[u8]) -> bool {
    let Some((mark, mut rest)) = text.split_first() else { return true };
    let mut two = |mark: &[u8]| {
        let mut behind = rest.strip_prefix(mark)?;
        digits(&mut behind, 2, 2)?;
        rest = behind;
        Some(())
    };
    if !matches!(mark, b' ' | b'T') || two(b"").is_none() || two(b":").is_none() {
        return false;
    }
    two(b":");
    if let Some(mut fraction) = rest.strip_prefix(b".") {
        digits(&mut fraction, 0, 6);
        rest = fraction;
    }
    match rest {
        [] | [b'Z'] => true,
        [b'+' | b'-', zone @ ..] => {
            zone.len() <= 5 && zone.len() >= 2 && zone.iter().all(|byte| byte.is_ascii_digit() || *byte == b':')
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn mask() -> Mask {
        Mask::of_key(b"a key for tests")
    }

    fn text(value: &str) -> String {
        String::from_utf8(mask().text(value.as_bytes())).unwrap()
    }

    fn number(value: &str) -> String {
        String::from_utf8(mask().number(value.as_bytes())).unwrap()
    }

    #[test]
    fn a_text_keeps_its_length_and_the_kinds_of_its_characters() {
        let of = |byte: u8| match byte {
            b'a'..=b'z' => 'a',
            b'A'..=b'Z' => 'A',
            b'0'..=b'9' => '0',
            0x80.. => 'ä',
            byte => byte as char,
        };
        for value in ["Marta Nowak", "ab_c%d\\%", "GRÜßE aus 4 Köln", "Иванов", "名前", "it's \"so\"\n"] {
            let masked = text(value);
            assert_ne!(masked, value);
            assert_eq!(
                masked.bytes().map(of).collect::<String>(),
                value.bytes().map(of).collect::<String>(),
                "{masked}"
            );
        }
        let latin1 = b"M\xfcller";
        let masked = mask().text(latin1);
        assert!(masked != latin1 && std::str::from_utf8(&masked).is_err() && masked[1] >= 0x80, "{masked:?}");
    }

    #[test]
    fn nothing_and_punctuation_alone_stay() {
        ["", "%", "_%_", "0000-00-00", "0000-00-00 00:00:00"].iter().for_each(|value| assert_eq!(text(value), *value));
    }

    /// All values of one form, so many as there are: none may come twice, and none may be missing.
    #[test]
    fn different_values_stay_different() {
        let letters = || b'a'..=b'z';
        let pairs: HashSet<String> = letters()
            .flat_map(|one| letters().map(move |other| text(&format!("{}{}", one as char, other as char))))
            .collect();
        assert_eq!(pairs.len(), 26 * 26);
        let numbers: HashSet<String> = (1000..10_000).map(|one: u32| number(&one.to_string())).collect();
        assert!(numbers.len() == 9_000 && numbers.iter().all(|one| one.len() == 4 && !one.starts_with('0')));
        let fractions: HashSet<String> = (1..1000).map(|one: u32| number(&format!("0.{one:03}"))).collect();
        assert_eq!(fractions.len(), 999);
        // Most of these are no dates, and none may become one that another date becomes.
        let dates = (0..100).flat_map(|month| (0..100).map(move |day| format!("2026-{month:02}-{day:02}")));
        assert_eq!(dates.map(|date| text(&date)).collect::<HashSet<String>>().len(), 10_000);
    }

    #[test]
    fn a_number_keeps_its_sign_its_digits_and_its_equals() {
        ["0", "0.00", "-0", "0x0"].iter().take(3).for_each(|zero| assert_eq!(number(zero), *zero));
        for value in ["7", "4711", "-4711", "3.14", "0.0042", "12.50", "1.5e10", "00815", "18446744073709551615"] {
            let masked = number(value);
            assert!(masked != value && masked.len() == value.len(), "{value}: {masked}");
            let of =
                |text: &str| text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect::<String>();
            assert_eq!(of(&masked), of(value));
        }
        assert_eq!(number("12.50"), format!("{}0", number("12.5")));
        assert_eq!(number("12.00"), format!("{}.00", number("12")));
        assert_eq!(number("0012"), format!("00{}", number("12")));
        assert_eq!(number("-12"), format!("-{}", number("12")));
        assert_eq!(text("4711"), number("4711"));
        assert!(number("0.0042").starts_with("0.00"));
    }

    #[test]
    fn dates_move_together_and_times_of_day_stay() {
        let days_between = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|date| date_parts(date.as_bytes()).unwrap());
            days(one.0, one.1, one.2) - days(other.0, other.1, other.2)
        };
        let first = text("2026-11-23");
        assert!(days_between("2026-11-23", &first) > 365, "{first}");
        for other in ["2024-02-29", "2026/01/31", "1999-12-31"] {
            assert_eq!(days_between(&text(other), &first), days_between(other, "2026-11-23"), "{other}");
        }
        for stamp in
            ["2026-11-23 10:20:30", "2026-11-23T10:20:30.123456Z", "2026-11-23 10:20:30.5+02", "2026-11-23 10:20"]
        {
            assert_eq!(text(stamp), format!("{first}{}", &stamp[10..]));
        }
        for text_of in ["2026-02-30", "2026-11-23 was a Monday", "2026-11-23 10:20:30 4711"] {
            let (masked, behind) = (text(text_of), &text_of[10..]);
            assert!(masked != text_of && (behind.is_empty() || !masked.ends_with(behind)), "{text_of}");
        }
    }

    #[test]
    fn another_key_gives_other_values() {
        let other = Mask::of_key(b"another key");
        assert_ne!(other.text(b"Marta Nowak"), mask().text(b"Marta Nowak"));
        assert_ne!(Mask::random().unwrap().name(b"shop"), mask().name(b"shop"));
        assert_eq!(mask().name(b"shop"), mask().name(b"shop"));
    }
}
