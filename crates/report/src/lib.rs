//! Reports of stored runs, in several formats.
//!
//! Reports read stored records and what the analysis made of them; they compute no statistic and see no live state, so
//! every old run can be reported again. A number reaches a reader only with its unit, its sample size or its interval.
//! Text, page and Markdown come from one document (`document.rs`): topics in `sections/` build it, renderers in
//! `render/` write it.

pub mod compare;
mod conditions;
mod csv;
pub mod dbt2;
mod document;
pub mod hardware;
pub mod history;
pub mod json;
mod junit;
pub mod kinds;
mod page;
pub mod pgbench;
mod probes;
mod render;
mod sections;
pub mod sentences;
pub mod sqlbench;
pub mod sysbench;
mod text;
pub mod tpcc;
mod verdict;
mod wording;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
pub use page::unpacked;
pub use record::metric::unit;
pub use render::text::wrapped;
pub use sections::gate;
pub use sections::profile::flame_graphs;
use sections::{scaling, settings_and_plans};
pub use terminal::visible;

use analysis::aa::records;
use analysis::gate::Gate;
use analysis::{Conclusions, conclude_with_seconds};
use record::format::{AaRecord, DiagnosticRecord, EmbeddedRecords, PlanRecord, Purpose, RunRecord, Series, Status};
use record::{RunDir, StoredTrials};

/// One format of a report. Lives beside the list that holds all of them.
pub struct Report {
    name: &'static str,
    description: &'static str,
    example: &'static str,
    write: fn(&Evidence, &Options) -> Result<String>,
    /// Whether it writes colours where they are asked for. It then shows control characters itself.
    has_colors: bool,
}

impl Report {
    const fn new(
        name: &'static str,
        description: &'static str,
        example: &'static str,
        write: fn(&Evidence, &Options) -> Result<String>,
    ) -> Report {
        Report { name, description, example, write, has_colors: false }
    }

    /// What stands behind `--format`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn description(&self) -> &'static str {
        self.description
    }

    /// A command line that makes one.
    pub fn example(&self) -> &'static str {
        self.example
    }

    pub fn write(&self, evidence: &Evidence, options: &Options) -> Result<String> {
        (self.write)(evidence, options)
    }
}

/// Every report there is; `text` is what a terminal gets.
pub const REPORTS: &[Report] = &[
    text::TEXT,
    page::HTML,
    text::MARKDOWN,
    json::JSON,
    csv::CSV,
    junit::JUNIT,
    sysbench::stored::MODERN,
    sysbench::stored::CLASSIC,
    dbt2::DBT2,
    dbt2::DBT2_COMPAT,
    sqlbench::STORED,
];

/// How a report should look, where that is the reader's choice.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The text report may use terminal colours.
    pub color: bool,
    /// Of the text report: the first screen alone.
    pub brief: bool,
    /// Of the text report: columns of the terminal; a file has 100.
    pub width: Option<usize>,
    /// How the comparison table of sql-bench should look.
    pub table: sqlbench::Layout,
    /// Columns that stand beside the run's own in that table.
    pub beside: Vec<sqlbench::Column>,
}

/// All that a report may look at.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Where the run lies, for the reader; empty where it lies in no folder.
    pub folder: String,
    pub plan: PlanRecord,
    pub run: RunRecord,
    pub trials: StoredTrials,
    /// By number of trial; empty where none were kept.
    pub series: BTreeMap<u32, Series>,
    /// What observers saw in each second, likewise.
    pub observed: BTreeMap<u32, Series>,
    /// Response times window by window, as HdrHistogram's interval logs, likewise.
    pub windows: BTreeMap<u32, String>,
    /// What the profiles left in their trials' folders.
    pub profiles: Vec<DiagnosticRecord>,
    /// What was odd about the records themselves.
    pub note: Option<String>,
    pub conclusions: Conclusions,
}

impl Evidence {
    /// What an A/A test has shown, by workload and point; nothing for any other run.
    pub fn aa_records(&self) -> Vec<AaRecord> {
        records(&self.plan, &self.run, self.trials.measured(), &self.series, &self.conclusions)
    }

    /// What `--gate` answers; none of what has no verdicts (the race of a search), asks for none (an A/A test) or is
    /// compared with another baseline than its limits are about.
    pub fn gate(&self) -> Option<Gate> {
        let has_gate = !sections::is_race(self) && !self.plan.twins && self.plan.baseline_of_run.is_none();
        has_gate.then(|| analysis::gate::gate(&self.plan, &self.run, &self.trials.all()))
    }

    /// Reads a stored run and judges it.
    pub fn gather(run: &RunDir) -> Result<Evidence> {
        let (plan, record, trials) = (run.plan()?, run.run_record()?, run.trials()?);
        let (mut series, mut observed, mut windows) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for trial in trials.measured() {
            series.extend(run.series(trial.trial)?.map(|seconds| (trial.trial, seconds)));
            observed.extend(run.observed(trial.trial)?.map(|seconds| (trial.trial, seconds)));
            windows.extend(run.windows(trial.trial)?.map(|log| (trial.trial, log)));
        }
        Ok(Evidence {
            folder: run.path().display().to_string(),
            conclusions: conclude_with_seconds(&plan, &record, &trials.all(), &series),
            plan,
            run: record,
            series,
            observed,
            windows,
            profiles: profiles(run, &trials)?,
            note: trials.note.clone(),
            trials,
        })
    }

    /// The same run, compared with another of its contenders than its own baseline.
    pub fn against(self, baseline: &str) -> Result<Evidence> {
        if sections::is_race(&self) {
            bail!("the trials of a search compare nothing: its duel is a run of its own");
        }
        let plan = self.plan.against(baseline)?;
        let conclusions = conclude_with_seconds(&plan, &self.run, &self.trials.all(), &self.series);
        Ok(Evidence { plan, conclusions, ..self })
    }

    /// Judges what a page carries with it.
    pub fn of_page(page: &str) -> Result<Evidence> {
        let EmbeddedRecords { plan, run, trials, series, observed, windows, profiles, note, baseline } =
            page::records_of(page)?;
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

/// Of the profiles that succeeded; why another one failed stands in its record.
fn profiles(run: &RunDir, trials: &StoredTrials) -> Result<Vec<DiagnosticRecord>> {
    let profiles = trials.of(|purpose| *purpose == Purpose::Profile);
    profiles.filter(|trial| trial.status == Status::Ok).map(|trial| run.profile(trial)).collect()
}

/// Tells a stored run in the form asked for.
pub fn write(run: &RunDir, format: &str, options: &Options) -> Result<String> {
    write_evidence(&Evidence::gather(run)?, format, options)
}

/// The same of a run that was read already.
pub fn write_evidence(evidence: &Evidence, format: &str, options: &Options) -> Result<String> {
    rendered(find(format)?, evidence, options)
}

/// The only control characters in it are line breaks, tabs and, where they are asked for, colours.
fn rendered(report: &Report, evidence: &Evidence, options: &Options) -> Result<String> {
    let text = report.write(evidence, options)?;
    Ok(if options.color && report.has_colors { text } else { visible(&text).into_owned() })
}

/// The style sheet of pages.
pub fn page_style() -> &'static str {
    render::html::STYLE
}

/// What stands inside the one script element of a page that a browser runs: a policy can allow it by its hash.
pub fn inline_script() -> String {
    format!("\n{}", render::html::SCRIPT)
}

/// The report of that name; the error lists those there are.
pub fn find(format: &str) -> Result<&'static Report> {
    let found = REPORTS.iter().find(|report| report.name() == format);
    found.ok_or_else(|| {
        let names: Vec<&str> = REPORTS.iter().map(|report| report.name()).collect();
        anyhow!("there is no report format `{format}`: use one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod golden;
