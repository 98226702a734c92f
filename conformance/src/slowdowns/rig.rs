//! Two contenders that are one server with itself, and the brake on one of them.
//!
//! What must stay true: the brake is off before the servers end, and both sides are reached in the
//! same way, so that nothing but the brake differs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use driver::{Admin, Dialect, Endpoint, Login, Target};
use load::Rng;
use procfs::process::Process;

use super::busy;
use super::calibration::{Calibrated, Truth, calibrate, fill, tps, workload};
use super::proxy::Proxy;
use super::quota::Group;
use super::stop::Stopper;
use crate::held::Held;

/// How a server is slowed (method, section 8, V4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// A proxy on loopback makes each round trip longer
    Delay,
    /// A control group gives the server less CPU than it would use; `stop` where none can be made
    Quota,
    /// The server is stopped for a share of every 10 ms
    Stop,
    /// A function burns CPU in every statement
    Busy,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Delay => "delay",
            Way::Quota => "quota",
            Way::Stop => "stop",
            Way::Busy => "busy",
        }
    }
}

/// What slows the second side.
enum Brake {
    Delay { proxies: [Proxy; 2], round_trip: Duration },
    Quota { group: Group, used_cores: f64 },
    Stop(Stopper),
    Busy { round_ns: f64, round_trip: Duration, rounds: u64 },
}

/// The server that is left alone, and the one that is slowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Untouched,
    Slowed,
}

pub const SIDES: [Side; 2] = [Side::Untouched, Side::Slowed];

pub struct Rig {
    pub way: Way,
    /// Goes first when all is dropped: a server that is stopped could not end.
    brake: Brake,
    servers: Vec<Held>,
    engine: String,
}

/// How long a load is measured for the brake.
const CALIBRATION: Duration = Duration::from_secs(3);
/// What one step of [`Rig::tune`] measures, and how many there are at most.
const TUNING_STEP: Duration = Duration::from_secs(5);
const TUNING_STEPS: usize = 4;
/// A slowdown this near to what was wanted will do: what it really is will be measured anyway.
const NEAR_ENOUGH: f64 = 0.1;
/// What is found with a greater error, as a share of what is wanted, is no property of the brake.
const ERROR_MAX: f64 = 0.3;

impl Rig {
    pub fn build(way: Way, dbduel: &Path, engine: &str) -> Result<Rig> {
        if engine.starts_with("sqlite") {
            bail!("{engine} lives inside dbduel: there is no server to slow down");
        }
        let (way, group) = match way {
            Way::Quota => match Group::create() {
                Ok(group) => (Way::Quota, Some(group)),
                Err(error) => {
                    eprintln!("{error:#}; the server is stopped and continued in its place");
                    (Way::Stop, None)
                }
            },
            other => (other, None),
        };
        let count = if matches!(way, Way::Quota | Way::Stop) { 2 } else { 1 };
        let held = || Held::start_or_fail(dbduel, engine, &["--tcp"]);
        let servers = (0..count).map(|_| held()).collect::<Result<Vec<_>>>()?;
        let slowed = servers.last().expect("there is a server");
        let brake = match (way, group) {
            (Way::Delay, _) => {
                let port = slowed.port()?;
                Brake::Delay { proxies: [Proxy::start(port)?, Proxy::start(port)?], round_trip: Duration::ZERO }
            }
            (Way::Busy, _) => Brake::Busy { round_ns: 0.0, round_trip: Duration::ZERO, rounds: 0 },
            (_, Some(group)) => {
                group.admit(slowed.pid()?)?;
                Brake::Quota { group, used_cores: 0.0 }
            }
            (_, None) => Brake::Stop(Stopper::start(slowed.pid()?)),
        };
        let mut rig = Rig { way, brake, servers, engine: engine.to_owned() };
        rig.look()?;
        Ok(rig)
    }

    /// Lets a client work on the side that will be slowed, and notes what the brake needs of it.
    fn look(&mut self) -> Result<()> {
        self.fill()?;
        let used_before = self.used_cpu_secs()?;
        let tps = tps(&workload()?, &self.target(Side::Slowed)?, 1, CALIBRATION, 1)?;
        let used = (self.used_cpu_secs()? - used_before) / CALIBRATION.as_secs_f64();
        let one = Duration::from_secs_f64(1.0 / tps);
        let one_round_ns = match self.brake {
            Brake::Busy { .. } => busy::round_ns(&mut self.admin(Side::Slowed)?)?,
            _ => 0.0,
        };
        match &mut self.brake {
            Brake::Delay { round_trip, .. } => *round_trip = one,
            Brake::Busy { round_trip, round_ns, .. } => (*round_trip, *round_ns) = (one, one_round_ns),
            Brake::Quota { used_cores, .. } => *used_cores = used,
            Brake::Stop(_) => (),
        }
        Ok(())
    }

    /// CPU time that the slowed server has had so far, with that of its children, ended or not.
    fn used_cpu_secs(&self) -> Result<f64> {
        let server = Process::new(self.server(Side::Slowed).pid()?)?;
        let stat = server.stat()?;
        let ended = (stat.cutime + stat.cstime).max(0) as u64;
        let mut ticks = stat.utime + stat.stime + ended;
        for child in server.task_main_thread()?.children()? {
            // A backend may end during the reading.
            if let Ok(stat) = Process::new(child as i32).and_then(|child| child.stat()) {
                ticks += stat.utime + stat.stime;
            }
        }
        Ok(ticks as f64 / procfs::ticks_per_second() as f64)
    }

    /// Slows by this share of the time; nothing at 0.
    fn brake(&mut self, share: f64) -> Result<()> {
        let longer = share / (1.0 - share);
        match &mut self.brake {
            Brake::Delay { proxies, round_trip } => proxies[1].set_delay(round_trip.mul_f64(longer)),
            Brake::Quota { group, used_cores } => {
                group.set_quota((share > 0.0).then_some(*used_cores * (1.0 - share)))?;
            }
            Brake::Stop(stopper) => stopper.set_share(share),
            Brake::Busy { round_ns, round_trip, rounds } => {
                *rounds = (round_trip.as_nanos() as f64 * longer / *round_ns).round() as u64;
                let rounds = *rounds;
                busy::set_rounds(&mut self.admin(Side::Slowed)?, rounds)?;
            }
        }
        Ok(())
    }

    /// Makes each round trip to the slowed side longer by a time that need not be tuned.
    pub fn delay(&self, delay: Duration) -> Result<()> {
        let Brake::Delay { proxies, .. } = &self.brake else { bail!("only a proxy can delay") };
        proxies[1].set_delay(delay);
        Ok(())
    }

    /// Turns the brake until the slowed side is about so much slower.
    pub fn tune(&mut self, wanted_log_ratio: f64, rng: &mut Rng) -> Result<()> {
        let mut share = 1.0 - wanted_log_ratio.exp();
        for _ in 0..TUNING_STEPS {
            self.brake(share)?;
            let found = self.calibrate(TUNING_STEP, rng)?.truth;
            if found.error > ERROR_MAX * wanted_log_ratio.abs() {
                eprintln!("this host is too restless to turn the brake by what is found");
                break;
            }
            if (found.log_ratio - wanted_log_ratio).abs() <= NEAR_ENOUGH * wanted_log_ratio.abs() {
                break;
            }
            let step = if found.log_ratio < 0.0 { wanted_log_ratio / found.log_ratio } else { f64::INFINITY };
            share = (share * step.clamp(0.4, 2.5)).min(0.5);
        }
        Ok(())
    }

    /// How much slower the slowed side is now.
    pub fn calibrate(&self, limit: Duration, rng: &mut Rng) -> Result<Calibrated> {
        let calibrated = calibrate(&self.target(Side::Untouched)?, &self.target(Side::Slowed)?, 1, limit, rng)?;
        // What was passed for a calibration is none of a run's.
        self.passed_truth();
        Ok(calibrated)
    }

    /// What the proxy has counted of the load since it was last asked.
    pub fn passed_truth(&self) -> Option<Truth> {
        let Brake::Delay { proxies, .. } = &self.brake else { return None };
        let log_ratios: Vec<f64> = proxies[1].take_passed().iter().filter_map(|passed| passed.log_ratio()).collect();
        Truth::of(&log_ratios)
    }

    /// New databases with the tables of a calibration.
    pub fn fill(&mut self) -> Result<()> {
        self.empty()?;
        for side in SIDES {
            fill(&self.target(side)?)?;
            if let Brake::Busy { rounds, .. } = self.brake {
                let mut admin = self.admin(side)?;
                busy::make_burn(&mut admin)?;
                busy::swap(&mut admin, if side == Side::Slowed { rounds } else { 0 })?;
            }
        }
        Ok(())
    }

    /// New databases without any table.
    fn empty(&self) -> Result<()> {
        for side in SIDES {
            let server = self.server(side);
            let mut admin = server.admin(server.text("database")?)?;
            admin.run(&format!("DROP DATABASE IF EXISTS {}", database(side)))?;
            admin.run(&format!("CREATE DATABASE {}", database(side)))?;
        }
        Ok(())
    }

    /// Does some work on databases that were emptied for it, with the brake as it is.
    pub fn on_empty<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.empty()?;
        let Brake::Busy { rounds, .. } = self.brake else { return work() };
        let rounds = |side| if side == Side::Slowed { rounds } else { 0 };
        for side in SIDES {
            let mut admin = self.admin(side)?;
            busy::make_burn(&mut admin)?;
            busy::arm(&mut admin, rounds(side))?;
        }
        let (ready, is_ready) = mpsc::channel();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let swapping = SIDES.map(|side| {
                let (ready, ended) = (ready.clone(), &ended);
                scope.spawn(move || busy::swap_when_loaded(&mut self.admin(side)?, rounds(side), ready, ended))
            });
            drop(ready);
            // A thread that fails before it is ready gives the reason below, and there is nothing to work on.
            let worked = (is_ready.iter().count() == SIDES.len()).then(work);
            ended.store(true, Ordering::Relaxed);
            for swapped in swapping {
                swapped.join().expect("swapping does not panic")?;
            }
            worked.expect("both threads were ready")
        })
    }

    fn server(&self, side: Side) -> &Held {
        let server = if side == Side::Untouched { self.servers.first() } else { self.servers.last() };
        server.expect("there is a server")
    }

    fn port(&self, side: Side) -> Result<u16> {
        match &self.brake {
            Brake::Delay { proxies, .. } => Ok(proxies[side as usize].port()),
            _ => self.server(side).port(),
        }
    }

    /// As a trial of dbduel reaches it.
    pub fn target(&self, side: Side) -> Result<Target> {
        let Target { dialect, login, .. } = self.server(side).target()?;
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: self.port(side)? };
        Ok(Target { dialect, endpoint, login: Login { database: Some(database(side).to_owned()), ..login } })
    }

    /// The same for an experiment file, without the password.
    pub fn url(&self, side: Side) -> Result<String> {
        let scheme = match (self.server(side).dialect(), self.engine.starts_with("mariadb")) {
            (Dialect::Postgres, _) => "postgres",
            (_, true) => "mariadb",
            (_, false) => "mysql",
        };
        let user = self.server(side).text("user")?;
        Ok(format!("{scheme}://{user}@127.0.0.1:{}/{}", self.port(side)?, database(side)))
    }

    /// Writes the password of a side's account to a file in a folder that only we may enter.
    pub fn password_file(&self, side: Side, folder: &Path) -> Result<PathBuf> {
        let file = folder.join(format!("{}.password", database(side)));
        std::fs::write(&file, self.server(side).text("password")?).context("cannot write the password")?;
        Ok(file)
    }

    fn admin(&self, side: Side) -> Result<Admin> {
        self.server(side).admin(database(side))
    }

    /// Ends the servers, and reports it when one did not end cleanly.
    pub fn stop(self) -> Result<()> {
        drop(self.brake);
        self.servers.into_iter().try_for_each(Held::stop)
    }
}

/// The names give nothing away to a reader of the run.
fn database(side: Side) -> &'static str {
    match side {
        Side::Untouched => "duel_one",
        Side::Slowed => "duel_two",
    }
}

/// `by 2.91 % (standard error 0.20 %)`, of the untouched side's throughput.
pub fn percent(truth: Truth) -> String {
    format!("by {:.2} % (standard error {:.2} %)", -truth.log_ratio.exp_m1() * 100.0, truth.error * 100.0)
}
