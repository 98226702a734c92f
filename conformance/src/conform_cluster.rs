//! `cargo xtask conform-cluster`: workers below a real Slurm cluster, and over ssh between network namespaces.
//!
//! Slurm, munge and sshd are unpacked from Debian's packages, not installed, and run from a private folder. A duel with
//! 1, 2 and 4 workers at a fixed rate must give the same transactions and rates; whatever is killed must be noticed,
//! and nothing may be left.

mod agents;
mod namespace;
mod observed;
mod runs;
mod slurm;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::held::dbduel;
use agents::{Agent, agents_of, wait_for};
use namespace::Namespace;
use runs::{Bench, Run, SETUP_WITHIN};
use slurm::Slurm;

#[derive(clap::Args)]
pub struct ConformCluster {
    /// Two blocks in place of eight, and most of the failures: five minutes
    #[arg(long)]
    short: bool,
    /// Only what goes over ssh between network namespaces
    #[arg(long)]
    ssh: bool,
}

const ENGINES: [&str; 2] = ["mariadb@system", "postgres@system"];
/// Few clients are busy at this rate, so that dividing them adds no waiting.
const RATE: u32 = 100;
const CLIENTS: u32 = 8;
const BLOCKS: u32 = 8;
const SHORT_BLOCKS: u32 = 2;
/// From the cause to the record of the failed trial, and from there to the last agent's end.
const NOTICED_WITHIN: Duration = Duration::from_secs(3);
const GONE_WITHIN: Duration = Duration::from_secs(3);

pub fn run(options: &ConformCluster, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let packages = match slurm::unpacked(folder.path()) {
        Ok(packages) => packages,
        Err(why) => {
            println!("skipped: {why:#}");
            return Ok(());
        }
    };
    let begun = Instant::now();
    let slurm = Slurm::start(&packages, &folder.path().join("slurm"))?;
    println!("Slurm with two nodes: up after {:.1} s", begun.elapsed().as_secs_f64());
    let bench = Bench { dbduel, folder: folder.path().to_owned(), slurm };
    let mut wrong = Vec::new();
    if !options.ssh {
        wrong.extend(bench.divisions(if options.short { SHORT_BLOCKS } else { BLOCKS })?);
        wrong.extend(bench.failures(options.short)?);
        wrong.extend(bench.another_build().err().map(|error| format!("another build: {error:#}")));
    }
    wrong.extend(over_ssh(&bench, &packages)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

impl Bench {
    /// The same duel with 1, 2 and 4 workers.
    fn divisions(&self, blocks: u32) -> Result<Vec<String>> {
        println!("workers  trials     due  committed  p50 ms  start spread ms (median, max)  edge error ms (max)");
        let (mut wrong, mut first): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
        for workers in [1, 2, 4] {
            let file = experiment(&format!("rate = {RATE}"), "2s", blocks, workers);
            let trials = self.finished(&format!("workers-{workers}"), &file)?;
            ensure!(trials.len() == 2 * blocks as usize, "{workers} workers: {} trials", trials.len());
            wrong.extend(trials.iter().filter_map(|trial| not_whole(trial, workers)));
            print_division(workers, &trials);
            match first.is_empty() {
                true => first = trials,
                false => wrong.extend(compared(&first, &trials, workers)),
            }
        }
        Ok(wrong)
    }

    /// What is killed is noticed, and nothing is left.
    fn failures(&self, short: bool) -> Result<Vec<String>> {
        println!("cause                        noticed s  all gone s  next trial");
        let mut wrong = Vec::new();
        for harm in HARMS.iter().filter(|harm| !short || !matches!(harm, Harm::KillSrun | Harm::Cancel)) {
            if let Err(error) = self.harmed(*harm) {
                println!("{:28} {error:#}", harm.title());
                wrong.push(format!("{}: {error:#}", harm.title()));
            }
        }
        Ok(wrong)
    }

    fn harmed(&self, harm: Harm) -> Result<()> {
        let name = format!("harm-{}", harm.title().replace(' ', "-"));
        let mut run = self.start(&name, &experiment("compat = \"sysbench-1.0\"", "4s", 4, 2))?;
        let program = self.dbduel.clone();
        wait_for("the first trial", SETUP_WITHIN, || Ok(run.has_begun(1) && agents_of(&program).len() == 2))?;
        // Its clients are under load by then.
        std::thread::sleep(Duration::from_secs(2));
        ensure!(run.records().is_empty(), "the first trial was over too soon");
        let agents = agents_of(&program);
        let srun = agents::child_of(run.child.id(), "srun");
        let begun = Instant::now();
        self.inflict(harm, &agents, &run)?;
        if harm == Harm::KillCoordinator {
            let _ = run.child.wait();
            wait_for("all agents gone", GONE_WITHIN, || Ok(agents_of(&program).is_empty()))?;
            println!("{:28} {:>9} {:>11.2}  -", harm.title(), "-", begun.elapsed().as_secs_f64());
            return Ok(());
        }
        if matches!(harm, Harm::KillSlurmd | Harm::KillStepd) {
            return self.counts(harm, run);
        }
        wait_for("the record of the trial", NOTICED_WITHIN + GONE_WITHIN, || Ok(!run.records().is_empty()))?;
        let noticed = begun.elapsed();
        let first = run.records().remove(0);
        ensure!(first["status"] == "failed" && first["failure"]["worker"].is_u64(), "no failed trial: {first}");
        let old = |agent: &Agent| agents.contains(agent);
        wait_for("the agents of the trial gone", GONE_WITHIN, || Ok(!agents_of(&program).iter().any(old)))?;
        let gone = begun.elapsed();
        ensure!(noticed <= NOTICED_WITHIN, "noticed after {:.1} s", noticed.as_secs_f64());
        // A node does not come back before its job is cancelled.
        wait_for("the end of srun", GONE_WITHIN, || Ok(agents::child_of(run.child.id(), "srun") != srun))?;
        self.slurm.mend()?;
        wait_for("the next trial", SETUP_WITHIN, || Ok(run.records().len() > 1))?;
        let next = run.records().remove(1);
        println!("{:28} {:>9.2} {:>11.2}  {}", harm.title(), noticed.as_secs_f64(), gone.as_secs_f64(), next["status"]);
        println!("    {}", first["failure"]["message"].as_str().unwrap_or_default());
        run.interrupt()?;
        wait_for("all agents gone", GONE_WITHIN, || Ok(agents_of(&program).is_empty()))
    }

    /// A daemon of Slurm's is gone and the worker lives: its load is good.
    fn counts(&self, harm: Harm, run: Run) -> Result<()> {
        wait_for("the record of the trial", SETUP_WITHIN, || Ok(!run.records().is_empty()))?;
        let first = run.records().remove(0);
        ensure!(first["status"] == "ok", "the trial does not count: {first}");
        run.interrupt()?;
        wait_for("all agents gone", GONE_WITHIN, || Ok(agents_of(&self.dbduel).is_empty()))?;
        println!("{:28} {:>9} {:>11}  the trial counts", harm.title(), "-", "-");
        self.slurm.mend()
    }

    /// Workers of another build are refused before anything else is done.
    fn another_build(&self) -> Result<()> {
        let other = self.folder.join("dbduel-of-another-build");
        std::fs::copy(&self.dbduel, &other)?;
        std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&other)?, b"\n")?;
        let file =
            experiment("compat = \"sysbench-1.0\"", "4s", 2, 2).replace("launcher = \"slurm\"", "launcher = \"local\"");
        let file = file.replace("slurm = [\"-N2\"]", &format!("binary = \"{}\"", other.display()));
        let begun = Instant::now();
        let mut run = self.start("another-build", &file)?;
        let status = run.child.wait()?;
        let log = std::fs::read_to_string(self.folder.join("another-build.log"))?;
        ensure!(status.code() == Some(4) && log.contains("copy this binary there"), "{status}\n{log}");
        ensure!(agents_of(&other).is_empty(), "an agent of the other build is left");
        println!("{:28} {:>9.2} {:>11}  refused", "another build", begun.elapsed().as_secs_f64(), "-");
        Ok(())
    }

    fn inflict(&self, harm: Harm, agents: &[Agent], run: &Run) -> Result<()> {
        let victim = agents.first().context("no agent")?;
        match harm {
            Harm::Kill => victim.signal(Signal::SIGKILL),
            Harm::Stop => victim.signal(Signal::SIGSTOP),
            Harm::KillSrun => agents::child_of(run.child.id(), "srun").context("no srun")?.signal(Signal::SIGKILL),
            Harm::Cancel => self.slurm.cancel_all()?,
            Harm::LoseNode => {
                self.slurm.slurmd_of(victim)?.signal(Signal::SIGKILL);
                stepd_of(victim)?.signal(Signal::SIGKILL);
                victim.signal(Signal::SIGKILL);
            }
            Harm::KillSlurmd => self.slurm.slurmd_of(victim)?.signal(Signal::SIGKILL),
            Harm::KillStepd => stepd_of(victim)?.signal(Signal::SIGKILL),
            Harm::KillCoordinator => Agent::of(run.child.id() as i32).signal(Signal::SIGKILL),
        }
        Ok(())
    }
}

fn stepd_of(agent: &Agent) -> Result<Agent> {
    agent.above("slurmstepd").context("no slurmstepd")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    Kill,
    Stop,
    KillSrun,
    Cancel,
    LoseNode,
    KillSlurmd,
    KillStepd,
    KillCoordinator,
}

const HARMS: [Harm; 8] = [
    Harm::Kill,
    Harm::Stop,
    Harm::KillSrun,
    Harm::Cancel,
    Harm::LoseNode,
    Harm::KillSlurmd,
    Harm::KillStepd,
    Harm::KillCoordinator,
];

impl Harm {
    fn title(self) -> &'static str {
        match self {
            Harm::Kill => "agent killed",
            Harm::Stop => "agent stopped",
            Harm::KillSrun => "srun killed",
            Harm::Cancel => "job cancelled",
            Harm::LoseNode => "node lost",
            Harm::KillSlurmd => "slurmd alone killed",
            Harm::KillStepd => "slurmstepd alone killed",
            Harm::KillCoordinator => "coordinator killed",
        }
    }
}

fn experiment(load: &str, duration: &str, blocks: u32, workers: u32) -> String {
    let contenders = ENGINES.map(|engine| format!("{{ engine = \"{engine}\" }}")).join(", ");
    format!(
        "contender = [{contenders}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 1000, clients = {CLIENTS}, {load} }}\n\
         method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"1s\", blocks = {blocks}, stop = \"never\", seed = 7 }}\n\
         clients.transport = \"tcp\"\n\
         [cluster]\nlauncher = \"slurm\"\nworkers = {workers}\nlisten = \"127.0.0.1:0\"\n{}",
        if workers == 2 { "slurm = [\"-N2\"]\n" } else { "slurm = [\"--overcommit\"]\n" }
    )
}

/// A trial whose workers do not add up.
fn not_whole(trial: &Value, workers: u32) -> Option<String> {
    let records = trial["workers"].as_array().map_or(&[][..], Vec::as_slice);
    let sum = |name: &str| records.iter().filter_map(|worker| worker[name].as_f64()).sum::<f64>();
    let whole = |name: &str| trial["metrics"][format!("transactions.{name}")].as_f64();
    let adds_up = ["due", "committed", "failed", "skipped"].iter().all(|name| whole(name) == Some(sum(name)));
    let is_whole = trial["status"] == "ok" && records.len() == workers as usize && adds_up;
    (!is_whole).then(|| format!("{workers} workers: trial {} does not add up: {trial}", trial["trial"]))
}

fn print_division(workers: u32, trials: &[Value]) {
    let metric = |name: &str| {
        let mut values: Vec<f64> = trials.iter().filter_map(|trial| trial["metrics"][name].as_f64()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let sum = |name: &str| metric(name).iter().sum::<f64>();
    let median = |name: &str| metric(name).get(trials.len() / 2).copied().unwrap_or(f64::NAN);
    let most = |name: &str| metric(name).last().copied().unwrap_or(f64::NAN);
    println!(
        "{workers:7} {:7} {:7} {:10} {:7.2} {:15.2} {:13.2} {:20.3}",
        trials.len(),
        sum("transactions.due"),
        sum("transactions.committed"),
        median("latency_ms_p50"),
        median("start_spread_ms"),
        most("start_spread_ms"),
        most("edge_error_ms")
    );
}

/// The same trial has the same arrivals whatever the number of workers, but for one at either edge, whose side depends
/// on the clocks' errors; and the same rate.
fn compared(one: &[Value], many: &[Value], workers: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let due = |trial: &Value| trial["metrics"]["transactions.due"].as_f64().unwrap_or(f64::NAN);
    let pairs: Vec<(f64, f64)> = one
        .iter()
        .filter_map(|first| Some((due(first), due(many.iter().find(|other| other["trial"] == first["trial"])?))))
        .collect();
    let equal = pairs.iter().filter(|(first, other)| first == other).count();
    println!("        {equal} of {} trials have exactly the arrivals of one worker", pairs.len());
    if let Some((first, other)) = pairs.iter().find(|(first, other)| (first - other).abs() > 2.0) {
        wrong.push(format!("{workers} workers: {other} arrivals in a trial that has {first} with one"));
    }
    let logs: Vec<f64> = one
        .iter()
        .filter_map(|first| {
            let other = many.iter().find(|other| other["trial"] == first["trial"])?;
            Some((other["metrics"]["tps"].as_f64()? / first["metrics"]["tps"].as_f64()?).ln())
        })
        .collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() as f64 - 1.0)).sqrt();
    let half = 2.2 * spread / (logs.len() as f64).sqrt();
    println!("        tps beside one worker: {:+.3} % (95 % CI ±{:.3} %)", mean * 100.0, half * 100.0);
    if mean.abs() > half.max(0.002) {
        wrong.push(format!("{workers} workers: tps differs by {:.2} % from one worker's", mean * 100.0));
    }
    wrong
}

/// A duel whose servers are here and whose workers are in another network namespace, and the link taken down.
fn over_ssh(bench: &Bench, packages: &Path) -> Result<Vec<String>> {
    let space = match Namespace::make(packages, &bench.folder.join("namespace")) {
        Ok(space) => space,
        Err(why) => {
            println!("ssh skipped: {why:#}");
            return Ok(Vec::new());
        }
    };
    let contenders = ENGINES.map(|engine| format!("{{ engine = \"{engine}\" }}")).join(", ");
    let file = |duration: &str, listen: &str| {
        format!(
            "contender = [{contenders}]\n\
             workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 4, rate = 1000 }}\n\
             method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"1s\", blocks = 2, stop = \"never\" }}\n\
             clients.transport = \"tcp\"\n\
             [cluster]\nlauncher = \"ssh\"\nhosts = [\"worker\"]\nworkers = 2\nssh = [\"-F\", \"{}\"]\n\
             server_listen = \"{listen}\"\n",
            space.config().display()
        )
    };
    let mut run = bench.start("ssh", &file("2s", space.here()))?;
    let status = run.child.wait()?;
    let log = std::fs::read_to_string(bench.folder.join("ssh.log")).unwrap_or_default();
    ensure!(status.success(), "dbduel run over ssh failed ({status})\n{log}");
    let trials = run.records();
    ensure!(trials.len() == 4, "a run over ssh has {} trials in place of 4", trials.len());
    println!("servers here, workers by ssh in another namespace: {} trials", trials.len());
    print_division(2, &trials);
    let mut wrong: Vec<String> = trials.iter().filter_map(|trial| not_whole(trial, 2)).collect();
    wrong.extend(trials.iter().filter_map(counters_of_both));
    let mut foreign = bench.start("ssh-foreign", &file("2s", "10.213.78.9"))?;
    ensure!(!foreign.child.wait()?.success(), "a server listened at an address of another host");
    drop(run);
    wrong.extend(cut_off(bench, &space, &file("4s", space.here())).err().map(|error| format!("link down: {error:#}")));
    wrong.extend(observed::targets(bench, &space)?);
    Ok(wrong)
}

/// What a trial lacks of the server's counters or of the workers'.
fn counters_of_both(trial: &Value) -> Option<String> {
    let server = trial["metrics"]["cpu_us_per_tx"].as_f64();
    let workers = trial["workers"].as_array().map_or(&[][..], Vec::as_slice);
    let client: Vec<f64> = workers.iter().filter_map(|worker| worker["cores_used"].as_f64()).collect();
    let shown: Vec<String> = client.iter().map(|cores| format!("{cores:.4}")).collect();
    println!(
        "        server CPU {:.1} us per transaction; cores used by workers {}",
        server.unwrap_or(0.0),
        shown.join(", ")
    );
    let has_both = server.is_some_and(|us| us > 0.0) && client.len() == 2 && client.iter().all(|cores| *cores > 0.0);
    (!has_both).then(|| format!("trial {} lacks counters of server or workers", trial["trial"]))
}

fn cut_off(bench: &Bench, space: &Namespace, file: &str) -> Result<()> {
    let run = bench.start("ssh-cut", file)?;
    wait_for("the first trial", SETUP_WITHIN, || Ok(run.has_begun(1) && agents_of(&bench.dbduel).len() == 2))?;
    std::thread::sleep(Duration::from_secs(2));
    let agents = agents_of(&bench.dbduel);
    let begun = Instant::now();
    space.link("down")?;
    wait_for("the record of the trial", Duration::from_secs(8), || Ok(!run.records().is_empty()))?;
    let noticed = begun.elapsed();
    wait_for("the cut-off agents gone", GONE_WITHIN, || {
        Ok(!agents_of(&bench.dbduel).iter().any(|one| agents.contains(one)))
    })?;
    let gone = begun.elapsed();
    space.link("up")?;
    let first = run.records().remove(0);
    if first["failure"]["worker"].is_null() {
        bail!("no failure of a worker: {first}");
    }
    println!("{:28} {:>9.2} {:>11.2}", "link down under ssh", noticed.as_secs_f64(), gone.as_secs_f64());
    println!("    {}", first["failure"]["message"].as_str().unwrap_or_default());
    run.interrupt()
}
