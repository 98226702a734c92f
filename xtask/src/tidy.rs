//! Checks that the compiler does not make: which crate uses which, no circles of modules, and which names must not stand in the tree.
//!
//! The table of crates in ARCHITECTURE.md defines it, and nothing else may be so; cargo itself refuses circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::programs::printed;

/// Where the crates and their arrows are listed.
const TABLE_OF_CRATES: &str = "ARCHITECTURE.md";

/// The hosts of package registries, in pieces: this file is searched too.
const REGISTRY_HOSTS: &[&[&str]] = &[
    &["crates", "io"],
    &["npmjs", "org"],
    &["npmjs", "com"],
    &["maven", "org"],
    &["maven", "apache", "org"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["golang", "org"],
    &["rubygems", "org"],
    &["deb", "debian", "org"],
    &["archive", "ubuntu", "com"],
];

/// Words of dbduel's early days that mean something else, or nothing, to a database administrator.
const PRIVATE_WORDS: &[&str] = &[
    "twin",
    "twins",
    "sitting",
    "debt",
    "debts",
    "doubling",
    "nobody",
    "whoever",
    "told apart",
    "no word",
    "knob",
    "knobs",
];

/// Where users read: documents, shipped experiments, help texts and messages, reports.
const READ_BY_USERS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "docs/",
    "experiments/",
    "crates/experiment/src/default-experiment.toml",
    "crates/dbduel/tests/cli/",
    "crates/report/tests/golden/",
];

/// Makes all checks and prints every violation at once.
pub fn tidy(root: &Path) -> Result<()> {
    eprintln!("$ cargo xtask tidy");
    let mut violations = arrows_between_crates(root)?;
    violations.extend(crate::circles::circles(root)?);
    violations.extend(built_twice(root)?);
    violations.extend(registry_names(root)?);
    violations.extend(private_words(root)?);
    violations.extend(code_in_comments(root)?);
    violations.extend(pages_outside_the_book(root)?);
    if violations.is_empty() {
        return Ok(());
    }
    bail!("the tree is not tidy:\n  {}", violations.join("\n  "));
}

/// Pages of the documents that the book's contents lack: links to them lead nowhere there.
fn pages_outside_the_book(root: &Path) -> Result<Vec<String>> {
    let contents = fs::read_to_string(root.join("docs/SUMMARY.md")).context("cannot read docs/SUMMARY.md")?;
    let pages = tracked_files(root)?.into_iter().filter_map(|file| file.strip_prefix("docs").map(Path::to_owned).ok());
    let pages = pages.map(|page| page.display().to_string()).filter(|page| page.ends_with(".md"));
    let missing = pages.filter(|page| page != "SUMMARY.md" && !contents.contains(&format!("]({page})")));
    Ok(missing.map(|page| format!("docs/{page} is not in docs/SUMMARY.md")).collect())
}

/// Compares what the crates use with the table, both ways.
fn arrows_between_crates(root: &Path) -> Result<Vec<String>> {
    let table = root.join(TABLE_OF_CRATES);
    let text = fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let (listed, found) = (arrows_listed(&text), arrows_found(root)?);
    let lines = |of: &Arrows, other: &Arrows, what: &str| -> Vec<String> {
        let differs = of.iter().filter(|(name, used)| other.get(*name) != Some(used));
        differs.map(|(name, used)| format!("{what}: crate `{name}` uses {used:?}")).collect()
    };
    let mut violations = lines(&listed, &found, TABLE_OF_CRATES);
    violations.extend(lines(&found, &listed, "Cargo.toml"));
    Ok(violations)
}

/// Crates that the package `conformance` has built with other features than tests need, so that they are built again.
/// xtask uses too few for that to matter.
fn built_twice(root: &Path) -> Result<Vec<String>> {
    let whole = crates_with_features(root, &["--workspace"])?;
    let alone = crates_with_features(root, &["--package", "conformance"])?;
    let violation = |name| format!("conformance/Cargo.toml: {name}: elsewhere in the workspace with other features");
    Ok(alone.difference(&whole).map(violation).collect())
}

/// Lines like `rand v0.9.5 alloc,std`.
fn crates_with_features(root: &Path, of: &[&str]) -> Result<BTreeSet<String>> {
    let words = ["tree", "--prefix", "none", "--format", "{p} {f}"];
    let lines = printed(root, "cargo", &[&words, of].concat())?;
    Ok(lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect())
}

/// The crates that each crate uses, sorted.
pub type Arrows = BTreeMap<String, Vec<String>>;

/// Rows like ``| `load` | clock, pacer | `driver` `latency` |`` of the one table with three columns.
fn arrows_listed(text: &str) -> Arrows {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [name, _, used] = cells[..] else { return None };
        let mut used: Vec<String> = used.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        used.sort();
        Some((name.trim_end_matches('`').to_owned(), used))
    };
    text.lines().filter_map(row).collect()
}

/// What stands in the manifests; what only tests need is not asked.
pub fn arrows_found(root: &Path) -> Result<Arrows> {
    let mut arrows = Arrows::new();
    for entry in fs::read_dir(root.join("crates")).context("cannot read the folder of crates")? {
        let folder = entry?.path();
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        let section =
            text.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
        let mut used: Vec<String> = section.lines().filter_map(workspace_dependency).map(str::to_owned).collect();
        used.sort();
        arrows.insert(folder.file_name().unwrap_or_default().to_string_lossy().into_owned(), used);
    }
    Ok(arrows)
}

/// `driver` from `dbduel-driver.workspace = true`.
fn workspace_dependency(line: &str) -> Option<&str> {
    let (name, how) = line.split_once(['.', '='])?;
    // What is optional is asked for by tests only.
    if how.contains("optional = true") {
        return None;
    }
    name.trim().strip_prefix("dbduel-")
}

/// Tracked files that name a package registry: the tree must work with whatever registry a reader's
/// own tools are set up for.
fn registry_names(root: &Path) -> Result<Vec<String>> {
    let hosts: Vec<String> = REGISTRY_HOSTS.iter().map(|pieces| pieces.join(".")).collect();
    let mut violations = Vec::new();
    for file in tracked_files(root)? {
        // A file that was removed but not yet committed is still in the list; binary files hold no names.
        let Ok(text) = fs::read_to_string(root.join(&file)) else {
            continue;
        };
        let lock_file = file == Path::new("Cargo.lock");
        for (number, line) in text.lines().enumerate() {
            let named = if lock_file { foreign_source(line, &hosts[0]) } else { names_host(line, &hosts) };
            if named {
                violations.push(format!("{}:{}: names a package registry", file.display(), number + 1));
            }
        }
    }
    Ok(violations)
}

/// What users read and would not understand. Pages and JSON hold names and records besides texts.
fn private_words(root: &Path) -> Result<Vec<String>> {
    let is_ours = |file: &&PathBuf| {
        let path = file.to_string_lossy();
        let holds_records = path.ends_with(".html") || path.ends_with(".json");
        READ_BY_USERS.iter().any(|start| path.starts_with(start)) && !holds_records
    };
    let mut violations = Vec::new();
    for file in tracked_files(root)?.iter().filter(is_ours) {
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let found = PRIVATE_WORDS.iter().filter(|word| holds_word(line, word));
            violations.extend(found.map(|word| format!("{}:{}: `{word}`", file.display(), number + 1)));
        }
    }
    Ok(violations)
}

/// Code in documentation comments, which would be tests that never run: `doctest` is off, since there was none.
fn code_in_comments(root: &Path) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    for file in tracked_files(root)?.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        let lines = code_blocks(&text).into_iter();
        violations.extend(lines.map(|line| format!("{}:{line}: code in a comment; make it a test", file.display())));
    }
    Ok(violations)
}

/// Lines that begin a block of code in a documentation comment, unless it is marked as `text`.
fn code_blocks(text: &str) -> Vec<usize> {
    let mut is_inside = false;
    let mut begins = |line: &str| {
        let comment = line.trim_start().strip_prefix("///").or_else(|| line.trim_start().strip_prefix("//!"));
        let mark = comment.and_then(|comment| comment.trim().strip_prefix("```")).filter(|mark| !mark.contains('`'));
        mark.is_some_and(|mark| {
            is_inside = !is_inside;
            is_inside && mark != "text"
        })
    };
    text.lines().enumerate().filter(|(_, line)| begins(line)).map(|(number, _)| number + 1).collect()
}

fn holds_word(line: &str, word: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.match_indices(word).any(|(at, _)| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
    })
}

fn names_host(line: &str, hosts: &[String]) -> bool {
    let line = line.to_ascii_lowercase();
    hosts.iter().any(|host| {
        line.match_indices(host.as_str()).any(|(at, _)| {
            let part_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            !line[..at].ends_with(part_of_a_word) && !line[at + host.len()..].starts_with(part_of_a_word)
        })
    })
}

/// Cargo writes its public index into every lock file, whichever mirror it used; nothing else may stand there.
fn foreign_source(line: &str, public_host: &str) -> bool {
    let public = format!("source = \"registry+https://github.com/rust-lang/{public_host}-index\"");
    line.starts_with("source = ") && line != public
}

fn tracked_files(root: &Path) -> Result<Vec<PathBuf>> {
    let list = printed(root, "git", &["ls-files", "-z"])?;
    Ok(list.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_word_is_found_whole_and_in_any_case() {
        assert!(holds_word("Nobody competes", "nobody") && holds_word("it was told apart.", "told apart"));
        assert!(!holds_word("a sitting_2 and twinset", "sitting") && !holds_word("twinset", "twin"));
    }

    #[test]
    fn code_in_a_comment_is_found_and_a_drawing_is_none() {
        let drawing = "//! ```text\n//! | a |\n//! ```\n/// ```B` is slower``\n";
        assert_eq!(code_blocks(drawing), Vec::<usize>::new());
        assert_eq!(code_blocks(&format!("{drawing}    /// ```\n    /// f();\n    /// ```\n/// ```rust\n")), [5, 8]);
    }

    #[test]
    fn the_table_of_crates_is_read() {
        let text = "| crate | holds | uses |
|---|---|---|
| `a` | x | - |
| `b` | `y`, z | `d` `a` |
| `c` | other |
";
        let listed = arrows_listed(text);
        assert_eq!(listed.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(listed["a"].is_empty() && listed["b"] == ["a", "d"]);
    }

    #[test]
    fn dependencies_inside_the_workspace_are_seen() {
        assert_eq!(workspace_dependency("dbduel-load.workspace = true"), Some("load"));
        assert_eq!(workspace_dependency("dbduel-load = { path = \"../load\" }"), Some("load"));
        assert_eq!(workspace_dependency("name = \"dbduel-driver\""), None);
        assert_eq!(workspace_dependency("libc.workspace = true"), None);
    }

    #[test]
    fn a_registry_is_recognised_by_its_host_and_nothing_else_is() {
        let hosts = [["crates", "io"].join(".")];
        let public = format!("source = \"registry+https://github.com/rust-lang/{}-index\"", hosts[0]);
        assert!(names_host(&format!("get it from https://static.{}/x", hosts[0]), &hosts));
        assert!(!names_host("use crates; io::stdout()", &hosts) && !names_host(&format!("{}x", hosts[0]), &hosts));
        assert!(!foreign_source(&public, &hosts[0]));
        assert!(foreign_source("source = \"registry+https://mirror.example/index\"", &hosts[0]));
    }

    #[test]
    fn the_tree_is_tidy() {
        tidy(&super::super::workspace_root()).unwrap();
    }
}
