//! A package of Fedora and its relatives, by `rpmbuild`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::made::Made;
use crate::files::{as_text, below, write};
use crate::programs::run;

/// Nothing of the building host, and nothing done to the files.
const DEFINES: [&str; 8] = [
    "_build_id_links none",
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_binary_payload w19.zstdio",
    "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
];

pub fn make(made: &Made) -> Result<()> {
    let names = below(&made.tree)?;
    // Folders that no other package needs to have go with it.
    let folders: BTreeSet<&Path> = names.iter().flat_map(|name| Path::new(name).ancestors().skip(1)).collect();
    let shared = ["", "bin", "lib", "share", "share/doc", "share/man", "share/man/man1"];
    let own = folders.into_iter().filter(|folder| !shared.iter().any(|name| Path::new(name) == *folder));
    let own = own.map(|folder| format!("%dir /usr/{}\n", folder.display()));
    let files: String = own.chain(names.iter().map(|name| format!("/usr/{name}\n"))).collect();
    let spec = made.scratch.join("dbduel.spec");
    write(&spec, made.fill("dbduel.spec", &[("FILES", &files)])?)?;
    let own = [("_topdir", &made.scratch), ("tree", &made.tree), ("_rpmdir", &made.out)];
    let own = own.map(|(name, path)| Ok::<_, anyhow::Error>(format!("{name} {}", as_text(path)?)));
    let own = own.into_iter().collect::<Result<Vec<_>>>()?;
    let (target, spec) = (format!("{}-linux", made.platform.name), as_text(&spec)?);
    let defines = DEFINES.into_iter().chain(own.iter().map(String::as_str)).flat_map(|define| ["--define", define]);
    let words = defines.chain(["-bb", "--quiet", "--target", &target, &spec]).collect::<Vec<_>>();
    run(&made.scratch, "rpmbuild", &words, &[("SOURCE_DATE_EPOCH", &made.epoch)])
}
