//! The same server by another path, for a contender's twin.
//!
//! The length of a program's path moves its stack, which can be worth per cents; twins have to differ in
//! it, so that what it is worth here shows. Servers with their paths compiled in, and those inside
//! dbduel, run as they are: their twins differ in the data directory only.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use super::Installation;

const LINK: &str = "the-server-of-the-twin";

impl Installation {
    /// The server through a link in `folder`, which goes with the folder.
    pub fn by_another_path(self, folder: &Path) -> Result<Installation> {
        let inside = self.basedir.as_deref().and_then(|basedir| self.server.strip_prefix(basedir).ok());
        let (Some(basedir), Some(inside)) = (&self.basedir, inside) else { return Ok(self) };
        let link = folder.join(LINK);
        symlink(basedir, &link).with_context(|| format!("cannot make the link {}", link.display()))?;
        Ok(Installation { server: link.join(inside), basedir: Some(link), ..self })
    }
}
