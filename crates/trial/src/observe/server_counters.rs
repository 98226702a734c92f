//! What the server counts about itself, over the interval, and how it stood at both edges.
//!
//! Both readings are outside the interval: this observer begins first and ends last. What is asked in each
//! second is in `server_samples.rs`.

use std::collections::BTreeMap;
use std::time::Instant;

use super::sample::Source;
use super::server_samples::ServerSamples;
use super::{Observer, Readings, Subject};
use engine::counters::{CHECKPOINT_INTERVAL, Counters, DeferredWork, REDO_CAPACITY};

/// The time from one checkpoint to the next, at the rate of the interval.
pub const CHECKPOINT_CYCLE: &str = record::format::PilotRecord::CHECKPOINT_CYCLE;

#[derive(Default)]
pub struct ServerCounters {
    before: Option<(Instant, Counters)>,
}

impl Observer for ServerCounters {
    fn begin(&mut self, subject: &Subject) {
        self.before = read(subject).map(|counters| (Instant::now(), counters));
    }

    fn sources(&self, subject: &Subject) -> Vec<Box<dyn Source>> {
        let samples = ServerSamples::of(subject.monitor.as_ref());
        samples.into_iter().map(|samples| Box::new(samples) as Box<dyn Source>).collect()
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let elapsed = self.before.as_ref().map(|(since, _)| since.elapsed());
        let (Some(monitor), Some((_, before)), Some(elapsed), Some(after)) =
            (&subject.monitor, self.before.take(), elapsed, read(subject))
        else {
            return Readings::default();
        };
        let values = values(&before, &after, elapsed.as_secs_f64(), monitor.deferred_work());
        Readings { values, ..Readings::default() }
    }
}

/// What cannot be read is absent from the record.
fn read(subject: &Subject) -> Option<Counters> {
    subject.monitor.as_ref().and_then(|monitor| monitor.counters().ok())
}

/// The name of a state in a record, at the beginning of the interval.
pub fn at_begin(state: &str) -> String {
    format!("state.{state}_begin")
}

fn values(before: &Counters, after: &Counters, secs: f64, deferred_work: &DeferredWork) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for (name, count) in &after.counted {
        // A counter that went back was reset meanwhile, and is left out.
        let counted = before.counted.get(name).map(|earlier| count - earlier).filter(|counted| *counted >= 0.0);
        values.extend(counted.map(|counted| (format!("counter.{name}"), counted)));
    }
    values.extend(before.state.iter().map(|(name, value)| (at_begin(name), *value)));
    values.extend(after.state.iter().map(|(name, value)| (format!("state.{name}_end"), *value)));
    let redo_bytes = deferred_work.redo_bytes.and_then(|name| values.get(&format!("counter.{name}")));
    let cycle = checkpoint_cycle_s(after, redo_bytes.map(|bytes| bytes / secs));
    values.extend(cycle.map(|cycle| (CHECKPOINT_CYCLE.to_owned(), cycle)));
    values
}

/// A checkpoint is due when the log is full, or by the clock where the server has one (method, section 1).
fn checkpoint_cycle_s(state: &Counters, redo_bytes_per_s: Option<f64>) -> Option<f64> {
    let capacity = state.state.get(REDO_CAPACITY);
    let by_bytes = capacity.zip(redo_bytes_per_s).map(|(capacity, rate)| capacity / rate).filter(|s| s.is_finite());
    let by_clock = state.state.get(CHECKPOINT_INTERVAL).copied();
    by_bytes.into_iter().chain(by_clock).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(counted: &[(&'static str, f64)], state: &[(&'static str, f64)]) -> Counters {
        Counters { counted: counted.iter().copied().collect(), state: state.iter().copied().collect() }
    }

    const DEFERRAL: DeferredWork = DeferredWork { redo_bytes: Some("redo"), amounts: &[] };

    #[test]
    fn a_counter_is_its_growth_and_a_state_has_its_value_at_both_edges() {
        let before = counters(&[("redo", 100.0), ("reset", 50.0)], &[("dirty", 1.0), ("gone", 7.0)]);
        let after = counters(&[("redo", 400.0), ("reset", 2.0), ("new", 9.0)], &[("dirty", 5.0)]);
        let found = values(&before, &after, 10.0, &DEFERRAL);
        let expected =
            [("counter.redo", 300.0), ("state.dirty_begin", 1.0), ("state.dirty_end", 5.0), ("state.gone_begin", 7.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn a_checkpoint_comes_by_bytes_or_by_the_clock() {
        let check = |state: &[(&'static str, f64)], rate: Option<f64>, expected: Option<f64>| {
            assert_eq!(checkpoint_cycle_s(&counters(&[], state), rate), expected, "{state:?} {rate:?}");
        };
        let both = [(REDO_CAPACITY, 1000.0), (CHECKPOINT_INTERVAL, 300.0)];
        check(&both, Some(10.0), Some(100.0));
        check(&both, Some(1.0), Some(300.0));
        check(&both, Some(0.0), Some(300.0));
        check(&both, None, Some(300.0));
        check(&both[..1], Some(10.0), Some(100.0));
        check(&both[..1], Some(0.0), None);
        check(&[], Some(10.0), None);
    }

    #[test]
    fn what_it_asks_of_the_server_falls_into_nobodys_reading() {
        assert_eq!(super::super::OBSERVERS.last().map(|kind| kind.name), Some("server_counters"));
    }
}
