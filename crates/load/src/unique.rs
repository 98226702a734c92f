//! Ids that no two transactions share, without anything shared between clients.

use crate::transaction::{ARRIVALS, Turn};

/// The largest prime below 2^32; it leaves a remainder of 3 when divided by 4.
const PRIME: u64 = 4_294_967_291;
const SCATTER: u32 = 0x5bf0_3635;
/// A prime, so that its multiples visit every remainder.
const CLASSIC_STEP: u64 = 2_147_483_647;

/// The place of a transaction among those of all clients: arrivals are numbered already, and in a
/// closed loop every client takes one place in turn. It is the one input that depends on how many
/// clients there are: 32 bits have no room for a range of its own for every client there could be.
pub fn place(turn: Turn, client: u32, clients: u32) -> u64 {
    match turn.series {
        ARRIVALS => turn.number,
        _ => turn.number * u64::from(clients) + u64::from(client),
    }
}

/// sysbench 1.0's kind of sequence: a permutation of all 32-bit numbers, another for each seed.
pub fn scattered(place: u64, seed: u64) -> i64 {
    let offset = (seed ^ (seed >> 32)) as u32;
    let unsigned = residue(residue(place as u32).wrapping_add(offset) ^ SCATTER);
    i64::from(unsigned) - (1 << 31)
}

/// Squares modulo a prime give each quadratic residue twice; the upper half of the arguments takes
/// the others, which are their negatives. The five numbers from the prime on stand for themselves.
fn residue(number: u32) -> u32 {
    let number = u64::from(number);
    if number >= PRIME {
        return number as u32;
    }
    let square = number * number % PRIME;
    (if number <= PRIME / 2 { square } else { PRIME - square }) as u32
}

/// sysbench 0.4's sequence: every id of a table of `rows` once. Where the original comes to its
/// beginning again, this goes on with ids behind the table, so that they stay unique.
pub fn classic(place: u64, rows: u64) -> i64 {
    let step = u128::from(place + 1) * u128::from(CLASSIC_STEP) % u128::from(rows);
    (step as u64 + 1 + place / rows * rows) as i64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn scattered_ids_are_all_different_and_fit_32_bits() {
        let ids: HashSet<i64> = (0..1_000_000).map(|place| scattered(place, 7)).collect();
        assert_eq!(ids.len(), 1_000_000);
        assert!(ids.iter().all(|id| i32::try_from(*id).is_ok()));
        assert_ne!(scattered(0, 7), scattered(0, 8));
        let last: HashSet<u32> = (u32::MAX - 100_000..=u32::MAX).chain(0..100_000).map(residue).collect();
        assert_eq!(last.len(), 200_001);
    }

    #[test]
    fn classic_ids_visit_the_table_once_and_then_go_on_behind_it() {
        let ids: HashSet<i64> = (0..10_000).map(|place| classic(place, 10_000)).collect();
        assert_eq!(ids, (1..=10_000).collect());
        assert_eq!(classic(0, 10_000), 2_147_483_647 % 10_000 + 1);
        let behind: HashSet<i64> = (10_000..20_000).map(|place| classic(place, 10_000)).collect();
        assert_eq!(behind, (10_001..=20_000).collect());
    }

    #[test]
    fn clients_take_places_in_turn_and_arrivals_have_their_own() {
        let turn = |series, number| Turn { series, number, retry: 0 };
        let places: HashSet<u64> = (0..3)
            .flat_map(|client| (0..5).map(move |number| place(turn(u64::from(client), number), client, 3)))
            .collect();
        assert_eq!(places, (0..15).collect());
        assert_eq!(place(turn(ARRIVALS, 9), 2, 3), 9);
    }
}
