//! `dbduel prepare|bench|check|cleanup`: the single-shot tool against a running server.

use anyhow::anyhow;

use super::{Failure, note, say};
use crate::cli::bench::{Asked, Verb, read};
use crate::cli::{WordsArgs, exit};

pub fn command(verb: Verb, args: &WordsArgs) -> Result<u8, Failure> {
    let read_file = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let request = match read(verb, &args.words, &read_file).map_err(|why| Failure::usage(anyhow!(why)))? {
        Asked::Help(text) => {
            say(&text)?;
            return Ok(exit::DONE);
        }
        Asked::Do(request) => *request,
    };
    request.notes.iter().for_each(|text| note(&format!("note: {text}")));
    Ok(exit::DONE)
}
