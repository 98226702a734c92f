//! The home of a user who has the files that clients read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::Result;
use tempfile::TempDir;

pub struct Home(TempDir);

impl Home {
    pub fn make() -> Result<Home> {
        Ok(Home(tempfile::tempdir()?))
    }

    /// The variable by which clients find it.
    pub fn variable(&self) -> (&'static str, String) {
        ("HOME", self.0.path().display().to_string())
    }

    /// A file that nobody else may read, as libpq wants it.
    pub fn hold(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.0.path().join(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
}
