//! What an installation has below its prefix, `/usr` or another: the program, its manual pages, completions, a unit of
//! systemd and licences.

use std::fs;

use anyhow::Result;

use super::made::Made;
use super::pack::{compress, plain_modes};
use super::program::Built;
use crate::files::{as_text, copy, names, write};

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/dbduel"),
    ("zsh", "share/zsh/site-functions/_dbduel"),
    ("fish", "share/fish/vendor_completions.d/dbduel.fish"),
];
pub const DOC: &str = "share/doc/dbduel";

pub fn lay(made: &Made, built: &Built) -> Result<()> {
    let (tree, platform) = (&made.tree, made.platform);
    let program = tree.join("bin/dbduel");
    copy(&built.program, &program)?;
    copy(&built.debug, &made.out.join(format!("{}.debug", made.name())))?;
    let debug = made.out.join(format!("{}.debug", made.name()));
    let _ = fs::remove_file(debug.with_extension("debug.zst"));
    compress(&debug, "zstd")?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        copy(&made.root.join(name), &tree.join(DOC).join(name))?;
    }
    // By the program that is packed: that it runs is shown at the same time.
    for (shell, file) in COMPLETIONS {
        write(&tree.join(file), platform.printed(&program, &["completions", shell])?)?;
    }
    write(&tree.join("share/dbduel/experiment.schema.json"), platform.printed(&program, &["schema"])?)?;
    let pages = tree.join("share/man/man1");
    platform.printed(&program, &["man", "--out", &as_text(&pages)?])?;
    names(&pages)?.iter().try_for_each(|page| compress(&pages.join(page), "gzip"))?;
    write(&tree.join("lib/systemd/user/dbduel.service"), made.fill("dbduel.service", &[])?)?;
    plain_modes(tree)
}
