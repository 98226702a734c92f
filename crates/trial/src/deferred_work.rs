//! Work that a server defers: whether an interval was long enough to see it done, and how long it takes the
//! server to be rid of it once the load has stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::host::Interrupted;
use crate::observe::{CHECKPOINT_CYCLE, Readings, at_begin};
use engine::counters::{DeferredState, DeferredWork, Paid};
use engine::{Hastened, Monitor};
use record::format::deferred_work::{AMOUNT_LEFT, DRAIN, INTERVAL, PAID, PAID_S};

/// The flag of an interval that holds too few checkpoints.
const SHORT: &str = "short";
/// The flag of a server that had deferred work left when the wait ended.
const CAPPED: &str = "deferred-work-capped";
/// The flag of a server that leaves its deferred work alone and could not be made to do it.
const LEFT: &str = "deferred-work-left";
/// Checkpoints that an interval must hold, and intervals that deferred work is waited for (method, section 1).
const CYCLES_MIN: f64 = 2.0;
const INTERVALS_MAX: u32 = 2;
const POLL: Duration = Duration::from_millis(100);
/// Less than this comes and goes while the server does none of it.
const FALL_MIN: f64 = 0.001;
/// An amount that has not become smaller for this long is left alone: servers work on theirs each second.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until the amounts are what they were when the interval began; returns nothing where none can be seen.
///
/// A server with more is made to do it at once, where `payer` may (method, A3), so that all contenders of an
/// engine do it by the same means, whatever they do on their own while they are idle.
pub fn drain(
    monitor: &Monitor,
    payer: impl FnOnce() -> Result<Option<Monitor>>,
    readings: &Readings,
    interval: Duration,
    interrupted: &AtomicBool,
) -> Result<Readings> {
    let (begun, limit) = (Instant::now(), interval * INTERVALS_MAX);
    let read = || monitor.outstanding().context("cannot read what the server still has to do");
    let mut outstanding = Outstanding::new(read()?, begun.elapsed(), monitor.deferred_work(), readings);
    if outstanding.now.is_empty() {
        return Ok(Readings::default());
    }
    let payer = if outstanding.is_paid() { None } else { payer()? };
    let mut hastened = payer.map(Hastened::begin).transpose()?;
    let flag = loop {
        if outstanding.is_paid() {
            break None;
        }
        if outstanding.at >= limit {
            break Some(CAPPED);
        }
        let is_hastened = hastened.as_mut().map_or(Ok(false), Hastened::is_at_work)?;
        if !is_hastened && !outstanding.is_at_work() && outstanding.at.saturating_sub(outstanding.fell_at) >= PATIENCE {
            break Some(LEFT);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        std::thread::sleep(POLL.min(limit - outstanding.at));
        outstanding.update(read()?, begun.elapsed());
    };
    hastened.map_or(Ok(()), Hastened::end)?;
    Ok(outstanding.readings(flag, limit, interval))
}

type Amounts = BTreeMap<&'static str, f64>;

/// What a server owes, and how that became less.
struct Outstanding {
    deferred_work: &'static DeferredWork,
    /// What is always left, or was there already when the interval began.
    levels: Amounts,
    first: Amounts,
    least: Amounts,
    now: Amounts,
    /// When each became smaller for the last time.
    fell: BTreeMap<&'static str, Duration>,
    fell_at: Duration,
    /// When this was seen.
    at: Duration,
}

impl Outstanding {
    fn new(now: Amounts, at: Duration, deferred_work: &'static DeferredWork, readings: &Readings) -> Outstanding {
        let level = |amount: &DeferredState| match amount.paid {
            Paid::AsAtBegin { or } => readings.values.get(&at_begin(amount.state)).map_or(or, |level| level.max(or)),
            Paid::AtNothing => 0.0,
        };
        let levels = deferred_work.amounts.iter().map(|amount| (amount.state, level(amount))).collect();
        let (first, least) = (now.clone(), now.clone());
        Outstanding { deferred_work, levels, first, least, now, fell: BTreeMap::new(), fell_at: Duration::ZERO, at }
    }

    /// An amount that is smaller than it has ever been is being worked at.
    fn update(&mut self, now: Amounts, at: Duration) {
        for (state, left) in &now {
            let least = self.least.entry(state).or_insert(*left);
            let is_paid = *left <= self.levels.get(state).copied().unwrap_or(0.0);
            let fall = *least - left;
            if fall > 0.0 && (is_paid || fall >= FALL_MIN * self.first.get(state).copied().unwrap_or(0.0)) {
                (*least, self.fell_at) = (*left, at);
                self.fell.insert(state, at);
            }
        }
        (self.now, self.at) = (now, at);
    }

    fn left(&self, state: &str) -> f64 {
        let level = self.levels.get(state).copied().unwrap_or(0.0);
        self.now.get(state).map_or(0.0, |left| (left - level).max(0.0))
    }

    fn is_paid(&self) -> bool {
        self.deferred_work.amounts.iter().all(|amount| self.left(amount.state) == 0.0)
    }

    /// Is work under way whose amount does not show how far it is?
    fn is_at_work(&self) -> bool {
        self.deferred_work.amounts.iter().any(|amount| amount.paid == Paid::AtNothing && self.left(amount.state) > 0.0)
    }

    /// How long it took, what became of each amount, and what was left then. Of an amount that was left alone the time
    /// ends where it fell for the last time.
    fn readings(&self, flag: Option<&str>, limit: Duration, interval: Duration) -> Readings {
        let taken = if flag == Some(LEFT) { self.fell_at } else { self.at.min(limit) };
        let mut values = BTreeMap::from([(DRAIN.to_owned(), taken.as_secs_f64())]);
        for (state, now) in &self.now {
            values.insert(format!("state.{state}_drained"), *now);
            if let (Some(first), Some(fell)) = (self.first.get(state), self.fell.get(state)) {
                values.insert(format!("{PAID}{state}"), first - self.least[state]);
                values.insert(format!("{PAID_S}{state}"), fell.as_secs_f64());
            }
            if self.left(state) > 0.0 {
                values.insert(format!("{AMOUNT_LEFT}{state}"), self.left(state));
                values.insert(INTERVAL.to_owned(), interval.as_secs_f64());
            }
        }
        Readings { values, flags: flag.map(str::to_owned).into_iter().collect(), ..Readings::default() }
    }
}

/// Committed work over the time that it took, what was put off included: `adjusted_tps` of `tps`. Where
/// something is left, the time is not known here.
pub fn adjusted(name: &str, rate: f64, interval_s: f64, readings: &Readings) -> Option<(String, f64)> {
    let drain_s = readings.values.get(DRAIN).filter(|_| !readings.values.contains_key(INTERVAL))?;
    Some((format!("adjusted_{name}"), rate * interval_s / (interval_s + drain_s)))
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
    use engine::counters::DeferredState;

    const DEFERRAL: DeferredWork = DeferredWork {
        redo_bytes: None,
        amounts: &[
            DeferredState { state: "dirty", paid: Paid::AsAtBegin { or: 10.0 } },
            DeferredState { state: "purge", paid: Paid::AtNothing },
        ],
    };

    fn readings(values: &[(&str, f64)]) -> Readings {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Readings { values, ..Readings::default() }
    }

    fn outstanding(now: &[(&'static str, f64)], begin: &[(&str, f64)]) -> Outstanding {
        Outstanding::new(now.iter().copied().collect(), Duration::ZERO, &DEFERRAL, &readings(begin))
    }

    #[test]
    fn deferred_work_is_done_at_the_level_of_the_beginning_or_below_what_is_always_left() {
        let check = |now: &[(&'static str, f64)], begin: &[(&str, f64)], expected: bool| {
            assert_eq!(outstanding(now, begin).is_paid(), expected, "{now:?} {begin:?}");
        };
        let begin = [("state.dirty_begin", 50.0), ("state.purge_begin", 1.0)];
        check(&[("dirty", 50.0), ("purge", 0.0)], &begin, true);
        check(&[("dirty", 51.0), ("purge", 0.0)], &begin, false);
        check(&[("dirty", 20.0), ("purge", 1.0)], &begin, false);
        check(&[("dirty", 10.0)], &[("state.dirty_begin", 0.0)], true);
        check(&[("dirty", 11.0)], &[], false);
        assert!(outstanding(&[("purge", 1.0)], &[]).is_at_work() && !outstanding(&[("dirty", 90.0)], &[]).is_at_work());
    }

    #[test]
    fn deferred_work_lowers_the_rate_by_the_time_it_takes() {
        let seen = readings(&[(DRAIN, 30.0)]);
        assert_eq!(adjusted("tps", 90.0, 60.0, &seen), Some(("adjusted_tps".to_owned(), 60.0)));
        assert_eq!(adjusted("tps", 90.0, 60.0, &readings(&[])), None);
        assert_eq!(adjusted("tps", 90.0, 60.0, &readings(&[(DRAIN, 30.0), (INTERVAL, 60.0)])), None, "some is left");
    }

    #[test]
    fn done_and_remaining_work_are_stored_with_their_times() {
        let second = Duration::from_secs(1);
        let mut outstanding = outstanding(&[("dirty", 90.0), ("purge", 3.0)], &[("state.dirty_begin", 20.0)]);
        outstanding.update([("dirty", 60.0), ("purge", 0.0)].into(), second);
        outstanding.update([("dirty", 59.95), ("purge", 0.0)].into(), second);
        outstanding.update([("dirty", 50.0), ("purge", 0.0)].into(), second * 2);
        outstanding.update([("dirty", 55.0), ("purge", 0.0)].into(), second * 8);
        let values = |outstanding: &Outstanding, flag| outstanding.readings(flag, second * 120, second * 60).values;
        let expected = [
            (DRAIN, 2.0),
            ("deferred_work_interval_s", 60.0),
            ("deferred_work_left.dirty", 35.0),
            ("deferred_work_done.dirty", 40.0),
            ("deferred_work_done.purge", 3.0),
            ("deferred_work_done_s.dirty", 2.0),
            ("deferred_work_done_s.purge", 1.0),
            ("state.dirty_drained", 55.0),
            ("state.purge_drained", 0.0),
        ];
        assert_eq!(values(&outstanding, Some(LEFT)), readings(&expected).values, "our patience is not charged");
        assert_eq!(values(&outstanding, Some(CAPPED))[DRAIN], 8.0);
        outstanding.update([("dirty", 20.0), ("purge", 0.0)].into(), second * 9);
        assert!(outstanding.is_paid() && !values(&outstanding, None).contains_key(INTERVAL));
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
    fn deferred_work_is_waited_for_until_it_is_done_or_the_time_is_over() {
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
        let monitor =
            Monitor::open(engine::Engines(engines::ENGINES).find("sqlite").unwrap(), &file, &Default::default())
                .unwrap();
        let wait = |ms, interrupted| {
            drain(&monitor, || Ok(None), &Readings::default(), Duration::from_millis(ms), &AtomicBool::new(interrupted))
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
