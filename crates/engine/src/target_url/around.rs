//! What a client finds around itself: variables of its environment, and files of its user.
//!
//! Whoever fills in a target is handed this, so that a test has its own.

use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use record::plain_file;

pub trait Around {
    /// None where it is not set, or empty.
    fn variable(&self, name: &str) -> Option<String>;
    /// None where there is no such file; an error where it cannot be read.
    fn file(&self, path: &Path) -> Result<Option<Found>, String>;
    fn is_socket(&self, path: &Path) -> bool;
    fn is_there(&self, path: &Path) -> bool {
        path.exists()
    }
    /// The files in a folder, sorted; none where there is no such folder.
    fn files_in(&self, folder: &Path) -> Vec<PathBuf>;
    /// The user that this process runs as.
    fn account(&self) -> Option<String>;

    /// A file in the user's home.
    fn in_home(&self, name: &str) -> Option<PathBuf> {
        Some(Path::new(&self.variable("HOME")?).join(name))
    }

    /// As a reader knows it.
    fn shown(&self, path: &Path) -> String {
        let home = self.variable("HOME").and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned()));
        home.map_or_else(|| path.display().to_string(), |inside| format!("~/{}", inside.display()))
    }
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub text: String,
    /// The bits of its permissions.
    pub mode: u32,
}

/// The environment of this process, and the files of this host.
pub struct ThisHost;

impl Around for ThisHost {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn file(&self, path: &Path) -> Result<Option<Found>, String> {
        let mode = match std::fs::metadata(path) {
            Ok(metadata) => metadata.mode() & 0o7777,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        match plain_file::read_text(path, plain_file::TEXT_BYTES_MAX) {
            Ok(text) => Ok(Some(Found { text, mode })),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    fn is_socket(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
    }

    fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    fn account(&self) -> Option<String> {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
        user.map(|user| user.name).or_else(|| self.variable("USER"))
    }
}

/// An environment and files that a test writes down.
#[cfg(test)]
#[derive(Default)]
pub struct Made {
    pub variables: Vec<(&'static str, &'static str)>,
    /// Path, permissions, text.
    pub files: Vec<(&'static str, u32, &'static str)>,
    pub sockets: Vec<&'static str>,
}

#[cfg(test)]
impl Around for Made {
    fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned()).or_else(|| (name == "HOME").then(|| "/home/ann".to_owned()))
    }

    fn file(&self, path: &Path) -> Result<Option<Found>, String> {
        let found = self.files.iter().find(|(name, ..)| Path::new(name) == path);
        Ok(found.map(|(_, mode, text)| Found { text: (*text).to_owned(), mode: *mode }))
    }

    fn is_socket(&self, path: &Path) -> bool {
        self.sockets.iter().any(|socket| Path::new(socket) == path)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.files.iter().any(|(name, ..)| Path::new(name) == path)
    }

    fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        let paths = self.files.iter().map(|(name, ..)| PathBuf::from(name));
        paths.filter(|path| path.parent() == Some(folder)).collect()
    }

    fn account(&self) -> Option<String> {
        Some("ann".to_owned())
    }
}
