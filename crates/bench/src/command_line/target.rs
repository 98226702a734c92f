//! Which server is meant: a URL, or sysbench's `--mysql-*` and `--pgsql-*`.

use std::path::PathBuf;

use driver::Secret;

use experiment::{Place, TargetKind, TargetUrl, TlsMode};

/// One family of sysbench's options. Lists are empty where nothing was given.
#[derive(Debug, Default)]
pub struct LoginParts {
    pub hosts: Vec<String>,
    pub ports: Vec<u16>,
    pub sockets: Vec<PathBuf>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<String>,
}

impl LoginParts {
    fn is_empty(&self) -> bool {
        let LoginParts { hosts, ports, sockets, user, password, database } = self;
        hosts.is_empty()
            && ports.is_empty()
            && sockets.is_empty()
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
    pub compressed: Option<bool>,
}

impl TargetParts {
    /// Nothing was given.
    pub fn is_open(&self) -> bool {
        self.url.is_none() && self.driver.is_none() && self.mysql.is_empty() && self.pgsql.is_empty()
    }

    /// The target that was described; several, of one login, where lists of hosts, ports or sockets were given.
    /// `default` is meant where nothing was given at all. In a dry run only their kind matters, and it need not be given.
    pub fn resolve(self, is_dry_run: bool, default: Option<TargetUrl>) -> Result<Vec<TargetUrl>, String> {
        let is_open = self.is_open();
        let TargetParts { url, driver, mysql, pgsql, tls, compressed } = self;
        let mut targets = match url {
            Some(url) if mysql.is_empty() && pgsql.is_empty() => vec![url],
            Some(_) => return Err("--target says it all: give no --mysql-* and --pgsql-* options beside it".to_owned()),
            None if is_open && !is_dry_run => {
                vec![default.ok_or_else(no_target)?]
            }
            None => {
                let guess =
                    if mysql.is_empty() && !pgsql.is_empty() { TargetKind::Postgres } else { TargetKind::Mysql };
                let kind = driver.unwrap_or(guess);
                let parts = if kind == TargetKind::Postgres { pgsql } else { mysql };
                of_parts(kind, parts)
            }
        };
        for target in &mut targets {
            target.tls = tls.or(target.tls);
            target.compressed = compressed.unwrap_or(target.compressed);
            if target.compressed && !target.kind.dialect().can_compress() {
                return Err("--compression: only the protocol of MySQL and MariaDB can".to_owned());
            }
            if target.kind == TargetKind::Sqlite && target.tls() != TlsMode::Off {
                return Err("--tls: a SQLite file has no connection to encrypt".to_owned());
            }
            let is_plain = target.tls() == TlsMode::Off && !target.compressed;
            if is_dry_run && (target.kind == TargetKind::Sqlite || !is_plain) {
                return Err("--dry-run: only plain connections to MySQL and PostgreSQL can be pretended".to_owned());
            }
        }
        Ok(targets)
    }
}

fn no_target() -> String {
    "which server? give --target mysql://user@host/db (or postgres://, sqlite:///path), or sysbench's --mysql-host, --mysql-socket, --pgsql-host …, or DATABASE_URL in the environment".to_owned()
}

/// In the order in which sysbench goes round: each socket, where there are any, else each port of the first host,
/// then of the next.
fn of_parts(kind: TargetKind, parts: LoginParts) -> Vec<TargetUrl> {
    let LoginParts { hosts, ports, sockets, user, password, database } = parts;
    let mut shared = TargetUrl::of_kind(kind);
    shared.user = user.or(shared.user);
    shared.database = database.or(shared.database);
    shared.password = password;
    let hosts = if hosts.is_empty() { vec![shared.host().to_owned()] } else { hosts };
    let ports = if ports.is_empty() { vec![shared.port()] } else { ports };
    let at = |place: Place| TargetUrl { place, ..shared.clone() };
    if !sockets.is_empty() {
        let place = Place { host: Some(host_name(&hosts[0], &shared)), port: Some(ports[0]), ..Place::default() };
        return sockets.into_iter().map(|socket| at(Place { socket: Some(socket), ..place.clone() })).collect();
    }
    let by_network = |host: &String, port: &u16| {
        at(Place {
            socket: (is_folder(host) && kind == TargetKind::Postgres).then(|| PathBuf::from(host)),
            host: Some(host_name(host, &shared)),
            port: Some(*port),
            ..Place::default()
        })
    };
    hosts.iter().flat_map(|host| ports.iter().map(move |port| (host, port))).map(|(h, p)| by_network(h, p)).collect()
}

/// libpq takes a host that begins with a slash for the folder of the socket.
fn is_folder(host: &str) -> bool {
    host.starts_with('/')
}

fn host_name(host: &str, otherwise: &TargetUrl) -> String {
    if is_folder(host) { otherwise.host().to_owned() } else { host.to_owned() }
}

/// One value where `--mysql-*` would take a list.
pub fn only_one(text: &str) -> Result<&str, String> {
    match text.split_once(',') {
        None => Ok(text),
        Some((first, _)) => Err(format!("only --mysql-* options take lists: give one, such as `{first}`")),
    }
}
