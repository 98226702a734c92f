//! Targets in another network namespace, observed by an agent there, while the load is made here.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::agents::{agents_of, wait_for};
use super::namespace::Namespace;
use super::runs::{Bench, Run, SETUP_WITHIN};
use crate::held::Held;

const SCHEMES: [(&str, &str); 2] = [("mariadb@system", "mariadb"), ("postgres@system", "postgres")];
const TRIALS: usize = 4;

/// Every trial has the counters of server and host; one whose agent was killed counts without them, and the next has
/// them again.
pub fn targets(bench: &Bench, space: &Namespace) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (engine, scheme) in SCHEMES {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", space.name()]).arg(&bench.dbduel);
        let listen = format!("--listen={}", space.there());
        let server = Held::start_by(command, engine, &[&listen]).map_err(anyhow::Error::from)?;
        let file = |duration: &str| experiment(bench, space, &server, scheme, duration);
        let trials = bench.finished(&format!("observed-{scheme}"), &file("3s")?)?;
        ensure!(trials.len() == TRIALS, "a run with targets elsewhere has {} trials", trials.len());
        println!("{scheme} in another namespace, load here: {} trials", trials.len());
        wrong.extend(trials.iter().filter_map(not_observed));
        bench.verified(&format!("observed-{scheme}"))?;
        let killed = bench.start(&format!("unobserved-{scheme}"), &file("4s")?)?;
        wrong.extend(without_agent(bench, killed).err().map(|error| format!("{scheme}, agent killed: {error:#}")));
        server.stop()?;
    }
    Ok(wrong)
}

/// Two contenders that are one server, which takes turns.
fn experiment(bench: &Bench, space: &Namespace, server: &Held, scheme: &str, duration: &str) -> Result<String> {
    let password = bench.folder.join(format!("password-{scheme}"));
    std::fs::write(&password, server.text("password")?)?;
    std::fs::set_permissions(&password, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let (user, database) = (server.text("user")?, server.text("database")?);
    let url = format!("{scheme}://{user}@{}:{}/{database}", space.there(), server.port()?);
    let contender =
        |name: &str| format!("{{ name = \"{name}\", target = \"{url}\", password_file = \"{}\" }}", password.display());
    Ok(format!(
        "contender = [{}, {}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 4 }}\n\
         method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"1s\", blocks = {}, stop = \"never\" }}\n\
         [cluster]\nlauncher = \"local\"\nssh = [\"-F\", \"{}\"]\nobserve_host = \"worker\"\n",
        contender("one"),
        contender("two"),
        TRIALS / 2,
        space.config().display()
    ))
}

/// What a trial lacks that only the agent there can have seen.
fn not_observed(trial: &Value) -> Option<String> {
    let metric = |name: &str| trial["metrics"][name].as_f64();
    let names =
        ["cpu_us_per_tx", "ctx_voluntary_per_tx", "server_resident_bytes", "server_host_user_share", "host_user_share"];
    let missing: Vec<&str> = names.into_iter().filter(|name| !metric(name).is_some_and(|value| value > 0.0)).collect();
    println!(
        "        server CPU {:.1} us per transaction; its host's CPUs {:.0} % in user mode",
        metric("cpu_us_per_tx").unwrap_or(f64::NAN),
        100.0 * metric("server_host_user_share").unwrap_or(f64::NAN)
    );
    let is_flagged = flags(trial).contains(&"unobserved");
    // A server that waits for its clients' queries is switched away about once for each.
    let is_switched = metric("ctx_voluntary_per_tx").is_some_and(|switches| switches > 0.1);
    (!missing.is_empty() || is_flagged || !is_switched).then(|| {
        let number = &trial["trial"];
        format!(
            "trial {number} (flags {:?}) lacks {}; {:?} switches",
            flags(trial),
            missing.join(", "),
            metric("ctx_voluntary_per_tx")
        )
    })
}

fn flags(trial: &Value) -> Vec<&str> {
    trial["flags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The agent there is killed in the first trial.
fn without_agent(bench: &Bench, run: Run) -> Result<()> {
    wait_for("the first trial", SETUP_WITHIN, || Ok(run.has_begun(1) && agents_of(&bench.dbduel).len() == 2))?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(run.records().is_empty(), "the first trial was over too soon");
    let there = agents_of(&bench.dbduel).into_iter().find(|agent| agent.above("sshd").is_some());
    there.context("no agent below sshd")?.signal(Signal::SIGKILL);
    wait_for("the second record", SETUP_WITHIN, || Ok(run.records().len() > 1))?;
    let records = run.records();
    let (first, second) = (&records[0], &records[1]);
    ensure!(first["status"] == "ok" && first["metrics"]["cpu_us_per_tx"].is_null(), "{first}");
    ensure!(flags(first).contains(&"unobserved"), "no flag: {first}");
    ensure!(not_observed(second).is_none(), "the next trial is not observed: {second}");
    run.interrupt()?;
    wait_for("all agents gone", SETUP_WITHIN, || Ok(agents_of(&bench.dbduel).is_empty()))
}
