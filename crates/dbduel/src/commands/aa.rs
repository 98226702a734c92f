//! `dbduel aa`: the first contender of a file against itself.

use super::{Failure, run};
use crate::cli::{AaArgs, RunArgs};

pub fn aa(args: &AaArgs) -> Result<u8, Failure> {
    run::run(&RunArgs {
        file: args.file.clone(),
        runs: args.runs.clone(),
        resume: args.resume.clone(),
        method: args.method.clone(),
        label: Vec::new(),
        gate: false,
        store: None,
        full: false,
        json: args.json,
        twins: true,
    })
}
