//! The server whose statements are logged: where it is, and sessions with it.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use driver::{Admin, Dialect, Secret};
use engine::target_url::{TargetUrl, ThisHost};
use engine::{Candidates, Located, PasswordSource, login_failure};
use serde_json::{Value, json};

const LOGIN_LIMIT: Duration = Duration::from_secs(10);
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A server, with everything that a login needs.
#[derive(Debug, Clone)]
pub struct Tapped {
    /// One place.
    url: TargetUrl,
    password: PasswordSource,
}

/// Keep the statements of a session out of the log.
fn unlogged(dialect: Dialect) -> [&'static str; 2] {
    match dialect {
        Dialect::Postgres => ["SET log_statement = 'none'", "SET log_min_duration_statement = -1"],
        _ => ["SET SESSION sql_log_off = 1", "SET SESSION long_query_time = 3600"],
    }
}

impl Tapped {
    /// The first server that the URL may mean and that answers; a line names what came from where.
    pub fn of(url: &TargetUrl, password: &PasswordSource) -> Result<(Tapped, Option<String>)> {
        let Located { url, sources } = Candidates::of(url, password, &ThisHost)?.located()?;
        Ok((Tapped { url, password: password.clone() }, sources))
    }

    pub fn dialect(&self) -> Dialect {
        self.url.kind.dialect()
    }

    /// Its URL without a password.
    pub fn text(&self) -> String {
        self.url.to_string()
    }

    pub fn session(&self) -> Result<Admin> {
        let renewed = match &self.password {
            PasswordSource::Command(_) => self.password.ask(&ThisHost)?,
            _ => None,
        };
        let url = TargetUrl { password: renewed.or_else(|| self.url.password.clone()), ..self.url.clone() };
        let admin = Admin::connect(self.dialect(), &url.endpoint(), &url.login(), LOGIN_LIMIT);
        let mut admin = admin.map_err(|error| login_failure(&url, &error))?;
        admin.set_timeout(Some(ANSWER_LIMIT))?;
        for statement in unlogged(self.dialect()) {
            // An account that may not do so has its few statements in the log.
            let _ = admin.run(statement);
        }
        Ok(admin)
    }

    /// For the guard, through a pipe that nobody else reads: it holds the password.
    pub(crate) fn handed_over(&self) -> Value {
        let command = match &self.password {
            PasswordSource::Command(command) => Some(command),
            _ => None,
        };
        let password = self.url.password.as_ref().map(Secret::expose);
        json!({ "target": self.text(), "password": password, "password_command": command })
    }

    pub(crate) fn taken_over(value: &Value) -> Result<Tapped> {
        let Some(target) = value["target"].as_str() else { bail!("no target was handed over") };
        let url = TargetUrl::parse(target).map_err(|why| anyhow!(why)).context("the target that was handed over")?;
        let url = TargetUrl { password: value["password"].as_str().map(Secret::new), ..url };
        let command = value["password_command"].as_str();
        let password = command.map_or(PasswordSource::Unnamed, |command| PasswordSource::Command(command.to_owned()));
        Ok(Tapped { url, password })
    }
}
