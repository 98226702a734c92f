//! A capture made of logs, and what it holds in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use capture::{Capture, Class, Contents, Digest, Making, Mask, Options};
use record::quantity::bytes_text;
use serde_json::json;

use crate::cli::{CaptureArgs, PrivacyArgs};
use crate::commands::digest::{counted, counted_as, digest_json, duration, refused};
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

/// How much of the statements is written.
pub enum Content {
    Whole,
    Anonymised(Mask),
    Digests(Mask),
}

impl Content {
    pub fn of(args: &PrivacyArgs) -> Result<Content, Failure> {
        let mask = || match &args.key {
            None => Mask::random().context("the system gives no random bytes"),
            Some(path) => {
                let key = std::fs::read(path).with_context(|| format!("cannot read the key {}", path.display()))?;
                ensure!(key.len() >= KEY_MIN, "{} is shorter than {KEY_MIN} bytes\n  next: {NEW_KEY}", path.display());
                Ok(Mask::of_key(&key))
            }
        };
        Ok(match (&args.anonymize, args.digest_only) {
            (Some(_), _) => Content::Anonymised(mask().map_err(Failure::usage)?),
            (None, true) => Content::Digests(mask().map_err(Failure::usage)?),
            (None, false) => Content::Whole,
        })
    }
}

/// A shorter key can be found by trying.
const KEY_MIN: usize = 16;
const NEW_KEY: &str = "make one with head -c 32 /dev/urandom > FILE";

/// Makes a capture of logs, or what others may see of it, and prints what it holds.
pub fn make(logs: &[PathBuf], out: &Path, making: &Making, content: &Content) -> Result<(), Failure> {
    let of_capture = logs.iter().find(|path| Capture::is_at(path));
    if let Some(path) = of_capture.filter(|_| logs.len() > 1 || matches!(content, Content::Whole)) {
        let next = "name logs, or one capture and --anonymize literals or --digest-only";
        return Err(Failure::usage(anyhow!("{} is a capture already\n  next: {next}", path.display())));
    }
    let mask = match content {
        Content::Whole => {
            let (written, contents) = capture::capture(logs, out, making).map_err(refused)?;
            return said(out, written, &contents);
        }
        Content::Anonymised(mask) | Content::Digests(mask) => mask,
    };
    if out.exists() {
        return Err(Failure::usage(anyhow!("{} is there already\n  next: name a new file", out.display())));
    }
    let whole = making.work.join("whole.dbcap");
    let whole = match of_capture {
        Some(path) => path,
        None => {
            capture::capture(logs, &whole, making).map_err(refused)?;
            &whole
        }
    };
    let mut whole = Capture::open(whole).map_err(refused)?;
    if let Content::Digests(_) = content {
        return digests_alone(&mut whole, out, mask);
    }
    let written = capture::anonymise(&mut whole, out, mask, &making.options.reading).map_err(refused)?;
    said(out, written, &whole.contents)
}

fn said(out: &Path, written: u64, contents: &Contents) -> Result<(), Failure> {
    let read: u64 = contents.logs.iter().map(|(.., bytes)| bytes).sum();
    print(&format!("{}: {} of {} of logs\n", out.display(), bytes_text(written), bytes_text(read)))?;
    let capture = Capture::open(out).map_err(refused)?;
    print(&info(out, &capture.contents, &capture.digests))?;
    Ok(())
}

/// Writes what each digest costs, and nothing that a statement, a user or a host could be known by.
fn digests_alone(whole: &mut Capture, out: &Path, mask: &Mask) -> Result<(), Failure> {
    let users = capture::statements_of_users(whole, mask).map_err(refused)?;
    let mut digests: Vec<&Digest> = whole.digests.iter().collect();
    digests.sort_by_key(|digest| (std::cmp::Reverse((digest.total_us, digest.calls)), digest.id));
    let with_times = |digest: &&Digest| {
        let mut json = digest_json(digest);
        json["histogram_us"] = digest.times.counts().map(|(top, count)| json!([top, count])).collect();
        json
    };
    let Contents { first_us, last_us, sessions, most_sessions, statements, transactions, skipped, .. } =
        &whole.contents;
    let json = json!({
        "formats": whole.contents.logs.iter().map(|(format, ..)| format).collect::<BTreeSet<_>>(),
        "first_start": capture::utc(*first_us),
        "last_end": capture::utc(*last_us),
        "sessions": sessions,
        "most_sessions_at_once": most_sessions,
        "statements": statements,
        "transactions": transactions,
        "never_replayed": skipped.iter().map(|(kind, count)| (kind.name(), count)).collect::<BTreeMap<_, _>>(),
        "statements_by_user": users,
        "digests": digests.iter().map(with_times).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&json).context("cannot write the digests")? + "\n";
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(out);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", out.display()))?;
    let (digests, users) = (counted(digests.len() as u64, "digest"), counted(users.len() as u64, "user"));
    print(&format!("{}: {digests} of {} and {users}\n", out.display(), counted(*statements, "statement")))?;
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
    if contents.is_anonymised {
        lines.push(line("anonymised", "values are not those of the logs; it cannot be replayed on the original data"));
    }
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
