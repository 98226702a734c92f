//! One trial of `oltp_read_write` on every server that is here: from the catalogue to a clean stop,
//! through `dbduel run` itself.
//!
//! It is no measurement: the point is that each server is provisioned, started,
//! loaded, put under load, asked for its counters, checked and stopped. A server that fails is named with its reason.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::core_counters::lacking;

/// Ends as soon as each contender had its turn; SQLite goes first, because a baseline must not fail.
const METHOD: &str = "name = \"one trial each\"\nworkload = { name = \"oltp_read_write\", rows = 2000 }\n\
    sweep.clients = [4]\n\
    method = { preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1, wait_for_deferred_work = true }\n";
const BASELINE: &str = "sqlite";

/// Tries the servers whose `kind@version` begins with `wanted`; prints a line for each.
pub fn one_trial_each(wanted: &str, dbduel: &Path) -> Result<()> {
    let servers = servers(wanted, dbduel)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("catalogue.toml");
    let contenders = std::iter::once(BASELINE).chain(servers.iter().map(String::as_str));
    let contenders: Vec<String> = contenders.map(|engine| format!("[[contender]]\nengine = \"{engine}\"\n")).collect();
    std::fs::write(&file, format!("{METHOD}{}", contenders.concat()))?;
    let output = Command::new(dbduel)
        .args(["run", "--json", "--accept-noisy", "--runs"])
        .arg(folder.path())
        .arg(&file)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start dbduel")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("dbduel run ({}) printed no JSON\n{stderr}", output.status))?;
    let failed = report["trials"].as_array().into_iter().flatten().filter(|trial| !print_trial(trial)).count();
    ensure!(failed == 0, "{failed} of {} servers had no trial\n{stderr}", servers.len());
    Ok(())
}

/// The engines here by `dbduel list engines`, SQLite apart.
fn servers(wanted: &str, dbduel: &Path) -> Result<Vec<String>> {
    let output = Command::new(dbduel).args(["list", "engines", "--json"]).output().context("cannot start dbduel")?;
    let listed: Value = serde_json::from_slice(&output.stdout).context("dbduel list engines printed no JSON")?;
    let here = listed.as_array().context("the list is no array")?.iter().filter(|row| row["state"] == "here");
    let wanted_here = here.filter(|row| is_wanted(row, wanted)).filter_map(|row| row["engine"].as_str());
    let names: Vec<String> = wanted_here.filter(|name| !name.starts_with(BASELINE)).map(str::to_owned).collect();
    if names.is_empty() && !wanted.is_empty() && !BASELINE.starts_with(wanted) {
        bail!("no server here has a name that begins with {wanted}");
    }
    Ok(names)
}

/// Whether the name of a listed server begins with `wanted`; `KIND@system` is the installed one of that kind.
fn is_wanted(row: &Value, wanted: &str) -> bool {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    match wanted.strip_suffix("@system") {
        Some(kind) => text("engine").split('@').next() == Some(kind) && text("source").starts_with("installed"),
        None => text("engine").starts_with(wanted),
    }
}

/// Prints one trial, and whether it was one.
fn print_trial(trial: &Value) -> bool {
    let contender = trial["contender"].as_str().unwrap_or("?");
    if trial["status"] != "ok" {
        println!("FAILED   trial on {contender}");
        return false;
    }
    let metrics = &trial["metrics"];
    let lacking = lacking(contender, metrics);
    if !lacking.is_empty() {
        println!("FAILED   trial on {contender}: without {}", lacking.join(", "));
        return false;
    }
    let all = metrics.as_object().into_iter().flatten();
    println!(
        "ok       trial on {contender}: {} transactions, {} counters, stopped clean",
        metrics["transactions.committed"],
        all.filter(|(name, _)| name.starts_with("counter.")).count()
    );
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_means_the_installed_server_of_a_kind() {
        let installed = serde_json::json!({ "engine": "mariadb@10.11.19", "source": "installed /usr/sbin/mariadbd" });
        let fetched = serde_json::json!({ "engine": "mariadb@11.4.5", "source": "Maven ch.vorburger" });
        let wanted = |wanted| (is_wanted(&installed, wanted), is_wanted(&fetched, wanted));
        assert_eq!(wanted("mariadb@system"), (true, false));
        assert_eq!(wanted("mariadb@11"), (false, true));
        assert_eq!(wanted("postgres@system"), (false, false));
        assert_eq!(wanted(""), (true, true));
    }
}
