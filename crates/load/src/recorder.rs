//! What one worker counts while the clock runs, and the sum of it afterwards.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use driver::{Code, Traffic, thread_traffic};
use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::board::Board;
use crate::deferred_log::DeferredLog;
use crate::single_pass::ProgramTally;
use crate::stall::Commits;
use crate::timeline::Window;
use crate::transaction::{Attempt, Outcome, Timing};
use crate::transaction_log::{LogWriter, LoggedTransaction, TransactionLog};
use crate::windows::{Exchange, Shift};
use crate::wire;
use latency::{Histogram, Windows};

/// One second of the measured interval, by the moment transactions ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    pub committed: u64,
    pub retries: u64,
    pub failed: u64,
    pub latency_ns_max: u64,
}

/// Counts and histograms of all clients of one worker, in memory sized before the start.
///
/// A transaction belongs to the interval when it was *due* in it, so each one is counted once and
/// its ending is waited for. In-flight time and the per-second series cover what happened inside
/// the interval, whenever it was due.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    pub tally: Tally,
    /// In a closed loop a transaction is sent when it is due, and one histogram is enough.
    open_loop: bool,
    /// Response and service times are those of statements, which have due times of their own.
    by_statement: bool,
    /// Where others may read along, and this worker's place there.
    board: Option<(Arc<Board>, usize)>,
    /// Where response times are handed over window by window; without it the tally holds all of them.
    shift: Option<Shift>,
    /// What this thread's connections had carried when the last transaction ended.
    carried: Option<Traffic>,
    /// Where each transaction gets a line.
    log: Option<LogWriter>,
}

/// Errors by code, in memory sized before the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCounts {
    #[serde(with = "wire::codes")]
    counts: Vec<(Code, u64)>,
    /// Errors of codes that found no place any more.
    rest: u64,
}

/// More kinds of errors than any load was seen to meet.
const CODES_MAX: usize = 32;

impl ErrorCounts {
    fn with_capacity() -> ErrorCounts {
        ErrorCounts { counts: Vec::with_capacity(CODES_MAX), rest: 0 }
    }

    pub fn count(&mut self, code: Code, times: u64) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == code) {
            *count += times;
        } else if self.counts.len() < CODES_MAX {
            self.counts.push((code, times));
        } else {
            self.rest += times;
        }
    }

    fn add(&mut self, other: &ErrorCounts) {
        other.counts.iter().for_each(|(code, count)| self.count(*code, *count));
        self.rest += other.rest;
    }

    /// Codes with how often each was seen, in the order in which they came; what found no place is `other`.
    pub fn iter(&self) -> impl Iterator<Item = (String, u64)> {
        let rest = (self.rest > 0).then(|| ("other".to_owned(), self.rest));
        self.counts.iter().map(|(code, count)| (code.to_string(), *count)).chain(rest)
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum::<u64>() + self.rest
    }
}

/// Counts and histograms, merged over clients and workers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    pub due: u64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Attempts that the server asked to repeat; not an ending, so not part of `due`.
    pub retries: u64,
    /// Transactions that ended after more than one try, and the time they spent behind the first.
    pub retried: u64,
    pub retry_ns: u64,
    pub reconnects: u64,
    /// Failed because the answer to what would have made them permanent was lost: their end is unknown.
    pub unknown: u64,
    /// Of the skipped: still waiting for a client when the interval ended.
    pub left_waiting: u64,
    /// Every error, ignored ones included.
    pub errors: ErrorCounts,
    /// Transactions that failed, by the code of their last error.
    pub failures: ErrorCounts,
    /// How long transactions of an open loop began behind their due time: in all, and at most.
    pub lag_ns: u64,
    pub lag_ns_max: u64,
    /// Time that connections took which are opened again and again.
    pub connect_ns: u64,
    /// Of scripts: time in the collector of their memory, and in calls that hold up the worker.
    pub collected_ns: u64,
    pub blocked_ns: u64,
    /// What else must be known about a script, by flag; of each the first place in it.
    pub script_remarks: BTreeMap<Cow<'static, str>, String>,
    /// Why clients ended before their time, where the others went on.
    pub aborted: Vec<String>,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    /// Due to answered.
    pub response: Histogram,
    /// The same, window by window, where the options ask for it.
    pub windows: Windows,
    /// Sent to answered.
    pub service: Histogram,
    /// How long arrivals of an open loop had waited that were never run: each would have taken longer. They are part
    /// of the response times as well.
    pub unanswered: Histogram,
    /// Clients whose transaction was under way for the whole interval.
    pub starved: u64,
    /// Due to sent, of those arrivals of an open loop that a free client was waiting for.
    pub lateness: Histogram,
    /// Sum over clients of the time a transaction was running inside the interval.
    pub in_flight_ns: u64,
    pub seconds: Vec<Second>,
    /// When transactions were committed inside the interval.
    pub commits: Commits,
    /// What connections carried in the interval; nothing where there is no protocol.
    #[serde(with = "wire::traffic")]
    pub traffic: Traffic,
    /// Length of the measured interval.
    pub interval_ns: u64,
    /// From the end of the interval to the last answer.
    pub drain_ns: u64,
    /// CPU time of each load-generating thread during the interval.
    pub worker_cpu_ns: Vec<u64>,
    /// How long each of them was ready to run and waited for a CPU; empty where the kernel does not count it.
    pub worker_wait_ns: Vec<u64>,
    /// By how much the generator's latest waking of the interval was too late: it was stopped, or had no CPU.
    pub woken_late_ns: u64,
    /// Pages that were read back from disk while parts of the generator were swapped out.
    pub paged_in: u64,
    pub clients: u32,
    /// Of each client, by its number: transactions that were due in the interval and ended, and the time they took.
    pub by_client: Vec<(u64, u64)>,
    /// By kind, where the workload has kinds.
    pub kinds: Vec<KindTally>,
    /// What else the workload counts, of committed transactions that were due in the interval.
    pub counts: Vec<u64>,
    /// The same of every committed transaction, warm-up and drain included.
    pub counts_ever: Vec<u64>,
    /// Calls of each statement, where the workload has statements that are timed one by one.
    pub statements: Vec<StatementTally>,
    /// What all statements brought since the clients started, in the order of the workload's kinds of statements.
    pub answers: Vec<Answers>,
    /// What a pass over operations left, program by program; empty for everything else. A pass has one client, and is
    /// never divided.
    #[serde(skip)]
    pub programs: Vec<ProgramTally>,
    /// Each deferred transaction that committed, warm-up and drain included.
    pub journal: DeferredLog,
    /// Every transaction that ended since the clients started, warm-up and drain included: what a
    /// server's own counters of the whole load are divided by.
    pub ended: u64,
}

/// Transactions of one kind, a part of all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KindTally {
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    /// By the code of their last error.
    pub failures: ErrorCounts,
    pub retries: u64,
    /// Ended after more than one try.
    pub retried: u64,
    /// Due to answered.
    pub response: Histogram,
    /// Committed and rolled back inside the interval, whenever they were due: what a rate per minute is
    /// made of.
    pub committed_inside: u64,
    pub rolled_back_inside: u64,
    /// Since the clients started, warm-up and drain included.
    pub committed_ever: u64,
    pub rolled_back_ever: u64,
    /// Failed, and it is unknown whether they were made permanent.
    pub unknown_ever: u64,
}

/// Calls of one statement that ended inside the interval, warm-up and drain excluded.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StatementTally {
    #[serde(with = "wire::shared")]
    pub name: Arc<str>,
    /// Calls that were answered.
    pub count: u64,
    /// Calls that ended their transaction: by an error, a wrong answer or a missing value.
    pub failed: u64,
    /// Calls whose error made the client try the transaction again.
    pub retries: u64,
    /// Rows that came back; of a statement that returns none, those that it changed or found.
    pub rows: u64,
    /// Sent to answered.
    pub latency: Histogram,
}

impl StatementTally {
    fn add(&mut self, other: &StatementTally) {
        self.count += other.count;
        self.failed += other.failed;
        self.retries += other.retries;
        self.rows += other.rows;
        self.latency.add(&other.latency);
    }
}

impl KindTally {
    fn record(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        let inside = u64::from(window.contains(timing.end_ns));
        match outcome {
            Outcome::Committed => {
                self.committed_ever += 1;
                self.committed_inside += inside;
            }
            Outcome::RolledBack => {
                self.rolled_back_ever += 1;
                self.rolled_back_inside += inside;
            }
            Outcome::Failed => self.unknown_ever += u64::from(attempt.committing),
            // Nobody drew what it would have been.
            Outcome::Skipped => return,
        }
        if !window.contains(timing.due_ns) {
            return;
        }
        self.committed += u64::from(outcome == Outcome::Committed);
        self.rolled_back += u64::from(outcome == Outcome::RolledBack);
        self.failed += u64::from(outcome == Outcome::Failed);
        self.retries += attempt.retries;
        self.retried += u64::from(attempt.retry_ns > 0);
        self.response.record(timing.end_ns - timing.due_ns);
        if let (Outcome::Failed, Some(code)) = (outcome, attempt.last_error) {
            self.failures.count(code, 1);
        }
    }

    fn add(&mut self, other: &KindTally) {
        self.failures.add(&other.failures);
        self.retried += other.retried;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
        self.response.add(&other.response);
        self.committed_inside += other.committed_inside;
        self.rolled_back_inside += other.rolled_back_inside;
        self.committed_ever += other.committed_ever;
        self.rolled_back_ever += other.rolled_back_ever;
        self.unknown_ever += other.unknown_ever;
    }
}

impl Recorder {
    pub fn new(seconds_max: usize, open_loop: bool) -> Recorder {
        let seconds = vec![Second::default(); seconds_max];
        let commits = Commits::with_capacity(seconds_max);
        let (errors, failures) = (ErrorCounts::with_capacity(), ErrorCounts::with_capacity());
        let tally = Tally { seconds, commits, errors, failures, ..Tally::default() };
        Recorder { tally, open_loop, by_statement: false, board: None, shift: None, carried: None, log: None }
    }

    /// Takes response and service times of statements, not of transactions.
    pub fn by_statement(self) -> Recorder {
        Recorder { open_loop: true, by_statement: true, ..self }
    }

    /// Takes the times of a statement that was answered, where statements have due times of their own.
    pub fn answered(&mut self, timing: Timing, window: Window) {
        if window.contains(timing.due_ns) {
            self.record_times(timing, window);
        }
    }

    /// Hands response times over as each window ends.
    pub fn in_windows(self, exchange: Arc<Exchange>) -> Recorder {
        Recorder { shift: Some(Shift::new(exchange)), ..self }
    }

    /// Counts so many kinds of transactions apart, and so many other things.
    pub fn with_kinds(mut self, kinds: usize, counts: usize) -> Recorder {
        let kind = || KindTally { failures: ErrorCounts::with_capacity(), ..KindTally::default() };
        self.tally.kinds.resize_with(kinds, kind);
        self.tally.counts.resize(counts, 0);
        self.tally.counts_ever.resize(counts, 0);
        self
    }

    /// Times these statements one by one.
    pub fn with_statements(mut self, names: impl IntoIterator<Item = String>) -> Recorder {
        let named = |name: String| StatementTally { name: name.into(), ..StatementTally::default() };
        self.tally.statements = names.into_iter().map(named).collect();
        self
    }

    /// The tally of a statement, if its call ended inside the interval.
    pub fn statement(&mut self, index: usize, end_ns: u64, window: Window) -> Option<&mut StatementTally> {
        self.tally.statements.get_mut(index).filter(|_| window.contains(end_ns))
    }

    /// Has room for so many lines, of so many numbers each, about deferred transactions.
    pub fn with_journal(mut self, width: usize, lines: usize) -> Recorder {
        self.tally.journal = DeferredLog::with_capacity(width, lines);
        self
    }

    /// Keeps a pass over operations. It counts as one transaction, without a place in the histograms, which
    /// are not made for hours. One that was broken off has failed, with the programs that it came to.
    pub fn pass(&mut self, outcome: Outcome, programs: Vec<ProgramTally>, statements: u64, wall_ns: u64) {
        self.tally.due += 1;
        if outcome == Outcome::Committed {
            self.tally.committed += 1;
        } else {
            self.tally.failed += 1;
        }
        self.tally.other += statements;
        self.tally.in_flight_ns += wall_ns;
        self.tally.traffic = thread_traffic();
        self.tally.programs.extend(programs);
    }

    /// Adds what a committed transaction counted beside its statements.
    pub fn counts(&mut self, counts: &[u64], due_ns: u64, window: Window) {
        add_each(&mut self.tally.counts_ever, counts);
        if window.contains(due_ns) {
            add_each(&mut self.tally.counts, counts);
        }
    }

    /// Counts by client too, for clients below this number.
    pub fn by_client(mut self, clients: u32) -> Recorder {
        self.tally.by_client.resize(clients as usize, (0, 0));
        self
    }

    /// Lets others read along, as worker number `worker`.
    pub fn on_board(self, board: Arc<Board>, worker: usize) -> Recorder {
        Recorder { board: Some((board, worker)), ..self }
    }

    /// Gives each transaction a line, as worker number `worker`.
    pub fn with_log(self, log: Arc<TransactionLog>, worker: usize) -> Recorder {
        Recorder { log: Some(LogWriter::new(log, worker)), ..self }
    }

    /// Writes the line of a transaction, where there is a log.
    pub fn log(&mut self, client: u32, outcome: Outcome, attempt: &Attempt, timing: Timing) {
        if let Some(log) = &mut self.log {
            let &Attempt { kind, retries, last_error, .. } = attempt;
            log.write(LoggedTransaction { client, kind, outcome, timing, retries, last_error });
        }
    }

    /// A transaction of `client` is under way.
    pub fn started(&self, client: u32, start_ns: u64) {
        if let Some((board, _)) = &self.board {
            board.started(client, start_ns);
        }
    }

    /// A free client has sent the arrival that it was waiting for.
    pub fn sent(&mut self, due_ns: u64, start_ns: u64, window: Window) {
        if window.contains(due_ns) {
            self.tally.lateness.record(start_ns.saturating_sub(due_ns));
        }
    }

    /// And it is no more, whatever became of it.
    pub fn ended(&mut self, client: u32, timing: Timing, window: Window) {
        if let Some((board, _)) = &self.board {
            board.ended(client, timing.start_ns, timing.end_ns);
        }
        let own = self.tally.by_client.get_mut(client as usize);
        if let Some((ended, busy_ns)) = own.filter(|_| window.contains(timing.due_ns)) {
            *ended += 1;
            *busy_ns += timing.end_ns - timing.start_ns;
        }
    }

    /// Counts one error of a transaction that was due at `due_ns`.
    pub fn error(&mut self, code: Code, due_ns: u64, window: Window) {
        if window.contains(due_ns) {
            self.tally.errors.count(code, 1);
        }
    }

    /// Counts statements behind the last transaction, which belong to none.
    pub fn statements(&mut self, attempt: &Attempt) {
        if let Some((board, worker)) = &self.board {
            board.statements(*worker, attempt);
        }
        self.tally.add_statements(attempt);
    }

    /// Counts a deferred transaction, which is none of a client's: see [`crate::Background`].
    pub fn record_deferred(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        if let Some((board, worker)) = &self.board {
            board.statements(*worker, attempt);
        }
        if let Some(kind) = self.tally.kinds.get_mut(attempt.kind) {
            kind.record(outcome, attempt, timing, window);
        }
        if window.contains(timing.due_ns) {
            self.tally.add_statements(attempt);
            self.tally.reconnects += attempt.reconnects;
        }
    }

    /// What must be known about a script whose client has ended.
    pub fn remark(&mut self, flag: &'static str, place: String) {
        self.tally.script_remarks.entry(flag.into()).or_insert(place);
    }

    /// What was counted; response times that were handed over by windows are not in it.
    pub fn finish(mut self) -> Tally {
        if let Some(log) = self.log.take() {
            log.end();
        }
        match self.shift {
            Some(shift) => shift.end(std::mem::take(&mut self.tally.response)),
            None if !self.open_loop => self.tally.serve_as_responded(),
            None => {}
        }
        self.tally
    }

    pub fn record(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        if let Some((board, worker)) = &self.board {
            board.count(*worker, outcome, attempt, timing);
        }
        let overlap_start = timing.start_ns.max(window.start_ns);
        let overlap_end = timing.end_ns.min(window.end_ns);
        self.tally.in_flight_ns += overlap_end.saturating_sub(overlap_start);
        self.count_traffic(timing, window);
        self.record_second(outcome, attempt, timing, window);
        if let Some(kind) = self.tally.kinds.get_mut(attempt.kind) {
            kind.record(outcome, attempt, timing, window);
        }
        if !window.contains(timing.due_ns) {
            if timing.due_ns < window.start_ns && timing.end_ns >= window.end_ns && !self.by_statement {
                self.record_starved(timing, window);
            }
            return;
        }
        let tally = &mut self.tally;
        tally.due += 1;
        match outcome {
            Outcome::Committed => tally.committed += 1,
            Outcome::RolledBack => tally.rolled_back += 1,
            Outcome::Failed => tally.failed += 1,
            Outcome::Skipped => {
                // Nobody ran it; that it waited until it was given up is all that is known.
                tally.skipped += 1;
                tally.unanswered.record(timing.start_ns - timing.due_ns);
                return;
            }
        }
        tally.retried += u64::from(attempt.retry_ns > 0);
        tally.retry_ns += attempt.retry_ns;
        tally.reconnects += attempt.reconnects;
        tally.connect_ns += attempt.connect_ns;
        tally.collected_ns += attempt.collected_ns;
        tally.blocked_ns += attempt.blocked_ns;
        if let (Outcome::Failed, Some(code)) = (outcome, attempt.last_error) {
            tally.failures.count(code, 1);
        }
        tally.unknown += u64::from(outcome == Outcome::Failed && attempt.committing);
        tally.retries += attempt.retries;
        tally.add_statements(attempt);
        if !self.by_statement {
            self.record_times(timing, window);
        }
    }

    fn record_times(&mut self, timing: Timing, window: Window) {
        self.record_response(timing.end_ns - timing.due_ns, timing, window);
        if self.open_loop {
            let lag_ns = timing.start_ns - timing.due_ns;
            self.tally.service.record(timing.end_ns - timing.start_ns);
            self.tally.lag_ns += lag_ns;
            self.tally.lag_ns_max = self.tally.lag_ns_max.max(lag_ns);
        }
    }

    fn record_response(&mut self, response_ns: u64, timing: Timing, window: Window) {
        if let Some(shift) = self.shift.as_mut().filter(|shift| shift.is_over(timing.end_ns)) {
            shift.turn(&mut self.tally.response, timing.end_ns, window);
        }
        self.tally.response.record(response_ns);
    }

    /// A transaction that was due before the interval and still under way at its end is no transaction of the
    /// interval, but its client has waited all the while: its age at the end is a response time.
    #[cold]
    fn record_starved(&mut self, timing: Timing, window: Window) {
        self.tally.starved += 1;
        self.record_response(window.end_ns - timing.due_ns, timing, window);
    }

    /// The bytes since another transaction of this thread ended belong to the one that ends now, even if another one
    /// caused them; those of the first are not distinguished from those of its connection's set-up.
    fn count_traffic(&mut self, timing: Timing, window: Window) {
        let now = thread_traffic();
        let before = self.carried.replace(now);
        if let Some(before) = before.filter(|_| window.contains(timing.end_ns)) {
            self.tally.traffic.add(now.since(before));
        }
    }

    fn record_second(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        if outcome == Outcome::Skipped {
            return;
        }
        if !window.contains(timing.end_ns) {
            self.record_unfinished(timing, window);
            return;
        }
        let at_ns = timing.end_ns - window.start_ns;
        if outcome == Outcome::Committed {
            self.tally.commits.mark(at_ns);
        }
        if let Some(second) = second_of(&mut self.tally.seconds, at_ns) {
            second.committed += u64::from(outcome == Outcome::Committed);
            second.failed += u64::from(outcome == Outcome::Failed);
            second.retries += attempt.retries;
            second.latency_ns_max = second.latency_ns_max.max(timing.end_ns - timing.due_ns);
        }
    }

    /// What is still under way when the interval ends is as old there as its last second shows.
    fn record_unfinished(&mut self, timing: Timing, window: Window) {
        if timing.due_ns >= window.end_ns || timing.end_ns < window.end_ns || window.start_ns >= window.end_ns {
            return;
        }
        let age_ns = window.end_ns - timing.due_ns;
        if let Some(second) = second_of(&mut self.tally.seconds, window.end_ns - 1 - window.start_ns) {
            second.latency_ns_max = second.latency_ns_max.max(age_ns);
        }
    }
}

/// The second of an interval that holds a moment so long after its beginning.
fn second_of(seconds: &mut [Second], at_ns: u64) -> Option<&mut Second> {
    seconds.get_mut((at_ns / 1_000_000_000) as usize)
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.due += other.due;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.retries += other.retries;
        self.retried += other.retried;
        self.retry_ns += other.retry_ns;
        self.reconnects += other.reconnects;
        self.unknown += other.unknown;
        self.left_waiting += other.left_waiting;
        self.errors.add(&other.errors);
        self.failures.add(&other.failures);
        self.lag_ns += other.lag_ns;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
        self.connect_ns += other.connect_ns;
        self.collected_ns += other.collected_ns;
        self.blocked_ns += other.blocked_ns;
        for (flag, place) in &other.script_remarks {
            self.script_remarks.entry(flag.clone()).or_insert_with(|| place.clone());
        }
        self.aborted.extend_from_slice(&other.aborted);
        self.reads += other.reads;
        self.writes += other.writes;
        self.other += other.other;
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lateness.add(&other.lateness);
        self.unanswered.add(&other.unanswered);
        self.starved += other.starved;
        self.in_flight_ns += other.in_flight_ns;
        self.traffic.add(other.traffic);
        self.programs.extend_from_slice(&other.programs);
        self.journal.add(&other.journal);
        if self.kinds.len() < other.kinds.len() {
            self.kinds.resize_with(other.kinds.len(), KindTally::default);
        }
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(mine, theirs)| mine.add(theirs));
        if self.statements.len() < other.statements.len() {
            self.statements.clone_from(&other.statements);
        } else {
            self.statements.iter_mut().zip(&other.statements).for_each(|(mine, theirs)| mine.add(theirs));
        }
        if self.by_client.len() < other.by_client.len() {
            self.by_client.resize(other.by_client.len(), (0, 0));
        }
        for ((ended, busy_ns), theirs) in self.by_client.iter_mut().zip(&other.by_client) {
            *ended += theirs.0;
            *busy_ns += theirs.1;
        }
        add_each(&mut self.counts, &other.counts);
        add_each(&mut self.counts_ever, &other.counts_ever);
        self.add_answers(&other.answers);
        self.commits.add(&other.commits);
        if self.seconds.len() < other.seconds.len() {
            self.seconds.resize(other.seconds.len(), Second::default());
        }
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.committed += theirs.committed;
            mine.retries += theirs.retries;
            mine.failed += theirs.failed;
            mine.latency_ns_max = mine.latency_ns_max.max(theirs.latency_ns_max);
        }
        self.add_whole(other);
    }

    /// What only the tally of a whole load has, and that of one of its threads has not yet.
    fn add_whole(&mut self, other: &Tally) {
        self.windows.add(&other.windows);
        self.interval_ns = self.interval_ns.max(other.interval_ns);
        self.drain_ns = self.drain_ns.max(other.drain_ns);
        self.worker_cpu_ns.extend_from_slice(&other.worker_cpu_ns);
        self.worker_wait_ns.extend_from_slice(&other.worker_wait_ns);
        if self.worker_wait_ns.len() != self.worker_cpu_ns.len() {
            // Threads that cannot be seen would make the others stand for all.
            self.worker_wait_ns.clear();
        }
        self.woken_late_ns = self.woken_late_ns.max(other.woken_late_ns);
        self.paged_in += other.paged_in;
        self.clients += other.clients;
        self.ended += other.ended;
    }

    /// In a closed loop a transaction is sent when it is due, so both times are one.
    pub(crate) fn serve_as_responded(&mut self) {
        self.service = self.response.clone();
    }

    /// Adds what a client's statements brought, once it has run its last.
    pub fn add_answers(&mut self, answers: &[Answers]) {
        if self.answers.len() < answers.len() {
            self.answers.resize(answers.len(), Answers::default());
        }
        self.answers.iter_mut().zip(answers).for_each(|(sum, one)| sum.add(one));
    }

    fn add_statements(&mut self, attempt: &Attempt) {
        self.reads += attempt.reads;
        self.writes += attempt.writes;
        self.other += attempt.other;
    }

    /// Deferred transactions of this kind that were not run: they have no latency, but they were due.
    pub fn leave_deferred(&mut self, kind: usize, transactions: u64) {
        if let Some(kind) = self.kinds.get_mut(kind) {
            kind.failed += transactions;
        }
    }

    /// Arrivals that were due at these times and left over when the interval ended.
    pub fn leave_waiting(&mut self, due_ns: impl Iterator<Item = u64>, end_ns: u64) {
        for due_ns in due_ns {
            self.due += 1;
            self.skipped += 1;
            self.left_waiting += 1;
            self.unanswered.record(end_ns - due_ns);
        }
    }

    /// Committed transactions per second of the interval.
    pub fn tps(&self) -> f64 {
        self.committed as f64 / (self.interval_ns as f64 / 1e9)
    }

    pub fn qps(&self) -> f64 {
        self.queries() as f64 / (self.interval_ns as f64 / 1e9)
    }

    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// How many clients transactions per second times their mean response time come to (Little's law), with those
    /// that were under way at the interval's edges counted for as long as they were inside it.
    pub fn busy_clients(&self) -> f64 {
        self.in_flight_ns as f64 / self.interval_ns as f64
    }

    /// Share of the clients' time during which a transaction was running (Little's law): a closed
    /// loop that falls below 0.9 was held back by the load generator.
    pub fn occupancy(&self) -> f64 {
        self.in_flight_ns as f64 / (f64::from(self.clients) * self.interval_ns as f64)
    }
}

fn add_each(sums: &mut Vec<u64>, counts: &[u64]) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0);
    }
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start_ns: 1_000, end_ns: 3_000_001_000 };

    fn record(timings: &[(u64, u64, u64)]) -> Tally {
        let mut recorder = Recorder::new(3, false);
        for &(due_ns, start_ns, end_ns) in timings {
            recorder.record(Outcome::Committed, &Attempt::default(), Timing { due_ns, start_ns, end_ns }, WINDOW);
        }
        recorder.finish()
    }

    #[test]
    fn passes_of_one_worker_are_all_kept() {
        let mut recorder = Recorder::new(3, false);
        let program = |name| vec![ProgramTally { name, wall_ns: 1, operations: Vec::new() }];
        recorder.pass(Outcome::Committed, program("stream 1"), 1, 1);
        recorder.pass(Outcome::Committed, program("stream 2"), 1, 1);
        let names: Vec<&str> = recorder.finish().programs.iter().map(|program| program.name).collect();
        assert_eq!(names, ["stream 1", "stream 2"]);
    }

    #[test]
    fn a_transaction_belongs_to_the_interval_in_which_it_was_due() {
        let tally = record(&[(500, 500, 2_000), (1_000, 1_000, 2_000), (3_000_000_999, 3_000_000_999, 3_500_000_000)]);
        assert_eq!((tally.due, tally.committed), (2, 2));
    }

    #[test]
    fn a_kind_counts_by_due_time_by_end_and_ever() {
        let mut recorder = Recorder::new(3, false).with_kinds(2, 1);
        let attempt = Attempt { kind: 1, ..Attempt::default() };
        for (due_ns, end_ns, outcome) in [
            (500, 2_000, Outcome::Committed),
            (1_500, 3_000_002_000, Outcome::Committed),
            (1_500, 2_000, Outcome::RolledBack),
            (1_600, 2_000, Outcome::Failed),
        ] {
            recorder.record(outcome, &attempt, Timing { due_ns, start_ns: due_ns, end_ns }, WINDOW);
        }
        recorder.counts(&[7], 500, WINDOW);
        recorder.counts(&[5], 1_500, WINDOW);
        let tally = recorder.finish();
        let kind = &tally.kinds[1];
        assert_eq!((kind.committed, kind.rolled_back, kind.failed, kind.response.count()), (1, 1, 1, 3));
        assert_eq!((kind.committed_inside, kind.rolled_back_inside, kind.committed_ever), (1, 1, 2));
        assert_eq!((tally.kinds[0].committed_ever, &tally.counts, &tally.counts_ever), (0, &vec![5], &vec![12]));
    }

    #[test]
    fn a_client_has_what_was_due_in_the_interval_and_ended() {
        let worker = |client, timings: &[(u64, u64)]| {
            let mut recorder = Recorder::new(3, false).by_client(3);
            for &(start_ns, end_ns) in timings {
                recorder.ended(client, Timing { due_ns: start_ns, start_ns, end_ns }, WINDOW);
            }
            recorder.finish()
        };
        let mut tally = worker(0, &[(500, 2_000), (2_000, 2_300), (2_300, 2_900)]);
        tally.add(&worker(2, &[(3_000_000_500, 3_000_002_500), (3_000_002_500, 3_000_002_600)]));
        assert_eq!(tally.by_client, [(2, 900), (0, 0), (1, 2_000)]);
    }

    #[test]
    fn failures_count_by_their_last_error_and_lag_by_the_start() {
        let mut recorder = Recorder::new(3, true).with_kinds(1, 0);
        let timing = Timing { due_ns: 2_000, start_ns: 5_000, end_ns: 9_000 };
        let failed = Attempt { last_error: Some(Code::new(b"40P01")), retry_ns: 7, ..Attempt::default() };
        recorder.record(Outcome::Failed, &failed, timing, WINDOW);
        // One that was tried again and committed has had an error, and is no failure.
        recorder.record(Outcome::Committed, &failed, timing, WINDOW);
        let tally = recorder.finish();
        for failures in [&tally.failures, &tally.kinds[0].failures] {
            assert_eq!(failures.iter().collect::<Vec<_>>(), [("40P01".to_owned(), 1)]);
        }
        assert_eq!((tally.kinds[0].retried, tally.lag_ns, tally.lag_ns_max), (2, 6_000, 3_000));
    }

    #[test]
    fn in_flight_time_is_what_lies_inside_the_interval() {
        let tally = record(&[(500, 500, 2_000), (3_000_000_500, 3_000_000_500, 3_000_002_000)]);
        assert_eq!(tally.in_flight_ns, 1_000 + 500);
    }

    #[test]
    fn seconds_count_what_ended_in_them() {
        let tally = record(&[(1_000, 1_000, 1_500_001_000), (1_500_001_000, 1_500_001_000, 2_900_001_000)]);
        let ended: Vec<u64> = tally.seconds.iter().map(|second| second.committed).collect();
        assert_eq!(ended, [0, 1, 1]);
    }

    #[test]
    fn a_client_that_waits_for_the_whole_interval_is_charged_with_its_age() {
        let before = (500, 500, 3_000_002_000);
        let worked = (2_000, 2_000, 1_000_000);
        let tally = record(&[before, worked]);
        assert_eq!((tally.due, tally.committed, tally.starved, tally.response.count()), (1, 1, 1, 2));
        assert!((tally.response.max_ms() - 3_000.000_5).abs() < 1e-6, "{}", tally.response.max_ms());
        assert_eq!(tally.seconds[2].latency_ns_max, 3_000_000_500);
        // One that was due inside is waited for, and has its whole time; the last second shows its age.
        let tally = record(&[(2_000_001_000, 2_000_001_000, 4_000_001_000)]);
        assert_eq!((tally.starved, tally.response.max_ms()), (0, 2_000.0));
        assert_eq!(tally.seconds[2].latency_ns_max, 1_000_000_000);
    }

    #[test]
    fn arrivals_that_were_never_run_are_lower_bounds_of_response_times() {
        let mut recorder = Recorder::new(3, true);
        let missed = Timing { due_ns: 2_000, start_ns: 5_000_000, end_ns: 5_000_000 };
        recorder.record(Outcome::Skipped, &Attempt::default(), missed, WINDOW);
        let mut tally = recorder.finish();
        tally.leave_waiting([1_000_001_000, 2_000_001_000].into_iter(), WINDOW.end_ns);
        assert_eq!((tally.due, tally.skipped, tally.left_waiting, tally.unanswered.count()), (3, 3, 2, 3));
        assert_eq!((tally.unanswered.min_ms(), tally.unanswered.max_ms()), (4.998, 2_000.0));
    }

    /// With something in each of its parts.
    fn full(seed: u64) -> Tally {
        let exchange = Arc::new(Exchange::new(std::time::Duration::from_secs(1), 1));
        let mut collector = crate::windows::Collector::new(&exchange);
        let mut recorder =
            Recorder::new(3, true).in_windows(exchange).with_kinds(1, 1).with_statements(["a".to_owned()]);
        recorder = recorder.with_journal(2, 10);
        for number in 0..50 {
            let due_ns = 1_000 + number * 50_000_000 + seed;
            let timing = Timing { due_ns, start_ns: due_ns + seed, end_ns: due_ns + seed * (number + 1) };
            let attempt = Attempt { reads: 3, last_error: Some(Code::new(b"1213")), ..Attempt::default() };
            let outcome = if number % 7 == 0 { Outcome::Failed } else { Outcome::Committed };
            recorder.record(outcome, &attempt, timing, WINDOW);
            recorder.error(Code::new(b"1213"), due_ns, WINDOW);
            recorder.counts(&[seed], due_ns, WINDOW);
            recorder.tally.journal.write(timing, &[number as u32, 7]);
            recorder.sent(due_ns, due_ns + seed, WINDOW);
            if let Some(statement) = recorder.statement(0, due_ns, WINDOW) {
                statement.latency.record(seed);
            }
        }
        recorder.remark("script-random-wraps", "a.lua:1".to_owned());
        let answers = Answers {
            count: seed,
            first_wrong: Some(crate::transaction::Turn { series: 1, number: 2, retry: 3 }),
            ..Answers::default()
        };
        let mut tally = recorder.finish();
        tally.add_answers(&[answers]);
        tally.aborted.push("why".to_owned());
        tally.traffic = Traffic { sent: seed, received: 2 * seed };
        tally.leave_waiting([1_500_000_000].into_iter(), WINDOW.end_ns);
        collector.charge(&tally.unanswered, 3_000_000_000);
        (tally.response, tally.windows) = collector.finish(3_000_000_000);
        let (worker_cpu_ns, worker_wait_ns) = (vec![seed], vec![seed]);
        Tally {
            interval_ns: 3_000_000_000,
            drain_ns: seed,
            worker_cpu_ns,
            worker_wait_ns,
            clients: 2,
            ended: 50,
            ..tally
        }
    }

    #[test]
    fn a_tally_loses_nothing_on_its_way_and_adds_up_like_those_of_threads() {
        let text = |tally: &Tally| serde_json::to_string(tally).unwrap();
        let travelled = |tally: &Tally| serde_json::from_str::<Tally>(&text(tally)).unwrap();
        let (one, other) = (full(700), full(90_000));
        assert_eq!(text(&travelled(&one)), text(&one));
        let (mut here, mut there) = (one.clone(), travelled(&one));
        here.add(&other);
        there.add(&travelled(&other));
        assert_eq!(text(&there), text(&here));
        assert_eq!((here.due, here.clients, here.worker_cpu_ns.len()), (one.due + other.due, 4, 2));
        let count = |windows: &Windows| {
            latency::read_windows(&windows.log()).map(|window| window.unwrap().latencies.count()).sum::<u64>()
        };
        assert_eq!(count(&here.windows), here.response.count());
        assert_eq!(count(&here.windows), count(&one.windows) + count(&other.windows));
    }
}
