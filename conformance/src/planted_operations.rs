//! Planted differences: one side has a setting that makes known operations slower, and leaves others as they were. Exactly
//! those must have a verdict.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub struct Plant {
    pub name: &'static str,
    pub engine: &'static str,
    pub sound: &'static str,
    pub planted: &'static str,
    pub slower: &'static [&'static str],
    pub untouched: &'static [&'static str],
}

/// What is planted in a workload whose operations are chosen by a key.
pub struct Planted {
    /// Its keys in one line, without that one.
    pub workload: &'static str,
    pub key: &'static str,
    /// All of them share the error of 5 %, and a verdict takes so many blocks where all agree.
    pub blocks: u32,
    pub plants: &'static [Plant],
}

impl Planted {
    /// What is wrong of each plant, a line each.
    pub fn run(&self, dbduel: &Path) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for plant in self.plants {
            let verdicts = self.measured(plant, dbduel).with_context(|| format!("planted: {}", plant.name))?;
            let found = faults(plant, &verdicts);
            println!("planted, {}: {}", plant.name, if found.is_empty() { "right" } else { "WRONG" });
            verdicts.iter().for_each(|(name, verdict, ratio)| println!("  {name:<20} {ratio:>7.3}  {verdict}"));
            wrong.extend(found.into_iter().map(|what| format!("planted, {}: {what}", plant.name)));
        }
        Ok(wrong)
    }

    fn experiment(&self, plant: &Plant) -> String {
        let Planted { workload, key, blocks, .. } = self;
        let names = plant.slower.iter().chain(plant.untouched);
        let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        let contender = |name: &str, settings: &str| {
            let engine = plant.engine;
            format!("[[contender]]\nname = \"{name}\"\nengine = \"{engine}\"\nsettings = {{ {settings} }}\n\n")
        };
        format!(
            "name = \"planted\"\nworkload = {{ {workload}, {key} = [{}] }}\n\
             method = {{ preset = \"quick\", blocks = {blocks}, stop = \"never\" }}\n\n{}{}",
            names.join(", "),
            contender("sound", plant.sound),
            contender("planted", plant.planted)
        )
    }

    /// Each operation with its verdict and its ratio.
    fn measured(&self, plant: &Plant, dbduel: &Path) -> Result<Vec<(String, String, f64)>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("planted.toml");
        std::fs::write(&file, self.experiment(plant))?;
        let runs = folder.path().join("runs");
        asked(Command::new(dbduel).args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&file))?;
        let report = asked(Command::new(dbduel).args(["report", "last", "--format", "json", "--runs"]).arg(&runs))?;
        let report: Value = serde_json::from_str(&report)?;
        let rows = report["comparisons"].as_array().context("a report has comparisons")?;
        let verdict = |row: &Value| {
            let (name, _) = row["metric"].as_str()?.strip_prefix("op.")?.rsplit_once('.')?;
            Some((name.to_owned(), row["verdict"].as_str()?.to_owned(), row["ratio"].as_f64()?))
        };
        Ok(rows.iter().filter_map(verdict).collect())
    }
}

fn asked(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "dbduel failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What is untouched may be shown to be alike, and has no other verdict.
fn faults(plant: &Plant, verdicts: &[(String, String, f64)]) -> Vec<String> {
    let of = |wanted: &str| verdicts.iter().find(|(name, ..)| name == wanted).map_or("none", |(_, verdict, _)| verdict);
    let missed = plant.slower.iter().filter(|name| of(name) != "slower");
    let missed = missed.map(|name| format!("{name} is slower, and its verdict is `{}`", of(name)));
    let changed = |name: &&&str| !["inconclusive", "no difference shown"].contains(&of(name));
    let invented = plant.untouched.iter().filter(changed);
    let invented = invented.map(|name| format!("{name} is untouched, and its verdict is `{}`", of(name)));
    missed.chain(invented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_must_have_a_verdict_and_what_is_untouched_none() {
        const PLANT: Plant =
            Plant { name: "p", engine: "e", sound: "", planted: "", slower: &["Q4", "Q14"], untouched: &["Q1", "Q21"] };
        let verdicts = |slow: &str, other: &str| {
            let row = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned(), 1.0);
            vec![row("Q4", slow), row("Q14", "slower"), row("Q1", other), row("Q21", "no difference shown")]
        };
        let check = |slow: &str, other: &str, expected: usize| {
            assert_eq!(faults(&PLANT, &verdicts(slow, other)).len(), expected, "{slow} {other}");
        };
        check("slower", "inconclusive", 0);
        check("inconclusive", "inconclusive", 1);
        check("faster", "slower", 2);
        assert_eq!(faults(&PLANT, &[]).len(), 4);
    }
}
