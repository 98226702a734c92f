//! SQLite, in process: the library blocks, so its clients get a thread each.

mod connection;
mod turns;

pub use connection::SqliteConnection;
