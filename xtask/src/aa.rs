//! `cargo xtask aa`: a contender against its twin must be "no difference".
//!
//! Level 7 of our tests, on the whole program: the same SQLite under two names, through `dbduel run`
//! and its JSON report. By the rule at most one word in twenty may be false, so one in the few runs
//! here is bad luck and two are a bug (five runs: 1 in 44 for an instrument that is just as good as
//! it claims). It says nothing about how small a difference would be seen.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::held::dbduel;

#[derive(clap::Args)]
pub struct Twins {
    /// Runs, of about twelve seconds each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
}

/// One client and a read-only workload: what is left to differ is the instrument.
const EXPERIMENT: &str = r#"
name = "twins"
question = "Is a contender faster than its twin?"
baseline = "twin A"

[[contender]]
name = "twin A"
engine = "sqlite"

[[contender]]
name = "twin B"
engine = "sqlite"

[workload]
name = "oltp_read_only"
rows = 10_000

[sweep]
clients = [1]

[method]
preset = "quick"
blocks = 8
duration = "500ms"
warmup = "100ms"
"#;

/// Words that claim a difference.
const CLAIMS: [&str; 2] = ["faster", "slower"];

pub fn run(options: &Twins, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("twins.toml");
    std::fs::write(&file, EXPERIMENT)?;
    let mut claims = 0;
    for seed in 1..=options.runs {
        let report = run_once(&dbduel, &file, folder.path(), seed)?;
        let whole = whole_sweep(&report)?;
        let number = |key: &str| whole[key].as_f64().unwrap_or(f64::NAN);
        let word = whole["word"].as_str().context("the comparison has no word")?;
        claims += u32::from(CLAIMS.contains(&word));
        println!(
            "run {seed}: ratio {:.4} ({:.4} to {:.4}, {} blocks), {word}",
            number("ratio"),
            number("low"),
            number("high"),
            whole["blocks"]
        );
        ensure!(whole["blocks"].as_u64() >= Some(8), "too few blocks for a word; the run proves nothing");
    }
    ensure!(claims <= 1, "{claims} of {} runs told twins apart", options.runs);
    Ok(())
}

fn run_once(dbduel: &Path, file: &Path, runs: &Path, seed: u32) -> Result<Value> {
    let output = Command::new(dbduel)
        .args(["run", "--json", "--accept-noisy", "--seed", &seed.to_string(), "--runs"])
        .arg(runs.join(format!("seed-{seed}")))
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .context("cannot start dbduel")?;
    if !output.status.success() {
        bail!("dbduel run failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("dbduel run --json printed no JSON")
}

/// The comparison that the headline is made of.
fn whole_sweep(report: &Value) -> Result<&Value> {
    let comparisons = report["comparisons"].as_array().context("the report has no comparisons")?;
    let whole = comparisons.iter().find(|comparison| comparison["point"].is_null() && comparison["metric"] == "tps");
    whole.context("the report has no comparison of the whole sweep")
}
