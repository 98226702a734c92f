//! Fuzz targets: built once with libFuzzer, the address sanitizer and checks of overflow, then run one after the other.
//!
//! The compiler is the one of everything else: it is told that it may do what only nightly builds may.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::files::names;
use crate::programs::run;

#[derive(Args)]
pub struct Fuzz {
    /// The target: a file in fuzz/src/bin, without its ending
    #[arg(required_unless_present = "all")]
    name: Option<String>,
    /// Every target, one after the other
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// How long each target runs
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// End after so many inputs instead
    #[arg(long, conflicts_with = "seconds")]
    runs: Option<u64>,
    /// Make the inputs from this seed and the pieces of the language, without a fuzzer; for targets of scripts and logs
    #[arg(long, requires = "runs", conflicts_with = "all")]
    pub seed: Option<u64>,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What `cargo fuzz` gives, and nothing of nightly but the sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Zsanitizer=address -Cdebug-assertions \
    -Coverflow-checks -Ccodegen-units=1 -Cforce-frame-pointers";
/// A parser that takes a second for an input, or as much memory, is at fault.
const LIMITS: [&str; 3] = ["-timeout=1", "-rss_limit_mb=512", "-print_final_stats=1"];
/// Long enough for what a parser keeps of several messages.
const LENGTH_MAX: &str = "-max_len=8192";

impl Fuzz {
    /// What makes the inputs without a fuzzer.
    pub fn seeded(&self) -> Option<[String; 4]> {
        let (name, runs, seed) = (self.name.as_ref()?, self.runs?, self.seed?);
        Some(["fuzz-inputs".to_owned(), name.clone(), runs.to_string(), seed.to_string()])
    }
}

pub fn fuzz(options: &Fuzz, root: &Path) -> Result<()> {
    let folder = root.join("fuzz");
    let files = names(&folder.join("src/bin"))?;
    let all: Vec<&str> = files.iter().filter_map(|file| file.strip_suffix(".rs")).collect();
    let is_chosen = |one: &&str| options.all || options.name.as_deref() == Some(*one);
    let chosen: Vec<&str> = all.iter().copied().filter(is_chosen).collect();
    if chosen.is_empty() {
        bail!("no fuzz target `{}`; there are: {}", options.name.as_deref().unwrap_or_default(), all.join(", "));
    }
    let one: Vec<&str> = options.name.iter().flat_map(|name| ["--bin", name.as_str()]).collect();
    let build = ["build", "--release", "--quiet", "--target", TARGET];
    // What builds the workspace is not for this one.
    let plain = [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", FLAGS), ("RUSTC_WORKSPACE_WRAPPER", "")];
    run(&folder, "cargo", &[&build, one.as_slice()].concat(), &plain)?;
    let end = match options.runs {
        Some(runs) => format!("-runs={runs}"),
        None => format!("-max_total_time={}", options.seconds),
    };
    let mut failed = Vec::new();
    for name in chosen {
        let ran = fuzz_one(&folder, name, &end).with_context(|| format!("fuzz target {name}"))?;
        println!("{name:<24} {ran}");
        failed.extend(ran.fault.map(|fault| format!("{name}: {fault}")));
    }
    ensure!(failed.is_empty(), "inputs that fail lie in fuzz/artifacts\n  {}", failed.join("\n  "));
    Ok(())
}

/// What the fuzzer says of a target at its end.
struct Ran {
    inputs: u64,
    memory_mb: u64,
    fault: Option<String>,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { inputs, memory_mb, fault } = self;
        write!(f, "{inputs:>12} inputs {memory_mb:>5} MB  {}", fault.as_deref().unwrap_or("no fault"))
    }
}

/// New inputs that reach further go to `corpus`; what stays in the repository is under `seeds`.
fn fuzz_one(folder: &Path, name: &str, end: &str) -> Result<Ran> {
    let [corpus, seeds, artifacts] = ["corpus", "seeds", "artifacts"].map(|part| folder.join(part).join(name));
    for made in [&corpus, &artifacts] {
        std::fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
    }
    let mut command = Command::new(folder.join("target").join(TARGET).join("release").join(name));
    command.args(LIMITS).args([LENGTH_MAX, end]).arg(format!("-artifact_prefix={}/", artifacts.display()));
    let output = command.arg(&corpus).args(seeds.is_dir().then_some(&seeds)).output().context("cannot start it")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    let is_fault = |line: &&str| ["panicked at", "ERROR: ", "SUMMARY: "].iter().any(|word| line.contains(word));
    let fault = || text.lines().find(is_fault).unwrap_or("it ended with an error").trim().to_owned();
    Ok(Ran {
        inputs: number("number_of_executed_units").unwrap_or(0),
        memory_mb: number("peak_rss_mb").unwrap_or(0),
        fault: (!output.status.success()).then(fault),
    })
}
