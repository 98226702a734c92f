//! Work inside the server, in each statement: `sbtest1` becomes a view that burns CPU for every row.
//!
//! Both sides get the view, and the untouched one burns nothing, so that only the burning differs.
//! dbduel loads its tables itself and notes in `dbduel_meta` when they are fresh. A trigger on that
//! note is the moment at which table and view are swapped: no trial reads the bare table. PostgreSQL
//! swaps in the trigger; MySQL's triggers may not, so there it waits until we have done it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};

/// As dbduel makes it where it is missing.
const META: &str = "CREATE TABLE dbduel_meta (name VARCHAR(64) NOT NULL PRIMARY KEY, \
    data VARCHAR(64) NOT NULL, state VARCHAR(64) NOT NULL)";
const RENAME: &str = "ALTER TABLE sbtest1 RENAME TO sbtest1_rows";
const BURN: &str = "CREATE FUNCTION burn(c bpchar, rounds bigint) RETURNS bpchar LANGUAGE plpgsql AS \
    'BEGIN FOR i IN 1..rounds LOOP END LOOP; RETURN c; END'";
const POLL: Duration = Duration::from_millis(2);
/// Rounds that take long enough to be timed through a session.
const TIMED_ROUNDS: u64 = 2_000_000;

/// What makes one round, before any view is there.
pub fn make_burn(admin: &mut Admin) -> Result<()> {
    if admin.dialect() == Dialect::Postgres {
        admin.run(BURN)?;
    }
    Ok(())
}

/// Nanoseconds of one round.
pub fn round_ns(admin: &mut Admin) -> Result<f64> {
    let sql = match admin.dialect() {
        Dialect::Postgres => format!("SELECT burn('x', {TIMED_ROUNDS})"),
        _ => format!("SELECT BENCHMARK({TIMED_ROUNDS}, k + 1) FROM (SELECT 1 AS k) AS one"),
    };
    let started = std::time::Instant::now();
    admin.run(&sql)?;
    Ok(started.elapsed().as_nanos() as f64 / TIMED_ROUNDS as f64)
}

/// Puts the view in the place of the table that is there.
pub fn swap(admin: &mut Admin, rounds: u64) -> Result<()> {
    admin.run(RENAME)?;
    admin.run(&view(admin.dialect(), rounds))?;
    Ok(())
}

/// Lets a view that is there burn so many rounds.
pub fn set_rounds(admin: &mut Admin, rounds: u64) -> Result<()> {
    admin.run(&view(admin.dialect(), rounds).replacen("CREATE", "CREATE OR REPLACE", 1))?;
    Ok(())
}

fn view(dialect: Dialect, rounds: u64) -> String {
    let burnt = match dialect {
        Dialect::Postgres => format!("burn(c, {rounds})"),
        // Both branches are the column: the condition is there to be computed.
        _ => format!("IF(BENCHMARK({rounds}, k + 1) = 0, c, c)"),
    };
    format!("CREATE VIEW sbtest1 AS SELECT id, k, {burnt} AS c, pad FROM sbtest1_rows")
}

/// Makes an empty database swap as soon as dbduel has loaded its table there.
pub fn arm(admin: &mut Admin, rounds: u64) -> Result<()> {
    admin.run(META)?;
    if admin.dialect() == Dialect::Postgres {
        let view = view(Dialect::Postgres, rounds);
        admin.run(&format!(
            "CREATE FUNCTION swap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.name = 'sbtest1' AND NEW.state LIKE 'fresh%' THEN {RENAME}; {view}; END IF; \
             RETURN NULL; END $$"
        ))?;
        admin.run("CREATE TRIGGER swap AFTER INSERT ON dbduel_meta FOR EACH ROW EXECUTE PROCEDURE swap()")?;
        return Ok(());
    }
    let lock = lock(admin)?;
    admin.run(&format!(
        "CREATE TRIGGER swap AFTER INSERT ON dbduel_meta FOR EACH ROW BEGIN \
         IF NEW.name = 'sbtest1' AND NEW.state LIKE 'fresh%' THEN \
         DO GET_LOCK('{lock}', 600); DO RELEASE_LOCK('{lock}'); END IF; END"
    ))?;
    Ok(())
}

/// Swaps when dbduel waits at the trigger of [`arm`]; gives up when `ended` is set, as no wait will come any
/// more. Sends one message when it is `ready` for dbduel, and keeps the sender no longer.
pub fn swap_when_loaded(admin: &mut Admin, rounds: u64, ready: Sender<()>, ended: &AtomicBool) -> Result<()> {
    if admin.dialect() == Dialect::Postgres {
        let _ = ready.send(());
        return Ok(());
    }
    let lock = lock(admin)?;
    let got = admin.value(&format!("SELECT GET_LOCK('{lock}', 0)"))?;
    ensure!(got.as_deref() == Some("1"), "somebody has the lock `{lock}`");
    let _ = ready.send(());
    drop(ready);
    let waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND db = DATABASE()";
    while admin.value(waiting)?.as_deref() == Some("0") {
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    let swapped = swap(admin, rounds).context("cannot put the view in the place of the table");
    admin.run(&format!("DO RELEASE_LOCK('{lock}')"))?;
    swapped
}

/// Locks are the whole server's, so it holds the name of the database.
fn lock(admin: &mut Admin) -> Result<String> {
    let database = admin.value("SELECT DATABASE()")?.context("the session has no database")?;
    Ok(format!("slowdowns {database}"))
}
