//! How it was measured: method, generator, warm-up.

use super::{Topic, stopped};
use crate::document::{Block, Section};
use crate::{Evidence, conditions, wording};

/// `Labels: branch = main, commit = 4f2a91c`
fn labels(evidence: &Evidence) -> Option<String> {
    let labels: Vec<String> = evidence.run.labels.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!labels.is_empty()).then(|| format!("Labels: {}", labels.join(", ")))
}

pub struct Method;

impl Topic for Method {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let (run, conclusions) = (&evidence.run, &evidence.conclusions);
        let options = evidence.plan.workloads.iter().map(|record| {
            let options = record.options.iter().map(|(key, value)| format!("{key} = {value}"));
            let all: Vec<String> = record.open_loop_text().into_iter().chain(options).collect();
            format!("{}: {}", record.label, all.join(", "))
        });
        let mut lines = vec![
            format!("Run: {}", wording::extent(conclusions, run.ended_by.as_deref())),
            format!("Method: {}", wording::method(&evidence.plan)),
        ];
        lines.extend(wording::first_verdicts(evidence).into_iter().map(|line| format!("Verdicts: {line}")));
        lines.push(format!("Load generator: {}", conditions::generator(run, &conclusions.tally)));
        let checks = conditions::doublings(evidence).into_iter();
        lines.extend(checks.map(|line| format!("Generator headroom check: {line}")));
        lines.extend(conditions::warm_up(evidence).into_iter().map(|line| format!("Warm-up: {line}")));
        let finished = run.finished_at.as_deref().unwrap_or("not finished");
        lines.push(format!("From {} to {finished}, dbduel {}", run.started_at, run.dbduel_version));
        lines.push(format!("Plan hash: {}", evidence.plan.plan_hash));
        lines.extend(labels(evidence));
        let mut body: Vec<Block> = Block::list(stopped(lines)).into_iter().collect();
        body.extend(Block::list(options.collect()).map(|list| Block::fold("Options of the workload", vec![list])));
        Section::of("method", "How it was measured", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}
