//! `tar.zst`, and `tar.gz` for machines without `zstd`: one folder with a prefix in it.

use std::fs;

use anyhow::Result;

use super::made::Made;
use super::pack::{compress, tar};
use crate::files::copy_all;

pub fn make(made: &Made) -> Result<()> {
    copy_all(&made.tree, &made.scratch.join(made.name()))?;
    let file = made.out.join(format!("{}.tar", made.name()));
    for program in ["gzip", "zstd"] {
        tar(made, &made.scratch, &file)?;
        let packed = file.with_extension(if program == "gzip" { "tar.gz" } else { "tar.zst" });
        let _ = fs::remove_file(packed);
        compress(&file, program)?;
    }
    Ok(())
}
