//! SQLite: a library inside dbduel, so there is nothing to fetch, start or stop.
//!
//! Its "data directory" is a folder with one file. Its settings are pragmas, which belong to a
//! connection: they are set on every new one and read back on one of them.

#![expect(unsafe_code, reason = "a function of SQLite that rusqlite lacks")]

mod advice;
mod counters;
mod memory;
pub(crate) mod plans;
mod tunable;

use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use driver::{Admin, Dialect, Endpoint, Login};

use engine::advice::{Draft, Subject};
use engine::counters::{Counters, DeferredWork};
use engine::memory_need::{Given, Parts};
use engine::settings::{Agreement, Effective, parse_switch};
use engine::tunable::{MIB, Tunable, Tuning};
use engine::{
    Adopts, Cost, DumpTaker, Engine, Explained, Found, Installation, Integrity, Launch, Observe, Purpose, Release,
    Reserved, Site, StartFiles, StartOptions, Surroundings, Whereabouts,
};

pub struct Sqlite;

/// The database file in the data directory.
pub const FILE: &str = "bench.db";
/// A client that finds the file locked waits this long; without it, it would fail at once.
const BUSY_TIMEOUT_MS: &str = "30000";
/// Pragmas that must come before the file's first page is written, in this order.
const FIRST: &[&str] = &["page_size", "auto_vacuum", "encoding", "journal_mode"];
/// Pragmas that show a value when read; the others do something.
const SHOWN: &[&str] = &[
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "defer_foreign_keys",
    "encoding",
    "foreign_keys",
    "fullfsync",
    "hard_heap_limit",
    "ignore_check_constraints",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "page_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "trusted_schema",
    "user_version",
    "wal_autocheckpoint",
    "writable_schema",
];
/// Words that SQLite takes and shows as numbers.
const WORDS: &[(&str, &[&str])] = &[
    ("synchronous", &["off", "normal", "full", "extra"]),
    ("temp_store", &["default", "file", "memory"]),
    ("auto_vacuum", &["none", "full", "incremental"]),
    ("secure_delete", &["off", "on", "fast"]),
];
/// Pragmas that decide how fast it is or what a commit promises.
const NOTABLE: &[&str] = &[
    "synchronous",
    "journal_mode",
    "cache_size",
    "page_size",
    "mmap_size",
    "wal_autocheckpoint",
    "locking_mode",
    "temp_store",
    "auto_vacuum",
    "cache_spill",
    "threads",
];
/// Where files lie that are not the database's, and what rewrites the tables that describe it.
static RESERVED: Reserved = Reserved {
    always: &["data_store_directory", "lock_proxy_file", "schema_version", "temp_store_directory", "writable_schema"],
    paths: &[],
    commands: &[],
    // A pragma may name the database that it is for.
    prefixes: &["main.", "temp."],
    abbreviates: false,
};
/// What a load relaxes; the file at rest is the same, because it is synced when it is kept.
const LOAD_SETTINGS: &[(&str, &str)] = &[("synchronous", "OFF")];

/// Orders of magnitude from one small machine; no result depends on them.
static COST: Cost = Cost {
    start_ms: 50,
    stop_ms: 50,
    initialise: &[(&[], 50)],
    template_bytes: MIB,
    server_bytes: 10 * MIB,
    connection_bytes: 3 * MIB,
    buffers: &[("mmap_size", 0, 1)],
    logs: &[],
};

impl Engine for Sqlite {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn title(&self) -> &'static str {
        "SQLite"
    }

    fn description(&self) -> &'static str {
        "SQLite, compiled into dbduel: needs no server and no download"
    }

    fn example(&self) -> &'static str {
        "sqlite"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn releases(&self) -> &'static [Release] {
        &[]
    }

    fn installed(&self) -> Vec<Found> {
        vec![Found { version: rusqlite::version().to_owned(), server: PathBuf::new(), basedir: None }]
    }

    fn locate(&self, _basedir: &Path) -> Result<PathBuf> {
        bail!("SQLite is compiled into dbduel; a folder of another build cannot be used (leave `basedir` out)")
    }

    fn version_of(&self, _server: &Path, _around: &Surroundings) -> Result<String> {
        Ok(rusqlite::version().to_owned())
    }

    fn shaping_settings(&self, _version: &[u32]) -> Vec<&'static str> {
        vec!["page_size", "auto_vacuum", "encoding"]
    }

    fn initialise(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        let login = Login {
            user: String::new(),
            password: None,
            database: None,
            on_connect: pragmas(shaping),
            ..Login::default()
        };
        let file = Endpoint::File(site.data.join(FILE));
        let mut admin = Admin::connect(Dialect::Sqlite, &file, &login, std::time::Duration::from_secs(60))?;
        // The file gets its page size with its first page, which rewriting the empty file makes.
        admin.run("VACUUM")?;
        Ok(())
    }

    fn own_settings(
        &self,
        _version: &[u32],
        settings: &BTreeMap<String, String>,
        _connections: u32,
    ) -> BTreeMap<String, String> {
        let replaced = settings.keys().any(|key| key.eq_ignore_ascii_case("busy_timeout"));
        let own = (!replaced).then(|| ("busy_timeout".to_owned(), BUSY_TIMEOUT_MS.to_owned()));
        own.into_iter().collect()
    }

    fn reserved(&self) -> &'static Reserved {
        &RESERVED
    }

    fn launch(&self, _installation: &Installation, options: &StartOptions, _places: &StartFiles) -> Result<Launch> {
        let plain = |(name, value): (&String, &String)| (name.to_ascii_lowercase(), value.clone());
        let mut settings: BTreeMap<String, String> = options.settings.iter().map(plain).collect();
        for (name, value) in &settings {
            anyhow::ensure!(is_pragma(name, value), "setting `{name}` = {value:?} is no pragma of SQLite");
        }
        if options.purpose == Purpose::Load {
            settings.extend(LOAD_SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
        let own = self.own_settings(&[], &settings, options.connections());
        settings.extend(own.clone());
        let login = Login {
            user: String::new(),
            password: None,
            database: None,
            on_connect: pragmas(&settings),
            ..Login::default()
        };
        let file = Endpoint::File(options.data.join(FILE));
        Ok(Launch { arguments: None, admin: (file.clone(), login.clone()), load: (file, login), asked: settings })
    }

    fn read_settings(&self, admin: &mut Admin) -> Result<Effective> {
        let known = admin.rows("PRAGMA pragma_list").context("cannot list the pragmas")?;
        let known: Vec<String> = known.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        let mut effective = Effective::default();
        for name in SHOWN.iter().filter(|name| known.iter().any(|known| known == *name)) {
            if let Some(value) = admin.value(&format!("PRAGMA {name}"))? {
                effective.values.insert((*name).to_owned(), value);
            }
        }
        Ok(effective)
    }

    fn dump_taker(
        &self,
        _installation: &Installation,
        archive: bool,
        (endpoint, login): (&Endpoint, &Login),
    ) -> Result<DumpTaker> {
        anyhow::ensure!(!archive, "it is an archive of PostgreSQL's pg_dump");
        let Endpoint::File(file) = endpoint.clone() else { bail!("SQLite is a file") };
        let pragmas = login.on_connect.clone();
        Ok(DumpTaker::Library(Box::new(move |dump| {
            let database = rusqlite::Connection::open(file)?;
            pragmas.iter().try_for_each(|pragma| database.execute_batch(pragma))?;
            execute_dump(&database, dump)
        })))
    }

    fn adopts(&self) -> Option<&'static dyn Adopts> {
        Some(&Sqlite)
    }

    fn whereabouts(&self, admin: &mut Admin, _effective: &Effective) -> Result<Whereabouts> {
        let databases = admin.rows("PRAGMA database_list")?;
        let file = |row: &Vec<Option<String>>| (row.get(1)?.as_deref() == Some("main")).then(|| row.get(2)?.clone())?;
        let file = databases.iter().find_map(file).context("SQLite does not tell its file")?;
        let data = Path::new(&file).parent().context("the file of SQLite lies in no folder")?.to_owned();
        Ok(Whereabouts { data, socket: None, port: None })
    }

    fn build_lines(&self, admin: &mut Admin, _effective: &Effective) -> Result<Vec<String>> {
        let options = admin.rows("PRAGMA compile_options")?;
        Ok(options.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    fn agreement(&self, effective: &Effective, name: &str, asked: &str) -> Agreement {
        let name = name.to_ascii_lowercase();
        let Some(actual) = effective.values.get(&name) else { return Agreement::Unknown };
        let words = WORDS.iter().find(|(word, _)| *word == name).map_or(&[][..], |(_, words)| words);
        let number = words.iter().position(|word| word.eq_ignore_ascii_case(asked)).map(|index| index.to_string());
        let switched = matches!((parse_switch(asked), parse_switch(actual)), (Some(a), Some(b)) if a == b);
        let same =
            asked.eq_ignore_ascii_case(actual) || number.as_ref() == Some(actual) || (words.is_empty() && switched);
        Agreement::of(same, actual)
    }

    fn check_settings(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        // In a file of its own: some pragmas count on an empty one only.
        let file = Endpoint::File(site.scratch.join("vet.db"));
        let login = Login {
            user: String::new(),
            password: None,
            database: None,
            on_connect: pragmas(settings),
            ..Login::default()
        };
        let mut admin = Admin::connect(Dialect::Sqlite, &file, &login, std::time::Duration::from_secs(60))?;
        engine::settings::verify(self, &self.read_settings(&mut admin)?, settings)
    }

    fn settle(&self, admin: &mut Admin) -> Result<()> {
        admin.rows("PRAGMA wal_checkpoint(TRUNCATE)")?;
        // The file remembers WAL, and the next contender that shares it may not have asked for it.
        let mode = admin.value("PRAGMA journal_mode = DELETE")?;
        anyhow::ensure!(mode.as_deref() == Some("delete"), "the file is still in use: its journal mode stays {mode:?}");
        Ok(())
    }

    fn integrity(&self, admin: &mut Admin, _: &[String]) -> Result<Option<Integrity>> {
        let rows = admin.rows("PRAGMA integrity_check").context("PRAGMA integrity_check failed")?;
        let complaints = rows.into_iter().flatten().flatten().filter(|line| line != "ok").collect();
        Ok(Some(Integrity { check: "PRAGMA integrity_check".to_owned(), complaints }))
    }

    fn durability_class(&self, effective: &BTreeMap<String, String>) -> &'static str {
        let value = |name: &str| effective.get(name).map(|value| value.to_ascii_lowercase()).unwrap_or_default();
        let journal = value("journal_mode");
        match value("synchronous").as_str() {
            // Without syncs or without a journal on disk, a power failure can leave half a transaction.
            "0" => "D0",
            _ if journal == "off" || journal == "memory" => "D0",
            // With NORMAL the log is synced at checkpoints only.
            "1" => "D2",
            _ => "D3",
        }
    }

    fn tuning(&self) -> Option<&'static dyn Tuning> {
        Some(&Sqlite)
    }

    fn notable_settings(&self) -> &'static [&'static str] {
        NOTABLE
    }

    fn cost(&self) -> &'static Cost {
        &COST
    }

    fn observe(&self) -> Option<&'static dyn Observe> {
        Some(&Sqlite)
    }
}

impl Observe for Sqlite {
    fn counters(&self, admin: &mut Admin) -> Result<Counters> {
        counters::read(admin)
    }

    fn explain(&self, admin: &mut Admin, sql: &str) -> Result<Explained> {
        plans::explain(admin, sql)
    }

    fn deferred_work(&self) -> &'static DeferredWork {
        &counters::DEFERRAL
    }

    fn outstanding(&self, admin: &mut Admin) -> Result<BTreeMap<&'static str, f64>> {
        counters::pay(admin)
    }

    fn can_be_watched(&self, effective: &BTreeMap<String, String>) -> bool {
        // Whoever comes first would keep the file to itself.
        effective.get("locking_mode").is_none_or(|mode| !mode.eq_ignore_ascii_case("exclusive"))
    }
}

impl Tuning for Sqlite {
    fn tunables(&self) -> &'static [Tunable] {
        tunable::TUNABLES
    }
    fn memory(&self, _: &[u32], given: &Given) -> Option<Parts> {
        memory::memory(given)
    }
    fn smallest(&self) -> &'static [(&'static str, &'static str)] {
        &[("cache_size", "-100")]
    }
    fn advice(&self, subject: &Subject) -> Draft {
        advice::draft(subject)
    }
    fn size_text(&self, bytes: u64) -> String {
        bytes.to_string()
    }
}

/// The statements that set pragmas, those first that only count on an empty file.
fn pragmas(settings: &BTreeMap<String, String>) -> Vec<String> {
    let mut names: Vec<&String> = settings.keys().collect();
    let place = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    names.sort_by_key(|name| (**name != "busy_timeout", place(name)));
    names.into_iter().map(|name| format!("PRAGMA {name} = {}", quoted(&settings[name]))).collect()
}

/// Numbers and words are quoted as they are.
fn quoted(value: &str) -> String {
    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if plain && !value.contains("--") { value.to_owned() } else { format!("'{}'", value.replace('\'', "''")) }
}

/// A name and a value that can stand in a statement.
fn is_pragma(name: &str, value: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !value.is_empty()
}

/// Where SQLite locks a database file: one page beginning at a gibibyte.
const LOCK_BYTES: (i64, i64) = (1 << 30, 512);

impl Adopts for Sqlite {
    fn series_of(&self, place: &Path) -> Result<Option<String>> {
        let mut start = [0; 15];
        std::fs::File::open(place)?.read_exact(&mut start).ok();
        anyhow::ensure!(&start == b"SQLite format 3", "{} is no database file of SQLite", place.display());
        Ok(None)
    }

    fn series(&self, _version: &[u32]) -> String {
        "3".to_owned()
    }

    fn user_of(&self, place: &Path) -> Result<Option<String>> {
        engine::locked_by(place, LOCK_BYTES.0, LOCK_BYTES.1)
    }

    fn is_unclean(&self, place: &Path) -> Result<bool> {
        let left = ["-wal", "-journal"].map(|suffix| PathBuf::from(format!("{}{suffix}", place.display())));
        Ok(left.iter().any(|file| file.metadata().is_ok_and(|meta| meta.len() > 0)))
    }

    fn give_account(&self, _site: &Site) -> Result<()> {
        Ok(())
    }

    fn file(&self) -> Option<&'static str> {
        Some(FILE)
    }
}

/// Executes a dump as its lines complete statements.
fn execute_dump(database: &rusqlite::Connection, dump: &mut dyn BufRead) -> Result<()> {
    let (mut statements, mut line, mut first) = (String::new(), 0, 1);
    loop {
        let read = dump.read_line(&mut statements).context("it is no text in UTF-8")?;
        line += 1;
        let is_done = statements.trim_end().ends_with(';') && is_complete(&statements)?;
        if is_done || read == 0 {
            database.execute_batch(&statements).with_context(|| format!("line {first}"))?;
            statements.clear();
            first = line + 1;
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// Whether the text ends with a statement's end, and not inside of a text, a comment or a trigger.
fn is_complete(statements: &str) -> Result<bool> {
    let text = std::ffi::CString::new(statements).context("a statement has a zero byte")?;
    // SAFETY: the text is live and ends with a zero byte; the function only reads it.
    Ok(unsafe { rusqlite::ffi::sqlite3_complete(text.as_ptr()) } != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn check(name: &str, asked: &str, actual: &str, expected: bool) {
        let effective = Effective { values: settings(&[(name, actual)]), ..Effective::default() };
        let agreement = Sqlite.agreement(&effective, name, asked);
        assert_eq!(agreement == Agreement::Same, expected, "{name} asked {asked} shown {actual}");
    }

    #[test]
    fn names_agree_with_the_numbers_of_sqlite() {
        check("synchronous", "NORMAL", "1", true);
        check("synchronous", "FULL", "1", false);
        check("synchronous", "1", "1", true);
        check("synchronous", "OFF", "0", true);
        check("journal_mode", "WAL", "wal", true);
        check("journal_mode", "WAL", "delete", false);
        check("mmap_size", "256M", "256", false);
        check("foreign_keys", "ON", "1", true);
    }

    #[test]
    fn the_page_size_is_set_before_the_journal_writes_a_page() {
        let pragmas = pragmas(&settings(&[("cache_size", "-65536"), ("journal_mode", "WAL"), ("page_size", "8192")]));
        assert_eq!(pragmas, ["PRAGMA page_size = 8192", "PRAGMA journal_mode = WAL", "PRAGMA cache_size = -65536"]);
    }

    #[test]
    fn a_file_loaded_with_a_write_ahead_log_does_not_remember_it() {
        let base = tempfile::tempdir().unwrap();
        let connect = |pairs: &[(&str, &str)]| {
            let on_connect = pragmas(&settings(pairs));
            let login = Login { user: String::new(), password: None, database: None, on_connect, ..Login::default() };
            let file = Endpoint::File(base.path().join(FILE));
            Admin::connect(Dialect::Sqlite, &file, &login, std::time::Duration::from_secs(5)).unwrap()
        };
        let mut load = connect(&[("journal_mode", "WAL")]);
        load.run("CREATE TABLE t (id INTEGER)").unwrap();
        Sqlite.settle(&mut load).unwrap();
        drop(load);
        assert_eq!(connect(&[]).value("PRAGMA journal_mode").unwrap().as_deref(), Some("delete"));
    }

    #[test]
    fn a_plan_is_a_tree_of_what_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join(FILE));
        let mut admin =
            Admin::connect(Dialect::Sqlite, &file, &Login::default(), std::time::Duration::from_secs(5)).unwrap();
        admin.run("CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER)").unwrap();
        let mut check = |sql: &str, expected: &[&str]| {
            let Explained { lines, tree } = Sqlite.explain(&mut admin, sql).unwrap();
            assert_eq!(lines, expected, "{sql}");
            assert_eq!(tree.unwrap().children.len(), lines.len(), "{sql}");
        };
        check("SELECT k FROM t WHERE id = 1", &["SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"]);
        check("SELECT DISTINCT k FROM t ORDER BY k", &["SCAN t", "USE TEMP B-TREE FOR DISTINCT"]);
        let row = |cells: [&str; 4]| cells.map(|cell| Some(cell.to_owned())).to_vec();
        let rows = [row(["3", "0", "0", "SCALAR"]), row(["7", "3", "0", "SCAN t"]), row(["9", "0", "0", "SCAN u"])];
        assert_eq!(plans::lines(&rows), ["SCALAR", "  SCAN t", "SCAN u"]);
        let root = plans::read(&rows);
        assert_eq!((root.children.len(), root.children[0].children[0].table.as_deref()), (2, Some("t")));
        assert!(Sqlite.explain(&mut admin, "SELECT 1 FROM nowhere").is_err());
    }

    #[test]
    fn a_value_cannot_carry_a_second_statement() {
        assert_eq!(quoted("1; DROP TABLE x"), "'1; DROP TABLE x'");
        assert_eq!(quoted("it's"), "'it''s'");
        assert!(!is_pragma("a; b", "1"));
    }

    #[test]
    fn the_durability_class_is_what_the_settings_promise() {
        let check = |journal: &str, synchronous: &str, expected: &str| {
            let values = settings(&[("journal_mode", journal), ("synchronous", synchronous)]);
            assert_eq!(Sqlite.durability_class(&values), expected, "{journal} {synchronous}");
        };
        check("delete", "2", "D3");
        check("wal", "2", "D3");
        check("wal", "1", "D2");
        check("wal", "0", "D0");
        check("memory", "2", "D0");
    }
}
