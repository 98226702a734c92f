//! The measured loop against a server that exists only in the test: on a virtual clock, and under
//! an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use load::{
    Attempt, Client, Clock, Fatal, MonotonicClock, Outcome, Pacer, Recorder, Rng, Timeline, Turn, Window, drive,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter is a thread's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn complete<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Time that passes only when somebody waits or works.
#[derive(Clone, Default)]
struct VirtualClock(Rc<Cell<u64>>);

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    async fn wait_until(&self, due_ns: u64) -> u64 {
        self.0.set(self.0.get().max(due_ns));
        self.0.get()
    }
}

/// Answers in a millisecond, except during one stall of a second.
struct Server {
    clock: VirtualClock,
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const STALL_FROM: u64 = 5 * SECOND;

impl Client for Server {
    async fn transact(&mut self, _: Turn<'_>, attempt: &mut Attempt) -> Result<Outcome, Fatal> {
        let now = self.clock.0.get();
        let stalled = (STALL_FROM..STALL_FROM + 10 * MILLISECOND).contains(&now);
        self.clock.0.set(now + if stalled { SECOND } else { MILLISECOND });
        attempt.reads += 1;
        Ok(Outcome::Committed)
    }
}

fn run(pacer: &mut Pacer) -> load::Tally {
    let clock = VirtualClock::default();
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns: 10 * SECOND });
    let recorder = RefCell::new(Recorder::new(10, true));
    let mut server = Server { clock: clock.clone() };
    complete(drive(&mut server, pacer, &clock, &timeline, &recorder)).unwrap();
    recorder.into_inner().finish()
}

#[test]
fn a_stall_shows_in_response_times_although_few_service_times_saw_it() {
    let tally = run(&mut Pacer::open(200.0, 0, Rng::stream(1, 0, 0)));
    let slow_service = 1.0 - 1.0 / tally.service.count() as f64;
    assert!(tally.service.quantile_ms(0.99) < 2.0, "one transaction in {} was served slowly", tally.service.count());
    assert!(tally.service.quantile_ms(slow_service + 1e-9) > 900.0, "the stall itself is recorded");
    assert!(tally.response.quantile_ms(0.99) > 500.0, "those that were due during the stall waited for it");
}

#[test]
fn a_closed_loop_hides_what_the_stall_did_to_waiting_users() {
    let tally = run(&mut Pacer::Closed);
    assert!(tally.response.quantile_ms(0.99) < 2.0);
    assert_eq!(tally.due, tally.committed);
    assert_eq!(tally.reads, tally.due);
}

#[test]
fn poisson_arrivals_come_at_the_rate_asked_for() {
    let due = run(&mut Pacer::open(200.0, 0, Rng::stream(3, 0, 0))).due as f64;
    let (expected, deviation) = (2000.0, 2000.0_f64.sqrt());
    assert!((due - expected).abs() < 4.0 * deviation, "{due} arrivals in 10 s at 200 per second");
}

/// Ends the interval by itself after a number of transactions.
struct Idle<'a> {
    timeline: &'a Timeline,
    left: u64,
}

impl Client for Idle<'_> {
    async fn transact(&mut self, _: Turn<'_>, attempt: &mut Attempt) -> Result<Outcome, Fatal> {
        attempt.writes += 1;
        self.left -= 1;
        if self.left == 0 {
            self.timeline.stop();
        }
        Ok(Outcome::Committed)
    }
}

#[test]
fn the_measured_loop_allocates_nothing() {
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
    let recorder = RefCell::new(Recorder::new(10, true));
    let clock = MonotonicClock::sleeping();
    let mut client = Idle { timeline: &timeline, left: 100_000 };
    let before = ALLOCATIONS.with(Cell::get);
    complete(drive(&mut client, &mut Pacer::Closed, &clock, &timeline, &recorder)).unwrap();
    let allocated = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!(recorder.borrow().tally.committed, 100_000);
    assert_eq!(allocated, 0, "allocations in 100,000 transactions");
}
