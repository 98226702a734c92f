//! What stands between clients and a server: connection poolers and proxies, recognised by what they answer.
//!
//! A pooler passes statements on and speaks as the server behind it does, so it is known by what it cannot pass on: a
//! session has another number than the server gives it, two sessions at a time are one of the server's, or the version
//! is the proxy's own. Nothing is changed there but a prepared statement, which is removed again.

mod model;
mod mysql;
mod postgres;
mod sessions;

use std::time::Duration;

use driver::{Admin, Dialect, Error, Login, Target};

pub use model::{Mode, Pooler};

/// What stands in front of a server; None where clients reach it itself, as far as answers show it. No login and no
/// answer may take longer than `limit`.
pub fn recognise(target: &Target, limit: Duration) -> Result<Option<Pooler>, Error> {
    let mut connect = |database: Option<&str>| {
        let database = database.map(str::to_owned).or_else(|| target.login.database.clone());
        Admin::connect(target.dialect, &target.endpoint, &Login { database, ..target.login.clone() }, limit)
    };
    match target.dialect {
        Dialect::MySql => mysql::recognise(&mut connect),
        Dialect::Postgres => postgres::recognise(&mut connect),
        Dialect::Sqlite => Ok(None),
    }
}
