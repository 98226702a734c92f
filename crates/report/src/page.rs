//! The report to keep and to send: one page with the raw records inside, so that every number can be computed from it
//! again.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use analysis::SERIES_COLUMN;
use analysis::timeline::told;
use record::expect_format;
use record::format::{EmbeddedRecords, FORMAT_VERSION, Series};

use super::render::html::{self, RECORDS_BEGIN};
use super::sections::{document, seconds};
use super::{Evidence, Options, Report};

pub struct Html;

impl Report for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn description(&self) -> &'static str {
        "one self-contained page with charts, intervals, settings and the raw records"
    }

    fn example(&self) -> &'static str {
        "dbduel report last --format html --out report.html"
    }

    fn write(&self, evidence: &Evidence, _options: &Options) -> Result<String> {
        Ok(html::render(&document(evidence), &raw_records(evidence)?))
    }
}

/// Enough to judge the run again: the plan, what was learned while it went on, the trials, and what reports
/// look at of their seconds.
fn raw_records(evidence: &Evidence) -> Result<String> {
    let Evidence { plan, run, trials, series, note, .. } = evidence;
    let series = series.iter().filter_map(|(trial, series)| Some((*trial, of_reports(series)?)));
    let records = EmbeddedRecords {
        plan: plan.clone(),
        run: run.clone(),
        trials: trials.all(),
        profiles: evidence.profiles.clone(),
        series: series.collect(),
        observed: drawn_observed(evidence),
        windows: evidence.windows.clone(),
        note: note.clone(),
    };
    Ok(serde_json::to_string(&records)?.replace('<', "\\u003c"))
}

/// What observers saw of the trials that are drawn second by second.
fn drawn_observed(evidence: &Evidence) -> BTreeMap<u32, Series> {
    let drawn = evidence.conclusions.workloads.iter().filter_map(|workload| seconds::drawn(evidence, workload));
    let observed =
        drawn.flat_map(|drawn| drawn.trials).filter_map(|trial| evidence.observed.get_key_value(&trial.trial));
    observed.map(|(trial, observed)| (*trial, told(observed))).collect()
}

/// The time and the one column that reports look at.
fn of_reports(series: &Series) -> Option<Series> {
    let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
    let row = |row: &Vec<f64>| Some(vec![*row.first()?, *row.get(column)?]);
    let columns = vec![series.columns.first()?.clone(), SERIES_COLUMN.to_owned()];
    Some(Series { columns, rows: series.rows.iter().map(row).collect::<Option<_>>()? })
}

/// The raw records inside a page that this report has written.
pub fn records_of(page: &str) -> Result<EmbeddedRecords> {
    let inside = page.split_once(RECORDS_BEGIN).and_then(|(_, rest)| rest.split_once("</script>"));
    let (records, _) = inside.context("there are no raw records in this page: it is no report of dbduel")?;
    let damaged = "the raw records in this page are damaged";
    let records: serde_json::Value = serde_json::from_str(records).context(damaged)?;
    let version = records["run"]["format_version"].as_u64().context(damaged)?;
    expect_format(version, FORMAT_VERSION).context("cannot read the raw records in this page")?;
    serde_json::from_value(records).context(damaged)
}
