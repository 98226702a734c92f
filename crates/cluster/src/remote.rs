//! The load of one trial, made by agents: barrier, clocks, interval, tallies.
//!
//! The order is that of a load in this process. What must stay true: no worker starts before all are ready; each worker
//! has the interval in its own clock before it comes; a worker that is late, lost or failed ends the trial for
//! all.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base64::Engine as _;
use driver::Dialect;
use load::{Failure, Live, Measured, Tally, Window, monotonic_ns};
use trial::{Generated, Made, OfWorkers, Trial};

use crate::clock::Offset;
use crate::fleet::{Fleet, Lost, Received};
use crate::gather::{self, Own, Part};
use crate::message::{Task, ToAgent, ToCoordinator};

const READY_WITHIN: Duration = Duration::from_secs(120);
/// How long before its time an instruction is sent, and the least that it must be early.
const AHEAD: Duration = Duration::from_millis(500);
const AHEAD_MIN_NS: i64 = 50_000_000;
/// The first client of a worker may begin so late.
const LATE_NS: u64 = 100_000_000;
/// Beyond the drain, for a tally to arrive.
const TALLY_WITHIN: Duration = Duration::from_secs(10);
/// Above it the workers' intervals are not one.
const EDGE_NS_MAX: u64 = 100_000_000;
/// After a failure the others end politely within this time, and by their launcher after it.
const POLITE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);
/// Shown ten times a second, as by a load in this process.
const TICK_NS: u64 = 100_000_000;

/// What a load needs of who coordinates it.
pub trait Coordinates {
    /// Ends a fleet that lost a worker, while the run goes on.
    fn end_meanwhile(&self, fleet: Fleet);
    /// Statements a second of this worker against a server that does nothing.
    fn ceiling(&self, worker: usize, dialect: Dialect) -> Option<f64>;
}

pub struct Remote<'t> {
    coordinator: &'t dyn Coordinates,
    fleet: MutexGuard<'t, Option<Fleet>>,
    trial: &'t Trial<'t>,
    dialect: Dialect,
    tasks: Vec<(usize, Task)>,
    drain_max: Duration,
    /// Where raw response times are kept.
    raw_folder: Option<PathBuf>,
    /// Who has a task that is not over.
    busy: BTreeSet<usize>,
    seen: Vec<Seen>,
    go_ns: u64,
    /// When the warm-up may end.
    warm_ns: u64,
    window: Option<Window>,
    /// The sum of all tallies that have come.
    all: Tally,
}

/// What was heard of one worker in this trial.
#[derive(Default)]
struct Seen {
    is_ready: bool,
    offset: Offset,
    began_ns: Option<u64>,
    tps: f64,
    raw: Vec<u8>,
    own: Option<Own>,
}

impl<'t> Remote<'t> {
    pub fn new(
        coordinator: &'t dyn Coordinates,
        fleet: MutexGuard<'t, Option<Fleet>>,
        trial: &'t Trial<'t>,
        dialect: Dialect,
        tasks: Vec<(usize, Task)>,
        drain_max: Duration,
        raw_folder: Option<PathBuf>,
    ) -> Remote<'t> {
        let workers = fleet.as_ref().map_or(0, |fleet| fleet.workers.len());
        let seen = (0..workers).map(|_| Seen::default()).collect();
        let busy = BTreeSet::new();
        let (go_ns, warm_ns, window) = (0, 0, None);
        let all = Tally::default();
        Remote {
            coordinator,
            fleet,
            trial,
            dialect,
            tasks,
            drain_max,
            raw_folder,
            busy,
            seen,
            go_ns,
            warm_ns,
            window,
            all,
        }
    }

    /// Returns when all workers are ready.
    pub fn prepare(&mut self) -> Result<(), Failure> {
        for (worker, task) in std::mem::take(&mut self.tasks) {
            self.busy.insert(worker);
            self.send(worker, &ToAgent::Prepare(Box::new(task)))?;
        }
        let begun = Instant::now();
        while let Some(waited_for) = self.busy.iter().copied().find(|worker| !self.seen[*worker].is_ready) {
            self.hear(POLL)?;
            if begun.elapsed() > READY_WITHIN {
                return Err(self.fail(waited_for, None, format!("was not ready after {} s", READY_WITHIN.as_secs())));
            }
        }
        self.read_clocks()
    }

    fn send(&mut self, worker: usize, message: &ToAgent) -> Result<(), Failure> {
        let sent = self.fleet.as_ref().map_or(Ok(()), |fleet| fleet.send(worker, message));
        sent.map_err(|error| self.fail(worker, None, format!("its next order did not reach it: {error}")))
    }

    /// Takes what comes within this time.
    fn hear(&mut self, wait: Duration) -> Result<(), Failure> {
        if self.trial.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        let Some(fleet) = self.fleet.as_mut() else { return Err(Failure::Start("no agents are there".to_owned())) };
        match fleet.next(wait) {
            Ok(Some(received)) => self.take(received),
            Ok(None) => Ok(()),
            Err(Lost { worker, what }) => Err(self.fail(worker, None, what)),
        }
    }

    fn take(&mut self, Received { worker, message, .. }: Received) -> Result<(), Failure> {
        let seen = &mut self.seen[worker];
        match message {
            ToCoordinator::Ready => seen.is_ready = true,
            ToCoordinator::Second { tps } => seen.tps = tps,
            ToCoordinator::Raw { values } => {
                seen.raw.extend(base64::engine::general_purpose::STANDARD.decode(values).unwrap_or_default());
            }
            ToCoordinator::Began { at_ns } => {
                seen.began_ns = Some(at_ns);
                let late_ns = at_ns.saturating_sub(seen.offset.theirs(self.go_ns));
                if late_ns > LATE_NS {
                    return Err(self.fail(worker, Some("start"), format!("was late by {} ms", late_ns / 1_000_000)));
                }
            }
            ToCoordinator::Reached { what, ahead_ns } if ahead_ns < AHEAD_MIN_NS => {
                let what = format!("got `{what}` {} ms before its time, which is too late", ahead_ns / 1_000_000);
                return Err(self.fail(worker, Some("start"), what));
            }
            ToCoordinator::Fail { message } => {
                self.busy.remove(&worker);
                return Err(self.fail(worker, None, format!("cannot start its clients: {message}")));
            }
            ToCoordinator::Tally { tally, failure } => {
                self.busy.remove(&worker);
                seen.own = Some(Own::of(&tally));
                self.all.add(&tally);
                if let Some(why) = failure {
                    let name = self.name(worker);
                    self.settle();
                    return Err(Failure::Client(format!("{name}: {why}")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn name(&self, worker: usize) -> String {
        self.fleet.as_ref().map_or_else(String::new, |fleet| fleet.workers[worker].name())
    }

    /// Ends everything because of one worker.
    fn fail(&mut self, worker: usize, step: Option<&'static str>, what: String) -> Failure {
        let host = self.fleet.as_ref().map_or_else(String::new, |fleet| fleet.workers[worker].hello.host.clone());
        self.busy.clear();
        self.end_fleet();
        Failure::Worker { worker: worker as u32 + 1, host, step, what }
    }

    fn end_fleet(&mut self) {
        if let Some(fleet) = self.fleet.take() {
            self.coordinator.end_meanwhile(fleet);
        }
    }

    /// Has every worker end its load, politely. Where one does not in time, all are launched anew before the next trial.
    fn settle(&mut self) {
        // Each answers once for each order to stop, behind everything else of this trial.
        let mut unanswered = std::mem::take(&mut self.busy);
        let Some(fleet) = self.fleet.as_mut() else { return };
        for worker in &unanswered {
            let _ = fleet.send(*worker, &ToAgent::Stop { reason: "the trial is over".to_owned() });
        }
        let begun = Instant::now();
        while !unanswered.is_empty() && begun.elapsed() < POLITE {
            match fleet.next(POLL) {
                Ok(Some(Received { worker, message: ToCoordinator::Stopped, .. })) => drop(unanswered.remove(&worker)),
                Ok(_) => {}
                Err(Lost { .. }) => break,
            }
        }
        if !unanswered.is_empty() {
            self.end_fleet();
        }
    }

    /// Compares each worker's clock with ours anew.
    fn read_clocks(&mut self) -> Result<(), Failure> {
        for worker in self.busy.clone() {
            let (mut others, Some(fleet)) = (Vec::new(), self.fleet.as_mut()) else { return Ok(()) };
            let offset = fleet.offset(worker, &mut others);
            match offset {
                Ok(offset) => self.seen[worker].offset = offset,
                Err(Lost { worker, what }) => return Err(self.fail(worker, None, what)),
            }
            others.into_iter().try_for_each(|other| self.take(other))?;
        }
        Ok(())
    }

    /// Hears what comes until a moment, and shows how far the load is.
    fn until(
        &mut self,
        at_ns: u64,
        phase: &'static str,
        begin_ns: u64,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), Failure> {
        let mut shown_ns = 0;
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= at_ns {
                return Ok(());
            }
            self.hear(Duration::from_nanos((at_ns - now_ns).min(POLL.as_nanos() as u64)))?;
            if now_ns - shown_ns >= TICK_NS {
                shown_ns = now_ns;
                let tps = self.seen.iter().map(|seen| seen.tps).sum();
                let elapsed = Duration::from_nanos(now_ns.saturating_sub(begin_ns));
                live(Live { phase, elapsed, tps, part: 0, now_ns, board: None, arrivals: None, latest: None });
            }
        }
    }

    fn go(&mut self, start_ns: u64) -> Result<(), Failure> {
        self.go_ns = start_ns;
        for worker in self.busy.clone() {
            let start_ns = self.seen[worker].offset.theirs(start_ns);
            self.send(worker, &ToAgent::Go { start_ns })?;
        }
        Ok(())
    }

    fn open(&mut self, window: Window) -> Result<(), Failure> {
        self.window = Some(window);
        for worker in self.busy.clone() {
            let offset = self.seen[worker].offset;
            let (start_ns, end_ns) = (offset.theirs(window.start_ns), offset.theirs(window.end_ns));
            self.send(worker, &ToAgent::Open { start_ns, end_ns })?;
        }
        Ok(())
    }

    /// The interval to its end, and what everybody counted in it.
    fn interval(
        &mut self,
        live: &mut dyn FnMut(Live),
        at_end: &mut dyn FnMut(),
    ) -> Result<(Tally, OfWorkers), Failure> {
        let Some(window) = self.window else { return Err(Failure::Start("no interval was announced".to_owned())) };
        let workers: Vec<usize> = self.busy.iter().copied().collect();
        self.until(window.end_ns, Live::MEASURE, window.start_ns, live)?;
        at_end();
        workers.iter().try_for_each(|worker| self.send(*worker, &ToAgent::LetGo))?;
        let announced: Vec<Offset> = self.seen.iter().map(|seen| seen.offset).collect();
        let begun = Instant::now();
        while let Some(waited_for) = self.busy.first().copied() {
            self.hear(POLL)?;
            if begun.elapsed() > self.drain_max + TALLY_WITHIN {
                return Err(self.fail(waited_for, None, "did not send its tally in time".to_owned()));
            }
        }
        // Asked once more, so that a drift of the clocks shows.
        self.busy = workers.iter().copied().collect();
        self.read_clocks()?;
        self.busy.clear();
        self.gather(&workers, window, &announced)
    }

    fn gather(
        &mut self,
        workers: &[usize],
        window: Window,
        announced: &[Offset],
    ) -> Result<(Tally, OfWorkers), Failure> {
        self.keep_raw(workers)?;
        let edge_ns = |worker: usize| announced[worker].edge_at(&self.seen[worker].offset, window.end_ns);
        let edges_ns: Vec<u64> = workers.iter().map(|worker| edge_ns(*worker)).collect();
        let interval_ns = window.end_ns - window.start_ns;
        for (worker, edge_ns) in workers.iter().zip(&edges_ns) {
            let own = self.seen[*worker].own.as_ref();
            let wrong = own.map_or(Some("sent no tally".to_owned()), |own| gather::wrong(own, interval_ns));
            let far = (*edge_ns > EDGE_NS_MAX)
                .then(|| format!("has a clock that is known to {:.0} ms only", *edge_ns as f64 / 1e6));
            if let Some(what) = wrong.or(far) {
                return Err(self.fail(*worker, None, what));
            }
        }
        let began_ns: Vec<u64> =
            workers.iter().filter_map(|worker| Some(announced[*worker].ours(self.seen[*worker].began_ns?))).collect();
        let spread_ns = began_ns.iter().max().zip(began_ns.iter().min()).map_or(0, |(last, first)| last - first);
        let owns: Vec<Own> = workers.iter().filter_map(|worker| self.seen[*worker].own.take()).collect();
        let all = std::mem::take(&mut self.all);
        let Some(fleet) = self.fleet.as_ref() else { return Err(Failure::Start("no agents are there".to_owned())) };
        let cpus = fleet.cpus(&self.trial.client_cpus);
        let part = |((worker, own), edge_ns): ((&usize, Own), &u64)| Part {
            hello: &fleet.workers[*worker].hello,
            cpus: cpus[*worker].1.len().max(1) as u32,
            own,
            ceiling: self.coordinator.ceiling(*worker, self.dialect),
            offset_ns: announced[*worker].offset_ns,
            edge_ns: *edge_ns,
        };
        let parts: Vec<Part> = workers.iter().zip(owns).zip(&edges_ns).map(part).collect();
        let of_workers = OfWorkers {
            workers: gather::records(&parts, &all),
            metrics: vec![
                ("start_spread_ms".to_owned(), spread_ns as f64 / 1e6),
                ("edge_error_ms".to_owned(), edges_ns.iter().max().copied().unwrap_or_default() as f64 / 1e6),
            ],
            remarks: gather::remarks(&parts, &all, self.trial.rate.is_some()),
        };
        Ok((all, of_workers))
    }

    /// Response times of the interval, in nanoseconds of 8 bytes each, little endian.
    fn keep_raw(&mut self, workers: &[usize]) -> Result<(), Failure> {
        let Some(folder) = self.raw_folder.clone() else { return Ok(()) };
        for worker in workers {
            let raw = std::mem::take(&mut self.seen[*worker].raw);
            let file = folder.join(format!("raw-{}.bin", worker + 1));
            if let Err(error) = fs::write(&file, raw) {
                return Err(self.fail(
                    *worker,
                    None,
                    format!("has raw times that cannot be kept: {}: {error}", file.display()),
                ));
            }
        }
        Ok(())
    }
}

impl Generated for Remote<'_> {
    fn warm_up(&mut self, warmup: Duration, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        let start_ns = monotonic_ns() + AHEAD.as_nanos() as u64;
        self.go(start_ns)?;
        self.warm_ns = start_ns + warmup.as_nanos() as u64;
        // The interval is announced ahead of its time, and clocks are read before that.
        let announce_ns = self.warm_ns.saturating_sub(2 * AHEAD.as_nanos() as u64);
        self.until(announce_ns, Live::WARM_UP, start_ns, live)
    }

    fn announce(
        &mut self,
        interval: Option<Duration>,
        lead: Duration,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), Failure> {
        let Some(interval) = interval else { return Err(Failure::Start("workers need an interval".to_owned())) };
        self.read_clocks()?;
        let start_ns = self.warm_ns.max(monotonic_ns() + AHEAD.as_nanos() as u64);
        self.open(Window { start_ns, end_ns: start_ns + interval.as_nanos() as u64 })?;
        if self.go_ns == 0 {
            self.go(start_ns)?;
        }
        let lead_ns = lead.min(AHEAD / 2).as_nanos() as u64;
        self.until(start_ns - lead_ns, Live::WARM_UP, self.go_ns, live)
    }

    fn measure(mut self: Box<Self>, _: Option<Duration>, live: &mut dyn FnMut(Live), at_end: &mut dyn FnMut()) -> Made {
        match self.interval(live, at_end) {
            Ok((tally, of_workers)) => Made { measured: Measured { tally, failure: None }, of_workers },
            Err(failure) => {
                let measured = Measured { tally: Tally::default(), failure: Some(failure) };
                Made { measured, of_workers: OfWorkers::default() }
            }
        }
    }

    fn give_up(mut self: Box<Self>) -> Tally {
        std::mem::take(&mut self.all)
    }
}

impl Drop for Remote<'_> {
    /// No load outlives its trial.
    fn drop(&mut self) {
        self.settle();
    }
}
