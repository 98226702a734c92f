//! Finds circles of modules inside a crate: files that need each other, directly or through others.
//!
//! A file is a node. An arrow goes to the file where a used name is *defined*, through every `use` that hands it on, so
//! a parent that declares its children and hands out their names is on no circle until a child uses something that
//! stands in the parent itself. Methods and trait implementations are not followed: they need no path.
//! Comments, strings and what is built for tests only do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Every circle of every crate, one line each: its files, and the names that each uses of another.
pub fn circles(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in crate_folders(root)? {
        let name = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
        found.extend(circles_of(&folder)?.into_iter().map(|circle| format!("{name}: circle of modules: {circle}")));
    }
    Ok(found)
}

fn circles_of(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for start in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)).iter().filter(|file| file.exists()) {
        found.extend(Tree::read(start)?.circles());
    }
    Ok(found)
}

fn crate_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = ["conformance", "xtask"].map(|name| root.join(name)).into();
    for entry in fs::read_dir(root.join("crates")).context("cannot read the folder of crates")? {
        folders.push(entry?.path());
    }
    folders.sort();
    Ok(folders)
}

/// A crate's modules; the first is its root.
#[derive(Default)]
struct Tree {
    modules: Vec<Module>,
}

/// One module: a file of its own, or a block inside one.
#[derive(Default)]
struct Module {
    /// `diagnosis::rules`; the root is `lib`. A block has the name of the file that it stands in.
    file: String,
    parent: usize,
    children: BTreeMap<String, usize>,
    defined: BTreeSet<String>,
    /// What a name stands for that a `use` brings in.
    imported: BTreeMap<String, Vec<String>>,
    /// Modules of which a `use` brings in everything.
    globs: Vec<Vec<String>>,
    paths: BTreeSet<Vec<String>>,
    words: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Module(usize),
    /// Something that is defined in this module.
    Item(usize),
}

/// For each file the files that it uses, with the names.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl Tree {
    fn read(start: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let stem = start.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tree.modules.push(Module { file: stem, ..Module::default() });
        tree.read_file(0, start, start.parent().unwrap_or(start))?;
        Ok(tree)
    }

    /// `folder` is where the files of its children stand.
    fn read_file(&mut self, module: usize, file: &Path, folder: &Path) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        for (child, name) in self.add(module, &without_tests(&words_of(&text))) {
            let folder = folder.join(&name);
            let (beside, inside) = (folder.with_extension("rs"), folder.join("mod.rs"));
            self.read_file(child, if beside.exists() { &beside } else { &inside }, &folder)?;
        }
        Ok(())
    }

    /// Takes in the text of a module; returns its children that have files of their own.
    fn add(&mut self, module: usize, words: &[String]) -> Vec<(usize, String)> {
        let (mut files, mut depth, mut at) = (Vec::new(), 0_usize, 0);
        while at < words.len() {
            let next = words.get(at + 1).map_or("", String::as_str);
            match words[at].as_str() {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "mod" if words.get(at + 2).is_some_and(|word| word == "{") => {
                    let end = end_of_block(words, at + 2);
                    let child = self.child(module, next, true);
                    files.extend(self.add(child, &words[at + 3..end]));
                    at = end;
                }
                "mod" if words.get(at + 2).is_some_and(|word| word == ";") => {
                    files.push((self.child(module, next, false), next.to_owned()));
                    at += 2;
                }
                "use" => {
                    let end = at + words[at..].iter().position(|word| word == ";").unwrap_or(words.len() - at);
                    self.import(module, &[], &words[at + 1..end]);
                    at = end;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" if depth == 0 => {
                    self.modules[module].defined.insert(next.to_owned());
                }
                "macro_rules" => drop(self.modules[module].defined.insert(words[at + 2].clone())),
                _ => at = self.note_path(module, words, at),
            }
            at += 1;
        }
        files
    }

    fn child(&mut self, parent: usize, name: &str, is_block: bool) -> usize {
        let above = &self.modules[parent].file;
        let file = match (is_block, parent) {
            (true, _) => above.clone(),
            (false, 0) => name.to_owned(),
            (false, _) => format!("{above}::{name}"),
        };
        let child = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules[parent].children.insert(name.to_owned(), child);
        child
    }

    /// Notes the path or the word that begins here; returns where it ends.
    fn note_path(&mut self, module: usize, words: &[String], at: usize) -> usize {
        if !is_name(&words[at]) || at > 0 && [".", "::"].contains(&words[at - 1].as_str()) {
            return at;
        }
        let (mut path, mut end) = (vec![words[at].clone()], at);
        while words.get(end + 1).is_some_and(|word| word == "::") && words.get(end + 2).is_some_and(|w| is_name(w)) {
            path.push(words[end + 2].clone());
            end += 2;
        }
        self.modules[module].words.insert(path[0].clone());
        if path.len() > 1 {
            self.modules[module].paths.insert(path);
        }
        end
    }

    /// One tree of a `use`: `a::{b, c as d, e::*}`.
    fn import(&mut self, module: usize, before: &[String], tree: &[String]) {
        let mut path = before.to_vec();
        let mut words = tree.iter().enumerate();
        while let Some((at, word)) = words.next() {
            match word.as_str() {
                "::" => {}
                "*" => return self.modules[module].globs.push(path),
                "{" => {
                    let inside = &tree[at + 1..end_of_block(tree, at)];
                    return parts(inside).into_iter().for_each(|part| self.import(module, &path, part));
                }
                "as" => {
                    let name = words.next().map(|(_, name)| name.clone()).unwrap_or_default();
                    return self.name_import(module, name, path);
                }
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
        }
        if let Some(name) = path.last().cloned() {
            self.name_import(module, name, path);
        }
    }

    fn name_import(&mut self, module: usize, name: String, path: Vec<String>) {
        self.modules[module].paths.insert(path.clone());
        // `use named::named` stands for the module and for the function; the longer path is the function.
        self.modules[module].imported.entry(name).or_insert(path);
    }

    fn resolve(&self, module: usize, path: &[String], seen: &mut BTreeSet<(usize, Vec<String>)>) -> Option<Found> {
        if !seen.insert((module, path.to_vec())) {
            return None;
        }
        let mut here = module;
        for (at, name) in path.iter().enumerate() {
            let is_last = at + 1 == path.len();
            here = match name.as_str() {
                "crate" => 0,
                "self" => here,
                "super" => self.modules[here].parent,
                name => match self.look_up(here, name, is_last, seen)? {
                    Found::Module(next) => next,
                    item => return Some(item),
                },
            };
        }
        Some(Found::Module(here))
    }

    fn look_up(
        &self,
        at: usize,
        name: &str,
        is_last: bool,
        seen: &mut BTreeSet<(usize, Vec<String>)>,
    ) -> Option<Found> {
        let module = &self.modules[at];
        let child = module.children.get(name).map(|&child| Found::Module(child));
        if !is_last && child.is_some() {
            return child;
        }
        if module.defined.contains(name) {
            return Some(Found::Item(at));
        }
        let imported = module.imported.get(name).and_then(|path| self.resolve(at, path, seen));
        imported.or(child).or_else(|| {
            module.globs.iter().find_map(|glob| match self.resolve(at, glob, seen)? {
                Found::Module(from) if from != at => self.look_up(from, name, is_last, seen),
                _ => None,
            })
        })
    }

    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (at, module) in self.modules.iter().enumerate() {
            let bare = module.words.iter().filter(|_| !module.globs.is_empty()).map(|word| vec![word.clone()]);
            for path in module.paths.iter().cloned().chain(bare) {
                if let Some(Found::Item(from)) = self.resolve(at, &path, &mut BTreeSet::new()) {
                    let of = uses.entry(module.file.clone()).or_default().entry(self.modules[from].file.clone());
                    of.or_default().insert(path.last().cloned().unwrap_or_default());
                }
            }
        }
        uses.iter_mut().for_each(|(file, used)| drop(used.remove(file)));
        uses
    }

    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            uses.keys().map(|file| (file, reached_from(file, &uses))).collect();
        let mut circles = BTreeSet::new();
        for (file, from_here) in reached.iter().filter(|(file, from_here)| from_here.contains(*file)) {
            let is_back = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(*file));
            circles.insert(from_here.iter().filter(is_back).copied().collect::<BTreeSet<&String>>());
        }
        circles.iter().map(|circle| described(circle, &uses)).collect()
    }
}

fn reached_from<'a>(file: &String, uses: &'a Uses) -> BTreeSet<&'a String> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![file]);
    while let Some(next) = left.pop() {
        for used in uses.get(next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(used) {
                left.push(used);
            }
        }
    }
    reached
}

/// ``a uses b (`x`, `y`), b uses a (`z`)``
fn described(circle: &BTreeSet<&String>, uses: &Uses) -> String {
    let mut arrows = Vec::new();
    for file in circle {
        for (used, names) in uses[*file].iter().filter(|(used, _)| circle.contains(used)) {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            arrows.push(format!("{file} uses {used} ({})", names.join(", ")));
        }
    }
    arrows.join("; ")
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Where the block ends that begins here, whatever its brackets.
fn end_of_block(words: &[String], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(start) {
        match word.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    words.len()
}

/// What stands between the commas of the outermost level.
fn parts(words: &[String]) -> Vec<&[String]> {
    let (mut depth, mut found, mut start) = (0, Vec::new(), 0);
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                found.push(&words[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&words[start..]);
    found
}

/// Without attributes, and without the items that are built for tests only.
fn without_tests(words: &[String]) -> Vec<String> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let bracket = if words.get(at + 1).is_some_and(|word| word == "!") { at + 2 } else { at + 1 };
        if words[at] != "#" || words.get(bracket).is_none_or(|word| word != "[") {
            kept.push(words[at].clone());
            at += 1;
            continue;
        }
        let end = end_of_block(words, bracket);
        let attribute: Vec<&str> = words[bracket + 1..end].iter().map(String::as_str).collect();
        let is_for_tests = attribute == ["test"]
            || attribute.first() == Some(&"cfg") && attribute.contains(&"test") && !attribute.contains(&"not");
        at = if is_for_tests { end_of_item(words, end + 1) } else { end } + 1;
    }
    kept
}

/// The semicolon, or the end of the block, that ends the item which begins here.
fn end_of_item(words: &[String], start: usize) -> usize {
    let mut at = start;
    while at < words.len() {
        match words[at].as_str() {
            ";" | "," => return at,
            "{" => return end_of_use_or_block(words, at),
            "(" | "[" => at = end_of_block(words, at),
            _ => {}
        }
        at += 1;
    }
    at
}

/// `use a::{b, c};` goes on behind its block.
fn end_of_use_or_block(words: &[String], start: usize) -> usize {
    let end = end_of_block(words, start);
    if words.get(end + 1).is_some_and(|word| word == ";") { end + 1 } else { end }
}

/// The words and signs of a file, without comments, strings, characters and lifetimes.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = if name > 0 { name } else { first.len_utf8() + usize::from(rest.starts_with("::")) };
            words.push(rest[..length].to_owned());
            length
        });
        rest = &rest[length..];
    }
    words
}

/// How long what stands here is, if it is none of a file's words.
fn skipped(rest: &str) -> Option<usize> {
    let to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    let raw = rest.trim_start_matches('b').trim_start_matches('c');
    match rest.chars().next()? {
        c if c.is_whitespace() => Some(c.len_utf8()),
        '/' if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Some(to("*/", 2)),
        '"' => Some(end_of_string(rest, 1)),
        '\'' => Some(end_of_character(rest)),
        'b' if rest.starts_with("b\"") => Some(end_of_string(rest, 2)),
        'c' if rest.starts_with("c\"") => Some(end_of_string(rest, 2)),
        'b' if rest.starts_with("b'") => Some(1 + end_of_character(&rest[1..])),
        'b' | 'c' | 'r' if raw.starts_with("r\"") || raw.starts_with("r#") => {
            let marks = raw[1..].chars().take_while(|&c| c == '#').count();
            let quote = rest.len() - raw.len() + 1 + marks;
            rest[quote..].starts_with('"').then(|| to(&format!("\"{}", "#".repeat(marks)), quote + 1))
        }
        _ => None,
    }
}

fn end_of_string(rest: &str, from: usize) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest[from..].char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return from + at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Of `'x'`, or of a lifetime's mark.
fn end_of_character(rest: &str) -> usize {
    let mut after = rest.char_indices().skip(1);
    let escaped = rest[1..].starts_with('\\');
    if escaped {
        return rest[3..].find('\'').map_or(rest.len(), |at| 3 + at + 1);
    }
    match (after.next(), after.next()) {
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate that is written down as files and their texts.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        assert_eq!(Tree::read(&folder.path().join("lib.rs")).unwrap().circles(), expected);
    }

    #[test]
    fn a_planted_circle_is_found_with_the_names_that_close_it() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "use crate::b::{self, Other as Same}; pub fn f() { b::g() }"),
                ("b.rs", "pub struct Other; pub fn g() { super::a::f() } use crate::c::C;"),
                ("c.rs", "pub struct C;"),
            ],
            &["a uses b (`Other`, `g`); b uses a (`f`)"],
        );
    }

    #[test]
    fn names_that_a_parent_hands_on_close_no_circle() {
        let one_way = "use crate::{A, b}; impl b::B { fn a(&self) -> A { A } }";
        check(
            &[
                ("lib.rs", "mod a; pub mod b; pub use a::*; pub use b::B;"),
                ("a.rs", "pub struct A;"),
                ("b.rs", "mod inside; pub use inside::C; pub struct B;"),
                ("b/inside.rs", &format!("{one_way} pub struct C;")),
            ],
            &["b uses b::inside (`C`); b::inside uses b (`B`)"],
        );
        check(
            &[("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"), ("a.rs", "pub struct A;"), ("b.rs", one_way)],
            &[],
        );
    }

    #[test]
    fn a_child_that_needs_its_parents_logic_closes_a_circle_with_it() {
        let parent = "mod child; pub fn f() { child::g() } pub fn h() {}";
        check(
            &[("lib.rs", parent), ("child.rs", "use super::*; pub fn g() { h() }")],
            &["child uses lib (`h`); lib uses child (`g`)"],
        );
    }

    #[test]
    fn comments_strings_and_tests_close_no_circle() {
        let text = r##"
            // crate::b::g
            /* crate::b::g */
            pub fn f<'a>(x: &'a str) -> char { let _ = ("\"crate::b::g()", r#"" crate::b::g "#, b'"'); '\'' }
            #[cfg(test)] use crate::b::{g, h};
            #[test] fn tested() { crate::b::g() }
            #[cfg(test)] mod tests { use crate::b::g; }
        "##;
        check(&[("lib.rs", "mod a; mod b;"), ("a.rs", text), ("b.rs", "use crate::a::f; pub fn g() { f() }")], &[]);
    }
}
