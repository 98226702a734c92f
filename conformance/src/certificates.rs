//! A certificate for servers on this host, for the length of one command.
//!
//! The authority that vouches for it is made along with it and signs nothing else; its key is forgotten at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    pub fn make() -> Result<Certificates> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "an authority for one test");
        let authority_key = KeyPair::generate()?;
        let root = authority.self_signed(&authority_key)?;
        let key = KeyPair::generate()?;
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let server = CertificateParams::new(names)?.signed_by(&key, &Issuer::new(authority, authority_key))?;
        let certificates = Certificates { folder: tempfile::tempdir()? };
        fs::write(certificates.root(), root.pem())?;
        fs::write(certificates.certificate(), server.pem())?;
        fs::write(certificates.key(), key.serialize_pem())?;
        certificates.give_to_servers()?;
        Ok(certificates)
    }

    /// What the client verifies the server by.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("server.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.path().join("server.key")
    }

    /// PostgreSQL reads a key only if no other user owns it; started by root, dbduel runs it as `nobody`.
    fn give_to_servers(&self) -> Result<()> {
        fs::set_permissions(self.key(), fs::Permissions::from_mode(0o600))?;
        // SAFETY: no pointers are involved.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(());
        }
        let (user, group) = nobody()?;
        let give = |path: &Path| chown(path, Some(user), Some(group)).context("cannot give the key to the servers");
        give(self.folder.path())?;
        give(&self.key())
    }
}

fn nobody() -> Result<(u32, u32)> {
    // SAFETY: the name is terminated, and the answer is read before the next call.
    let entry = unsafe { libc::getpwnam(c"nobody".as_ptr()).as_ref() };
    entry.map(|entry| (entry.pw_uid, entry.pw_gid)).context("there is no user `nobody` for servers to run as")
}
