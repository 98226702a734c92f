//! The real pgbench's draws against the distributions of its manual, as ours are in the tests of `script`.

use anyhow::{Context, Result, ensure};
use script::pgbench::{DISTRIBUTIONS, Distribution};
use stats::chi_square_p;

use super::program::Pgbench;

/// Less is no chance.
const P_MIN: f64 = 1e-6;

/// Prints the probability of each; returns how many are not what the manual says.
pub fn compare(pgbench: &Pgbench, seed: u64, count: u64) -> Result<usize> {
    println!("{:<55} {:>10} draws of pgbench: probability", "distribution", count);
    let mut wrong = 0;
    for one in DISTRIBUTIONS {
        let p = probability(pgbench, one, seed, count)?;
        let verdict = if p >= P_MIN { "ok" } else { "WRONG" };
        wrong += usize::from(p < P_MIN);
        println!("{:<55} {p:>10.4}  {verdict}", one.call());
    }
    Ok(wrong)
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
