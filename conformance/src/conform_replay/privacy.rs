//! Nothing that production's users sent stands in a run, in its reports, or in what may leave the house.
//!
//! A thousand marked values and two passwords are sent to a real server and captured; two servers of which one answers
//! otherwise replay them; then every file and every report is searched. With `show_literals` the values of examples must
//! be there: the search finds what there is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use capture::Capture;

use super::walk::{DATABASE, Production, well};
use crate::held::{Held, Missing};

const VALUES: usize = 1000;
const PASSWORDS: [&str; 2] = ["sekretOfTheRoot", "sekretOfTheShop"];
const FORMATS: [&str; 5] = ["text", "html", "json", "csv", "markdown"];

const TABLES: [&str; 2] = [
    "CREATE TABLE person (id int PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, note varchar(40), number bigint)",
    "INSERT INTO person VALUES (1, 'nobody', 'nothing', 0), (2, 'Mk0000Qzw', 'Mk0000Qzw', 730000001)",
];

/// Every other one is a number.
fn value(number: usize) -> String {
    if number.is_multiple_of(2) { format!("Mk{number:04}Qzw") } else { format!("73{number:07}") }
}

fn statements(is_postgres: bool) -> Vec<String> {
    let one = |number: usize| {
        let (text, digits) = (value(number), value(number + 1));
        match number / 2 % 5 {
            0 => format!("SELECT note FROM person WHERE name = '{text}' AND number <> {digits}"),
            1 => format!("INSERT INTO person VALUES ({digits}, '{text}', NULL, {digits})"),
            2 => format!("UPDATE person SET note = '{text}' WHERE number < {digits}"),
            // What two servers answer otherwise.
            3 if is_postgres => format!("SELECT CAST('{text}' AS bytea), {digits} FROM person WHERE id = 1"),
            3 => format!("SELECT '{text}' || {digits} FROM person WHERE id = 1"),
            // An error, whose text has the value.
            _ if is_postgres => format!("SELECT CAST('{text}' AS int), {digits}"),
            _ => format!("INSERT INTO person VALUES (1, '{text}', NULL, {digits})"),
        }
    };
    let passwords = |password: &str| match is_postgres {
        true => format!("CREATE ROLE of_{password} PASSWORD '{password}'")
            .to_lowercase()
            .replace(&password.to_lowercase(), password),
        false => format!("CREATE USER walker IDENTIFIED BY '{password}'"),
    };
    (0..VALUES).step_by(2).map(one).chain(PASSWORDS.map(passwords)).collect()
}

/// Prints what it has found, and returns how much of it is wrong.
pub fn run(dbduel: &Path, engine: &str, differing: &str) -> Result<usize> {
    let settings: &[&str] = if engine.starts_with("postgres") { &["logging_collector=on"] } else { &[] };
    let server = match Held::start(dbduel, engine, settings) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => {
            println!("{engine}: NOT SEARCHED: {why}");
            return Ok(0);
        }
        Err(Missing::Broken(error)) => return Err(error),
    };
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let production = Production { server: &server, dbduel, folder: folder.path() };
    production.open(&TABLES)?;
    production.dump()?;
    production.capture(4, || send(&production))?;
    server.stop()?;
    let of = |words: &[&str]| {
        let output = Command::new(dbduel).args(words).current_dir(folder.path()).output();
        well(output.context("cannot start dbduel")?, &words.join(" "))
    };
    let file = |shows: bool| {
        format!(
            "name = \"privacy\"\n[[contender]]\nname = \"old\"\nengine = \"{engine}\"\n\
             [[contender]]\nname = \"new\"\nengine = \"{engine}\"\nsettings = {{ {differing} }}\n\
             [workload]\nname = \"replay\"\nlog = [\"shop.dbcap\"]\ndata = {{ dump = \"shop.sql\" }}\npacing = \"fast\"\n\
             partial_log = true\nwarmup = \"1ms\"\nshow_literals = {shows}\n[method]\npreset = \"quick\"\nblocks = 1\n"
        )
    };
    let mut wrong = 0;
    for shows in [false, true] {
        let runs = format!("runs-{shows}");
        fs::write(folder.path().join("privacy.toml"), file(shows))?;
        of(&["run", "privacy.toml", "--accept-noisy", "--runs", &runs])?;
        let mut printed = Vec::new();
        for format in FORMATS {
            printed.extend(of(&["report", "last", "--runs", &runs, "--format", format])?.stdout);
        }
        let examples = String::from_utf8_lossy(&printed).matches("bytea), ").count()
            + String::from_utf8_lossy(&printed).matches(" || ").count();
        ensure!(examples > 0, "no example of an answer that differs was printed");
        let mut found = found(&printed);
        found.extend(found_in(&folder.path().join(&runs))?);
        let is_right = if shows {
            !found.is_empty() && !found.iter().any(|one| PASSWORDS.contains(&&**one))
        } else {
            found.is_empty()
        };
        wrong += usize::from(!is_right);
        report(engine, &format!("a run, show_literals = {shows}"), &found, is_right);
    }
    of(&["capture", "--from", "shop.dbcap", "--out", "digests.json", "--digest-only"])?;
    of(&["capture", "--from", "shop.dbcap", "--out", "without.dbcap", "--anonymize", "literals"])?;
    for (what, bytes) in [
        ("--digest-only", fs::read(folder.path().join("digests.json"))?),
        ("--anonymize literals", held(&folder.path().join("without.dbcap"))?),
    ] {
        let found = found(&bytes);
        wrong += usize::from(!found.is_empty());
        report(engine, what, &found, found.is_empty());
    }
    Ok(wrong)
}

fn report(engine: &str, what: &str, found: &[String], is_right: bool) {
    let verdict = if is_right { "ok".to_owned() } else { format!("WRONG: {:?}", &found[..found.len().min(5)]) };
    println!("{engine:<22} {what:<32} {:>6} marked values  {verdict}", found.len());
}

/// One session; errors are a part of it.
fn send(production: &Production) -> Result<()> {
    if production.is_postgres() {
        // A script of pgbench ends with its first error: each statement is one of its own.
        let quiet = |text: &String| {
            format!("DO $body$ BEGIN EXECUTE $inner${text}$inner$; EXCEPTION WHEN others THEN NULL; END $body$;\n")
        };
        let all = statements(true);
        let script: String = all
            .iter()
            .enumerate()
            .map(|(number, text)| if number % 5 == 4 { quiet(text) } else { format!("{text};\n") })
            .collect();
        return production.pgbench(&script, &["-c", "1", "-t", "1"]);
    }
    let mut session = production.server.admin(DATABASE)?;
    statements(false).iter().for_each(|text| drop(session.rows(text)));
    Ok(())
}

fn found(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let marked = (0..VALUES).map(value).chain(PASSWORDS.map(str::to_owned));
    marked.filter(|marked| text.contains(&**marked)).collect()
}

fn found_in(folder: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() { found_in(&path)? } else { found(&fs::read(&path)?) };
        if !found.is_empty() {
            println!("  {}: {} marked values", path.display(), found.len());
        }
        all.extend(found);
    }
    Ok(all)
}

/// Everything that a capture holds.
fn held(path: &Path) -> Result<Vec<u8>> {
    let mut capture = Capture::open(path)?;
    let mut bytes = format!("{:?}", capture.contents).into_bytes();
    capture.digests.iter().for_each(|digest| bytes.extend_from_slice(&digest.text));
    capture.instances_from(i64::MIN, &mut |one| {
        [one.text, one.parameters, one.prepared_as, one.user, one.host, b"\n"]
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
        true
    })?;
    Ok(bytes)
}
