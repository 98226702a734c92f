//! Two trials at the same time, each with its own server, generator and half of the CPUs.
//!
//! They share nothing but the clock: each is a trial as any other, but that it waits for the other one where
//! the load begins and where the measured interval does (method, section 1, "Duet mode").

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use load::Live;

use super::{Finished, Interrupted, Trial, run_trial};
use crate::observe::Observers;

/// How soon a waiting side reacts to an interruption.
const POLL: Duration = Duration::from_millis(50);

/// Where the two sides wait for each other, as often as they like.
#[derive(Debug, Default)]
pub struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The one that waits is the first of its round.
    somebody_waits: bool,
    rounds: u64,
    /// One side is over and will not come again.
    is_over: bool,
}

impl Meeting {
    /// Returns when the other side waits too; an error where it never will.
    pub fn wait(&self, interrupted: &AtomicBool) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.somebody_waits {
            state.somebody_waits = false;
            state.rounds += 1;
            self.changed.notify_all();
            return Ok(());
        }
        state.somebody_waits = true;
        let round = state.rounds;
        while state.rounds == round {
            if state.is_over || interrupted.load(Ordering::Relaxed) {
                bail!("the other side of the duet has ended before");
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    fn leave(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.changed.notify_all();
    }
}

/// Leaves the meeting however a trial ends.
struct Guest<'a>(&'a Meeting);

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_go_on_together_every_time() {
        let (meeting, quiet) = (Meeting::default(), AtomicBool::new(false));
        let rounds = || (0..100).all(|_| meeting.wait(&quiet).is_ok());
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(rounds);
            (rounds(), other.join().unwrap())
        });
        assert!(one && other);
        assert_eq!(meeting.state.lock().unwrap().rounds, 100);
    }

    #[test]
    fn a_side_that_has_ended_is_not_waited_for_nor_after_an_interruption() {
        let meeting = Meeting::default();
        assert!(meeting.wait(&AtomicBool::new(true)).is_err());
        let meeting = Meeting::default();
        drop(Guest(&meeting));
        assert!(meeting.wait(&AtomicBool::new(false)).unwrap_err().to_string().contains("other side"));
    }
}
