//! MySQL client/server protocol, versions 4.1 and later (MySQL, MariaDB, and compatible servers).

mod auth;
pub(crate) mod canned;
mod connection;
pub mod packet;

pub use connection::MySqlConnection;
