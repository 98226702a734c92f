//! Work that waits for others, such as a registry, in a thread of its own: an interruption ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const POLL: Duration = Duration::from_millis(50);
/// How long a stopped thread may take to leave; it may be waiting for a host.
const FAREWELL: Duration = Duration::from_millis(500);

/// Who waits for work: what it is shown meanwhile, and whether it has enough.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub progress: &'a dyn Fn(&str),
    pub is_interrupted: &'a dyn Fn() -> bool,
}

/// Shared by the threads of one work.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn check(&self) -> Result<()> {
        ensure!(!self.0.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Fails as soon as it is set.
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.check()?;
            std::thread::sleep(POLL.min(end.saturating_duration_since(Instant::now())));
        }
        self.check()
    }
}

/// Does some work, whose lines are passed on. One that is interrupted is left alone where it does not end soon: it
/// writes nothing any more.
pub fn in_background<T: Send + 'static>(
    watch: Watch,
    work: impl FnOnce(&Stop, &Sender<String>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let stop = Stop::default();
    let (lines, printed) = mpsc::channel();
    let worker = std::thread::spawn({
        let stop = stop.clone();
        move || work(&stop, &lines)
    });
    loop {
        match printed.recv_timeout(POLL) {
            Ok(line) => (watch.progress)(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if (watch.is_interrupted)() {
            stop.set();
            let end = Instant::now() + FAREWELL;
            while !worker.is_finished() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            bail!("interrupted");
        }
    }
    worker.join().ok().context("a thread that fetched an image broke down")?
}
