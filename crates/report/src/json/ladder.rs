//! Ladders for programs: each rung with its step, and what steps are worth elsewhere.

use serde::Serialize;

use analysis::{Gain, Interaction, Ladder, Rung, Stage, WorkloadConclusions};

use record::format::ladder::ChangeRecord;

use super::{JsonComparison, comparison, interval};

#[derive(Serialize)]
pub struct JsonLadder<'a> {
    workload: &'a str,
    base: &'a str,
    metric: &'a str,
    base_value: Option<f64>,
    base_class: Option<&'a str>,
    rungs: Vec<JsonRung<'a>>,
    /// The gains of all steps, one times the other; null where a rung lacks a block.
    product: Option<f64>,
    /// Of all steps that lower no promise.
    safe_gain: Option<JsonGain>,
    /// The highest rung that promises no less than the base.
    safe_top: Option<&'a str>,
    top: &'a str,
    ablation: Vec<JsonInteraction<'a>>,
}

#[derive(Serialize)]
struct JsonRung<'a> {
    contender: &'a str,
    changes: Vec<String>,
    value: Option<f64>,
    durability_class: Option<&'a str>,
    /// Against the rung below: a comparison like any other, whose interval shares its error with all steps.
    step: Option<JsonComparison<'a>>,
    gain: Option<JsonGain>,
    cumulative: Option<JsonGain>,
    /// The step lowers what a commit promises.
    trade: bool,
    no_gain_shown: bool,
    /// Why it was not measured; null where it was.
    refused: Option<&'a str>,
}

/// A mean ratio; above 1 is better.
#[derive(Serialize)]
struct JsonGain {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    interval: &'static str,
    blocks: usize,
}

#[derive(Serialize)]
struct JsonInteraction<'a> {
    step: &'a str,
    contender: &'a str,
    in_ladder: Option<JsonGain>,
    in_final_configuration: Option<JsonGain>,
    /// The second over the first.
    interaction: Option<JsonGain>,
    order_matters: bool,
    refused: Option<&'a str>,
}

/// A contender of one ladder beside that of the first ladder at the same stage.
#[derive(Serialize)]
pub struct JsonStage<'a> {
    /// `base`, `safe` or `top`.
    stage: &'static str,
    baseline_class: Option<&'a str>,
    candidate_class: Option<&'a str>,
    comparison: JsonComparison<'a>,
}

pub fn ladders(workload: &WorkloadConclusions) -> impl Iterator<Item = JsonLadder<'_>> {
    workload.ladders.iter().map(|one| ladder(workload, one))
}

pub fn stages(workload: &WorkloadConclusions) -> impl Iterator<Item = JsonStage<'_>> {
    workload.stages.iter().map(stage)
}

fn ladder<'a>(workload: &'a WorkloadConclusions, ladder: &'a Ladder) -> JsonLadder<'a> {
    JsonLadder {
        workload: &workload.workload,
        base: &ladder.base,
        metric: &workload.metric,
        base_value: ladder.base_value,
        base_class: ladder.base_class.as_deref(),
        rungs: ladder.rungs.iter().map(rung).collect(),
        product: ladder.product,
        safe_gain: ladder.safe_gain.map(gain),
        safe_top: ladder.safe_top.as_deref(),
        top: &ladder.top,
        ablation: ladder.interactions.iter().map(interaction).collect(),
    }
}

fn rung(rung: &Rung) -> JsonRung<'_> {
    JsonRung {
        contender: &rung.contender,
        changes: rung.changes.iter().map(ChangeRecord::text).collect(),
        value: rung.value,
        durability_class: rung.class.as_deref(),
        step: rung.step.as_ref().map(comparison),
        gain: rung.gain.map(gain),
        cumulative: rung.cumulative.map(gain),
        trade: rung.trade.is_some(),
        no_gain_shown: rung.gain.is_some() && !rung.is_shown(),
        refused: rung.refused.as_deref(),
    }
}

fn gain(gain: Gain) -> JsonGain {
    let (low, high) = gain.bounds.unzip();
    JsonGain { ratio: gain.ratio, low, high, interval: interval(gain.basis), blocks: gain.blocks }
}

fn interaction(one: &Interaction) -> JsonInteraction<'_> {
    JsonInteraction {
        step: &one.step,
        contender: &one.contender,
        in_ladder: one.in_ladder.map(gain),
        in_final_configuration: one.at_top.map(gain),
        interaction: one.interaction.map(gain),
        order_matters: one.order_matters(),
        refused: one.refused.as_deref(),
    }
}

fn stage(stage: &Stage) -> JsonStage<'_> {
    JsonStage {
        stage: stage.kind.as_str(),
        baseline_class: stage.classes.0.as_deref(),
        candidate_class: stage.classes.1.as_deref(),
        comparison: comparison(&stage.comparison),
    }
}
