//! One candidate under several workloads, one of which has kinds of statements: one answer over all of them; and what
//! was measured of each server before the first block.

use std::collections::BTreeSet;

use analysis::differences::{Difference, PlanPair, drifts};
use analysis::{Facts, HeadToHead, LeftOut, Part, Parts, Verdict, WorkloadConclusions};
use record::format::operations::WRONG;
use record::format::{DecisionKind, LoadRecord, Purpose, RecoveryRecord, TrialRecord};

use super::settings_and_plans::changed_defaults;
use super::stopped;
use crate::Evidence;
use crate::document::{Block, Column, RowKind, Table, Text, Tone};
use crate::verdict::{self, furthest, kinds_of, kinds_with};
use crate::wording::{self, count, joined, number};

/// Kinds, statements and gaps that a line names.
const NAMED: usize = 4;

const OF_KILLS: &str = "Login and commit: the first ones, from the restart after a kill under load.";
const OF_LOADS: &str = "Load: all tables into an empty server.";
const BEFORE: &str = "Measured before the first block; no verdict comes from them.";

type Pair<'a> = (&'a WorkloadConclusions, &'a HeadToHead);

/// Each workload with its one comparison.
fn pairs(evidence: &Evidence) -> Option<Vec<Pair<'_>>> {
    let workloads = &evidence.conclusions.workloads;
    let only = |one: &WorkloadConclusions| one.ladders.is_empty() && one.duels.len() == 1;
    if !workloads.iter().all(only) {
        return None;
    }
    let pairs: Vec<Pair> = workloads.iter().map(|workload| (workload, &workload.duels[0])).collect();
    let has_kinds = pairs.iter().any(|(_, duel)| kinds_of(duel).is_some());
    (pairs.len() > 1 && has_kinds).then_some(pairs)
}

/// Whether the first screen has one answer in place of a verdict for each workload.
pub fn is_one(evidence: &Evidence) -> bool {
    pairs(evidence).is_some()
}

pub fn blocks(evidence: &Evidence) -> Option<Vec<Block>> {
    let pairs = pairs(evidence)?;
    let differences = drifts(&evidence.plan, &evidence.run);
    let difference = differences.iter().find(|one| one.candidate == pairs[0].1.candidate);
    let durability = verdict::durability(evidence, [pairs[0].1]);
    let short = verdict::too_few(&evidence.plan, &pairs[0].1.overall);
    let sentences = std::iter::once(headline(&pairs)).chain(short).chain(durability.clone());
    let judgement = Block::Judgement { tone: tone(&pairs), sentences: sentences.map(Text::from).collect() };
    let lines = [
        (Verdict::Slower, "Slower"),
        (Verdict::Faster, "Faster"),
        (Verdict::Mixed, "Faster at some load levels and slower at others"),
        (Verdict::NoDifferenceShown, "The same within the margin"),
        (Verdict::Inconclusive, "Not decided"),
    ];
    let lines = lines.into_iter().filter_map(|(verdict, word)| Some(format!("{word}: {}", places(&pairs, verdict)?)));
    let promise = Some(evidence).filter(|_| durability.is_empty()).and_then(same_promise);
    let differ = promise.into_iter().chain(changed_defaults(evidence)).chain(difference.and_then(plans));
    let differ = differ.chain(answers(&pairs));
    let rest = differ.chain(tries(evidence, &pairs, difference)).collect();
    let lines = stopped(lines.collect()).into_iter().map(Block::para);
    Some(std::iter::once(judgement).chain(lines).chain(Block::list(stopped(rest))).collect())
}

/// Where both have the same class.
fn same_promise(evidence: &Evidence) -> Option<String> {
    let mut classes: Vec<&str> =
        evidence.run.contenders.values().map(|facts| facts.durability_class.as_str()).collect();
    classes.dedup();
    let [class] = classes.as_slice() else { return None };
    Some(format!("The settings of both promise the same of a commit ({class})"))
}

fn tone(pairs: &[Pair]) -> Tone {
    let any = |verdict: Verdict| pairs.iter().any(|(_, duel)| has(duel, verdict));
    match (any(Verdict::Slower) || any(Verdict::Mixed), any(Verdict::Faster)) {
        (true, true) => Tone::Mixed,
        (true, false) => Tone::Slower,
        (false, true) => Tone::Faster,
        (false, false) => Tone::Open,
    }
}

/// Overall or in one of its kinds.
fn has(duel: &HeadToHead, verdict: Verdict) -> bool {
    duel.overall.verdict == verdict || kinds_of(duel).is_some_and(|parts| !kinds_with(parts, verdict).is_empty())
}

/// `` `8.0` is slower than `5.7` in 2 of 4 workloads and in 14 of 82 kinds of statements, and faster in … `` or `` `18` is not
/// shown to be slower than `13` in any of 4 workloads and 84 kinds of statements; faster in 1 kind. ``
fn headline(pairs: &[Pair]) -> String {
    let duel = pairs[0].1;
    let workloads = |verdict: Verdict| pairs.iter().filter(|(_, duel)| duel.overall.verdict == verdict).count();
    let parts = || pairs.iter().filter_map(|(_, duel)| kinds_of(duel));
    let kinds = |verdict: Verdict| parts().map(|parts| kinds_with(parts, verdict).len()).sum::<usize>();
    let all: usize = parts().map(|parts| parts.operations.len()).sum();
    let some = [(workloads(Verdict::Faster), "workload"), (kinds(Verdict::Faster), "kind")];
    let some = some.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun));
    let faster = some.collect::<Vec<_>>().join(" and in ");
    let faster = if faster.is_empty() { "none of them" } else { &faster };
    let (candidate, baseline, of_all) = (&duel.candidate, &duel.baseline, count(pairs.len(), "workload"));
    let of_kinds = wording::count_of(all, "kind of statements", "kinds of statements");
    match (workloads(Verdict::Slower), kinds(Verdict::Slower)) {
        (0, 0) => format!(
            "`{candidate}` is not shown to be slower than `{baseline}` in any of {of_all} and {of_kinds}; faster in {faster}."
        ),
        (some, kinds) => format!(
            "`{candidate}` is slower than `{baseline}` in {some} of {of_all} and in {kinds} of {of_kinds}, and faster in {faster}."
        ),
    }
}

/// Workloads with that verdict and their ratios, then kinds.
fn places(pairs: &[Pair], verdict: Verdict) -> Option<String> {
    let shown = |(workload, duel): &Pair| format!("{} ({})", workload.workload, wording::ratio_only(&duel.overall));
    let workloads = pairs.iter().filter(|(_, duel)| duel.overall.verdict == verdict).map(shown);
    let kinds = pairs.iter().filter_map(|(_, duel)| kinds_of(duel)).filter_map(|parts| {
        let kinds = kinds_with(parts, verdict);
        // Which kinds have no verdict is in the table.
        let named = if matches!(verdict, Verdict::Slower | Verdict::Faster) { NAMED } else { 0 };
        (!kinds.is_empty()).then(|| count(kinds.len(), "kind") + &furthest(&kinds, named))
    });
    let all: Vec<String> = workloads.chain(kinds).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn differing<'a>(difference: &'a Difference) -> impl Iterator<Item = &'a PlanPair<'a>> {
    difference.plans.iter().flat_map(|plans| &plans.statements).filter(|pair| pair.differs)
}

/// `3 of 80 statements are run differently: …`; of one engine only, as the plans of two are never alike.
fn plans(difference: &Difference) -> Option<String> {
    let names: Vec<&str> = differing(difference).map(|pair| pair.statement).collect();
    if !difference.same_family || names.is_empty() {
        return None;
    }
    let all = difference.plans.iter().map(|plans| plans.statements.len()).sum();
    let verb = if names.len() == 1 { "has" } else { "have" };
    Some(format!("{} of {} {verb} another plan: {}", names.len(), count(all, "statement"), some(names)))
}

/// The first of several names.
fn some(names: Vec<&str>) -> String {
    let left = names.len().saturating_sub(NAMED);
    let more = (left > 0).then(|| format!("{left} more"));
    joined(names.into_iter().take(NAMED).map(str::to_owned).chain(more).collect())
}

/// What was answered wrongly, and what cannot be run.
fn answers(pairs: &[Pair]) -> Vec<String> {
    let all: Vec<&LeftOut> =
        pairs.iter().filter_map(|(_, duel)| kinds_of(duel)).flat_map(|one| &one.left_out).collect();
    let contenders = [&pairs[0].1.baseline, &pairs[0].1.candidate];
    let of = |contender: &String, is_wrong: bool| -> Vec<&str> {
        let ours = all.iter().filter(|one| one.contender == *contender && (one.kind == WRONG) == is_wrong);
        ours.map(|one| one.name.as_str()).collect()
    };
    let line = |who: &str, names: Vec<&str>| (!names.is_empty()).then(|| format!("{who}: {}", some(names)));
    let [wrong, others] = [true, false].map(|is_wrong| contenders.map(|contender| of(contender, is_wrong)));
    let wrong =
        contenders.into_iter().zip(wrong).filter_map(|(one, names)| line(&format!("`{one}` answers wrongly"), names));
    let both: Vec<&str> = others[0].iter().filter(|name| others[1].contains(name)).copied().collect();
    let one_only = contenders.into_iter().zip(&others).filter_map(|(one, names)| {
        let names = names.iter().filter(|name| !both.contains(name)).copied().collect();
        line(&format!("`{one}` cannot run"), names)
    });
    wrong.chain(one_only).chain(line("Neither can run", both.clone())).collect()
}

/// What to try before the answer is no, where anything is slower; what would decide more.
fn tries(evidence: &Evidence, pairs: &[Pair], difference: Option<&Difference>) -> Vec<String> {
    let candidate = &pairs[0].1.candidate;
    let slower: Vec<&Part> = kinds(pairs).flat_map(|parts| kinds_with(parts, Verdict::Slower)).collect();
    let mut tries = Vec::new();
    if pairs.iter().any(|(_, duel)| has(duel, Verdict::Slower)) {
        let work = evidence.conclusions.findings.iter().find_map(|finding| match &finding.facts {
            Facts::WorkDiffers(all) => Some(all),
            _ => None,
        });
        if let Some(all) = work {
            let names: BTreeSet<&str> = all.iter().map(|one| one.setting.as_str()).collect();
            let names = joined(names.into_iter().map(|name| format!("`{name}`")).collect());
            tries.push(format!("give both the same {names}: part of what is slower may be theirs"));
        }
        let changed = difference.map(|one| differing(one).map(|pair| pair.statement).collect::<Vec<&str>>());
        let names = slower.iter().map(|kind| kind.name.as_str());
        let planned: Vec<&str> = names.filter(|name| changed.as_ref().is_some_and(|all| all.contains(name))).collect();
        if !planned.is_empty() {
            tries.push(format!("see the plans of {}, which are slower and have another plan", some(planned)));
        }
        let versions: BTreeSet<(&str, &str)> =
            evidence.run.contenders.values().map(|facts| (facts.family.as_str(), facts.version.as_str())).collect();
        let same = difference.and_then(|one| one.same_settings.as_ref()).filter(|_| versions.len() > 1);
        if let Some(same) = same {
            let settings = count(same.changed, "setting");
            tries.push(format!(
                "measure `{candidate}` with {settings} of `{}` beside it (the contender stands under What differs \
                 between the servers): what is slower then is the version",
                pairs[0].1.baseline
            ));
        }
        let engine = evidence.plan.contenders.iter().find(|one| one.name == *candidate && one.target.is_none());
        tries.extend(engine.map(|one| format!("`dbduel advise {}` for settings that may win it back", one.engine)));
    }
    let open: usize = kinds(pairs).map(|parts| kinds_with(parts, Verdict::Inconclusive).len()).sum();
    if open > 0 {
        let planned = evidence.plan.method.blocks;
        let all = kinds(pairs).map(|parts| parts.operations.len()).max().unwrap_or(0);
        let needed = verdict::blocks_for_one(&evidence.plan, all);
        let why = match needed {
            Some(_) => format!(": {planned} cannot show that one of {all} differs alone"),
            None => String::new(),
        };
        let blocks = needed.unwrap_or(2 * planned);
        tries.push(format!("`--blocks {blocks}` to decide more of the {} that are open{why}", count(open, "kind")));
    }
    let all = tries.into_iter().zip(1..).map(|(line, place)| format!("({place}) {line}")).collect::<Vec<_>>();
    (!all.is_empty()).then(|| format!("To try before the decision: {}", all.join("; "))).into_iter().collect()
}

fn kinds<'a>(pairs: &'a [Pair<'a>]) -> impl Iterator<Item = &'a Parts> {
    pairs.iter().filter_map(|(_, duel)| kinds_of(duel))
}

/// What kills and loads before the first block have shown: a row of each contender.
pub fn before(evidence: &Evidence) -> Vec<Block> {
    if evidence.run.search.is_some() {
        return Vec::new();
    }
    let (kills, loads) = (RecoveryRecord::all(evidence.trials.probes()), LoadRecord::all(evidence.trials.probes()));
    let mut table = Table::new([
        Column::name("contender", 0),
        Column::name("workload", 2),
        Column::number("kills", 4),
        Column::number("login s", 3),
        Column::number("commit s", 0),
        Column::number("load s", 0),
        Column::number("rows", 3),
    ]);
    let asking = || evidence.plan.workloads.iter().filter(|one| one.kills + one.loads > 0);
    for (workload, contender) in asking().flat_map(|one| evidence.plan.contenders.iter().map(move |who| (one, who))) {
        let of = (&workload.label, &contender.name);
        let kill = kills.iter().find(|one| (&one.workload, &one.contender) == of);
        let load = loads.iter().find(|one| (&one.workload, &one.contender) == of);
        if kill.is_none() && load.is_none() {
            continue;
        }
        let range_of = |values: Option<&Vec<f64>>| values.map_or("-".to_owned(), |values| range(values));
        let cells = [
            contender.name.clone(),
            workload.label.clone(),
            kill.map_or("-".to_owned(), |one| one.t_rw_s.len().to_string()),
            range_of(kill.map(|one| &one.t_conn_s)),
            range_of(kill.map(|one| &one.t_rw_s)),
            range_of(load.map(|one| &one.seconds)),
            load.map_or("-".to_owned(), |one| number(one.rows)),
        ];
        table.push(RowKind::Plain, cells);
    }
    let missing = Block::list(stopped(not_measured(evidence)));
    let table = Block::table(table.without_empty_columns());
    let parts = [(!kills.is_empty(), OF_KILLS), (!loads.is_empty(), OF_LOADS), (true, BEFORE)];
    let about: Vec<&str> = parts.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, text)| text).collect();
    let about = table.is_some().then(|| Block::note(about.join(" ")));
    table.into_iter().chain(missing).chain(about).collect()
}

/// `0.90`, or `0.90–1.10` of several.
fn range(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 2 { number(low) } else { format!("{}–{}", number(low), number(high)) }
}

/// Which of them failed or were left out, with the reason.
fn not_measured(evidence: &Evidence) -> Vec<String> {
    let is_ours = |purpose: &Purpose| matches!(purpose, Purpose::Recovery { .. } | Purpose::Load { .. });
    let left_out = evidence.run.decided(DecisionKind::LeftOut).filter(|one| is_ours(&one.purpose));
    let left_out = left_out.map(|one| format!("Not measured: {} ({})", one.purpose.title(), one.because));
    let failure = |trial: &TrialRecord| {
        let why = &trial.failure.as_ref()?.message;
        Some(format!("Not measured: {} of `{}` ({why})", trial.purpose.title(), trial.contender))
    };
    left_out.chain(evidence.trials.of(is_ours).filter_map(failure)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{BASELINE, CANDIDATE, Story, kinds_run};
    use record::StoredTrials;

    fn evidence() -> Evidence {
        let mut evidence = evidence_of(kinds_run(&Story::default()));
        let mut second = evidence.conclusions.workloads[0].clone();
        second.workload = "tpcc".into();
        second.duels[0].parts = None;
        second.duels[0].overall.verdict = Verdict::Inconclusive;
        evidence.conclusions.workloads.push(second);
        evidence
    }

    fn lines(evidence: &Evidence) -> Vec<String> {
        let texts = |block: Block| match block {
            Block::Para(text) => vec![text.raw()],
            Block::List(items) => items.iter().map(Text::raw).collect(),
            _ => Vec::new(),
        };
        blocks(evidence).unwrap().into_iter().flat_map(texts).collect()
    }

    #[test]
    fn the_answer_has_what_is_slower_and_faster_what_is_open_and_what_to_try() {
        let evidence = evidence();
        let pairs = pairs(&evidence).unwrap();
        let headline = headline(&pairs);
        assert!(headline.contains(&format!("`{CANDIDATE}` is slower than `{BASELINE}` in")), "{headline}");
        assert!(headline.contains("of 2 workloads and in 12 of 24 kinds of statements"), "{headline}");
        let lines = lines(&evidence);
        let begins = |text: &str| lines.iter().any(|line| line.starts_with(text));
        assert!(begins("Slower: ") && begins("Faster: ") && begins("Not decided: tpcc"), "{lines:?}");
        assert!(begins(&format!("{CANDIDATE} answers wrongly: aggregate/06")), "{lines:?}");
        assert!(begins(&format!("{CANDIDATE} cannot run: write/08")), "{lines:?}");
        assert!(begins("To try before the decision: (1) "), "{lines:?}");
        assert_eq!(tone(&pairs), Tone::Mixed);
    }

    #[test]
    fn a_single_workload_has_a_verdict_of_its_own() {
        let mut one = evidence();
        one.conclusions.workloads.pop();
        assert!(!is_one(&one));
    }

    #[test]
    fn kills_and_loads_before_the_first_block_have_a_row_for_each_contender() {
        let mut evidence = evidence();
        assert!(before(&evidence).is_empty());
        (evidence.plan.workloads[0].kills, evidence.plan.workloads[0].loads) = (1, 2);
        let probe = |contender: &str, purpose: Purpose, metrics: &[(&str, f64)]| TrialRecord {
            purpose,
            contender: contender.to_owned(),
            metrics: metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..evidence.trials.measured()[0].clone()
        };
        let kill =
            probe(BASELINE, Purpose::Recovery { kill: 1 }, &[("load_s", 8.0), ("t_conn_s", 0.5), ("t_rw_s", 0.9)]);
        let load = |number: u32, seconds: f64| {
            let metrics = [(LoadRecord::SECONDS, seconds), (LoadRecord::ROWS, 1e5)];
            probe(CANDIDATE, Purpose::Load { number }, &metrics)
        };
        evidence.trials = StoredTrials::new(vec![kill, load(1, 3.0), load(2, 4.0)], None);
        let blocks = before(&evidence);
        let Block::Table(table) = &blocks[0] else { panic!("a table was expected") };
        let row =
            |place: usize| table.rows[place].cells.iter().map(|cell| cell.text.raw()).collect::<Vec<_>>().join("|");
        assert!(row(0).starts_with(&format!("{BASELINE}|micro|")) && row(0).contains("|1|0.500|0.900|-"), "{}", row(0));
        assert!(row(1).ends_with("3.00–4.00|100,000"), "{}", row(1));
    }
}
