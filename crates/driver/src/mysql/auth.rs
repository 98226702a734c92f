//! Proofs of a password, of MySQL and of MariaDB.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

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

/// MariaDB's `ed25519`: the scramble signed by a key that is SHA512(password) itself, where RFC 8032 would hash a seed.
pub fn ed25519(password: &str, scramble: &[u8]) -> Vec<u8> {
    let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&key, scramble, &VerifyingKey::from(&key)).to_bytes().to_vec()
}

/// The password as `caching_sha2_password` and `sha256_password` take it over a connection that others could read:
/// terminated, XORed with the scramble and encrypted for the server's public key (RSA-OAEP).
pub fn sealed(password: &str, scramble: &[u8], public_key_pem: &[u8]) -> Result<Vec<u8>, Error> {
    let protocol = |why: &str| Error::Protocol(format!("the server's RSA key: {why}"));
    let pem = std::str::from_utf8(public_key_pem).map_err(|e| protocol(&e.to_string()))?;
    let key = rsa::RsaPublicKey::from_public_key_pem(pem.trim()).map_err(|e| protocol(&e.to_string()))?;
    let plain: Vec<u8> =
        password.bytes().chain([0]).zip(scramble.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(&mut OsRng, rsa::Oaep::new::<Sha1>(), &plain).map_err(|e| protocol(&e.to_string()))
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(l, r)| l ^ r).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

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
    fn an_ed25519_proof_is_the_one_that_mariadb_expects() {
        // The stored form of `secret` as MariaDB's manual prints it: the public key without the last `=`.
        let key = ExpandedSecretKey::from_bytes(&Sha512::digest("secret").into());
        let public = VerifyingKey::from(&key);
        let stored = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
        assert_eq!(STANDARD_NO_PAD.encode(public.to_bytes()), stored);
        let proof: [u8; 64] = ed25519("secret", &[7; 32]).try_into().unwrap();
        assert!(public.verify_strict(&[7; 32], &proof.into()).is_ok());
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
