//! Data that the user brings: what they are recognised by.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::manifest::files_below;
use super::provision::{hex, sha256_of};

/// `4096 bytes, sha256 ...`: of a file its bytes, of a folder the names, sizes and times of its files, because it may
/// hold more than can be read at each plan.
pub fn identity(path: &Path) -> Result<String> {
    let meta = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !meta.is_dir() {
        return Ok(format!("{} bytes, sha256 {}", meta.len(), sha256_of(path)?));
    }
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for file in files_below(path)? {
        let meta = file.symlink_metadata()?;
        let modified = meta.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = file.strip_prefix(path).expect("the walk started here").display().to_string();
        hash.update(format!("{}:{name} {} {modified}\n", name.len(), meta.len()));
        bytes += meta.len();
    }
    Ok(format!("{bytes} bytes, sha256 {}", hex(&hash.finalize())))
}
