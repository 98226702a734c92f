//! A formula of Homebrew and an expression of Nix, which fetch the archive.

use std::fs;

use anyhow::Result;

use super::made::Made;
use super::pack::sha256;
use crate::files::write;

pub fn make(made: &Made) -> Result<()> {
    let Some(url) = made.url else {
        eprintln!("no recipes for Homebrew and Nix: they name an address, which is given by --url");
        return Ok(());
    };
    let file = format!("{}.tar.zst", made.name());
    let sum = sha256(&fs::read(made.out.join(&file))?);
    let words = [
        ("URL", url.trim_end_matches('/')),
        ("FILE", file.as_str()),
        ("SHA256", &sum),
        ("BREW", made.platform.brew),
        ("NIX", made.platform.name),
    ];
    for name in ["dbduel.rb", "dbduel.nix"] {
        let (stem, end) = name.split_once('.').unwrap_or((name, ""));
        write(&made.out.join(format!("{stem}-{}.{end}", made.platform.name)), made.fill(name, &words)?)?;
    }
    Ok(())
}
