//! Where a store is: `postgres://user@host/db?schema=dbduel&sslmode=require`.
//!
//! It is the URL of a target with a schema and a file of the password. What must stay true: no text made here holds a
//! password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use driver::{Admin, Dialect, Error};
use engine::target_url::{TargetKind, TargetUrl};
use engine::{STORE_PASSWORD_VARIABLE, password};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const DEFAULT_SCHEMA: &str = "dbduel";
/// PostgreSQL cuts off a longer name.
const SCHEMA_BYTES_MAX: usize = 63;
const EXPECTED: &str =
    "expected postgres://user@host[:port]/database[?schema=NAME&sslmode=require&password_file=/PATH]";
const ESCAPED_IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest wait for an answer; the largest file travels in one statement.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUrl {
    target: TargetUrl,
    schema: String,
    password_file: Option<PathBuf>,
}

impl StoreUrl {
    /// Takes a URL apart. The error never quotes a password.
    pub fn parse(text: &str) -> Result<StoreUrl, String> {
        let (server, query) = text.split_once('?').unwrap_or((text, ""));
        let mut url = (DEFAULT_SCHEMA.to_owned(), None);
        let mut others = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "schema" => url.0 = decoded(value)?,
                "password_file" => url.1 = Some(PathBuf::from(decoded(value)?)),
                "sslmode" => others.push(format!("tls={}", tls_of(value)?)),
                _ => others.push(option.to_owned()),
            }
        }
        expect_whole(server)?;
        let sign = if others.is_empty() { "" } else { "?" };
        let parsed = TargetUrl::parse(&format!("{server}{sign}{}", others.join("&")));
        let settled = parsed.and_then(|mut target| target.settle().map(|()| target));
        let target = settled.map_err(|error| error.replace("target", "store"))?;
        if target.kind != TargetKind::Postgres {
            return Err(format!("a store is a PostgreSQL database; {EXPECTED}"));
        }
        let (schema, password_file) = url;
        if schema.is_empty() || schema.len() > SCHEMA_BYTES_MAX || schema.contains('\0') {
            return Err(format!("the schema of a store has a name of 1 to {SCHEMA_BYTES_MAX} bytes; {EXPECTED}"));
        }
        Ok(StoreUrl { target, schema, password_file })
    }

    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The schema as it stands in a statement.
    pub fn quoted_schema(&self) -> String {
        format!("\"{}\"", self.schema.replace('"', "\"\""))
    }

    /// Logs in.
    pub fn connect(&self) -> Result<Admin> {
        let mut target = self.target.clone();
        target.password = password(&target, self.password_file.as_deref(), STORE_PASSWORD_VARIABLE)?;
        let mut login = target.login();
        login.on_connect = vec![
            "SET client_encoding = 'UTF8'".to_owned(),
            "SET standard_conforming_strings = on".to_owned(),
            "SET application_name = 'dbduel'".to_owned(),
            format!("SET search_path = {}", self.quoted_schema()),
        ];
        let admin = Admin::connect(Dialect::Postgres, &target.endpoint(), &login, LOGIN_LIMIT);
        let failed = |error: &Error| if matches!(error, Error::Refused { .. }) { "log in to" } else { "reach" };
        let mut admin = admin.map_err(|error| {
            let text = format!("cannot {} the store {self}", failed(&error));
            anyhow::Error::from(error).context(text)
        })?;
        admin.set_timeout(Some(ANSWER_LIMIT))?;
        Ok(admin)
    }
}

/// The account and the database are the user's to name: those of sysbench are no place for results.
fn expect_whole(server: &str) -> Result<(), String> {
    let Some((_, rest)) = server.split_once("://") else { return Err(format!("the store is no URL; {EXPECTED}")) };
    let (authority, path) = rest.rsplit_once('/').unwrap_or((rest, ""));
    match (authority.contains('@'), path.is_empty()) {
        (false, _) => Err(format!("the store names no user; {EXPECTED}")),
        (_, true) => Err(format!("the store names no database; {EXPECTED}")),
        _ => Ok(()),
    }
}

/// libpq's words that promise what ours do.
fn tls_of(sslmode: &str) -> Result<&'static str, String> {
    match sslmode {
        "disable" => Ok("off"),
        "require" => Ok("require"),
        "verify-full" => Ok("verify"),
        other => Err(format!("sslmode is `{other}`; expected disable, require or verify-full")),
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| format!("an option of the store is no UTF-8 once its %XX are read; {EXPECTED}"))
}

impl fmt::Display for StoreUrl {
    /// A URL of the same store, but for its password: `***` stands there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target.to_string();
        let mut sign = if target.contains('?') { '&' } else { '?' };
        write!(f, "{target}")?;
        if self.schema != DEFAULT_SCHEMA {
            write!(f, "{sign}schema={}", utf8_percent_encode(&self.schema, NON_ALPHANUMERIC))?;
            sign = '&';
        }
        if let Some(file) = &self.password_file {
            write!(f, "{sign}password_file={}", utf8_percent_encode(&file.to_string_lossy(), ESCAPED_IN_PATH))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_prints_as_a_url_of_the_same_store_without_its_password() {
        let check = |text: &str, expected: &str| {
            let url = StoreUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(url.to_string(), expected);
            let again = StoreUrl::parse(expected).unwrap();
            assert_eq!((again.schema, again.password_file), (url.schema, url.password_file));
        };
        check("postgres://me@db/results", "postgres://me@db/results");
        check("postgresql://me:pw@db:6000/results?sslmode=verify-full", "postgres://me:***@db:6000/results?tls=verify");
        check("postgres://me@db/x?schema=team%20a", "postgres://me@db/x?schema=team%20a");
        check(
            "postgres://me@/x?host=/run/pg&password_file=/etc/a%20b&schema=q",
            "postgres://me@/x?host=/run/pg&schema=q&password_file=/etc/a%20b",
        );
    }

    #[test]
    fn a_store_is_a_whole_url_of_a_database_of_postgresql() {
        let check = |text: &str, part: &str| {
            let error = StoreUrl::parse(text).unwrap_err();
            assert!(
                error.contains(part) && error.contains("expected") && !error.contains("hunter2"),
                "{text}: {error}"
            );
        };
        check("results", "no URL");
        check("mysql://me:hunter2@db/x", "PostgreSQL database");
        check("postgres://db/x", "no user");
        check("postgres://me:hunter2@db", "no database");
        check("postgres://me:hunter2@db/", "no database");
        check("postgres://me@db/x?sslmode=prefer", "`prefer`");
        check("postgres://me@db/x?schema=", "schema");
        let unknown = StoreUrl::parse("postgres://me@db/x?ssl=1").unwrap_err();
        assert!(unknown.contains("`ssl` is no option of this store"), "{unknown}");
    }

    #[test]
    fn a_schema_with_a_quote_stays_one_name() {
        let url = StoreUrl::parse("postgres://me@db/x?schema=a%22b").unwrap();
        assert_eq!(url.quoted_schema(), "\"a\"\"b\"");
    }
}
