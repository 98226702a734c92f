//! Planted differences: one side has a setting that makes known kinds slower, and leaves others as they were. Exactly
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
        name: "the log is flushed at each commit",
        engine: "mariadb@system",
        sound: "innodb_flush_log_at_trx_commit = 0",
        planted: "innodb_flush_log_at_trx_commit = 1",
        slower: &["write/commit", "write/insert", "write/update-index"],
        untouched: &["point/pk", "range/pk-100", "aggregate/sum-1000"],
    },
    Plant {
        name: "no index is used",
        engine: "postgres@system",
        sound: "",
        planted: "enable_indexscan = \"off\", enable_bitmapscan = \"off\", enable_indexonlyscan = \"off\"",
        slower: &["point/pk", "point/secondary", "range/pk-100"],
        // Without `point/round-trip`: it was at 0.7 with as many context switches, for a reason that is not known.
        untouched: &["range/scan", "range/scan-like", "aggregate/sum-all"],
    },
];

/// Six kinds share the error of 5 %, which takes eight blocks where all of them agree.
const BLOCKS: u32 = 10;

/// What is wrong of each plant, a line each.
pub fn run(dbduel: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for plant in &PLANTS {
        let table = measured(plant, dbduel).with_context(|| format!("planted: {}", plant.name))?;
        let found = faults(plant, &table);
        println!("planted, {}: {}\n{table}", plant.name, if found.is_empty() { "right" } else { "WRONG" });
        wrong.extend(found.into_iter().map(|what| format!("planted, {}: {what}", plant.name)));
    }
    Ok(wrong)
}

fn experiment(plant: &Plant) -> String {
    let kinds: Vec<String> = plant.slower.iter().chain(plant.untouched).map(|kind| format!("\"{kind}\"")).collect();
    let contender = |name: &str, settings: &str| {
        let engine = plant.engine;
        format!("[[contender]]\nname = \"{name}\"\nengine = \"{engine}\"\nsettings = {{ {settings} }}\n\n")
    };
    format!(
        "name = \"planted\"\nworkload = {{ name = \"micro\", rows = 20_000, seconds = \"250ms\", kinds = [{}] }}\n\
         method = {{ preset = \"quick\", blocks = {BLOCKS}, stop = \"never\" }}\n\n{}{}",
        kinds.join(", "),
        contender("sound", plant.sound),
        contender("planted", plant.planted)
    )
}

/// The relative rates; what has a verdict is bold.
fn measured(plant: &Plant, dbduel: &Path) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("planted.toml");
    std::fs::write(&file, experiment(plant))?;
    let runs = folder.path().join("runs");
    asked(Command::new(dbduel).args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&file))?;
    asked(Command::new(dbduel).args(["report", "last", "--format", "relative-markdown", "--runs"]).arg(&runs))
}

fn asked(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "dbduel failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn faults(plant: &Plant, table: &str) -> Vec<String> {
    // `| point/pk | 1.00 | **0.20** |`
    let ratio = |kind: &str| {
        let row = table.lines().find(|line| line.starts_with(&format!("| {kind} |")))?;
        row.split('|').nth(3).map(|cell| cell.trim().to_owned())
    };
    let is_slower = |cell: &str| cell.trim_matches('*').parse().is_ok_and(|ratio: f64| ratio < 1.0);
    let missed = plant.slower.iter().filter_map(|kind| {
        let cell = ratio(kind).unwrap_or_default();
        (!cell.starts_with("**") || !is_slower(&cell)).then(|| format!("{kind} is slower, and has `{cell}`"))
    });
    let invented = plant.untouched.iter().filter_map(|kind| {
        let cell = ratio(kind).unwrap_or_default();
        (cell.is_empty() || cell.starts_with("**")).then(|| format!("{kind} is untouched, and has `{cell}`"))
    });
    missed.chain(invented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_must_have_a_verdict_and_what_is_untouched_none() {
        let table = |commit: &str, pk: &str| {
            let row = |kind: &str, cell: &str| format!("| {kind} | 1.00 | {cell} |\n");
            let writes =
                row("write/commit", commit) + &row("write/insert", "**0.5**") + &row("write/update-index", "**0.5**");
            writes + &row("point/pk", pk) + &row("range/pk-100", "1.01") + &row("aggregate/sum-1000", "0.99")
        };
        let check = |commit: &str, pk: &str, expected: usize| {
            assert_eq!(faults(&PLANTS[0], &table(commit, pk)).len(), expected, "{commit} {pk}");
        };
        check("**0.40**", "0.99", 0);
        check("0.40", "0.99", 1);
        check("**1.40**", "**0.99**", 2);
        check("**0.40**", "", 1);
    }
}
