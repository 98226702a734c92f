//! One row of the matrix: an account, a way to the server, and what must come out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use driver::{Admin, Dialect, Secret};
use engine::target_url::{Around, Found, ThisHost};
use engine::{Candidates, PasswordSource};
use experiment::TargetUrl;

/// Letters that mean something in URLs, connection strings and statements, and one that is no ASCII.
pub const ODD_PASSWORD: &str = ":/@#?% &'\"ü";
pub const PASSWORD: &str = "hunter2";
/// Another than the account's.
pub const WRONG_PASSWORD: &str = "hunter3";
/// In place of a target: what stands in the variable of this name.
pub const DATABASE_URL: &str = "DATABASE_URL";
const LOGIN_LIMIT: Duration = Duration::from_secs(20);
const HEADS: [&str; 3] = ["account", "way", "outcome"];

/// One way of logging in.
pub struct Row {
    account: &'static str,
    way: &'static str,
    /// The target, with its password where that is to be read there.
    text: String,
    password: Option<&'static str>,
    source: PasswordSource,
    variables: Vec<(&'static str, String)>,
    expected: Expected,
    /// What an administrator runs first, such as emptying the server's cache of accounts.
    before: Vec<String>,
}

enum Expected {
    /// The session is that of this user.
    In(String),
    /// The reason has this part.
    Out(&'static str),
}

impl Row {
    /// Logged in as `user` by [`PASSWORD`].
    pub fn lets_in(account: &'static str, way: &'static str, user: &str, text: String) -> Row {
        Row {
            account,
            way,
            text,
            password: Some(PASSWORD),
            source: PasswordSource::Unnamed,
            variables: Vec::new(),
            expected: Expected::In(user.to_owned()),
            before: Vec::new(),
        }
    }

    pub fn refuses(account: &'static str, way: &'static str, why: &'static str, text: String) -> Row {
        Row { expected: Expected::Out(why), ..Row::lets_in(account, way, "", text) }
    }

    /// By the password of the target itself, or by none.
    pub fn by_itself(self) -> Row {
        Row { password: None, ..self }
    }

    pub fn by(self, password: &'static str) -> Row {
        Row { password: Some(password), ..self }
    }

    /// By what the environment and the files of a user's home have.
    pub fn with(self, variables: Vec<(&'static str, String)>) -> Row {
        Row { variables, ..self.by_itself() }
    }

    pub fn asking(self, source: PasswordSource) -> Row {
        Row { source, ..self.by_itself() }
    }

    pub fn behind(mut self, before: &str) -> Row {
        self.before.push(before.to_owned());
        self
    }

    /// None where it is as it must be, else what came out.
    fn broken(&self, admin: &mut Admin) -> Option<String> {
        for sql in &self.before {
            if let Err(error) = admin.run(sql) {
                return Some(format!("{sql}: {error}"));
            }
        }
        match (self.user().map_err(|error| format!("{error:#}")), &self.expected) {
            (Ok(user), Expected::In(wanted)) if user == *wanted => None,
            (Ok(user), Expected::In(_) | Expected::Out(_)) => Some(format!("let in as {user}")),
            (Err(error), _) if error.contains(PASSWORD) => Some(format!("the password is shown: {error}")),
            (Err(error), _) if error.contains("server error") && driver::advice_in(&error).is_none() => {
                Some(format!("no advice: {error}"))
            }
            (Err(error), Expected::Out(part)) if error.contains(part) => None,
            (Err(error), _) => Some(error),
        }
    }

    /// Who the server takes the session for.
    fn user(&self) -> Result<String> {
        let around = Surroundings(&self.variables);
        let url = if self.text == DATABASE_URL {
            TargetUrl::of_database_url(&around).context("the row has no DATABASE_URL")?
        } else {
            TargetUrl::parse(&self.text)
        };
        let url = url.map_err(anyhow::Error::msg)?;
        let url = TargetUrl { password: self.password.map(Secret::new).or(url.password.clone()), ..url };
        let target = Candidates::of(&url, &self.source, &around)?.located()?.url.target();
        let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, LOGIN_LIMIT)?;
        let question = if target.dialect == Dialect::Postgres {
            "SELECT current_user"
        } else {
            "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
        };
        admin.rows(question)?.into_iter().flatten().flatten().next().context("no answer")
    }
}

/// Prints the rows as a table; how many are not as they must be.
pub fn print_table(rows: &[Row], admin: &mut Admin) -> usize {
    let width = |head: &str, cell: fn(&Row) -> &str| {
        rows.iter().map(|row| cell(row).chars().count()).chain([head.len()]).max().unwrap_or_default()
    };
    let (account, way) = (width(HEADS[0], |row| row.account), width(HEADS[1], |row| row.way));
    let line = |cells: [&str; 3]| println!("| {:<account$} | {:<way$} | {} |", cells[0], cells[1], cells[2]);
    line(HEADS);
    println!("|{}|{}|---|", "-".repeat(account + 2), "-".repeat(way + 2));
    let mut broken = 0;
    for row in rows {
        let found = row.broken(admin);
        let expected = match &row.expected {
            Expected::In(_) => "in".to_owned(),
            Expected::Out(why) => format!("refused: {why}"),
        };
        broken += usize::from(found.is_some());
        let outcome = found.map_or(expected.clone(), |found| format!("FAILED: {expected} was expected; {found}"));
        line([row.account, row.way, &outcome]);
    }
    broken
}

/// The variables of one row, and the files of this host: nothing of the user who runs the command.
struct Surroundings<'a>(&'a [(&'static str, String)]);

impl Around for Surroundings<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
    }

    fn file(&self, path: &Path) -> Result<Option<Found>, String> {
        ThisHost.file(path)
    }

    fn is_socket(&self, path: &Path) -> bool {
        ThisHost.is_socket(path)
    }

    fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        ThisHost.files_in(folder)
    }

    fn account(&self) -> Option<String> {
        ThisHost.account()
    }
}
