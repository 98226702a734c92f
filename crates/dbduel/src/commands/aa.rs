//! `dbduel aa`: the first contender of a file against itself.

use super::{Failure, run};
use crate::cli::{AaArgs, RunArgs};

pub fn aa(args: &AaArgs) -> Result<u8, Failure> {
    let AaArgs { file, runs, resume, method, json } = args.clone();
    run::run(&RunArgs { file, resume, json, twins: true, ..RunArgs::of(&runs, &method) })
}
