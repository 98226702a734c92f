//! What a trial made of the cores that its engine was given (method, section 5).

use std::collections::BTreeMap;

/// From the metrics that a trial has already; nothing where the engine's CPU cannot be seen.
///
/// `cpu_use` is a share of the cores given, so that servers on one core and on four can be compared.
pub fn metrics(metrics_of: &BTreeMap<String, f64>, seconds: f64, cores: usize) -> Vec<(String, f64)> {
    let named = |name: &str| metrics_of.get(name).copied();
    let (Some(tps), Some(committed)) = (named("tps"), named("transactions.committed")) else { return Vec::new() };
    let cores = cores as f64;
    let mut metrics = vec![("engine_cores", cores), ("tps_per_core", tps / cores)];
    if let Some(cpu_us_per_tx) = named("cpu_us_per_tx") {
        metrics.push(("cpu_use", cpu_us_per_tx * committed / 1e6 / (seconds * cores)));
        metrics.push(("tps_per_cpu_s", 1e6 / cpu_us_per_tx));
    }
    let switches = named("ctx_voluntary_per_tx").zip(named("ctx_involuntary_per_tx"));
    metrics.extend(switches.map(|(voluntary, involuntary)| ("ctx_per_tx", voluntary + involuntary)));
    metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics_of(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn cpu_use_is_a_share_of_the_cores_given() {
        let trial = metrics_of(&[("tps", 300.0), ("transactions.committed", 3000.0), ("cpu_us_per_tx", 5000.0)]);
        let seen: BTreeMap<String, f64> = metrics(&trial, 10.0, 2).into_iter().collect();
        // 3000 transactions of 5 ms each are 15 of 20 CPU seconds.
        let expected = [("cpu_use", 0.75), ("engine_cores", 2.0), ("tps_per_core", 150.0), ("tps_per_cpu_s", 200.0)];
        assert_eq!(seen, metrics_of(&expected));
    }

    #[test]
    fn what_cannot_be_seen_is_absent() {
        let trial = metrics_of(&[("tps", 300.0), ("transactions.committed", 3000.0), ("ctx_voluntary_per_tx", 2.0)]);
        let names: Vec<String> = metrics(&trial, 10.0, 2).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["engine_cores", "tps_per_core"]);
        assert_eq!(metrics(&metrics_of(&[("seconds", 5.0)]), 10.0, 2), []);
    }
}
