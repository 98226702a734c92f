//! PostgreSQL frontend/backend protocol, version 3.

pub(crate) mod canned;
mod connection;
mod copy;
pub mod message;

pub use connection::PostgresConnection;
