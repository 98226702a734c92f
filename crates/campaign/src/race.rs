//! The loop of a search: candidates race against the incumbent, block after block, until one is left.
//!
//! It runs trials as a run does and decides nothing: who is next follows from the records
//! (`analysis/tuning.rs`), so a search that was interrupted goes on as it would have. What must stay true: a
//! record is on the disk before the next trial starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use jiff::Timestamp;

use super::active_run::ActiveRun;
use super::budget::{Clock, spent_earlier};
use super::executor::Executor;
use super::run::{refuse_noise, rehearse, run_record};
use crate::setup::Setup;
use crate::{Progress, Screen};
use analysis::race::{
    DATA_DIRECTORY_BYTES, INCUMBENT_FAILURES_MAX, Standing, at_its_beginning, follow, incumbent_fails,
};
use engine::Cache;
use engine::interruption::ending_servers;
use experiment::Experiment;

use record::format::tuning::{OutRecord, SearchRecord};
use record::format::{MetricRecord, PlannedTrial, RunRecord, TrialRecord};
use trial::observe::frequency_flag;
use trial::{Interrupted, host};

/// A search that is over, and the time that it took.
pub struct Raced {
    pub search: SearchRecord,
    pub spent: Duration,
}

/// Runs a search to its end, or until `budget` is used up, of which what came before the search took a part. A host that is too busy for the duel behind it is
/// refused before the search, not after it.
pub fn race(
    active_run: &ActiveRun,
    of_the_duel: &Experiment,
    interrupted: &AtomicBool,
    budget: Option<Duration>,
    spent_before: Duration,
    screen: Box<dyn Screen>,
) -> Result<Raced> {
    let raced = ending_servers(interrupted, || {
        let progress = Progress::without_a_bar(&active_run.plan, screen);
        let _lock = host::lock(&active_run.experiment.name, None, interrupted, &|line| progress.print(line))?;
        let earlier = active_run.run_dir.run_record().map(|run| spent_earlier(&run, &active_run.done));
        let clock = Clock::new(budget, earlier.unwrap_or_default() + spent_before);
        refuse_noise(of_the_duel, interrupted, &progress)?;
        let (setup, racing) = Racing::begin(active_run, interrupted, &progress)?;
        racing.run(&setup, &clock)
    });
    // A failure because an interrupt ended the server is not reported.
    if interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { raced }
}

/// Writes down what a search, or its duel, is part of before anything is tried, so that it is known from then on.
pub fn begin_record(active_run: &ActiveRun) -> Result<()> {
    active_run.run_dir.write_run(&run_record(active_run, &Cache::open()?)?)
}

struct Racing<'a> {
    active_run: &'a ActiveRun,
    interrupted: &'a AtomicBool,
    progress: &'a Progress,
    run: RunRecord,
    /// As it stood before the first block; what is known by now is kept in the run's record.
    search: SearchRecord,
    metric: MetricRecord,
    trials: Vec<TrialRecord>,
}

impl<'a> Racing<'a> {
    /// Prepares and starts every contender once. One that does not start, or promises something else, is out.
    fn begin(
        active_run: &'a ActiveRun,
        interrupted: &'a AtomicBool,
        progress: &'a Progress,
    ) -> Result<(Setup<'a>, Racing<'a>)> {
        let ActiveRun { experiment, run_dir, .. } = active_run;
        let cache = Cache::open()?;
        let logs = run_dir.path().join("logs");
        std::fs::create_dir_all(&logs)?;
        let mut run = run_record(active_run, &cache)?;
        run_dir.write_run(&run)?;
        let (mut setup, mut failures) =
            Setup::set(experiment, &cache, &active_run.placement, interrupted, &logs, progress)?;
        failures.extend(rehearse(&mut setup, active_run, &mut run, &cache, &logs, progress)?);
        let known = run.search.as_ref().expect("the active run of a search has its record");
        let mut search = at_its_beginning(known, &active_run.done);
        expect_incumbent(&search, &mut failures)?;
        if active_run.done.is_empty() {
            put_out(&mut search, &run, failures);
        } else {
            // They raced before; their next trials fail, and that is when they are out.
            failures.iter().for_each(|(_, error)| progress.print(&format!("warning: {error:#}")));
        }
        for candidate in search.candidates.iter().filter(|candidate| candidate.out.is_some()) {
            let why = candidate.out.as_ref().and_then(OutRecord::refusal).unwrap_or_default();
            progress.print(&format!("{} is out: {}", candidate.name, why.lines().next().unwrap_or_default()));
        }
        let metric = active_run.plan.record.workloads[0].primary();
        let trials = active_run.done.clone();
        let racing = Racing { active_run, interrupted, progress, run, search, metric, trials };
        Ok((setup, racing))
    }

    fn run(mut self, setup: &Setup, clock: &Clock) -> Result<Raced> {
        let mut executor = Executor::new(self.active_run, setup, setup.observers(), None);
        let mut longest_block = Duration::ZERO;
        let mut standing = follow(&self.search, &self.metric.name, &self.trials);
        let mut by_the_clock = false;
        while !standing.is_over() {
            by_the_clock = !self.is_begun(&standing) && !clock.holds(longest_block);
            if by_the_clock {
                break;
            }
            let block_begun = Instant::now();
            self.run_block(setup, &mut executor, &standing)?;
            longest_block = longest_block.max(block_begun.elapsed());
            standing = follow(&self.search, &self.metric.name, &self.trials);
            self.run.spent_s = clock.spent().as_secs_f64();
            self.keep(&standing)?;
            if incumbent_fails(&self.search, &self.trials) {
                bail!(self.incumbent_failed());
            }
        }
        let mut search = self.keep(&standing)?;
        search.outcome = Some(standing.outcome(&self.search, by_the_clock));
        self.run.search = Some(search.clone());
        self.run.ended_by = search.outcome.as_ref().map(|outcome| outcome.ended_by.clone());
        self.run.finished_at = Some(Timestamp::now().to_string());
        self.active_run.run_dir.write_run(&self.run)?;
        Ok(Raced { search, spent: clock.spent() })
    }

    /// The first block is always tried, and what an earlier session began is made whole.
    fn is_begun(&self, standing: &Standing) -> bool {
        let block = standing.next_block();
        block == 1 || self.trials.iter().any(|trial| trial.block == block)
    }

    /// One block of the plan: the incumbent and every candidate still in the race, in the order of its coins.
    fn run_block(&mut self, setup: &Setup, executor: &mut Executor, standing: &Standing) -> Result<()> {
        let (active_run, block) = (self.active_run, standing.next_block());
        let warmup = active_run.experiment.method.warmup;
        let is_done =
            |trials: &[TrialRecord], planned: &PlannedTrial| trials.iter().any(|one| one.trial == planned.trial);
        // Of a block that an earlier session began.
        let mut resumed = self.trials.iter().any(|trial| trial.block == block);
        for planned in active_run.plan.record.trials.iter().filter(|planned| planned.block == block) {
            let races = planned.contender == self.search.incumbent || standing.races(&self.search, &planned.contender);
            if !races || is_done(&self.trials, planned) {
                continue;
            }
            let mut keep = |mut record: TrialRecord| {
                if std::mem::take(&mut resumed) {
                    // Its pair spans the interruption; it counts, and reports it.
                    record.flags.push("resumed".to_owned());
                }
                if let Some(bytes) = setup.data_directory_bytes(&planned.contender) {
                    record.metrics.insert(DATA_DIRECTORY_BYTES.to_owned(), bytes as f64);
                }
                record.flags.extend(frequency_flag(&self.trials, &record));
                active_run.run_dir.append(&record)?;
                self.trials.push(record);
                Ok(())
            };
            executor.run(&[planned], warmup, self.progress, &mut keep)?;
            if let Some(record) = self.trials.last() {
                self.progress.print(&self.line(record, standing));
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
        }
        Ok(())
    }

    /// How many trials there will be follows from their results, so none is reported as the last.
    fn line(&self, record: &TrialRecord, standing: &Standing) -> String {
        let outcome = match &record.failure {
            Some(failure) => format!("failed at `{}`: {}", failure.step, failure.message),
            None => {
                let value = record.metrics.get(&self.metric.name).copied().unwrap_or(0.0);
                format!("{value:.1} {}", self.metric.unit)
            }
        };
        format!("[block {}, {} racing] {}: {outcome}", record.block, standing.racing(), record.contender)
    }

    /// Writes down what is known by now.
    fn keep(&mut self, standing: &Standing) -> Result<SearchRecord> {
        let known = SearchRecord {
            candidates: standing.candidates(&self.search),
            rounds: standing.rounds.clone(),
            ..self.search.clone()
        };
        self.run.search = Some(known.clone());
        self.active_run.run_dir.write_run(&self.run)?;
        Ok(known)
    }

    fn incumbent_failed(&self) -> Error {
        let why = self
            .trials
            .iter()
            .rev()
            .find_map(|trial| trial.failure.as_ref().filter(|_| trial.contender == self.search.incumbent));
        let why = why.map_or(String::new(), |failure| format!(" at `{}`: {}", failure.step, failure.message));
        anyhow!(
            "`{}` failed {INCUMBENT_FAILURES_MAX} times in a row{why}\n  next: repair this contender first (`dbduel run` shows more); nothing can be compared with it",
            self.search.incumbent
        )
    }
}

/// Fails where there is no incumbent to race against.
fn expect_incumbent(search: &SearchRecord, failures: &mut Vec<(String, Error)>) -> Result<()> {
    match failures.iter().position(|(name, _)| *name == search.incumbent) {
        Some(at) => Err(failures.swap_remove(at).1),
        None => Ok(()),
    }
}

/// Puts out, before the first block, who could not be prepared or started, and who makes another promise than
/// the incumbent.
fn put_out(search: &mut SearchRecord, run: &RunRecord, failed: Vec<(String, Error)>) {
    let class = |name: &str| run.contenders.get(name).map(|facts| facts.durability_class.clone());
    let promised = class(&search.incumbent);
    for candidate in search.candidates.iter_mut().filter(|candidate| candidate.out.is_none()) {
        let failure = failed.iter().find(|(name, _)| *name == candidate.name);
        let why = match (failure, class(&candidate.name)) {
            (Some((_, error)), _) => format!("{error:#}"),
            (None, class) if class != promised => format!(
                "it promises {}, and `{}` {}: a search never changes what a commit promises",
                class.unwrap_or_else(|| "a class that could not be read".to_owned()),
                search.incumbent,
                promised.as_deref().unwrap_or("a class that could not be read")
            ),
            _ => continue,
        };
        candidate.out = Some(OutRecord::refused(why));
    }
}
