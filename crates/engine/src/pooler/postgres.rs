//! Poolers of PostgreSQL.

use driver::{Admin, Error};

use super::model::{Connect, Mode, Pooler};

/// Rounds of questions by which sessions of the server are told apart: one that other clients use at this moment is
/// given to nobody else.
const ROUNDS: usize = 4;

pub fn recognise(connect: Connect) -> Result<Option<Pooler>, Error> {
    let mut first = connect(None)?;
    let own = first.session_number();
    if own.is_none() || own == session_behind(&mut first)? {
        return Ok(None);
    }
    let mut second = connect(None)?;
    let mode = match shares(&mut first, &mut second)? {
        false => Mode::Session,
        true if takes_transactions(&mut connect(None)?)? => Mode::Transaction,
        true => Mode::Statement,
    };
    let prepares = mode == Mode::Session || keeps_statements(&mut first, &mut second)?;
    drop((first, second));
    Ok(Some(Pooler { name: name(connect), mode: Some(mode), prepares }))
}

/// The process that serves a session at this moment.
fn session_behind(admin: &mut Admin) -> Result<Option<u64>, Error> {
    Ok(admin.value("SELECT pg_backend_pid()")?.and_then(|pid| pid.parse().ok()))
}

/// Whether two sessions that are open at the same time are served by one process, or one of them by two. Asked three at
/// a time, so that a pooler which gives its sessions out in turn is seen too.
fn shares(first: &mut Admin, second: &mut Admin) -> Result<bool, Error> {
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_first.extend(session_behind(first)?);
        of_second.extend(session_behind(second)?);
        of_second.extend(session_behind(second)?);
    }
    let is_one = |sessions: &[u64]| sessions.iter().all(|one| *one == sessions[0]);
    Ok(!is_one(&of_first) || !is_one(&of_second) || of_first.iter().any(|one| of_second.contains(one)))
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
