//! Encryption of one connection by rustls (TLS 1.2 and 1.3).
//!
//! What it does not do: the older versions of MySQL 5.5 and 5.6. What must
//! stay true: a connection that asked for encryption never sends its password, nor anything behind it, in clear.

#![expect(unsafe_code, reason = "receives by the system call itself")]

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::deadline::Deadline;
use crate::socket::{count, receive, send_some};
use crate::{Certificates, Endpoint, Error, Tls};

/// A session over one socket; the socket itself stays the transport's.
pub(crate) struct Session(ClientConnection);

impl Session {
    /// Does the TLS handshake.
    pub(crate) fn start(
        tls: Tls,
        certificates: &Certificates,
        endpoint: &Endpoint,
        socket: RawFd,
        deadline: Option<Deadline>,
    ) -> Result<Session, Error> {
        // Behind a socket file there is no host to check; the certificate then has to name this one.
        let host = if let Endpoint::Tcp { host, .. } = endpoint { host } else { "localhost" };
        let host = certificates.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::lost(format!("{host} is no name that a certificate could bear")))?;
        let session = ClientConnection::new(configuration(tls, certificates)?, name);
        let mut session = Session(session.map_err(|e| Error::lost(format!("no TLS session: {e}")))?);
        let mut wire = Wire { socket, flags: 0, deadline };
        while session.0.is_handshaking() {
            session.0.complete_io(&mut wire).map_err(|e| handshake_failed(&e, host))?;
        }
        Ok(session)
    }

    /// The certificate that the server showed, in DER form.
    pub(crate) fn server_certificate(&self) -> Option<&[u8]> {
        self.0.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// Encrypts and sends everything; a socket whose buffer is full is waited for, up to a deadline if there is one.
    pub(crate) fn send(&mut self, socket: RawFd, mut bytes: &[u8], deadline: Option<Deadline>) -> io::Result<()> {
        while !bytes.is_empty() {
            // rustls takes only so much before it has to be emptied.
            let taken = self.0.writer().write(bytes)?;
            bytes = &bytes[taken..];
            self.flush(socket, deadline)?;
        }
        Ok(())
    }

    fn flush(&mut self, socket: RawFd, deadline: Option<Deadline>) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut Wire { socket, flags: 0, deadline }) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Clear bytes for `room`; `flags` are those of the read from the socket. None at all is the end.
    pub(crate) fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
        loop {
            match self.0.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end without a farewell: servers hang up like that.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            self.0.read_tls(&mut Wire { socket, flags, deadline: None })?;
            self.0.process_new_packets().map_err(io::Error::other)?;
            // Such as the answer to a change of keys.
            self.flush(socket, None)?;
        }
    }
}

/// The socket in the form that rustls needs.
struct Wire {
    socket: RawFd,
    flags: libc::c_int,
    /// Where there is one, reads and writes wait until then; `flags` decide what they do otherwise.
    deadline: Option<Deadline>,
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let flags = if self.deadline.is_some() { libc::MSG_DONTWAIT } else { self.flags };
        loop {
            // SAFETY: the transport lends its open socket for the length of one call.
            match (count(unsafe { receive(self.socket, room, flags) }), self.deadline) {
                (Err(error), Some(deadline)) if error.kind() == io::ErrorKind::WouldBlock => {
                    deadline.wait(self.socket, libc::POLLIN)?;
                }
                (received, _) => return received,
            }
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send_some(self.socket, bytes, self.deadline)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the handshake failed by, and what to do where the server's certificate is not accepted.
fn handshake_failed(error: &io::Error, host: &str) -> Error {
    use rustls::CertificateError::{BadSignature, NotValidForName, NotValidForNameContext, UnknownIssuer};
    use rustls::Error::InvalidCertificate;
    let next = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(InvalidCertificate(UnknownIssuer | BadSignature)) => {
            "; name the file of the authority that signed it: sslrootcert (PostgreSQL), ssl-ca (MySQL), or SSL_CERT_FILE"
        }
        Some(InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
            return Error::lost(format!(
                "the TLS handshake failed: {error}; connect by a name that the certificate bears instead of {host}, or check its authority only: sslmode=verify-ca (PostgreSQL), ssl-mode=VERIFY_CA (MySQL)"
            ));
        }
        _ => "",
    };
    Error::lost(format!("the TLS handshake failed: {error}{next}"))
}

/// One configuration of each kind for all connections: files are read from disk once.
fn configuration(tls: Tls, certificates: &Certificates) -> Result<Arc<ClientConfig>, Error> {
    static MADE: Mutex<BTreeMap<(Tls, Certificates), Arc<ClientConfig>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (tls, certificates.clone());
    if let Some(config) = made.get(&key) {
        return Ok(Arc::clone(config));
    }
    let config = Arc::new(configured(tls, certificates).map_err(Error::Client)?);
    made.insert(key, Arc::clone(&config));
    Ok(config)
}

fn configured(tls: Tls, certificates: &Certificates) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for TLS 1.2 and 1.3");
    let verifying = || {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(certificates)?), provider).build();
        verifier.map_err(|error| format!("the roots to verify the server by: {error}"))
    };
    let builder = match tls {
        Tls::Off | Tls::Require => builder.dangerous().with_custom_certificate_verifier(Arc::new(TrustAnyone)),
        Tls::VerifyCa => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(verifying()?))),
        Tls::Verify => builder.with_webpki_verifier(verifying()?),
    };
    let (chain, key) = match (&certificates.chain, &certificates.key) {
        (None, None) => return Ok(builder.with_no_client_auth()),
        (Some(chain), Some(key)) => (chain, key),
        (Some(_), None) => {
            return Err("a client certificate needs its key: sslkey (PostgreSQL), ssl-key (MySQL)".into());
        }
        (None, Some(_)) => {
            return Err("a client key needs its certificate: sslcert (PostgreSQL), ssl-cert (MySQL)".into());
        }
    };
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("the client's key", key, &error))?;
    let chain_of = certificates_in(chain, "the client's certificate")?;
    builder
        .with_client_auth_cert(chain_of, private)
        .map_err(|error| format!("the client's certificate {} and its key {}: {error}", chain.display(), key.display()))
}

fn certificates_in(file: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| unreadable(what, file, &error))?;
    if found.is_empty() {
        Err(format!("{what} {}: it holds no certificate in PEM form", file.display()))
    } else {
        Ok(found)
    }
}

fn unreadable(what: &str, file: &Path, error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => format!("{what} {}: {error}", file.display()),
        error => format!("{what} {}: {error} (PEM form without a passphrase is expected)", file.display()),
    }
}

fn roots(certificates: &Certificates) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &certificates.roots {
        let found = certificates_in(file, "the roots to verify the server by")?;
        let (usable, _) = roots.add_parsable_certificates(found);
        return if usable == 0 {
            Err(format!("{}: no root certificate that can be used", file.display()))
        } else {
            Ok(roots)
        };
    }
    let found = rustls_native_certs::load_native_certs();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "no root certificate on this host to verify the server's by ({}); name a file of them in SSL_CERT_FILE",
            why.join("; ")
        ));
    }
    Ok(roots)
}

/// Checks who signed the server's certificate, and not whose name it bears, as `sslmode=verify-ca` does.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        // The name is checked last.
        match self.0.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Encrypts without a check of the server, as `sslmode=require` does: it keeps listeners out, not impostors.
///
/// Signatures are not checked either: they would only prove that the unknown certificate's key is its
/// own, and certificates of the oldest kind (version 1), which servers still make for themselves, could
/// not be read for it.
#[derive(Debug)]
struct TrustAnyone;

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider: CryptoProvider = rustls::crypto::ring::default_provider();
        provider.signature_verification_algorithms.supported_schemes()
    }
}
