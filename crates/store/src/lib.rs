//! Runs of a team in PostgreSQL: pushed, listed and copied back, over dbduel's own driver.
//!
//! A store is a copy. The run folder stays what a run is written to and what is reported: a stored run is read by
//! copying it into a folder. What must stay true: what is stored of a run does not change once the run has ended, and
//! texts are kept to the byte, so that a copy's reports are those of the folder.

mod checksum;
mod pull;
mod push;
pub mod schema;
mod store;
mod url;

pub use checksum::{Violation, run_id};
pub use pull::Copied;
pub use push::{Moment, Pushed, as_stored};
pub use store::{Store, Stored};
pub use url::StoreUrl;
