//! Where the statements are written meanwhile, how much that is, and how it comes here.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use driver::Admin;

/// What one question for a part of a file asks for.
const PART_BYTES: u64 = 8 << 20;
/// In the line prefix of a capture.
const PREFIX_BARS: usize = 4;

/// A log of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// A file of the capture's own, made by the server on its host.
    Own { path: PathBuf },
    /// The csvlogs of a folder of PostgreSQL, and how long each was before.
    Csv { folder: String, before: BTreeMap<String, u64> },
    /// PostgreSQL's stderr, which is a file on this host, and how long it was before.
    Stderr { path: PathBuf, before: u64 },
}

/// Copies of what was written meanwhile.
#[derive(Debug)]
pub enum Fetched {
    /// Files of this host, which are removed with their folder.
    Copies(Vec<PathBuf>),
    /// The log itself; it is removed when it is no longer needed.
    Own(PathBuf),
    /// A file of the server's host that cannot be read from here.
    OutOfReach(PathBuf),
}

impl Log {
    /// Bytes that were written meanwhile; None where that cannot be seen from here.
    pub fn bytes(&self, admin: &mut Admin) -> Result<Option<u64>> {
        match self {
            Log::Own { path } => Ok(path.metadata().ok().map(|file| file.len())),
            Log::Csv { folder, before } => {
                Ok(Some(grown(&sizes(admin, folder)?, before).map(|(_, from, to)| to - from).sum()))
            }
            Log::Stderr { path, before } => Ok(path.metadata().ok().map(|file| file.len().saturating_sub(*before))),
        }
    }

    /// Where it lies, if that is a folder of this host.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Log::Own { path } | Log::Stderr { path, .. } => path.parent(),
            Log::Csv { folder, .. } => Some(Path::new(folder)).filter(|folder| folder.is_absolute()),
        }
    }

    /// Brings what was written meanwhile into a folder, which only this user can read.
    pub fn fetch(&self, admin: &mut Admin, into: &Path) -> Result<Fetched> {
        match self {
            Log::Own { path } if File::open(path).is_ok() => Ok(Fetched::Own(path.clone())),
            Log::Own { path } => Ok(Fetched::OutOfReach(path.clone())),
            Log::Stderr { path, before } => {
                let mut log = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
                log.seek(SeekFrom::Start(*before))?;
                let (copy, out) = create(into, "server.log")?;
                copy_entries(BufReader::new(log), BufWriter::new(out))?;
                Ok(Fetched::Copies(vec![copy]))
            }
            Log::Csv { folder, before } => {
                let now = sizes(admin, folder)?;
                let files = grown(&now, before).map(|(name, from, to)| {
                    let (copy, out) = create(into, name)?;
                    read_file(admin, &format!("{folder}/{name}"), from, to, out)
                        .with_context(|| format!("cannot read {name}"))?;
                    Ok(copy)
                });
                files.collect::<Result<Vec<PathBuf>>>().map(Fetched::Copies)
            }
        }
    }
}

/// Copies what has the prefix of a capture, with the lines that go on behind a tab: around it the log has its usual one.
fn copy_entries(mut log: impl BufRead, mut out: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_ours = false;
    while log.read_until(b'\n', &mut line)? > 0 {
        if line.first() != Some(&b'\t') {
            let bars = line.iter().filter(|byte| **byte == b'|').count();
            is_ours = bars >= PREFIX_BARS && line[0].is_ascii_digit();
        }
        if is_ours {
            out.write_all(&line)?;
        }
        line.clear();
    }
    out.flush()
}

/// Files that have become longer, and from where to where.
fn grown<'a>(
    now: &'a BTreeMap<String, u64>,
    before: &'a BTreeMap<String, u64>,
) -> impl Iterator<Item = (&'a str, u64, u64)> {
    // One that has become shorter was begun again.
    let from = move |name: &str, to: u64| before.get(name).copied().filter(|from| *from <= to).unwrap_or_default();
    now.iter().map(move |(name, to)| (name.as_str(), from(name, *to), *to)).filter(|(_, from, to)| from < to)
}

/// How long each csvlog of a folder of the server is.
pub fn sizes(admin: &mut Admin, folder: &str) -> Result<BTreeMap<String, u64>> {
    let folder = folder.replace('\'', "''");
    let question = format!(
        "SELECT name, (pg_stat_file('{folder}/' || name, true)).size FROM pg_ls_dir('{folder}', true, false) AS name WHERE name \
         LIKE '%.csv'"
    );
    let sizes = pairs(admin, &question).context("the folder of the server's log cannot be read")?;
    Ok(sizes.into_iter().filter_map(|(name, size)| size.parse().ok().map(|size| (name, size))).collect())
}

/// The rows of an answer with two columns.
pub fn pairs(admin: &mut Admin, question: &str) -> Result<BTreeMap<String, String>> {
    let pairs = admin.rows(question)?.into_iter().filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
        Ok([Some(name), value]) => Some((name, value.unwrap_or_default())),
        _ => None,
    });
    Ok(pairs.collect())
}

fn read_file(admin: &mut Admin, path: &str, from: u64, to: u64, mut out: File) -> Result<()> {
    let path = path.replace('\'', "''");
    let mut at = from;
    while at < to {
        let length = PART_BYTES.min(to - at);
        let question = format!("SELECT encode(pg_read_binary_file('{path}', {at}, {length}), 'hex')");
        let hex = admin.value(&question)?.unwrap_or_default();
        let bytes = unhex(&hex).context("the server sent no file")?;
        if bytes.is_empty() {
            bail!("it has become shorter");
        }
        out.write_all(&bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

fn create(folder: &Path, name: &str) -> Result<(PathBuf, File)> {
    let path = folder.join(Path::new(name).file_name().context("a log without a name")?);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    Ok((path.clone(), file.with_context(|| format!("cannot write {}", path.display()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_meanwhile_is_what_files_have_grown_by() {
        let of = |files: &[(&str, u64)]| files.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        let before = of(&[("a.csv", 10), ("b.csv", 10), ("c.csv", 10)]);
        let now = of(&[("a.csv", 10), ("b.csv", 25), ("c.csv", 4), ("d.csv", 3)]);
        let expected = [("b.csv", 10, 25), ("c.csv", 0, 4), ("d.csv", 0, 3)];
        assert_eq!(grown(&now, &before).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lines_around_a_capture_are_left_out() {
        let log = "2026-11-27 22:48:01.350 UTC [7] LOG:  received SIGHUP\n2026-11-27 22:48:01.351 UTC|a|b|c|LOG:  duration: 1 ms  \
                   statement: select 1\n\t+ 2\nnonsense\n\tgoes on\n2026-11-27 22:48:01.352 UTC [7] LOG:  x | y | z |\n";
        let mut out = Vec::new();
        copy_entries(log.as_bytes(), &mut out).unwrap();
        let expected = "2026-11-27 22:48:01.351 UTC|a|b|c|LOG:  duration: 1 ms  statement: select 1\n\t+ 2\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn bytes_come_in_hexadecimal_digits() {
        assert_eq!(unhex("00ff7A"), Some(vec![0, 255, 0x7a]));
        assert_eq!([unhex("0"), unhex("0g")], [None, None]);
    }
}
