//! `cargo xtask conform-tap`: `dbduel capture --target` leaves a server as it found it.
//!
//! While a load connects, asks and leaves, captures are started and killed at random moments, most of them by a signal
//! that nothing can catch. After each, every setting of the server must be what it was, nothing of the capture may lie in
//! its data directory, and no file may be left that says otherwise. Then a capture ends by its size.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::held::{Held, Missing, dbduel};

#[derive(clap::Args)]
pub struct ConformTap {
    /// Servers to capture from
    #[arg(value_name = "ENGINE@VERSION", default_values = ["mariadb@system", "mysql@5.7.29", "mysql@8.0.31", "postgres@system"])]
    engines: Vec<String>,
    /// Fetch those that are not here
    #[arg(long)]
    fetch: bool,
    /// Captures that are killed, on each server
    #[arg(long, default_value_t = 50)]
    kills: u32,
}

/// Until then a capture has looked at the server, and logged for some seconds.
const KILL_LATEST_MS: u64 = 9_000;
/// Every so many, a capture is asked to end instead.
const ASKED: u32 = 5;
/// How long the settings may take to be what they were.
const BACK_LIMIT: Duration = Duration::from_secs(20);
const SIZE: u64 = 16 << 20;
/// Of the size: what the log may have more or less.
const SIZE_TOLERANCE: f64 = 0.05;
const CLIENTS: usize = 4;
/// Between two statements of a client, where nothing asks for more.
const PAUSE: Duration = Duration::from_millis(2);
/// Statements of a session of the load, so that there are always new ones.
const SESSION_STATEMENTS: u64 = 200;

pub fn run(options: &ConformTap, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    for engine in &options.engines {
        let flags: &[&str] = if options.fetch { &["--fetch"] } else { &[] };
        let settings: &[&str] = if engine.starts_with("postgres") { &["logging_collector=on"] } else { &[] };
        let server = match Held::start(&dbduel, engine, &[flags, settings].concat()) {
            Ok(server) => server,
            Err(Missing::Absent(why)) => {
                println!("{engine:<16} skipped: {why}");
                continue;
            }
            Err(Missing::Broken(error)) => return Err(error),
        };
        let tried = Trying::new(&server, &dbduel).and_then(|trying| trying.all(options.kills));
        server.stop()?;
        println!("{engine:<16} {}", tried.with_context(|| engine.clone())?);
    }
    Ok(())
}

struct Trying<'a> {
    server: &'a Held,
    dbduel: &'a Path,
    target: String,
    data: PathBuf,
    folder: tempfile::TempDir,
    /// The load goes as fast as it can.
    hurries: AtomicBool,
    stops: AtomicBool,
    statements: AtomicU64,
}

impl<'a> Trying<'a> {
    fn new(server: &'a Held, dbduel: &'a Path) -> Result<Trying<'a>> {
        let database = server.text("database")?;
        let target = server.connection_string(database)?;
        let question = match server.dialect() {
            Dialect::Postgres => "SHOW data_directory",
            _ => "SELECT @@datadir",
        };
        let data = server.admin(database)?.value(question)?.context("no data directory")?;
        let folder = tempfile::tempdir()?;
        let [hurries, stops] = [false; 2].map(AtomicBool::new);
        Ok(Trying { server, dbduel, target, data: data.into(), folder, hurries, stops, statements: AtomicU64::new(0) })
    }

    fn all(&self, kills: u32) -> Result<String> {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| self.load());
            }
            let tried = self.killed(kills).and_then(|killed| Ok(format!("{killed}; {}", self.by_size()?)));
            self.stops.store(true, Ordering::Relaxed);
            tried
        })
    }

    /// Sessions that come, ask and leave; the server's errors end the load, and its count shows it.
    fn load(&self) {
        while !self.stops.load(Ordering::Relaxed) {
            let Ok(mut session) = self.session() else { return };
            for number in 0..SESSION_STATEMENTS {
                if session.rows(&format!("SELECT {number}, 'a statement of some client'")).is_err() {
                    return;
                }
                self.statements.fetch_add(1, Ordering::Relaxed);
                if !self.hurries.load(Ordering::Relaxed) {
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn session(&self) -> Result<Admin> {
        self.server.admin(self.server.text("database")?)
    }

    fn killed(&self, kills: u32) -> Result<String> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let before = self.settings()?;
        let mut changed = 0;
        for number in 0..kills {
            let mut capture = self.capture(&self.out(number), &["--for", "60s"])?;
            std::thread::sleep(Duration::from_millis(random.random_range(0..KILL_LATEST_MS)));
            changed += u32::from(self.settings()? != before);
            let signal = if number % ASKED == 0 { Signal::SIGTERM } else { Signal::SIGKILL };
            kill(Pid::from_raw(capture.id() as i32), signal)?;
            capture.wait()?;
            self.wait_until_put_back(&before).with_context(|| format!("capture {number}"))?;
        }
        ensure!(
            self.statements.load(Ordering::Relaxed) > u64::from(kills) * SESSION_STATEMENTS,
            "the load stood still"
        );
        Ok(format!("{kills} captures ended by signals, {changed} while the log was on: every setting as before"))
    }

    fn out(&self, number: u32) -> PathBuf {
        self.folder.path().join(format!("{number}.dbcap"))
    }

    fn capture(&self, out: &Path, more: &[&str]) -> Result<Child> {
        let mut command = Command::new(self.dbduel);
        command.args(["capture", "--yes", "--target", &self.target, "--out"]).arg(out).args(more);
        if let Some((_, password)) =
            self.server.environment()?.into_iter().find(|(name, _)| *name == "DBDUEL_TEST_PASSWORD")
        {
            command.env("DBDUEL_PASSWORD", password);
        }
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    fn wait_until_put_back(&self, before: &BTreeMap<String, String>) -> Result<()> {
        let since = Instant::now();
        loop {
            let now = self.settings()?;
            let left = self.left()?;
            let different: Vec<&String> =
                now.iter().filter(|(name, value)| before.get(*name) != Some(value)).map(|(name, _)| name).collect();
            if different.is_empty() && left.is_empty() {
                return Ok(());
            }
            ensure!(since.elapsed() < BACK_LIMIT, "other than before: {different:?}; left: {left:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Logs of captures in the server's folder, and files that say that settings are to be put back.
    fn left(&self) -> Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for folder in [&self.data, self.folder.path()] {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.starts_with("dbduel-") && name.ends_with(".log") || name.ends_with(".settings") {
                    left.push(path);
                }
            }
        }
        Ok(left)
    }

    /// Every setting of the server, and of PostgreSQL the file in which ALTER SYSTEM writes.
    fn settings(&self) -> Result<BTreeMap<String, String>> {
        let mut session = self.session()?;
        let (question, file) = match self.server.dialect() {
            Dialect::Postgres => ("SELECT name, reset_val FROM pg_settings", Some("postgresql.auto.conf")),
            _ => ("SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%'", None),
        };
        let rows = session.rows(question)?.into_iter();
        let pair = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<String>>();
        let mut settings: BTreeMap<String, String> =
            rows.filter_map(|row| <[String; 2]>::try_from(pair(row)).ok().map(|[name, value]| (name, value))).collect();
        if let Some(file) = file {
            settings.insert(file.to_owned(), fs::read_to_string(self.data.join(file))?);
        }
        Ok(settings)
    }

    /// A capture that ends by its size, and keeps its log.
    fn by_size(&self) -> Result<String> {
        self.hurries.store(true, Ordering::Relaxed);
        let out = self.folder.path().join("size.dbcap");
        let since = Instant::now();
        let mut capture =
            self.capture(&out, &["--for", "10m", "--keep-log", "--max", &format!("{}MiB", SIZE >> 20)])?;
        ensure!(capture.wait()?.success(), "a capture that ends by its size failed");
        let log = fs::metadata(self.folder.path().join("size.dbcap.log"))?.len();
        let share = log as f64 / SIZE as f64;
        ensure!((share - 1.0).abs() <= SIZE_TOLERANCE, "{log} bytes of log at a limit of {SIZE}");
        ensure!(out.is_file(), "no capture was made");
        Ok(format!("a log of {share:.3} times its limit in {:.0} s", since.elapsed().as_secs_f64()))
    }
}
