//! How conclusions are written for programs, where their fields alone do not say it.

use record::format::Point;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use stats::{Basis, RuleKind};

use super::{Estimate, Gain, Ratio};

/// What an interval holds under: a rule's name, or `t` where there were too few blocks for any.
pub fn basis<S: Serializer>(basis: &Basis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*basis))
}

fn name(basis: Basis) -> &'static str {
    match basis {
        Basis::Rule(RuleKind::Exact) => "exact",
        Basis::Rule(RuleKind::T) => "repeated t",
        Basis::Plain => "t",
    }
}

type Bounds = Option<(f64, f64)>;

/// Bounds as `low` and `high` among the other fields.
pub fn low_high<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    two(serializer, ["low", "high"], *bounds)
}

pub fn unadjusted<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    two(serializer, ["unadjusted_low", "unadjusted_high"], *bounds)
}

pub fn difference_bounds<S: Serializer>(bounds: &Bounds, serializer: S) -> Result<S::Ok, S::Error> {
    two(serializer, ["difference_low", "difference_high"], *bounds)
}

/// The smallest detectable difference under both of its names.
pub fn detectable<S: Serializer>(mde: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    two(serializer, ["mde", "detectable_effect"], mde.map(|mde| (mde, mde)))
}

fn two<S: Serializer>(serializer: S, keys: [&'static str; 2], values: Bounds) -> Result<S::Ok, S::Error> {
    let (one, other) = values.unzip();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(keys[0], &one)?;
    map.serialize_entry(keys[1], &other)?;
    map.end()
}

/// A ratio's fields among the others, all null where there is none.
pub fn ratio<S: Serializer>(ratio: &Option<Ratio>, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = ratio.and_then(|ratio| ratio.bounds).unzip();
    let mut map = serializer.serialize_map(Some(4))?;
    map.serialize_entry("ratio", &ratio.map(|ratio| ratio.value))?;
    map.serialize_entry("low", &low)?;
    map.serialize_entry("high", &high)?;
    map.serialize_entry("interval", &ratio.map(|ratio| name(ratio.basis)))?;
    map.end()
}

/// An estimate with what its interval holds under.
pub fn estimate_of_rule<S: Serializer>(both: &Option<(Estimate, Basis)>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct OfRule {
        #[serde(flatten)]
        estimate: Estimate,
        interval: &'static str,
    }
    both.map(|(estimate, basis)| OfRule { estimate, interval: name(basis) }).serialize(serializer)
}

/// A step's gain, and whether the rule leaves open that it is none.
pub fn gain<S: Serializer>(gain: &Option<Gain>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("gain", gain)?;
    map.serialize_entry("no_gain_shown", &gain.is_some_and(|gain| !gain.is_shown()))?;
    map.end()
}

/// The gain where all other steps are there over that in the ladder, and whether it is shown.
pub fn interaction<S: Serializer>(gain: &Option<Gain>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("interaction", gain)?;
    map.serialize_entry("order_matters", &gain.is_some_and(|gain| gain.is_shown()))?;
    map.end()
}

pub fn is_some<S: Serializer, T>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(value.is_some())
}

/// Durability classes of baseline and candidate.
pub fn classes<S: Serializer>(both: &(Option<String>, Option<String>), serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("baseline_class", &both.0)?;
    map.serialize_entry("candidate_class", &both.1)?;
    map.end()
}

/// What holds at points, each with its point among the fields; null stands for all points together.
pub fn at_points<S: Serializer, P: Serialize, T: Serialize>(all: &[(P, T)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct At<'a, P, T> {
        point: &'a P,
        #[serde(flatten)]
        what: &'a T,
    }
    serializer.collect_seq(all.iter().map(|(point, what)| At { point, what }))
}

/// The value at a point.
pub fn at_point<S: Serializer>((point, value): &(Point, f64), serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("point", point)?;
    map.serialize_entry("value", value)?;
    map.end()
}
