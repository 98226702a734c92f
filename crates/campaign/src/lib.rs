//! One run from its file to its last record: plan, provision, load, measure.
//!
//! It prints nothing itself: events go to a [`Screen`], results into the run's folder. What must
//! stay true: a record is on the disk before the next trial starts, and an interrupted run goes on where its records
//! end.

pub mod aa;
mod active_run;
pub mod budget;
mod clones;
mod disk_space;
mod executor;
mod limits;
mod noted;
mod placement;
pub mod planning;
mod plans;
pub mod preflight;
mod probes;
mod progress;
pub mod race;
mod refusals;
mod repeats;
mod run;
mod schedule;
mod setup;
mod try_out;
mod warm_up;

pub use active_run::{ActiveRun, Request};
pub use experiment::Error;
pub use progress::{Progress, Screen, State, times};
pub use run::{Ended, carry_out, warn_of_never_ok, with_what_is_kept};
pub use setup::Tried;
pub use try_out::{TriedContenders, try_out};
pub use warm_up::warmup_s;
