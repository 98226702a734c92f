//! A certificate for servers on this host, for the length of one command.
//!
//! The authority that vouches for it is made along with it and signs nothing else; its key is forgotten at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// The account that the client's certificate names.
pub const CLIENT: &str = "shown";

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
        let other_root = authority.self_signed(&KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let issuer = Issuer::new(authority, authority_key);
        let server = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
        let client_key = KeyPair::generate()?;
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, CLIENT);
        let client = client.signed_by(&client_key, &issuer)?;
        let certificates = Certificates { folder: tempfile::tempdir()? };
        fs::write(certificates.client(), client.pem())?;
        fs::write(certificates.client_key(), client_key.serialize_pem())?;
        fs::write(certificates.other_root(), other_root.pem())?;
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

    /// Of an authority of the same name that has signed nothing.
    pub fn other_root(&self) -> PathBuf {
        self.folder.path().join("other-root.pem")
    }

    /// What a client of the account [`CLIENT`] proves itself by.
    pub fn client(&self) -> PathBuf {
        self.folder.path().join("client.pem")
    }

    pub fn client_key(&self) -> PathBuf {
        self.folder.path().join("client.key")
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
        if !nix::unistd::geteuid().is_root() {
            return Ok(());
        }
        let (user, group) = nobody()?;
        let give = |path: &Path| chown(path, Some(user), Some(group)).context("cannot give the key to the servers");
        give(self.folder.path())?;
        give(&self.key())
    }
}

fn nobody() -> Result<(u32, u32)> {
    let nobody = nix::unistd::User::from_name("nobody").context("cannot look up the user `nobody`")?;
    let nobody = nobody.context("there is no user `nobody` for servers to run as")?;
    Ok((nobody.uid.as_raw(), nobody.gid.as_raw()))
}
