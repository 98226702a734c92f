//! Runs on their way into a store.
//!
//! Every trial is a transaction of its own, behind that of its run and before the last one, which has the files of the run
//! as a whole. What is there already stays: plan, trials and their files never change, and what a run rewrites while
//! it goes on (`run.json`, logs, reports) is replaced until the run has ended. A push can be repeated, and two at once
//! end like one.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use driver::{Admin, Value};
use record::format::{PlanRecord, RunRecord, TrialRecord};
use record::run_copy::{RunFiles, part};
use record::{RunDir, RunState, secrets};
use serde_json::Value as Json;

use crate::checksum::{Violation, run_id, sha256};
use crate::schema::in_transaction;
use crate::store::{ENDED, Known, Store, text};

/// A longer file would have to be held several times in memory, here and by the server.
const FILE_BYTES_MAX: usize = 64 << 20;
/// Pushes of the same run that may end while this one looks at it.
const ATTEMPTS: usize = 3;
const RUNNING: &str = "running";

/// Who pushes a run, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Anyone, at any time.
    Any,
    /// The process that worked on the run and still holds its lock, behind the last record and the reports.
    Finished,
}

/// What a push has added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Trials and files that were not there.
    pub trials: usize,
    pub files: usize,
    /// Trials of the run that are stored now.
    pub trials_stored: usize,
    /// What no store takes: links, sockets and such.
    pub left_out: Vec<String>,
    /// The folder is an earlier state of the run that is stored.
    pub is_older: bool,
}

/// A run as its folder has it now.
struct Folder<'a> {
    dir: &'a RunDir,
    run_id: String,
    name: String,
    plan: PlanRecord,
    run: RunRecord,
    record: String,
}

/// What is to be done about the files of a run.
#[derive(Default)]
struct Work {
    /// By their place in `trials.ndjson`, from 0, with the files that are not stored.
    trials: Vec<(usize, TrialRecord, String, Vec<String>)>,
    /// Files that are stored with the run itself.
    files: Vec<String>,
    /// `run.json` and its state are newer here.
    replaces_record: bool,
    left_out: Vec<String>,
    is_older: bool,
}

impl<'a> Folder<'a> {
    fn of(dir: &'a RunDir) -> Result<Folder<'a>> {
        let (plan, run) = (dir.plan()?, dir.run_record()?);
        let record = String::from_utf8(dir.file(part::RUN)?).context("run.json is no text in UTF-8")?;
        Ok(Folder { dir, run_id: run_id(&plan, &run), name: dir.name(), plan, run, record })
    }

    fn file(&self, path: &str) -> Result<Vec<u8>> {
        let bytes = self.dir.file(path)?;
        ensure!(
            bytes.len() <= FILE_BYTES_MAX,
            "{path} of {} has {} MiB, and a store takes files of {} MiB at most\n  next: shorten or remove it, and push again",
            self.name,
            bytes.len() >> 20,
            FILE_BYTES_MAX >> 20
        );
        Ok(as_stored(path, bytes))
    }

    fn differs(&self, what: &str, here: &str, there: &str) -> anyhow::Error {
        Violation::differs(&self.name, what, here, there).into()
    }

    fn state(&self, moment: Moment) -> &'static str {
        let is_worked_on = moment == Moment::Any && self.dir.state() == RunState::Running;
        match (is_worked_on, self.run.finished_at.is_some(), self.run.ended_by.as_deref()) {
            (true, ..) => RUNNING,
            (_, _, Some("interrupted")) => "interrupted",
            (_, true, _) => ENDED,
            _ => "abandoned",
        }
    }
}

/// A file as it is stored: without passwords that a server has logged, or that were written into an experiment by hand.
pub fn as_stored(path: &str, bytes: Vec<u8>) -> Vec<u8> {
    match path {
        part::EXPERIMENT | part::GIVEN => secrets::mask(&String::from_utf8_lossy(&bytes)).into_bytes(),
        path if path.ends_with(".log") => secrets::mask_log(&bytes),
        _ => bytes,
    }
}

/// What a run rewrites while it goes on.
fn may_change(path: &str) -> bool {
    path.ends_with(".log") || path == "report.txt" || path == "report.html"
}

impl Store {
    /// Stores all of a run that is not there yet.
    pub fn push(&mut self, dir: &RunDir, moment: Moment) -> Result<Pushed> {
        for _ in 1..ATTEMPTS {
            if let Some(pushed) = self.try_to_push(dir, moment)? {
                return Ok(pushed);
            }
        }
        let pushed = self.try_to_push(dir, moment)?;
        pushed.with_context(|| format!("{} was pushed by others several times meanwhile; push it again", dir.name()))
    }

    /// None where another push has ended the run meanwhile.
    fn try_to_push(&mut self, dir: &RunDir, moment: Moment) -> Result<Option<Pushed>> {
        let folder = Folder::of(dir)?;
        let state = folder.state(moment);
        let known = self.known(&folder.run_id)?;
        let lines = dir.trial_lines(0)?;
        let work = work(&folder, known.as_ref(), state, lines)?;
        let pushed = Pushed {
            trials: work.trials.len(),
            files: work.files.len() + work.trials.iter().map(|(.., files)| files.len()).sum::<usize>(),
            trials_stored: work.trials.len() + known.as_ref().map_or(0, |known| known.trials.len()),
            left_out: work.left_out.clone(),
            is_older: work.is_older,
        };
        if known.is_none() {
            begin(&mut self.admin, &folder)?;
        }
        for (line, trial, text, files) in &work.trials {
            in_transaction(&mut self.admin, |admin| add_trial(admin, &folder, *line, trial, text, files))?;
        }
        let had_ended = known.is_some_and(|known| known.has_ended());
        let is_there = pushed.trials + pushed.files == 0 && !work.replaces_record;
        let finished = is_there || finish(&mut self.admin, &folder, &work, state, had_ended)?;
        Ok(finished.then_some(pushed))
    }

    /// Stores the trials of a run that this process works on and that were added since the last call; gives how many are
    /// stored now.
    pub fn push_new_trials(&mut self, dir: &RunDir) -> Result<usize> {
        let folder = Folder::of(dir)?;
        let mut known = match self.followed.take().filter(|known| known.run_id == folder.run_id) {
            Some(known) => known,
            None => match self.known(&folder.run_id)? {
                Some(known) => known,
                None => {
                    begin(&mut self.admin, &folder)?;
                    Known { run_id: folder.run_id.clone(), ..Known::default() }
                }
            },
        };
        ensure!(!known.has_ended(), "the store has {} as a run that has ended", folder.name);
        for (trial, text) in dir.trial_lines(known.lines)? {
            if !known.trials.contains_key(&trial.trial) {
                let files = dir.files_of_trial(trial.trial)?.paths;
                in_transaction(&mut self.admin, |admin| add_trial(admin, &folder, known.lines, &trial, &text, &files))?;
                known.trials.insert(trial.trial, sha256(text.as_bytes()));
            }
            known.lines += 1;
        }
        in_transaction(&mut self.admin, |admin| {
            admin.run("SET LOCAL synchronous_commit TO DEFAULT")?;
            update_run(admin, &folder, RUNNING)
        })?;
        let stored = known.lines;
        self.followed = Some(known);
        Ok(stored)
    }

    fn known(&mut self, run_id: &str) -> Result<Option<Known>> {
        let id = [Value::Text(run_id.as_bytes())];
        let run = "SELECT state, encode(sha256(convert_to(record, 'UTF8')), 'hex') FROM run WHERE run_id = $1";
        let run = self.admin.fetch(run, &id)?;
        if run.is_empty() {
            return Ok(None);
        }
        let trials = "SELECT trial, encode(sha256(convert_to(record, 'UTF8')), 'hex') FROM trial WHERE run_id = $1";
        let trials = self.admin.fetch(trials, &id)?;
        let files = self.admin.fetch("SELECT path, sha256 FROM file WHERE run_id = $1", &id)?;
        let trial = |row: usize| Ok((trials.int(row, 0)? as u32, text(&trials, row, 1)));
        Ok(Some(Known {
            run_id: run_id.to_owned(),
            state: text(&run, 0, 0),
            record: text(&run, 0, 1),
            trials: (0..trials.len()).map(trial).collect::<Result<_>>()?,
            files: (0..files.len()).map(|row| (text(&files, row, 0), text(&files, row, 1))).collect(),
            lines: 0,
        }))
    }
}

/// Compares a folder with what is stored, and refuses what contradicts it before anything is written.
fn work(folder: &Folder<'_>, known: Option<&Known>, state: &str, lines: Vec<(TrialRecord, String)>) -> Result<Work> {
    let nothing = Known::default();
    let known = known.unwrap_or(&nothing);
    let ours: std::collections::HashSet<u32> = lines.iter().map(|(trial, _)| trial.trial).collect();
    let lacks_trials = known.trials.keys().any(|trial| !ours.contains(trial));
    let is_older = lacks_trials || known.has_ended() && state != ENDED;
    let mut work = Work { is_older, ..Work::default() };
    let changes = |path: &str| -> Result<bool> {
        let Some(there) = known.files.get(path) else { return Ok(!(is_older && may_change(path))) };
        let here = sha256(&folder.file(path)?);
        match () {
            () if here == *there || is_older && may_change(path) => Ok(false),
            () if known.has_ended() || !may_change(path) => Err(folder.differs(path, &here, there)),
            () => Ok(true),
        }
    };
    let mut take = |files: RunFiles| -> Result<Vec<String>> {
        work.left_out.extend(files.left_out);
        let mut taken = Vec::new();
        for path in files.paths {
            if changes(&path)? {
                taken.push(path);
            }
        }
        Ok(taken)
    };
    work.files = take(folder.dir.files_of_run()?)?;
    for (line, (trial, text)) in lines.into_iter().enumerate() {
        let here = sha256(text.as_bytes());
        let files = take(folder.dir.files_of_trial(trial.trial)?)?;
        match known.trials.get(&trial.trial) {
            Some(there) if *there != here => {
                return Err(folder.differs(&format!("trial {}", trial.trial), &here, there));
            }
            Some(_) => work.files.extend(files),
            None => work.trials.push((line, trial, text, files)),
        }
    }
    let here = sha256(folder.record.as_bytes());
    if known.has_ended() && known.record != here && (!is_older || !work.trials.is_empty()) {
        return Err(folder.differs(part::RUN, &here, &known.record));
    }
    work.replaces_record = !is_older && (known.record != here || known.state != state);
    Ok(work)
}

/// The run with what it began with.
fn begin(admin: &mut Admin, folder: &Folder<'_>) -> Result<()> {
    in_transaction(admin, |admin| {
        add_run(admin, folder)?;
        for path in [part::PLAN, part::EXPERIMENT, part::GIVEN] {
            if folder.dir.path().join(path).is_file() {
                add_file(admin, folder, path)?;
            }
        }
        Ok(())
    })
}

/// Adds a run; one that another push has added meanwhile stays.
fn add_run(admin: &mut Admin, folder: &Folder<'_>) -> Result<()> {
    let Folder { run_id, name, plan, run, record, dir } = folder;
    let plan_json = without_zeros(serde_json::from_slice(&dir.file(part::PLAN)?)?).to_string();
    let (name, experiment) = (storable(name), storable(&plan.name));
    admin.execute(
        "INSERT INTO run (run_id, name, experiment, plan_hash, seed, started_at, plan, record, state, hosts, labels, pushed_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', '[]', '{}', $9) ON CONFLICT (run_id) DO NOTHING",
        &[
            of(run_id),
            of(&name),
            of(&experiment),
            of(&plan.plan_hash),
            Value::Int(plan.seed as i64),
            of(&run.started_at),
            of(&plan_json),
            of(record),
            of(&pushed_by()),
        ],
    )?;
    update_run(admin, folder, RUNNING)
}

/// Brings a run up to date that has not ended.
fn update_run(admin: &mut Admin, folder: &Folder<'_>, state: &str) -> Result<()> {
    let run = &folder.run;
    let hosts = without_zeros(Json::Array(vec![serde_json::to_value(&run.host)?])).to_string();
    let labels = without_zeros(serde_json::to_value(&run.labels)?).to_string();
    admin.execute(
        "UPDATE run SET hosts = $2, labels = $3, finished_at = $4, state = $5, ended_by = $6, pushed_by = $7,
             pushed_at = now(), record = $8
         WHERE run_id = $1 AND state <> 'ended'",
        &[
            of(&folder.run_id),
            of(&hosts),
            of(&labels),
            run.finished_at.as_deref().map_or(Value::Null, of),
            of(state),
            run.ended_by.as_deref().map_or(Value::Null, of),
            of(&pushed_by()),
            of(&folder.record),
        ],
    )?;
    Ok(())
}

/// A trial with its files. One that another push has added meanwhile must be the same.
fn add_trial(
    admin: &mut Admin,
    folder: &Folder<'_>,
    line: usize,
    trial: &TrialRecord,
    text: &str,
    files: &[String],
) -> Result<()> {
    let json = |value: serde_json::Result<Json>| Ok::<_, anyhow::Error>(without_zeros(value?).to_string());
    let (point, metrics) = (json(serde_json::to_value(&trial.point))?, json(serde_json::to_value(&trial.metrics))?);
    let (workload, contender) = (storable(&trial.workload), storable(&trial.contender));
    let status = if trial.status == record::format::Status::Ok { "ok" } else { "failed" };
    let added = admin.execute(
        "INSERT INTO trial (run_id, trial, line, purpose, block, workload, contender, point, status, metrics, record)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        &[
            of(&folder.run_id),
            Value::Int(trial.trial.into()),
            Value::Int(line as i64),
            of(&purpose(trial)?),
            Value::Int(trial.block.into()),
            of(&workload),
            of(&contender),
            of(&point),
            of(status),
            of(&metrics),
            of(text),
        ],
    )?;
    if added == 0 {
        let sql =
            "SELECT encode(sha256(convert_to(record, 'UTF8')), 'hex') FROM trial WHERE run_id = $1 AND trial = $2";
        let there = admin.fetch(sql, &[of(&folder.run_id), Value::Int(trial.trial.into())])?;
        expect_same(folder, &format!("trial {}", trial.trial), text.as_bytes(), &crate::store::text(&there, 0, 0))?;
    }
    files.iter().try_for_each(|path| add_file(admin, folder, path))
}

fn expect_same(folder: &Folder<'_>, what: &str, here: &[u8], there: &str) -> Result<()> {
    let here = sha256(here);
    if here == there { Ok(()) } else { Err(folder.differs(what, &here, there)) }
}

/// A file that is not there; one that another push has added meanwhile must be the same, unless it may change.
fn add_file(admin: &mut Admin, folder: &Folder<'_>, path: &str) -> Result<()> {
    let content = folder.file(path)?;
    if write_file(admin, folder, path, &content, "NOTHING")? == 0 && !may_change(path) {
        let sql = "SELECT sha256 FROM file WHERE run_id = $1 AND path = $2";
        let there = admin.fetch(sql, &[of(&folder.run_id), of(path)])?;
        expect_same(folder, path, &content, &text(&there, 0, 0))?;
    }
    Ok(())
}

fn write_file(admin: &mut Admin, folder: &Folder<'_>, path: &str, content: &[u8], on_conflict: &str) -> Result<u64> {
    let sql = format!(
        "INSERT INTO file (run_id, path, sha256, bytes, content) VALUES ($1, $2, $3, $4, decode($5, 'base64'))
         ON CONFLICT (run_id, path) DO {on_conflict}"
    );
    let bytes = Value::Int(content.len() as i64);
    Ok(admin
        .execute(&sql, &[of(&folder.run_id), of(path), of(&sha256(content)), bytes, of(&STANDARD.encode(content))])?)
}

/// The last transaction: files of the run as a whole, and its state. False where another push has ended the run since
/// this one compared.
fn finish(admin: &mut Admin, folder: &Folder<'_>, work: &Work, state: &str, had_ended: bool) -> Result<bool> {
    in_transaction(admin, |admin| {
        admin.run("SET LOCAL synchronous_commit TO DEFAULT")?;
        let there = admin.fetch("SELECT state FROM run WHERE run_id = $1 FOR UPDATE", &[of(&folder.run_id)])?;
        if !had_ended && text(&there, 0, 0) == ENDED {
            return Ok(false);
        }
        for path in &work.files {
            if may_change(path) && !had_ended {
                let replace = "UPDATE SET sha256 = excluded.sha256, bytes = excluded.bytes, content = excluded.content";
                write_file(admin, folder, path, &folder.file(path)?, replace)?;
            } else {
                add_file(admin, folder, path)?;
            }
        }
        if work.replaces_record {
            update_run(admin, folder, state)?;
        } else {
            admin.execute("UPDATE run SET pushed_at = now() WHERE run_id = $1", &[of(&folder.run_id)])?;
        }
        Ok(true)
    })
}

fn of(text: &str) -> Value<'_> {
    Value::Text(text.as_bytes())
}

/// The purpose without what belongs to it: `repeat`.
fn purpose(trial: &TrialRecord) -> Result<String> {
    Ok(match serde_json::to_value(&trial.purpose)? {
        Json::Object(parts) => parts.keys().next().cloned().unwrap_or_default(),
        name => name.as_str().unwrap_or_default().to_owned(),
    })
}

/// PostgreSQL keeps no zero byte in a text.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The same for JSON that is there for SQL; records keep theirs, where it is escaped.
fn without_zeros(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(storable(&text)),
        Json::Array(items) => items.into_iter().map(without_zeros).collect(),
        Json::Object(entries) => entries.into_iter().map(|(key, one)| (storable(&key), without_zeros(one))).collect(),
        flat => flat,
    }
}

/// `user@host`, for the readers of a list.
fn pushed_by() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|user| user.name);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    storable(&format!("{}@{}", user.unwrap_or_else(|| nix::unistd::geteuid().to_string()), host.trim()))
}
