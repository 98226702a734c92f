//! Another host, as a network namespace with an sshd: what is there has an address, a link and a login of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;

use super::agents::Agent;
use super::agents::wait_for;

const HERE: &str = "10.213.77.1";
const THERE: &str = "10.213.77.2";
const PORT: u16 = 2222;
const UP_WITHIN: Duration = Duration::from_secs(10);

pub struct Namespace {
    name: String,
    folder: PathBuf,
    sshd: Option<Child>,
}

impl Namespace {
    pub fn make(packages: &Path, folder: &Path) -> Result<Namespace> {
        fs::create_dir_all(folder)?;
        let name = format!("duel{}", std::process::id());
        ip(&["netns", "add", &name]).context("no right to make a network namespace")?;
        let mut space = Namespace { name, folder: folder.to_owned(), sshd: None };
        let (near, far) = (space.near(), space.far());
        ip(&["link", "add", &near, "type", "veth", "peer", "name", &far])?;
        ip(&["link", "set", &far, "netns", &space.name])?;
        ip(&["addr", "add", &format!("{HERE}/30"), "dev", &near])?;
        ip(&["link", "set", &near, "up"])?;
        for words in [
            vec!["addr", "add", "10.213.77.2/30", "dev", &far],
            vec!["link", "set", &far, "up"],
            vec!["link", "set", "lo", "up"],
        ] {
            ip(&[&["-n", space.name.as_str()][..], &words].concat())?;
        }
        space.start_sshd(packages)?;
        Ok(space)
    }

    fn near(&self) -> String {
        format!("dn{}", std::process::id())
    }

    fn far(&self) -> String {
        format!("df{}", std::process::id())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of the other side.
    pub fn there(&self) -> &'static str {
        THERE
    }

    /// The address of this side.
    pub fn here(&self) -> &'static str {
        HERE
    }

    /// For `ssh -F`.
    pub fn config(&self) -> PathBuf {
        self.folder.join("config")
    }

    pub fn link(&self, state: &str) -> Result<()> {
        ip(&["link", "set", &self.near(), state])
    }

    fn start_sshd(&mut self, packages: &Path) -> Result<()> {
        let at = |name: &str| self.folder.join(name);
        for key in ["host", "login"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)).status();
            ensure!(made.context("no ssh-keygen here")?.success(), "ssh-keygen failed");
        }
        fs::copy(at("login.pub"), at("authorized"))?;
        let host_key = fs::read_to_string(at("host.pub"))?;
        fs::write(at("known"), format!("[{THERE}]:{PORT} {host_key}"))?;
        let passwd = fs::read_to_string("/etc/passwd")? + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n";
        fs::write(at("passwd"), passwd)?;
        let server = format!(
            "Port {PORT}\nListenAddress {THERE}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nStrictModes no\n",
            at("host").display(),
            at("authorized").display()
        );
        fs::write(at("sshd_config"), server)?;
        let client = format!(
            "Host worker\n  HostName {THERE}\n  Port {PORT}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n",
            at("login").display(),
            at("known").display()
        );
        fs::write(at("config"), client)?;
        let order = format!(
            "mount --bind {}/passwd /etc/passwd; mount -t tmpfs tmpfs /run; mkdir -m 755 /run/sshd; exec {}/usr/sbin/sshd -D -e -f {}/sshd_config",
            self.folder.display(),
            packages.display(),
            self.folder.display()
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "unshare", "-m", "sh", "-c", &order]);
        let log = fs::File::create(at("sshd.log"))?;
        self.sshd = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?);
        let config = self.config();
        wait_for("a login by ssh", UP_WITHIN, || {
            let login = Command::new("ssh").arg("-F").arg(&config).args(["-oBatchMode=yes", "worker", "true"]).output();
            Ok(login?.status.success())
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(mut sshd) = self.sshd.take() {
            Agent::of(sshd.id() as i32).signal(Signal::SIGTERM);
            let _ = sshd.wait();
        }
        let _ = ip(&["netns", "del", &self.name]);
        let _ = Command::new("ip").args(["link", "del", &self.near()]).stderr(Stdio::null()).status();
    }
}

fn ip(words: &[&str]) -> Result<()> {
    let done = Command::new("ip").args(words).output().context("no `ip` here")?;
    ensure!(done.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim());
    Ok(())
}
