//! STUB on this branch: tables.

use driver::Dialect;

use super::Tpcc;
use crate::workload::Table;

pub fn tables(_: &Tpcc, _: Dialect) -> Vec<Table> {
    Vec::new()
}
