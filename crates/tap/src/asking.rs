//! What a server shows made into a plan.

use anyhow::Result;
use driver::Admin;

use crate::plan::{Plan, Source};
use crate::{mysql, postgres};

/// Asks what the server has now; nothing is changed.
pub fn plan(admin: &mut Admin, source: Source) -> Result<Plan> {
    match source {
        Source::Slow | Source::General => mysql::plan(admin, source),
        Source::Log => postgres::plan(admin),
    }
}
