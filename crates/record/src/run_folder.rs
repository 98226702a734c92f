//! What we keep: the run folder.
//!
//! A [`RunDir`] is a folder that holds everything a run left behind; reports read nothing else.
//! What must stay true: a record that was written survives a kill and a power cut, so whole files
//! are replaced by renaming and lines are synced before the next trial starts; one process writes
//! to a run at a time, and no trial is stored twice; and a folder that a newer dbduel wrote is
//! refused, never guessed at. Data directories never lie in here.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::format::diagnostic::{folded_text, read_folded};
use crate::format::{
    DiagnosticRecord, FORMAT_VERSION, PLAN_FORMAT_VERSION, PlanRecord, Purpose, RunRecord, Series, TrialRecord,
    WaitsRecord,
};
use crate::own_file::lock_file;
use crate::plain_file;
use crate::shell::shell_path;

pub const PLAN: &str = "plan.json";
pub const RUN: &str = "run.json";
pub const TRIALS: &str = "trials.ndjson";
pub const EXPERIMENT: &str = "experiment.toml";
pub const GIVEN: &str = "given.toml";
const SERIES: &str = "series.csv";
const OBSERVED: &str = "observed.csv";
const DEFERRED: &str = "deferred.csv";
const SETTINGS: &str = "settings.json";
const WINDOWS: &str = "latency.hlog";
const STACKS: &str = "stacks.folded";
const WAITS: &str = "waits.json";
pub(crate) const LOCK: &str = "lock";
/// Ends the name of a file that is being written.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
    /// Held by the one process that may write to the run; a reader has none.
    writer: Option<Arc<File>>,
}

/// The trials of a run as they were found. Those that may be judged and the probes are asked for apart, so that no
/// probe gets into a verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredTrials {
    measured: Vec<TrialRecord>,
    probes: Vec<TrialRecord>,
    /// Says that a half-written last line was ignored; its trial counts as not done.
    pub note: Option<String>,
}

impl StoredTrials {
    pub fn new(records: Vec<TrialRecord>, note: Option<String>) -> StoredTrials {
        let (probes, measured) = records.into_iter().partition(|record| record.purpose.is_probe());
        StoredTrials { measured, probes, note }
    }

    /// Those that compare, their repeats, and of a duet those that run alone.
    pub fn measured(&self) -> &[TrialRecord] {
        &self.measured
    }

    pub fn probes(&self) -> &[TrialRecord] {
        &self.probes
    }

    /// The probes of one purpose.
    pub fn of(&self, is_ours: impl Fn(&Purpose) -> bool) -> impl Iterator<Item = &TrialRecord> {
        self.probes.iter().filter(move |record| is_ours(&record.purpose))
    }

    /// All of them, for counting what is stored and for the analysis, which takes the probes out by itself.
    pub fn all(&self) -> Vec<TrialRecord> {
        [self.measured(), self.probes()].concat()
    }
}

impl RunDir {
    /// Makes `<runs>/<name>-<UTC time>/`, for its owner only.
    pub fn create(runs: &Path, name: &str, now: Timestamp) -> Result<RunDir> {
        fs::create_dir_all(runs).with_context(|| format!("cannot make the folder of runs `{}`", runs.display()))?;
        let stem = format!("{}-{}", slug(name), now.strftime("%Y%m%dT%H%M%SZ"));
        // Two runs of one name in one second are rare, but neither may write into the other.
        let names = std::iter::once(stem.clone()).chain((2..100).map(|copy| format!("{stem}-{copy}")));
        for name in names {
            let path = runs.join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    sync_folder(runs)?;
                    return RunDir { path, writer: None }.held();
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => {
                    return Err(error).context(format!("cannot make the run folder `{}`", path.display()));
                }
            }
        }
        bail!("cannot make a run folder `{stem}`: a hundred of that name are there already")
    }

    /// Opens a stored run to go on with it; refused while another process works on it. What is read from now on
    /// does not change any more.
    pub fn open_to_write(runs: &Path, run: &str) -> Result<RunDir> {
        RunDir::open(runs, run)?.held()
    }

    fn held(self) -> Result<RunDir> {
        let file = lock_file(&self.path.join(LOCK))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(self.in_use()),
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the run folder"),
        }
        file.set_len(0)?;
        writeln!(&file, "{}", std::process::id())?;
        Ok(RunDir { writer: Some(Arc::new(file)), ..self })
    }

    fn in_use(&self) -> String {
        let holder = read_plain(&self.path.join(LOCK)).unwrap_or_default();
        let holder = std::str::from_utf8(&holder).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let holder = holder.map_or(String::new(), |pid| format!(" (process {pid})"));
        let (name, path) = (self.name(), self.path.display());
        format!(
            "{name} is still running: another dbduel{holder} works on it\n  next: wait until it has ended; `dbduel report {path}` reports what there is by now"
        )
    }

    /// Opens a stored run: a folder, its name under `runs`, or `last`.
    pub fn open(runs: &Path, run: &str) -> Result<RunDir> {
        let path = match run {
            "last" => newest(runs)?,
            _ => [PathBuf::from(run), runs.join(run)].into_iter().find(|path| path.join(PLAN).is_file()).ok_or_else(
                || {
                    anyhow!(
                        "there is no run `{run}`: neither a folder with a `{PLAN}` nor a name under `{}`\n  next: `dbduel list runs --runs {}` lists those that are there",
                        runs.display(),
                        shell_path(runs)
                    )
                },
            )?,
        };
        let run = RunDir { path, writer: None };
        check_version(&run.path.join(PLAN), PLAN_FORMAT_VERSION)?;
        if run.path.join(RUN).is_file() {
            check_version(&run.path.join(RUN), FORMAT_VERSION)?;
        }
        Ok(run)
    }

    /// All runs of a folder, the latest first; none of a folder that is not there.
    pub fn all(runs: &Path) -> Result<Vec<RunDir>> {
        if !runs.exists() {
            return Ok(Vec::new());
        }
        let mut found = stamped(runs)?;
        found.sort_by(|one, other| other.cmp(one));
        Ok(found.into_iter().map(|(.., path)| RunDir { path, writer: None }).collect())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a run that this process works on, if nothing was measured in it.
    pub fn remove_empty(&self) -> Result<bool> {
        if self.writer.is_none() || !self.trials()?.all().is_empty() {
            return Ok(false);
        }
        fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove `{}`", self.path.display()))?;
        Ok(true)
    }

    /// The folder's own name, by which `dbduel report` finds it again.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Keeps the experiment as given; the caller has masked its passwords.
    pub fn write_experiment(&self, text: &str) -> Result<()> {
        replace(&self.path.join(EXPERIMENT), text.as_bytes())
    }

    pub fn experiment(&self) -> Result<String> {
        let path = self.path.join(EXPERIMENT);
        read_plain_text(&path).with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Keeps the file that a search was asked for with, of which its experiment was made; the caller has masked
    /// its passwords.
    pub fn write_given(&self, text: &str) -> Result<()> {
        replace(&self.path.join(GIVEN), text.as_bytes())
    }

    /// What [`RunDir::write_given`] kept; `None` in any run but a search.
    pub fn given(&self) -> Result<Option<String>> {
        self.text(GIVEN)
    }

    pub fn write_plan(&self, plan: &PlanRecord) -> Result<()> {
        replace(&self.path.join(PLAN), &pretty(plan)?)
    }

    pub fn plan(&self) -> Result<PlanRecord> {
        read_json(&self.path.join(PLAN), PLAN_FORMAT_VERSION)
    }

    pub fn write_run(&self, run: &RunRecord) -> Result<()> {
        replace(&self.path.join(RUN), &pretty(run)?)
    }

    pub fn run_record(&self) -> Result<RunRecord> {
        let run = self.path.display();
        let begun = self.path.join(RUN).exists();
        let again = shell_path(&self.path);
        ensure!(begun, "run `{run}` has not begun to measure\n  next: go on with `dbduel run --resume {again}`");
        read_json(&self.path.join(RUN), FORMAT_VERSION)
    }

    /// Keeps a report beside the records it was made from.
    pub fn write_report(&self, file_name: &str, text: &str) -> Result<()> {
        replace(&self.path.join(file_name), text.as_bytes())
    }

    /// A report as it lies beside the records; `None` where none was written.
    pub fn report(&self, file_name: &str) -> Result<Option<String>> {
        self.text(file_name)
    }

    fn text(&self, file_name: &str) -> Result<Option<String>> {
        let path = self.path.join(file_name);
        if !path.is_file() {
            return Ok(None);
        }
        read_plain_text(&path).with_context(|| format!("cannot read `{}`", path.display())).map(Some)
    }

    /// Adds a finished trial. It is on the disk when this returns, so a crash in hour three keeps
    /// hours one and two.
    ///
    /// A number that is stored already is refused: no trial is counted twice.
    pub fn append(&self, record: &TrialRecord) -> Result<()> {
        let path = self.path.join(TRIALS);
        let is_new = |line: &serde_json::Value| line["trial"].as_u64() != Some(record.trial.into());
        let added = append_line(&path, record, &is_new);
        added.with_context(|| format!("cannot add trial {} to `{}`", record.trial, path.display()))
    }

    /// All finished trials, in the order in which they ran.
    pub fn trials(&self) -> Result<StoredTrials> {
        let path = self.path.join(TRIALS);
        let (mut records, torn): (Vec<TrialRecord>, bool) = read_lines(&path, "trial record")?;
        // A sum of nothing was stored as -0.0.
        records.iter_mut().flat_map(|record| record.metrics.values_mut()).for_each(|value| *value += 0.0);
        let note = torn.then(|| {
            format!("`{TRIALS}` ends in half a line, written when dbduel was killed; its trial counts as not done")
        });
        Ok(StoredTrials::new(records, note))
    }

    /// `trials/<number>/`, made where it is missing: logs, settings, series and histograms of one trial.
    pub fn trial_folder(&self, trial: u32) -> Result<PathBuf> {
        make_private(self.path.join("trials").join(trial.to_string()))
    }

    /// Keeps the stacks of a profile.
    pub fn write_stacks(&self, trial: u32, stacks: &BTreeMap<String, u64>) -> Result<()> {
        replace(&self.trial_folder(trial)?.join(STACKS), folded_text(stacks).as_bytes())
    }

    /// Keeps the waits of a profile.
    pub fn write_waits(&self, trial: u32, waits: &WaitsRecord) -> Result<()> {
        replace(&self.trial_folder(trial)?.join(WAITS), &pretty(waits)?)
    }

    /// What a profile left.
    pub fn profile(&self, trial: &TrialRecord) -> Result<DiagnosticRecord> {
        let read = || -> Result<DiagnosticRecord> {
            let stacks = self.file_of_trial(trial.trial, STACKS)?.map(String::from_utf8).transpose()?;
            let waits = self.file_of_trial(trial.trial, WAITS)?;
            let stacks = stacks.map(|text| read_folded(&text)).transpose()?;
            Ok(DiagnosticRecord::of(trial, stacks, waits.map(|bytes| serde_json::from_slice(&bytes)).transpose()?))
        };
        read().with_context(|| format!("cannot read the profile of trial {}", trial.trial))
    }

    /// Keeps a flame graph beside the stacks that it is drawn from.
    pub fn write_flame_graph(&self, trial: u32, file: &str, svg: &str) -> Result<()> {
        replace(&self.trial_folder(trial)?.join(file), svg.as_bytes())
    }

    pub fn write_series(&self, trial: u32, series: &Series) -> Result<()> {
        replace(&self.trial_folder(trial)?.join(SERIES), &csv_of(series)?)
    }

    /// The per-second series of a trial, where it left one.
    pub fn series(&self, trial: u32) -> Result<Option<Series>> {
        self.seconds(trial, SERIES)
    }

    /// Keeps what was observed in each second; nothing where nothing was observed.
    pub fn write_observed(&self, trial: u32, observed: &Series) -> Result<()> {
        self.write_seconds(trial, OBSERVED, observed)
    }

    /// What was observed in each second of a trial, if anything was.
    pub fn observed(&self, trial: u32) -> Result<Option<Series>> {
        self.seconds(trial, OBSERVED)
    }

    /// Keeps a line for each deferred transaction; nothing where clients defer none. Whoever holds the log to a
    /// database does so after a power cut too, so it is on the disk when this returns.
    pub fn write_deferred(&self, trial: u32, deferred: &Series) -> Result<()> {
        self.write_seconds(trial, DEFERRED, deferred)
    }

    /// The log of deferred transactions of a trial, where its clients deferred some.
    pub fn deferred(&self, trial: u32) -> Result<Option<Series>> {
        self.seconds(trial, DEFERRED)
    }

    fn write_seconds(&self, trial: u32, file: &str, seconds: &Series) -> Result<()> {
        if seconds.columns.is_empty() {
            return Ok(());
        }
        replace(&self.trial_folder(trial)?.join(file), &csv_of(seconds)?)
    }

    fn seconds(&self, trial: u32, file: &str) -> Result<Option<Series>> {
        let path = self.path.join("trials").join(trial.to_string()).join(file);
        if !path.is_file() {
            return Ok(None);
        }
        read_series(&path)
            .with_context(|| format!("cannot read the series of trial {trial}, `{}`", path.display()))
            .map(Some)
    }

    /// Keeps the settings that a trial's server had in force, as it reported them.
    pub fn write_settings(&self, trial: u32, settings: &BTreeMap<String, String>) -> Result<()> {
        replace(&self.trial_folder(trial)?.join(SETTINGS), &pretty(settings)?)
    }

    /// Keeps a trial's response times window by window, an HdrHistogram interval log; nothing where none were
    /// counted.
    pub fn write_windows(&self, trial: u32, log: &str) -> Result<()> {
        if log.is_empty() {
            return Ok(());
        }
        replace(&self.trial_folder(trial)?.join(WINDOWS), log.as_bytes())
    }

    /// What [`RunDir::write_windows`] kept. Bytes that are no text stand for damage, which a reader of the log
    /// finds.
    pub fn windows(&self, trial: u32) -> Result<Option<String>> {
        let kept = self.file_of_trial(trial, WINDOWS)?;
        Ok(kept.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn file_of_trial(&self, trial: u32, file: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join("trials").join(trial.to_string()).join(file);
        if !path.is_file() {
            return Ok(None);
        }
        read_plain(&path).with_context(|| format!("cannot read `{}`", path.display())).map(Some)
    }
}

/// Adds a line to a file of JSON lines; it is on the disk when this returns. Nothing is added unless every line that
/// is there `allows` it.
pub(crate) fn append_line(
    path: &Path,
    record: &impl Serialize,
    allows: &dyn Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    let is_new = !path.exists();
    let mut file = plain_file::open(OpenOptions::new().create(true).truncate(false).read(true).write(true), path)?;
    // No other process adds a line between reading those that are there and writing.
    file.lock()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = whole_lines(&bytes);
    for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
        ensure!(allows(&serde_json::from_slice(line)?), "it is stored there already");
    }
    // What a killed dbduel left behind the last whole line.
    file.set_len(whole as u64)?;
    file.seek(SeekFrom::Start(whole as u64))?;
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_data()?;
    if is_new {
        sync_folder(path.parent().expect("a file we write lies in a folder"))?;
    }
    Ok(())
}

/// All whole lines of a file of JSON lines, and whether half a line stands behind them; none where there is
/// no file. `what` names a line in messages.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path, what: &str) -> Result<(Vec<T>, bool)> {
    let bytes = match read_plain(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
        Err(error) => return Err(error).context(format!("cannot read `{}`", path.display())),
    };
    let whole = whole_lines(&bytes);
    let mut records = Vec::new();
    for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let record = serde_json::from_slice(line).with_context(|| {
            format!("`{}`, line {}: not a {what} of format {FORMAT_VERSION}", path.display(), index + 1)
        })?;
        records.push(record);
    }
    Ok((records, whole < bytes.len()))
}

/// A file of a run; what is no plain file there is refused.
fn read_plain(path: &Path) -> std::io::Result<Vec<u8>> {
    plain_file::read(path, plain_file::STORED_BYTES_MAX)
}

fn read_plain_text(path: &Path) -> std::io::Result<String> {
    plain_file::read_text(path, plain_file::STORED_BYTES_MAX)
}

/// A run's name as part of a folder's name: lower case, everything but letters and digits `-`.
fn slug(name: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
    };
    name.chars().map(plain).collect()
}

/// The run that started last, going by the time in the folders' names.
/// The newest that measured something; the newest of all where none has.
fn newest(runs: &Path) -> Result<PathBuf> {
    let has_trials = |path: &Path| fs::metadata(path.join(TRIALS)).is_ok_and(|trials| trials.len() > 0);
    let last =
        stamped(runs)?.into_iter().max_by_key(|(stamp, name, path)| (has_trials(path), stamp.clone(), name.clone()));
    last.map(|(.., path)| path).ok_or_else(|| anyhow!("there is no stored run under `{}` yet; --runs names another folder\n  next: `dbduel run quickstart` makes one in two minutes", runs.display()))
}

/// Runs with the time and the name that order them.
fn stamped(runs: &Path) -> Result<Vec<(String, String, PathBuf)>> {
    let entries = fs::read_dir(runs).with_context(|| format!("there are no runs here: cannot read `{}`; --runs names another folder\n  next: `dbduel run quickstart` makes one in two minutes", runs.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(stamp) = time_stamp(&name).filter(|_| path.join(PLAN).is_file()) {
            found.push((stamp.to_owned(), name, path));
        }
    }
    Ok(found)
}

/// The part of a folder's name from its UTC time on: `20310504T101500Z`, or with `-2` behind it.
fn time_stamp(name: &str) -> Option<&str> {
    let shape = |stamp: &str| {
        let bytes = stamp.as_bytes();
        bytes.len() >= 16 && bytes[8] == b'T' && bytes[15] == b'Z' && bytes[..8].iter().all(u8::is_ascii_digit)
    };
    name.match_indices('-').map(|(index, _)| &name[index + 1..]).find(|rest| shape(rest))
}

/// Writes a file so that a reader gets the old one or the new one, whatever happens in between.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))?;
    sync_folder(path.parent().expect("a file we write lies in a folder"))
}

/// A new name is safe only once its folder is synced.
fn sync_folder(folder: &Path) -> Result<()> {
    let sync = || File::open(folder)?.sync_all();
    sync().with_context(|| format!("cannot sync the folder `{}`", folder.display()))
}

/// Bytes up to and with the last line feed.
pub(crate) fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1)
}

fn pretty(record: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(record)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn read_json<T: DeserializeOwned>(path: &Path, version: u32) -> Result<T> {
    check_version(path, version)?;
    let bytes = read_plain(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("`{}` is damaged: not a record of format {version}", path.display()))
}

/// Looks at the version alone, because a newer record may have a shape we cannot read.
fn check_version(path: &Path, expected: u32) -> Result<()> {
    let bytes = read_plain(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let record: serde_json::Value =
        serde_json::from_slice(&bytes).with_context(|| format!("`{}` is damaged: not JSON", path.display()))?;
    match record["format_version"].as_u64() {
        Some(version) => expect_format(version, expected).with_context(|| format!("cannot read `{}`", path.display())),
        None => bail!("`{}` has no format_version: it is not a record of dbduel", path.display()),
    }
}

/// Refuses a record of another format.
pub fn expect_format(version: u64, expected: u32) -> Result<()> {
    let next = match version.cmp(&u64::from(expected)) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "use a newer dbduel",
        Ordering::Less => "report it with the dbduel that made it",
    };
    bail!("it has format version {version} and this dbduel reads {expected}: {next}")
}

fn make_private(folder: PathBuf) -> Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    Ok(folder)
}

fn csv_of(series: &Series) -> Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(&series.columns)?;
    for row in &series.rows {
        csv.write_record(row.iter().map(cell))?;
    }
    Ok(csv.into_inner()?)
}

/// An empty cell is a second in which nothing could be seen.
fn cell(value: &f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

fn value(cell: &str) -> Result<f64, std::num::ParseFloatError> {
    if cell.is_empty() { Ok(f64::NAN) } else { cell.parse() }
}

fn read_series(path: &Path) -> Result<Series> {
    let text = read_plain(path)?;
    let mut csv = csv::Reader::from_reader(&text[..]);
    let columns = csv.headers()?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in csv.records() {
        rows.push(record?.iter().map(value).collect::<Result<Vec<f64>, _>>()?);
    }
    Ok(Series { columns, rows })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::format::{ContrastKind, Point, Status};

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn record(trial: u32) -> TrialRecord {
        TrialRecord {
            workers: Vec::new(),
            trial,
            block: 1,
            order: 1,
            workload: "oltp".into(),
            contender: "5.5".into(),
            point: Point::from([("clients".into(), 16)]),
            status: Status::Ok,
            failure: None,
            purpose: Default::default(),
            shares_start_with: None,
            flags: vec![],
            remarks: BTreeMap::new(),
            started_at: "2031-05-04T10:15:00Z".into(),
            finished_at: "2031-05-04T10:16:00Z".into(),
            steps: vec![("start".into(), 0.5)],
            metrics: [("tps".to_owned(), 1234.5)].into(),
        }
    }

    impl RunDir {
        fn write_plan_for_tests(&self) {
            fs::write(self.path().join(PLAN), r#"{"format_version": 1}"#).unwrap();
        }
    }

    fn run_in(runs: &Path) -> RunDir {
        RunDir::create(runs, "MySQL 5.5 vs 5.6", at("2031-05-04T10:15:00Z")).unwrap()
    }

    #[test]
    fn a_probe_is_never_among_the_trials_that_may_be_judged() {
        let cause_test = Purpose::CauseTest { cause: ContrastKind::Tmpfs, candidate: "b".into() };
        let probes = [
            Purpose::Pilot,
            Purpose::Headroom { threads: 2 },
            Purpose::Profile,
            Purpose::Recovery { kill: 1 },
            Purpose::Load { number: 1 },
            cause_test,
        ];
        let judged = [Purpose::Compare, Purpose::Repeat { of: 1 }, Purpose::Alone];
        let of = |(purpose, trial): (Purpose, u32)| TrialRecord { purpose, ..record(trial) };
        let records: Vec<TrialRecord> = probes.clone().into_iter().chain(judged).zip(1..).map(of).collect();
        let trials = StoredTrials::new(records.clone(), None);
        assert_eq!((trials.measured(), trials.probes()), (&records[6..], &records[..6]));
        for (purpose, record) in probes.iter().zip(&records) {
            assert_eq!(trials.of(|one| one == purpose).collect::<Vec<_>>(), [record]);
        }
        assert_eq!(trials.all().len(), 9);
    }

    #[test]
    fn a_run_folder_carries_name_and_time_and_is_private() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        assert_eq!(run.name(), "mysql-5-5-vs-5-6-20310504T101500Z");
        assert_eq!(fs::metadata(run.path()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(run_in(runs.path()).name(), "mysql-5-5-vs-5-6-20310504T101500Z-2");
    }

    #[test]
    fn trials_come_back_as_they_were_written() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        assert!(run.trials().unwrap().measured().is_empty());
        run.append(&record(1)).unwrap();
        run.append(&record(2)).unwrap();
        let trials = run.trials().unwrap();
        assert_eq!((trials.measured(), &trials.note), (&[record(1), record(2)][..], &None));
    }

    #[test]
    fn a_log_of_deferred_transactions_is_kept_where_clients_deferred_some() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        run.write_deferred(7, &Series::default()).unwrap();
        assert_eq!(run.deferred(7).unwrap(), None);
        let columns = ["queued_s", "ended_s", "w_id", "o_id_d1", "o_id_d2"].map(str::to_owned).to_vec();
        let log = Series { columns, rows: vec![vec![-0.5, 0.000_001, 2.0, f64::NAN, 2101.0]] };
        run.write_deferred(7, &log).unwrap();
        let text = fs::read_to_string(run.path().join("trials/7/deferred.csv")).unwrap();
        assert_eq!(text, "queued_s,ended_s,w_id,o_id_d1,o_id_d2\n-0.5,0.000001,2,,2101\n");
        let found = run.deferred(7).unwrap().unwrap();
        assert_eq!((found.columns, found.rows[0][..3].to_vec()), (log.columns, log.rows[0][..3].to_vec()));
        assert!(found.rows[0][3].is_nan());
    }

    #[test]
    fn a_trial_is_stored_once_whoever_stores_it() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        run.write_plan_for_tests();
        let beside = RunDir::open(runs.path(), &run.name()).unwrap();
        run.append(&record(1)).unwrap();
        let message = format!("{:#}", beside.append(&record(1)).unwrap_err());
        assert!(message.contains("trial 1") && message.contains("stored there already"), "{message}");
        beside.append(&record(2)).unwrap();
        assert_eq!(run.trials().unwrap().measured(), [record(1), record(2)]);
    }

    #[test]
    fn a_run_has_one_writer_and_any_number_of_readers() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        run.write_plan_for_tests();
        let name = run.name();
        let message = RunDir::open_to_write(runs.path(), &name).unwrap_err().to_string();
        assert!(message.contains(&format!("(process {})", std::process::id())), "{message}");
        assert!(RunDir::open(runs.path(), &name).unwrap().trials().unwrap().measured().is_empty());
        let copy = run.clone();
        drop(run);
        RunDir::open_to_write(runs.path(), &name).expect_err("the copy still holds it");
        drop(copy);
        RunDir::open_to_write(runs.path(), &name).unwrap();
    }

    #[test]
    fn a_line_torn_anywhere_is_ignored_and_cut_off_before_the_next() {
        let whole = serde_json::to_vec(&record(2)).unwrap();
        for torn_after in [1, whole.len() / 2, whole.len()] {
            let runs = tempfile::tempdir().unwrap();
            let run = run_in(runs.path());
            run.append(&record(1)).unwrap();
            let mut file = OpenOptions::new().append(true).open(run.path().join(TRIALS)).unwrap();
            file.write_all(&whole[..torn_after]).unwrap();
            let trials = run.trials().unwrap();
            assert_eq!(trials.measured(), [record(1)], "torn after {torn_after} bytes");
            assert!(trials.note.is_some());
            run.append(&record(3)).unwrap();
            let trials = run.trials().unwrap();
            assert_eq!((trials.measured(), &trials.note), (&[record(1), record(3)][..], &None));
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error_that_names_it() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        fs::write(run.path().join(TRIALS), "{\"trial\": 1\n{}\n").unwrap();
        let message = format!("{:#}", run.trials().unwrap_err());
        assert!(message.contains("line 1"), "{message}");
    }

    #[test]
    fn the_last_run_is_the_one_with_the_latest_time_whatever_its_name() {
        let runs = tempfile::tempdir().unwrap();
        for (name, time) in
            [("z", "2031-05-04T10:15:00Z"), ("a-b", "2031-06-01T00:00:00Z"), ("m", "2031-05-05T00:00:00Z")]
        {
            let run = RunDir::create(runs.path(), name, at(time)).unwrap();
            fs::write(run.path().join(PLAN), r#"{"format_version": 1}"#).unwrap();
        }
        assert_eq!(RunDir::open(runs.path(), "last").unwrap().name(), "a-b-20310601T000000Z");
        assert_eq!(RunDir::open(runs.path(), "z-20310504T101500Z").unwrap().name(), "z-20310504T101500Z");
        // A run that measured something goes before a later one that did not.
        fs::write(runs.path().join("m-20310505T000000Z").join(TRIALS), "{}\n").unwrap();
        assert_eq!(RunDir::open(runs.path(), "last").unwrap().name(), "m-20310505T000000Z");
        let message = RunDir::open(runs.path(), "nope").unwrap_err().to_string();
        assert!(message.contains("`nope`"), "{message}");
    }

    #[test]
    fn a_run_of_a_newer_format_is_refused() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        fs::write(run.path().join(PLAN), r#"{"format_version": 2, "shape": "unknown"}"#).unwrap();
        let message = format!("{:#}", RunDir::open(runs.path(), "last").unwrap_err());
        assert!(message.contains("format version 2") && message.contains("newer dbduel"), "{message}");
    }

    #[test]
    fn a_run_of_the_first_format_is_refused_in_one_sentence() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        run.write_plan_for_tests();
        fs::write(run.path().join(RUN), r#"{"format_version": 1}"#).unwrap();
        let message = format!("{:#}", RunDir::open(runs.path(), "last").unwrap_err());
        assert!(
            message.ends_with("format version 1 and this dbduel reads 2: report it with the dbduel that made it"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1);
    }

    #[test]
    fn a_series_comes_back_as_it_was_written() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        let series =
            Series { columns: vec!["second".into(), "tps".into()], rows: vec![vec![1.0, 0.1], vec![2.0, 1e9]] };
        run.write_series(7, &series).unwrap();
        assert_eq!(run.series(7).unwrap(), Some(series));
        assert_eq!(run.series(8).unwrap(), None);
    }

    #[test]
    fn a_replaced_file_leaves_no_unfinished_one() {
        let runs = tempfile::tempdir().unwrap();
        let run = run_in(runs.path());
        run.write_experiment("name = \"x\"\n").unwrap();
        run.write_experiment("name = \"y\"\n").unwrap();
        assert_eq!(run.experiment().unwrap(), "name = \"y\"\n");
        let files = fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let files: std::collections::BTreeSet<_> = files.collect();
        assert_eq!(files, [EXPERIMENT, LOCK].map(Into::into).into());
    }
}
