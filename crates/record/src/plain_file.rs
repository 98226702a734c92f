//! Reading a file that a user named: a plain one and nothing else, so that a device or a pipe in its place is an
//! error and never read without end.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Experiments, scripts, lists, passwords.
pub const TEXT_BYTES_MAX: u64 = 16 << 20;
/// What a run left behind, and reports made of it.
pub const STORED_BYTES_MAX: u64 = 2 << 30;

/// The whole file, which has at most so many bytes.
pub fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(OpenOptions::new().read(true), path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(refusal(&format!("the file is larger than {} MiB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// The same, of text in UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String> {
    let text = String::from_utf8(read(path, bytes_max)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "the file is no text in UTF-8"))
}

/// Opens a plain file; a pipe without a writer is not waited for.
pub fn open(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(refusal(match kind {
        kind if kind.is_dir() => "it is a folder, not a file",
        kind if kind.is_fifo() => "it is a pipe, not a file; write what it holds to a file first",
        kind if kind.is_socket() => "it is a socket, not a file",
        _ => "it is a device, not a file",
    }))
}

fn refusal(why: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_is_refused_at_once() {
        let base = tempfile::tempdir().unwrap();
        let pipe = base.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for (path, why) in
            [(Path::new("/dev/zero"), "a device"), (&link, "a device"), (base.path(), "a folder"), (&pipe, "a pipe")]
        {
            let error = read(path, 10).unwrap_err().to_string();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
    }

    #[test]
    fn a_file_is_read_whole_or_refused_as_too_large() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(read_text(&path, 1 << 20).unwrap().len(), 1 << 20);
        std::fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
        assert!(read(&path, 1 << 20).unwrap_err().to_string().contains("larger than 1 MiB"));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path, 1 << 20).unwrap_err().to_string().contains("UTF-8"));
    }
}
