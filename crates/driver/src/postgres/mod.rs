//! PostgreSQL frontend/backend protocol, version 3.

mod connection;
mod copy;
pub mod message;

pub use connection::PostgresConnection;
