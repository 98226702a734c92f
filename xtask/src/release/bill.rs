//! What is inside of the program: a bill of materials (CycloneDX), and the licences that go with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::made::{Made, VERSION};
use super::tree::DOC;
use crate::files::{below, write};
use crate::programs::printed;

/// A crate that is compiled in.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
}

/// Brings LuaJIT along, which is compiled in while the crate itself is not.
const BUILDS: &str = "luajit-src";

pub fn make(made: &Made) -> Result<()> {
    let parts = parts(made)?;
    let sums = checksums(&fs::read_to_string(made.root.join("Cargo.lock"))?);
    let mut components: Vec<Value> = parts.iter().map(|part| component(part, &sums)).collect();
    components.push(json!({
        "type": "library",
        "name": "glibc",
        "version": version_of_c(made)?,
        "licenses": [{ "expression": "LGPL-2.1-or-later" }],
    }));
    let purl = format!("pkg:cargo/dbduel@{VERSION}");
    let own = json!({ "type": "application", "name": "dbduel", "version": VERSION, "purl": purl });
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": own },
        "components": components,
    });
    write(&made.out.join(format!("{}.cdx.json", made.name())), format!("{bill:#}\n"))?;
    write(&made.tree.join(DOC).join("THIRD-PARTY"), texts(&parts)?)
}

fn component(part: &Part, sums: &BTreeMap<(String, String), String>) -> Value {
    let Part { name, version, licence, .. } = part;
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
        "licenses": [{ "expression": licence }],
    });
    if let Some(sum) = sums.get(&(name.clone(), version.clone())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// The crates that the program is built from, without those of dbduel, and where their sources lie.
fn parts(made: &Made) -> Result<BTreeSet<Part>> {
    let target = ["--target", made.platform.target];
    let words = ["tree", "--locked", "--package", "dbduel", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = printed(made.root, "cargo", &[&words[..], &target].concat())?;
    let built: BTreeSet<(&str, &str)> = tree.lines().filter_map(|line| line.split_once(" v")).collect();
    let built: BTreeSet<(&str, &str)> =
        built.into_iter().map(|(name, rest)| (name, rest.split(' ').next().unwrap_or(rest))).collect();
    let metadata = printed(made.root, "cargo", &["metadata", "--locked", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let part = |package: &Value| {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        let is_in = built.contains(&(name, version)) || name == BUILDS;
        (is_in && !package["source"].is_null()).then(|| Part {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: text("license").replace('/', " OR "),
            folder: Path::new(text("manifest_path")).with_file_name(""),
        })
    };
    Ok(packages.iter().filter_map(part).collect())
}

/// SHA-256 of every package of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let package = |text: &str| {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

/// Of the C library that the compiler of the target links.
fn version_of_c(made: &Made) -> Result<String> {
    let compiler = format!("{}gcc", made.platform.tools);
    let macros = printed(made.root, &compiler, &["-dM", "-E", "-include", "features.h", "-x", "c", "/dev/null"])?;
    let value = |name: &str| {
        let line = macros.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' '));
        line.with_context(|| format!("{compiler} has no {name}, so it does not build for glibc"))
    };
    Ok(format!("{}.{}", value("__GLIBC__")?, value("__GLIBC_MINOR__")?))
}

/// The licences of all parts, each text once with the parts that have it.
fn texts(parts: &BTreeSet<Part>) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = "Parts of other authors inside of dbduel, and their licences.\n\n".to_owned();
    for part in parts {
        let title = format!("{} {}", part.name, part.version);
        out.push_str(&format!("{title}: {}\n", part.licence));
        for file in below(&part.folder)?.iter().filter(|path| is_licence(path)) {
            let text = String::from_utf8_lossy(&fs::read(part.folder.join(file))?).trim().replace('\r', "");
            let of = texts.entry(text).or_default();
            if !of.contains(&title) {
                of.push(title.clone());
            }
        }
    }
    out.push_str("glibc: LGPL-2.1-or-later; the source of dbduel with `cargo xtask release` links it anew\n");
    for (text, of) in texts {
        out.push_str(&format!("\n{}\n{}\n\n{text}\n", "-".repeat(100), of.join(", ")));
    }
    Ok(out)
}

/// `LICENSE-MIT`, `COPYING`, `zstd/LICENSE`: in a part's own folder, or in that of a library that it brings along.
fn is_licence(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.to_uppercase();
    let begins = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    let is_text = !name.contains('.') || [".MD", ".TXT"].iter().any(|end| name.ends_with(end));
    is_text && !folder.contains('/') && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_gives_checksums_of_packages_that_have_one() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "00ff");
    }

    #[test]
    fn licences_are_found_by_name_and_sources_are_not() {
        for path in ["LICENSE-MIT", "license.txt", "COPYING", "zstd/LICENSE", "LICENSE-APACHE.md"] {
            assert!(is_licence(path), "{path}");
        }
        for path in ["src/license.rs", "a/b/LICENSE", "README.md", "licenses.toml"] {
            assert!(!is_licence(path), "{path}");
        }
    }
}
