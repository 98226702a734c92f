//! The answer of the gate, condition by condition, and the same in lines for `--gate`.

use std::collections::BTreeSet;

use analysis::gate::{Answer, Condition, Gate, OtherAnswers, SlowerDigest, Weaker};
use analysis::less_is_better;
use record::format::gate::QUANTILES;
use record::format::point_text;
use record::quantity::percent_text;

use super::{Topic, stopped};
use crate::Evidence;
use crate::document::{Block, Cell, Column, Row, RowKind, Section, Span, Table, Text, Tone};
use crate::wording::{bound, integer, joined};

pub struct Limits;

impl Topic for Limits {
    /// Of a run whose file has limits; without them the verdicts answer already.
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        evidence.plan.gate.as_ref()?;
        let gate = evidence.gate()?;
        let mut body = vec![Block::para(first_line(&gate))];
        body.extend(Block::list(stopped(sentences(&gate))));
        body.extend(Block::table(table(&gate)));
        body.push(Block::note(format!(
            "Each condition is judged at an error rate of {} for all its load levels. A level fails the gate where it is \
             proven beyond the limit; what is open at a level alone leaves it as overall.",
            percent_text(gate.level)
        )));
        Section::of("gate", "Gate", body)
    }
}

/// `Gate: passed (tps at most 3 % lower, p99 response time at most 10 % longer).`
pub fn first_line(gate: &Gate) -> String {
    let asked: BTreeSet<(bool, String)> = gate.conditions.iter().map(|one| (is_latency(one), asked(one))).collect();
    let asked = joined(asked.into_iter().map(|(_, text)| text).collect());
    format!("Gate: {} ({asked}).", gate.answer.as_str())
}

/// One line for the answer, and one for each candidate that stands in its way or promises less.
pub fn lines(gate: &Gate) -> Vec<String> {
    let shared = gate.conditions.iter().map(|one| (&one.workload, &one.metric)).collect::<BTreeSet<_>>().len() > 1;
    let level = shared.then(|| format!(" (each workload and limit at an error rate of {})", percent_text(gate.level)));
    let first = format!("gate: {}{}", gate.answer.as_str(), level.unwrap_or_default());
    std::iter::once(first).chain(sentences(gate).into_iter().map(|line| format!("  {line}"))).collect()
}

/// What fails or is not decided, and who promises less.
fn sentences(gate: &Gate) -> Vec<String> {
    let conditions = gate.conditions.iter().filter_map(sentence);
    let digests = gate.slower_digests.iter().map(digest).chain(gate.other_answers.iter().map(answers));
    conditions.chain(digests).chain(gate.weaker.iter().map(durability)).collect()
}

/// Why a condition has no interval.
pub const FEW: &str = "no interval: more blocks or longer trials are needed";

/// None of what passed, and of what the gate does not wait for.
pub fn sentence(one: &Condition) -> Option<String> {
    let Condition { workload, candidate, baseline, .. } = one;
    let place = one.point.as_ref().map_or(String::new(), |point| format!(" at {}", point_text(point)));
    let metric = metric(one);
    let interval = interval(one).map_or_else(|| format!(" ({FEW})"), |interval| format!(" (ratio {interval})"));
    let text = match (one.answer, limit(one)) {
        (Answer::Failed, None) => format!("`{candidate}` is slower than `{baseline}`{place}"),
        (Answer::Failed, Some((most, worse))) => {
            format!("{metric} of `{candidate}` is more than {most} {worse} than that of `{baseline}`{place}{interval}")
        }
        (Answer::NotDecided, None) if one.is_required => {
            format!("not decided between `{candidate}` and `{baseline}`{place}")
        }
        (Answer::NotDecided, Some((most, worse))) if one.is_required => format!(
            "not decided whether {metric} of `{candidate}` is at most {most} {worse} than that of `{baseline}`{place}{interval}"
        ),
        _ => return None,
    };
    Some(format!("{workload}: {text}"))
}

pub fn answers(one: &OtherAnswers) -> String {
    let OtherAnswers { workload, candidate, baseline, .. } = one;
    format!(
        "{workload}: `{candidate}` answers {} of {} statements otherwise than `{baseline}`",
        integer(one.differ),
        integer(one.compared)
    )
}

/// Letters of a statement that stand in a sentence.
const TEXT_LETTERS: usize = 60;

pub fn digest(one: &SlowerDigest) -> String {
    let SlowerDigest { workload, candidate, baseline, digest, text, .. } = one;
    let short: String = text.chars().take(TEXT_LETTERS).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    format!("{workload}: `{candidate}` is slower than `{baseline}` at statement {digest}: {short}{rest}")
}

fn durability(one: &Weaker) -> String {
    format!(
        "`{}` promises less than `{}` when it commits: durability {} instead of {} by its settings",
        one.candidate, one.baseline, one.candidate_class, one.baseline_class
    )
}

/// `tps at most 3 % lower`
pub fn asked(one: &Condition) -> String {
    match limit(one) {
        None => format!("{} not slower", metric(one)),
        Some((most, worse)) => format!("{} at most {most} {worse}", metric(one)),
    }
}

/// `3 %` and what is worse for this metric.
fn limit(one: &Condition) -> Option<(String, &'static str)> {
    let worse = if less_is_better(&one.metric) { "longer" } else { "lower" };
    Some((percent_text(one.max_slowdown?), worse))
}

fn is_latency(one: &Condition) -> bool {
    QUANTILES.iter().any(|(_, metric)| *metric == one.metric)
}

fn metric(one: &Condition) -> String {
    match QUANTILES.iter().find(|(_, metric)| *metric == one.metric) {
        Some((quantile, _)) => format!("p{quantile} response time"),
        None => one.metric.clone(),
    }
}

/// `0.936, 97.5 % CI 0.905–0.959`
pub fn interval(one: &Condition) -> Option<String> {
    let (low, high) = (one.low?, one.high?);
    Some(format!("{}, {} CI {}–{}", bound(one.ratio?, 3), percent_text(one.confidence), bound(low, 3), bound(high, 3)))
}

fn table(gate: &Gate) -> Table {
    let several = |of: fn(&Condition) -> &str| gate.conditions.iter().map(of).collect::<BTreeSet<_>>().len() > 1;
    let workloads = several(|one| &one.workload).then(|| Column::name("workload", 0));
    let candidates = several(|one| &one.candidate).then(|| Column::name("candidate", 0));
    let (with_workload, with_candidate) = (workloads.is_some(), candidates.is_some());
    let fixed = [
        Column::name("condition", 0),
        Column::name("level", 0),
        Column::number("ratio", 1),
        Column::number("CI", 1),
        Column::name("answer", 0),
    ];
    let columns: Vec<Column> = workloads.into_iter().chain(candidates).chain(fixed).collect();
    let row = |one: &Condition| {
        let level = one.point.as_ref().map_or_else(|| "overall".to_owned(), point_text);
        let bounds = one.low.zip(one.high).map(|(low, high)| format!("{}–{}", bound(low, 3), bound(high, 3)));
        let answer = Text(vec![Span::Judgement(tone(one.answer), one.answer.as_str().to_owned())]);
        let names = with_workload.then_some(&one.workload).into_iter().chain(with_candidate.then_some(&one.candidate));
        let figures = [one.ratio.map_or("-".to_owned(), |ratio| bound(ratio, 3)), bounds.unwrap_or("-".to_owned())];
        let texts = names.cloned().chain([asked(one), level]).chain(figures).map(Cell::from);
        let kind = if one.point.is_none() { RowKind::Overall } else { RowKind::Plain };
        Row { kind, cells: texts.chain([answer.into()]).collect() }
    };
    Table { rows: gate.conditions.iter().map(row).collect(), ..Table::new(columns) }
}

fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Passed => Tone::Faster,
        Answer::Failed => Tone::Slower,
        Answer::NotDecided => Tone::Open,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{CANDIDATE, Story, stored_run};
    use record::format::gate::{GateRecord, LatencyLimit};

    pub fn limited(ratio: f64, max_slowdown: f64) -> Evidence {
        let mut stored = stored_run(&Story { ratios: [ratio; 4], spread: 0.005, ..Story::default() });
        let latency = Some(LatencyLimit { quantile: 99.0, max_slowdown: 0.1 });
        stored.plan.gate = Some(GateRecord { max_slowdown: Some(max_slowdown), latency });
        evidence_of(stored)
    }

    #[test]
    fn a_candidate_that_promises_less_passes_with_a_line_about_it() {
        let mut stored = stored_run(&Story { ratios: [1.3; 4], ..Story::default() });
        stored.run.contenders.get_mut(CANDIDATE).unwrap().durability_class = "D2".into();
        let lines = lines(&evidence_of(stored).gate().unwrap()).join("\n");
        assert!(lines.starts_with("gate: passed\n") && lines.contains("durability D2 instead of D3"), "{lines}");
    }

    #[test]
    fn a_limit_is_told_with_its_figure_and_interval() {
        let lines = lines(&limited(0.9, 0.03).gate().unwrap());
        assert_eq!(lines[0], "gate: failed (each workload and limit at an error rate of 2.5 %)");
        let tps = &lines[1];
        assert!(tps.contains(&format!("tps of `{CANDIDATE}` is more than 3 % lower than that")), "{tps}");
        assert!(tps.contains("97.5 % CI 0.8"), "{tps}");
    }

    #[test]
    fn every_format_has_the_gate_of_a_run_with_limits_and_only_of_one() {
        let (with, without) = (limited(0.95, 0.2), evidence_of(stored_run(&Story::default())));
        for format in ["text", "html", "markdown"] {
            let write =
                |evidence: &Evidence| crate::find(format).unwrap().write(evidence, &crate::Options::default()).unwrap();
            let text = write(&with).replace('\u{a0}', " ");
            assert!(text.contains("tps at most 20 % lower"), "{format}: {text}");
            assert!(!write(&without).contains("at most 20 %"), "{format}");
        }
        let section = Limits.section(&with).unwrap();
        assert_eq!((section.id, section.body.len() > 2), ("gate", true));
        assert!(Limits.section(&without).is_none());
    }
}
