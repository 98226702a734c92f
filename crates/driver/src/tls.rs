//! Encryption of one connection by rustls (TLS 1.2 and 1.3).
//!
//! What it does not do: client certificates, and the older versions of MySQL 5.5 and 5.6. What must
//! stay true: a connection that asked for encryption never sends its password, nor anything behind it, in clear.

use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::deadline::Deadline;
use crate::transport::{count, receive, send_some};
use crate::{Endpoint, Error, Tls};

/// A session over one socket; the socket itself stays the transport's.
pub(crate) struct Session(ClientConnection);

impl Session {
    /// Does the TLS handshake.
    pub(crate) fn start(
        tls: Tls,
        endpoint: &Endpoint,
        socket: RawFd,
        deadline: Option<Deadline>,
    ) -> Result<Session, Error> {
        // Behind a socket file there is no host to check; the certificate then has to name this one.
        let host = if let Endpoint::Tcp { host, .. } = endpoint { host } else { "localhost" };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::lost(format!("{host} is no name that a certificate could bear")))?;
        let session = ClientConnection::new(configuration(tls)?, name);
        let mut session = Session(session.map_err(|e| Error::lost(format!("no TLS session: {e}")))?);
        let mut wire = Wire { socket, flags: 0, deadline };
        while session.0.is_handshaking() {
            session.0.complete_io(&mut wire).map_err(|e| Error::lost(format!("the TLS handshake failed: {e}")))?;
        }
        Ok(session)
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

/// One configuration of each kind for all connections; roots are read from disk once.
fn configuration(tls: Tls) -> Result<Arc<ClientConfig>, Error> {
    static TRUSTING: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    static VERIFYING: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    match tls {
        Tls::Verify => VERIFYING.get_or_init(verifying).clone().map_err(Error::lost),
        Tls::Require | Tls::Off => Ok(Arc::clone(TRUSTING.get_or_init(trusting))),
    }
}

fn builder() -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for TLS 1.2 and 1.3")
}

fn verifying() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "no root certificate on this host to verify the server's by ({}); name a file of them in SSL_CERT_FILE",
            why.join("; ")
        ));
    }
    Ok(Arc::new(builder().with_root_certificates(roots).with_no_client_auth()))
}

fn trusting() -> Arc<ClientConfig> {
    let config = builder().dangerous().with_custom_certificate_verifier(Arc::new(TrustAnyone)).with_no_client_auth();
    Arc::new(config)
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
