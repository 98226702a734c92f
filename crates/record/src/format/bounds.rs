//! What numbers of a stored plan may be: a damaged one is refused where it is read, and nobody behind that divides by it or
//! counts to it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Blocks of a run at most.
pub const BLOCKS_MAX: u32 = 1000;

/// A place, counted from 1.
pub fn from_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = u32::deserialize(deserializer)?;
    (number > 0).then_some(number).ok_or_else(|| D::Error::custom("expected 1 or more"))
}

pub fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = u32::deserialize(deserializer)?;
    let refusal = || D::Error::custom(format!("expected {BLOCKS_MAX} blocks at most, not {number}"));
    (number <= BLOCKS_MAX).then_some(number).ok_or_else(refusal)
}

/// A fraction that leaves something on both sides.
pub fn inner_fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    let refusal = || D::Error::custom(format!("expected a fraction between 0 and 1, not {number}"));
    (0.0 < number && number < 1.0).then_some(number).ok_or_else(refusal)
}

#[cfg(test)]
mod tests {
    use super::super::{MethodRecord, PlannedTrial};

    fn refused<T: serde::de::DeserializeOwned>(record: serde_json::Value) -> Option<String> {
        serde_json::from_value::<T>(record).err().map(|error| error.to_string())
    }

    #[test]
    fn numbers_that_no_plan_has_are_refused() {
        let method = |key: &str, value: f64| {
            let mut record = serde_json::json!({
                "preset": "quick", "rule": "exact", "stop": "never", "duration_s": 1.0, "warmup_s": 0.0, "blocks": 8,
                "margin": 0.01, "confidence": 0.95, "budget_s": null, "noisy_host": "stamp", "page_cache": "kept",
                "transport": "socket", "left_out": [], "changed": [],
            });
            record[key] = if value.fract() == 0.0 { (value as u64).into() } else { value.into() };
            refused::<MethodRecord>(record)
        };
        assert_eq!(method("blocks", 1000.0), None);
        assert_eq!(method("blocks", 4294967295.0).unwrap(), "expected 1000 blocks at most, not 4294967295");
        assert_eq!(method("confidence", 1.0).unwrap(), "expected a fraction between 0 and 1, not 1");
        let trial = |block: u32| {
            refused::<PlannedTrial>(serde_json::json!({
                "trial": 1, "block": block, "order": 1, "workload": "w", "contender": "c", "point": {}, "gap_ms": 0,
                "input_seed": 1,
            }))
        };
        assert_eq!((trial(1), trial(0).as_deref()), (None, Some("expected 1 or more")));
    }
}
