//! `cargo xtask images`: generated stacks of layers and a real server, unpacked by dbduel and by umoci.
//!
//! Layouts are written by umoci and copied by skopeo into the other forms, so that no code of ours makes what ours reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use images::{Limits, Platform, Reference, open, unpack_image};
use rand::prelude::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tar::EntryType;

#[derive(Args)]
pub struct Images {
    /// Generate this many stacks of layers
    #[arg(long, default_value_t = 20)]
    pub stacks: u64,
    /// Seed of the stacks
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Kill dbduel, keeper or server so often, at random moments
    #[arg(long, default_value_t = 30)]
    pub kills: u64,
    /// Take MySQL 8.0.31 from this cache of dbduel
    #[arg(long, value_name = "FOLDER", default_value = "/var/cache/dbduel")]
    pub cache: PathBuf,
    /// Only servers out of images, without the generated layers
    #[arg(long)]
    pub servers: bool,
}

const NAMES: [&str; 5] = ["usr", "bin", "lib", "share", "data"];
/// A layer that holds a server as it is shipped.
const PACKAGE: &str = "mariadb-server-core";

/// Generated stacks and a package, unpacked by dbduel and by umoci.
pub fn run(options: &Images) -> Result<()> {
    if options.servers {
        return Ok(());
    }
    for program in ["umoci", "skopeo"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed (Debian package `{program}`)");
            return Ok(());
        }
    }
    for number in 0..options.stacks {
        let place = tempfile::tempdir()?;
        let layers = stack(options.seed, number, place.path())?;
        compare(place.path(), &layers).with_context(|| format!("stack {number} of seed {}", options.seed))?;
    }
    println!(
        "{} generated stacks: the same files as umoci, from a layout and from both kinds of archives",
        options.stacks
    );
    let place = tempfile::tempdir()?;
    match package(place.path()) {
        Ok(layer) => {
            let files = compare(place.path(), &[layer])?;
            println!("{PACKAGE}: {files} files, the same as umoci");
        }
        Err(error) => println!("skipped: {PACKAGE}: {error:#}"),
    }
    Ok(())
}

/// The files of a Debian package, as a layer.
fn package(place: &Path) -> Result<PathBuf> {
    quiet(place, "apt-get", &["download", PACKAGE])?;
    let mut found = fs::read_dir(place)?.filter_map(|entry| Some(entry.ok()?.path()));
    let found = found.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let deb = found.context("apt-get downloaded nothing")?;
    let tar = Command::new("dpkg-deb").arg("--fsys-tarfile").arg(&deb).output()?;
    ensure!(tar.status.success(), "dpkg-deb failed");
    let layer = place.join("server.tar");
    fs::write(&layer, tar.stdout)?;
    Ok(layer)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    File,
    Folder,
    Link,
}

/// Layers of random entries: files, folders, links, whiteouts, and other types than in the layer below.
fn stack(seed: u64, number: u64, place: &Path) -> Result<Vec<PathBuf>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut tree = BTreeMap::new();
    let write = |layer| {
        let path = place.join(format!("{layer}.tar"));
        let tar = tar::Builder::new(fs::File::create(&path)?);
        let mut writer = Writer { tar, random: &mut random, lower: tree.clone(), tree: &mut tree, made: Vec::new() };
        (0..15).try_for_each(|number| writer.add(&format!("{layer} {number}")))?;
        writer.tar.into_inner()?;
        Ok(path)
    };
    (0..4).map(write).collect()
}

/// Writes one layer whose entries are valid.
struct Writer<'a> {
    tar: tar::Builder<fs::File>,
    random: &'a mut ChaCha8Rng,
    /// What the layers below amount to.
    lower: BTreeMap<String, Kind>,
    /// The same with what this layer has made.
    tree: &'a mut BTreeMap<String, Kind>,
    made: Vec<String>,
}

impl Writer<'_> {
    /// Adds an entry with a path of its own, below folders only, and never below what this layer has replaced.
    fn add(&mut self, text: &str) -> Result<()> {
        let depth = self.random.random_range(1..4);
        let names: Vec<&str> = (0..depth).filter_map(|_| NAMES.choose(self.random).copied()).collect();
        let path = names.join("/");
        let parents: Vec<String> = (1..names.len()).map(|end| names[..end].join("/")).collect();
        let is_below_folders = parents.iter().all(|one| self.tree.get(one).is_none_or(|kind| *kind == Kind::Folder));
        let below = format!("{path}/");
        let is_taken = self.made.iter().any(|other| *other == path || other.starts_with(&below));
        if !is_below_folders || is_taken {
            return Ok(());
        }
        let made = match self.random.random_range(0..6u32) {
            0 => return self.hide(&path),
            1 => return self.empty(&path),
            2 => self.append(&path, EntryType::Directory, "", "").map(|()| Some(Kind::Folder)),
            3 => self.link(&path).map(Some),
            4 => self.hard_link(&path),
            _ => self.append(&path, EntryType::Regular, "", text).map(|()| Some(Kind::File)),
        };
        let Some(kind) = made? else { return Ok(()) };
        if kind != Kind::Folder {
            self.tree.retain(|other, _| !other.starts_with(&below));
        }
        self.tree.extend(parents.into_iter().map(|parent| (parent, Kind::Folder)));
        self.tree.insert(path.clone(), kind);
        self.made.push(path);
        Ok(())
    }

    /// A whiteout of one name.
    fn hide(&mut self, path: &str) -> Result<()> {
        if !self.lower.contains_key(path) {
            return Ok(());
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.append(&format!("{folder}/.wh.{name}"), EntryType::Regular, "", "")?;
        self.tree.retain(|other, _| other != path && !other.starts_with(&format!("{path}/")));
        self.made.push(path.to_owned());
        Ok(())
    }

    /// A whiteout of all that is in a folder.
    fn empty(&mut self, path: &str) -> Result<()> {
        let is_folder = |tree: &BTreeMap<String, Kind>| tree.get(path) == Some(&Kind::Folder);
        if !is_folder(&self.lower) || !is_folder(self.tree) {
            return Ok(());
        }
        self.append(&format!("{path}/.wh..wh..opq"), EntryType::Regular, "", "")?;
        self.tree.retain(|other, _| !other.starts_with(&format!("{path}/")));
        self.made.push(path.to_owned());
        Ok(())
    }

    fn link(&mut self, path: &str) -> Result<Kind> {
        let target = ["/usr/lib", "../data", "nowhere"].choose(self.random).copied().unwrap_or("nowhere");
        self.append(path, EntryType::Symlink, target, "")?;
        Ok(Kind::Link)
    }

    /// To any file that is there; none where there is none.
    fn hard_link(&mut self, path: &str) -> Result<Option<Kind>> {
        let is_other = |other: &str| other != path && !other.starts_with(&format!("{path}/"));
        let files = self.tree.iter().filter(|(other, kind)| **kind == Kind::File && is_other(other));
        let files: Vec<String> = files.map(|(other, _)| other.clone()).collect();
        let Some(target) = files.choose(self.random) else { return Ok(None) };
        self.append(path, EntryType::Link, target, "")?;
        Ok(Some(Kind::File))
    }

    fn append(&mut self, path: &str, kind: EntryType, target: &str, text: &str) -> Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(text.len() as u64);
        let path = path.trim_start_matches('/');
        if target.is_empty() {
            self.tar.append_data(&mut header, path, text.as_bytes())?;
        } else {
            self.tar.append_link(&mut header, path, target)?;
        }
        Ok(())
    }
}

/// Unpacks the layers by umoci and, from three forms of the image, by dbduel; gives the number of files.
fn compare(place: &Path, layers: &[PathBuf]) -> Result<usize> {
    quiet(place, "umoci", &["init", "--layout", "layout"])?;
    quiet(place, "umoci", &["new", "--image", "layout:x"])?;
    for layer in layers {
        quiet(place, "umoci", &["raw", "add-layer", "--image", "layout:x", &layer.display().to_string()])?;
    }
    quiet(place, "umoci", &["unpack", "--rootless", "--image", "layout:x", "bundle"])?;
    let expected = contents(&place.join("bundle/rootfs"))?;
    quiet(place, "skopeo", &["copy", "oci:layout:x", "oci-archive:oci.tar:x"])?;
    quiet(place, "skopeo", &["copy", "oci:layout:x", "docker-archive:docker.tar:x:1"])?;
    for (number, form) in
        ["oci:DIR/layout:x", "oci-archive:DIR/oci.tar:x", "docker-archive:DIR/docker.tar"].iter().enumerate()
    {
        let reference =
            Reference::parse(&form.replace("DIR", &place.display().to_string())).map_err(anyhow::Error::msg)?;
        let root = place.join(format!("root-{number}"));
        unpack_image(&open(&reference, &Platform::here())?, &root, Limits::default())?;
        let found = contents(&root)?;
        let differing = expected.iter().find(|(path, what)| found.get(*path) != Some(what));
        ensure!(
            found == expected,
            "{reference}: {differing:?}, and {} paths instead of {}",
            found.len(),
            expected.len()
        );
    }
    Ok(expected.len())
}

/// Every path below a folder, with its type and its bytes or its target; devices aside.
pub fn contents(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let kind = fs::symlink_metadata(&path)?.file_type();
            let what = if kind.is_dir() {
                left.push(path.clone());
                "folder".to_owned()
            } else if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path)?.display())
            } else if kind.is_file() {
                format!("file {}", images::Digest::of(&fs::read(&path)?))
            } else {
                continue;
            };
            found.insert(path.strip_prefix(root)?.to_owned(), what);
        }
    }
    Ok(found)
}

pub fn quiet(place: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).current_dir(place).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{program} {}` failed: {}", arguments.join(" "), stderr.trim());
    Ok(())
}
