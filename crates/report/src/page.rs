//! The report to keep and to send: one page with the raw records inside, so that every number can be computed from it
//! again. They are JSON in one gzip stream, which browsers decompress themselves.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use analysis::timeline::told;
use analysis::{SERIES_COLUMN, conclude_with_seconds};
use record::format::{EmbeddedRecords, FORMAT_VERSION, Series};
use record::{StoredTrials, expect_format, plain_file};

use super::render::html::{self, RECORDS_BEGIN, RECORDS_END};
use super::sections::{document, seconds};
use super::{Evidence, Options, Report};

pub const HTML: Report = Report::new(
    "html",
    "one self-contained page with charts, intervals, settings and the raw records",
    "dbduel report last --format html --out report.html",
    write,
);

fn write(evidence: &Evidence, _: &Options) -> Result<String> {
    Ok(html::render(&document(evidence), &raw_records(evidence)?))
}

/// Enough to judge the run again: the plan, what was learned while it went on, the trials, and what reports
/// draw of their seconds. Latency windows are half of a run's bytes, so a page has those that it draws.
fn raw_records(evidence: &Evidence) -> Result<String> {
    let Evidence { plan, run, trials, series, note, .. } = evidence;
    let series = series.iter().filter_map(|(trial, series)| Some((*trial, of_reports(series)?)));
    let records = EmbeddedRecords {
        plan: plan.of_run(),
        run: run.clone(),
        trials: trials.all(),
        profiles: evidence.profiles.clone(),
        series: series.collect(),
        observed: drawn(evidence, &evidence.observed, told),
        windows: drawn(evidence, &evidence.windows, String::clone),
        note: note.clone(),
        baseline: plan.baseline_of_run.is_some().then(|| plan.baseline.clone()),
    };
    packed(&serde_json::to_string(&records)?)
}

/// What there is of the trials that are drawn second by second.
fn drawn<T>(evidence: &Evidence, kept: &BTreeMap<u32, T>, part: impl Fn(&T) -> T) -> BTreeMap<u32, T> {
    let drawn = evidence.conclusions.workloads.iter().filter_map(|workload| seconds::drawn(evidence, workload));
    let kept = drawn.flat_map(|drawn| drawn.trials).filter_map(|trial| kept.get_key_value(&trial.trial));
    kept.map(|(trial, kept)| (*trial, part(kept))).collect()
}

/// The time and the one column that reports look at.
fn of_reports(series: &Series) -> Option<Series> {
    let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
    let row = |row: &Vec<f64>| Some(vec![*row.first()?, *row.get(column)?]);
    let columns = vec![series.columns.first()?.clone(), SERIES_COLUMN.to_owned()];
    Some(Series { columns, rows: series.rows.iter().map(row).collect::<Option<_>>()? })
}

/// As text that a page can hold.
pub fn packed(records: &str) -> Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(records.as_bytes())?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// What stands before the stream of raw records in a page, their JSON, and the rest.
fn parts(page: &str) -> Result<(&str, String, &str)> {
    let parts = page.split_once(RECORDS_BEGIN);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(RECORDS_END)?)));
    let (before, (stream, after)) =
        parts.context("there are no raw records in this page: it is no report of dbduel")?;
    let mut records = String::new();
    let bytes = STANDARD.decode(stream).context(DAMAGED)?;
    // A page from elsewhere may expand to any size.
    GzDecoder::new(&bytes[..]).take(plain_file::STORED_BYTES_MAX).read_to_string(&mut records).context(DAMAGED)?;
    Ok((before, records, after))
}

/// The page with its raw records as JSON in place of their stream. Two pages of the same run are equal in this form,
/// even where another build compressed the same records into other bytes.
pub fn unpacked(page: &str) -> Result<String> {
    let (before, records, after) = parts(page)?;
    Ok([before, RECORDS_BEGIN, &records, RECORDS_END, after].concat())
}

const DAMAGED: &str = "the raw records in this page are damaged";

/// The raw records inside a page that this report has written.
pub fn records_of(page: &str) -> Result<EmbeddedRecords> {
    let (_, records, _) = parts(page)?;
    let records: serde_json::Value = serde_json::from_str(&records).context(DAMAGED)?;
    let version = records["run"]["format_version"].as_u64().context(DAMAGED)?;
    expect_format(version, FORMAT_VERSION).context("cannot read the raw records in this page")?;
    serde_json::from_value(records).context(DAMAGED)
}

impl Evidence {
    /// Judges what a page carries with it.
    pub fn of_page(page: &str) -> Result<Evidence> {
        let EmbeddedRecords { plan, run, trials, series, observed, windows, profiles, note, baseline } =
            records_of(page)?;
        let conclusions = conclude_with_seconds(&plan, &run, &trials, &series);
        // A page does not say where its run lies.
        let trials = StoredTrials::new(trials, None);
        let folder = String::new();
        let evidence = Evidence { folder, plan, run, trials, series, observed, windows, profiles, note, conclusions };
        match baseline {
            Some(baseline) => evidence.against(&baseline),
            None => Ok(evidence),
        }
    }
}

/// The style sheet of pages.
pub fn page_style() -> &'static str {
    html::STYLE
}

/// What stands inside the one script element of a page that a browser runs: a policy can allow it by its hash.
pub fn inline_script() -> String {
    format!("\n{}", html::SCRIPT)
}
