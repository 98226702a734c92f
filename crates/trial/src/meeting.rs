//! Where the two sides of a duet wait for each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};

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
pub(super) struct Guest<'a>(pub &'a Meeting);

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
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
