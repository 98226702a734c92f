//! The same server by another path, for the second contender of an A/A run.
//!
//! The length of a program's path moves its stack, which can be worth per cents; the two contenders differ in
//! it, so that this effect shows. Servers with their paths compiled in, and those inside
//! dbduel, run as they are: there the two differ in the data directory only.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use super::Installation;

const LINK: &str = "the-server-of-the-twin";

impl Installation {
    /// The server through a link in `folder`, which goes with the folder.
    pub fn by_another_path(self, folder: &Path) -> Result<Installation> {
        let inside = self.basedir.as_deref().and_then(|basedir| self.server.strip_prefix(basedir).ok());
        // In an image's root there is no such link, and the path is the same for all.
        let inside = inside.filter(|_| self.around.root.is_none());
        let (Some(basedir), Some(inside)) = (&self.basedir, inside) else { return Ok(self) };
        let link = folder.join(LINK);
        symlink(basedir, &link).with_context(|| format!("cannot make the link {}", link.display()))?;
        Ok(Installation { server: link.join(inside), basedir: Some(link), ..self })
    }
}
