//! The reader of connection strings against 200,000 mutated texts.
//!
//! The fuzz target explores further, but needs a nightly toolchain; this needs nothing, and its seed makes a failure
//! come back.

mod properties;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const ROUNDS: u32 = 200_000;

/// Pieces that mean something to a reader of these texts.
const TELLING: [&str; 24] = [
    "/",
    "?",
    "&",
    "=",
    "@",
    ":",
    ",",
    "%2F",
    "%",
    "'",
    "\\",
    " ",
    "[::1]",
    "host=",
    "hostaddr=::1",
    "port=7",
    "password=x",
    "sslmode=require",
    "tls=off",
    "sslrootcert=/r",
    "service=s",
    "\u{fc}",
    "://",
    "socket=/s",
];

const TEXTS: [&str; 11] = [
    "jdbc:mysql://db:3307/x?user=app&password=p&useSSL=true&cachePrepStmts=true&localSocket=/s",
    "jdbc:postgresql://a:1,b:2/x?ssl=true&sslmode=require&targetServerType=primary",
    "mysql://app:pw@db.example:3307/bench?ssl-mode=required&socket=/run/s&defaults-file=/c",
    "mariadb://root@[::1]:33/x?compression=on&ssl_ca=/r&ssl-mode=verify_ca",
    "postgres://app@h1:7,h2:8/x?target_session_attrs=primary&hostaddr=192.0.2.1,192.0.2.2",
    "postgres://%2Frun%2Fpostgresql:5433/db?sslmode=disable",
    "postgresql://a%40b:p%3A@/x?host=/run/pg,other&port=1,2&channel_binding=prefer",
    "host=/run/postgresql port=5433 dbname='my db' user=a\\ b",
    "service=prod passfile=/p sslmode=require sslcert=/c sslkey=/k",
    "hostaddr=::1,192.0.2.7 sslrootcert=system",
    "sqlite:///data/my%20file.db",
];

/// Changes, removes, repeats or inserts a few letters; one text in sixteen stays as it is.
fn mutated(original: &str, rng: &mut StdRng) -> String {
    let mut letters: Vec<char> = original.chars().collect();
    for _ in 0..rng.random_range(0..16) / 4 {
        let at = rng.random_range(0..=letters.len());
        let telling = TELLING[rng.random_range(0..TELLING.len())];
        match rng.random_range(0..4) {
            0 if at < letters.len() => letters[at] = telling.chars().next().unwrap(),
            1 if at < letters.len() => drop(letters.remove(at)),
            2 => letters.truncate(at),
            _ => drop(letters.splice(at..at, telling.chars())),
        }
    }
    letters.into_iter().collect()
}

#[test]
fn any_connection_string_that_is_read_prints_as_the_same_target() {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..ROUNDS {
        let text = mutated(TEXTS[round as usize % TEXTS.len()], &mut rng);
        let outcome = std::panic::catch_unwind(|| properties::connection_string(text.as_bytes()));
        assert!(outcome.is_ok(), "round {round} fails on {text}");
    }
}
