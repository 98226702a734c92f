//! A ProxySQL in front of a server, for the length of one check.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use driver::{Admin, Endpoint, Login, Secret, Target};

const START_LIMIT: Duration = Duration::from_secs(20);

/// The account that logs in to both.
pub const USER: &str = "app";
pub const PASSWORD: &str = "hunter2";

/// How ProxySQL is set up.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Clients share sessions of the server, as they do unless it is told otherwise.
    pub shares: bool,
    /// As many sessions it gives.
    pub pool: u32,
    /// A client waits so long for one.
    pub patience_ms: u32,
}

pub struct Proxy {
    child: Child,
    folder: tempfile::TempDir,
    target: Target,
}

/// `ProxySQL version 2.7.2-…` as it is; None where the program is not there.
pub fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find(|line| line.starts_with("ProxySQL version")).map(str::to_owned)
}

impl Proxy {
    /// Starts one in front of the server, and waits until it answers.
    pub fn start(program: &Path, server: &Target, setting: Setting) -> Result<Proxy> {
        let Endpoint::Unix(socket) = &server.endpoint else { bail!("a server that is held has a socket") };
        let folder = tempfile::tempdir()?;
        let (path, Setting { shares, pool, patience_ms }) = (folder.path().display(), setting);
        let text = format!(
            "datadir=\"{path}\"\nerrorlog=\"{path}/log\"\nadmin_variables={{ mysql_ifaces=\"{path}/admin.sock\" }}\n\
             mysql_variables={{ threads=2 interfaces=\"{path}/sock\" monitor_enabled=false multiplexing={shares} \
             poll_timeout=100 connect_timeout_server_max={patience_ms} default_schema=\"information_schema\" }}\n\
             mysql_servers=( {{ address=\"{}\" port=0 hostgroup=0 max_connections={pool} }} )\n\
             mysql_users=( {{ username=\"{USER}\" password=\"{PASSWORD}\" default_hostgroup=0 }} )\n",
            socket.display()
        );
        let file = folder.path().join("proxysql.cnf");
        fs::write(&file, text)?;
        let mut command = Command::new(program);
        command.arg("-f").arg("-c").arg(&file).arg("-D").arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let login = Login { user: USER.to_owned(), password: Some(Secret::new(PASSWORD)), ..server.login.clone() };
        let endpoint = Endpoint::Unix(folder.path().join("sock"));
        let proxy = Proxy { child, target: Target { dialect: server.dialect, endpoint, login }, folder };
        proxy.wait()?;
        Ok(proxy)
    }

    fn wait(&self) -> Result<()> {
        let Target { dialect, endpoint, login } = &self.target;
        let begun = Instant::now();
        loop {
            let answer = Admin::connect(*dialect, endpoint, login, START_LIMIT);
            match answer.and_then(|mut admin| admin.value("SELECT 1")) {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > START_LIMIT => {
                    let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    return Err(error).with_context(|| format!("ProxySQL does not answer; its log: {log}"));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    pub fn target(&self) -> Target {
        self.target.clone()
    }

    pub fn url(&self) -> Result<String> {
        url(&self.target)
    }
}

/// A socket of MySQL or MariaDB, as [`USER`] connects to it.
pub fn url(target: &Target) -> Result<String> {
    let Endpoint::Unix(socket) = &target.endpoint else { bail!("a socket was expected") };
    let database = target.login.database.as_deref().unwrap_or_default();
    Ok(format!("mariadb://{USER}@localhost/{database}?socket={}", socket.display()))
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // At once, whoever is connected: its sessions of the server end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
