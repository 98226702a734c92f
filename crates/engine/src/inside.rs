//! What a server needs around it to run as its makers built it, and the program that enters an image's root.
//!
//! A server out of an image runs in the root file system that came with it, in namespaces of its own for mounts and
//! System V memory: its libraries, its child programs and its compiled-in paths are the image's. It has this machine's
//! network only where clients come by TCP. Pids are this machine's, so that observers are the same for all; but processes
//! outside get no signal from inside, and are neither traced nor read there, where the kernel can refuse that (6.12).
//! dbduel starts its own binary as `__inside`, which builds the root and becomes the program: no process stays between.
//! What must stay true: of this machine's files a server inside sees only the folders that it was given, at the paths that
//! they have here.

mod mounts;
mod orders;

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use caps::CapSet;
use landlock::{Ruleset, RulesetAttr, Scope};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::{get_pdeathsig, set_pdeathsig};
use nix::unistd::{Gid, Uid, getegid, geteuid, getppid, setgid, setgroups, setuid};

use crate::account::Account;
use crate::network;
use orders::Orders;

/// The hidden subcommand; `main` hands it to [`inside_main`] before anything else.
pub const SUBCOMMAND: &str = "__inside";
/// A shell's status for a program that cannot be executed.
const CANNOT_EXECUTE: i32 = 126;

/// What is around the programs of an installation.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Folders for `LD_LIBRARY_PATH`.
    pub libraries: Vec<PathBuf>,
    /// None where they run among this machine's files.
    pub root: Option<Root>,
}

/// The root file system of an image, in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub folder: PathBuf,
    /// Variables of the image that change how its programs run: a preloaded allocator, for instance.
    pub variables: Vec<(String, String)>,
}

/// How one program runs inside a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    pub root: Root,
    /// A private folder, which holds what the program writes to `/tmp` and the like.
    pub scratch: PathBuf,
    /// Folders that it sees at the same path as outside, and may write to.
    pub places: Vec<PathBuf>,
    /// Has this machine's network, for clients that come by TCP. Without it there is a loopback that nobody else is on.
    pub has_network: bool,
}

impl Surroundings {
    /// How a program runs that may use these folders; the first one must be private to it.
    pub fn inside(&self, places: &[&Path]) -> Option<Inside> {
        let scratch = places.first().map_or_else(std::env::temp_dir, |first| (*first).to_owned());
        let places = places.iter().map(|place| (*place).to_owned()).collect();
        self.root.clone().map(|root| Inside { root, scratch, places, has_network: false })
    }

    /// A command that runs a program with what it needs around it, and nothing of dbduel's environment; `places` as in [`Surroundings::inside`].
    pub fn command(&self, program: &Path, places: &[&Path]) -> Result<Command> {
        let inside = self.inside(places);
        let mut command = Command::new(if inside.is_some() { Path::new("/proc/self/exe") } else { program });
        if let Some(inside) = inside {
            command.args(inside.arguments(None)).arg(program);
        }
        command.env_clear().envs(server_environment());
        if !self.libraries.is_empty() {
            command.env("LD_LIBRARY_PATH", std::env::join_paths(&self.libraries)?);
        }
        Ok(command)
    }
}

impl Inside {
    /// Those of this program, in front of the one to run and its own; [`Orders::parse`] reads them back.
    pub fn arguments(&self, account: Option<Account>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![SUBCOMMAND.into()];
        let mut option = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        option("--root", self.root.folder.clone().into());
        option("--scratch", self.scratch.clone().into());
        for place in &self.places {
            option("--place", place.into());
        }
        for (name, value) in &self.root.variables {
            option("--variable", format!("{name}={value}").into());
        }
        if self.has_network {
            option("--network", "host".into());
        }
        if let Some(Account { uid, gid }) = account {
            option("--account", format!("{uid}:{gid}").into());
        }
        arguments.push("--".into());
        arguments
    }
}

/// The environment of a server: nothing that could configure it or hold a secret.
pub fn server_environment() -> Vec<(OsString, OsString)> {
    let kept = ["PATH", "TZ"].iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    kept.chain([("LC_ALL".into(), "C".into())]).collect()
}

/// Fails where this machine does not let dbduel give a program a root of its own.
pub fn expect_roots() -> Result<()> {
    let output = Command::new("/proc/self/exe").arg(SUBCOMMAND).output().context("cannot start dbduel itself")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}", said.trim().trim_start_matches("error: "));
    Ok(())
}

/// Enters a root and becomes the program; `arguments` are what follows the subcommand. Never returns.
///
/// Call it on the main thread, before any other thread exists: the kernel gives a user namespace to a process with one
/// thread only.
pub fn inside_main(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let entered = Orders::parse(arguments).and_then(|orders| {
        if orders.program.is_empty() {
            separate(None, false)?;
            std::process::exit(0);
        }
        enter(&orders)
    });
    let Err(error) = entered;
    eprintln!("error: {error:#}");
    std::process::exit(CANNOT_EXECUTE);
}

fn enter(orders: &Orders) -> Result<Infallible> {
    let (parent, directory, death) = (getppid(), std::env::current_dir(), get_pdeathsig()?);
    let account = orders.account.or_else(|| Some((geteuid().as_raw(), getegid().as_raw())));
    let own = mounts::prepare(orders, account.map_or(0, |(uid, _)| uid), account.map_or(0, |(_, gid)| gid))?;
    let left = separate(orders.account, orders.has_network)?;
    mounts::enter(orders, &own)?;
    if let Some(account) = left {
        become_account(account)?;
    }
    nix::sys::prctl::set_no_new_privs().context("cannot give up new privileges")?;
    leave_other_processes_alone().context("cannot keep it from processes outside")?;
    give_up_capabilities().context("cannot give up capabilities")?;
    // A change of user or of namespaces clears it.
    set_pdeathsig(death).context("cannot have the program end with its keeper")?;
    ensure!(getppid() == parent, "dbduel ended meanwhile");
    if directory.is_err() || directory.is_ok_and(|directory| std::env::set_current_dir(directory).is_err()) {
        std::env::set_current_dir("/").context("cannot enter the image's root")?;
    }
    // By the path that it has inside: servers look for their other files from there.
    let path = Path::new(&orders.program[0]);
    let path = path.strip_prefix(&orders.root).map_or_else(|_| path.to_owned(), |inside| Path::new("/").join(inside));
    let mut command = Command::new(&path);
    command.args(&orders.program[1..]).envs(orders.variables.iter().cloned());
    let error = command.exec();
    Err(error).with_context(|| format!("cannot execute {} of the image {}", path.display(), orders.root.display()))
}

/// Leaves this machine's mounts, System V memory and, unless it is needed, network; returns the account that is still to be
/// taken. Only root can do without a user namespace, and there every account but its own is nobody.
fn separate(account: Option<(u32, u32)>, has_network: bool) -> Result<Option<(u32, u32)>> {
    let mut apart = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    apart.set(CloneFlags::CLONE_NEWNET, !has_network);
    let own_loopback = || if has_network { Ok(()) } else { network::bring_up_loopback() };
    if geteuid().is_root() {
        match unshare(apart) {
            Ok(()) => return own_loopback().map(|()| account),
            // Root in a container that lacks CAP_SYS_ADMIN.
            Err(Errno::EPERM) => account.map_or(Ok(()), become_account)?,
            Err(error) => return Err(error).context("cannot make namespaces"),
        }
        // Or the kernel does not let this process say who it is.
        nix::sys::prctl::set_dumpable(true).context("cannot make namespaces")?;
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(apart | CloneFlags::CLONE_NEWUSER).map_err(why_not)?;
    let say = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| why_not(errno_of(&error)))
    };
    say("setgroups", "deny".to_owned())?;
    say("uid_map", format!("{uid} {uid} 1"))?;
    say("gid_map", format!("{gid} {gid} 1"))?;
    own_loopback().map(|()| None)
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

fn why_not(error: Errno) -> anyhow::Error {
    let next = match error {
        Errno::ENOSPC | Errno::EUSERS => {
            "user namespaces are switched off here\n  next: set the sysctl user.max_user_namespaces to 10000, or run dbduel as root"
        }
        Errno::EPERM | Errno::EACCES => {
            "this machine forbids user namespaces\n  next: run dbduel as root; or set the sysctl \
             kernel.apparmor_restrict_unprivileged_userns to 0; in a container, start it with \
             `--security-opt seccomp=unconfined`; or name an `archive` or a `basedir` in place of the image"
        }
        _ => return anyhow::Error::from(error).context("cannot make namespaces, which a server out of an image needs"),
    };
    anyhow::anyhow!("a server out of an image needs namespaces, and {next}")
}

fn become_account((uid, gid): (u32, u32)) -> Result<()> {
    let taken = setgroups(&[]).and_then(|()| setgid(Gid::from_raw(gid))).and_then(|()| setuid(Uid::from_raw(uid)));
    taken.with_context(|| format!("cannot become the user {uid}"))
}

/// From here on processes outside can be neither signalled nor traced, and their memory and environment not read. Older
/// kernels go without.
fn leave_other_processes_alone() -> Result<()> {
    let outside = Scope::Signal | Scope::AbstractUnixSocket;
    Ruleset::default().scope(outside)?.create()?.restrict_self()?;
    Ok(())
}

/// A program that runs as root is nothing but the owner of root's files: with capabilities it could mount, load modules and
/// read any memory. Root's are those of the bounding and the inheritable set when a program is executed.
fn give_up_capabilities() -> Result<()> {
    if geteuid().is_root() {
        caps::clear(None, CapSet::Bounding)?;
        caps::clear(None, CapSet::Inheritable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive_as_they_were_given() {
        let inside = Inside {
            root: Root { folder: "/c/root".into(), variables: vec![("LD_PRELOAD".into(), "/usr/lib/a=b.so".into())] },
            scratch: "/w/s".into(),
            places: vec!["/w/s".into(), "/w/data".into()],
            has_network: true,
        };
        let mut arguments = inside.arguments(Some(Account { uid: 1, gid: 2 }));
        arguments.extend(["/c/root/usr/sbin/mysqld", "--", "--root"].map(OsString::from));
        let orders = Orders::parse(arguments.into_iter().skip(1)).unwrap();
        let expected = Orders {
            root: "/c/root".into(),
            scratch: "/w/s".into(),
            places: vec!["/w/s".into(), "/w/data".into()],
            variables: vec![("LD_PRELOAD".into(), "/usr/lib/a=b.so".into())],
            account: Some((1, 2)),
            has_network: true,
            program: ["/c/root/usr/sbin/mysqld", "--", "--root"].map(OsString::from).to_vec(),
        };
        assert_eq!(orders, expected);
    }

    #[test]
    fn what_needs_nothing_around_it_is_started_as_it_is() {
        let command = Surroundings::default().command(Path::new("/usr/sbin/mysqld"), &[]).unwrap();
        assert_eq!((command.get_program(), command.get_args().len()), (Path::new("/usr/sbin/mysqld").as_os_str(), 0));
    }
}
