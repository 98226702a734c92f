//! The measured loop against a server that exists only in the test: on a virtual clock, and under
//! an allocator that counts.

#[path = "../../driver/tests/counting/mod.rs"]
mod counting;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use counting::allocations;
use driver::{Answer, Code, Connection, Dialect, Error, Rows, Statement, Value};
use load::{
    Arrivals, Attempt, Backlog, Client, Clock, Collector, ErrorPolicy, Exchange, Ignored, Interarrival, MonotonicClock,
    Outcome, Pacer, Rate, Recorder, Slot, Tally, Timeline, Turn, Window, drive, read_windows,
};

fn complete<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Time that passes only in waits and in work.
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

/// A connection that can do nothing but be opened again.
#[derive(Default)]
struct Line {
    reconnected: u32,
    /// Nobody is there any more.
    refuses: bool,
}

impl Connection for Line {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        unreachable!("the clients here prepare nothing")
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        unreachable!("the clients here execute nothing")
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        self.execute(statement, values).await
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        unreachable!("the clients here ask nothing")
    }

    /// Succeeds at every second try.
    fn reconnect(&mut self, _: std::time::Duration) -> Result<(), Error> {
        self.reconnected += 1;
        if self.reconnected.is_multiple_of(2) && !self.refuses { Ok(()) } else { Err(Error::lost("not yet")) }
    }
}

/// A server that answers each transaction after some time with what the test has in mind.
struct Server<F> {
    clock: VirtualClock,
    answer: F,
    line: Line,
    seen: Vec<Turn>,
    rolled_back: u64,
}

impl<F: FnMut(u64, Turn, &mut Attempt) -> (u64, Result<Outcome, Error>)> Client for Server<F> {
    type Connection = Line;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        self.seen.push(turn);
        let now_ns = self.clock.0.get();
        let (took_ns, answer) = (self.answer)(now_ns, turn, attempt);
        self.clock.0.set(now_ns + took_ns);
        attempt.reads += 1;
        answer
    }

    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        self.rolled_back += 1;
        Ok(())
    }

    fn journal(&self) -> &[u32] {
        &[7, 0]
    }

    fn connection(&mut self) -> &mut Line {
        &mut self.line
    }
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const STALL_FROM: u64 = 5 * SECOND;

/// Answers in a millisecond, except during one stall of a second.
fn stalling(now_ns: u64, _: Turn, _: &mut Attempt) -> (u64, Result<Outcome, Error>) {
    let stalled = (STALL_FROM..STALL_FROM + 10 * MILLISECOND).contains(&now_ns);
    (if stalled { SECOND } else { MILLISECOND }, Ok(Outcome::Committed))
}

fn slot<K>(clock: K, pacer: Pacer, policy: ErrorPolicy, end_ns: u64) -> Slot<K> {
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns });
    let recorder = Recorder::new(10, matches!(pacer, Pacer::Open(_)));
    Slot { pacer, policy: policy.into(), ..Slot::alone(clock, timeline, recorder) }
}

type Life<F> = (Tally, Server<F>, Result<(), load::Fatal>);

/// Ten seconds of one client.
fn live<F>(pacer: Pacer, policy: ErrorPolicy, answer: F) -> Life<F>
where
    F: FnMut(u64, Turn, &mut Attempt) -> (u64, Result<Outcome, Error>),
{
    let clock = VirtualClock::default();
    let mut slot = slot(clock.clone(), pacer, policy, 10 * SECOND);
    let mut server = Server { clock, answer, line: Line::default(), seen: Vec::new(), rolled_back: 0 };
    let ended = complete(drive(&mut server, &mut slot));
    (slot.recorder.take().finish(), server, ended)
}

fn run(pacer: Pacer) -> Tally {
    let (tally, _, ended) = live(pacer, ErrorPolicy::default(), stalling);
    ended.unwrap();
    tally
}

fn open(per_sec: f64, seed: u64, queue_max: u64) -> Pacer {
    open_from(0, per_sec, seed, queue_max)
}

fn open_from(start_ns: u64, per_sec: f64, seed: u64, queue_max: u64) -> Pacer {
    let arrivals = Arrivals::new(Rate { per_sec, gaps: Interarrival::Poisson, queue_max }, seed);
    arrivals.start(start_ns);
    Pacer::Open(arrivals.into())
}

#[test]
fn a_stall_shows_in_response_times_although_few_service_times_saw_it() {
    let tally = run(open(200.0, 1, 10_000));
    let slow_service = 1.0 - 1.0 / tally.service.count() as f64;
    assert!(tally.service.quantile_ms(0.99) < 2.0, "one transaction in {} was served slowly", tally.service.count());
    assert!(tally.service.quantile_ms(slow_service + 1e-9) > 900.0, "the stall itself is recorded");
    assert!(tally.response.quantile_ms(0.99) > 500.0, "those that were due during the stall waited for it");
}

#[test]
fn a_closed_loop_hides_what_the_stall_did_to_waiting_users() {
    let tally = run(Pacer::Closed);
    assert!(tally.response.quantile_ms(0.99) < 2.0);
    assert_eq!(tally.due, tally.committed);
    assert_eq!(tally.reads, tally.due);
}

#[test]
fn a_stall_shows_in_its_own_window_and_the_windows_are_the_whole() {
    let exchange = std::sync::Arc::new(Exchange::new(std::time::Duration::from_secs(2), 1));
    let mut collector = Collector::new(&exchange);
    let clock = VirtualClock::default();
    let mut slot = slot(clock.clone(), Pacer::Closed, ErrorPolicy::default(), 10 * SECOND);
    slot.recorder = Rc::new(RefCell::new(slot.recorder.take().in_windows(exchange)));
    let collecting = |now_ns: u64, turn: Turn, attempt: &mut Attempt| {
        collector.collect();
        stalling(now_ns, turn, attempt)
    };
    let mut server = Server { clock, answer: collecting, line: Line::default(), seen: Vec::new(), rolled_back: 0 };
    complete(drive(&mut server, &mut slot)).unwrap();
    let tally = slot.recorder.take().finish();
    assert_eq!(tally.response.count(), 0, "everything was handed over");
    drop(server);
    let (total, windows) = collector.finish(10 * SECOND);
    let recorded: Vec<_> = read_windows(&windows.log()).collect::<Option<_>>().unwrap();
    let whole = run(Pacer::Closed).response;
    assert_eq!((total.count(), total.sum_ms(), total.max_ms()), (whole.count(), whole.sum_ms(), whole.max_ms()));
    assert!([0.5, 0.99, 0.9999].iter().all(|quantile| total.quantile_ms(*quantile) == whole.quantile_ms(*quantile)));
    let slow: Vec<bool> = recorded.iter().map(|window| window.latencies.max_ms() > 900.0).collect();
    assert_eq!(slow, [false, false, false, true, false], "from 5 s to 6 s: it ended as the fourth window began");
    assert_eq!(recorded.iter().map(|window| window.latencies.count()).sum::<u64>(), tally.due);
}

#[test]
fn poisson_arrivals_come_at_the_rate_asked_for() {
    let due = run(open(200.0, 3, 10_000)).due as f64;
    let (expected, deviation) = (2000.0, 2000.0_f64.sqrt());
    assert!((due - expected).abs() < 4.0 * deviation, "{due} arrivals in 10 s at 200 per second");
}

#[test]
fn an_overload_ends_on_time_with_every_arrival_counted() {
    // Five times what one client can do in a millisecond each, and a queue of a hundred.
    let pacer = open(5000.0, 1, 100);
    let Pacer::Open(arrivals) = pacer.clone() else { unreachable!() };
    let refill = move |_: u64, _: Turn, _: &mut Attempt| {
        arrivals.schedule();
        (MILLISECOND, Ok(Outcome::Committed))
    };
    let (mut tally, server, ended) = live(pacer.clone(), ErrorPolicy::default(), refill);
    ended.unwrap();
    let Pacer::Open(arrivals) = pacer else { unreachable!() };
    tally.leave_waiting(arrivals.left_over(0, 10 * SECOND), 10 * SECOND);
    assert_eq!(tally.unanswered.count(), tally.skipped, "each has waited for some time");
    assert!(server.clock.now_ns() < 10 * SECOND + 2 * MILLISECOND);
    assert!((tally.due as f64 - 50_000.0).abs() < 4.0 * 50_000.0_f64.sqrt(), "{} were due", tally.due);
    assert_eq!(tally.committed + tally.skipped, tally.due);
    assert!((9_900..=10_000).contains(&tally.committed), "{} were run", tally.committed);
    assert!(tally.left_waiting <= 110, "{} were left", tally.left_waiting);
    let waited_ms = tally.response.quantile_ms(0.99);
    assert!(waited_ms < 30.0, "a queue of 100 at 5000 per second is 20 ms long, and p99 was {waited_ms} ms");
}

const DEADLOCK: fn() -> Error = || Error::Retryable { code: Code::number(1213) };

#[test]
fn a_retry_runs_the_same_transaction_again_and_its_time_is_kept_apart() {
    let every_third = |_: u64, turn: Turn, _: &mut Attempt| match (turn.number % 3, turn.retry) {
        (0, 0) => (2 * MILLISECOND, Err(DEADLOCK())),
        _ => (MILLISECOND, Ok(Outcome::Committed)),
    };
    let (tally, server, ended) = live(Pacer::Closed, ErrorPolicy::default(), every_third);
    ended.unwrap();
    assert_eq!(server.seen[0].number, server.seen[1].number);
    assert_eq!((server.seen[0].retry, server.seen[1].retry), (0, 1));
    assert_eq!(tally.retries, server.rolled_back);
    assert_eq!(tally.retried, tally.retries);
    assert_eq!(tally.retry_ns, tally.retried * MILLISECOND, "one more try of a millisecond each");
    assert_eq!(tally.errors.iter().collect::<Vec<_>>(), [("1213".to_owned(), tally.retries)]);
}

#[test]
fn retries_end_when_the_time_does() {
    let never = |_: u64, _: Turn, _: &mut Attempt| (MILLISECOND, Err(DEADLOCK()));
    let (tally, server, ended) = live(Pacer::Closed, ErrorPolicy::default(), never);
    ended.unwrap();
    assert_eq!((tally.due, tally.failed), (1, 1));
    // The last refused try has no other behind it.
    assert_eq!((tally.retries, tally.retried), (server.rolled_back - 1, 1));
    assert_eq!(server.clock.now_ns(), 10 * SECOND);
}

#[test]
fn a_transaction_that_the_end_finds_between_two_tries_is_tried_again_and_commits() {
    let late = |now_ns: u64, _: Turn, _: &mut Attempt| match now_ns {
        0..10_000_000_000 => (3 * MILLISECOND, Err(DEADLOCK())),
        _ => (MILLISECOND, Ok(Outcome::Committed)),
    };
    for (behind_the_end, expected) in [(Duration::from_secs(1), (1, 0)), (Duration::ZERO, (0, 1))] {
        let clock = VirtualClock::default();
        let mut slot = slot(clock.clone(), Pacer::Closed, ErrorPolicy::default(), 10 * SECOND);
        slot.timeline.allow_retries(behind_the_end);
        let mut server = Server { clock, answer: late, line: Line::default(), seen: Vec::new(), rolled_back: 0 };
        complete(drive(&mut server, &mut slot)).unwrap();
        let tally = slot.recorder.take().finish();
        assert_eq!((tally.committed, tally.failed), expected, "{behind_the_end:?} for retries");
    }
}

/// Three that clients queued before the interval ended, and what the background slot made of them.
fn deferred(stopped: bool) -> (Tally, Vec<Turn>, std::sync::Arc<Backlog>) {
    let backlog = std::sync::Arc::new(Backlog::default());
    let giver = backlog.giver();
    for number in [5, 6, 7] {
        assert!(giver.put(Turn { series: 3, number, retry: 0 }));
    }
    drop(giver);
    let clock = VirtualClock(Rc::new(Cell::new(load::MonotonicClock::sleeping().now_ns())));
    let end_ns = clock.now_ns();
    let pacer = Pacer::Deferred(std::sync::Arc::clone(&backlog));
    let mut slot = slot(clock.clone(), pacer, ErrorPolicy::default(), end_ns);
    slot.recorder = Rc::new(RefCell::new(Recorder::new(0, false).with_kinds(1, 0).with_journal(2, 2)));
    if stopped {
        slot.timeline.stop();
    }
    let first_refused = |_, turn: Turn, _: &mut Attempt| {
        let refused = turn.number == 6 && turn.retry == 0;
        (SECOND, if refused { Err(DEADLOCK()) } else { Ok(Outcome::Committed) })
    };
    let mut server = Server { clock, answer: first_refused, line: Line::default(), seen: Vec::new(), rolled_back: 0 };
    complete(drive(&mut server, &mut slot)).unwrap();
    (slot.recorder.take().finish(), server.seen, backlog)
}

#[test]
fn what_was_deferred_is_run_after_the_end_and_counted_by_its_kind_alone() {
    let (tally, seen, _) = deferred(false);
    let turns: Vec<(u64, u64, u64)> = seen.iter().map(|turn| (turn.series, turn.number, turn.retry)).collect();
    assert_eq!(turns, [(3, 5, 0), (3, 6, 0), (3, 6, 1), (3, 7, 0)]);
    assert_eq!((tally.due, tally.committed, tally.retries, tally.response.count()), (0, 0, 0, 0));
    let kind = &tally.kinds[0];
    assert_eq!((kind.committed, kind.retries, kind.response.count()), (3, 1, 3));
    assert!((4000.0..4100.0).contains(&kind.response.max_ms()), "from queued to answered");
    assert_eq!(tally.reads, 4, "its statements are the load's");
    let written: Vec<(i64, &[u32])> =
        tally.journal.lines().map(|line| ((line.ended_ns - line.queued_ns) / SECOND as i64, line.numbers)).collect();
    assert_eq!((written, tally.journal.lost), (vec![(1, &[7, 0][..]), (3, &[7, 0])], 1), "room for two lines of three");
}

#[test]
fn a_load_that_is_stopped_leaves_the_queue_alone() {
    let (_, seen, backlog) = deferred(true);
    assert!(seen.is_empty());
    assert_eq!(backlog.left_over(Window { start_ns: 0, end_ns: u64::MAX }), 3);
}

#[test]
fn a_lost_connection_is_opened_again_and_the_transaction_runs_there() {
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let lost_once = |_: u64, turn: Turn, _: &mut Attempt| match (turn.number, turn.retry) {
        (7, 0) => (MILLISECOND, Err(Error::lost("killed"))),
        _ => (MILLISECOND, Ok(Outcome::Committed)),
    };
    let (tally, server, ended) = live(Pacer::Closed, policy, lost_once);
    ended.unwrap();
    assert_eq!((tally.reconnects, tally.failed, server.line.reconnected), (1, 0, 2));
    assert_eq!(tally.committed, tally.due);
    assert_eq!(tally.errors.total(), 1);
}

/// A client that finds no connection any more from its seventh millisecond on; how many then had lost the
/// server, and how many only a connection.
fn cut_off_and_unanswered(interval_ns: u64) -> (u32, u32) {
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let clock = VirtualClock::default();
    let mut slot = slot(clock.clone(), Pacer::Closed, policy, interval_ns);
    let dies = |_: u64, turn: Turn, _: &mut Attempt| match turn.number {
        0..7 => (MILLISECOND, Ok(Outcome::Committed)),
        _ => (MILLISECOND, Err(Error::lost("killed"))),
    };
    let line = Line { refuses: true, ..Line::default() };
    let mut server = Server { clock, answer: dies, line, seen: Vec::new(), rolled_back: 0 };
    complete(drive(&mut server, &mut slot)).unwrap();
    let tally = slot.recorder.take().finish();
    assert_eq!((tally.committed, tally.failed, tally.reconnects), (7, 1, 0));
    let counted = |count: &std::sync::atomic::AtomicU32| count.load(std::sync::atomic::Ordering::Relaxed);
    (counted(&slot.timeline.cut_off), counted(&slot.timeline.unanswered))
}

#[test]
fn a_client_that_finds_no_connection_any_more_ends_with_its_time_and_is_counted() {
    assert_eq!(cut_off_and_unanswered(10 * SECOND), (1, 0));
}

#[test]
fn a_client_whose_time_is_over_before_it_could_connect_again_has_not_lost_the_server() {
    assert_eq!(cut_off_and_unanswered(8 * MILLISECOND), (0, 1));
    assert_eq!(cut_off_and_unanswered(SECOND / 2), (0, 1));
}

#[test]
fn a_transaction_whose_commit_went_unanswered_is_not_sent_again() {
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let lost_at_commit = |_: u64, turn: Turn, attempt: &mut Attempt| {
        attempt.committing = turn.number == 7;
        let answer = if turn.number == 7 { Err(Error::lost("killed")) } else { Ok(Outcome::Committed) };
        (MILLISECOND, answer)
    };
    let (tally, server, ended) = live(Pacer::Closed, policy, lost_at_commit);
    ended.unwrap();
    assert_eq!(server.seen.iter().filter(|turn| turn.number == 7).count(), 1);
    assert_eq!((tally.failed, tally.unknown, tally.reconnects), (1, 1, 1));
}

#[test]
fn a_statement_that_was_refused_as_it_would_have_committed_is_not_unknown() {
    let refused_at_commit = |_: u64, turn: Turn, attempt: &mut Attempt| {
        attempt.committing = turn.number == 7;
        let no = Error::Refused { code: Code::number(1114), message: "the table is full".to_owned() };
        (MILLISECOND, if turn.number == 7 { Err(no) } else { Ok(Outcome::Committed) })
    };
    let (tally, _, ended) = live(Pacer::Closed, ErrorPolicy::default(), refused_at_commit);
    assert!(ended.is_err(), "an error that is not ignored ends the client");
    assert_eq!((tally.failed, tally.unknown), (1, 0));
}

#[test]
fn what_is_not_ignored_ends_the_client_and_leaves_its_counts() {
    let policy = ErrorPolicy { ignored: Ignored::Codes(vec![Code::number(1020)]), ..ErrorPolicy::default() };
    let deadlock = |_: u64, turn: Turn, _: &mut Attempt| {
        (MILLISECOND, if turn.number == 100 { Err(DEADLOCK()) } else { Ok(Outcome::Committed) })
    };
    let (tally, _, ended) = live(Pacer::Closed, policy, deadlock);
    assert!(ended.unwrap_err().to_string().contains("1213"));
    assert_eq!((tally.committed, tally.failed, tally.due), (100, 1, 101));
}

/// Ends the interval by itself after a number of transactions.
struct Idle {
    timeline: std::sync::Arc<Timeline>,
    left: u64,
    line: Line,
}

impl Client for Idle {
    type Connection = Line;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        attempt.writes += 1;
        self.left -= 1;
        if self.left == 0 {
            self.timeline.stop();
        }
        if self.left % 10 == 5 && turn.retry == 0 { Err(DEADLOCK()) } else { Ok(Outcome::Committed) }
    }

    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        Ok(())
    }

    fn connection(&mut self) -> &mut Line {
        &mut self.line
    }
}

fn allocations_of(pacer: Pacer) -> u64 {
    let mut slot = slot(MonotonicClock::sleeping(), pacer, ErrorPolicy::default(), u64::MAX);
    let board = std::sync::Arc::new(load::Board::new(1, 1));
    // So short that windows end all the time, and more of them than there are empty histograms.
    let exchange = std::sync::Arc::new(Exchange::new(std::time::Duration::from_millis(1), 50));
    let recorder = slot.recorder.take().on_board(board, 0).in_windows(exchange.clone());
    slot.recorder = Rc::new(RefCell::new(recorder));
    let mut client = Idle { timeline: slot.timeline.clone(), left: 100_000, line: Line::default() };
    let before = allocations();
    complete(drive(&mut client, &mut slot)).unwrap();
    let allocated = allocations() - before;
    assert!(slot.recorder.borrow().tally.committed > 80_000);
    assert!(slot.recorder.borrow().tally.retries > 5_000);
    drop(slot.recorder.take().finish());
    let total = Collector::new(&exchange).finish(SECOND).0;
    assert!(total.count() > 80_000, "handed over by windows");
    allocated
}

#[test]
fn a_line_of_the_deferred_log_allocates_nothing_whether_there_is_room_or_not() {
    let mut recorder = Recorder::new(1, false).with_journal(12, 1_000);
    let timing = load::Timing { due_ns: 1, start_ns: 2, end_ns: 3 };
    let before = allocations();
    (0..1_500).for_each(|_| recorder.tally.journal.write(timing, &[1; 12]));
    assert_eq!(allocations() - before, 0);
    assert_eq!((recorder.tally.journal.len(), recorder.tally.journal.lost), (1_000, 500));
}

#[test]
fn the_measured_loop_allocates_nothing() {
    assert_eq!(allocations_of(Pacer::Closed), 0, "allocations in 100,000 transactions");
    // Real time began when the machine did: a million arrivals that had waited since then would sum up to no number.
    let open = open_from(load::monotonic_ns(), 1e6, 1, 200_000);
    assert_eq!(allocations_of(open), 0, "allocations in 100,000 transactions of an open loop");
}

/// Answers at once, with what changes one row.
struct Null {
    statements: usize,
}

impl Connection for Null {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        self.statements += 1;
        Ok(Statement::numbered(self.statements))
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        Ok(Answer { affected: 1, ..Answer::default() })
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        self.execute(statement, values).await
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        Ok(Answer { affected: 1, ..Answer::default() })
    }
}

#[test]
fn no_script_allocates_while_it_runs() {
    let text = |key: &str, word: &str| (key.to_owned(), load::OptionValue::Text(word.to_owned()));
    let check = |name: &str, options: Vec<(String, load::OptionValue)>| {
        let shown = format!("{name} {options:?}");
        let given = options.into_iter().collect();
        let mut client = workloads::client_on(name, &given, Null { statements: 0 }).unwrap();
        let before = allocations();
        for number in 0..200 {
            let turn = Turn { series: 0, number, retry: number % 2 };
            complete(client.attempt(turn, &mut Attempt::default())).unwrap();
        }
        assert_eq!(allocations() - before, 0, "allocations in 200 transactions of {shown}");
    };
    let scripts = [
        "oltp_read_write",
        "oltp_point_select",
        "oltp_delete",
        "oltp_insert",
        "select_random_points",
        "select_random_ranges",
    ];
    for name in scripts {
        for rand_type in ["uniform", "gaussian", "special", "pareto", "zipfian"] {
            check(name, vec![text("rand_type", rand_type), text("compat", "sysbench-1.0")]);
        }
        check(name, vec![text("db_ps_mode", "disable")]);
    }
    check("oltp", vec![text("db_ps_mode", "disable")]);
    for kind in ["select", "update_key", "update_nokey", "insert", "delete"] {
        check("oltp", vec![text("mode", "nontrx"), text("nontrx_mode", kind)]);
    }
}

/// Rows are read there, so they have to find room; what the first transactions made is enough for the rest.
#[test]
fn no_form_of_tpcc_allocates_while_it_runs() {
    let text = |key: &str, word: &str| (key.to_owned(), load::OptionValue::Text(word.to_owned()));
    for form in ["rows", "batch"] {
        for dialect in [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite] {
            let given = [text("form", form), text("delivery", "per-district"), text("pacing", "spec")].into();
            let engine = workloads::tpcc::NullEngine::new(dialect);
            let mut client = workloads::tpcc::client_on(&given, engine).unwrap();
            let mut run = |numbers: std::ops::Range<u64>| {
                for number in numbers {
                    let turn = Turn { series: 0, number, retry: number % 2 };
                    client.pause_ns(turn);
                    complete(client.attempt(turn, &mut Attempt::default())).unwrap();
                }
            };
            run(0..200);
            let before = allocations();
            run(200..1_000);
            assert_eq!(allocations() - before, 0, "allocations of {form} on {dialect:?}");
        }
    }
}

#[test]
fn a_client_decides_how_long_it_waits_for_another_try_and_when_it_gives_up() {
    /// Two waits of a second, and then no other try.
    struct Patient<F>(Server<F>);

    impl<F: FnMut(u64, Turn, &mut Attempt) -> (u64, Result<Outcome, Error>)> Client for Patient<F> {
        type Connection = Line;

        async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
            self.0.attempt(turn, attempt).await
        }

        async fn roll_back(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
            self.0.roll_back(attempt).await
        }

        fn retry_pause_ns(&mut self, turn: Turn) -> Option<u64> {
            (turn.retry < 3).then_some(SECOND)
        }

        fn connection(&mut self) -> &mut Line {
            self.0.connection()
        }
    }

    let clock = VirtualClock::default();
    let mut slot = slot(clock.clone(), Pacer::Closed, ErrorPolicy::default(), 8 * SECOND);
    let never = |_: u64, _: Turn, _: &mut Attempt| (500 * MILLISECOND, Err(DEADLOCK()));
    let server = Server { clock, answer: never, line: Line::default(), seen: Vec::new(), rolled_back: 0 };
    let mut client = Patient(server);
    complete(drive(&mut client, &mut slot)).unwrap();
    let tally = slot.recorder.take().finish();
    // Three tries of half a second and two waits of a second each; the third transaction runs out of time.
    let tries: Vec<_> = client.0.seen.iter().map(|turn| (turn.number, turn.retry)).collect();
    assert_eq!(tries[..6], [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    assert_eq!((tally.failed, tally.due, tally.committed), (3, 3, 0));
    assert_eq!(tries.len(), 7, "a wait that ends behind the interval is no try: {tries:?}");
}
