//! A capture made of logs, and what it holds in words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use capture::{Capture, Class, Contents, Digest, Making, Options};
use record::quantity::bytes_text;

use crate::cli::CaptureArgs;
use crate::commands::digest::{counted, counted_as, duration, refused};
use crate::commands::{Failure, print};

pub fn making(args: &CaptureArgs, options: Options, work: &Path) -> Making {
    Making {
        options,
        // A quarter is for reading, compression and the digests.
        memory: usize::try_from(args.memory / 4 * 3).unwrap_or(usize::MAX),
        work: work.to_owned(),
        parameter_length_max: args.parameter_max_length,
    }
}

/// Makes a capture of logs and says what it holds.
pub fn make(logs: &[PathBuf], out: &Path, making: &Making) -> Result<(), Failure> {
    let (written, contents) = capture::capture(logs, out, making).map_err(refused)?;
    let read: u64 = contents.logs.iter().map(|(.., bytes)| bytes).sum();
    print(&format!("{}: {} of {} of logs\n", out.display(), bytes_text(written), bytes_text(read)))?;
    let capture = Capture::open(out).map_err(refused)?;
    print(&info(out, &capture.contents, &capture.digests))?;
    Ok(())
}

pub fn info(path: &Path, contents: &Contents, digests: &[Digest]) -> String {
    let mut lines = vec![format!("capture {}", path.display())];
    lines.extend(
        contents
            .logs
            .iter()
            .map(|(format, path, read)| line("log", &format!("{path} ({format}, {})", bytes_text(*read)))),
    );
    lines.push(line("span", &span(contents)));
    lines.push(line(
        "sessions",
        &format!("{}, at most {} at once", counted(contents.sessions, "session"), contents.most_sessions),
    ));
    let statements = counted(contents.statements, "statement");
    lines.push(line("statements", &format!("{statements} in {}", counted(contents.transactions, "transaction"))));
    lines.push(line("digests", &counted(digests.len() as u64, "digest")));
    lines.push(line("classes", &classes(digests)));
    let skipped = contents.skipped.iter();
    lines.extend(skipped.map(|(kind, count)| {
        line("not replayed", &format!("{}: {} ({})", kind.name(), counted(*count, "statement"), kind.reason()))
    }));
    if contents.is_coarse {
        lines.push(line("caveat", "coarse log times: stamps are whole seconds"));
    }
    if contents.overlapping > 0 {
        lines.push(line(
            "overlap",
            &format!("{} that two logs hold, taken once", counted_as(contents.overlapping, "entry", "entries")),
        ));
    }
    lines.extend(contents.problems.iter().map(|problem| line("problem", problem)));
    lines.push(String::new());
    lines.join("\n")
}

fn line(title: &str, text: &str) -> String {
    format!("  {title:<13} {text}")
}

/// First start and last end in UTC, and what is between them.
fn span(contents: &Contents) -> String {
    if contents.statements == 0 {
        return "no statement".to_owned();
    }
    let length = (contents.last_us - contents.first_us) as f64;
    format!("{} to {} UTC, {}", capture::utc(contents.first_us), capture::utc(contents.last_us), duration(length))
}

/// Calls by class of answer, most first.
fn classes(digests: &[Digest]) -> String {
    let mut calls: BTreeMap<Class, u64> = BTreeMap::new();
    digests.iter().for_each(|digest| *calls.entry(Class::of(&digest.text)).or_default() += digest.calls);
    let mut calls: Vec<(Class, u64)> = calls.into_iter().collect();
    calls.sort_by_key(|(class, count)| (std::cmp::Reverse(*count), *class));
    calls.iter().map(|(class, count)| format!("{} {count}", class.name())).collect::<Vec<_>>().join(", ")
}
