//! Two trials at the same time, each with its own server, generator and half of the CPUs.
//!
//! They share nothing but the clock: each is a trial as any other, but that it waits for the other one where
//! the load begins and where the measured interval does (method, section 1, "Duet mode").

use anyhow::{Context, Result};
use load::Live;

use super::host::Interrupted;
use super::meeting::{Guest, Meeting};
use super::run::{Finished, run_trial};
use super::trial::Trial;
use crate::observe::Observers;

/// Runs both sides at once; what `live` shows is the first one's.
pub fn run_duet(
    sides: [&Trial; 2],
    observers: [&mut Observers; 2],
    meeting: &Meeting,
    live: &mut dyn FnMut(Live),
) -> Result<[Finished; 2]> {
    let [first, second] = sides;
    let [sample_first, sample_second] = observers;
    let side = |trial: &Trial, observers: &mut Observers, live: &mut dyn FnMut(Live)| {
        let _guest = Guest(meeting);
        run_trial(trial, observers, live)
    };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| side(second, sample_second, &mut |_| ()));
        (side(first, sample_first, live), other.join())
    });
    let other: Result<Finished, Interrupted> = other.ok().context("a side of the duet broke off")?;
    Ok([one?, other?])
}
