use super::super::{HeadToHead, conclude};
use super::*;
use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, cores_run, stored_run, sweep_run};

fn scaling_of(stored: &StoredRun) -> Option<Scaling> {
    conclude(&stored.plan, &stored.run, &stored.trials).workloads.remove(0).scaling
}

fn find<'a>(scaling: &'a Scaling, contender: &str, n: u64) -> &'a Step {
    scaling.steps.iter().find(|step| (step.contender.as_str(), step.n) == (contender, n)).unwrap()
}

fn holds(estimate: &Estimate, truth: f64) -> bool {
    estimate.bounds.is_some_and(|(low, high)| low < truth && truth < high)
}

#[test]
fn each_number_of_cores_is_reported_at_its_best_clients() {
    let scaling = scaling_of(&cores_run(&Story { blocks: 10, ..Story::default() })).unwrap();
    assert_eq!((scaling.variable, scaling.searched, scaling.steps.len()), ("cores", true, 4));
    let (one, two) = (find(&scaling, BASELINE, 1), find(&scaling, BASELINE, 2));
    assert_eq!((&one.clients, &two.clients), (&vec![4], &vec![4]));
    assert!((one.value.mean / 940.0 - 1.0).abs() < 0.01 && one.value.trials == 10, "{one:?}");
    assert!(holds(&two.speed_up.unwrap(), 1480.0 / 940.0), "{two:?}");
    assert!(holds(&two.efficiency.unwrap(), 740.0 / 940.0));
    assert_eq!(one.speed_up, Some(Estimate { value: 1.0, bounds: None }));
    assert!((two.costs["cpu_use"].mean - 0.93).abs() < 1e-9 && two.costs["ctx_per_tx"].mean == 3.5);
    let (ratio, basis) = find(&scaling, CANDIDATE, 2).ratio.unwrap();
    assert!(holds(&ratio, 0.87) && basis != Basis::Plain, "{ratio:?}");
    assert_eq!(one.ratio, None, "no row is compared with itself");
}

#[test]
fn the_best_of_equals_is_no_better_than_they_are() {
    // Sixteen equal numbers of clients, and much noise: the largest mean of ten blocks lies 5 % too high.
    let points: Vec<Point> = (1..=2u64)
        .flat_map(|cores| (1..=16u64).map(move |n| Point::from([("cores".into(), cores), ("clients".into(), n)])))
        .collect();
    let stored = sweep_run(&Story { blocks: 10, spread: 0.1, ..Story::default() }, &points, |_, _| 1000.0);
    let scaling = scaling_of(&stored).unwrap();
    let mean = scaling.steps.iter().map(|step| step.value.mean.ln()).sum::<f64>() / 4.0;
    // A step is a mean of ten values of 10 %, so four of them vary by 1.6 %; naive choice: 1.05 and more.
    assert!((mean - 1000f64.ln()).abs() < 0.04, "{:?}", scaling.steps);
    let naive: f64 = (1..=16u64)
        .map(|clients| {
            let ours = stored.trials.iter().filter(|trial| {
                trial.contender == BASELINE && trial.point["clients"] == clients && trial.point["cores"] == 1
            });
            ours.map(|trial| trial.metrics["tps"].ln()).sum::<f64>() / 10.0
        })
        .fold(0.0, f64::max);
    assert!(naive - 1000f64.ln() > 0.04, "the test has noise enough to be fooled by");
}

#[test]
fn a_sweep_of_clients_scales_and_one_of_warehouses_does_not() {
    let scaling = scaling_of(&stored_run(&Story::default())).unwrap();
    assert_eq!((scaling.variable, scaling.searched), ("clients", false));
    let ours = conclude_duel(&stored_run(&Story::default()));
    let (ratio, _) = find(&scaling, CANDIDATE, 16).ratio.unwrap();
    assert_eq!(Some(ratio.value), ours.points[2].ratio, "the comparison of the point, and no second opinion");
    let refused = |law: &Law| law.fit == Err(UslRefusal::TooFewValues { have: 4 });
    assert!(scaling.laws.len() == 2 && scaling.laws.iter().all(refused) && scaling.contrasts.is_empty());
    assert_eq!(scaling_of(&fixtures::tpcc_run(&Story::default())), None);
}

fn conclude_duel(stored: &StoredRun) -> HeadToHead {
    conclude(&stored.plan, &stored.run, &stored.trials).workloads.remove(0).duels.remove(0)
}

#[test]
fn laws_are_found_again_and_held_against_each_other() {
    let points: Vec<Point> =
        [1u64, 2, 4, 8, 16, 32, 64].iter().map(|n| Point::from([("cores".to_owned(), *n)])).collect();
    let tps = |contender: &str, point: &Point| {
        let sigma = if contender == CANDIDATE { 0.10 } else { 0.05 };
        stats::Usl { lambda: 500.0, sigma, kappa: 0.001 }.throughput(point["cores"] as f64)
    };
    let scaling = scaling_of(&sweep_run(&Story { blocks: 10, ..Story::default() }, &points, tps)).unwrap();
    let fit = scaling.laws[0].fit.as_ref().unwrap();
    assert!(fit.sigma.low < 0.05 && 0.05 < fit.sigma.high && fit.peak.is_some(), "{fit:?}");
    let contrast = &scaling.contrasts[0];
    assert!(contrast.candidate == CANDIDATE && holds(&contrast.sigma.unwrap(), 2.0), "{contrast:?}");
    assert!(holds(&contrast.kappa.unwrap(), 1.0), "{contrast:?}");
}

#[test]
fn a_number_that_never_came_through_has_no_row() {
    let mut stored = cores_run(&Story::default());
    for block in 1..=8 {
        let of = |trial: &&mut TrialRecord| trial.contender == CANDIDATE && trial.point["cores"] == 1;
        stored
            .trials
            .iter_mut()
            .filter(of)
            .filter(|trial| trial.block == block)
            .for_each(|trial| trial.metrics.clear());
    }
    let scaling = scaling_of(&stored).unwrap();
    assert!(!scaling.steps.iter().any(|step| step.contender == CANDIDATE && step.n == 1));
    let two = find(&scaling, CANDIDATE, 2);
    assert!(two.speed_up.is_none() && two.ratio.is_some(), "without one there is nothing to hold two against");
    stored.trials.truncate(8);
    assert!(scaling_of(&stored).unwrap().steps.is_empty(), "one block chooses for no other");
}

#[test]
fn throughput_is_a_geometric_mean_beside_the_geometric_speed_up() {
    let points: Vec<Point> = [1u64, 2].iter().map(|n| Point::from([("cores".to_owned(), *n)])).collect();
    let mut stored = sweep_run(&Story::default(), &points, |_, _| 1000.0);
    // Blocks that differ fourfold: the arithmetic mean lies a quarter above the geometric one.
    for trial in &mut stored.trials {
        let tps = (if trial.block % 2 == 0 { 2000.0 } else { 500.0 }) * trial.point["cores"] as f64;
        trial.metrics.insert("tps".into(), tps);
    }
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials).workloads.remove(0);
    let scaling = conclusions.scaling.as_ref().unwrap();
    let (one, two) = (find(scaling, BASELINE, 1), find(scaling, BASELINE, 2));
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-9;
    assert!(near(one.value.mean, 1000.0) && near(two.value.mean, 2000.0), "{one:?} {two:?}");
    assert!(near(two.speed_up.unwrap().value, two.value.mean / one.value.mean));
    assert!(one.value.low.zip(one.value.high).is_some_and(|(low, high)| near(low * high, 1e6)), "{one:?}");
    let cell = conclusions.cells.iter().find(|cell| cell.contender == BASELINE).unwrap();
    assert!(near(cell.primary.unwrap().mean, 1000.0), "{cell:?}");
}
