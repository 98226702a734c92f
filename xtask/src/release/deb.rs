//! A package of Debian and Ubuntu, by `dpkg-deb`.

use std::fs;

use anyhow::Result;

use super::made::{Made, VERSION};
use super::pack::plain_modes;
use super::tree::DOC;
use crate::files::{as_text, below, copy, write};
use crate::programs::{printed, run};

pub fn make(made: &Made) -> Result<()> {
    let root = made.scratch.join("root");
    for name in below(&made.tree)? {
        // Where Debian's zsh looks.
        let to = name.replace("zsh/site-functions", "zsh/vendor-completions");
        copy(&made.tree.join(&name), &root.join("usr").join(to))?;
    }
    write(&root.join("usr").join(DOC).join("copyright"), made.fill("copyright", &[])?)?;
    let files = below(&root)?;
    let bytes = files.iter().map(|name| Ok(fs::metadata(root.join(name))?.len())).sum::<Result<u64>>()?;
    let sums = printed(&root, "md5sum", &files.iter().map(String::as_str).collect::<Vec<_>>())?;
    write(&root.join("DEBIAN/md5sums"), sums)?;
    write(&root.join("DEBIAN/control"), made.fill("control", &[("KIB", &bytes.div_ceil(1024).to_string())])?)?;
    plain_modes(&root)?;
    let (root, to) = (as_text(&root)?, made.out.join(format!("dbduel_{VERSION}_{}.deb", made.platform.deb)));
    let words = ["--root-owner-group", "-Zxz", "-z9", "--build", &root, &as_text(&to)?];
    run(made.root, "dpkg-deb", &words, &[("SOURCE_DATE_EPOCH", &made.epoch)])
}
