//! Further connections of one client, beside the one that it gets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use driver::{AnyConnection, Error, Reactor, Target};

/// What ends whatever the clients of a load wait for, or do.
#[derive(Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<Vec<End>>>);

type End = Box<dyn Fn() + Send>;

impl Ends {
    fn push(&self, end: impl Fn() + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(end));
    }

    pub(crate) fn end_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|end| end());
    }
}

/// Opens connections that are waited for, and cut off, as the client's first one is.
#[derive(Clone)]
pub struct Dial {
    pub(crate) target: Target,
    pub(crate) limit: Duration,
    /// The event loop of the client's worker, and its place there; without it connections block.
    pub(crate) polled: Option<(Arc<Reactor>, usize)>,
    pub(crate) ends: Ends,
}

impl Dial {
    /// Connections that block, outside of a load.
    pub fn blocking(target: Target, limit: Duration) -> Dial {
        Dial { target, limit, polled: None, ends: Ends::default() }
    }

    pub fn connect(&self) -> Result<AnyConnection, Error> {
        self.connect_as(&self.target)
    }

    /// Connects to another database of the same server.
    pub fn connect_to(&self, database: &str) -> Result<AnyConnection, Error> {
        let mut target = self.target.clone();
        target.login.database = Some(database.to_owned());
        self.connect_as(&target)
    }

    /// The server that it connects to, and how.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Connects by another way, or as someone else.
    pub fn connect_as(&self, target: &Target) -> Result<AnyConnection, Error> {
        let Target { dialect, endpoint, login } = target;
        let mut connection = AnyConnection::connect(*dialect, endpoint, login, self.limit)?;
        match &self.polled {
            Some((reactor, place)) => connection.attach(reactor, *place)?,
            None => connection.block()?,
        }
        let closer = connection.closer();
        self.ends.push(move || closer.close());
        Ok(connection)
    }

    /// The database of its connections, where they are in one.
    pub fn database(&self) -> Option<&str> {
        self.target.login.database.as_deref()
    }

    /// Has `end` called, perhaps several times, when clients are cut off: for those that do not wait for a server.
    pub fn when_cut_off(&self, end: impl Fn() + Send + 'static) {
        self.ends.push(end);
    }

    /// Ends every connection that was opened, whatever it waits for.
    pub fn cut_off(&self) {
        self.ends.end_all();
    }
}
