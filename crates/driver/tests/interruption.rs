//! An interruption concerns the whole process, so this test has one of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use driver::{Admin, Dialect, Endpoint, Error, Login, end_waits_on};

#[test]
fn an_interruption_ends_a_statement_of_sqlite_that_would_run_for_years() {
    let interrupted = Arc::new(AtomicBool::new(false));
    end_waits_on(&interrupted);
    let file = Endpoint::File(":memory:".into());
    let mut session = Admin::connect(Dialect::Sqlite, &file, &Login::default(), Duration::from_secs(1)).unwrap();
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let mut rows = 0;
    let ended = session.each_row(numbers, &mut |_| {
        rows += 1;
        // It is under way, and has read the flag some times.
        interrupted.fetch_or(rows == 10_000, Ordering::Relaxed);
    });
    assert!(matches!(ended, Err(Error::Lost { .. })), "{ended:?}");
    assert!((10_000..20_000).contains(&rows), "{rows}");
}
