//! `cargo xtask aa --null`: verdicts about two null servers, many and cheap (method, section 8, V3).
//!
//! The server is our own and waits a drawn time before each answer; how long on average drifts from trial to
//! trial and jumps now and then, as a host does. Generator, pairing and rule are the real ones. Both sides
//! meet the same noise, so every verdict that finds a difference is false.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Dialect, Login, NullServer, Target};
use load::{Load, LoadOptions, Options, Workload};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::{Judge, Rule, RuleKind, Verdict};
use workloads::workload_kind;

/// False verdicts that the rule allows.
pub const FALSE_SHARE: f64 = 0.05;
/// A sound rule misses it in one series of a hundred.
const CHANCE_MAX: f64 = 0.01;
const MARGIN: f64 = 0.01;
const WARM_UP: Duration = Duration::from_millis(4);

/// Mean time of an answer, before the drawn noise.
const ANSWER: Duration = Duration::from_micros(100);
/// How much of one trial's disturbance the next one inherits, and how much comes anew.
const INHERITED: f64 = 0.8;
const NEW: f64 = 0.03;
/// Now and then a neighbour takes a part of the machine for a trial.
const SPIKES: f64 = 0.05;
const SPIKE: f64 = 0.25;

/// Paths as long as they happen to be: they are the only difference between the two.
const SOCKETS: [&str; 2] = ["one.sock", "its-twin.sock"];

pub struct Series {
    pub verdicts: u32,
    pub trial: Duration,
    /// At most; the rule may end a verdict earlier.
    pub blocks: u32,
    /// Verdicts before the first.
    pub skipped: u32,
}

/// What a series has shown so far.
#[derive(Default)]
struct Seen {
    claims: u32,
    alike: u32,
    blocks: usize,
}

pub fn run(series: &Series) -> Result<()> {
    let begun = Instant::now();
    let folder = tempfile::tempdir()?;
    let workload = workload()?;
    let mut seen = Seen::default();
    for index in series.skipped..series.skipped + series.verdicts {
        let (word, log_ratios) = verdict(series, u64::from(index) + 1, &workload, folder.path())?;
        seen.blocks += log_ratios.len();
        seen.alike += u32::from(word == Verdict::NoDifference);
        if matches!(word, Verdict::Faster | Verdict::Slower) {
            seen.claims += 1;
            let ratio = stats::mean(&log_ratios).unwrap_or(0.0).exp();
            println!("seed {}: {word:?} after {} blocks, ratio {ratio:.4}", index + 1, log_ratios.len());
        }
    }
    let most = allowed(series.verdicts, CHANCE_MAX);
    println!("{}", line(series, &seen, most, begun.elapsed()));
    ensure!(
        seen.claims <= most,
        "{} of {} verdicts found a false difference, which chance explains in less than 1 of 100 series",
        seen.claims,
        series.verdicts
    );
    Ok(())
}

fn line(series: &Series, seen: &Seen, most: u32, took: Duration) -> String {
    let of_all = |count: u32| f64::from(count) / f64::from(series.verdicts) * 100.0;
    format!(
        "{} verdicts on the null server: {} false words ({:.1} %; target {:.0} %, at most {most} by its 99 % bound), \
         {} no difference shown, {} inconclusive; {:.1} blocks of two {} ms trials each, {:.0} s",
        series.verdicts,
        seen.claims,
        of_all(seen.claims),
        FALSE_SHARE * 100.0,
        seen.alike,
        series.verdicts - seen.claims - seen.alike,
        seen.blocks as f64 / f64::from(series.verdicts),
        series.trial.as_millis(),
        took.as_secs_f64()
    )
}

/// Blocks until the rule has a verdict or they are used up.
fn verdict(series: &Series, seed: u64, workload: &Arc<dyn Workload>, folder: &Path) -> Result<(Verdict, Vec<f64>)> {
    let rule = Rule {
        kind: RuleKind::Exact,
        blocks_max: series.blocks as usize,
        alpha: FALSE_SHARE,
        margin: MARGIN.ln_1p(),
        seed,
    };
    let (judge, looks) = (Judge::new(rule), rule.looks());
    let mut host = Host { random: ChaCha8Rng::seed_from_u64(seed), disturbance: 0.0 };
    let mut log_ratios = Vec::new();
    while log_ratios.len() < rule.blocks_max {
        log_ratios.push(block(series, &mut host, workload, folder)?);
        if !looks.contains(&log_ratios.len()) {
            continue;
        }
        let verdict = judge.verdict(&log_ratios, false).map(|(verdict, _)| verdict);
        if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Inconclusive) {
            return Ok((verdict, log_ratios));
        }
    }
    Ok((Verdict::Inconclusive, log_ratios))
}

/// Both sides in the order of a coin, with the same inputs; the second over the first.
fn block(series: &Series, host: &mut Host, workload: &Arc<dyn Workload>, folder: &Path) -> Result<f64> {
    let mut order = [0, 1];
    if host.random.random_bool(0.5) {
        order.reverse();
    }
    let input_seed = host.random.random();
    let mut rates = [0.0; 2];
    for side in order {
        let answer = host.next_trial();
        let trial = Trial { socket: &folder.join(SOCKETS[side]), answer, input_seed, delay_seed: host.random.random() };
        rates[side] = trial.rate(series.trial, workload)?;
    }
    Ok((rates[1] / rates[0]).ln())
}

/// Somebody else's doings, from a seed.
struct Host {
    random: ChaCha8Rng,
    /// As a log of the time that an answer takes.
    disturbance: f64,
}

impl Host {
    /// Mean time of an answer in the trial that comes.
    fn next_trial(&mut self) -> Duration {
        self.disturbance = INHERITED * self.disturbance + NEW * self.normal();
        let spike = if self.random.random_bool(SPIKES) { SPIKE } else { 0.0 };
        ANSWER.mul_f64((self.disturbance + spike).exp())
    }

    /// Twelve uniform numbers make a good enough normal one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }
}

struct Trial<'a> {
    socket: &'a Path,
    answer: Duration,
    input_seed: u64,
    delay_seed: u64,
}

impl Trial<'_> {
    /// Transactions a second of one client against a fresh server.
    fn rate(&self, interval: Duration, workload: &Arc<dyn Workload>) -> Result<f64> {
        let (mut random, answer) = (ChaCha8Rng::seed_from_u64(self.delay_seed), self.answer);
        let delay = move || answer.mul_f64(-random.random::<f64>().max(1e-9).ln());
        let server = NullServer::start_delayed(Dialect::MySql, self.socket, Box::new(delay))?;
        let login = Login { user: "dbduel".to_owned(), ..Login::default() };
        let target = Target { dialect: Dialect::MySql, endpoint: server.endpoint(), login };
        let options = LoadOptions { input_seed: self.input_seed, interval_max: interval, ..LoadOptions::default() };
        let interrupted = AtomicBool::new(false);
        let mut load = Load::prepare(workload, &target, options, &interrupted)?;
        load.warm_up(WARM_UP, &mut |_| ())?;
        let tally = load.measure(Some(interval), &mut |_| (), &mut || ()).whole()?;
        ensure!(tally.committed > 0, "a trial of {} ms did nothing", interval.as_millis());
        Ok(tally.committed as f64 / (tally.interval_ns as f64 / 1e9))
    }
}

fn workload() -> Result<Arc<dyn Workload>> {
    let kind = workload_kind("oltp_point_select").context("there is no workload oltp_point_select")?;
    Ok((kind.build)(&Options::new(kind.options, &Default::default())?)?.into())
}

/// The most false verdicts that chance explains: it brings more in at most this share of all series.
pub fn allowed(verdicts: u32, chance_max: f64) -> u32 {
    let mut probability = (1.0 - FALSE_SHARE).powi(verdicts as i32);
    let mut more = 1.0 - probability;
    let mut count = 0;
    while more > chance_max {
        probability *= f64::from(verdicts - count) / f64::from(count + 1) * FALSE_SHARE / (1.0 - FALSE_SHARE);
        count += 1;
        more -= probability;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_twin_would_be_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let workload = workload().unwrap();
        let rate = |answer| {
            let trial = Trial { socket: &folder.path().join("s"), answer, input_seed: 1, delay_seed: 1 };
            trial.rate(Duration::from_millis(100), &workload).unwrap()
        };
        assert!(rate(Duration::from_millis(1)) > 2.0 * rate(Duration::from_millis(8)));
    }

    #[test]
    fn a_host_s_doings_follow_from_its_seed_and_from_what_was_before() {
        let host = || Host { random: ChaCha8Rng::seed_from_u64(7), disturbance: 0.0 };
        let trials = |mut host: Host| (0..500).map(|_| host.next_trial().as_secs_f64()).collect::<Vec<_>>();
        assert_eq!(trials(host()), trials(host()));
        assert!(stats::autocorrelation(&[trials(host())]).is_some_and(|correlation| correlation > 0.1));
    }
}
