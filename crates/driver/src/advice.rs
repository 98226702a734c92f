//! What errors of servers mean for those who put a load on them, and what to do.
//!
//! A server describes what it refuses in its own words. Here is what stands behind them as a rule, for the errors that
//! meet people who benchmark. Codes of MySQL and MariaDB are numbers, those of PostgreSQL are SQLSTATEs.

/// One kind of error.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    codes: &'static [&'static str],
    /// What stands behind it as a rule.
    pub cause: &'static str,
    pub next: &'static str,
}

const fn on(codes: &'static [&'static str], cause: &'static str, next: &'static str) -> Advice {
    Advice { codes, cause, next }
}

static ADVICE: &[Advice] = &[
    on(
        &["1040", "08004"],
        "the server has as many connections as max_connections allows",
        "ask for fewer clients, or SET GLOBAL max_connections",
    ),
    on(
        &["9001"],
        "ProxySQL had no session of a server free for this client within mysql-connect_timeout_server_max",
        "raise max_connections in its mysql_servers, or ask for fewer clients",
    ),
    on(
        &["53300"],
        "the server, the database or the role has as many connections as it may have",
        "ask for fewer clients, or raise max_connections (a restart), ALTER DATABASE or ALTER ROLE … CONNECTION LIMIT",
    ),
    on(
        &["1203", "1226"],
        "the account has used up a limit of its own (max_user_connections, or so many queries an hour)",
        "ask for fewer clients, or ALTER USER … WITH MAX_USER_CONNECTIONS 0 MAX_QUERIES_PER_HOUR 0",
    ),
    on(
        &["1044", "1142", "1143", "1227", "1370", "42501"],
        "the account lacks a privilege",
        "GRANT it, or use an account that owns the database",
    ),
    on(
        &["1045", "28P01", "28000"],
        "the server knows no such user with this password from this host",
        "look at user and password; pg_hba.conf of PostgreSQL, and the host part of an account of MySQL, decide too",
    ),
    on(
        &["1698"],
        "the account logs in by the user of the operating system (auth_socket, unix_socket)",
        "run as that user over the socket, or use an account with a password",
    ),
    on(&["1049", "3D000"], "there is no such database", "CREATE DATABASE it, or name another one in the target"),
    on(
        &["1129"],
        "the server refuses this host after too many connections that were broken off (max_connect_errors)",
        "FLUSH HOSTS on the server (TRUNCATE performance_schema.host_cache from MySQL 8.4 on), and look at what breaks off \
         connections to it",
    ),
    on(&["1130"], "no account of the server may come from this host", "CREATE USER 'name'@'this host', and GRANT"),
    on(
        &["1146", "42P01"],
        "a table is not there",
        "load the tables with `dbduel prepare`, and look at the database of the target",
    ),
    on(
        &["1153"],
        "a statement or a value is longer than max_allowed_packet",
        "SET GLOBAL max_allowed_packet to more, and connect again",
    ),
    on(
        &["1205", "55P03"],
        "a transaction waited longer for a lock than innodb_lock_wait_timeout or lock_timeout allows",
        "ask for fewer clients or more rows; a session that was left open may hold the lock",
    ),
    on(
        &["1213", "40P01"],
        "two transactions waited for each other, and the server ended one",
        "such transactions are tried again where the workload does so; more rows make them rarer",
    ),
    on(
        &["40001"],
        "a transaction met the changes of another one, as isolation levels above READ COMMITTED do not allow",
        "such transactions are tried again where the workload does so; more rows make them rarer",
    ),
    on(
        &["1290", "1792", "1836", "25006"],
        "the server or the session may only read (read_only, super_read_only, default_transaction_read_only, a replica)",
        "name the primary server, or take a workload that only reads",
    ),
    on(
        &["1298"],
        "the server has no table of time zones",
        "load it with mysql_tzinfo_to_sql, or give an offset such as '+00:00'",
    ),
    on(
        &["1390", "1461"],
        "a statement has too many placeholders, or all sessions together too many prepared statements",
        "SET GLOBAL max_prepared_stmt_count to more, ask for fewer clients, or let statements go as text",
    ),
    on(
        &["1419"],
        "with the binary log on, functions and triggers need a special privilege",
        "SET GLOBAL log_bin_trust_function_creators = 1 for the time of the load",
    ),
    on(
        &["1114", "1021", "1026", "53100"],
        "the disk of the server, or the limit of a table in memory, is full",
        "free some, or load fewer rows",
    ),
    on(
        &["1037", "1038", "1041", "53200"],
        "the server has no memory left for this",
        "give it more, or ask for fewer clients",
    ),
    on(
        &["1317", "3024", "1969", "57014"],
        "the statement was cancelled: by a limit of time (max_execution_time, max_statement_time, statement_timeout) or by \
         someone",
        "raise the limit for this account, or set it to 0",
    ),
    on(
        &["3159"],
        "the server takes encrypted connections only (require_secure_transport)",
        "add tls=require or tls=verify to the target",
    ),
    on(
        &["3750"],
        "the server makes no table without a primary key (sql_require_primary_key)",
        "SET GLOBAL sql_require_primary_key = OFF for the time of the load, or take tables with a key",
    ),
    on(
        &["42P05", "26000"],
        "a pooler gives statements of a client to other sessions, which have other prepared statements",
        "let statements go as text (simple protocol), set max_prepared_statements in PgBouncer 1.21 or newer, or go past \
         the pooler",
    ),
    on(
        &["08P01"],
        "the server, or a pooler before it, did not understand a message",
        "look whether a pooler stands between, and go past it",
    ),
    on(
        &["57P01", "57P02", "1053", "1927", "3169"],
        "the server was shut down, another of its processes crashed, or someone ended the session",
        "look at the server's log",
    ),
    on(
        &["4031", "57P05", "25P03"],
        "the session waited longer between two statements than wait_timeout, idle_session_timeout or \
         idle_in_transaction_session_timeout allows",
        "raise it for this account, or let no client wait so long",
    ),
    on(
        &["57P03"],
        "the server is starting, stopping or recovering",
        "wait until it accepts connections, and try again",
    ),
    on(&["1820", "1862"], "the password of the account has expired", "ALTER USER … IDENTIFIED BY a new one"),
    on(&["3118"], "the account is locked", "ALTER USER … ACCOUNT UNLOCK"),
    on(
        &["1231", "22023", "42704", "1193"],
        "a setting has a name or a value that this version does not have",
        "look at the version's manual for what took its place",
    ),
];

/// Of a session that ends without a word, as clients of MySQL say with 2006 and 2013.
static LOST: Advice = on(
    &[],
    "the server ended the session or itself, or something between them (a proxy, a firewall, a load balancer) cut it",
    "look at the server's log of that minute; a session that waits may be ended by wait_timeout, idle_session_timeout or \
     a limit of the proxy",
);

/// What stands behind `connection lost: ` then.
const LOST_WITHOUT_A_WORD: [&str; 3] = ["the server closed the connection", "Connection reset by peer", "Broken pipe"];

/// Of one code; none for the many that explain themselves.
fn advice(code: &str) -> Option<&'static Advice> {
    ADVICE.iter().find(|advice| advice.codes.contains(&code))
}

/// Of the first error of a server, or else of a lost connection, in a text that [`crate::Error`] wrote.
pub fn advice_in(text: &str) -> Option<&'static Advice> {
    if let Some((_, error)) = text.split_once("server error ") {
        return advice(error.split([':', ' ']).next()?);
    }
    let (_, why) = text.split_once("connection lost: ")?;
    LOST_WITHOUT_A_WORD.iter().any(|word| why.starts_with(word)).then_some(&LOST)
}

/// A message with what the error of a server in it means as a rule, and what to do where nothing closer to it has a next
/// step.
pub fn with_advice(mut message: String) -> String {
    if let Some(advice) = advice_in(&message) {
        let has_next = message.contains("next: ");
        message += &format!("\n  that is: {}", advice.cause);
        if !has_next {
            message += &format!("\n  next: {}", advice.next);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Error};

    #[test]
    fn the_errors_of_servers_have_a_cause_and_a_next_step() {
        let refused = Error::Refused { code: Code::number(1461), message: "Can't create more than 16".to_owned() };
        assert!(advice_in(&refused.to_string()).unwrap().next.contains("max_prepared_stmt_count"));
        let farewell = Error::farewell(Code::new(b"57P01"), "terminating connection");
        assert!(advice_in(&farewell.to_string()).unwrap().cause.contains("shut down"));
        assert!(advice_in(&Error::Retryable { code: Code::new(b"40001") }.to_string()).is_some());
        assert_eq!(advice_in("server error 1064: syntax"), None);
        assert!(advice_in(&Error::lost("the server closed the connection").to_string()).is_some());
        assert_eq!(advice_in(&Error::lost("this connection was closed for good").to_string()), None);
        assert_eq!(advice_in("no such file"), None);
    }

    #[test]
    fn a_code_stands_once_and_is_one_of_a_server() {
        let codes: Vec<&str> = ADVICE.iter().flat_map(|advice| advice.codes).copied().collect();
        for (at, code) in codes.iter().enumerate() {
            assert!(!codes[..at].contains(code), "{code}");
            let is_number = code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_number || code.len() == 5, "{code}");
        }
    }
}
