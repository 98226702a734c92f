//! Whether the disks can hold what a plan will put on them, asked before anything is loaded.
//!
//! Sizes are estimates; what lies in the cache already is counted as it is. Two folders on one file
//! system share its room.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use engine::free_bytes;
use experiment::quantity::bytes_text;

/// What will be put on each file system.
#[derive(Default, Clone)]
pub struct DiskSpace {
    places: Vec<FileSystemUse>,
}

/// Needs below one folder; those that come and go are needed one at a time.
#[derive(Clone)]
struct FileSystemUse {
    folder: PathBuf,
    kept_bytes: u64,
    passing_bytes: u64,
}

impl DiskSpace {
    /// These bytes stay there.
    pub fn keep(&mut self, folder: &Path, bytes: u64) {
        let place = self.place(folder);
        place.kept_bytes = place.kept_bytes.saturating_add(bytes);
    }

    /// These bytes are there while a load or a trial goes on, and no others that come and go.
    pub fn use_for_a_while(&mut self, folder: &Path, bytes: u64) {
        let place = self.place(folder);
        place.passing_bytes = place.passing_bytes.max(bytes);
    }

    fn place(&mut self, folder: &Path) -> &mut FileSystemUse {
        let at = self.places.iter().position(|place| place.folder == folder).unwrap_or_else(|| {
            self.places.push(FileSystemUse { folder: folder.to_owned(), kept_bytes: 0, passing_bytes: 0 });
            self.places.len() - 1
        });
        &mut self.places[at]
    }

    /// The first file system that cannot hold it; none where all can.
    pub fn shortage(&self) -> Result<Option<Shortage>> {
        let mut systems: Vec<(u64, FileSystemUse)> = Vec::new();
        for place in &self.places {
            let device = std::fs::metadata(&place.folder).map(|folder| folder.dev());
            let device = device.with_context(|| format!("cannot look at {}", place.folder.display()))?;
            match systems.iter_mut().find(|(known, _)| *known == device) {
                Some((_, system)) => {
                    system.kept_bytes = system.kept_bytes.saturating_add(place.kept_bytes);
                    system.passing_bytes = system.passing_bytes.max(place.passing_bytes);
                }
                None => systems.push((device, place.clone())),
            }
        }
        for (_, FileSystemUse { folder, kept_bytes, passing_bytes }) in systems {
            let needed_bytes = kept_bytes.saturating_add(passing_bytes);
            let free_bytes = free_bytes(&folder)?;
            if needed_bytes > free_bytes {
                return Ok(Some(Shortage { folder, needed_bytes, free_bytes }));
            }
        }
        Ok(None)
    }
}

/// A file system on which there is too little room.
#[derive(Debug)]
pub struct Shortage {
    pub folder: PathBuf,
    pub needed_bytes: u64,
    pub free_bytes: u64,
}

impl Shortage {
    pub fn missing_bytes(&self) -> u64 {
        self.needed_bytes.saturating_sub(self.free_bytes)
    }
}

/// What is needed, what there is, and where.
impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(
            formatter,
            "too little disk for the data: about {} are needed in {}, and {} are free",
            bytes_text(self.needed_bytes),
            self.folder.display(),
            bytes_text(self.free_bytes)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_file_system_share_its_free_space() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, work) = (folder.path().join("cache"), folder.path().join("work"));
        [&cache, &work].iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let free = free_bytes(folder.path()).unwrap();
        let check = |kept: u64, passing: u64, fits: bool| {
            let mut space = DiskSpace::default();
            space.keep(&cache, kept / 2);
            space.keep(&cache, kept / 2);
            space.use_for_a_while(&work, passing);
            space.use_for_a_while(&work, passing / 2);
            assert_eq!(space.shortage().unwrap().is_none(), fits, "{kept} + {passing} of {free}");
        };
        check(0, 0, true);
        check(free / 4, free / 4, true);
        // More than there is, by the sum only.
        check(free / 4 * 3, free / 4 * 3, false);
        check(u64::MAX, u64::MAX, false);
    }

    #[test]
    fn a_shortage_names_what_is_needed_what_is_free_and_where() {
        let shortage = Shortage { folder: "/cache".into(), needed_bytes: 3 << 30, free_bytes: 1 << 30 };
        let text = shortage.to_string();
        assert!(text.contains("3.0 GiB are needed in /cache, and 1.0 GiB are free"), "{text}");
        assert_eq!(shortage.missing_bytes(), 2 << 30);
    }
}
