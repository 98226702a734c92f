//! Programs of this machine, files' checksums, and what the log of a program names as the cause of its end.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::keeper::{Exit, Program};

const FETCH_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs a client in `folder`; the end of its output is part of the error.
pub(crate) fn run_client(program: Program, folder: &Path) -> Result<()> {
    let program = Program { directory: Some(folder.to_owned()), ..program };
    let exit = program.run(FETCH_LIMIT)?;
    if exit != Exit::Status(0) {
        bail!("{} {exit}\nit said: {}", program.path.display(), log_tail(&program.log, 0).join("\n         "));
    }
    Ok(())
}

/// A program's path, as the shell would find it.
pub fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// SHA-256 of a file, in hexadecimal.
pub fn sha256_of(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    io::copy(&mut BufReader::with_capacity(1 << 20, opened), &mut hash)?;
    Ok(hex(&hash.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of a log, from a byte position on, that most likely name the cause; three at most.
pub fn log_tail(log: &Path, from: u64) -> Vec<String> {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(text.get(from as usize..).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling: Vec<&str> = lines.iter().copied().filter(|line| is_failure(line)).collect();
    match lines.len() {
        0 => vec!["nothing".to_owned()],
        // The first complaint is the cause, the rest its consequences; without one, the end counts.
        _ if !telling.is_empty() => telling.iter().take(3).map(|line| (*line).to_owned()).collect(),
        count => lines[count.saturating_sub(3)..].iter().map(|line| (*line).to_owned()).collect(),
    }
}

fn is_failure(line: &str) -> bool {
    // A server's closing line repeats no cause.
    let marks =
        ["[ERROR]", "FATAL:", "PANIC:", "ERROR:", "unknown variable", "unknown option", "error:", "InnoDB: Error"];
    marks.iter().any(|mark| line.contains(mark)) && !line.ends_with("Aborting") && !line.ends_with("Aborted!")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_with_the_cause_are_quoted() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let text = "old [ERROR] of an earlier start\n2026 [Note] fine\n2026 [ERROR] unknown variable 'x=1'\n\
                    2026 [ERROR] Aborting\n\n2026 [Note] Shutdown complete\n";
        std::fs::write(log.path(), text).unwrap();
        let start = "old [ERROR] of an earlier start\n".len() as u64;
        assert_eq!(log_tail(log.path(), start), ["2026 [ERROR] unknown variable 'x=1'"]);
        assert_eq!(log_tail(Path::new("/nonexistent"), 0), ["nothing"]);
    }
}
