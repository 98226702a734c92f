//! The run that is worked on: a new one, or one that goes on where its records end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;

use crate::clones;
use crate::placement::Placement;
use crate::planning::{self, cannot_plan, expect_open_files, plan_experiment, settle_images, unpack_sources};
use crate::preflight::Preflight;
use engine::Cache;
use experiment::plan::Plan;
use experiment::{Error, Experiment, Known, Origin, Overrides, shell_path};
use record::RunDir;
use record::format::tuning::SearchRecord;
use record::format::{PlanRecord, TrialRecord};
use trial::dataset::expect_unchanged;
use trial::host;

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub known: Known,
    /// None only where a run goes on.
    pub file: Option<PathBuf>,
    /// The folder of runs.
    pub runs: PathBuf,
    /// The run that goes on.
    pub resume: Option<String>,
    pub overrides: Overrides,
    /// Who is shown what is fetched before the run begins.
    pub progress: fn(&str),
}

/// One stretch of work on a run: the whole of it, or what an earlier one left.
pub struct ActiveRun {
    pub(crate) known: Known,
    pub(crate) experiment: Experiment,
    pub(crate) plan: Plan,
    pub(crate) placement: Placement,
    pub(crate) run_dir: RunDir,
    /// What the experiment can be read from again.
    pub(crate) file: PathBuf,
    /// Trials that earlier sessions finished.
    pub(crate) done: Vec<TrialRecord>,
    pub(crate) resumed: bool,
    /// The search over settings that it is part of.
    pub(crate) search: Option<SearchRecord>,
}

impl ActiveRun {
    /// The run that is asked for, new or as far as it is.
    pub fn begin(request: &Request) -> Result<ActiveRun, Error> {
        match &request.resume {
            Some(run) => ActiveRun::resume(request, run),
            None => ActiveRun::start(request),
        }
    }

    fn start(request: &Request) -> Result<ActiveRun, Error> {
        let file = request.file.as_deref().expect("FILE is asked for unless a run goes on");
        let (experiment, plan) = planned(request, file, None)?;
        if host::is_locked() {
            Preflight::of(&experiment).before_a_wait(experiment.contenders.len(), &request.progress)?;
        }
        let mut run = ActiveRun::of(&request.known, experiment, plan, &request.runs, file, None)?;
        if request.overrides.line.is_some() {
            // No file of the user's has these contenders.
            run.file = run.run_dir.path().join("experiment.toml");
        }
        Ok(run)
    }

    /// A run that begins, of an experiment that can be read from `file` again.
    pub fn of(
        known: &Known,
        experiment: Experiment,
        plan: Plan,
        runs: &Path,
        file: &Path,
        search: Option<SearchRecord>,
    ) -> Result<ActiveRun, Error> {
        let placement = placement(&experiment, file)?;
        let run_dir = RunDir::create(runs, &experiment.name, Timestamp::now())
            .context("cannot keep a run here; give a folder that you may write to with --runs")?;
        run_dir.write_experiment(&experiment.text)?;
        run_dir.write_plan(&plan.record)?;
        let file = file.to_owned();
        let (known, done) = (*known, Vec::new());
        Ok(ActiveRun { known, experiment, plan, placement, run_dir, file, done, resumed: false, search })
    }

    pub fn run_dir(&self) -> &RunDir {
        &self.run_dir
    }

    /// Contenders that no trial is left of need no server.
    pub fn leave_out(&mut self, is_out: impl Fn(&str) -> bool) {
        self.experiment.contenders.retain(|contender| !is_out(&contender.name));
    }

    /// The stored experiment again, with what the command line changed then.
    fn resume(request: &Request, run: &str) -> Result<ActiveRun, Error> {
        let run_dir = RunDir::open_to_write(&request.runs, run)?;
        let stored = run_dir.plan()?;
        if request.overrides.twins && !stored.twins {
            return Err(Error::mistake(anyhow!(
                "{} is no A/A test\n  next: go on with `dbduel run --resume {}`",
                run_dir.name(),
                shell_path(run_dir.path())
            )));
        }
        refuse_another_plan(request, &run_dir, &stored)?;
        let search = run_dir.run_record().ok().and_then(|run| run.search);
        refuse_to_go_on(&run_dir, search.as_ref())?;
        ActiveRun::of_stored(&request.known, run_dir, &stored, search)
    }

    /// A run that goes on where its records end; it was opened to write.
    pub fn of_stored(
        known: &Known,
        run_dir: RunDir,
        stored: &PlanRecord,
        search: Option<SearchRecord>,
    ) -> Result<ActiveRun, Error> {
        let overrides = Overrides::of_plan(stored);
        let experiment = Experiment::parse(&run_dir.experiment()?, "experiment.toml", known, &overrides);
        let mut experiment = experiment.map_err(Error::mistake)?;
        unpack_sources(&mut experiment, &|_| {})?;
        let plan = plan_experiment(&experiment).map_err(Error::mistake)?;
        if plan.record.plan_hash != stored.plan_hash {
            return Err(anyhow!(
                "{} cannot go on: its plan no longer comes out the same here (another dbduel, or other servers on this machine)\n  next: `dbduel report {}` prints what there is; start a new run for the rest",
                run_dir.name(),
                shell_path(run_dir.path())
            )
            .into());
        }
        expect_own_data(&experiment).map_err(Error::mistake)?;
        let done = run_dir.trials()?.all();
        let file = run_dir.path().join("experiment.toml");
        let placement = placement(&experiment, &file)?;
        Ok(ActiveRun { known: *known, experiment, plan, placement, run_dir, file, done, resumed: true, search })
    }
}

/// The duel of a search is a run; the search itself is `dbduel tune`'s to go on with.
fn refuse_to_go_on(run_dir: &RunDir, search: Option<&SearchRecord>) -> Result<(), Error> {
    if search.is_none_or(|search| search.run.is_some()) {
        return Ok(());
    }
    Err(Error::mistake(anyhow!(
        "{} is a search of `dbduel tune`\n  next: go on with `dbduel tune --resume {}`",
        run_dir.name(),
        shell_path(run_dir.path())
    )))
}

/// Data of the user's that have changed would make the rest of a run another one.
fn expect_own_data(experiment: &Experiment) -> Result<(), anyhow::Error> {
    for choice in &experiment.workloads {
        let own = choice.kind.with(&choice.options)?.spec().own_data;
        let filled = experiment.contenders.iter().filter(|one| !matches!(one.origin, Origin::Target(_)));
        let engines = filled.map(|contender| contender.kind.kind());
        for (own, engine) in own.iter().flat_map(|own| engines.clone().map(move |engine| (own, engine))) {
            expect_unchanged(own, engine)?;
        }
    }
    Ok(())
}

/// A file and flags beside `--resume` may only repeat what the stored plan has; to ignore
/// what they change would answer another question than the user's.
fn refuse_another_plan(request: &Request, run_dir: &RunDir, stored: &PlanRecord) -> Result<(), Error> {
    let (overrides, name) = (&request.overrides, run_dir.name());
    let again = shell_path(run_dir.path());
    let next = format!("next: `dbduel run --resume {again}` goes on with the stored experiment");
    let Some(file) = &request.file else {
        if overrides.is_empty() {
            return Ok(());
        }
        return Err(Error::mistake(anyhow!("{name} has a plan, which no flag can change any more\n  {next}")));
    };
    let (experiment, plan) = planned(request, file, Some(stored))?;
    let file = file.display();
    if let Some(label) = other_label(&experiment, run_dir) {
        let what = format!("{name} has its labels since it began, and `{label}` is not among them");
        return Err(Error::mistake(anyhow!("{what}\n  {next}")));
    }
    if plan.record.plan_hash == stored.plan_hash {
        return Ok(());
    }
    Err(Error::mistake(anyhow!("{file} is not the experiment of {name}: its plan has another hash\n  {next}")))
}

/// A label that a run does not have yet.
fn other_label(experiment: &Experiment, run_dir: &RunDir) -> Option<String> {
    let stored = run_dir.run_record().ok()?.labels;
    let other = experiment.labels.iter().find(|(name, value)| stored.get(*name) != Some(value));
    other.map(|(name, value)| format!("{name} = {value}"))
}

/// The experiment of a file and its plan; beside a stored one, its images must be those that were measured.
fn planned(request: &Request, file: &Path, stored: Option<&PlanRecord>) -> Result<(Experiment, Plan), Error> {
    let mut experiment = Experiment::load(file, &request.known, &request.overrides).map_err(Error::mistake)?;
    if let Some(stored) = stored {
        expect_same_images(&mut experiment, stored)?;
    }
    unpack_sources(&mut experiment, &request.progress)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Error::mistake)?;
    planning::remarks(&experiment, &plan).iter().for_each(|remark| (request.progress)(remark));
    Ok((experiment, plan))
}

/// A tag may mean another image than when the run began; nothing of that one is fetched.
fn expect_same_images(experiment: &mut Experiment, stored: &PlanRecord) -> Result<(), Error> {
    if !experiment.contenders.iter().any(|contender| matches!(contender.origin, Origin::Image(_))) {
        return Ok(());
    }
    settle_images(experiment, &Cache::open()?, &|_| {})?;
    for (contender, record) in experiment.contenders.iter().zip(&stored.contenders) {
        let (Origin::Image(image), Some(measured)) = (&contender.origin, &record.image) else { continue };
        if let Some(digest) = image.digest.as_ref().filter(|digest| **digest != measured.digest) {
            let (reference, measured) = (&image.reference, &measured.digest);
            let next = "next: without the file, `--resume` goes on with the image of the run";
            let what = format!("{reference} is sha256:{digest:.12} today, this run measured sha256:{measured:.12}");
            return Err(Error::mistake(anyhow!("{what}\n  {next}")));
        }
    }
    Ok(())
}

/// The cores of the file as this host can provide them, and its file systems.
pub fn placement(experiment: &Experiment, file: &Path) -> Result<Placement, Error> {
    expect_open_files(experiment, file).map_err(Error::mistake)?;
    clones::expect(experiment, file).map_err(Error::mistake)?;
    let placement = Placement::on_this_host(experiment).with_context(|| file.display().to_string());
    placement.map_err(Error::mistake)
}
