//! What must hold of any command line at all; a fuzz target feeds it, and a test with lines out of pieces.

use crate::command_line::{Verb, read};
use crate::pgbench::options;

/// A word a line. Every line is read, or refused with words.
pub fn command_line(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let words: Vec<String> = text.lines().map(str::to_owned).collect();
    // Whatever file a line names holds the line itself.
    let read_file = |_: &str| Ok(text.to_owned());
    for verb in Verb::ALL {
        let refused = read(verb, &words, &read_file, None).err();
        assert!(refused.is_none_or(|why| !why.trim().is_empty()));
    }
    let refused = options::read(&words).err();
    assert!(refused.is_none_or(|why| !why.trim().is_empty()));
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    const WORDS: [&str; 24] = [
        "oltp_read_write",
        "tpcc",
        "run",
        "prepare",
        "--target",
        "--mysql-socket",
        "--pgsql-db",
        "--threads",
        "--time",
        "--events",
        "--rate",
        "--report-interval",
        "--config-file",
        "--rand-type",
        "--histogram",
        "--percentile",
        "--tables",
        "-c",
        "-T",
        "-M",
        "-b",
        "-D",
        "-P",
        "--help",
    ];
    const VALUES: [&str; 20] = [
        "",
        "0",
        "-1",
        "1",
        "99",
        "1e9",
        "18446744073709551616",
        "0.5",
        "nan",
        "postgres://a:b@h/d",
        "sqlite:x.db",
        "tpcb-like@3",
        "a=1",
        "zipfian",
        "prepared",
        "on",
        "5m",
        "\u{fc}",
        "--",
        "10,20",
    ];

    #[test]
    fn any_command_line_is_read_or_refused() {
        for round in 0..20_000 {
            let mut rng = StdRng::seed_from_u64(round);
            let mut line = String::new();
            for _ in 0..rng.random_range(1..8) {
                line += WORDS[rng.random_range(0..WORDS.len())];
                line += ["\n", "=", ""][rng.random_range(0..3)];
                line += VALUES[rng.random_range(0..VALUES.len())];
                line += "\n";
            }
            assert!(std::panic::catch_unwind(|| command_line(line.as_bytes())).is_ok(), "round {round}: {line:?}");
        }
    }
}
