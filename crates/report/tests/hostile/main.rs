//! Reports of stored runs with records changed by bytes of a seed, in place of a fuzzer.

mod properties;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const ROUNDS: u64 = 1_000;

#[test]
fn any_report_tells_any_stored_run_or_refuses_it() {
    let rounds = std::env::var("DBDUEL_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let fails = |round: &u64| {
        let mut rng = StdRng::seed_from_u64(*round);
        let bytes: Vec<u8> = (0..rng.random_range(6..32)).map(|_| rng.random()).collect();
        std::panic::catch_unwind(|| properties::stored_run(&bytes)).is_err()
    };
    let failed: Vec<u64> = (0..rounds).filter(fails).collect();
    assert!(failed.is_empty(), "rounds {failed:?} fail");
}
