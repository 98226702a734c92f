//! Reaching a server that dbduel did not start, and naming what is missing there.
//!
//! An absent database or table is the usual mistake, so its message ends with the line to type.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use driver::{Admin, Endpoint, Error, Login, Target};
use engine::PasswordSource;
use load::{OptionValue, Scratch};

use super::job::Job;
use crate::command_line::Request;
use experiment::{TargetUrl, shell_word};
use trial::target_tables;

/// A server that has not let us in by then is not there.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest answer to a question that any server answers at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// No statement that loads, reads or drops tables may take longer.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);

impl Job {
    /// A session in the workload's database, which must be there.
    pub fn session(&self) -> Result<Admin> {
        match self.database()? {
            Some(admin) => Ok(admin),
            None => Err(anyhow!(
                "there is no database `{}` on {}\n  next: {}{}",
                self.request.target.database(),
                self.request.target,
                self.with_password(),
                self.prepare_line()
            )),
        }
    }

    /// A session in the workload's database; None when the server answers and has no such database.
    pub fn database(&self) -> Result<Option<Admin>> {
        if let Endpoint::File(path) = &self.target.endpoint
            && !path.exists()
        {
            return Ok(None);
        }
        match self.connect(&self.target.login) {
            Ok(admin) => Ok(Some(admin)),
            Err(error) if is_missing_database(&error) => Ok(None),
            Err(error) => Err(self.unreachable(error)),
        }
    }

    /// Makes the database, from a session without one.
    pub fn create_database(&self) -> Result<Admin> {
        let name = self.request.target.database();
        let dialect = self.target.dialect;
        if !dialect.is_embedded() {
            let database = dialect.maintenance_database().map(str::to_owned);
            let login = Login { database, ..self.target.login.clone() };
            let mut admin = self.connect(&login).map_err(|error| self.unreachable(error))?;
            let sql = format!("CREATE DATABASE {}", dialect.quoted(name));
            admin.run(&sql).with_context(|| format!("cannot make the database `{name}`"))?;
        }
        self.connect(&self.target.login).map_err(|error| self.unreachable(error))
    }

    /// Where a load connects that begins now.
    pub fn fresh_target(&self) -> Result<Target> {
        let mut target = self.target.clone();
        target.login.password = self.renewal.password()?.or(target.login.password);
        Ok(target)
    }

    fn connect(&self, login: &Login) -> Result<Admin, Error> {
        // SQLite, which has no login, waits so long for a lock.
        let limit = if self.target.dialect.is_embedded() { STATEMENT_LIMIT } else { LOGIN_LIMIT };
        let renewed = self.renewal.password().map_err(|error| Error::Client(format!("{error:#}")))?;
        let login = Login { password: renewed.or_else(|| login.password.clone()), ..login.clone() };
        let mut admin = Admin::connect(self.target.dialect, &self.target.endpoint, &login, limit)?;
        admin.heed_interruption();
        admin.set_timeout(Some(ANSWER_LIMIT))?;
        Ok(admin)
    }

    /// From here on statements take as long as the tables are large.
    pub fn expect_long_statements(&self, admin: &mut Admin) -> Result<()> {
        Ok(admin.set_timeout(Some(STATEMENT_LIMIT))?)
    }

    fn unreachable(&self, error: Error) -> anyhow::Error {
        engine::login_failure(&self.request.target, &error)
    }

    /// The workload's tables that are on the server, and those that are not.
    pub fn tables(&self, admin: &mut Admin) -> Result<(Vec<String>, Vec<String>)> {
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for table in self.workload.tables(self.target.dialect) {
            let exists = match admin.rows(&format!("SELECT 1 FROM {} WHERE 1 = 0", table.name)) {
                Ok(_) => true,
                Err(error) if is_missing_table(&error) => false,
                Err(error) => return Err(error).with_context(|| format!("cannot read the table {}", table.name)),
            };
            if exists { there.push(table.name) } else { missing.push(table.name) }
        }
        Ok((there, missing))
    }

    /// Fails with the line to type when a table is not there.
    pub fn expect_tables(&self, admin: &mut Admin) -> Result<()> {
        match self.tables(admin)?.1.as_slice() {
            [] => Ok(()),
            missing => Err(anyhow!(
                "{} not there: {} in {}\n  next: {}{}",
                if missing.len() == 1 { "a table is" } else { "tables are" },
                listed(missing),
                self.request.target,
                self.with_password(),
                self.prepare_line()
            )),
        }
    }

    /// Makes sure that no table is dropped under way that dbduel did not make.
    pub fn claim_scratch(&self, admin: &mut Admin) -> Result<()> {
        let Some(scratch) = self.workload.spec().scratch else { return Ok(()) };
        let foreign = target_tables::foreign_tables(admin, &scratch)?;
        ensure!(foreign.is_empty(), self.not_ours(&scratch, &foreign));
        target_tables::make_meta(admin)?;
        target_tables::claim(admin, &scratch)
    }

    /// What runs left that were cut off.
    pub fn left_over(&self, admin: &mut Admin, scratch: &Scratch) -> Result<Vec<String>> {
        let foreign = target_tables::foreign_tables(admin, scratch)?;
        ensure!(foreign.is_empty(), self.not_ours(scratch, &foreign));
        target_tables::scratch_tables(admin, scratch)
    }

    fn not_ours(&self, scratch: &Scratch, foreign: &[String]) -> String {
        format!(
            "{} has tables that {} would drop, and that dbduel did not make: {}\n  next: name another database, or drop them yourself",
            self.request.target,
            scratch.title,
            listed(foreign)
        )
    }

    /// What a next step with one of the lines below begins with: where its password has to stand.
    pub fn with_password(&self) -> &'static str {
        if self.password_is_typed { "with the password in DBDUEL_PASSWORD: " } else { "" }
    }

    pub fn prepare_line(&self) -> String {
        line("prepare", &self.request)
    }

    pub fn cleanup_line(&self) -> String {
        line("cleanup", &self.request)
    }
}

/// A few names, and how many more there are.
pub fn listed(names: &[String]) -> String {
    match names {
        [first, second, third, _, ..] => format!("{first}, {second}, {third} and {} more", names.len() - 3),
        names => names.join(", "),
    }
}

/// A file with its weight, as it stands on a command line.
fn file_word(value: &OptionValue) -> Option<String> {
    match value {
        OptionValue::File { path, .. } => Some(path.clone()),
        OptionValue::Table(entries) => match (entries.get("path"), entries.get("weight")) {
            (Some(path), Some(weight)) => file_word(path).map(|path| format!("{path}@{weight}")),
            (Some(path), None) => file_word(path),
            _ => None,
        },
        _ => None,
    }
}

/// A command for the same tables that can be pasted: the password comes from where this command had it, and one of the
/// command line, which must not be printed, from the environment.
fn line(verb: &str, request: &Request) -> String {
    let url = shell_word(&TargetUrl { password: None, ..request.target.clone() }.to_string());
    let target = if request.target_is_default { String::new() } else { format!(" --target {url}") };
    let password = match &request.password {
        PasswordSource::Unnamed => String::new(),
        PasswordSource::File(path) => format!(" --password-file {}", shell_word(&path.display().to_string())),
        PasswordSource::Variable(name) => format!(" --password-env {}", shell_word(name)),
        PasswordSource::Command(command) => format!(" --password-command {}", shell_word(command)),
    };
    let options = request.workload_options.iter().map(|(name, value)| {
        if let OptionValue::Items(files) = value {
            let words = files.iter().filter_map(file_word);
            let words = if name == "files" { words.collect() } else { vec![words.collect::<Vec<_>>().join(",")] };
            let option = if name == "files" { String::new() } else { format!("--{}=", name.replace('_', "-")) };
            return words.iter().map(|word| format!(" {}", shell_word(&format!("{option}{word}")))).collect();
        }
        let value = match value {
            OptionValue::Text(text) => text.clone(),
            OptionValue::Flag(flag) => (if *flag { "on" } else { "off" }).to_owned(),
            OptionValue::List(names) => names.join(","),
            OptionValue::Table(entries) => {
                entries.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
            }
            value => value.to_string(),
        };
        format!(" {}", shell_word(&format!("--{}={value}", name.replace('_', "-"))))
    });
    let (name, options) = (request.workload.name, options.collect::<String>());
    format!("dbduel {verb} {name}{target}{options}{password}")
}

fn has_code(error: &Error, codes: [&str; 2]) -> bool {
    matches!(error, Error::Refused { code, .. } if codes.contains(&code.as_str()))
}

fn is_missing_database(error: &Error) -> bool {
    has_code(error, ["1049", "3D000"])
}

fn is_missing_table(error: &Error) -> bool {
    // SQLite has one code for all that is wrong with a statement.
    let of_sqlite = matches!(error, Error::Refused { message, .. } if message.starts_with("no such table"));
    of_sqlite || has_code(error, ["1146", "42P01"])
}

#[cfg(test)]
mod tests {
    use driver::Code;

    use super::*;

    #[test]
    fn what_is_missing_is_known_by_its_code() {
        let refused = |code: &str, message: &str| Error::Refused {
            code: Code::new(code.as_bytes()),
            message: message.to_owned(),
        };
        assert!(is_missing_database(&refused("1049", "Unknown database")));
        assert!(is_missing_database(&refused("3D000", "no database")));
        assert!(!is_missing_database(&refused("1045", "Access denied")));
        assert!(is_missing_table(&refused("42P01", "no relation")));
        assert!(is_missing_table(&refused("1", "no such table: sbtest1")));
        assert!(!is_missing_table(&refused("1", "no such column: k")));
    }

    #[test]
    fn lists_stay_short() {
        let names: Vec<String> = (1..=5).map(|n| format!("sbtest{n}")).collect();
        assert_eq!(listed(&names), "sbtest1, sbtest2, sbtest3 and 2 more");
        assert_eq!(listed(&names[..2]), "sbtest1, sbtest2");
    }
}
