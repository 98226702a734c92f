//! The engines, workloads and shipped experiments of this program.

use engine::Engines;
use engines::ENGINES;
use experiment::Known;
use load::Workloads;
use workloads::{ADVISED, WORKLOADS, null_load};

use crate::shipped;

pub static KNOWN: Known = Known {
    engines: Engines(ENGINES),
    workloads: Workloads(WORKLOADS),
    null_load,
    advised: ADVISED,
    shipped: shipped::BY_NAME,
};
