//! `cargo xtask kill`: whatever is killed at whatever moment, nothing that was measured is lost and nothing is left behind.
//!
//! A run goes on in a file system of its own. At a random moment one of its processes is killed, stopped or given no more
//! memory, the file system is filled, or the process may open no more files. Behind it, no process, mount, loop device,
//! namespace, control group or shared memory may be left, every finished trial must be there, and the same run, resumed
//! until it is whole, must have the plan that it began with, every trial once, and a page that `dbduel verify` believes.

mod disturbance;
mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::held::dbduel;
use crate::traces::{Traces, below, is_running};
use disturbance::Disturbance;

#[derive(clap::Args)]
pub struct Kill {
    /// Runs to disturb [default: all]
    #[arg(value_name = "RUN", value_parser = DUELS.map(|duel| duel.name))]
    runs: Vec<String>,
    /// Moments of each run
    #[arg(long, default_value_t = 50)]
    moments: u32,
    /// Of the moments and of what happens at them
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Duel {
    name: &'static str,
    contenders: [&'static str; 2],
    workload: &'static str,
    method: &'static str,
}

const BLOCKS: &str =
    "method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 3, noisy_host = \"stamp\" }";
const CRASHES: &str = "method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", noisy_host = \"stamp\" }\n\
     recovery = { kills = 1, crash = \"os\", full_rate_within = \"0s\" }";
const SYNC: &str = "engine = \"postgres@system\"";
const ASYNC: &str = "engine = \"postgres@system\", settings = { synchronous_commit = \"off\" }";
const ROLLBACK: &str = "engine = \"sqlite\"";
const WAL: &str = "engine = \"sqlite\", settings = { journal_mode = \"WAL\" }";

const DUELS: [Duel; 5] = [
    Duel {
        name: "sqlite",
        contenders: [ROLLBACK, WAL],
        workload: "workload = { name = \"oltp_read_write\", rows = 1000, clients = 2 }",
        method: BLOCKS,
    },
    Duel {
        name: "mariadb",
        contenders: [
            "engine = \"mariadb@system\"",
            "engine = \"mariadb@system\", settings = { innodb_flush_log_at_trx_commit = 0 }",
        ],
        workload: "workload = { name = \"tpcc\", warehouses = 1, clients = 2 }",
        method: BLOCKS,
    },
    Duel {
        name: "postgres",
        contenders: [SYNC, ASYNC],
        workload: "workload = { name = \"oltp_read_write\", rows = 1000, clients = 2 }",
        method: BLOCKS,
    },
    Duel {
        name: "workers",
        contenders: [SYNC, ASYNC],
        workload: "workload = { name = \"oltp_read_write\", rows = 1000, clients = 2 }\n\
                   cluster = { workers = 2, launcher = \"local\" }",
        method: BLOCKS,
    },
    Duel {
        name: "crashes",
        contenders: [ROLLBACK, WAL],
        workload: "workload = { name = \"ledger\", accounts = 200, lists = 20, clients = 2 }",
        method: CRASHES,
    },
];

impl Duel {
    fn file(&self) -> String {
        let Duel { contenders: [a, b], workload, method, .. } = self;
        format!("name = \"x\"\ncontender = [{{ name = \"a\", {a} }}, {{ name = \"b\", {b} }}]\n{workload}\n{method}\n")
    }
}

/// How long anything may stay behind a process that was killed.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// A run that goes on after a disturbance may wait for its limits.
const ENDS_WITHIN: Duration = Duration::from_secs(180);
const RESUMES_MAX: u32 = 5;
/// Of the file system, so that it can be filled.
const MEGABYTES: u64 = 1536;

pub fn run(options: &Kill, root: &Path) -> Result<()> {
    ensure!(nix::unistd::geteuid().is_root(), "file systems that can be filled need root");
    let program = dbduel(root)?;
    let possible: Vec<Disturbance> = Disturbance::ALL.into_iter().filter(|one| one.is_possible()).collect();
    for disturbance in Disturbance::ALL.iter().filter(|one| !one.is_possible()) {
        println!("skipped: {}, for want of control groups of memory", disturbance.name());
    }
    let is_asked = |name: &str| options.runs.is_empty() || options.runs.iter().any(|asked| asked == name);
    for (stream, duel) in (0..).zip(&DUELS).filter(|(_, duel)| is_asked(duel.name)) {
        let name = duel.name;
        let place = Place::mount(&program, &duel.file())?;
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        random.set_stream(stream);
        let whole = place.undisturbed().with_context(|| format!("{name}: without any disturbance"))?;
        let mut hits: BTreeMap<&str, u32> = BTreeMap::new();
        for moment in 1..=options.moments {
            let disturbance = possible[random.random_range(0..possible.len())];
            let after = whole.mul_f64(random.random_range(0.0..1.0));
            let tried = place.disturbed(disturbance, after, &mut random);
            let hit = tried.with_context(|| {
                format!("{name}: moment {moment}, {} after {:.3} s", disturbance.name(), after.as_secs_f64())
            })?;
            *hits.entry(if hit { disturbance.name() } else { "over before" }).or_default() += 1;
        }
        let hits: Vec<String> = hits.iter().map(|(what, count)| format!("{what} {count}")).collect();
        println!("{name:<10} {} moments, nothing lost and nothing left: {}", options.moments, hits.join(", "));
    }
    Ok(())
}

/// A file system in memory with a cache that all runs of a kind share.
struct Place<'a> {
    program: &'a Path,
    folder: tempfile::TempDir,
    /// Outside, so that it can be written when the file system is full.
    log: tempfile::NamedTempFile,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Err(error) = nix::mount::umount(self.folder.path()) {
            eprintln!("warning: {} stays mounted: {error}", self.folder.path().display());
        }
    }
}

/// What there was of a run at a moment.
struct Kept {
    trials: Vec<u8>,
    plan: Option<Vec<u8>>,
}

impl<'a> Place<'a> {
    fn mount(program: &'a Path, text: &str) -> Result<Place<'a>> {
        let folder = tempfile::Builder::new().prefix("dbduel-kill-").tempdir()?;
        let size = format!("size={MEGABYTES}m");
        let flags = nix::mount::MsFlags::empty();
        nix::mount::mount(Some("tmpfs"), folder.path(), Some("tmpfs"), flags, Some(size.as_str()))
            .context("cannot mount a file system in memory")?;
        let place = Place { program, folder, log: tempfile::NamedTempFile::new()? };
        // A server under another account must be able to enter.
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o711))?;
        fs::create_dir(place.path().join("tmp"))?;
        fs::write(place.path().join("x.toml"), text)?;
        Ok(place)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let log = fs::OpenOptions::new().append(true).open(self.log.path())?;
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        command.env("DBDUEL_CACHE", self.path().join("cache")).env("TMPDIR", self.path().join("tmp"));
        command.env_remove("DBDUEL_WORK").env_remove("DBDUEL_STORE");
        Ok(command)
    }

    fn said(&self) -> String {
        let text = fs::read_to_string(self.log.path()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// How long a run takes; the cache has all it needs then.
    fn undisturbed(&self) -> Result<Duration> {
        self.whole(None)?;
        self.clear()?;
        let begun = Instant::now();
        self.whole(None)?;
        let took = begun.elapsed();
        self.clear()?;
        Ok(took)
    }

    /// Runs or resumes until every trial is there, and looks at what it comes to.
    fn whole(&self, before: Option<&Kept>) -> Result<()> {
        for _ in 0..RESUMES_MAX {
            let run = self.run_folder()?;
            let name = run.as_ref().map(|run| run.display().to_string());
            let arguments = match &name {
                Some(run) => vec!["run", "--resume", run],
                None => vec!["run", "x.toml"],
            };
            let mut child = self.command(&arguments)?.spawn()?;
            let status = self.end(&mut child)?;
            let Some(run) = self.run_folder()? else {
                bail!("there is no run ({status}):\n{}", self.said());
            };
            if self.is_whole(&run)? {
                return self.expect_sound(&run, before);
            }
        }
        bail!("it is not whole after {RESUMES_MAX} turns:\n{}", self.said())
    }

    fn end(&self, child: &mut Child) -> Result<ExitStatus> {
        let limit = Instant::now() + ENDS_WITHIN;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > limit {
                child.kill()?;
                child.wait()?;
                bail!("it does not end:\n{}", self.said());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The only one, if there is one with a plan.
    fn run_folder(&self) -> Result<Option<PathBuf>> {
        let folders = fs::read_dir(self.path().join("runs")).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut folders: Vec<PathBuf> = folders.filter(|folder| folder.join("run.json").is_file()).collect();
        ensure!(folders.len() <= 1, "a run in place of one that was begun: {folders:?}\n{}", self.said());
        Ok(folders.pop())
    }

    fn kept(&self) -> Result<Option<Kept>> {
        let Some(run) = self.run_folder()? else { return Ok(None) };
        let mut trials = fs::read(run.join("trials.ndjson")).unwrap_or_default();
        let whole = trials.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        trials.truncate(whole);
        Ok(Some(Kept { trials, plan: fs::read(run.join("plan.json")).ok() }))
    }

    fn is_whole(&self, run: &Path) -> Result<bool> {
        let record: Value = serde_json::from_slice(&fs::read(run.join("run.json"))?)?;
        Ok(record["finished_at"].is_string() && record["ended_by"] != "interrupted")
    }

    fn expect_sound(&self, run: &Path, before: Option<&Kept>) -> Result<()> {
        let (plan, trials) = (fs::read(run.join("plan.json"))?, fs::read(run.join("trials.ndjson"))?);
        if let Some(kept) = before {
            ensure!(kept.plan.as_ref().is_none_or(|kept| *kept == plan), "the plan is another");
            ensure!(trials.starts_with(&kept.trials), "trials that had finished are gone or others");
        }
        let planned: Value = serde_json::from_slice(&plan)?;
        let mut wanted: BTreeSet<u64> = BTreeSet::new();
        wanted.extend(planned["trials"].as_array().into_iter().flatten().filter_map(|trial| trial["trial"].as_u64()));
        for line in trials.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let trial: Value = serde_json::from_slice(line)?;
            let number = trial["trial"].as_u64().context("a trial has a number")?;
            // Probes are beside the plan.
            ensure!(wanted.remove(&number) || trial["purpose"] != Value::Null, "trial {number} is there twice");
        }
        ensure!(wanted.is_empty(), "trials {wanted:?} are missing");
        let run = run.display().to_string();
        for arguments in [&["verify", &run][..], &["report", &run]] {
            let status = self.end(&mut self.command(arguments)?.spawn()?)?;
            ensure!(status.success(), "dbduel {} ({status}):\n{}", arguments.join(" "), self.said());
        }
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.path().join("runs"))?)
    }

    /// Whether the run was still going on at that moment.
    fn disturbed(&self, disturbance: Disturbance, after: Duration, random: &mut ChaCha8Rng) -> Result<bool> {
        let traces = Traces::now()?;
        let mut child = self.command(&["run", "x.toml"])?.spawn()?;
        std::thread::sleep(after);
        let kept = self.kept()?;
        let is_on = child.try_wait()?.is_none();
        let mut seen = below(child.id());
        if is_on {
            disturbance.happen(&child, &seen, self.path(), random)?;
            seen.extend(below(child.id()));
        }
        self.end(&mut child)?;
        self.expect_nothing_left(&traces, &seen)?;
        self.whole(kept.as_ref())?;
        self.expect_nothing_left(&traces, &[])?;
        for folder in ["cache/work", "cache/tmp", "tmp"] {
            let entries = fs::read_dir(self.path().join(folder)).into_iter().flatten().flatten();
            let left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
            ensure!(left.is_empty(), "folders are left: {left:?}");
        }
        self.clear()?;
        Ok(is_on)
    }

    fn expect_nothing_left(&self, before: &Traces, processes: &[u32]) -> Result<()> {
        let limit = Instant::now() + GONE_WITHIN;
        loop {
            let left: Vec<u32> = processes.iter().copied().filter(|pid| is_running(*pid)).collect();
            let now = Traces::now()?;
            if left.is_empty() && now == *before {
                return Ok(());
            }
            ensure!(Instant::now() < limit, "left: processes {left:?}; {now:?} beside {before:?}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
