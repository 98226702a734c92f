//! `dbduel aa`: the first contender of a file against itself.

use super::{Failure, run};
use crate::cli::{AaArgs, RunArgs};

pub fn aa(args: &AaArgs) -> Result<u8, Failure> {
    let AaArgs { subject, runs, resume, method, json } = args.clone();
    run::run(&RunArgs { subject, resume, json, twins: true, ..RunArgs::of(&runs, &method) })
}
