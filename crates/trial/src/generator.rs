//! Who makes a trial's load: this process, or workers in other processes and on other hosts.
//!
//! A trial makes the same calls for either, and has no access to which it is.

use std::time::Duration;

use load::{Failure, Live, Load, Measured, Tally};
use record::format::WorkerRecord;

/// The load of one trial, whose clients are connected.
pub trait Generated {
    /// As [`Load::warm_up`].
    fn warm_up(&mut self, warmup: Duration, live: &mut dyn FnMut(Live)) -> Result<(), Failure>;
    /// Announces the measured interval to those who have to know it ahead of its time, and returns so long before it
    /// begins: what observes it takes that time to be ready.
    fn announce(
        &mut self,
        interval: Option<Duration>,
        lead: Duration,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), Failure>;
    /// As [`Load::measure`].
    fn measure(
        self: Box<Self>,
        interval: Option<Duration>,
        live: &mut dyn FnMut(Live),
        at_end: &mut dyn FnMut(),
    ) -> Made;
    /// As [`Load::give_up`].
    fn give_up(self: Box<Self>) -> Tally;
}

/// What a measured interval left.
pub struct Made {
    pub measured: Measured,
    pub of_workers: OfWorkers,
}

/// What is known of single workers, where there are several: empty where this process made the load.
#[derive(Debug, Default)]
pub struct OfWorkers {
    pub workers: Vec<WorkerRecord>,
    pub metrics: Vec<(String, f64)>,
    /// By flag.
    pub remarks: Vec<(String, String)>,
}

impl Generated for Load<'_> {
    fn warm_up(&mut self, warmup: Duration, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        Load::warm_up(self, warmup, live)
    }

    fn announce(&mut self, _: Option<Duration>, _: Duration, _: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        Ok(())
    }

    fn measure(
        self: Box<Self>,
        interval: Option<Duration>,
        live: &mut dyn FnMut(Live),
        at_end: &mut dyn FnMut(),
    ) -> Made {
        Made { measured: Load::measure(*self, interval, live, at_end), of_workers: OfWorkers::default() }
    }

    fn give_up(self: Box<Self>) -> Tally {
        Load::give_up(*self)
    }
}
