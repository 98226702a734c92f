//! Before the first block: the statements of a replayed log once on each contender, one transaction after the other,
//! with all answers kept; on the baseline twice.
//!
//! A server that answers otherwise has done other work, however fast. What the baseline itself answers otherwise the
//! second time is left out of the comparison.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Bench, Probe};
use crate::noted::{is_timed, write_answers};
use load::{AnswerLog, Answering, OneAnswer, Workload, answers_from_bytes};
use record::format::answers::{ANSWERS_FILE, AnswersRecord};
use record::format::{PlanRecord, PlannedTrial, Purpose, Status, TrialRecord};
use trial::answers::{Baseline, Steady, compare, compare_trials, expect_most, fidelity};
use trial::observe::Observers;
use trial::{Finished, Interval, Trial, run_trial};

/// Passes over all logs whose answers are compared.
pub struct AnswerPasses {
    passes: Vec<Pass>,
}

struct Pass {
    planned: PlannedTrial,
    workload: Arc<dyn Workload>,
    log: Arc<AnswerLog>,
}

impl AnswerPasses {
    pub fn of(bench: &Bench) -> AnswerPasses {
        let plan = bench.plan();
        let all = plan.workloads.iter().flat_map(|workload| passes(plan, &workload.label));
        let passes = all.filter(|planned| bench.setup.has(&planned.contender)).filter_map(|planned| {
            let usual = bench.setup.trial(&planned, Path::new(""), Duration::ZERO).workload;
            let answering = usual.replays()?.answering()?;
            let log = AnswerLog::of(answering.statements());
            let workload = answering.noting(Arc::clone(&log));
            Some(Pass { workload, log, planned })
        });
        AnswerPasses { passes: passes.collect() }
    }

    fn pass(&self, planned: &PlannedTrial) -> &Pass {
        let is_it = |pass: &&Pass| {
            (&pass.planned.workload, &pass.planned.contender, &pass.planned.purpose)
                == (&planned.workload, &planned.contender, &planned.purpose)
        };
        self.passes.iter().find(is_it).expect("only passes are due")
    }

    /// Compares what is stored and not compared yet.
    pub fn compare(&self, bench: &mut Bench) -> Result<()> {
        for first in self.passes.iter().filter(|pass| is_second_of_baseline(&pass.planned)) {
            self.compare_workload(bench, &first.planned, &first.workload)?;
        }
        bench.active_run.run_dir.write_run(bench.run)
    }

    /// The same of the trials of the plan, where their answers are kept.
    pub fn compare_trials(&self, bench: &mut Bench) -> Result<()> {
        for first in self.passes.iter().filter(|pass| is_second_of_baseline(&pass.planned)) {
            let (label, baseline) = (&first.planned.workload, &first.planned.contender);
            let log = first.workload.replays().and_then(load::Replays::answering);
            let Some(log) = log.filter(|log| log.keeps_trials()) else { continue };
            let Some(pass) = stored(bench, label, baseline, 1)? else { continue };
            let Some(of_baseline) = steady(bench, log, label, baseline)? else { continue };
            let mut all = Vec::new();
            for candidate in bench.plan().candidates() {
                let Some(of_candidate) = steady(bench, log, label, candidate)? else { continue };
                let of_candidate = (candidate, &of_candidate);
                all.push(compare_trials(label, log, (baseline, &pass), &of_baseline, of_candidate));
            }
            all.iter().for_each(|one| bench.progress.print(&format!("timed trials, {}", line(one))));
            bench.run.answers.retain(|known| known.workload != *label || known.trials.is_none());
            bench.run.answers.extend(all);
        }
        bench.active_run.run_dir.write_run(bench.run)
    }

    fn compare_workload(&self, bench: &mut Bench, again: &PlannedTrial, workload: &Arc<dyn Workload>) -> Result<()> {
        let (label, baseline) = (&again.workload, &again.contender);
        let Some(log) = workload.replays().and_then(load::Replays::answering) else { return Ok(()) };
        let stored = |contender: &str, pass: u32| stored(bench, label, contender, pass);
        let Some(first) = stored(baseline, 1)? else { return Ok(()) };
        expect_most(
            log,
            baseline,
            &first,
            "see that `data` in [workload] is what these statements ran on when the log began",
        )?;
        let second = stored(baseline, 2)?;
        let mut all = Vec::new();
        for candidate in bench.plan().candidates() {
            let Some(answers) = stored(candidate, 1)? else { continue };
            expect_most(log, candidate, &answers, "look at these statements")?;
            let Some(second) = &second else { continue };
            let baseline = Baseline { name: baseline, answers: [&first, second] };
            all.push(compare(label, log, &baseline, (candidate, &answers)));
        }
        all.iter().for_each(|one| bench.progress.print(&line(one)));
        bench.run.fidelity.retain(|known| known.workload != *label);
        bench.run.fidelity.push(fidelity(label, log, baseline, &first));
        bench.run.answers.retain(|known| known.workload != *label);
        bench.run.answers.extend(all);
        Ok(())
    }
}

impl Probe for AnswerPasses {
    /// The passes of a workload, the second one of the baseline last.
    fn due(&self, _: &Bench) -> Vec<Vec<PlannedTrial>> {
        self.passes.iter().map(|pass| vec![pass.planned.clone()]).collect()
    }

    fn adapt<'a>(&'a self, planned: &PlannedTrial, trial: &mut Trial<'a>) {
        trial.workload = &self.pass(planned).workload;
        trial.interval = Interval { warmup: None, measured: None, events: None };
    }

    fn run(&self, trial: &Trial, observers: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        let finished = run_trial(trial, observers, live)?;
        if finished.record.status == Status::Ok {
            write_answers(trial.folder, &self.pass(trial.planned).log)?;
        }
        Ok(finished)
    }
}

/// The baseline, the candidates, the baseline again: each at its first point.
fn passes(plan: &PlanRecord, label: &str) -> Vec<PlannedTrial> {
    let of = |contender: &str, pass: u32| {
        let usual = plan.trials.iter().find(|one| one.workload == label && one.contender == contender)?;
        let purpose = Purpose::Answers { pass };
        Some(PlannedTrial { block: pass, order: 1, gap_ms: 0, purpose, ..usual.clone() })
    };
    let firsts = plan.contenders.iter().filter_map(|contender| of(&contender.name, 1));
    firsts.chain(of(&plan.baseline, 2)).collect()
}

fn is_second_of_baseline(planned: &PlannedTrial) -> bool {
    planned.purpose == Purpose::Answers { pass: 2 }
}

/// The answers of a pass that has succeeded.
fn stored(bench: &Bench, workload: &str, contender: &str, pass: u32) -> Result<Option<Vec<OneAnswer>>> {
    let is_it = |trial: &&TrialRecord| {
        (trial.workload.as_str(), trial.contender.as_str(), trial.status) == (workload, contender, Status::Ok)
            && trial.purpose == Purpose::Answers { pass }
    };
    bench.trials.iter().find(is_it).map(|trial| answers_of(bench, trial)).transpose()
}

/// What trials of the plan have answered alike; None where none has succeeded.
fn steady(bench: &Bench, log: &dyn Answering, workload: &str, contender: &str) -> Result<Option<Steady>> {
    let is_it = |trial: &&TrialRecord| {
        (trial.workload.as_str(), trial.contender.as_str(), trial.status) == (workload, contender, Status::Ok)
            && is_timed(&trial.purpose)
    };
    let mut steady = Steady::default();
    for trial in bench.trials.iter().filter(is_it) {
        steady.take(log, answers_of(bench, trial)?);
    }
    Ok((steady.trials > 0).then_some(steady))
}

fn answers_of(bench: &Bench, trial: &TrialRecord) -> Result<Vec<OneAnswer>> {
    let path = bench.active_run.run_dir.trial_folder(trial.trial)?.join(ANSWERS_FILE);
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let answers = answers_from_bytes(&bytes);
    answers.with_context(|| format!("{} is no list of answers\n  next: start the run anew", path.display()))
}

fn line(one: &AnswersRecord) -> String {
    let AnswersRecord { workload, candidate, baseline, compared, .. } = one;
    match (one.differ() - one.at_limits(), one.at_limits()) {
        (0, 0) => format!("{workload}: `{candidate}` answers {compared} compared statements as `{baseline}` does"),
        (0, ties) => format!(
            "{workload}: `{candidate}` answers {compared} compared statements as `{baseline}` does, but for {ties} at a LIMIT"
        ),
        (differ, _) => format!(
            "{workload}: `{candidate}` answers {differ} of {compared} compared statements otherwise than `{baseline}`"
        ),
    }
}
