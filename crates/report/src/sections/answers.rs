//! Whether candidates answered the statements of a replayed log as the baseline did.

use record::format::answers::{AnswersRecord, Beside, DifferingAnswer, DigestAnswers, FidelityRecord, Way};
use record::format::{DecisionKind, PlanRecord, Purpose};

use super::Topic;
use crate::Evidence;
use crate::document::{Block, Column, RowKind, Section, Table};
use crate::wording::{count, integer, joined, shortened};

/// Letters of a statement in a table.
const TEXT_MAX: usize = 90;

const ABOUT: &str = "Before the first block each contender answered the whole log once, one transaction after the \
    other, on its own copy of the data, and the baseline twice. Answers are compared by their rows: values whatever \
    their order where the statement has no ORDER BY, exact numbers without zeros at their end, inexact ones by 15 \
    digits, errors by their codes.";

pub struct Answers;

impl Topic for Answers {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let mut body: Vec<Block> =
            evidence.run.answers.iter().flat_map(|one| of_candidate(&evidence.plan, one)).collect();
        body.extend(hashing(evidence).map(Block::note));
        body.extend(missing(evidence).into_iter().map(Block::para));
        let fidelity = evidence.run.fidelity.iter();
        body.extend(fidelity.filter_map(|one| recorded(&evidence.plan, one)).map(Block::para));
        if !body.is_empty() {
            body.push(Block::note(ABOUT));
        }
        Section::of("answers", "Answers", body)
    }
}

/// What keeping the answers of timed trials cost their clients.
fn hashing(evidence: &Evidence) -> Option<String> {
    let times = |contender: &str| {
        let trials = evidence.trials.measured().iter().filter(|trial| trial.contender == contender);
        let times: Vec<f64> = trials.filter_map(|trial| trial.metrics.get("hashing_s").copied()).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    let names = evidence.plan.contenders.iter().map(|contender| contender.name.as_str());
    let all: Vec<String> = names.filter_map(|name| Some(format!("{:.2} s on `{name}`", times(name)?))).collect();
    let text = "To hash the answers of a timed trial, behind their times, the clients together took";
    (!all.is_empty()).then(|| format!("{text} {}.", joined(all)))
}

/// A sentence for each candidate, for the first screen.
pub fn first(evidence: &Evidence) -> Vec<Block> {
    let compared = evidence.run.answers.iter().map(sentence);
    compared.chain(missing(evidence)).map(Block::para).collect()
}

/// Why answers that were to be compared were not.
fn missing(evidence: &Evidence) -> Vec<String> {
    let failed = evidence.trials.of(|purpose| matches!(purpose, Purpose::Answers { .. }));
    let failed = failed.filter_map(|trial| Some((&trial.contender, trial.failure.as_ref()?.message.as_str())));
    let left_out = evidence.run.decided(DecisionKind::LeftOut);
    let left_out = left_out.filter(|one| matches!(one.purpose, Purpose::Answers { .. }));
    let left_out = left_out.map(|one| (&one.contender, one.because.as_str()));
    let line = |(contender, why): (&String, &str)| format!("Answers of `{contender}` were not compared: {why}.");
    failed.chain(left_out).map(line).collect()
}

fn of_candidate(plan: &PlanRecord, one: &AnswersRecord) -> Vec<Block> {
    let mut body = vec![Block::para(sentence(one))];
    body.extend(Block::table(table(plan, one, &one.differing)));
    let examples = Block::list(one.differing.iter().flat_map(|digest| examples(one, digest)).collect());
    body.extend(examples.map(|list| Block::fold("Examples", vec![list])));
    body.extend(Block::list([remarks(one), beside(plan, one)].concat()));
    let environment = Block::table(table(plan, one, &one.environment));
    body.extend(environment.map(|table| Block::fold("Answers that describe the server, and may differ", vec![table])));
    body
}

/// `` `new` answers otherwise than `old` in 2 digests: 17 of 94,140 statements compared. ``
pub fn sentence(one: &AnswersRecord) -> String {
    let AnswersRecord { candidate, baseline, compared, .. } = one;
    let statements = integer(*compared);
    let ties = one.at_limits();
    let differ = one.differ() - ties;
    let digests = one.differing.iter().filter(|digest| digest.ways.keys().any(|way| *way != Way::ValuesAtLimit));
    let first = match digests.count() {
        _ if *compared == 0 => format!("No answers of `{candidate}` could be compared with those of `{baseline}`."),
        0 if ties > 0 => {
            let same = integer(compared - ties);
            format!(
                "`{candidate}` gave the same answers as `{baseline}` to {same} of {statements} statements compared."
            )
        }
        0 => format!("`{candidate}` gave the same answers as `{baseline}` to all {statements} statements compared."),
        digests => format!(
            "`{candidate}` answers otherwise than `{baseline}` in {}: {} of {statements} statements compared.",
            count(digests, "digest"),
            integer(differ)
        ),
    };
    let first = match one.trials {
        Some(_) if *compared == 0 => first.replacen("No answers", "In the timed trials no answers", 1),
        Some(_) => format!("In the timed trials {first}"),
        None => first,
    };
    match ties {
        0 => first,
        ties => format!(
            "{first} {} with ORDER BY and LIMIT returned other rows, which may be equal in that order.",
            count_of_statements(ties)
        ),
    }
}

fn table(plan: &PlanRecord, of: &AnswersRecord, digests: &[DigestAnswers]) -> Table {
    let columns = [
        Column::prose("statement", 0),
        Column::number("compared", 3),
        Column::number("differ", 0),
        Column::name("how", 0),
        Column::name(of.baseline.as_str(), 1),
        Column::name(of.candidate.as_str(), 1),
        Column::name("first in the log", 0),
    ];
    let mut table = Table { sortable: true, ..Table::new(columns) };
    for one in digests {
        let ways = one.ways.iter().map(|(way, times)| match one.ways.len() {
            1 => how(*way).to_owned(),
            _ => format!("{} ({})", how(*way), integer(*times)),
        });
        // What follows from the data alone needs no name, and what describes the server has a table of its own.
        let class = match one.class.as_str() {
            "plain" | "server" => String::new(),
            class => format!(" ({class})"),
        };
        table.push(
            RowKind::Plain,
            [
                text(plan, &of.workload, &one.digest),
                integer(one.compared),
                integer(one.differ),
                joined(ways.collect()) + &class,
                one.first.baseline.clone(),
                one.first.candidate.clone(),
                format!("{}:{}", one.first.log, one.first.line),
            ],
        );
    }
    table
}

/// `` slow.log:812: `select …`; `old`: 3 rows; `new`: 2 rows ``
fn examples(of: &AnswersRecord, digest: &DigestAnswers) -> Vec<String> {
    let AnswersRecord { baseline, candidate, .. } = of;
    let shown = [&digest.first].into_iter().chain(&digest.more).filter(|one| !one.statement.is_empty());
    let line = |one: &DifferingAnswer| {
        let DifferingAnswer { log, line, statement, baseline: old, candidate: new } = one;
        format!("{log}:{line}: {statement}; `{baseline}`: {old}; `{candidate}`: {new}")
    };
    shown.map(line).collect()
}

/// What differs beside rows and values.
fn beside(plan: &PlanRecord, of: &AnswersRecord) -> Vec<String> {
    let line = |one: &record::format::answers::BesideRows| {
        let DifferingAnswer { log, line, baseline, candidate, .. } = &one.first;
        let pair = format!("first {log}:{line}: {baseline} on `{}`, {candidate} on `{}`", of.baseline, of.candidate);
        let what = match one.what {
            Beside::Names => format!("other names of columns, first {log}:{line}"),
            Beside::Warnings => format!("other warnings, {pair}"),
            Beside::NewKey => format!("another number given to a new row, {pair}"),
        };
        let statement = text(plan, &of.workload, &one.digest);
        format!("Equal rows, and in {} {what}: {statement}", count_of_statements(one.differ))
    };
    of.beside.iter().map(line).collect()
}

fn how(way: Way) -> &'static str {
    match way {
        Way::Error => "an error",
        Way::NoError => "no error",
        Way::OtherError => "another error",
        Way::Rows => "number of rows",
        Way::Values => "values",
        Way::ValuesAtLimit => "values at a LIMIT",
    }
}

/// A digest as its statement; one that is not timed apart by its id.
fn text(plan: &PlanRecord, workload: &str, digest: &str) -> String {
    let record = plan.workloads.iter().find(|record| record.label == workload);
    let known = record.and_then(|record| record.digests.get(digest));
    known.map_or_else(|| digest.to_owned(), |known| shortened(&known.text, TEXT_MAX))
}

/// What was compared in part, or not at all.
fn remarks(one: &AnswersRecord) -> Vec<String> {
    let statements = |number: u64| count_of_statements(number);
    let mut lines = Vec::new();
    lines.extend((one.tie_order > 0).then(|| {
        format!("{}: the same rows, those that are equal by ORDER BY in another order.", statements(one.tie_order))
    }));
    let by_rows = one.by_rows.iter().map(|(class, number)| format!("{} ({class})", statements(*number)));
    let by_rows = joined(by_rows.collect());
    lines.extend((!by_rows.is_empty()).then(|| format!("Compared by the number of rows alone: {by_rows}.")));
    let why = |class: &str| match class {
        AnswersRecord::UNSTABLE if one.trials.is_some() => {
            "the baseline itself answered otherwise under load".to_owned()
        }
        AnswersRecord::UNSTABLE => "the baseline itself answered otherwise the second time".to_owned(),
        class => class.to_owned(),
    };
    let not = one.not_compared.iter().map(|(class, number)| format!("{} ({})", statements(*number), why(class)));
    let not = joined(not.collect());
    lines.extend((!not.is_empty()).then(|| format!("Not compared: {not}.")));
    lines
}

fn count_of_statements(number: u64) -> String {
    format!("{} statement{}", integer(number), if number == 1 { "" } else { "s" })
}

/// How well the replay agrees with what the log recorded.
fn recorded(plan: &PlanRecord, one: &FidelityRecord) -> Option<String> {
    let share = share_text(one.share()?);
    let missed = one
        .missed
        .iter()
        .map(|(digest, times)| format!("`{}` ({})", text(plan, &one.workload, digest), count_of_statements(*times)));
    let missed = joined(missed.collect());
    let most = if missed.is_empty() { String::new() } else { format!(" Most others: {missed}.") };
    Some(format!(
        "Fidelity: {share} of {} whose outcome the log has came out the same on `{}`.{most}",
        count_of_statements(one.recorded),
        one.contender
    ))
}

/// `99.2 %`, rounded down: one statement in a million that came out otherwise is none of `100 %`.
pub fn share_text(share: f64) -> String {
    format!("{} %", (share * 1000.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{BASELINE, CANDIDATE, Story, stored_run};
    use record::StoredTrials;
    use record::format::answers::BesideRows;
    use record::format::{DigestRecord, Failure, Status, TrialRecord};

    fn differing() -> AnswersRecord {
        AnswersRecord {
            trials: None,
            workload: "oltp_read_write".to_owned(),
            baseline: BASELINE.to_owned(),
            candidate: CANDIDATE.to_owned(),
            statements: 94_200,
            compared: 94_140,
            equal: 94_123,
            tie_order: 3,
            by_rows: BTreeMap::from([("clock".to_owned(), 40)]),
            not_compared: BTreeMap::from([(AnswersRecord::UNSTABLE.to_owned(), 50), ("random".to_owned(), 10)]),
            differing: vec![DigestAnswers {
                digest: "00000000000000d1".to_owned(),
                class: "plain".to_owned(),
                compared: 400,
                differ: 17,
                ways: BTreeMap::from([(Way::Values, 16), (Way::Error, 1)]),
                first: DifferingAnswer {
                    log: "slow.log".to_owned(),
                    line: 812,
                    baseline: "3 rows".to_owned(),
                    candidate: "3 rows".to_owned(),
                    statement: "select a from t where b < ?(4)".to_owned(),
                },
                more: Vec::new(),
            }],
            beside: vec![BesideRows {
                digest: "00000000000000d1".to_owned(),
                what: Beside::Warnings,
                differ: 2,
                first: DifferingAnswer {
                    log: "slow.log".to_owned(),
                    line: 913,
                    baseline: "none".to_owned(),
                    candidate: "1365".to_owned(),
                    statement: String::new(),
                },
            }],
            environment: Vec::new(),
        }
    }

    fn evidence(answers: AnswersRecord, fidelity: FidelityRecord) -> Evidence {
        let mut stored = stored_run(&Story::default());
        let workload = &mut stored.plan.workloads[0];
        let label = workload.label.clone();
        let text = "select a from t where b < ?".to_owned();
        workload.digests.insert("00000000000000d1".to_owned(), DigestRecord { text, calls: 400, is_judged: true });
        stored.run.answers = vec![AnswersRecord { workload: label.clone(), ..answers }];
        stored.run.fidelity = vec![FidelityRecord { workload: label, ..fidelity }];
        evidence_of(stored)
    }

    fn report(evidence: &Evidence, format: &str) -> String {
        let report = crate::find(format).unwrap().write(evidence, &crate::Options::default());
        report.unwrap().replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_format_has_the_statements_that_are_answered_otherwise() {
        let fidelity =
            FidelityRecord { contender: BASELINE.to_owned(), recorded: 1000, same: 992, ..Default::default() };
        let evidence = evidence(differing(), fidelity);
        for format in ["text", "html", "markdown"] {
            let text = report(&evidence, format);
            for part in [
                "select a from t where b",
                "17 of 94,140 statements compared",
                "slow.log:812",
                "99.2 % of 1,000",
                "?(4)",
                "1365 on",
            ] {
                assert!(text.contains(part), "{format}: {part}: {text}");
            }
        }
    }

    #[test]
    fn a_pass_that_failed_is_named_on_the_first_screen() {
        let mut evidence = evidence(differing(), FidelityRecord::default());
        let mut trials = evidence.trials.all();
        let failure = Failure { step: "load".into(), message: "more than 64 MiB".into(), ..Failure::default() };
        trials.push(TrialRecord {
            trial: trials.len() as u32 + 1,
            purpose: Purpose::Answers { pass: 1 },
            status: Status::Failed,
            failure: Some(failure),
            ..trials[0].clone()
        });
        evidence.trials = StoredTrials::new(trials, None);
        assert!(missing(&evidence)[0].ends_with("were not compared: more than 64 MiB."), "{:?}", missing(&evidence));
        assert_eq!(first(&evidence).len(), 2);
    }

    #[test]
    fn equal_answers_are_a_sentence_too() {
        let equal = AnswersRecord { differing: Vec::new(), ..differing() };
        let expected =
            format!("`{CANDIDATE}` gave the same answers as `{BASELINE}` to all 94,140 statements compared.");
        assert_eq!(sentence(&equal), expected);
        let none = AnswersRecord { compared: 0, ..equal };
        assert!(sentence(&none).starts_with("No answers of"), "{}", sentence(&none));
        let timed = sentence(&AnswersRecord { trials: Some(8), ..none });
        assert!(timed.starts_with("In the timed trials no answers of"), "{timed}");
    }

    #[test]
    fn other_rows_at_a_limit_are_told_apart_from_differences() {
        let mut only = differing();
        only.differing[0].ways = BTreeMap::from([(Way::ValuesAtLimit, 17)]);
        let text = sentence(&only);
        for part in ["the same answers", "94,123 of 94,140", "17 statements with ORDER BY and LIMIT"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        only.differing[0].ways.insert(Way::Error, 2);
        only.differing[0].differ = 19;
        let text = sentence(&only);
        assert!(text.contains("in 1 digest: 2 of 94,140") && text.contains("17 statements with"), "{text}");
    }

    #[test]
    fn what_was_not_compared_is_counted_with_its_reason() {
        let lines = remarks(&differing()).join("\n");
        for part in
            ["3 statements: the same rows", "40 statements (clock)", "50 statements (the baseline itself", "(random)"]
        {
            assert!(lines.contains(part), "{part}: {lines}");
        }
    }

    #[test]
    fn answers_that_differ_fail_the_gate_and_a_low_fidelity_is_a_finding() {
        let fidelity = FidelityRecord { contender: BASELINE.to_owned(), recorded: 100, same: 90, ..Default::default() };
        let evidence = evidence(differing(), fidelity);
        let lines = crate::sections::gate::lines(&evidence.gate().unwrap()).join("\n");
        assert!(lines.starts_with("gate: failed") && lines.contains("17 of 94,140 statements"), "{lines}");
        let text = report(&evidence, "text");
        assert!(text.to_lowercase().contains("low fidelity") && text.contains("90 %"), "{text}");
    }
}
