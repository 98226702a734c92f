//! The measured loop of one client, and the event loop that carries many of them.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::task::{Context, Poll, Waker};

use crate::clock::{Clock, monotonic_ns};
use crate::pacer::Pacer;
use crate::recorder::{Recorder, Timing};
use crate::timeline::Timeline;
use crate::workload::{Attempt, Client, Fatal, Turn};

/// Runs one client until the measured interval is over.
///
/// This loop is what we time. It allocates nothing, takes no lock and writes to nothing but its
/// worker's own recorder.
pub async fn drive(
    client: &mut impl Client,
    pacer: &mut Pacer,
    clock: &impl Clock,
    timeline: &Timeline,
    recorder: &RefCell<Recorder>,
) -> Result<(), Fatal> {
    for number in 0.. {
        let due_ns = pacer.next_due(clock);
        if timeline.is_over(due_ns) {
            break;
        }
        let start_ns = clock.wait_until(due_ns).await;
        let mut attempt = Attempt::default();
        let outcome = client.transact(Turn { number, timeline }, &mut attempt).await?;
        let end_ns = clock.now_ns();
        recorder.borrow_mut().record(outcome, &attempt, Timing { due_ns, start_ns, end_ns }, timeline.window());
        timeline.ended.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// What all workers wait at until every client is connected and prepared.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    /// Lets everyone through, to work (`true`) or to go home (`false`). Only the first call counts.
    pub fn open(&self, to_work: bool) {
        self.state.lock().expect("nobody panics while holding the gate").get_or_insert(to_work);
        self.changed.notify_all();
    }

    pub fn wait(&self) -> bool {
        let state = self.state.lock().expect("nobody panics while holding the gate");
        let state =
            self.changed.wait_while(state, |state| state.is_none()).expect("nobody panics while holding the gate");
        state.expect("the wait ends when the gate is open")
    }
}

/// One client of a worker.
pub struct Task {
    pub future: Pin<Box<dyn Future<Output = Result<(), Fatal>>>>,
    pub descriptor: RawFd,
    pub wake_at_ns: Rc<Cell<u64>>,
}

/// Runs a client that never waits anywhere but in a system call.
pub fn run_blocking(mut task: Task) -> Result<(), Fatal> {
    match task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => ended,
        Poll::Pending => unreachable!("a blocking connection and a sleeping clock complete at the first poll"),
    }
}

const EVENTS_MAX: usize = 256;

/// Carries its tasks to their end on one thread; the first fatal error stops the rest.
pub struct EventLoop<'a> {
    tasks: Vec<Option<Task>>,
    running: usize,
    timeline: &'a Timeline,
    failed: Option<Fatal>,
}

impl EventLoop<'_> {
    pub fn new(tasks: Vec<Task>, timeline: &Timeline) -> EventLoop<'_> {
        EventLoop { running: tasks.len(), tasks: tasks.into_iter().map(Some).collect(), timeline, failed: None }
    }

    pub fn run(mut self) -> Result<(), Fatal> {
        let epoll = Epoll::new().map_err(|e| Fatal::new(format!("no epoll: {e}")))?;
        for (index, task) in self.tasks.iter().flatten().enumerate() {
            epoll.watch(task.descriptor, index).map_err(|e| Fatal::new(format!("cannot watch a connection: {e}")))?;
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        (0..self.tasks.len()).for_each(|index| self.advance(index));
        // Only an open loop sleeps; its tasks have asked to be woken by the time they were all polled.
        let timed = self.next_wake_ns() != u64::MAX;
        while self.running > 0 {
            let until_ns = if timed { self.next_wake_ns() } else { u64::MAX };
            let ready = epoll.wait(&mut events, until_ns).map_err(|e| Fatal::new(format!("epoll failed: {e}")))?;
            for event in &events[..ready] {
                self.advance(event.u64 as usize);
            }
            if timed {
                self.wake_sleepers();
            }
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn advance(&mut self, index: usize) {
        let Some(task) = &mut self.tasks[index] else { return };
        let Poll::Ready(ended) = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { return };
        self.tasks[index] = None;
        self.running -= 1;
        if let Err(fatal) = ended {
            self.timeline.stop();
            self.failed.get_or_insert(fatal);
        }
    }

    fn next_wake_ns(&self) -> u64 {
        self.tasks.iter().flatten().map(|task| task.wake_at_ns.get()).min().unwrap_or(u64::MAX)
    }

    fn wake_sleepers(&mut self) {
        let now_ns = monotonic_ns();
        for index in 0..self.tasks.len() {
            if self.tasks[index].as_ref().is_some_and(|task| task.wake_at_ns.get() <= now_ns) {
                self.advance(index);
            }
        }
    }
}

struct Epoll(OwnedFd);

impl Epoll {
    fn new() -> io::Result<Epoll> {
        // SAFETY: no pointers are involved; a valid descriptor is owned from here on.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(Epoll(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        }
    }

    /// Edge-triggered: a connection reads until nothing is left, so the kernel need not ask each
    /// socket again whether it is still readable.
    fn watch(&self, descriptor: RawFd, index: usize) -> io::Result<()> {
        let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: index as u64 };
        // SAFETY: both descriptors are open and the event is live during the call.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn wait(&self, events: &mut [libc::epoll_event], until_ns: u64) -> io::Result<usize> {
        let timeout_ms = match until_ns {
            u64::MAX => -1,
            _ => until_ns.saturating_sub(monotonic_ns()).div_ceil(1_000_000).min(60_000) as libc::c_int,
        };
        // SAFETY: pointer and length describe the live slice `events`.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, timeout_ms)
        };
        match count {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(0),
            -1 => Err(io::Error::last_os_error()),
            ready => Ok(ready as usize),
        }
    }
}
