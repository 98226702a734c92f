//! One session beside the load, in which a server is asked about itself.
//!
//! It has a thread of its own, because a session of an embedded engine may not change threads and its
//! caller may. It sends nothing unless it is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use driver::{Admin, Closer, Endpoint, Login};

use super::counters::{Counters, DeferredWork};
use super::{Engine, Observe, Waits};

/// Whoever answers so late cannot be read at an edge of an interval.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Clones share the session; it ends with the last of them.
#[derive(Clone)]
pub struct Monitor {
    kind: &'static str,
    observe: &'static dyn Observe,
    session: Arc<Session>,
}

struct Session {
    /// None once it ends.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Whether it lost the session.
type Job = Box<dyn FnOnce(&mut Admin) -> bool + Send>;

impl Monitor {
    /// Logs in and waits until that has succeeded.
    pub fn open(engine: &'static dyn Engine, endpoint: &Endpoint, login: &Login) -> Result<Monitor> {
        let observe = engine.observe().context("the server tells nothing of itself")?;
        let (jobs, given) = mpsc::channel();
        let (opened, opening) = mpsc::channel();
        let (endpoint, login) = (endpoint.clone(), login.clone());
        let connect = move || Admin::connect(engine.dialect(), &endpoint, &login, ANSWER_LIMIT);
        let serve = move || match connect() {
            Ok(admin) => {
                let _ = opened.send(Ok(()));
                answer(admin, &given, &connect);
            }
            Err(error) => drop(opened.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("monitor".to_owned()).spawn(serve)?;
        let session = Session { jobs: Some(jobs), thread: Some(thread) };
        let opened = opening.recv().context("the monitoring session ended before it began")?;
        opened.context("cannot open a monitoring session")?;
        Ok(Monitor { kind: engine.kind(), observe, session: Arc::new(session) })
    }

    pub fn counters(&self) -> Result<Counters> {
        self.ask(|observe, admin| observe.counters(admin))
    }

    /// What is left of deferred work, by the names of [`DeferredWork::amounts`]; empty where nothing of
    /// it can be seen.
    pub fn outstanding(&self) -> Result<BTreeMap<&'static str, f64>> {
        self.ask(|observe, admin| observe.outstanding(admin))
    }

    pub fn deferred_work(&self) -> &'static DeferredWork {
        self.observe.deferred_work()
    }

    /// Whether the server may be asked once a second while a load runs.
    pub fn can_sample(&self) -> bool {
        self.observe.sample().is_some()
    }

    /// Asks for a sample; who cannot wait for the answer need not.
    pub fn sample(&self) -> Result<mpsc::Receiver<Result<Counters>>> {
        let sample = self.observe.sample().context("this engine is not sampled")?;
        self.send(move |_, admin| sample(admin))
    }

    pub fn waits(&self) -> Option<Waits> {
        self.observe.waits()
    }

    /// Runs a request that only the engine can make.
    pub fn ask_for<T: Send + 'static>(&self, question: fn(&mut Admin) -> Result<T>) -> Result<T> {
        self.ask(move |_, admin| question(admin))
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Observe, &mut Admin) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.send(question)?.recv().map_err(|_| lost())?
    }

    fn send<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Observe, &mut Admin) -> Result<T> + Send + 'static,
    ) -> Result<mpsc::Receiver<Result<T>>> {
        let observe = self.observe;
        let (reply, answer) = mpsc::channel();
        let job: Job = Box::new(move |admin| {
            let answer = question(observe, admin);
            let is_lost = answer.as_ref().is_err_and(is_loss);
            // It is dropped when the caller has gone on without it.
            let _ = reply.send(answer);
            is_lost
        });
        self.session.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(lost)?;
        Ok(answer)
    }
}

/// A server that was made to do at once what it deferred, by a session of its own: a checkpoint answers only
/// when it is done. Dropped before its end, nothing is put back.
pub struct Hastened {
    session: Monitor,
    closer: Closer,
    asked: mpsc::Receiver<Result<Vec<String>>>,
    /// What puts the settings back; None until the server has answered.
    restore: Option<Vec<String>>,
}

impl Hastened {
    pub fn begin(session: Monitor) -> Result<Hastened> {
        let closer = session.ask(|_, admin| Ok(admin.closer()))?;
        let asked = session.send(|observe, admin| {
            admin.set_timeout(None)?;
            observe.hasten(admin).context("the server cannot be made to do what it put off")
        })?;
        Ok(Hastened { session, closer, asked, restore: None })
    }

    /// Has the server not answered yet? Fails where it cannot do it.
    pub fn is_at_work(&mut self) -> Result<bool> {
        if self.restore.is_none() {
            self.restore = match self.asked.try_recv() {
                Ok(answer) => Some(answer?),
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => return Err(lost()),
            };
        }
        Ok(self.restore.is_none())
    }

    /// Puts the settings back; a statement that still works is not waited for.
    pub fn end(mut self) -> Result<()> {
        self.is_at_work()?;
        let restore = self.restore.clone().unwrap_or_default();
        if restore.is_empty() {
            return Ok(());
        }
        self.session.ask(move |_, admin| {
            let put_back = |sql: &String| admin.run(sql).map(drop).with_context(|| format!("`{sql}` failed"));
            restore.iter().try_for_each(put_back).context("cannot put the settings back")
        })
    }
}

impl Drop for Hastened {
    fn drop(&mut self) {
        // The session ends with its thread, which must not wait for a checkpoint then.
        if self.is_at_work().unwrap_or(true) {
            self.closer.close();
        }
    }
}

fn lost() -> anyhow::Error {
    anyhow!("the monitoring session is lost")
}

fn is_loss(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(driver::Error::Lost { .. })))
}

/// A pooler may leave a question without an answer while clients use all its sessions; the next question has a session of
/// its own again.
fn answer(mut admin: Admin, jobs: &mpsc::Receiver<Job>, connect: &dyn Fn() -> Result<Admin, driver::Error>) {
    let mut is_lost = false;
    for job in jobs {
        if is_lost && let Ok(again) = connect() {
            admin = again;
        }
        is_lost = job(&mut admin);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.jobs = None;
        // An embedded engine tidies its files when its last session ends: that is over when this returns.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a monitoring session of {}", self.kind)
    }
}
