//! The page of first sessions, `docs/guide/first-sessions.md`: each command on it prints what stands there.
//!
//! All but one need a server, which `cargo xtask conform-login` starts and names in the environment; without one they are
//! ignored. Numbers may be others than on the page, and a line `…` stands for any lines.

mod support;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use driver::{Admin, Dialect, Endpoint, Login, Secret};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::geteuid;
use support::{LIMIT, Place, print_skipped, wait_for};

const PASSWORD: &str = "hunter2";
const DATABASE: &str = "shop";

/// The commands of one section of the page, each with what it prints.
fn session(heading: &str) -> Vec<(String, Vec<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/first-sessions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("the page has the section");
    let blocks = section.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), Vec::new())),
            None => commands.last_mut().expect("a block begins with a command").1.push(line.to_owned()),
        }
    }
    assert!(!commands.is_empty(), "no command stands in `{heading}`");
    commands
}

/// A line with one sign for each number, and for what is as wide as its neighbours.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for letter in line.trim_end().chars() {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        let is_inside = (letter == '.' || letter == ',') && shape.ends_with('0');
        let is_again = ['0', ' ', '─'].contains(&letter) && shape.ends_with(letter);
        if !is_inside && !is_again {
            shape.push(letter);
        }
    }
    shape
}

/// Whether the lines are those that are expected, where `…` is any number of lines.
fn fits(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any == "…" => (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| shape(line) == shape(first) && fits(rest, others))
        }
    }
}

/// Somebody at a terminal.
struct Person {
    place: Place,
    variables: Vec<(&'static str, String)>,
    /// What stands here, and what stands in its place on the page.
    names: Vec<(String, &'static str)>,
}

impl Person {
    fn new() -> Person {
        // What a commit costs shows on a disk only.
        Person { place: Place::on_disk(), variables: Vec::new(), names: Vec::new() }
    }

    /// Types the commands of a section; each must print what stands there.
    fn types(&self, heading: &str) {
        for (line, expected) in session(heading) {
            let printed = self.run(&line);
            assert!(!printed.contains(PASSWORD), "{line}\n{printed}");
            let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
            assert!(fits(&expected, &lines), "$ {line}\n{printed}\n--- expected\n{}", expected.join("\n"));
        }
    }

    /// What a command prints, in its order on a terminal.
    fn run(&self, line: &str) -> String {
        let words = words(&self.with_own_names(line));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command: Command = self.place.command(&words[1..]);
        for name in ["DBDUEL_PASSWORD", "DATABASE_URL", "PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGPORT"] {
            command.env_remove(name);
        }
        let (mut reader, writer) = std::io::pipe().unwrap();
        command.envs(self.variables.iter().cloned()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = command.spawn().unwrap();
        // It holds the pipe's other end.
        drop(command);
        let mut printed = String::new();
        reader.read_to_string(&mut printed).unwrap();
        child.wait().unwrap();
        for (own, on_the_page) in &self.names {
            printed = printed.replace(own, on_the_page);
        }
        printed
    }

    fn with_own_names(&self, line: &str) -> String {
        let of_names =
            self.names.iter().fold(line.to_owned(), |line, (own, on_the_page)| line.replace(on_the_page, own));
        self.variables.iter().fold(of_names, |line, (name, value)| line.replace(&format!("${name}"), value))
    }
}

/// Words in single quotes are one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        match index % 2 {
            1 => words.push(piece.to_owned()),
            _ => words.extend(piece.split_whitespace().map(str::to_owned)),
        }
    }
    words
}

#[test]
fn lines_fit_whatever_their_numbers_are() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a  1.5 tps\n…\nend"), &lines("a 12,000.25 tps\nx\ny\nend")));
    assert!(fits(&lines("a\n…"), &lines("a")));
    assert!(!fits(&lines("a 1 tps"), &lines("a 1 qps")));
    assert!(!fits(&lines("a\n…\nend"), &lines("a\nx")));
    assert!(!fits(&lines("a"), &lines("a\nmore")));
}

#[test]
fn a_person_with_sqlite_only() {
    let person = Person::new();
    if statfs(person.place.path()).unwrap().filesystem_type() == TMPFS_MAGIC {
        return print_skipped("temporary files are in memory here, where no commit waits for a disk");
    }
    person.types("SQLite");
}

fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this by `cargo xtask conform-login`"))
}

/// A server's administrator makes the account and the database that the page has.
fn admin(dialect: Dialect, statements: &[String]) {
    let login = Login {
        user: from_environment("DBDUEL_TEST_USER"),
        password: Some(Secret::new(from_environment("DBDUEL_TEST_PASSWORD"))),
        database: Some(from_environment("DBDUEL_TEST_DATABASE")),
        ..Login::default()
    };
    let endpoint = Endpoint::Unix(from_environment("DBDUEL_TEST_SOCKET").into());
    let mut admin = Admin::connect(dialect, &endpoint, &login, LIMIT).unwrap();
    for statement in statements {
        admin.run(statement).unwrap();
    }
}

#[test]
#[ignore = "needs a server"]
fn a_dba_of_mysql_with_an_option_file() {
    let socket = from_environment("DBDUEL_TEST_SOCKET");
    admin(
        Dialect::MySql,
        &[
            format!("CREATE DATABASE {DATABASE}"),
            format!("CREATE USER app@localhost IDENTIFIED BY '{PASSWORD}'"),
            format!("GRANT ALL ON {DATABASE}.* TO app@localhost"),
            "GRANT PROCESS ON *.* TO app@localhost".to_owned(),
        ],
    );
    let mut person = Person::new();
    let home: PathBuf = person.place.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".my.cnf"), format!("[client]\nuser=app\npassword={PASSWORD}\nsocket={socket}\n"))
        .unwrap();
    person.variables.push(("HOME", home.display().to_string()));
    person.names.push((socket, "/run/mysqld/mysqld.sock"));
    person.types("MySQL");
}

#[test]
#[ignore = "needs a server"]
fn a_developer_with_a_database_url() {
    make_shop();
    let port = from_environment("DBDUEL_TEST_PORT");
    let mut person = Person::new();
    let url = format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{DATABASE}?pool=5");
    person.variables.push(("DATABASE_URL", url));
    person.names.push((format!("127.0.0.1:{port}"), "db.example:5432"));
    person.types("PostgreSQL");
}

/// The account and the database that the page has, of this session alone.
fn make_shop() {
    admin(
        Dialect::Postgres,
        &[
            format!("DROP DATABASE IF EXISTS {DATABASE}"),
            "DROP ROLE IF EXISTS app".to_owned(),
            format!("CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"),
            format!("CREATE DATABASE {DATABASE} OWNER app"),
        ],
    );
}

/// PgBouncer in transaction mode, which ends with it.
struct Bouncer(Child);

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bouncer {
    /// One that listens in this folder; None where it is not installed.
    fn start(folder: &Path, server_port: &str) -> Option<Bouncer> {
        // It does not run as root, and becomes nobody.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let (path, file) = (folder.display(), folder.join("pgbouncer.ini"));
        let text = format!(
            "[databases]\n{DATABASE} = host=127.0.0.1 port={server_port}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\n\
             unix_socket_dir = {path}\nauth_type = scram-sha-256\nauth_file = {path}/users\npool_mode = transaction\n\
             default_pool_size = 4\nlogfile = {path}/log\n"
        );
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("users"), format!("\"app\" \"{PASSWORD}\"\n")).unwrap();
        let mut command = Command::new("pgbouncer");
        if geteuid().is_root() {
            command.args(["-u", "nobody"]);
        }
        let child = command.arg("-q").arg(&file).stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let bouncer = Bouncer(child);
        wait_for("PgBouncer listens", LIMIT, || folder.join(".s.PGSQL.6432").exists());
        Some(bouncer)
    }
}

#[test]
#[ignore = "needs a server"]
fn a_developer_whose_database_url_is_that_of_a_pooler() {
    make_shop();
    let port = from_environment("DBDUEL_TEST_PORT");
    let folder = tempfile::tempdir().unwrap();
    let Some(_bouncer) = Bouncer::start(folder.path(), &port) else {
        return print_skipped("PgBouncer is not installed here");
    };
    let mut person = Person::new();
    let at = |host: &str, more: &str| format!("postgres://app:{PASSWORD}@{host}/{DATABASE}{more}");
    let pooled = at("", &format!("?host={}&port=6432", folder.path().display()));
    person.variables.push(("DATABASE_URL", pooled));
    person.variables.push(("DIRECT_URL", at(&format!("127.0.0.1:{port}"), "")));
    person.names.push((folder.path().display().to_string(), "/run/pgbouncer"));
    person.types("PgBouncer");
}
