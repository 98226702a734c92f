//! A server that is correct up to a step, and then does mischief on every connection that comes so far.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use driver::{Dialect, Honest};

use super::mischief::{Act, Kind, Mischief, messages, packets};

/// What is done, and from which answer of that kind on, over all connections.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub mischief: Mischief,
    pub at: Kind,
    pub from: usize,
    /// No table is there yet, so that they can be made.
    pub is_empty: bool,
}

/// A byte that comes so late that ten of them outlast the longest limit.
const DRIP: Duration = Duration::from_secs(4);

pub struct Server {
    place: Place,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum Place {
    Socket(PathBuf),
    Port(u16),
}

trait Stream: Read + Write + Send {
    fn end(&self);
    fn give_up_after(&self, limit: Duration);
}

impl Stream for UnixStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    fn give_up_after(&self, limit: Duration) {
        let _ = self.set_read_timeout(Some(limit));
    }
}

impl Stream for TcpStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    fn give_up_after(&self, limit: Duration) {
        let _ = self.set_read_timeout(Some(limit));
    }
}

impl Server {
    /// On the socket file, or on a port of loopback where there is none.
    pub fn start(dialect: Dialect, plan: Plan, socket: &Option<PathBuf>) -> Result<Server> {
        let stop = Arc::new(AtomicBool::new(false));
        let host = Host { dialect, plan, seen: AtomicUsize::new(0), stop: Arc::clone(&stop) };
        let host = Arc::new(host);
        let (place, thread) = match socket {
            Some(path) => {
                let listener = UnixListener::bind(path).context("cannot listen on a socket file")?;
                let thread = std::thread::spawn(move || {
                    host.serve(|| Ok(Box::new(listener.accept()?.0)));
                });
                (Place::Socket(path.clone()), thread)
            }
            None => {
                let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
                let port = listener.local_addr()?.port();
                let thread = std::thread::spawn(move || {
                    host.serve(|| Ok(Box::new(listener.accept()?.0)));
                });
                (Place::Port(port), thread)
            }
        };
        Ok(Server { place, stop, thread: Some(thread) })
    }

    pub fn url(&self) -> String {
        match &self.place {
            Place::Socket(path) => format!("mysql://app@localhost/bench?socket={}", path.display()),
            Place::Port(port) => format!("postgres://app@127.0.0.1:{port}/bench"),
        }
    }

    /// What a message that names the server holds.
    pub fn name(&self) -> String {
        match &self.place {
            Place::Socket(path) => path.display().to_string(),
            Place::Port(port) => format!("127.0.0.1:{port}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the listener, which then finds that it is over.
        let woken = match &self.place {
            Place::Socket(path) => UnixStream::connect(path).is_ok(),
            Place::Port(port) => TcpStream::connect(("127.0.0.1", *port)).is_ok(),
        };
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

struct Host {
    dialect: Dialect,
    plan: Plan,
    /// Answers of the planned kind so far.
    seen: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Host {
    fn serve(self: Arc<Host>, mut accept: impl FnMut() -> std::io::Result<Box<dyn Stream>>) {
        let mut sessions = Vec::new();
        while let Ok(stream) = accept() {
            if self.stop.load(Ordering::Acquire) {
                break;
            }
            stream.give_up_after(Duration::from_millis(200));
            let host = Arc::clone(&self);
            sessions.push(std::thread::spawn(move || {
                // A client that has left is no failure of the server.
                let _ = host.attend(stream);
            }));
        }
        sessions.into_iter().for_each(|session| drop(session.join()));
    }

    fn attend(&self, mut stream: Box<dyn Stream>) -> Result<()> {
        let mut honest = Honest::new(self.dialect).context("no server speaks like this")?;
        let greeting = honest.greeting();
        if !greeting.is_empty() {
            self.reply(&mut *stream, Kind::Greeting, greeting)?;
        }
        let (mut requests, mut is_in) = (Vec::new(), false);
        loop {
            let bytes = self.read(&mut *stream)?;
            requests.extend_from_slice(&bytes);
            let kind = self.kind(&requests, is_in);
            let answer = honest.answer(&bytes)?;
            if answer.is_empty() {
                continue;
            }
            let answer = if self.asks_for_a_table(&requests) { missing(self.dialect) } else { answer };
            self.reply(&mut *stream, kind, answer)?;
            requests.clear();
            is_in = true;
        }
    }

    /// Waits for a request, and for the end of everything.
    fn read(&self, stream: &mut dyn Stream) -> Result<Vec<u8>> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => bail!("the client has left"),
                Ok(count) => return Ok(buffer[..count].to_vec()),
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if self.stop.load(Ordering::Acquire) => bail!("over"),
                Err(_) => {}
            }
        }
    }

    fn kind(&self, request: &[u8], is_in: bool) -> Kind {
        let letter = if self.dialect == Dialect::Postgres { request.first() } else { request.get(4) };
        match letter {
            _ if !is_in => Kind::Login,
            Some(0x16 | b'P') => Kind::Prepare,
            Some(0x17 | b'B') => Kind::Execute,
            _ => Kind::Text,
        }
    }

    fn asks_for_a_table(&self, request: &[u8]) -> bool {
        self.plan.is_empty && request.windows(11).any(|words| words == b"WHERE 1 = 0")
    }

    fn reply(&self, stream: &mut dyn Stream, kind: Kind, honest: Vec<u8>) -> Result<()> {
        let is_due = kind == self.plan.at && self.seen.fetch_add(1, Ordering::Relaxed) >= self.plan.from;
        let acts = if is_due { self.plan.mischief.acts(self.dialect, kind, honest) } else { vec![Act::Send(honest)] };
        acts.into_iter().try_for_each(|act| self.perform(stream, act))
    }

    fn perform(&self, stream: &mut dyn Stream, act: Act) -> Result<()> {
        match act {
            Act::Send(bytes) => stream.write_all(&bytes)?,
            Act::Drip(bytes) => {
                for byte in bytes {
                    stream.write_all(&[byte])?;
                    self.pause(stream, DRIP)?;
                }
            }
            Act::Forever(bytes) => loop {
                stream.write_all(&bytes)?;
                // Many of them at a time would leave no CPU to those that they talk to.
                std::thread::sleep(Duration::from_millis(1));
                if self.stop.load(Ordering::Acquire) {
                    bail!("over");
                }
            },
            Act::Hold => loop {
                self.read(stream)?;
            },
            Act::Close => {
                stream.end();
                bail!("closed");
            }
        }
        Ok(())
    }

    fn pause(&self, stream: &mut dyn Stream, time: Duration) -> Result<()> {
        let mut byte = [0];
        for _ in 0..time.as_millis() / 200 {
            // The read's own time-out is the pause.
            if matches!(stream.read(&mut byte), Ok(0)) || self.stop.load(Ordering::Acquire) {
                bail!("over");
            }
        }
        Ok(())
    }
}

/// What a server answers that has no such table.
fn missing(dialect: Dialect) -> Vec<u8> {
    match dialect {
        Dialect::Postgres => messages(&[(b'E', b"SERROR\0VERROR\0C42P01\0Mno such relation\0\0"), (b'Z', b"I")]),
        _ => packets(1, &[b"\xff\x7a\x04#42S02no such table"]),
    }
}

/// A file of an experiment with this server as a target, beside SQLite.
pub fn experiment(server: &Server, folder: &Path) -> Result<PathBuf> {
    let path = folder.join("experiment.toml");
    let text = format!(
        "name = \"hostile\"\n\
         [[contender]]\nname = \"a\"\ntarget = \"{url}\"\noverwrite = true\n\
         [[contender]]\nname = \"b\"\nengine = \"sqlite\"\n\
         [workload]\nname = \"oltp_point_select\"\nrows = 100\nclients = 2\n\
         [method]\nduration = \"1s\"\nwarmup = \"0s\"\nblocks = 1\nnoisy_host = \"stamp\"\n",
        url = server.url()
    );
    std::fs::write(&path, text).context("cannot write an experiment")?;
    Ok(path)
}
