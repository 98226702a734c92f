//! Waits that `performance_schema` sums up, of the events that it instruments.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use driver::Admin;

/// `performance_schema` counts picoseconds.
const SECONDS: f64 = 1e-12;

/// It is read where it is on anyway: switching it on would make another server of this one.
pub fn summed(admin: &mut Admin) -> Result<BTreeMap<String, f64>> {
    let switch = admin.value("SELECT @@performance_schema").context("this version has no performance_schema")?;
    if switch.as_deref() != Some("1") {
        bail!(
            "performance_schema is off; `settings = {{ performance_schema = \"ON\" }}` switches it on, which is another configuration, and slower"
        );
    }
    let rows = admin.rows(
        "SELECT EVENT_NAME, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name \
         WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'",
    )?;
    let seconds = |row: Vec<Option<String>>| match row.as_slice() {
        [Some(event), Some(waited)] => Some((event.clone(), waited.parse::<f64>().ok()? * SECONDS)),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(seconds).collect())
}
