//! Runs on their way back: a stored run as a folder.
//!
//! What comes from a store is foreign: a path that leads out of the folder is refused, and every content must have the
//! checksum that it was pushed with. Files of a trial are there before its record, and the plan, which makes a folder
//! a run, comes last.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use driver::Value;
use record::run_copy::{expect_inside, part};

use crate::checksum::{Violation, sha256};
use crate::store::{Store, Stored, text};

/// Files up to this size come several at a time.
const SMALL_BYTES: i64 = 64 << 10;
const SMALL_FILES: i64 = 200;
/// A piece of a larger one; its text is a third longer, and the driver takes messages of 16 MiB.
const PIECE_BYTES: usize = 8 << 20;
const LINES: i64 = 1000;

/// What a folder has of a stored run.
#[derive(Debug, Default)]
pub struct Copied {
    /// Lines of `trials.ndjson`.
    lines: i64,
    /// Checksums of files by path.
    files: HashMap<String, String>,
    record: String,
}

impl Copied {
    pub fn trials(&self) -> usize {
        self.lines as usize
    }

    pub fn files(&self) -> usize {
        self.files.len()
    }
}

impl Store {
    /// Copies what a folder lacks of a run, as the store has it at one instant.
    pub fn copy(&mut self, run: &Stored, folder: &Path, copied: &mut Copied) -> Result<()> {
        self.admin.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let done = self.copy_lacking(run, folder, copied);
        self.admin.run("ROLLBACK")?;
        done.with_context(|| format!("cannot copy {} from {}", run.name, self.url))
    }

    fn copy_lacking(&mut self, run: &Stored, folder: &Path, copied: &mut Copied) -> Result<()> {
        let id = Value::Text(run.run_id.as_bytes());
        let listed = self.admin.fetch("SELECT path, sha256, bytes FROM file WHERE run_id = $1 ORDER BY path", &[id])?;
        let mut larger = Vec::new();
        let mut has_small = false;
        let mut lacking = HashMap::new();
        for row in 0..listed.len() {
            let (path, pushed, bytes) = (text(&listed, row, 0), text(&listed, row, 1), listed.int(row, 2)?);
            expect_inside(&path)?;
            if copied.files.get(&path) == Some(&pushed) {
                continue;
            }
            if bytes > SMALL_BYTES {
                larger.push((path.clone(), bytes as usize))
            } else {
                has_small = true
            }
            lacking.insert(path, pushed);
        }
        let mut target = Target { run, folder, lacking, copied, plan: None };
        if has_small {
            self.copy_small(&mut target)?;
        }
        for (path, bytes) in larger {
            let content = self.content(run, &path, bytes)?;
            target.take(path, content)?;
        }
        self.copy_lines(&mut target)?;
        let record = self.admin.fetch("SELECT record FROM run WHERE run_id = $1", &[id])?;
        let record = text(&record, 0, 0);
        if record != target.copied.record {
            write(&folder.join(part::RUN), record.as_bytes())?;
            target.copied.record = record;
        }
        target.plan.map_or(Ok(()), |plan| write(&folder.join(part::PLAN), &plan))
    }

    fn copy_small(&mut self, target: &mut Target<'_>) -> Result<()> {
        let sql = format!(
            "SELECT path, encode(content, 'base64') FROM file
             WHERE run_id = $1 AND path > $2 AND bytes <= {SMALL_BYTES} ORDER BY path LIMIT {SMALL_FILES}"
        );
        let mut last = String::new();
        loop {
            let id = Value::Text(target.run.run_id.as_bytes());
            let rows = self.admin.fetch(&sql, &[id, Value::Text(last.as_bytes())])?;
            for row in 0..rows.len() {
                last = text(&rows, row, 0);
                if target.lacking.contains_key(&last) {
                    target.take(last.clone(), decoded(rows.text(row, 1))?)?;
                }
            }
            if (rows.len() as i64) < SMALL_FILES {
                return Ok(());
            }
        }
    }

    fn content(&mut self, run: &Stored, path: &str, bytes: usize) -> Result<Vec<u8>> {
        let sql = "SELECT encode(substring(content FROM $3::integer FOR $4::integer), 'base64') FROM file
                   WHERE run_id = $1 AND path = $2";
        let mut content = Vec::with_capacity(bytes);
        while content.len() < bytes {
            let from = Value::Int(content.len() as i64 + 1);
            let (id, path) = (Value::Text(run.run_id.as_bytes()), Value::Text(path.as_bytes()));
            let rows = self.admin.fetch(sql, &[id, path, from, Value::Int(PIECE_BYTES as i64)])?;
            let piece = decoded(rows.text(0, 0))?;
            anyhow::ensure!(!piece.is_empty(), "a file of the store is shorter than it was pushed");
            content.extend(piece);
        }
        Ok(content)
    }

    fn copy_lines(&mut self, target: &mut Target<'_>) -> Result<()> {
        let sql = format!("SELECT record FROM trial WHERE run_id = $1 AND line >= $2 ORDER BY line LIMIT {LINES}");
        loop {
            let (id, from) = (Value::Text(target.run.run_id.as_bytes()), Value::Int(target.copied.lines));
            let rows = self.admin.fetch(&sql, &[id, from])?;
            let lines: Vec<u8> = (0..rows.len()).flat_map(|row| [rows.text(row, 0), b"\n"].concat()).collect();
            if !lines.is_empty() {
                let path = target.folder.join(part::TRIALS);
                let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
                file.write_all(&lines).with_context(|| format!("cannot write `{}`", path.display()))?;
            }
            target.copied.lines += rows.len() as i64;
            if (rows.len() as i64) < LINES {
                return Ok(());
            }
        }
    }
}

/// A folder on its way to be a run.
struct Target<'a> {
    run: &'a Stored,
    folder: &'a Path,
    /// Files that are missing, with the checksums that they were pushed with.
    lacking: HashMap<String, String>,
    copied: &'a mut Copied,
    plan: Option<Vec<u8>>,
}

impl Target<'_> {
    fn take(&mut self, path: String, content: Vec<u8>) -> Result<()> {
        let (found, pushed) = (sha256(&content), self.lacking.get(&path).cloned().unwrap_or_default());
        if found != pushed {
            return Err(Violation::Damaged { what: path, run: self.run.name.clone(), found, pushed }.into());
        }
        if path == part::PLAN {
            self.plan = Some(content);
        } else {
            write(&self.folder.join(&path), &content)?;
        }
        self.copied.files.insert(path, found);
        Ok(())
    }
}

fn decoded(base64: &[u8]) -> Result<Vec<u8>> {
    let lines: Vec<u8> = base64.iter().copied().filter(|byte| *byte != b'\n').collect();
    STANDARD.decode(lines).context("the store sent a content that is no base64")
}

/// Readers get the old file or the new one.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let written = || -> std::io::Result<()> {
        let folder = path.parent().expect("a file of a run lies in a folder");
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));
        fs::write(&unfinished, content)?;
        fs::rename(&unfinished, path)
    };
    written().with_context(|| format!("cannot write `{}`", path.display()))
}
