//! The capture file.
//!
//! ```text
//! 8 bytes   "DBCAP\0\0\x01", the last one the version
//! chunks    records of at most 4 MiB together (more only for one record that is longer), sorted by start
//! chunk     the digests
//! chunk     the summary
//! chunk     the index: offset, bytes, records, first and last start of each chunk of records
//! 16 bytes  offset of the index, then "DBCAPEND"
//! ```
//!
//! A chunk is its length (4 bytes, little endian) and one zstd frame with a checksum. Records have their length in
//! front. A file without its end was not finished, and is refused.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::bytes::{Taking, put, put_signed, put_text};
use crate::contents::Contents;
use crate::digests::{Digest, Times};
use crate::input::Refused;
use crate::instance::Instance;
use crate::kinds::Skipped;

pub(crate) const HEAD: &[u8; 8] = b"DBCAP\0\0\x01";
pub(crate) const TAIL: &[u8; 8] = b"DBCAPEND";
const CHUNK_MAX: usize = 4 * 1024 * 1024;
/// What a chunk may hold when it is unpacked: more than the longest record of a log and the tables of all digests. A few
/// bytes can unpack to any size.
const CHUNK_READ_MAX: u64 = 192 * 1024 * 1024;
const LEVEL: i32 = 3;

/// Where a chunk of records lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub offset: u64,
    pub bytes: u64,
    pub records: u64,
    pub first_us: i64,
    pub last_us: i64,
}

/// Writes a capture beside its name first, so that none is half there.
pub(crate) struct Writer {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
    offset: u64,
    records: Vec<u8>,
    open: Chunk,
    index: Vec<Chunk>,
}

const EMPTY: Chunk = Chunk { offset: 0, bytes: 0, records: 0, first_us: i64::MAX, last_us: i64::MIN };

impl Writer {
    /// Only its owner may read the file, and a folder that is made for it: logs hold customers' data.
    pub fn create(path: &Path) -> Result<Writer, Refused> {
        let unwritable = |cause| Refused::Unwritable { path: path.to_owned(), cause };
        if path.exists() {
            return Err(Refused::Usage(format!("{} is there already\n  next: name a new file", path.display())));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable)?;
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial);
        let mut out = BufWriter::new(file.map_err(unwritable)?);
        out.write_all(HEAD).map_err(unwritable)?;
        let (offset, records, index) = (HEAD.len() as u64, Vec::new(), Vec::new());
        Ok(Writer { path: path.to_owned(), partial, out, offset, records, open: EMPTY, index })
    }

    pub fn add(&mut self, start_us: i64, record: &[u8]) -> io::Result<()> {
        if !self.records.is_empty() && self.records.len() + record.len() + 5 > CHUNK_MAX {
            self.close()?;
        }
        put_text(&mut self.records, record);
        self.open.records += 1;
        self.open.first_us = self.open.first_us.min(start_us);
        self.open.last_us = self.open.last_us.max(start_us);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let records = std::mem::take(&mut self.records);
        let offset = self.offset;
        let bytes = self.chunk(&records)?;
        self.index.push(Chunk { offset, bytes, ..self.open });
        self.open = EMPTY;
        self.records = records;
        self.records.clear();
        Ok(())
    }

    fn chunk(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let mut encoder = zstd::Encoder::new(Vec::with_capacity(bytes.len() / 8), LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
        encoder.write_all(bytes)?;
        let frame = encoder.finish()?;
        let length = u32::try_from(frame.len()).map_err(|_| io::Error::other("a chunk is longer than 4 GiB"))?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&frame)?;
        self.offset += 4 + u64::from(length);
        Ok(4 + u64::from(length))
    }

    /// Writes the tables and gives the file its name.
    pub fn finish(mut self, digests: &[Digest], contents: &Contents) -> Result<u64, Refused> {
        let finished = self.write_end(digests, contents);
        finished.map_err(|cause| Refused::Unwritable { path: self.path.clone(), cause })?;
        Ok(self.offset)
    }

    fn write_end(&mut self, digests: &[Digest], contents: &Contents) -> io::Result<()> {
        if !self.records.is_empty() {
            self.close()?;
        }
        let mut table = Vec::new();
        put(&mut table, digests.len() as u64);
        digests.iter().for_each(|digest| write_digest(digest, &mut table));
        self.chunk(&table)?;
        self.chunk(&contents.written())?;
        let index_at = self.offset;
        let mut index = Vec::new();
        put(&mut index, self.index.len() as u64);
        for chunk in &self.index {
            [chunk.offset, chunk.bytes, chunk.records].iter().for_each(|number| put(&mut index, *number));
            [chunk.first_us, chunk.last_us].iter().for_each(|number| put_signed(&mut index, *number));
        }
        let tables_at = self.index.last().map_or(HEAD.len() as u64, |last| last.offset + last.bytes);
        put(&mut index, tables_at);
        self.chunk(&index)?;
        self.out.write_all(&index_at.to_le_bytes())?;
        self.out.write_all(TAIL)?;
        self.offset += 16;
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        std::fs::rename(&self.partial, &self.path)
    }
}

impl Drop for Writer {
    /// What was not finished holds no capture.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}

/// A capture that is open for reading. One chunk is in memory at a time.
pub struct Capture {
    path: PathBuf,
    file: File,
    pub chunks: Vec<Chunk>,
    pub digests: Vec<Digest>,
    pub contents: Contents,
}

impl Capture {
    /// Whether a file begins as a capture does, of whatever version.
    pub fn is_at(path: &Path) -> bool {
        let mut head = [0; 5];
        File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && HEAD.starts_with(&head)
    }

    pub fn open(path: &Path) -> Result<Capture, Refused> {
        let unreadable = |cause| Refused::Unreadable { path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(unreadable)?;
        let index_at = index_of(&mut file).map_err(unreadable)?;
        let no_capture = || {
            let next = "make one of logs with `dbduel capture --from LOG --out FILE`";
            let name = path.display();
            Refused::Usage(format!("{name} is no capture of dbduel, or was not finished\n  next: {next}"))
        };
        let index_at = index_at.ok_or_else(no_capture)?;
        let (chunks, tables_at) =
            read_chunk(&mut file, index_at).ok().and_then(|bytes| read_index(&bytes)).ok_or_else(no_capture)?;
        let digests = read_chunk(&mut file, tables_at).map_err(unreadable)?;
        let contents = read_chunk_here(&mut file).map_err(unreadable)?;
        let digests = Taking(&digests).list(read_digest).ok_or_else(no_capture)?;
        let contents = Contents::read(&contents).ok_or_else(no_capture)?;
        Ok(Capture { path: path.to_owned(), file, chunks, digests, contents })
    }

    /// Hands on every instance that starts at or after a time, in the order of starts, until `take` gives false.
    pub fn instances_from(
        &mut self,
        start_us: i64,
        take: &mut dyn FnMut(&Instance<'_>) -> bool,
    ) -> Result<(), Refused> {
        let first = self.chunks.partition_point(|chunk| chunk.last_us < start_us);
        for chunk in &self.chunks[first..] {
            let bytes = read_chunk(&mut self.file, chunk.offset).and_then(|bytes| {
                let no_records = || io::Error::new(io::ErrorKind::InvalidData, "a chunk holds no records");
                are_records(&bytes, chunk.records).then_some(bytes).ok_or_else(no_records)
            });
            let bytes = bytes.map_err(|cause| Refused::Unreadable { path: self.path.clone(), cause })?;
            let mut records = Taking(&bytes);
            while let Some(instance) = records.text().and_then(Instance::read) {
                if instance.start_us >= start_us && !take(&instance) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Whether bytes are so many records and nothing else.
fn are_records(bytes: &[u8], count: u64) -> bool {
    let mut records = Taking(bytes);
    (0..count).all(|_| records.text().and_then(Instance::read).is_some()) && records.0.is_empty()
}

/// The offset of the index; none in a file that is no capture.
fn index_of(file: &mut File) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len();
    let mut head = [0; 8];
    if length < 24 {
        return Ok(None);
    }
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::End(-16))?;
    let (mut offset, mut tail) = ([0; 8], [0; 8]);
    file.read_exact(&mut offset)?;
    file.read_exact(&mut tail)?;
    let offset = u64::from_le_bytes(offset);
    Ok((&head == HEAD && &tail == TAIL && offset < length).then_some(offset))
}

fn read_chunk(file: &mut File, offset: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    read_chunk_here(file)
}

fn read_chunk_here(file: &mut File) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    let packed = file.take(u64::from(u32::from_le_bytes(length)));
    zstd::Decoder::new(packed)?.take(CHUNK_READ_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CHUNK_READ_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk unpacks to more than any capture holds"));
    }
    Ok(bytes)
}

fn read_index(bytes: &[u8]) -> Option<(Vec<Chunk>, u64)> {
    let mut taking = Taking(bytes);
    let chunks = taking.list(|taking| {
        let (offset, bytes, records) = (taking.number()?, taking.number()?, taking.number()?);
        Some(Chunk { offset, bytes, records, first_us: taking.signed()?, last_us: taking.signed()? })
    })?;
    Some((chunks, taking.number()?))
}

fn write_digest(digest: &Digest, out: &mut Vec<u8>) {
    out.extend(digest.id.to_le_bytes());
    put_text(out, &digest.database);
    put_text(out, &digest.text);
    put(out, digest.skipped.map_or(0, |kind| u64::from(kind.number()) + 1));
    let Digest { calls, timed, total_us, with_rows, rows, errors, list_length, .. } = digest;
    let numbers = [calls, timed, total_us, with_rows, rows, errors, list_length, &digest.times.max_us];
    numbers.into_iter().for_each(|number| put(out, *number));
    put(out, digest.times.buckets.len() as u64);
    for (bucket, count) in &digest.times.buckets {
        put(out, u64::from(*bucket));
        put(out, *count);
    }
}

fn read_digest(taking: &mut Taking<'_>) -> Option<Digest> {
    let (id, rest) = taking.0.split_first_chunk()?;
    taking.0 = rest;
    Some(Digest {
        id: u64::from_le_bytes(*id),
        database: taking.text()?.to_vec(),
        text: taking.text()?.to_vec(),
        skipped: taking.option()?.and_then(|kind| Skipped::of_number(kind as u8)),
        calls: taking.number()?,
        timed: taking.number()?,
        total_us: taking.number()?,
        with_rows: taking.number()?,
        rows: taking.number()?,
        errors: taking.number()?,
        list_length: taking.number()?,
        times: Times {
            max_us: taking.number()?,
            buckets: taking.list(|taking| Some((u16::try_from(taking.number()?).ok()?, taking.number()?)))?,
        },
    })
}
