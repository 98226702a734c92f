//! What the clients of one load share while they replay.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use driver::Canceller;
use load::{Bells, monotonic_ns};

use crate::ended::Ended;
use crate::schedule::NO_LIMIT;
use crate::waits::Waits;

/// What a client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Between transactions, or done.
    Rests = 0,
    /// Inside of one, until its next statement is due.
    Thinks = 1,
    /// It waits for an answer.
    Asks = 2,
    /// It waits until a unit may begin.
    Held = 3,
}

#[derive(Debug)]
pub struct Run {
    waits: Arc<Waits>,
    lanes: Box<[Ended]>,
    bells: Arc<Bells>,
    clients: Box<[OfClient]>,
    /// Sessions whose connection was lost.
    pub lost: AtomicU32,
}

#[derive(Debug, Default)]
struct OfClient {
    doing: AtomicU8,
    /// Its last answer.
    answered_ns: AtomicU64,
    /// When the unit that it is held at began in the log.
    begin_us: AtomicU64,
    /// When the statement that it waits for is to be cancelled; [`NO_LIMIT`] while there is none.
    limit_ns: AtomicU64,
    /// Its statement was asked to end.
    is_cancelled: AtomicBool,
    /// What cancels a statement of its session.
    canceller: Mutex<Option<Arc<Canceller>>>,
}

/// How often statements are looked at that may run too long.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Run {
    pub fn new(waits: Arc<Waits>, clients: usize, bells: Arc<Bells>) -> Run {
        Run {
            lanes: waits.lanes.iter().map(|units| Ended::none_of(*units as usize)).collect(),
            waits,
            bells,
            clients: (0..clients)
                .map(|_| OfClient { limit_ns: AtomicU64::new(NO_LIMIT), ..OfClient::default() })
                .collect(),
            lost: AtomicU32::new(0),
        }
    }

    /// Cancels what runs beyond its limit, from a thread of its own, for as long as somebody replays.
    pub fn watch(self: &Arc<Run>) {
        let run = Arc::downgrade(self);
        thread::spawn(move || {
            while let Some(run) = run.upgrade() {
                run.cancel_what_is_over(monotonic_ns());
                drop(run);
                thread::sleep(LOOK_EVERY);
            }
        });
    }

    fn cancel_what_is_over(&self, now_ns: u64) {
        for client in self.clients.iter().filter(|client| client.limit_ns.load(Ordering::Relaxed) <= now_ns) {
            // Nobody waits for the lock while the server is asked.
            let canceller = client.canceller.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(canceller) = canceller else { continue };
            // Said before, since the statement may be answered before the request is. Until it is answered, it is made again.
            client.is_cancelled.store(true, Ordering::Relaxed);
            if canceller.cancel().is_err() {
                client.is_cancelled.store(false, Ordering::Relaxed);
            }
        }
    }

    /// The session of a client is another one from now on.
    pub fn has_session(&self, client: u32, canceller: Option<Canceller>) {
        let place = &self.clients[client as usize].canceller;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = canceller.map(Arc::new);
    }

    /// A client sends a statement that is cancelled then.
    pub fn asks(&self, client: u32, limit_ns: u64) {
        self.clients[client as usize].limit_ns.store(limit_ns, Ordering::Relaxed);
    }

    /// Whether all that a unit waits for has ended.
    pub fn may_begin(&self, unit: u32) -> bool {
        self.waits.of_unit(unit).iter().all(|step| self.lanes[step.lane as usize].front() >= step.count)
    }

    /// A unit has ended.
    pub fn end(&self, unit: u32) {
        let mut has_moved = false;
        for place in self.waits.places(unit) {
            has_moved |= self.lanes[place.lane as usize].end(place.count);
        }
        if has_moved {
            self.bells.ring();
        }
    }

    pub fn doing(&self, client: u32, doing: Doing) {
        self.clients[client as usize].doing.store(doing as u8, Ordering::Relaxed);
    }

    /// Whether the statement was asked to end before.
    pub fn answered(&self, client: u32, now_ns: u64) -> bool {
        let client = &self.clients[client as usize];
        client.answered_ns.store(now_ns, Ordering::Relaxed);
        let limit_ns = client.limit_ns.swap(NO_LIMIT, Ordering::Relaxed);
        limit_ns <= now_ns && client.is_cancelled.swap(false, Ordering::Relaxed)
    }

    /// A client is held at a unit that began then in the log.
    pub fn hold(&self, client: u32, begin_us: u64) {
        self.clients[client as usize].begin_us.store(begin_us, Ordering::Relaxed);
        self.doing(client, Doing::Held);
    }

    /// Whether a client that has been held for so long goes on before its turn, because nothing has been answered for
    /// as long, and nobody merely waits for a statement to be due: then there is a lock that no log shows. Of those
    /// that are held it is the one whose unit began first.
    pub fn is_let_go(&self, client: u32, now_ns: u64, limit_ns: u64) -> bool {
        let own_us = self.clients[client as usize].begin_us.load(Ordering::Relaxed);
        let is_stalled = |(other, one): (usize, &OfClient)| {
            let doing = one.doing.load(Ordering::Relaxed);
            let is_quiet = now_ns.saturating_sub(one.answered_ns.load(Ordering::Relaxed)) > limit_ns;
            let is_later = doing != Doing::Held as u8
                || (one.begin_us.load(Ordering::Relaxed), other) >= (own_us, client as usize);
            is_quiet && is_later && doing != Doing::Thinks as u8
        };
        self.clients.iter().enumerate().all(is_stalled)
    }
}
