//! HTTP as registries need it: who is trusted, which proxy is asked, how long an answer may take, and failures in words.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::{Config, RedirectAuthHeaders};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// A transfer that stands still for so long is broken.
const READ_LIMIT: Duration = Duration::from_secs(30);
/// Below these, a folder for each registry may hold the certificates of its authority.
const CERTIFICATES: [&str; 2] = ["/etc/docker/certs.d", "/etc/containers/certs.d"];

/// Whether a host, with or without a port, is this machine.
pub fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A client for the registry of a host. Only to this machine it may speak without encryption, redirects included.
pub fn agent(host: &str) -> Agent {
    let loopback = is_loopback(host);
    let mut config = Config::builder()
        .https_only(!loopback)
        .http_status_as_error(false)
        // Storage elsewhere gets no login; a registry asks again where it redirects to itself.
        .redirect_auth_headers(RedirectAuthHeaders::Never)
        .user_agent(concat!("dbduel/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT_LIMIT))
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_recv_response(Some(ANSWER_LIMIT))
        .timeout_per_read(Some(READ_LIMIT))
        .tls_config(tls(host));
    if loopback {
        config = config.proxy(None);
    }
    config.build().new_agent()
}

fn tls(host: &str) -> TlsConfig {
    let mut trusted: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    trusted.extend(CERTIFICATES.iter().flat_map(|folder| certificates_in(&Path::new(folder).join(host))));
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

/// Those of the files `*.crt` of a folder.
fn certificates_in(folder: &Path) -> Vec<Certificate<'static>> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "crt")).flat_map(std::fs::read);
    let mut found = Vec::new();
    for text in texts {
        found.extend(parse_pem(&text).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        }));
    }
    found
}

/// Why there was no answer, for a reader, and whether to ask again is worth it.
pub fn cause(error: &ureq::Error) -> (String, bool) {
    match error {
        ureq::Error::HostNotFound => ("no host of that name is known here".to_owned(), false),
        ureq::Error::Timeout(_) => ("it did not answer in time".to_owned(), true),
        ureq::Error::Rustls(error) => (tls_cause(error), false),
        ureq::Error::Io(error) => io_cause(error),
        ureq::Error::ConnectProxyFailed(_) | ureq::Error::InvalidProxyUrl => {
            ("the proxy of HTTPS_PROXY or ALL_PROXY does not connect to it".to_owned(), false)
        }
        ureq::Error::RequireHttpsOnly(_) => ("it redirects to an address without encryption".to_owned(), false),
        ureq::Error::TooManyRedirects => ("it redirects without end".to_owned(), false),
        _ => (format!("its answer is no HTTP that dbduel reads ({error})"), false),
    }
}

fn io_cause(error: &io::Error) -> (String, bool) {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return (tls_cause(error), false);
    }
    let text = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there (connection refused)".to_owned(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it closed the connection".to_owned(),
        _ => error.to_string(),
    };
    (text, true)
}

fn tls_cause(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "its certificate is signed by no authority that this machine trusts".to_owned()
        }
        rustls::Error::InvalidCertificate(why) => format!("its certificate is refused ({why})"),
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        other => format!("TLS fails ({other})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for host in ["localhost", "localhost:5000", "127.0.0.1", "127.8.0.1:5000", "[::1]:5000", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["registry.example", "localhost.example:5000", "10.0.0.1:5000", "127.0.0.1.example", "[::2]:1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
