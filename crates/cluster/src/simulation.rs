//! What coordinating many workers takes, measured: for `cargo xtask cluster-sim`.
//!
//! The workers are threads of another process. They make no load; everything that coordinator and workers of a trial
//! send each other is sent: TLS and its proofs, beats, clocks, seconds, and at the end a tally each, which are merged.

mod path;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use experiment::{Cluster, Launcher as Kind};
use latency::Sealed;
use load::{Histogram, Second, Tally, Windows, monotonic_ns};

use crate::agent::{BEAT, boot_line, connect};
use crate::channel::{Channel, Sender};
use crate::fleet::{Fleet, Lost};
use crate::frame::{self, encoded};
use crate::launch::Launcher;
use crate::message::{Boot, Connect, Hello, ToAgent, ToCoordinator};
use crate::process;
pub use path::Path;

const LAUNCH_WITHIN: Duration = Duration::from_secs(60);
const TALLIES_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Before the interval, as in a trial.
const AHEAD: Duration = Duration::from_millis(500);
const WINDOW_NS: u64 = 5_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub workers: u32,
    /// Of each worker.
    pub clients: u32,
    pub seconds: u64,
    /// Of each client.
    pub transactions_per_s: u64,
    /// Between the workers and the coordinator, where it is not loopback itself.
    pub path: Option<Path>,
}

/// What was measured of the coordinator.
#[derive(Debug)]
pub struct Seen {
    pub all_in: Duration,
    /// For the clocks of all workers.
    pub clocks: Duration,
    pub edge_ns_max: u64,
    /// How wrong an offset was, which shows here: all processes of a host have one clock. And how wrong the worst one
    /// may have been by its own bound.
    pub clock_error_ns_max: u64,
    pub beyond_its_bound_ns_max: i64,
    /// CPU seconds of this process a second, while the interval ran.
    pub cores: f64,
    /// From the end of the interval until all tallies are one.
    pub gathered: Duration,
    pub gathering_cpu: Duration,
    /// Bytes of one message, by kind.
    pub beat_bytes: usize,
    pub second_bytes: usize,
    pub tally_bytes: usize,
    pub resident_bytes_max: u64,
    pub transactions: u64,
}

impl Seen {
    /// Bytes a second that come and go while an interval runs, of all workers.
    pub fn bytes_per_s(&self, size: &Size) -> f64 {
        let beats = SECOND_NS as f64 / BEAT.as_nanos() as f64;
        f64::from(size.workers) * (2.0 * beats * self.beat_bytes as f64 + self.second_bytes as f64)
    }
}

/// The coordinator's side; `agents` is the command of the other process, which calls [`serve`].
pub fn coordinate(size: &Size, agents: Command) -> Result<Seen> {
    coordinate_by(size, Box::new(OtherProcess { command: agents, path: size.path, child: None }))
}

fn coordinate_by(size: &Size, launcher: Box<dyn Launcher>) -> Result<Seen> {
    let cluster = Cluster {
        launcher: Kind::Slurm,
        weights: vec![1; size.workers as usize],
        hosts: Vec::new(),
        slurm: Vec::new(),
        ssh: Vec::new(),
        binary: None,
        secret_file: None,
        listen: Some("127.0.0.1:0".to_owned()),
        server_listen: None,
        observe_host: None,
        launch_timeout: LAUNCH_WITHIN,
        lost_after: Duration::from_secs(2),
        keep_raw: false,
    };
    let begun = Instant::now();
    let mut fleet = Fleet::launch_by(launcher, &cluster, "simulation", &AtomicBool::new(false), &|line| {
        println!("{line}");
    })?;
    let all_in = begun.elapsed();
    let begun = Instant::now();
    let (mut edge_ns_max, mut clock_error_ns_max, mut beyond_its_bound_ns_max) = (0, 0, i64::MIN);
    for worker in 0..fleet.workers.len() {
        let offset = fleet.offset(worker, &mut Vec::new()).map_err(|lost| gone(&fleet, &lost))?;
        let error_ns = offset.offset_ns.unsigned_abs();
        edge_ns_max = edge_ns_max.max(offset.edge_ns);
        clock_error_ns_max = clock_error_ns_max.max(error_ns);
        beyond_its_bound_ns_max = beyond_its_bound_ns_max.max(error_ns as i64 - offset.edge_ns as i64);
    }
    let clocks = begun.elapsed();
    let start_ns = monotonic_ns() + AHEAD.as_nanos() as u64;
    let end_ns = start_ns + size.seconds * SECOND_NS;
    for worker in 0..fleet.workers.len() {
        fleet.send(worker, &ToAgent::Open { start_ns, end_ns })?;
    }
    let (since, cpu) = (Instant::now(), own_cpu()?);
    let (mut all, mut tallies) = (Tally::default(), 0);
    let mut interval = None;
    while tallies < fleet.workers.len() {
        ensure!(since.elapsed() < Duration::from_secs(size.seconds) + TALLIES_WITHIN, "not all tallies came");
        let received = fleet.next(POLL).map_err(|lost| gone(&fleet, &lost))?;
        if interval.is_none() && monotonic_ns() >= end_ns {
            let now = own_cpu()?;
            interval = Some((Instant::now(), now, (now - cpu).as_secs_f64() / since.elapsed().as_secs_f64()));
        }
        if let Some(ToCoordinator::Tally { tally, .. }) = received.map(|one| one.message) {
            all.add(&tally);
            tallies += 1;
        }
    }
    let (ended, cpu, cores) = interval.context("tallies came before the end of the interval")?;
    let (gathered, gathering_cpu) = (ended.elapsed(), own_cpu()? - cpu);
    let now_ns = monotonic_ns();
    let resident = procfs::process::Process::myself()?.status()?.vmhwm.unwrap_or_default();
    Ok(Seen {
        all_in,
        clocks,
        edge_ns_max,
        clock_error_ns_max,
        beyond_its_bound_ns_max,
        cores,
        gathered,
        gathering_cpu,
        beat_bytes: encoded(&ToCoordinator::Beat { now_ns })?.len(),
        second_bytes: encoded(&ToCoordinator::Second { tps: 12_345.678 })?.len(),
        tally_bytes: encoded(&ToCoordinator::Tally { tally: Box::new(tally(size)), failure: None })?.len(),
        resident_bytes_max: resident * 1024,
        transactions: all.committed,
    })
}

fn gone(fleet: &Fleet, lost: &Lost) -> anyhow::Error {
    anyhow!("{} {}", fleet.workers[lost.worker].name(), lost.what)
}

/// CPU time of this process.
fn own_cpu() -> Result<Duration> {
    let stat = procfs::process::Process::myself()?.stat()?;
    Ok(Duration::from_secs_f64((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64))
}

struct OtherProcess {
    command: Command,
    path: Option<Path>,
    child: Option<Child>,
}

impl Launcher for OtherProcess {
    fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>> {
        let mut child = self.command.stdin(Stdio::piped()).spawn().context("cannot start the workers")?;
        if let Some(stdin) = &mut child.stdin {
            writeln!(stdin, "{}", serde_json::to_string(&along(boot, self.path)?)?)?;
        }
        self.child = Some(child);
        Ok(Vec::new())
    }

    fn poll(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        Some(format!("the workers ended with {status}"))
    }

    fn said(&self) -> String {
        String::new()
    }

    fn end(&mut self, _: &[Hello]) -> Vec<String> {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        Vec::new()
    }
}

/// The same with an address that leads to the coordinator's by this path.
fn along(boot: &Boot, path: Option<Path>) -> Result<Boot> {
    let mut boot = boot.clone();
    if let (Some(path), Connect::Tls { address, .. }) = (path, &mut boot.connect) {
        *address = path.to(address)?;
    }
    Ok(boot)
}

/// The workers' side: reads the boot line on standard input, and returns when the coordinator is gone.
pub fn serve(size: &Size) -> Result<()> {
    let boot: Boot = serde_json::from_str(&boot_line(&mut std::io::stdin())?).context("no boot line")?;
    let hello = process::hello()?;
    std::thread::scope(|scope| {
        let workers = (0..size.workers).map(|place| {
            let hello = Hello { place: Some(place), ..hello.clone() };
            scope.spawn(|| work(size, &boot, hello))
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a worker panicked"))?)
    })
}

fn work(size: &Size, boot: &Boot, hello: Hello) -> Result<()> {
    let (channel, proof) = connect(&boot.connect)?;
    let (sender, mut from) = (Sender::new(channel.to), channel.from);
    sender.send(&ToCoordinator::Hello(Box::new(Hello { proof, ..hello })))?;
    let interval: Arc<Mutex<Option<(u64, u64)>>> = Arc::default();
    let is_over = Arc::new(AtomicBool::new(false));
    let (sending, opened, over) = (sender.clone(), Arc::clone(&interval), Arc::clone(&is_over));
    let size = *size;
    let beats = std::thread::spawn(move || beat(&size, &sending, &opened, &over));
    while let Ok(message) = frame::read::<ToAgent>(&mut from, frame::BYTES_MAX) {
        match message {
            ToAgent::Time { number } => sender.send(&ToCoordinator::Time { number, now_ns: monotonic_ns() })?,
            ToAgent::Open { start_ns, end_ns } => {
                *interval.lock().unwrap_or_else(PoisonError::into_inner) = Some((start_ns, end_ns));
            }
            _ => {}
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let _ = beats.join();
    Ok(())
}

/// Beats, seconds within the interval, and the tally behind it.
fn beat(size: &Size, sender: &Sender, interval: &Mutex<Option<(u64, u64)>>, is_over: &AtomicBool) {
    let mut last_ns = 0;
    while !is_over.load(Ordering::Relaxed) {
        let now_ns = monotonic_ns();
        let _ = sender.send(&ToCoordinator::Beat { now_ns });
        let mut open = interval.lock().unwrap_or_else(PoisonError::into_inner);
        match *open {
            Some((start_ns, end_ns)) if (start_ns..end_ns).contains(&now_ns) && now_ns - last_ns >= SECOND_NS => {
                last_ns = now_ns;
                let _ = sender.send(&ToCoordinator::Second { tps: size.transactions_per_s as f64 });
            }
            Some((_, end_ns)) if now_ns >= end_ns => {
                *open = None;
                let _ = sender.send(&ToCoordinator::Tally { tally: Box::new(tally(size)), failure: None });
            }
            _ => {}
        }
        drop(open);
        std::thread::sleep(BEAT);
    }
}

/// What a worker with such a load has counted.
fn tally(size: &Size) -> Tally {
    static DRAWN: AtomicU64 = AtomicU64::new(1);
    let mut state = DRAWN.fetch_add(1, Ordering::Relaxed);
    // Of three decades, most of them short.
    let mut response_ns = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
        (200_000.0 * (1.0 + 999.0 * unit.powi(8))) as u64
    };
    let count = u64::from(size.clients) * size.seconds * size.transactions_per_s;
    let windows = (size.seconds * SECOND_NS).div_ceil(WINDOW_NS);
    let mut all = Histogram::default();
    let mut sealed = Vec::new();
    for _ in 0..windows {
        let mut window = Histogram::default();
        (0..count / windows).for_each(|_| window.record(response_ns()));
        all.add(&window);
        sealed.push(Sealed::of(&window));
    }
    let count = all.count();
    let each = Second { committed: count / size.seconds, latency_ns_max: 200_000_000, ..Second::default() };
    Tally {
        due: count,
        committed: count,
        clients: size.clients,
        response: all,
        windows: Windows::new(WINDOW_NS, size.seconds * SECOND_NS, sealed, 0),
        seconds: vec![each; size.seconds as usize],
        interval_ns: size.seconds * SECOND_NS,
        by_client: vec![(count / u64::from(size.clients.max(1)), 17_000_000_000); size.clients as usize],
        worker_cpu_ns: vec![10_000_000_000; 2],
        ..Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_tally_adds_up_and_its_traffic_is_that_of_beats_and_seconds() {
        let size = Size { workers: 3, clients: 4, seconds: 20, transactions_per_s: 5, path: None };
        let tally = tally(&size);
        assert_eq!((tally.due, tally.committed, tally.by_client.len(), tally.seconds.len()), (400, 400, 4, 20));
        assert!(!tally.windows.is_empty());
        let seen = Seen {
            all_in: Duration::ZERO,
            clocks: Duration::ZERO,
            edge_ns_max: 0,
            clock_error_ns_max: 0,
            beyond_its_bound_ns_max: 0,
            cores: 0.0,
            gathered: Duration::ZERO,
            gathering_cpu: Duration::ZERO,
            beat_bytes: 10,
            second_bytes: 20,
            tally_bytes: 0,
            resident_bytes_max: 0,
            transactions: 0,
        };
        assert_eq!(seen.bytes_per_s(&size), 3.0 * (2.0 * 4.0 * 10.0 + 20.0));
    }

    /// Workers in threads of this process.
    struct Threads(Size);

    impl Launcher for Threads {
        fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>> {
            let (size, boot) = (self.0, along(boot, self.0.path)?);
            for place in 0..size.workers {
                let (boot, hello) = (boot.clone(), Hello { place: Some(place), ..process::hello()? });
                std::thread::spawn(move || work(&size, &boot, hello));
            }
            Ok(Vec::new())
        }

        fn poll(&mut self) -> Option<String> {
            None
        }

        fn said(&self) -> String {
            String::new()
        }

        fn end(&mut self, _: &[Hello]) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn along_a_path_that_is_slow_one_way_a_clock_is_wrong_by_half_of_it_and_says_so() {
        let path = Path { there: Duration::from_millis(20), ..Path::default() };
        let size = Size { workers: 2, clients: 4, seconds: 1, transactions_per_s: 5, path: Some(path) };
        let seen = coordinate_by(&size, Box::new(Threads(size))).unwrap();
        assert!(seen.clock_error_ns_max >= 10_000_000, "{seen:?}");
        assert!(seen.beyond_its_bound_ns_max <= 0, "{seen:?}");
        assert_eq!(seen.transactions, 40);
    }
}
