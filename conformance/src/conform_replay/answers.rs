//! Answers that settings change: those of the statements concerned are found, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::mariadb::{self, PRODUCTION};
use super::series::Extent;
use crate::held::Held;

/// A shop: what it asks follows from its data, but for the last three.
const SHOP: &str = "\\set c random(1, 200)\nBEGIN;\nSELECT name FROM customer WHERE id = :c;\nUPDATE customer SET visits = visits + 1 WHERE id = :c;\nINSERT INTO bought (customer, total) VALUES (:c, :c * 1.5);\nCOMMIT;\nSELECT count(*), sum(total) FROM bought WHERE customer = :c;\nSELECT city, count(*) FROM customer GROUP BY city;\nSELECT id FROM customer WHERE city = 'Oslo' ORDER BY city;\nSELECT avg(total / 3) FROM bought WHERE customer <= :c;\nSELECT 'a' || 'b' FROM customer WHERE id = :c;\nSELECT now(), uuid(), name FROM customer WHERE id = :c;\nSELECT connection_id();\nSELECT version();\n";

const TABLES: [&str; 4] = [
    "CREATE TABLE customer (id int PRIMARY KEY, name varchar(40), city varchar(20), visits int NOT NULL, KEY (city))",
    "CREATE TABLE bought (id int AUTO_INCREMENT PRIMARY KEY, customer int, total decimal(10,2), KEY (customer))",
    "INSERT INTO customer SELECT seq, concat('name ', seq), elt(1 + seq % 3, 'Rome', 'Oslo', 'Bern'), 0 FROM seq_1_to_200",
    "INSERT INTO bought (customer, total) SELECT 1 + seq % 200, seq / 7 FROM seq_1_to_2000",
];

/// Settings of the candidate, and the beginnings of the digests whose answers they change.
const PLANTED: [(&str, &str, &[&str]); 3] = [
    ("nothing", "", &[]),
    ("div_precision_increment", "div_precision_increment = 9", &["select avg(total / ?)"]),
    ("sql_mode", "sql_mode = \"PIPES_AS_CONCAT\"", &["select ? || ?"]),
];

pub fn run(extent: Extent, dbduel: &Path) -> Result<usize> {
    let Some(server) = mariadb::server(dbduel)? else { return Ok(0) };
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let mut admin = server.admin(server.text("database")?)?;
    admin.run(&format!("DROP DATABASE IF EXISTS {PRODUCTION}"))?;
    admin.run(&format!("CREATE DATABASE {PRODUCTION}"))?;
    let mut admin = server.admin(PRODUCTION)?;
    TABLES.iter().try_for_each(|one| admin.run(one).map(drop))?;
    dump(&server, &folder.path().join("shop.sql"))?;
    let [slow, _] = mariadb::produce(extent, dbduel, &server, "shop", Some(SHOP), folder.path())?;
    let mut wrong = 0;
    for (name, settings, expected) in PLANTED {
        let found = differing(dbduel, folder.path(), &slow, settings).with_context(|| name)?;
        let are_found = |text: &String| expected.iter().any(|begin| text.starts_with(begin));
        let is_right = found.len() == expected.len() && found.iter().all(are_found);
        let verdict = if is_right { "ok".to_owned() } else { format!("WRONG: {found:?}") };
        println!("{:<22} {:<26} {:>6} differing digests  {verdict}", "shop slow", name, found.len());
        wrong += usize::from(!is_right);
    }
    server.stop()?;
    Ok(wrong)
}

fn dump(server: &Held, to: &Path) -> Result<()> {
    let (socket, user) = (server.text("socket")?, server.text("user")?);
    let mut command = Command::new("mariadb-dump");
    command.args(["--no-defaults", "--socket", socket, "--user", user, PRODUCTION]);
    let output = command.stdout(fs::File::create(to)?).output().context("cannot start mariadb-dump")?;
    ensure!(output.status.success(), "mariadb-dump failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Digests that a server with these settings answers otherwise than one without them.
fn differing(dbduel: &Path, folder: &Path, log: &Path, settings: &str) -> Result<BTreeSet<String>> {
    let file = format!(
        "name = \"answers\"\n[[contender]]\nname = \"old\"\nengine = \"mariadb@system\"\n\
         [[contender]]\nname = \"new\"\nengine = \"mariadb@system\"\nsettings = {{ {settings} }}\n\
         [workload]\nname = \"replay\"\nlog = [\"{}\"]\ndata = {{ dump = \"shop.sql\" }}\npacing = \"fast\"\n\
         [method]\npreset = \"quick\"\nblocks = 1\n",
        log.display()
    );
    fs::write(folder.join("answers.toml"), file)?;
    let runs = tempfile::tempdir_in(folder)?;
    let mut command = Command::new(dbduel);
    command.args(["run", "answers.toml", "--accept-noisy", "--runs"]).arg(runs.path()).current_dir(folder);
    let output = command.output().context("cannot start dbduel")?;
    ensure!(output.status.success(), "dbduel run failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut report = Command::new(dbduel);
    report.args(["report", "last", "--format", "json", "--runs"]).arg(runs.path());
    let output = report.output().context("cannot start dbduel")?;
    let report: Value = serde_json::from_slice(&output.stdout).context("the report is no JSON")?;
    let answers = &report["answers"][0];
    ensure!(answers["compared"].as_u64() > Some(0), "no answers were compared: {answers}");
    ensure!(report["fidelity"][0]["recorded"].as_u64() > Some(0), "the log has no outcomes: {}", report["fidelity"]);
    let digests = &report["workloads"][0]["digests"];
    let text = |one: &Value| digests[one["digest"].as_str()?]["text"].as_str().map(str::to_owned);
    Ok(answers["differing"].as_array().into_iter().flatten().filter_map(text).collect())
}
