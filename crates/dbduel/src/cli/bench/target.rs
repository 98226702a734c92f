//! Which server is meant: a URL, or sysbench's `--mysql-*` and `--pgsql-*`.

use std::path::PathBuf;

use driver::Secret;

use crate::experiment::{TargetKind, TargetUrl, TlsMode};

/// What one family of sysbench's options says.
#[derive(Debug, Default)]
pub struct LoginParts {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<String>,
}

impl LoginParts {
    fn is_empty(&self) -> bool {
        let LoginParts { host, port, socket, user, password, database } = self;
        host.is_none()
            && port.is_none()
            && socket.is_none()
            && user.is_none()
            && password.is_none()
            && database.is_none()
    }
}

#[derive(Debug, Default)]
pub struct TargetParts {
    pub url: Option<TargetUrl>,
    pub driver: Option<TargetKind>,
    pub mysql: LoginParts,
    pub pgsql: LoginParts,
    pub tls: Option<TlsMode>,
}

impl TargetParts {
    /// The one target that was described.
    pub fn resolve(self) -> Result<TargetUrl, String> {
        let TargetParts { url, driver, mysql, pgsql, tls } = self;
        let mut target = match url {
            Some(url) if mysql.is_empty() && pgsql.is_empty() => url,
            Some(_) => return Err("--target says it all: give no --mysql-* and --pgsql-* options beside it".to_owned()),
            None if mysql.is_empty() && pgsql.is_empty() && driver.is_none() => return Err(no_target()),
            None => {
                let guess =
                    if mysql.is_empty() && !pgsql.is_empty() { TargetKind::Postgres } else { TargetKind::Mysql };
                let kind = driver.unwrap_or(guess);
                let parts = if kind == TargetKind::Postgres { pgsql } else { mysql };
                of_parts(kind, parts)
            }
        };
        target.tls = tls.unwrap_or(target.tls);
        if target.kind == TargetKind::Sqlite && target.tls != TlsMode::Off {
            return Err("--tls: a SQLite file has no connection to encrypt".to_owned());
        }
        Ok(target)
    }
}

fn no_target() -> String {
    "which server? give --target mysql://user@host/db (or postgres://, sqlite:///path), or sysbench's --mysql-host, --mysql-socket, --pgsql-host …".to_owned()
}

fn of_parts(kind: TargetKind, parts: LoginParts) -> TargetUrl {
    let mut target = TargetUrl::of_kind(kind);
    // libpq takes a host that begins with a slash for the folder of the socket.
    let folder = parts.host.clone().filter(|host| host.starts_with('/') && kind == TargetKind::Postgres);
    target.socket = parts.socket.or(folder.map(PathBuf::from));
    target.host = parts.host.filter(|host| !host.starts_with('/')).unwrap_or(target.host);
    target.port = parts.port.unwrap_or(target.port);
    target.user = parts.user.unwrap_or(target.user);
    target.database = parts.database.unwrap_or(target.database);
    target.password = parts.password;
    target
}

/// One value where sysbench would rotate over a list.
pub fn only_one(text: &str) -> Result<&str, String> {
    match text.split_once(',') {
        None => Ok(text),
        Some((first, _)) => Err(format!(
            "connections are not dealt out over several servers here: give one, such as `{first}`, and run once per server"
        )),
    }
}
