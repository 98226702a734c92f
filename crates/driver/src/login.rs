//! Where a server listens, and who connects to it.

use std::fmt;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The socket file itself; PostgreSQL's is `<folder>/.s.PGSQL.<port>`.
    Unix(PathBuf),
    Tcp {
        host: String,
        port: u16,
    },
    /// A database file of an embedded engine.
    File(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) | Endpoint::File(path) => path.display().fmt(f),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A password that cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(password: impl Into<String>) -> Secret {
        Secret(password.into())
    }

    /// The password itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Whether a connection is encrypted. A server that cannot is an error, never a reason to go on in clear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tls {
    #[default]
    Off,
    /// Encrypted without a check of the server, as `sslmode=require` does: no one can eavesdrop, but nothing
    /// proves who the server is.
    Require,
    /// The server also shows a certificate that a root vouches for; whose name it bears is not checked.
    VerifyCa,
    /// The server also proves its name by a certificate that a root vouches for: of [`Certificates`], else of
    /// this host (a file of others is named in `SSL_CERT_FILE`).
    Verify,
}

/// Files of certificates, each in PEM form, for encrypted connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificates {
    /// What vouches for the server; without it this host's own.
    pub roots: Option<PathBuf>,
    /// The client's own certificate, with those between it and a root.
    pub chain: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The name that the server's certificate bears, where it is not the host that is dialled.
    pub server_name: Option<String>,
}

/// Whether a login of PostgreSQL by SCRAM proves that its TLS session ends at the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    Disable,
    /// Where server and certificate can.
    #[default]
    Prefer,
    Require,
}

/// Who connects, and how every new connection opens.
#[derive(Debug, Clone, Default)]
pub struct Login {
    pub user: String,
    pub password: Option<Secret>,
    pub database: Option<String>,
    /// SQL that every new connection runs before anything else, such as SQLite's pragmas.
    pub on_connect: Vec<String>,
    pub tls: Tls,
    pub certificates: Certificates,
    pub channel_binding: ChannelBinding,
    /// Statements and answers travel deflated; only MySQL's protocol can.
    pub compressed: bool,
}
