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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Found, Place, Resolved, engine};

    fn installation(found: Found) -> Installation {
        let place = Place::Here(found.clone());
        let resolved = Resolved::new(engine("mysql").unwrap(), found.version.clone(), place);
        resolved.installation(found, vec![], "abc")
    }

    #[test]
    fn a_twin_s_server_is_the_same_file_by_a_path_of_another_length() {
        let folder = tempfile::tempdir().unwrap();
        let (basedir, work) = (folder.path().join("mysql"), folder.path().join("work"));
        fs::create_dir_all(basedir.join("bin")).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(basedir.join("bin/mysqld"), "").unwrap();
        let found = |basedir: Option<&Path>| Found {
            version: "5.6.24".into(),
            server: folder.path().join("mysql/bin/mysqld"),
            basedir: basedir.map(Path::to_owned),
        };
        let twin = installation(found(Some(&basedir))).by_another_path(&work).unwrap();
        assert_eq!(fs::canonicalize(&twin.server).unwrap(), fs::canonicalize(basedir.join("bin/mysqld")).unwrap());
        assert_ne!(twin.server.as_os_str().len(), basedir.join("bin/mysqld").as_os_str().len());
        let compiled_in = installation(found(None)).by_another_path(&work).unwrap();
        assert_eq!(compiled_in.server, basedir.join("bin/mysqld"));
    }
}
