//! A run folder as the files that it is made of, for a copy of it elsewhere. Nothing here writes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

use anyhow::{Context, Result, ensure};

use crate::RunDir;
use crate::format::TrialRecord;
use crate::plain_file::{self, STORED_BYTES_MAX};
use crate::run_folder::{LOCK, RUN, TRIALS, UNFINISHED, whole_lines};

/// Names of files with a part of their own in a copy.
pub mod part {
    pub use crate::run_folder::{EXPERIMENT, GIVEN, PLAN, RUN, TRIALS};
}

/// Files of a run by their paths inside its folder, in order.
#[derive(Debug, Default)]
pub struct RunFiles {
    pub paths: Vec<String>,
    /// What is neither a plain file nor a folder, or has a name that is no text.
    pub left_out: Vec<String>,
}

impl RunDir {
    /// A file by its path inside the folder, to the byte.
    pub fn file(&self, path: &str) -> Result<Vec<u8>> {
        let path = self.path().join(path);
        plain_file::read(&path, STORED_BYTES_MAX).with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Stored trials behind the first `skipped`, each with its line to the byte, without the line feed.
    pub fn trial_lines(&self, skipped: usize) -> Result<Vec<(TrialRecord, String)>> {
        if !self.path().join(TRIALS).exists() {
            return Ok(Vec::new());
        }
        let damaged = || format!("{}: `{TRIALS}` is damaged", self.name());
        let bytes = self.file(TRIALS)?;
        let lines = std::str::from_utf8(&bytes[..whole_lines(&bytes)]).with_context(damaged)?.lines();
        let read = |line: &str| Ok((serde_json::from_str(line)?, line.to_owned()));
        lines.skip(skipped).map(read).collect::<Result<_>>().with_context(damaged)
    }

    /// How long the list of stored trials is; more when one has been added.
    pub fn bytes_of_trials(&self) -> u64 {
        fs::metadata(self.path().join(TRIALS)).map_or(0, |meta| meta.len())
    }

    /// The files of one trial.
    pub fn files_of_trial(&self, trial: u32) -> Result<RunFiles> {
        let mut files = RunFiles::default();
        self.add_files(&format!("trials/{trial}"), &mut files)?;
        Ok(files)
    }

    /// All files but `run.json`, `trials.ndjson` and those of trials: neither the lock nor what is not finished.
    pub fn files_of_run(&self) -> Result<RunFiles> {
        let mut files = RunFiles::default();
        self.add_files("", &mut files)?;
        Ok(files)
    }

    fn add_files(&self, folder: &str, files: &mut RunFiles) -> Result<()> {
        let path = self.path().join(folder);
        if !path.exists() {
            return Ok(());
        }
        let listed = fs::read_dir(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let names = listed.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<BTreeSet<_>>>()?;
        for name in names {
            let inside = Path::new(folder).join(&name);
            let Some(text) = inside.to_str() else {
                files.left_out.push(inside.to_string_lossy().into_owned());
                continue;
            };
            let kind = fs::symlink_metadata(self.path().join(&inside))?.file_type();
            match text {
                LOCK | RUN | TRIALS | "trials" => {}
                text if text.ends_with(UNFINISHED) => {}
                text if kind.is_dir() => self.add_files(text, files)?,
                text if kind.is_file() => files.paths.push(text.to_owned()),
                text => files.left_out.push(text.to_owned()),
            }
        }
        Ok(())
    }
}

/// A path that names a file of a run inside the run's folder, wherever it comes from.
pub fn expect_inside(path: &str) -> Result<()> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_inside = !path.is_empty() && !path.contains('\0') && Path::new(path).components().all(is_plain);
    ensure!(is_inside && path != LOCK, "`{path}` is no path inside a run's folder");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finished_files_of_the_run_itself_are_copied() {
        let runs = tempfile::tempdir().unwrap();
        let run = RunDir::create(runs.path(), "x", "2031-05-04T10:15:00Z".parse().unwrap()).unwrap();
        let write = |path: &str| {
            let path = run.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        };
        for path in ["plan.json", "run.json", "report.txt", "report.txt.unfinished", "logs/b.log", "logs/a.log"] {
            write(path);
        }
        for path in ["trials/1/server.log", "trials/1/series.csv", "trials/1/windows.unfinished", "trials/2/server.log"]
        {
            write(path);
        }
        std::os::unix::fs::symlink("/etc/hostname", run.path().join("link")).unwrap();
        let files = run.files_of_run().unwrap();
        assert_eq!(files.paths, ["logs/a.log", "logs/b.log", "plan.json", "report.txt"]);
        assert_eq!(files.left_out, ["link"]);
        assert_eq!(run.files_of_trial(1).unwrap().paths, ["trials/1/series.csv", "trials/1/server.log"]);
        assert!(run.files_of_trial(3).unwrap().paths.is_empty());
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        for path in ["plan.json", "trials/1/server.log"] {
            expect_inside(path).unwrap();
        }
        for path in ["", "/etc/passwd", "../x", "trials/../../x", "./plan.json", "a\0b", "lock"] {
            assert!(expect_inside(path).is_err(), "{path}");
        }
    }
}
