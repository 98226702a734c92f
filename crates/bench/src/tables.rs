//! `prepare`, `check`, `cleanup` and sysbench's `prewarm`: a workload's tables on a running server.

mod fit;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use driver::Admin;
use indicatif::{ProgressBar, ProgressStyle};
use load::{Loader, Table};

pub use fit::{Tables, find_tables};

use super::job::Job;
use super::limits::expect;
use super::server::listed;
use terminal::{Failure, exit, note, print};
use trial::need;

/// Sessions that load side by side, unless more clients are asked for.
const SESSIONS: usize = 4;

pub fn prepare(job: &Job) -> Result<u8, Failure> {
    let mut admin = database(job)?;
    if job.workload.spec().scratch.is_some() {
        let name = job.request.workload.name;
        print(&format!("nothing to prepare: {name} makes its tables as it goes, and drops them\n"))?;
        return Ok(exit::DONE);
    }
    let need = need::of_tables(job.workload.as_ref(), job.target.dialect, job.data_seed());
    expect(job.request.target.kind, &job.target, &mut admin, need)?;
    let (there, _) = job.tables(&mut admin)?;
    if !there.is_empty() {
        let is = if there.len() == 1 { "a table is" } else { "tables are" };
        let (with, next) = (job.with_password(), job.cleanup_line());
        let there = listed(&there);
        return Err(anyhow!("{is} there already: {there}\n  next: {with}drop what is there with `{next}`").into());
    }
    let tables = job.workload.tables(job.target.dialect);
    let rows = tables.iter().map(|table| table.rows).sum();
    let bar = Bar::new(rows);
    drop(admin);
    let sessions = SESSIONS.max(job.request.clients as usize);
    let loader = Loader { target: &job.target, sessions, interrupted: &job.interrupted };
    let loaded = loader.load(job.workload.as_ref(), job.data_seed(), &mut |so_far| bar.loaded(so_far));
    bar.end();
    loaded.with_context(|| {
        let (with, next) = (job.with_password(), job.cleanup_line());
        format!("cannot load the data\n  next: {with}drop what is there with `{next}`")
    })?;
    let took = bar.begun.elapsed().as_secs_f64();
    let many = if tables.len() == 1 { "1 table".to_owned() } else { format!("{} tables", tables.len()) };
    let rate = rows as f64 / took.max(1e-9);
    print(&match rows {
        0 => format!("made {many}, empty as the workload wants them\n"),
        _ => format!("loaded {rows} rows into {many} in {took:.1} s ({rate:.0} rows/s), indexes included\n"),
    })?;
    Ok(exit::DONE)
}

/// The workload's database, which is made where it is not there.
fn database(job: &Job) -> anyhow::Result<Admin> {
    if let Some(admin) = job.database()? {
        return Ok(admin);
    }
    let admin = job.create_database()?;
    note(&format!("made the database `{}`, which was not there", job.request.target.database()));
    Ok(admin)
}

/// Runs a command of a script, which alone knows what it does.
pub fn command(job: &Job) -> Result<u8, Failure> {
    let request = &job.request;
    let (Some(commands), Some(command)) = (job.workload.commands(), request.command.as_deref()) else {
        return Err(anyhow!("{} has no commands", request.workload.name).into());
    };
    drop(if command == "prepare" { database(job)? } else { job.session()? });
    commands
        .run(command, &job.target, request.clients, job.data_seed(), &job.interrupted)
        .map_err(|error| anyhow!(error))?;
    Ok(exit::DONE)
}

/// A log has no tables of its own to make, to check or to drop.
pub fn of_a_log(job: &Job) -> Result<u8, Failure> {
    let name = job.request.workload.name;
    print(&format!("nothing to do: {name} runs on the tables that the server has\n"))?;
    Ok(exit::DONE)
}

pub fn check(job: &Job) -> Result<u8, Failure> {
    let mut admin = job.session()?;
    if job.workload.spec().scratch.is_some() {
        print(&format!("nothing to check: {} looks at answers as it runs\n", job.request.workload.name))?;
        return Ok(exit::DONE);
    }
    job.expect_tables(&mut admin)?;
    job.recognise(&mut admin)?;
    job.expect_long_statements(&mut admin)?;
    let checked = job.workload.check(&mut admin, None);
    let violations = checked.context("cannot check the data")?;
    if violations.is_empty() {
        print(&format!("the data of {} are as they should be\n", job.request.workload.name))?;
        return Ok(exit::DONE);
    }
    print(&format!("the data are not as they should be:\n  {}\n", violations.join("\n  ")))?;
    Ok(exit::VIOLATION)
}

pub fn cleanup(job: &Job) -> Result<u8, Failure> {
    let mut admin = job.session()?;
    let there = match job.workload.spec().scratch {
        Some(scratch) => job.left_over(&mut admin, &scratch)?,
        None => job.tables(&mut admin)?.0,
    };
    job.expect_long_statements(&mut admin)?;
    for table in &there {
        let dropped = admin.run(&format!("DROP TABLE {table}"));
        dropped.with_context(|| format!("cannot drop {table}"))?;
    }
    // Whatever form is asked for: a run of another one may have left them.
    let remains = job.workload.remains(&mut admin).context("cannot look for routines of earlier runs")?;
    for (name, drop) in &remains {
        admin.run(drop).with_context(|| format!("cannot drop {name}"))?;
    }
    let routines: Vec<String> = remains.into_iter().map(|(name, _)| name).collect();
    let dropped = match (there.as_slice(), routines.as_slice()) {
        ([], []) => "nothing: no table of the workload is there".to_owned(),
        (some, []) | ([], some) => listed(some),
        (tables, routines) => format!("{}, and the routines {}", listed(tables), listed(routines)),
    };
    print(&format!("dropped {dropped}\n"))?;
    let lasting: Vec<String> = job.workload.lasting(job.target.dialect).iter().map(|sql| first_line(sql)).collect();
    if !lasting.is_empty() {
        let made = lasting.join("\n  ");
        print(&format!("left, because setup made it and there is no `teardown`:\n  {made}\n"))?;
    }
    Ok(exit::DONE)
}

fn first_line(sql: &str) -> String {
    sql.lines().next().unwrap_or_default().trim_end().to_owned()
}

/// Reads every table once by its rows and once by its index on k, so that a run finds them in memory.
pub fn prewarm(job: &Job) -> Result<u8, Failure> {
    let mut admin = job.session()?;
    job.expect_tables(&mut admin)?;
    job.expect_long_statements(&mut admin)?;
    for table in job.workload.tables(job.target.dialect) {
        let read = read_whole(&mut admin, &table);
        read.with_context(|| format!("cannot read {}", table.name))?;
        print(&format!("read {}\n", table.name))?;
    }
    Ok(exit::DONE)
}

fn read_whole(admin: &mut Admin, table: &Table) -> Result<(), driver::Error> {
    let name = &table.name;
    let last = table.columns.last().map_or("id", AsRef::as_ref);
    let asked = if last == "*" { "COUNT(*)".to_owned() } else { format!("MAX({last})") };
    admin.rows(&format!("SELECT {asked} FROM {name}"))?;
    if table.columns.iter().any(|column| column == "k") {
        admin.rows(&format!("SELECT COUNT(k) FROM {name} WHERE k > -1"))?;
    }
    Ok(())
}

/// Rows and rows per second: a bar on a terminal, a line now and then elsewhere.
struct Bar {
    bar: Option<ProgressBar>,
    rows: u64,
    begun: Instant,
    printed: std::cell::Cell<Instant>,
}

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Bar {
    fn new(rows: u64) -> Bar {
        let style = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} rows, {per_sec}, {eta} left");
        let bar = std::io::stderr()
            .is_terminal()
            .then(|| ProgressBar::new(rows).with_style(style.expect("the template is valid")));
        let begun = Instant::now();
        Bar { bar, rows, begun, printed: std::cell::Cell::new(begun) }
    }

    fn loaded(&self, so_far: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(so_far),
            None if self.printed.get().elapsed() >= LINE_EVERY => {
                self.printed.set(Instant::now());
                let rate = so_far as f64 / self.begun.elapsed().as_secs_f64();
                note(&format!("loaded {so_far} of {} rows ({rate:.0} rows/s)", self.rows));
            }
            None => {}
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
