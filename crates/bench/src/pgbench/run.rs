//! A run by pgbench's rules: look at the tables, vacuum, connect, measure, report.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::limits::{expect, note_sessions};
use ::report::pgbench::{Progress, progress, report};
use anyhow::anyhow;
use driver::{Admin, Code, Dialect, Endpoint, Error};
use load::{
    ErrorPolicy, Failure as LoadFailure, Ignored, Interarrival, Live, Load, LoadOptions, Rate, Reading, TransactionLog,
    Workload,
};
use script::pgbench::{Pgbench, PgbenchTables, Rules, Watch};
use terminal::{Failure, exit, note, print};
use trial::need;

use super::figures::{Run, partitions, spread};
use super::job::{Job, STATEMENT_LIMIT};
use super::log::Log;

/// Sizes the series of a run by number, and ends one that never ends.
const ENDLESS: Duration = Duration::from_secs(86_400);
/// The exit status of pgbench where an error has ended clients.
const CLIENT_ABORTED: u8 = 2;
/// Arrivals that may wait for a client.
const QUEUE_MAX: u64 = 1_000_000;

pub fn run(job: &Job) -> Result<u8, Failure> {
    let request = &job.request;
    if let Endpoint::File(path) = &job.target.endpoint
        && !path.exists()
    {
        return Err(anyhow!("there is no database {}\n{}", path.display(), next(job)).into());
    }
    let mut admin = job.admin()?;
    let scale = scale(job, &mut admin)?;
    let scripts = compiled(job, scale)?;
    let option = |_: &str, value: &str| format!("-M {value}");
    let need = need::of_clients(scripts.as_ref(), job.target.dialect, request.clients, request.rate, &option);
    let pooler = expect(job.place.kind, &job.target, &mut admin, need)?;
    let partitions = partitions(&mut admin);
    vacuum(job, &mut admin, &scripts);
    drop(admin);
    let started = Instant::now();
    let workload: Arc<dyn Workload> = Arc::clone(&scripts) as Arc<dyn Workload>;
    let threads = if job.target.dialect.is_embedded() { request.clients } else { request.jobs } as usize;
    let transactions = request.log.as_ref().map(|_| Arc::new(TransactionLog::new(threads)));
    let options = LoadOptions { log: transactions.clone(), ..options(job) };
    let load = Load::prepare(&workload, &job.target, options, &job.interrupted);
    let load = load.map_err(|failure| anyhow!("{}: {failure}", job.place))?;
    let connect_ms = started.elapsed().as_secs_f64() * 1e3;
    let mut lines = Lines::new(job, load.board().map(|board| board.read()).unwrap_or_default());
    let mut log = Log::open(request, threads, epoch_us()).map_err(|error| anyhow!("cannot write the log: {error}"))?;
    let mut write = || {
        if let (Some(log), Some(transactions)) = (&mut log, &transactions) {
            transactions.drain(|thread, one| log.take(thread, one));
        }
    };
    let mut look = |live: Live<'_>| {
        lines.look(&live);
        write();
    };
    let measured = load.measure(request.duration, &mut look, &mut || ());
    pooler.iter().for_each(|pooler| note_sessions(job.place.kind, &job.target, pooler, request.clients));
    write();
    log.map_or(Ok(()), Log::end).map_err(|error| anyhow!("cannot write the log: {error}"))?;
    let lost = transactions.map_or(0, |transactions| transactions.lost());
    if lost > 0 {
        note(&format!("warning: the log lacks {lost} transactions, which came faster than it was written"));
    }
    let run = Run { job, scripts: &scripts, tally: &measured.tally, scale, partitions, connect_ms };
    measured.tally.aborted.iter().flat_map(|why| why.lines()).for_each(|line| note(&format!("error: {line}")));
    print(&report(&run.figures()))?;
    Ok(match &measured.failure {
        None if measured.tally.aborted.is_empty() => exit::DONE,
        None => {
            note("error: Run was aborted; the above results are incomplete.");
            CLIENT_ABORTED
        }
        Some(LoadFailure::Interrupted) => {
            note("error: interrupted; the above results are incomplete.");
            exit::INTERRUPTED
        }
        Some(failure) => {
            note(&format!(
                "error: {}: {failure}\nerror: Run was aborted; the above results are incomplete.",
                job.place
            ));
            exit::NOT_MEASURED
        }
    })
}

/// The scripts as this server takes them.
fn compiled(job: &Job, scale: u64) -> Result<Arc<Pgbench>, Failure> {
    let request = &job.request;
    // What `debug()` prints is watched too; a word in a comment costs a little time and prints nothing.
    let prints = request.files.iter().any(|file| file.text.to_ascii_lowercase().contains("debug("));
    let is_watched = request.debug || request.verbose_errors || prints;
    let rules = Rules {
        protocol: request.protocol,
        defines: request.defines.clone(),
        max_tries: request.max_tries,
        by_pgbench: true,
        allows_shell: request.allow_shell,
        watch: is_watched.then_some(Watch { print: note, commands: request.debug, errors: request.verbose_errors }),
    };
    let made = Pgbench::new(&request.files, PgbenchTables::new(scale), &rules);
    let scripts = made.map_err(|faults| Failure::usage(anyhow!(faults.join("\n"))))?;
    scripts.runs_on(job.target.dialect).map_err(|why| Failure::usage(anyhow!(why)))?;
    if let Some(place) = scripts.runs_programs(job.target.dialect) {
        note(&format!("warning: runs commands inside the measured time: {place}"));
    }
    Ok(Arc::new(scripts))
}

fn epoch_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Branches are counted where a builtin script runs; a file has the scale that was given.
fn scale(job: &Job, admin: &mut Admin) -> Result<u64, Failure> {
    let given = job.request.scale;
    if !job.request.files.iter().any(|file| file.is_builtin) {
        return Ok(given.unwrap_or(1));
    }
    let found = admin.value("select count(*) from pgbench_branches");
    let found = found.map_err(|error| missing(job, &error))?.and_then(|count| count.parse().ok()).unwrap_or(0);
    if found == 0 {
        return Err(anyhow!("pgbench_branches has no rows\n{}", next(job)).into());
    }
    if given.is_some_and(|given| given != found) {
        note(&format!("warning: scale option ignored, using count from pgbench_branches table ({found})"));
    }
    Ok(found)
}

fn missing(job: &Job, error: &Error) -> Failure {
    anyhow!("could not count number of branches: {error}\n{}", next(job)).into()
}

fn next(job: &Job) -> String {
    let database = job.place.database();
    format!("  next: Perhaps you need to do initialization (\"dbduel pgbench -i\") in database \"{database}\".")
}

/// A table that is not there is no error of a file that does not need it.
fn vacuum(job: &Job, admin: &mut Admin, scripts: &Pgbench) {
    let request = &job.request;
    if request.no_vacuum {
        return;
    }
    let mut statements =
        scripts.reuses_tables().map(|tables| tables.prepare_run(job.target.dialect)).unwrap_or_default();
    if request.vacuum_all {
        statements.push(match job.target.dialect {
            Dialect::Postgres => "vacuum analyze pgbench_accounts".to_owned(),
            Dialect::MySql => "analyze table pgbench_accounts".to_owned(),
            Dialect::Sqlite => "analyze pgbench_accounts".to_owned(),
        });
        // It reads a whole table.
        let _ = admin.set_timeout(None);
    }
    for sql in statements {
        if let Err(error) = admin.run(&sql) {
            note(&format!("warning: {sql}: {error} (ignoring this error and continuing anyway)"));
        }
    }
    let _ = admin.set_timeout(Some(STATEMENT_LIMIT));
    note("starting vacuum...end.");
}

fn options(job: &Job) -> LoadOptions {
    let request = &job.request;
    LoadOptions {
        clients: request.clients,
        workers: request.jobs,
        input_seed: request.seed.unwrap_or_else(epoch_us),
        interval_max: request.duration.unwrap_or(ENDLESS),
        drain_max: ENDLESS,
        rate: request.rate.map(|per_sec| Rate { per_sec, gaps: Interarrival::Poisson, queue_max: QUEUE_MAX }),
        transactions_each: request.transactions,
        policy: ErrorPolicy {
            ignored: tried_again(job.target.dialect),
            leaves_alone: true,
            reconnect_every: request.connect_each.then_some(1),
            latency_limit_ns: request.limit_ms.map(|ms| (ms * 1e6) as u64),
            ..ErrorPolicy::default()
        },
        board: request.progress.is_some(),
        ..LoadOptions::default()
    }
}

/// The errors that a transaction may be tried again for.
fn tried_again(dialect: Dialect) -> Ignored {
    match dialect {
        // A serialization failure, and a deadlock.
        Dialect::Postgres => Ignored::Codes(["40001", "40P01"].map(|code| Code::new(code.as_bytes())).into()),
        Dialect::MySql | Dialect::Sqlite => Ignored::Conflicts,
    }
}

/// Lines of progress while the load runs.
struct Lines<'a> {
    job: &'a Job,
    printed: u32,
    since: Duration,
    counted: Reading,
}

impl<'a> Lines<'a> {
    fn new(job: &'a Job, counted: Reading) -> Lines<'a> {
        Lines { job, printed: 0, since: Duration::ZERO, counted }
    }

    fn look(&mut self, live: &Live<'_>) {
        let request = &self.job.request;
        let (Some(every), Some(board)) = (request.progress, live.board) else { return };
        if live.elapsed < every * (self.printed + 1) {
            return;
        }
        self.printed = (live.elapsed.as_secs_f64() / every.as_secs_f64() + 1e-6) as u32;
        let now = board.read();
        let seen = now.since(&self.counted);
        let seconds = (live.elapsed - self.since).as_secs_f64().max(f64::MIN_POSITIVE);
        let ended = seen.committed + seen.failed;
        let epoch_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        note(&progress(&Progress {
            at_s: if request.progress_timestamp { epoch_s } else { live.elapsed.as_secs_f64() },
            as_timestamp: request.progress_timestamp,
            tps: seen.committed as f64 / seconds,
            latency: spread(&seen.latencies_ms()),
            failed: seen.failed,
            lag_ms: request.rate.map(|_| seen.lag_ns_sum as f64 / 1e6 / ended.max(1) as f64),
            skipped: request.rate.and(request.limit_ms).map(|_| seen.skipped),
            retries: (request.max_tries != 1).then_some((seen.retried, seen.retries)),
        }));
        (self.since, self.counted) = (live.elapsed, now);
    }
}
