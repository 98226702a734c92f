//! From an experiment to its plan, with what its engines report.

use std::path::Path;

use anyhow::{Context, Result};
use engine::{Cache, provision, settle_image};
use experiment::plan::{Plan, ResolvedFacts};
use experiment::{Contender, Experiment, Origin, VersionRequest, resolve};
use record::quantity;
use trial::observe;

/// What a user should know before a run: keys without effect, a budget that brings no verdict, and versions that were
/// chosen although another one is installed.
pub fn remarks(experiment: &Experiment, plan: &Plan) -> Vec<String> {
    let unused = experiment.remarks.iter().cloned();
    let remarks = unused.chain(short_budget(experiment, plan)).map(|remark| format!("warning: {remark}"));
    remarks.chain(experiment.contenders.iter().filter_map(chosen)).collect()
}

fn short_budget(experiment: &Experiment, plan: &Plan) -> Option<String> {
    let (estimate, budget) = (&plan.estimate, experiment.method.budget?);
    let (blocks, first, least) = (estimate.budget_blocks?, estimate.overall_verdict_block?, estimate.verdict_budget?);
    (blocks < first).then(|| {
        // Estimates are not to the second.
        let minutes = (least.as_secs_f64() * 1.1 / 60.0).ceil();
        format!(
            "a budget of {} is enough for about {blocks} blocks, and a verdict needs {first}: the smallest that can bring \
             one is about {minutes} min",
            quantity::duration_text(budget)
        )
    })
}

/// Which version a name without one stands for, where another one is installed.
fn chosen(contender: &Contender) -> Option<String> {
    if contender.version != VersionRequest::Newest || !matches!(contender.origin, Origin::Managed) {
        return None;
    }
    let kind = contender.kind.kind();
    let resolved = resolve(contender).ok()?;
    let installed = resolve(&Contender { version: VersionRequest::System, ..contender.clone() }).ok()?;
    (installed.version != resolved.version).then(|| {
        format!(
            "contender `{}` uses {kind} {}, because `{kind}` is the newest version that is known; `{kind}@system` is the \
             installed {}",
            contender.name, resolved.version, installed.version
        )
    })
}

/// Resolves every contender and plans all trials; fetches and starts nothing.
pub fn plan_experiment(experiment: &Experiment) -> Result<Plan> {
    let facts = experiment.contenders.iter().map(|contender| facts(contender, experiment.clients_max()));
    Ok(Plan::new(experiment, &facts.collect::<Result<Vec<_>>>()?, observe::THRESHOLDS))
}

/// Finds out which images are meant: their tags are asked for once, and from then on their digests count.
pub fn settle_images(experiment: &mut Experiment, cache: &Cache, progress: &dyn Fn(&str)) -> Result<()> {
    for contender in &mut experiment.contenders {
        if let Origin::Image(image) = &contender.origin {
            let settled = settle_image(image, cache, progress);
            let settled =
                settled.with_context(|| format!("cannot find the image of contender `{}`", contender.name))?;
            contender.origin = Origin::Image(settled);
        }
    }
    Ok(())
}

/// Fetches and unpacks the archives and images of an experiment that are not in the cache: only then are their versions
/// known, which a plan that is carried out needs.
pub fn unpack(experiment: &mut Experiment, cache: &Cache, progress: &dyn Fn(&str)) -> Result<()> {
    settle_images(experiment, cache, progress)?;
    for contender in &experiment.contenders {
        if matches!(contender.origin, Origin::Archive(_) | Origin::Image(_)) {
            let prepared = resolve(contender).and_then(|resolved| provision(&resolved, cache, progress));
            prepared.with_context(|| format!("cannot prepare contender `{}`", contender.name))?;
        }
    }
    Ok(())
}

/// [`unpack`] in the cache of this environment, where there is anything to unpack.
pub fn unpack_sources(experiment: &mut Experiment, progress: &dyn Fn(&str)) -> Result<()> {
    let is_source = |contender: &Contender| matches!(contender.origin, Origin::Archive(_) | Origin::Image(_));
    if experiment.contenders.iter().any(is_source) { unpack(experiment, &Cache::open()?, progress) } else { Ok(()) }
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
