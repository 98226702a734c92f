//! Ladders: every rung over the one below and over the base, what the steps are worth elsewhere, and two side by side.
//!
//! What a step brought, and whether it is shown, the analysis has decided.

use std::collections::BTreeSet;

use analysis::{
    Caveat, Comparison, Gain, Interaction, Ladder, LevelChange, Rung, Stage, StageKind, Verdict, WorkloadConclusions,
};
use record::format::ladder::ChangeRecord;

use super::waterfall::{Mark, interval, ratio, waterfall};
use super::{Topic, by_workload, stopped};
use crate::Evidence;
use crate::document::{Block, Cell, Column, Section, Table, Text};
use crate::sentences::one_line;
use crate::verdict::places;
use crate::wording::{self, optional_number, ratio_text};

pub struct Ladders;

impl Topic for Ladders {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let is_only = evidence.conclusions.workloads.len() == 1;
        let of_workload = |workload: &WorkloadConclusions| {
            let ladders = workload.ladders.iter().enumerate();
            let mut body: Vec<Block> =
                ladders.flat_map(|(place, one)| of_ladder(evidence, workload, one, is_only && place == 0)).collect();
            let stages = Table::new(stage_columns(workload)).with_rows(workload.stages.iter().map(stage));
            body.extend(Block::table(stages).into_iter().flat_map(|table| [Block::heading(STAGES_TITLE), table]));
            body
        };
        Section::of("ladder", "The ladder", by_workload(evidence, of_workload))
    }
}

/// The first one of a run stands on the first screen, with its table.
fn of_ladder(evidence: &Evidence, workload: &WorkloadConclusions, ladder: &Ladder, is_first: bool) -> Vec<Block> {
    let mut body = vec![Block::heading(title(workload, ladder))];
    body.extend(Block::list(changes(ladder)));
    let chart = waterfall(workload, ladder, table(evidence, workload, ladder)).map(Block::chart);
    let table = || Block::Table(self::table(evidence, workload, ladder));
    match chart {
        Some(_) if is_first => body.push(Block::OnPage(vec![table()])),
        chart => body.push(chart.unwrap_or_else(table)),
    }
    body.push(Block::note(about(ladder) + "."));
    body.extend(Block::list(stopped(sentences(workload, ladder))));
    if !ladder.interactions.is_empty() {
        let numbers = INTERACTIONS.iter().zip([0, 2, 3, 1, 3, 0, 1]).map(|(title, priority)| match *title {
            "step" => Column::name(*title, 0),
            title => Column::number(title, priority),
        });
        let columns = numbers.chain([Column::name("order", 0)]).collect::<Vec<_>>();
        body.push(Block::heading("Each step against the final configuration without it"));
        body.push(Block::Table(Table::new(columns).with_rows(ladder.interactions.iter().map(interaction))));
        body.extend(Block::list(stopped(not_left_out(ladder))));
    }
    body
}

/// Where the class of a rung stands; what its crashes took stands behind it.
const DURABILITY_COLUMN: usize = 6;

fn has_crashes(evidence: &Evidence) -> bool {
    !evidence.conclusions.durability.is_empty()
}

/// From the restart to the first commit, the median over the crashes of a rung.
fn first_commit(evidence: &Evidence, rung: &str) -> String {
    let all = &evidence.conclusions.durability;
    optional_number(all.iter().find(|one| one.contender == rung).and_then(|one| one.recovery.t_rw_s))
}

/// The base, then every rung.
pub fn table(evidence: &Evidence, workload: &WorkloadConclusions, ladder: &Ladder) -> Table {
    let mut columns = vec![
        Column::name("rung", 0),
        Column::number(workload.primary.unit.as_str(), 2),
        Column::number("step", 0),
        Column::number("95 % CI", 0),
        Column::number("over base", 1),
        Column::number("95 % CI", 3),
        Column::name("durability", 4),
        Column::name("verdict", 0),
    ];
    if has_crashes(evidence) {
        columns.insert(DURABILITY_COLUMN + 1, Column::number("first commit s", 1));
    }
    Table::new(columns).with_rows(rows(evidence, ladder))
}

/// `tpcc: ladder on `5.5`, committed New-Orders per minute (NOPM)`.
fn title(workload: &WorkloadConclusions, ladder: &Ladder) -> String {
    format!("{}: ladder on `{}`, {}", workload.workload, ladder.base, wording::primary_title(workload))
}

/// What each step does, in lines: the names of settings are too long for a column.
fn changes(ladder: &Ladder) -> Vec<String> {
    let line = |rung: &Rung| {
        let changes: Vec<String> = rung.changes.iter().map(ChangeRecord::text).collect();
        format!("`{}`: {}", rung.contender, changes.join(", "))
    };
    ladder.rungs.iter().map(line).collect()
}

/// The base, then every rung.
fn rows(evidence: &Evidence, ladder: &Ladder) -> Vec<Vec<Cell>> {
    let class = |name: &str, class: &Option<String>| {
        let claimed = class.as_deref().unwrap_or("not known");
        match evidence.conclusions.measured_class(name) {
            Some(measured) => format!("{claimed} claimed, {} measured", measured.text()),
            None => format!("{claimed} claimed"),
        }
    };
    let nothing = || vec!["-".to_owned(), "-".to_owned()];
    let of_gain = |gain: &Option<Gain>| gain.as_ref().map_or_else(nothing, |gain| vec![ratio(gain), interval(gain)]);
    let row = |name: &str, value, gains: [&Option<Gain>; 2], here: &Option<String>, verdict: Text| {
        let gains = gains.into_iter().flat_map(of_gain);
        let front = [name.to_owned(), optional_number(value)];
        let crashes = has_crashes(evidence).then(|| first_commit(evidence, name));
        let figures = front.into_iter().chain(gains).chain([class(name, here)]).chain(crashes).map(Cell::from);
        figures.chain([verdict.into()]).collect::<Vec<_>>()
    };
    let base = row(&ladder.base, ladder.base_value, [&None, &None], &ladder.base_class, Text::plain("baseline"));
    let rung =
        |rung: &Rung| row(&rung.contender, rung.value, [&rung.gain, &rung.cumulative], &rung.class, verdict(rung));
    std::iter::once(base).chain(ladder.rungs.iter().map(rung)).collect()
}

/// The verdict about a step, and what a reader must not overlook.
fn verdict(rung: &Rung) -> Text {
    let Some(step) = &rung.step else { return Text::plain("not measured") };
    let verdict = Text::verdict(step.verdict, wording::verdict(step));
    let levels = at_levels(step, &rung.points);
    let verdict = verdict.and_quiet(levels.as_str());
    match (&rung.trade, Mark::of(rung)) {
        (Some((before, here)), _) => verdict.and_quiet(format!("; durability {before} to {here}")),
        (None, Mark::NotShown) if levels.is_empty() => verdict.and_quiet("; no gain shown"),
        (None, _) => verdict,
    }
}

/// `; faster at 10 and 30 clients; slower at 200 clients`: what the verdict about all levels would hide.
fn at_levels(overall: &Comparison, points: &[Comparison]) -> String {
    let told = [(Verdict::Faster, "faster"), (Verdict::Slower, "slower")].into_iter().map(|(word, text)| {
        let decided: Vec<&Comparison> =
            points.iter().filter(|point| point.verdict == word && overall.verdict != word).collect();
        match decided.is_empty() {
            true => String::new(),
            false => format!("; {text} at {}", places(decided.iter().filter_map(|point| point.point.as_ref()))),
        }
    });
    told.collect()
}

/// What the table does not say: the whole, the safe part of it, trades, who is missing, and caveats.
fn sentences(workload: &WorkloadConclusions, ladder: &Ladder) -> Vec<String> {
    let missing = ladder.rungs.iter().filter_map(|rung| {
        Some(format!("`{}` was not measured: {}", rung.contender, one_line(rung.refused.as_ref()?)))
    });
    let mut lines: Vec<String> = missing.collect();
    lines.extend(levels(ladder));
    lines.extend(whole(ladder));
    lines.extend(product(ladder));
    lines.extend(trades(ladder));
    lines.extend(caveats(workload, ladder));
    lines
}

/// The releases that changed the level; nothing of a ladder of settings.
pub fn levels(ladder: &Ladder) -> Vec<String> {
    let Some(changes) = &ladder.levels else { return Vec::new() };
    if changes.is_empty() {
        let text = format!("No release up to `{}` is shown to have changed the level.", ladder.top);
        return vec![text];
    }
    let line = |change: &LevelChange| {
        let word = if change.after < change.before { "falls" } else { "rises" };
        let (before, after) = (ratio_text(change.before), ratio_text(change.after));
        let (at, base) = (&change.contender, &ladder.base);
        format!("At `{at}` the level {word} from {before}x to {after}x of `{base}` (p {:.3}).", change.p)
    };
    changes.iter().map(line).collect()
}

/// What all steps come to, and what is left without those that lower durability.
pub fn whole(ladder: &Ladder) -> Vec<String> {
    let last = ladder.rungs.iter().rfind(|rung| rung.cumulative.is_some());
    let whole = last.and_then(|rung| Some((rung, rung.cumulative.as_ref()?)));
    let all = whole.map(|(rung, gain)| {
        format!(
            "All steps up to `{}` together give {}x the throughput of `{}`{}.",
            rung.contender,
            ratio(gain),
            ladder.base,
            bounds(gain)
        )
    });
    let safe = ladder.safe_gain.as_ref().map(|safe| match ladder.rungs.iter().any(|rung| rung.trade.is_some()) {
        true => format!("Without the steps that lower durability it is {}x{}.", ratio(safe), bounds(safe)),
        false => "No step lowers durability.".to_owned(),
    });
    all.into_iter().chain(safe).collect()
}

/// ` (95 % CI 1.80–1.95)`
fn bounds(gain: &Gain) -> String {
    if gain.bounds.is_some() { format!(" (95 % CI {})", interval(gain)) } else { String::new() }
}

/// Nothing where the product is that of all steps together.
fn product(ladder: &Ladder) -> Option<String> {
    let whole = ladder.rungs.iter().rev().find_map(|rung| rung.cumulative.as_ref());
    match ladder.product.map(ratio_text) {
        Some(product) if whole.is_some_and(|whole| ratio(whole) == product) => None,
        Some(product) => Some(format!("The steps multiply to {product}x")),
        None => Some("The steps do not multiply to the whole, because not every block has every rung".to_owned()),
    }
}

fn trades(ladder: &Ladder) -> Vec<String> {
    let rungs = ladder.rungs.iter().enumerate();
    let trade = |(place, rung): (usize, &Rung)| {
        let (before, here) = rung.trade.as_ref()?;
        let after = ladder.rungs[place + 1..].iter().any(|rung| rung.step.is_some());
        let after = if after { "; the steps above it are measured on top of it" } else { "" };
        Some(format!(
            "`{}` is a trade: it lowers durability from {before} to {here}, so the gain without the trades leaves it out{after}",
            rung.contender
        ))
    };
    rungs.filter_map(trade).collect()
}

/// Those that the first screen lacks.
fn caveats(workload: &WorkloadConclusions, ladder: &Ladder) -> Option<String> {
    let known = |caveat: &Caveat| workload.duels.iter().any(|duel| duel.overall.caveats.contains(caveat));
    let of_steps = ladder.rungs.iter().filter_map(|rung| rung.step.as_ref()).flat_map(|step| &step.caveats);
    // That the promise differs stands in the table.
    let all: BTreeSet<&Caveat> =
        of_steps.filter(|caveat| **caveat != Caveat::DurabilityDiffers && !known(caveat)).collect();
    let words: Vec<&str> = all.iter().map(|caveat| caveat.as_str()).collect();
    (!words.is_empty()).then(|| format!("Caveats of these verdicts: {}", words.join("; ")))
}

/// How to read the table.
fn about(ladder: &Ladder) -> String {
    let blocks = ladder.rungs.iter().filter_map(|rung| rung.gain).map(|gain| gain.blocks);
    let blocks = match (blocks.clone().min(), blocks.max()) {
        (Some(least), Some(most)) if least == most => wording::count(least, "block"),
        (Some(least), Some(most)) => format!("{least} to {most} blocks"),
        _ => "no block".to_owned(),
    };
    let levels = match ladder.levels {
        Some(_) => "; changes of level by a permutation test within blocks, p at most 0.01",
        None => "",
    };
    format!(
        "Gains are means over {blocks}; the intervals of all steps hold together; one marked t is a plain t interval, which allows no verdict{levels}"
    )
}

const INTERACTIONS: [&str; 7] =
    ["step", "in the ladder", "95 % CI", "at the end", "95 % CI", "end / ladder", "95 % CI"];

fn interaction(one: &Interaction) -> Vec<String> {
    let nothing = || vec!["-".to_owned(), "-".to_owned()];
    let of_gain = |gain: &Option<Gain>| gain.as_ref().map_or_else(nothing, |gain| vec![ratio(gain), interval(gain)]);
    let order = match one.interaction {
        _ if one.order_matters() => "matters",
        None => "not known",
        Some(_) => "no effect shown",
    };
    let gains = [&one.in_ladder, &one.at_top, &one.interaction].into_iter().flat_map(of_gain);
    std::iter::once(one.step.clone()).chain(gains).chain([order.to_owned()]).collect()
}

/// What could not be left out.
fn not_left_out(ladder: &Ladder) -> Vec<String> {
    let refused =
        |one: &Interaction| Some(format!("`{}` was not measured: {}", one.contender, one_line(one.refused.as_ref()?)));
    ladder.interactions.iter().filter_map(refused).collect()
}

fn stage_columns(workload: &WorkloadConclusions) -> Vec<Column> {
    let unit = workload.primary.unit.as_str();
    vec![
        Column::name("stage", 0),
        Column::name("contender", 0),
        Column::number(unit, 2),
        Column::name("against", 1),
        Column::number(unit, 3),
        Column::number("ratio, 95 % CI", 0),
        Column::name("verdict", 0),
    ]
}

/// The second ladder at a stage beside the first one.
fn stage(stage: &Stage) -> Vec<Cell> {
    let comparison = &stage.comparison;
    let name = match stage.kind {
        StageKind::Base => "before the first step",
        StageKind::Safe => "tuned, promise kept",
        StageKind::Top => "tuned as far as it goes",
    };
    let with_class = |name: &str, class: &Option<String>| match class {
        Some(class) => format!("{name} ({class})"),
        None => name.to_owned(),
    };
    let verdict = Text::verdict(comparison.verdict, wording::verdict(comparison));
    let texts = [
        name.to_owned(),
        with_class(&comparison.candidate, &stage.classes.1),
        optional_number(comparison.candidate_value),
        with_class(&comparison.baseline, &stage.classes.0),
        optional_number(comparison.baseline_value),
        format!("{}, {}", wording::ratio_only(comparison), wording::interval(comparison).unwrap_or("-".to_owned())),
    ];
    let verdict = verdict.and_quiet(at_levels(comparison, &stage.points));
    let verdict = Cell::from(verdict.and_quiet(wording::caveats(comparison, &[])));
    texts.into_iter().map(Cell::from).chain([verdict]).collect()
}

const STAGES_TITLE: &str = "Ladders side by side, stage by stage";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use analysis::durability::durability;
    use fixtures::{PLANTED, Story, ladder_run};
    use record::format::Purpose;
    use record::format::crash::{CrashKind, FIRST_COMMIT};

    #[test]
    fn crashes_give_each_rung_the_time_to_its_first_commit() {
        let titles = |evidence: &Evidence| {
            let workload = &evidence.conclusions.workloads[0];
            let table = table(evidence, workload, &workload.ladders[0]);
            let cells = table.rows.iter().map(|row| row.cells.len()).collect::<Vec<_>>();
            assert!(cells.iter().all(|cells| *cells == table.columns.len()), "{cells:?}");
            table.columns.into_iter().map(|column| column.title).collect::<Vec<_>>()
        };
        let mut evidence = evidence_of(ladder_run(&Story::default(), PLANTED));
        assert!(!titles(&evidence).contains(&"first commit s".to_owned()));
        let purpose = Purpose::Crash { kind: CrashKind::Kill, after_ms: 1_000 };
        let (mut plan, mut trials) = (evidence.plan.clone(), evidence.trials.all());
        plan.trials.iter_mut().for_each(|trial| trial.purpose = purpose.clone());
        for trial in &mut trials {
            trial.purpose = purpose.clone();
            trial.metrics.insert(FIRST_COMMIT.to_owned(), 0.5);
        }
        evidence.conclusions.durability = durability(&plan, &evidence.run, &trials);
        assert_eq!(titles(&evidence)[DURABILITY_COLUMN..][..2], ["durability", "first commit s"]);
        let base = evidence.conclusions.workloads[0].ladders[0].base.clone();
        assert_eq!(first_commit(&evidence, &base), "0.500");
    }
}
