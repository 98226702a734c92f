//! A Slurm cluster of two nodes on this host, from Debian's packages and without installing them.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;

use super::agents::Agent;
use super::agents::wait_for;

const PACKAGES: [&str; 10] = [
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "munge",
    "libmunge2",
    "libhwloc15",
    "liblua5.1-0",
    "openssh-server",
    "openssh-sftp-server",
];
const UP_WITHIN: Duration = Duration::from_secs(30);
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The packages' files below one folder; an error where they cannot be had here.
pub fn unpacked(folder: &Path) -> Result<PathBuf> {
    let (debs, root) = (folder.join("debs"), folder.join("root"));
    fs::create_dir_all(&debs)?;
    fs::create_dir_all(&root)?;
    let downloaded = Command::new("apt-get").arg("download").args(PACKAGES).current_dir(&debs).output();
    let downloaded = downloaded.context("no apt-get here")?;
    ensure!(
        downloaded.status.success(),
        "packages cannot be downloaded: {}",
        String::from_utf8_lossy(&downloaded.stderr)
    );
    for entry in fs::read_dir(&debs)? {
        let status = Command::new("dpkg").arg("-x").arg(entry?.path()).arg(&root).status().context("no dpkg here")?;
        ensure!(status.success(), "a package cannot be unpacked");
    }
    Ok(root)
}

pub struct Slurm {
    root: PathBuf,
    folder: PathBuf,
}

impl Slurm {
    pub fn start(root: &Path, folder: &Path) -> Result<Slurm> {
        let slurm = Slurm { root: root.to_owned(), folder: folder.to_owned() };
        for part in ["", "munge", "state", "spool-n1", "spool-n2", "log"] {
            fs::create_dir_all(folder.join(part))?;
            fs::set_permissions(folder.join(part), fs::Permissions::from_mode(0o755))?;
        }
        slurm.write_key()?;
        fs::write(slurm.path("slurm.conf"), slurm.configuration()?)?;
        let munge = |name: &str| slurm.path(&format!("munge/munge.{name}"));
        let mut munged = slurm.tool("usr/sbin/munged");
        for (option, name) in [("key-file", "key"), ("socket", "socket"), ("log-file", "log"), ("seed-file", "seed")] {
            munged.arg(format!("--{option}={}", munge(name)));
        }
        munged.arg(format!("--pid-file={}", slurm.path("munge/munged.pid"))).args(["--force", "--num-threads=2"]);
        run(&mut munged)?;
        run(slurm.tool("usr/sbin/slurmctld-wlm").args(["-f", &slurm.path("slurm.conf")]))?;
        slurm.start_node("n1")?;
        slurm.start_node("n2")?;
        slurm.wait_until_idle()?;
        Ok(slurm)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn tool(&self, path: &str) -> Command {
        let mut command = Command::new(self.root.join(path));
        self.environment(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Where Slurm's programs, libraries and configuration are.
    pub fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let libraries = self.root.join(LIBRARIES).display().to_string();
        let programs = ["usr/bin", "usr/sbin"].map(|place| self.root.join(place).display().to_string()).join(":");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("LD_LIBRARY_PATH", format!("{libraries}:{libraries}/slurm-wlm"))
            .env("PATH", format!("{programs}:{path}"))
            .env("SLURM_CONF", self.path("slurm.conf"))
    }

    fn write_key(&self) -> Result<()> {
        use std::io::Write;
        let mut key = [0; 128];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(self.path("munge/munge.key"));
        Ok(file?.write_all(&key)?)
    }

    fn configuration(&self) -> Result<String> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        let user = if is_root() { "root".to_owned() } else { std::env::var("USER")? };
        let ports = free_ports::<3>()?;
        let plugins = self.root.join(LIBRARIES).join("slurm-wlm").display().to_string();
        let at = |name: &str| self.path(name);
        let node = |name: &str, port: u16| {
            format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN")
        };
        let lines = [
            "ClusterName=duel".to_owned(),
            format!("SlurmctldHost={host}(127.0.0.1)"),
            format!("SlurmctldPort={}", ports[0]),
            format!("SlurmUser={user}"),
            format!("SlurmdUser={user}"),
            "AuthType=auth/munge".to_owned(),
            format!("AuthInfo=socket={}", at("munge/munge.socket")),
            "CredType=cred/munge".to_owned(),
            format!("PluginDir={plugins}"),
            "MpiDefault=none".to_owned(),
            "ProctrackType=proctrack/linuxproc".to_owned(),
            "TaskPlugin=task/none".to_owned(),
            "SwitchType=switch/none".to_owned(),
            "SelectType=select/cons_tres".to_owned(),
            "SelectTypeParameters=CR_Core".to_owned(),
            "SchedulerType=sched/builtin".to_owned(),
            "JobAcctGatherType=jobacct_gather/none".to_owned(),
            "AccountingStorageType=accounting_storage/none".to_owned(),
            "JobCompType=jobcomp/none".to_owned(),
            "ReturnToService=2".to_owned(),
            "SlurmctldTimeout=10".to_owned(),
            "SlurmdTimeout=10".to_owned(),
            "InactiveLimit=0".to_owned(),
            "KillWait=2".to_owned(),
            "MinJobAge=10".to_owned(),
            "Waittime=0".to_owned(),
            "KillOnBadExit=1".to_owned(),
            "MailProg=/bin/true".to_owned(),
            format!("StateSaveLocation={}", at("state")),
            format!("SlurmdSpoolDir={}", at("spool-%n")),
            format!("SlurmctldPidFile={}", at("slurmctld.pid")),
            format!("SlurmdPidFile={}", at("slurmd-%n.pid")),
            format!("SlurmctldLogFile={}", at("log/slurmctld.log")),
            format!("SlurmdLogFile={}", at("log/slurmd-%n.log")),
            node("n1", ports[1]),
            node("n2", ports[2]),
            "PartitionName=load Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP".to_owned(),
        ];
        Ok(lines.join("\n") + "\n")
    }

    fn start_node(&self, name: &str) -> Result<()> {
        let stepd = self.root.join("usr/sbin/slurmstepd-wlm").display().to_string();
        run(self.tool("usr/sbin/slurmd-wlm").args(["-f", &self.path("slurm.conf"), "-N", name, "-d", &stepd]))
    }

    fn wait_until_idle(&self) -> Result<()> {
        wait_for("both nodes idle", UP_WITHIN, || {
            let states = self.tool("usr/bin/sinfo").args(["-h", "-o", "%T"]).stdout(Stdio::piped()).output()?;
            Ok(String::from_utf8_lossy(&states.stdout).trim() == "idle")
        })
    }

    pub fn cancel_all(&self) -> Result<()> {
        run(self.tool("usr/bin/scancel").args(["--state=RUNNING"]))
    }

    /// The daemon of an agent's node.
    pub fn slurmd_of(&self, agent: &Agent) -> Result<Agent> {
        let words = fs::read(format!("/proc/{}/environ", agent.pid)).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        let node = words.split('\0').find_map(|word| word.strip_prefix("SLURMD_NODENAME=")).context("no node")?;
        Ok(Agent::of(self.pid(&format!("slurmd-{node}.pid"))?))
    }

    fn pid(&self, file: &str) -> Result<i32> {
        Ok(fs::read_to_string(self.folder.join(file))?.trim().parse()?)
    }

    /// Starts a node that was lost again.
    pub fn mend(&self) -> Result<()> {
        for node in ["n1", "n2"] {
            let pid = self.pid(&format!("slurmd-{node}.pid")).unwrap_or(0);
            if !Path::new(&format!("/proc/{pid}")).exists() {
                self.start_node(node)?;
            }
        }
        Ok(())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for file in ["slurmd-n1.pid", "slurmd-n2.pid", "slurmctld.pid", "munge/munged.pid"] {
            let Ok(pid) = self.pid(file) else { continue };
            Agent::of(pid).signal(Signal::SIGTERM);
            let gone = || Ok(!Path::new(&format!("/proc/{pid}")).exists());
            if wait_for("the end of a daemon", UP_WITHIN, gone).is_err() {
                Agent::of(pid).signal(Signal::SIGKILL);
            }
        }
    }
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn free_ports<const COUNT: usize>() -> Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..COUNT).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}
