//! Draws of the real pgbench and of ours against the distributions of its manual.

use anyhow::{Context, Result, ensure};
use script::pgbench::{DISTRIBUTIONS, Distribution};
use stats::chi_square_p;

use super::program::Pgbench;

/// Less is no chance; with a given seed the figures are always the same.
const P_MIN: f64 = 0.001;

/// Prints the probability of each; returns how many are not what the manual says.
pub fn compare(pgbench: &Pgbench, seed: u64, count: u64) -> Result<usize> {
    println!("{:<55} {:>10} draws of pgbench: probability", "distribution", count);
    let mut wrong = 0;
    for one in DISTRIBUTIONS {
        wrong += print(one, probability(pgbench, one, seed, count)?);
    }
    Ok(wrong)
}

/// The same of our own.
pub fn ours(seed: u64, count: u64) -> usize {
    println!("{:<55} {:>10} draws of ours: probability", "distribution", count);
    let drawn = |(at, one): (usize, &Distribution)| {
        let mut rng = load::Rng::stream(seed, at as u64, 1);
        let mut counts = vec![0; one.shares().len()];
        let values = (0..count).map(|_| one.draw(&mut rng));
        let outside = values.filter(|value| one.cell(*value).map(|cell| counts[cell] += 1).is_none()).count();
        print(one, if outside == 0 { chi_square_p(&counts, &one.shares()) } else { 0.0 })
    };
    DISTRIBUTIONS.iter().enumerate().map(drawn).sum()
}

fn print(one: &Distribution, p: f64) -> usize {
    println!("{:<55} {p:>10.4}  {}", one.call(), if p >= P_MIN { "ok" } else { "WRONG" });
    usize::from(p < P_MIN)
}

/// Draws in one transaction, so that it has few of them.
const DRAWS_EACH: u64 = 100;

fn probability(pgbench: &Pgbench, one: &Distribution, seed: u64, count: u64) -> Result<f64> {
    let script = format!("\\set x debug({})\n", one.call()).repeat(DRAWS_EACH as usize);
    let (times, seed) = (count.div_ceil(DRAWS_EACH).to_string(), format!("--random-seed={seed}"));
    let output = pgbench.run_well(Some(&script), &["-n", "-t", &times, &seed])?;
    let mut counts = vec![0; one.shares().len()];
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((_, value)) = line.split_once("): int ") else { continue };
        let cell = one.cell(value.parse()?).with_context(|| format!("{} gave {value}", one.call()))?;
        counts[cell] += 1;
    }
    ensure!(counts.iter().sum::<u64>() >= count, "{}: draws are missing", one.call());
    Ok(chi_square_p(&counts, &one.shares()))
}
