//! SQLite, in process: the library blocks, so its clients get a thread each.

mod connection;

pub use connection::SqliteConnection;
