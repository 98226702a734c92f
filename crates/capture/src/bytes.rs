//! Numbers and texts as bytes: of records in a capture, and of its tables.

/// Appends a number of 1 to 10 bytes, seven bits each, the lowest first.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Nearby numbers of either sign are short: 0, -1, 1, -2 …
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Zero for none.
pub(crate) fn put_option(out: &mut Vec<u8>, number: Option<u64>) {
    put(out, number.map_or(0, |number| number.saturating_add(1)));
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// A number that is written in digits.
pub(crate) fn number_of<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What is left to take of some bytes; every method gives none where they end too early.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taking<'a>(pub &'a [u8]);

impl<'a> Taking<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn option(&mut self) -> Option<Option<u64>> {
        self.number().map(|number| number.checked_sub(1))
    }

    /// As many as a number in front says.
    pub fn list<T, L: FromIterator<T>>(&mut self, mut one: impl FnMut(&mut Taking<'a>) -> Option<T>) -> Option<L> {
        (0..self.number()?).map(|_| one(self)).collect()
    }

    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::MAX >> 1, u64::MAX - 1];
        let mut out = Vec::new();
        numbers.iter().for_each(|number| put(&mut out, *number));
        [i64::MIN, -1, 0, 5, i64::MAX].iter().for_each(|number| put_signed(&mut out, *number));
        [None, Some(0), Some(77)].iter().for_each(|number| put_option(&mut out, *number));
        let mut taking = Taking(&out);
        assert_eq!(numbers.map(|_| taking.number()), numbers.map(Some));
        assert_eq!([(); 5].map(|()| taking.signed().unwrap()), [i64::MIN, -1, 0, 5, i64::MAX]);
        assert_eq!([(); 3].map(|()| taking.option().unwrap()), [None, Some(0), Some(77)]);
        assert_eq!(taking.number(), None);
    }
}
