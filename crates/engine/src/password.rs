//! Where the password of a target comes from that stands in no file of dbduel's and on no command line.
//!
//! A command's password may expire, as tokens of clouds do, so it is asked for again when connections are opened. What
//! must stay true: no message made here holds a password, and nothing is asked for while a load is measured.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use driver::Secret;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use record::plain_file;

use crate::keeper::SECRET_VARIABLES;
use crate::target_url::Around;

/// A command that has not answered by then waits for somebody to type.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
/// No password is longer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// Connections that are opened one after the other share one answer; tokens are valid for minutes.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(60);

/// The password of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PasswordSource {
    /// That of its URL, of its client's files, or the default of all targets.
    #[default]
    Unnamed,
    /// The first line of a file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// The first line that a command prints.
    Command(String),
}

impl PasswordSource {
    /// None where no source is named.
    pub fn ask(&self, around: &dyn Around) -> Result<Option<Secret>> {
        match self {
            PasswordSource::Unnamed => Ok(None),
            PasswordSource::File(file) => of_file(file).map(Some),
            PasswordSource::Variable(name) => {
                let value = around.variable(name);
                let next = || format!("the variable {name} of `password_env` is not set; export it, or name another");
                value.map(Secret::new).with_context(next).map(Some)
            }
            PasswordSource::Command(command) => of_command(command, COMMAND_LIMIT).map(Some),
        }
    }
}

/// A password that may expire between two phases of connections.
pub struct Renewal {
    source: PasswordSource,
    last: Mutex<Option<(Instant, Secret)>>,
}

impl Renewal {
    /// `first` has just been asked for.
    pub fn new(source: PasswordSource, first: Option<Secret>) -> Renewal {
        Renewal { source, last: Mutex::new(first.map(|password| (Instant::now(), password))) }
    }

    /// The password for connections that are opened now; None where it does not expire.
    pub fn password(&self) -> Result<Option<Secret>> {
        let PasswordSource::Command(command) = &self.source else { return Ok(None) };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, password)) = &*last
            && asked.elapsed() < ANSWER_AGE_MAX
        {
            return Ok(Some(password.clone()));
        }
        let password = of_command(command, COMMAND_LIMIT)?;
        *last = Some((Instant::now(), password.clone()));
        Ok(Some(password))
    }
}

fn of_file(file: &Path) -> Result<Secret> {
    let text = plain_file::read_text(file, plain_file::TEXT_BYTES_MAX);
    let text = text.with_context(|| format!("cannot read password_file {}", file.display()))?;
    Ok(Secret::new(text.lines().next().unwrap_or_default()))
}

/// What it prints elsewhere is not shown, because it may be a part of the secret.
fn of_command(command: &str, limit: Duration) -> Result<Secret> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    for name in SECRET_VARIABLES {
        shell.env_remove(name);
    }
    let mut child = shell.spawn().context("cannot start `password_command`")?;
    let output = child.stdout.take().expect("standard output is a pipe");
    let (sender, answer) = mpsc::channel();
    std::thread::Builder::new().name("password".to_owned()).spawn(move || {
        let mut text = String::new();
        let read = output.take(ANSWER_BYTES_MAX).read_to_string(&mut text);
        let _ = sender.send(read.map(|_| text));
    })?;
    // What it has started may hold its output for longer than it goes on itself.
    let ended = wait(&mut child, limit)
        .and_then(|status| Ok((status, answer.recv_timeout(limit).map_err(|_| too_long(limit))?)));
    if ended.is_err() {
        // It and what it has started.
        let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
        let _ = child.wait();
    }
    let (status, text) = ended?;
    ensure!(status.success(), "`password_command` failed ({status}); run it by itself to see why");
    let text = text.context("what `password_command` printed is no text in UTF-8")?;
    let password = text.lines().next().unwrap_or_default();
    ensure!(!password.is_empty(), "`password_command` printed nothing; expected the password in its first line");
    Ok(Secret::new(password))
}

fn wait(child: &mut Child, limit: Duration) -> Result<std::process::ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > limit {
            return Err(too_long(limit));
        }
        std::thread::sleep(POLL);
    }
}

fn too_long(limit: Duration) -> anyhow::Error {
    anyhow!("`password_command` did not end within {} s; expected one that asks nobody", limit.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_url::ThisHost;

    fn asked(source: PasswordSource) -> Result<String, String> {
        let password = source.ask(&ThisHost).map_err(|error| format!("{error:#}"))?;
        Ok(password.map_or_else(String::new, |password| password.expose().to_owned()))
    }

    fn command(text: &str) -> PasswordSource {
        PasswordSource::Command(text.to_owned())
    }

    #[test]
    fn every_source_gives_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pw");
        std::fs::write(&file, "from file\nmore\n").unwrap();
        assert_eq!(asked(PasswordSource::File(file)).as_deref(), Ok("from file"));
        assert_eq!(asked(command("echo 'a b:/@#?%ü'; echo more")).as_deref(), Ok("a b:/@#?%ü"));
        assert_eq!(asked(PasswordSource::Variable("PATH".into())), Ok(std::env::var("PATH").unwrap()));
        assert_eq!(asked(PasswordSource::Unnamed).as_deref(), Ok(""));
    }

    #[test]
    fn a_source_that_gives_nothing_is_an_error_without_what_it_printed() {
        let check = |source, part: &str| {
            let error = asked(source).unwrap_err();
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        };
        check(command("echo hunter2; echo hunter2 >&2; exit 3"), "failed (exit status: 3)");
        check(command("true"), "printed nothing");
        check(PasswordSource::Variable("DBDUEL_NO_SUCH_VARIABLE".into()), "is not set");
        check(PasswordSource::File("/nowhere/pw".into()), "cannot read password_file");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let error = of_command("sleep 60 & sleep 60", Duration::from_millis(50)).unwrap_err().to_string();
        assert!(error.contains("did not end") && begun.elapsed() < Duration::from_secs(30), "{error}");
        // The shell is gone at once, and what it started holds its output.
        let error = of_command("sleep 60 & echo x", Duration::from_millis(500)).unwrap_err().to_string();
        assert!(error.contains("did not end") && begun.elapsed() < Duration::from_secs(30), "{error}");
    }

    #[test]
    fn an_answer_serves_connections_that_are_opened_together_and_only_a_command_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let renewal = Renewal::new(command(&format!("echo x >> {0}; wc -l < {0}", count.display())), None);
        let first = renewal.password().unwrap().unwrap();
        assert_eq!(renewal.password().unwrap().unwrap(), first);
        *renewal.last.lock().unwrap() =
            Instant::now().checked_sub(ANSWER_AGE_MAX * 2).map(|then| (then, first.clone()));
        assert_ne!(renewal.password().unwrap().unwrap(), first);
        assert!(Renewal::new(PasswordSource::Variable("PATH".into()), None).password().unwrap().is_none());
    }
}
