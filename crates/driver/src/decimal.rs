//! Whole and decimal numbers as digits, written without going through a `String`.

/// A sign, nineteen digits and a point, or a point and zeros in front of few digits.
pub const DECIMAL_BYTES_MAX: usize = 40;

/// `units` of the last of `scale` places: 1230 of scale 2 is `12.30`.
pub fn decimal_text(units: i64, scale: u8, room: &mut [u8; DECIMAL_BYTES_MAX]) -> &[u8] {
    debug_assert!(scale < 20, "no decimal of a workload has more places");
    let mut at = room.len();
    let mut rest = units.unsigned_abs();
    let mut places = 0;
    loop {
        if scale > 0 && places == scale {
            at -= 1;
            room[at] = b'.';
        }
        at -= 1;
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        places += 1;
        if rest == 0 && places > scale {
            break;
        }
    }
    if units < 0 {
        at -= 1;
        room[at] = b'-';
    }
    &room[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_all_their_places() {
        let check = |units, scale, expected: &str| {
            let mut room = [0; DECIMAL_BYTES_MAX];
            assert_eq!(String::from_utf8_lossy(decimal_text(units, scale, &mut room)), expected);
        };
        check(1230, 2, "12.30");
        check(-5, 2, "-0.05");
        check(0, 4, "0.0000");
        check(1999, 4, "0.1999");
        check(7, 0, "7");
        check(-70, 0, "-70");
        check(i64::MIN, 2, "-92233720368547758.08");
    }
}
