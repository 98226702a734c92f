//! What is printed for each mistake that a script may have: `mistakes.txt` has the scripts and the whole messages.
//!
//! `DBDUEL_BLESS=1 cargo test -p dbduel-script mistakes` rewrites the messages; review the change like code.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fault::Source;
use crate::parts::parts;
use crate::program::{FAULTS_MAX, Variables, compile};

/// A title, a script, and what is printed for it.
fn cases(text: &str) -> Vec<(&str, &str, &str)> {
    let case = |part| {
        let (title, rest) = str::split_once(part, '\n').expect("a title stands on its line");
        let (script, message) = rest.split_once("\n---\n").expect("a script ends with a line of its own");
        (title, script, message)
    };
    text.split("=== ").skip(1).map(case).collect()
}

fn printed(script: &str) -> String {
    let source = Source { path: "order.sql".to_owned(), text: script.to_owned() };
    if let Err(fault) = parts(&source) {
        return format!("{}\n", source.told(&fault));
    }
    match compile(&source, &mut Variables::new(&BTreeMap::new())) {
        Ok(program) if program.warnings.is_empty() => "no mistake is found\n".to_owned(),
        Ok(program) => program.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect(),
        Err(faults) => format!("{faults}\n"),
    }
}

#[test]
fn every_mistake_has_its_place_what_was_expected_and_the_nearest_word() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mistakes.txt");
    let stored = std::fs::read_to_string(&path).unwrap();
    let now: String = cases(&stored)
        .iter()
        .map(|(title, script, _)| format!("=== {title}\n{script}\n---\n{}", printed(script)))
        .collect();
    if std::env::var_os("DBDUEL_BLESS").is_some() {
        return std::fs::write(&path, &now).unwrap();
    }
    assert!(cases(&now).len() >= 25 && !now.contains("no mistake is found"), "{now}");
    assert_eq!(now, stored, "if the new messages are right, run with DBDUEL_BLESS=1");
}

#[test]
fn a_file_of_mistakes_only_has_the_first_of_them_printed() {
    let many = "\\frob\n".repeat(FAULTS_MAX + 5);
    let said = printed(&many);
    assert_eq!(said.matches("unknown command").count(), FAULTS_MAX);
    assert!(said.ends_with("order.sql: 5 more mistakes\n"), "{said}");
}
