//! Which trials share a start of their server, and which a time.

use record::format::{PlanRecord, PlannedTrial};

/// Trials in their order, in groups that are run together: all points of a contender in a fast sweep, both
/// sides of a duet, and one by one everywhere else. A repeat has a start of its own, since what it repeats
/// is one point.
pub fn together<'a>(plan: &PlanRecord, trials: &[&'a PlannedTrial]) -> Vec<Vec<&'a PlannedTrial>> {
    let mut groups: Vec<Vec<&PlannedTrial>> = Vec::new();
    for trial in trials {
        match groups.last_mut().filter(|group| joins(plan, group, trial)) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    groups
}

fn joins(plan: &PlanRecord, group: &[&PlannedTrial], next: &PlannedTrial) -> bool {
    let one_start = |one: &PlannedTrial| {
        let of = |trial: &PlannedTrial| (trial.block, trial.workload.clone(), trial.contender.clone());
        plan.method.fast_sweep
            && one.purpose.repeats().is_none()
            && next.purpose.repeats().is_none()
            && of(one) == of(next)
    };
    match group {
        [one] => one_start(one) || plan.runs_at_once(&[one, next]),
        [one, ..] => one_start(one),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{experiment, plan_of};
    use super::*;
    use crate::Experiment;

    fn groups_of(experiment: &Experiment, block: u32) -> Vec<Vec<PlannedTrial>> {
        let plan = plan_of(experiment).record;
        let trials: Vec<&PlannedTrial> = plan.trials.iter().filter(|trial| trial.block == block).collect();
        together(&plan, &trials).into_iter().map(|group| group.into_iter().cloned().collect()).collect()
    }

    #[test]
    fn by_default_every_trial_is_alone() {
        assert!(groups_of(&experiment(&["a", "b"], &[1, 16], 8, 1), 3).iter().all(|group| group.len() == 1));
    }

    #[test]
    fn a_fast_sweep_walks_all_points_in_one_start_and_in_one_order_for_all() {
        let mut experiment = experiment(&["a", "b", "c"], &[1, 4, 16], 8, 1);
        experiment.method.fast_sweep = true;
        let groups = groups_of(&experiment, 2);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [3; 6], "two workloads, three contenders");
        let points = |group: &[PlannedTrial]| group.iter().map(|one| one.point.clone()).collect::<Vec<_>>();
        assert!(groups[..3].iter().all(|group| points(group) == points(&groups[0])));
        assert_eq!(groups[..3].iter().map(|group| group[0].order).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(groups.iter().all(|group| group.iter().all(|one| one.order == group[0].order)));
    }

    #[test]
    fn a_duet_runs_in_pairs_and_alone_behind_its_last_block() {
        let mut experiment = experiment(&["a", "b"], &[1, 16], 8, 1);
        experiment.method.duet = true;
        let pairs = groups_of(&experiment, 8);
        assert!(pairs.len() == 4 && pairs.iter().all(|pair| pair.len() == 2 && pair[0].point == pair[1].point));
        for solo in 9..=12 {
            let alone = groups_of(&experiment, solo);
            assert!(alone.len() == 8 && alone.iter().all(|group| group.len() == 1));
        }
        assert!(groups_of(&experiment, 13).is_empty());
    }
}
