//! `cargo xtask conform-history`: our changes of a series beside those that Apache Otava finds in the same values.
//!
//! Series of forty ratios: without a change, with one, with two, in noise of one per cent. Both see the same values, in
//! one process each. Otava runs twice: with its defaults, and with the p value that we have.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::random::normal_pair;
use stats::{ChangePointRules, change_points};

#[derive(clap::Args)]
pub struct ConformHistory {
    /// A Python that has the package apache-otava
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// Series of each kind
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    series: u32,
}

const LENGTH: usize = 40;
const NOISE: f64 = 0.01;

/// What is planted: steps at these places, by these factors.
struct Kind {
    name: &'static str,
    steps: &'static [f64],
    /// Noise of the host now and then: so many of a hundred values are three times as far off.
    outliers: u32,
    /// We have to find every step, at its place or beside it.
    is_clean: bool,
}

const KINDS: [Kind; 6] = [
    Kind { name: "flat", steps: &[], outliers: 0, is_clean: false },
    Kind { name: "flat, outliers", steps: &[], outliers: 10, is_clean: false },
    Kind { name: "one step of 10 %", steps: &[0.9], outliers: 0, is_clean: true },
    Kind { name: "one step of 3 %", steps: &[0.97], outliers: 0, is_clean: false },
    Kind { name: "one step of 1.5 %", steps: &[0.985], outliers: 0, is_clean: false },
    Kind { name: "down 10 %, up again", steps: &[0.9, 1.1], outliers: 0, is_clean: true },
];

/// Reads series, and prints the changes that Otava finds, by its defaults and at a p value of 0.01.
const OTAVA: &str = r#"
import json, sys
from otava.series import AnalysisOptions, Metric, Series
def changes(values, options):
    series = Series("it", None, list(range(len(values))), {"ratio": Metric(1, 1.0, "")}, {"ratio": values}, {})
    return [int(change.index) for change in series.analyze(options).change_points["ratio"]]
like_ours = AnalysisOptions()
like_ours.max_pvalue = 0.01
for line in sys.stdin:
    values = json.loads(line)
    print(json.dumps([changes(values, AnalysisOptions()), changes(values, like_ours)]), flush=True)
"#;

struct Planted {
    values: Vec<f64>,
    at: Vec<usize>,
}

/// Of one kind of series and one program.
#[derive(Debug, Default)]
struct Score {
    exact: usize,
    /// One place beside the step.
    near: usize,
    missed: usize,
    /// Changes where none is.
    spurious: usize,
}

pub fn run(options: &ConformHistory) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let series: Vec<(usize, Planted)> = (0..KINDS.len())
        .flat_map(|kind| std::iter::repeat_n(kind, options.series as usize))
        .map(|kind| (kind, planted(&KINDS[kind], &mut random)))
        .collect();
    let theirs = otava(options, &series)?;
    println!(
        "{:<20}  {:<22}  {:>6}  {:>6}  {:>6}  {:>6}",
        "series of 40", "program", "exact", "beside", "missed", "false"
    );
    let mut scores: BTreeMap<(usize, usize), Score> = BTreeMap::new();
    for ((kind, planted), [by_default, like_ours]) in series.iter().zip(theirs) {
        let logs: Vec<f64> = planted.values.iter().map(|value| value.ln()).collect();
        let ours = change_points(&logs, ChangePointRules::default()).into_iter().map(|change| change.at).collect();
        for (program, found) in [ours, by_default, like_ours].iter().enumerate() {
            scores.entry((*kind, program)).or_default().add(&planted.at, found);
        }
    }
    for ((kind, program), score) in &scores {
        let name = ["dbduel", "Otava, defaults", "Otava, p at most 0.01"][*program];
        let Score { exact, near, missed, spurious } = score;
        println!("{:<20}  {name:<22}  {exact:>6}  {near:>6}  {missed:>6}  {spurious:>6}", KINDS[*kind].name);
    }
    judge(&scores, options.series as usize)
}

/// Clean steps are all found, and flat noise has no more false changes than theirs or than p allows.
fn judge(scores: &BTreeMap<(usize, usize), Score>, series: usize) -> Result<()> {
    for (kind, one) in KINDS.iter().enumerate() {
        let [ours, theirs] = [0, 1].map(|program| &scores[&(kind, program)]);
        if one.is_clean {
            ensure!(ours.missed == 0, "{}: {} steps were not found", one.name, ours.missed);
        }
        if one.steps.is_empty() {
            // Three standard deviations above one in a hundred.
            let expected = 0.01 * series as f64;
            let allowed = (expected + 3.0 * expected.sqrt()).max(theirs.spurious as f64);
            ensure!(ours.spurious as f64 <= allowed, "{}: {} false changes", one.name, ours.spurious);
        }
    }
    Ok(())
}

fn planted(kind: &Kind, random: &mut ChaCha8Rng) -> Planted {
    // Far enough from each other and from the ends for a level to be seen.
    let part = LENGTH / (kind.steps.len() + 1);
    let at: Vec<usize> =
        (0..kind.steps.len()).map(|step| (step + 1) * part + random.random_range(0..part / 2) - part / 4).collect();
    let level = |place: usize| -> f64 {
        at.iter().zip(kind.steps).filter(|(step, _)| place >= **step).map(|(_, factor)| factor).product()
    };
    let values = (0..LENGTH).map(|place| {
        let is_outlier = random.random_range(0..100) < kind.outliers;
        level(place) * (NOISE * normal_pair(random)[0] * if is_outlier { 3.0 } else { 1.0 }).exp()
    });
    let values = values.collect();
    Planted { values, at }
}

fn otava(options: &ConformHistory, series: &[(usize, Planted)]) -> Result<Vec<[Vec<usize>; 2]>> {
    let mut python = Command::new(&options.python)
        .args(["-c", OTAVA])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", options.python.display()))?;
    let mut lines = python.stdin.take().expect("it is piped");
    let text: String = series
        .iter()
        .map(|(_, planted)| serde_json::to_string(&planted.values).map(|line| line + "\n"))
        .collect::<Result<_, _>>()?;
    let writer = std::thread::spawn(move || lines.write_all(text.as_bytes()));
    let output = python.wait_with_output()?;
    writer.join().expect("no writer panics").ok();
    ensure!(
        output.status.success(),
        "Apache Otava did not run\n  next: python3 -m venv otava; otava/bin/pip install apache-otava; then --python otava/bin/python"
    );
    let found: Vec<[Vec<usize>; 2]> =
        String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(found.len() == series.len(), "Apache Otava answered for {} of {} series", found.len(), series.len());
    Ok(found)
}

impl Score {
    fn add(&mut self, planted: &[usize], found: &[usize]) {
        let mut left = found.to_vec();
        for step in planted {
            match left.iter().position(|at| at.abs_diff(*step) <= 1) {
                Some(place) if left.remove(place) == *step => self.exact += 1,
                Some(_) => self.near += 1,
                None => self.missed += 1,
            }
        }
        self.spurious += left.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_where_they_are_or_beside_and_the_rest_is_false() {
        let mut score = Score::default();
        score.add(&[10, 20, 30], &[10, 21, 25]);
        assert_eq!((score.exact, score.near, score.missed, score.spurious), (1, 1, 1, 1));
    }
}
