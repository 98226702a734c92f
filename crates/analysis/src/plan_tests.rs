//! What becomes of a statement's gap once both servers run it alike.
//!
//! A test switches off steps that only one of two plans has, on both servers. Only where their plans are alike then does it
//! show anything, and it confirms a cause as every cause test does: half of the gap is gone, and some of it surely.

use record::format::{
    ContrastKind, ContrastRecord, PlanNode, PlanRecord, PlanTestRecord, Point, Purpose, RunRecord, TrialRecord,
};

use super::comparison::Verdict;
use super::conclusions::Conclusions;
use super::diagnosis::cause_test::{self, Due};
use super::diagnosis::{GapChange, Grade, TestOutcome};
use super::differences::drifts;
use super::index::Index;
use super::plan_causes::{PlanCause, PlanTest, is_of, plan_causes};
use super::plan_changes::change;
use super::values::{log_ratio, value};

/// A test that would show whether changed plans are a cause, and the pairs of plans that it is about: the plan that is to
/// give way before the one in its place.
pub struct PlanTestDue {
    pub due: Due,
    pub plans: Vec<[PlanNode; 2]>,
}

/// One for each pair of contenders with statements that differ and are run differently, on an undisturbed host.
pub fn due(plan: &PlanRecord, run: &RunRecord, conclusions: &Conclusions) -> Vec<PlanTestDue> {
    let differences = drifts(plan, run);
    let mut found = Vec::new();
    for workload in &conclusions.workloads {
        for duel in &workload.duels {
            let Some(point) = last_point(plan, &workload.workload) else { continue };
            if duel.diagnosis.causes.iter().any(|cause| cause.kind.is_of_the_run()) {
                continue;
            }
            let causes = plan_causes(workload, duel, &differences);
            let plans: Vec<[PlanNode; 2]> = causes.iter().filter_map(giving_way).collect();
            if !plans.is_empty() {
                let (workload, candidate) = (workload.workload.clone(), duel.candidate.clone());
                let due = Due { contrast: ContrastKind::OtherPlan, workload, candidate, point: point.clone() };
                found.push(PlanTestDue { due, plans });
            }
        }
    }
    found
}

/// The heaviest.
fn last_point<'a>(plan: &'a PlanRecord, workload: &str) -> Option<&'a Point> {
    plan.trials.iter().filter(|trial| trial.workload == workload).map(|trial| &trial.point).max()
}

/// The slower side's plan first.
fn giving_way(cause: &PlanCause) -> Option<[PlanNode; 2]> {
    let [baseline, candidate] = cause.plans;
    let (baseline, candidate) = (baseline.root()?, candidate.root()?);
    Some(if cause.verdict == Verdict::Slower { [candidate, baseline] } else { [baseline, candidate] })
}

/// The stored trials of a run.
pub struct Tests<'a> {
    pub plan: &'a PlanRecord,
    pub run: &'a RunRecord,
    pub measured: &'a [TrialRecord],
    pub probes: &'a [TrialRecord],
}

impl<'a> Tests<'a> {
    /// Notes beside each cause what its test has shown; those that are confirmed come first.
    pub fn put(&self, causes: &mut [PlanCause<'a>]) {
        let mut tests = cause_test::tests(self.plan, self.run, self.probes);
        tests.retain(|test| test.contrast == ContrastKind::OtherPlan);
        if tests.is_empty() {
            return;
        }
        let records = Index::new(self.plan, self.measured);
        for cause in causes.iter_mut() {
            let place = (cause.workload, cause.candidate);
            let test = tests.iter().find(|test| (test.workload.as_str(), test.candidate.as_str()) == place);
            cause.test = test.and_then(|test| self.of(cause, test, &records));
            if cause.test.as_ref().is_some_and(PlanTest::is_confirming) {
                cause.grade = Grade::Confirmed;
            }
        }
        causes.sort_by_key(|cause| match cause.grade {
            Grade::Confirmed => 0,
            Grade::Supported => 1,
            Grade::Weak => 2,
        });
    }

    fn of(&self, cause: &PlanCause, test: &ContrastRecord, records: &Index) -> Option<PlanTest<'a>> {
        let sides = [cause.baseline, cause.candidate].map(|contender| self.record(cause, contender));
        let switched_off = sides.into_iter().flatten().flat_map(|one| &one.switched_off);
        let outcome = cause_test::ended(test, || match is_alike(cause.statement, sides) {
            true => self.gap_change(cause, &test.point, records).map(TestOutcome::Ended),
            false => Some(TestOutcome::NotAlike),
        })?;
        let switched_off = switched_off.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Some(PlanTest { switched_off, outcome })
    }

    fn record(&self, cause: &PlanCause, contender: &str) -> Option<&'a PlanTestRecord> {
        let is_ours = |one: &&PlanTestRecord| one.candidate == cause.candidate && is_of(&one.data, cause.workload);
        self.run.contenders.get(contender)?.plan_tests.iter().find(is_ours)
    }

    fn gap_change(&self, cause: &PlanCause, point: &Point, records: &Index) -> Option<GapChange> {
        let metric = cause.comparison.metric.as_str();
        let find = |contender: &str, block: u32| records.find(cause.workload, point, contender, block);
        let ratio = |block: u32| log_ratio(find(cause.baseline, block)?, find(cause.candidate, block)?, metric);
        let before = (1..=self.plan.method.blocks).filter_map(ratio).collect();
        let is_ours = |trial: &&TrialRecord| {
            let Purpose::CauseTest { cause: kind, candidate } = &trial.purpose else { return false };
            (*kind, candidate.as_str(), trial.workload.as_str(), &trial.point)
                == (ContrastKind::OtherPlan, cause.candidate, cause.workload, point)
        };
        let ours: Vec<&TrialRecord> = self.probes.iter().filter(is_ours).collect();
        let of = |contender: &str, block: u32| {
            ours.iter().find(|trial| trial.contender == contender && trial.block == block).copied()
        };
        let blocks = 1..=cause_test::BLOCKS as u32;
        let pairs = blocks.filter_map(|block| Some((of(cause.baseline, block)?, of(cause.candidate, block)?)));
        let pairs: Vec<(&TrialRecord, &TrialRecord)> = pairs.collect();
        let after = pairs.iter().filter_map(|(baseline, candidate)| log_ratio(baseline, candidate, metric)).collect();
        let others: Vec<f64> = pairs.iter().filter_map(|(baseline, _)| value(baseline, metric)).collect();
        let own: Vec<f64> = pairs.iter().filter_map(|(_, candidate)| value(candidate, metric)).collect();
        cause_test::change(metric, [before, after], [&own, &others], self.plan.method.confidence)
    }
}

/// Both showed their plans of this statement inside the test, and they do the same.
fn is_alike(statement: &str, sides: [Option<&PlanTestRecord>; 2]) -> bool {
    let plan = |side: Option<&PlanTestRecord>| {
        side?
            .plans
            .iter()
            .find(|plan| plan.statement == statement && plan.refused.is_none() && plan.root().is_some())
            .cloned()
    };
    let [baseline, candidate] = sides.map(plan);
    baseline.zip(candidate).is_some_and(|(baseline, candidate)| change(&baseline, &candidate).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude;
    use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, add_cause_test, stored_run};
    use record::format::StatementPlan;

    fn plan(operator: &str) -> StatementPlan {
        StatementPlan {
            statement: "range".into(),
            sql: String::new(),
            lines: Vec::new(),
            shape: Vec::new(),
            tree: Some(PlanNode { table: Some("sbtest1".into()), ..PlanNode::of(operator) }),
            refused: None,
        }
    }

    /// A candidate that scans what the baseline finds by an index, and takes more than twice as long.
    fn slow_scan() -> StoredRun {
        let mut stored = stored_run(&Story { ratios: [0.4; 4], ..Story::default() });
        stored.plan.method.contrast = true;
        let label = stored.plan.workloads[0].label.clone();
        for (contender, operator) in [(BASELINE, "range"), (CANDIDATE, "full scan")] {
            let facts = stored.run.contenders.get_mut(contender).unwrap();
            facts.plans = [(label.clone(), vec![plan(operator)])].into();
        }
        stored
    }

    /// With its index forced: so many transactions beside 1,000 of the baseline.
    fn tested(tps: &[f64], operator: &str, refused: Option<&str>) -> StoredRun {
        let mut stored = slow_scan();
        let (data, point) = (stored.plan.workloads[0].label.clone(), [("clients".to_owned(), 64)].into());
        let test = ContrastRecord {
            contrast: ContrastKind::OtherPlan,
            workload: data.clone(),
            candidate: CANDIDATE.into(),
            point,
            baseline_values: tps.iter().map(|_| 1000.0).collect(),
            candidate_values: tps.to_vec(),
            refused: refused.map(str::to_owned),
            failed: None,
        };
        add_cause_test(&mut stored, &test);
        for (contender, operator) in [(BASELINE, "range"), (CANDIDATE, operator)] {
            let test = PlanTestRecord {
                data: data.clone(),
                candidate: CANDIDATE.into(),
                switched_off: [("enable_scan".to_owned(), "off".to_owned())].into(),
                plans: vec![plan(operator)],
            };
            stored.run.contenders.get_mut(contender).unwrap().plan_tests.push(test);
        }
        stored
    }

    fn judged(stored: &StoredRun) -> (Grade, Option<TestOutcome>) {
        let (plan, run, measured) = (&stored.plan, &stored.run, record::format::measured(&stored.trials));
        let conclusions = conclude(plan, run, &stored.trials);
        let differences = drifts(plan, run);
        let workload = &conclusions.workloads[0];
        let mut causes = plan_causes(workload, &workload.duels[0], &differences);
        let probes: Vec<TrialRecord> = stored.trials.iter().filter(|one| one.purpose.is_probe()).cloned().collect();
        Tests { plan, run, measured: &measured, probes: &probes }.put(&mut causes);
        let first = &causes[0];
        if let Some(test) = &first.test {
            assert!(test.switched_off.is_empty() || test.switched_off["enable_scan"] == "off", "{test:?}");
        }
        (first.grade, first.test.as_ref().map(|test| test.outcome.clone()))
    }

    #[test]
    fn a_changed_plan_of_what_is_slower_is_due_for_a_test_with_the_slow_plan_first() {
        let stored = slow_scan();
        let due = due(&stored.plan, &stored.run, &conclude(&stored.plan, &stored.run, &stored.trials));
        let [test] = due.as_slice() else { panic!("one test was expected") };
        assert_eq!((test.due.contrast, test.due.candidate.as_str()), (ContrastKind::OtherPlan, CANDIDATE));
        assert_eq!(test.due.point["clients"], 64);
        let operators: Vec<&str> = test.plans[0].iter().map(|root| root.operator.as_str()).collect();
        assert_eq!(operators, ["full scan", "range"]);
    }

    #[test]
    fn a_plan_is_confirmed_where_both_run_alike_and_the_gap_goes_away() {
        assert_eq!(judged(&slow_scan()).1, None);
        let near = [985.0, 990.0, 979.0, 992.0];
        let (grade, outcome) = judged(&tested(&near, "range", None));
        assert!(matches!(outcome, Some(TestOutcome::Ended(change)) if change.confirms && change.removed_share > 0.9));
        assert_eq!(grade, Grade::Confirmed);
        let (grade, outcome) = judged(&tested(&near, "full scan", None));
        assert_eq!((grade == Grade::Confirmed, outcome), (false, Some(TestOutcome::NotAlike)));
        let (grade, outcome) = judged(&tested(&[400.0, 410.0, 405.0, 395.0], "range", None));
        assert!(matches!(outcome, Some(TestOutcome::Ended(change)) if !change.confirms));
        assert_ne!(grade, Grade::Confirmed);
        let (_, outcome) = judged(&tested(&[], "range", Some("no setting does it")));
        assert_eq!(outcome, Some(TestOutcome::NotRun { because: "no setting does it".into() }));
    }
}
