//! A run of so many trials that whatever grows faster than their number shows: its folder, the time between two trials,
//! reports, `dbduel verify`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

/// Of one block: two contenders at five levels.
const IN_A_BLOCK: u32 = 10;
/// Parts of the trials after which the run is interrupted and looked at.
const PARTS: [f64; 3] = [0.25, 0.5, 1.0];
/// What a trial may take more at the end than after the first part.
const MORE_MAX: f64 = 1.5;

/// What a run has come to.
struct Reached {
    trials: usize,
    /// Each for one trial.
    bytes: f64,
    between_ms: f64,
    cpu_ms: Vec<f64>,
}

const READERS: [&[&str]; 3] = [&["report"], &["report", "--format", "html"], &["verify"]];

pub fn run(trials: u32, dbduel: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = Program { dbduel, folder: folder.path() };
    fs::write(folder.path().join("x.toml"), experiment(trials.div_ceil(IN_A_BLOCK)))?;
    println!("{:>7}  {:>13}  {:>14}  {:>20}", "trials", "bytes a trial", "between two", "CPU ms a trial");
    let mut reached: Vec<Reached> = Vec::new();
    for part in PARTS {
        let now = program.reach((f64::from(trials) * part) as usize)?;
        let cpu: Vec<String> = now.cpu_ms.iter().map(|ms| format!("{ms:.2}")).collect();
        println!("{:>7}  {:>13.0}  {:>11.0} ms  {:>20}", now.trials, now.bytes, now.between_ms, cpu.join(" / "));
        reached.push(now);
    }
    let (Some(first), Some(last)) = (reached.first(), reached.last()) else { return Ok(()) };
    let mut pairs =
        vec![("its folder", first.bytes, last.bytes), ("between trials", first.between_ms, last.between_ms)];
    let names = READERS.iter().map(|words| words[words.len() - 1]);
    pairs.extend(names.zip(&first.cpu_ms).zip(&last.cpu_ms).map(|((name, first), last)| (name, *first, *last)));
    for (what, first, last) in pairs {
        ensure!(last <= first * MORE_MAX, "{what}: {last:.2} a trial at the end, {first:.2} after the first part");
    }
    Ok(())
}

fn experiment(blocks: u32) -> String {
    format!(
        "name = \"x\"\nquestion = \"Does a long run grow as its trials do?\"\n\
         contender = [{{ name = \"a\", engine = \"sqlite\" }}, {{ name = \"b\", engine = \"sqlite\", settings = {{ journal_mode = \"WAL\" }} }}]\n\
         workload = {{ name = \"oltp_read_only\", rows = 1000 }}\nsweep.clients = [1, 2, 3, 4, 5]\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = {blocks}, stop = \"never\", noisy_host = \"stamp\" }}\n"
    )
}

struct Program<'a> {
    dbduel: &'a Path,
    folder: &'a Path,
}

impl Program<'_> {
    fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.dbduel);
        command.args(words).current_dir(self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(self.folder.join("lines"))?);
        command.env("DBDUEL_CACHE", self.folder.join("cache")).env_remove("DBDUEL_WORK");
        Ok(command)
    }

    fn run_folder(&self) -> Option<PathBuf> {
        let mut folders = fs::read_dir(self.folder.join("runs")).into_iter().flatten().flatten();
        folders.next().map(|entry| entry.path())
    }

    /// Begins the run or resumes it, until so many trials are there.
    fn reach(&self, wanted: usize) -> Result<Reached> {
        let run = self.run_folder().map(|run| run.display().to_string());
        let words = run.as_ref().map_or(vec!["run", "x.toml"], |run| vec!["run", "--resume", run]);
        let (begun, before) = (SystemTime::now(), self.trials());
        let mut child = self.command(&words)?.spawn().context("cannot start dbduel")?;
        let mut is_asked = false;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if self.trials() >= wanted && !is_asked {
                kill(Pid::from_raw(child.id() as i32), Signal::SIGINT)?;
                is_asked = true;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let trials = self.trials();
        let said = fs::read_to_string(self.folder.join("lines")).unwrap_or_default();
        ensure!(trials >= wanted, "dbduel run ended at {trials} trials ({status}):\n{said}");
        let run = self.run_folder().context("there is no run")?;
        let each = |whole: f64| whole / trials as f64;
        let between_ms = begun.elapsed()?.as_secs_f64() * 1e3 / (trials - before) as f64;
        let run_words = run.display().to_string();
        let cpu_ms: Result<Vec<f64>> = READERS
            .iter()
            .map(|words| Ok(each(self.cpu(&[words, &[run_words.as_str()][..]].concat())?.as_secs_f64() * 1e3)))
            .collect();
        Ok(Reached { trials, bytes: each(bytes(&run)? as f64), between_ms, cpu_ms: cpu_ms? })
    }

    fn trials(&self) -> usize {
        let text = self.run_folder().and_then(|run| fs::read(run.join("trials.ndjson")).ok());
        text.map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
    }

    /// What a command takes; nothing else is waited for meanwhile.
    fn cpu(&self, words: &[&str]) -> Result<Duration> {
        let used = || -> Result<i64> {
            let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
            Ok((usage.user_time() + usage.system_time()).num_microseconds())
        };
        let before = used()?;
        let status = self.command(words)?.status()?;
        ensure!(status.success(), "dbduel {}: {status}", words.join(" "));
        Ok(Duration::from_micros((used()? - before) as u64))
    }
}

fn bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() { bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}
