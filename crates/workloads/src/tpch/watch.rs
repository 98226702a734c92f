//! Ends a statement at its limit, on any server and any version: a thread closes its connection, which also calls the
//! statement off where it runs. The session then needs another connection.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use driver::Closer;

/// A statement of SQLite that is just about to begin does not notice its end.
const AGAIN: Duration = Duration::from_millis(20);

pub struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When to end what runs.
    due: Option<(Instant, Closer)>,
    fired: bool,
    over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    pub fn start() -> std::io::Result<Watch> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new().name("statement limit".to_owned()).spawn(move || watch(&of_thread))?;
        Ok(Watch { shared })
    }

    /// From now on the connection is closed after the limit.
    pub fn arm(&self, closer: Closer, limit: Duration) {
        let mut state = self.shared.state();
        state.due = Some((Instant::now() + limit, closer));
        state.fired = false;
        self.shared.changed.notify_one();
    }

    /// Whether the limit has ended it.
    pub fn disarm(&self) -> bool {
        let mut state = self.shared.state();
        state.due = None;
        std::mem::take(&mut state.fired)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_one();
    }
}

fn watch(shared: &Shared) {
    let mut state = shared.state();
    while !state.over {
        let left = state.due.as_ref().map(|(due, _)| due.saturating_duration_since(Instant::now()));
        state = match left {
            None => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(Duration::ZERO) => {
                if let Some((_, closer)) = &state.due {
                    closer.close();
                }
                state.fired = true;
                shared.changed.wait_timeout(state, AGAIN).unwrap_or_else(PoisonError::into_inner).0
            }
            Some(left) => shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}
