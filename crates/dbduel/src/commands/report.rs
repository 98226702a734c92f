//! `dbduel report`: prints the report of a stored run, by default of the last one.

use anyhow::{Context, Result, anyhow};

use super::lists::formats;
use super::{Failure, compare, print, print_bytes, print_report, stored};
use crate::cli::{ReportArgs, Rows, exit, format_of};
use record::shell::shell_word;
use report::Evidence;
use terminal::wants_color;

pub fn report_stored(args: &ReportArgs) -> Result<u8, Failure> {
    let format = format_of(&args.format, args.json);
    if args.schema {
        print(&report::json::schema()?)?;
        return Ok(exit::DONE);
    }
    let run = args.run.as_deref().unwrap_or("last");
    if format == columnar::NAME {
        return export(args, run);
    }
    expect_format(format)?;
    if args.table.is_some() {
        return Err(Failure::usage(anyhow!(
            "--table chooses the rows of --format parquet, not of `{}`\n  next: leave --table out, or give --format parquet",
            format
        )));
    }
    let (table, of_table) = (compare::layout(&args.layout), format == report::sqlbench::STORED.name());
    if !of_table && (!args.beside.is_empty() || table != Default::default()) {
        return Err(Failure::usage(anyhow!(
            "--beside, --relative, --verbose, --skip-count and --no-bars shape the table of --format sqlbench, not `{}`\n  \
             next: leave them out, or give --format sqlbench",
            format
        )));
    }
    let run = stored::open(&args.store, &args.runs, run)?;
    let color = args.out.is_none() && wants_color();
    let beside = args.beside.iter().map(|path| report::sqlbench::read_log(path)).collect::<Result<_>>()?;
    let printed = first_screen();
    let brief = args.out.is_none() && !args.full;
    let width = printed.width.filter(|_| args.out.is_none());
    let mut evidence = Evidence::gather(&run)?;
    if run.is_copy() {
        // Its folder is gone when the report is read.
        evidence.folder.clear();
    }
    if let Some(baseline) = &args.baseline {
        evidence = evidence.against(baseline).map_err(|error| Failure::usage(anyhow!("--baseline: {error}")))?;
    }
    let options = report::Options { color, brief, width, table, beside };
    let text = report::write_evidence(&evidence, format, &options)?;
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => print_report(&text)?,
    }
    Ok(exit::DONE)
}

fn expect_format(format: &str) -> Result<(), Failure> {
    if report::find(format).is_ok() {
        return Ok(());
    }
    let names: Vec<&str> = formats().map(|(name, ..)| name).collect();
    Err(Failure::usage(anyhow!(
        "there is no report format `{format}`: use one of {}\n  next: `dbduel list reports` describes them",
        names.join(", ")
    )))
}

/// `--format parquet`: bytes, which no terminal is sent.
fn export(args: &ReportArgs, run: &str) -> Result<u8, Failure> {
    let rows = match args.table {
        Some(Rows::Seconds) => columnar::Rows::Seconds,
        Some(Rows::Trials) | None => columnar::Rows::Trials,
    };
    if args.baseline.is_some() {
        return Err(Failure::usage(anyhow!(
            "--baseline chooses what is compared, and a Parquet file has no comparisons"
        )));
    }
    if args.out.is_none() && terminal::is_interactive() {
        return Err(Failure::usage(anyhow!(
            "a Parquet file is not text, so it is not printed on a terminal\n  next: dbduel report {} --format parquet --out trials.parquet",
            shell_word(run)
        )));
    }
    let bytes = columnar::write(&*stored::open(&args.store, &args.runs, run)?, rows)?;
    match &args.out {
        Some(path) => std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?,
        None => print_bytes(&bytes)?,
    }
    Ok(exit::DONE)
}

/// What a terminal gets of a text report.
pub fn first_screen() -> report::Options {
    report::Options { brief: true, width: Some(terminal::width()), ..report::Options::default() }
}
