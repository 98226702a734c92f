//! A log of each kind of server replayed on both: a shop whose statements MySQL and PostgreSQL read alike, and two that they
//! do not. One is no common SQL and must be left out, the other is about the case of letters and must be all that is
//! answered otherwise, in the passes and in the timed trials.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Extent;
use super::walk::{DATABASE, Production, RATE, well};
use crate::conform_pgbench::program::Pgbench;
use crate::held::{Held, Missing};

const KINDS: [&str; 2] = ["mariadb", "postgres"];
const TABLES: [&str; 4] = [
    "CREATE TABLE customer (id int PRIMARY KEY, name varchar(40) NOT NULL, town char(8) NOT NULL, visits int NOT NULL, is_new boolean NOT NULL, rate double precision NOT NULL)",
    "CREATE TABLE bought (customer int NOT NULL, total decimal(10,3) NOT NULL)",
    "CREATE INDEX of_customer ON bought (customer)",
    "INSERT INTO customer VALUES (1, 'name 1', 'Rome', 0, true, 0.1)",
];
const DOUBLINGS: u32 = 10;
const DOUBLING: &str = "INSERT INTO customer SELECT id + NUMBER, concat('name ', id + NUMBER), 'Oslo', 0, id % 2 = 0, rate + NUMBER * 0.3 FROM customer";
const SCRIPT: &str = "\\set c random(1, 1024)\nBEGIN;\nSELECT name, town, is_new, rate FROM customer WHERE id = :c;\n\
    UPDATE customer SET visits = visits + 1 WHERE id = :c;\nINSERT INTO bought (customer, total) VALUES (:c, :c * 1.5);\n\
    COMMIT;\nSELECT count(*), sum(total) FROM bought WHERE customer = :c;\n\
    SELECT avg(visits) FROM customer WHERE id < :c;\nSELECT count(*) FROM customer WHERE name = 'NAME 7';\n";
const LEFT_OUT: &str = "select avg(visits)";
const OTHERWISE: &str = "select count(*) from customer where name = ?";

pub fn run(extent: Extent, dbduel: &Path) -> Result<usize> {
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
    if !Pgbench::is_here() {
        println!("kinds: NOT DONE: pgbench of PostgreSQL 15 is not here\n  next: install postgresql-15");
        return Ok(0);
    }
    for (kind, folder) in KINDS.iter().zip(&folders) {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
        let settings: &[&str] = if *kind == "postgres" { &["logging_collector=on"] } else { &[] };
        let server = match Held::start(dbduel, &format!("{kind}@system"), settings) {
            Ok(server) => server,
            Err(Missing::Absent(why)) => {
                println!("kinds: NOT DONE: {why}");
                return Ok(0);
            }
            Err(Missing::Broken(error)) => return Err(error),
        };
        let production = Production { server: &server, dbduel, folder: folder.path() };
        production.open(&TABLES)?;
        let mut admin = server.admin(DATABASE)?;
        (0..DOUBLINGS).try_for_each(|bit| admin.run(&DOUBLING.replace("NUMBER", &(1 << bit).to_string())).map(drop))?;
        production.dump()?;
        production.capture(extent.seconds, || production.load(SCRIPT, RATE, extent.seconds))?;
        server.stop()?;
    }
    let mut wrong = Vec::new();
    for (at, kind) in KINDS.iter().enumerate() {
        let [own, other] = [at, 1 - at];
        let report = compared(
            dbduel,
            folders[own].path(),
            [KINDS[own], KINDS[other]],
            &folders.each_ref().map(tempfile::TempDir::path),
        )?;
        let found = judged(&report).with_context(|| format!("the log of {kind}"))?;
        let compared = report["answers"][0]["compared"].as_u64().unwrap_or(0);
        let scope = report["workloads"][0]["scope"].as_str().unwrap_or("all of it");
        println!("log of {kind} on {}: answers of {compared} statements compared; {scope}", KINDS[other]);
        wrong.extend(found);
    }
    wrong.iter().for_each(|line| println!("  WRONG: {line}"));
    Ok(wrong.len())
}

fn compared(dbduel: &Path, log: &Path, contenders: [&str; 2], dumps: &[&Path; 2]) -> Result<Value> {
    let [mariadb, postgres] = dumps.map(|folder| folder.join("shop.sql").display().to_string());
    let contender = |kind: &str| format!("[[contender]]\nname = \"{kind}\"\nengine = \"{kind}@system\"\n");
    let file = format!(
        "name = \"kinds\"\n{}{}[workload]\nname = \"replay\"\nlog = [\"shop.dbcap\"]\nportable = \"strict\"\nanswers = \"timed\"\n\
         clients_limit = 3\npacing = \"fast\"\n\
         data = {{ dump = {{ mariadb = \"{mariadb}\", postgres = \"{postgres}\" }} }}\n\
         [method]\npreset = \"quick\"\nblocks = 2\n",
        contender(contenders[0]),
        contender(contenders[1])
    );
    fs::write(log.join("kinds.toml"), file)?;
    let mut run = Command::new(dbduel);
    run.args(["run", "kinds.toml", "--accept-noisy", "--json"]).current_dir(log);
    let output = well(run.output().context("cannot start dbduel")?, "dbduel run")?;
    serde_json::from_slice(&output.stdout).context("the report is no JSON")
}

/// What is not as it has to be.
fn judged(report: &Value) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let digests = &report["workloads"][0]["digests"];
    let text = |id: &str| digests[id]["text"].as_str().unwrap_or_default().to_owned();
    let all = report["answers"].as_array().context("no answers")?;
    ensure!(all.len() == 2 && all[1]["trials"].as_u64() == Some(2), "answers of passes and of two trials: {all:?}");
    for answers in all {
        ensure!(answers["compared"].as_u64() > Some(0), "no answers were compared: {answers}");
        let differing = answers["differing"].as_array().context("no list of what differs")?;
        let found: Vec<(String, &str)> = differing
            .iter()
            .map(|one| (text(one["digest"].as_str().unwrap_or_default()), one["class"].as_str().unwrap_or_default()))
            .collect();
        if found != [(OTHERWISE.to_owned(), "collation")] {
            wrong.push(format!("answered otherwise: {}", answers["differing"]));
        }
    }
    let sent = report["workloads"][0]["notes"].to_string();
    if !sent.contains("not portable") || !sent.contains("share connections") {
        wrong.push(format!("what is left out, and who shares: {sent}"));
    }
    let calls = digests.as_object().context("no digests")?.values();
    let of_left_out = calls.filter(|one| one["text"].as_str().is_some_and(|text| text.starts_with(LEFT_OUT)));
    if of_left_out.map(|one| one["calls"].as_u64().unwrap_or(0)).sum::<u64>() > 0 {
        wrong.push(format!("`{LEFT_OUT}` is replayed"));
    }
    Ok(wrong)
}
