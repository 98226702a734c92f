//! `prepare`, `check`, `cleanup` and sysbench's `prewarm`: a workload's tables on a running server.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use driver::{Admin, Isolation};
use indicatif::{ProgressBar, ProgressStyle};
use load::{Loader, Setting, Table};

use super::job::Job;
use super::server::listed;
use terminal::{Failure, exit, note, print};

/// Sessions that load side by side, unless more clients are asked for.
const SESSIONS: usize = 4;

pub fn prepare(job: &Job) -> Result<u8, Failure> {
    let mut admin = database(job)?;
    if job.workload.spec().scratch.is_some() {
        let name = job.request.workload.name;
        print(&format!("nothing to prepare: {name} makes its tables as it goes, and drops them\n"))?;
        return Ok(exit::DONE);
    }
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

/// The workload's tables as they were asked for, and as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Of the table that holds least: its name, the rows asked for, and the greatest id that it has. None where
    /// rows have no ids of their own.
    pub least: Option<(String, u64, u64)>,
    /// The next table of a numbered series, where it is there although nobody asked for it.
    pub further: Option<String>,
    pub foreign_keys_asked: usize,
    pub foreign_keys: usize,
    /// Answers depend on both.
    pub setting: Setting,
}

/// Asks nothing that would read a whole table: a run is not to find in memory what it would not have.
pub fn find_tables(job: &Job, admin: &mut Admin) -> anyhow::Result<Tables> {
    let (mut least, mut further, mut foreign_keys_asked, mut foreign_keys) = (None, None, 0, 0);
    for table in job.workload.tables(job.target.dialect) {
        let name = &table.name;
        foreign_keys_asked += table.ddl().map(|sql| sql.matches("FOREIGN KEY").count()).sum::<usize>();
        foreign_keys += admin.foreign_keys(name).with_context(|| format!("cannot read what {name} is"))?;
        if table.columns.first().is_some_and(|column| column == "id") && table.rows > 0 {
            let most = admin.value(&format!("SELECT MAX(id) FROM {name}"))?;
            let most = most.and_then(|id| id.parse().ok()).unwrap_or(0);
            if least.as_ref().is_none_or(|(_, _, known)| most < *known) {
                least = Some((name.clone(), table.rows, most));
            }
            further =
                next_in_series(name).filter(|next| admin.rows(&format!("SELECT 1 FROM {next} WHERE 1 = 0")).is_ok());
        }
    }
    // A server that does not name its level gives no more than the weakest.
    let isolation = admin.isolation().unwrap_or(Isolation::ReadUncommitted);
    Ok(Tables {
        least,
        further,
        foreign_keys_asked,
        foreign_keys,
        setting: Setting { dialect: job.target.dialect, isolation },
    })
}

/// `sbtest2` behind `sbtest1`.
fn next_in_series(name: &str) -> Option<String> {
    let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number: u64 = name[stem.len()..].parse().ok()?;
    Some(format!("{stem}{}", number + 1))
}

impl Tables {
    /// What is there, for the report.
    pub fn text(&self) -> String {
        let keys = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
        let rows = self.least.iter().map(|(name, asked, most)| {
            let part = if most > asked { ", so that a part of the table is used" } else { "" };
            format!("{asked} rows asked for, {name} has ids to {most}{part}; ")
        });
        let further = self.further.iter().map(|name| format!("{name} is there too and is not used; "));
        let asked = keys(self.foreign_keys_asked);
        rows.chain(further)
            .chain([format!("foreign keys: {asked} asked for, {} there", keys(self.foreign_keys))])
            .collect()
    }

    /// Flags with their reasons, where tables differ from the options.
    pub fn flags(&self) -> Vec<(String, String)> {
        let mut flags = Vec::new();
        if let Some((name, asked, most)) = self.least.as_ref().filter(|(_, asked, most)| most < asked) {
            let why = format!("{asked} rows were asked for, and the greatest id of {name} is {most}");
            flags.push(("rows".to_owned(), why));
        }
        if self.foreign_keys != self.foreign_keys_asked {
            let (asked, there) = (self.foreign_keys_asked, self.foreign_keys);
            flags.push(("foreign-keys".to_owned(), format!("{asked} were asked for, {there} are there")));
        }
        flags
    }
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
