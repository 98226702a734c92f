//! `dbduel pgbench`: pgbench's command line, rules and report.
//!
//! Its letters are not ours, and its last word is the database, so it is a command of its own. What must stay true:
//! an option that cannot be honoured is refused by its name; none is passed over.

mod figures;
mod init;
mod job;
mod log;
pub(crate) mod options;
mod place;
mod run;
mod words;

use std::sync::Arc;

use anyhow::{Context, anyhow};
use engine::PasswordSource;
use experiment::TargetUrl;
use terminal::{Failure, exit, note, print};

use crate::job::{end_late, located};
use job::Job;
use options::{Asked, Request};

pub use options::help;

pub fn command(words: &[String]) -> Result<u8, Failure> {
    let request = match options::read(words).map_err(|why| Failure::usage(anyhow!(why)))? {
        Asked::Help => {
            print(&help())?;
            return Ok(exit::DONE);
        }
        Asked::Show(text) => {
            text.lines().for_each(note);
            return Ok(exit::DONE);
        }
        Asked::Do(request) => *request,
    };
    request.notes.iter().for_each(|text| note(&format!("warning: {text}")));
    let place = place::of(&request).map_err(|why| Failure::usage(anyhow!(why)))?;
    let place = located(&place, &PasswordSource::Unnamed)?;
    if request.debug {
        note(&described(&request, &place));
    }
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    end_late(Arc::clone(&interrupted)).context("no thread to end by")?;
    let job = Job { target: place.target(), place, request, interrupted };
    if job.request.init.is_some() { init::init(&job) } else { run::run(&job) }
}

/// The server and the size of a run, in pgbench's words.
fn described(request: &Request, place: &TargetUrl) -> String {
    let host = place.place.socket.as_ref().map_or(place.host().to_owned(), |socket| socket.display().to_string());
    let length = match (request.transactions, request.duration) {
        (Some(each), _) => format!("nxacts: {each}"),
        (None, duration) => format!("duration: {}", duration.map_or(0, |duration| duration.as_secs())),
    };
    let (port, clients, database) = (place.port(), request.clients, place.database());
    format!("pghost: {host} pgport: {port} nclients: {clients} {length} dbName: {database}")
}
