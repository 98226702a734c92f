//! The agent: one worker of a load, started by a launcher.
//!
//! It runs the load that a trial without agents runs, from its first connection to its tally. What must stay true: it
//! ends, with every connection to the database, when its channel closes or the coordinator is silent. The threads
//! that see to this do nothing else, so that a load thread that hangs holds up neither.

#![expect(unsafe_code, reason = "ends without a destructor")]

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine as _;
use engine::Listening;
use experiment::Known;
use load::{
    ArrivalShare, ErrorPolicy, Live, Load, LoadOptions, Measured, Opener, Outcome, Share, TransactionLog, Window,
    Workload, monotonic_ns,
};
use trial::observe::{Observers, Readings, Subject};
use trial::{ClientCpus, host, null_server};

use crate::channel::{Channel, Sender};
use crate::frame;
use crate::message::{Boot, Connect, Hello, PROTOCOL, Task, ToAgent, ToCoordinator, dialect};
use crate::{process, trust};

/// How often either side shows that it is there.
pub const BEAT: Duration = Duration::from_millis(250);
const BOOT_BYTES_MAX: usize = 4096;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Response times of one message.
const RAW_VALUES: usize = 100_000;
const SECOND_NS: u64 = 1_000_000_000;
/// More than the observers of an interval take at its end.
const LET_GO_WITHIN: Duration = Duration::from_secs(8);

/// `dbduel agent`: what stands behind the word.
pub fn agent_main(words: &[OsString], known: &Known) -> ExitCode {
    let done = match words {
        [end, who] if end == "--end" => return ExitCode::from(process::end(&who.to_string_lossy())),
        [] => run(known),
        _ => Err(anyhow!("`dbduel agent` takes no arguments but --end PID:START")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

const STARTED_BY: &str = "an agent is started by `dbduel run` of an experiment with [cluster], through its launcher, \
     and reads its orders on standard input\n  next: write launcher = \"local\", \"slurm\" or \"ssh\" in [cluster]";

fn run(known: &Known) -> Result<()> {
    ensure!(!std::io::stdin().is_terminal(), STARTED_BY);
    let line = boot_line(&mut std::io::stdin())?;
    let boot: Boot = serde_json::from_str(&line).ok().context(STARTED_BY)?;
    let boot = match &boot.connect {
        Connect::File { path } => serde_json::from_str(&private_text(path)?).context("the boot file is none")?,
        _ => boot,
    };
    ensure!(boot.protocol == PROTOCOL, "the coordinator has protocol {}, this agent {PROTOCOL}", boot.protocol);
    process::forbid_cores();
    let (channel, proof) = connect(&boot.connect)?;
    let hello = Hello { proof, place: boot.place.or_else(process::place), ..process::hello()? };
    serve(channel, hello, Duration::from_millis(boot.lost_after_ms), known)
}

/// What stands before the first line's end. Frames may follow on the same stream, so not a byte more is read.
pub(crate) fn boot_line(from: &mut impl Read) -> Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < BOOT_BYTES_MAX && from.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).ok().context(STARTED_BY)
}

fn private_text(path: &Path) -> Result<String> {
    let meta = fs::metadata(path).with_context(|| format!("cannot read the boot file {}", path.display()))?;
    let is_private = meta.mode() & 0o077 == 0 && meta.uid() == nix::unistd::geteuid().as_raw();
    ensure!(is_private, "{} is readable by others, or another user's", path.display());
    Ok(fs::read_to_string(path)?)
}

pub(crate) fn connect(how: &Connect) -> Result<(Channel, Option<String>)> {
    let Connect::Tls { address, certificate, token } = how else {
        let (from, to) = (Box::new(std::io::stdin()), Box::new(std::io::stdout()));
        return Ok((Channel { from, to, peer: "the coordinator".to_owned(), session: None }, None));
    };
    let address = address.parse().with_context(|| format!("`{address}` is no address"))?;
    let tcp = TcpStream::connect_timeout(&address, CONNECT_WITHIN)
        .with_context(|| format!("cannot reach the coordinator at {address}"))?;
    let channel = trust::connect(tcp, certificate)?;
    let proof = channel.session.map(|session| trust::proof(token, &session));
    Ok((channel, proof))
}

/// What the threads of an agent share.
struct Shared {
    sender: Sender,
    /// When the coordinator was last heard.
    heard_ns: AtomicU64,
    /// Opens the interval of the load that runs.
    opener: Mutex<Option<Opener>>,
    /// The interval that was opened last.
    window: Mutex<Option<Window>>,
    /// The load that runs is to end.
    stopped: AtomicBool,
    /// The end of the interval has been observed.
    is_let_go: AtomicBool,
}

fn serve(channel: Channel, hello: Hello, lost_after: Duration, known: &Known) -> Result<()> {
    let Channel { mut from, to, .. } = channel;
    let sender = Sender::new(to);
    sender.send(&ToCoordinator::Hello(Box::new(hello)))?;
    let worker = match frame::read(&mut from, frame::BYTES_MAX) {
        Ok(ToAgent::Welcome { worker }) => worker,
        Ok(ToAgent::Refuse { reason }) => bail!("refused: {reason}"),
        Ok(_) => bail!("the coordinator did not greet"),
        Err(broken) => bail!("the coordinator is gone: {broken}"),
    };
    let heard_ns = AtomicU64::new(monotonic_ns());
    let (opener, window) = (Mutex::default(), Mutex::default());
    let (stopped, is_let_go) = (AtomicBool::new(false), AtomicBool::new(false));
    let shared = Arc::new(Shared { sender, heard_ns, opener, window, stopped, is_let_go });
    let (orders, inbox) = mpsc::channel();
    let receiving = Arc::clone(&shared);
    std::thread::Builder::new().name("receive".to_owned()).spawn(move || receive(from, &receiving, &orders))?;
    let beating = Arc::clone(&shared);
    std::thread::Builder::new().name("beat".to_owned()).spawn(move || beat(&beating))?;
    let guarding = Arc::clone(&shared);
    std::thread::Builder::new().name("guard".to_owned()).spawn(move || guard(&guarding, lost_after))?;
    let agent = Agent { shared, inbox, known: *known, worker };
    agent.obey()
}

/// Ends this process at once: no thread is waited for, and every connection closes.
fn end_at_once(status: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(status) }
}

/// Takes what cannot wait itself, and hands on the rest.
fn receive(mut from: Box<dyn Read + Send>, shared: &Shared, orders: &mpsc::Sender<ToAgent>) {
    loop {
        let Ok(message) = frame::read(&mut from, frame::BYTES_MAX) else { end_at_once(0) };
        let now_ns = monotonic_ns();
        shared.heard_ns.store(now_ns, Ordering::Relaxed);
        let reached = |what: &str, start_ns: u64| {
            let ahead_ns = start_ns as i64 - now_ns as i64;
            let _ = shared.sender.send(&ToCoordinator::Reached { what: what.to_owned(), ahead_ns });
        };
        match message {
            ToAgent::Time { number } => drop(shared.sender.send(&ToCoordinator::Time { number, now_ns })),
            ToAgent::Beat { .. } => {}
            ToAgent::Open { start_ns, end_ns } => {
                if let Some(opener) = shared.opener.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    let window = Window { start_ns, end_ns };
                    *shared.window.lock().unwrap_or_else(PoisonError::into_inner) = Some(window);
                    opener.open(window);
                }
                reached("open", start_ns);
            }
            ToAgent::LetGo => shared.is_let_go.store(true, Ordering::Relaxed),
            ToAgent::Go { start_ns } => {
                shared.is_let_go.store(false, Ordering::Relaxed);
                reached("go", start_ns);
                let _ = orders.send(ToAgent::Go { start_ns });
            }
            other => {
                if matches!(other, ToAgent::Stop { .. }) {
                    shared.stopped.store(true, Ordering::Relaxed);
                }
                let _ = orders.send(other);
            }
        }
    }
}

fn beat(shared: &Shared) {
    loop {
        let _ = shared.sender.send(&ToCoordinator::Beat { now_ns: monotonic_ns() });
        std::thread::sleep(BEAT);
    }
}

fn guard(shared: &Shared, lost_after: Duration) {
    loop {
        std::thread::sleep(BEAT / 2);
        let silent_ns = monotonic_ns().saturating_sub(shared.heard_ns.load(Ordering::Relaxed));
        if u128::from(silent_ns) > lost_after.as_nanos() {
            end_at_once(3);
        }
    }
}

struct Agent {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<ToAgent>,
    known: Known,
    worker: u32,
}

impl Agent {
    fn obey(&self) -> Result<()> {
        let mut watch = Watch::default();
        while let Ok(order) = self.inbox.recv() {
            match order {
                ToAgent::Describe(server) => self.send(&described(&server))?,
                ToAgent::Watch(server) => {
                    watch.begin(&server);
                    self.send(&ToCoordinator::Watching)?;
                }
                ToAgent::Look => {
                    let Readings { values, seconds, .. } = watch.end();
                    self.send(&ToCoordinator::Seen { values, seconds })?;
                }
                ToAgent::Prepare(task) => {
                    self.shared.stopped.store(false, Ordering::Relaxed);
                    self.carry_out(&task)?;
                    *self.opener() = None;
                }
                ToAgent::Ceiling { dialect, clients, threads, cpus } => {
                    let answer = match self.ceiling(&dialect, clients, threads, &cpus) {
                        Ok(statements_per_s) => ToCoordinator::Ceiling { statements_per_s },
                        Err(error) => ToCoordinator::Fail { message: format!("{error:#}") },
                    };
                    self.send(&answer)?;
                }
                ToAgent::Stop { .. } => self.send(&ToCoordinator::Stopped)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn send(&self, message: &ToCoordinator) -> Result<()> {
        Ok(self.shared.sender.send(message)?)
    }

    fn opener(&self) -> std::sync::MutexGuard<'_, Option<Opener>> {
        self.shared.opener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One trial's load, from the first connection to the tally.
    fn carry_out(&self, task: &Task) -> Result<()> {
        let log = task.keep_raw.then(|| Arc::new(TransactionLog::new(task.threads.max(1) as usize)));
        let prepared = self.workload(task).and_then(|workload| {
            let target = task.target().context("unknown words")?;
            let options = options(task, &workload, &target, log.clone());
            Ok(Load::prepare(&workload, &target, options, &self.shared.stopped)?)
        });
        let mut load = match prepared {
            Ok(load) => load,
            Err(error) => return self.send(&ToCoordinator::Fail { message: format!("{error:#}") }),
        };
        *self.opener() = Some(load.opener());
        self.send(&ToCoordinator::Ready)?;
        let Some(start_ns) = self.wait_for_go() else {
            drop(load);
            return self.send(&ToCoordinator::Stopped);
        };
        let at_ns = load.start_at(start_ns);
        self.send(&ToCoordinator::Began { at_ns })?;
        let (mut raw, mut last_ns) = (Raw::new(log), 0);
        let mut live = |now: Live| {
            raw.drain();
            if now.now_ns.saturating_sub(last_ns) >= SECOND_NS {
                last_ns = now.now_ns;
                let _ = self.shared.sender.send(&ToCoordinator::Second { tps: now.tps });
            }
        };
        let warmed_up = load.warm_up_until_open(&mut live);
        let Measured { tally, failure } = match warmed_up {
            Ok(()) => load.measure_open(&mut live, &mut || self.wait_until_let_go()),
            Err(failure) => Measured { tally: load.give_up(), failure: Some(failure) },
        };
        let window = self.shared.window.lock().unwrap_or_else(PoisonError::into_inner).take();
        raw.send(&self.shared.sender, window)?;
        let failure = failure.map(|failure| failure.to_string());
        self.send(&ToCoordinator::Tally { tally: Box::new(tally), failure })
    }

    /// The coordinator reads what the server counted before its clients go. A trial does not hang on it.
    fn wait_until_let_go(&self) {
        let (shared, begun) = (&self.shared, Instant::now());
        while !shared.is_let_go.load(Ordering::Relaxed) && !shared.stopped.load(Ordering::Relaxed) {
            if begun.elapsed() > LET_GO_WITHIN {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// None where the load is to end before it begins.
    fn wait_for_go(&self) -> Option<u64> {
        loop {
            match self.inbox.recv().ok()? {
                ToAgent::Go { start_ns } => return Some(start_ns),
                ToAgent::Stop { .. } => return None,
                _ => {}
            }
        }
    }

    fn workload(&self, task: &Task) -> Result<Arc<dyn Workload>> {
        let kind = self.known.workloads.find(&task.workload).context("an unknown workload")?;
        Ok(kind.with(&task.options)?.into())
    }

    /// Statements a second against a server that does nothing, on this host.
    fn ceiling(&self, name: &str, clients: u32, threads: u32, cpus: &[usize]) -> Result<f64> {
        let folder = std::env::temp_dir().join(format!("dbduel-agent-{}-{}", std::process::id(), self.worker));
        fs::DirBuilder::new().mode(0o700).create(&folder).context("cannot make a folder for a socket")?;
        let client_cpus = ClientCpus { workers: threads, ..ClientCpus::new(cpus, &[], host::cpus().len()) };
        let sent = (self.known.null_load)(false)?;
        let dialect = dialect(name).context("an unknown dialect")?;
        let seen = null_server::measure(&sent, dialect, clients, &client_cpus, &folder, &AtomicBool::new(false));
        let _ = fs::remove_dir_all(&folder);
        seen?.value(record::format::CheckRecord::STATEMENTS).context("nothing was measured")
    }
}

/// Observes a server of this host that dbduel did not start.
#[derive(Default)]
struct Watch {
    observers: Observers,
    subject: Option<Subject>,
}

impl Watch {
    /// One that was not ended, since nobody asked what was seen, is given up.
    fn begin(&mut self, server: &Listening) {
        self.end();
        let subject = Subject { server_pid: server.pid(), among_others: true, ..Subject::default() };
        self.observers.begin(self.subject.insert(subject));
    }

    fn end(&mut self) -> Readings {
        self.subject.take().map_or_else(Readings::default, |subject| self.observers.end(&subject))
    }
}

/// A server works in the folder of its data.
fn described(server: &Listening) -> ToCoordinator {
    let server_pid = server.pid();
    let data = server_pid.and_then(|pid| fs::read_link(format!("/proc/{pid}/cwd")).ok());
    let host = Box::new(host::describe(&data.unwrap_or_else(|| PathBuf::from("/"))));
    ToCoordinator::Host { server_pid, host }
}

fn options(
    task: &Task,
    workload: &Arc<dyn Workload>,
    target: &driver::Target,
    log: Option<Arc<TransactionLog>>,
) -> LoadOptions {
    let arrivals = ArrivalShare::new(task.place, &task.weights);
    LoadOptions {
        clients: task.clients,
        share: Some(Share { clients: task.own.clone(), arrivals }),
        workers: task.threads,
        cpus: task.cpus.clone(),
        input_seed: task.input_seed,
        data_seed: task.data_seed,
        interval_max: Duration::from_millis(task.interval_ms),
        drain_max: Duration::from_millis(task.drain_ms),
        rate: task.rate.map(crate::message::WireRate::rate),
        policy: ErrorPolicy { ignored: workload.ignored_errors(target.dialect), ..ErrorPolicy::default() },
        windows: task.window_ms.map(Duration::from_millis),
        log,
        ..LoadOptions::default()
    }
}

/// Response times as they were measured, where the user keeps them.
struct Raw {
    log: Option<Arc<TransactionLog>>,
    /// Due and response time of each transaction that ran.
    values: Vec<(u64, u64)>,
}

impl Raw {
    fn new(log: Option<Arc<TransactionLog>>) -> Raw {
        Raw { log, values: Vec::new() }
    }

    fn drain(&mut self) {
        let Some(log) = &self.log else { return };
        log.drain(|_, line| {
            if line.outcome != Outcome::Skipped {
                self.values.push((line.timing.due_ns, line.timing.end_ns - line.timing.due_ns));
            }
        });
    }

    /// Those of transactions that were due in the interval.
    fn send(mut self, sender: &Sender, window: Option<Window>) -> Result<()> {
        self.drain();
        self.values.retain(|(due_ns, _)| window.is_some_and(|window| window.contains(*due_ns)));
        let Some(log) = &self.log else { return Ok(()) };
        ensure!(log.lost() == 0, "{} response times found no room", log.lost());
        for part in self.values.chunks(RAW_VALUES) {
            let bytes: Vec<u8> = part.iter().flat_map(|(_, took_ns)| took_ns.to_le_bytes()).collect();
            sender.send(&ToCoordinator::Raw { values: base64::engine::general_purpose::STANDARD.encode(bytes) })?;
        }
        Ok(())
    }
}
