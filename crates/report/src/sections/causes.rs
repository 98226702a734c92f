//! What weakens the verdicts, why they came out so, and what became of gaps whose supposed cause was taken away.

use analysis::cause_test::tests;
use analysis::plan_causes::PlanCause;
use analysis::{Cause, Finding, Grade, HeadToHead, WorkloadConclusions};
use record::format::{ContrastRecord, PlanRecord, point_text};

use super::first::{CAVEATS, how_sure, ranked_caveats};
use super::{Topic, capitalised, plans};
use crate::Evidence;
use crate::document::{Block, Section, Text};
use crate::sentences;
use crate::sentences::probes::{setting, stopped};
use crate::wording::number;

const NONE_DUE: &str = "Requested, and none was due: no likely cause of this run is I/O or locks, and no statement that is \
     faster or slower has another plan.";

pub struct Causes;

impl Topic for Causes {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let workloads = &evidence.conclusions.workloads;
        let of_rung = |duel: &HeadToHead| workloads.iter().any(|workload| workload.is_rung(&duel.candidate));
        let duels = || workloads.iter().flat_map(|workload| &workload.duels);
        let causes = |is_rung: bool| {
            duels().filter(move |duel| of_rung(duel) == is_rung).flat_map(|duel| causes_of(evidence, duel))
        };
        let mut body: Vec<Block> = causes(false).collect();
        body.extend(workloads.iter().flat_map(|workload| of_plans(evidence, workload)));
        body.extend(Block::on_page(causes(true).collect()));
        body.extend(Block::list(lines(evidence)).map(|list| Block::fold("Cause tests", vec![list])));
        let findings: Vec<Block> = evidence.conclusions.findings.iter().map(|one| weakness(evidence, one)).collect();
        if !findings.is_empty() {
            body.push(Block::heading("What weakens this run"));
            // The first screen has the most important ones, and findings stand below.
            let is_found = |caveat: &str| evidence.conclusions.findings.iter().any(|one| one.kind.as_str() == caveat);
            let rest = ranked_caveats(evidence).into_iter().skip(CAVEATS).filter(|(kind, _)| !is_found(kind));
            body.extend(Block::list(rest.map(|(_, sentence)| sentence).collect()));
            body.extend(findings);
        }
        Section::of("causes", "Causes and caveats", body)
    }
}

fn causes_of(evidence: &Evidence, duel: &HeadToHead) -> impl Iterator<Item = Block> {
    let of = match evidence.plan.contenders.len() > 2 {
        true => format!(", `{}` against `{}`", duel.candidate, duel.baseline),
        false => String::new(),
    };
    duel.diagnosis.causes.iter().map(move |cause| finding(evidence, cause, &of))
}

/// Plans that may explain a verdict. Of the rungs of a ladder, for the page.
fn of_plans(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let block = |alike: Vec<&PlanCause>| Block::Finding {
        title: how_sure(alike[0].grade).to_owned(),
        text: Text::from(sentences::plans::cause(alike[0]) + &sentences::plans::likewise(&alike[1..]) + "."),
        evidence: sentences::plans::evidence(alike[0]),
    };
    let of_duel = |duel: &HeadToHead| {
        let causes = plans::causes_of(evidence, workload, duel);
        let found: Vec<Block> = grouped(&causes).into_iter().map(block).collect();
        if workload.is_rung(&duel.candidate) { Block::on_page(found).into_iter().collect() } else { found }
    };
    workload.duels.iter().flat_map(of_duel).collect()
}

/// Those of the same change together, where all else is the same too.
fn grouped<'a>(causes: &'a [PlanCause]) -> Vec<Vec<&'a PlanCause<'a>>> {
    let mut groups: Vec<Vec<&PlanCause>> = Vec::new();
    for cause in causes {
        let alike = |group: &&mut Vec<&PlanCause>| {
            let first = group[0];
            let changed = |one: &PlanCause| sentences::plans::change(&one.change);
            (first.grade, first.verdict, &first.test) == (cause.grade, cause.verdict, &cause.test)
                && changed(first) == changed(cause)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(cause),
            None => groups.push(vec![cause]),
        }
    }
    groups
}

/// A cause with what was seen of it, or why none could be established.
fn finding(evidence: &Evidence, cause: &Cause, of: &str) -> Block {
    let said = sentences::causes::said(evidence, cause);
    let title = match !cause.kind.is_of_the_run() {
        true => format!("{}{}", how_sure(cause.grade), of.replace('`', "")),
        false => format!("No cause could be established{}", of.replace('`', "")),
    };
    // The title has it already.
    let text = said.text.replace(", so no cause is claimed", "");
    Block::Finding { title, text: Text::from(text), evidence: said.evidence }
}

fn weakness(evidence: &Evidence, finding: &Finding) -> Block {
    let said = sentences::findings::said(evidence, finding);
    let kind = capitalised(said.kind);
    let title = match finding.grade {
        Grade::Confirmed => kind,
        Grade::Supported => format!("{kind} (likely)"),
        Grade::Weak => format!("{kind} (possible)"),
    };
    Block::Finding { title, text: Text::from(said.text.as_str()), evidence: said.evidence }
}

/// A line for each contrast; one that says so where none was due.
fn lines(evidence: &Evidence) -> Vec<String> {
    let Evidence { plan, run, trials, .. } = evidence;
    let tests = tests(plan, run, trials.probes());
    let is_over = run.ended_by.as_deref().is_some_and(|why| why != "interrupted");
    if plan.method.contrast && tests.is_empty() && is_over {
        return vec![NONE_DUE.to_owned()];
    }
    tests.iter().map(|one| line(plan, one)).collect()
}

fn line(plan: &PlanRecord, one: &ContrastRecord) -> String {
    let place = format!("{}, {}, tested with {}", point_text(&one.point), one.workload, setting(one.contrast));
    let values = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ");
    let both = format!(
        "`{}` {} and `{}` {}",
        plan.baseline,
        values(&one.baseline_values),
        one.candidate,
        values(&one.candidate_values)
    );
    match &stopped(one) {
        Some(why) if one.candidate_values.is_empty() => format!("{place}, `{}`: not run: {why}", one.candidate),
        Some(why) => format!("{place}: {both}; given up: {why}"),
        None => format!("{place}: {both}"),
    }
}
