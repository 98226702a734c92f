//! STUB on this branch: consistency conditions.

use driver::{Admin, Error};

use super::Tpcc;
use crate::recorder::Tally;

pub fn recognise(_: &Tpcc, _: &mut Admin, _: u64) -> Result<Result<(), String>, Error> {
    Ok(Ok(()))
}

pub fn check(_: &Tpcc, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
