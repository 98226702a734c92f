//! Planted differences: one side has something that makes known operations slower, and leaves others as they were. Exactly
//! those must have a verdict.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::Dialect;
use serde_json::Value;

use crate::held::Held;

/// Settings that differ.
pub struct Plant {
    pub name: &'static str,
    pub engine: &'static str,
    pub sound: &'static str,
    pub planted: &'static str,
    pub expected: Expected,
}

/// What is done again and again to the tables of one of two servers that are alike.
pub struct Sabotage {
    pub name: &'static str,
    pub engine: &'static str,
    /// What both servers are started with. Where memory is short, whatever reads more keeps more of it for others.
    pub settings: &'static [&'static str],
    pub statements: &'static [&'static str],
    pub expected: Expected,
}

/// Names of operations; the untouched may be shown to be alike, and have no other verdict.
#[derive(Clone, Copy)]
pub struct Expected {
    pub slower: &'static [&'static str],
    pub untouched: &'static [&'static str],
    pub cause: Cause,
}

/// What a report is to name as the reason.
#[derive(Clone, Copy)]
pub enum Cause {
    None,
    /// A plan that is another one, of those that are slower and of no others.
    OtherPlan,
    /// By its name, of the side that is planted, and no plan of an untouched operation.
    Named(&'static str),
}

/// How planted differences of a workload are measured whose operations are chosen by a key.
pub struct Planted {
    /// Its keys in one line, without that one.
    pub workload: &'static str,
    pub key: &'static str,
    /// All operations share the error of 5 %, and a verdict takes so many blocks where all agree.
    pub blocks: u32,
}

/// Which are measured, and how often.
pub struct Runs<'a> {
    pub dbduel: &'a Path,
    pub of_each: u32,
    /// A word of their names; all of them without.
    pub only: Option<&'a str>,
}

impl Runs<'_> {
    pub fn includes(&self, name: &str) -> bool {
        self.only.is_none_or(|word| name.contains(word))
    }
}

/// What a report says of the operations.
struct Said {
    verdicts: Vec<Verdict>,
    /// Those whose plans may explain their verdicts.
    plans: Vec<String>,
    /// Causes of the side that is planted.
    causes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    operation: String,
    verdict: String,
    ratio: f64,
}

impl Planted {
    /// What is wrong of each, a line each.
    pub fn settings(&self, plants: &[Plant], runs: &Runs) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for plant in plants {
            let server = |settings: &str| format!("engine = \"{}\"\nsettings = {{ {settings} }}", plant.engine);
            let sides = [server(plant.sound), server(plant.planted)];
            wrong.extend(self.judged(plant.name, &sides, plant.expected, runs)?);
        }
        Ok(wrong)
    }

    /// What is wrong of each, a line each.
    pub fn sabotages(&self, all: &[Sabotage], runs: &Runs) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for one in all.iter().filter(|one| runs.includes(one.name)) {
            let words = [&["--tcp"], one.settings].concat();
            let servers = [(); 2].map(|()| Held::start_or_fail(runs.dbduel, one.engine, &words));
            let [sound, harmed] = servers;
            let (sound, harmed) = (sound?, harmed?);
            let sides = [side(&sound, sound.port()?)?, side(&harmed, harmed.port()?)?];
            let has_ended = AtomicBool::new(false);
            wrong.extend(thread::scope(|scope| {
                let harming = scope.spawn(|| harm(&harmed, one.statements, &has_ended));
                let judged = self.judged(one.name, &sides, one.expected, runs);
                has_ended.store(true, Ordering::Relaxed);
                harming.join().expect("statements of one server do not panic")?;
                judged
            })?);
            sound.stop()?;
            harmed.stop()?;
        }
        Ok(wrong)
    }

    /// Of `sides`, each the keys of a contender, the second is planted. One run in twenty may be wrong.
    pub fn judged(&self, name: &str, sides: &[String; 2], expected: Expected, runs: &Runs) -> Result<Option<String>> {
        if !runs.includes(name) {
            return Ok(None);
        }
        let mut faulty = Vec::new();
        for run in 1..=runs.of_each {
            let file = self.experiment(sides, expected, run);
            let said = measured(&file, runs.dbduel).with_context(|| format!("planted: {name}, run {run}"))?;
            let found = [faults(expected, &said.verdicts), faults_of_causes(expected, &said)].concat();
            if run == 1 || !found.is_empty() {
                println!("planted, {name}, run {run}: {}", if found.is_empty() { "right" } else { "WRONG" });
                let line = |one: &Verdict| println!("  {:<24} {:>7.3}  {}", one.operation, one.ratio, one.verdict);
                said.verdicts.iter().for_each(line);
                said.plans.iter().for_each(|statement| println!("  {statement:<24} has another plan, which is named"));
                said.causes.iter().for_each(|cause| println!("  cause: {cause}"));
            }
            faulty.extend((!found.is_empty()).then(|| format!("run {run}: {}", found.join(", "))));
        }
        let (count, wrong) = (runs.of_each, faulty.len() as u32);
        println!("planted, {name}: right in {} of {count}", count - wrong);
        let enough = wrong <= count / 20;
        Ok((!enough).then(|| format!("planted, {name}: {}", faulty.join("; "))))
    }

    fn experiment(&self, sides: &[String; 2], expected: Expected, seed: u32) -> String {
        let Planted { workload, key, blocks } = self;
        let names = expected.slower.iter().chain(expected.untouched);
        let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        let [sound, planted] = sides;
        format!(
            "name = \"planted\"\nworkload = {{ {workload}, {key} = [{}] }}\n\
             method = {{ preset = \"quick\", blocks = {blocks}, stop = \"never\", seed = {seed} }}\n\n\
             [[contender]]\nname = \"sound\"\n{sound}\n\n[[contender]]\nname = \"planted\"\n{planted}\n",
            names.join(", "),
        )
    }
}

/// The keys of a contender that is a held server, reached by this port.
pub fn side(server: &Held, port: u16) -> Result<String> {
    let word = |key: &str| server.text(key);
    let (user, password, database) = (word("user")?, word("password")?, word("database")?);
    let scheme = if server.dialect() == Dialect::Postgres { "postgres" } else { "mysql" };
    Ok(format!("target = \"{scheme}://{user}:{password}@127.0.0.1:{port}/{database}\""))
}

/// The tables are loaded when a run begins; before that there is nothing to harm.
fn harm(server: &Held, statements: &[&str], has_ended: &AtomicBool) -> Result<()> {
    let mut admin = server.admin(server.text("database")?)?;
    while !has_ended.load(Ordering::Relaxed) {
        for statement in statements {
            let _ = admin.run(statement);
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// What a run of this experiment says of each operation.
fn measured(experiment: &str, dbduel: &Path) -> Result<Said> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("planted.toml");
    std::fs::write(&file, experiment)?;
    let runs = folder.path().join("runs");
    asked(Command::new(dbduel).args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&file))?;
    let report = asked(Command::new(dbduel).args(["report", "last", "--format", "json", "--runs"]).arg(&runs))?;
    let report: Value = serde_json::from_str(&report)?;
    let rows = report["comparisons"].as_array().context("a report has comparisons")?;
    let verdict = |row: &Value| {
        let (operation, _) = row["metric"].as_str()?.strip_prefix("op.")?.rsplit_once('.')?;
        let (verdict, ratio) = (row["verdict"].as_str()?, row["ratio"].as_f64()?);
        Some(Verdict { operation: operation.to_owned(), verdict: verdict.to_owned(), ratio })
    };
    let findings = report["findings"].as_array().context("a report has findings")?;
    let plans = findings.iter().filter(|one| one["kind"] == "other plan");
    let plans = plans.filter_map(|one| one["statement"].as_str().map(str::to_owned)).collect();
    let causes = findings.iter().filter(|one| one["side"] == "candidate");
    let causes = causes.filter_map(|one| one["kind"].as_str().map(str::to_owned)).collect();
    Ok(Said { verdicts: rows.iter().filter_map(verdict).collect(), plans, causes })
}

fn asked(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "dbduel failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn faults(expected: Expected, verdicts: &[Verdict]) -> Vec<String> {
    let of = |wanted: &str| verdicts.iter().find(|one| one.operation == wanted).map_or("none", |one| &one.verdict);
    let missed = expected.slower.iter().filter(|name| of(name) != "slower");
    let missed = missed.map(|name| format!("{name} is slower, and its verdict is `{}`", of(name)));
    let changed = |name: &&&str| !["inconclusive", "no difference shown"].contains(&of(name));
    let invented = expected.untouched.iter().filter(changed);
    let invented = invented.map(|name| format!("{name} is untouched, and its verdict is `{}`", of(name)));
    missed.chain(invented).collect()
}

/// At least one plan that is named is expected: not every statement is explained, and not all that is slower needs another
/// plan.
fn faults_of_causes(expected: Expected, said: &Said) -> Vec<String> {
    let none = match expected.cause {
        Cause::OtherPlan if said.plans.is_empty() => Some("no plan is named that is another one".to_owned()),
        Cause::Named(kind) if !said.causes.iter().any(|one| one == kind) => Some(format!("no cause is `{kind}`")),
        _ => None,
    };
    let invented = said.plans.iter().filter(|name| expected.untouched.contains(&name.as_str()));
    none.into_iter().chain(invented.map(|name| format!("{name} is untouched, and its plan is named"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_must_have_a_verdict_and_what_is_untouched_none() {
        const EXPECTED: Expected =
            Expected { slower: &["Q4", "Q14"], untouched: &["Q1", "Q21"], cause: Cause::OtherPlan };
        let verdicts = |slow: &str, other: &str| {
            let row = |name: &str, verdict: &str| Verdict {
                operation: name.to_owned(),
                verdict: verdict.to_owned(),
                ratio: 1.0,
            };
            vec![row("Q4", slow), row("Q14", "slower"), row("Q1", other), row("Q21", "no difference shown")]
        };
        let check = |slow: &str, other: &str, expected: usize| {
            assert_eq!(faults(EXPECTED, &verdicts(slow, other)).len(), expected, "{slow} {other}");
        };
        check("slower", "inconclusive", 0);
        check("inconclusive", "inconclusive", 1);
        check("faster", "slower", 2);
        assert_eq!(faults(EXPECTED, &[]).len(), 4);
    }

    #[test]
    fn a_cause_is_named_and_no_plan_of_what_is_untouched() {
        let check = |cause: Cause, plans: &[&str], causes: &[&str], faults: usize| {
            let expected = Expected { slower: &["Q4"], untouched: &["Q1"], cause };
            let [plans, causes] = [plans, causes].map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            let said = Said { verdicts: Vec::new(), plans, causes };
            assert_eq!(faults_of_causes(expected, &said).len(), faults, "{:?} {:?}", said.plans, said.causes);
        };
        check(Cause::OtherPlan, &["Q4"], &[], 0);
        check(Cause::OtherPlan, &[], &[], 1);
        check(Cause::OtherPlan, &["Q4", "Q1"], &[], 1);
        check(Cause::Named("temporary files"), &[], &["temporary files"], 0);
        check(Cause::Named("temporary files"), &["Q4"], &["buffer misses"], 1);
        check(Cause::None, &["Q4"], &[], 0);
    }
}
