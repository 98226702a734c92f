//! `dbduel advise` as a user meets it: transcripts, one for each engine, and what is refused.

mod support;

use std::path::Path;
use std::process::Output;

use support::{dbduel, text};

const MACHINE: [&str; 6] = ["--memory", "8GiB", "--cores", "4", "--data", "4GiB"];

fn advise(engine: &str, more: &[&str]) -> Output {
    dbduel(&[&["advise", engine], &MACHINE[..], more].concat())
}

#[test]
fn advice_for_one_machine_is_as_it_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut differences = Vec::new();
    for engine in ["mysql@5.5.9", "mysql@8.0.31", "mariadb@10.11.5", "postgres@17.7", "sqlite"] {
        let output = advise(engine, &[]);
        assert_eq!(output.status.code(), Some(0), "{engine}: {}", text(&output.stderr));
        let transcript = folder.join(format!("advise-{}.stdout", engine.replace('@', "-")));
        let stdout = without_sqlite_version(&text(&output.stdout));
        if std::env::var_os("DBDUEL_BLESS").is_some() {
            std::fs::write(&transcript, stdout).unwrap();
        } else if std::fs::read_to_string(&transcript).unwrap_or_default() != stdout {
            differences.push(format!("{}\n{stdout}", transcript.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The library's version comes with the crate that holds it, and is not what is reviewed.
fn without_sqlite_version(text: &str) -> String {
    let Some(rest) = text.strip_prefix("A ladder for sqlite ") else { return text.to_owned() };
    let (_, rest) = rest.split_once(':').expect("a colon ends the name of the server");
    format!("A ladder for sqlite VERSION:{rest}")
}

#[test]
fn the_file_is_a_ladder_and_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ladder.toml");
    let file = file.to_str().unwrap();
    let output = advise("mysql@5.6.24", &["--write", file, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let written: toml::Value = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let rungs = json["rungs"].as_array().unwrap();
    assert_eq!(written["ladder"].as_array().unwrap().len(), rungs.len());
    let trades: Vec<_> = rungs.iter().filter(|rung| !rung["trade"].is_null()).collect();
    assert_eq!(trades.len(), 1);
    assert_eq!(trades[0]["durability_class"], "D2");

    let again = advise("mysql@5.6.24", &["--write", file]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("that is not there yet"), "{}", text(&again.stderr));
}

#[test]
fn what_makes_no_sense_is_bad_usage_with_a_next_step() {
    let check = |arguments: &[&str], expected: &str| {
        let output = dbduel(&[&["advise"], arguments].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    };
    check(
        &["oracle", "--memory", "8GiB", "--cores", "4", "--data", "4GiB"],
        "no engine `oracle`; known are sqlite, mysql",
    );
    check(&["mysql@5.6.99", "--memory", "8GiB", "--cores", "4", "--data", "4GiB"], "known versions of mysql: 5.0.21");
    check(&["mysql@5.6.24", "--memory", "64MiB", "--cores", "4", "--data", "4GiB"], "cannot run in 64 MiB");
    check(&["mysql@5.6.24", "--memory", "8", "--cores", "4", "--data", "4GiB"], "has no unit");
    check(&["mysql@5.6.24", "--memory", "8GiB", "--cores", "0", "--data", "4GiB"], "--cores");
    check(&["mysql@5.6.24", "--memory", "8GiB", "--cores", "4", "--data", "0GiB"], "a size of nothing");
}
