//! Are our statements the same? One transaction of each script as MariaDB's general log has it, ours
//! beside sysbench's.

use anyhow::Result;
use driver::Admin;

use super::expected::{MARIADB, Row};
use super::script::{load_afresh, run_client};
use super::sysbench;
use crate::held::Held;

/// Compares the scripts that sysbench has; returns how many differ.
pub fn run(server: &Held) -> Result<usize> {
    let mut admin = server.admin("sbtest")?;
    let mut wrong = 0;
    for Row { script, .. } in MARIADB.iter().filter(|row| row.script.sysbench.is_some() && sysbench::is_here()) {
        let (workload, target) = (script.build()?, server.target()?);
        load_afresh(&*workload, &target)?;
        let theirs = logged(&mut admin, || sysbench::run(server, script, 1).map(drop))?;
        let ours = logged(&mut admin, || run_client(&workload, &target, 1).map(drop))?;
        wrong += usize::from(ours != theirs);
        let verdict = if ours == theirs { "ok" } else { "WRONG" };
        println!("statements of {}: {} in the log  {verdict}", script.title, theirs.len());
        if ours != theirs {
            println!("  dbduel:   {}\n  sysbench: {}", ours.join("\n            "), theirs.join("\n            "));
        }
    }
    Ok(wrong)
}

/// What clients prepared, in any order, and then what they sent, in theirs; every number and every
/// row of white space as one letter.
fn logged(admin: &mut Admin, clients: impl FnOnce() -> Result<()>) -> Result<Vec<String>> {
    for sql in ["SET GLOBAL log_output = 'TABLE'", "TRUNCATE mysql.general_log", "SET GLOBAL general_log = ON"] {
        admin.run(sql)?;
    }
    let ran = clients();
    admin.run("SET GLOBAL general_log = OFF")?;
    ran?;
    let rows = "SELECT CONCAT(command_type, ' ', argument) FROM mysql.general_log \
                WHERE thread_id <> CONNECTION_ID() AND command_type IN ('Prepare', 'Execute', 'Query')";
    let lines = admin.rows(rows)?.into_iter().flatten().flatten().map(|line| without_values(&line));
    let (mut prepared, sent): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("Prepare"));
    prepared.sort();
    Ok(prepared.into_iter().chain(sent).collect())
}

fn without_values(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        let letter = match letter {
            _ if letter.is_ascii_digit() => '9',
            _ if letter.is_whitespace() => ' ',
            _ => letter,
        };
        if !(matches!(letter, '9' | ' ') && out.ends_with(letter)) {
            out.push(letter);
        }
    }
    // The sign of a number that is an id.
    out.replace("(-9", "(9")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_white_space_are_no_difference() {
        let seen = without_values("SELECT id\n    FROM sbtest1  WHERE k IN (501, 7)");
        assert_eq!(seen, "SELECT id FROM sbtest9 WHERE k IN (9, 9)");
        assert_ne!(seen, without_values("SELECT id FROM sbtest1 WHERE k IN (501)"));
    }
}
