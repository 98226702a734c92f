//! The minutes in which the log is on: how much is written, how much is left, how the server does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use driver::Admin;

use crate::plan::{Plan, reload};
use crate::space::Space;

/// How often the size is looked at.
const POLL: Duration = Duration::from_millis(100);
/// What switching the log off takes.
const SWITCHING: Duration = Duration::from_millis(10);
/// How often somebody is told.
const TELL: Duration = Duration::from_secs(1);

/// When the log is switched off.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    pub bytes: u64,
}

/// Why it was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Time,
    Size,
    /// Little of the file system is free.
    Disk,
    Interrupted,
}

/// What is seen of the server meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub elapsed: Duration,
    /// None where it cannot be seen from here.
    pub bytes: Option<u64>,
    /// Units of [`Plan::counter`] since the beginning.
    pub count: u64,
}

/// Waits for the first limit.
pub fn watch(
    admin: &mut Admin,
    plan: &Plan,
    limits: Limits,
    interrupted: &AtomicBool,
    mut tell: impl FnMut(&Seen),
) -> Result<(Ended, Seen)> {
    let (since, first) = (Instant::now(), counted(admin, plan)?);
    let (mut told, mut before) = (since, (since, 0));
    loop {
        let now = Instant::now();
        let elapsed = now - since;
        let bytes = plan.log.bytes(admin)?;
        let count = if bytes.is_none() || now - told >= TELL { counted(admin, plan)? - first } else { 0 };
        // What is not seen is expected.
        let size = bytes.unwrap_or((count as f64 * plan.bytes_each[1]) as u64);
        let (looked, size_then) = before;
        let growth = size.saturating_sub(size_then) as f64 / (now - looked).as_secs_f64().max(1e-3);
        before = (now, size);
        let left = limits.bytes as f64 - size as f64;
        // Until the limit, as it grows now.
        let until_full = Duration::try_from_secs_f64((left / growth).max(0.0)).unwrap_or(Duration::MAX);
        let ended = if interrupted.load(Ordering::Relaxed) {
            Some(Ended::Interrupted)
        } else if until_full < SWITCHING {
            Some(Ended::Size)
        } else if plan.space(limits.bytes).is_some_and(Space::is_short) {
            Some(Ended::Disk)
        } else {
            (elapsed >= limits.time).then_some(Ended::Time)
        };
        if let Some(ended) = ended {
            switch_off(admin, plan);
            let count = counted(admin, plan)? - first;
            return Ok((ended, Seen { elapsed, bytes, count }));
        }
        if now - told >= TELL {
            told = now;
            tell(&Seen { elapsed, bytes, count });
        }
        std::thread::sleep(POLL.min(until_full / 2).min(limits.time.saturating_sub(elapsed)));
    }
}

/// At once; the guard, which needs a moment, does it again and puts back the rest.
fn switch_off(admin: &mut Admin, plan: &Plan) {
    let back = plan.statements_back();
    let reload = reload(plan.dialect);
    back.first().into_iter().chain(&reload).for_each(|statement| drop(admin.run(statement)));
}

/// How many statements or transactions the server has had since its start.
pub fn counted(admin: &mut Admin, plan: &Plan) -> Result<u64> {
    let row = admin.rows(plan.counter)?.into_iter().next();
    let number = row.and_then(|row| row.into_iter().next_back().flatten());
    number.and_then(|number| number.parse().ok()).context("the server does not count its statements")
}
