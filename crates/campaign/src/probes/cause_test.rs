//! Behind the verdict: points of findings once more, without their supposed cause.

use std::cell::OnceCell;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use procfs::Current;

use super::{Bench, Probe};
use crate::setup::conditions;
use analysis::{EndReason, conclude};
use engine::{Cache, WorkFolder, free_bytes};
use experiment::plan::cause_test::blocks;
use experiment::quantity::bytes_text;
use experiment::{Method, PageCache, Storage};
use record::format::{ContrastKind, PlannedTrial, Purpose, RunRecord};
use trial::{Environment, Trial};

/// What trials write makes their data grow.
const GROWTH: u64 = 2;

/// Puts to the test what the run's findings suppose, where that was asked for.
pub struct CauseTests<'a> {
    ended: EndReason,
    cache: &'a Cache,
    /// Files on tmpfs are in memory, and nothing makes them cold.
    method: Method,
    tmpfs: OnceCell<WorkFolder>,
}

impl<'a> CauseTests<'a> {
    pub fn new(ended: EndReason, method: &Method, cache: &'a Cache) -> CauseTests<'a> {
        let method = Method { page_cache: PageCache::Warm, ..method.clone() };
        CauseTests { ended, cache, method, tmpfs: OnceCell::new() }
    }

    /// Where the data lie in memory; the inner error gives the reason they cannot.
    fn tmpfs(&self) -> Result<&WorkFolder, String> {
        if let Some(tmpfs) = self.tmpfs.get() {
            return Ok(tmpfs);
        }
        let tmpfs = self.cache.work_on(&Storage::Tmpfs).map_err(|error| format!("{error:#}"))?;
        Ok(self.tmpfs.get_or_init(|| tmpfs))
    }
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
        let tests = conclusions.contrasts().enumerate();
        let trials = tests.map(|(at, due)| blocks(plan, at, due.contrast, &due.workload, &due.candidate, &due.point));
        trials.map(|blocks| blocks.into_iter().flatten().collect()).collect()
    }

    fn refusal(&self, bench: &Bench, set: &[PlannedTrial]) -> Result<Option<String>> {
        let setup = bench.setup;
        if !is_on_tmpfs(&set[0]) {
            let is_alone = setup.trial(&set[0], Path::new(""), Duration::ZERO).clients == 1;
            return Ok(is_alone.then(|| "there is one client at this point anyway".to_owned()));
        }
        match self.tmpfs() {
            Ok(tmpfs) => without_memory(bench, &set[..2], tmpfs),
            Err(why) => Ok(Some(why)),
        }
    }

    fn adapt<'a>(&'a self, planned: &PlannedTrial, trial: &mut Trial<'a>) {
        if !is_on_tmpfs(planned) {
            trial.clients = 1;
            return;
        }
        trial.conditions = conditions(&self.method, None);
        let tmpfs = self.tmpfs.get().expect("a test without tmpfs was refused");
        match &mut trial.environment {
            Environment::Managed { work, .. } => *work = tmpfs,
            Environment::UserServer(_) => unreachable!("a target was refused"),
        }
    }
}

fn is_on_tmpfs(planned: &PlannedTrial) -> bool {
    matches!(planned.purpose, Purpose::CauseTest { cause: ContrastKind::Tmpfs, .. })
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
