//! URLs as Rails, Django, SQLAlchemy and others spell them.
//!
//! Schemes name drivers, and options are those of a pool of connections, which has no use here.

use std::path::Path;

use super::around::Around;
use super::model::{TargetKind, TargetUrl};
use super::written::decoded;

/// Options of the frameworks themselves.
const OPTIONS: [&str; 13] = [
    "pool",
    "max_connections",
    "timeout",
    "checkout_timeout",
    "idle_timeout",
    "reconnect",
    "prepared_statements",
    "statement_limit",
    "encoding",
    "conn_max_age",
    "conn_health_checks",
    "connection_limit",
    "pool_timeout",
];

/// Scheme and rest of a URL in the words of the servers' own clients, and the options without use.
pub fn respelt(scheme: &str, rest: &str) -> (String, String, Vec<String>) {
    // `postgresql+psycopg2`, `mysql+pymysql`
    let scheme = scheme.split('+').next().unwrap_or(scheme).to_ascii_lowercase();
    let scheme = match scheme.as_str() {
        "mysql2" | "trilogy" | "mysql-connector" => "mysql",
        "postgis" | "pgsql" | "psql" => "postgres",
        other => other,
    };
    let Some((before, query)) = rest.split_once('?') else {
        return (scheme.to_owned(), rest.to_owned(), Vec::new());
    };
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let is_idle = |option: &&str| OPTIONS.contains(&name(option).as_str());
    let (idle, options): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_idle);
    // Rails has these names without a hyphen.
    let hyphened = |option: &str| {
        ["sslca", "sslcert", "sslkey"].iter().find_map(|name| {
            let rest = option.strip_prefix(name).filter(|rest| scheme == "mysql" && rest.starts_with('='))?;
            Some(format!("ssl-{}{rest}", &name[3..]))
        })
    };
    let options: Vec<String> = options.iter().map(|one| hyphened(one).unwrap_or_else(|| (*one).to_owned())).collect();
    let sign = if options.is_empty() { "" } else { "?" };
    let rest = format!("{before}{sign}{}", options.join("&"));
    (scheme.to_owned(), rest, idle.into_iter().map(name).collect())
}

/// The file of SQLite that a `DATABASE_URL` names; None where it names another server. Four slashes are an absolute path;
/// three are one for Rails and a relative one for Django and SQLAlchemy, so the file that is there decides.
pub fn file_of(text: &str, around: &dyn Around) -> Option<Result<TargetUrl, String>> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.split('+').next().unwrap_or(scheme);
    ["sqlite", "sqlite3"].contains(&scheme.to_ascii_lowercase().as_str()).then(|| file(rest, around))
}

fn file(rest: &str, around: &dyn Around) -> Result<TargetUrl, String> {
    let rest = decoded(rest.split('?').next().unwrap_or_default(), "path")?;
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with("//") => path[1..].to_owned(),
        Some(path) if path.starts_with('/') => {
            let is_relative = !around.is_there(Path::new(path)) && around.is_there(Path::new(&path[1..]));
            if is_relative { path[1..].to_owned() } else { path.to_owned() }
        }
        Some(_) => {
            return Err(
                "a SQLite target has no host; expected three slashes before the path: sqlite:///path".to_owned()
            );
        }
        None => rest,
    };
    if path.is_empty() || path.ends_with('/') || path == ":memory:" {
        return Err("the SQLite target names no file; expected sqlite:///path".to_owned());
    }
    let path = std::path::absolute(&path).map_err(|error| format!("{path}: {error}"))?;
    Ok(TargetUrl { database: Some(path.display().to_string()), ..TargetUrl::open(TargetKind::Sqlite) })
}
