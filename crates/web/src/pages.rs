//! The pages that are not reports: templates that escape every value.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use minijinja::{Environment, context};

use record::{RunDir, RunState, RunSummary};
use report::Evidence;

/// Of text that a page shows as it is.
const PAGE_COLUMNS: usize = 100;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let all = [
        ("frame.html", include_str!("frame.html")),
        ("list.html", include_str!("list.html")),
        ("live.html", include_str!("live.html")),
        ("compare.html", include_str!("compare.html")),
        ("message.html", include_str!("message.html")),
    ];
    for (name, text) in all {
        templates.add_template(name, text).expect("our own templates can be parsed");
    }
    templates
});

fn rendered(name: &str, values: minijinja::Value) -> Result<String> {
    TEMPLATES.get_template(name).and_then(|template| template.render(values)).context("a page of ours cannot be filled")
}

/// The style sheet of reports, and what these pages have beyond it.
pub fn style() -> String {
    [report::page_style(), include_str!("style.css")].concat()
}

/// All runs whose name, labels, contenders or time have every word that is searched for.
pub fn list(runs: &[RunDir], search: &str, place: &str) -> Result<String> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let summaries = runs.iter().map(RunDir::summary);
    let rows: Vec<_> = summaries.filter(|one| fits(one, &words)).map(|one| row(&one)).collect();
    rendered("list.html", context! { rows, search, place, stored => runs.len() })
}

fn fits(summary: &RunSummary, words: &[String]) -> bool {
    let labels = summary.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let fields = [summary.run.clone(), summary.name.clone(), summary.started.replace('T', " ")].into_iter();
    let text =
        fields.chain(summary.contenders.iter().cloned()).chain(labels).collect::<Vec<_>>().join("\n").to_lowercase();
    words.iter().all(|word| text.contains(word))
}

fn row(one: &RunSummary) -> minijinja::Value {
    let labels: Vec<String> = one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let trials = format!("{} of {}", one.trials, one.planned);
    context! {
        run => one.run, name => one.name, started => one.started_text(), state => one.state_text(), trials,
        contenders => one.contenders.join(", "), labels => labels.join(", "),
        is_live => one.state == RunState::Running, can_report => one.can_report(),
    }
}

pub fn live(run: &RunDir) -> Result<String> {
    let plan = run.plan()?;
    let title = plan.question.unwrap_or_else(|| plan.name.clone());
    rendered("live.html", context! { run => run.name(), title })
}

pub fn compare(runs: [&RunDir; 2]) -> Result<String> {
    let names = runs.map(RunDir::name);
    let evidence = [Evidence::gather(runs[0])?, Evidence::gather(runs[1])?];
    let text = report::compare::of_runs([&names[0], &names[1]], [&evidence[0], &evidence[1]], PAGE_COLUMNS)?;
    rendered("compare.html", context! { first => names[0], second => names[1], text })
}

pub fn message(title: &str, text: &str) -> String {
    rendered("message.html", context! { title, text }).unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::*;
    use fixtures::{Story, stored_run};

    pub const HOSTILE: &str = "<img src=x onerror=alert(1)>";

    /// A run of the fixtures, with a hostile question and label.
    pub fn stored_in(runs: &Path) -> RunDir {
        let mut stored = stored_run(&Story::default());
        stored.plan.question = Some(format!("Is {HOSTILE} safe?"));
        stored.run.labels.insert("commit".to_owned(), HOSTILE.to_owned());
        let run = RunDir::create(runs, HOSTILE, "2031-05-04T10:15:00Z".parse().unwrap()).unwrap();
        run.write_plan(&stored.plan).unwrap();
        run.write_run(&stored.run).unwrap();
        stored.trials.iter().for_each(|trial| run.append(trial).unwrap());
        run
    }

    #[test]
    fn runs_are_found_by_name_label_contender_and_day() {
        let runs = tempfile::tempdir().unwrap();
        stored_in(runs.path());
        let all = RunDir::all(runs.path()).unwrap();
        let found = |search: &str| list(&all, search, "runs").unwrap().contains("/report?run=");
        for search in ["", "  ", "IMG", "commit=", "onerror 5.5", "2031-05-04", "mysql-5.5-vs"] {
            assert!(found(search), "{search}");
        }
        assert!(!found("2031-05-05") && !found("onerror nothing"));
    }
}
