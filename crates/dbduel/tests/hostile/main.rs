//! Experiment files that nobody wrote: those that come with dbduel with values, keys and lines of other places.

mod properties;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const ROUNDS: u64 = 1_000;

/// Values that a reader may stumble over.
const VALUES: [&str; 26] = [
    "0",
    "-1",
    "1",
    "7",
    "10000",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "nan",
    "-inf",
    "0.5",
    "true",
    "\"\"",
    "\"0s\"",
    "\"584942417355y\"",
    "\"1ms\"",
    "\"18446744073709551615GiB\"",
    "\"50%\"",
    "\"\\u001b[31m\"",
    "[]",
    "[1, 2]",
    "{}",
    "[{}]",
    "2031-05-04",
    "\"sqlite\"",
    "\"mysql@8.0.31\"",
];

fn lines() -> Vec<Vec<String>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    assert!(files.len() > 20);
    let text = |file| std::fs::read_to_string(file).unwrap();
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with('#');
    files.iter().map(|file| text(file).lines().filter(is_said).map(str::to_owned).collect()).collect()
}

fn changed(files: &[Vec<String>], rng: &mut StdRng) -> String {
    let mut lines = files[rng.random_range(0..files.len())].clone();
    for _ in 0..rng.random_range(0..6) {
        let at = rng.random_range(0..lines.len());
        let foreign = &files[rng.random_range(0..files.len())];
        let foreign = foreign[rng.random_range(0..foreign.len())].clone();
        match rng.random_range(0..5) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(at, foreign),
            2 => lines[at] = foreign,
            _ => {
                let value = VALUES[rng.random_range(0..VALUES.len())];
                let key = lines[at].split('=').next().unwrap_or_default().trim().to_owned();
                lines[at] = format!("{key} = {value}");
            }
        }
    }
    lines.join("\n")
}

#[test]
fn any_experiment_file_is_planned_or_refused() {
    let rounds = std::env::var("DBDUEL_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let files = lines();
    for round in 0..rounds {
        let text = changed(&files, &mut StdRng::seed_from_u64(round));
        let outcome = std::panic::catch_unwind(|| properties::experiment_file(text.as_bytes()));
        assert!(outcome.is_ok(), "round {round} fails on\n{text}");
    }
}
