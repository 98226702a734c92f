//! Proofs of a password, of MySQL and of MariaDB.

use std::num::NonZeroU32;

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};
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

/// What `parsec` mixes into the password: `P`, the factor of 1024 rounds as a power of two, and the salt.
const SALT_BYTES: usize = 18;
/// MariaDB's own limit; every step doubles the work.
const FACTOR_MAX: u8 = 3;

/// MariaDB's `parsec`: the scrambles of both sides, signed by a key that is derived from the password and the account's
/// salt.
///
/// ```text
/// client_scramble:32 signature:64
/// ```
pub fn parsec(password: &str, scramble: &[u8], salted: &[u8]) -> Result<Vec<u8>, Error> {
    let (factor, salt) = match salted {
        [b'P', factor, salt @ ..] if *factor <= FACTOR_MAX && salt.len() == SALT_BYTES => (*factor, salt),
        _ => return Err(Error::Protocol("a salt of parsec that is not known here".to_owned())),
    };
    let rounds = NonZeroU32::new(1024 << factor).expect("a power of two");
    let mut seed = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, password.as_bytes(), &mut seed);
    let mut own = [0; 32];
    let filled = SystemRandom::new().fill(&mut own);
    filled.map_err(|_| Error::Client("this system gives no random bytes".to_owned()))?;
    let signature = SigningKey::from_bytes(&seed).sign(&[scramble, &own].concat());
    Ok([&own[..], &signature.to_bytes()].concat())
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
    fn a_parsec_proof_is_signed_by_the_key_of_the_salted_password() {
        let salted = [&b"P\0"[..], &[7; SALT_BYTES]].concat();
        let proof = parsec("secret", &[9; 32], &salted).unwrap();
        let (own, signature) = proof.split_at(32);
        let mut seed = [0; 32];
        let rounds = NonZeroU32::new(1024).unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, &[7; SALT_BYTES], b"secret", &mut seed);
        let signature: [u8; 64] = signature.try_into().unwrap();
        let signed = [&[9; 32][..], own].concat();
        assert!(SigningKey::from_bytes(&seed).verifying_key().verify_strict(&signed, &signature.into()).is_ok());
        assert_ne!(parsec("secret", &[9; 32], &salted).unwrap(), proof, "the client's scramble is drawn");
        for wrong in [&b""[..], b"P", b"X\0", &salted[..19], &[&b"P\x04"[..], &[7; SALT_BYTES]].concat()] {
            assert!(parsec("secret", &[9; 32], wrong).is_err(), "{wrong:?}");
        }
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
