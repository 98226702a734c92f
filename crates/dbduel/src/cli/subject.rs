//! What a command measures: an experiment file, contenders in place of its own, or contenders without a file.
//!
//! A first word that ends in `.toml`, that is the path of a file, or that is the name of an experiment inside the program
//! is the file; every other word is a contender.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{KNOWN, shipped};
use experiment::{COMMAND_LINE, Experiment, Line, Overrides, shell_word};
use record::secrets::mask_urls;

#[derive(Debug, Clone, Default, Args)]
pub struct SubjectArgs {
    /// Measure this: an experiment file (TOML), contenders in place of those of a file, or contenders alone. A contender is an
    /// engine (mysql@5.7, sqlite), image:mysql:8.4, dir:/opt/mysql, archive:FILE or the URL of a running server, with NAME= in
    /// front and ?SETTING=VALUE&... behind it, where wanted: 'old=mysql@5.7?sync_binlog=1'. A first word that ends in .toml or is
    /// the path of a file is the file. Contenders alone are measured by short trials, for a first look of about three minutes
    #[arg(value_name = "FILE|CONTENDER")]
    pub contenders: Vec<OsString>,
    /// Measure this workload [default: oltp_read_write]; `dbduel list workloads` has the names. Not beside a file
    #[arg(long, value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Vary the number of clients: 1,4,16,64 [default: 1,4; beside a file, the file's]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub clients: Vec<u64>,
    /// Load tables of this many rows [default: 10000; beside a file or with another preset than quick, theirs]
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,
    /// Measure this long in each trial, such as 10s [default: 1s; beside a file or with another preset than quick, theirs]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Set this on every contender of the command line, or, with @FILE, what is in the server's own configuration file
    /// (my.cnf, postgresql.conf); may be given more than once, a contender's own wins
    #[arg(long, value_name = "NAME=VALUE|@FILE")]
    pub settings: Vec<String>,
    /// Replay these logs of a server, or a capture of them, on the contenders; with --data
    #[arg(long, value_name = "LOG|CAPTURE")]
    pub log: Vec<PathBuf>,
    /// Fill the tables from this dump, or from this data directory of a server that is stopped
    #[arg(long, value_name = "DUMP|FOLDER")]
    pub data: Option<PathBuf>,
}

impl SubjectArgs {
    /// A subject that is a file and nothing else.
    pub fn of_file(file: &Path) -> SubjectArgs {
        SubjectArgs { contenders: vec![file.into()], ..SubjectArgs::default() }
    }

    /// The same, with this contender where nothing is named.
    pub fn or(&self, contender: &str) -> SubjectArgs {
        let named = (!self.contenders.is_empty()).then(|| self.contenders.clone());
        SubjectArgs { contenders: named.unwrap_or_else(|| vec![contender.into()]), ..self.clone() }
    }

    /// The file, or what stands for it in messages, and what the line says beside it. None where nothing is named.
    pub fn asked(&self, overrides: Overrides) -> Result<Option<(PathBuf, Overrides)>> {
        let file = self.contenders.first().filter(|word| is_file(word)).map(PathBuf::from);
        let words = &self.contenders[usize::from(file.is_some())..];
        if let Some(second) = words.iter().find(|word| is_experiment(word)) {
            bail!(
                "{} is an experiment file, and only the first word may be one\n  next: put it in front of the contenders",
                second.display()
            );
        }
        let contenders = words.iter().map(|word| word.to_str().map(str::to_owned));
        let line = Line {
            contenders: contenders.collect::<Option<_>>().context("a contender is not UTF-8")?,
            settings: self.settings.clone(),
            workload: self.workload.clone(),
            clients: self.clients.clone(),
            rows: self.rows,
            duration: self.duration.clone(),
            logs: self.log.clone(),
            data: self.data.clone(),
            has_file: file.is_some(),
        };
        match file {
            Some(file) => beside_file(line, overrides).map(|overrides| Some((file, overrides))),
            None if line == Line::default() => Ok(None),
            None => without_file(line, overrides).map(Some),
        }
    }
}

fn beside_file(line: Line, mut overrides: Overrides) -> Result<Overrides> {
    for (key, value) in line.keys_of_file()? {
        ensure!(
            !overrides.set.contains_key(&key),
            "`{key}` is given twice: by --set and by a flag of its own\n  next: leave one of them out"
        );
        overrides.set.insert(key, value);
    }
    let changes_more = !line.contenders.is_empty() || !line.settings.is_empty() || line.workload.is_some();
    Ok(Overrides { line: changes_more.then_some(line), ..overrides })
}

fn without_file(line: Line, overrides: Overrides) -> Result<(PathBuf, Overrides)> {
    ensure!(
        !line.contenders.is_empty(),
        "nothing is named that these flags are for\n  next: name contenders, such as mysql@5.7 mysql@8.0, or an experiment file"
    );
    Ok((COMMAND_LINE.into(), Overrides { line: Some(line), ..overrides }))
}

/// A duel needs two where no file says what else there is to measure.
pub fn expect_two(overrides: &Overrides) -> Result<()> {
    let Some(Line { contenders, has_file: false, .. }) = &overrides.line else { return Ok(()) };
    let [one] = contenders.as_slice() else { return Ok(()) };
    // One that is no contender at all may have been meant for a file.
    Experiment::source(COMMAND_LINE.as_ref(), &KNOWN, overrides)?;
    let one = shell_word(&mask_urls(one));
    bail!(
        "{one} stands alone, and a comparison needs two\n  next: name another one, or measure it against itself: dbduel aa {one}"
    )
}

fn is_file(word: &OsStr) -> bool {
    is_experiment(word) || Path::new(word).is_file() || shipped::BY_NAME.iter().any(|(name, _)| word == *name)
}

fn is_experiment(word: &OsStr) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "toml") && !word.to_string_lossy().contains('?')
}
