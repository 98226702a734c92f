//! One duel through `dbduel run`, which does not know who was slowed.
//!
//! Names and places in the experiment file are drawn; only here is it known which name is whose.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use load::Rng;
use serde_json::Value;

use super::calibration::ROWS;
use super::rig::{Rig, SIDES, Side};
use crate::findings::{Finding, findings};

/// What a contender may be called.
const NAMES: [&str; 8] = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath"];

/// What a duel is made of.
pub struct Form {
    pub clients: u32,
    pub blocks: u32,
    pub seconds: f64,
}

/// The result of dbduel, turned so that it is the slowed side over the untouched one.
#[derive(Debug, Clone)]
pub struct DuelResult {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub word: String,
    pub caveats: Vec<String>,
    pub blocks: u64,
    /// Absent where dbduel had none.
    pub mde: Option<f64>,
    /// Of the blocks' log ratios; absent with fewer than two.
    pub sd: Option<f64>,
    pub minutes: f64,
    pub findings: Vec<Finding>,
    pub trials_generator_bound: u64,
}

/// Draws names and places, runs, and reads the answer. `start` starts the command that it is given.
pub fn duel(
    rig: &Rig,
    form: &Form,
    dbduel: &Path,
    rng: &mut Rng,
    start: &dyn Fn(&mut Command) -> Result<Child>,
) -> Result<DuelResult> {
    let folder = tempfile::tempdir()?;
    let names = draw_names(rng);
    let name_of = |side: Side| names[side as usize];
    let first = SIDES[rng.below(2) as usize];
    let second = SIDES[1 - first as usize];
    let mut text = format!("name = \"duel\"\nbaseline = \"{}\"\n", name_of(first));
    for side in [first, second] {
        let password_file = rig.password_file(side, folder.path())?;
        text += &format!(
            "\n[[contender]]\nname = \"{}\"\ntarget = \"{}\"\npassword_file = \"{}\"\n",
            name_of(side),
            rig.url(side)?,
            password_file.display()
        );
    }
    text += &format!(
        "\n[workload]\nname = \"oltp_point_select\"\nrows = {ROWS}\n\n[sweep]\nclients = [{}]\n\n\
         [method]\npreset = \"quick\"\nblocks = {}\nduration = \"{}ms\"\nwarmup = \"500ms\"\n",
        form.clients,
        form.blocks,
        (form.seconds * 1000.0).round()
    );
    let file = folder.path().join("duel.toml");
    std::fs::write(&file, text)?;
    let seed = (rng.below(1 << 31)).to_string();
    let started = Instant::now();
    let mut command = Command::new(dbduel);
    command.args(["run", "--json", "--accept-noisy", "--seed", &seed, "--runs"]).arg(folder.path()).arg(&file);
    let child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("dbduel run failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let report = serde_json::from_slice(&output.stdout).context("dbduel run --json printed no JSON")?;
    read(&report, name_of(Side::Slowed), started.elapsed())
}

fn draw_names(rng: &mut Rng) -> [&'static str; 2] {
    let first = rng.below(NAMES.len() as u64) as usize;
    let further = 1 + rng.below(NAMES.len() as u64 - 1) as usize;
    [NAMES[first], NAMES[(first + further) % NAMES.len()]]
}

fn read(report: &Value, slowed: &str, took: Duration) -> Result<DuelResult> {
    let comparisons = report["comparisons"].as_array().context("the report has no comparisons")?;
    let whole = comparisons.iter().find(|comparison| comparison["point"].is_null() && comparison["metric"] == "tps");
    let whole = whole.context("the report has no comparison of the whole sweep")?;
    let number = |key: &str| whole[key].as_f64().with_context(|| format!("the comparison has no {key}"));
    let caveats = whole["caveats"].as_array().into_iter().flatten();
    let is_candidate = whole["candidate"] == slowed;
    let (ratio, low, high) = (number("ratio")?, number("low")?, number("high")?);
    let (ratio, low, high) = if is_candidate { (ratio, low, high) } else { (1.0 / ratio, 1.0 / high, 1.0 / low) };
    let word = match (whole["verdict"].as_str().context("the comparison has no verdict")?, is_candidate) {
        ("faster", false) => "slower",
        ("slower", false) => "faster",
        (word, _) => word,
    };
    Ok(DuelResult {
        ratio,
        low,
        high,
        word: word.to_owned(),
        caveats: caveats.filter_map(|caveat| caveat.as_str().map(str::to_owned)).collect(),
        blocks: whole["blocks"].as_u64().context("the comparison has no blocks")?,
        mde: whole["mde"].as_f64(),
        sd: sd(&block_log_ratios(report, slowed)),
        minutes: took.as_secs_f64() / 60.0,
        findings: findings(report),
        trials_generator_bound: report["client"]["checks"]["trials_generator_bound"].as_u64().unwrap_or(0),
    })
}

/// Of the blocks in which both contenders had a trial.
fn block_log_ratios(report: &Value, slowed: &str) -> Vec<f64> {
    let mut blocks = std::collections::BTreeMap::<u64, [Option<f64>; 2]>::new();
    for trial in report["trials"].as_array().into_iter().flatten() {
        if let (Some(block), Some(tps)) = (trial["block"].as_u64(), trial["metrics"]["tps"].as_f64()) {
            blocks.entry(block).or_default()[usize::from(trial["contender"] == slowed)] = Some(tps);
        }
    }
    blocks.values().filter_map(|pair| Some((pair[1]? / pair[0]?).ln())).collect()
}

fn sd(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(baseline: &str, candidate: &str, word: &str) -> Value {
        let trial = |block: u64, contender: &str, tps: f64| serde_json::json!({ "block": block, "contender": contender, "metrics": { "tps": tps } });
        serde_json::json!({
            "comparisons": [{ "baseline": baseline, "candidate": candidate, "point": null, "metric": "tps",
                "ratio": 0.8, "low": 0.5, "high": 1.0, "verdict": word, "caveats": ["quick"], "blocks": 2, "mde": 0.03 }],
            "trials": [trial(1, candidate, 80.0), trial(1, baseline, 100.0), trial(2, baseline, 100.0),
                trial(2, candidate, 90.0), trial(3, candidate, 70.0)],
            "findings": [{ "kind": "noisy host", "text": "x" }],
            "client": { "checks": { "trials_generator_bound": 3 } },
        })
    }

    #[test]
    fn results_are_turned_to_the_slowed_side() {
        let as_candidate = read(&report("amber", "birch", "slower"), "birch", Duration::from_secs(90)).unwrap();
        assert_eq!((as_candidate.ratio, as_candidate.low, as_candidate.high), (0.8, 0.5, 1.0));
        assert_eq!((as_candidate.word.as_str(), as_candidate.minutes), ("slower", 1.5));
        assert_eq!(as_candidate.findings[0].kind, "noisy host");
        assert_eq!((as_candidate.caveats, as_candidate.trials_generator_bound), (vec!["quick".to_owned()], 3));
        let as_baseline = read(&report("amber", "birch", "slower"), "amber", Duration::ZERO).unwrap();
        assert_eq!((as_baseline.ratio, as_baseline.low, as_baseline.high), (1.25, 1.0, 2.0));
        assert_eq!(as_baseline.word, "faster");
    }

    #[test]
    fn the_spread_is_that_of_whole_pairs() {
        let log_ratios = block_log_ratios(&report("amber", "birch", "slower"), "birch");
        assert_eq!(log_ratios, [0.8_f64.ln(), 0.9_f64.ln()]);
        assert!((sd(&log_ratios).unwrap() - (0.9_f64 / 0.8).ln() / 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(sd(&log_ratios[..1]), None);
    }

    #[test]
    fn two_contenders_never_get_one_name() {
        let mut rng = Rng::stream(1, 2, 3);
        assert!((0..1000).map(|_| draw_names(&mut rng)).all(|[one, other]| one != other));
    }
}
