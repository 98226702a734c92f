//! Files of an image, by name: in the folder of a layout, or in a tar, which is read where they lie.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// Manifests and configurations; more is no such file.
pub const SMALL_BYTES_MAX: u64 = 4 << 20;
/// Links from one name to another, in archives that store equal layers once.
const LINKS_MAX: usize = 8;

pub enum Store {
    Folder(PathBuf),
    Tar { file: PathBuf, members: HashMap<String, Member> },
}

pub enum Member {
    Bytes { offset: u64, size: u64 },
    Link(String),
}

impl Store {
    /// The members of a tar; their contents stay in the file.
    pub fn tar(path: &Path) -> Result<Store> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut archive = tar::Archive::new(file);
        let mut members = HashMap::new();
        for entry in archive.entries_with_seek().with_context(|| format!("{} is no tar", path.display()))? {
            let entry = entry.with_context(|| format!("{} is damaged", path.display()))?;
            let name = plain(&String::from_utf8_lossy(&entry.path_bytes()));
            let kind = entry.header().entry_type();
            if kind.is_file() {
                members.insert(name, Member::Bytes { offset: entry.raw_file_position(), size: entry.size() });
            } else if let (true, Some(target)) = (kind.is_symlink() || kind.is_hard_link(), entry.link_name_bytes()) {
                let target = String::from_utf8_lossy(&target).into_owned();
                let folder =
                    if kind.is_symlink() { name.rsplit_once('/').map_or("", |(folder, _)| folder) } else { "" };
                members.insert(name.clone(), Member::Link(plain(&format!("{folder}/{target}"))));
            }
        }
        Ok(Store::Tar { file: path.to_owned(), members })
    }

    /// A file and its size.
    pub fn open(&self, name: &str) -> Result<(Box<dyn Read>, u64)> {
        match self {
            Store::Folder(folder) => {
                let path = folder.join(name);
                let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
                let size = file.metadata()?.len();
                Ok((Box::new(file), size))
            }
            Store::Tar { file, members } => {
                let (offset, size) =
                    found(members, name).with_context(|| format!("{} has no `{name}`", file.display()))?;
                let mut file = File::open(file)?;
                file.seek(SeekFrom::Start(offset))?;
                Ok((Box::new(file.take(size)), size))
            }
        }
    }

    /// The bytes of a manifest or a configuration.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let (file, size) = self.open(name)?;
        ensure!(size <= SMALL_BYTES_MAX, "`{name}` has {size} bytes, which is no manifest");
        let mut bytes = Vec::new();
        file.take(SMALL_BYTES_MAX).read_to_end(&mut bytes).with_context(|| format!("cannot read `{name}`"))?;
        Ok(bytes)
    }
}

fn found(members: &HashMap<String, Member>, name: &str) -> Result<(u64, u64)> {
    let mut name = plain(name);
    for _ in 0..LINKS_MAX {
        match members.get(&name) {
            Some(Member::Bytes { offset, size }) => return Ok((*offset, *size)),
            Some(Member::Link(target)) => name = target.clone(),
            None => bail!("it holds no such member"),
        }
    }
    bail!("its members link to one another")
}

/// A name inside an archive without `.`, `..` and slashes at its ends.
fn plain(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.extend(part.to_str()),
            Component::ParentDir => drop(parts.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}
