//! `dbduel bench`: connect, run, report.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use driver::{Admin, Code};
use load::{
    ErrorPolicy, Failure as LoadFailure, Ignored, Interarrival, Load, LoadOptions, Measured, OptionValue, Rate,
    Reading, Replays, Reported, ReusesTables,
};

use super::figures::{self, Mark};
use super::job::Job;
use super::limits::{expect, note_sessions};
use super::live::LiveReport;
use super::tables::{self, Tables};
use crate::command_line::{Arrivals, Compat, ForcedShutdown, Format, Reconnect, Request};
use crate::report::BenchReport;
use ::report::dbt2::Arithmetic;
use ::report::sysbench::{Buckets, Figures, Layout};
use engine::pooler::Pooler;
use engine::{Cache, WorkFolder};
use experiment::TargetUrl;
use terminal::{Failure, exit, note, print};
use trial::observe::throttled_periods;
use trial::{generator_limit, host, need, null_server};

/// Measured beside another measurement, because the user would not wait.
const SHARED_HOST: &str = "shared-host";
/// As many arrivals as sysbench lets wait.
const QUEUE_MAX: u64 = 131_072;
/// Sizes the series of a run without a time limit, and ends a wait that has none.
const ENDLESS: Duration = Duration::from_secs(86_400);

pub fn bench(job: &Job) -> Result<u8, Failure> {
    let request = &job.request;
    expect_leave_to_write(job)?;
    // The server of a dry run is there until the run is over, and its folder a little longer.
    let scratch = request.dry_run.then(|| Cache::open()?.scratch()).transpose()?;
    let start = |folder: &WorkFolder| null_server::start(job.target.dialect, folder.for_sockets());
    let null = scratch.as_ref().map(start).transpose()?;
    let Seen { server_version, opens_with, tables, pooler } =
        if request.dry_run { Seen::nothing() } else { read_session(job)? };
    let files = u64::from(request.clients) * job.target.dialect.files_per_client();
    host::expect_open_files(files).map_err(Failure::usage)?;
    let beside = request.no_wait && host::is_locked();
    let expected = request.duration.map(|duration| duration + request.warmup);
    let wait = |line: &str| note(&format!("{line}\n  next: --no-wait measures beside it, for a functional try"));
    let lock = (!beside).then(|| host::lock(request.workload.name, expected, &job.interrupted, &wait));
    let _lock = lock.transpose()?;
    let layout = layout(request);
    let seed = request.rand_seed.unwrap_or_else(|| drawn_seed(request));
    let target = match &null {
        Some(null) => null_server::target(job.target.dialect, null),
        None => job.fresh_target()?,
    };
    let load = Load::prepare(&job.workload, &target, options(job, seed), &job.interrupted);
    let mut load = load.map_err(|failure| with_target(request, &failure))?;
    if let Some(layout) = layout {
        print(&layout.heading(&figures::heading(request, opens_with.as_deref())))?;
        if request.rand_seed.is_none() && layout == Layout::Modern {
            note(&format!("note: --rand-seed={seed} gives the same inputs again"));
        }
    }
    if !request.warmup.is_zero() {
        load.warm_up(request.warmup, &mut |_| {})
            .map_err(|failure| with_target(request, &failure).context("no measurement: the warm-up failed"))?;
    }
    let board = load.board();
    let parts = job.workload.single_pass().map(|pass| pass.parts()).unwrap_or_default();
    let reporter = job.workload.commands().filter(|_| layout.is_some());
    let reporter = reporter.map(|commands| commands.reporter(&target, request.clients, seed)).transpose();
    let reporter = reporter.map_err(anyhow::Error::from)?.flatten();
    let mut live_report = LiveReport::new(request, layout, board.clone(), parts, reporter);
    let begin = live_report.checkpoint.counted.clone();
    let periods = || throttled_periods().unwrap_or(0.0);
    let (before, mut after) = (periods(), 0.0);
    let measured = load.measure(request.duration, &mut |live| live_report.update(live), &mut || after = periods());
    let held_up = generator_limit::held_up(&measured.tally, after - before);
    pooler.iter().for_each(|pooler| note_sessions(request.target.kind, &job.target, pooler, request.clients));
    live_report.end();
    let counted = board.map(|board| (board.read(), board.take_extremes_ns()));
    let mut run = Run { job, measured, live_report, begin, counted, held_up, server_version, tables, seed, beside };
    run.print_results(layout)?;
    Ok(run.exit())
}

/// A log that changes data is replayed on a server that others may use only where the user says so.
fn expect_leave_to_write(job: &Job) -> Result<(), Failure> {
    let is_allowed = job.request.workload_options.get("writes") == Some(&OptionValue::Flag(true));
    let changes = job.workload.replays().filter(|_| !is_allowed).and_then(Replays::writes);
    changes.map_or(Ok(()), |statement| {
        Err(Failure::usage(anyhow!(
            "the log changes data, and nothing is put back afterwards: `{statement}` is one of its statements\n  next: --reads-only leaves out what may change data; --writes replays it all, on a server whose data you can lose"
        )))
    })
}

/// What is known of the server.
struct Seen {
    server_version: String,
    opens_with: Option<String>,
    /// None of a server that does nothing, and where clients make their tables themselves.
    tables: Option<Tables>,
    pooler: Option<Pooler>,
}

impl Seen {
    fn nothing() -> Seen {
        Seen {
            server_version: "spoken to a server that does nothing".to_owned(),
            opens_with: Some("BEGIN".to_owned()),
            tables: None,
            pooler: None,
        }
    }
}

/// Makes sure that the tables are there, and does what comes before the clients.
fn read_session(job: &Job) -> anyhow::Result<Seen> {
    let admin = &mut job.session()?;
    let pooler = expect_room(job, admin)?;
    job.expect_tables(admin)?;
    job.recognise(admin)?;
    job.claim_scratch(admin)?;
    let opens_with = job.workload.reuses_tables().map(|tables| prepare_run(job, tables, admin)).transpose()?.flatten();
    let has_none = job.workload.spec().scratch.is_some() || job.workload.replays().is_some();
    let tables = if has_none { None } else { Some(tables::find_tables(job, admin)?) };
    admin.leave()?;
    Ok(Seen { server_version: admin.server_version().to_owned(), opens_with, tables, pooler })
}

/// Fails where the server has too little of what the clients need; names what may disturb them.
fn expect_room(job: &Job, admin: &mut Admin) -> anyhow::Result<Option<Pooler>> {
    let request = &job.request;
    // Clients of several servers take turns.
    let clients = request.clients.div_ceil(1 + request.further.len() as u32);
    let option = |name: &str, value: &str| format!("--{}={value}", name.replace('_', "-"));
    let rate = request.rate.map(|rate| rate / (1 + request.further.len()) as f64);
    let need = need::of_clients(job.workload.as_ref(), job.target.dialect, clients, rate, &option);
    expect(request.target.kind, &job.target, admin, need)
}

/// Does the workload's preparation before its clients come, and returns what opens their transactions.
fn prepare_run(job: &Job, tables: &dyn ReusesTables, admin: &mut Admin) -> anyhow::Result<Option<String>> {
    let statements = tables.prepare_run(job.target.dialect);
    if !statements.is_empty() {
        job.expect_long_statements(admin)?;
    }
    for sql in statements {
        admin.run(&sql).with_context(|| format!("cannot run {sql}"))?;
    }
    tables.opening_statement(admin).context("cannot ask for the table's storage engine")
}

/// A run that has ended, one way or another.
struct Run<'a> {
    job: &'a Job,
    measured: Measured,
    live_report: LiveReport<'a>,
    begin: Reading,
    /// At the very end, with the extremes since the last checkpoint.
    counted: Option<(Reading, Option<(u64, u64)>)>,
    /// Why the figures are the generator's.
    held_up: Option<String>,
    server_version: String,
    tables: Option<Tables>,
    seed: u64,
    /// Another measurement went on at the same time.
    beside: bool,
}

impl Run<'_> {
    fn print_results(&mut self, layout: Option<Layout>) -> Result<(), Failure> {
        let request = &self.job.request;
        if let Some(failure) = self.failure() {
            let error = with_target(request, failure);
            note(&driver::with_advice(format!("error: {error}")));
            note("  the report covers what was measured until then");
        }
        if let Some(why) = &self.held_up {
            note(&format!("warning: {}: {why}", generator_limit::BOUND));
        }
        if layout.is_some() || request.format != Format::Text {
            let mut remarks =
                figures::remarks_of_answers(self.job.workload.as_ref(), &self.measured.tally, self.tables.as_ref());
            remarks.extend(trial::remarks_of_script(&self.measured.tally));
            remarks.iter().for_each(|(flag, why)| note(&format!("warning: {flag}: {why}")));
            if self.beside {
                note("warning: shared-host: another measurement went on at the same time");
            }
        }
        match layout {
            Some(layout) => {
                if request.histogram {
                    print(&Buckets::new(self.measured.tally.response.latencies_ms()).text())?;
                }
                let figures = self.figures();
                if !self.live_report.is_reported(Reported::Whole, &figures::of_block(&figures, 0)) {
                    print(&layout.block(&figures))?;
                }
            }
            None => {
                let report = self.report();
                let ramp_up_s = request.warmup.as_secs_f64();
                let json = || serde_json::to_string_pretty(&report.json()).expect("plain figures are JSON") + "\n";
                print(&match request.format {
                    Format::Json => json(),
                    Format::Dbt2 => report.dbt2(Arithmetic::Once, ramp_up_s),
                    Format::Dbt2Compat => report.dbt2(Arithmetic::Classic, ramp_up_s),
                    Format::Text | Format::Modern | Format::Classic => report.text(terminal::width()),
                })?;
            }
        }
        Ok(())
    }

    /// Something other than the user ended it.
    fn failure(&self) -> Option<&LoadFailure> {
        self.measured.failure.as_ref().filter(|failure| **failure != LoadFailure::Interrupted)
    }

    fn partial(&self) -> Option<String> {
        let measured_s = self.measured.tally.interval_ns as f64 / 1e9;
        self.measured.failure.as_ref().map(|failure| figures::partial(&self.job.request, failure, measured_s))
    }

    fn wrong(&self) -> Option<String> {
        figures::wrong(self.job.workload.as_ref(), &self.measured.tally, self.tables.as_ref())
    }

    /// Sysbench's last block: the whole run, or what came after the last checkpoint.
    fn figures(&self) -> Figures {
        let (request, tally) = (&self.job.request, &self.measured.tally);
        let (end, extremes_ns) = self.counted.clone().unwrap_or_default();
        let figures = if self.live_report.checkpoint.at.is_zero() {
            figures::whole(request, tally, &end.since(&self.begin))
        } else {
            let at = Duration::from_nanos(tally.interval_ns + tally.drain_ns);
            figures::part(request, &self.live_report.checkpoint, &Mark { at, counted: end }, extremes_ns)
        };
        let unfinished = match self.measured.failure {
            Some(LoadFailure::Drain { clients, .. }) => Some(u64::from(clients)),
            _ => None,
        };
        // A few arrivals always wait for a moment; more than there are clients are a backlog.
        let backlog = figures.left_waiting > u64::from(request.clients);
        let left_waiting = if backlog { figures.left_waiting } else { 0 };
        Figures { partial: self.partial(), wrong: self.wrong(), unfinished, left_waiting, ..figures }
    }

    fn report(&self) -> BenchReport {
        let request = &self.job.request;
        let embedded = self.job.target.dialect.is_embedded();
        let mut report = BenchReport {
            server_version: self.server_version.clone(),
            seed: self.seed,
            partial: self.partial(),
            wrong: self.wrong(),
            intervals: self.live_report.intervals.clone(),
            ..figures::report(request, self.job.workload.as_ref(), &self.measured.tally, embedded, self.tables.as_ref())
        };
        if self.held_up.is_some() && !report.flags.iter().any(|flag| flag == generator_limit::BOUND) {
            report.flags.push(generator_limit::BOUND.to_owned());
        }
        if self.beside {
            report.flags.push(SHARED_HOST.to_owned());
            let why = "another measurement went on at the same time: the figures are no result";
            report.remarks.insert(SHARED_HOST.to_owned(), why.to_owned());
        }
        report
    }

    fn exit(&self) -> u8 {
        match self.measured.failure {
            None if self.wrong().is_some() => exit::NOT_MEASURED,
            None => exit::DONE,
            Some(LoadFailure::Interrupted) => exit::INTERRUPTED,
            Some(_) => exit::NOT_MEASURED,
        }
    }
}

/// A failure of the load, which has the server's address only, if that. What the server itself refused gets its next
/// step where errors are printed.
fn with_target(request: &Request, failure: &LoadFailure) -> anyhow::Error {
    let text = format!("{}: {failure}", figures::all_targets(request));
    if driver::advice_in(&text).is_some() {
        return anyhow!(text);
    }
    let next = match failure {
        LoadFailure::Start(_) => "look whether each server of the target runs and lets this account in",
        _ => "look into the server's own log, and at what ran beside it",
    };
    anyhow!("{text}\n  next: {next}")
}

fn layout(request: &Request) -> Option<Layout> {
    match request.format {
        Format::Modern => Some(Layout::Modern),
        Format::Classic => Some(Layout::Classic),
        Format::Text | Format::Json | Format::Dbt2 | Format::Dbt2Compat => None,
    }
}

/// sysbench 1.0 draws from the clock, and for a reason: tables stay as the last run left them, and a
/// run that repeats its inputs writes what is there already. 0.4 repeated them all the same.
fn drawn_seed(request: &Request) -> u64 {
    if request.compat == Some(Compat::Classic) {
        return 1;
    }
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64)
}

fn options(job: &Job, input_seed: u64) -> LoadOptions {
    let request = &job.request;
    let client_cpus = host::client_cpus();
    LoadOptions {
        share: None,
        clients: request.clients,
        elsewhere: request.further.iter().map(TargetUrl::endpoint).collect(),
        workers: request.workers.unwrap_or(client_cpus.workers),
        // Where a target's server runs is not known, so no CPU is set aside.
        cpus: Vec::new(),
        input_seed,
        data_seed: job.data_seed(),
        interval_max: request.duration.unwrap_or(ENDLESS),
        drain_max: drain_max(request),
        silence_max: request.silence,
        rate: request.rate.map(|per_sec| Rate {
            per_sec,
            gaps: match request.arrivals {
                Arrivals::Poisson => Interarrival::Poisson,
                Arrivals::Constant => Interarrival::Constant,
            },
            queue_max: request.queue.map_or(QUEUE_MAX, u64::from),
        }),
        transactions_max: request.events,
        transactions_each: None,
        log: None,
        policy: policy(job),
        board: layout(request).is_some() || request.report_interval.is_some() || !request.checkpoints.is_empty(),
        windows: None,
        gauge: None,
        ledger: None,
    }
}

fn drain_max(request: &Request) -> Duration {
    match request.forced_shutdown {
        ForcedShutdown::Off => ENDLESS,
        ForcedShutdown::After(time) => time,
        ForcedShutdown::Share(share) => request.duration.map_or(ENDLESS, |duration| duration.mul_f64(share)),
    }
}

fn policy(job: &Job) -> ErrorPolicy {
    let request = &job.request;
    let ignored = match request.ignore_errors.as_deref() {
        None => job.workload.ignored_errors(job.target.dialect),
        Some([all]) if all.eq_ignore_ascii_case("all") => Ignored::All,
        Some(codes) => Ignored::Codes(codes.iter().map(|code| Code::new(code.as_bytes())).collect()),
    };
    let (reconnect, reconnect_every) = match request.reconnect {
        Reconnect::Off => (false, None),
        Reconnect::On => (true, None),
        Reconnect::Every(transactions) => (true, Some(transactions)),
    };
    ErrorPolicy { ignored, reconnect, reconnect_every, ..ErrorPolicy::default() }
}
