//! Poolers of PostgreSQL.

use driver::{Admin, Error};

use super::model::{Connect, Mode, Pooler};
use super::sessions::{ROUNDS, session_behind, shares};
use crate::limits::unless_refused;

/// The process that serves a client at this moment.
const QUESTION: &str = "SELECT pg_backend_pid()";

pub fn recognise(connect: Connect) -> Result<Option<Pooler>, Error> {
    let mut first = connect(None)?;
    let own = first.session_number();
    if own.is_none() || own == session_behind(&mut first, QUESTION)? {
        return pgpool(&mut first);
    }
    let mut second = connect(None)?;
    let mode = match shares(&mut first, &mut second, QUESTION)? {
        false => Mode::Session,
        true if takes_transactions(&mut connect(None)?)? => Mode::Transaction,
        true => Mode::Statement,
    };
    let prepares = mode == Mode::Session || keeps_statements(&mut first, &mut second)?;
    drop((first, second));
    Ok(Some(Pooler { name: name(connect), mode: Some(mode), prepares }))
}

/// pgpool-II gives a client the number of its session of the server, which it keeps until the client leaves, and answers
/// this by itself.
fn pgpool(admin: &mut Admin) -> Result<Option<Pooler>, Error> {
    let version = unless_refused(admin.value("SHOW pool_version"))?.flatten();
    let named = |version: String| {
        let number = version.split_whitespace().next().unwrap_or_default();
        Pooler { name: format!("pgpool-II {number}"), mode: Some(Mode::Session), prepares: true }
    };
    Ok(version.map(named))
}

/// A pooler by statement ends the session of a client that opens a transaction.
fn takes_transactions(admin: &mut Admin) -> Result<bool, Error> {
    match admin.run("BEGIN") {
        Ok(_) => admin.run("ROLLBACK").map(|_| true),
        Err(Error::Refused { .. } | Error::Lost { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether each of two clients finds its own statement again, under the name that both use: as every load does.
fn keeps_statements(first: &mut Admin, second: &mut Admin) -> Result<bool, Error> {
    for _ in 0..ROUNDS {
        let answers = [fetch(first, "SELECT 1::bigint"), fetch(second, "SELECT 2::bigint")];
        if answers != [Some(1), Some(2)] {
            // The name may stand in each session of the server that was met.
            for _ in 0..ROUNDS {
                for admin in [&mut *first, &mut *second] {
                    if let Err(error @ Error::Protocol(_)) = admin.run("DEALLOCATE s0") {
                        return Err(error);
                    }
                }
            }
            return Ok(false);
        }
    }
    Ok(true)
}

fn fetch(admin: &mut Admin, sql: &str) -> Option<i64> {
    admin.fetch(sql, &[]).ok()?.int(0, 0).ok()
}

/// The database in which poolers have their console of administration.
const CONSOLE: &str = "pgbouncer";

/// As the console has it. An account that may not open it is told so, and no server has a database of this name.
fn name(connect: Connect) -> String {
    let version = connect(Some(CONSOLE)).and_then(|mut console| console.value("SHOW VERSION"));
    match version {
        Ok(Some(version)) => version,
        Err(Error::Refused { message, .. } | Error::Lost { why: message, .. }) if message.contains("not allowed") => {
            "PgBouncer".to_owned()
        }
        _ => "a pooler".to_owned(),
    }
}
