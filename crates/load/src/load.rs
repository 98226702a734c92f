//! One trial's load, from the first connection to the last answer.
//!
//! Workers connect and prepare at once and then wait at a barrier; from there on they run until the
//! measured interval is over, and the coordinator only moves the interval's edges and reads counts.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use driver::{Dialect, Endpoint, Reactor, Target};

use crate::backlog::Backlog;
use crate::bells::{Bell, Bells};
use crate::board::Board;
use crate::client::{Fatal, Slot};
use crate::clock::{
    Alarm, MonotonicClock, cpu_clock_ns, monotonic_ns, run_queue_wait_ns, thread_cpu_clock, thread_cpu_ns,
    thread_number,
};
use crate::deferred_log;
use crate::dial::{Dial, Ends};
use crate::ledger::Ledger;
use crate::pacer::{Arrivals, Pacer, Rate};
use crate::paging::Paging;
use crate::policy::ErrorPolicy;
use crate::recorder::{Recorder, Tally};
use crate::scheduling::{be_woken_in_time, be_woken_less_often, confine_to};
use crate::share::Share;
use crate::single_pass::Gauge;
use crate::timeline::{GONE_NS, Timeline, Window};
use crate::transaction_log::TransactionLog;
use crate::windows::{Collector, Exchange};
use crate::worker::{EventLoop, Gate, Task, run_blocking};
use crate::workload::{Background, DefersWork, Replays, Workload};

#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Of the whole load.
    pub clients: u32,
    /// The part of it that is made here; None for all of it.
    pub share: Option<Share>,
    /// Where clients connect to besides the target, in turn: the first to the target, the next to the first
    /// of these.
    pub elsewhere: Vec<Endpoint>,
    /// Event-loop threads; SQLite, which blocks, gets one per client instead.
    pub workers: u32,
    /// CPUs the threads are confined to; empty for all.
    pub cpus: Vec<usize>,
    pub input_seed: u64,
    /// What the tables were drawn from.
    pub data_seed: u64,
    /// Longest interval that will be measured; sizes the per-second series.
    pub interval_max: Duration,
    /// After the interval, how long to wait for the last answers before cutting the connections.
    pub drain_max: Duration,
    /// Where nothing else ends a wait, it ends when no transaction has ended for so long.
    pub silence_max: Duration,
    /// An open loop at this rate; without it, each client starts anew when it has its answer.
    pub rate: Option<Rate>,
    /// Transactions in the measured interval, over all clients; it ends when they have.
    pub transactions_max: Option<u64>,
    /// The same for each client by itself.
    pub transactions_each: Option<u64>,
    pub policy: ErrorPolicy,
    /// Whether counts are read while the load runs; it costs a few cells per transaction.
    pub board: bool,
    /// Gets a line of each transaction.
    pub log: Option<Arc<TransactionLog>>,
    /// Response times are kept window by window of this length; without it in one histogram.
    pub windows: Option<Duration>,
    /// Read at the edges of each operation, where the workload is one pass over operations.
    pub gauge: Option<Gauge>,
    /// Where clients of a workload that keeps a ledger write.
    pub ledger: Option<Arc<Ledger>>,
}

impl Default for LoadOptions {
    /// One client, for a minute at most.
    fn default() -> LoadOptions {
        LoadOptions {
            clients: 1,
            share: None,
            elsewhere: Vec::new(),
            workers: 1,
            cpus: Vec::new(),
            input_seed: 1,
            data_seed: 1,
            interval_max: Duration::from_secs(60),
            drain_max: Duration::from_secs(60),
            silence_max: SILENCE_MAX,
            rate: None,
            transactions_max: None,
            transactions_each: None,
            policy: ErrorPolicy::default(),
            board: false,
            log: None,
            windows: None,
            gauge: None,
            ledger: None,
        }
    }
}

impl LoadOptions {
    /// The numbers of the clients that run here.
    fn own_clients(&self) -> Vec<u32> {
        self.share.as_ref().map_or_else(|| (0..self.clients).collect(), |share| share.clients.clone())
    }

    fn own_count(&self) -> u32 {
        self.share.as_ref().map_or(self.clients, |share| share.clients.len() as u32)
    }
}

/// Why a load gave no tally, or only part of one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    #[error("a client could not start: {0}")]
    Start(String),
    #[error("a client stopped: {0}")]
    Client(String),
    #[error("answers were still missing {secs} s after the interval, from {clients} clients")]
    Drain { secs: u64, clients: u32 },
    #[error("clients that had lost the server at the end: {clients}; no transaction ended in the last {secs:.1} s")]
    Gone { secs: f64, clients: u32 },
    #[error("no transaction ended in the last {secs:.1} s")]
    Silence { secs: f64 },
    /// Of a load that several workers make: one of them was late, lost or failed, and the rest is no load.
    #[error("worker {worker} on {host} {what}")]
    Worker {
        worker: u32,
        host: String,
        /// The step that it failed in, where it is not the one that the trial is in.
        step: Option<&'static str>,
        what: String,
    },
    #[error("interrupted")]
    Interrupted,
}

/// What a measured interval left: all of it, or what there was until something ended it early.
#[derive(Debug)]
pub struct Measured {
    pub tally: Tally,
    pub failure: Option<Failure>,
}

impl Measured {
    /// The tally of an interval that went as planned.
    pub fn whole(self) -> Result<Tally, Failure> {
        self.failure.map_or(Ok(self.tally), Err)
    }
}

/// What may be shown while the load runs.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// `warm-up`, `measure`, or what a trial does without its clients.
    pub phase: &'static str,
    /// Of this phase.
    pub elapsed: Duration,
    /// Over the last two seconds: steady enough to read, quick enough to show a stall.
    pub tps: f64,
    /// Of a workload's parts, the one under way.
    pub part: usize,
    pub now_ns: u64,
    /// Where the options ask for one.
    pub board: Option<&'a Board>,
    /// In an open loop.
    pub arrivals: Option<&'a Arrivals>,
    /// Response times of the last window that ended, where windows are kept.
    pub latest: Option<&'a latency::Histogram>,
}

impl Live<'_> {
    pub const WARM_UP: &'static str = "warm-up";
    pub const MEASURE: &'static str = "measure";

    /// A phase in which no client runs.
    pub fn without_load(phase: &'static str) -> Live<'static> {
        Live { phase, elapsed: Duration::ZERO, tps: 0.0, part: 0, now_ns: 0, board: None, arrivals: None, latest: None }
    }

    pub fn has_load(&self) -> bool {
        [Live::WARM_UP, Live::MEASURE].contains(&self.phase)
    }
}

/// One load-generating thread.
struct Running {
    /// None once it was joined.
    thread: Option<JoinHandle<Ended>>,
    own: Arc<OwnTimes>,
}

/// The state of a load thread.
#[derive(Default)]
struct OwnTimes {
    /// Its number, as the kernel counts threads.
    number: AtomicI32,
    /// Its CPU clock, which others may read while it runs.
    cpu_clock: OnceLock<libc::clockid_t>,
    /// Its times when it ended, since an ended thread can no longer be asked.
    at_end: OnceLock<Times>,
    /// When its clients began.
    began: OnceLock<u64>,
}

impl OwnTimes {
    /// Called by the thread itself, behind its last transaction.
    fn announce_end(&self) {
        let wait_ns = run_queue_wait_ns(self.number.load(Ordering::Relaxed));
        // It ends once.
        let _ = self.at_end.set(Times { cpu_ns: thread_cpu_ns(), wait_ns });
    }
}

/// What a thread has had of the CPUs so far.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    cpu_ns: u64,
    /// Ready to run, and waiting for a CPU.
    wait_ns: Option<u64>,
}

/// What a worker leaves: its tally, and why it ended before its time.
struct Ended {
    tally: Tally,
    fatal: Option<Fatal>,
    at_ns: u64,
}

impl Ended {
    /// Before its first transaction.
    fn early(fatal: Fatal) -> Ended {
        Ended { tally: Tally::default(), fatal: Some(fatal), at_ns: monotonic_ns() }
    }
}

/// Opens a load's measured interval ahead of its time, from another thread than the load's own.
#[derive(Debug, Clone)]
pub struct Opener(Arc<Timeline>);

impl Opener {
    pub fn open(&self, window: Window) {
        self.0.open_window(window);
    }
}

pub struct Load<'a> {
    timeline: Arc<Timeline>,
    workers: Vec<Running>,
    ends: Ends,
    gate: Arc<Gate>,
    board: Option<Arc<Board>>,
    arrivals: Option<Arc<Arrivals>>,
    /// What clients leave to background slots, where the workload has some.
    deferred: Option<(Arc<Backlog>, Background)>,
    windows: Option<Collector>,
    options: LoadOptions,
    is_one_pass: bool,
    /// Its clients open the measured interval, and end it.
    is_replay: bool,
    interrupted: &'a AtomicBool,
    /// The clients have left the barrier.
    started: bool,
    /// The tallies of workers that have ended, and the error of the first of them to fail.
    tally: Tally,
    fatal: Option<String>,
    last_end_ns: u64,
    progress: Progress,
    woken_late_ns: u64,
}

/// How far the clients have come, and when that was first seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Progress {
    ended: u64,
    part: usize,
    deferred: usize,
    at_ns: u64,
}

/// Time that a login may take.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// A client that waits longer for a lock has waited for the time-outs of most servers, and no server that runs
/// ends nothing for so long.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Users who rest do so for two minutes and more.
const RESTING_SILENCE_MAX: Duration = Duration::from_secs(300);
/// A workload that is one pass has operations of hours, and ends no transaction between them.
const PASS_SILENCE_MAX: Duration = Duration::from_secs(6 * 3600);
/// The series of seconds of a log's replay has room for so many times its length, and for this.
const SERIES_TIMES: u32 = 4;
const SERIES_MIN: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(100);
/// Without new transactions a conflict is over in milliseconds; what is still refused then would be for good.
const RETRIES_BEHIND_THE_END: Duration = Duration::from_secs(1);
/// After an interruption, or when what is queued is given up, how long a transaction under way may take to end
/// by itself. A pass under way gets no time: nothing of its operation would count.
const INTERRUPTED_DRAIN_MAX: Duration = Duration::from_secs(1);
/// Between two attempts to cut off connections. SQLite gives up only the statement that runs at that moment.
const CUT_EVERY: Duration = Duration::from_millis(10);

/// How long a workload may be silent, and how long its interval may be, where it needs more than others.
fn give_time(options: &mut LoadOptions, workload: &dyn Workload) {
    options.silence_max = options.silence_max.max(match workload {
        pass if pass.is_one_pass() => PASS_SILENCE_MAX,
        log if log.replays().is_some() => log.replays().map_or(Duration::ZERO, Replays::silence_max),
        users if users.spec().rests.is_some() => RESTING_SILENCE_MAX,
        _ => Duration::ZERO,
    });
    if let Some(log) = workload.replays() {
        options.interval_max = options.interval_max.max(SERIES_MIN + log.expected_duration() * SERIES_TIMES);
    }
}

impl<'a> Load<'a> {
    /// Connects all clients and prepares their statements; returns with everyone at the barrier.
    pub fn prepare(
        workload: &Arc<dyn Workload>,
        target: &Target,
        mut options: LoadOptions,
        interrupted: &'a AtomicBool,
    ) -> Result<Load<'a>, Failure> {
        give_time(&mut options, workload.as_ref());
        let timeline = Arc::new(Timeline::default());
        timeline.allow_retries(options.drain_max.min(RETRIES_BEHIND_THE_END));
        let background = workload.defers_work().map(|work| work.background(options.own_count()));
        let crews = crews(target.dialect, &options, background.map_or(0, |background| background.slots));
        let bells = workload.replays().map(|_| Bells::new(crews.len()).map(Arc::new)).transpose();
        let bells = bells.map_err(|e| Failure::Start(format!("no event: {e}")))?;
        let own = workload.replays().zip(bells.clone()).map(|(replays, bells)| replays.for_load(bells));
        let workload = own.as_ref().unwrap_or(workload);
        let gate = Arc::new(Gate::default());
        let board = options.board.then(|| Arc::new(Board::new(options.clients as usize, crews.len())));
        // Its clock starts when the gate opens; until then no arrival is taken.
        let late_max = workload.spec().latency_limit;
        let own = options.share.as_ref().map(|share| share.arrivals.clone());
        let arrivals =
            |rate| Arc::new(Arrivals::new(rate, options.input_seed).no_later_than(late_max).only(own.clone()));
        let arrivals = options.rate.map(arrivals);
        let backlog = background.map(|_| Arc::new(Backlog::default()));
        let exchange = options.windows.map(|length| Arc::new(Exchange::new(length, crews.len())));
        let ends = Ends::default();
        let (ready, readiness) = mpsc::channel();
        let worker = |(number, crew)| Worker {
            number,
            own: Arc::default(),
            workload: Arc::clone(workload),
            target: target.clone(),
            options: options.clone(),
            timeline: Arc::clone(&timeline),
            gate: Arc::clone(&gate),
            board: board.clone(),
            arrivals: arrivals.clone(),
            backlog: backlog.clone(),
            exchange: exchange.clone(),
            ends: ends.clone(),
            bell: bells.as_ref().map(|bells| bells.of(number)),
            crew,
        };
        let workers = crews.into_iter().enumerate().map(worker).map(|worker| worker.start(ready.clone()));
        let workers = workers.collect::<Result<Vec<Running>, Failure>>()?;
        drop(ready);
        let load = Load {
            timeline,
            workers,
            ends,
            gate,
            board,
            arrivals,
            deferred: backlog.zip(background),
            windows: exchange.as_ref().map(Collector::new),
            options,
            is_one_pass: workload.is_one_pass(),
            is_replay: workload.replays().is_some(),
            interrupted,
            started: false,
            tally: Tally::default(),
            fatal: None,
            last_end_ns: 0,
            progress: Progress::default(),
            woken_late_ns: 0,
        };
        for _ in 0..load.workers.len() {
            next_ready(&readiness, interrupted)?;
        }
        Ok(load)
    }

    /// Starts the clients and lets them run for `warmup` without counting; clients that open the interval know by
    /// themselves how long that is, and those of a pass when they are warm.
    pub fn warm_up(&mut self, warmup: Duration, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        let start_ns = monotonic_ns();
        self.timeline.start(start_ns, true);
        self.start(start_ns);
        if self.is_replay {
            return self.warm_up_until_open(live);
        }
        if self.is_one_pass {
            let clients = self.options.own_count();
            let end_ns = |timeline: &Timeline| if timeline.warm() < clients { u64::MAX } else { 0 };
            return self.report_while_running(Live::WARM_UP, start_ns, &end_ns, live).map(drop);
        }
        let end_ns = start_ns + warmup.as_nanos() as u64;
        self.report_while_running(Live::WARM_UP, start_ns, &|_| end_ns, live).map(drop)
    }

    /// What opens the measured interval from another thread, at a moment that is still to come.
    pub fn opener(&self) -> Opener {
        Opener(Arc::clone(&self.timeline))
    }

    /// Starts the clients at this moment, and returns when the first of them has begun.
    pub fn start_at(&mut self, start_ns: u64) -> u64 {
        std::thread::sleep(Duration::from_nanos(start_ns.saturating_sub(monotonic_ns())));
        self.start(start_ns);
        loop {
            if let Some(began_ns) = self.workers.iter().filter_map(|worker| worker.own.began.get()).min() {
                return *began_ns;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Lets the clients run without counting until the interval begins that an [`Opener`] opens.
    pub fn warm_up_until_open(&mut self, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        self.report_while_running(Live::WARM_UP, monotonic_ns(), &|timeline| timeline.window().start_ns, live).map(drop)
    }

    /// Ends a load that failed before its interval, and returns what its clients had counted until then.
    pub fn give_up(mut self) -> Tally {
        // It has failed already; that the last answers are missing too is no news.
        let _ = self.drain(monotonic_ns(), true);
        Tally { clients: self.options.own_count(), ..std::mem::take(&mut self.tally) }
    }

    /// Lets the clients go, unless they run already.
    fn start(&mut self, start_ns: u64) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        if let Some(arrivals) = &self.arrivals {
            arrivals.start(start_ns);
        }
        if self.timeline.started_ns() == 0 {
            self.timeline.start(start_ns, false);
        }
        self.gate.open(true);
    }

    /// Where counts can be read until the last client has ended; None unless the options ask for it.
    pub fn board(&self) -> Option<Arc<Board>> {
        self.board.clone()
    }

    /// Measures one interval and waits for the last answers. Without a warm-up before it the clients
    /// start here, so that none of their transactions is outside. Without an `interval` it lasts until
    /// the transactions are done or there is an interruption. `at_end` is called at the interval's end,
    /// before that wait: other observers of the same interval stop there, and clients stay connected until they have.
    pub fn measure(self, interval: Option<Duration>, live: &mut dyn FnMut(Live), at_end: &mut dyn FnMut()) -> Measured {
        if self.is_replay && self.started {
            return self.measure_open(live, at_end);
        }
        let open = |timeline: &Timeline| {
            let start_ns = monotonic_ns();
            let end_ns = interval.map_or(u64::MAX, |interval| start_ns + interval.as_nanos() as u64);
            timeline.open_window(Window { start_ns, end_ns });
        };
        self.measure_window(&open, live, at_end)
    }

    /// As [`Load::measure`], of the interval that an [`Opener`] has opened.
    pub fn measure_open(self, live: &mut dyn FnMut(Live), at_end: &mut dyn FnMut()) -> Measured {
        self.measure_window(&|_| (), live, at_end)
    }

    fn measure_window(
        mut self,
        open: &dyn Fn(&Timeline),
        live: &mut dyn FnMut(Live),
        at_end: &mut dyn FnMut(),
    ) -> Measured {
        let (times_before, paging) = (self.worker_times(), Paging::now());
        self.woken_late_ns = 0;
        if let Some(transactions) = self.options.transactions_max {
            self.timeline.limit(transactions);
        }
        if let Some(transactions) = self.options.transactions_each {
            self.timeline.limit_each(transactions);
        }
        self.timeline.hold();
        open(&self.timeline);
        let Window { start_ns, end_ns } = self.timeline.window();
        self.start(start_ns);
        let reported = self.report_while_running(Live::MEASURE, start_ns, &|_| end_ns, live);
        self.timeline.close_window(match &reported {
            // The time is checked now and then only; a rate is of the time until the last answer.
            Ok(Watched::AllIsDone) => self.last_answer_ns(),
            _ => monotonic_ns(),
        });
        let (end_ns, silent_since_ns) = (self.timeline.window().end_ns, self.progress.at_ns);
        let (times_after, paged_in) = (self.worker_times(), Paging::now().since(&paging));
        at_end();
        self.timeline.let_go();
        let drained = self.drain(end_ns, reported.is_err());
        let mut tally = std::mem::take(&mut self.tally);
        if let (Some(arrivals), Ok(Watched::TimeIsUp)) = (&self.arrivals, &reported) {
            tally.leave_waiting(arrivals.left_over(start_ns, end_ns), end_ns);
        }
        if let Some((backlog, background)) = &self.deferred {
            tally.leave_deferred(background.kind, backlog.left_over(self.timeline.window()));
        }
        tally.journal.count_from(start_ns);
        tally.drain_ns = self.last_answer_ns().saturating_sub(end_ns);
        tally.interval_ns = end_ns - start_ns;
        tally.response.add(&tally.unanswered);
        if let Some(mut windows) = self.windows.take() {
            windows.charge(&tally.unanswered, tally.interval_ns);
            (tally.response, tally.windows) = windows.finish(tally.interval_ns);
            if self.options.rate.is_none() && !self.is_replay {
                tally.serve_as_responded();
            }
        }
        (tally.woken_late_ns, tally.paged_in) = (self.woken_late_ns, paged_in);
        tally.clients = self.options.own_count();
        tally.ended = self.timeline.ended.load(Ordering::Relaxed);
        tally.seconds.truncate((tally.interval_ns as f64 / 1e9).ceil() as usize);
        let spans = || times_before.iter().zip(&times_after);
        tally.worker_cpu_ns = spans().map(|(before, after)| after.cpu_ns.saturating_sub(before.cpu_ns)).collect();
        // One thread that cannot be seen would make the others stand for all.
        let waited = spans().map(|(before, after)| Some(after.wait_ns?.saturating_sub(before.wait_ns?)));
        tally.worker_wait_ns = waited.collect::<Option<Vec<u64>>>().unwrap_or_default();
        let ends = tally.committed + tally.rolled_back + tally.failed + tally.skipped;
        assert_eq!(tally.due, ends, "every transaction that was due has ended in one of four ways");
        let failure = reported.err().or(drained.err()).or(self.fatal.take().map(Failure::Client));
        let gone = self.gone(end_ns.saturating_sub(silent_since_ns.max(start_ns)));
        Measured { tally, failure: failure.or(gone) }
    }

    /// A server that went away and stayed away has given no rate, whatever it did before.
    fn gone(&self, silent_ns: u64) -> Option<Failure> {
        let cut_off = self.timeline.cut_off.load(Ordering::Relaxed);
        // One of many may lose its connection at the very end; all of them, for a second, have lost the server.
        let clients = cut_off + self.timeline.unanswered.load(Ordering::Relaxed);
        let is_gone = cut_off > 0 || (clients >= self.options.own_count() && silent_ns > GONE_NS);
        is_gone.then_some(Failure::Gone { secs: silent_ns as f64 / 1e9, clients })
    }

    /// How long no transaction has ended, seen from here.
    fn silent_ns(&mut self) -> u64 {
        let now = Progress {
            ended: self.timeline.ended.load(Ordering::Relaxed),
            part: self.timeline.part.load(Ordering::Relaxed),
            deferred: self.deferred.as_ref().map_or(0, |(backlog, _)| backlog.waiting()),
            at_ns: monotonic_ns(),
        };
        if self.progress.at_ns == 0 || (Progress { at_ns: self.progress.at_ns, ..now }) != self.progress {
            self.progress = now;
        }
        now.at_ns - self.progress.at_ns
    }

    fn is_silent(&mut self) -> bool {
        u128::from(self.silent_ns()) > self.options.silence_max.as_nanos()
    }

    /// In an open loop a client may be silent while nothing waits: there may be nothing to do.
    fn nothing_waits(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| arrivals.waiting(monotonic_ns()) == 0)
    }

    /// Waits until the end, which may become known meanwhile, or until all transactions are done, unless a client fails or there is an
    /// interruption.
    fn report_while_running(
        &mut self,
        phase: &'static str,
        begin_ns: u64,
        end_ns: &dyn Fn(&Timeline) -> u64,
        live: &mut dyn FnMut(Live),
    ) -> Result<Watched, Failure> {
        let mut recent = VecDeque::from([(begin_ns, self.timeline.ended.load(Ordering::Relaxed))]);
        loop {
            let (end_ns, now_ns) = (end_ns(&self.timeline), monotonic_ns());
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            // Right at the end a worker may have ended in due time, since the clock was read.
            self.collect_ended();
            if let Some(fatal) = self.fatal.take() {
                return Err(Failure::Client(fatal));
            }
            if now_ns >= end_ns {
                return Ok(Watched::TimeIsUp);
            }
            // Clients may also leave because they rest until after the end, which ends no interval.
            let is_over_early = || self.timeline.is_used_up() || self.all_have_aborted();
            if self.all_clients_ended() && (end_ns == u64::MAX || is_over_early()) {
                return Ok(Watched::AllIsDone);
            }
            if self.nothing_waits() {
                self.progress.at_ns = 0;
            }
            if self.is_silent() && end_ns == u64::MAX {
                return Err(Failure::Silence { secs: self.silent_ns() as f64 / 1e9 });
            }
            let tick_ns = TICK.as_nanos() as u64;
            // On whole ticks since the beginning, so that what is shown each second is of one second.
            let next_tick_ns = begin_ns + ((now_ns - begin_ns) / tick_ns + 1) * tick_ns;
            let wakes_ns = next_tick_ns.min(end_ns);
            std::thread::sleep(Duration::from_nanos(wakes_ns - now_ns));
            self.woken_late_ns = self.woken_late_ns.max(monotonic_ns().saturating_sub(wakes_ns));
            let (board, arrivals) = (self.board.as_deref(), self.arrivals.as_deref());
            if let Some(arrivals) = arrivals {
                arrivals.schedule();
            }
            let now = (monotonic_ns(), self.timeline.ended.load(Ordering::Relaxed));
            recent.push_back(now);
            if recent.len() > 20 {
                recent.pop_front();
            }
            let tps = (now.1 - recent[0].1) as f64 / ((now.0 - recent[0].0).max(1) as f64 / 1e9);
            let (elapsed, part) = (Duration::from_nanos(now.0 - begin_ns), self.timeline.part.load(Ordering::Relaxed));
            let latest = self.windows.as_ref().and_then(Collector::latest);
            live(Live { phase, elapsed, tps, part, now_ns: now.0, board, arrivals, latest });
        }
    }

    /// Whether an error has ended each of the clients.
    fn all_have_aborted(&self) -> bool {
        self.timeline.aborted.load(Ordering::Relaxed) >= self.options.own_count()
    }

    /// Whether all clients are done, whatever they have left to the background.
    fn all_clients_ended(&self) -> bool {
        match &self.deferred {
            Some((backlog, _)) => backlog.all_have_left(),
            None => self.workers.iter().all(|worker| worker.thread.is_none()),
        }
    }

    /// When the last client had its last answer, once all have ended.
    fn last_answer_ns(&self) -> u64 {
        let left_ns = || self.deferred.as_ref().map_or(self.last_end_ns, |(backlog, _)| backlog.left_ns());
        // One that is held leaves later.
        self.timeline.done_ns().unwrap_or_else(left_ns)
    }

    /// Makes the background slots leave the rest of the queue alone; `false` where there are none,
    /// or that was done before, or it is clients that are waited for.
    fn gives_up_backlog(&self) -> bool {
        self.deferred.as_ref().is_some_and(|(backlog, _)| backlog.all_have_left() && !backlog.give_up())
    }

    /// Waits for the last answers and for what was deferred. What is still queued when the time is over is
    /// left there; connections on which an answer is missing are cut.
    fn drain(&mut self, end_ns: u64, broken_off: bool) -> Result<(), Failure> {
        let mut drain_max = self.options.drain_max;
        if broken_off {
            self.timeline.stop();
            drain_max = if self.is_one_pass { Duration::ZERO } else { drain_max.min(INTERRUPTED_DRAIN_MAX) };
        }
        let mut late_ns = end_ns + drain_max.as_nanos() as u64;
        self.progress.at_ns = 0;
        loop {
            self.collect_ended();
            let clients = self.workers.iter().filter(|worker| worker.thread.is_some()).count();
            if clients == 0 {
                return Ok(());
            }
            let interrupted = !broken_off && self.interrupted.load(Ordering::Relaxed);
            let mut late = monotonic_ns() > late_ns || (drain_max > self.options.silence_max && self.is_silent());
            if late && self.gives_up_backlog() {
                // Those under way are few, and as quick as the others were.
                late_ns = monotonic_ns() + drain_max.max(INTERRUPTED_DRAIN_MAX).as_nanos() as u64;
                late = false;
            }
            if interrupted || late {
                let clients = self.board.as_ref().map_or(clients as u32, |board| board.running().0);
                self.abandon();
                let waited_ns = monotonic_ns().saturating_sub(end_ns);
                let failure = Failure::Drain { secs: waited_ns / 1_000_000_000, clients };
                return Err(if interrupted { Failure::Interrupted } else { failure });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Takes the windows that have ended, and joins the workers that have.
    fn collect_ended(&mut self) {
        self.windows.iter_mut().for_each(Collector::collect);
        for index in 0..self.workers.len() {
            if self.workers[index].thread.as_ref().is_some_and(JoinHandle::is_finished) {
                self.join(index);
            }
        }
    }

    fn join(&mut self, index: usize) {
        let Some(thread) = self.workers[index].thread.take() else { return };
        let fatal = match thread.join() {
            Ok(ended) => {
                self.tally.add(&ended.tally);
                self.last_end_ns = self.last_end_ns.max(ended.at_ns);
                ended.fatal.map(|fatal| fatal.to_string())
            }
            Err(_) => Some("a load thread panicked".to_owned()),
        };
        // Connections that were cut report it; that is not the reason but its consequence.
        if self.fatal.is_none() {
            self.fatal = fatal;
        }
    }

    /// Cuts every connection, so that no worker waits for a server any more, and collects them.
    fn abandon(&mut self) {
        self.timeline.stop();
        while self.workers.iter().any(|worker| worker.thread.as_ref().is_some_and(|thread| !thread.is_finished())) {
            self.ends.end_all();
            std::thread::sleep(CUT_EVERY);
        }
        (0..self.workers.len()).for_each(|index| self.join(index));
    }

    /// What each load thread has had of the CPUs so far.
    fn worker_times(&self) -> Vec<Times> {
        let asked = |worker: &Running| {
            let running = worker.own.cpu_clock.get().and_then(|clock| {
                let cpu_ns = cpu_clock_ns(*clock)?;
                Some(Times { cpu_ns, wait_ns: run_queue_wait_ns(worker.own.number.load(Ordering::Acquire)) })
            });
            // An ended thread has left its times; one that had just ended when we asked has too.
            worker.own.at_end.get().copied().or(running).unwrap_or_default()
        };
        self.workers.iter().map(asked).collect()
    }
}

/// How a wait ended that nothing broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    TimeIsUp,
    AllIsDone,
}

impl Drop for Load<'_> {
    /// No thread outlives its load.
    fn drop(&mut self) {
        self.gate.open(false);
        if self.started {
            self.abandon();
        } else {
            // Whoever waits at the gate goes home, and takes leave of the server.
            (0..self.workers.len()).for_each(|index| self.join(index));
        }
    }
}

/// Waits for the next worker; fails when it cannot start.
fn next_ready(readiness: &mpsc::Receiver<Result<(), String>>, interrupted: &AtomicBool) -> Result<(), Failure> {
    loop {
        match readiness.recv_timeout(TICK) {
            Ok(connected) => return connected.map_err(Failure::Start),
            Err(mpsc::RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                return Err(Failure::Interrupted);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Failure::Start("a load thread ended".to_owned())),
        }
    }
}

/// Client numbers of each worker, and behind them those of the background slots. They are dealt out in
/// turn, so that all workers get as many.
fn crews(dialect: Dialect, options: &LoadOptions, background: u32) -> Vec<Vec<u32>> {
    let own = options.own_clients();
    let workers = options.workers.clamp(1, own.len().max(1) as u32) as usize;
    let slots: Vec<u32> = own.into_iter().chain(options.clients..options.clients + background).collect();
    let workers = if dialect.is_embedded() { slots.len() } else { workers };
    (0..workers).map(|worker| slots.iter().copied().skip(worker).step_by(workers).collect()).collect()
}

/// One load-generating thread before it starts.
struct Worker {
    number: usize,
    own: Arc<OwnTimes>,
    workload: Arc<dyn Workload>,
    target: Target,
    options: LoadOptions,
    timeline: Arc<Timeline>,
    gate: Arc<Gate>,
    board: Option<Arc<Board>>,
    arrivals: Option<Arc<Arrivals>>,
    backlog: Option<Arc<Backlog>>,
    exchange: Option<Arc<Exchange>>,
    ends: Ends,
    /// What wakes its clients when they wait for others, where the workload has such clients.
    bell: Option<Arc<Bell>>,
    crew: Vec<u32>,
}

/// A worker's clients at their places.
struct ClientInSlot {
    tasks: Vec<Task>,
    /// Watches their connections, unless there is only one.
    reactor: Arc<Reactor>,
}

impl Worker {
    fn start(self, ready: mpsc::Sender<Result<(), String>>) -> Result<Running, Failure> {
        let own = Arc::clone(&self.own);
        let spawned = std::thread::Builder::new().name("load".to_owned()).spawn(move || self.run(&ready));
        let thread = spawned.map_err(|e| Failure::Start(format!("no thread: {e}")))?;
        Ok(Running { thread: Some(thread), own })
    }

    fn run(self, ready: &mpsc::Sender<Result<(), String>>) -> Ended {
        confine_to(&self.options.cpus);
        self.own.number.store(thread_number(), Ordering::Release);
        let _ = thread_cpu_clock().map(|clock| self.own.cpu_clock.set(clock));
        let recorder = Rc::new(RefCell::new(self.recorder()));
        let earliest_ns = Rc::new(Cell::new(u64::MAX));
        let ClientInSlot { tasks, reactor } = match self.place_all(&recorder, &earliest_ns) {
            Ok(seated) => seated,
            Err(fatal) => {
                let _ = ready.send(Err(fatal.to_string()));
                return Ended::early(fatal);
            }
        };
        // The receiver is gone when the load was given up meanwhile; then the gate is closed too.
        let _ = ready.send(Ok(()));
        if !self.gate.wait() {
            return Ended::early(Fatal::new("the load was given up before it started"));
        }
        let _ = self.own.began.set(monotonic_ns());
        let worked = self.work(tasks, reactor, earliest_ns);
        let at_ns = monotonic_ns();
        self.own.announce_end();
        Ended { tally: recorder.take().finish(), fatal: worked.err(), at_ns }
    }

    fn recorder(&self) -> Recorder {
        let seconds = self.options.interval_max.as_secs_f64().ceil() as usize;
        let spec = self.workload.spec();
        let recorder = Recorder::new(seconds, self.options.rate.is_some());
        let mut recorder = recorder
            .with_kinds(spec.kinds.len(), spec.counts.len())
            .by_client(self.options.clients)
            .with_statements(self.workload.timed_statements(self.target.dialect));
        if let Some(work) = self.workload.defers_work() {
            recorder = recorder.with_journal(work.log_columns().len(), self.journal_lines(work));
        }
        if self.workload.replays().is_some() {
            recorder = recorder.by_statement();
        }
        if let Some(exchange) = &self.exchange {
            recorder = recorder.in_windows(Arc::clone(exchange));
        }
        if let Some(log) = &self.options.log {
            recorder = recorder.with_log(Arc::clone(log), self.number);
        }
        match &self.board {
            Some(board) => recorder.on_board(Arc::clone(board), self.number),
            None => recorder,
        }
    }

    /// What its background slots may write, of the capacity that there is for all of them.
    fn journal_lines(&self, work: &dyn DefersWork) -> usize {
        let all = work.background(self.options.own_count()).slots as usize;
        let own = self.crew.iter().filter(|client| **client >= self.options.clients).count();
        if own == 0 { 0 } else { deferred_log::LINES_MAX / all * own }
    }

    fn place_all(&self, recorder: &Rc<RefCell<Recorder>>, earliest_ns: &Rc<Cell<u64>>) -> Result<ClientInSlot, Fatal> {
        let policy = Arc::new(self.options.policy.clone());
        let reactor = Reactor::new().map_err(|e| Fatal::new(format!("no epoll: {e}")))?;
        let slot = |(place, client): (usize, &u32)| -> Result<Task, driver::Error> {
            let dial = self.dial(*client, self.is_polled().then(|| (Arc::clone(&reactor), place)));
            let connection = dial.connect()?;
            let alarm = Alarm::new(earliest_ns);
            let clock = match self.is_polled() {
                true => MonotonicClock::woken(alarm.clone()),
                false => MonotonicClock::sleeping(),
            };
            let future = self.workload.client(self.slot(*client, recorder, clock, &policy, dial), connection)?;
            Ok(Task { future, alarm })
        };
        let named = |crew: (usize, &u32)| slot(crew).map_err(|error| self.could_not_start(*crew.1, &error));
        let tasks = self.crew.iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
        Ok(ClientInSlot { tasks, reactor })
    }

    /// How this client reaches its server.
    fn dial(&self, client: u32, polled: Option<(Arc<Reactor>, usize)>) -> Dial {
        let limit = if self.target.dialect.is_embedded() { SQLITE_BUSY_TIMEOUT } else { LOGIN_LIMIT };
        let target = Target { endpoint: self.endpoint(client).clone(), ..self.target.clone() };
        Dial { target, limit, polled, ends: self.ends.clone() }
    }

    /// Where this client connects to.
    fn endpoint(&self, client: u32) -> &Endpoint {
        let elsewhere = &self.options.elsewhere;
        let in_turn = (client as usize % (1 + elsewhere.len())).checked_sub(1).map(|place| &elsewhere[place]);
        in_turn.unwrap_or(&self.target.endpoint)
    }

    /// The error with its server, which not every error names.
    fn could_not_start(&self, client: u32, error: &driver::Error) -> Fatal {
        let (error, server) = (error.to_string(), self.endpoint(client).to_string());
        let is_named = error.contains(&server);
        Fatal::new(if is_named { error } else { format!("{server}: {error}") })
    }

    /// A worker with one client simply blocks: an event loop would poll before each read. One that waits for clients
    /// of other workers has to be woken.
    fn is_polled(&self) -> bool {
        self.crew.len() > 1 || self.bell.is_some()
    }

    fn slot(
        &self,
        client: u32,
        recorder: &Rc<RefCell<Recorder>>,
        clock: MonotonicClock,
        policy: &Arc<ErrorPolicy>,
        dial: Dial,
    ) -> Slot {
        let is_client = client < self.options.clients;
        let pacer = match (&self.backlog, &self.arrivals) {
            (Some(backlog), _) if !is_client => Pacer::Deferred(Arc::clone(backlog)),
            (_, Some(arrivals)) => Pacer::Open(Arc::clone(arrivals)),
            (_, None) => Pacer::Closed,
        };
        Slot {
            client,
            clients: self.options.clients,
            input_seed: self.options.input_seed,
            data_seed: self.options.data_seed,
            timeline: Arc::clone(&self.timeline),
            recorder: Rc::clone(recorder),
            clock,
            pacer,
            policy: Arc::clone(policy),
            gauge: self.options.gauge.clone(),
            giver: self.backlog.as_ref().filter(|_| is_client).map(Backlog::giver),
            dial: Some(dial),
            ledger: self.options.ledger.clone(),
            bell: self.bell.clone(),
        }
    }

    fn work(&self, mut tasks: Vec<Task>, reactor: Arc<Reactor>, earliest_ns: Rc<Cell<u64>>) -> Result<(), Fatal> {
        let has_due_times = self.workload.replays().is_some_and(|replay| replay.has_due_times());
        match self.is_polled() {
            _ if has_due_times => be_woken_in_time(),
            true => be_woken_less_often(),
            false => {}
        }
        if self.is_polled() {
            return EventLoop::new(tasks, reactor, &self.timeline, earliest_ns).with_bell(self.bell.clone()).run();
        }
        let task = tasks.pop().ok_or_else(|| Fatal::new("a worker without clients"))?;
        run_blocking(task)
    }
}
