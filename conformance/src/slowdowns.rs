//! `cargo xtask slowdowns`: does dbduel find a slowdown that we made, and does its interval hold the truth?
//!
//! A server duels with itself, and one side is slowed by a known amount (method, section 8, V4 and V5).
//! dbduel is given neither that nor which: names and places are drawn for each run. One client
//! works in a closed loop, so that all time is the client's, the server's or the brake's, and what the
//! brake does to throughput is arithmetic. How much it was is measured apart from the duel, with an error
//! of its own: by calibrations before and after the run, and in the run by the proxy itself.
//! `--pinned` starves the generator instead, which must be noticed (V7).

mod busy;
mod calibration;
mod duel;
mod pinned;
mod proxy;
mod quota;
mod rig;
mod stop;
mod verdict;

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use load::Rng;

use crate::bench::warn_if_busy;
use crate::findings::Finding;
use crate::held::dbduel;
use calibration::Truth;
use duel::{Form, duel};
use rig::{Rig, Way};
use verdict::{Judged, summary};

#[derive(clap::Args)]
pub struct Slowdowns {
    /// How much slower, in percent of the throughput: the untouched server is faster by so much
    #[arg(long, value_delimiter = ',', default_value = "3,5")]
    effect: Vec<f64>,
    /// The server that duels with itself
    #[arg(long, default_value = "mariadb@system")]
    engine: String,
    /// Ways to slow it
    #[arg(long, value_enum, value_delimiter = ',', default_value = "delay,quota,busy")]
    way: Vec<Way>,
    /// Blocks at most; the stopping rule may end earlier
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(8..=400))]
    blocks: u32,
    /// Seconds per trial
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Runs of each way and effect
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Seconds of each calibration, before and after a run
    #[arg(long, default_value_t = 30)]
    calibration: u64,
    /// What names, places, seeds and orders are drawn from; another one each time unless given
    #[arg(long)]
    seed: Option<u64>,
    /// Starve the generator instead, and insist that it is noticed
    #[arg(long)]
    pinned: bool,
}

pub fn run(options: &Slowdowns, root: &Path) -> Result<()> {
    ensure!(options.effect.iter().all(|effect| (0.1..=50.0).contains(effect)), "an effect lies between 0.1 and 50 %");
    ensure!(options.seconds >= 0.1, "a trial takes 0.1 s at least");
    let dbduel = dbduel(root)?;
    warn_if_busy()?;
    let seed = options.seed.map_or_else(seed_of_now, Ok)?;
    println!("seed {seed}");
    let mut rng = Rng::stream(seed, 0, 0);
    let form = Form { clients: 1, blocks: options.blocks, seconds: options.seconds };
    if options.pinned {
        return pinned::run(&form, &dbduel, &options.engine, &mut rng);
    }
    println!("{} duels, about {:.0} min at most", options.duels(), options.minutes_max());
    let started = Instant::now();
    let mut judged = Vec::new();
    for way in &options.way {
        let mut rig = Rig::build(*way, &dbduel, &options.engine)?;
        let duelled = duels(options, &form, &dbduel, &mut rig, &mut rng, &mut judged);
        rig.stop()?;
        duelled?;
    }
    print_results(&judged, started.elapsed())
}

/// The findings of a duel whose generator is starved.
pub fn starved_generator(
    dbduel: &Path,
    engine: &str,
    blocks: u32,
    seconds: f64,
    rng: &mut Rng,
) -> Result<Vec<Finding>> {
    Ok(pinned::starve(&Form { clients: 1, blocks, seconds }, dbduel, engine, rng)?.findings)
}

/// What a trial takes beside its interval, on a target, and with it the idle gaps of the plan.
const BESIDE_TRIAL_SECS: f64 = 1.5;
/// Starting servers, loading tables and turning the brake.
const BESIDE_DUEL_SECS: f64 = 30.0;

impl Slowdowns {
    fn duels(&self) -> usize {
        self.way.len() * self.effect.len() * self.runs as usize
    }

    fn minutes_max(&self) -> f64 {
        let trials = f64::from(2 * self.blocks) * (self.seconds * 1.1 + BESIDE_TRIAL_SECS);
        let duel_secs = trials + 2.0 * self.calibration as f64 + BESIDE_DUEL_SECS;
        self.duels() as f64 * duel_secs / 60.0
    }
}

fn seed_of_now() -> Result<u64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock stands before 1970")?;
    Ok(since.as_nanos() as u64)
}

/// All duels of one way.
fn duels(
    options: &Slowdowns,
    form: &Form,
    dbduel: &Path,
    rig: &mut Rig,
    rng: &mut Rng,
    judged: &mut Vec<Judged>,
) -> Result<()> {
    let calibration = Duration::from_secs(options.calibration);
    for effect in &options.effect {
        rig.fill()?;
        rig.tune(-(effect / 100.0).ln_1p(), rng)?;
        for run in 1..=options.runs {
            let title = format!("{} {effect} % run {run}", rig.way.name());
            let before = rig.calibrate(calibration, rng)?.truth;
            let result = rig.on_empty(|| duel(rig, form, dbduel, rng, &start))?;
            // The proxy saw the very trials; the other ways are known by calibrations alone.
            let seen = rig.passed_truth();
            let after = rig.calibrate(calibration, rng)?.truth;
            let calibrated = Truth::around(before, after);
            let truth = seen.map_or(calibrated, |seen| seen.confirmed_by(calibrated));
            eprintln!("{title}: calibrated {} before, {} after", rig::percent(before), rig::percent(after));
            let one = Judged { title, truth, result };
            println!("{}", one.line());
            judged.push(one);
        }
    }
    Ok(())
}

fn start(command: &mut Command) -> Result<Child> {
    command.spawn().context("cannot start dbduel")
}

fn print_results(judged: &[Judged], took: Duration) -> Result<()> {
    let (lines, faults) = summary(judged);
    lines.iter().for_each(|line| println!("{line}"));
    println!("{} duels in {:.1} min", judged.len(), took.as_secs_f64() / 60.0);
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    Ok(())
}
