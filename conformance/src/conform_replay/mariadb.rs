//! MariaDB's slow and general logs of dbduel's own `bench`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::series::{Extent, REPLAYS, Replay, Series, expected_of};
use crate::held::{Held, Missing};

/// One load of production: a workload of dbduel's, or a script.
struct Load {
    name: &'static str,
    script: Option<&'static str>,
    /// Whatever runs beside each other, the tables end as in production.
    has_one_end: bool,
}

/// Each client changes rows of its own.
const APART: &str = "\\set row random(1, 100)\nBEGIN;\nUPDATE own SET v = v * 3 % 1000003 + 1 WHERE client = :client_id AND id = :row;\nINSERT INTO own_log (client, id) VALUES (:client_id, :row);\nCOMMIT;\nSELECT v FROM own WHERE client = :client_id AND id = :row;\n";
/// A lock that outlives transactions goes from session to session.
const HAND_OVER: &str = "\\set row random(1, 100)\nSELECT GET_LOCK('baton', 20);\nBEGIN;\nUPDATE own SET v = v + 1 WHERE client = 0 AND id = :row;\nCOMMIT;\nSELECT RELEASE_LOCK('baton');\n";

const LOADS: [Load; 3] = [
    Load { name: "oltp_read_write", script: None, has_one_end: false },
    Load { name: "clients apart", script: Some(APART), has_one_end: true },
    Load { name: "GET_LOCK", script: Some(HAND_OVER), has_one_end: true },
];

const CLIENTS: &str = "8";
pub const PRODUCTION: &str = "production";
const ORIGIN: &str = "origin";
const REPLAYED: &str = "replayed";

/// None where it is not on this machine, which is told.
pub fn server(dbduel: &Path) -> Result<Option<Held>> {
    match Held::start(dbduel, "mariadb@system", &["innodb_flush_log_at_trx_commit=2", "max_connections=60"]) {
        Ok(server) => Ok(Some(server)),
        Err(Missing::Absent(why)) => {
            println!("mariadb@system: NOT COMPARED: {why}");
            Ok(None)
        }
        Err(Missing::Broken(error)) => Err(error),
    }
}

pub fn run(extent: Extent, dbduel: &Path) -> Result<usize> {
    let Some(server) = server(dbduel)? else { return Ok(0) };
    let mut wrong = 0;
    for load in &LOADS {
        wrong += replayed(extent, dbduel, &server, load).with_context(|| load.name)?;
    }
    server.stop()?;
    Ok(wrong)
}

fn replayed(extent: Extent, dbduel: &Path, server: &Held, load: &Load) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let tables = prepare(dbduel, server, load)?;
    copy(server, PRODUCTION, ORIGIN, &tables)?;
    let logs = produce(extent, dbduel, server, load.name, load.script, folder.path())?;
    let production = sums(server, PRODUCTION, &tables)?;
    let target = server.connection_string(REPLAYED)?;
    let mut wrong = 0;
    for (kind, log) in [("slow", &logs[0]), ("general", &logs[1])] {
        let (statements, span) = expected_of(dbduel, log)?;
        let name = format!("{} {kind}", load.name);
        let replay = Replay { dbduel, log, target: &target };
        let turn = |words: &[&str], series: &mut Series<'_>| -> Result<Vec<String>> {
            copy(server, ORIGIN, REPLAYED, &tables)?;
            let one = replay.run(words, span);
            series.add(&one, statements);
            sums(server, REPLAYED, &tables)
        };
        for (how, words) in REPLAYS {
            let mut series = Series::new(&name, how);
            for _ in 0..extent.turns {
                let found = turn(words, &mut series)?;
                let is_wrong = load.has_one_end && found != production;
                series.note(is_wrong, || format!("{found:?} in place of {production:?}"));
            }
            wrong += series.end();
        }
        // One at a time there is nothing that could come out in another way.
        let mut series = Series::new(&name, "fast, serial, twice");
        let words = ["--pacing", "fast", "--order", "serial"];
        let (first, second) = (turn(&words, &mut series)?, turn(&words, &mut series)?);
        series.note(first != second, || format!("{first:?}, then {second:?}"));
        series.note(load.has_one_end && first != production, || format!("{first:?} in place of {production:?}"));
        wrong += series.end();
        if kind == "general" && load.script.is_none() {
            let mut series = Series::new(&name, "fast, serial, prepared");
            let before = executions(server)?;
            let again = turn(&[&words[..], &["--prepare", "auto"]].concat(), &mut series)?;
            series.note(again != first, || format!("{again:?}, and {first:?} by texts"));
            let (done, logged) = (executions(server)? - before, executions_of(log)?);
            series.note(done != logged || done == 0, || format!("{done} executions of {logged} in the log"));
            wrong += series.end();
        }
    }
    Ok(wrong)
}

/// Executions of prepared statements that a server has counted.
fn executions(server: &Held) -> Result<u64> {
    let counted = server.admin(REPLAYED)?.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")?;
    let value = counted.into_iter().flatten().nth(1).flatten();
    value.and_then(|value| value.parse().ok()).context("no counter of executions")
}

/// Those of a general log.
fn executions_of(log: &Path) -> Result<u64> {
    let log = fs::read(log)?;
    let is_execution = |line: &&[u8]| line.windows(9).take(40).any(|part| part == b" Execute\t");
    Ok(log.split(|byte| *byte == b'\n').filter(is_execution).count() as u64)
}

/// Makes the tables of production, and names them.
fn prepare(dbduel: &Path, server: &Held, load: &Load) -> Result<Vec<String>> {
    let mut admin = server.admin(server.text("database")?)?;
    admin.run(&format!("DROP DATABASE IF EXISTS {PRODUCTION}"))?;
    admin.run(&format!("CREATE DATABASE {PRODUCTION}"))?;
    if load.script.is_none() {
        let words = [
            "prepare",
            load.name,
            "--rows",
            "2000",
            "--tables",
            "2",
            "--target",
            &server.connection_string(PRODUCTION)?,
        ];
        dbduel_does(dbduel, &words)?;
        return Ok(vec!["sbtest1".to_owned(), "sbtest2".to_owned()]);
    }
    let mut admin = server.admin(PRODUCTION)?;
    admin.run("CREATE TABLE own (client int, id int, v bigint, PRIMARY KEY (client, id))")?;
    // Without a number that is given as rows come, which would depend on who is first.
    admin.run("CREATE TABLE own_log (client int, id int, KEY (client, id))")?;
    admin.run("INSERT INTO own SELECT c.seq, r.seq, r.seq FROM seq_0_to_7 c, seq_1_to_100 r")?;
    Ok(vec!["own".to_owned(), "own_log".to_owned()])
}

/// Runs the load with both logs on, and returns them.
pub fn produce(
    extent: Extent,
    dbduel: &Path,
    server: &Held,
    name: &str,
    script: Option<&str>,
    folder: &Path,
) -> Result<[PathBuf; 2]> {
    let logs = ["slow.log", "general.log"].map(|name| folder.join(name));
    let mut admin = server.admin(server.text("database")?)?;
    let mut set = |what: &str| admin.run(&format!("SET GLOBAL {what}")).map(drop);
    set(&format!("slow_query_log_file = '{}'", logs[0].display()))?;
    set(&format!("general_log_file = '{}'", logs[1].display()))?;
    ["long_query_time = 0", "slow_query_log = 1", "general_log = 1"].iter().try_for_each(|one| set(one))?;
    let (target, seconds) = (server.connection_string(PRODUCTION)?, extent.seconds.to_string());
    let file = folder.join("load.sql");
    let mut words = vec!["bench", "--target", &target, "--clients", CLIENTS, "--duration", &seconds, "--no-wait"];
    let path;
    match script {
        Some(text) => {
            fs::write(&file, text)?;
            path = file.display().to_string();
            words.extend([path.as_str(), "--rate", "300"]);
        }
        None => words.extend([name, "--rows", "2000", "--tables", "2"]),
    }
    let done = dbduel_does(dbduel, &words);
    ["slow_query_log = 0", "general_log = 0"].iter().try_for_each(|one| set(one))?;
    done?;
    Ok(logs)
}

fn dbduel_does(dbduel: &Path, words: &[&str]) -> Result<()> {
    let output = Command::new(dbduel).args(words).output().context("cannot start dbduel")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "dbduel {} failed: {errors}", words.join(" "));
    Ok(())
}

/// Makes a database with the tables of another one.
fn copy(server: &Held, from: &str, to: &str, tables: &[String]) -> Result<()> {
    let mut admin = server.admin(server.text("database")?)?;
    admin.run(&format!("DROP DATABASE IF EXISTS {to}"))?;
    admin.run(&format!("CREATE DATABASE {to}"))?;
    for table in tables {
        admin.run(&format!("CREATE TABLE {to}.{table} LIKE {from}.{table}"))?;
        admin.run(&format!("INSERT INTO {to}.{table} SELECT * FROM {from}.{table}"))?;
    }
    Ok(())
}

/// A number for the rows of each table, in whatever order they lie.
fn sums(server: &Held, database: &str, tables: &[String]) -> Result<Vec<String>> {
    let mut admin = server.admin(database)?;
    let sum = |table: &String| {
        let rows = admin.rows(&format!("CHECKSUM TABLE {table}"))?;
        Ok(rows.into_iter().flatten().flatten().nth(1).unwrap_or_default())
    };
    tables.iter().map(sum).collect()
}
