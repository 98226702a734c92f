//! STUB on this branch: consistency conditions.

use driver::{Admin, Error};

use super::Tpcc;
use crate::recorder::Tally;

pub fn check(_: &Tpcc, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
