//! Expressions, hashes and permutations by the real pgbench and by us.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use script::pgbench::{TABLE_VARIABLES, evaluate};

use super::generator::Generator;
use super::program::Pgbench;

const TABLE: &str = "crates/script/src/pgbench/expressions.tsv";
/// Clients that each meet one error: it aborts them.
const CLIENTS: usize = 100;
/// Expressions of one script: pgbench looks for line numbers from its beginning, for each command.
const CHUNK: usize = 1_000;
/// Errors take a client each, so that no more of them are compared: one of twenty expressions, and at most this many.
const ERRORS_MAX: usize = 20_000;
const ERRORS_SHARE: usize = 20;
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
    let split = |line| str::split_once(line, '\t').context("a line of the table has a tab");
    let lines = table.lines().map(split).collect::<Result<Vec<_>>>()?;
    // A syntax error ends pgbench before it connects; all others go in one script, and those with errors side by side.
    let (syntax, others): (Vec<_>, Vec<_>) = lines.iter().partition(|(_, stored)| stored.starts_with("syntax: "));
    let (errors, values): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, stored)| is_error(stored));
    let expressions =
        |of: &[(&str, &str)]| of.iter().map(|(expression, _)| (*expression).to_owned()).collect::<Vec<_>>();
    let mut theirs = in_a_row(pgbench, &expressions(&values))?;
    theirs.extend(side_by_side(pgbench, &expressions(&errors))?);
    for (expression, _) in &syntax {
        theirs.push(alone(pgbench, expression)?);
    }
    let mut differences = Vec::new();
    for ((expression, stored), theirs) in values.iter().chain(&errors).chain(&syntax).zip(&theirs) {
        let ours = ours(expression);
        if theirs != stored {
            differences.push(format!("{expression}: {stored} in the table, {theirs} by pgbench"));
        }
        if !is_same(theirs, &ours) {
            differences.push(format!("{expression}: {theirs} by pgbench, {ours} by us"));
        }
    }
    Ok(print("expressions of the table", table.lines().count(), &differences))
}

/// Expressions from a generator, whose types mostly fit.
pub fn random(pgbench: &Pgbench, seed: u64, count: usize) -> Result<usize> {
    let mut generator = Generator::new(seed);
    let errors_max = (count / ERRORS_SHARE).min(ERRORS_MAX);
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    while values.len() + errors.len() < count {
        let expression = generator.expression();
        match is_error(&ours(&expression)) {
            false => values.push(expression),
            true if errors.len() < errors_max => errors.push(expression),
            true => {}
        }
    }
    let mut differences = differences(&values, &in_a_row(pgbench, &values)?);
    differences.extend(self::differences(&errors, &side_by_side(pgbench, &errors)?));
    Ok(print(&format!("random expressions, {} of them errors", errors.len()), count, &differences))
}

fn differences(expressions: &[String], theirs: &[String]) -> Vec<String> {
    let pairs = expressions.iter().zip(theirs).map(|(expression, theirs)| (expression, theirs, ours(expression)));
    pairs
        // Of two errors in one expression we may meet the other first, since constants are folded.
        .filter(|(_, theirs, ours)| !(is_same(theirs, ours) || is_error(theirs) && is_error(ours)))
        .map(|(expression, theirs, ours)| format!("{expression}: {theirs} by pgbench, {ours} by us"))
        .collect()
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

/// Evaluates expressions by one client. One that has an error aborts it, and the next run begins behind it.
fn in_a_row(pgbench: &Pgbench, expressions: &[String]) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::with_capacity(expressions.len());
    while found.len() < expressions.len() {
        let chunk = &expressions[found.len()..expressions.len().min(found.len() + CHUNK)];
        let script: String = chunk.iter().map(|expression| format!("\\set x debug({expression})\n")).collect();
        let commands: Vec<Option<usize>> = (0..chunk.len()).map(Some).collect();
        let errors = run_once(pgbench, &script, 1)?;
        let done = read_values(&errors, &commands)?;
        ensure!(!done.is_empty(), "pgbench evaluated nothing: {errors}");
        found.extend(done.into_iter().map(|(_, value)| value));
    }
    Ok(found)
}

/// Evaluates expressions by a client each: an error ends its client, and the others go on.
fn side_by_side(pgbench: &Pgbench, expressions: &[String]) -> Result<Vec<String>> {
    let mut found = vec![String::new(); expressions.len()];
    for (number, chunk) in expressions.chunks(CLIENTS).enumerate() {
        let (mut script, mut commands) = (String::new(), Vec::new());
        for (client, expression) in chunk.iter().enumerate() {
            script += &format!("\\if :client_id = {client}\n\\set x debug({expression})\n\\endif\n");
            commands.extend([None, Some(number * CLIENTS + client), None]);
        }
        let errors = run_once(pgbench, &script, chunk.len())?;
        for (at, value) in read_values(&errors, &commands)? {
            found[at] = value;
        }
    }
    ensure!(found.iter().all(|value| !value.is_empty()), "pgbench left out expressions");
    Ok(found)
}

fn run_once(pgbench: &Pgbench, script: &str, clients: usize) -> Result<String> {
    let (clients, variables) = (clients.to_string(), variable_words());
    let words = ["-n", "-t", "1", "-j", "1", "-c", &clients].into_iter();
    let words: Vec<&str> = words.chain(variables.iter().map(String::as_str)).collect();
    let output = pgbench.run(Some(script), &words)?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
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
