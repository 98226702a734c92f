//! One trial's load, from the first connection to the last answer.
//!
//! Workers connect and prepare at once and then wait at a barrier; from there on they run until the
//! measured interval is over, and the coordinator only moves the interval's edges and looks on.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::unix::thread::JoinHandleExt;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use driver::{AnyConnection, Closer, Dialect, Endpoint, Login};

use crate::clock::{MonotonicClock, monotonic_ns};
use crate::pacer::Pacer;
use crate::recorder::{Recorder, Tally};
use crate::timeline::{Timeline, Window};
use crate::worker::{EventLoop, Gate, Task, run_blocking};
use crate::workload::{Fatal, Seat, Workload};

/// Where the clients connect to.
#[derive(Debug, Clone)]
pub struct Target {
    pub dialect: Dialect,
    pub endpoint: Endpoint,
    pub login: Login,
}

#[derive(Debug, Clone)]
pub struct LoadOptions {
    pub clients: u32,
    /// Event-loop threads; SQLite, which blocks, gets one per client instead.
    pub workers: u32,
    /// CPUs the threads are confined to; empty for all.
    pub cpus: Vec<usize>,
    pub input_seed: u64,
    /// Longest interval that will be measured; sizes the per-second series.
    pub interval_max: Duration,
    /// After the interval, how long to wait for the last answers before cutting the connections.
    pub drain_max: Duration,
}

/// Why a load gave no tally.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("a client could not start: {0}")]
    Start(String),
    #[error("a client stopped: {0}")]
    Client(String),
    #[error("answers were still missing {0} s after the interval")]
    Drain(u64),
    #[error("interrupted")]
    Interrupted,
}

/// What a progress line may show while the load runs.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    pub elapsed: Duration,
    pub tps: f64,
}

/// One load-generating thread.
struct Running {
    thread: JoinHandle<Result<Tally, Fatal>>,
    /// Its CPU time when it ended, since an ended thread can no longer be asked.
    cpu_ns_at_end: Arc<AtomicU64>,
}

pub struct Load<'a> {
    timeline: Arc<Timeline>,
    workers: Vec<Running>,
    closers: Vec<Closer>,
    gate: Arc<Gate>,
    options: LoadOptions,
    interrupted: &'a AtomicBool,
}

/// Time a connection may take for each step of its set-up, and SQLite's busy time-out.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(100);

impl<'a> Load<'a> {
    /// Connects all clients and prepares their statements; returns with everyone at the barrier.
    pub fn prepare(
        workload: &Arc<dyn Workload>,
        target: &Target,
        options: LoadOptions,
        interrupted: &'a AtomicBool,
    ) -> Result<Load<'a>, Failure> {
        let timeline = Arc::new(Timeline::default());
        let crews = crews(target.dialect, &options);
        let gate = Arc::new(Gate::default());
        let (ready, readiness) = mpsc::channel();
        let mut workers = Vec::new();
        for crew in crews {
            let cpu_ns_at_end = Arc::new(AtomicU64::new(0));
            let worker = Worker {
                cpu_ns_at_end: Arc::clone(&cpu_ns_at_end),
                workload: Arc::clone(workload),
                target: target.clone(),
                options: options.clone(),
                timeline: Arc::clone(&timeline),
                gate: Arc::clone(&gate),
                crew,
            };
            let ready = ready.clone();
            let spawned = std::thread::Builder::new().name("load".to_owned()).spawn(move || worker.run(&ready));
            let thread = spawned.map_err(|e| Failure::Start(format!("no thread: {e}")))?;
            workers.push(Running { thread, cpu_ns_at_end });
        }
        drop(ready);
        let mut load = Load { timeline, workers, closers: Vec::new(), gate, options, interrupted };
        for _ in 0..load.workers.len() {
            load.closers.extend(next_ready(&readiness, interrupted)?);
        }
        Ok(load)
    }

    /// Starts the clients and lets them run for `warmup` without counting.
    pub fn warm_up(&mut self, warmup: Duration, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        self.gate.open(true);
        self.watch(monotonic_ns() + warmup.as_nanos() as u64, live)
    }

    /// Measures one interval and waits for the last answers. `at_end` is called at the interval's
    /// end, before that wait: whoever watches the same interval stops watching there.
    pub fn measure(
        mut self,
        interval: Duration,
        live: &mut dyn FnMut(Live),
        at_end: &mut dyn FnMut(),
    ) -> Result<Tally, Failure> {
        let cpu_before = self.worker_cpu_ns();
        let start_ns = monotonic_ns();
        let window = Window { start_ns, end_ns: start_ns + interval.as_nanos() as u64 };
        self.timeline.open_window(window);
        self.watch(window.end_ns, live)?;
        let cpu_after = self.worker_cpu_ns();
        at_end();
        self.drain(window.end_ns)?;
        let mut tally = self.join()?;
        tally.drain_ns = monotonic_ns() - window.end_ns;
        tally.interval_ns = interval.as_nanos() as u64;
        tally.clients = self.options.clients;
        tally.ended = self.timeline.ended.load(Ordering::Relaxed);
        tally.seconds.truncate(interval.as_secs_f64().ceil() as usize);
        tally.worker_cpu_ns =
            cpu_after.iter().zip(&cpu_before).map(|(after, before)| after.saturating_sub(*before)).collect();
        let ends = tally.committed + tally.rolled_back + tally.failed + tally.skipped;
        assert_eq!(tally.due, ends, "every transaction that was due has ended in one of four ways");
        Ok(tally)
    }

    /// Waits until `end_ns`, unless a client fails or somebody interrupts.
    fn watch(&mut self, end_ns: u64, live: &mut dyn FnMut(Live)) -> Result<(), Failure> {
        let begin_ns = monotonic_ns();
        // A live rate over the last two seconds: steady enough to read, quick enough to show a stall.
        let mut recent = VecDeque::from([(begin_ns, self.timeline.ended.load(Ordering::Relaxed))]);
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= end_ns {
                return Ok(());
            }
            if self.interrupted.load(Ordering::Relaxed) {
                self.abandon();
                return Err(Failure::Interrupted);
            }
            // Right at the end a worker may have ended in due time, since the clock was read.
            if self.workers.iter().any(|worker| worker.thread.is_finished()) && monotonic_ns() < end_ns {
                return Err(self.first_failure());
            }
            std::thread::sleep(TICK.min(Duration::from_nanos(end_ns - now_ns)));
            let now = (monotonic_ns(), self.timeline.ended.load(Ordering::Relaxed));
            recent.push_back(now);
            if recent.len() > 20 {
                recent.pop_front();
            }
            let tps = (now.1 - recent[0].1) as f64 / ((now.0 - recent[0].0).max(1) as f64 / 1e9);
            live(Live { elapsed: Duration::from_nanos(now.0 - begin_ns), tps });
        }
    }

    fn drain(&mut self, end_ns: u64) -> Result<(), Failure> {
        while !self.workers.iter().all(|worker| worker.thread.is_finished()) {
            if self.interrupted.load(Ordering::Relaxed) {
                self.abandon();
                return Err(Failure::Interrupted);
            }
            if monotonic_ns() > end_ns + self.options.drain_max.as_nanos() as u64 {
                self.abandon();
                return Err(Failure::Drain(self.options.drain_max.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn join(&mut self) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        for worker in self.workers.drain(..) {
            match worker.thread.join() {
                Ok(Ok(part)) => tally.add(&part),
                Ok(Err(fatal)) => return Err(Failure::Client(fatal.to_string())),
                Err(_) => return Err(Failure::Client("a load thread panicked".to_owned())),
            }
        }
        Ok(tally)
    }

    /// A worker ended before its time: ends the others too and tells why.
    fn first_failure(&mut self) -> Failure {
        self.timeline.stop();
        let ended = self.workers.iter().position(|worker| worker.thread.is_finished());
        let worker = self.workers.swap_remove(ended.expect("the caller saw one finished"));
        let cause = match worker.thread.join() {
            Ok(Err(fatal)) => fatal.to_string(),
            Ok(Ok(_)) => "it ended before the interval did".to_owned(),
            Err(_) => "a load thread panicked".to_owned(),
        };
        self.abandon();
        Failure::Client(cause)
    }

    /// Cuts every connection, so that no worker waits for a server any more, and collects them.
    fn abandon(&mut self) {
        self.timeline.stop();
        self.closers.iter().for_each(Closer::close);
        for worker in self.workers.drain(..) {
            // The reason is known already; what the worker says now is that its connection is gone.
            let _ = worker.thread.join();
        }
    }

    /// CPU time of each load thread so far.
    fn worker_cpu_ns(&self) -> Vec<u64> {
        let asked = |worker: &Running| match thread_cpu_ns(worker.thread.as_pthread_t()) {
            Some(cpu_ns) => cpu_ns,
            None => worker.cpu_ns_at_end.load(Ordering::Acquire),
        };
        self.workers.iter().map(asked).collect()
    }
}

impl Drop for Load<'_> {
    /// No thread outlives its load.
    fn drop(&mut self) {
        self.gate.open(false);
        self.abandon();
    }
}

/// The next worker's closers, or why it cannot start.
fn next_ready(
    readiness: &mpsc::Receiver<Result<Vec<Closer>, String>>,
    interrupted: &AtomicBool,
) -> Result<Vec<Closer>, Failure> {
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

/// `None` when the thread has ended.
fn thread_cpu_ns(thread: libc::pthread_t) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: the thread has not been joined, so its handle is valid; the pointer is live.
    (unsafe { libc::pthread_getcpuclockid(thread, &mut clock) } == 0).then(|| cpu_clock_ns(clock)).flatten()
}

fn cpu_clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    let known = unsafe { libc::clock_gettime(clock, &mut time) == 0 };
    known.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Client numbers of each worker. Clients are dealt out in turn, so that all workers get as many.
fn crews(dialect: Dialect, options: &LoadOptions) -> Vec<Vec<u32>> {
    let workers = match dialect {
        Dialect::Sqlite => options.clients,
        Dialect::MySql | Dialect::Postgres => options.workers.clamp(1, options.clients),
    };
    (0..workers).map(|worker| (worker..options.clients).step_by(workers as usize).collect()).collect()
}

/// One load-generating thread before it starts.
struct Worker {
    cpu_ns_at_end: Arc<AtomicU64>,
    workload: Arc<dyn Workload>,
    target: Target,
    options: LoadOptions,
    timeline: Arc<Timeline>,
    gate: Arc<Gate>,
    crew: Vec<u32>,
}

impl Worker {
    fn run(self, ready: &mpsc::Sender<Result<Vec<Closer>, String>>) -> Result<Tally, Fatal> {
        confine_to(&self.options.cpus);
        let recorder =
            Rc::new(RefCell::new(Recorder::new(self.options.interval_max.as_secs_f64().ceil() as usize, false)));
        let seated: Result<Vec<_>, driver::Error> =
            self.crew.iter().map(|client| self.seat(*client, &recorder)).collect();
        let (tasks, closers): (Vec<Task>, Vec<Closer>) = match seated {
            Ok(seated) => seated.into_iter().unzip(),
            Err(error) => {
                let _ = ready.send(Err(error.to_string()));
                return Err(error.into());
            }
        };
        // Nobody listens when the load was given up meanwhile; then the gate says so too.
        let _ = ready.send(Ok(closers));
        if !self.gate.wait() {
            return Err(Fatal::new("the load was given up before it started"));
        }
        let worked = self.work(tasks);
        let cpu_ns = cpu_clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        self.cpu_ns_at_end.store(cpu_ns, Ordering::Release);
        worked?;
        Ok(recorder.take().finish())
    }

    fn seat(&self, client: u32, recorder: &Rc<RefCell<Recorder>>) -> Result<(Task, Closer), driver::Error> {
        let Target { dialect, endpoint, login } = &self.target;
        let mut connection = AnyConnection::connect(*dialect, endpoint, login, CONNECT_TIMEOUT)?;
        let wake_at_ns = Rc::new(Cell::new(u64::MAX));
        let polled = self.crew.len() > 1;
        let clock = if polled { MonotonicClock::woken(Rc::clone(&wake_at_ns)) } else { MonotonicClock::sleeping() };
        let closer = connection.closer()?;
        let descriptor = connection.descriptor().unwrap_or(-1);
        let seat = Seat {
            client,
            clients: self.options.clients,
            input_seed: self.options.input_seed,
            timeline: Arc::clone(&self.timeline),
            recorder: Rc::clone(recorder),
            clock,
            pacer: Pacer::Closed,
        };
        connection.set_polled(polled)?;
        let future = self.workload.client(seat, connection)?;
        Ok((Task { future, descriptor, wake_at_ns }, closer))
    }

    /// A worker with one client simply blocks: an event loop would poll before each read.
    fn work(&self, mut tasks: Vec<Task>) -> Result<(), Fatal> {
        if tasks.len() > 1 {
            return EventLoop::new(tasks, &self.timeline).run();
        }
        let task = tasks.pop().ok_or_else(|| Fatal::new("a worker without clients"))?;
        run_blocking(task)
    }
}

/// Keeps this thread on `cpus`; a kernel that refuses leaves it where it is, and the record of the
/// client's CPUs says what was asked.
fn confine_to(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    // SAFETY: an all-zero cpu_set_t is an empty set, and the calls only touch it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
