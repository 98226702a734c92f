//! Experiment files that dbduel writes.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::{Failure, print};
use crate::KNOWN;
use crate::cli::exit;
use experiment::{Experiment, Line, Overrides};
use record::secrets;
use record::shell::shell_path;

/// Never over what is there: it may be a file that was edited.
pub fn write_new(path: &Path, text: &str) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let refused = || format!("cannot write {}: name a file that is not there yet", path.display());
    let mut file = opened.with_context(refused)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// `--write`: the experiment of a command line as a file to keep, which is read once to be sure of it.
pub fn write_experiment(new: &Path, file: &Path, overrides: &Overrides) -> Result<u8, Failure> {
    let line = overrides.line.as_ref().map(Line::without_passwords);
    let overrides = &Overrides { line, ..overrides.clone() };
    let text = Experiment::source(file, &KNOWN, overrides).map_err(Failure::usage)?.text;
    let name = new.display().to_string();
    if secrets::mask(&text) != text {
        return Err(Failure::usage(anyhow!(
            "{} holds a password, and dbduel writes none into a file\n  next: name a `password_file` in it, or give DBDUEL_PASSWORD",
            file.display()
        )));
    }
    Experiment::parse(&text, &name, &KNOWN, &Overrides::default()).map_err(Failure::usage)?;
    write_new(new, &text).map_err(Failure::usage)?;
    print(&format!("{name} written\n  next: dbduel run {}\n", shell_path(new)))?;
    Ok(exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ladder.toml");
        write_new(&path, "mine").unwrap();
        let error = format!("{:#}", write_new(&path, "yours").unwrap_err());
        assert!(error.contains("that is not there yet"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
