//! What a capture holds, beside its records: counted while it is made, and read back with it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::bytes::{Taking, put, put_signed, put_text};
use crate::event::Event;
use crate::format::Format;
use crate::input::Summary;
use crate::kinds::Skipped;

/// What a capture holds, beside its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Name of the format, path and bytes of each log.
    pub logs: Vec<(String, String, u64)>,
    pub first_us: i64,
    pub last_us: i64,
    pub sessions: u64,
    pub most_sessions: u64,
    pub connects: u64,
    pub statements: u64,
    pub transactions: u64,
    /// Instances that are not replayed, by kind.
    pub skipped: BTreeMap<Skipped, u64>,
    pub overlapping: u64,
    pub bad_entries: u64,
    pub is_coarse: bool,
    pub problems: Vec<String>,
    /// Its statements have other values than those of the logs.
    pub is_anonymised: bool,
}

impl Contents {
    /// The format of the first log.
    pub fn format(&self) -> Option<Format> {
        self.logs.first().and_then(|(format, ..)| Format::of_name(format))
    }

    pub(crate) fn count(&mut self, event: &Event<'_>, skipped: Option<Skipped>) {
        self.statements += 1;
        self.last_us = self.last_us.max(event.start_us + event.duration_us.unwrap_or(0) as i64);
        self.first_us = self.first_us.min(event.start_us);
        if let Some(kind) = skipped {
            *self.skipped.entry(kind).or_default() += 1;
        }
    }

    pub(crate) fn add(&mut self, summary: &Summary) {
        self.logs = summary
            .files
            .iter()
            .map(|file| (file.format.name().to_owned(), file.path.display().to_string(), file.bytes))
            .collect();
        self.overlapping = summary.overlapping;
        self.bad_entries = summary.bad_entries;
        self.is_coarse = summary.is_coarse;
        self.problems = summary.problem_lines();
    }

    /// Leaves of the paths of logs their last names.
    pub(crate) fn forget_folders(&mut self) {
        for (_, path, _) in &mut self.logs {
            let name =
                Path::new(&*path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            for problem in &mut self.problems {
                if let Some(rest) = problem.strip_prefix(&*path) {
                    *problem = format!("{name}{rest}");
                }
            }
            *path = name;
        }
    }

    pub(crate) fn written(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.logs.len() as u64);
        for (format, path, bytes) in &self.logs {
            put_text(&mut out, format.as_bytes());
            put_text(&mut out, path.as_bytes());
            put(&mut out, *bytes);
        }
        [self.first_us, self.last_us].iter().for_each(|number| put_signed(&mut out, *number));
        let Contents { sessions, most_sessions, connects, statements, transactions, overlapping, bad_entries, .. } =
            self;
        let numbers = [sessions, most_sessions, connects, statements, transactions, overlapping, bad_entries];
        numbers.into_iter().for_each(|number| put(&mut out, *number));
        put(&mut out, u64::from(self.is_coarse));
        put(&mut out, self.skipped.len() as u64);
        for (kind, count) in &self.skipped {
            put(&mut out, u64::from(kind.number()));
            put(&mut out, *count);
        }
        put(&mut out, self.problems.len() as u64);
        self.problems.iter().for_each(|line| put_text(&mut out, line.as_bytes()));
        put(&mut out, u64::from(self.is_anonymised));
        out
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Contents> {
        let mut taking = Taking(bytes);
        let text = |taking: &mut Taking<'_>| Some(String::from_utf8_lossy(taking.text()?).into_owned());
        Some(Contents {
            logs: taking.list(|taking| Some((text(taking)?, text(taking)?, taking.number()?)))?,
            first_us: taking.signed()?,
            last_us: taking.signed()?,
            sessions: taking.number()?,
            most_sessions: taking.number()?,
            connects: taking.number()?,
            statements: taking.number()?,
            transactions: taking.number()?,
            overlapping: taking.number()?,
            bad_entries: taking.number()?,
            is_coarse: taking.number()? != 0,
            skipped: taking.list(|taking| Some((Skipped::of_number(taking.number()? as u8)?, taking.number()?)))?,
            problems: taking.list(text)?,
            // Captures of earlier versions end here.
            is_anonymised: taking.number().unwrap_or(0) != 0,
        })
    }
}
