//! `DATABASE_URL`, as Rails, Django and others spell it.
//!
//! Schemes name drivers, and options are those of a pool of connections, which has no use here.

use std::path::Path;

use super::around::Around;
use super::model::{TargetKind, TargetUrl};
use super::written::decoded;

pub const DATABASE_URL: &str = "DATABASE_URL";

/// The reader of every other URL.
pub type Parse = fn(&str) -> Result<TargetUrl, String>;

/// Options of the frameworks themselves.
const OF_FRAMEWORKS: [&str; 13] = [
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

/// The target that the variable names; None where it is not set.
pub fn read(around: &dyn Around, parse: Parse) -> Option<Result<TargetUrl, String>> {
    let text = around.variable(DATABASE_URL)?;
    Some(of(&text, around, parse).map_err(|why| format!("{DATABASE_URL}: {why}")))
}

fn of(text: &str, around: &dyn Around, parse: Parse) -> Result<TargetUrl, String> {
    let Some((scheme, rest)) = text.split_once(':').filter(|(scheme, _)| *scheme != "jdbc" && !scheme.contains('='))
    else {
        return parse(text);
    };
    // `postgresql+psycopg2`, `mysql+pymysql`
    let scheme = scheme.split('+').next().unwrap_or(scheme).to_ascii_lowercase();
    let scheme = match scheme.as_str() {
        "sqlite" | "sqlite3" => return file(rest, around),
        "mysql2" | "trilogy" | "mysql-connector" => "mysql",
        "postgis" | "pgsql" | "psql" => "postgres",
        other => other,
    };
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let is_of_framework = |option: &&str| OF_FRAMEWORKS.contains(&option.split('=').next().unwrap_or_default());
    let (idle, options): (Vec<&str>, Vec<&str>) =
        query.into_iter().flat_map(|query| query.split('&')).filter(|one| !one.is_empty()).partition(is_of_framework);
    // Rails has these names without a hyphen.
    let named = |option: &&str| {
        ["sslca", "sslcert", "sslkey"].iter().find_map(|name| {
            let rest = option.strip_prefix(name).filter(|rest| scheme == "mysql" && rest.starts_with('='))?;
            Some(format!("ssl-{}{rest}", &name[3..]))
        })
    };
    let options: Vec<String> =
        options.iter().map(|option| named(option).unwrap_or_else(|| (*option).to_owned())).collect();
    let sign = if options.is_empty() { "" } else { "?" };
    let mut target = parse(&format!("{scheme}:{before}{sign}{}", options.join("&")))?;
    target.idle.extend(idle.iter().map(|option| option.split('=').next().unwrap_or_default().to_owned()));
    Ok(target)
}

/// Four slashes are an absolute path; three are one for Rails and a relative one for Django and SQLAlchemy, so the file
/// that is there decides.
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
        None => rest.to_owned(),
    };
    if path.is_empty() || path.ends_with('/') || path == ":memory:" {
        return Err("the SQLite target names no file; expected sqlite:///path".to_owned());
    }
    let path = std::path::absolute(&path).map_err(|error| format!("{path}: {error}"))?;
    Ok(TargetUrl { database: Some(path.display().to_string()), ..TargetUrl::open(TargetKind::Sqlite) })
}
