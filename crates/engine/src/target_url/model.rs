//! A target, taken apart: what was written about a server, and the defaults of what was not.
//!
//! What must stay true: a part that nobody gave is none, so that others can fill it in; and no text made here holds a
//! password.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use driver::{Certificates, ChannelBinding, Dialect, Endpoint, Login, Secret, Tls};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use record::secrets::MASK;

/// The account and the database of who names none, as with sysbench.
const DEFAULT_NAME: &str = "sbtest";
const DEFAULT_HOST: &str = "localhost";

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

/// Which of several servers will do: libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Session {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    /// A standby, or any where no host is one.
    PreferStandby,
}

/// Words of `target_session_attrs`.
pub const SESSIONS: [(&str, Session); 6] = [
    ("any", Session::Any),
    ("read-write", Session::ReadWrite),
    ("read-only", Session::ReadOnly),
    ("primary", Session::Primary),
    ("standby", Session::Standby),
    ("prefer-standby", Session::PreferStandby),
];

/// Where one server listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    pub host: Option<String>,
    /// What is dialled in place of looking up the host, whose name the certificate bears all the same.
    pub address: Option<IpAddr>,
    pub port: Option<u16>,
    /// The server's socket: MySQL's file, PostgreSQL's folder. It goes before host and port.
    pub socket: Option<PathBuf>,
}

/// A target, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    pub kind: TargetKind,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub place: Place,
    /// Where else the server may be; the first that answers is the one.
    pub others: Vec<Place>,
    /// The file, where the target is SQLite.
    pub database: Option<String>,
    pub tls: Option<TlsMode>,
    pub certificates: Certificates,
    /// This host's own roots verify the server, whatever else would name some.
    pub system_roots: bool,
    pub channel_binding: Option<ChannelBinding>,
    /// Statements and answers are deflated, as only MySQL's protocol can.
    pub compressed: bool,
    pub session: Option<Session>,
    /// The group of a service file that has the rest.
    pub service: Option<String>,
    /// The file of passwords, in place of libpq's own.
    pub passfile: Option<PathBuf>,
    /// MySQL's option file, in place of the user's own.
    pub defaults_file: Option<PathBuf>,
    /// Options that were read and have no use.
    pub idle: Vec<String>,
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
    pub fn certificate_keys(self) -> [&'static str; 3] {
        match self {
            TargetKind::Postgres => ["sslrootcert", "sslcert", "sslkey"],
            _ => ["ssl-ca", "ssl-cert", "ssl-key"],
        }
    }

    pub fn of_scheme(scheme: &str) -> Option<TargetKind> {
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
    pub fn of_client(key: &str, word: &str) -> Result<TlsMode, String> {
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

impl Place {
    /// One of libpq's hosts: a folder when it begins with a slash, else a name, whose brackets are those of an address.
    pub fn of_host(host: &str) -> Place {
        if host.starts_with('/') {
            return Place { socket: Some(host.into()), ..Place::default() };
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.filter(|bare| bare.contains(':') && !bare.starts_with(['[', '/'])).unwrap_or(host);
        Place { host: (!host.is_empty()).then(|| host.to_owned()), ..Place::default() }
    }
}

impl TargetUrl {
    /// Nothing but the kind is known.
    pub fn open(kind: TargetKind) -> TargetUrl {
        TargetUrl {
            kind,
            user: None,
            password: None,
            place: Place::default(),
            others: Vec::new(),
            database: None,
            tls: None,
            certificates: Certificates::default(),
            system_roots: false,
            channel_binding: None,
            compressed: false,
            session: None,
            service: None,
            passfile: None,
            defaults_file: None,
            idle: Vec::new(),
        }
    }

    /// The default target of sysbench: an account and a database `sbtest`.
    pub fn of_kind(kind: TargetKind) -> TargetUrl {
        let place = Place { host: Some(DEFAULT_HOST.to_owned()), port: Some(kind.default_port()), ..Place::default() };
        let name = Some(DEFAULT_NAME.to_owned());
        TargetUrl { user: name.clone(), database: name, place, ..TargetUrl::open(kind) }
    }

    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or(DEFAULT_NAME)
    }

    pub fn database(&self) -> &str {
        self.database.as_deref().unwrap_or(DEFAULT_NAME)
    }

    pub fn host(&self) -> &str {
        self.place.host.as_deref().unwrap_or(DEFAULT_HOST)
    }

    pub fn port(&self) -> u16 {
        self.place.port.unwrap_or(self.kind.default_port())
    }

    pub fn tls(&self) -> TlsMode {
        self.tls.unwrap_or_default()
    }

    pub fn places(&self) -> Vec<Place> {
        [std::slice::from_ref(&self.place), &self.others].concat()
    }

    /// There is at least one place.
    pub fn set_places(&mut self, mut places: Vec<Place>) {
        self.place = places.remove(0);
        self.others = places;
    }

    /// Files of certificates without effect are a mistake, whose user would take the server for verified.
    pub fn settle(&mut self) -> Result<(), String> {
        let [root_key, chain_key, private_key] = self.kind.certificate_keys();
        let mode = if self.kind == TargetKind::Postgres { "sslmode=require" } else { "ssl-mode=required" };
        if self.system_roots && *self.tls.get_or_insert(TlsMode::Verify) != TlsMode::Verify {
            return Err("sslrootcert=system promises more than this sslmode; expected sslmode=verify-full".to_owned());
        }
        let Certificates { roots, chain, key, .. } = &self.certificates;
        if self.tls() == TlsMode::Off && (roots.is_some() || chain.is_some() || key.is_some()) {
            return Err(format!("certificates stand in a target that is not encrypted; expected {mode} beside them"));
        }
        match (chain.is_some(), key.is_some(), roots.is_some() && self.tls() == TlsMode::Require) {
            (true, false, _) => return Err(format!("{chain_key} stands alone; expected {private_key} beside it")),
            (false, true, _) => return Err(format!("{private_key} stands alone; expected {chain_key} beside it")),
            // As libpq has it.
            (.., true) if self.kind == TargetKind::Postgres => self.tls = Some(TlsMode::VerifyCa),
            (.., true) => {
                return Err(format!(
                    "{root_key} has no effect with this mode; expected ssl-mode=verify_ca or verify_identity"
                ));
            }
            _ => {}
        }
        if self.channel_binding == Some(ChannelBinding::Require) && self.tls() == TlsMode::Off {
            return Err(format!("channel_binding=require needs encryption; expected {mode} beside it"));
        }
        Ok(())
    }

    /// Where the target listens; the first place, where there are several.
    pub fn endpoint(&self) -> Endpoint {
        match (&self.place.socket, self.kind) {
            (_, TargetKind::Sqlite) => Endpoint::File(PathBuf::from(self.database())),
            // A server's own name for its socket is allowed too.
            (Some(folder), TargetKind::Postgres) if !is_postgres_socket(folder) => {
                Endpoint::Unix(postgres_socket(folder, self.port()))
            }
            (Some(socket), _) => Endpoint::Unix(socket.clone()),
            (None, _) => {
                let host = self.place.address.map_or_else(|| self.host().to_owned(), |address| address.to_string());
                Endpoint::Tcp { host, port: self.port() }
            }
        }
    }

    /// Who connects, into which database.
    pub fn login(&self) -> Login {
        let server_name = self.place.host.clone().filter(|_| self.place.address.is_some());
        Login {
            user: self.user().to_owned(),
            password: self.password.clone(),
            // A file of SQLite is its own database.
            database: (self.kind != TargetKind::Sqlite).then(|| self.database().to_owned()),
            tls: match self.tls() {
                TlsMode::Off => Tls::Off,
                TlsMode::Require => Tls::Require,
                TlsMode::VerifyCa => Tls::VerifyCa,
                TlsMode::Verify => Tls::Verify,
            },
            certificates: Certificates { server_name, ..self.certificates.clone() },
            channel_binding: self.channel_binding.unwrap_or_default(),
            on_connect: Vec::new(),
            compressed: self.compressed,
        }
    }

    /// Where the load connects.
    pub fn target(&self) -> driver::Target {
        driver::Target { dialect: self.kind.dialect(), endpoint: self.endpoint(), login: self.login() }
    }

    /// The options of the URL that prints as this target, behind its places and names.
    fn shown_options(&self) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        let path = |path: &Path| utf8_percent_encode(&path.to_string_lossy(), ESCAPED_IN_PATH).to_string();
        let name = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        let places = self.places();
        if places.iter().any(|place| place.socket.is_some()) {
            let key = if self.kind == TargetKind::Postgres { "host" } else { "socket" };
            let one = |place: &Place| match &place.socket {
                Some(socket) => path(socket),
                None => name(place.host.as_deref().unwrap_or_default()),
            };
            options.push((key, places.iter().map(one).collect::<Vec<_>>().join(",")));
        }
        if places.iter().any(|place| place.address.is_some()) {
            let one = |place: &Place| place.address.map_or_else(String::new, |address| name(&address.to_string()));
            options.push(("hostaddr", places.iter().map(one).collect::<Vec<_>>().join(",")));
        }
        options.extend(self.tls.map(|tls| ("tls", tls.word().to_owned())));
        let Certificates { roots, chain, key, .. } = &self.certificates;
        if self.system_roots {
            options.push(("sslrootcert", "system".to_owned()));
        }
        for (key, file) in self.kind.certificate_keys().into_iter().zip([roots, chain, key]) {
            options.extend(file.as_ref().map(|file| (key, path(file))));
        }
        let binding = |binding| match binding {
            ChannelBinding::Require => "require",
            ChannelBinding::Disable => "disable",
            ChannelBinding::Prefer => "prefer",
        };
        options.extend(self.channel_binding.map(|one| ("channel_binding", binding(one).to_owned())));
        if self.compressed {
            options.push(("compression", "on".to_owned()));
        }
        let word = |session: Session| SESSIONS.iter().find(|(_, one)| *one == session).map(|(word, _)| *word);
        options.extend(self.session.and_then(word).map(|word| ("target_session_attrs", word.to_owned())));
        options.extend(self.service.as_ref().map(|service| ("service", name(service))));
        options.extend(self.passfile.as_ref().map(|file| ("passfile", path(file))));
        options.extend(self.defaults_file.as_ref().map(|file| ("defaults-file", path(file))));
        options
    }
}

/// The socket of a server of PostgreSQL in this folder.
pub fn postgres_socket(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

fn is_postgres_socket(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".s.PGSQL."))
}

impl fmt::Display for TargetUrl {
    /// A URL that parses to the same target, but for its password: `***` stands there. Of a part that nobody gave it has
    /// nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        write!(f, "{}://", self.kind.engine())?;
        if self.kind == TargetKind::Sqlite {
            return write!(f, "{}", utf8_percent_encode(self.database(), ESCAPED_IN_PATH));
        }
        if self.user.is_some() || self.password.is_some() {
            write!(f, "{}", name(self.user.as_deref().unwrap_or_default()))?;
            if self.password.is_some() {
                write!(f, ":{MASK}")?;
            }
            f.write_str("@")?;
        }
        for (number, place) in self.places().iter().enumerate() {
            let host = place.host.as_deref().unwrap_or_default();
            let comma = if number > 0 { "," } else { "" };
            let is_address = host.contains(':') && host.parse::<IpAddr>().is_ok();
            let host = if is_address { format!("[{host}]") } else { name(host) };
            write!(f, "{comma}{host}")?;
            if let Some(port) = place.port {
                write!(f, ":{port}")?;
            }
        }
        f.write_str("/")?;
        if let Some(database) = &self.database {
            write!(f, "{}", name(database))?;
        }
        for (number, (key, value)) in self.shown_options().into_iter().enumerate() {
            write!(f, "{}{key}={value}", if number == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}
