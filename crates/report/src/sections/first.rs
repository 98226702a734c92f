//! The first screen: verdict, main chart, what to keep in mind, likely cause, and one line how it was measured.

use analysis::plan_causes::PlanCause;
use analysis::{
    Cause, Caveat, Comparison, FindingKind, Grade, HeadToHead, QUICK_BELOW_S, Verdict, WorkloadConclusions,
};
use record::format::point_text;

use super::levels::ratio_title;
use super::settings_and_plans::changed_defaults;
use super::topic::capitalised;
use super::{kinds, ladder, levels, matrix, one_answer, plans, waterfall};
use crate::Evidence;
use crate::document::{Block, Cell, Chart, Column, Row, RowKind, Section, Table, Text, Tone};
use crate::wording::{self, count, duration, joined};
use crate::{sentences, verdict};

/// Caveats on the first screen; the others stand further down.
pub const CAVEATS: usize = 3;

pub fn section(evidence: &Evidence) -> Section {
    let answer = one_answer::blocks(evidence);
    let mut body = match across(evidence).map(|sentence| vec![sentence]).or(answer) {
        Some(answer) => answer,
        None => evidence.conclusions.workloads.iter().flat_map(|one| verdicts(evidence, one)).collect(),
    };
    body.extend(scopes(evidence).map(Block::para));
    body.extend(super::answers::first(evidence));
    body.extend(super::recovery::first(evidence));
    body.extend(main_chart(evidence));
    body.extend(one_answer::before(evidence));
    body.extend(matrix::table(evidence).map(|table| Block::OnPage(vec![Block::Table(table)])));
    body.extend(gate(evidence).map(Block::para));
    body.extend(super::aa::verdicts(evidence).into_iter().map(Block::para));
    body.extend(causes(evidence).into_iter().map(Block::para));
    let mut caveats: Vec<String> = ranked_caveats(evidence).into_iter().map(|(_, sentence)| sentence).collect();
    let left = caveats.len().saturating_sub(CAVEATS);
    caveats.truncate(CAVEATS);
    caveats.extend((left > 0).then(|| format!("{left} more under Causes and caveats.")));
    if !caveats.is_empty() {
        body.push(Block::para("Keep in mind:"));
        body.extend(Block::list(caveats));
    }
    // An answer over several workloads has them.
    body.extend(changed_defaults(evidence).filter(|_| !one_answer::is_one(evidence)).map(Block::note));
    body.push(Block::note(how(evidence)));
    Section { id: "verdict", title: "Verdict".to_owned(), body }
}

/// What part of the work the verdicts are on, where they are not on all of it.
fn scopes(evidence: &Evidence) -> impl Iterator<Item = String> {
    let scope = |sentence: &String| format!("{}.", capitalised(sentence));
    evidence.plan.workloads.iter().filter_map(move |workload| workload.scope.as_ref().map(scope))
}

/// The answer to the limits of the file, where it has any.
fn gate(evidence: &Evidence) -> Option<String> {
    evidence.plan.gate.as_ref()?;
    Some(super::gate::first_line(&evidence.gate()?))
}

/// One of each candidate; where there are several, what they come to.
fn verdicts(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let verdict = |duel: &HeadToHead| {
        let sentences = verdict::sentences(evidence, workload, duel);
        Block::Judgement {
            tone: duel.overall.verdict.into(),
            sentences: sentences.into_iter().map(Text::from).collect(),
        }
    };
    if let Some(ladder) = workload.ladders.first() {
        let duel = workload.duels.iter().find(|duel| !workload.is_rung(&duel.candidate));
        let top = workload.duels.iter().find(|duel| duel.candidate == ladder.top);
        let levels = ladder::levels(ladder).into_iter();
        let sentences = levels.chain(ladder::whole(ladder)).chain(verdict::durability(evidence, top));
        let steps = Block::Judgement { tone: Tone::Same, sentences: sentences.map(Text::from).collect() };
        return std::iter::once(steps).chain(duel.map(verdict)).collect();
    }
    match workload.duels.as_slice() {
        [] => Vec::new(),
        [only] => vec![verdict(only)],
        several => vec![summary(evidence, workload, several)],
    }
}

/// Several candidates under several workloads in one sentence; then what any of them promises less.
fn across(evidence: &Evidence) -> Option<Block> {
    let first = matrix::sentence(evidence)?;
    let duels = || evidence.conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    let sentences = std::iter::once(first).chain(verdict::durability(evidence, duels()));
    let is_faster = duels().any(|duel| duel.overall.verdict == Verdict::Faster);
    let tone = if is_faster { Tone::Faster } else { Tone::Open };
    Some(Block::Judgement { tone, sentences: sentences.map(Text::from).collect() })
}

/// `2 of 3 candidates are faster than `A`, 1 is slower. The fastest: …`
fn summary(evidence: &Evidence, workload: &WorkloadConclusions, duels: &[HeadToHead]) -> Block {
    let prefix =
        if evidence.conclusions.workloads.len() > 1 { format!("{}: ", workload.workload) } else { String::new() };
    let words = [
        (Verdict::Faster, "faster than it"),
        (Verdict::Slower, "slower"),
        (Verdict::NoDifferenceShown, "the same within the margin"),
        (Verdict::Mixed, "faster at some load levels and slower at others"),
        (Verdict::Inconclusive, "not decided"),
    ];
    let counted = words.iter().filter_map(|(word, text)| {
        let all = duels.iter().filter(|duel| duel.overall.verdict == *word).count();
        (all > 0).then(|| format!("{all} {} {text}", if all == 1 { "is" } else { "are" }))
    });
    let counted = joined(counted.collect());
    let first = format!("{prefix}Of {} beside `{}`, {counted}.", count(duels.len(), "candidate"), duels[0].baseline);
    let best = duels.iter().filter(|duel| duel.overall.verdict == Verdict::Faster);
    let ratio = |duel: &&HeadToHead| duel.overall.ratio.unwrap_or(0.0);
    let best = best.max_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let told = best.map(|duel| verdict::throughput(&evidence.plan, workload, duel));
    let durability = verdict::durability(evidence, duels);
    let tone = best.map_or(Tone::Open, |_| Tone::Faster);
    let sentences = std::iter::once(first).chain(told).chain(durability).map(Text::from);
    Block::Judgement { tone, sentences: sentences.collect() }
}

/// Throughput over what varies, or what the kind of run is about.
fn main_chart(evidence: &Evidence) -> Option<Block> {
    let workloads = &evidence.conclusions.workloads;
    let [workload] = workloads.as_slice() else {
        let table = all_workloads(evidence);
        // The page has the same verdicts in a table of workloads beside each other.
        let is_wide = matrix::table(evidence).is_some();
        return match levels::all_workloads(evidence) {
            Some(chart) => Some(Block::chart(Chart { table: Some(table), ..chart })),
            None if is_wide => Some(Block::OffPage(vec![Block::Table(table)])),
            None => Block::table(table),
        };
    };
    if let Some(chart) = workload
        .ladders
        .first()
        .and_then(|one| waterfall::waterfall(workload, one, ladder::table(evidence, workload, one)))
    {
        return Some(Block::chart(chart));
    }
    if let [duel] = workload.duels.as_slice()
        && let Some(parts) = verdict::kinds_of(duel)
        && let Some(chart) = kinds::chart(parts)
    {
        return Some(Block::chart(Chart { table: Some(kinds::groups(duel, parts)), ..chart }));
    }
    let table = match workload.duels.as_slice() {
        [] => return None,
        [duel] => levels::table(workload, &workload.metric, &duel.points, &duel.overall),
        _ => all_candidates(evidence),
    };
    let chart = levels::throughput(evidence, workload).or_else(|| match workload.duels.as_slice() {
        [duel] => levels::pairs(evidence, duel),
        _ => None,
    });
    match chart {
        Some(mut chart) => {
            chart.table = Some(table);
            Some(Block::chart(chart))
        }
        None => Block::table(table),
    }
}

/// A row for each workload; where one has several candidates, for each contender.
fn all_workloads(evidence: &Evidence) -> Table {
    let workloads = &evidence.conclusions.workloads;
    let duels = || workloads.iter().map(|workload| workload.duels.as_slice());
    let Some([first]) = duels().find(|duels| duels.len() == 1).filter(|_| duels().all(|duels| duels.len() == 1)) else {
        return all_candidates(evidence);
    };
    let unit = &workloads[0].primary.unit;
    let is_shared = workloads.iter().all(|workload| workload.primary.unit == *unit);
    let title = |name: &str| Column::number(if is_shared { format!("{name} {unit}") } else { name.to_owned() }, 1);
    let columns = [
        Column::name("workload", 0),
        title(&first.baseline),
        title(&first.candidate),
        Column::number(ratio_title(&first.overall), 0),
        Column::number("95 % CI", 0),
        Column::name("verdict", 0),
    ];
    let row = |workload: &WorkloadConclusions| {
        let overall = &workload.duels[0].overall;
        let value = |value: Option<f64>| {
            let unit = if is_shared { String::new() } else { format!(" {}", workload.primary.unit) };
            Cell::from(wording::optional_number(value) + &unit)
        };
        let figures = [value(overall.baseline_value), value(overall.candidate_value)];
        [workload.workload.as_str().into()].into_iter().chain(figures).chain(answer(workload, overall))
    };
    Table::new(columns).with_rows(workloads.iter().map(row))
}

/// The ratio, its interval, and the verdict.
fn answer(workload: &WorkloadConclusions, overall: &Comparison) -> [Cell; 3] {
    let levels = workload.points.len();
    let some = format!(" ({} of {levels} levels)", overall.points);
    let some = if overall.points < levels { some } else { String::new() };
    let verdict = Text::verdict(overall.verdict, wording::verdict(overall)).and_quiet(some);
    [wording::ratio(overall).into(), wording::marked_interval(overall).into(), verdict.into()]
}

/// A row for each contender under each workload.
fn all_candidates(evidence: &Evidence) -> Table {
    let workloads = &evidence.conclusions.workloads;
    let several = workloads.len() > 1;
    let mut columns = vec![
        Column::name("contender", 0),
        Column::number("throughput", 1),
        Column::number(format!("against {}", evidence.plan.baseline), 0),
        Column::number("95 % CI", 0),
        Column::name("verdict", 0),
    ];
    let [only] = workloads.as_slice() else {
        columns.insert(0, Column::name("workload", 0));
        return Table {
            rows: workloads.iter().flat_map(|one| candidates(one, several)).collect(),
            ..Table::new(columns)
        };
    };
    columns[1].title = only.primary.unit.clone();
    Table { rows: candidates(only, several), ..Table::new(columns) }
}

fn candidates(workload: &WorkloadConclusions, several: bool) -> Vec<Row> {
    let Some(first) = workload.duels.first() else { return Vec::new() };
    let unit = if several { format!(" {}", workload.primary.unit) } else { String::new() };
    let value = |value: Option<f64>| format!("{}{unit}", wording::optional_number(value));
    let label = several.then(|| Cell::from(workload.workload.as_str()));
    let row = |kind: RowKind, name: &str, value: String, rest: [Cell; 3]| Row {
        kind,
        cells: label.iter().cloned().chain([name.into(), value.into()]).chain(rest).collect(),
    };
    let kind = if several { RowKind::First } else { RowKind::Plain };
    let baseline =
        row(kind, &first.baseline, value(first.overall.baseline_value), ["1".into(), "".into(), "baseline".into()]);
    let candidate = |duel: &HeadToHead| {
        let rest = answer(workload, &duel.overall);
        row(RowKind::Plain, &duel.candidate, value(duel.overall.candidate_value), rest)
    };
    std::iter::once(baseline).chain(workload.duels.iter().map(candidate)).collect()
}

/// What a finding shows of the gap; nothing where it only says that no cause can be named.
fn causes(evidence: &Evidence) -> Vec<String> {
    let of_workload = |workload: &WorkloadConclusions| match workload.duels.as_slice() {
        [duel] => {
            let causes = duel.diagnosis.causes.iter().filter(|one| !one.kind.is_of_the_run()).take(1);
            let of_plans = plans::causes_of(evidence, workload, duel).into_iter().find(|one| one.grade != Grade::Weak);
            let of_plan = |one: PlanCause| format!("{}: {}.", how_sure(one.grade), sentences::plans::cause(&one));
            causes.map(|one| cause(evidence, one)).chain(of_plans.map(of_plan)).collect()
        }
        // A ladder and a table of candidates have theirs further down.
        _ => Vec::new(),
    };
    evidence.conclusions.workloads.iter().flat_map(of_workload).collect()
}

/// `Likely cause: …` with its one figure; what was tried stands further down.
fn cause(evidence: &Evidence, cause: &Cause) -> String {
    let said = sentences::causes::said(evidence, cause);
    let text = said.text.split("; ").next().unwrap_or_default();
    format!("{}: {}.", how_sure(cause.grade), text.trim_end_matches('.'))
}

pub fn how_sure(grade: Grade) -> &'static str {
    match grade {
        Grade::Confirmed => "Confirmed cause",
        Grade::Supported => "Likely cause",
        _ => "Possible cause",
    }
}

/// What weakens the verdicts: each kind with a sentence that has what to do, the most important first.
pub fn ranked_caveats(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let mut seen: Vec<Caveat> = Vec::new();
    let duels = evidence.conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    for caveat in duels.flat_map(|duel| &duel.overall.caveats) {
        if !seen.contains(caveat) {
            seen.push(*caveat);
        }
    }
    seen.sort_by_key(|caveat| importance(*caveat));
    let before = seen.partition_point(|caveat| importance(*caveat) < importance(Caveat::Short));
    let (first, rest) = seen.split_at(before);
    let of = |caveats: &[Caveat]| -> Vec<(&'static str, String)> {
        let with_kind = |caveat: &Caveat| Some((caveat.as_str(), caveat_sentence(evidence, *caveat)?));
        caveats.iter().filter_map(with_kind).collect()
    };
    // What was compared stands before how, and how before how long.
    let found =
        |kind: FindingKind| sentences::findings::sentence(evidence, kind).map(|sentence| (kind.as_str(), sentence));
    let (work, defaults) = (found(FindingKind::WorkDiffers), found(FindingKind::DefaultsChanged));
    work.into_iter().chain(of(first)).chain(defaults).chain(of(rest)).collect()
}

fn importance(caveat: Caveat) -> usize {
    IMPORTANCE.iter().position(|one| *one == caveat).unwrap_or(IMPORTANCE.len())
}

const IMPORTANCE: [Caveat; 12] = [
    // What the figures mean at all.
    Caveat::Duet,
    Caveat::GeneratorBound,
    Caveat::Outages,
    Caveat::FlagDependent,
    Caveat::NoisyHost,
    Caveat::FailedTrials,
    Caveat::BudgetEnded,
    Caveat::Short,
    Caveat::Accumulating,
    Caveat::Quick,
    Caveat::SharedCores,
    Caveat::Screening,
];

fn caveat_sentence(evidence: &Evidence, caveat: Caveat) -> Option<String> {
    let (tally, method) = (&evidence.conclusions.tally, &evidence.plan.method);
    let all = tally.trials_finished + tally.trials_repeated;
    let shown = match caveat {
        Caveat::GeneratorBound => {
            format!("The load generator was the limit in {} of {all} trials. ", tally.trials_generator_bound)
        }
        Caveat::NoisyHost => disturbed(evidence) + " ",
        Caveat::FailedTrials if tally.trials_failed == 0 => "Levels were given up after failures. ".to_owned(),
        Caveat::FailedTrials => format!("{} of {all} trials failed. ", tally.trials_failed),
        Caveat::Short => {
            format!("Trials of {} s were shorter than two checkpoint cycles. ", method.duration_s)
        }
        Caveat::Quick if method.preset != "quick" && method.left_out.is_empty() => {
            return Some(format!("Trials or their warm-up took less than {QUICK_BELOW_S} s: this is a first look."));
        }
        Caveat::Quick if method.preset != "quick" => {
            format!("Steps of the method were left out: {}. ", method.steps_left_out())
        }
        Caveat::Accumulating if evidence.plan.is_all_passes() => {
            let text = "Passes leave deferred work (unflushed pages, WAL since the last checkpoint), which is in no \
                        operation's time.";
            return Some(text.to_owned());
        }
        Caveat::SharedCores => {
            let cores = count(evidence.run.host.cores as usize, "core");
            return Some(format!("Client and server shared {cores}: peak throughput holds for this machine."));
        }
        // The verdict's own sentences name these.
        Caveat::T
        | Caveat::DurabilityDiffers
        | Caveat::Unsteady
        | Caveat::DeferredWork
        | Caveat::TooFewBlocks
        | Caveat::Unpaired => return None,
        _ => String::new(),
    };
    let text = shown + sentences::verdicts::caveat(caveat);
    Some(if evidence.plan.is_all_replays() { sentences::verdicts::of_replay(text) } else { text })
}

/// `The host was disturbed in 2 of 82 trials.`
fn disturbed(evidence: &Evidence) -> String {
    let flags = &evidence.conclusions.flags;
    let (flagged, trials) =
        flags.iter().fold((0, 0), |(flagged, trials), one| (flagged + one.flagged, trials + one.trials));
    match flagged {
        0 => "The host has shown differences between equal servers.".to_owned(),
        _ => format!("Other work on the host disturbed {flagged} of {trials} trials."),
    }
}

/// `8 blocks, 30 s a trial, 47 min, Example CPU (2 cores), 2031-05-04, plan 9f2c51d07be3.`
fn how(evidence: &Evidence) -> String {
    let (tally, host) = (&evidence.conclusions.tally, &evidence.run.host);
    let trial = match evidence.plan.end_themselves() {
        true => "one pass a trial".to_owned(),
        false if evidence.plan.workloads.iter().any(|workload| workload.events.is_some()) => {
            format!("at most {} s a trial", evidence.plan.method.duration_s)
        }
        false => format!("{} s a trial", evidence.plan.method.duration_s),
    };
    let place = match evidence.conclusions.workloads.as_slice() {
        [one] if one.points.len() == 1 && !one.points[0].is_empty() => {
            format!("{} at {}, ", one.workload, point_text(&one.points[0]))
        }
        [one] => format!("{}, ", one.workload),
        _ => String::new(),
    };
    let so_far = if evidence.run.ended_by.is_none() { " so far (the run is not finished)" } else { "" };
    let set = evidence.plan.set_flags().map_or(String::new(), |set| format!(", with {set}"));
    format!(
        "{place}{}{so_far}, {trial}, {} in trials; {}, {}; {}{set}.",
        count(tally.blocks_finished, "block"),
        duration(tally.minutes),
        host.cpu_model,
        count(host.cores as usize, "core"),
        evidence.run.started_at.get(..10).unwrap_or(&evidence.run.started_at),
    )
}
