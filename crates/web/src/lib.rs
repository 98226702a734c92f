//! `dbduel serve`: stored runs, reports, comparisons, histories and running experiments as local web pages.
//!
//! It reads run folders and never writes: every route answers GET and HEAD alone. It listens on loopback only, answers
//! only to its own host names, so that no page of another site reaches it by a name that points here, and gives each
//! page a content-security policy that loads nothing from elsewhere. It runs at low priority: it is watched while
//! something else is measured.

mod http;
mod live;
mod pages;
mod routes;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use http::{Request, Response};
use routes::{Answer, Site};

/// Requests that are answered at the same time; a page and its files need a handful.
const CONNECTIONS_MAX: usize = 64;
/// Live pages that are open at the same time.
const STREAMS_MAX: usize = 16;
/// How soon an interruption ends the server.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);
/// Behind what is measured on this host.
const NICENESS: i32 = 10;

/// A listening server.
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
    open: Arc<Open>,
}

/// What is being answered.
#[derive(Default)]
struct Open {
    connections: AtomicUsize,
    streams: AtomicUsize,
}

impl Server {
    /// Listens on an address of this host's loopback; port 0 is any free one. A reader sees `place` as where the runs are.
    pub fn bind(address: SocketAddr, runs: PathBuf, place: &str) -> Result<Server> {
        ensure!(
            address.ip().is_loopback(),
            "{address} can be reached from other hosts: the pages have no password, so dbduel serves them on loopback only\n  \
             next: --listen 127.0.0.1:{}; from another host by `ssh -L {0}:127.0.0.1:{0} THIS_HOST`",
            address.port()
        );
        let listener = TcpListener::bind(address).with_context(|| {
            format!("cannot listen on {address}\n  next: --listen 127.0.0.1:0 takes any port that is free")
        })?;
        listener.set_nonblocking(true)?;
        let site = Arc::new(Site::new(runs, place, listener.local_addr()?));
        Ok(Server { listener, site, open: Arc::default() })
    }

    pub fn address(&self) -> SocketAddr {
        self.site.address
    }

    /// Answers until it is interrupted.
    #[expect(unsafe_code, reason = "niceness, which nix does not set")]
    pub fn run(&self, interrupted: &Arc<AtomicBool>) -> Result<()> {
        // SAFETY: plain integers, and no memory is handed over. A host that refuses it serves at normal priority.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
        while !interrupted.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => self.answer(stream, interrupted),
                // Nobody is there, the peer is gone again, or no file is left for it: the next one may do better.
                Err(_) => std::thread::sleep(INTERRUPTION_POLL),
            }
        }
        Ok(())
    }

    fn answer(&self, stream: TcpStream, interrupted: &Arc<AtomicBool>) {
        let Some(held) = Held::of(&self.open, |open| &open.connections, CONNECTIONS_MAX) else {
            let _ = stream
                .set_nonblocking(false)
                .and_then(|()| Response::error(503, "too many connections").send(&stream, false));
            return;
        };
        let (site, open, interrupted) = (Arc::clone(&self.site), Arc::clone(&self.open), Arc::clone(interrupted));
        let work = move || {
            let _held = held;
            // A reader that went away misses its answer; nobody else is concerned.
            let _ = converse(&stream, &site, &open, &interrupted);
        };
        // No thread left: the reader's browser says that the connection was closed.
        let _ = std::thread::Builder::new().name("web".to_owned()).spawn(work);
    }
}

/// One request and its answer; the connection ends with it.
fn converse(stream: &TcpStream, site: &Site, open: &Arc<Open>, interrupted: &AtomicBool) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let request = match Request::read(stream)? {
        Ok(request) => request,
        Err(refusal) => return refusal.send(stream, false),
    };
    match site.answer(&request) {
        Answer::Page(response) => response.send(stream, request.is_head),
        Answer::Events(_) if request.is_head => Response::events_head(stream),
        Answer::Events(run) => match Held::of(open, |open| &open.streams, STREAMS_MAX) {
            Some(_held) => {
                Response::events_head(stream)?;
                live::stream(&run, stream, interrupted)
            }
            None => Response::error(503, "too many live pages are open").send(stream, false),
        },
    }
}

/// One of a limited number, until it is dropped.
struct Held {
    open: Arc<Open>,
    counter: fn(&Open) -> &AtomicUsize,
}

impl Held {
    fn of(open: &Arc<Open>, counter: fn(&Open) -> &AtomicUsize, most: usize) -> Option<Held> {
        let held = Held { open: Arc::clone(open), counter };
        // Dropping it takes back what was added, also where it was one too many.
        (counter(open).fetch_add(1, Ordering::Relaxed) < most).then_some(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.counter)(&self.open).fetch_sub(1, Ordering::Relaxed);
    }
}
