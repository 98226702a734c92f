//! A PgBouncer in front of a server, for the length of one check.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use driver::{Admin, Endpoint, Login, Target};

const PORT: u16 = 6432;
const START_LIMIT: Duration = Duration::from_secs(10);

/// How PgBouncer is set up.
#[derive(Clone, Copy)]
pub struct Setting {
    pub mode: &'static str,
    /// It keeps statements that clients prepare.
    pub keeps: bool,
    /// The account may open its console.
    pub has_console: bool,
}

pub struct Bouncer {
    child: Child,
    folder: tempfile::TempDir,
    target: Target,
}

/// `PgBouncer 1.18.0` is (1, 18).
pub fn version(program: &Path) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.lines().next()?.strip_prefix("PgBouncer ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl Bouncer {
    /// Starts one that gives the server at most `pool` sessions, and waits until it answers.
    pub fn start(program: &Path, server: &Target, setting: Setting, pool: u32) -> Result<Bouncer> {
        let (host, port) = folder_and_port(&server.endpoint)?;
        let folder = tempfile::tempdir()?;
        // Not root's: PgBouncer does not run as root, and becomes nobody.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
        let (path, user) = (folder.path().display(), &server.login.user);
        let database = server.login.database.as_deref().context("the server has a database")?;
        let host = host.display();
        let console = if setting.has_console { user.as_str() } else { "" };
        let keeps = if setting.keeps { "max_prepared_statements = 100\n" } else { "" };
        let never =
            if !setting.keeps && version(program) >= Some((1, 21)) { "max_prepared_statements = 0\n" } else { "" };
        let text = format!(
            "[databases]\n{database} = host={host} port={port} dbname={database}\n[pgbouncer]\nlisten_addr =\n\
             unix_socket_dir = {path}\nlisten_port = {PORT}\nauth_type = trust\nauth_file = {path}/users\n\
             admin_users = {console}\npool_mode = {}\ndefault_pool_size = {pool}\nmax_client_conn = 200\n\
             logfile = {path}/log\n{keeps}{never}",
            setting.mode
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, text)?;
        fs::write(folder.path().join("users"), format!("\"{user}\" \"\"\n"))?;
        let mut command = Command::new(program);
        command
            .args(["-q", "-u", "nobody"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let endpoint = Endpoint::Unix(folder.path().join(format!(".s.PGSQL.{PORT}")));
        let login = Login { user: user.clone(), database: Some(database.to_owned()), ..Login::default() };
        let bouncer = Bouncer { child, folder, target: Target { dialect: server.dialect, endpoint, login } };
        bouncer.wait()?;
        Ok(bouncer)
    }

    fn wait(&self) -> Result<()> {
        let Target { dialect, endpoint, login } = &self.target;
        let begun = Instant::now();
        loop {
            match Admin::connect(*dialect, endpoint, login, START_LIMIT) {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > START_LIMIT => {
                    let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    return Err(error).with_context(|| format!("PgBouncer does not answer; it said: {log}"));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    pub fn target(&self) -> Target {
        self.target.clone()
    }

    /// As libpq takes it.
    pub fn connection_string(&self) -> Result<String> {
        connection_string(&self.target.endpoint, &self.target.login)
    }
}

/// A socket of PostgreSQL and a login, as libpq takes them.
pub fn connection_string(endpoint: &Endpoint, login: &Login) -> Result<String> {
    let (host, port) = folder_and_port(endpoint)?;
    let database = login.database.as_deref().unwrap_or_default();
    Ok(format!("host={} port={port} user={} dbname={database}", host.display(), login.user))
}

fn folder_and_port(endpoint: &Endpoint) -> Result<(&Path, &str)> {
    let Endpoint::Unix(socket) = endpoint else { bail!("a server that is held has a socket") };
    let port = socket.extension().and_then(|port| port.to_str());
    let port = port.context("a socket of PostgreSQL ends with its port")?;
    Ok((socket.parent().context("a socket lies in a folder")?, port))
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        // At once, whoever is connected: its sessions of the server end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
