//! What of PostgreSQL a load may need more of than there is.

use driver::{Admin, Error};
use engine::limits::{Asked, Change, Excess, Limits, Need, Value, taken};

pub static LIMITS: Limits = Limits {
    ask,
    table: &[
        connections,
        connections_of_the_role,
        connections_of_the_database,
        reads_only,
        idle_sessions,
        long_statements,
        lock_waits,
    ],
};

/// Times are shown in milliseconds.
const SETTINGS: &str = "'server_version_num', 'max_connections', 'superuser_reserved_connections', \
                        'reserved_connections', 'default_transaction_read_only', 'statement_timeout', \
                        'transaction_timeout', 'idle_session_timeout', 'lock_timeout'";

/// Facts that are no settings. Sessions are counted without the one that asks, which ends before the load.
const IN_RECOVERY: &str = "in recovery";
const IS_SUPERUSER: &str = "superuser";
const ROLE: &str = "role";
const DATABASE: &str = "database";
const ROLE_LIMIT: &str = "limit of the role";
const DATABASE_LIMIT: &str = "limit of the database";
const SESSIONS: &str = "sessions";
const SESSIONS_OF_ROLE: &str = "sessions of the role";
const SESSIONS_OF_DATABASE: &str = "sessions of the database";
const MAY_USE_RESERVED: &str = "may use reserved connections";

fn ask(admin: &mut Admin) -> Result<Asked, Error> {
    let mut asked = Asked::default();
    asked.note_rows(admin, &format!("SELECT name, setting FROM pg_settings WHERE name IN ({SETTINGS})"))?;
    let version = asked.number("server_version_num").unwrap_or(0);
    // What a session is stands there since 10; an account sees it of its own sessions only.
    let clients =
        if version >= 100_000 { "AND COALESCE(backend_type, 'client backend') = 'client backend'" } else { "" };
    let count = |of: &str| {
        format!(
            "(SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL AND usename IS NOT NULL \
             AND pid <> pg_backend_pid() {clients} {of})"
        )
    };
    let names = [
        IN_RECOVERY,
        IS_SUPERUSER,
        ROLE,
        DATABASE,
        ROLE_LIMIT,
        DATABASE_LIMIT,
        SESSIONS,
        SESSIONS_OF_ROLE,
        SESSIONS_OF_DATABASE,
    ];
    let sql = format!(
        "SELECT CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END, \
         CASE WHEN rolsuper THEN 'on' ELSE 'off' END, quote_ident(rolname), quote_ident(datname), rolconnlimit, datconnlimit, {}, {}, {} \
         FROM pg_roles, pg_database WHERE rolname = session_user AND pg_database.datname = current_database()",
        count(""),
        count("AND usename = session_user"),
        count("AND datname = current_database()"),
    );
    asked.note_row(admin, &names, &sql)?;
    if version >= 160_000 {
        let sql = "SELECT pg_has_role(session_user, 'pg_use_reserved_connections', 'USAGE')::int";
        asked.note_row(admin, &[MAY_USE_RESERVED], sql)?;
    }
    Ok(asked)
}

/// As a statement names it.
fn own<'a>(asked: &'a Asked, what: &str) -> &'a str {
    asked.text(what).unwrap_or("…")
}

/// A restart makes it count.
fn after_restart(name: &'static str, value: u64) -> Change {
    Change::Setting {
        name,
        value: Value::AtLeast { least: value, usual: 100 },
        statement: format!("ALTER SYSTEM SET {name} = {value}, and restart the server"),
        otherwise: "ask for fewer clients".to_owned(),
    }
}

fn connections(asked: &Asked, need: &Need) -> Option<Excess> {
    let most = asked.number("max_connections")?;
    let used = asked.number(SESSIONS).unwrap_or(0);
    // A server that is not started will be reached by its superuser.
    let is_super = asked.text(IS_SUPERUSER).is_none() || asked.is_on(IS_SUPERUSER);
    let for_super = asked.number("superuser_reserved_connections").unwrap_or(0);
    let for_role = asked.number("reserved_connections").unwrap_or(0);
    let reserved = match (is_super, asked.is_on(MAY_USE_RESERVED)) {
        (true, _) => 0,
        (false, true) => for_super,
        (false, false) => for_super + for_role,
    };
    (used + reserved + need.sessions() > most).then(|| {
        let what = format!("`max_connections` = {most}{}: {}", taken(used, reserved), need.sessions_text());
        Excess::refused(what, after_restart("max_connections", used + reserved + need.sessions()))
    })
}

/// No limit is -1; superusers have none.
fn limited(asked: &Asked, limit: &str, sessions: &str, need: &Need) -> Option<(u64, u64)> {
    let most = asked.text(limit)?.parse::<u64>().ok().filter(|_| !asked.is_on(IS_SUPERUSER))?;
    let used = asked.number(sessions).unwrap_or(0);
    (used + need.sessions() > most).then_some((most, used))
}

fn connections_of_the_role(asked: &Asked, need: &Need) -> Option<Excess> {
    let (most, used) = limited(asked, ROLE_LIMIT, SESSIONS_OF_ROLE, need)?;
    let what = format!("the role has CONNECTION LIMIT {most}{}: {}", taken(used, 0), need.sessions_text());
    let next = format!(
        "ALTER ROLE {} CONNECTION LIMIT {}, or ask for fewer clients",
        own(asked, ROLE),
        used + need.sessions()
    );
    Some(Excess::refused(what, Change::Other(next)))
}

fn connections_of_the_database(asked: &Asked, need: &Need) -> Option<Excess> {
    let (most, used) = limited(asked, DATABASE_LIMIT, SESSIONS_OF_DATABASE, need)?;
    let what = format!("the database has CONNECTION LIMIT {most}{}: {}", taken(used, 0), need.sessions_text());
    let next = format!(
        "ALTER DATABASE {} CONNECTION LIMIT {}, or ask for fewer clients",
        own(asked, DATABASE),
        used + need.sessions()
    );
    Some(Excess::refused(what, Change::Other(next)))
}

fn reads_only(asked: &Asked, need: &Need) -> Option<Excess> {
    if !need.writes {
        return None;
    }
    if asked.is_on(IN_RECOVERY) {
        let what = "the server is in recovery (a standby), and takes no writes: the load writes".to_owned();
        let next = "name the primary server, or take a workload that only reads".to_owned();
        return Some(Excess::refused(what, Change::Other(next)));
    }
    asked.is_on("default_transaction_read_only").then(|| {
        let what = "`default_transaction_read_only` is on: the load writes".to_owned();
        let change = Change::Setting {
            name: "default_transaction_read_only",
            value: Value::Usual("off"),
            statement: format!("ALTER ROLE {} SET default_transaction_read_only = off", own(asked, ROLE)),
            otherwise: "take a workload that only reads".to_owned(),
        };
        Excess::refused(what, change)
    })
}

/// None where the limit is off.
fn limit_s(asked: &Asked, name: &str) -> Option<f64> {
    asked.real(name).filter(|ms| *ms > 0.0).map(|ms| ms / 1e3)
}

fn off_for_role(asked: &Asked, name: &'static str, otherwise: &str) -> Change {
    let statement = format!("ALTER ROLE {} SET {name} = 0", own(asked, ROLE));
    Change::Setting { name, value: Value::Usual("0"), statement, otherwise: otherwise.to_owned() }
}

fn idle_sessions(asked: &Asked, need: &Need) -> Option<Excess> {
    let limit_s = limit_s(asked, "idle_session_timeout")?;
    let idle_s = need.idle?.as_secs_f64();
    (idle_s >= limit_s).then(|| {
        let what = format!(
            "`idle_session_timeout` = {limit_s} s: a client waits up to {idle_s:.0} s between two statements, and the server would end its session"
        );
        Excess::refused(what, off_for_role(asked, "idle_session_timeout", "ask for fewer clients or a higher rate"))
    })
}

fn long_statements(asked: &Asked, _: &Need) -> Option<Excess> {
    let (name, of, limit_s) = [("statement_timeout", "statements"), ("transaction_timeout", "transactions")]
        .into_iter()
        .find_map(|(name, of)| Some((name, of, limit_s(asked, name)?)))?;
    let what = format!("`{name}` ends {of} after {limit_s} s, of the load and of checks of the data alike");
    Some(Excess::remarked(what, off_for_role(asked, name, "expect failed transactions")))
}

fn lock_waits(asked: &Asked, need: &Need) -> Option<Excess> {
    let limit_s = limit_s(asked, "lock_timeout").filter(|_| need.writes)?;
    let what = format!("`lock_timeout` = {limit_s} s: transactions that wait longer for a lock fail");
    Some(Excess::remarked(what, off_for_role(asked, "lock_timeout", "take that as a part of the work")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use engine::limits::Whose;

    fn check(asked: &[(&str, &str)], need: &Need, expected: Result<&[&str], &str>) {
        let asked = Asked::of(asked.iter().copied());
        let found = LIMITS.expect(&asked, need, Whose::Users).map_err(|error| error.to_string());
        match (found, expected) {
            (Ok(remarks), Ok(expected)) => assert_eq!(remarks, expected),
            (found, expected) => assert_eq!(found.err().as_deref(), expected.err(), "{asked:?}"),
        }
    }

    fn need() -> Need {
        Need { clients: 64, writes: true, ..Need::default() }
    }

    #[test]
    fn reserved_connections_are_not_for_everyone() {
        let usual =
            [("max_connections", "100"), ("superuser_reserved_connections", "3"), ("reserved_connections", "2")];
        let with = |more: &[(&'static str, &'static str)]| [usual.as_slice(), more].concat();
        check(&with(&[(SESSIONS, "36"), (IS_SUPERUSER, "on")]), &need(), Ok(&[]));
        check(&with(&[(SESSIONS, "33"), (IS_SUPERUSER, "off"), (MAY_USE_RESERVED, "1")]), &need(), Ok(&[]));
        check(
            &with(&[(SESSIONS, "33"), (IS_SUPERUSER, "off"), (MAY_USE_RESERVED, "0")]),
            &need(),
            Err(
                "`max_connections` = 100, of which 33 are in use and 5 reserved for others: 64 clients need 64 connections\n  \
                 next: ALTER SYSTEM SET max_connections = 102, and restart the server, or ask for fewer clients",
            ),
        );
        // Of a server that is not started.
        check(&[("max_connections", "64")], &need(), Ok(&[]));
        check(
            &[("max_connections", "10")],
            &need(),
            Err("`max_connections` = 10: 64 clients need 64 connections\n  \
                 next: ALTER SYSTEM SET max_connections = 64, and restart the server, or ask for fewer clients"),
        );
    }

    #[test]
    fn a_limit_of_role_or_database_does_not_hold_for_superusers() {
        let role = [(ROLE_LIMIT, "10"), (SESSIONS_OF_ROLE, "1")];
        check(
            &[role.as_slice(), &[(IS_SUPERUSER, "off"), (ROLE, "app")]].concat(),
            &need(),
            Err("the role has CONNECTION LIMIT 10, of which 1 are in use: 64 clients need 64 connections\n  \
                 next: ALTER ROLE app CONNECTION LIMIT 65, or ask for fewer clients"),
        );
        check(&[role.as_slice(), &[(IS_SUPERUSER, "on")]].concat(), &need(), Ok(&[]));
        check(&[(ROLE_LIMIT, "-1"), (DATABASE_LIMIT, "-1"), (IS_SUPERUSER, "off")], &need(), Ok(&[]));
        check(
            &[(DATABASE_LIMIT, "20"), (SESSIONS_OF_DATABASE, "0")],
            &need(),
            Err("the database has CONNECTION LIMIT 20: 64 clients need 64 connections\n  \
                 next: ALTER DATABASE … CONNECTION LIMIT 64, or ask for fewer clients"),
        );
    }

    #[test]
    fn a_standby_and_a_role_that_reads_only_take_no_load_that_writes() {
        let reads = Need { writes: false, ..need() };
        check(&[(IN_RECOVERY, "on"), ("default_transaction_read_only", "on")], &reads, Ok(&[]));
        check(
            &[(IN_RECOVERY, "on")],
            &need(),
            Err("the server is in recovery (a standby), and takes no writes: the load writes\n  \
                 next: name the primary server, or take a workload that only reads"),
        );
        check(
            &[(IN_RECOVERY, "off"), ("default_transaction_read_only", "on")],
            &need(),
            Err("`default_transaction_read_only` is on: the load writes\n  \
                 next: ALTER ROLE … SET default_transaction_read_only = off, or take a workload that only reads"),
        );
    }

    #[test]
    fn limits_of_time_that_are_off_are_none() {
        let off = [("statement_timeout", "0"), ("idle_session_timeout", "0"), ("lock_timeout", "0")];
        let waits = Need { idle: Some(Duration::from_secs(9)), ..need() };
        check(&off, &waits, Ok(&[]));
        check(
            &[("idle_session_timeout", "5000")],
            &waits,
            Err(
                "`idle_session_timeout` = 5 s: a client waits up to 9 s between two statements, and the server would end its session\n  \
                 next: ALTER ROLE … SET idle_session_timeout = 0, or ask for fewer clients or a higher rate",
            ),
        );
        check(
            &[("statement_timeout", "1500"), ("lock_timeout", "1000")],
            &need(),
            Ok(&[
                "`statement_timeout` ends statements after 1.5 s, of the load and of checks of the data alike\n  \
                 next: ALTER ROLE … SET statement_timeout = 0, or expect failed transactions",
                "`lock_timeout` = 1 s: transactions that wait longer for a lock fail\n  \
                 next: ALTER ROLE … SET lock_timeout = 0, or take that as a part of the work",
            ]),
        );
    }
}
