//! Copies the trials of a run into a store while the run goes on.
//!
//! A thread reads what the run folder gains. What must stay true: no trial waits for it, it runs only on CPU time that
//! nobody else wants, and a store that is away changes neither the run nor its exit status.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use load::scheduling::schedule_as;
use record::{RunDir, shell::shell_path};
use store::{Moment, Pushed, Store, StoreUrl};

use super::note;
use super::stored::{counted, pushed_text};

/// How often the run folder is looked at; only the size of one file is read.
const POLL: Duration = Duration::from_millis(500);

pub struct Follower {
    /// Dropped when the run is over.
    over: Sender<()>,
    thread: JoinHandle<Followed>,
    url: StoreUrl,
    run: RunDir,
}

/// How far the store is in the end.
struct Followed {
    /// Trials that are stored.
    trials: usize,
    last: Result<Pushed>,
}

impl Follower {
    /// Makes the tables where there are none, so that a mistake is seen before the first trial.
    pub fn start(url: StoreUrl, run: &RunDir) -> Result<Follower> {
        // A session stays in its thread, so this one only makes sure that there is a store.
        if let Err(error) = Store::open_or_make(&url, &note) {
            note(&format!("warning: the store is away, the run goes on without it: {error:#}"));
        }
        let (over, is_over) = channel();
        let follow = {
            let (url, run) = (url.clone(), run.clone());
            move || follow(&url, &run, &is_over)
        };
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(follow);
        Ok(Follower { over, thread: thread.context("cannot start a thread")?, url, run: run.clone() })
    }

    /// Stores the rest, and prints what was not stored.
    pub fn finish(self) {
        let Follower { over, thread, url, run } = self;
        drop(over);
        let Ok(followed) = thread.join() else { return note("warning: the thread of the store broke off") };
        match followed.last {
            Ok(pushed) => {
                pushed_text(&run, &pushed);
                note(&format!("{} of {} in {url}", counted(pushed.trials_stored, "trial"), run.name()));
            }
            Err(error) => {
                let stored = run.trial_lines(0).map_or(0, |lines| lines.len());
                let (left, place) = (stored.saturating_sub(followed.trials), shell_path(run.path()));
                let what = if left == 0 { "the end of the run".to_owned() } else { counted(left, "trial") };
                note(&format!("{what} not pushed: {error:#}\n  next: dbduel push {place} --store '{url}'"));
            }
        }
    }
}

fn follow(url: &StoreUrl, run: &RunDir, is_over: &Receiver<()>) -> Followed {
    // Behind everything else that wants the CPU.
    schedule_as(libc::SCHED_IDLE);
    let (mut store, mut trials, mut bytes) = (None, 0, 0);
    while is_over.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        let now = run.bytes_of_trials();
        if now > bytes {
            bytes = now;
            let pushed = session(&mut store, url).and_then(|store| store.push_new_trials(run));
            // What failed is tried again with the next trial, over a new connection.
            pushed.map_or_else(|_| store = None, |stored| trials = stored);
        }
    }
    let last = session(&mut store, url).and_then(|store| store.push(run, Moment::Finished));
    Followed { trials, last }
}

fn session<'a>(store: &'a mut Option<Store>, url: &StoreUrl) -> Result<&'a mut Store> {
    match store {
        Some(store) => Ok(store),
        None => Ok(store.insert(Store::open_or_make(url, &|_| {})?)),
    }
}
