//! From an experiment to its plan, with what its engines report.

use std::path::Path;

use anyhow::{Context, Result};
use engine::{Cache, provision};
use experiment::plan::{Plan, ResolvedFacts};
use experiment::{Contender, Experiment, Origin, resolve};
use trial::observe;

/// Resolves every contender and plans all trials; fetches and starts nothing.
pub fn plan_experiment(experiment: &Experiment) -> Result<Plan> {
    let facts = experiment.contenders.iter().map(|contender| facts(contender, experiment.clients_max()));
    Ok(Plan::new(experiment, &facts.collect::<Result<Vec<_>>>()?, observe::THRESHOLDS))
}

/// Unpacks the archives and images of an experiment that are not in the cache: only then are their versions known, which a plan
/// that is carried out needs.
pub fn unpack_archives(experiment: &Experiment, progress: &dyn Fn(&str)) -> Result<()> {
    for contender in
        experiment.contenders.iter().filter(|one| matches!(one.origin, Origin::Archive(_) | Origin::Image(_)))
    {
        let prepared = resolve(contender).and_then(|resolved| provision(&resolved, &Cache::open()?, progress));
        prepared.with_context(|| format!("cannot prepare contender `{}`", contender.name))?;
    }
    Ok(())
}

/// Fails if this process may not open the files that the most clients of a trial need.
pub fn expect_open_files(experiment: &Experiment, file: &Path) -> Result<()> {
    let sides = if experiment.method.duet { 2 } else { 1 };
    let files_each = experiment.contenders.iter().map(|who| who.kind.dialect().files_per_client());
    let files_each = files_each.max().unwrap_or(1);
    let files = u64::from(experiment.clients_max()) * sides * files_each;
    trial::host::expect_open_files(files).with_context(|| file.display().to_string())
}

pub fn cannot_plan(file: &Path) -> String {
    format!("{}: this experiment cannot be planned here", file.display())
}

/// What a contender's engine and version come to on this machine.
fn facts(contender: &Contender, clients_max: u32) -> Result<ResolvedFacts> {
    let resolved = resolve(contender)?;
    Ok(ResolvedFacts {
        source: resolved.source_text(),
        image: resolved.image()?,
        own_settings: resolved.own_settings(&contender.settings, clients_max),
        version: resolved.version,
    })
}
