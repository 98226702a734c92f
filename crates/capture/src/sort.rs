//! Records in the order of their starts, whatever their number: runs that fit into memory are sorted and put into
//! temporary files, which are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Start, then the order of the log.
type Key = (i64, u64);

pub(crate) struct Sorter {
    folder: PathBuf,
    memory: usize,
    records: Vec<u8>,
    places: Vec<(Key, usize, u32)>,
    runs: Vec<File>,
    count: u64,
}

const LEVEL: i32 = 1;

impl Sorter {
    /// `memory` bounds the records that are held; runs lie in `folder`, in files without a name.
    pub fn new(folder: &Path, memory: usize) -> Sorter {
        let (records, places, runs) = Default::default();
        Sorter { folder: folder.to_owned(), memory, records, places, runs, count: 0 }
    }

    /// Adds a record, which `write` appends.
    pub fn add(&mut self, start_us: i64, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if self.records.len() + self.places.len() * size_of::<(Key, usize, u32)>() >= self.memory {
            self.spill()?;
        }
        if self.records.capacity() == 0 {
            // Once: growing by doubling would hold one and a half times as much.
            self.records.reserve_exact(self.memory / 5 * 4);
            self.places.reserve_exact(self.memory / 5 / size_of::<(Key, usize, u32)>());
        }
        let at = self.records.len();
        write(&mut self.records);
        self.places.push(((start_us, self.count), at, (self.records.len() - at) as u32));
        self.count += 1;
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.places.sort_unstable();
        let file = tempfile::tempfile_in(&self.folder)?;
        let mut out = zstd::Encoder::new(BufWriter::new(file), LEVEL)?;
        for ((start_us, number), at, length) in self.places.drain(..) {
            out.write_all(&start_us.to_le_bytes())?;
            out.write_all(&number.to_le_bytes())?;
            out.write_all(&length.to_le_bytes())?;
            out.write_all(&self.records[at..at + length as usize])?;
        }
        let mut file = out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        self.records.clear();
        Ok(())
    }

    /// Hands on every record in its order.
    pub fn finish(mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.runs.is_empty() {
            self.places.sort_unstable();
            return self.places.iter().try_for_each(|(_, at, length)| take(&self.records[*at..*at + *length as usize]));
        }
        self.spill()?;
        (self.records, self.places) = Default::default();
        let mut runs = self.runs.into_iter().map(Run::open).collect::<io::Result<Vec<Run>>>()?;
        let mut next: BinaryHeap<Reverse<(Key, usize)>> =
            runs.iter().enumerate().filter_map(|(index, run)| run.key.map(|key| Reverse((key, index)))).collect();
        while let Some(Reverse((_, index))) = next.pop() {
            take(&runs[index].record)?;
            runs[index].advance()?;
            if let Some(key) = runs[index].key {
                next.push(Reverse((key, index)));
            }
        }
        Ok(())
    }
}

/// A sorted file, and its next record.
struct Run {
    from: zstd::Decoder<'static, BufReader<File>>,
    key: Option<Key>,
    record: Vec<u8>,
}

impl Run {
    fn open(file: File) -> io::Result<Run> {
        let mut run = Run { from: zstd::Decoder::new(file)?, key: None, record: Vec::new() };
        run.advance()?;
        Ok(run)
    }

    fn advance(&mut self) -> io::Result<()> {
        let mut start = [0; 8];
        self.key = None;
        match self.from.read_exact(&mut start) {
            Err(end) if end.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let (mut number, mut length) = ([0; 8], [0; 4]);
        self.from.read_exact(&mut number)?;
        self.from.read_exact(&mut length)?;
        self.record.resize(u32::from_le_bytes(length) as usize, 0);
        self.from.read_exact(&mut self.record)?;
        self.key = Some((i64::from_le_bytes(start), u64::from_le_bytes(number)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(memory: usize) -> Vec<u32> {
        let mut sorter = Sorter::new(&std::env::temp_dir(), memory);
        for number in 0..5_000_u32 {
            let start = i64::from(number.wrapping_mul(2_654_435_761) % 1_000);
            sorter.add(start, |out| out.extend(number.to_le_bytes())).unwrap();
        }
        let mut found = Vec::new();
        let take = |record: &[u8]| {
            found.push(u32::from_le_bytes(record.try_into().unwrap()));
            Ok(())
        };
        sorter.finish(take).unwrap();
        found
    }

    #[test]
    fn records_are_sorted_by_start_and_then_as_they_came_with_any_memory() {
        let mut expected: Vec<u32> = (0..5_000).collect();
        expected.sort_by_key(|number| number.wrapping_mul(2_654_435_761) % 1_000);
        for memory in [1_000, 20_000, 10_000_000] {
            assert_eq!(sorted(memory), expected, "{memory}");
        }
    }
}
