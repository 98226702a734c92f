//! The agents of one launch: how they come in, and what is heard of them.
//!
//! Each has a thread that reads its channel. An agent that is silent for too long, or whose channel closes, is lost.
//! Long messages are decoded one after the other by who takes them: the tallies of all workers come at once, and as
//! histograms they are many times as long as on the wire.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use experiment::{Cluster, Launcher as Kind};
use load::monotonic_ns;
use trial::{ClientCpus, Interrupted};

use crate::agent::BEAT;
use crate::channel::{Channel, Sender, log_frame};
use crate::clock::{Exchange, Offset};
use crate::frame::{self, Broken};
use crate::launch::{Launcher, launcher};
use crate::message::{Boot, Connect, Hello, PROTOCOL, ToAgent, ToCoordinator};
use crate::process;
use crate::trust::{Identity, is_proof};

/// What a peer may send, and how long it may take, before it has shown who it is.
const HELLO_BYTES_MAX: usize = 4096;
const HELLO_WITHIN: Duration = Duration::from_secs(10);
const REFUSED_MAX: u32 = 10;
/// Questions for the time, of which the quickest answer counts. Along a slow path fewer are enough: their answers take
/// much longer than what disturbs them.
const EXCHANGES: u32 = 32;
const EXCHANGES_MIN: u32 = 4;
const EXCHANGES_WITHIN: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(50);
/// A longer message waits as the bytes that it came as.
const DECODED_AT_ONCE_MAX: usize = 4096;
/// Wall clocks further apart would make logs misleading.
const WALL_APART_MS: i64 = 1000;
const STEADY_CLOCKS: [&str; 3] = ["tsc", "kvm-clock", "arch_sys_counter"];

/// One agent of a launch.
pub struct Worker {
    pub hello: Hello,
    heard_ns: Arc<AtomicU64>,
}

impl Worker {
    /// `worker 2 on n2`
    pub fn name(&self) -> String {
        name(&self.hello)
    }
}

fn name(hello: &Hello) -> String {
    format!("worker {} on {}", hello.place.unwrap_or_default() + 1, hello.host)
}

/// A message of a worker, and when it was there.
pub struct Received {
    pub worker: usize,
    pub at_ns: u64,
    pub message: ToCoordinator,
}

/// The same on its way to who takes it.
struct Heard {
    worker: usize,
    at_ns: u64,
    what: Result<Decoded, Broken>,
}

enum Decoded {
    Yes(ToCoordinator),
    NotYet(Vec<u8>),
}

/// A worker that is no more.
pub struct Lost {
    pub worker: usize,
    pub what: String,
}

pub struct Fleet {
    launcher: Box<dyn Launcher>,
    pub workers: Vec<Worker>,
    /// One for each worker. Empty closes all channels.
    senders: Arc<Mutex<Vec<Sender>>>,
    inbox: mpsc::Receiver<Heard>,
    outbox: mpsc::Sender<Heard>,
    lost_after: Duration,
    is_over: Arc<AtomicBool>,
}

/// Who has come, or why someone was turned away.
enum Arrival {
    In(Channel, Box<Hello>),
    Refused(String),
}

impl Fleet {
    /// Starts all agents, and returns when each has shown who it is.
    pub fn launch(cluster: &Cluster, run: &str, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<Fleet> {
        let binary = std::env::current_exe().context("cannot find this program")?;
        Fleet::launch_by(launcher(cluster, run, binary), cluster, run, interrupted, print)
    }

    pub fn launch_by(
        launcher: Box<dyn Launcher>,
        cluster: &Cluster,
        run: &str,
        interrupted: &AtomicBool,
        print: &dyn Fn(&str),
    ) -> Result<Fleet> {
        let door = (cluster.launcher == Kind::Slurm).then(|| Door::open(cluster)).transpose()?;
        let connect = door.as_ref().map_or(Connect::Stdio, |door| door.connect.clone());
        let lost_after_ms = cluster.lost_after.as_millis() as u64;
        let boot = Boot { protocol: PROTOCOL, run: run.to_owned(), place: None, connect, lost_after_ms };
        let secret = cluster.secret_file.as_ref().map(|path| BootFile::write(path, &boot)).transpose()?;
        let boot = secret.as_ref().map_or(boot, |file| Boot {
            connect: Connect::File { path: file.0.clone() },
            ..boot_like(run, lost_after_ms)
        });
        let (outbox, inbox) = mpsc::channel();
        let mut fleet = Fleet {
            launcher,
            workers: Vec::new(),
            senders: Arc::default(),
            inbox,
            outbox,
            lost_after: cluster.lost_after,
            is_over: Arc::default(),
        };
        let (arrive, arrivals) = mpsc::channel();
        for channel in fleet.launcher.launch(&boot)? {
            greet_stdio(channel, arrive.clone());
        }
        let _door = door.map(|door| door.keep(arrive.clone(), cluster.workers() as usize));
        let came = fleet.wait_for_all(cluster, &arrivals, interrupted, print);
        match came.and_then(|came| fleet.admit(came)) {
            Ok(()) => Ok(fleet),
            Err(error) => {
                fleet.end();
                Err(error)
            }
        }
    }

    fn wait_for_all(
        &mut self,
        cluster: &Cluster,
        arrivals: &mpsc::Receiver<Arrival>,
        interrupted: &AtomicBool,
        print: &dyn Fn(&str),
    ) -> Result<BTreeMap<u32, (Channel, Hello)>> {
        let (begun, own) = (Instant::now(), process::hello()?);
        let mut came: BTreeMap<u32, (Channel, Hello)> = BTreeMap::new();
        let (mut refused, mut said) = (0, String::new());
        while came.len() < cluster.workers() as usize {
            match arrivals.recv_timeout(POLL) {
                Ok(Arrival::In(channel, hello)) => {
                    refused = 0;
                    let place = self.place_of(&channel, &hello, cluster, &own, &came)?;
                    came.insert(place, (channel, *hello));
                    continue;
                }
                Ok(Arrival::Refused(why)) => {
                    refused += 1;
                    print(&format!("refused a worker: {why}"));
                    if refused == REFUSED_MAX {
                        bail!("{REFUSED_MAX} would-be workers in a row could not show that this run started them");
                    }
                }
                Err(_) => {}
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let now_said = self.launcher.said();
            if now_said != said && !now_said.is_empty() {
                print(&format!("{}: {now_said}", cluster.launcher.word()));
                said = now_said;
            }
            let ended = self.launcher.poll();
            if ended.is_some() || begun.elapsed() > cluster.launch_timeout {
                return Err(not_all(cluster, &came, ended, begun.elapsed()));
            }
        }
        Ok(came)
    }

    /// The place of a worker that may be one.
    fn place_of(
        &self,
        channel: &Channel,
        hello: &Hello,
        cluster: &Cluster,
        own: &Hello,
        came: &BTreeMap<u32, (Channel, Hello)>,
    ) -> Result<u32> {
        if let Some(why) = unlike(hello, own) {
            bail!("{} {why}", name(hello));
        }
        let place = hello.place.filter(|place| *place < cluster.workers());
        let place = place.ok_or_else(|| anyhow!("an agent at {} has no place among the workers", channel.peer))?;
        if let Some((first, _)) = came.get(&place) {
            bail!("two agents claim to be worker {}: one at {}, one at {}", place + 1, first.peer, channel.peer);
        }
        Ok(place)
    }

    fn admit(&mut self, came: BTreeMap<u32, (Channel, Hello)>) -> Result<()> {
        for (place, (channel, hello)) in came {
            let sender = Sender::new(channel.to);
            sender.send(&ToAgent::Welcome { worker: place })?;
            self.senders.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
            let heard_ns = Arc::new(AtomicU64::new(monotonic_ns()));
            let (heard, outbox, mut from) = (Arc::clone(&heard_ns), self.outbox.clone(), channel.from);
            let read = move || {
                loop {
                    let what = receive(&mut from);
                    let at_ns = monotonic_ns();
                    heard.store(at_ns, Ordering::Relaxed);
                    let is_broken = what.is_err();
                    let is_beat = matches!(what, Ok(Decoded::Yes(ToCoordinator::Beat { .. })));
                    if !is_beat && outbox.send(Heard { worker: place as usize, at_ns, what }).is_err() || is_broken {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name("receive".to_owned()).spawn(read)?;
            self.workers.push(Worker { hello, heard_ns });
        }
        let (senders, is_over) = (Arc::clone(&self.senders), Arc::clone(&self.is_over));
        let beat = move || {
            while !is_over.load(Ordering::Relaxed) {
                let message = ToAgent::Beat { now_ns: monotonic_ns() };
                senders.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|one| drop(one.send(&message)));
                std::thread::sleep(BEAT);
            }
        };
        std::thread::Builder::new().name("beat".to_owned()).spawn(beat)?;
        Ok(())
    }

    pub fn send(&self, worker: usize, message: &ToAgent) -> Result<()> {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.get(worker).map_or(Ok(()), |sender| Ok(sender.send(message)?))
    }

    /// What comes next within this time; an error when any worker is lost.
    pub fn next(&mut self, wait: Duration) -> Result<Option<Received>, Lost> {
        let received = match self.inbox.recv_timeout(wait) {
            Ok(Heard { worker, at_ns, what }) => {
                let message = what.and_then(Decoded::message);
                let message = message.map_err(|broken| Lost { worker, what: format!("was lost: {broken}") })?;
                Some(Received { worker, at_ns, message })
            }
            Err(_) => None,
        };
        let now_ns = monotonic_ns();
        for (worker, one) in self.workers.iter().enumerate() {
            let silent_ns = now_ns.saturating_sub(one.heard_ns.load(Ordering::Relaxed));
            if u128::from(silent_ns) > self.lost_after.as_nanos() {
                let what = format!("was lost: silent for {:.1} s", silent_ns as f64 / 1e9);
                return Err(Lost { worker, what });
            }
        }
        Ok(received)
    }

    /// A worker's clock compared with ours. What else comes meanwhile is kept for the caller.
    pub fn offset(&mut self, worker: usize, others: &mut Vec<Received>) -> Result<Offset, Lost> {
        let (mut exchanges, begun) = (Vec::new(), Instant::now());
        for number in 0..EXCHANGES {
            if number >= EXCHANGES_MIN && begun.elapsed() > EXCHANGES_WITHIN {
                break;
            }
            let sent_ns = monotonic_ns();
            if let Err(error) = self.send(worker, &ToAgent::Time { number }) {
                return Err(Lost { worker, what: format!("cannot be asked for the time: {error}") });
            }
            while exchanges.len() <= number as usize {
                match self.next(POLL)? {
                    Some(Received {
                        worker: from,
                        at_ns,
                        message: ToCoordinator::Time { number: answered, now_ns },
                    }) => {
                        if (from, answered) == (worker, number) {
                            exchanges.push(Exchange { sent_ns, theirs_ns: now_ns, back_ns: at_ns });
                        }
                    }
                    other => others.extend(other),
                }
            }
        }
        Ok(Offset::of(&exchanges).unwrap_or_default())
    }

    /// Ends all agents; names those that are not proven to be gone.
    pub fn end(&mut self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let agents: Vec<Hello> = self.workers.iter().map(|worker| worker.hello.clone()).collect();
        self.launcher.end(&agents)
    }

    /// `4 workers by slurm: n1 (2), n2 (2); job 41.0`, and what is odd about them.
    pub fn described(&self, cluster: &Cluster) -> String {
        let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
        self.workers.iter().for_each(|worker| *hosts.entry(&worker.hello.host).or_default() += 1);
        let hosts: Vec<String> = hosts.iter().map(|(host, workers)| format!("{host} ({workers})")).collect();
        let workers = if self.workers.len() == 1 { "worker" } else { "workers" };
        let launcher = cluster.launcher.word();
        let mut text = format!("{} {workers} by {launcher}: {}", self.workers.len(), hosts.join(", "));
        if let Some(step) = self.workers.iter().find_map(|worker| worker.hello.step.as_ref()) {
            let _ = write!(text, "; job {step}");
        }
        for worker in &self.workers {
            let hello = &worker.hello;
            if !STEADY_CLOCKS.contains(&hello.clock_source.as_str()) {
                let _ = write!(text, "\n{}: the clock source is {}", worker.name(), hello.clock_source);
            }
            let apart_ms = hello.wall_ms - process::wall_ms();
            if apart_ms.abs() > WALL_APART_MS + HELLO_WITHIN.as_millis() as i64 {
                let secs = apart_ms as f64 / 1e3;
                let _ = write!(text, "\n{}: its wall clock is {secs:.1} s off; logs will mislead", worker.name());
            }
        }
        text
    }

    /// Threads and CPUs of each worker: workers on one kernel share its CPUs out equally, where there are enough.
    pub fn cpus(&self, here: &ClientCpus) -> Vec<(u32, Vec<usize>)> {
        let own = process::boot_id();
        let cpus_of = |(index, worker): (usize, &Worker)| {
            let same = |other: &&Worker| other.hello.boot_id == worker.hello.boot_id;
            let on_host = self.workers.iter().filter(same).count();
            let place = self.workers[..index].iter().filter(same).count();
            let is_here = worker.hello.boot_id == own;
            // Where client and server share all CPUs, so do the workers.
            let allowed = if is_here { &here.cpus } else { &worker.hello.cpus };
            let each = allowed.len() / on_host;
            match each {
                0 => (1, allowed.clone()),
                _ => (each as u32, allowed[place * each..(place + 1) * each].to_vec()),
            }
        };
        self.workers.iter().enumerate().map(cpus_of).collect()
    }
}

impl Decoded {
    fn message(self) -> Result<ToCoordinator, Broken> {
        match self {
            Decoded::Yes(message) => Ok(message),
            Decoded::NotYet(bytes) => frame::decoded(&bytes).inspect(|message| log_frame("received", message)),
        }
    }
}

fn receive(from: &mut impl std::io::Read) -> Result<Decoded, Broken> {
    let bytes = frame::read_bytes(from, frame::BYTES_MAX)?;
    if bytes.len() > DECODED_AT_ONCE_MAX {
        return Ok(Decoded::NotYet(bytes));
    }
    Decoded::NotYet(bytes).message().map(Decoded::Yes)
}

impl Drop for Fleet {
    /// No agent outlives its run.
    fn drop(&mut self) {
        self.end();
    }
}

fn boot_like(run: &str, lost_after_ms: u64) -> Boot {
    Boot { protocol: PROTOCOL, run: run.to_owned(), place: None, connect: Connect::Stdio, lost_after_ms }
}

/// Why an agent cannot work for this coordinator.
fn unlike(hello: &Hello, own: &Hello) -> Option<String> {
    let short = |hello: &Hello| format!("{} ({}...)", hello.version, hello.binary_sha256.get(..8).unwrap_or_default());
    let next = "next: copy this binary there, or name its place with `binary` in [cluster]";
    let is_other = hello.protocol != own.protocol || hello.binary_sha256 != own.binary_sha256;
    is_other.then(|| format!("runs dbduel {}, the coordinator {}\n  {next}", short(hello), short(own)))
}

fn not_all(
    cluster: &Cluster,
    came: &BTreeMap<u32, (Channel, Hello)>,
    ended: Option<String>,
    within: Duration,
) -> anyhow::Error {
    let missing = (0..cluster.workers()).filter(|place| !came.contains_key(place));
    let missing: Vec<String> = missing.map(|place| (place + 1).to_string()).collect();
    let why = ended.map_or_else(String::new, |why| format!("; {why}"));
    let (came, all) = (came.len(), cluster.workers());
    anyhow!("{came} of {all} workers came within {:.1} s; missing: {}{why}", within.as_secs_f64(), missing.join(", "))
}

/// Who speaks on a child's standard output is the child.
fn greet_stdio(mut channel: Channel, arrive: mpsc::Sender<Arrival>) {
    let greet = move || {
        let arrival = match frame::read(&mut channel.from, HELLO_BYTES_MAX) {
            Ok(ToCoordinator::Hello(hello)) => Arrival::In(channel, hello),
            Ok(_) => Arrival::Refused(format!("{} did not introduce itself", channel.peer)),
            // How it ended, its launcher reports.
            Err(Broken::Closed) => return,
            Err(broken) => Arrival::Refused(format!("{}: {broken}", channel.peer)),
        };
        let _ = arrive.send(arrival);
    };
    let _ = std::thread::Builder::new().name("greet".to_owned()).spawn(greet);
}

/// A file that only its owner reads; removed when it is not needed any more.
struct BootFile(PathBuf);

impl BootFile {
    fn write(path: &std::path::Path, boot: &Boot) -> Result<BootFile> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = opened.with_context(|| format!("cannot make the boot file {}", path.display()))?;
        file.write_all(serde_json::to_string(boot)?.as_bytes())?;
        Ok(BootFile(path.to_owned()))
    }
}

impl Drop for BootFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Where agents connect that do so by themselves.
struct Door {
    listener: TcpListener,
    identity: Identity,
    connect: Connect,
}

/// Closes the door.
struct Doorkeeper(Arc<AtomicBool>);

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Door {
    fn open(cluster: &Cluster) -> Result<Door> {
        let listen = match &cluster.listen {
            Some(listen) => listen.clone(),
            None => format!("{}:0", std::fs::read_to_string("/proc/sys/kernel/hostname")?.trim()),
        };
        let next = "next: give the address that workers reach this host by: listen = \"10.0.0.2:0\" in [cluster]";
        let addresses = listen.to_socket_addrs().map(Vec::from_iter);
        let addresses = addresses.with_context(|| format!("`{listen}` is no address of this host\n  {next}"))?;
        let listener =
            TcpListener::bind(&addresses[..]).with_context(|| format!("cannot listen at {listen}\n  {next}"))?;
        listener.set_nonblocking(true)?;
        let identity = Identity::new()?;
        let (certificate, token) = (identity.certificate.clone(), identity.token.clone());
        let connect = Connect::Tls { address: listener.local_addr()?.to_string(), certificate, token };
        Ok(Door { listener, identity, connect })
    }

    /// Lets in who can show the token, until the keeper is dropped.
    fn keep(self, arrive: mpsc::Sender<Arrival>, workers: usize) -> Doorkeeper {
        let closed = Arc::new(AtomicBool::new(false));
        let is_closed = Arc::clone(&closed);
        let watch = move || {
            let (identity, inside) = (Arc::new(self.identity), Arc::new(AtomicUsize::new(0)));
            let mut pending: Vec<(Instant, TcpStream, Arc<AtomicBool>)> = Vec::new();
            while !is_closed.load(Ordering::Relaxed) {
                // A peer that takes longer than this is cut off.
                pending.retain(|(since, tcp, is_greeted)| {
                    if is_greeted.load(Ordering::Acquire) {
                        return false;
                    }
                    if since.elapsed() > HELLO_WITHIN {
                        let _ = tcp.shutdown(Shutdown::Both);
                    }
                    true
                });
                let Ok((tcp, _)) = self.listener.accept() else {
                    std::thread::sleep(POLL / 10);
                    continue;
                };
                if inside.load(Ordering::Relaxed) >= 2 * workers {
                    continue;
                }
                let is_greeted = Arc::new(AtomicBool::new(false));
                pending.extend(tcp.try_clone().ok().map(|tcp| (Instant::now(), tcp, Arc::clone(&is_greeted))));
                let (identity, arrive, count) = (Arc::clone(&identity), arrive.clone(), Arc::clone(&inside));
                count.fetch_add(1, Ordering::Relaxed);
                let greet = move || {
                    let arrival = greet_tls(&identity, tcp).unwrap_or_else(Arrival::Refused);
                    is_greeted.store(true, Ordering::Release);
                    count.fetch_sub(1, Ordering::Relaxed);
                    let _ = arrive.send(arrival);
                };
                let _ = std::thread::Builder::new().name("greet".to_owned()).spawn(greet);
            }
        };
        let _ = std::thread::Builder::new().name("door".to_owned()).spawn(watch);
        Doorkeeper(closed)
    }
}

fn greet_tls(identity: &Identity, tcp: TcpStream) -> Result<Arrival, String> {
    let peer = tcp.peer_addr().map_or_else(|_| "someone".to_owned(), |peer| peer.to_string());
    let because = |why: String| format!("{peer}: {why}");
    // Accepted sockets do not inherit it everywhere.
    tcp.set_nonblocking(false).map_err(|error| because(error.to_string()))?;
    tcp.set_read_timeout(Some(HELLO_WITHIN)).map_err(|error| because(error.to_string()))?;
    let forever = tcp.try_clone().map_err(|error| because(error.to_string()))?;
    let mut channel = identity.accept(tcp).map_err(|error| because(format!("{error:#}")))?;
    let hello = match frame::read(&mut channel.from, HELLO_BYTES_MAX) {
        Ok(ToCoordinator::Hello(hello)) => hello,
        Ok(_) => return Err(because("it did not introduce itself".to_owned())),
        Err(broken) => return Err(because(broken.to_string())),
    };
    let proof = hello.proof.as_deref().zip(channel.session.as_ref());
    if !proof.is_some_and(|(proof, session)| is_proof(proof, &identity.token, session)) {
        return Err(because("it does not have this run's token".to_owned()));
    }
    forever.set_read_timeout(None).map_err(|error| because(error.to_string()))?;
    Ok(Arrival::In(channel, hello))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::trust::{connect, proof};

    fn cluster() -> Cluster {
        let text = "contender = [{ target = \"mysql://u@db1/a\" }, { target = \"mysql://u@db1/b\" }]\n\
            workload = \"oltp_point_select\"\n[cluster]\nlauncher = \"slurm\"\nworkers = 2\nlisten = \"127.0.0.1:0\"\n";
        let known = experiment::Known {
            engines: engine::Engines(engines::ENGINES),
            workloads: load::Workloads(workloads::WORKLOADS),
            null_load: workloads::null_load,
            advised: workloads::ADVISED,
            shipped: &[],
        };
        let read = experiment::Experiment::parse(text, "a.toml", &known, &experiment::Overrides::default());
        read.map_err(|mistakes| mistakes.to_string()).unwrap().cluster.unwrap()
    }

    fn arrival(arrivals: &mpsc::Receiver<Arrival>) -> Result<u32, String> {
        match arrivals.recv_timeout(Duration::from_secs(20)).unwrap() {
            Arrival::In(_, hello) => Ok(hello.place.unwrap()),
            Arrival::Refused(why) => Err(why),
        }
    }

    #[test]
    fn only_who_shows_the_token_gets_in_and_the_others_hold_up_nobody() {
        let door = Door::open(&cluster()).unwrap();
        let Connect::Tls { address, certificate, token } = door.connect.clone() else { panic!("no address") };
        let (arrive, arrivals) = mpsc::channel();
        let _keeper = door.keep(arrive, 2);
        let call = |token: &str, place: u32| {
            let channel = connect(TcpStream::connect(&address).ok()?, &certificate).ok()?;
            let proof = channel.session.map(|session| proof(token, &session));
            let hello = Hello { proof, place: Some(place), ..Hello::default() };
            let sender = Sender::new(channel.to);
            sender.send(&ToCoordinator::Hello(Box::new(hello))).ok().map(|()| (sender, channel.from))
        };
        let _stranger = call("another token", 0).unwrap();
        assert!(arrival(&arrivals).unwrap_err().ends_with("it does not have this run's token"));
        TcpStream::connect(&address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(arrival(&arrivals).is_err(), "garbage before the proof");
        // Who only opens connections takes all places there are for a while, and is cut off.
        let idle: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(&address).ok()).collect();
        drop(idle);
        let begun = Instant::now();
        let _worker = loop {
            assert!(begun.elapsed() < Duration::from_secs(20));
            match call(&token, 1) {
                Some(worker) => break worker,
                None => std::thread::sleep(POLL),
            }
        };
        while arrival(&arrivals) != Ok(1) {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    }

    #[test]
    fn another_build_is_refused_with_both_versions() {
        let own =
            Hello { version: "0.2.0".into(), binary_sha256: "77ab0000cc".into(), protocol: 1, ..Hello::default() };
        let other = Hello { version: "0.1.0".into(), binary_sha256: "3f9c1111dd".into(), ..own.clone() };
        assert_eq!(unlike(&own, &own), None);
        let why = unlike(&other, &own).unwrap();
        assert!(why.starts_with("runs dbduel 0.1.0 (3f9c1111...), the coordinator 0.2.0 (77ab0000...)"), "{why}");
    }
}
