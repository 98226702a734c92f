//! The walk of docs/guide/replay.md: a small shop under load on a server, a dump of it, a capture of what its clients
//! send, and a comparison of two servers in one line. On the second one a setting makes one statement slow: that one has
//! to come out as slower, ahead of all others, with another plan.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use driver::Dialect;
use serde_json::Value;

use crate::conform_pgbench::program::Pgbench;
use crate::held::{Held, Missing};

/// What stands for production, and the two versions that are compared.
pub struct Walk<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// How long the shop is busy while it is captured.
    pub seconds: u32,
    /// Transactions a second that the shop has.
    pub rate: u32,
    pub blocks: u32,
    /// Comparisons of the one capture.
    pub repeats: u32,
    /// `fast`, or `original`: with few statements, one after the other, nothing but the slow one is to blame.
    pub pacing: &'static str,
}

/// A shop, as the scripts of one kind of server have it.
struct Shop {
    tables: &'static [&'static str],
    /// Sent again and again, to make as many customers as there are numbers of that many bits.
    doubling: &'static str,
    script: &'static str,
    /// What makes the last statement of the script slow, by the engine, and the beginning of its digest.
    plant: &'static [(&'static str, &'static str)],
    planted: &'static str,
}

pub const FAST: &str = "fast";
pub const ORIGINAL: &str = "original";
/// Transactions a second of a shop that is busy.
pub const RATE: u32 = 80;
/// What another statement may take longer beside the planted one, of what that takes longer.
const WITH_IT_MAX: f64 = 0.1;
const DOUBLINGS: u32 = 13;
/// Far more than it has, and so little that it needs no large disk.
const LOG_MAX: &str = "64MiB";
pub const DATABASE: &str = "shop";

const OF_MYSQL: Shop = Shop {
    tables: &[
        "CREATE TABLE customer (id int PRIMARY KEY, name varchar(40) NOT NULL, city varchar(20) NOT NULL, visits int NOT NULL)",
        "CREATE TABLE bought (id int AUTO_INCREMENT PRIMARY KEY, customer int NOT NULL, total decimal(10,2) NOT NULL, KEY (customer))",
        "INSERT INTO customer VALUES (1, 'name 1', 'Rome', 0)",
        "INSERT INTO bought (customer, total) VALUES (1, 7.5), (2, 8.5)",
    ],
    doubling: "INSERT INTO customer SELECT id + NUMBER, concat('name ', id + NUMBER), elt(1 + (id + NUMBER) % 3, 'Rome', 'Oslo', 'Bern'), 0 FROM customer",
    script: "\\set c random(1, 8192)\nBEGIN;\nSELECT name FROM customer WHERE id = :c;\n\
             UPDATE customer SET visits = visits + 1 WHERE id = :c;\nINSERT INTO bought (customer, total) VALUES (:c, :c * 1.5);\n\
             COMMIT;\nSELECT count(*), sum(total) FROM bought WHERE customer = :c;\n\
             SELECT city, visits FROM (SELECT id, city, visits FROM customer) AS known WHERE id = :c;\n",
    plant: &[
        ("mariadb", "optimizer_switch=derived_merge=off,condition_pushdown_for_derived=off"),
        ("mysql", "optimizer_switch=derived_merge=off,derived_condition_pushdown=off"),
    ],
    planted: "select city, visits from (",
};

/// Joins in the order in which they are written begin with all pairs of towns and customers.
const OF_POSTGRES: Shop = Shop {
    tables: &[
        "CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, town int NOT NULL, visits int NOT NULL)",
        "CREATE TABLE town (id int PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE bought (id serial PRIMARY KEY, customer int NOT NULL, total numeric(10,2) NOT NULL)",
        "CREATE INDEX ON bought (customer)",
        "INSERT INTO customer VALUES (1, 'name 1', 1, 0)",
        "INSERT INTO town SELECT n, 'town ' || n FROM generate_series(0, 19) AS n",
        "INSERT INTO bought (customer, total) VALUES (1, 7.5), (2, 8.5)",
    ],
    doubling: "INSERT INTO customer SELECT id + NUMBER, 'name ' || (id + NUMBER), (id + NUMBER) % 20, 0 FROM customer",
    script: "\\set c random(1, 8192)\nBEGIN;\nSELECT name FROM customer WHERE id = :c;\n\
             UPDATE customer SET visits = visits + 1 WHERE id = :c;\nINSERT INTO bought (customer, total) VALUES (:c, :c * 1.5);\n\
             COMMIT;\nSELECT count(*), sum(total) FROM bought WHERE customer = :c;\n\
             SELECT t.name, b.total FROM town t CROSS JOIN customer c JOIN bought b ON b.customer = c.id AND c.town = t.id WHERE b.id = :c;\n",
    plant: &[("postgres", "join_collapse_limit=1")],
    planted: "select t.name, b.total from town",
};

/// Prints what it has found, and returns how much of it is wrong; None where a server is not on this machine.
pub fn run(walk: &Walk, dbduel: &Path) -> Result<Option<usize>> {
    let begun = Instant::now();
    let shop = if walk.old.starts_with("postgres") { &OF_POSTGRES } else { &OF_MYSQL };
    let settings: &[&str] = if walk.old.starts_with("postgres") { &["logging_collector=on"] } else { &[] };
    let server = match Held::start(dbduel, walk.old, settings) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("walk {}: NOT DONE: {why}", walk.old);
            return Ok(None);
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    if server.dialect() == Dialect::Postgres && !Pgbench::is_here() {
        println!("walk {}: NOT DONE: pgbench of PostgreSQL 15 is not here\n  next: install postgresql-15", walk.old);
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let production = Production { server: &server, dbduel, folder: folder.path() };
    production.open(shop.tables)?;
    let mut admin = server.admin(DATABASE)?;
    (0..DOUBLINGS)
        .try_for_each(|bit| admin.run(&shop.doubling.replace("NUMBER", &(1 << bit).to_string())).map(drop))?;
    production.dump()?;
    production.capture(walk.seconds, || production.load(shop.script, walk.rate, walk.seconds))?;
    server.stop()?;
    let plant = shop.plant.iter().find(|(engine, _)| walk.new.starts_with(engine)).context("servers of two kinds")?;
    let new = format!("{}?{}", walk.new, plant.1);
    let (mut wrong, mut others) = (Vec::new(), 0);
    for repeat in 1..=walk.repeats {
        let report = compared(walk, dbduel, folder.path(), &new)?;
        wrong.extend(judged(&report, shop.planted)?);
        let (planted, of_others): (Vec<_>, Vec<_>) =
            decided(&report)?.into_iter().partition(|(text, _)| text.starts_with(shop.planted));
        others += of_others.len();
        // At the log's pace what is sent behind the slow one may find a server that still tidies up.
        let most_s = planted.first().map_or(0.0, |(_, extra_s)| extra_s * WITH_IT_MAX);
        let blamed = of_others.into_iter().filter(|(_, extra_s)| walk.pacing == ORIGINAL && extra_s.abs() > most_s);
        wrong.extend(blamed.map(|(text, extra_s)| format!("`{text}` takes {extra_s} s more, or less")));
        if repeat == walk.repeats {
            let took = begun.elapsed().as_secs();
            let [all, compared] = ["statements", "compared"].map(|key| report["answers"][0][key].as_u64().unwrap_or(0));
            println!("walk {} -> {}: {all} statements, answers of {compared} compared, {took} s", walk.old, walk.new);
        }
    }
    if walk.repeats > 1 {
        println!("  {} comparisons, {} faults; {others} verdicts on other statements", walk.repeats, wrong.len());
        wrong.extend(alike(walk, dbduel, folder.path())?);
    }
    wrong.iter().for_each(|line| println!("  WRONG: {line}"));
    Ok(Some(wrong.len()))
}

/// Of comparisons of a server with itself so many may have a verdict: at 5 % each, more come once in four hundred times.
fn verdicts_max(repeats: u32) -> usize {
    1 + (0.2 * f64::from(repeats)) as usize
}

/// Compares a server with itself as often, and returns what is not as it has to be.
fn alike(walk: &Walk, dbduel: &Path, folder: &Path) -> Result<Vec<String>> {
    let (mut totals, mut digests, mut answers) = (0, 0, 0);
    for _ in 0..walk.repeats {
        let report = compared(walk, dbduel, folder, walk.old)?;
        let total = if walk.pacing == ORIGINAL { "response_seconds" } else { "seconds" };
        let verdict = verdict_on(&report, total).context("no comparison of the total")?;
        totals += usize::from(matches!(verdict, "slower" | "faster"));
        digests += usize::from(!decided(&report)?.is_empty());
        answers += report["answers"][0]["differing"].as_array().map_or(0, Vec::len);
    }
    let repeats = walk.repeats;
    println!(
        "  {repeats} comparisons of {} with itself: a verdict on the total in {totals}, on a statement in {digests}; {answers} digests answered otherwise",
        walk.old
    );
    let most = verdicts_max(repeats);
    let many = [("the total", totals), ("a statement", digests)].into_iter().filter(|(_, count)| *count > most);
    let many = many.map(|(what, count)| format!("{count} of {repeats} alike comparisons have a verdict on {what}"));
    Ok(many.chain((answers > 0).then(|| "a server answers otherwise than itself".to_owned())).collect())
}

/// Texts of the statements that have a verdict, and the time that they take more.
fn decided(report: &Value) -> Result<Vec<(String, f64)>> {
    let rows = report["head_to_head"][0]["parts"]["operations"].as_array().context("no statements were judged")?;
    let has_verdict = |row: &&Value| matches!(verdict_of(report, row), Some("slower" | "faster"));
    let one =
        |row: &Value| (row["text"].as_str().unwrap_or_default().to_owned(), row["extra_s"].as_f64().unwrap_or(0.0));
    Ok(rows.iter().filter(has_verdict).map(one).collect())
}

fn verdict_of<'a>(report: &'a Value, row: &Value) -> Option<&'a str> {
    verdict_on(report, &format!("statement.{}.latency_ms_avg", row["name"].as_str()?))
}

/// Over the whole sweep.
fn verdict_on<'a>(report: &'a Value, metric: &str) -> Option<&'a str> {
    let all = report["comparisons"].as_array()?;
    all.iter().find(|one| one["metric"] == metric && one["point"].is_null())?["verdict"].as_str()
}

/// A server with a database of its own, and the folder of what is made of it.
pub struct Production<'a> {
    pub server: &'a Held,
    pub dbduel: &'a Path,
    pub folder: &'a Path,
}

impl Production<'_> {
    pub fn is_postgres(&self) -> bool {
        self.server.dialect() == Dialect::Postgres
    }

    fn target(&self) -> Result<String> {
        self.server.connection_string(DATABASE)
    }

    pub fn open(&self, tables: &[&str]) -> Result<()> {
        self.server.admin(self.server.text("database")?)?.run(&format!("CREATE DATABASE {DATABASE}"))?;
        let mut admin = self.server.admin(DATABASE)?;
        Ok(tables.iter().try_for_each(|one| admin.run(one).map(drop))?)
    }

    /// Writes `shop.sql`.
    pub fn dump(&self) -> Result<()> {
        let (user, socket) = (self.server.text("user")?, Path::new(self.server.text("socket")?));
        let mut command = if self.is_postgres() {
            let mut command = Command::new("pg_dump");
            let port = socket.extension().context("a socket without a port")?;
            command.arg("-h").arg(socket.parent().context("a socket without a folder")?).arg("-p").arg(port);
            command.args(["-U", user, DATABASE]);
            command
        } else {
            let mut command = Command::new("mariadb-dump");
            command.arg("--no-defaults").arg("--socket").arg(socket).args(["--user", user, DATABASE]);
            command
        };
        let output = command.stdout(fs::File::create(self.folder.join("shop.sql"))?).output();
        well(output.context("cannot start the dump")?, "the dump").map(drop)
    }

    /// Writes `shop.dbcap`. The load begins when the log is on, as sessions that are older stay out of a slow log.
    pub fn capture(&self, seconds: u32, load: impl FnOnce() -> Result<()>) -> Result<()> {
        let target = self.target()?;
        let time = format!("{}s", seconds + 3);
        let mut capture = Command::new(self.dbduel);
        capture.args([
            "capture",
            "--target",
            &target,
            "--yes",
            "--out",
            "shop.dbcap",
            "--for",
            &time,
            "--max",
            LOG_MAX,
        ]);
        let capture = capture.current_dir(self.folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let is_on = if self.is_postgres() {
            ["SHOW log_min_duration_statement", "0"]
        } else {
            ["SELECT @@GLOBAL.slow_query_log", "1"]
        };
        let limit = Instant::now() + Duration::from_secs(30);
        while self.server.admin(DATABASE)?.value(is_on[0])?.as_deref() != Some(is_on[1]) {
            if Instant::now() > limit {
                bail!("the log was not switched on: {}", said(&capture.wait_with_output()?));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let loaded = load();
        let captured = well(capture.wait_with_output()?, "dbduel capture")?;
        loaded?;
        ensure!(said(&captured).contains("the time is over"), "the capture ended before the load: {}", said(&captured));
        Ok(())
    }

    pub fn load(&self, script: &str, rate: u32, seconds: u32) -> Result<()> {
        let [rate, seconds] = [rate, seconds].map(|number| number.to_string());
        if self.is_postgres() {
            return self.pgbench(script, &["-c", "4", "-j", "2", "-R", &rate, "-T", &seconds]);
        }
        let file = self.folder.join("shop-load.sql");
        fs::write(&file, script)?;
        let mut bench = Command::new(self.dbduel);
        bench.args([
            "bench",
            "--target",
            &self.target()?,
            "--clients",
            "4",
            "--rate",
            &rate,
            "--no-wait",
            "--duration",
            &seconds,
        ]);
        well(bench.arg(&file).output()?, "dbduel bench").map(drop)
    }

    /// Sessions of dbduel are none of production's on PostgreSQL.
    pub fn pgbench(&self, script: &str, words: &[&str]) -> Result<()> {
        let pgbench = Pgbench::new(self.server)?.of_database(DATABASE);
        pgbench.run_well(Some(script), &[&["-n"], words].concat()).map(drop)
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub fn well(output: Output, what: &str) -> Result<Output> {
    ensure!(output.status.success(), "{what} failed: {}", said(&output));
    Ok(output)
}

/// The line of the guide, with this second server.
fn compared(walk: &Walk, dbduel: &Path, folder: &Path, new: &str) -> Result<Value> {
    let (old, new) = (format!("old={}", walk.old), format!("new={new}"));
    let blocks = walk.blocks.to_string();
    let pacing = format!("workload.pacing={}", walk.pacing);
    let mut run = Command::new(dbduel);
    run.args(["run", &old, &new, "--log", "shop.dbcap", "--data", "shop.sql", "--set", &pacing]);
    run.args(["--blocks", &blocks, "--accept-noisy", "--json"]).current_dir(folder);
    let output = well(run.output().context("cannot start dbduel")?, "dbduel run")?;
    serde_json::from_slice(&output.stdout).context("the report is no JSON")
}

/// What is not as it has to be.
fn judged(report: &Value, planted: &str) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let rows = report["head_to_head"][0]["parts"]["operations"].as_array().context("no statements were judged")?;
    let extra_s = |row: &&Value| row["extra_s"].as_f64().unwrap_or(0.0);
    let first = rows.iter().max_by(|one, other| extra_s(one).total_cmp(&extra_s(other))).context("no statements")?;
    let text = first["text"].as_str().unwrap_or_default();
    if !text.starts_with(planted) {
        wrong.push(format!("the statement that takes most longer is `{text}`"));
    }
    let id = first["name"].as_str().unwrap_or_default();
    if verdict_of(report, first) != Some("slower") {
        wrong.push(format!("it has another verdict: {:?}", verdict_of(report, first)));
    }
    let plans = report["differences"][0]["plans"][0]["statements"].as_array().context("no plans were asked for")?;
    if !plans.iter().any(|plan| plan["statement"] == id && plan["differs"] == true) {
        wrong.push("its plan does not differ".to_owned());
    }
    let answers = &report["answers"][0];
    if answers["compared"].as_u64().unwrap_or(0) == 0
        || answers["differing"].as_array().is_some_and(|all| !all.is_empty())
    {
        wrong.push(format!("answers: {answers}"));
    }
    Ok(wrong)
}
