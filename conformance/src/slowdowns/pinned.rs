//! A load generator without the CPU it needs must be noticed (method, section 8, V7).
//!
//! One of two contenders is really slower, and dbduel is starved: what differs then is how often the
//! generator comes to ask. The verdict must be `inconclusive` and the reason must be named. That dbduel
//! would detect the difference with CPU enough is shown first, or the test would prove nothing.

#![expect(unsafe_code, reason = "niceness, which nix does not set, and what happens between fork and exec")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use load::Rng;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::calibration::calibrate;
use super::duel::{DuelResult, Form, duel};
use super::quota::Group;
use super::rig::{Rig, Side, Way, percent};

const CLIENTS: u32 = 16;
/// Of a core: about a fifth of what the generator would use.
const CORES_LEFT: f64 = 0.15;
/// Each answer of the slower contender comes so much later. Not by more: a contender that is slower than
/// the starved generator may rightly be called slower (method, section 4).
const DELAY: Duration = Duration::from_micros(250);
/// Without starvation, the slower contender reaches less than this share of the other.
const SLOWER_BY_FAR: f64 = 0.9;
const CALIBRATION: Duration = Duration::from_secs(4);
/// With it, a process of ordinary priority on the same CPU is left about a seventh.
const NEIGHBOUR_NICE: libc::c_int = -8;
const CPU: usize = 0;

/// How dbduel is kept from its CPU.
#[derive(Debug, Clone, Copy)]
enum Starvation {
    /// By a quota: throttled, and no visible process has its CPU.
    Quota,
    /// On one CPU with a process of higher priority that never rests.
    Neighbour,
}

pub fn run(form: &Form, dbduel: &Path, engine: &str, rng: &mut Rng) -> Result<()> {
    let rig = Rig::build(Way::Delay, dbduel, engine)?;
    let tried = try_all(&rig, &Form { clients: CLIENTS, ..*form }, dbduel, rng);
    rig.stop()?;
    tried
}

/// A duel whose generator has a quota of CPU that is far too small.
pub fn starve(form: &Form, dbduel: &Path, engine: &str, rng: &mut Rng) -> Result<DuelResult> {
    let rig = Rig::build(Way::Delay, dbduel, engine)?;
    let result = rig
        .delay(DELAY)
        .and_then(|()| starved(&rig, &Form { clients: CLIENTS, ..*form }, dbduel, rng, Starvation::Quota));
    rig.stop()?;
    result
}

fn try_all(rig: &Rig, form: &Form, dbduel: &Path, rng: &mut Rng) -> Result<()> {
    rig.delay(DELAY)?;
    let (untouched, slowed) = (rig.target(Side::Untouched)?, rig.target(Side::Slowed)?);
    let control = calibrate(&untouched, &slowed, CLIENTS, CALIBRATION, rng)?;
    println!(
        "with CPU enough, {:.0} transactions/s, and the slower contender is slower {}",
        control.untouched_tps,
        percent(control.truth)
    );
    ensure!(control.truth.log_ratio.exp() < SLOWER_BY_FAR, "neither side is slower by far, so nothing can be shown");
    let mut unnoticed = Vec::new();
    for starvation in [Starvation::Quota, Starvation::Neighbour] {
        let result = starved(rig, form, dbduel, rng, starvation)?;
        let noticed = is_noticed(&result);
        let kinds: Vec<&str> = result.findings.iter().map(|finding| finding.kind.as_str()).collect();
        println!(
            "{}: {} blocks in {:.1} min, ratio {:.4} ({:.4} to {:.4}), {} [{}], {} trials flagged generator-bound, findings: {}: {}",
            starvation.title(),
            result.blocks,
            result.minutes,
            result.ratio,
            result.low,
            result.high,
            result.word,
            result.caveats.join(", "),
            result.trials_generator_bound,
            kinds.join(", "),
            if noticed { "noticed" } else { "NOT NOTICED" }
        );
        if !noticed {
            unnoticed.push(starvation.title());
        }
    }
    ensure!(unnoticed.is_empty(), "a starved generator was not noticed: {}", unnoticed.join("; "));
    Ok(())
}

/// No winner, and the reason.
fn is_noticed(result: &DuelResult) -> bool {
    let is_it = |name: &str| name == "generator-bound";
    let is_named =
        result.caveats.iter().any(|caveat| is_it(caveat)) || result.findings.iter().any(|finding| is_it(&finding.kind));
    result.word == "inconclusive" && is_named
}

impl Starvation {
    fn title(self) -> String {
        match self {
            Starvation::Quota => format!("a quota of {:.0} % of a core", CORES_LEFT * 100.0),
            Starvation::Neighbour => format!("one CPU shared with a neighbour of nice {NEIGHBOUR_NICE}"),
        }
    }
}

fn starved(rig: &Rig, form: &Form, dbduel: &Path, rng: &mut Rng, starvation: Starvation) -> Result<DuelResult> {
    let named = || format!("with {}", starvation.title());
    match starvation {
        Starvation::Quota => {
            let group = Group::create()?;
            group.set_quota(Some(CORES_LEFT))?;
            let start = |command: &mut Command| -> Result<Child> {
                let child = command.spawn().context("cannot start dbduel")?;
                group.admit(child.id() as i32)?;
                Ok(child)
            };
            rig.on_empty(|| duel(rig, form, dbduel, rng, &start)).with_context(named)
        }
        Starvation::Neighbour => {
            let _neighbour = Neighbour::start();
            let start = |command: &mut Command| -> Result<Child> {
                // SAFETY: between fork and exec, one system call on a value of its own.
                unsafe { command.pre_exec(|| confine_to(CPU)) };
                command.spawn().context("cannot start dbduel")
            };
            rig.on_empty(|| duel(rig, form, dbduel, rng, &start)).with_context(named)
        }
    }
}

/// A thread that keeps one CPU busy until it is dropped.
struct Neighbour {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    fn start() -> Neighbour {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                if confine_to(CPU).is_err() || be_preferred().is_err() {
                    eprintln!("the neighbour has no priority here: it leaves half of the CPU");
                }
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        Neighbour { ended, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The calling thread, and what it starts.
fn confine_to(cpu: usize) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// The calling thread alone: on Linux each has its own niceness.
fn be_preferred() -> std::io::Result<()> {
    // SAFETY: no memory is involved.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NEIGHBOUR_NICE) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
