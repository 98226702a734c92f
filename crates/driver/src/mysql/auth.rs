//! Proofs of a password: `mysql_native_password` and `caching_sha2_password`.

use rsa::pkcs8::DecodePublicKey;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::Error;

/// SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password))); nothing for an empty password.
pub fn native(password: &str, scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mixed = Sha1::new().chain_update(scramble).chain_update(twice).finalize();
    xor(&once, &mixed)
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble).
pub fn caching_sha2(password: &str, scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mixed = Sha256::new().chain_update(twice).chain_update(scramble).finalize();
    xor(&once, &mixed)
}

/// The password as `caching_sha2_password` takes it over a connection that others could read:
/// terminated, XORed with the scramble and encrypted for the server's public key (RSA-OAEP).
pub fn sealed(password: &str, scramble: &[u8], public_key_pem: &[u8]) -> Result<Vec<u8>, Error> {
    let protocol = |why: &str| Error::Protocol(format!("the server's RSA key: {why}"));
    let pem = std::str::from_utf8(public_key_pem).map_err(|e| protocol(&e.to_string()))?;
    let key = rsa::RsaPublicKey::from_public_key_pem(pem.trim()).map_err(|e| protocol(&e.to_string()))?;
    let plain: Vec<u8> =
        password.bytes().chain([0]).zip(scramble.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(&mut rsa::rand_core::OsRng, rsa::Oaep::new::<Sha1>(), &plain).map_err(|e| protocol(&e.to_string()))
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(l, r)| l ^ r).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_proof_lets_the_server_recover_the_stored_hash() {
        // The server stores SHA1(SHA1(password)) and checks that hashing what it recovers gives that.
        let scramble = b"01234567890123456789";
        let proof = native("secret", scramble);
        let stored = Sha1::digest(Sha1::digest("secret"));
        let mixed = Sha1::new().chain_update(scramble).chain_update(stored).finalize();
        assert_eq!(Sha1::digest(xor(&proof, &mixed)), stored);
        assert!(native("", scramble).is_empty());
    }

    #[test]
    fn a_caching_sha2_proof_lets_the_server_recover_the_stored_hash() {
        let scramble = b"01234567890123456789";
        let proof = caching_sha2("secret", scramble);
        let stored = Sha256::digest(Sha256::digest("secret"));
        let mixed = Sha256::new().chain_update(stored).chain_update(scramble).finalize();
        assert_eq!(Sha256::digest(xor(&proof, &mixed)), stored);
    }
}
