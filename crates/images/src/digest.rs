//! SHA-256 digests as registries and image layouts write them.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::from_hash(Sha256::new_with_prefix(bytes))
    }

    pub(crate) fn from_hash(hash: Sha256) -> Digest {
        Digest(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "sha256:{}", self.0)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let is_hex = |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match text.strip_prefix("sha256:") {
            Some(hex) if is_hex(hex) => Ok(Digest(hex.to_owned())),
            _ => Err(format!("`{text}` is no digest: expected sha256: and 64 hexadecimal digits in lower case")),
        }
    }
}

/// Passes bytes on, and knows their digest and number at the end.
pub struct Hashing<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> Hashing<R> {
    pub fn new(inner: R) -> Self {
        Hashing { inner, hash: Sha256::new(), bytes: 0 }
    }

    /// Reads what is left, and gives the digest and the number of all bytes.
    pub fn finish(mut self) -> io::Result<(Digest, u64)> {
        io::copy(&mut self, &mut io::sink())?;
        Ok((Digest::from_hash(self.hash), self.bytes))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hash.update(&buffer[..length]);
        self.bytes += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_digest_is_that_of_the_standard() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        assert_eq!(ABC.parse(), Ok(Digest::of(b"abc")));
        assert_eq!(Hashing::new(&b"abc"[..]).finish().unwrap(), (Digest::of(b"abc"), 3));
    }

    #[test]
    fn what_is_no_sha256_is_refused() {
        for text in ["", "sha256:", "sha256:BA78", &ABC[7..], &ABC.to_uppercase(), &ABC[..70], "sha512:ba7816"] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
