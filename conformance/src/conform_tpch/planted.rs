//! Planted differences: one side has a setting that makes known queries slower, and leaves others as they were. Exactly
//! those must have a verdict.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

struct Plant {
    name: &'static str,
    engine: &'static str,
    sound: &'static str,
    planted: &'static str,
    slower: &'static [&'static str],
    untouched: &'static [&'static str],
}

const PLANTS: [Plant; 2] = [
    Plant {
        name: "sorts and hashes spill",
        engine: "postgres@system",
        sound: "work_mem = \"64MB\", max_parallel_workers_per_gather = 0",
        planted: "work_mem = \"64kB\", max_parallel_workers_per_gather = 0",
        // Bitmaps of rows become bitmaps of pages, and hash joins take several batches.
        slower: &["Q4", "Q14"],
        untouched: &["Q1", "Q21"],
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "max_parallel_workers_per_gather = 0",
        planted: "max_parallel_workers_per_gather = 0, enable_indexscan = \"off\", enable_bitmapscan = \"off\", \
                  enable_indexonlyscan = \"off\"",
        slower: &["Q2", "Q17"],
        untouched: &["Q1", "Q13"],
    },
];

/// Four queries share the error of 5 %, which takes nine blocks where all of them agree.
const BLOCKS: u32 = 10;

/// What is wrong of each plant, a line each.
pub fn run(dbduel: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for plant in &PLANTS {
        let verdicts = measured(plant, dbduel).with_context(|| format!("planted: {}", plant.name))?;
        let found = faults(plant, &verdicts);
        println!("planted, {}: {}", plant.name, if found.is_empty() { "right" } else { "WRONG" });
        verdicts.iter().for_each(|(query, verdict, ratio)| println!("  {query:<4} {ratio:>7.3}  {verdict}"));
        wrong.extend(found.into_iter().map(|what| format!("planted, {}: {what}", plant.name)));
    }
    Ok(wrong)
}

fn experiment(plant: &Plant) -> String {
    let queries: Vec<String> = plant.slower.iter().chain(plant.untouched).map(|name| format!("\"{name}\"")).collect();
    let contender = |name: &str, settings: &str| {
        let engine = plant.engine;
        format!("[[contender]]\nname = \"{name}\"\nengine = \"{engine}\"\nsettings = {{ {settings} }}\n\n")
    };
    format!(
        "name = \"planted\"\n\
         workload = {{ name = \"tpch\", parameters = \"validation\", statement_limit = \"5s\", queries = [{}] }}\n\
         method = {{ preset = \"quick\", blocks = {BLOCKS}, stop = \"never\" }}\n\n{}{}",
        queries.join(", "),
        contender("sound", plant.sound),
        contender("planted", plant.planted)
    )
}

/// Each query with its verdict and its ratio.
fn measured(plant: &Plant, dbduel: &Path) -> Result<Vec<(String, String, f64)>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("planted.toml");
    std::fs::write(&file, experiment(plant))?;
    let runs = folder.path().join("runs");
    asked(Command::new(dbduel).args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&file))?;
    let report = asked(Command::new(dbduel).args(["report", "last", "--format", "json", "--runs"]).arg(&runs))?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    let rows = report["comparisons"].as_array().context("a report has comparisons")?;
    let verdict = |row: &serde_json::Value| {
        let query = row["metric"].as_str()?.strip_prefix("op.")?.strip_suffix(".seconds")?;
        Some((query.to_owned(), row["verdict"].as_str()?.to_owned(), row["ratio"].as_f64()?))
    };
    Ok(rows.iter().filter_map(verdict).collect())
}

fn asked(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "dbduel failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What is untouched may be shown to be alike, and has no other verdict.
fn faults(plant: &Plant, verdicts: &[(String, String, f64)]) -> Vec<String> {
    let of = |query: &str| verdicts.iter().find(|(name, ..)| name == query).map_or("none", |(_, verdict, _)| verdict);
    let missed = plant.slower.iter().filter(|query| of(query) != "slower");
    let missed = missed.map(|query| format!("{query} is slower, and its verdict is `{}`", of(query)));
    let changed = |query: &&&str| !["inconclusive", "no difference shown"].contains(&of(query));
    let invented = plant.untouched.iter().filter(changed);
    let invented = invented.map(|query| format!("{query} is untouched, and its verdict is `{}`", of(query)));
    missed.chain(invented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_must_have_a_verdict_and_what_is_untouched_none() {
        let verdicts = |slow: &str, other: &str| {
            let row = |query: &str, verdict: &str| (query.to_owned(), verdict.to_owned(), 1.0);
            vec![row("Q4", slow), row("Q14", "slower"), row("Q1", other), row("Q21", "no difference shown")]
        };
        let check = |slow: &str, other: &str, expected: usize| {
            assert_eq!(faults(&PLANTS[0], &verdicts(slow, other)).len(), expected, "{slow} {other}");
        };
        check("slower", "inconclusive", 0);
        check("inconclusive", "inconclusive", 1);
        check("faster", "slower", 2);
        assert_eq!(faults(&PLANTS[0], &[]).len(), 4);
    }
}
