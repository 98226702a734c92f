//! Behind the verdict: points of findings once more, without what is said to be the cause.
//!
//! As with doubling the generator, these are no trials of the plan and no word comes from them. A contrast
//! that cannot be had here leaves its reason in the run, so that a report says it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use nix::sys::statvfs::statvfs;
use procfs::Current;

use super::progress::Progress;
use super::stage::Stage;
use crate::budget::Clock;
use crate::warmup_s;
use analysis::contrast::{BLOCKS, Due, is_over, setting};
use analysis::{EndReason, conclude};
use engine::{Cache, WorkFolder};
use experiment::plan::Plan;
use experiment::plan::contrast::blocks;
use experiment::quantity::bytes_text;
use experiment::{Method, PageCache, Storage};
use record::RunDir;
use record::format::figures::signed_percent;
use record::format::{ContrastKind, ContrastRecord, PlannedTrial, RunRecord, TrialRecord, point_text};
use trial::observe::Observers;
use trial::{Ground, Trial, run_trial};

/// What trials write makes their data grow.
const GROWTH: u64 = 2;

/// The same with another page cache policy: files on tmpfs are in memory, and nothing makes them cold.
fn on_tmpfs(method: &Method) -> Method {
    Method { page_cache: PageCache::Warm, ..method.clone() }
}

/// All that contrasts of a run have in common.
pub struct Contrasts<'a> {
    pub plan: &'a Plan,
    pub method: &'a Method,
    pub run_dir: &'a RunDir,
    pub stage: &'a Stage<'a>,
    pub cache: &'a Cache,
    pub clock: &'a Clock,
    pub progress: &'a Progress,
}

impl Contrasts<'_> {
    /// Puts to the test what the run's findings suppose, where that was asked for; an earlier sitting's
    /// blocks are not run again.
    pub fn run(&self, ended: EndReason, run: &mut RunRecord) -> Result<()> {
        let plan = &self.plan.record;
        if !plan.method.contrast {
            return Ok(());
        }
        let trials = self.run_dir.trials()?.records;
        // As the report will judge it.
        let judged = RunRecord { ended_by: Some(ended.as_str().to_owned()), ..run.clone() };
        let due: Vec<Due> = conclude(plan, &judged, &trials).contrasts().cloned().collect();
        for due in due {
            let at = position(run, &due);
            if !is_over(&run.contrasts[at]) {
                self.test(run, at, &trials)?;
                self.run_dir.write_run(run)?;
            }
        }
        Ok(())
    }

    /// Runs the blocks that record `at` lacks, and keeps each when it is over.
    fn test(&self, run: &mut RunRecord, at: usize, trials: &[TrialRecord]) -> Result<()> {
        let record = run.contrasts[at].clone();
        let place = format!("{}, {}, with {}", record.candidate, point_text(&record.point), setting(record.contrast));
        let method = on_tmpfs(self.method);
        let tmpfs = match self.tmpfs(record.contrast) {
            Ok(tmpfs) => tmpfs,
            Err(error) => return self.give_up(run, at, &place, format!("{error:#}")),
        };
        let warmup = warmup_s(&self.plan.record, &run.warmups, &record.workload, self.plan.record.method.blocks);
        let setup =
            Setup { all: self, at, tmpfs: tmpfs.as_ref(), method: &method, warmup: Duration::from_secs_f64(warmup) };
        let blocks = blocks(&self.plan.record, at, &record.workload, &record.candidate, &record.point);
        let done = record.candidate_values.len();
        let refused = setup.refusal(&blocks[0])?.or_else(|| self.without_time(&record, trials, BLOCKS - done));
        if let Some(why) = refused {
            return self.give_up(run, at, &place, why);
        }
        for block in &blocks[done..] {
            let [baseline, candidate] = match setup.block(block)? {
                Ok(values) => values,
                Err(why) => return self.give_up(run, at, &place, why),
            };
            let record = &mut run.contrasts[at];
            record.baseline_values.push(baseline);
            record.candidate_values.push(candidate);
            self.run_dir.write_run(run)?;
            let (number, gap) = (block[0].block, signed_percent(candidate / baseline - 1.0, 1));
            self.progress.say(&format!("[contrast {number}/{BLOCKS}] {place}: {gap}"));
        }
        Ok(())
    }

    fn tmpfs(&self, contrast: ContrastKind) -> Result<Option<WorkFolder>> {
        let is_needed = contrast == ContrastKind::Tmpfs;
        is_needed.then(|| self.cache.work_on(&Storage::Tmpfs)).transpose()
    }

    fn give_up(&self, run: &mut RunRecord, at: usize, place: &str, why: String) -> Result<()> {
        self.progress.say(&format!("{place}: no contrast: {why}"));
        run.contrasts[at].refused = Some(why);
        Ok(())
    }

    fn without_time(&self, record: &ContrastRecord, trials: &[TrialRecord], blocks: usize) -> Option<String> {
        let both = [&self.plan.record.baseline, &record.candidate];
        let fits = both.iter().all(|side| self.clock.holds_blocks(trials, side, blocks));
        (!fits).then(|| "the budget leaves no time for it".to_owned())
    }
}

/// The record of a contrast, made where there is none yet.
fn position(run: &mut RunRecord, due: &Due) -> usize {
    run.contrasts.iter().position(|known| due.is_answered_by(known)).unwrap_or_else(|| {
        run.contrasts.push(ContrastRecord {
            contrast: due.contrast,
            workload: due.workload.clone(),
            candidate: due.candidate.clone(),
            point: due.point.clone(),
            baseline_values: Vec::new(),
            candidate_values: Vec::new(),
            refused: None,
        });
        run.contrasts.len() - 1
    })
}

/// How the trials of one contrast are run.
struct Setup<'a> {
    all: &'a Contrasts<'a>,
    /// The contrast's number in its run.
    at: usize,
    /// Where the data lie; none where they stay.
    tmpfs: Option<&'a WorkFolder>,
    method: &'a Method,
    warmup: Duration,
}

impl Setup<'_> {
    /// A trial as everywhere, but for what the contrast takes away.
    fn trial<'b>(&'b self, planned: &'b PlannedTrial, folder: &'b Path) -> Trial<'b> {
        let mut trial = self.all.stage.trial(planned, folder, self.warmup);
        match (self.tmpfs, &mut trial.ground) {
            (Some(tmpfs), Ground::Managed { work, .. }) => {
                *work = tmpfs;
                trial.conditions = crate::stage::conditions(self.method);
            }
            (Some(_), Ground::Hosted(_)) => unreachable!("a target was refused"),
            (None, _) => trial.clients = 1,
        }
        trial
    }

    /// Why this contrast cannot be had here.
    fn refusal(&self, both: &[PlannedTrial; 2]) -> Result<Option<String>> {
        let stage = self.all.stage;
        if let Some(absent) = both.iter().find(|planned| !stage.has(&planned.contender)) {
            return Ok(Some(format!("`{}` could not be prepared", absent.contender)));
        }
        let usual = both.each_ref().map(|planned| stage.trial(planned, Path::new(""), self.warmup));
        let Some(tmpfs) = self.tmpfs else {
            let is_alone = usual[0].clients == 1;
            return Ok(is_alone.then(|| "there is one client at this point anyway".to_owned()));
        };
        let mut bytes = 0;
        for trial in &usual {
            match &trial.ground {
                Ground::Hosted(_) => {
                    let name = &trial.planned.contender;
                    return Ok(Some(format!("dbduel does not manage `{name}`, so its data stay where they are")));
                }
                Ground::Managed { snapshot, .. } => bytes = bytes.max(snapshot.bytes),
            }
        }
        if both.iter().all(|planned| self.is_on_tmpfs(&planned.contender)) {
            return Ok(Some("the data of both lie on tmpfs anyway".to_owned()));
        }
        let servers_bytes = self.all.plan.estimate.memory_bytes;
        Ok(too_little_memory(bytes.saturating_mul(GROWTH), servers_bytes, free_bytes(tmpfs.path())?, available_bytes()))
    }

    fn is_on_tmpfs(&self, contender: &str) -> bool {
        let mut contenders = self.all.plan.record.contenders.iter();
        contenders.any(|one| one.name == contender && one.storage == Storage::Tmpfs.word())
    }

    /// Baseline and candidate, in this order, whichever ran first; the inner error says which trial failed.
    fn block(&self, block: &[PlannedTrial; 2]) -> Result<Result<[f64; 2], String>> {
        let mut values = [0.0; 2];
        for planned in block {
            match self.value(planned)? {
                Ok(value) => values[usize::from(planned.contender != self.all.plan.record.baseline)] = value,
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(values))
    }

    fn value(&self, planned: &PlannedTrial) -> Result<Result<f64, String>> {
        let Contrasts { plan, run_dir, progress, .. } = self.all;
        progress.status(&format!("contrast, block {} of {BLOCKS}: {}", planned.block, planned.contender));
        std::thread::sleep(Duration::from_millis(planned.gap_ms));
        let folder = run_dir.contrast_folder(self.at + 1, planned.trial)?;
        let record = run_trial(&self.trial(planned, &folder), &mut Observers::default(), &mut |_| ())?.record;
        self.all.progress.beside_done();
        if let Some(failure) = record.failure {
            return Ok(Err(format!(
                "a trial of `{}` failed at `{}`: {}",
                planned.contender, failure.step, failure.message
            )));
        }
        let workload = plan.record.workloads.iter().find(|workload| workload.label == planned.workload);
        let metric = workload.map_or("", |workload| workload.primary_metric());
        let value = record.metrics.get(metric).copied().filter(|value| *value > 0.0);
        Ok(value.ok_or_else(|| format!("a trial of `{}` did nothing", planned.contender)))
    }
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let system = statvfs(folder)?;
    Ok(system.blocks_available() * system.fragment_size())
}

/// None where the kernel does not say.
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
            let said = too_little_memory(data * gib, server * gib, free * gib, available);
            match expected {
                Some(part) => assert!(said.as_ref().is_some_and(|said| said.contains(part)), "{said:?}"),
                None => assert_eq!(said, None),
            }
        };
        check(2, 1, 4, Some(4 * gib), None);
        check(2, 1, 4, None, None);
        check(2, 1, 1, Some(4 * gib), Some("2.0 GiB on tmpfs, and 1.0 GiB are free"));
        check(2, 3, 4, Some(4 * gib), Some("5.0 GiB of memory, and 4.0 GiB are free"));
    }
}
