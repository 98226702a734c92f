//! Everything that a kind of package is made from.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::program::Platform;

pub struct Made<'a> {
    pub root: &'a Path,
    pub platform: &'static Platform,
    /// Of the commit, in seconds; every file in a package has it.
    pub epoch: String,
    /// What is installed below a prefix: `bin`, `share`, `lib`.
    pub tree: PathBuf,
    /// A folder of this kind's own.
    pub scratch: PathBuf,
    pub out: PathBuf,
    pub url: Option<&'a str>,
}

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Made<'_> {
    /// `dbduel-0.1.0-x86_64-linux`
    pub fn name(&self) -> String {
        format!("dbduel-{VERSION}-{}-linux", self.platform.name)
    }

    /// A template of `xtask/release` with words put in.
    pub fn fill(&self, template: &str, words: &[(&str, &str)]) -> Result<String> {
        let path = self.root.join("xtask/release").join(template);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let own = [("VERSION", VERSION), ("DEB", self.platform.deb)];
        let words = own.iter().chain(words);
        Ok(words.fold(text, |text, (name, word)| text.replace(&format!("{{{name}}}"), word)))
    }
}
