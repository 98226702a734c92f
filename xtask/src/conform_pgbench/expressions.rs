//! Expressions, hashes and permutations by the real pgbench and by us.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use script::pgbench::{TABLE_VARIABLES, evaluate};

use super::generator::Generator;
use super::program::Pgbench;

const TABLE: &str = "crates/script/src/pgbench/expressions.tsv";
/// Clients that evaluate side by side: one that meets an error is aborted, and the others go on.
const CLIENTS: usize = 40;
/// Expressions of one client in one run.
const CHUNK: usize = 50;
/// As many differences are printed.
const SHOWN_MAX: usize = 20;

fn variable_words() -> Vec<String> {
    TABLE_VARIABLES.iter().flat_map(|(name, value)| ["-D".to_owned(), format!("{name}={value}")]).collect()
}

/// What the real pgbench makes of one expression: `int 5`, `error: …` or `syntax: …`.
fn alone(pgbench: &Pgbench, expression: &str) -> Result<String> {
    let variables = variable_words();
    let words: Vec<&str> = ["-n", "-t", "1"].into_iter().chain(variables.iter().map(String::as_str)).collect();
    let output = pgbench.run(Some(&format!("\\set x debug({expression})\n")), &words)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = |start: &str| errors.lines().find_map(|line| line.strip_prefix(start));
    if let Some(value) = line("debug(script=0,command=1): ") {
        return Ok(value.to_owned());
    }
    let error = line("pgbench: error: ").with_context(|| format!("{expression}: pgbench gave {errors}"))?;
    Ok(match error.split_once("script.sql:1: ") {
        Some((_, syntax)) => format!("syntax: {syntax}"),
        None => format!("error: {error}"),
    })
}

fn ours(expression: &str) -> String {
    match evaluate(expression, TABLE_VARIABLES, 1) {
        Ok(value) => value,
        Err(why) if why.starts_with("syntax: ") => why,
        Err(why) => format!("error: {why}"),
    }
}

/// Ours begin like pgbench's errors, which go on with values; syntax errors have their own words on both sides.
fn is_same(theirs: &str, ours: &str) -> bool {
    match theirs.split_once(": ") {
        Some(("syntax", _)) => ours.starts_with("syntax: "),
        Some(_) => theirs.starts_with(ours),
        None => theirs == ours,
    }
}

fn is_error(one: &str) -> bool {
    one.starts_with("error: ")
}

pub fn bless(pgbench: &Pgbench, root: &Path) -> Result<()> {
    let table = std::fs::read_to_string(root.join(TABLE))?;
    let line = |line: &str| {
        let expression = line.split('\t').next().unwrap_or_default();
        Ok(format!("{expression}\t{}\n", alone(pgbench, expression)?))
    };
    let blessed: Result<String> = table.lines().map(line).collect();
    std::fs::write(root.join(TABLE), blessed?)?;
    Ok(())
}

/// The table of the unit test, by the pgbench of this machine and by us.
pub fn table(pgbench: &Pgbench, root: &Path) -> Result<usize> {
    let table = std::fs::read_to_string(root.join(TABLE))?;
    let mut differences = Vec::new();
    for line in table.lines() {
        let (expression, stored) = line.split_once('\t').context("a line of the table has a tab")?;
        let (theirs, ours) = (alone(pgbench, expression)?, ours(expression));
        if theirs != stored {
            differences.push(format!("{expression}: {stored} in the table, {theirs} by pgbench"));
        }
        if !is_same(&theirs, &ours) {
            differences.push(format!("{expression}: {theirs} by pgbench, {ours} by us"));
        }
    }
    Ok(print("expressions of the table", table.lines().count(), &differences))
}

/// Expressions from a generator, whose types mostly fit.
pub fn random(pgbench: &Pgbench, seed: u64, count: usize) -> Result<usize> {
    let mut generator = Generator::new(seed);
    let expressions: Vec<String> = (0..count).map(|_| generator.expression()).collect();
    let theirs = evaluate_all(pgbench, &expressions)?;
    let errors = theirs.iter().filter(|one| is_error(one)).count();
    let pairs = expressions.iter().zip(&theirs).map(|(expression, theirs)| (expression, theirs, ours(expression)));
    let differences: Vec<String> = pairs
        // Of two errors in one expression we may meet the other first, since constants are folded.
        .filter(|(_, theirs, ours)| !(is_same(theirs, ours) || is_error(theirs) && is_error(ours)))
        .map(|(expression, theirs, ours)| format!("{expression}: {theirs} by pgbench, {ours} by us"))
        .collect();
    Ok(print(&format!("random expressions, {errors} of them errors"), count, &differences))
}

/// Hashes and permutations of random values, seeds and sizes.
pub fn hashes(pgbench: &Pgbench, seed: u64, count: u64) -> Result<usize> {
    let script = "\\set v random(-9000000000000000000, 200000000000000000)\n\\set v :v * case when random(0, 1) = 0 then 1 else -1 end\n\
        \\set s random(-4000000000000000000, 4000000000000000000)\n\
        \\set n 1 + random(0, 1 << random(1, 61))\n\
        \\set x debug(:v)\n\\set x debug(:s)\n\\set x debug(:n)\n\
        \\set x debug(hash_murmur2(:v, :s))\n\\set x debug(hash_fnv1a(:v, :s))\n\\set x debug(permute(:v, :n, :s))\n";
    let (count_word, seed_word) = (count.to_string(), format!("--random-seed={seed}"));
    let output = pgbench.run_well(Some(script), &["-n", "-t", &count_word, &seed_word])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let values = errors.lines().filter_map(|line| line.split_once("): int ").map(|(_, value)| value));
    let values: Vec<&str> = values.collect();
    ensure!(values.len() as u64 == count * 6, "{} values of {count} transactions", values.len());
    let mut differences = Vec::new();
    for one in values.chunks(6) {
        let [v, s, n, theirs @ ..] = one else { continue };
        let calls =
            [format!("hash_murmur2({v}, {s})"), format!("hash_fnv1a({v}, {s})"), format!("permute({v}, {n}, {s})")];
        for (call, theirs) in calls.iter().zip(theirs) {
            let (theirs, ours) = (format!("int {theirs}"), ours(call));
            if theirs != ours {
                differences.push(format!("{call}: {theirs} by pgbench, {ours} by us"));
            }
        }
    }
    Ok(print("values hashed twice and permuted", count as usize, &differences))
}

/// Evaluates all of them, a chunk for each client in each run. A client that is aborted goes on behind its error in
/// the next run.
fn evaluate_all(pgbench: &Pgbench, expressions: &[String]) -> Result<Vec<String>> {
    let mut found = vec![String::new(); expressions.len()];
    let share = expressions.len().div_ceil(CLIENTS).max(1);
    let mut left: Vec<VecDeque<usize>> =
        (0..expressions.len()).collect::<Vec<_>>().chunks(share).map(|chunk| chunk.iter().copied().collect()).collect();
    while left.iter().any(|queue| !queue.is_empty()) {
        let (script, commands) = side_by_side(expressions, &left);
        let errors = run_once(pgbench, &script, left.len())?;
        let done = read_values(&errors, &commands)?;
        ensure!(!done.is_empty(), "pgbench evaluated nothing: {errors}");
        for (at, value) in done {
            found[at] = value;
            left.iter_mut().for_each(|queue| queue.retain(|one| *one != at));
        }
    }
    Ok(found)
}

fn run_once(pgbench: &Pgbench, script: &str, clients: usize) -> Result<String> {
    let (clients, variables) = (clients.to_string(), variable_words());
    let words = ["-n", "-t", "1", "-j", "1", "-c", &clients].into_iter();
    let words: Vec<&str> = words.chain(variables.iter().map(String::as_str)).collect();
    let output = pgbench.run(Some(script), &words)?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A script in which each client evaluates its next chunk; by command, which expression that is.
fn side_by_side(expressions: &[String], left: &[VecDeque<usize>]) -> (String, Vec<Option<usize>>) {
    let (mut script, mut commands) = (String::new(), Vec::new());
    for (client, queue) in left.iter().enumerate() {
        script += &format!("\\if :client_id = {client}\n");
        commands.push(None);
        for at in queue.iter().take(CHUNK) {
            script += &format!("\\set x debug({})\n", expressions[*at]);
            commands.push(Some(*at));
        }
        script += "\\endif\n";
        commands.push(None);
    }
    (script, commands)
}

/// Expressions with their values; errors stand in the line before the client that they aborted.
fn read_values(errors: &str, commands: &[Option<usize>]) -> Result<Vec<(usize, String)>> {
    let (mut found, mut error) = (Vec::new(), "");
    for line in errors.lines() {
        if let Some((number, value)) =
            line.strip_prefix("debug(script=0,command=").and_then(|rest| rest.split_once("): "))
        {
            let command: usize = number.parse()?;
            found.extend(commands[command - 1].map(|at| (at, value.to_owned())));
        } else if let Some((_, aborted)) = line.split_once(" aborted in command ") {
            let number = aborted.split(' ').next().unwrap_or_default();
            let command: usize = number.parse()?;
            found.extend(commands[command].map(|at| (at, format!("error: {error}"))));
        } else if let Some((_, syntax)) = line.split_once("script.sql:") {
            anyhow::bail!("the generator made what is no expression: {syntax}\n{errors}");
        } else {
            error = line.strip_prefix("pgbench: error: ").unwrap_or(error);
        }
    }
    Ok(found)
}

fn print(what: &str, count: usize, differences: &[String]) -> usize {
    let verdict = if differences.is_empty() { "ok".to_owned() } else { format!("{} WRONG", differences.len()) };
    println!("{count} {what}: {verdict}");
    differences.iter().take(SHOWN_MAX).for_each(|line| println!("  {line}"));
    differences.len()
}
