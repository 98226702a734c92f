//! Nothing outlives dbduel: every server runs below a keeper.
//!
//! dbduel never spawns a server itself. It starts its own binary as `__keeper`, which starts the
//! program, reports its pid and its end, passes signals on, and kills every descendant as soon as
//! dbduel's end of their socket closes: the kernel closes it however dbduel ends, `kill -9`
//! included. The keeper does not depend on databases. What must stay true: it is the reaper of
//! all its descendants (a daemon that forks twice stays below it), it leaves only when none is
//! left, and a program never starts without a keeper.

#![expect(unsafe_code, reason = "what happens between fork and exec, and how signals are handled")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use crate::inside::Inside;
use crate::network;

pub use crate::account::Account;
use crate::account::parse_account;

/// The hidden subcommand; `main` hands it to [`keeper_main`] before anything else.
pub const SUBCOMMAND: &str = "__keeper";
const NOTE_SHARED_MEMORY: &str = "note shared memory";
/// Where a password may stand that belongs into no file and no command line.
pub const PASSWORD_VARIABLE: &str = "DBDUEL_PASSWORD";
/// The URL of a team's store of runs, which may hold a password, and where that password may stand instead.
pub const STORE_VARIABLE: &str = "DBDUEL_STORE";
pub const STORE_PASSWORD_VARIABLE: &str = "DBDUEL_STORE_PASSWORD";
/// No program that dbduel starts has these in its environment.
pub const SECRET_VARIABLES: [&str; 3] = [PASSWORD_VARIABLE, STORE_VARIABLE, STORE_PASSWORD_VARIABLE];
/// Enough for every server and small enough that none sizes a table by "unlimited".
const OPEN_FILES_MAX: u64 = 65_536;

/// What a keeper shall run.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment; `None` inherits dbduel's (package clients need proxies and homes).
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Folders for `LD_LIBRARY_PATH`, which must not apply to the keeper itself.
    pub libraries: Vec<PathBuf>,
    /// The root of an image, where it runs in one.
    pub inside: Option<Inside>,
    pub account: Option<Account>,
    pub directory: Option<PathBuf>,
    /// Standard output and standard error are appended here.
    pub log: PathBuf,
    pub stdin: Option<PathBuf>,
    /// CPUs the program may run on; all where it is empty.
    pub cores: Vec<usize>,
    /// The list of a control group's processes, which keeper and program join.
    pub group: Option<PathBuf>,
    /// The link into the network namespace that keeper and program run in; the host's network where it is absent.
    pub network: Option<u16>,
    /// What the kernel sends to the program when the keeper itself is killed; SIGKILL where it is absent.
    pub signal_without_keeper: Option<i32>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Status(i32),
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Exit::Status(status) => write!(f, "exited with status {status}"),
            Exit::Signal(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

impl Program {
    pub fn new(path: impl Into<PathBuf>, log: &Path) -> Program {
        Program { path: path.into(), log: log.to_owned(), ..Program::default() }
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Program {
        self.args.push(arg.into());
        self
    }

    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Program {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs to its end below a keeper; past `limit` it is killed, which is an error.
    pub fn run(&self, limit: Duration) -> Result<Exit> {
        let mut kept = Kept::start(self)?;
        match kept.wait(limit)? {
            Some(exit) => Ok(exit),
            None => bail!("{} did not end within {} s", self.path.display(), limit.as_secs()),
        }
    }

    /// The keeper's own arguments; [`Orders::parse`] reads them back.
    fn keeper_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![SUBCOMMAND.into(), "--log".into(), self.log.clone().into()];
        let mut option = |name: &str, value: OsString| args.extend([name.into(), value]);
        // Only who may mount can enter a root: there the account is taken behind that.
        if let (Some(Account { uid, gid }), None) = (self.account, &self.inside) {
            option("--account", format!("{uid}:{gid}").into());
        }
        if let Some(directory) = &self.directory {
            option("--directory", directory.into());
        }
        if let Some(stdin) = &self.stdin {
            option("--stdin", stdin.into());
        }
        for folder in &self.libraries {
            option("--library", folder.into());
        }
        for core in &self.cores {
            option("--core", core.to_string().into());
        }
        if let Some(group) = &self.group {
            option("--group", group.clone().into());
        }
        if let Some(link) = self.network {
            option("--network", link.to_string().into());
        }
        if let Some(signal) = self.signal_without_keeper {
            option("--signal-without-keeper", signal.to_string().into());
        }
        args.push("--".into());
        if let Some(inside) = &self.inside {
            args.push("/proc/self/exe".into());
            args.extend(inside.arguments(self.account));
        }
        args.push(self.path.clone().into());
        args.extend(self.args.iter().cloned());
        args
    }
}

/// A program that runs below a keeper of its own. Dropping it kills the program and all it started.
#[derive(Debug)]
pub struct Kept {
    keeper: std::process::Child,
    control: BufReader<UnixStream>,
    line: String,
    pid: u32,
    exit: Option<Exit>,
}

impl Kept {
    pub fn start(program: &Program) -> Result<Kept> {
        // The link is read by the child, where it names this same binary, even when the file was
        // replaced by an upgrade in the meantime.
        Kept::start_with(Path::new("/proc/self/exe"), program)
    }

    fn start_with(keeper: &Path, program: &Program) -> Result<Kept> {
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket pair for the keeper")?;
        let mut command = Command::new(keeper);
        command.args(program.keeper_args()).stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        for name in SECRET_VARIABLES {
            command.env_remove(name);
        }
        if let Some(environment) = &program.environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        // SAFETY: setsid is async-signal-safe and touches no memory of the parent.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        let keeper = command.spawn().context("cannot start the keeper")?;
        // The command holds the other end of the socket until it is dropped.
        drop(command);
        kept_sockets().insert(keeper.id(), ours.try_clone().context("cannot keep the keeper's socket")?);
        let mut kept = Kept { keeper, control: BufReader::new(ours), line: String::new(), pid: 0, exit: None };
        kept.pid = kept.read_start().with_context(|| format!("cannot start {}", program.path.display()))?;
        Ok(kept)
    }

    fn read_start(&mut self) -> Result<u32> {
        let line = self.read_line(None)?.context("the keeper ended at once")?;
        match line.split_once(' ') {
            Some(("pid", pid)) => pid.parse().context("the keeper sent no pid"),
            Some(("failed", why)) => bail!("{why}"),
            _ => bail!("the keeper sent {line:?}"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to the program (not to what it started), by way of the keeper, which can tell
    /// whether the pid is still the program's.
    pub fn signal(&mut self, signal: i32) -> Result<()> {
        let sent = writeln!(self.control.get_mut(), "signal {signal}");
        sent.context("the keeper is gone")
    }

    /// Has the keeper note the shared memory of everything that runs now. A server whose first process is killed by
    /// somebody else takes the list of its shared memory with it.
    pub fn note_shared_memory(&mut self) -> Result<()> {
        writeln!(self.control.get_mut(), "{NOTE_SHARED_MEMORY}").context("the keeper is gone")
    }

    /// How the program ended, if it did.
    pub fn poll(&mut self) -> Result<Option<Exit>> {
        self.wait(Duration::ZERO)
    }

    /// Waits until the program ends, `limit` at most.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<Exit>> {
        if self.exit.is_none()
            && let Some(line) = self.read_line(Some(limit))?
        {
            self.exit = Some(match line.split_once(' ') {
                Some(("status", status)) => Exit::Status(status.parse().context("bad status from the keeper")?),
                Some(("signal", signal)) => Exit::Signal(signal.parse().context("bad signal from the keeper")?),
                _ => bail!("the keeper sent {line:?}"),
            });
        }
        Ok(self.exit)
    }

    /// One line from the keeper, or none within the limit.
    fn read_line(&mut self, limit: Option<Duration>) -> Result<Option<String>> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            // A zero timeout would mean "for ever".
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
            self.control.get_ref().set_read_timeout(left)?;
            match self.control.read_line(&mut self.line) {
                Ok(0) => bail!("the keeper of process {} died", self.pid),
                Ok(_) => return Ok(Some(std::mem::take(&mut self.line).trim_end().to_owned())),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if deadline.is_some_and(|at| Instant::now() >= at) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error).context("cannot hear the keeper"),
            }
        }
    }
}

/// Our ends of the sockets of all living keepers, by the keeper's pid.
fn kept_sockets() -> MutexGuard<'static, BTreeMap<u32, UnixStream>> {
    static SOCKETS: Mutex<BTreeMap<u32, UnixStream>> = Mutex::new(BTreeMap::new());
    SOCKETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every program that runs below a keeper now, from whatever thread. Who waits for one gets
/// an error soon; this is how an interruption reaches a download or a load that takes minutes.
pub fn end_all() {
    ENDED.store(true, Ordering::Relaxed);
    for socket in kept_sockets().values() {
        let _ = socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Whether programs were ended by [`end_all`]: other waits end too.
pub fn is_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

static ENDED: AtomicBool = AtomicBool::new(false);

impl Drop for Kept {
    fn drop(&mut self) {
        // Before the wait: afterwards the pid may be another keeper's.
        kept_sockets().remove(&self.keeper.id());
        let _ = self.control.get_ref().shutdown(std::net::Shutdown::Both);
        // The keeper leaves only when no descendant is left: after this, none is.
        let _ = self.keeper.wait();
    }
}

/// The keeper's side of [`Program::keeper_args`].
#[derive(Debug, Default)]
struct Orders {
    log: PathBuf,
    account: Option<(u32, u32)>,
    directory: Option<PathBuf>,
    stdin: Option<PathBuf>,
    libraries: Vec<OsString>,
    cores: Vec<usize>,
    group: Option<PathBuf>,
    network: Option<u16>,
    signal_without_keeper: Option<i32>,
    program: Vec<OsString>,
}

impl Orders {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Orders> {
        let mut orders = Orders::default();
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            if name == "--" {
                orders.program = args.collect();
                break;
            }
            let value = args.next().context("an option without a value")?;
            match name.to_str().unwrap_or("") {
                "--log" => orders.log = value.into(),
                "--account" => orders.account = Some(parse_account(&value.to_string_lossy())?),
                "--directory" => orders.directory = Some(value.into()),
                "--stdin" => orders.stdin = Some(value.into()),
                "--library" => orders.libraries.push(value),
                "--core" => orders.cores.push(value.to_string_lossy().parse()?),
                "--group" => orders.group = Some(value.into()),
                "--network" => orders.network = Some(value.to_string_lossy().parse()?),
                "--signal-without-keeper" => orders.signal_without_keeper = Some(value.to_string_lossy().parse()?),
                other => bail!("unknown option {other}"),
            }
        }
        anyhow::ensure!(!orders.program.is_empty(), "no program");
        Ok(orders)
    }
}

/// Is the keeper; `args` are what follows the subcommand. Never returns.
///
/// Call it on the main thread, before any other thread exists: the kernel sends the program its
/// parent-death signal when the *thread* that started it ends.
pub fn keeper_main(args: impl IntoIterator<Item = OsString>) -> ! {
    let mut control = match take_control_socket() {
        Ok(control) => control,
        Err(_) => std::process::exit(2), // Started by hand: there is nobody to tell.
    };
    become_keeper();
    let child = Orders::parse(args).and_then(|orders| spawn(&orders));
    match child {
        Err(error) => {
            let _ = writeln!(control, "failed {error:#}");
            std::process::exit(1);
        }
        Ok(pid) => {
            let program = Arc::new(Mutex::new(Some(pid)));
            let _ = writeln!(control, "pid {pid}");
            if let Ok(answers) = control.try_clone() {
                let program = Arc::clone(&program);
                std::thread::spawn(move || reap(pid, &program, answers));
            }
            let noted = obey(control, &program);
            kill_descendants(noted);
            std::process::exit(0);
        }
    }
}

/// Moves the socket away from standard input, so that no program inherits it.
fn take_control_socket() -> std::io::Result<UnixStream> {
    let null = File::open("/dev/null")?;
    // SAFETY: plain descriptor calls; the duplicate is owned by the stream alone.
    unsafe {
        let fd = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 10);
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        libc::dup2(null.as_raw_fd(), 0);
        // Whatever else was inherited (a make jobserver, a shell's descriptors) stays here.
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        Ok(UnixStream::from_raw_fd(fd))
    }
}

/// Ignores what a terminal sends, and becomes the parent of every orphan below.
fn become_keeper() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler takes the place of the usual one, and no thread exists yet.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    _ = set_child_subreaper(true);
    raise_open_files(OPEN_FILES_MAX);
}

/// Lets this process open as many files as it may, `most` at the most; returns how many those are.
pub fn raise_open_files(most: u64) -> u64 {
    let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    let files = hard.min(most);
    _ = setrlimit(Resource::RLIMIT_NOFILE, files, hard);
    files
}

/// In one line, as all that a keeper answers.
const OTHER_ACCOUNT: &str =
    " as another account, which needs access to the folders above it (DBDUEL_CACHE can name another folder)";

fn spawn(orders: &Orders) -> Result<i32> {
    let log = OpenOptions::new().create(true).append(true).open(&orders.log);
    let log = log.with_context(|| format!("cannot open the log {}", orders.log.display()))?;
    let stdin = File::open(orders.stdin.as_deref().unwrap_or(Path::new("/dev/null")))?;
    let mut command = Command::new(&orders.program[0]);
    command.args(&orders.program[1..]).stdin(stdin).stdout(log.try_clone()?).stderr(log);
    if let Some((uid, gid)) = orders.account {
        // The standard library also drops the supplementary groups when root changes user.
        command.gid(gid).uid(uid);
    }
    if let Some(directory) = &orders.directory {
        command.current_dir(directory);
    }
    if !orders.libraries.is_empty() {
        command.env("LD_LIBRARY_PATH", std::env::join_paths(&orders.libraries)?);
    }
    pin(&orders.cores)?;
    join(orders.group.as_deref())?;
    orders.network.map_or(Ok(()), network::enter)?;
    let keeper = std::process::id() as i32;
    let signal = orders.signal_without_keeper.unwrap_or(libc::SIGKILL);
    // SAFETY: only async-signal-safe calls. They run after the change of user, which would clear
    // the parent-death signal.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::getppid() != keeper {
                libc::_exit(127); // The keeper died before the signal was armed.
            }
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| {
        let is_closed = orders.account.is_some() && error.kind() == ErrorKind::PermissionDenied;
        let why = if is_closed { OTHER_ACCOUNT } else { "" };
        anyhow::Error::from(error).context(format!("cannot execute {}{why}", orders.program[0].to_string_lossy()))
    })?;
    Ok(child.id() as i32)
}

fn pin(cores: &[usize]) -> Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = nix::sched::CpuSet::new();
    for core in cores {
        set.set(*core).with_context(|| format!("no CPU {core}"))?;
    }
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set).context("cannot pin the server to its cores")
}

/// Everything that starts from now on is in the control group.
fn join(group: Option<&Path>) -> Result<()> {
    let Some(processes) = group else { return Ok(()) };
    let joined = std::fs::write(processes, std::process::id().to_string());
    joined.with_context(|| format!("cannot join the control group {}", processes.display()))
}

/// Reaps everything that ends below the keeper and reports the end of the program itself.
fn reap(pid: i32, program: &Mutex<Option<i32>>, mut answers: UnixStream) {
    loop {
        // SAFETY: both calls write only to the locals given to them.
        let (ended, status) = unsafe {
            // Look first, reap under the lock: until then the pid cannot belong to anyone else.
            let mut info: libc::siginfo_t = std::mem::zeroed();
            if libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT) != 0 {
                if std::io::Error::last_os_error().kind() == ErrorKind::Interrupted {
                    continue;
                }
                return; // No child left, and only children can make more.
            }
            let mut held = program.lock().expect("no holder of the pid panics");
            let mut status = 0;
            let ended = libc::waitpid(info.si_pid(), &mut status, 0);
            if ended == pid {
                *held = None;
            }
            (ended, ExitStatus::from_raw(status))
        };
        if ended == pid {
            let _ = match status.code() {
                Some(code) => writeln!(answers, "status {code}"),
                None => writeln!(answers, "signal {}", status.signal().unwrap_or(0)),
            };
        }
    }
}

/// Passes signals on until dbduel's end of the socket closes. Returns the shared memory that was noted by then.
fn obey(control: UnixStream, program: &Mutex<Option<i32>>) -> BTreeSet<SharedMemory> {
    let mut lines = BufReader::new(control);
    let mut line = String::new();
    let mut noted = BTreeSet::new();
    while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        if line.trim_end() == NOTE_SHARED_MEMORY {
            noted.extend(descendants(std::process::id() as i32).iter().flat_map(|pid| shared_memory(*pid)));
        }
        let signal = line.trim_end().strip_prefix("signal ").and_then(|number| number.parse::<i32>().ok());
        if let (Some(signal), Some(pid)) = (signal, *program.lock().expect("no holder of the pid panics")) {
            // The lock keeps the pid unreaped, so it is the program's.
            _ = Signal::try_from(signal).and_then(|signal| kill(Pid::from_raw(pid), signal));
        }
        line.clear();
    }
    noted
}

/// Kills until nothing is left: a process may fork between the listing and the signal.
fn kill_descendants(mut shared: BTreeSet<SharedMemory>) {
    loop {
        let below = descendants(std::process::id() as i32);
        if below.is_empty() {
            break;
        }
        shared.extend(below.iter().flat_map(|pid| shared_memory(*pid)));
        for pid in below {
            // A descendant stays ours (subreaper), so the pid is not reused while it is listed.
            _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    reap_the_dead();
    let segments: Vec<SharedMemory> = shared.iter().flat_map(dynamic_segments).collect();
    shared.extend(segments);
    release(shared);
}

/// A dead process keeps its pid until it is reaped, and PostgreSQL does not start while the pid in `postmaster.pid` is
/// taken.
fn reap_the_dead() {
    while waitpid(None, None).is_ok() {}
}

/// `PG_DYNSHMEM_CONTROL_MAGIC`, and the bytes in front of the items.
const CONTROL_MAGIC: u32 = 0x9a50_3d32;
const CONTROL_HEADER: usize = 16;

/// Shared memory stays when all its users are killed, and PostgreSQL's would pile up.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SharedMemory {
    SystemV(i32),
    File(PathBuf),
}

fn shared_memory(pid: i32) -> Vec<SharedMemory> {
    // Inside an image it goes with its last process, and its ids are others' out here.
    if !shares_memory(pid) {
        return Vec::new();
    }
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().filter_map(parse_mapping).collect()
}

fn shares_memory(pid: i32) -> bool {
    let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/ipc")).ok();
    namespace(&pid.to_string()) == namespace("self")
}

/// From a line of `/proc/PID/maps`: `address modes offset device inode name`, where the inode of a
/// System V segment is its id.
fn parse_mapping(line: &str) -> Option<SharedMemory> {
    let mut fields = line.split_ascii_whitespace().skip(4);
    let (inode, name) = (fields.next()?, fields.next()?);
    if name.starts_with("/SYSV") {
        return Some(SharedMemory::SystemV(inode.parse().ok()?));
    }
    // Nothing else that a server may have mapped there: files of its data directory on tmpfs are mapped too.
    name.starts_with("/dev/shm/PostgreSQL.").then(|| SharedMemory::File(name.into()))
}

/// The segments that a control segment of PostgreSQL lists: those of its statistics outlive who mapped them.
fn dynamic_segments(memory: &SharedMemory) -> Vec<SharedMemory> {
    let SharedMemory::File(path) = memory else { return Vec::new() };
    let handles = std::fs::read(path).ok().and_then(|bytes| parse_control_segment(&bytes)).unwrap_or_default();
    let file = |handle| SharedMemory::File(path.with_file_name(format!("PostgreSQL.{handle}")));
    handles.into_iter().map(file).collect()
}

/// `magic u32, items u32, room for items u32, (padding)`, then items that begin with `handle u32, references u32`; how
/// long an item is differs by version, and follows from the room.
fn parse_control_segment(bytes: &[u8]) -> Option<Vec<u32>> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if word(0)? != CONTROL_MAGIC {
        return None;
    }
    let (items, room) = (word(4)? as usize, word(8)? as usize);
    let length = bytes.len().checked_sub(CONTROL_HEADER)?.checked_div(room)?;
    let item = |item: usize| Some((word(CONTROL_HEADER + item * length)?, word(CONTROL_HEADER + item * length + 4)?));
    let used = (0..items.min(room)).filter_map(item).filter(|(_, references)| *references > 0);
    Some(used.map(|(handle, _)| handle).collect())
}

/// Removes what no other process uses.
fn release(shared: BTreeSet<SharedMemory>) {
    if shared.is_empty() {
        return;
    }
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let in_use: BTreeSet<SharedMemory> = pids.flat_map(shared_memory).collect();
    for memory in shared.difference(&in_use) {
        match memory {
            // SAFETY: removes a segment by its id; a null buffer is what IPC_RMID expects.
            SharedMemory::SystemV(id) => drop(unsafe { libc::shmctl(*id, libc::IPC_RMID, std::ptr::null_mut()) }),
            SharedMemory::File(path) => drop(std::fs::remove_file(path)),
        }
    }
}

/// Every living process below `ancestor`.
pub(super) fn descendants(ancestor: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, living_parent(pid)?)))
        .collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// The parent of a process; none for a zombie that waits to be reaped (it has no children).
fn living_parent(pid: i32) -> Option<i32> {
    let mut stat = Vec::new();
    File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut stat).ok()?;
    parse_parent(&String::from_utf8_lossy(&stat))
}

/// From a line of `/proc/PID/stat`: `pid (name) state ppid …`, where the name may hold anything.
fn parse_parent(stat: &str) -> Option<i32> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_hide_the_parent() {
        assert_eq!(parse_parent("7 (a) S 9 (b) S 3 1 1"), Some(3));
        assert_eq!(parse_parent("7 (mysqld) S 12 7 7 0"), Some(12));
    }

    #[test]
    fn a_zombie_is_not_a_living_descendant() {
        assert_eq!(parse_parent("7 (sh) Z 12 7 7 0"), None);
    }

    #[test]
    fn shared_memory_is_found_among_the_mappings() {
        let file = "7f3c0000-7f3d0000 rw-s 00000000 00:1b 123                 /dev/shm/PostgreSQL.1297801552";
        assert_eq!(parse_mapping(file), Some(SharedMemory::File("/dev/shm/PostgreSQL.1297801552".into())));
        let data = "7f3c0000-7f3d0000 rw-s 00000000 00:1b 123                 /dev/shm/dbduel-0/7-0/data/ib_logfile0";
        assert_eq!(parse_mapping(data), None);
        let segment = "7f3c0000-7f3c1000 rw-s 00000000 00:01 34               /SYSV000e23c2 (deleted)";
        assert_eq!(parse_mapping(segment), Some(SharedMemory::SystemV(34)));
        assert_eq!(parse_mapping("7f3c0000-7f3c1000 r-xp 00000000 fe:00 99 /usr/lib/libc.so.6"), None);
        assert_eq!(parse_mapping("7f3c0000-7f3c1000 rw-p 00000000 00:00 0"), None);
    }

    #[test]
    fn segments_that_are_used_are_read_from_the_control_segment_of_each_version() {
        // Room for three: 24 bytes an item up to PostgreSQL 13, 40 from 14 on.
        for length in [24, 40] {
            let mut bytes = vec![0; CONTROL_HEADER + 3 * length];
            let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
            [CONTROL_MAGIC, 2, 3].into_iter().zip(0..).for_each(|(word, place)| put(4 * place, word));
            put(CONTROL_HEADER, 1_635_890_292);
            put(CONTROL_HEADER + 4, 2);
            // An item that is free again keeps its handle.
            put(CONTROL_HEADER + length, 77);
            assert_eq!(parse_control_segment(&bytes), Some(vec![1_635_890_292]), "{length}");
            bytes[0] = 0;
            assert_eq!(parse_control_segment(&bytes), None, "some other segment");
        }
    }

    #[test]
    fn orders_arrive_as_they_were_given() {
        let program = Program {
            account: Some(Account { uid: 65534, gid: 65533 }),
            libraries: vec!["/l1".into(), "/l2".into()],
            cores: vec![0, 3],
            stdin: Some("/in".into()),
            directory: Some("/d".into()),
            signal_without_keeper: Some(libc::SIGQUIT),
            ..Program::new("/bin/server", Path::new("/log")).args(["--", "--log", "x y"])
        };
        let orders = Orders::parse(program.keeper_args().into_iter().skip(1)).unwrap();
        assert_eq!(orders.log, Path::new("/log"));
        assert_eq!(orders.account, Some((65534, 65533)));
        assert_eq!(orders.directory.as_deref(), Some(Path::new("/d")));
        assert_eq!(orders.stdin.as_deref(), Some(Path::new("/in")));
        assert_eq!(orders.signal_without_keeper, Some(libc::SIGQUIT));
        assert_eq!(orders.libraries, ["/l1", "/l2"]);
        assert_eq!(orders.cores, [0, 3]);
        assert_eq!(orders.program, ["/bin/server", "--", "--log", "x y"]);
    }

    #[test]
    fn a_child_of_this_process_is_found_below_it() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(descendants(std::process::id() as i32).contains(&(child.id() as i32)));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
