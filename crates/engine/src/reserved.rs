//! Settings that dbduel owns: where a server keeps its files, how it is reached, and what it starts besides.
//!
//! A server that took one of these from a file could run on somebody else's data or write outside the work
//! folder. The lists stand beside each engine; here is how a name and its value are held against them, in every
//! spelling that a server takes. Nothing here knows an engine.

/// Why a setting cannot stand in a file, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub next: &'static str,
}

/// What of an engine's settings belongs to dbduel. Names are in lower case, with underscores.
#[derive(Debug, Default)]
pub struct Reserved {
    /// With any value; a name that ends in `*` stands for all that begin so.
    pub always: &'static [&'static str],
    /// With a value that leads out of the data directory. A name that is the beginning of another one and a setting
    /// of its own stands here, too, so that it is not taken for an abbreviation.
    pub paths: &'static [&'static str],
    /// With a value that is a command other than one that does nothing.
    pub commands: &'static [&'static str],
    /// What the server takes in front of any name.
    pub prefixes: &'static [&'static str],
    /// The server takes the unambiguous beginning of a name for the whole.
    pub abbreviates: bool,
}

/// Commands that do nothing, as people write them.
const NO_COMMANDS: &[&str] = &["", "true", "/bin/true", "/usr/bin/true", "exit 0", "(disabled)"];
const WHY_OWNED: &str = "dbduel decides where a server keeps its files, how it starts and how it is reached";
const TAKE_OUT: &str = "next: take it out; `storage` says where the data lie, `basedir` which server runs, `transport` in [clients] how it is reached";

impl Reserved {
    /// Whether a setting is dbduel's, or no setting at all.
    pub fn refusal(&self, name: &str, value: &str) -> Option<Refusal> {
        if !is_name(name) {
            let what = format!("{name:?} is not the name of a setting");
            return Some(Refusal { what, next: "expected letters, digits, `_`, `-` and `.`, and a letter first" });
        }
        self.spellings(name).iter().find_map(|spelling| self.refused(name, spelling, value))
    }

    /// The name as the server reads it: whole, and without each prefix that may stand before it.
    fn spellings(&self, name: &str) -> Vec<String> {
        let mut spellings = vec![name.replace('-', "_").to_ascii_lowercase()];
        let mut at = 0;
        while let Some(spelling) = spellings.get(at).cloned() {
            let shorter = self.prefixes.iter().filter_map(|prefix| spelling.strip_prefix(prefix));
            spellings.extend(shorter.filter(|rest| !rest.is_empty()).map(str::to_owned));
            at += 1;
        }
        spellings
    }

    fn refused(&self, name: &str, spelling: &str, value: &str) -> Option<Refusal> {
        if let Some(owned) = self.owner(spelling, self.always) {
            let meant = if owned == name { String::new() } else { format!(" (`{owned}`)") };
            let what = format!("setting `{name}`{meant} cannot be given: {WHY_OWNED}");
            return Some(Refusal { what, next: TAKE_OUT });
        }
        if self.owner(spelling, self.paths).is_some() && value.contains('/') {
            let what = format!("setting `{name}` = \"{value}\" leads out of the server's own data directory");
            return Some(Refusal { what, next: "next: give a name without `/`, or take it out" });
        }
        if self.owner(spelling, self.commands).is_some() && !NO_COMMANDS.contains(&value.trim()) {
            let what = format!("setting `{name}` = \"{value}\" would run a command outside the server");
            return Some(Refusal { what, next: "next: take it out, or give \"/bin/true\", which does nothing" });
        }
        None
    }

    /// The entry of a list that a name means.
    fn owner(&self, spelling: &str, list: &[&'static str]) -> Option<&'static str> {
        let begins = |entry: &str| entry.strip_suffix('*').is_some_and(|start| spelling.starts_with(start));
        if let Some(entry) = list.iter().find(|entry| **entry == spelling || begins(entry)) {
            return Some(entry);
        }
        let is_whole = [self.always, self.paths, self.commands].iter().any(|names| names.contains(&spelling));
        let abbreviated = |entry: &&&str| entry.starts_with(spelling) && !entry.ends_with('*');
        list.iter().find(abbreviated).filter(|_| self.abbreviates && !is_whole).copied()
    }
}

fn is_name(name: &str) -> bool {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::knobs;
    use crate::{ENGINES, engine, version_numbers};

    fn refusal(kind: &str, name: &str, value: &str) -> Option<Refusal> {
        engine(kind).unwrap().reserved().refusal(name, value)
    }

    #[test]
    fn what_dbduel_owns_is_refused_in_every_spelling_of_the_server() {
        let check = |kind: &str, names: &[&str]| {
            for name in names {
                assert!(refusal(kind, name, "/home/user/x").is_some(), "{kind} {name}");
            }
        };
        let mysql = [
            "datadir",
            "DataDir",
            "datad",
            "dat",
            "loose_datadir",
            "loose-skip-networking",
            "skip_networking",
            "skip-net",
            "maximum-port",
            "enable-port",
            "plugin-innodb-data-home-dir",
            "basedir",
            "socket",
            "bind-address",
            "pid_file",
            "log-error",
            "log_bin",
            "loose-log-bin",
            "general_log_file",
            "init-file",
            "plugin-load-add",
            "defaults-extra-file",
            "innodb_undo_directory",
            "innodb_data_file_path",
            "mysqlx_socket",
            "admin_port",
            "report-host",
            "master-host",
            "wsrep_cluster_address",
            "tmpdir",
            "lc-messages-dir",
            "relay-log",
            "--datadir",
            "!include",
            "datadir=/home/user/x",
            "skip-grant-tables",
            "chroot",
            "user",
            "secure-file-priv",
        ];
        for kind in ["mysql", "mariadb"] {
            check(kind, &mysql);
        }
        check("mariadb", &["extra-port", "aria_log_dir_path", "autoset_datadir", "log-basename"]);
        let postgres = [
            "data_directory",
            "Data_Directory",
            "data-directory",
            "hba_file",
            "config_file",
            "include_dir",
            "port",
            "listen_addresses",
            "unix_socket_directories",
            "external_pid_file",
            "log_directory",
            "archive_command",
            "restore_command",
            "primary_conninfo",
            "shared_preload_libraries",
            "dynamic_library_path",
            "x=y",
        ];
        check("postgres", &postgres);
        check(
            "sqlite",
            &["temp_store_directory", "main.temp_store_directory", "data_store_directory", "writable_schema"],
        );
    }

    #[test]
    fn what_stays_in_the_data_directory_is_the_users_to_set() {
        let check = |kind: &str, name: &str, value: &str| assert_eq!(refusal(kind, name, value), None, "{kind} {name}");
        check("mysql", "log_bin", "ON");
        check("mysql", "log-bin", "trace");
        check("mysql", "skip_log_bin", "1");
        check("mysql", "innodb_data_file_path", "ibdata1:10M:autoextend");
        check("mysql", "innodb_doublewrite", "OFF");
        check("mysql", "general_log", "ON");
        check("mysql", "skip-innodb", "OFF");
        check("mariadb", "plugin_load_add", "ha_rocksdb");
        check("postgres", "archive_command", "/bin/true");
        check("postgres", "shared_preload_libraries", "pg_stat_statements");
        check("postgres", "auto_explain.log_min_duration", "1s");
    }

    #[test]
    fn no_setting_that_decides_speed_or_is_advised_is_refused() {
        for engine in ENGINES {
            let versions = engine.releases().iter().map(|release| release.version);
            for version in versions.chain(["3.45.0"]) {
                let known = knobs(engine.kind(), version).into_iter().map(|knob| knob.name);
                let shaping = engine.shaping_settings(&version_numbers(version));
                for name in known.chain(shaping).chain(engine.notable_settings().iter().copied()) {
                    assert_eq!(engine.reserved().refusal(name, "1"), None, "{} {version}", engine.kind());
                }
            }
        }
    }

    #[test]
    fn a_refusal_says_what_the_server_would_have_taken_the_name_for() {
        let refusal = refusal("mysql", "Loose-DataD", "/x").unwrap();
        assert!(refusal.what.starts_with("setting `Loose-DataD` (`datadir`) cannot be given: dbduel decides"));
        assert!(refusal.next.starts_with("next: take it out"), "{}", refusal.next);
    }
}
