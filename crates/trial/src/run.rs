//! One measurement, start to end, on one screen.
//!
//! A trial starts from fresh data and ends with a stopped server, whatever happens in between. A
//! step that fails makes the trial a record of failure, never a number. Nothing is written to the
//! run's folder but the server's log; keeping the record is the caller's business. What a server of
//! dbduel's own and a target do differently is in `fresh_server.rs` and `environment.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use driver::{Admin, AnyConnection, Isolation, Target};
use jiff::Timestamp;
use load::{
    ErrorPolicy, HasPlans, Live, LoadOptions, Measured, Setting, Tally, TriedTransaction, Workload, wrong_answers,
};

use super::environment::{Environment, RunningServer};
use super::generator::{Made, OfWorkers};
use super::host::Interrupted;
use super::metrics::metrics;
use super::plans::Explaining;
use super::trial::Trial;
use super::{
    core_use, crash, deferred_log, deferred_work, generator_limit, latency, network_path, operations, plans, script,
};
use crate::observe::{Observers, Readings, Subject, server_gauge};
use record::format::{Failure, PlannedTrial, Series, StatementPlan, Status, TrialRecord};

/// What a trial leaves behind.
pub struct Finished {
    pub record: TrialRecord,
    pub series: Series,
    /// What observers saw in each second of the interval.
    pub observed: Series,
    /// Response times window by window, as an HdrHistogram interval log; empty for a failed trial and a pass.
    pub windows: String,
    /// A line for each transaction that clients deferred and that has committed.
    pub deferred: Series,
    /// What the server had in force; empty when it did not start.
    pub settings: BTreeMap<String, String>,
    /// How the server runs the statements that were asked about; none where the trial failed.
    pub plans: Vec<StatementPlan>,
}

impl Finished {
    /// Of a trial in which nothing was measured.
    pub(super) fn without_load(record: TrialRecord) -> Finished {
        Finished {
            record,
            series: Series::default(),
            observed: Series::default(),
            windows: String::new(),
            deferred: Series::default(),
            settings: BTreeMap::new(),
            plans: Vec::new(),
        }
    }
}

const LOGIN_LIMIT: Duration = Duration::from_secs(30);
/// Longest wait for answers that were under way when the interval ended.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// Runs one trial. Only an interruption gives no record.
pub fn run_trial(
    trial: &Trial,
    observers: &mut Observers,
    live: &mut dyn FnMut(Live),
) -> Result<Finished, Interrupted> {
    run_in(&mut Start::default(), trial, true, observers, live)
}

/// Runs trials one after the other in one start of their server, each behind its idle gap, and hands each to the caller
/// before the next begins. Where one fails, those behind it share a start of their own.
pub fn run_in_one_start<'a>(
    trials: &[Trial<'a>],
    observers: &mut Observers,
    live: &mut dyn FnMut(&Trial, Live),
    keep: &mut dyn FnMut(&Trial, Finished) -> Result<()>,
) -> Result<()> {
    let mut start = Start::default();
    for (index, trial) in trials.iter().enumerate() {
        observers.idle(Duration::from_millis(trial.planned.gap_ms));
        let is_last = index + 1 == trials.len();
        let finished = run_in(&mut start, trial, is_last, observers, &mut |now| live(trial, now))?;
        keep(trial, finished)?;
    }
    Ok(())
}

/// A start of a server, for as many trials as share it.
#[derive(Default)]
struct Start<'a> {
    /// None before its first trial, and where a trial has failed on it.
    server: Option<RunningServer<'a>>,
    begun_by: Option<u32>,
}

impl<'a> Start<'a> {
    /// The server that runs already, or a fresh one; of fresh data the share that is in the page cache comes too.
    fn server(&mut self, trial: &Trial<'a>, steps: &mut Steps) -> Result<(RunningServer<'a>, Option<f64>)> {
        if let Some(server) = self.server.take() {
            return Ok((server, None));
        }
        self.begun_by = Some(trial.planned.trial);
        let resident = steps.take("restore", || trial.restore())?;
        Ok((steps.take("start", || trial.start())?, resident))
    }
}

fn run_in<'a>(
    start: &mut Start<'a>,
    trial: &Trial<'a>,
    is_last: bool,
    observers: &mut Observers,
    live: &mut dyn FnMut(Live),
) -> Result<Finished, Interrupted> {
    let (mut steps, mut left) = (Steps::begin(), Left::default());
    let measured = measure(start, trial, is_last, &mut steps, &mut left, observers, live);
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(Interrupted);
    }
    let mut finished = match measured {
        Ok((tally, readings, of_workers)) => succeeded(trial, &tally, readings, of_workers),
        Err(error) => failed(trial, steps.current(), &error),
    };
    finished.record.shares_start_with = start.begun_by.filter(|first| *first != trial.planned.trial);
    (finished.settings, finished.deferred, finished.plans) = (left.settings, left.deferred, left.plans);
    Ok(steps.end(finished))
}

/// What is kept of a trial whether it succeeds or not.
#[derive(Default)]
struct Left {
    settings: BTreeMap<String, String>,
    deferred: Series,
    plans: Vec<StatementPlan>,
}

fn measure<'a>(
    start: &mut Start<'a>,
    trial: &Trial<'a>,
    is_last: bool,
    steps: &mut Steps,
    left: &mut Left,
    observers: &mut Observers,
    live: &mut dyn FnMut(Live),
) -> Result<(Tally, Readings, OfWorkers)> {
    live(Live::without_load("start"));
    let (server, resident) = start.server(trial, steps)?;
    left.settings.clone_from(server.effective_settings());
    let (mut load, subject, isolation) = steps.take("connect", || {
        make_ready(trial, &server)?;
        let target = clients_target(trial, &server)?;
        let isolation = isolation(trial, &target)?;
        let subject = Subject { monitor: server.monitor()?, ..server.subject() };
        let options = load_options(trial, &server);
        Ok((trial.generator.prepare(trial, &target, options)?, subject, isolation))
    })?;
    meet(trial, steps)?;
    if let Err(failure) = steps.take("warm_up", || Ok(trial.interval.warm_up(load.as_mut(), observers.lead(), live)))? {
        return Err(crash::explain(trial, server, failure, &load.give_up()));
    }
    steps.take("observe", || {
        observers.begin(&subject);
        Ok(())
    })?;
    meet(trial, steps)?;
    let mut readings = Readings::default();
    let Made { measured: Measured { tally, failure }, of_workers } = steps.take("measure", || {
        Ok(load.measure(trial.interval.measured, live, &mut || readings = observers.end(&subject)))
    })?;
    if let Some(work) = trial.workload.defers_work() {
        left.deferred = deferred_log::series(&tally.journal, work.log_columns());
    }
    if let Some(failure) = failure {
        return Err(crash::explain(trial, server, failure, &tally));
    }
    live(Live::without_load("deferred work"));
    wait_for_deferred_work(trial, &server, steps, subject, &tally, &mut readings)?;
    live(Live::without_load("check"));
    readings.values.extend(resident.map(|share| ("data_resident_share".to_owned(), share)));
    steps.take("check", || {
        expect_answers(trial.workload.as_ref(), &tally, &Setting { dialect: server.dialect(), isolation })?;
        check(trial, &server, &tally)
    })?;
    if is_last {
        // On a server that is to stop: nothing is measured on it any more.
        if let Some(explaining) = trial.explaining {
            left.plans = steps.take("explain", || explain(trial, &server, explaining))?;
        }
        steps.take("stop", || server.stop())?;
    } else {
        start.server = Some(server);
    }
    Ok((tally, readings, of_workers))
}

/// Plans of the statements of a workload. What comes up only while it runs is run on data of our own.
fn explain(trial: &Trial, server: &RunningServer, explaining: &Explaining) -> Result<Vec<StatementPlan>> {
    let runs = |plans: &&dyn HasPlans| plans.finds_statements() && trial.environment.is_managed();
    let running = trial.workload.has_plans().filter(runs);
    let running = running.map(|plans| anyhow::Ok((plans, clients_target(trial, server)?))).transpose()?;
    Ok(plans::explain(server, explaining, running))
}

/// In a duet neither side goes on before both are so far.
fn meet(trial: &Trial, steps: &mut Steps) -> Result<()> {
    trial.meeting.map_or(Ok(()), |meeting| steps.take("meet", || meeting.wait(trial.interrupted)))
}

/// Runs the workload's preparation before its clients come.
pub(super) fn make_ready(trial: &Trial, server: &RunningServer) -> Result<()> {
    recognise(trial, server)?;
    let Some(tables) = trial.workload.reuses_tables() else { return Ok(()) };
    let mut session = server.session()?;
    tables
        .prepare_run(server.dialect())
        .iter()
        .try_for_each(|sql| session.run(sql).map(drop).with_context(|| format!("`{sql}` failed")))
}

/// Where the clients connect, and how each of their sessions opens.
pub(super) fn clients_target(trial: &Trial, server: &RunningServer) -> Result<Target> {
    let mut target = server.target();
    if let Some(level) = trial.sessions.isolation {
        target.login.on_connect.extend(target.dialect.isolation_sql(level).map_err(|why| anyhow!(why))?);
    }
    Ok(target)
}

/// The level that the clients' sessions have, as the server reports; not the one that was asked for is an error.
fn isolation(trial: &Trial, target: &Target) -> Result<Isolation> {
    let session = Admin::connect(target.dialect, &target.endpoint, &target.login, LOGIN_LIMIT);
    let level = session.context("cannot connect as a client")?.isolation()?;
    let asked = trial.sessions.isolation.unwrap_or(level);
    ensure!(level == asked, "isolation was asked to be `{}` and is `{}`", asked.as_str(), level.as_str());
    Ok(level)
}

/// Tables of another seed, scale or version are not measured.
fn recognise(trial: &Trial, server: &RunningServer) -> Result<()> {
    let Some(tables) = trial.workload.reuses_tables() else { return Ok(()) };
    tables.recognise(&mut server.session()?, trial.data_seed)?.map_err(|why| anyhow!(why))
}

pub(super) fn load_options(trial: &Trial, server: &RunningServer) -> LoadOptions {
    LoadOptions {
        policy: ErrorPolicy { ignored: trial.workload.ignored_errors(server.dialect()), ..ErrorPolicy::default() },
        clients: trial.clients,
        workers: trial.client_cpus.workers,
        cpus: trial.client_cpus.cpus.clone(),
        input_seed: trial.planned.input_seed,
        data_seed: trial.data_seed,
        rate: trial.rate,
        interval_max: trial.interval.measured.unwrap_or_default(),
        transactions_max: trial.interval.events,
        drain_max: DRAIN_MAX,
        windows: (!trial.workload.is_one_pass()).then_some(latency::WINDOW),
        gauge: server_gauge(&server.subject()),
        ..LoadOptions::default()
    }
}

/// The load has stopped; a server that only deferred work is not done. Ends the session that observed it.
fn wait_for_deferred_work(
    trial: &Trial,
    server: &RunningServer,
    steps: &mut Steps,
    subject: Subject,
    tally: &Tally,
    readings: &mut Readings,
) -> Result<()> {
    let owes = trial.conditions.drain && trial.workload.spec().writes && !trial.workload.is_one_pass();
    let Some(monitor) = subject.monitor.filter(|_| owes) else { return Ok(()) };
    let interval = Duration::from_nanos(tally.interval_ns);
    let drained = steps.take("drain_debt", || {
        deferred_work::drain(&monitor, || server.payer(), readings, interval, trial.interrupted)
    })?;
    readings.values.extend(drained.values);
    readings.flags.extend(drained.flags);
    Ok(())
}

/// A fast wrong answer is not a result.
fn expect_answers(workload: &dyn Workload, tally: &Tally, setting: &Setting) -> Result<()> {
    let wrong = wrong_answers(workload, tally, setting);
    ensure!(wrong.is_empty(), "the server's answers were wrong:\n{}", wrong.join("\n"));
    Ok(())
}

fn check(trial: &Trial, server: &RunningServer, ran: &Tally) -> Result<()> {
    let mut session = server.session()?;
    let mut violations = trial.workload.check(&mut session, Some(ran))?;
    let queries = trial.workload.kept_values();
    let found = values(&mut session, &queries)?;
    let pairs = queries.iter().zip(trial.loaded.iter().zip(&found)).filter(|(_, (loaded, found))| loaded != found);
    violations.extend(pairs.map(|(sql, (loaded, found))| format!("{sql}: {loaded} was loaded, {found} found")));
    ensure!(violations.is_empty(), "the data are wrong after the run:\n{}", violations.join("\n"));
    Ok(())
}

/// The first value of each query.
fn values(session: &mut Admin, queries: &[String]) -> Result<Vec<String>> {
    let value = |sql: &String| {
        let value = session.value(sql).with_context(|| format!("`{sql}` failed"))?;
        Ok(value.unwrap_or_else(|| "NULL".to_owned()))
    };
    queries.iter().map(value).collect()
}

/// How long each step took, and which one is under way.
pub(super) struct Steps {
    begun: Timestamp,
    taken: Vec<(String, f64)>,
}

impl Steps {
    pub(super) fn begin() -> Steps {
        Steps { begun: Timestamp::now(), taken: Vec::new() }
    }

    /// Writes the times down.
    pub(super) fn end(self, mut finished: Finished) -> Finished {
        finished.record.started_at = self.begun.to_string();
        finished.record.finished_at = Timestamp::now().to_string();
        finished.record.steps = self.taken;
        finished
    }

    pub(super) fn take<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        self.taken.push((name.to_owned(), 0.0));
        let done = step();
        if let Some(last) = self.taken.last_mut() {
            last.1 = begun.elapsed().as_secs_f64();
        }
        done
    }

    pub(super) fn current(&self) -> &str {
        self.taken.last().map_or("begin", |(name, _)| name)
    }
}

/// The trial of a contender that could not be prepared: a failure without an attempt.
pub fn absent(planned: &PlannedTrial) -> TrialRecord {
    let message = "the contender could not be prepared; why stood at the beginning of the run".to_owned();
    let now = Timestamp::now().to_string();
    let failure = Some(Failure { step: "prepare".to_owned(), message, ..Failure::default() });
    TrialRecord { failure, started_at: now.clone(), finished_at: now, ..record(planned, Status::Failed) }
}

pub(super) fn record(planned: &PlannedTrial, status: Status) -> TrialRecord {
    let planned = planned.clone();
    TrialRecord {
        trial: planned.trial,
        block: planned.block,
        order: planned.order,
        workload: planned.workload,
        contender: planned.contender,
        point: planned.point,
        status,
        purpose: planned.purpose,
        shares_start_with: None,
        failure: None,
        flags: Vec::new(),
        remarks: BTreeMap::new(),
        started_at: String::new(),
        finished_at: String::new(),
        steps: Vec::new(),
        metrics: BTreeMap::new(),
        workers: Vec::new(),
    }
}

pub(super) fn failed(trial: &Trial, step: &str, error: &anyhow::Error) -> Finished {
    let mut message = format!("{error:#}");
    if let Some(advice) = driver::advice_in(&message) {
        message += &format!("; that is: {}; next: {}", advice.cause, advice.next);
    }
    let failure = match error.downcast_ref::<load::Failure>() {
        Some(load::Failure::Worker { worker, host, step: at, .. }) => {
            let step = at.unwrap_or(step).to_owned();
            Failure { step, message, worker: Some(*worker), host: Some(host.clone()) }
        }
        _ => Failure { step: step.to_owned(), message, ..Failure::default() },
    };
    Finished::without_load(TrialRecord { failure: Some(failure), ..record(trial.planned, Status::Failed) })
}

fn succeeded(trial: &Trial, tally: &Tally, readings: Readings, of_workers: OfWorkers) -> Finished {
    let in_process = trial.environment.is_embedded();
    let mut flags = readings.flags.clone();
    let throttled_periods = readings.values.get("host_throttled_periods").copied().unwrap_or(0.0);
    let held_up = generator_limit::held_up(tally, throttled_periods);
    // A worker that was the limit is named by its remark, which sets the flag too.
    let is_named = of_workers.remarks.iter().any(|(flag, _)| flag == generator_limit::BOUND);
    let is_explained = held_up.is_some() || is_named;
    if !is_explained && !in_process && generator_limit::is_the_limit(tally, &readings, trial) {
        flags.push(generator_limit::BOUND.to_owned());
    }
    let mut remarks = operations::remarks(&tally.programs);
    remarks.extend(script::remarks(tally));
    remarks.extend(trial.workload.replays().into_iter().flat_map(|log| log.remarks(tally)));
    let spec = trial.workload.spec();
    if spec.writes && !trial.workload.ends_itself() {
        remarks.extend(deferred_work::short(&readings, tally.interval_ns as f64 / 1e9));
    }
    remarks.extend(latency::out_of_range(tally));
    if trial.rate.is_none() && spec.rests.is_none() && !trial.workload.is_one_pass() {
        remarks.extend(latency::starved(tally));
    }
    remarks.extend(deferred_log::torn(&tally.journal));
    remarks.extend(of_workers.remarks);
    remarks.extend(held_up.map(|why| (generator_limit::BOUND.to_owned(), why)));
    flags.extend(remarks.keys().cloned());
    // With a limit, late arrivals are skipped by design.
    if trial.rate.is_some() && tally.skipped > 0 && spec.latency_limit.is_none() {
        flags.push("saturated".to_owned());
    }
    let mut metrics = metrics(tally, &readings, in_process, trial.workload.as_ref());
    metrics.extend(of_workers.metrics);
    if trial.rate.is_none() {
        metrics.extend(latency::corrected(tally));
    }
    if trial.interval.events.is_some() {
        metrics.insert(TrialRecord::INTERVAL.to_owned(), tally.interval_ns as f64 / 1e9);
    }
    if !in_process {
        metrics.extend(generator_limit::metrics(tally));
        metrics.extend(network_path::metrics(tally, trial.limits.path));
        if let Some(limit) = network_path::limit(tally, trial.limits.path) {
            remarks.entry(generator_limit::BOUND.to_owned()).or_insert(limit);
        }
    }
    if matches!(trial.environment, Environment::Managed { .. }) {
        let efficiency = core_use::metrics(&metrics, tally.interval_ns as f64 / 1e9, trial.client_cpus.engine_cores);
        metrics.extend(efficiency);
    }
    let workers = of_workers.workers;
    let record = TrialRecord { flags, remarks, metrics, workers, ..record(trial.planned, Status::Ok) };
    Finished {
        record,
        series: series(tally),
        observed: readings.seconds,
        windows: if tally.windows.is_empty() { String::new() } else { tally.windows.log() },
        deferred: Series::default(),
        settings: BTreeMap::new(),
        plans: Vec::new(),
    }
}

fn series(tally: &Tally) -> Series {
    let columns = ["second", "committed", "retries", "failed", "latency_ms_max"];
    let row = |(second, seen): (usize, &load::Second)| {
        vec![
            second as f64,
            seen.committed as f64,
            seen.retries as f64,
            seen.failed as f64,
            seen.latency_ns_max as f64 / 1e6,
        ]
    };
    Series { columns: columns.map(str::to_owned).to_vec(), rows: tally.seconds.iter().enumerate().map(row).collect() }
}

/// Starts a contender once, without load, before the first block: what fails here would fail in
/// every block, and what is learned here stands in the report.
pub fn rehearse<'a>(trial: &Trial<'a>) -> Result<Rehearsed<'a>> {
    trial.lay_out()?;
    let server = trial.start()?;
    recognise(trial, &server)?;
    let checked = trial.workload.check(&mut server.session()?, None);
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(anyhow!(Interrupted));
    }
    let violations = checked?;
    if !violations.is_empty() {
        bail!("the loaded data are wrong:\n{}", violations.join("\n"));
    }
    let isolation = isolation(trial, &clients_target(trial, &server)?)?;
    let loaded = values(&mut server.session()?, &trial.workload.kept_values())?;
    Ok(Rehearsed { server, isolation, loaded })
}

/// A server with loaded tables, and what was learned of it.
pub struct Rehearsed<'a> {
    pub server: RunningServer<'a>,
    pub isolation: Isolation,
    /// As [`Trial::loaded`].
    pub loaded: Vec<String>,
}

/// Runs each transaction of the workload once, on data as they were loaded, and asks for the plans that the trial names; None
/// where they cannot be run so.
pub fn try_out(trial: &Trial) -> Result<Option<(Vec<TriedTransaction>, Vec<StatementPlan>)>> {
    let Some(workload) = trial.workload.runs_once() else { return Ok(None) };
    trial.lay_out()?;
    let server = trial.start()?;
    let target = clients_target(trial, &server)?;
    let mut connect = || AnyConnection::connect(target.dialect, &target.endpoint, &target.login, LOGIN_LIMIT);
    let tried = workload.run_once(&mut connect, trial.planned.input_seed).context("cannot try the transactions")?;
    let plans = trial.explaining.map(|explaining| explain(trial, &server, explaining)).transpose()?;
    server.stop()?;
    Ok(Some((tried, plans.unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_whose_answers_lack_rows_fails_with_kind_expected_and_seen() {
        let kind = workloads::workload_kind("oltp_point_select").unwrap();
        let workload = (kind.build)(&load::Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap();
        let setting = Setting { dialect: driver::Dialect::MySql, isolation: Isolation::RepeatableRead };
        let judge = |rows: u64| {
            // Point selects are the first kind of statement.
            let answers = vec![load::Answers { count: 1_000, rows, ..load::Answers::default() }];
            let tally = Tally { committed: 1_000, answers, ..Tally::default() };
            expect_answers(workload.as_ref(), &tally, &setting).map_err(|error| error.to_string())
        };
        assert_eq!(judge(1_000), Ok(()));
        let expected = "the server's answers were wrong:\npoint-select: 1000 rows expected in 1000 answers, 0 seen";
        assert_eq!(judge(0), Err(expected.to_owned()));
    }
}
