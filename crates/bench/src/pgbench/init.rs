//! `dbduel pgbench -i`: the four tables, loaded by our loader.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use driver::{Admin, Dialect};
use load::{Loader, Workload};
use script::pgbench::{BUILTINS, Pgbench, PgbenchTables, Rules};
use terminal::{Failure, exit, note};

use super::job::Job;
use super::options::Init;

/// Sessions that load side by side.
const SESSIONS: usize = 4;

pub fn init(job: &Job) -> Result<u8, Failure> {
    let Some(init) = &job.request.init else { return Ok(exit::DONE) };
    expect_honoured(init, job.target.dialect).map_err(|why| Failure::usage(anyhow!(why)))?;
    let tables = PgbenchTables {
        fillfactor: init.fillfactor,
        unlogged: init.unlogged,
        vacuum: init.vacuum,
        primary_keys: init.primary_keys,
        foreign_keys: init.foreign_keys,
        partitions: init.partitions,
        tablespace: init.tablespace.clone(),
        index_tablespace: init.index_tablespace.clone(),
        ..PgbenchTables::new(job.request.scale.unwrap_or(1))
    };
    let files = [BUILTINS[0].file()];
    let workload = Pgbench::new(&files, tables, &Rules::default()).map_err(|faults| anyhow!(faults.join("\n")))?;
    let started = Instant::now();
    note("dropping old tables...");
    drop_tables(&mut job.admin()?, &workload)?;
    let dropped = started.elapsed();
    note("creating tables...");
    note("generating data (client-side)...");
    let rows: u64 = workload.tables(job.target.dialect).iter().map(|table| table.rows).sum();
    let mut next = LINE_EVERY;
    let loader = Loader { target: &job.target, sessions: SESSIONS, interrupted: &job.interrupted };
    let loaded = loader.load(&workload, 1, &mut |so_far| {
        if !init.quiet && started.elapsed() >= next {
            next += LINE_EVERY;
            note(&format!("{so_far} of {rows} rows done (elapsed {:.2} s)", started.elapsed().as_secs_f64()));
        }
    });
    loaded.with_context(|| format!("cannot fill the tables in {}", job.place))?;
    let all = started.elapsed().as_secs_f64();
    let drop_s = dropped.as_secs_f64();
    note(&format!("done in {all:.2} s (drop tables {drop_s:.2} s, {rows} rows and keys {:.2} s).", all - drop_s));
    Ok(exit::DONE)
}

/// Between two lines while the tables are filled.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What only one kind of server has.
fn expect_honoured(init: &Init, dialect: Dialect) -> Result<(), String> {
    if dialect == Dialect::Postgres {
        return Ok(());
    }
    let asked = [
        (init.fillfactor != 100, "--fillfactor"),
        (init.unlogged, "--unlogged-tables"),
        (init.foreign_keys, "--foreign-keys"),
        (init.partitions.is_some(), "--partitions"),
        (init.tablespace.is_some(), "--tablespace"),
        (init.index_tablespace.is_some(), "--index-tablespace"),
    ];
    match asked.iter().find(|(asked, _)| *asked) {
        Some((_, name)) => Err(format!("{name}: only PostgreSQL has it here\n  next: leave it out")),
        None => Ok(()),
    }
}

/// As pgbench does: whatever has these names goes, in an order that foreign keys allow.
fn drop_tables(admin: &mut Admin, workload: &Pgbench) -> anyhow::Result<()> {
    for table in workload.tables(admin.dialect()).iter().rev() {
        let name = &table.name;
        admin.run(&format!("drop table if exists {name}")).with_context(|| format!("cannot drop {name}"))?;
    }
    Ok(())
}
