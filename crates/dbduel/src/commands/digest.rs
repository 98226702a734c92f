//! `dbduel digest`: what the statements of a log cost, by digest. It reads files and meets no server.

use std::path::Path;

use anyhow::{Context, Error, anyhow};
use capture::{Coverage, Digest, Profile, Refused, ServerTotals, Summary, Total};
use record::format::figures::grouped;
use serde_json::{Value, json};

use super::{Failure, print};
use crate::cli::{DigestArgs, exit};

pub fn digest(args: &DigestArgs) -> Result<u8, Failure> {
    let options = args.reading.options().map_err(Failure::usage)?;
    let totals = args.summary.as_deref().map(totals).transpose()?;
    let profile = capture::profile(&args.logs, &options).map_err(refused)?;
    let texts = profile.digests.iter().map(|digest| digest.text.as_slice());
    let coverage = totals.as_ref().map(|totals| totals.covered_by(texts));
    if args.json {
        let mut json = as_json(&profile, args.top);
        if let Some(coverage) = &coverage {
            json["coverage"] = coverage_json(coverage, args.top);
        }
        let json = serde_json::to_string_pretty(&json).context("cannot write the digests")?;
        print(&(json + "\n"))?;
    } else {
        let width = terminal::width();
        let covered = coverage.map_or(String::new(), |coverage| covered(&coverage, args.top, width));
        print(&(text(&profile, args.top, width) + &covered))?;
    }
    Ok(exit::DONE)
}

fn totals(path: &Path) -> Result<ServerTotals, Failure> {
    let table = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    ServerTotals::read(&table).map_err(|why| Failure::usage(anyhow!("{}: {why}", path.display())))
}

/// What the server counted and the log has, then what it lacks.
fn covered(coverage: &Coverage, top: usize, width: usize) -> String {
    let Some([of_calls, of_time]) = coverage.shares() else {
        return "\nThe server's totals have no calls.\n".to_owned();
    };
    let (calls, time) = (counted(coverage.calls.1, "call"), duration(coverage.time_us.1));
    let mut lines = vec![
        String::new(),
        format!(
            "The log has {:.1}% of the server's {calls} and {:.1}% of its {time}.",
            100.0 * of_calls,
            100.0 * of_time
        ),
    ];
    if !coverage.missing.is_empty() {
        lines.push(format!("{} missing, most time first:", counted(coverage.missing.len() as u64, "digest")));
    }
    for total in coverage.missing.iter().take(top) {
        let share = format!("{:.1}%", 100.0 * total.time_us / coverage.time_us.1);
        let figures = format!("{share:>8}{:>8}{:>8}  ", short(total.calls as f64), duration(total.time_us));
        let room = width.saturating_sub(figures.chars().count()).max(16);
        lines.push(figures + &cut(&total.text, room));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn coverage_json(coverage: &Coverage, top: usize) -> Value {
    let total = |total: &&Total| json!({ "text": total.text, "calls": total.calls, "total_us": total.time_us });
    json!({
        "calls": coverage.calls.1,
        "calls_in_log": coverage.calls.0,
        "total_us": coverage.time_us.1,
        "total_us_in_log": coverage.time_us.0,
        "digests_missing": coverage.missing.len(),
        "missing": coverage.missing.iter().take(top).map(total).collect::<Vec<_>>(),
    })
}

/// A log that cannot be read for what it holds is bad usage; one that the disk does not give is not there.
pub fn refused(error: Refused) -> Failure {
    match error {
        Refused::Usage(_) => Failure::usage(error),
        Refused::Unreadable { .. } | Refused::Unwritable { .. } => Failure::from(Error::from(error)),
    }
}

/// The headings of the figures, which end where their columns do.
const HEAD: &str = "rank calls   total  share    mean     p95  rows";

fn text(profile: &Profile, top: usize, width: usize) -> String {
    let total_us: u64 = profile.digests.iter().map(|digest| digest.total_us).sum();
    let mut lines = vec![overview(profile, total_us), String::new(), format!("{HEAD}  digest")];
    let room = width.saturating_sub(HEAD.len() + 2).max(16);
    for (rank, digest) in profile.digests.iter().take(top).enumerate() {
        lines.push(format!("{:>4}{}  {}", rank + 1, row(digest, total_us), cut(&text_of(digest), room)));
    }
    lines.extend(rest(profile, top, total_us));
    lines.extend(read_problems(&profile.summary));
    lines.push(String::new());
    lines.join("\n")
}

fn overview(profile: &Profile, total_us: u64) -> String {
    let (statements, digests) = (profile.summary.statements, profile.digests.len());
    let time = if total_us > 0 { format!(", {} in total", duration(total_us as f64)) } else { String::new() };
    format!("{} in {}{time}", counted(statements, "statement"), counted(digests as u64, "digest"))
}

fn row(digest: &Digest, total_us: u64) -> String {
    let timed = digest.timed > 0;
    let cell = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let share = (timed && total_us > 0).then(|| format!("{:.1}%", 100.0 * digest.total_us as f64 / total_us as f64));
    format!(
        "{:>6}{:>8}{:>7}{:>8}{:>8}{:>6}",
        short(digest.calls as f64),
        cell(timed.then(|| duration(digest.total_us as f64))),
        cell(share),
        cell(digest.mean_us().map(duration)),
        cell(digest.times.quantile_us(0.95).map(|us| duration(us as f64))),
        cell(digest.rows_a_call().map(short)),
    )
}

fn rest(profile: &Profile, top: usize, total_us: u64) -> Option<String> {
    let rest = profile.digests.get(top..).filter(|rest| !rest.is_empty())?;
    let time_us: u64 = rest.iter().map(|digest| digest.total_us).sum();
    let calls: u64 = rest.iter().map(|digest| digest.calls).sum();
    let share = if total_us > 0 {
        format!(", {:.1}% of the time", 100.0 * time_us as f64 / total_us as f64)
    } else {
        String::new()
    };
    Some(format!("{} more with {}{share}", counted(rest.len() as u64, "digest"), counted(calls, "call")))
}

/// What weakens the figures, for `digest` and `capture`.
pub fn read_problems(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if summary.overlapping > 0 {
        lines.push(format!("{} that two logs hold: counted once", counted_as(summary.overlapping, "entry", "entries")));
    }
    if summary.problems_found > 0 {
        lines.push(format!("{}:", counted(summary.problems_found, "problem")));
        lines.extend(summary.problem_lines().into_iter().map(|line| format!("  {line}")));
    }
    lines
}

pub fn counted(count: u64, one: &str) -> String {
    counted_as(count, one, &format!("{one}s"))
}

pub fn counted_as(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { many })
}

/// Three significant digits, with `k` and `M` for large counts.
fn short(number: f64) -> String {
    match number {
        number if number < 100_000.0 && number.fract() == 0.0 => format!("{number:.0}"),
        number if number < 1_000.0 => digits(number),
        number if number < 1e6 => format!("{}k", digits(number / 1e3)),
        number if number < 1e9 => format!("{}M", digits(number / 1e6)),
        number => format!("{}G", digits(number / 1e9)),
    }
}

fn digits(number: f64) -> String {
    match number {
        number if number < 9.995 => format!("{number:.2}"),
        number if number < 99.95 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

/// `95 µs`, `1.23 ms`, `12.4 s`, `2.05 h`
pub fn duration(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{} ms", digits(us / 1e3)),
        us if us < 3.6e9 => format!("{} s", digits(us / 1e6)),
        us => format!("{} h", digits(us / 3.6e9)),
    }
}

fn text_of(digest: &Digest) -> String {
    String::from_utf8_lossy(&digest.text).into_owned()
}

/// On one line, with a mark where it is cut.
fn cut(text: &str, room: usize) -> String {
    let line: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    if line.chars().count() <= room {
        return line;
    }
    line.chars().take(room - 1).chain(['…']).collect()
}

fn as_json(profile: &Profile, top: usize) -> Value {
    let summary = &profile.summary;
    let files = summary.files.iter().map(
        |file| json!({ "path": file.path.display().to_string(), "format": file.format.name(), "bytes": file.bytes }),
    );
    json!({
        "files": files.collect::<Vec<_>>(),
        "statements": summary.statements,
        "digests_found": profile.digests.len(),
        "overlapping_entries": summary.overlapping,
        "bad_entries": summary.bad_entries,
        "problems": summary.problem_lines(),
        "digests": profile.digests.iter().take(top).map(digest_json).collect::<Vec<_>>(),
    })
}

pub fn digest_json(digest: &Digest) -> Value {
    json!({
        "id": format!("{:016x}", digest.id),
        "database": String::from_utf8_lossy(&digest.database),
        "text": text_of(digest),
        "calls": digest.calls,
        "timed_calls": digest.timed,
        "total_us": digest.total_us,
        "mean_us": digest.mean_us(),
        "p95_us": digest.times.quantile_us(0.95),
        "max_us": (digest.timed > 0).then_some(digest.times.max_us),
        "rows_per_call": digest.rows_a_call(),
        "errors": digest.errors,
        "list_length": digest.list_length,
        "never_replayed": digest.skipped.map(|kind| kind.name()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_their_unit() {
        for (us, expected) in [
            (0.0, "0 µs"),
            (95.4, "95 µs"),
            (1_234.0, "1.23 ms"),
            (999_600.0, "1000 ms"),
            (12.4e6, "12.4 s"),
            (7.4e9, "2.06 h"),
        ] {
            assert_eq!(duration(us), expected);
        }
        for (number, expected) in
            [(7.0, "7"), (0.256, "0.26"), (94_140.0, "94140"), (941_400.0, "941k"), (2.5e6, "2.50M")]
        {
            assert_eq!(short(number), expected);
        }
        assert_eq!(counted(1_234_567, "call"), "1,234,567 calls");
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let digest = Digest {
            text: "select a, ".repeat(20).into_bytes(),
            calls: 5,
            timed: 5,
            total_us: 1_000_000,
            ..Digest::default()
        };
        let profile = Profile { digests: vec![digest; 3], summary: Summary::default() };
        for width in [68, 80, 120] {
            let text = text(&profile, 2, width);
            assert_eq!(text.lines().map(|line| line.chars().count()).max(), Some(width), "{text}");
            assert!(text.ends_with("1 digest more with 5 calls, 33.3% of the time\n"), "{text}");
        }
    }
}
