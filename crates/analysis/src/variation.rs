//! How much a host and a workload scatter, and what a run of another length would have seen.
//!
//! Everything about how long to measure comes from here: the spread between blocks, what of it
//! lies between trials and what inside them, what a block costs, and whether being first matters.

use std::collections::BTreeMap;

use record::format::{PlanRecord, Point, Series, TrialRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::index::Index;
use super::operations;
use super::values::{is_noisy, log_ratio};

/// Column of the series that the spread of seconds comes from.
pub const SERIES_COLUMN: &str = "committed";

/// Advice from fewer blocks would be a guess (method, section 1).
pub const BLOCKS_FOR_ADVICE: usize = 4;

/// Blocks in which the candidate came first, and second, that an order effect needs at each point.
const BLOCKS_A_SIDE: usize = 2;

/// Differences that a reader plans for.
pub const EFFECTS: [f64; 3] = [0.01, 0.03, 0.05];

/// What one pair of contenders scatters by at these points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Variation {
    /// Blocks that are whole.
    pub blocks: usize,
    /// Standard deviation of the log ratio between blocks.
    #[serde(rename = "sd_log_ratio")]
    pub sd: Option<f64>,
    /// Of trials, without what their seconds explain and without what a block has in common; 0 where
    /// the seconds explain all of it.
    pub sd_between_trials: Option<f64>,
    /// Of one second within trials, as a fraction, from means of ten seconds.
    pub sd_of_a_second: Option<f64>,
    /// Correlation of one second with the next.
    pub autocorrelation: Option<f64>,
    /// Log of first in the block over second.
    pub order_effect: Option<OrderEffect>,
    /// Share of these trials that carry a flag of the host.
    pub flagged_share: Option<f64>,
    /// Seconds of a trial beside the interval: its idle gap, restore, start, warm-up, stop …
    pub overhead_s: Option<f64>,
    /// Seconds that a trial measures.
    pub duration_s: Option<f64>,
    /// Seconds to measure for the most information in the time spent; absent below four blocks, and where trials do
    /// not differ beyond their seconds (the longer the better).
    pub best_duration_s: Option<f64>,
    /// Seconds that a block of the whole plan takes.
    pub block_s: Option<f64>,
    /// Blocks for 1, 3 and 5 % at 90 % power, at a number fixed beforehand.
    pub blocks_needed: Option<[usize; 3]>,
    /// The time that they take.
    pub minutes_needed: Option<[f64; 3]>,
}

/// What being first in the block is worth, as a log ratio with its 95 % t interval over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OrderEffect {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// Per-second series by number of trial; the baseline against `candidate` at `points` together.
pub fn spread(
    plan: &PlanRecord,
    trials: &[TrialRecord],
    series: &BTreeMap<u32, Series>,
    workload: &str,
    candidate: &str,
    points: &[Point],
) -> Variation {
    let aligned = operations::aligned(plan, trials);
    let records = Index::new(plan, &aligned);
    Pairs { plan, records: &records, series, workload, candidate, points }.spread()
}

/// The trials of two contenders, block by block.
struct Pairs<'a> {
    plan: &'a PlanRecord,
    records: &'a Index<'a>,
    series: &'a BTreeMap<u32, Series>,
    workload: &'a str,
    candidate: &'a str,
    points: &'a [Point],
}

impl Pairs<'_> {
    fn spread(&self) -> Variation {
        let by_point: Vec<Vec<(u32, f64)>> = self.points.iter().map(|point| self.log_ratios(point)).collect();
        let whole = over_points(&by_point, |pair| pair.1);
        let trials = self.trials();
        let duration_s = stats::mean(&steps_of(&trials, |name| name == "measure"));
        let sd = stats::sd(&whole);
        let seconds: Vec<Vec<f64>> = trials.iter().filter_map(|trial| self.seconds(trial)).collect();
        let sd_of_a_second = stats::sd_of_a_second(&seconds);
        let sd_between_trials = sd_of_a_second.zip(duration_s).and_then(|(of_a_second, duration_s)| {
            Some(stats::sd_between_trials(typical_sd(&by_point)?, of_a_second, duration_s))
        });
        let overhead_s = self.overhead_s(&trials);
        let enough = whole.len() >= BLOCKS_FOR_ADVICE;
        let best = |of_a_second, between| stats::best_duration_s(overhead_s?, of_a_second, between);
        let best_duration_s = sd_of_a_second
            .zip(sd_between_trials)
            .filter(|_| enough)
            .and_then(|(inside, between)| best(inside, between));
        let blocks_needed = sd.map(|sd| EFFECTS.map(|effect| stats::blocks_needed(sd, effect, self.level())));
        let block_s = self.block_s();
        let minutes_needed =
            blocks_needed.zip(block_s).map(|(blocks, block_s)| blocks.map(|blocks| blocks as f64 * block_s / 60.0));
        Variation {
            blocks: whole.len(),
            sd,
            sd_between_trials,
            sd_of_a_second,
            autocorrelation: stats::autocorrelation(&seconds),
            order_effect: self.order_effect(&by_point),
            flagged_share: stats::mean(&trials.iter().map(|trial| f64::from(is_noisy(trial))).collect::<Vec<f64>>()),
            overhead_s,
            duration_s,
            best_duration_s,
            block_s,
            blocks_needed,
            minutes_needed,
        }
    }

    /// The share of false verdicts that this comparison may have.
    fn level(&self) -> f64 {
        1.0 - self.plan.method.confidence
    }

    fn trial(&self, contender: &str, point: &Point, block: u32) -> Option<&TrialRecord> {
        self.records.find(self.workload, point, contender, block)
    }

    /// Both contenders' trials that count.
    fn trials(&self) -> Vec<&TrialRecord> {
        let blocks = 1..=self.plan.method.blocks;
        let places = blocks.flat_map(|block| self.points.iter().map(move |point| (block, point)));
        let both = [self.plan.baseline.as_str(), self.candidate];
        places.flat_map(|(block, point)| both.map(|contender| self.trial(contender, point, block))).flatten().collect()
    }

    /// The blocks that have this pair, with their log ratios.
    fn log_ratios(&self, point: &Point) -> Vec<(u32, f64)> {
        let metric = self.records.primary_metric(self.workload);
        let of_block = |block: u32| {
            let both = (self.trial(&self.plan.baseline, point, block)?, self.trial(self.candidate, point, block)?);
            Some((block, log_ratio(both.0, both.1, &metric)?))
        };
        (1..=self.plan.method.blocks).filter_map(of_block).collect()
    }

    /// Committed in each whole second of a trial.
    fn seconds(&self, trial: &TrialRecord) -> Option<Vec<f64>> {
        let series = self.series.get(&trial.trial)?;
        let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
        let whole = trial.interval_s(&self.plan.method).floor() as usize;
        series.rows.iter().take(whole).map(|row| row.get(column).copied()).collect()
    }

    fn overhead_s(&self, trials: &[&TrialRecord]) -> Option<f64> {
        let steps = stats::mean(&steps_of(trials, |name| name != "measure"))?;
        let gaps: Vec<f64> = self.plan.trials.iter().map(|planned| planned.gap_ms as f64 / 1000.0).collect();
        Some(steps + stats::mean(&gaps).unwrap_or(0.0))
    }

    /// Mean over whole blocks of the plan, gaps included.
    fn block_s(&self) -> Option<f64> {
        let mut gaps: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for planned in self.plan.trials.iter().filter(|planned| !self.plan.is_solo(planned.block)) {
            gaps.entry(planned.block).or_default().push(planned.gap_ms as f64 / 1000.0);
        }
        let of_block = |(block, gaps): (&u32, &Vec<f64>)| {
            let trials =
                self.records.trials().iter().filter(|trial| trial.block == *block && trial.purpose.repeats().is_none());
            let times: Vec<f64> = trials.map(TrialRecord::seconds).collect();
            // Both sides of a duet take the same time.
            let at_once = if self.plan.method.duet { 2.0 } else { 1.0 };
            (times.len() == gaps.len()).then(|| times.iter().chain(gaps).sum::<f64>() / at_once)
        };
        stats::mean(&gaps.iter().filter_map(of_block).collect::<Vec<f64>>())
    }

    /// Half the distance between the blocks in which the candidate came first and those in which it
    /// came second. A difference between the contenders cancels.
    fn order_effect(&self, by_point: &[Vec<(u32, f64)>]) -> Option<OrderEffect> {
        let of_point = |(point, pairs): (&Point, &Vec<(u32, f64)>)| -> Option<Vec<(u32, f64)>> {
            let side = |block: u32| self.candidate_came_first(point, block);
            let mean_of = |first: bool| {
                let ours = pairs.iter().filter(|(block, _)| side(*block) == Some(first)).map(|(_, ratio)| *ratio);
                stats::mean(&ours.collect::<Vec<f64>>())
            };
            let middle = (mean_of(true)? + mean_of(false)?) / 2.0;
            let signed = |(block, ratio): &(u32, f64)| {
                Some((*block, if side(*block)? { ratio - middle } else { middle - ratio }))
            };
            pairs.iter().map(signed).collect()
        };
        let signed: Vec<Vec<(u32, f64)>> = self.points.iter().zip(by_point).filter_map(of_point).collect();
        let of_blocks = over_points(&signed, |pair| pair.1);
        let sides = self.points.iter().zip(by_point).map(|(point, pairs)| {
            let first =
                pairs.iter().filter(|(block, _)| self.candidate_came_first(point, *block) == Some(true)).count();
            [first, pairs.len() - first]
        });
        let sides: Vec<[usize; 2]> = sides.collect();
        if sides.iter().flatten().any(|blocks| *blocks < BLOCKS_A_SIDE) {
            return None;
        }
        // Two means were taken from the blocks; unequal sides carry less information than equal ones.
        let (mean, blocks) = (stats::mean(&of_blocks)?, of_blocks.len());
        let freedom = blocks.checked_sub(2).filter(|freedom| *freedom > 0)?;
        let squares: f64 = of_blocks.iter().map(|value| (value - mean).powi(2)).sum();
        let unequal = sides.iter().map(|[first, second]| (1.0 / *first as f64 + 1.0 / *second as f64).sqrt() / 2.0);
        let half = stats::t_quantile(freedom, 0.975) * (squares / freedom as f64).sqrt() * unequal.fold(0.0, f64::max);
        Some(OrderEffect { mean, low: mean - half, high: mean + half })
    }

    fn candidate_came_first(&self, point: &Point, block: u32) -> Option<bool> {
        let order = |contender: &str| Some(self.trial(contender, point, block)?.order);
        Some(order(self.candidate)? < order(&self.plan.baseline)?)
    }
}

/// Mean over the points of each block that has them all.
fn over_points(by_point: &[Vec<(u32, f64)>], value: impl Fn(&(u32, f64)) -> f64) -> Vec<f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for pair in by_point.iter().flatten() {
        blocks.entry(pair.0).or_default().push(value(pair));
    }
    blocks.values().filter(|values| values.len() == by_point.len()).filter_map(|values| stats::mean(values)).collect()
}

/// Of one point, as the root of the mean square over all of them.
fn typical_sd(by_point: &[Vec<(u32, f64)>]) -> Option<f64> {
    let of_point = |pairs: &Vec<(u32, f64)>| stats::sd(&pairs.iter().map(|(_, ratio)| *ratio).collect::<Vec<f64>>());
    let squares: Vec<f64> = by_point.iter().filter_map(of_point).map(|sd| sd * sd).collect();
    stats::mean(&squares).map(f64::sqrt)
}

/// Seconds that the steps of each trial took together.
fn steps_of(trials: &[&TrialRecord], wanted: impl Fn(&str) -> bool) -> Vec<f64> {
    let measured = trials.iter().filter(|trial| trial.steps.iter().any(|(name, _)| name == "measure"));
    let of_trial = |trial: &&TrialRecord| trial.steps.iter().filter(|(name, _)| wanted(name)).map(|(_, s)| s).sum();
    measured.map(of_trial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, stored_run};

    fn of(stored: &StoredRun, series: &BTreeMap<u32, Series>) -> Variation {
        let records = Index::new(&stored.plan, &stored.trials);
        let points = records.points("oltp_read_write");
        spread(&stored.plan, &stored.trials, series, "oltp_read_write", CANDIDATE, &points)
    }

    #[test]
    fn blocks_and_overhead_are_those_of_the_records() {
        let stored = stored_run(&Story::default());
        let spread = of(&stored, &BTreeMap::new());
        let gaps_s: f64 = stored.plan.trials.iter().map(|trial| trial.gap_ms as f64 / 1000.0).sum();
        assert!(
            (spread.block_s.unwrap() - (8.0 * 9.5 + gaps_s / 8.0)).abs() < 1e-6,
            "steps, not the wall clock: {spread:?}"
        );
        assert!((spread.overhead_s.unwrap() - (4.5 + gaps_s / 64.0)).abs() < 1e-9);
        assert_eq!((spread.blocks, spread.duration_s, spread.flagged_share), (8, Some(5.0), Some(0.0)));
        assert_eq!((spread.sd_of_a_second, spread.best_duration_s), (None, None), "no series, no advice");
        let minutes = spread.minutes_needed.unwrap()[1];
        assert!((minutes - spread.blocks_needed.unwrap()[1] as f64 * spread.block_s.unwrap() / 60.0).abs() < 1e-9);
    }

    #[test]
    fn the_order_effect_is_separated_from_the_ratio() {
        let mut stored = stored_run(&Story { blocks: 20, spread: 0.002, ..Story::default() });
        for trial in stored.trials.iter_mut().filter(|trial| trial.order == 1) {
            trial.metrics.entry("tps".into()).and_modify(|tps| *tps *= 1.05);
        }
        let effect = of(&stored, &BTreeMap::new()).order_effect.unwrap();
        assert!(effect.low < 1.05f64.ln() && 1.05f64.ln() < effect.high, "{effect:?}");
        assert!(effect.low > 0.0 && (effect.mean - 1.05f64.ln()).abs() < 0.005);
    }

    #[test]
    fn an_order_effect_has_two_degrees_of_freedom_less_and_two_blocks_a_side() {
        let mut stored = stored_run(&Story { spread: 0.01, ..Story::default() });
        stored.trials.retain(|trial| trial.point["clients"] == 1);
        stored.plan.trials.retain(|trial| trial.point["clients"] == 1);
        let first = [true, true, true, false, false, true, false, false];
        for trial in &mut stored.trials {
            let candidate_first = first[trial.block as usize - 1];
            trial.order = if (trial.contender == CANDIDATE) == candidate_first { 1 } else { 2 };
        }
        let effect = of(&stored, &BTreeMap::new()).order_effect.unwrap();
        let ratio = |block: u32| {
            let tps = |name: &str| {
                stored.trials.iter().find(|one| (one.block, one.contender.as_str()) == (block, name)).unwrap().metrics["tps"]
            };
            (tps(CANDIDATE) / tps(BASELINE)).ln()
        };
        let side = |wanted: bool| {
            (1..=8).filter(|block| first[*block as usize - 1] == wanted).map(ratio).collect::<Vec<f64>>()
        };
        // Student's two-sample t of the halved difference, 6 degrees of freedom: 2.4469.
        let (one, other) = (side(true), side(false));
        let pooled = ((3.0 * stats::sd(&one).unwrap().powi(2) + 3.0 * stats::sd(&other).unwrap().powi(2)) / 6.0).sqrt();
        let half = 2.446_911_85 * pooled * (0.5f64).sqrt() / 2.0;
        assert!(((effect.high - effect.low) / 2.0 - half).abs() < 1e-9, "{effect:?}, {half}");
        for trial in stored.trials.iter_mut().filter(|trial| trial.block < 8) {
            trial.order = if trial.contender == CANDIDATE { 1 } else { 2 };
        }
        assert_eq!(of(&stored, &BTreeMap::new()).order_effect, None, "one block is no side");
    }

    #[test]
    fn advice_needs_four_blocks_and_seconds() {
        let mut stored = stored_run(&Story { spread: 0.03, ..Story::default() });
        stored.plan.method.duration_s = 40.0;
        let wave = |second: usize| vec![second as f64, 1000.0 * (1.0 + 0.05 * ((second / 7) % 3) as f64)];
        let columns = vec!["second".to_owned(), SERIES_COLUMN.to_owned()];
        let seconds = Series { columns, rows: (0..40).map(wave).collect() };
        let series: BTreeMap<u32, Series> = stored.trials.iter().map(|one| (one.trial, seconds.clone())).collect();
        stored.trials.iter_mut().for_each(|trial| trial.steps.last_mut().unwrap().1 = 40.0);
        let spread = of(&stored, &series);
        let (inside, between) = (spread.sd_of_a_second.unwrap(), spread.sd_between_trials.unwrap());
        let expected = (spread.overhead_s.unwrap()).sqrt() * inside / between;
        assert!((spread.best_duration_s.unwrap() - expected).abs() < 1e-9 && spread.autocorrelation.unwrap() > 0.3);
        stored.trials.retain(|trial| trial.block <= 3);
        assert_eq!(of(&stored, &series).best_duration_s, None);
        assert!(stored.trials.iter().any(|trial| trial.contender == BASELINE));
    }
}
