//! What of MySQL and MariaDB a load may need more of than there is.

use driver::{Admin, Error};
use engine::limits::{Asked, Change, Excess, Limits, Need, Value, counted, taken, unless_refused};
use engine::version_numbers;

pub static LIMITS: Limits = Limits {
    ask,
    table: &[
        connections,
        connections_of_the_account,
        prepared_statements,
        packets,
        reads_only,
        commits,
        keys,
        idle_sessions,
        long_statements,
        lock_waits,
        replica,
    ],
};

/// Of the whole server.
const GLOBAL: &str =
    "'max_connections', 'max_prepared_stmt_count', 'max_allowed_packet', 'read_only', 'super_read_only'";
/// As a session of this account begins.
const SESSION: &str = "'max_user_connections', 'wait_timeout', 'autocommit', 'sql_require_primary_key', \
                       'max_execution_time', 'max_statement_time', 'innodb_lock_wait_timeout'";
const STATUS: &str = "'Threads_connected', 'Prepared_stmt_count'";

/// Facts that are no settings.
const SESSIONS_OF_ACCOUNT: &str = "sessions of the account";
const WRITES_WHEN_READ_ONLY: &str = "writes when read only";
const APPLIES_CHANGES: &str = "applies changes of another server";

fn ask(admin: &mut Admin) -> Result<Asked, Error> {
    let mut asked = Asked::default();
    asked.note_rows(admin, &format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({GLOBAL})"))?;
    asked.note_rows(admin, &format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({SESSION})"))?;
    asked.note_rows(admin, &format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({STATUS})"))?;
    if let Some(account) = unless_refused(admin.value("SELECT USER()"))?.flatten() {
        let user = account.rsplit_once('@').map_or(account.as_str(), |(user, _)| user);
        let sessions = unless_refused(admin.rows("SHOW PROCESSLIST"))?.unwrap_or_default();
        let own = sessions.iter().filter(|row| row.get(1).and_then(Option::as_deref) == Some(user)).count();
        asked.note(SESSIONS_OF_ACCOUNT, own.to_string());
    }
    if let Some(grants) = unless_refused(admin.rows("SHOW GRANTS"))? {
        let grants: Vec<String> = grants.into_iter().flatten().flatten().collect();
        let may = may_write(&grants, admin.server_version());
        may.into_iter().for_each(|may| asked.note(WRITES_WHEN_READ_ONLY, if may { "ON" } else { "OFF" }));
    }
    let as_replica = match unless_refused(admin.rows("SHOW REPLICA STATUS"))? {
        Some(rows) => Some(rows),
        None => unless_refused(admin.rows("SHOW SLAVE STATUS"))?,
    };
    let is_replica = as_replica.is_some_and(|rows| rows.iter().flatten().flatten().any(|cell| cell == "Yes"));
    asked.note(APPLIES_CHANGES, if is_replica { "ON" } else { "OFF" });
    Ok(asked)
}

/// Whether an account may write to a server with `read_only`; None where a role decides.
fn may_write(grants: &[String], version: &str) -> Option<bool> {
    let is_mariadb = version.contains("MariaDB");
    // From 10.11 on SUPER of MariaDB is no longer enough.
    let super_is_enough = !is_mariadb || version_numbers(version).as_slice() < [10, 11].as_slice();
    let on_all = grants.iter().map(|grant| grant.to_ascii_uppercase()).filter(|grant| grant.contains(" ON *.* TO "));
    let mut on_all = on_all.filter_map(|grant| grant.split(" ON *.* TO ").next().map(str::to_owned));
    let has = |privileges: &String, name: &str| privileges.split(',').any(|one| one.trim().ends_with(name));
    let is_above = on_all.any(|privileges| {
        has(&privileges, "ALL PRIVILEGES")
            || has(&privileges, "READ ONLY ADMIN")
            || (!is_mariadb && has(&privileges, "CONNECTION_ADMIN"))
            || (super_is_enough && has(&privileges, "SUPER"))
    });
    let is_role = |grant: &String| !grant.contains(" ON ");
    if is_above { Some(true) } else { (!grants.iter().any(is_role)).then_some(false) }
}

fn set_global(name: &'static str, value: Value, otherwise: &str) -> Change {
    let shown = match &value {
        Value::Usual(usual) => (*usual).to_owned(),
        Value::AtLeast { least, .. } => least.to_string(),
    };
    Change::Setting { name, value, statement: format!("SET GLOBAL {name} = {shown}"), otherwise: otherwise.to_owned() }
}

/// Beside the session that asks, which ends before the load.
fn in_use(asked: &Asked, name: &str) -> u64 {
    asked.number(name).unwrap_or(1).saturating_sub(1)
}

fn connections(asked: &Asked, need: &Need) -> Option<Excess> {
    let most = asked.number("max_connections")?;
    let used = in_use(asked, "threads_connected");
    (used + need.sessions() > most).then(|| {
        let what = format!("`max_connections` = {most}{}: {}", taken(used, 0), need.sessions_text());
        let value = Value::AtLeast { least: used + need.sessions(), usual: 100 };
        Excess::refused(what, set_global("max_connections", value, "ask for fewer clients"))
    })
}

fn connections_of_the_account(asked: &Asked, need: &Need) -> Option<Excess> {
    let most = asked.number("max_user_connections").filter(|most| *most > 0)?;
    let used = in_use(asked, SESSIONS_OF_ACCOUNT);
    (used + need.sessions() > most).then(|| {
        let what = format!(
            "`max_user_connections` = {most} for this account{}: {}",
            taken(used, 0),
            need.sessions_text()
        );
        let change = Change::Setting {
            name: "max_user_connections",
            value: Value::Usual("0"),
            statement: format!(
                "ALTER USER CURRENT_USER() WITH MAX_USER_CONNECTIONS {0}, or SET GLOBAL max_user_connections = {0}, whichever it comes from",
                used + need.sessions()
            ),
            otherwise: "ask for fewer clients".to_owned(),
        };
        Excess::refused(what, change)
    })
}

fn prepared_statements(asked: &Asked, need: &Need) -> Option<Excess> {
    let most = asked.number("max_prepared_stmt_count")?;
    let used = asked.number("prepared_stmt_count").unwrap_or(0);
    let needed = need.prepared.filter(|needed| used + needed > most)?;
    let what = format!(
        "`max_prepared_stmt_count` = {most}{}: {} prepare {needed} statements",
        taken(used, 0),
        counted(need.clients, "client")
    );
    let otherwise = match &need.unprepared {
        Some(option) => format!("ask for fewer clients, or let statements travel as text with {option}"),
        None => "ask for fewer clients".to_owned(),
    };
    // No server takes more.
    let value = Value::AtLeast { least: (used + needed).min(4_194_304), usual: 16_382 };
    Some(Excess::refused(what, set_global("max_prepared_stmt_count", value, &otherwise)))
}

fn packets(asked: &Asked, need: &Need) -> Option<Excess> {
    let most = asked.number("max_allowed_packet")?;
    let needed = need.packet_bytes.filter(|needed| *needed > most)?;
    let what = format!("`max_allowed_packet` = {most}: a statement of the load takes {needed} bytes");
    let value = Value::AtLeast { least: needed.next_multiple_of(1024), usual: 1 << 20 };
    Some(Excess::refused(what, set_global("max_allowed_packet", value, "")))
}

fn reads_only(asked: &Asked, need: &Need) -> Option<Excess> {
    if !need.writes {
        return None;
    }
    let refused = |name: &'static str, rest: &str, off: &str| {
        let statement = format!("name the primary server, or, where this is it, SET GLOBAL {off}");
        let change = Change::Setting { name, value: Value::Usual("OFF"), statement, otherwise: String::new() };
        Excess::refused(format!("`{name}` is on{rest}: the load writes"), change)
    };
    if asked.is_on("super_read_only") {
        // By itself it would leave `read_only` on.
        return Some(refused("super_read_only", "", "read_only = OFF, which turns super_read_only off too"));
    }
    // MariaDB 12 has words beside OFF.
    let is_on = asked.text("read_only").is_some() && !asked.is_off("read_only");
    (is_on && asked.is_off(WRITES_WHEN_READ_ONLY))
        .then(|| refused("read_only", ", and the account may not write all the same", "read_only = OFF"))
}

fn commits(asked: &Asked, _: &Need) -> Option<Excess> {
    asked.is_off("autocommit").then(|| {
        let what = "`autocommit` is off when a session begins: a statement by itself would be counted as a commit, and is none";
        Excess::refused(
            what.to_owned(),
            Change::Setting {
                name: "autocommit",
                value: Value::Usual("1"),
                statement: "SET GLOBAL autocommit = ON (and look at init_connect)".to_owned(),
                otherwise: String::new(),
            },
        )
    })
}

fn keys(asked: &Asked, need: &Need) -> Option<Excess> {
    (asked.is_on("sql_require_primary_key") && !need.without_key.is_empty()).then(|| {
        let what = format!(
            "`sql_require_primary_key` is on: the load makes {} without a primary key ({})",
            counted(need.without_key.len() as u64, "table"),
            need.without_key.join(", ")
        );
        Excess::refused(
            what,
            Change::Setting {
                name: "sql_require_primary_key",
                value: Value::Usual("OFF"),
                statement: "SET GLOBAL sql_require_primary_key = OFF for the time of the load".to_owned(),
                otherwise: String::new(),
            },
        )
    })
}

fn idle_sessions(asked: &Asked, need: &Need) -> Option<Excess> {
    let limit_s = asked.number("wait_timeout")?;
    let idle_s = need.idle?.as_secs_f64();
    (idle_s >= limit_s as f64).then(|| {
        let what = format!(
            "`wait_timeout` = {limit_s} s: a client waits up to {idle_s:.0} s between two statements, and the server would end its session"
        );
        let value = Value::AtLeast { least: (idle_s * 2.0).ceil() as u64, usual: 28_800 };
        Excess::refused(what, set_global("wait_timeout", value, "ask for fewer clients or a higher rate"))
    })
}

/// MySQL's is in milliseconds and for queries only, MariaDB's in seconds.
fn long_statements(asked: &Asked, _: &Need) -> Option<Excess> {
    let mysql = asked.real("max_execution_time").map(|ms| ("max_execution_time", ms / 1e3));
    let mariadb = asked.real("max_statement_time").map(|s| ("max_statement_time", s));
    let (name, limit_s) = mysql.or(mariadb).filter(|(_, limit_s)| *limit_s > 0.0)?;
    let what = format!("`{name}` ends statements after {limit_s} s, of the load and of checks of the data alike");
    Some(Excess::remarked(what, set_global(name, Value::Usual("0"), "expect failed transactions")))
}

/// Seconds; the default is 50.
const LOCK_WAIT_LOW_S: u64 = 10;

fn lock_waits(asked: &Asked, need: &Need) -> Option<Excess> {
    let limit_s = asked.number("innodb_lock_wait_timeout").filter(|limit_s| *limit_s < LOCK_WAIT_LOW_S)?;
    need.writes.then(|| {
        let what = format!(
            "`innodb_lock_wait_timeout` = {limit_s} s: transactions that wait longer for a lock fail, and are tried again"
        );
        Excess::remarked(what, set_global("innodb_lock_wait_timeout", Value::Usual("50"), "take that as a part of the work"))
    })
}

fn replica(asked: &Asked, need: &Need) -> Option<Excess> {
    asked.is_on(APPLIES_CHANGES).then(|| {
        let writes = if need.writes { ", and what the load writes is in no other server" } else { "" };
        let what = format!("the server is a replica: it applies changes of another one beside the load{writes}");
        Excess::remarked(what, Change::Other("name the primary server, or stop its replication".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use engine::limits::Whose;

    fn check(asked: &[(&str, &str)], need: Need, expected: Result<&[&str], &str>) {
        let asked = Asked::of(asked.iter().copied());
        let found = LIMITS.expect(&asked, &need, Whose::Users).map_err(|error| error.to_string());
        let found = found.as_deref().map_err(String::as_str);
        match (found, expected) {
            (Ok(remarks), Ok(expected)) => assert_eq!(remarks, expected),
            (found, expected) => assert_eq!(found.err(), expected.err(), "{asked:?}"),
        }
    }

    fn clients(clients: u64) -> Need {
        Need { clients, own_sessions: 2, writes: true, ..Need::default() }
    }

    #[test]
    fn connections_in_use_are_no_longer_free() {
        let with = |used| [("max_connections", "100"), ("Threads_connected", used)];
        check(&with("35"), clients(64), Ok(&[]));
        check(
            &with("36"),
            clients(64),
            Err(
                "`max_connections` = 100, of which 35 are in use: 64 clients and 2 sessions of dbduel's own need 66 connections\n  \
                 next: SET GLOBAL max_connections = 101, or ask for fewer clients",
            ),
        );
        // Nothing is in use of a server that is not started.
        check(&[("max_connections", "66")], clients(64), Ok(&[]));
        check(&[("max_user_connections", "0")], clients(64), Ok(&[]));
        let of_account = [("max_user_connections", "10"), (SESSIONS_OF_ACCOUNT, "3")];
        check(
            &of_account,
            clients(16),
            Err(
                "`max_user_connections` = 10 for this account, of which 2 are in use: 16 clients and 2 sessions of dbduel's own need 18 connections\n  \
                 next: ALTER USER CURRENT_USER() WITH MAX_USER_CONNECTIONS 20, or SET GLOBAL max_user_connections = 20, whichever it comes from, or ask for fewer clients",
            ),
        );
    }

    #[test]
    fn statements_of_all_clients_count_against_those_that_may_be_prepared() {
        let asked = [("max_prepared_stmt_count", "16382"), ("Prepared_stmt_count", "10")];
        let need = |prepared| Need {
            prepared: Some(prepared),
            unprepared: Some("--db-ps-mode=disable".to_owned()),
            ..clients(64)
        };
        check(&asked, need(16_372), Ok(&[]));
        check(
            &asked,
            need(16_373),
            Err("`max_prepared_stmt_count` = 16382, of which 10 are in use: 64 clients prepare 16373 statements\n  \
                 next: SET GLOBAL max_prepared_stmt_count = 16383, or ask for fewer clients, or let statements travel as text with --db-ps-mode=disable"),
        );
        check(&asked, clients(64), Ok(&[]));
    }

    #[test]
    fn a_server_that_takes_no_writes_is_refused_to_a_load_that_writes_only() {
        let next = "name the primary server, or, where this is it, SET GLOBAL";
        let reads = Need { writes: false, ..clients(4) };
        check(&[("super_read_only", "ON"), ("read_only", "ON")], reads.clone(), Ok(&[]));
        let refused = format!(
            "`super_read_only` is on: the load writes\n  next: {next} read_only = OFF, which turns super_read_only off too"
        );
        check(&[("super_read_only", "ON"), (WRITES_WHEN_READ_ONLY, "ON")], clients(4), Err(&refused));
        let refused = format!(
            "`read_only` is on, and the account may not write all the same: the load writes\n  next: {next} read_only = OFF"
        );
        check(&[("read_only", "ON"), (WRITES_WHEN_READ_ONLY, "OFF")], clients(4), Err(&refused));
        check(&[("read_only", "ON"), (WRITES_WHEN_READ_ONLY, "ON")], clients(4), Ok(&[]));
        check(&[("read_only", "ON")], clients(4), Ok(&[]));
    }

    #[test]
    fn who_may_write_all_the_same_follows_from_grants_and_version() {
        let check = |grants: &[&str], version: &str, expected: Option<bool>| {
            let grants: Vec<String> = grants.iter().map(|grant| (*grant).to_owned()).collect();
            assert_eq!(may_write(&grants, version), expected, "{grants:?} of {version}");
        };
        let all = "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION";
        let some = "GRANT SELECT, INSERT ON `bench`.* TO `app`@`%`";
        let above = "GRANT SUPER ON *.* TO `app`@`%`";
        check(&[all], "10.11.6-MariaDB", Some(true));
        check(&[above, some], "10.6.1-MariaDB", Some(true));
        check(&[above, some], "10.11.6-MariaDB", Some(false));
        check(&["GRANT READ ONLY ADMIN ON *.* TO `app`@`%`"], "11.4.2-MariaDB", Some(true));
        check(&[above], "5.7.44", Some(true));
        check(&["GRANT SELECT, CONNECTION_ADMIN ON *.* TO `app`@`%`"], "8.0.36", Some(true));
        check(&["GRANT USAGE ON *.* TO `app`@`%`", some], "8.0.36", Some(false));
        check(&["GRANT `dba`@`%` TO `app`@`%`", some], "8.0.36", None);
    }

    #[test]
    fn a_session_that_waits_longer_than_the_server_does_is_refused() {
        let waits = Need { idle: Some(Duration::from_secs(9)), ..clients(64) };
        check(&[("wait_timeout", "10")], waits.clone(), Ok(&[]));
        check(
            &[("wait_timeout", "5")],
            waits,
            Err(
                "`wait_timeout` = 5 s: a client waits up to 9 s between two statements, and the server would end its session\n  \
                 next: SET GLOBAL wait_timeout = 18, or ask for fewer clients or a higher rate",
            ),
        );
        check(&[("wait_timeout", "5")], clients(64), Ok(&[]));
    }

    #[test]
    fn what_the_tables_need_is_refused_with_what_they_need() {
        let keyless = Need { without_key: vec!["sbtest1".to_owned()], ..clients(4) };
        check(&[("sql_require_primary_key", "OFF")], keyless.clone(), Ok(&[]));
        check(
            &[("sql_require_primary_key", "ON")],
            keyless,
            Err("`sql_require_primary_key` is on: the load makes 1 table without a primary key (sbtest1)\n  \
                 next: SET GLOBAL sql_require_primary_key = OFF for the time of the load"),
        );
        let long = Need { packet_bytes: Some(100_000), ..clients(4) };
        check(&[("max_allowed_packet", "16777216")], long.clone(), Ok(&[]));
        check(
            &[("max_allowed_packet", "65536")],
            long,
            Err(
                "`max_allowed_packet` = 65536: a statement of the load takes 100000 bytes\n  next: SET GLOBAL max_allowed_packet = 100352",
            ),
        );
        check(
            &[("autocommit", "OFF")],
            clients(4),
            Err(
                "`autocommit` is off when a session begins: a statement by itself would be counted as a commit, and is none\n  \
                 next: SET GLOBAL autocommit = ON (and look at init_connect)",
            ),
        );
    }

    #[test]
    fn limits_of_time_and_replication_are_remarks() {
        check(
            &[("max_execution_time", "5000"), ("innodb_lock_wait_timeout", "1"), (APPLIES_CHANGES, "ON")],
            clients(4),
            Ok(&[
                "`max_execution_time` ends statements after 5 s, of the load and of checks of the data alike\n  \
                 next: SET GLOBAL max_execution_time = 0, or expect failed transactions",
                "`innodb_lock_wait_timeout` = 1 s: transactions that wait longer for a lock fail, and are tried again\n  \
                 next: SET GLOBAL innodb_lock_wait_timeout = 50, or take that as a part of the work",
                "the server is a replica: it applies changes of another one beside the load, and what the load writes is in no other server\n  \
                 next: name the primary server, or stop its replication",
            ]),
        );
        let usual = [("max_statement_time", "0.000000"), ("innodb_lock_wait_timeout", "50"), (APPLIES_CHANGES, "OFF")];
        check(&usual, clients(4), Ok(&[]));
    }
}
