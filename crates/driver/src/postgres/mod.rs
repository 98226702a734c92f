//! PostgreSQL frontend/backend protocol, version 3.

pub(crate) mod canned;
mod connection;
mod copy;
mod end_point;
pub mod message;

pub use connection::PostgresConnection;
