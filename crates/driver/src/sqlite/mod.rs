//! SQLite, in process: the library blocks, so its clients get a thread each.

mod connection;
mod patience;
mod turns;

pub use connection::SqliteConnection;
pub use patience::{LockWait, lock_wait};
