//! Wait events of backends at work, from `pg_stat_activity` (9.6 and later).

use anyhow::Result;
use driver::Admin;

use engine::waits::RUNNING;

/// One row for each backend at work but our own.
pub fn sample(admin: &mut Admin) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT COALESCE(wait_event_type || ':' || wait_event, '{RUNNING}') FROM pg_stat_activity \
         WHERE state = 'active' AND pid <> pg_backend_pid()"
    );
    Ok(admin.rows(&sql)?.into_iter().flatten().flatten().collect())
}
