//! Which server is meant: a URL, or what libpq's words and variables say.

use std::path::PathBuf;

use driver::Secret;
use experiment::{TargetKind, TargetUrl};

use super::options::Request;

/// Where Debian's servers have their sockets.
const SOCKET_FOLDER: &str = "/var/run/postgresql";

/// The server of a request; the database is its last word.
pub fn of(request: &Request) -> Result<TargetUrl, String> {
    resolve(request, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn resolve(request: &Request, environment: &dyn Fn(&str) -> Option<String>) -> Result<TargetUrl, String> {
    let password = || environment("PGPASSWORD").or_else(|| environment("DBDUEL_PASSWORD")).map(Secret::new);
    let url = match (&request.target, request.database.as_deref()) {
        (Some(url), None) => Some(url.clone()),
        (Some(_), Some(word)) => return Err(format!("--target names the database, so `{word}` is one too many")),
        (None, Some(word)) if word.contains("://") => Some(TargetUrl::parse(word)?),
        (None, _) => None,
    };
    if let Some(mut url) = url {
        if request.host.is_some() || request.port.is_some() || request.user.is_some() {
            return Err("a URL says it all: give no --host, --port and --username beside it".to_owned());
        }
        url.password = url.password.or_else(password);
        return Ok(url);
    }
    let mut words = Words {
        host: request.host.clone().or_else(|| environment("PGHOST")),
        port: request.port.or_else(|| environment("PGPORT").and_then(|port| port.parse().ok())),
        user: request.user.clone().or_else(|| environment("PGUSER")),
        database: request.database.clone().filter(|word| !word.contains('=')).or_else(|| environment("PGDATABASE")),
        password: password(),
    };
    if let Some(text) = request.database.as_deref().filter(|word| word.contains('=')) {
        words.read(text)?;
    }
    Ok(words.target(environment("USER")))
}

/// What libpq would connect by.
struct Words {
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    database: Option<String>,
    password: Option<Secret>,
}

impl Words {
    /// A connection string: `host=/run dbname=bench`.
    fn read(&mut self, text: &str) -> Result<(), String> {
        for pair in text.split_whitespace() {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(format!("`{pair}` in the connection string: name=value was expected"));
            };
            let value = value.trim_matches('\'').to_owned();
            match key {
                "host" => self.host = Some(value),
                "port" => self.port = Some(value.parse().map_err(|_| format!("port `{value}` is no number"))?),
                "user" => self.user = Some(value),
                "dbname" => self.database = Some(value),
                "password" => {
                    return Err("`password` in the connection string can be read by every user of this machine\n  next: give it in PGPASSWORD".to_owned());
                }
                _ => {
                    let known = "known are host, port, user and dbname; --target takes a URL with tls";
                    return Err(format!("`{key}` in the connection string is not built yet; {known}"));
                }
            }
        }
        Ok(())
    }

    /// Each name that nobody gave follows from the one before, as in libpq.
    fn target(self, account: Option<String>) -> TargetUrl {
        let mut target = TargetUrl::of_kind(TargetKind::Postgres);
        target.user = self.user.or(account).unwrap_or(target.user);
        target.database = self.database.unwrap_or_else(|| target.user.clone());
        target.port = self.port.unwrap_or(target.port);
        target.password = self.password;
        let host = self.host.unwrap_or_else(|| SOCKET_FOLDER.to_owned());
        if host.starts_with('/') {
            target.socket = Some(PathBuf::from(host));
        } else {
            target.host = host;
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &Request, environment: &[(&str, &str)], expected: Result<(&str, &str, u16, &str), &str>) {
        let of = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let found = resolve(request, &of);
        match (&found, expected) {
            (Ok(target), Ok(wanted)) => {
                let host = target.socket.as_ref().map_or(target.host.as_str(), |folder| folder.to_str().unwrap());
                assert_eq!((target.user.as_str(), host, target.port, target.database.as_str()), wanted);
            }
            (Err(why), Err(wanted)) => assert!(why.contains(wanted), "{why}"),
            _ => panic!("{found:?}, {expected:?}"),
        }
    }

    #[test]
    fn words_and_variables_name_the_server_as_in_libpq() {
        let request = |database: Option<&str>| Request { database: database.map(str::to_owned), ..Request::default() };
        check(&request(None), &[("USER", "ann")], Ok(("ann", SOCKET_FOLDER, 5432, "ann")));
        let variables = [("PGHOST", "db"), ("PGPORT", "7"), ("PGUSER", "bob"), ("PGDATABASE", "x")];
        check(&request(None), &variables, Ok(("bob", "db", 7, "x")));
        check(&request(Some("y")), &variables, Ok(("bob", "db", 7, "y")));
        check(&request(Some("host=/run dbname=z user=eve")), &variables, Ok(("eve", "/run", 7, "z")));
        check(&request(Some("postgres://u@h:9/d")), &variables, Ok(("u", "h", 9, "d")));
        check(&request(Some("sslmode=require")), &[], Err("`sslmode` in the connection string is not built yet"));
        let beside = Request { host: Some("h".to_owned()), ..request(Some("postgres://u@h/d")) };
        check(&beside, &[], Err("a URL says it all"));
    }
}
