//! What a search will try, decided before anything starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::search_space::{Range, candidates};
use crate::tuning::{Rival, SearchShape, asks_for_crashes, crashes_text, duel_text, search_text};
use crate::values;
use engine::memory_need;
use engine::tunable::{Machine, Tunable, tunables};
use experiment::plan::{data_directory_bytes, heaviest_point};
use experiment::{Contender, Error, Experiment, Known, Origin, Overrides, RATE, WorkloadChoice, resolve};
use record::format::Point;
use record::format::tuning::{CandidateRecord, GivenRecord, RaceRecord, RefusedRecord, SearchRecord};
use record::setting_value::plain;
use trial::host;

/// What the candidate is called that meets the incumbent again.
pub const WINNER: &str = "tuned";

/// Rate of races among equals that show one of them to differ.
const ALPHA: f64 = 0.05;
const BLOCKS_PER_ROUND: u32 = 2;
/// Enough for the race to show one of two hundred candidates to be faster, and a few for who is not so clear.
const BLOCKS_MAX: u32 = 24;

/// Three times as long as the incumbent's, and half a minute, is too long to wait for a candidate.
const TRIAL_TIMES_MAX: f64 = 3.0;
const TRIAL_SLACK_S: f64 = 30.0;
/// Logs may be a few GiB larger than the incumbent's, and are worth a try.
const DISK_TIMES_MAX: f64 = 2.0;
const DISK_SLACK_BYTES: u64 = 8 << 30;

/// Candidates by default.
pub const CANDIDATES: u32 = 16;

/// What a search is asked for, beside its file.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub candidates: Option<u32>,
    pub overrides: Overrides,
}

/// A search before its first block.
pub struct Draft {
    /// Where the file lies, for messages.
    pub file: PathBuf,
    /// The file as it was given.
    pub source: String,
    pub experiment: Experiment,
    pub overrides: Overrides,
    pub record: SearchRecord,
    /// The search as an experiment file.
    pub search_text: String,
}

/// What the winner of a search is measured by.
pub struct Duel {
    pub text: String,
    /// Labels of workloads that had no part in the search.
    pub held_out: Vec<String>,
    pub experiment: Experiment,
}

impl Draft {
    /// Out of a file, without the values that are known to be refused.
    pub fn of(
        request: &SearchRequest,
        file: &Path,
        refused: Vec<RefusedRecord>,
        known: &Known,
    ) -> Result<Draft, Error> {
        let overrides = Overrides { leaves_recovery: true, ..request.overrides.clone() };
        let experiment = Experiment::load(file, known, &overrides).map_err(Error::mistake)?;
        let source = Experiment::source(file, known, &overrides).map_err(Error::mistake)?.text;
        let (incumbent, workload) = (&experiment.contenders[0], &experiment.workloads[0]);
        refuse_target(incumbent, file)?;
        refuse_rate(workload, &experiment, file)?;
        let point = heaviest_point(&experiment, workload);
        let given = given(request, &experiment);
        let asked = Asked { experiment: &experiment, incumbent, workload, point: &point };
        let record = asked.record(given, refused).map_err(Error::mistake)?;
        let record = SearchRecord { has_crashes: asks_for_crashes(&source), ..record };
        let racing = record.candidates.iter().filter(|candidate| candidate.out.is_none());
        let rival = |one: &CandidateRecord| Rival { name: one.name.clone(), settings: one.settings.clone() };
        let rivals: Vec<Rival> = racing.map(rival).collect();
        if rivals.is_empty() {
            return Err(Error::mistake(no_candidate(&record, file)));
        }
        let shape = SearchShape { point: &point, blocks: BLOCKS_MAX, seed: record.seed };
        let search_text = search_text(&source, &experiment, &rivals, shape);
        Ok(Draft { file: file.to_owned(), source, overrides, record, search_text, experiment })
    }

    /// One that was begun before: nothing is drawn or decided again.
    pub fn stored(
        file: PathBuf,
        source: String,
        given: &GivenRecord,
        record: SearchRecord,
        search_text: String,
        known: &Known,
    ) -> Result<Draft> {
        let overrides = overrides(given);
        let experiment = Experiment::parse(&source, "given.toml", known, &overrides)?;
        Ok(Draft { file, source, overrides, record, search_text, experiment })
    }

    pub fn incumbent(&self) -> &Contender {
        &self.experiment.contenders[0]
    }

    /// What candidates are drawn from.
    pub fn space(&self) -> Vec<Range> {
        let range =
            |(setting, values): (&String, &Vec<String>)| Range { setting: setting.clone(), values: values.clone() };
        self.record.space.iter().map(range).collect()
    }

    /// The incumbent's settings with some of them moved.
    pub fn with(&self, moved: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let own =
            self.incumbent().settings.iter().filter(|(name, _)| !moved.keys().any(|one| plain(one) == plain(name)));
        own.chain(moved).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The memory guard (method, section 6).
    pub fn fits(&self, moved: &BTreeMap<String, String>) -> Result<(), String> {
        let workload = &self.experiment.workloads[0];
        let asked =
            Asked { experiment: &self.experiment, incumbent: self.incumbent(), workload, point: &self.record.point };
        let version = resolve(self.incumbent()).map_err(|error| format!("{error:#}"))?.version;
        asked.fits(&version, moved, asked.machine().memory_bytes)
    }

    pub fn search(&self, known: &Known) -> Result<Experiment> {
        experiment_of(&self.search_text, "the search", known, &Overrides::default())
    }

    pub fn duel(&self, known: &Known, candidate: &str, budget: Option<Duration>) -> Result<Duel> {
        let rival = self.rival(candidate)?;
        let (text, held_out) = duel_text(&self.source, &self.experiment, &rival, &self.record.point);
        let overrides = Overrides { budget: budget.or(self.overrides.budget), ..self.overrides.clone() };
        let experiment = experiment_of(&text, "the duel", known, &overrides)?;
        Ok(Duel { text, held_out, experiment })
    }

    /// The crashes of the incumbent and a candidate; none where the file has no `[recovery]`.
    pub fn crashes(&self, known: &Known, candidate: &str) -> Result<Option<Experiment>> {
        let rival = self.rival(candidate)?;
        let text = crashes_text(&self.source, &self.experiment, &rival, &self.record.point);
        let Overrides { preset, seed, accept_noisy, .. } = self.overrides.clone();
        let overrides = Overrides { preset, seed, accept_noisy, ..Overrides::default() };
        text.map(|text| experiment_of(&text, "the crashes", known, &overrides)).transpose()
    }

    /// What a candidate is called that meets the incumbent again.
    pub fn name_of_the_winner(&self) -> String {
        if self.record.incumbent == WINNER { format!("{WINNER} (2)") } else { WINNER.to_owned() }
    }

    fn rival(&self, candidate: &str) -> Result<Rival> {
        let Some(found) = self.record.candidates.iter().find(|one| one.name == candidate) else {
            bail!("the search has no candidate `{candidate}`");
        };
        Ok(Rival { name: self.name_of_the_winner(), settings: found.settings.clone() })
    }
}

/// An experiment that was made out of one that had been read: mistakes in it are ours.
fn experiment_of(text: &str, what: &str, known: &Known, overrides: &Overrides) -> Result<Experiment> {
    let read = Experiment::parse(text, what, known, overrides);
    read.with_context(|| format!("cannot make the experiment of {what}"))
}

fn overrides(given: &GivenRecord) -> Overrides {
    Overrides {
        preset: given.preset.clone(),
        budget: given.budget_s.map(Duration::from_secs_f64),
        blocks: given.blocks,
        seed: given.seed,
        set: given.set.clone(),
        line: None,
        accept_noisy: given.accept_noisy,
        contrast: given.contrast,
        diagnose: given.diagnose,
        labels: Default::default(),
        twins: false,
        fallback_name: Some(given.name.clone()),
        files: None,
        leaves_recovery: true,
    }
}

/// The flags of the command line, kept for a resumed search.
fn given(request: &SearchRequest, experiment: &Experiment) -> GivenRecord {
    let Overrides {
        preset,
        budget,
        blocks,
        seed,
        accept_noisy,
        contrast,
        diagnose,
        labels: _,
        set: _,
        line: _,
        twins: _,
        fallback_name: _,
        files: _,
        leaves_recovery: _,
    } = request.overrides.clone();
    GivenRecord {
        name: experiment.name.clone(),
        candidates: request.candidates.unwrap_or(CANDIDATES),
        preset,
        budget_s: budget.map(|budget| budget.as_secs_f64()),
        blocks,
        seed,
        set: experiment.set.clone(),
        accept_noisy,
        contrast,
        diagnose,
    }
}

fn refuse_target(incumbent: &Contender, file: &Path) -> Result<(), Error> {
    if !matches!(incumbent.origin, Origin::Target(_)) {
        return Ok(());
    }
    Err(Error::mistake(anyhow!(
        "{}: contender `{}` is a target: dbduel sets nothing on a server that it does not manage\n  next: put a contender with an `engine` first, as near to that server as can be had",
        file.display(),
        incumbent.name
    )))
}

/// What arrives at a given rate is done at that rate, whatever the settings are.
fn refuse_rate(workload: &WorkloadChoice, experiment: &Experiment, file: &Path) -> Result<(), Error> {
    if !experiment.points().iter().any(|point| workload.rate_at(point).is_some()) {
        return Ok(());
    }
    Err(Error::mistake(anyhow!(
        "{}: `{RATE}` sets the throughput of `{}`, so no settings can raise it
  next: take `{RATE}` out; the winner's response times can be compared by an experiment with it",
        file.display(),
        workload.label
    )))
}

fn no_candidate(record: &SearchRecord, file: &Path) -> anyhow::Error {
    let why = record
        .candidates
        .iter()
        .find_map(|candidate| candidate.out.as_ref().and_then(|out| out.refusal()))
        .or(record.refused.first().map(|one| one.why.as_str()))
        .map(|why| format!(" (the first: {why})"));
    anyhow!(
        "{}: there is nothing to try: no setting of `{}` that may be moved has another value that fits here{}\n  next: `dbduel list engines` names engines whose settings are known",
        file.display(),
        record.incumbent,
        why.unwrap_or_default()
    )
}

/// Who is tuned, and under which load.
struct Asked<'a> {
    experiment: &'a Experiment,
    incumbent: &'a Contender,
    workload: &'a WorkloadChoice,
    point: &'a Point,
}

impl Asked<'_> {
    fn record(&self, given: GivenRecord, refused: Vec<RefusedRecord>) -> Result<SearchRecord> {
        let version = resolve(self.incumbent)?.version;
        let known = tunables(self.incumbent.kind, &version);
        let machine = self.machine();
        let (held, movable): (Vec<&Tunable>, Vec<&Tunable>) =
            known.into_iter().partition(|tunable| tunable.touches_durability || tunable.needs_reload);
        let space: Vec<Range> = movable.iter().map(|tunable| self.range(tunable, &machine)).collect();
        let space = values::without(space, &refused);
        // Another seed than the duel's: no inputs that chose the winner are measured again.
        let seed = self.experiment.method.seed.wrapping_add(1) & (u64::MAX >> 1);
        let fits = |settings: &BTreeMap<String, String>| self.fits(&version, settings, machine.memory_bytes);
        Ok(SearchRecord {
            run: None,
            incumbent: self.incumbent.name.clone(),
            workload: self.workload.label.clone(),
            point: self.point.clone(),
            seed,
            rules: rules(),
            candidates: candidates(&space, given.candidates as usize, seed, &fits),
            given: Some(given),
            refused,
            space: space.into_iter().map(|range| (range.setting, range.values)).collect(),
            held: held.iter().map(|tunable| tunable.name.to_owned()).collect(),
            notes: self.notes(),
            rounds: Vec::new(),
            outcome: None,
            has_crashes: false,
            held_out: Vec::new(),
        })
    }

    fn machine(&self) -> Machine {
        let cores = self.incumbent.cores.as_ref().map_or_else(|| host::cpus().len(), |list| list.iter().count());
        Machine {
            memory_bytes: self.incumbent.memory_bytes.unwrap_or_else(host::memory_bytes),
            cores: cores as u32,
            data_bytes: data_directory_bytes(self.incumbent, self.workload, self.point),
        }
    }

    /// Without what the file sets already, since that candidate would be the incumbent, and without what a
    /// server for so many clients would not take.
    fn range(&self, tunable: &Tunable, machine: &Machine) -> Range {
        let set = self.incumbent.settings.iter().find(|(name, _)| plain(name) == tunable.name);
        let mut values = tunable.values(machine);
        values.retain(|value| set.is_none_or(|(_, set)| !set.eq_ignore_ascii_case(value)));
        values.retain(|value| tunable.is_taken(value, self.connections()));
        Range { setting: tunable.name.to_owned(), values }
    }

    /// The memory guard (method, section 6).
    fn fits(&self, version: &str, moved: &BTreeMap<String, String>, memory_bytes: u64) -> Result<(), String> {
        let all = self.incumbent.settings.iter().chain(moved);
        let settings = all.map(|(name, value)| (plain(name), value.clone())).collect();
        memory_need::fits(self.incumbent.kind, version, &settings, self.connections(), memory_bytes)
            .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
    }

    fn connections(&self) -> u32 {
        self.experiment.clients_max() + OWN_CONNECTIONS
    }

    /// What the file has that a search has no use for.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (contenders, workloads) = (self.experiment.contenders.len(), self.experiment.workloads.len());
        if contenders > 1 {
            notes.push(format!("of the file's {contenders} contenders the first is tuned: `{}`", self.incumbent.name));
        }
        if workloads > 1 {
            let label = &self.workload.label;
            notes.push(format!(
                "of the file's {workloads} workloads the search uses the first, `{label}`; the duel has all"
            ));
        }
        notes
    }
}

/// Administration, observers, checks: as every server of a run has them.
const OWN_CONNECTIONS: u32 = 20;

fn rules() -> RaceRecord {
    RaceRecord {
        alpha: ALPHA,
        blocks_per_round: BLOCKS_PER_ROUND,
        blocks_max: BLOCKS_MAX,
        trial_times_max: TRIAL_TIMES_MAX,
        trial_slack_s: TRIAL_SLACK_S,
        disk_times_max: DISK_TIMES_MAX,
        disk_slack_bytes: DISK_SLACK_BYTES,
    }
}
