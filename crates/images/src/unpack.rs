//! Reads the entries of layers and archives, and places them in a root folder.
//!
//! The first entry that breaks a rule ends everything. Extended headers are read here and not by the `tar` crate,
//! because it reads them whole, however long they are.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use tar::{EntryType, PaxExtensions};

use crate::root::{self, Entry, Root};

/// Long names and extended headers; a path has at most 4,096 bytes.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;
const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// What is unpacked at most; more is no server, or an attack.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of all layers, uncompressed.
    pub bytes: u64,
    pub entries: u64,
    /// The user has had enough.
    pub is_interrupted: fn() -> bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 16 << 30, entries: 1_000_000, is_interrupted: || false }
    }
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Of all layers or of the archive, uncompressed.
    pub bytes: u64,
    pub entries: u64,
    /// Devices, pipes and sockets, which no server needs.
    pub skipped: u64,
}

/// Places entries until a limit is reached.
pub struct Unpacker {
    root: Root,
    limits: Limits,
    done: Unpacked,
}

impl Unpacker {
    pub fn new(root: &Path, limits: Limits) -> Result<Unpacker> {
        Ok(Unpacker { root: Root::open(root)?, limits, done: Unpacked::default() })
    }

    pub fn done(&self) -> Unpacked {
        self.done
    }

    /// One layer of an image, with its whiteouts.
    pub fn layer(&mut self, tar: impl Read) -> Result<()> {
        self.tar(tar, true)
    }

    /// An archive, in which whiteouts are files as all others.
    pub fn archive(&mut self, tar: impl Read) -> Result<()> {
        self.tar(tar, false)
    }

    fn tar(&mut self, tar: impl Read, has_whiteouts: bool) -> Result<()> {
        let left = self.limits.bytes - self.done.bytes;
        let mut tar = Limited { inner: tar, left, is_interrupted: self.limits.is_interrupted };
        // What stands behind the end of a tar belongs to its digest, and counts as well.
        let placed = self.entries(&mut tar, has_whiteouts).and_then(|()| Ok(io::copy(&mut tar, &mut io::sink())?));
        self.done.bytes = self.limits.bytes - tar.left;
        placed?;
        self.root.end_layer()
    }

    fn entries(&mut self, tar: impl Read, has_whiteouts: bool) -> Result<()> {
        let mut archive = tar::Archive::new(tar);
        let mut extended = Extended::default();
        for entry in archive.entries().context("no tar")?.raw(true) {
            let mut entry = entry.context("the tar is damaged")?;
            self.count_entry()?;
            match entry.header().entry_type() {
                EntryType::GNULongName => extended.path = Some(long_name(&mut entry)?),
                EntryType::GNULongLink => extended.link = Some(long_name(&mut entry)?),
                EntryType::XHeader => extended.read_pax(&mut entry)?,
                EntryType::XGlobalHeader => {}
                _ => {
                    let extended = std::mem::take(&mut extended);
                    let path = extended.path.clone().unwrap_or_else(|| entry.path_bytes().into_owned());
                    let shown = || format!("the entry `{}` is refused", path.escape_ascii());
                    self.entry(&mut entry, &path, extended, has_whiteouts).with_context(shown)?;
                }
            }
        }
        Ok(())
    }

    pub fn count_entry(&mut self) -> Result<()> {
        self.done.entries += 1;
        ensure!(self.done.entries <= self.limits.entries, "more than {} entries", self.limits.entries);
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &mut tar::Entry<impl Read>,
        path: &[u8],
        extended: Extended,
        whiteouts: bool,
    ) -> Result<()> {
        if whiteouts && self.whiteout(path)? {
            return Ok(());
        }
        let header = entry.header();
        let (kind, mode) = (header.entry_type(), header.mode().context("its mode")?);
        let time = extended.time.unwrap_or_else(|| header.mtime().unwrap_or(0) as i64);
        let size = header.entry_size().context("its size")?;
        ensure!(extended.size.is_none_or(|given| given == size), "a file of more than 8 GiB");
        let target = match extended.link {
            Some(link) => Cow::Owned(link),
            None => Cow::Owned(entry.link_name_bytes().unwrap_or_default().into_owned()),
        };
        let made = match kind {
            EntryType::Directory => Entry::Folder,
            // Tapes of 1979 mark folders so.
            EntryType::Regular if path.ends_with(b"/") => Entry::Folder,
            EntryType::Regular | EntryType::Continuous => Entry::File { bytes: entry, mode },
            EntryType::Symlink => Entry::Symlink { target: &target },
            EntryType::Link => Entry::HardLink { target: &target },
            EntryType::Char | EntryType::Block | EntryType::Fifo => {
                root::names(path)?;
                self.done.skipped += 1;
                return Ok(());
            }
            other => bail!("an entry of type {:?}, which dbduel does not unpack", char::from(other.as_byte())),
        };
        self.root.place(path, made, time)
    }

    /// Carries out a whiteout; whether the entry was one.
    fn whiteout(&mut self, path: &[u8]) -> Result<bool> {
        let names = root::names(path)?;
        let Some((last, folder)) = names.split_last() else { return Ok(false) };
        let last = last.as_encoded_bytes();
        let Some(hidden) = last.strip_prefix(WHITEOUT) else { return Ok(false) };
        if last == OPAQUE {
            self.root.empty_lower(folder)?;
        } else if !hidden.starts_with(WHITEOUT) {
            ensure!(![&b""[..], b".", b".."].contains(&hidden), "a whiteout without a name");
            let hidden: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(hidden);
            self.root.remove_lower(folder, hidden)?;
        }
        Ok(true)
    }

    /// An entry of an archive that is no tar.
    pub fn place(&mut self, path: &[u8], entry: Entry, time: i64) -> Result<()> {
        self.count_entry()?;
        let left = self.limits.bytes - self.done.bytes;
        match entry {
            Entry::File { bytes, mode } => {
                let mut bytes = Limited { inner: bytes, left, is_interrupted: self.limits.is_interrupted };
                let placed = self.root.place(path, Entry::File { bytes: &mut bytes, mode }, time);
                self.done.bytes = self.limits.bytes - bytes.left;
                placed
            }
            other => self.root.place(path, other, time),
        }
    }
}

/// What extended headers give for the entry behind them.
#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    time: Option<i64>,
}

impl Extended {
    fn read_pax(&mut self, entry: &mut tar::Entry<impl Read>) -> Result<()> {
        let bytes = extension(entry)?;
        for record in PaxExtensions::new(&bytes) {
            let record = record.context("an extended header is damaged")?;
            let (key, value) = (record.key_bytes(), record.value_bytes());
            let number = || std::str::from_utf8(value).ok().and_then(|text| text.split('.').next());
            match key {
                b"path" => self.path = Some(value.to_owned()),
                b"linkpath" => self.link = Some(value.to_owned()),
                b"size" => self.size = number().and_then(|text| text.parse().ok()),
                b"mtime" => self.time = number().and_then(|text| text.parse().ok()),
                key if key.starts_with(b"GNU.sparse.") => bail!("a sparse file, which dbduel does not unpack"),
                _ => {}
            }
        }
        Ok(())
    }
}

fn long_name(entry: &mut tar::Entry<impl Read>) -> Result<Vec<u8>> {
    let mut name = extension(entry)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

fn extension(entry: &mut tar::Entry<impl Read>) -> Result<Vec<u8>> {
    let size = entry.header().entry_size().context("an extended header is damaged")?;
    ensure!(size <= EXTENSION_BYTES_MAX, "an extended header of {size} bytes");
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).context("an extended header is cut off")?;
    Ok(bytes)
}

/// Ends with an error where a limit ends.
struct Limited<R> {
    inner: R,
    left: u64,
    is_interrupted: fn() -> bool,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_interrupted)() {
            return Err(io::Error::other("interrupted"));
        }
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other("more bytes than dbduel unpacks")),
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
