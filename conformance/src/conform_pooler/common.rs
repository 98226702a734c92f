//! What the checks of all poolers and proxies share.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::Target;
use load::{Load, LoadOptions, Loader, OptionValue, Tally, Workload};
use serde_json::Value;

use super::proxy::PASSWORD;

pub const ROWS: i64 = 10_000;
pub const CLIENTS: u32 = 16;
pub const TRANSACTIONS: u64 = 2_000;
/// Sessions of the server, where clients share them.
pub const POOL: u32 = 4;

pub type Options<'a> = &'a [(&'static str, &'static str)];

pub const AS_TEXT: Options = &[("db_ps_mode", "disable")];

/// What was compared, a line each.
#[derive(Default)]
pub struct Outcomes {
    failed: usize,
}

impl Outcomes {
    pub fn note(&mut self, what: String, outcome: Result<String>) {
        match outcome {
            Ok(figures) => println!("ok       {what}: {figures}"),
            Err(error) => {
                println!("FAILED   {what}: {error:#}");
                self.failed += 1;
            }
        }
    }

    pub fn expect_all(&self) -> Result<()> {
        ensure!(self.failed == 0, "{} of the comparisons are not as they should be", self.failed);
        Ok(())
    }
}

pub fn load_tables(target: &Target) -> Result<()> {
    let loader = Loader { target, sessions: 2, interrupted: &AtomicBool::new(false) };
    loader.load(&*workload("oltp_read_write", &[])?, 1, &mut |_| ()).context("cannot load the tables").map(drop)
}

pub fn workload(name: &str, options: Options) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind(name).with_context(|| format!("{name} is no workload"))?;
    let given = options.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Text((*value).to_owned())));
    let given = given.chain([("rows".to_owned(), OptionValue::Number(ROWS))]).collect();
    Ok(kind.with(&given)?.into())
}

/// What a short `dbduel bench` prints on a target, and whether it measures.
pub fn bench(dbduel: &Path, target: &str, name: &str, options: Options) -> Result<(bool, String)> {
    let mut command = Command::new(dbduel);
    command.args(["bench", name, "--target", target, "--duration", "1s"]);
    command.args(["--clients", &CLIENTS.to_string(), "--rows", &ROWS.to_string(), "--no-wait"]);
    command.args(options.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
    command.env("DBDUEL_PASSWORD", PASSWORD);
    let output = command.output().context("cannot run dbduel")?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ok((output.status.success(), text))
}

/// The line that names what stands before the server.
pub fn named(text: &str) -> Result<String> {
    let line = text.lines().find(|line| line.contains(" mode) stands before the server"));
    line.map(str::to_owned).with_context(|| format!("nothing names the pooler:\n{text}"))
}

/// A load of [`TRANSACTIONS`] in this process.
pub fn load_through(workload: &Arc<dyn Workload>, target: &Target) -> Result<Tally> {
    let options = LoadOptions {
        clients: CLIENTS,
        transactions_max: Some(TRANSACTIONS),
        drain_max: Duration::from_secs(10),
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(workload, target, options, &interrupted)?;
    Ok(load.measure(None, &mut |_| (), &mut || ()).whole()?)
}

/// A short run of one server by two ways, `direct` and `pooled`: every trial succeeds, and the report names what stands
/// between. Gives the finding, and how many sessions of the server it has.
pub fn run_beside(dbduel: &Path, targets: [&str; 2], clients: u32, options: Options) -> Result<(String, String)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pooled.toml");
    let more: String = options.iter().map(|(name, value)| format!(", {name} = \"{value}\"")).collect();
    let contender = |(name, target): (&str, &str)| {
        format!("[[contender]]\nname = \"{name}\"\ntarget = \"{target}\"\noverwrite = true\n")
    };
    let text = format!(
        "workload = {{ name = \"oltp_read_write\", rows = {ROWS}{more} }}\nsweep.clients = [{clients}]\n\
         method = {{ preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1 }}\n{}{}",
        contender(("direct", targets[0])),
        contender(("pooled", targets[1]))
    );
    std::fs::write(&file, text)?;
    let mut command = Command::new(dbduel);
    command.args(["run", "--json", "--accept-noisy", "--runs"]).arg(folder.path()).arg(&file);
    command.env("DBDUEL_PASSWORD", PASSWORD);
    let output = command.output().context("cannot run dbduel")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("dbduel run ({}) printed no JSON\n{stderr}", output.status))?;
    let trials = report["trials"].as_array().context("a report has trials")?;
    let is_ok = |trial: &&Value| trial["status"] == "ok" && trial["metrics"]["transactions.committed"] != 0;
    ensure!(trials.iter().filter(is_ok).count() == 2, "not both had a trial\n{stderr}");
    let findings = report["findings"].as_array().context("a report has findings")?;
    let finding = findings.iter().find(|finding| finding["kind"] == "behind a pooler");
    let finding = finding.with_context(|| format!("no finding names the pooler: {findings:?}"))?;
    let behind = &finding["facts"]["behind_pooler"][0];
    let sessions = behind["sessions"].as_f64().context("the sessions behind it are seen")?;
    ensure!((1.0..=f64::from(POOL)).contains(&sessions), "{sessions} sessions of a pool of {POOL}");
    let figures = format!("the report has {sessions:.0} sessions of the server for {clients} clients");
    Ok((finding.to_string(), figures))
}
