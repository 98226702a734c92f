//! The answer of `--gate`: does a candidate lose anywhere?
//!
//! Verdicts stand for one workload each. A gate asks about all of them at once, so it judges at the error rate divided
//! by the number of workloads.

use record::format::{MethodRecord, PlanRecord, Point, RunRecord, TrialRecord};

use super::{Conclusions, HeadToHead, Verdict, conclude};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Passed,
    /// Slower overall, or at a point.
    Slower,
    Undecided,
}

/// One candidate under one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub workload: String,
    pub candidate: String,
    pub baseline: String,
    pub answer: Answer,
    /// Points with the verdict `slower`, the worst first.
    pub losing: Vec<Point>,
    /// Durability classes of baseline and candidate, where the candidate promises less.
    pub weaker: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub answer: Answer,
    /// The error rate of each workload.
    pub level: f64,
    pub judged: Vec<Judged>,
}

/// What each of several workloads may spend of the error.
pub fn level(plan: &PlanRecord) -> f64 {
    (1.0 - plan.method.confidence) / plan.workloads.len().max(1) as f64
}

/// From stored records, like any verdict; `conclusions` are those at each workload's own level.
pub fn gate(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord], conclusions: &Conclusions) -> Gate {
    let level = level(plan);
    let method = MethodRecord { confidence: 1.0 - level, ..plan.method.clone() };
    let strict = match plan.workloads.len() {
        0 | 1 => conclusions.clone(),
        _ => conclude(&PlanRecord { method, ..plan.clone() }, run, trials),
    };
    let both = conclusions.workloads.iter().zip(&strict.workloads);
    let judged: Vec<Judged> = both
        .flat_map(|(own, strict)| {
            let pairs = own.duels.iter().zip(&strict.duels);
            pairs.map(|(own, strict)| judged(&strict.overall.workload, own, strict)).collect::<Vec<_>>()
        })
        .collect();
    let any = |answer: Answer| judged.iter().any(|one| one.answer == answer);
    let answer = match (any(Answer::Slower), any(Answer::Undecided)) {
        (true, _) => Answer::Slower,
        (false, true) => Answer::Undecided,
        (false, false) => Answer::Passed,
    };
    Gate { answer, level, judged }
}

/// A loss at the workload's own level that the gate's does not show is no pass either.
fn judged(workload: &str, own: &HeadToHead, strict: &HeadToHead) -> Judged {
    let loses = |duel: &HeadToHead| duel.overall.word == Verdict::Slower || !duel.losing.is_empty();
    let answer = match strict.overall.word {
        _ if loses(strict) => Answer::Slower,
        Verdict::Inconclusive => Answer::Undecided,
        _ if loses(own) => Answer::Undecided,
        _ => Answer::Passed,
    };
    Judged {
        workload: workload.to_owned(),
        candidate: own.candidate.clone(),
        baseline: own.baseline.clone(),
        answer,
        losing: strict.losing.clone(),
        weaker: own.durability.clone().filter(|(baseline, candidate)| candidate < baseline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{CANDIDATE, StoredRun, Story, tell};

    fn of(stored: &StoredRun, change: impl Fn(&mut HeadToHead)) -> Gate {
        let mut conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        conclusions.workloads.iter_mut().flat_map(|workload| &mut workload.duels).for_each(change);
        gate(&stored.plan, &stored.run, &stored.trials, &conclusions)
    }

    #[test]
    fn a_point_that_loses_fails_the_gate_whatever_the_overall_verdict() {
        let stored = tell(&Story::default());
        for word in [Verdict::Faster, Verdict::NoDifferenceShown, Verdict::Inconclusive, Verdict::Mixed] {
            let found = of(&stored, |duel| duel.overall.word = word);
            assert_eq!(found.answer, Answer::Slower, "{word:?}");
        }
        let nowhere = of(&stored, |duel| (duel.overall.word, duel.losing) = (Verdict::Faster, vec![]));
        assert_eq!((nowhere.answer, nowhere.level), (Answer::Passed, 0.050000000000000044));
        let open = of(&stored, |duel| (duel.overall.word, duel.losing) = (Verdict::Inconclusive, vec![]));
        assert_eq!(open.answer, Answer::Undecided);
    }

    /// The same trials once more under other names.
    fn repeated(workloads: usize) -> StoredRun {
        let mut stored = tell(&Story { ratios: [0.9; 4], ..Story::default() });
        let (record, trials, planned) =
            (stored.plan.workloads[0].clone(), stored.trials.clone(), stored.plan.trials.clone());
        for number in 1..workloads {
            let label = format!("again {number}");
            stored.plan.workloads.push(record::format::WorkloadRecord { label: label.clone(), ..record.clone() });
            stored.trials.extend(trials.iter().cloned().map(|trial| TrialRecord { workload: label.clone(), ..trial }));
            let planned = planned.iter().cloned();
            stored.plan.trials.extend(planned.map(|mut trial| {
                trial.workload = label.clone();
                trial
            }));
        }
        stored
    }

    #[test]
    fn several_workloads_share_the_error_of_the_gate_and_keep_their_own_verdicts() {
        let (one, seven) = (repeated(1), repeated(7));
        assert_eq!(of(&one, |_| {}).answer, Answer::Slower);
        // Eight equal signs come once in 128 times, and 5 % / 7 is less.
        let found = of(&seven, |_| {});
        assert_eq!((found.answer, found.judged.len()), (Answer::Undecided, 7));
        assert!((found.level - 0.05 / 7.0).abs() < 1e-12);
        let conclusions = conclude(&seven.plan, &seven.run, &seven.trials);
        assert!(conclusions.workloads.iter().all(|workload| workload.duels[0].overall.word == Verdict::Slower));
    }

    #[test]
    fn a_candidate_that_promises_less_is_named() {
        let mut stored = tell(&Story { ratios: [1.3; 4], ..Story::default() });
        stored.run.contenders.get_mut(CANDIDATE).unwrap().durability_class = "D2".into();
        let found = of(&stored, |_| {});
        assert_eq!(found.answer, Answer::Passed);
        assert_eq!(found.judged[0].weaker, Some(("D3".into(), "D2".into())));
    }
}
