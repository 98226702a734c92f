//! Who may be an agent, and whom an agent may serve, where a network lies between.
//!
//! A certificate is made for each launch, in memory; the agent accepts exactly that one. The token never travels on
//! the channel: the agent proves it by an HMAC over bytes that only this TLS session has, so that a proof that was
//! recorded or relayed is worth nothing.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context, Result};
use ring::rand::SecureRandom;
use ring::{digest, hmac};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection, SignatureScheme};

use crate::channel::{Channel, over_tls};

/// The name in the certificate, which is not checked.
const NAME: &str = "dbduel";

/// What a coordinator has for one launch.
pub struct Identity {
    config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, in hexadecimal.
    pub certificate: String,
    /// 256 random bits, in hexadecimal.
    pub token: String,
}

impl Identity {
    pub fn new() -> Result<Identity> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).context("cannot make a certificate")?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let certificate = made.cert.der().clone();
        let fingerprint = sha256(&certificate);
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        let mut token = [0; 32];
        ring::rand::SystemRandom::new().fill(&mut token).ok().context("no random numbers")?;
        Ok(Identity { config: Arc::new(config), certificate: fingerprint, token: hex(&token) })
    }

    /// The coordinator's end of a session.
    pub fn accept(&self, tcp: TcpStream) -> Result<Channel> {
        let peer = tcp.peer_addr().map_or_else(|_| "an unknown address".to_owned(), |peer| peer.to_string());
        Ok(over_tls(ServerConnection::new(Arc::clone(&self.config))?.into(), tcp, peer)?)
    }
}

/// An agent's end of a session with the coordinator that has this certificate.
pub fn connect(tcp: TcpStream, certificate: &str) -> Result<Channel> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned {
            certificate: certificate.to_owned(),
            provider: provider(),
        }))
        .with_no_client_auth();
    let tls = ClientConnection::new(Arc::new(config), ServerName::try_from(NAME)?)?;
    Ok(over_tls(tls.into(), tcp, "the coordinator".to_owned())?)
}

/// What shows that an agent has the token, in this session only.
pub fn proof(token: &str, session: &[u8; 32]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    hex(hmac::sign(&key, session).as_ref())
}

/// Compared in constant time.
pub fn is_proof(proof: &str, token: &str, session: &[u8; 32]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    from_hex(proof).is_some_and(|proof| hmac::verify(&key, session, &proof).is_ok())
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Piece by piece: a program with its debug information is larger than all else that a coordinator keeps.
pub fn sha256_of(mut from: impl Read) -> io::Result<String> {
    let mut context = digest::Context::new(&digest::SHA256);
    let mut piece = [0; 1 << 16];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(hex(context.finish().as_ref())),
            length => context.update(&piece[..length]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Accepts one certificate, whatever its name or date.
#[derive(Debug)]
struct Pinned {
    certificate: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match sha256(certificate) == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(rustls::Error::General("this is not the coordinator that started this agent".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::frame;
    use crate::message::ToAgent;

    /// Both ends of a session with this certificate.
    fn session(identity: &Identity, certificate: &str) -> (Result<Channel>, Result<Channel>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let here = listener.accept().unwrap().0;
        std::thread::scope(|scope| {
            let agent = scope.spawn(|| connect(there, certificate));
            (identity.accept(here), agent.join().unwrap())
        })
    }

    #[test]
    fn a_proof_holds_for_its_own_session_and_token_only() {
        let identity = Identity::new().unwrap();
        let (here, there) = session(&identity, &identity.certificate);
        let (here, there) = (here.unwrap(), there.unwrap());
        let shown = proof(&identity.token, &there.session.unwrap());
        assert!(is_proof(&shown, &identity.token, &here.session.unwrap()));
        assert!(!is_proof(&shown, &Identity::new().unwrap().token, &here.session.unwrap()), "another token");
        let (other, _) = session(&identity, &identity.certificate);
        assert!(!is_proof(&shown, &identity.token, &other.unwrap().session.unwrap()), "replayed");
        assert!(!is_proof("no proof", &identity.token, &here.session.unwrap()));
    }

    #[test]
    fn an_agent_serves_only_the_coordinator_that_started_it() {
        let identity = Identity::new().unwrap();
        let (_, there) = session(&identity, &Identity::new().unwrap().certificate);
        let error = format!("{:#}", there.map(|_| ()).unwrap_err());
        assert!(error.contains("this is not the coordinator that started this agent"), "{error}");
    }

    #[test]
    fn large_messages_pass_both_ways_at_once() {
        let identity = Identity::new().unwrap();
        let (here, there) = session(&identity, &identity.certificate);
        let reason = "x".repeat(3 << 20);
        let (mut here, mut there) = (here.unwrap(), there.unwrap());
        std::thread::scope(|scope| {
            for to in [&mut here.to, &mut there.to] {
                scope.spawn(|| frame::write(to, &ToAgent::Stop { reason: reason.clone() }));
            }
            let reads =
                [&mut here.from, &mut there.from].map(|from| scope.spawn(|| frame::read(from, frame::BYTES_MAX)));
            for read in reads {
                assert!(matches!(read.join().unwrap(), Ok(ToAgent::Stop { reason: got }) if got == reason));
            }
        });
    }
}
