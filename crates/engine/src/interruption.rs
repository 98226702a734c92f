//! An interruption by the user: a flag that every wait asks for, and the end of the servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use anyhow::Result;

use crate::keeper::end_all;

/// How soon servers end at an interruption.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the user has interrupted this process since [`flag`].
pub fn is_requested() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Set by the first SIGINT, SIGTERM or SIGHUP; the second one ends the process, and the keepers end
/// its servers.
pub fn flag(exit_status: u8) -> Result<Arc<AtomicBool>> {
    let flag = flag_alone(exit_status)?;
    driver::end_waits_on(&flag);
    let _ = FLAG.set(Arc::clone(&flag));
    Ok(flag)
}

/// The same for work that goes on behind the first signal: no wait for a server ends.
pub fn flag_alone(exit_status: u8) -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, exit_status.into(), Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// Does some work; at an interruption every server and package client ends, so that no step of the
/// work waits for one.
pub fn ending_servers<T>(interrupted: &AtomicBool, work: impl FnOnce() -> T) -> T {
    let (done, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(INTERRUPTION_POLL) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) {
                    end_all();
                }
            }
        });
        let worked = work();
        drop(done);
        worked
    })
}
