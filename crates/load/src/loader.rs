//! Loading a workload's tables, and showing them as the server has them.
//!
//! Rows follow from the seed, the table and the row's number alone, so any number of sessions load
//! the same data. They share one table by taking its next part whenever they are done with one.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use driver::{Admin, Error, Value};

use crate::workload::{Table, Workload};
use driver::Target;

/// Part of a snapshot's key: raise it when the same options no longer give the same bytes.
pub const LOADER_VERSION: u32 = 3;

/// Rows that a session loads in one transaction, if its units are no larger: enough to make its end cheap,
/// few enough that sessions end at nearly the same time.
const PART_ROWS: u64 = 10_000;
/// A server that has not let a session in by then is not there.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// No statement of a load may take longer.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);
/// Fills a workload's tables.
pub struct Loader<'a> {
    pub target: &'a Target,
    /// Sessions that load side by side; SQLite, which lets one write at a time, gets one.
    pub sessions: usize,
    /// Set when the program is interrupted: no session takes another part then. What they do at that moment is ended by
    /// the driver, as every wait of the set-up is.
    pub interrupted: &'a AtomicBool,
}

/// Units of one table, by their numbers from 0.
struct Part {
    table: usize,
    units: Range<u64>,
}

impl Loader<'_> {
    /// Makes and fills the tables; indexes come after the rows, and what refers to other tables after all
    /// of them. `progress` gets the rows loaded so far.
    pub fn load(&self, workload: &dyn Workload, data_seed: u64, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        if let Some(commands) = workload.commands() {
            let sessions = if self.target.dialect.is_embedded() { 1 } else { self.sessions as u32 };
            return commands.run("prepare", self.target, sessions, data_seed, self.interrupted);
        }
        let tables = workload.tables(self.target.dialect);
        let mut session = self.connect()?;
        tables.iter().flat_map(|table| &table.create).try_for_each(|sql| session.run(sql).map(drop))?;
        drop(session);
        let load = |session: &mut Admin, part: Part| {
            load_part(workload, data_seed, session, &tables[part.table], part.table, part.units)
        };
        self.in_parallel(parts(&tables, false), progress, load)?;
        self.in_parallel(tables.iter(), &mut |_| (), |session, table| finish(session, table).map(|()| 0))?;
        // By one session, one after the other: they lock each other's tables, and what seals comes last.
        self.in_parallel(std::iter::once(()), &mut |_| (), |session, ()| {
            tables.iter().flat_map(|table| &table.link).try_for_each(|sql| session.run(sql).map(drop))?;
            parts(&tables, true).try_for_each(|part| load(session, part).map(drop)).map(|()| 0)
        })
    }

    fn connect(&self) -> Result<Admin, Error> {
        let Target { dialect, endpoint, login } = self.target;
        let limit = if dialect.is_embedded() { STATEMENT_LIMIT } else { LOGIN_LIMIT };
        let mut session = Admin::connect(*dialect, endpoint, login, limit)?;
        session.heed_interruption();
        session.set_timeout(Some(STATEMENT_LIMIT))?;
        Ok(session)
    }

    /// Does the pieces of work, each by whichever session is free; the first error ends it all.
    fn in_parallel<T>(
        &self,
        pieces: impl Iterator<Item = T> + Send,
        progress: &mut dyn FnMut(u64),
        work: impl Fn(&mut Admin, T) -> Result<u64, Error> + Sync,
    ) -> Result<(), Error> {
        let sessions = if self.target.dialect.is_embedded() { 1 } else { self.sessions.max(1) };
        let sessions = sessions.min(pieces.size_hint().1.unwrap_or(sessions));
        let (pieces, stopped) = (Mutex::new(pieces), AtomicBool::new(false));
        let next = || {
            let stopped = stopped.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed);
            if stopped { None } else { pieces.lock().unwrap_or_else(PoisonError::into_inner).next() }
        };
        let (done, doing) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..sessions {
                let (done, next, work, stopped) = (done.clone(), &next, &work, &stopped);
                scope.spawn(move || {
                    let worked = self.work(next, &done, work);
                    if worked.is_err() {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    // The reader goes on until every sender is gone.
                    let _ = done.send(worked.map(|()| 0));
                });
            }
            drop(done);
            self.listen(&doing, progress)
        })
    }

    /// One session's share of the work.
    fn work<T>(
        &self,
        next: impl Fn() -> Option<T>,
        done: &mpsc::Sender<Result<u64, Error>>,
        work: impl Fn(&mut Admin, T) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let mut session = self.connect()?;
        while let Some(piece) = next() {
            let rows = work(&mut session, piece)?;
            let _ = done.send(Ok(rows));
        }
        Ok(())
    }

    /// Adds up the reports of the sessions until all have gone.
    fn listen(&self, doing: &mpsc::Receiver<Result<u64, Error>>, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let (mut rows, mut failed) = (0, None);
        for done in doing {
            match done {
                Ok(more) => {
                    rows += more;
                    progress(rows);
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::lost("interrupted"));
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The parts of all tables that seal the load, or of all that do not; made as they are taken, since a
/// list of them would grow with the data.
fn parts(tables: &[Table], seals: bool) -> impl Iterator<Item = Part> + Send {
    let of_table = |(table, made): (usize, &Table)| {
        let (end, step) = (made.units, units_of_part(made));
        let part = move |start: u64| Part { table, units: start..end.min(start + step) };
        (0..end).step_by(step as usize).map(part)
    };
    tables.iter().enumerate().filter(move |(_, table)| table.seals == seals).flat_map(of_table)
}

/// As many units as have about [`PART_ROWS`] rows.
fn units_of_part(table: &Table) -> u64 {
    let units = u128::from(PART_ROWS) * u128::from(table.units) / u128::from(table.rows.max(1));
    (units as u64).max(1)
}

fn load_part(
    workload: &dyn Workload,
    data_seed: u64,
    session: &mut Admin,
    table: &Table,
    index: usize,
    mut units: Range<u64>,
) -> Result<u64, Error> {
    let mut given = 0;
    let columns: Vec<&str> = table.columns.iter().map(AsRef::as_ref).collect();
    let count = session.load(&table.name, &columns, &mut |sink| {
        let mut counting = |row: &[Value<'_>]| {
            given += 1;
            sink(row)
        };
        units.try_for_each(|unit| workload.rows(data_seed, index, unit, &mut counting))
    })?;
    if count != given {
        return Err(Error::Protocol(format!("{count} of {given} rows arrived in {}", table.name)));
    }
    Ok(count)
}

fn finish(session: &mut Admin, table: &Table) -> Result<(), Error> {
    table.finish.iter().try_for_each(|sql| session.run(sql).map(drop))?;
    expect_engine(session, table)
}

/// MySQL 5.0 makes a MyISAM table for `ENGINE=InnoDB` when InnoDB could not start, without an error.
fn expect_engine(admin: &mut Admin, table: &Table) -> Result<(), Error> {
    let Some(asked) = table.create.iter().find_map(|sql| engine_of(sql)) else { return Ok(()) };
    let ddl = admin.show_table(&table.name)?;
    if !engine_of(&ddl).is_some_and(|made| made.eq_ignore_ascii_case(asked)) {
        let name = &table.name;
        return Err(Error::Protocol(format!("the server made {name} without the engine {asked}: {ddl}")));
    }
    Ok(())
}

/// The name behind `ENGINE=`, which only MySQL's dialect has.
fn engine_of(sql: &str) -> Option<&str> {
    sql.split_once("ENGINE=")?.1.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()
}
