//! How much slower the slowed side is, measured apart from any duel.
//!
//! Both sides get short slices of load by turns, in an order drawn anew for each pair, from the code
//! that also loads a trial. The mean of the pairs' log ratios has an error of its own, which is reported.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::Target;
use load::{Load, LoadOptions, Loader, OptionValue, Options, Rng, Workload};

/// Long enough for twenty-five periods of the ways that stop and start a server.
const SLICE: Duration = Duration::from_millis(250);
const WARM_UP: Duration = Duration::from_millis(30);
/// As in the duels: all in memory, and quickly loaded.
pub const ROWS: i64 = 10_000;
/// With fewer pairs the error would not be known.
const PAIRS_MIN: usize = 4;

/// A log ratio (slowed over untouched) and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truth {
    pub log_ratio: f64,
    pub error: f64,
}

impl Truth {
    /// The mean of values that were measured apart.
    pub fn of(log_ratios: &[f64]) -> Option<Truth> {
        let count = log_ratios.len() as f64;
        if log_ratios.len() < 2 {
            return None;
        }
        let mean = log_ratios.iter().sum::<f64>() / count;
        let squares: f64 = log_ratios.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Truth { log_ratio: mean, error: (squares / (count - 1.0) / count).sqrt() })
    }

    /// What a brake counts, compared with a calibration: where they differ, it did more than it counted
    /// (a delay that spins takes CPU too), and by how much is uncertain.
    pub fn confirmed_by(self, calibrated: Truth) -> Truth {
        Truth { error: self.error.hypot(self.log_ratio - calibrated.log_ratio), ..self }
    }

    /// Of two calibrations around a run. What changed between them makes what held during the run uncertain.
    pub fn around(before: Truth, after: Truth) -> Truth {
        let drift = (before.log_ratio - after.log_ratio).abs() / 2.0;
        let error = before.error.hypot(after.error) / 2.0;
        Truth { log_ratio: (before.log_ratio + after.log_ratio) / 2.0, error: error.max(drift) }
    }
}

/// What a calibration found.
pub struct Calibrated {
    pub truth: Truth,
    /// Transactions a second of the untouched side.
    pub untouched_tps: f64,
}

pub fn workload() -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("oltp_point_select").context("oltp_point_select is a workload")?;
    let given = [("rows".to_owned(), OptionValue::Number(ROWS))].into();
    Ok((kind.build)(&Options::new(kind.options, &given)?)?.into())
}

/// Makes the tables of [`workload`] in an empty database.
pub fn fill(target: &Target) -> Result<()> {
    let loader = Loader { target, sessions: 1, interrupted: &AtomicBool::new(false) };
    loader.load(&*workload()?, 1, &mut |_| ()).context("cannot load the table for the calibration")
}

/// Pairs of slices on the untouched and the slowed target until `limit` is over.
pub fn calibrate(
    untouched: &Target,
    slowed: &Target,
    clients: u32,
    limit: Duration,
    rng: &mut Rng,
) -> Result<Calibrated> {
    let workload = workload()?;
    let (mut log_ratios, mut untouched_tps) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while log_ratios.len() < PAIRS_MIN || started.elapsed() < limit {
        let seed = rng.next_u64();
        let slice = |target| tps(&workload, target, clients, SLICE, seed);
        let (fast, slow) = if rng.below(2) == 0 {
            let fast = slice(untouched)?;
            (fast, slice(slowed)?)
        } else {
            let slow = slice(slowed)?;
            (slice(untouched)?, slow)
        };
        log_ratios.push((slow / fast).ln());
        untouched_tps.push(fast);
    }
    let truth = Truth::of(&log_ratios).expect("there are several pairs");
    Ok(Calibrated { truth, untouched_tps: untouched_tps.iter().sum::<f64>() / untouched_tps.len() as f64 })
}

/// Transactions a second of one slice.
pub fn tps(workload: &Arc<dyn Workload>, target: &Target, clients: u32, slice: Duration, seed: u64) -> Result<f64> {
    let options = LoadOptions { clients, input_seed: seed, interval_max: slice, ..LoadOptions::default() };
    let interrupted = AtomicBool::new(false);
    let mut load = Load::prepare(workload, target, options, &interrupted)?;
    load.warm_up(WARM_UP, &mut |_| ())?;
    let tally = load.measure(Some(slice), &mut |_| (), &mut || ()).whole()?;
    ensure!(tally.tps() > 0.0, "no transaction ended in {slice:?}");
    Ok(tally.tps())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_a_mean() {
        let truth = Truth::of(&[0.01, 0.03, 0.05]).unwrap();
        assert!((truth.log_ratio - 0.03).abs() < 1e-12);
        assert!((truth.error - 0.02 / 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Truth::of(&[0.01]), None);
    }

    #[test]
    fn what_a_calibration_does_not_confirm_is_not_known_well() {
        let seen = Truth { log_ratio: -0.03, error: 0.003 };
        let confirmed = seen.confirmed_by(Truth { log_ratio: -0.034, error: 0.01 });
        assert!((confirmed.error - 0.005).abs() < 1e-12 && confirmed.log_ratio == -0.03, "{confirmed:?}");
    }

    #[test]
    fn what_drifted_during_a_run_is_not_known_well() {
        let at = |log_ratio| Truth { log_ratio, error: 0.002 };
        let steady = Truth::around(at(-0.03), at(-0.03));
        assert!((steady.error - 0.002 / 2.0_f64.sqrt()).abs() < 1e-12, "{steady:?}");
        let drifted = Truth::around(at(-0.03), at(-0.05));
        assert!((drifted.error - 0.01).abs() < 1e-12 && (drifted.log_ratio + 0.04).abs() < 1e-12, "{drifted:?}");
    }
}
