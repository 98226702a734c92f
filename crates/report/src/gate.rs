//! The answer of `--gate` in sentences.

use analysis::gate::{Answer, Gate, Judged};
use record::format::{PlanRecord, point_text};

use super::wording::{joined, percent};

/// One line for the answer, and one for each candidate that stands in its way or promises less.
pub fn lines(gate: &Gate) -> Vec<String> {
    let answer = match gate.answer {
        Answer::Passed => "gate: passed",
        Answer::Slower => "gate: failed, a candidate is slower",
        Answer::Undecided => "gate: not decided",
    };
    let several = gate.judged.iter().any(|one| one.workload != gate.judged[0].workload);
    let level = several.then(|| format!(" (each workload at an error rate of {})", percent(gate.level)));
    let first = format!("{answer}{}", level.unwrap_or_default());
    let each = gate.judged.iter().flat_map(|one| [verdict(one), durability(one)]).flatten();
    std::iter::once(first).chain(each.map(|line| format!("  {line}"))).collect()
}

fn verdict(one: &Judged) -> Option<String> {
    let Judged { workload, candidate, baseline, losing, .. } = one;
    let place = match losing.as_slice() {
        [] => String::new(),
        points => format!(" at {}", joined(points.iter().map(point_text).collect())),
    };
    match one.answer {
        Answer::Passed => None,
        Answer::Slower => Some(format!("{workload}: `{candidate}` is slower than `{baseline}`{place}")),
        Answer::Undecided => Some(format!("{workload}: not decided between `{candidate}` and `{baseline}`")),
    }
}

fn durability(one: &Judged) -> Option<String> {
    let (baseline, candidate) = one.weaker.as_ref()?;
    Some(format!(
        "{}: `{}` promises less than `{}` when it commits: durability {candidate} instead of {baseline}",
        one.workload, one.candidate, one.baseline
    ))
}

/// How verdicts of several workloads share the error, and how they do not.
pub fn about(plan: &PlanRecord) -> Option<String> {
    let workloads = plan.workloads.len();
    (workloads > 1).then(|| {
        format!(
            "each of the {workloads} workloads has an error rate of {} of its own; `--gate` uses {} for each",
            percent(1.0 - plan.method.confidence),
            percent(analysis::gate::level(plan))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::conclude;
    use analysis::gate::gate;
    use fixtures::{CANDIDATE, Story, tell};

    #[test]
    fn a_candidate_that_promises_less_passes_with_a_line_about_it() {
        let mut stored = tell(&Story { ratios: [1.3; 4], ..Story::default() });
        stored.run.contenders.get_mut(CANDIDATE).unwrap().durability_class = "D2".into();
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let lines = lines(&gate(&stored.plan, &stored.run, &stored.trials, &conclusions)).join("\n");
        assert!(lines.starts_with("gate: passed\n") && lines.contains("durability D2 instead of D3"), "{lines}");
    }
}
