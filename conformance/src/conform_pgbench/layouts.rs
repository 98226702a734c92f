//! Reports of the real pgbench and of ours for the same command lines: equal but for their numbers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::program::Pgbench;

/// Scripts by name; `{name}` in a command line is its path.
const FILES: [(&str, &str); 4] = [
    ("branches", "\\set x random(1, 3)\n\\if :x > 1\nSELECT :x;\n\\else\nSELECT 2,\n  3;\n\\endif\n\\sleep 1 us\n"),
    ("joined", "SELECT 1 AS a\\; SELECT 2 AS b \\gset p_\nSELECT :p_b; SELECT 5 AS c \\aset\nSELECT :c;\n"),
    ("piped", "\\startpipeline\nBEGIN;\nSELECT 1;\nEND;\n\\endpipeline\n"),
    ("sleep", "\\sleep 5 ms\nSELECT 1;\n"),
];

/// Command lines that end well, and those in which an error ends a client.
const LINES: [&str; 15] = [
    "-n -t 20",
    "-S -c 4 -j 2 -t 20 -M prepared -r",
    "-n -S -c 2 -T 2 -P 1 -M extended -r",
    "-n -S -b tpcb-like@3 -t 20 -r",
    "-n -N -t 20 --max-tries=3 --failures-detailed -r",
    "-n -S -N -t 20 --max-tries=3 --failures-detailed -r",
    "-n -S -T 2 -R 200 -P 1",
    "-n -S -T 2 -L 50",
    "-n -T 2 -P 1 -R 200 -L 8 -f {sleep}",
    "-n -S -C -t 20",
    "-n -S -C -c 2 -T 1",
    "-n -t 20 -r -f {branches}",
    "-n -t 20 -r -f {joined}",
    "-n -t 20 -r -M prepared -f {piped} -f {branches}@2",
    "-n -S -T 2 -P 1 --progress-timestamp --max-tries=2",
];

/// Prints each command line; returns how many reports differ.
pub fn compare(pgbench: &Pgbench, dbduel: &Path) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    for (name, text) in FILES {
        std::fs::write(path(&folder, name), text)?;
    }
    let mut wrong = 0;
    for line in LINES {
        let words = FILES.iter().fold(line.to_owned(), |line, (name, _)| {
            line.replace(&format!("{{{name}}}"), &path(&folder, name).display().to_string())
        });
        let words: Vec<&str> = words.split_whitespace().collect();
        let theirs = pgbench.run(None, &words)?;
        let target = pgbench.target();
        let mut ours = Command::new(dbduel);
        let ours =
            ours.arg("pgbench").args(&words).args(["--target", &target]).output().context("cannot start dbduel")?;
        let (theirs, ours) = (shown(&theirs), shown(&ours));
        let verdict = if theirs == ours { "ok" } else { "WRONG" };
        println!("report of {line:<60} {verdict}");
        if theirs != ours {
            println!("--- pgbench\n{theirs}--- dbduel\n{ours}---");
        }
        wrong += usize::from(theirs != ours);
    }
    Ok(wrong)
}

fn path(folder: &TempDir, name: &str) -> std::path::PathBuf {
    folder.path().join(format!("{name}.sql"))
}

/// Both outputs without the first line, which names the program, and without the end of a line of progress that comes
/// only now and then; each number is `#`. A figure that one side does not know is `-`, and a number to the other.
fn shown(output: &std::process::Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let report = out.lines().skip(1).map(masked);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut progress: Vec<String> = errors.lines().map(masked).collect();
    progress.dedup();
    let status = output.status.code().map_or(String::new(), |code| format!("exit {code}"));
    progress.into_iter().chain(report).chain([status]).map(|line| line + "\n").collect()
}

fn masked(line: &str) -> String {
    let mut words = Vec::new();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let digits = word.trim_matches(|c: char| "(),%".contains(c));
        let is_number =
            digits == "-" || (digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok());
        let is_fraction =
            digits.split_once('/').is_some_and(|(a, b)| a.parse::<f64>().is_ok() && b.parse::<f64>().is_ok());
        words.push(match (is_number, is_fraction) {
            (true, _) => word.replace(digits, "#"),
            (_, true) => word.replace(digits, "#/#"),
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_masked_and_words_are_not() {
        let line = "   0.175           6  UPDATE ctr SET v=v+1 WHERE id=1;";
        assert_eq!(masked(line), "# # UPDATE ctr SET v=v+1 WHERE id=1;");
        assert_eq!(masked("processed: 394/400"), "processed: #/#");
        assert_eq!(masked("tps = 2072.342641 (without it), NaN%"), "tps = # (without it), NaN%");
        assert_eq!(masked(" - 377 transactions (75.4% of total)"), "# # transactions (#% of total)");
    }
}
