//! Statements that are never replayed, by kind; seen in the digest text, once a digest.

use memchr::memmem;

/// Why an instance is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skipped {
    CopyWithoutData,
    LoadLocalWithoutData,
    FileAccess,
    Account,
    Server,
    Password,
    Backup,
    Replication,
    Own,
    CutParameters,
    InsideCall,
}

/// All kinds by their numbers, with the name in keys and reports, and the reason.
const KINDS: [(Skipped, &str, &str); 11] = [
    (Skipped::CopyWithoutData, "copy without data", "COPY FROM STDIN: the log does not hold the data"),
    (Skipped::LoadLocalWithoutData, "load data local", "LOAD DATA LOCAL: the log does not hold the file"),
    (Skipped::FileAccess, "file access", "reads or writes files of the server"),
    (Skipped::Account, "account", "changes accounts or rights"),
    (Skipped::Server, "server", "changes or ends the server"),
    (Skipped::Password, "password", "sets a password; left out of the capture"),
    (Skipped::Backup, "backup", "session of a backup"),
    (Skipped::Replication, "replication", "session of replication"),
    (Skipped::Own, "dbduel", "session of dbduel"),
    (Skipped::CutParameters, "parameters cut", "log_parameter_max_length cut a value"),
    (Skipped::InsideCall, "inside a call", "logged a second time, inside of a CALL"),
];

impl Skipped {
    /// The name in keys and reports.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    pub fn reason(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// The number that a capture file stores.
    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn of_number(number: u8) -> Option<Skipped> {
        KINDS.get(usize::from(number)).map(|(kind, ..)| *kind)
    }

    /// The kind of a statement by its digest text.
    pub fn of(digest: &[u8], is_mysql: bool) -> Option<Skipped> {
        let digest = without_hint(digest);
        let has = |part: &str| memmem::find(digest, part.as_bytes()).is_some();
        let begins = |heads: &[&str]| heads.iter().any(|head| digest.starts_with(head.as_bytes()));
        if PASSWORDS.iter().any(|part| has(part)) || digest.starts_with(b"set password") {
            return Some(Skipped::Password);
        }
        let mut words = digest.split(|byte| *byte == b' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match first {
            b"grant" | b"revoke" => Some(Skipped::Account),
            b"create" | b"alter" | b"drop" | b"rename" => match second {
                b"user" | b"role" | b"group" => Some(Skipped::Account),
                b"extension" | b"server" | b"foreign" | b"tablespace" => Some(Skipped::Server),
                b"system" | b"instance" if first == b"alter" => Some(Skipped::Server),
                _ => (first == b"create" && has(" soname ?")).then_some(Skipped::Server),
            },
            b"copy" if has(" from stdin") => Some(Skipped::CopyWithoutData),
            b"copy" if has(" from ?") || has(" to ?") || has(" program ?") => Some(Skipped::FileAccess),
            b"copy" => None,
            b"load" if !is_mysql => Some(Skipped::Server),
            b"load" if has(" local infile") => Some(Skipped::LoadLocalWithoutData),
            b"load" => Some(Skipped::FileAccess),
            b"set" if begins(&SET_OF_SERVER) => Some(Skipped::Server),
            b"reset" if is_mysql => Some(Skipped::Server),
            b"start" | b"stop" | b"change" if begins(&REPLICATION) => Some(Skipped::Server),
            b"kill" | b"shutdown" | b"restart" | b"flush" | b"purge" | b"install" | b"uninstall" | b"clone"
                if is_mysql =>
            {
                Some(Skipped::Server)
            }
            _ if FILES.iter().any(|part| has(part)) => Some(Skipped::FileAccess),
            _ if SERVER.iter().any(|part| has(part)) => Some(Skipped::Server),
            _ => None,
        }
    }

    /// The kind of a session by the name that its client gives.
    pub fn of_session(user: &[u8], application: &[u8]) -> Option<Skipped> {
        match application {
            b"pg_dump" | b"pg_dumpall" | b"pg_basebackup" | b"mysqldump" | b"mariadb-dump" => Some(Skipped::Backup),
            b"walreceiver" | b"pg_receivewal" => Some(Skipped::Replication),
            _ if user == b"system user" => Some(Skipped::Replication),
            _ => application.starts_with(b"dbduel").then_some(Skipped::Own),
        }
    }
}

const PASSWORDS: [&str; 10] = [
    "identified by ",
    "identified as ",
    "identified with",
    "identified via",
    " password ?",
    "_password = ?",
    "password(?)",
    "user mapping",
    "dblink_connect",
    "dblink(",
];
const SET_OF_SERVER: [&str; 5] = ["set global ", "set persist", "set @@global", "set @@persist", "set default role"];
const REPLICATION: [&str; 8] = [
    "start slave",
    "start replica",
    "start group_replication",
    "stop slave",
    "stop replica",
    "stop group_replication",
    "change master",
    "change replication",
];
const FILES: [&str; 8] = [
    " into outfile",
    " into dumpfile",
    "load_file(",
    "pg_read_file(",
    "pg_read_binary_file(",
    "pg_ls_dir(",
    "lo_import(",
    "lo_export(",
];
const SERVER: [&str; 6] = [
    "pg_terminate_backend(",
    "pg_cancel_backend(",
    "pg_reload_conf(",
    "pg_rotate_logfile(",
    "pg_promote(",
    "pg_switch_wal(",
];

/// A statement may begin with an executable comment, as the statements of dumps do.
fn without_hint(digest: &[u8]) -> &[u8] {
    match digest.strip_prefix(b"/*!") {
        Some(rest) => rest.trim_ascii_start().strip_prefix(b"M!").unwrap_or(rest).trim_ascii_start(),
        None => digest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, digest_text};

    #[test]
    fn kinds_stand_at_their_numbers() {
        (0..).zip(KINDS).for_each(|(number, (kind, ..))| assert_eq!(kind.number(), number));
    }

    fn check(text: &str, dialect: Dialect, expected: Option<Skipped>) {
        let digest = digest_text(text.as_bytes(), dialect);
        assert_eq!(Skipped::of(&digest, dialect.is_mysql()), expected, "{text}");
    }

    #[test]
    fn statements_that_are_never_replayed_have_a_kind() {
        let my = |text, expected| check(text, Dialect::MYSQL, Some(expected));
        my("create user u identified by 'p'", Skipped::Password);
        my("ALTER USER u IDENTIFIED WITH mysql_native_password AS '*AB'", Skipped::Password);
        my("set password for u = 'p'", Skipped::Password);
        my("drop user u", Skipped::Account);
        my("grant select on *.* to u", Skipped::Account);
        my("SET GLOBAL max_connections=5", Skipped::Server);
        my("kill 5", Skipped::Server);
        my("load data infile '/x' into table t", Skipped::FileAccess);
        my("load data local infile 'x' into table t", Skipped::LoadLocalWithoutData);
        my("select a into outfile '/x' from t", Skipped::FileAccess);
        my("start slave", Skipped::Server);
        let pg = |text, expected| check(text, Dialect::Postgres, Some(expected));
        pg("copy t(v) from stdin", Skipped::CopyWithoutData);
        pg("copy t from '/x' csv", Skipped::FileAccess);
        pg("copy t to program 'x'", Skipped::FileAccess);
        pg("alter user u password 'sekret'", Skipped::Password);
        pg("alter system set work_mem = '1GB'", Skipped::Server);
        pg("select pg_terminate_backend(5)", Skipped::Server);
        pg("select * from dblink('host=a password=b', 'select 1') as t(a int)", Skipped::Password);
    }

    #[test]
    fn what_an_application_sends_is_replayed() {
        for text in
            ["select 1", "set names utf8mb4", "start transaction", "create table t (a int)", "call p()", "flush"]
        {
            check(text, Dialect::Postgres, None);
        }
        for text in ["copy t to stdout", "discard all", "reset search_path", "deallocate all"] {
            check(text, Dialect::Postgres, None);
        }
    }
}
