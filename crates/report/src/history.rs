//! `dbduel history show`: the ratios of stored runs over time, and the runs at which they took a new level.

use std::path::Path;

use anyhow::Result;

use analysis::history::{Apart, Change, Condition, Entry, History, Series as Timeline, StoredRun};

use super::Evidence;
use super::document::{
    Axis, Block, Chart, Column, Document, Dot, Key, Plane, Plot, RowKind, Scale, Section, Series, Style, Table, Text,
};
use super::page::packed;
use super::render::{html, markdown, text};
pub use super::wording::count;
use super::wording::{self, joined};
use record::RunDir;

/// Formats by name.
pub const FORMATS: [&str; 4] = ["text", "html", "markdown", "json"];

/// The stored runs of one experiment.
pub struct StoredHistory {
    /// None where no run of that name is stored.
    pub history: Option<History>,
    /// Runs that cannot be read, each with the reason.
    pub left_out: Vec<String>,
}

/// Reads the runs of one name under a folder.
pub fn of_runs(runs: &Path, name: &str) -> Result<StoredHistory> {
    let ours = RunDir::all(runs)?.into_iter().filter(|run| run.plan().is_ok_and(|plan| plan.name == name));
    let (mut gathered, mut left_out) = (Vec::new(), Vec::new());
    for run in ours {
        match Evidence::gather(&run) {
            Ok(evidence) => gathered.push((run.name(), evidence)),
            Err(error) => left_out.push(format!("{} is left out: {error:#}", run.name())),
        }
    }
    let stored = |(name, evidence)| {
        let Evidence { plan, run, conclusions, .. }: &Evidence = evidence;
        StoredRun { name, plan, run, conclusions }
    };
    let stored: Vec<StoredRun<'_>> = gathered.iter().map(|(name, evidence)| stored((name, evidence))).collect();
    Ok(StoredHistory { history: analysis::history::history(&stored, Default::default()), left_out })
}

/// A history in one of [`FORMATS`].
pub fn write(history: &History, format: &str, width: usize, color: bool) -> Result<String> {
    let json = || serde_json::to_string_pretty(history);
    Ok(match format {
        "json" => json()? + "\n",
        "html" => html::render(&document(history), &packed(&json()?)?),
        "markdown" => markdown::render(&document(history)),
        _ => text::full(&document(history), text::Layout::new(width, color)),
    })
}

/// `0.842x (0.831–0.853)`
pub fn figure(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let ratio = wording::ratio_text(ratio);
    match interval {
        Some((low, high)) => format!("{ratio}x ({})", wording::bounds(low, high)),
        None => format!("{ratio}x (no interval yet)"),
    }
}

fn document(history: &History) -> Document {
    let sections = history.series.iter().enumerate().filter_map(|(place, series)| {
        let title = format!("{} against {}, {}", series.candidate, series.baseline, series.workload);
        let changes = Block::table(changes_table(series));
        let body = [Block::on_page(vec![Block::chart(chart(series))]), changes, Block::table(runs_table(series))];
        Section::of(ANCHORS[place.min(ANCHORS.len() - 1)], &title, body.into_iter().flatten().collect())
    });
    let apart = Block::list(history.apart.iter().map(apart).collect());
    let apart = Section::of("apart", "Runs that are not in the series", apart.into_iter().collect());
    Document {
        name: history.name.clone(),
        question: history.question.as_ref().map(|question| format!("{question} (over time)")),
        note: None,
        first: Section {
            id: "first",
            title: String::new(),
            body: history.series.iter().map(|series| Block::para(sentence(series))).chain(notes(history)).collect(),
        },
        sections: sections.chain(apart).collect(),
        folder: String::new(),
    }
}

const ANCHORS: [&str; 8] =
    ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "further-series"];

/// What happened, in a sentence.
fn sentence(series: &Timeline) -> String {
    let of = format!("`{}` against `{}` under {}", series.candidate, series.baseline, series.workload);
    let runs = wording::count(series.runs.len(), "run");
    match series.changes.as_slice() {
        [] if series.runs.len() < 2 * stats::LEVEL_LEAST => {
            format!("{of}: {runs}, too few for a change to be found")
        }
        [] => format!("{of}: no change found in {runs}"),
        changes => {
            let each = changes.iter().map(|change| {
                let (before, after) = (wording::ratio_text(change.before), wording::ratio_text(change.after));
                format!("from {before}x to {after}x at {}", place(&series.runs[change.at]))
            });
            format!("{of}: {} in {runs}: {}", wording::count(changes.len(), "change"), joined(each.collect()))
        }
    }
}

/// `8.0.31 (commit=4f2a91c), 2031-05-04`
fn place(entry: &Entry) -> String {
    let labels: Vec<String> = entry.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
    format!("{}{labels}, {}", entry.version, day(&entry.started_at))
}

fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

fn notes(history: &History) -> Vec<Block> {
    let apart: usize = history.apart.iter().map(|apart| apart.runs.len()).sum();
    let apart = (apart > 0).then(|| {
        Block::note(format!("Left out, since more than the version differs: {}", wording::count(apart, "further run")))
    });
    let method = "Each ratio is of one run's own blocks, against its own baseline. Changes by E-divisive, p of 999 \
                  permutations, at most 0.01.";
    apart.into_iter().chain([Block::note(method)]).collect()
}

fn chart(series: &Timeline) -> Chart {
    let dots = series.runs.iter().enumerate().map(|(at, run)| Dot {
        x: (at + 1) as f64,
        y: run.ratio,
        low: run.low,
        high: run.high,
        title: format!("{}: {}", place(run), wording::ratio_text(run.ratio)),
    });
    // A change lies between the last run before it and the first behind it.
    let marks = series.changes.iter().map(|change| change.at as f64 + 0.5).collect();
    Chart {
        title: "Ratio, run by run".to_owned(),
        legend: vec![Key::series(&series.candidate, 1)],
        caption: Text::plain(
            "The oldest run first, each with its interval; vertical lines are changes. Above 1 the candidate is faster.",
        ),
        alt: sentence(series).replace('`', ""),
        table: None,
        plot: Plot::Plane(Plane {
            x: Axis { title: "run".to_owned(), scale: Scale::Span, ticks: Vec::new() },
            y: Axis { title: format!("times {}", series.baseline), scale: Scale::Ratio, ticks: Vec::new() },
            series: vec![Series {
                name: series.candidate.clone(),
                color: 1,
                style: Style::Curve,
                dots: dots.collect(),
                law: Vec::new(),
                marks,
                mark_title: "change".to_owned(),
            }],
            band: None,
            estimate: Some(1.0),
        }),
    }
}

fn changes_table(series: &Timeline) -> Table {
    let columns = ["change at run", "before", "after", "factor", "p"];
    let row = |change: &Change| {
        let figures = [change.before, change.after, change.after / change.before].map(wording::ratio_text);
        let first = format!("{} ({})", change.at + 1, place(&series.runs[change.at]));
        [vec![first], figures.to_vec(), vec![format!("{:.3}", change.p)]].concat()
    };
    Table::of_numbers(columns).with_rows(series.changes.iter().map(row))
}

fn runs_table(series: &Timeline) -> Table {
    let columns = [
        Column::number("no.", 1),
        Column::name("run", 0),
        Column::name("version", 1),
        Column::name("labels", 2),
        Column::number("ratio", 0),
        Column::number("95 % CI", 1),
        Column::number("blocks", 3),
        Column::name("verdict", 1),
    ];
    let mut table = Table::new(columns);
    for (at, run) in series.runs.iter().enumerate() {
        let bounds = run.low.zip(run.high).map_or("none".to_owned(), |(low, high)| wording::bounds(low, high));
        let labels: Vec<String> = run.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let cells = [
            (at + 1).to_string(),
            run.run.clone(),
            run.version.clone(),
            labels.join(", "),
            wording::ratio_text(run.ratio),
            bounds,
            run.blocks.to_string(),
            run.verdict.as_str().to_owned(),
        ];
        let is_first = series.changes.iter().any(|change| change.at == at);
        table.push(if is_first { RowKind::First } else { RowKind::Plain }, cells);
    }
    table.without_empty_columns()
}

/// `3 runs: CPU is "A" there, "B" in the last run; …`
fn apart(apart: &Apart) -> String {
    const SHOWN_MAX: usize = 3;
    let value = |value: &Option<String>| match value.as_deref() {
        None | Some("") => "not set".to_owned(),
        Some(value) => value.to_owned(),
    };
    let one =
        |one: &Condition| format!("{} was {}, and is {} in the last run", one.what, value(&one.here), value(&one.last));
    let mut because: Vec<String> = apart.because.iter().take(SHOWN_MAX).map(one).collect();
    let left = apart.because.len().saturating_sub(SHOWN_MAX);
    because.extend((left > 0).then(|| wording::count(left, "further difference")));
    format!("{}: {}", joined(apart.runs.clone()), because.join("; "))
}
