//! How contenders scale over cores or clients, for programs: a row for each number, and the laws.

use serde::Serialize;
use stats::{Interval, UslFit};

use crate::scaling::why;
use analysis::{Estimate, Law, Scaling, Step, Summary, WorkloadConclusions};

use super::interval;

#[derive(Serialize)]
pub struct JsonStep<'a> {
    workload: &'a str,
    contender: &'a str,
    /// `cores` or `clients`; `n` is how many.
    variable: &'static str,
    n: u64,
    /// The best number of clients, as either half of the blocks has it; empty where it was not searched.
    best_clients: &'a [u64],
    metric: &'a str,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    trials: usize,
    speed_up: Option<JsonEstimate>,
    efficiency: Option<JsonEstimate>,
    cpu_us_per_tx: Option<JsonEstimate>,
    cpu_use: Option<JsonEstimate>,
    ctx_per_tx: Option<JsonEstimate>,
    /// To the baseline; above 1 the contender is better.
    ratio: Option<JsonEstimate>,
    /// `exact` or `repeated t`: what the ratio's interval holds under; `t` where there were too few blocks.
    ratio_interval: Option<&'static str>,
}

#[derive(Serialize)]
pub struct JsonLaw<'a> {
    workload: &'a str,
    contender: &'a str,
    variable: &'static str,
    lambda: Option<JsonEstimate>,
    sigma: Option<JsonEstimate>,
    kappa: Option<JsonEstimate>,
    /// Null where none is claimed.
    peak: Option<f64>,
    blocks: Option<usize>,
    /// Why there is no law; null where there is one.
    refused: Option<String>,
    /// Over those of the baseline; null where one of both may be nothing.
    sigma_ratio: Option<JsonEstimate>,
    kappa_ratio: Option<JsonEstimate>,
}

#[derive(Serialize)]
pub struct JsonEstimate {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

pub fn steps(workload: &WorkloadConclusions) -> impl Iterator<Item = JsonStep<'_>> {
    let all = workload.scaling.iter().flat_map(|scaling| scaling.steps.iter().map(move |step| (scaling, step)));
    all.map(|(scaling, one)| step(workload, scaling, one))
}

fn step<'a>(workload: &'a WorkloadConclusions, scaling: &Scaling, step: &'a Step) -> JsonStep<'a> {
    let cost = |name: &str| step.costs.get(name).map(summary);
    JsonStep {
        workload: &workload.workload,
        contender: &step.contender,
        variable: scaling.variable,
        n: step.n,
        best_clients: &step.clients,
        metric: &workload.metric,
        value: step.value.mean,
        low: step.value.low,
        high: step.value.high,
        trials: step.value.trials,
        speed_up: step.speed_up.map(estimate),
        efficiency: step.efficiency.map(estimate),
        cpu_us_per_tx: cost("cpu_us_per_tx"),
        cpu_use: cost("cpu_use"),
        ctx_per_tx: cost("ctx_per_tx"),
        ratio: step.ratio.map(|(ratio, _)| estimate(ratio)),
        ratio_interval: step.ratio.map(|(_, basis)| interval(basis)),
    }
}

pub fn laws(workload: &WorkloadConclusions) -> impl Iterator<Item = JsonLaw<'_>> {
    let all = workload.scaling.iter().flat_map(|scaling| scaling.laws.iter().map(move |law| (scaling, law)));
    all.map(|(scaling, one)| law(workload, scaling, one))
}

fn law<'a>(workload: &'a WorkloadConclusions, scaling: &Scaling, law: &'a Law) -> JsonLaw<'a> {
    let fit = law.fit.as_ref().ok();
    let contrast = scaling.contrasts.iter().find(|contrast| contrast.candidate == law.contender);
    let parameter = |of: fn(&UslFit) -> (f64, Interval)| {
        let (value, bounds) = of(fit?);
        Some(JsonEstimate { value, low: Some(bounds.low), high: Some(bounds.high) })
    };
    JsonLaw {
        workload: &workload.workload,
        contender: &law.contender,
        variable: scaling.variable,
        lambda: parameter(|fit| (fit.law.lambda, fit.lambda)),
        sigma: parameter(|fit| (fit.law.sigma, fit.sigma)),
        kappa: parameter(|fit| (fit.law.kappa, fit.kappa)),
        peak: fit.and_then(|fit| fit.peak),
        blocks: fit.map(|fit| fit.blocks),
        refused: law.fit.as_ref().err().map(|refusal| why(refusal, scaling)),
        sigma_ratio: contrast.and_then(|contrast| contrast.sigma).map(estimate),
        kappa_ratio: contrast.and_then(|contrast| contrast.kappa).map(estimate),
    }
}

fn estimate(estimate: Estimate) -> JsonEstimate {
    let (low, high) = estimate.bounds.unzip();
    JsonEstimate { value: estimate.value, low, high }
}

fn summary(summary: &Summary) -> JsonEstimate {
    JsonEstimate { value: summary.mean, low: summary.low, high: summary.high }
}
