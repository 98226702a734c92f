//! What became of gaps whose supposed cause was taken away; lines for every report.

use analysis::contrast::tests;
use record::format::{ContrastRecord, PlanRecord, point_text};

use super::Evidence;
use super::sentences::causes::setting;
use super::sentences::probes::stopped;
use super::wording::number;

/// A line for each contrast; one that says so where none was due.
pub fn lines(evidence: &Evidence) -> Vec<String> {
    let Evidence { plan, run, trials, .. } = evidence;
    let tests = tests(plan, run, trials.probes());
    let is_over = run.ended_by.as_deref().is_some_and(|why| why != "interrupted");
    if plan.method.contrast && tests.is_empty() && is_over {
        return vec!["asked for, and none was due: no finding says I/O or locks".to_owned()];
    }
    tests.iter().map(|one| line(plan, one)).collect()
}

fn line(plan: &PlanRecord, one: &ContrastRecord) -> String {
    let place = format!("{}, {}, tried with {}", point_text(&one.point), one.workload, setting(one.contrast));
    let values = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ");
    let both = format!(
        "`{}` {} and `{}` {}",
        plan.baseline,
        values(&one.baseline_values),
        one.candidate,
        values(&one.candidate_values)
    );
    match &stopped(one) {
        Some(why) if one.candidate_values.is_empty() => format!("{place}: `{}`: not run: {why}", one.candidate),
        Some(why) => format!("{place}: {both}; given up: {why}"),
        None => format!("{place}: {both}"),
    }
}
