//! What part of a load is measured: a time, behind another one to warm up, or the whole of it.

use std::time::Duration;

use load::{Failure, Live, Workload};

use crate::{Conditions, Generated};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Without one the clients start where the measured interval does.
    pub warmup: Option<Duration>,
    /// None: until the clients are done.
    pub measured: Option<Duration>,
    /// It ends before its time when so many transactions have ended.
    pub events: Option<u64>,
}

impl Interval {
    /// The method's, behind a warm-up that a pilot may have chosen; a pass has no part that is
    /// not measured.
    pub fn of(workload: &dyn Workload, conditions: &Conditions, warmup: Duration, events: Option<u64>) -> Interval {
        match workload.is_one_pass() {
            true => Interval { warmup: None, measured: None, events: None },
            false => Interval { warmup: Some(warmup), measured: Some(conditions.duration), events },
        }
    }

    /// Of a pilot every second is wanted: how long a server warms up is what it is for.
    pub fn of_pilot(duration: Duration) -> Interval {
        Interval { warmup: None, measured: Some(duration), events: None }
    }

    /// Warms up, where it does, and returns when the measured part begins, or so long before it where that is known.
    pub(super) fn warm_up(
        &self,
        load: &mut dyn Generated,
        lead: Duration,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), Failure> {
        self.warmup.map_or(Ok(()), |time| load.warm_up(time, live))?;
        load.announce(self.measured, lead, live)
    }
}
