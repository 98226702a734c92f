//! The list of formats, and how a run is written in one of them.

use anyhow::{Result, anyhow};
use record::RunDir;
use terminal::visible;

use super::{Evidence, Options, Report, csv, dbt2, json, junit, page, relative, sqlbench, sysbench, text};

/// Every report there is; `text` is what a terminal gets.
pub const REPORTS: &[Report] = &[
    text::TEXT,
    page::HTML,
    text::MARKDOWN,
    json::JSON,
    csv::CSV,
    relative::CSV,
    relative::MARKDOWN,
    junit::JUNIT,
    sysbench::stored::MODERN,
    sysbench::stored::CLASSIC,
    dbt2::DBT2,
    dbt2::DBT2_COMPAT,
    sqlbench::STORED,
];

/// Tells a stored run in the form asked for.
pub fn write(run: &RunDir, format: &str, options: &Options) -> Result<String> {
    write_evidence(&Evidence::gather(run)?, format, options)
}

/// The same of a run that was read already.
pub fn write_evidence(evidence: &Evidence, format: &str, options: &Options) -> Result<String> {
    rendered(find(format)?, evidence, options)
}

/// The only control characters in it are line breaks, tabs and, where they are asked for, colours.
pub fn rendered(report: &Report, evidence: &Evidence, options: &Options) -> Result<String> {
    let text = report.write(evidence, options)?;
    Ok(if options.color && report.has_colors { text } else { visible(&text).into_owned() })
}

/// The report of that name; the error lists those there are.
pub fn find(format: &str) -> Result<&'static Report> {
    let found = REPORTS.iter().find(|report| report.name() == format);
    found.ok_or_else(|| {
        let names: Vec<&str> = REPORTS.iter().map(|report| report.name()).collect();
        anyhow!("there is no report format `{format}`: use one of {}", names.join(", "))
    })
}
