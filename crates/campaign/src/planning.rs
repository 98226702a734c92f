//! From an experiment to its plan: what engines and workloads say goes in.

use std::path::Path;

use anyhow::{Context, Result};
use driver::Dialect;
use engine::{ENGINES, Engine, engine};
use experiment::plan::{Plan, ResolvedFacts};
use experiment::{Contender, EngineWords, Experiment, Needs, Vocabulary, resolve};
use trial::observe;

/// Resolves every contender and plans all trials; fetches and starts nothing.
pub fn plan_experiment(experiment: &Experiment) -> Result<Plan> {
    let facts = experiment.contenders.iter().map(|contender| facts(contender, experiment.clients_max()));
    Ok(Plan::new(experiment, &facts.collect::<Result<Vec<_>>>()?, observe::THRESHOLDS))
}

/// Fails if this process may not open the files that the most clients of a trial need.
pub fn expect_open_files(experiment: &Experiment, file: &Path) -> Result<()> {
    let sides = if experiment.method.duet { 2 } else { 1 };
    let engines = experiment.contenders.iter().filter_map(|contender| engine(&contender.kind).ok());
    let files_each = engines.map(|engine| trial::host::files_of_a_client(engine.dialect())).max().unwrap_or(1);
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
        own_settings: resolved.own_settings(&contender.settings, clients_max),
        version: resolved.version,
    })
}

/// The names that an experiment file may use.
pub fn vocabulary() -> Vocabulary<'static> {
    let words = |engine: &&'static dyn Engine| {
        let (on, off) = if engine.dialect() == Dialect::MySql { ("ON", "OFF") } else { ("on", "off") };
        EngineWords { name: engine.kind(), dialect: engine.dialect(), on, off }
    };
    Vocabulary {
        engines: ENGINES.iter().map(words).collect(),
        workloads: workloads::WORKLOADS.iter().map(|kind| kind.name).collect(),
        options: &|name| workloads::workload_kind(name).map(|kind| kind.options),
        refused: &|kind, name, value| engine(kind).ok().and_then(|engine| engine.reserved().refusal(name, value)),
        check: &|name, given| {
            let Some(kind) = workloads::workload_kind(name) else { return Ok(Needs::default()) };
            let workload = load::Options::new(kind.options, given).and_then(|options| (kind.build)(&options))?;
            let not_on = ENGINES.iter().filter_map(|engine| {
                let refused = workload.runs_on(engine.dialect()).err();
                refused.map(|why| (engine.kind(), why))
            });
            let (one_pass, rests, keeps_its_size) =
                (workload.is_one_pass(), workload.rests(), workload.keeps_its_size());
            Ok(Needs { clients: workload.clients(), one_pass, rests, keeps_its_size, not_on: not_on.collect() })
        },
    }
}
