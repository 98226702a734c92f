//! What stands between clients and a server: connection poolers and proxies, recognised by what they answer.
//!
//! A pooler passes statements on and speaks as the server behind it does, so it is known by what it cannot pass on: a
//! session has another number than the server gives it, two sessions at a time are one of the server's, or the version
//! is the proxy's own. Nothing is changed there but a prepared statement, which is removed again.

mod model;
mod mysql;
mod postgres;

use driver::{Dialect, Error};

pub use model::{Connect, Mode, Pooler};

/// What stands in front of a server; None where clients reach it itself, as far as answers show it.
pub fn recognise(dialect: Dialect, connect: Connect) -> Result<Option<Pooler>, Error> {
    match dialect {
        Dialect::MySql => mysql::recognise(connect),
        Dialect::Postgres => postgres::recognise(connect),
        Dialect::Sqlite => Ok(None),
    }
}
