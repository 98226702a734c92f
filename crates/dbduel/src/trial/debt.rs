//! Work that a server puts off: whether an interval was long enough to see it done, and how long it takes the
//! server to be rid of it once the load has stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Interrupted;
use crate::engine::Monitor;
use crate::engine::counters::{Deferral, Paid};
use crate::observe::{CHECKPOINT_CYCLE, Readings, at_begin};

/// The flag of an interval that holds too few checkpoints.
const SHORT: &str = "short";
/// The flag of a server that was still in debt when nobody waited any longer.
const CAPPED: &str = "debt-capped";
/// The flag of a server that lets its debt lie while it is idle (MariaDB does, from 10.5 on): it has no end
/// to wait for, so there is no rate that would include it.
const LEFT: &str = "debt-left";
pub const DRAIN: &str = "debt_drain_s";
/// Checkpoints that an interval must hold, and intervals that a debt is waited for (method, section 1).
const CYCLES_MIN: f64 = 2.0;
const INTERVALS_MAX: u32 = 2;
const POLL: Duration = Duration::from_millis(250);
/// A debt that has not become smaller for this long is being let lie: servers look after theirs each second.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until the debt is what it was when the interval began; nothing comes back where no debt can be seen.
pub fn drain(monitor: &Monitor, readings: &Readings, interval: Duration, interrupted: &AtomicBool) -> Result<Readings> {
    let (begun, limit) = (Instant::now(), interval * INTERVALS_MAX);
    let (mut least, mut fell) = (BTreeMap::new(), begun);
    loop {
        let owed = monitor.owed().context("cannot read what the server still has to do")?;
        let waited = begun.elapsed();
        if owed.is_empty() {
            return Ok(Readings::default());
        }
        if is_paid(&owed, readings, monitor.deferral()) {
            return Ok(drained(waited.min(limit), None, &owed));
        }
        if waited >= limit {
            return Ok(drained(limit, Some(CAPPED), &owed));
        }
        if falls(&mut least, &owed) {
            fell = Instant::now();
        }
        if fell.elapsed() >= PATIENCE {
            return Ok(drained(waited, Some(LEFT), &owed));
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        std::thread::sleep(POLL.min(limit - waited));
    }
}

fn is_paid(owed: &BTreeMap<&'static str, f64>, readings: &Readings, deferral: &Deferral) -> bool {
    deferral.debts.iter().all(|debt| {
        let level = match debt.paid {
            Paid::AsAtBegin { or } => readings.values.get(&at_begin(debt.state)).map_or(or, |level| level.max(or)),
            Paid::AtNothing => 0.0,
        };
        owed.get(debt.state).is_none_or(|left| *left <= level)
    })
}

/// Is any debt smaller than it has ever been? A first look counts.
fn falls(least: &mut BTreeMap<&'static str, f64>, owed: &BTreeMap<&'static str, f64>) -> bool {
    let mut falls = false;
    for (state, left) in owed {
        let lowest = least.entry(state).or_insert(f64::INFINITY);
        falls |= left < lowest;
        *lowest = lowest.min(*left);
    }
    falls
}

/// How long it took, and what was left then; no time of a debt that was never going to be paid.
fn drained(waited: Duration, flag: Option<&str>, owed: &BTreeMap<&'static str, f64>) -> Readings {
    let taken = (flag != Some(LEFT)).then(|| (DRAIN.to_owned(), waited.as_secs_f64()));
    let left = owed.iter().map(|(state, left)| (format!("state.{state}_drained"), *left));
    Readings {
        values: taken.into_iter().chain(left).collect(),
        flags: flag.map(str::to_owned).into_iter().collect(),
        ..Readings::default()
    }
}

/// Committed work over the time that it took, what was put off included: `debt_adjusted_tps` of `tps`.
pub fn adjusted(name: &str, rate: f64, interval_s: f64, readings: &Readings) -> Option<(String, f64)> {
    let drain_s = readings.values.get(DRAIN)?;
    Some((format!("debt_adjusted_{name}"), rate * interval_s / (interval_s + drain_s)))
}

/// The flag and its reason, where a load that writes ran for less than two checkpoints.
pub fn short(readings: &Readings, interval_s: f64) -> Option<(String, String)> {
    let cycle_s = *readings.values.get(CHECKPOINT_CYCLE)?;
    let is_short = interval_s < CYCLES_MIN * cycle_s;
    let why = || format!("at this rate a checkpoint comes every {cycle_s:.0} s, and the interval is {interval_s:.0} s");
    is_short.then(|| (SHORT.to_owned(), why()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::counters::Debt;

    const DEFERRAL: Deferral = Deferral {
        redo_bytes: None,
        debts: &[
            Debt { state: "dirty", paid: Paid::AsAtBegin { or: 10.0 } },
            Debt { state: "purge", paid: Paid::AtNothing },
        ],
    };

    fn readings(values: &[(&str, f64)]) -> Readings {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Readings { values, ..Readings::default() }
    }

    #[test]
    fn a_debt_is_paid_at_the_level_of_the_beginning_or_below_what_is_always_left() {
        let check = |owed: &[(&'static str, f64)], begin: &[(&str, f64)], expected: bool| {
            let owed = owed.iter().copied().collect();
            assert_eq!(is_paid(&owed, &readings(begin), &DEFERRAL), expected, "{owed:?} {begin:?}");
        };
        let begin = [("state.dirty_begin", 50.0), ("state.purge_begin", 1.0)];
        check(&[("dirty", 50.0), ("purge", 0.0)], &begin, true);
        check(&[("dirty", 51.0), ("purge", 0.0)], &begin, false);
        check(&[("dirty", 20.0), ("purge", 1.0)], &begin, false);
        check(&[("dirty", 10.0)], &[("state.dirty_begin", 0.0)], true);
        check(&[("dirty", 11.0)], &[], false);
    }

    #[test]
    fn deferred_work_lowers_the_rate_by_the_time_it_takes() {
        let seen = readings(&[(DRAIN, 30.0)]);
        assert_eq!(adjusted("tps", 90.0, 60.0, &seen), Some(("debt_adjusted_tps".to_owned(), 60.0)));
        assert_eq!(adjusted("tps", 90.0, 60.0, &readings(&[])), None);
        let left = BTreeMap::from([("dirty", 7.0)]);
        let paid = drained(Duration::from_secs(3), None, &left);
        assert_eq!(paid, readings(&[(DRAIN, 3.0), ("state.dirty_drained", 7.0)]));
        assert_eq!(drained(Duration::from_secs(3), Some(CAPPED), &left).flags, [CAPPED]);
        let lies = drained(Duration::from_secs(3), Some(LEFT), &left);
        assert_eq!((lies.values.get(DRAIN), lies.flags), (None, vec![LEFT.to_owned()]));
    }

    #[test]
    fn a_debt_falls_when_any_of_it_is_smaller_than_ever() {
        let mut least = BTreeMap::new();
        let mut check = |dirty, age, expected| {
            assert_eq!(falls(&mut least, &BTreeMap::from([("dirty", dirty), ("age", age)])), expected, "{dirty} {age}");
        };
        check(10.0, 5.0, true);
        check(10.0, 5.0, false);
        check(11.0, 4.0, true);
        check(10.0, 5.0, false);
        check(9.0, 5.0, true);
    }

    #[test]
    fn an_interval_holds_two_checkpoints_or_is_short() {
        let check = |cycle_s: f64, expected: bool| {
            let seen = readings(&[(CHECKPOINT_CYCLE, cycle_s)]);
            assert_eq!(short(&seen, 60.0).is_some(), expected, "{cycle_s}");
        };
        check(30.0, false);
        check(30.1, true);
        let (flag, why) = short(&readings(&[(CHECKPOINT_CYCLE, 300.0)]), 60.0).unwrap();
        assert_eq!(flag, "short");
        assert_eq!(why, "at this rate a checkpoint comes every 300 s, and the interval is 60 s");
        assert_eq!(short(&readings(&[]), 60.0), None);
    }

    #[test]
    fn a_debt_is_waited_for_until_it_is_paid_or_the_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = driver::Endpoint::File(folder.path().join("t.db"));
        let session = || {
            let limit = Duration::from_secs(5);
            driver::Admin::connect(driver::Dialect::Sqlite, &file, &driver::Login::default(), limit).unwrap()
        };
        let (mut writer, mut reader) = (session(), session());
        writer.rows("PRAGMA journal_mode = WAL").unwrap();
        writer.run("CREATE TABLE t (a INTEGER)").unwrap();
        reader.run("BEGIN").unwrap();
        reader.rows("SELECT * FROM t").unwrap();
        writer.run("INSERT INTO t VALUES (1)").unwrap();
        let monitor = Monitor::open(crate::engine::engine("sqlite").unwrap(), &file, &Default::default()).unwrap();
        let wait = |ms, interrupted| {
            drain(&monitor, &Readings::default(), Duration::from_millis(ms), &AtomicBool::new(interrupted))
        };
        let capped = wait(10, false).unwrap();
        assert_eq!((capped.values[DRAIN], capped.flags), (0.02, vec![CAPPED.to_owned()]));
        assert!(wait(60_000, true).unwrap_err().is::<Interrupted>());
        reader.run("ROLLBACK").unwrap();
        let paid = wait(60_000, false).unwrap();
        assert_eq!(capped.values["state.wal_pending_frames_drained"], 1.0);
        assert!(paid.flags.is_empty() && paid.values[DRAIN] < 60.0, "{paid:?}");
    }
}
