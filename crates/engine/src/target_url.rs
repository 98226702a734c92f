//! The URL of a server that dbduel does not manage: `mysql://app@db.example:3306/bench`.
//!
//! It is read here for the experiment file and for the command line alike. Nothing is connected to,
//! and no password is taken from anywhere else. What must stay true: no message and no text made here
//! holds a password, and a part of a URL that cannot be honoured is a mistake.

use std::fmt;
use std::path::{Path, PathBuf};

use driver::{Certificates, ChannelBinding, Dialect, Endpoint, Login, Secret, Tls};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::{ParseError, Url};

use record::secrets::MASK;

/// The account and the database of who names none, as with sysbench.
const DEFAULT_NAME: &str = "sbtest";
const DEFAULT_HOST: &str = "localhost";
/// Stands for a host that is left out behind an account; the library needs one.
const NO_HOST: &str = "no-host.invalid";
const EXPECTED: &str = "expected mysql://user@host[:port]/database, mariadb://, postgres://, or sqlite:///path";

/// What a URL may keep as it is; the rest is written as `%XX`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// In a path the slashes stay too.
const ESCAPED_IN_PATH: &AsciiSet = &ESCAPED.remove(b'/');

/// The kinds of server that a URL can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    Mysql,
    Mariadb,
    Postgres,
    Sqlite,
}

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    #[default]
    Off,
    /// Encrypted, without a check of the server's identity.
    Require,
    /// Encrypted, and a root must vouch for the server's certificate, whose name is not checked.
    VerifyCa,
    /// Encrypted, and a root must vouch for the server's certificate, which must bear its name.
    Verify,
}

/// A target, taken apart; every default is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    pub kind: TargetKind,
    pub user: String,
    pub password: Option<Secret>,
    pub host: String,
    pub port: u16,
    /// The file, where the target is SQLite.
    pub database: String,
    /// The server's socket: MySQL's file, PostgreSQL's folder. It goes before host and port.
    pub socket: Option<PathBuf>,
    pub tls: TlsMode,
    pub certificates: Certificates,
    pub channel_binding: ChannelBinding,
    /// Statements and answers are deflated, as only MySQL's protocol can.
    pub compressed: bool,
}

impl TargetKind {
    /// A name in `engines::ENGINES`.
    pub fn engine(self) -> &'static str {
        match self {
            TargetKind::Mysql => "mysql",
            TargetKind::Mariadb => "mariadb",
            TargetKind::Postgres => "postgres",
            TargetKind::Sqlite => "sqlite",
        }
    }

    pub fn dialect(self) -> Dialect {
        match self {
            TargetKind::Mysql | TargetKind::Mariadb => Dialect::MySql,
            TargetKind::Postgres => Dialect::Postgres,
            TargetKind::Sqlite => Dialect::Sqlite,
        }
    }

    /// The port where servers of this kind listen; 0 for a file.
    pub fn default_port(self) -> u16 {
        match self {
            TargetKind::Mysql | TargetKind::Mariadb => 3306,
            TargetKind::Postgres => 5432,
            TargetKind::Sqlite => 0,
        }
    }

    /// The options that name the server's roots, the client's certificate and its key, as this kind's clients have them.
    fn certificate_keys(self) -> [&'static str; 3] {
        match self {
            TargetKind::Postgres => ["sslrootcert", "sslcert", "sslkey"],
            _ => ["ssl-ca", "ssl-cert", "ssl-key"],
        }
    }

    fn of_scheme(scheme: &str) -> Option<TargetKind> {
        match scheme {
            "mysql" => Some(TargetKind::Mysql),
            "mariadb" => Some(TargetKind::Mariadb),
            "postgres" | "postgresql" => Some(TargetKind::Postgres),
            "sqlite" => Some(TargetKind::Sqlite),
            _ => None,
        }
    }
}

impl TlsMode {
    /// As it stands in a URL.
    pub fn word(self) -> &'static str {
        match self {
            TlsMode::Off => "off",
            TlsMode::Require => "require",
            TlsMode::VerifyCa => "verify-ca",
            TlsMode::Verify => "verify",
        }
    }

    pub fn parse(word: &str) -> Result<TlsMode, String> {
        let modes = [TlsMode::Off, TlsMode::Require, TlsMode::VerifyCa, TlsMode::Verify];
        let found = modes.into_iter().find(|mode| mode.word() == word);
        found.ok_or_else(|| format!("tls is `{word}`; expected off, require, verify-ca or verify"))
    }

    /// libpq's `sslmode` and the `ssl-mode` of MySQL's clients.
    fn of_client(key: &str, word: &str) -> Result<TlsMode, String> {
        match word.to_ascii_lowercase().as_str() {
            "disable" | "disabled" => Ok(TlsMode::Off),
            "require" | "required" => Ok(TlsMode::Require),
            "verify-ca" | "verify_ca" => Ok(TlsMode::VerifyCa),
            "verify-full" | "verify_identity" => Ok(TlsMode::Verify),
            "allow" | "prefer" | "preferred" => Err(format!(
                "{key}={word} lets the server choose whether statements are encrypted, which changes what is measured; expected a mode that decides it, such as {key}=disable{} or {key}=require{}",
                if key == "sslmode" { "" } else { "d" },
                if key == "sslmode" { "" } else { "d" },
            )),
            _ if key == "sslmode" => {
                Err(format!("sslmode is `{word}`; expected disable, require, verify-ca or verify-full"))
            }
            _ => Err(format!("ssl-mode is `{word}`; expected disabled, required, verify_ca or verify_identity")),
        }
    }
}

impl TargetUrl {
    /// The default target of sysbench: an account and a database `sbtest`.
    pub fn of_kind(kind: TargetKind) -> TargetUrl {
        TargetUrl {
            kind,
            user: DEFAULT_NAME.to_owned(),
            password: None,
            host: DEFAULT_HOST.to_owned(),
            port: kind.default_port(),
            database: DEFAULT_NAME.to_owned(),
            socket: None,
            tls: TlsMode::Off,
            certificates: Certificates::default(),
            channel_binding: ChannelBinding::Prefer,
            compressed: false,
        }
    }

    /// Takes a URL apart. The error names what is wrong with it and never quotes a password.
    pub fn parse(text: &str) -> Result<TargetUrl, String> {
        let Some((scheme, _)) = text.split_once("://") else {
            return Err(format!("the target is no URL; {EXPECTED}"));
        };
        let Some(kind) = TargetKind::of_scheme(&scheme.to_ascii_lowercase()) else {
            return Err(format!("`{scheme}://` is no kind of server that dbduel knows; {EXPECTED}"));
        };
        // These end a URL in a line of text, and what is masked there must be the whole password.
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control() || "\"'".contains(letter)) {
            return Err(format!("a space or a quote stands in the target, written %20, %22 or %27 there; {EXPECTED}"));
        }
        let url = Url::parse(&with_host(text)).map_err(parse_error)?;
        if url.fragment().is_some() {
            return Err(format!("a `#` in the target ends it; inside a name or a password write %23; {EXPECTED}"));
        }
        let mut target = TargetUrl::of_kind(kind);
        match kind {
            TargetKind::Sqlite => target.read_file(&url)?,
            _ => target.read_server(&url)?,
        }
        Ok(target)
    }

    fn read_file(&mut self, url: &Url) -> Result<(), String> {
        if url.has_host() && url.host_str() != Some("") {
            return Err(
                "a SQLite target has no host; expected three slashes before the path: sqlite:///path".to_owned()
            );
        }
        if let Some((key, _)) = url.query_pairs().next() {
            return Err(format!("`{key}` means nothing to a SQLite target; expected sqlite:///path"));
        }
        self.database = decoded(url.path(), "path")?;
        if self.database.len() < 2 || self.database.ends_with('/') {
            return Err("the SQLite target names no file; expected sqlite:///path".to_owned());
        }
        Ok(())
    }

    fn read_server(&mut self, url: &Url) -> Result<(), String> {
        if !url.username().is_empty() {
            self.user = decoded(url.username(), "user")?;
        }
        self.password = url.password().map(|password| decoded(password, "password").map(Secret::new)).transpose()?;
        if let Some(host) = url.host_str().filter(|host| !host.is_empty() && *host != NO_HOST) {
            // An address of six is written in brackets, and meant without.
            self.host = decoded(host.trim_start_matches('[').trim_end_matches(']'), "host")?;
        }
        self.port = url.port().unwrap_or(self.port);
        let path = url.path().trim_start_matches('/');
        if path.contains(['/', '@']) {
            return Err(format!(
                "the database name holds `/` or `@`; in a name or a password these are written %2F and %40; {EXPECTED}"
            ));
        }
        if !path.is_empty() {
            self.database = decoded(path, "database")?;
        }
        url.query_pairs().try_for_each(|(key, value)| self.read_option(&key, &value))?;
        self.settle_certificates()
    }

    /// Files of certificates without effect are a mistake, whose user would take the server for verified.
    fn settle_certificates(&mut self) -> Result<(), String> {
        let Certificates { roots, chain, key, .. } = &self.certificates;
        let [root_key, chain_key, private_key] = self.kind.certificate_keys();
        let mode = if self.kind == TargetKind::Postgres { "sslmode=require" } else { "ssl-mode=required" };
        if self.tls == TlsMode::Off && (roots.is_some() || chain.is_some() || key.is_some()) {
            return Err(format!("certificates stand in a target that is not encrypted; expected {mode} beside them"));
        }
        match (chain.is_some(), key.is_some(), roots.is_some() && self.tls == TlsMode::Require) {
            (true, false, _) => return Err(format!("{chain_key} stands alone; expected {private_key} beside it")),
            (false, true, _) => return Err(format!("{private_key} stands alone; expected {chain_key} beside it")),
            // As libpq has it.
            (.., true) if self.kind == TargetKind::Postgres => self.tls = TlsMode::VerifyCa,
            (.., true) => {
                return Err(format!(
                    "{root_key} has no effect with this mode; expected ssl-mode=verify_ca or verify_identity"
                ));
            }
            _ => {}
        }
        if self.channel_binding == ChannelBinding::Require && self.tls == TlsMode::Off {
            return Err(format!("channel_binding=require needs encryption; expected {mode} beside it"));
        }
        Ok(())
    }

    fn read_option(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, self.kind) {
            ("tls", _) => self.tls = TlsMode::parse(value)?,
            ("sslmode", TargetKind::Postgres) => self.tls = TlsMode::of_client(key, value)?,
            ("ssl-mode", TargetKind::Mysql | TargetKind::Mariadb) => self.tls = TlsMode::of_client(key, value)?,
            ("sslrootcert", TargetKind::Postgres) if value == "system" => self.certificates.roots = None,
            (key, kind) if kind.certificate_keys().contains(&key) => {
                let file = Some(socket_path(key, value)?);
                match kind.certificate_keys().iter().position(|known| *known == key) {
                    Some(0) => self.certificates.roots = file,
                    Some(1) => self.certificates.chain = file,
                    _ => self.certificates.key = file,
                }
            }
            ("channel_binding", TargetKind::Postgres) => {
                self.channel_binding = match value {
                    "disable" => ChannelBinding::Disable,
                    "prefer" => ChannelBinding::Prefer,
                    "require" => ChannelBinding::Require,
                    _ => return Err(format!("channel_binding is `{value}`; expected disable, prefer or require")),
                }
            }
            ("port", TargetKind::Postgres) => {
                let port = value.parse().ok().filter(|port| *port > 0);
                self.port = port.ok_or_else(|| format!("the port `{value}` is no number; expected 1 to 65535"))?;
            }
            ("options", TargetKind::Postgres) => {
                return Err("`options` changes settings of the sessions, which no report would show; expected them on the server: ALTER ROLE … SET".to_owned());
            }
            ("compression", TargetKind::Mysql | TargetKind::Mariadb) => {
                self.compressed = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(format!("compression is `{value}`; expected on or off")),
                }
            }
            ("socket", TargetKind::Mysql | TargetKind::Mariadb) => self.socket = Some(socket_path(key, value)?),
            // As libpq has it: a folder when it begins with a slash, else a name.
            ("host", TargetKind::Postgres) if value.starts_with('/') => self.socket = Some(value.into()),
            ("host", TargetKind::Postgres) if !value.is_empty() => self.host = value.to_owned(),
            ("socket", TargetKind::Postgres) => {
                return Err("a PostgreSQL target names its socket's folder: ?host=/folder".to_owned());
            }
            _ => {
                let known = if self.kind == TargetKind::Postgres {
                    "host, port, tls, sslmode, sslrootcert, sslcert, sslkey and channel_binding"
                } else {
                    "socket, tls, ssl-mode, ssl-ca, ssl-cert, ssl-key and compression"
                };
                return Err(format!("`{key}` is no option of this target; known are {known}"));
            }
        }
        Ok(())
    }

    /// Where the target listens.
    pub fn endpoint(&self) -> Endpoint {
        match (&self.socket, self.kind) {
            (_, TargetKind::Sqlite) => Endpoint::File(PathBuf::from(&self.database)),
            // A server's own name for its socket is allowed too.
            (Some(folder), TargetKind::Postgres) if !is_postgres_socket(folder) => {
                Endpoint::Unix(folder.join(format!(".s.PGSQL.{}", self.port)))
            }
            (Some(socket), _) => Endpoint::Unix(socket.clone()),
            (None, _) => Endpoint::Tcp { host: self.host.clone(), port: self.port },
        }
    }

    /// Who connects, into which database.
    pub fn login(&self) -> Login {
        Login {
            user: self.user.clone(),
            password: self.password.clone(),
            // A file of SQLite is its own database.
            database: (self.kind != TargetKind::Sqlite).then(|| self.database.clone()),
            tls: match self.tls {
                TlsMode::Off => Tls::Off,
                TlsMode::Require => Tls::Require,
                TlsMode::VerifyCa => Tls::VerifyCa,
                TlsMode::Verify => Tls::Verify,
            },
            certificates: self.certificates.clone(),
            channel_binding: self.channel_binding,
            on_connect: Vec::new(),
            compressed: self.compressed,
        }
    }

    /// Where the load connects.
    pub fn target(&self) -> driver::Target {
        driver::Target { dialect: self.kind.dialect(), endpoint: self.endpoint(), login: self.login() }
    }
}

fn is_postgres_socket(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".s.PGSQL."))
}

fn socket_path(key: &str, value: &str) -> Result<PathBuf, String> {
    if value.starts_with('/') {
        Ok(value.into())
    } else {
        Err(format!("`{key}` is no absolute path; expected {key}=/path"))
    }
}

/// `postgres://app@/bench?host=/run` is usual, but a URL with an account must have a host.
fn with_host(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((login, host)) if host.is_empty() || host.starts_with(':') => {
            format!("{scheme}://{login}@{NO_HOST}{host}{behind}")
        }
        _ => text.to_owned(),
    }
}

fn decoded(text: &str, part: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| format!("the {part} of the target is no UTF-8 once its %XX are read; {EXPECTED}"))?;
    if text.contains('\0') {
        return Err(format!("the {part} of the target holds a zero byte; {EXPECTED}"));
    }
    Ok(text.into_owned())
}

fn parse_error(error: ParseError) -> String {
    match error {
        ParseError::InvalidPort => format!(
            "the port of the target is no number from 1 to 65535 (a `/`, `@`, `:` or `#` in a password is written %2F, %40, %3A, %23); {EXPECTED}"
        ),
        ParseError::EmptyHost => format!("the target names no host; {EXPECTED}"),
        error => format!("the target cannot be read ({error}); {EXPECTED}"),
    }
}

impl fmt::Display for TargetUrl {
    /// A URL that parses to the same target, but for its password: `***` stands there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        write!(f, "{}://", self.kind.engine())?;
        if self.kind == TargetKind::Sqlite {
            return write!(f, "{}", utf8_percent_encode(&self.database, ESCAPED_IN_PATH));
        }
        write!(f, "{}", name(&self.user))?;
        if self.password.is_some() {
            write!(f, ":{MASK}")?;
        }
        if self.host.contains(':') {
            write!(f, "@[{}]", self.host)?
        } else {
            write!(f, "@{}", self.host)?
        }
        write!(f, ":{}/{}", self.port, name(&self.database))?;
        let mut sign = '?';
        if let Some(socket) = &self.socket {
            let key = if self.kind == TargetKind::Postgres { "host" } else { "socket" };
            write!(f, "{sign}{key}={}", utf8_percent_encode(&socket.to_string_lossy(), ESCAPED_IN_PATH))?;
            sign = '&';
        }
        if self.tls != TlsMode::Off {
            write!(f, "{sign}tls={}", self.tls.word())?;
            sign = '&';
        }
        let Certificates { roots, chain, key, .. } = &self.certificates;
        for (name, file) in self.kind.certificate_keys().iter().zip([roots, chain, key]) {
            let Some(file) = file else { continue };
            write!(f, "{sign}{name}={}", utf8_percent_encode(&file.to_string_lossy(), ESCAPED_IN_PATH))?;
            sign = '&';
        }
        if self.channel_binding != ChannelBinding::Prefer {
            let word = if self.channel_binding == ChannelBinding::Require { "require" } else { "disable" };
            write!(f, "{sign}channel_binding={word}")?;
            sign = '&';
        }
        if self.compressed {
            write!(f, "{sign}compression=on")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port }
    }

    fn check(text: &str, user: &str, password: Option<&str>, endpoint: Endpoint, database: &str) {
        let target = TargetUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(target.user, user, "{text}");
        assert_eq!(target.password.as_ref().map(Secret::expose), password, "{text}");
        assert_eq!(target.endpoint(), endpoint, "{text}");
        assert_eq!(target.database, database, "{text}");
    }

    #[test]
    fn every_form_is_read_with_its_defaults() {
        let unix = |path: &str| Endpoint::Unix(path.into());
        check("mysql://app@db.example:3307/bench", "app", None, tcp("db.example", 3307), "bench");
        check("mysql://", "sbtest", None, tcp("localhost", 3306), "sbtest");
        check("mariadb://app:pw@db", "app", Some("pw"), tcp("db", 3306), "sbtest");
        check("MySQL://db/x", "sbtest", None, tcp("db", 3306), "x");
        check("mysql://root@[::1]:33/x", "root", None, tcp("::1", 33), "x");
        check("mysql://root@localhost/x?socket=/run/my%20sql.sock", "root", None, unix("/run/my sql.sock"), "x");
        check("postgres://app@db/x", "app", None, tcp("db", 5432), "x");
        check("postgresql://db", "sbtest", None, tcp("db", 5432), "sbtest");
        check("postgres://app@/x?host=/run/pg", "app", None, unix("/run/pg/.s.PGSQL.5432"), "x");
        check("postgres://app@:6000/x?host=/run/pg", "app", None, unix("/run/pg/.s.PGSQL.6000"), "x");
        check("postgres:///x?host=/run/pg/.s.PGSQL.7", "sbtest", None, unix("/run/pg/.s.PGSQL.7"), "x");
        check("postgres:///x?host=other", "sbtest", None, tcp("other", 5432), "x");
        check(
            "sqlite:///data/my%20file.db",
            "sbtest",
            None,
            Endpoint::File("/data/my file.db".into()),
            "/data/my file.db",
        );
    }

    #[test]
    fn names_and_passwords_may_hold_what_a_url_escapes() {
        check("mysql://a%40b:p%2F%3A%23%25@db/my%20db", "a@b", Some("p/:#%"), tcp("db", 3306), "my db");
        check("mysql://app:p@ss:w@db/x", "app", Some("p@ss:w"), tcp("db", 3306), "x");
        check("mysql://app:@db/x", "app", None, tcp("db", 3306), "x");
    }

    #[test]
    fn the_encryption_is_that_of_the_url() {
        let tls = |text: &str| TargetUrl::parse(text).unwrap().tls;
        assert_eq!(tls("mysql://db/x"), TlsMode::Off);
        assert_eq!(tls("mysql://db/x?tls=require"), TlsMode::Require);
        assert_eq!(tls("postgres://db/x?host=/run&tls=verify"), TlsMode::Verify);
    }

    #[test]
    fn the_options_of_libpq_and_of_mysqls_clients_mean_what_they_mean_there() {
        let parsed = |text: &str| TargetUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        check(
            "postgres://app@localhost/db?host=/run/pg&port=5433",
            "app",
            None,
            Endpoint::Unix("/run/pg/.s.PGSQL.5433".into()),
            "db",
        );
        let mode = |text: &str, expected: TlsMode| assert_eq!(parsed(text).tls, expected, "{text}");
        mode("postgres://db/x?sslmode=disable", TlsMode::Off);
        mode("postgres://db/x?sslmode=require", TlsMode::Require);
        mode("postgres://db/x?sslmode=require&sslrootcert=/r", TlsMode::VerifyCa);
        mode("postgres://db/x?sslrootcert=system&sslmode=verify-full", TlsMode::Verify);
        mode("mysql://db/x?ssl-mode=REQUIRED", TlsMode::Require);
        mode("mysql://db/x?ssl-mode=VERIFY_CA&ssl-ca=/r", TlsMode::VerifyCa);
        mode("mariadb://db/x?ssl-mode=verify_identity", TlsMode::Verify);
        let login = parsed("postgres://db/x?sslmode=require&sslcert=/c&sslkey=/k&channel_binding=require").login();
        assert_eq!(login.certificates.chain, Some("/c".into()));
        assert_eq!(login.certificates.key, Some("/k".into()));
        assert_eq!(login.channel_binding, ChannelBinding::Require);
        let login = parsed("mysql://db/x?ssl-mode=required&ssl-cert=/c&ssl-key=/k").login();
        assert_eq!((login.certificates.chain, login.certificates.key), (Some("/c".into()), Some("/k".into())));
    }

    #[test]
    fn an_option_that_would_change_the_measurement_or_protect_nothing_is_refused() {
        let check = |text: &str, part: &str| {
            let error = TargetUrl::parse(text).unwrap_err();
            assert!(error.contains(part) && error.contains("expected"), "{text}: {error}");
        };
        check("postgres://db/x?sslmode=prefer", "changes what is measured");
        check("mysql://db/x?ssl-mode=PREFERRED", "ssl-mode=disabled or ssl-mode=required");
        check("postgres://db/x?sslmode=on", "sslmode is `on`");
        check("postgres://db/x?options=-c%20work_mem%3D1", "ALTER ROLE");
        check("postgres://db/x?sslrootcert=/r", "not encrypted");
        check("postgres://db/x?sslmode=require&sslcert=/c", "sslkey beside it");
        check("mysql://db/x?ssl-mode=required&ssl-key=/k", "ssl-cert beside it");
        check("mysql://db/x?ssl-mode=required&ssl-ca=/r", "ssl-ca has no effect");
        check("mysql://db/x?ssl-mode=required&ssl-cert=c&ssl-key=/k", "absolute path");
        check("postgres://db/x?channel_binding=require", "needs encryption");
        check("postgres://db/x?port=0", "port `0`");
    }

    #[test]
    fn a_mistake_is_named_with_the_expected_form_and_without_the_password() {
        let check = |text: &str, part: &str| {
            let error = TargetUrl::parse(text).unwrap_err();
            assert!(error.contains(part) && error.contains("expected"), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{text}: {error}");
        };
        check("db.example", "no URL");
        check("oracle://app:hunter2@db/x", "`oracle://`");
        check("mysql://app:hunter2@db:0x1/x", "port");
        check("mysql://app:hunter2/3@db/x", "port");
        check("mysql://app:12/hunter2@db/x", "%40");
        check("mysql://app:hunter2#3@db/x", "%23");
        check("mysql://app:hunter 2@db/x", "%20");
        check("mysql://app:hunter2'x@db/x", "%27");
        check("mysql://app:hunter2@db/x/y", "database name");
        check("mysql://app:hunter2@db/x?tls=on", "`on`");
        check("mysql://app:hunter2@db/x?socket=sock", "absolute path");
        check("sqlite://file.db", "three slashes");
        check("sqlite:///", "no file");
        check("sqlite:///f?tls=off", "`tls`");
    }

    #[test]
    fn an_option_that_would_have_no_effect_is_refused() {
        let check = |text: &str, part: &str| {
            let error = TargetUrl::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("mysql://db/x?charset=utf8", "`charset` is no option");
        check("postgres://db/x?socket=/run", "?host=/folder");
        check("mysql://db/x?host=/run", "known are socket, tls, ssl-mode");
        check("mysql://db/x?compression=zstd", "expected on or off");
        check("postgres://db/x?compression=on", "known are host, port, tls, sslmode");
    }

    #[test]
    fn a_target_prints_as_a_url_of_the_same_target_without_its_password() {
        let check = |text: &str, expected: &str| {
            let target = TargetUrl::parse(text).unwrap();
            assert_eq!(target.to_string(), expected);
            let again = TargetUrl::parse(expected).unwrap();
            assert_eq!(TargetUrl { password: None, ..again }, TargetUrl { password: None, ..target });
        };
        check("mysql://app:hunter2@db/x?tls=require", "mysql://app:***@db:3306/x?tls=require");
        check(
            "postgresql://a%40b@/x?host=/run/pg&tls=verify",
            "postgres://a%40b@localhost:5432/x?host=/run/pg&tls=verify",
        );
        check("mariadb://r@[::1]/my%20db?socket=/s", "mariadb://r@[::1]:3306/my%20db?socket=/s");
        check("mysql://r@db/x?compression=on&tls=verify", "mysql://r@db:3306/x?tls=verify&compression=on");
        check(
            "postgres://r@db/x?sslmode=require&sslrootcert=/r&sslcert=/c%20c&sslkey=/k&channel_binding=require",
            "postgres://r@db:5432/x?tls=verify-ca&sslrootcert=/r&sslcert=/c%20c&sslkey=/k&channel_binding=require",
        );
        check(
            "mariadb://r@db/x?ssl-mode=verify_identity&ssl-ca=/r&compression=on",
            "mariadb://r@db:3306/x?tls=verify&ssl-ca=/r&compression=on",
        );
        check("mysql://r@db/x?compression=off", "mysql://r@db:3306/x");
        check("sqlite:///a%20b/c", "sqlite:///a%20b/c");
        assert!(!format!("{:?}", TargetUrl::parse("mysql://app:hunter2@db/x")).contains("hunter2"));
    }
}
