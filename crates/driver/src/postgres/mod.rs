//! PostgreSQL frontend/backend protocol, version 3.

mod connection;
pub mod message;

pub use connection::PostgresConnection;
