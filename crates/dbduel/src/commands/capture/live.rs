//! `dbduel capture --target`: the log of a running server switched on for some minutes, made into a capture, and every
//! setting put back.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use driver::{Admin, Dialect};
use engine::{Cache, PasswordSource, interruption};
use experiment::{TargetUrl, shell_word};
use record::format::figures::grouped;
use record::quantity::{bytes_text, duration_text};
use tap::guard::Guard;
use tap::{Ended, Fetched, Limits, Plan, Seen, Source, Space, State, Tapped};

use super::made::{Content, make, making};
use crate::cli::{CaptureArgs, exit};
use crate::commands::{Failure, note, print};

/// For how long the server's rate is looked at beforehand.
const RATE_SECS: u64 = 5;
/// Of the log where it is kept, beside the capture.
const LOG_ENDING: &str = "log";
const COST: &str = "Logging costs: where the server is at its limit, MariaDB 10.11 lost 41 % of the queries of sysbench's \
                       oltp_read_write, and PostgreSQL 15 13 to 22 % of point selects; below the limit less.";

pub fn capture(target: &str, out: &Path, args: &CaptureArgs) -> Result<u8, Failure> {
    let (server, source) = server(target, args)?;
    let content = Content::of(&args.privacy)?;
    let state_file = State::file_of(out);
    for file in [out.to_owned(), tap::beside(out, LOG_ENDING)] {
        let is_there = || anyhow!("{} is there already\n  next: name another --out, or remove it", file.display());
        if file.exists() {
            Err(Failure::usage(is_there()))?
        }
    }
    if state_file.exists() {
        Err(anyhow!(
            "{} is there: an earlier capture left settings changed\n  next: dbduel capture --restore {}",
            state_file.display(),
            shell_word(&state_file.display().to_string())
        ))?;
    }
    let mut admin = server.session()?;
    let plan = tap::plan(&mut admin, source)?;
    let before = rate(&mut admin, &plan)?;
    print(&described(&server, &plan, args, before))?;
    if args.live.dry_run {
        let lines: Vec<String> =
            plan.statements().into_iter().chain(["-- and back:".to_owned()]).chain(plan.statements_back()).collect();
        print(&(lines.join(";\n").replace("back:;", "back:") + ";\n"))?;
        return Ok(exit::DONE);
    }
    if let Some(space) = plan.space(args.live.max).filter(|space| space.is_short()) {
        Err(short_of_space(space))?;
    }
    if !is_agreed(args)? {
        return Ok(exit::DONE);
    }
    let interrupted = interruption::flag_alone(exit::INTERRUPTED)?;
    let cache = Cache::open()?;
    let work = cache.work()?;
    let state = State::of(&server, &plan);
    let guard = Guard::start(&server, &state, &state_file)?;
    let watched = tap::switch_on(&server, &plan).and_then(|()| {
        let limits = Limits { time: args.live.time, bytes: args.live.max };
        tap::watch(&mut admin, &plan, limits, &interrupted, |seen| note(&progress(seen, &plan, before)))
    });
    let put_back = guard.put_back();
    say_put_back(&put_back, &plan, &state_file);
    let (ended, seen) = watched.with_context(|| match &plan.log {
        tap::Log::Own { path } => {
            format!("nothing was captured; if the server made {}, remove it there", path.display())
        }
        _ => "nothing was captured".to_owned(),
    })?;
    put_back?;
    print(&ending(ended, &seen, &plan, before))?;
    finish(&server, &plan, out, args, work.path(), &content)
}

/// The server, and the log that is asked of it.
fn server(target: &str, args: &CaptureArgs) -> Result<(Tapped, Source), Failure> {
    let url = TargetUrl::parse(target).map_err(|why| Failure::usage(anyhow!("{why}")))?;
    let source = Source::of(args.live.source.as_deref(), url.kind.dialect()).map_err(Failure::usage)?;
    let (server, sources) = Tapped::of(&url, &args.live.password())?;
    sources.iter().for_each(|text| note(&format!("note: {text}")));
    Ok((server, source))
}

/// Units a second, of a few seconds.
fn rate(admin: &mut Admin, plan: &Plan) -> Result<f64> {
    note(&format!("looking at the server for {RATE_SECS} s"));
    let first = tap::counted(admin, plan)?;
    std::thread::sleep(Duration::from_secs(RATE_SECS));
    Ok((tap::counted(admin, plan)?.saturating_sub(first)) as f64 / RATE_SECS as f64)
}

fn described(server: &Tapped, plan: &Plan, args: &CaptureArgs, rate: f64) -> String {
    let (time, max) = (args.live.time, args.live.max);
    let [least, most] = plan.bytes_each.map(|bytes| (rate * time.as_secs_f64() * bytes) as u64);
    let mut lines = vec![format!(
        "capture of {} ({}) for {}, at most {}",
        server.text(),
        plan.version,
        duration_text(time),
        bytes_text(max)
    )];
    let width = plan.changes.iter().map(|change| change.name.len()).max().unwrap_or_default();
    lines.extend(
        plan.changes
            .iter()
            .map(|change| format!("  {:<width$}  {} -> {}", change.name, shown(&change.shown), shown(&change.after))),
    );
    let much = if most > max { "; the limit may end it earlier" } else { "" };
    lines.push(format!(
        "The server has {} {} a second now: {} to {} of log are expected{much}.",
        whole(rate),
        plan.unit,
        bytes_text(least),
        bytes_text(most)
    ));
    lines.push(COST.to_owned());
    lines.extend(plan.remarks.iter().map(|remark| format!("Note: {remark}.")));
    lines.push(String::new());
    lines.join("\n")
}

fn short_of_space(space: Space) -> anyhow::Error {
    let [free, needed] = [space.free, space.needed].map(bytes_text);
    anyhow!(
        "{free} of the file system of the log are free, and {needed} have to stay so; nothing was changed\n  next: make \
         room there, or allow less with --max (four times that stays free, and no more than a tenth of the file system)"
    )
}

fn shown(value: &str) -> String {
    if value.is_empty() { "(nothing)".to_owned() } else { value.to_owned() }
}

fn is_agreed(args: &CaptureArgs) -> Result<bool, Failure> {
    if args.live.yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(anyhow!(
            "nobody is there to agree to the changes\n  next: --yes agrees, --dry-run prints the statements"
        )));
    }
    note("Change the settings, and put them back afterwards? [y/N]");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("no answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn progress(seen: &Seen, plan: &Plan, before: f64) -> String {
    let size = seen.bytes.map_or("size not seen from here".to_owned(), bytes_text);
    format!("{:>5.0} s  {size}  {}", seen.elapsed.as_secs_f64(), compared(seen, plan, before))
}

/// The server's rate beside that of the seconds before.
fn compared(seen: &Seen, plan: &Plan, before: f64) -> String {
    let now = seen.count as f64 / seen.elapsed.as_secs_f64().max(1e-3);
    let rates = format!("{} {}/s, {} before", whole(now), plan.unit, whole(before));
    if before < 1.0 { rates } else { format!("{rates} ({:+.0} %)", (now / before - 1.0) * 100.0) }
}

fn ending(ended: Ended, seen: &Seen, plan: &Plan, before: f64) -> String {
    let why = match ended {
        Ended::Time => "the time is over",
        Ended::Size => "the log has the size of --max",
        Ended::Disk => "too little of the log's file system is free",
        Ended::Interrupted => "interrupted",
    };
    format!("logged for {}: {why}; {}\n", duration_text(seen.elapsed), compared(seen, plan, before))
}

fn say_put_back(put_back: &Result<Vec<String>>, plan: &Plan, state_file: &Path) {
    let by_hand = || format!("  next: dbduel capture --restore {}", shell_word(&state_file.display().to_string()));
    match put_back {
        Ok(different) if different.is_empty() => {
            note(&format!("all {} settings are as they were found", plan.changes.len()));
        }
        Ok(different) => {
            note(&format!("warning: not as they were found: {}", different.join("; ")));
            note(&by_hand());
        }
        Err(error) => {
            note(&format!("warning: the settings were not put back: {error:#}"));
            note(&by_hand());
        }
    }
}

/// Brings the log here and makes the capture of it.
fn finish(
    server: &Tapped,
    plan: &Plan,
    out: &Path,
    args: &CaptureArgs,
    work: &Path,
    content: &Content,
) -> Result<u8, Failure> {
    let mut options = args.reading.options().map_err(Failure::usage)?;
    if args.reading.log_timezone.is_none() {
        options.reading.offset_secs = plan.offset_secs;
    }
    if args.reading.sql_mode.is_empty() {
        options.reading.sql_mode = plan.sql_mode.clone().into_bytes();
    }
    if plan.dialect == Dialect::Postgres && args.reading.line_prefix.is_none() {
        options.reading.prefix = Some(capture::Prefix::parse(tap::LINE_PREFIX).map_err(|error| anyhow!(error))?);
    }
    let logs = match plan.log.fetch(&mut server.session()?, work)? {
        Fetched::Copies(logs) => logs,
        Fetched::Own(log) => vec![log],
        Fetched::OutOfReach(path) => {
            return Err(anyhow!(
                "the log {} is on the server's host and cannot be read from here\n  next: copy it from there, remove it there, \
                 and dbduel capture --from the copy --out {}",
                path.display(),
                shell_word(&out.display().to_string())
            ))?;
        }
    };
    if logs.is_empty() {
        Err(anyhow!("nothing was logged\n  next: look whether statements reach this server, and log for longer"))?;
    }
    let made = make(&logs, out, &making(args, options, work), content);
    if args.live.keep_log || made.is_err() {
        let kept = tap::beside(out, LOG_ENDING);
        keep(&logs, &kept).with_context(|| format!("cannot write {}", kept.display()))?;
        note(&format!("the log is kept in {}", kept.display()));
    }
    if let tap::Log::Own { path } = &plan.log
        && let Err(error) = std::fs::remove_file(path)
    {
        note(&format!("warning: {} stays on the server: {error}; remove it there", path.display()));
    }
    made.map(|()| exit::DONE)
}

/// One file of all, which only its owner reads.
fn keep(logs: &[PathBuf], to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    logs.iter().try_for_each(|log| std::io::copy(&mut std::fs::File::open(log)?, &mut out).map(drop))
}

/// `--restore`: puts back what an earlier capture left.
pub fn restore(file: &Path, password: &PasswordSource) -> Result<u8, Failure> {
    let state = State::read(file).map_err(Failure::usage)?;
    let (server, sources) = Tapped::of(&state.url()?, password)?;
    sources.iter().for_each(|text| note(&format!("note: {text}")));
    let different = tap::put_back(&server, &state)?;
    let text = format!(
        "not as they were found: {}\n  next: set them by hand, and remove {}",
        different.join("; "),
        file.display()
    );
    if !different.is_empty() {
        Err(anyhow!(text))?
    }
    state.remove_log();
    std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    print(&format!("{}: all {} settings are as they were found\n", state.target, state.changes.len()))?;
    Ok(exit::DONE)
}

fn whole(rate: f64) -> String {
    grouped(&format!("{rate:.0}"))
}
