//! Vendors' archives: a tar, whatever it is compressed with, or a zip.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::compression::decompressed;
use crate::root::Entry;
use crate::unpack::{Limits, Unpacker};
use crate::{Digest, Hashing};

/// Type bits of a symbolic link in a zip made on Unix.
const SYMLINK: u32 = 0o120_000;
const TYPE_BITS: u32 = 0o170_000;

/// Unpacks an archive into a new folder, and gives its SHA-256 and the folder that its files lie in: the only folder at
/// its top, where it has one. A failure leaves no folder.
pub fn unpack_archive(
    archive: &Path,
    expected: Option<&Digest>,
    folder: &Path,
    limits: Limits,
) -> Result<(Digest, PathBuf)> {
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let (digest, _) = Hashing::new(file).finish().with_context(|| format!("cannot read {}", archive.display()))?;
    if let Some(expected) = expected {
        let shown = archive.display();
        ensure!(digest == *expected, "{shown}: expected {expected}, got {digest}; nothing was unpacked");
    }
    fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    match unpack(archive, folder, limits).and_then(|()| top(folder)) {
        Ok(top) => Ok((digest, top)),
        Err(error) => {
            fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
            Err(error.context(format!("cannot unpack {}", archive.display())))
        }
    }
}

fn unpack(archive: &Path, folder: &Path, limits: Limits) -> Result<()> {
    let mut magic = Vec::new();
    File::open(archive)?.take(4).read_to_end(&mut magic)?;
    let mut unpacker = Unpacker::new(folder, limits)?;
    if magic == b"PK\x03\x04" {
        unzip(archive, &mut unpacker)
    } else {
        unpacker.archive(decompressed(File::open(archive)?)?)
    }
}

fn unzip(archive: &Path, unpacker: &mut Unpacker) -> Result<()> {
    let mut zip = zip::ZipArchive::new(File::open(archive)?).context("no zip")?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).context("the zip is damaged")?;
        let name = entry.name_raw().to_owned();
        let mode = entry.unix_mode().unwrap_or(0o644);
        let placed = if entry.is_dir() {
            unpacker.place(&name, Entry::Folder, 0)
        } else if mode & TYPE_BITS == SYMLINK {
            let mut target = Vec::new();
            entry.by_ref().take(4097).read_to_end(&mut target)?;
            unpacker.place(&name, Entry::Symlink { target: &target }, 0)
        } else {
            unpacker.place(&name, Entry::File { bytes: &mut entry, mode }, 0)
        };
        placed.with_context(|| format!("the entry `{}` is refused", name.escape_ascii()))?;
    }
    Ok(())
}

fn top(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    ensure!(!entries.is_empty(), "it is empty");
    match entries.as_slice() {
        [one] if one.file_type()?.is_dir() => Ok(one.path()),
        _ => Ok(folder.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn tar() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(5);
        header.set_mode(0o755);
        tar.append_data(&mut header, "mysql-1.2/bin/mysqld", &b"hello"[..]).unwrap();
        tar.into_inner().unwrap()
    }

    fn zip() -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file("mysql-1.2/bin/mysqld", options).unwrap();
        zip.write_all(b"hello").unwrap();
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn a_tar_and_a_zip_lose_their_top_folder_and_keep_modes() {
        let place = tempfile::tempdir().unwrap();
        let archive = place.path().join("server");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&tar()).unwrap();
        for (number, bytes) in [tar(), gzip.finish().unwrap(), zip()].into_iter().enumerate() {
            fs::write(&archive, &bytes).unwrap();
            let folder = place.path().join(number.to_string());
            let (digest, top) =
                unpack_archive(&archive, Some(&Digest::of(&bytes)), &folder, Limits::default()).unwrap();
            assert_eq!((digest, top.as_path()), (Digest::of(&bytes), folder.join("mysql-1.2").as_path()));
            let server = top.join("bin/mysqld");
            assert_eq!(fs::read(&server).unwrap(), b"hello");
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(server).unwrap().permissions());
            assert_eq!(mode & 0o7777, 0o755);
        }
    }

    #[test]
    fn another_checksum_or_no_archive_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (archive, folder) = (place.path().join("server.tar"), place.path().join("root"));
        let check = |bytes: &[u8], expected: Option<&Digest>, limits: Limits, reason: &str| {
            fs::write(&archive, bytes).unwrap();
            let error = format!("{:#}", unpack_archive(&archive, expected, &folder, limits).unwrap_err());
            assert!(error.contains(reason) && !folder.exists(), "{error}");
        };
        let small = Limits { bytes: 4, ..Limits::default() };
        check(&tar(), Some(&Digest::of(b"other")), Limits::default(), "nothing was unpacked");
        check(b"", None, Limits::default(), "empty");
        check(&b"no tar at all, but text".repeat(100), None, Limits::default(), "damaged");
        check(&zip(), None, small, "more bytes than dbduel unpacks");
        check(&tar(), None, Limits { entries: 0, ..Limits::default() }, "more than 0 entries");
    }
}
