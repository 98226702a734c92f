//! Behind the verdict: points of findings once more, without their supposed cause.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use procfs::Current;

use super::{Bench, Probe};
use crate::setup::{EXPLAINING_MAX, conditions};
use analysis::plan_tests::{self, PlanTestDue};
use analysis::{EndReason, conclude};
use engine::{Cache, SwitchedOff, WorkFolder, free_bytes};
use experiment::plan::cause_test::blocks;
use experiment::quantity::bytes_text;
use experiment::{Method, PageCache, Storage};
use record::format::{ContrastKind, PlanRecord, PlanTestRecord, PlannedTrial, Point, Purpose, RunRecord};
use trial::{Environment, Explaining, Finished, Trial};

/// What trials write makes their data grow.
const GROWTH: u64 = 2;

/// Puts to the test what the run's findings suppose, where that was asked for.
pub struct CauseTests<'a> {
    ended: EndReason,
    cache: &'a Cache,
    /// Files on tmpfs are in memory, and nothing makes them cold.
    method: Method,
    tmpfs: OnceCell<WorkFolder>,
    forced: OnceCell<Vec<Forced>>,
}

/// One side of a test in which both run their statements alike.
struct Forced {
    workload: String,
    candidate: String,
    contender: String,
    /// What is switched off of this server.
    off: BTreeMap<String, String>,
    settings: BTreeMap<String, String>,
    /// The name of the data, and what is asked about their statements.
    asked: (String, Explaining),
}

impl<'a> CauseTests<'a> {
    pub fn new(ended: EndReason, method: &Method, cache: &'a Cache) -> CauseTests<'a> {
        let method = Method { page_cache: PageCache::Warm, ..method.clone() };
        CauseTests { ended, cache, method, tmpfs: OnceCell::new(), forced: OnceCell::new() }
    }

    /// Where the data lie in memory; the inner error gives the reason they cannot.
    fn tmpfs(&self) -> Result<&WorkFolder, String> {
        if let Some(tmpfs) = self.tmpfs.get() {
            return Ok(tmpfs);
        }
        let tmpfs = self.cache.work_on(&Storage::Tmpfs).map_err(|error| format!("{error:#}"))?;
        Ok(self.tmpfs.get_or_init(|| tmpfs))
    }

    fn forced(&self, planned: &PlannedTrial) -> Option<&Forced> {
        let Purpose::CauseTest { cause: ContrastKind::OtherPlan, candidate } = &planned.purpose else { return None };
        let of = (&planned.workload, candidate, &planned.contender);
        self.forced.get()?.iter().find(|one| (&one.workload, &one.candidate, &one.contender) == of)
    }
}

/// What both sides of a test are started with; less than two where a side has no settings of ours, or no plans.
fn sides(bench: &Bench, test: &PlanTestDue) -> Vec<Forced> {
    let (due, plan) = (&test.due, bench.plan());
    let side = |contender: &str| -> Option<Forced> {
        let planned = planned_at(plan, &due.workload, &due.point, contender).filter(|_| bench.setup.has(contender))?;
        let trial = bench.setup.trial(planned, Path::new(""), Duration::ZERO);
        let Environment::Managed { installation, settings, .. } = trial.environment else { return None };
        let switches = installation.engine().observe()?.plan_switches();
        let mut all = SwitchedOff::default();
        for [from, to] in &test.plans {
            all.force(switches, from, to);
        }
        let off = all.settings(&bench.run.contenders.get(contender)?.effective_settings, settings);
        Some(Forced {
            workload: due.workload.clone(),
            candidate: due.candidate.clone(),
            contender: contender.to_owned(),
            settings: settings.iter().chain(&off).map(|(name, value)| (name.clone(), value.clone())).collect(),
            off,
            asked: bench.setup.explaining(planned, EXPLAINING_MAX)?,
        })
    };
    [plan.baseline.as_str(), due.candidate.as_str()].into_iter().filter_map(side).collect()
}

fn planned_at<'a>(plan: &'a PlanRecord, workload: &str, point: &Point, contender: &str) -> Option<&'a PlannedTrial> {
    let place = (workload, point, contender);
    plan.trials.iter().find(|trial| (trial.workload.as_str(), &trial.point, trial.contender.as_str()) == place)
}

impl Probe for CauseTests<'_> {
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        let plan = bench.plan();
        if !plan.method.contrast {
            return Vec::new();
        }
        // As the report will judge it.
        let judged = RunRecord { ended_by: Some(self.ended.as_str().to_owned()), ..bench.run.clone() };
        let conclusions = conclude(plan, &judged, &bench.trials);
        let of_plans = plan_tests::due(plan, &judged, &conclusions);
        self.forced.get_or_init(|| of_plans.iter().flat_map(|test| sides(bench, test)).collect());
        let tests = conclusions.contrasts().chain(of_plans.iter().map(|test| &test.due)).enumerate();
        let trials = tests.map(|(at, due)| blocks(plan, at, due.contrast, &due.workload, &due.candidate, &due.point));
        trials.map(|blocks| blocks.into_iter().flatten().collect()).collect()
    }

    fn refusal(&self, bench: &Bench, set: &[PlannedTrial]) -> Result<Option<String>> {
        match kind(&set[0]) {
            ContrastKind::OneClient => {
                let is_alone = bench.setup.trial(&set[0], Path::new(""), Duration::ZERO).clients == 1;
                Ok(is_alone.then(|| "there is one client at this point anyway".to_owned()))
            }
            ContrastKind::OtherPlan => {
                let sides: Vec<Option<&Forced>> = set[..2].iter().map(|planned| self.forced(planned)).collect();
                Ok(match sides.iter().all(Option::is_some) {
                    false => Some("dbduel has no say in the settings of both servers".to_owned()),
                    true => sides.iter().flatten().all(|side| side.off.is_empty()).then(|| {
                        "no setting of these servers keeps them from steps that only one of the plans has".to_owned()
                    }),
                })
            }
            ContrastKind::Tmpfs => match self.tmpfs() {
                Ok(tmpfs) => without_memory(bench, &set[..2], tmpfs),
                Err(why) => Ok(Some(why)),
            },
        }
    }

    fn adapt<'a>(&'a self, planned: &PlannedTrial, trial: &mut Trial<'a>) {
        let other_work = match kind(planned) {
            ContrastKind::OneClient => return trial.clients = 1,
            ContrastKind::OtherPlan => None,
            ContrastKind::Tmpfs => {
                trial.conditions = conditions(&self.method, None);
                Some(self.tmpfs.get().expect("a test without tmpfs was refused"))
            }
        };
        let forced = self.forced(planned);
        trial.explaining = forced.filter(|_| planned.block == 1).map(|forced| &forced.asked.1);
        match &mut trial.environment {
            Environment::Managed { work, settings, .. } => {
                *work = other_work.unwrap_or(*work);
                *settings = forced.map_or(*settings, |forced| &forced.settings);
            }
            Environment::UserServer(_) => unreachable!("a target was refused"),
        }
    }

    fn keep(&self, planned: &PlannedTrial, finished: &mut Finished, run: &mut RunRecord) {
        let plans = std::mem::take(&mut finished.plans);
        let facts = run.contenders.get_mut(&planned.contender);
        let Some((forced, facts)) = self.forced(planned).zip(facts).filter(|_| !plans.is_empty()) else { return };
        let Forced { candidate, off, asked: (data, _), .. } = forced;
        facts.plan_tests.retain(|one| (&one.candidate, &one.data) != (candidate, data));
        let (candidate, switched_off, data) = (candidate.clone(), off.clone(), data.clone());
        facts.plan_tests.push(PlanTestRecord { data, candidate, switched_off, plans });
    }
}

fn kind(planned: &PlannedTrial) -> ContrastKind {
    match planned.purpose {
        Purpose::CauseTest { cause, .. } => cause,
        _ => unreachable!("only cause tests are run here"),
    }
}

/// Why the data of a block's two trials cannot lie on tmpfs.
fn without_memory(bench: &Bench, both: &[PlannedTrial], tmpfs: &WorkFolder) -> Result<Option<String>> {
    let mut bytes = 0;
    for planned in both {
        match bench.setup.trial(planned, Path::new(""), Duration::ZERO).environment {
            Environment::Managed { snapshot, .. } => bytes = bytes.max(snapshot.bytes),
            Environment::UserServer(_) => {
                let name = &planned.contender;
                return Ok(Some(format!("dbduel does not manage `{name}`, so its data stay where they are")));
            }
        }
    }
    let lies_there = |planned: &PlannedTrial| {
        let mut contenders = bench.plan().contenders.iter();
        contenders.any(|one| one.name == planned.contender && one.storage == Storage::Tmpfs.word())
    };
    if both.iter().all(lies_there) {
        return Ok(Some("the data of both lie on tmpfs anyway".to_owned()));
    }
    let servers_bytes = bench.active_run.plan.estimate.memory_bytes;
    Ok(too_little_memory(bytes.saturating_mul(GROWTH), servers_bytes, free_bytes(tmpfs.path())?, available_bytes()))
}

/// None where the kernel does not report it.
fn available_bytes() -> Option<u64> {
    procfs::Meminfo::current().ok()?.mem_available
}

/// What lies on tmpfs is memory that the server does not have.
fn too_little_memory(
    data_bytes: u64,
    server_bytes: u64,
    free_bytes: u64,
    available_bytes: Option<u64>,
) -> Option<String> {
    let needed = data_bytes.saturating_add(server_bytes);
    if data_bytes > free_bytes {
        let (data, free) = (bytes_text(data_bytes), bytes_text(free_bytes));
        return Some(format!("its data need about {data} on tmpfs, and {free} are free there"));
    }
    let available = available_bytes.filter(|available| *available < needed)?;
    let (needed, available) = (bytes_text(needed), bytes_text(available));
    Some(format!("data and server need about {needed} of memory, and {available} are free"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_go_to_memory_only_where_they_and_the_server_fit() {
        let gib = 1 << 30;
        let check = |data, server, free, available, expected: Option<&str>| {
            let shortage = too_little_memory(data * gib, server * gib, free * gib, available);
            match expected {
                Some(part) => {
                    assert!(shortage.as_ref().is_some_and(|shortage| shortage.contains(part)), "{shortage:?}")
                }
                None => assert_eq!(shortage, None),
            }
        };
        check(2, 1, 4, Some(4 * gib), None);
        check(2, 1, 4, None, None);
        check(2, 1, 1, Some(4 * gib), Some("2.0 GiB on tmpfs, and 1.0 GiB are free"));
        check(2, 3, 4, Some(4 * gib), Some("5.0 GiB of memory, and 4.0 GiB are free"));
    }
}
