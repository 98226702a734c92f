//! The process that puts the settings back, however the one that changed them ends.
//!
//! It is this program again, in a session of its own, so that no key of the terminal reaches it. It learns the server,
//! its password and what was found through a pipe, and waits for the pipe's end.

#![expect(unsafe_code, reason = "what happens between fork and exec")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::server::Tapped;
use crate::settings::put_back;
use crate::state::State;

/// The hidden subcommand; `main` hands it to [`guard_main`].
pub const SUBCOMMAND: &str = "__capture-guard";
const READY: &str = "ready";
const ENDED: &[u8] = b"ended";

/// The guard of one server.
pub struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Guard {
    /// Writes the state and starts it; from its answer on, the settings are put back whatever happens, and the file is
    /// removed then.
    pub fn start(server: &Tapped, state: &State, file: &Path) -> Result<Guard> {
        state.write(file)?;
        let started = Guard::spawn(server, state, file);
        if started.is_err() {
            // Nothing has been changed yet.
            std::fs::remove_file(file)?;
        }
        started
    }

    fn spawn(server: &Tapped, state: &State, file: &Path) -> Result<Guard> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(SUBCOMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: between fork and exec only a system call is made.
        unsafe { command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(std::io::Error::from)) };
        let mut child = command.spawn().context("the guard of the settings did not start")?;
        let mut pipe = child.stdin.take().context("no pipe to the guard")?;
        let output = BufReader::new(child.stdout.take().context("no pipe from the guard")?);
        let file = std::path::absolute(file)?;
        let line = json!({ "server": server.handed_over(), "state": state.to_json(), "file": file }).to_string();
        pipe.write_all(format!("{line}\n").as_bytes())?;
        let mut guard = Guard { child, pipe: Some(pipe), output };
        ensure!(guard.line()? == READY, "the guard of the settings did not get ready");
        Ok(guard)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Lets it put the settings back; gives those that are not as they were found.
    pub fn put_back(mut self) -> Result<Vec<String>> {
        // Whoever ends without this word makes no capture of the log.
        if let Some(mut pipe) = self.pipe.take() {
            pipe.write_all(ENDED)?;
        }
        let line = self.line()?;
        self.child.wait()?;
        let answer: Value = serde_json::from_str(&line).context("the guard ended without an answer")?;
        if let Some(error) = answer["error"].as_str() {
            bail!("{error}");
        }
        let different = answer["different"].as_array().context("the guard said nothing of the settings")?;
        Ok(different.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

/// Puts back what the first line of the standard input names when the standard input ends.
pub fn guard_main() -> ! {
    std::process::exit(i32::from(guard().is_err()))
}

fn guard() -> Result<()> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let value: Value = serde_json::from_str(&line)?;
    let server = Tapped::taken_over(&value["server"])?;
    let state = State::of_json(&value["state"]).context("no state was handed over")?;
    let file = PathBuf::from(value["file"].as_str().context("no file was handed over")?);
    // Nobody may be listening any more.
    let say = |line: &str| drop(writeln!(std::io::stdout(), "{line}"));
    say(READY);
    let mut last = Vec::new();
    input.read_to_end(&mut last)?;
    let put = put_back(&server, &state);
    say(&match &put {
        Ok(different) => json!({ "different": different }).to_string(),
        Err(error) => json!({ "error": format!("{error:#}") }).to_string(),
    });
    if put.as_ref().is_ok_and(Vec::is_empty) {
        std::fs::remove_file(&file)?;
    }
    if last != ENDED {
        state.remove_log();
    }
    put.map(drop)
}
