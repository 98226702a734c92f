//! How throughput grows with cores or with clients, and what each step costs (method, section 5).
//!
//! Where each number of cores was tried with several numbers of clients, a row is reported at the best of them.
//! The odd blocks choose it for the even ones and the other way round, so that no block is used to judge a number
//! that it has chosen: the best of several noisy values looks better than it is.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, Judge, UslFit, UslRefusal, fit_usl};

use record::format::{PlanRecord, Point, TrialRecord};
use record::point::{CLIENTS, CORES};
use record::rule::point_rule;

use super::comparison::Comparison;
use super::index::{Index, Summary, geometric_summary, summary};
use super::json;
use super::values::{less_is_better, value};

/// What a step costs, beside what it reaches.
const COSTS: [&str; 3] = ["cpu_us_per_tx", "cpu_use", "ctx_per_tx"];

/// Every contender over what varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// `cores` or `clients`.
    pub variable: &'static str,
    /// Whether each number of cores was tried with several numbers of clients.
    pub searched: bool,
    /// Contender by contender in the order of the plan, ascending.
    pub steps: Vec<Step>,
    /// One for each contender.
    pub laws: Vec<Law>,
    /// One for each candidate whose law can be held against the baseline's.
    pub contrasts: Vec<LawRatio>,
}

/// A contender at one number of cores, or of clients.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    pub contender: String,
    pub n: u64,
    /// The best number of clients as either half of the blocks has it; empty where it was not searched.
    #[serde(rename = "best_clients")]
    pub clients: Vec<u64>,
    /// Geometric, as the speed-up and the ratio beside it.
    #[serde(flatten)]
    pub value: Summary,
    /// Throughput over that of one, in the same blocks; absent where one was not measured.
    pub speed_up: Option<Estimate>,
    /// The same for each core, or client.
    pub efficiency: Option<Estimate>,
    #[serde(flatten)]
    pub costs: BTreeMap<&'static str, Summary>,
    /// Of a candidate to the baseline, by the rule of the run.
    #[serde(serialize_with = "json::estimate_of_rule")]
    #[schemars(with = "Option<json::EstimateOfRule>")]
    pub ratio: Option<(Estimate, Basis)>,
}

/// A value with its interval, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    pub value: f64,
    #[serde(flatten, serialize_with = "json::estimate_bounds")]
    #[schemars(with = "json::EstimateBounds")]
    pub bounds: Option<(f64, f64)>,
}

/// Within a factor of ten; no interval is none that is wide.
pub(crate) fn are_narrow(bounds: Option<(f64, f64)>) -> bool {
    const WIDEST: f64 = 10.0;
    bounds.is_none_or(|(low, high)| low > 0.0 && high <= WIDEST * low)
}

impl Estimate {
    /// An interval wider than a factor of ten says nothing about the value inside it.
    pub fn is_determined(&self) -> bool {
        are_narrow(self.bounds)
    }

    fn over(self, divisor: f64) -> Estimate {
        let bounds = self.bounds.map(|(low, high)| (low / divisor, high / divisor));
        Estimate { value: self.value / divisor, bounds }
    }
}

/// The universal scalability law of one contender, or why it has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    pub contender: String,
    pub fit: Result<UslFit, UslRefusal>,
}

/// The parameters of a candidate's law over those of the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct LawRatio {
    pub candidate: String,
    pub sigma: Option<Estimate>,
    pub kappa: Option<Estimate>,
}

/// What one contender did at one number, block by block.
struct Row<'a> {
    contender: &'a str,
    n: u64,
    clients: Vec<u64>,
    /// The trial that stands for each block.
    trials: BTreeMap<u32, &'a TrialRecord>,
}

/// `None` where nothing scales: a sweep of something else, a single value, or a metric of time.
pub fn scaling(
    plan: &PlanRecord,
    records: &Index,
    workload: &str,
    metric: &str,
    points: &[Point],
    compared: &[&Comparison],
) -> Option<Scaling> {
    let variable = [CORES, CLIENTS].into_iter().find(|name| points.iter().all(|point| point.contains_key(*name)))?;
    let numbers: BTreeSet<u64> = points.iter().map(|point| point[variable]).collect();
    if numbers.len() < 2 || less_is_better(metric) {
        return None;
    }
    let searched = points.len() > numbers.len();
    let mut rows = Vec::new();
    for contender in &plan.contenders {
        for n in &numbers {
            let tried: Vec<&Point> = points.iter().filter(|point| point[variable] == *n).collect();
            rows.extend(row(records, workload, metric, &contender.name, *n, &tried));
        }
    }
    let laws: Vec<(Law, Vec<u32>)> =
        plan.contenders.iter().map(|contender| law(&rows, metric, &contender.name, plan.seed)).collect();
    let ratio = |row: &Row| match searched {
        true => judged(plan, &rows, row, metric, numbers.len()),
        false => estimated(compared, row, variable),
    };
    Some(Scaling {
        variable,
        searched,
        steps: rows.iter().map(|row| step(plan, &rows, row, metric, ratio(row))).collect(),
        contrasts: contrasts(plan, &laws),
        laws: laws.into_iter().map(|(law, _)| law).collect(),
    })
}

/// The trials of a contender at one number; of several points, those of the best.
fn row<'a>(
    records: &Index<'a>,
    workload: &str,
    metric: &str,
    contender: &'a str,
    n: u64,
    tried: &[&Point],
) -> Option<Row<'a>> {
    let of_point = |point: &Point| -> BTreeMap<u32, &'a TrialRecord> {
        let of_block = |block| Some((block, records.find(workload, point, contender, block)?));
        let trials = (1..=records.blocks_max()).filter_map(of_block);
        trials.filter(|(_, trial)| log(trial, metric).is_some()).collect()
    };
    let reached: Vec<(&Point, BTreeMap<u32, &TrialRecord>)> =
        tried.iter().map(|point| (*point, of_point(point))).filter(|(_, trials)| !trials.is_empty()).collect();
    let (first, rest) = reached.split_first()?;
    if tried.len() == 1 {
        return Some(Row { contender, n, clients: Vec::new(), trials: first.1.clone() });
    }
    let whole = first.1.keys().copied().filter(|block| rest.iter().all(|(_, trials)| trials.contains_key(block)));
    let whole: Vec<u32> = whole.collect();
    if whole.len() < 2 {
        return None;
    }
    let best_in = |half: usize| {
        let score = |trials: &BTreeMap<u32, &TrialRecord>| -> f64 {
            whole.iter().skip(half).step_by(2).filter_map(|block| log(trials[block], metric)).sum()
        };
        // The fewest clients of equals.
        reached.iter().rev().max_by(|a, b| score(&a.1).total_cmp(&score(&b.1)))
    };
    let chosen = [best_in(0)?, best_in(1)?];
    let speaks = |(at, block): (usize, &u32)| (*block, chosen[(at + 1) % 2].1[block]);
    let clients: BTreeSet<u64> = chosen.iter().filter_map(|(point, _)| point.get(CLIENTS).copied()).collect();
    let trials = whole.iter().enumerate().map(speaks).collect();
    Some(Row { contender, n, clients: clients.into_iter().collect(), trials })
}

fn log(trial: &TrialRecord, metric: &str) -> Option<f64> {
    value(trial, metric).map(f64::ln)
}

fn step(plan: &PlanRecord, rows: &[Row], row: &Row, metric: &str, ratio: Option<(Estimate, Basis)>) -> Step {
    let cost = |name: &str| {
        let values = row.trials.values().filter_map(|trial| trial.metrics.get(name).copied());
        summary(&values.collect::<Vec<f64>>(), plan.method.confidence)
    };
    let logs: Vec<f64> = row.trials.values().filter_map(|trial| log(trial, metric)).collect();
    let single = rows.iter().find(|other| other.contender == row.contender && other.n == 1);
    let speed_up = single.and_then(|single| speed_up(plan, row, single, metric));
    Step {
        contender: row.contender.to_owned(),
        n: row.n,
        clients: row.clients.clone(),
        value: geometric_summary(&logs, plan.method.confidence).expect("a row has a trial with this metric"),
        speed_up,
        efficiency: speed_up.map(|estimate| estimate.over(row.n as f64)),
        costs: COSTS.into_iter().filter_map(|name| Some((name, cost(name)?))).collect(),
        ratio,
    }
}

/// The logarithm of a row over another's, in the blocks that both have.
fn log_ratios(row: &Row, to: &Row, metric: &str) -> Vec<f64> {
    let both = row.trials.iter().filter_map(|(block, trial)| Some((trial, to.trials.get(block)?)));
    both.filter_map(|(ours, theirs)| Some(log(ours, metric)? - log(theirs, metric)?)).collect()
}

fn speed_up(plan: &PlanRecord, row: &Row, single: &Row, metric: &str) -> Option<Estimate> {
    if row.n == single.n {
        return Some(Estimate { value: 1.0, bounds: None });
    }
    let logs = log_ratios(row, single, metric);
    let bounds = stats::t_interval(&logs, plan.method.confidence).map(|bounds| (bounds.low.exp(), bounds.high.exp()));
    Some(Estimate { value: stats::mean(&logs)?.exp(), bounds })
}

/// A candidate against the baseline, each with the clients that suit it best.
fn judged(plan: &PlanRecord, rows: &[Row], row: &Row, metric: &str, share: usize) -> Option<(Estimate, Basis)> {
    let baseline = rows.iter().find(|other| (other.contender, other.n) == (plan.baseline.as_str(), row.n))?;
    if row.contender == baseline.contender {
        return None;
    }
    let verdict = Judge::new(point_rule(plan, share)).judge(&log_ratios(row, baseline, metric), true)?;
    let bounds = verdict.interval.map(|bounds| (bounds.low.exp(), bounds.high.exp()));
    Some((Estimate { value: verdict.estimate.exp(), bounds }, verdict.basis))
}

/// The result of the comparison at this point: there is one for each row.
fn estimated(compared: &[&Comparison], row: &Row, variable: &str) -> Option<(Estimate, Basis)> {
    let is_here = |point: &Option<Point>| point.as_ref().and_then(|point| point.get(variable)) == Some(&row.n);
    let comparison = compared.iter().find(|one| one.candidate == row.contender && is_here(&one.point))?;
    Some((Estimate { value: comparison.ratio?, bounds: comparison.low.zip(comparison.high) }, comparison.basis))
}

/// A contender's law, and the blocks that it was fitted to: those that have every number.
fn law(rows: &[Row], metric: &str, contender: &str, seed: u64) -> (Law, Vec<u32>) {
    let ours: Vec<&Row> = rows.iter().filter(|row| row.contender == contender).collect();
    let every = |block: &u32| ours.iter().all(|row| row.trials.contains_key(block));
    let blocks: Vec<u32> =
        ours.first().map_or(Vec::new(), |first| first.trials.keys().copied().filter(every).collect());
    let values = |block: &u32| ours.iter().filter_map(|row| value(row.trials[block], metric)).collect();
    let ns: Vec<f64> = ours.iter().map(|row| row.n as f64).collect();
    let fit = fit_usl(&ns, &blocks.iter().map(values).collect::<Vec<Vec<f64>>>(), seed);
    (Law { contender: contender.to_owned(), fit }, blocks)
}

fn contrasts(plan: &PlanRecord, laws: &[(Law, Vec<u32>)]) -> Vec<LawRatio> {
    let Some((Law { fit: Ok(baseline), .. }, blocks)) = laws.iter().find(|(law, _)| law.contender == plan.baseline)
    else {
        return Vec::new();
    };
    let candidates = laws.iter().filter(|(law, of)| law.contender != plan.baseline && of == blocks);
    let contrast = |(law, _): &(Law, Vec<u32>)| {
        let fit = law.fit.as_ref().ok()?;
        let estimate =
            |(value, bounds): (f64, stats::Interval)| Estimate { value, bounds: Some((bounds.low, bounds.high)) };
        Some(LawRatio {
            candidate: law.contender.clone(),
            sigma: fit.ratio_to(baseline, |law| law.sigma).map(estimate),
            kappa: fit.ratio_to(baseline, |law| law.kappa).map(estimate),
        })
    };
    candidates.filter_map(contrast).collect()
}

#[cfg(test)]
mod tests;
