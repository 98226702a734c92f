//! A running server's log of statements, switched on for some minutes, and every setting put back.
//!
//! What will be changed is a [`Plan`], made of what the server shows and printed before anything is sent. From the first
//! change on a second process, the [`guard`], waits for the end of this one, however that comes, and puts the settings
//! back: there is one way back, not one for each way to end. What must stay true: the values that were found are on disk
//! before the first change, and every setting is read back after the last.

pub mod guard;
mod log;
mod mysql;
mod plan;
mod postgres;
mod server;
mod settings;
mod space;
mod state;
mod watch;

pub use log::{Fetched, Log};
pub use plan::{Change, Plan, Source};
pub use postgres::LINE_PREFIX;
pub use server::Tapped;
pub use settings::{plan, put_back, switch_on};
pub use space::Space;
pub use state::{State, beside};
pub use watch::{Ended, Limits, Seen, counted, watch};
