//! What binds a login to the server's certificate: its hash, `tls-server-end-point` of RFC 5929.

use rsa::pkcs8::der::Decode;
use rsa::pkcs8::der::asn1::AnyRef;
use rsa::pkcs8::spki::{AlgorithmIdentifierRef, ObjectIdentifier};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The hash of a certificate by the function that its signature uses, SHA-256 in place of MD5 and SHA-1. None where the
/// signature names no function of its own (Ed25519), for which the RFC defines none.
pub fn hash(certificate: &[u8]) -> Option<Vec<u8>> {
    match signature(certificate)?.to_string().as_str() {
        // RSA and ECDSA with MD5, SHA-1 or SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Some(Sha256::digest(certificate).to_vec()),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some(Sha384::digest(certificate).to_vec()),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }`
fn signature(certificate: &[u8]) -> Option<ObjectIdentifier> {
    let whole = AnyRef::from_der(certificate).ok()?;
    let algorithm = whole.sequence(|parts| {
        AnyRef::decode(parts)?;
        let algorithm = AlgorithmIdentifierRef::decode(parts)?;
        AnyRef::decode(parts)?;
        Ok(algorithm.oid)
    });
    algorithm.ok()
}
