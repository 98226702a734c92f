//! How conclusions are written for programs, where their fields alone do not show it.

use record::format::Point;
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;
use stats::{Basis, RuleKind};

use super::named::named;
use super::{Estimate, Gain, Ratio};

named! {
    /// What an interval holds under: a rule, or `t` where there were too few blocks for any.
    pub enum IntervalKind {
        Exact = "exact",
        RepeatedT = "repeated t",
        T = "t",
    }
}

impl From<Basis> for IntervalKind {
    fn from(basis: Basis) -> IntervalKind {
        match basis {
            Basis::Rule(RuleKind::Exact) => IntervalKind::Exact,
            Basis::Rule(RuleKind::T) => IntervalKind::RepeatedT,
            Basis::Plain => IntervalKind::T,
        }
    }
}

pub fn basis<S: Serializer>(basis: &Basis, serializer: S) -> Result<S::Ok, S::Error> {
    IntervalKind::from(*basis).serialize(serializer)
}

type Bounds = Option<(f64, f64)>;

#[derive(Serialize, JsonSchema)]
pub struct LowHigh {
    low: Option<f64>,
    high: Option<f64>,
}

/// Bounds as `low` and `high` among the other fields.
pub fn low_high<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = bounds.unzip();
    LowHigh { low, high }.serialize(serializer)
}

/// The bounds of an estimate, and whether they are narrow enough for its value to be one.
#[derive(Serialize, JsonSchema)]
pub struct EstimateBounds {
    low: Option<f64>,
    high: Option<f64>,
    determined: bool,
}

pub fn estimate_bounds<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = bounds.unzip();
    EstimateBounds { low, high, determined: crate::scaling::are_narrow(*bounds) }.serialize(serializer)
}

#[derive(Serialize, JsonSchema)]
pub struct Unadjusted {
    unadjusted_low: Option<f64>,
    unadjusted_high: Option<f64>,
}

pub fn unadjusted<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    let (unadjusted_low, unadjusted_high) = bounds.unzip();
    Unadjusted { unadjusted_low, unadjusted_high }.serialize(serializer)
}

#[derive(Serialize, JsonSchema)]
pub struct DifferenceBounds {
    difference_low: Option<f64>,
    difference_high: Option<f64>,
}

pub fn difference_bounds<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    let (difference_low, difference_high) = bounds.unzip();
    DifferenceBounds { difference_low, difference_high }.serialize(serializer)
}

/// The smallest detectable difference under both of its names, as a fraction.
#[derive(Serialize, JsonSchema)]
pub struct Detectable {
    mde: Option<f64>,
    detectable_effect: Option<f64>,
}

pub fn detectable<S: Serializer>(mde: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    Detectable { mde: *mde, detectable_effect: *mde }.serialize(serializer)
}

/// All null where there is no ratio.
#[derive(Serialize, JsonSchema)]
pub struct RatioFields {
    ratio: Option<f64>,
    #[serde(flatten)]
    bounds: LowHigh,
    interval: Option<IntervalKind>,
}

pub fn ratio<S: Serializer>(ratio: &Option<Ratio>, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = ratio.and_then(|ratio| ratio.bounds).unzip();
    let (value, interval) = ratio.map(|ratio| (ratio.value, ratio.basis.into())).unzip();
    RatioFields { ratio: value, bounds: LowHigh { low, high }, interval }.serialize(serializer)
}

/// An estimate with what its interval holds under.
#[derive(Serialize, JsonSchema)]
pub struct EstimateOfRule {
    #[serde(flatten)]
    estimate: Estimate,
    interval: IntervalKind,
}

pub fn estimate_of_rule<S: Serializer>(both: &Option<(Estimate, Basis)>, serializer: S) -> Result<S::Ok, S::Error> {
    both.map(|(estimate, basis)| EstimateOfRule { estimate, interval: basis.into() }).serialize(serializer)
}

/// A step's gain, and whether the rule leaves open that it is none.
#[derive(Serialize, JsonSchema)]
pub struct GainFields {
    gain: Option<Gain>,
    no_gain_shown: bool,
}

pub fn gain<S: Serializer>(gain: &Option<Gain>, serializer: S) -> Result<S::Ok, S::Error> {
    let no_gain_shown = gain.is_some_and(|gain| !gain.is_shown());
    GainFields { gain: *gain, no_gain_shown }.serialize(serializer)
}

/// The gain where all other steps are there over that in the ladder, and whether it is shown.
#[derive(Serialize, JsonSchema)]
pub struct InteractionFields {
    interaction: Option<Gain>,
    order_matters: bool,
}

pub fn interaction<S: Serializer>(gain: &Option<Gain>, serializer: S) -> Result<S::Ok, S::Error> {
    let order_matters = gain.is_some_and(|gain| gain.is_shown());
    InteractionFields { interaction: *gain, order_matters }.serialize(serializer)
}

pub fn is_some<S: Serializer, T>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(value.is_some())
}

/// Durability classes.
#[derive(Serialize, JsonSchema)]
pub struct Classes<'a> {
    baseline_class: &'a Option<String>,
    candidate_class: &'a Option<String>,
}

pub fn classes<S: Serializer>(both: &(Option<String>, Option<String>), serializer: S) -> Result<S::Ok, S::Error> {
    Classes { baseline_class: &both.0, candidate_class: &both.1 }.serialize(serializer)
}

/// What holds at a point; a null point stands for all points together.
#[derive(Serialize, JsonSchema)]
pub struct At<P, T> {
    point: P,
    #[serde(flatten)]
    what: T,
}

pub fn at_points<S: Serializer, P: Serialize, T: Serialize>(all: &[(P, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|(point, what)| At { point, what }))
}

#[derive(Serialize, JsonSchema)]
pub struct ValueAt<'a> {
    point: &'a Point,
    value: f64,
}

pub fn at_point<S: Serializer>((point, value): &(Point, f64), serializer: S) -> Result<S::Ok, S::Error> {
    ValueAt { point, value: *value }.serialize(serializer)
}
