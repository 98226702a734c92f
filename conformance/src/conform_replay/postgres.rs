//! PostgreSQL's csvlog of pgbench, and of sessions that hand a lock to each other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::Admin;

use super::series::{Extent, REPLAYS, Replay, Series, expected_of};
use crate::conform_pgbench::program::Pgbench;
use crate::held::{Held, Missing};

/// One load of production.
struct Load {
    name: &'static str,
    scale: &'static str,
    words: &'static [&'static str],
    script: Option<&'static str>,
    /// Only the table that the script changes; otherwise the four sums of TPC-B.
    sums: &'static str,
}

const TPC_B: &str = "select (select sum(abalance) from pgbench_accounts), (select sum(bbalance) from pgbench_branches), (select sum(tbalance) from pgbench_tellers), (select coalesce(sum(delta), 0) from pgbench_history), (select count(*) from pgbench_history)";

/// The lock outlives the transactions between taking and releasing it, and is handed from session to session.
const HAND_OVER: &str = "\\set delta random(1, 100)\nselect pg_advisory_lock(42);\nbegin;\nupdate pgbench_branches set bbalance = bbalance + :delta where bid = 1;\ncommit;\nselect pg_advisory_unlock(42);\nselect bbalance from pgbench_branches where bid = 1;\n";

const LOADS: [Load; 4] = [
    Load { name: "tpcb 300/s", scale: "5", words: &["-c", "8", "-j", "2", "-R", "300"], script: None, sums: TPC_B },
    Load { name: "tpcb flat out", scale: "1", words: &["-c", "32", "-j", "2"], script: None, sums: TPC_B },
    Load {
        name: "tpcb prepared",
        scale: "5",
        words: &["-c", "8", "-j", "2", "-R", "300", "-M", "prepared"],
        script: None,
        sums: TPC_B,
    },
    Load {
        name: "advisory locks",
        scale: "1",
        words: &["-c", "8", "-j", "2", "-R", "200"],
        script: Some(HAND_OVER),
        sums: "select sum(bbalance) from pgbench_branches",
    },
];

/// What a session of the load sends last.
pub const END: &str = "select 'the load has ended'";

pub fn run(extent: Extent, dbduel: &Path) -> Result<usize> {
    if !Pgbench::is_here() {
        println!("postgres@system: NOT COMPARED: pgbench of PostgreSQL 15 is not here\n  next: install postgresql-15");
        return Ok(0);
    }
    let mut wrong = 0;
    for load in &LOADS {
        let Some(of_load) = replayed(extent, dbduel, load).context(load.name)? else { break };
        wrong += of_load;
    }
    Ok(wrong)
}

/// None where the server is not here, which is printed.
fn replayed(extent: Extent, dbduel: &Path, load: &Load) -> Result<Option<usize>> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let directory = format!("log_directory={}", folder.path().display());
    let settings =
        ["logging_collector=on", "log_filename=pg.log", "log_destination=csvlog", "max_connections=120", &directory];
    let server = match Held::start(dbduel, "postgres@system", &settings) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("postgres@system: NOT COMPARED: {why}");
            return Ok(None);
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    let production = Pgbench::new(&server)?;
    let database = server.text("database")?.to_owned();
    production.run_well(None, &["-i", "-q", "-s", load.scale])?;
    let mut admin = server.admin("postgres")?;
    admin.run(&format!("create database origin template {database}"))?;
    admin.run(&format!("alter database {database} set log_min_duration_statement = 0"))?;
    let seconds = extent.seconds.to_string();
    production.run_well(load.script, &[load.words, &["-n", "-T", &seconds]].concat())?;
    server.admin(&database)?.run(END)?;
    let log = folder.path().join("pg.csv");
    wait_for_end(&log)?;
    let expected = values(&mut server.admin(&database)?, load.sums)?;
    let log = kept(&log)?;
    let (statements, span) = expected_of(dbduel, &log)?;
    let target = production.target_of("replayed");
    let mut wrong = 0;
    for (how, words) in REPLAYS {
        let mut series = Series::new(load.name, how);
        for _ in 0..extent.turns {
            admin.run("drop database if exists replayed")?;
            admin.run("create database replayed template origin")?;
            let one = Replay { dbduel, log: &log, target: &target }.run(words, span);
            series.add(&one, statements);
            if one.is_ok_and(|one| one.errors == 0.0) {
                let found = values(&mut server.admin("replayed")?, load.sums)?;
                series.note(found != expected, || format!("{found:?} in place of {expected:?}"));
            }
        }
        wrong += series.end();
    }
    server.stop()?;
    Ok(Some(wrong))
}

/// The log as it was when the load had ended: sessions that look at the tables later are no part of it.
pub fn kept(log: &Path) -> Result<PathBuf> {
    let text = fs::read(log)?;
    let at = text.windows(END.len()).position(|part| part == END.as_bytes()).context("the log has its end")?;
    let end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end + 1);
    let kept = log.with_file_name("load.csv");
    fs::write(&kept, &text[..end])?;
    Ok(kept)
}

fn values(admin: &mut Admin, sql: &str) -> Result<Vec<Option<String>>> {
    Ok(admin.rows(sql)?.into_iter().flatten().collect())
}

/// The collector writes after the server has answered.
pub fn wait_for_end(log: &Path) -> Result<()> {
    let limit = Instant::now() + Duration::from_secs(20);
    while !fs::read(log).is_ok_and(|bytes| bytes.windows(END.len()).any(|part| part == END.as_bytes())) {
        ensure!(Instant::now() < limit, "{} does not have the last statement", log.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
