//! What the server reports about itself once a second, over the monitoring session.
//!
//! These few statements are the only ones beside the workload's own inside an interval. What they take is a
//! column of its own, and the server's part of it is in the server's CPU like any other statement's.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::sample::{Sample, Source};
use engine::Monitor;
use engine::counters::Counters;

/// The time of a second's statements, by the clock of the caller.
const TAKEN: &str = "observer_sql_ms_per_s";
/// The first answer is awaited before the interval; it fixes the columns.
const FIRST_LIMIT: Duration = Duration::from_secs(10);
/// A server that stalls must not hide from the samples of the host.
const LIMIT: Duration = Duration::from_millis(200);

pub struct ServerSamples {
    monitor: Monitor,
    limit: Duration,
    /// An answer that was not there in time.
    late: Option<Receiver<Result<Counters>>>,
}

impl ServerSamples {
    /// None where a server cannot be asked while a load runs.
    pub fn of(monitor: Option<&Monitor>) -> Option<ServerSamples> {
        let monitor = monitor.filter(|monitor| monitor.can_sample())?.clone();
        Some(ServerSamples { monitor, limit: FIRST_LIMIT, late: None })
    }

    /// Whether an answer of an earlier second is still outstanding, which would be useless for this one.
    fn is_waiting(&mut self) -> bool {
        self.late.take_if(|late| !matches!(late.try_recv(), Err(TryRecvError::Empty)));
        self.late.is_some()
    }
}

impl Source for ServerSamples {
    fn sample(&mut self, sample: &mut Sample) {
        if self.is_waiting() {
            return;
        }
        let asked = Instant::now();
        let Ok(answer) = self.monitor.sample() else { return };
        match answer.recv_timeout(std::mem::replace(&mut self.limit, LIMIT)) {
            Ok(Ok(counters)) => {
                add_counters(&counters, sample);
                sample.level(TAKEN, asked.elapsed().as_secs_f64() * 1e3);
            }
            Err(RecvTimeoutError::Timeout) => self.late = Some(answer),
            // A server that does not answer is found elsewhere.
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {}
        }
    }

    fn takes_no_time(&self) -> bool {
        false
    }
}

fn add_counters(counters: &Counters, sample: &mut Sample) {
    for (name, count) in &counters.counted {
        sample.per_second(format!("counter.{name}_per_s"), *count);
    }
    for (name, value) in &counters.state {
        sample.level(format!("state.{name}"), *value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use driver::{Endpoint, Login};

    use super::*;
    use engine::Engines;
    use engines::ENGINES;

    fn monitor(folder: &tempfile::TempDir) -> Monitor {
        let file = Endpoint::File(folder.path().join("t.db"));
        Monitor::open(Engines(ENGINES).find("sqlite").unwrap(), &file, &Login::default()).unwrap()
    }

    #[test]
    fn counts_become_rates_and_states_stay_as_they_are() {
        let counters = Counters { counted: [("redo_bytes", 9.0)].into(), state: [("dirty_bytes", 4.0)].into() };
        let mut sample = Sample::default();
        add_counters(&counters, &mut sample);
        let names: Vec<(&str, bool)> = sample.names().map(|name| (name.as_str(), sample.is_level(name))).collect();
        assert_eq!(names, [("counter.redo_bytes_per_s", false), ("state.dirty_bytes", true)]);
    }

    #[test]
    fn a_file_that_a_session_would_lock_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ServerSamples::of(Some(&monitor(&folder))).is_none());
        assert!(ServerSamples::of(None).is_none());
    }

    #[test]
    fn while_an_answer_is_outstanding_nothing_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let (reply, late) = channel();
        let mut samples = ServerSamples { monitor: monitor(&folder), limit: LIMIT, late: Some(late) };
        assert!(samples.is_waiting());
        reply.send(Ok(Counters::default())).unwrap();
        assert!(!samples.is_waiting(), "a late answer is of another second");
    }
}
