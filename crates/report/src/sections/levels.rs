//! Each candidate at each load level: ratios with their intervals, blocks, precision; and each contender by itself.

use std::collections::BTreeSet;

use analysis::{
    COLLECTED_SECONDS, Caveat, Cell, Comparison, HeadToHead, Law, Scaling, Step, Summary, WorkloadConclusions,
    less_is_better,
};
use record::format::{ContenderRecord, Point, point_text};

use super::{Topic, as_title, by_workload, one_answer, precision, stopped};
use crate::Evidence;
use crate::document::{
    Axis, Bar, Block, COLORS, Chart, Column, Dot, Key, Plane, Plot, RowKind, Rows, Scale, Section, Series, Style,
    Table, Text,
};
use crate::verdict;
use crate::wording::{self, count, number, percent};

pub const CPU_USE: &str = "cpu_use";

/// What a reader wants beside throughput, in the order of the table.
const CELL_METRICS: [(&str, &str); 6] = [
    (COLLECTED_SECONDS, "all operations s"),
    ("cpu_us_per_tx", "server CPU µs/tx"),
    ("errors_per_s", "errors/s"),
    ("deferred_work_s", "deferred work done after s"),
    ("adjusted_tps", "tps, deferred work counted"),
    ("adjusted_nopm", "NOPM, deferred work counted"),
];

const ABOUT: &str = "Ratio above 1: the candidate is better. Intervals of levels hold together; one marked t is a plain t interval, \
                     which allows no verdict. Values are geometric means over the trials that are ok.";

pub struct Levels;

impl Topic for Levels {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        Section::of(
            "levels",
            "Results by load level",
            by_workload(evidence, |workload| of_workload(evidence, workload)),
        )
    }
}

fn of_workload(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let mut body = Vec::new();
    let is_main = evidence.conclusions.workloads.len() == 1 && workload.ladders.is_empty();
    // The first screen has it otherwise.
    if !is_main {
        body.extend(throughput(evidence, workload).map(|chart| Block::OnPage(vec![Block::chart(chart)])));
    }
    for duel in &workload.duels {
        if one_answer::is_one(evidence) {
            body.extend(verdict::sentences(evidence, workload, duel).into_iter().map(Block::para));
        }
        // What a ladder adds up is reported step by step; each rung against the base is for the page.
        let blocks = of_duel(evidence, workload, duel, is_main && workload.duels.len() == 1);
        if workload.is_rung(&duel.candidate) { body.push(Block::OnPage(blocks)) } else { body.extend(blocks) }
    }
    body.push(Block::fold("Each contender at each level", vec![Block::Table(cells(workload))]));
    body
}

fn of_duel(evidence: &Evidence, workload: &WorkloadConclusions, duel: &HeadToHead, is_only: bool) -> Vec<Block> {
    let title = format!("`{}` against `{}`: {}", duel.candidate, duel.baseline, wording::primary_title(workload));
    let mut body = vec![Block::heading(title)];
    let charts = [
        forest(evidence, duel).filter(|_| duel.points.len() > 1),
        pairs(evidence, duel).filter(|_| !is_only || duel.points.len() > 1),
    ];
    body.extend(Block::on_page(charts.into_iter().flatten().map(Block::chart).collect()));
    let table = Block::Table(self::table(workload, &workload.metric, &duel.points, &duel.overall));
    // A terminal has it on the first screen.
    body.push(if is_only { Block::OnPage(vec![table]) } else { table });
    body.push(Block::note(ABOUT));
    body.extend(Block::list(stopped(
        wording::difference(workload, duel).into_iter().chain(wording::losses(duel)).collect(),
    )));
    let precise = stopped(precision::sentences(&evidence.plan.method, &workload.metric, duel));
    body.extend(Block::list(precise).map(|list| Block::fold("Precision and cross-checks", vec![list])));
    body.extend(duel.others.iter().map(|other| {
        let table = self::table(workload, &other.metric, &other.points, &other.overall);
        Block::fold(as_title(&wording::other_title(workload, &other.metric)), vec![Block::Table(table)])
    }));
    body
}

/// One row for each level, then all of them together.
pub fn table(workload: &WorkloadConclusions, metric: &str, points: &[Comparison], overall: &Comparison) -> Table {
    let unit = workload.unit(metric);
    let mut table = Table::new([
        variable(workload).map_or_else(|| Column::name("level", 0), |name| Column::number(name, 0)),
        Column::number(format!("{} {unit}", overall.baseline), 2),
        Column::number(format!("{} {unit}", overall.candidate), 2),
        Column::number(ratio_title(overall), 0),
        Column::number(interval_title(overall), 0),
        Column::number("pairs", 3),
        Column::name("verdict", 0),
    ]);
    let together = (points.len() > 1 && !overall.is_withheld).then_some(overall);
    // What holds for all levels stands in the verdict or below the table.
    let of_all = points.first().into_iter().flat_map(|first| &first.caveats);
    let of_all = of_all.filter(|caveat| points.iter().all(|point| point.caveats.contains(caveat)));
    let known: Vec<Caveat> = of_all.chain(together.into_iter().flat_map(|all| &all.caveats)).copied().collect();
    let rows = points.iter().map(|point| (point, RowKind::Plain)).chain(together.map(|all| (all, RowKind::Overall)));
    for (comparison, kind) in rows {
        let extra = match (kind, together) {
            (RowKind::Plain, Some(_)) => wording::caveats(comparison, &known),
            _ => String::new(),
        };
        let verdict = Text::verdict(comparison.verdict, wording::verdict(comparison));
        let verdict = verdict.and_quiet(failures(workload, comparison)).and_quiet(extra);
        let name = match &comparison.point {
            Some(point) => level(workload, point),
            None => wording::sweep(points, comparison),
        };
        let value = |value| crate::document::Cell::from(wording::optional_number(value));
        let interval = wording::marked_interval(comparison);
        table.push(
            kind,
            [
                name.into(),
                value(comparison.baseline_value),
                value(comparison.candidate_value),
                wording::ratio(comparison).into(),
                interval.into(),
                comparison.blocks.to_string().into(),
                verdict.into(),
            ],
        );
    }
    table
}

/// The one thing that varies, where it is one.
pub fn variable(workload: &WorkloadConclusions) -> Option<&str> {
    let name = workload.points.first()?.keys().next()?;
    workload.points.iter().all(|point| point.len() == 1 && point.contains_key(name)).then_some(name)
}

pub fn level(workload: &WorkloadConclusions, point: &Point) -> String {
    match variable(workload).and_then(|name| point.get(name)) {
        Some(value) => value.to_string(),
        None if point.is_empty() => "overall".to_owned(),
        None => point_text(point),
    }
}

fn failures(workload: &WorkloadConclusions, comparison: &Comparison) -> String {
    let ours = |cell: &&Cell| {
        Some(&cell.point) == comparison.point.as_ref()
            && (cell.contender == comparison.baseline || cell.contender == comparison.candidate)
    };
    match workload.cells.iter().filter(ours).map(|cell| cell.trials_failed).sum() {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    }
}

fn cells(workload: &WorkloadConclusions) -> Table {
    let measured = |(metric, _): &(&str, &str)| workload.cells.iter().any(|cell| cell.metrics.contains_key(*metric));
    let metrics: Vec<(&str, &str)> = CELL_METRICS.into_iter().filter(measured).collect();
    let fixed = [
        Column::name("contender", 0),
        Column::name(variable(workload).unwrap_or("level"), 0),
        Column::number("trials", 2),
        Column::number(format!("mean {}", workload.primary.unit), 0),
        Column::number("95 % CI (t)", 1),
    ];
    let rest = metrics.iter().zip(3..).map(|((_, title), priority)| Column::number(*title, priority));
    let row = |cell: &Cell| {
        let mean = |metric: &str| wording::optional_number(cell.metrics.get(metric).map(|summary| summary.mean));
        let failed = if cell.trials_failed == 0 { String::new() } else { format!(" ({} failed)", cell.trials_failed) };
        let bounds = cell.primary.and_then(|summary| Some((summary.low?, summary.high?)));
        let front = [
            cell.contender.clone(),
            level(workload, &cell.point),
            format!("{}{failed}", cell.trials_ok),
            wording::optional_number(cell.primary.map(|summary| summary.mean)),
            bounds.map_or("none".to_owned(), |(low, high)| format!("{}–{}", number(low), number(high))),
        ];
        front.into_iter().chain(metrics.iter().map(|(metric, _)| mean(metric))).collect::<Vec<String>>()
    };
    Table::new(fixed.into_iter().chain(rest).collect::<Vec<_>>()).with_rows(workload.cells.iter().map(row))
}

/// The primary metric over what varies; where each number of cores was tried with several numbers of clients, at the
/// best of them. None at a single level.
pub fn throughput(evidence: &Evidence, workload: &WorkloadConclusions) -> Option<Chart> {
    let title = wording::primary_title(workload);
    let law = workload.scaling.as_ref().filter(|scaling| scaling.laws.iter().any(|law| law.fit.is_ok()));
    let mut caption =
        "Geometric mean over blocks with its 95 % CI (t). Bands that overlap may still hide a clear difference \
                       within blocks: verdicts come from the ratios."
            .to_owned();
    caption += if law.is_some() { " Dashed: the universal scalability law." } else { "" };
    match &workload.scaling {
        Some(scaling) if scaling.searched || variable(workload).is_none() => {
            if scaling.searched {
                caption.insert_str(0, "At the number of clients that suits each number of cores best. ");
            }
            of_steps(evidence, scaling, &title, &workload.primary.unit, caption, |step| Some(&step.value))
        }
        _ => curves(evidence, workload, &workload.metric, &title, caption),
    }
}

/// The share of the cores that the server was given and used.
pub fn cpu_use(evidence: &Evidence, scaling: &Scaling) -> Option<Chart> {
    let caption =
        "Of the cores that the server was given: 1 is all of them all the time. With the 95 % CI (t) of each mean.";
    let title = format!("CPU use over {}", scaling.variable);
    of_steps(evidence, scaling, &title, "share of the cores", caption.to_owned(), |step| step.costs.get(CPU_USE))
}

/// A mean, the number at which it was measured, and how that is called.
type At = (u64, Summary, String);

/// One line of a chart, over ascending numbers.
struct Curve<'a> {
    name: String,
    color: usize,
    dots: Vec<At>,
    law: Option<&'a Law>,
}

/// A metric of each contender over the one number that varies, with the interval of each mean as a band.
pub fn curves(
    evidence: &Evidence,
    workload: &WorkloadConclusions,
    metric: &str,
    title: &str,
    caption: String,
) -> Option<Chart> {
    let variable = variable(workload)?;
    let laws = workload.scaling.as_ref().filter(|_| metric == workload.metric);
    let curve = |(color, contender): (usize, &ContenderRecord)| {
        let name = contender.name.clone();
        let law = laws.and_then(|scaling| scaling.laws.iter().find(|law| law.contender == name));
        Curve { dots: dots(workload, variable, metric, &name), name, color, law }
    };
    let all = evidence.plan.contenders.iter().enumerate().map(curve).collect();
    drawing(variable, workload.unit(metric), all, title, caption)
}

/// What a contender reached at each number, in ascending order of them.
fn dots(workload: &WorkloadConclusions, variable: &str, metric: &str, contender: &str) -> Vec<At> {
    let summary = |cell: &Cell| match metric == workload.metric {
        true => cell.primary,
        false => cell.metrics.get(metric).copied(),
    };
    let ours = workload.cells.iter().filter(|cell| cell.contender == contender);
    ours.filter_map(|cell| Some((*cell.point.get(variable)?, summary(cell)?, point_text(&cell.point)))).collect()
}

/// So many curves of several workloads can be told apart in one chart.
const CURVES_MAX: usize = 2 * COLORS;

/// The primary metric of all workloads in one chart, where they vary the same number and count the same; of two
/// workloads a contender has one colour in both.
pub fn all_workloads(evidence: &Evidence) -> Option<Chart> {
    let workloads = &evidence.conclusions.workloads;
    let contenders = &evidence.plan.contenders;
    let (first, others) = workloads.split_first()?;
    let variable = variable(first)?;
    let is_alike = |other: &WorkloadConclusions| {
        self::variable(other) == Some(variable)
            && other.metric == first.metric
            && other.primary.unit == first.primary.unit
    };
    if workloads.len() * contenders.len() > CURVES_MAX || !others.iter().all(is_alike) {
        return None;
    }
    let step = if workloads.len() == 2 { COLORS.max(contenders.len()) } else { contenders.len() };
    let curves = workloads.iter().enumerate().flat_map(|(row, workload)| {
        contenders.iter().enumerate().map(move |(place, contender)| Curve {
            name: format!("{}, {}", contender.name, workload.workload),
            color: row * step + place,
            dots: dots(workload, variable, &workload.metric, &contender.name),
            law: None,
        })
    });
    let caption = "Geometric mean over blocks with its 95 % CI (t); each workload has a chart of its own below.";
    drawing(variable, &first.primary.unit, curves.collect(), &wording::primary_title(first), caption.to_owned())
}

fn of_steps(
    evidence: &Evidence,
    scaling: &Scaling,
    title: &str,
    unit: &str,
    caption: String,
    value: impl Fn(&Step) -> Option<&Summary>,
) -> Option<Chart> {
    let name = |n: u64| point_text(&Point::from([(scaling.variable.to_owned(), n)]));
    let curve = |(color, contender): (usize, &ContenderRecord)| {
        let ours = scaling.steps.iter().filter(|step| step.contender == contender.name);
        Curve {
            name: contender.name.clone(),
            color,
            dots: ours.filter_map(|step| Some((step.n, *value(step)?, name(step.n)))).collect(),
            law: scaling.laws.iter().find(|law| law.contender == contender.name),
        }
    };
    let all = evidence.plan.contenders.iter().enumerate().map(curve).collect();
    drawing(scaling.variable, unit, all, title, caption)
}

/// None where there is one number alone.
fn drawing(variable: &str, unit: &str, all: Vec<Curve>, title: &str, caption: String) -> Option<Chart> {
    let numbers: BTreeSet<u64> = all.iter().flat_map(|curve| &curve.dots).map(|(n, _, _)| *n).collect();
    let ends = (*numbers.first()?, *numbers.last()?);
    if ends.0 == ends.1 {
        return None;
    }
    // Doubling client counts deserve equal steps.
    let is_log = numbers.iter().all(|value| value.is_power_of_two());
    let legend = all.iter().map(|curve| Key::series(&curve.name, curve.color)).collect();
    let line = |curve: Curve| Series {
        dots: curve.dots.iter().map(|at| dot(&curve.name, unit, at)).collect(),
        law: curve.law.map_or(Vec::new(), |law| self::law(law, ends, is_log)),
        name: curve.name,
        color: curve.color,
        style: Style::Curve,
        marks: Vec::new(),
        mark_title: String::new(),
    };
    let series: Vec<Series> = all.into_iter().map(line).collect();
    let ticks = if numbers.len() <= 10 { numbers.iter().map(|value| *value as f64).collect() } else { Vec::new() };
    let scale = if is_log { Scale::Logarithmic } else { Scale::Span };
    let x_title = if is_log { format!("{variable} (log scale)") } else { variable.to_owned() };
    Some(Chart {
        title: as_title(title),
        legend,
        caption: Text::plain(caption),
        alt: alt(&series, title),
        table: None,
        plot: Plot::Plane(Plane {
            x: Axis { title: x_title, scale, ticks },
            y: Axis { title: unit.to_owned(), scale: Scale::Zero, ticks: Vec::new() },
            series,
            band: None,
            estimate: None,
        }),
    })
}

fn dot(name: &str, unit: &str, (n, summary, place): &At) -> Dot {
    let title = format!("{name}, {place}: {} {unit}, {}", number(summary.mean), count(summary.trials, "trial"));
    Dot { x: *n as f64, y: summary.mean, low: summary.low.map(|low| low.max(0.0)), high: summary.high, title }
}

pub fn legend(evidence: &Evidence) -> Vec<Key> {
    let contenders = evidence.plan.contenders.iter().enumerate();
    contenders.map(|(color, contender)| Key::series(&contender.name, color)).collect()
}

/// `5.5: 306 at 1, 1,383 at 64`: a number of clients is whole, and is written as one.
fn alt(series: &[Series], title: &str) -> String {
    let one = |series: &Series| {
        let (first, last) = (series.dots.first()?, series.dots.last()?);
        Some(format!("{}: {} at {}, {} at {}", series.name, number(first.y), first.x, number(last.y), last.x))
    };
    format!("{title}. {}.", series.iter().filter_map(one).collect::<Vec<_>>().join("; "))
}

/// A contender's law between the numbers that were measured.
fn law(law: &Law, (low, high): (u64, u64), is_log: bool) -> Vec<(f64, f64)> {
    const PIECES: u32 = 48;
    let Ok(fit) = &law.fit else { return Vec::new() };
    let (low, high) = (low as f64, high as f64);
    let place = |piece: u32| {
        let share = f64::from(piece) / f64::from(PIECES);
        let n = if is_log { low * (high / low).powf(share) } else { low + share * (high - low) };
        (n, fit.law.throughput(n))
    };
    (0..=PIECES).map(place).collect()
}

/// Every level's ratio with its intervals, and all of them together below.
fn forest(evidence: &Evidence, duel: &HeadToHead) -> Option<Chart> {
    let together = (duel.points.len() > 1).then_some(&duel.overall);
    let rows = duel.points.iter().chain(together).filter(|row| row.ratio.is_some());
    let bar = |row: &Comparison| Bar {
        label: row.point.as_ref().map_or("overall".to_owned(), point_text),
        tone: row.verdict.into(),
        strong: row.point.is_none(),
        span: None,
        estimate: row.ratio,
        thick: row.low.zip(row.high).filter(|_| row.basis != stats::Basis::Plain),
        thin: row.unadjusted,
        numbers: wording::ratio_only(row),
        title: format!("{}, {}", wording::ratio_with_interval(row), wording::blocks(row)),
    };
    let bars: Vec<Bar> = rows.map(bar).collect();
    let margin = 1.0 + evidence.plan.method.margin;
    (!bars.is_empty()).then(|| Chart {
        title: "Ratio at each level".to_owned(),
        legend: Vec::new(),
        caption: Text::plain(format!(
            "Right of 1 the candidate is better. Thick: the interval that a verdict is based on, which holds for all levels \
             together. Thin: the interval of this row alone. Shaded: differences below the margin of {}.",
            wording::percent(evidence.plan.method.margin)
        )),
        alt: "The ratio at each level with its interval; the table below has the figures.".to_owned(),
        table: None,
        plot: Plot::Rows(Rows {
            x: Axis { title: "ratio (log scale)".to_owned(), scale: Scale::Ratio, ticks: Vec::new() },
            bars,
            margin: Some((1.0 / margin, margin)),
        }),
    })
}

/// The ratio in each block: levels as small dots, all of them together as large ones.
pub fn pairs(evidence: &Evidence, duel: &HeadToHead) -> Option<Chart> {
    let dot = |(block, ratio): &(u32, f64)| Dot {
        x: f64::from(*block),
        y: *ratio,
        title: format!("block {block}: {ratio:.3}"),
        ..Dot::default()
    };
    let series = |style, pairs: Vec<&(u32, f64)>| {
        let dots = pairs.into_iter().map(dot).collect();
        Series {
            name: String::new(),
            color: 0,
            style,
            dots,
            law: Vec::new(),
            marks: Vec::new(),
            mark_title: String::new(),
        }
    };
    let overall = &duel.overall;
    let small =
        if duel.points.len() > 1 { duel.points.iter().flat_map(|row| &row.pairs).collect() } else { Vec::new() };
    let sizes = if small.is_empty() { "" } else { "Large: all levels together; small: single levels. " };
    let blocks = evidence.plan.method.blocks;
    let every = blocks.div_ceil(10).max(1) as usize;
    let mut table = Table::new([Column::name("block", 0), Column::number("ratio", 0)]);
    overall
        .pairs
        .iter()
        .for_each(|(block, ratio)| table.push(RowKind::Plain, [block.to_string(), format!("{ratio:.3}")]));
    (!overall.pairs.is_empty()).then(|| Chart {
        title: "Ratio block by block".to_owned(),
        legend: Vec::new(),
        caption: Text::plain(format!(
            "Every block is a comparison of its own. {sizes}Line: the estimate; shaded: its interval; dashed: no difference."
        )),
        alt: format!("The ratio in each of {}.", count(overall.pairs.len(), "block")),
        table: Some(table),
        plot: Plot::Plane(Plane {
            x: Axis { title: "block".to_owned(), scale: Scale::Span, ticks: (1..=blocks).step_by(every).map(f64::from).collect() },
            y: Axis { title: "ratio".to_owned(), scale: Scale::Ratio, ticks: Vec::new() },
            series: vec![series(Style::FaintDots, small), series(Style::Dots, overall.pairs.iter().collect())],
            band: overall.low.zip(overall.high),
            estimate: overall.ratio,
        }),
    })
}

/// `5.6 / 5.5` where the names are short and a higher value is better.
pub fn ratio_title(comparison: &Comparison) -> String {
    let title = format!("{} / {}", comparison.candidate, comparison.baseline);
    if title.chars().count() > 16 || less_is_better(&comparison.metric) { "ratio".to_owned() } else { title }
}

/// Of several decisions at once: how sure all intervals together are.
pub fn interval_title(comparison: &Comparison) -> String {
    format!("{} CI", percent(comparison.confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Story, cores_run, many_levels_run, stored_run};

    fn series(chart: &Chart) -> Vec<(&str, usize, usize)> {
        let Plot::Plane(plane) = &chart.plot else { panic!("no plane") };
        plane.series.iter().map(|one| (one.name.as_str(), one.color, one.dots.len())).collect()
    }

    #[test]
    fn two_workloads_stand_in_one_chart_and_a_contender_has_one_colour_in_both() {
        let evidence = evidence_of(many_levels_run(&Story::default()));
        let chart = all_workloads(&evidence).expect("both vary the clients and count transactions");
        let candidate = fixtures::CANDIDATE;
        let named = |workload: &str, contender: &str| format!("{contender}, {workload}");
        let names = [
            named("oltp_read_write", "5.5"),
            named("oltp_read_write", candidate),
            named("oltp_point_select", "5.5"),
            named("oltp_point_select", candidate),
        ];
        let expected: Vec<_> = names.iter().map(String::as_str).zip([0, 1, COLORS, COLORS + 1]).collect();
        assert_eq!(series(&chart), expected.into_iter().map(|(name, color)| (name, color, 26)).collect::<Vec<_>>());
        assert_eq!(chart.legend.iter().map(|key| key.class.as_str()).collect::<Vec<_>>(), ["k0", "k1", "k6", "k7"]);
    }

    #[test]
    fn workloads_of_different_units_or_numbers_share_no_chart() {
        let mut evidence = evidence_of(many_levels_run(&Story::default()));
        evidence.conclusions.workloads[1].primary.unit = "NOPM".into();
        assert!(all_workloads(&evidence).is_none());
        let mut evidence = evidence_of(many_levels_run(&Story::default()));
        evidence.conclusions.workloads[1].points =
            evidence_of(cores_run(&Story::default())).conclusions.workloads[0].points.clone();
        assert!(all_workloads(&evidence).is_none());
    }

    #[test]
    fn a_number_of_clients_is_whole_in_the_text_of_a_chart() {
        let evidence = evidence_of(stored_run(&Story::default()));
        let chart = throughput(&evidence, &evidence.conclusions.workloads[0]).unwrap();
        assert!(chart.alt.contains(" at 64.") && !chart.alt.contains("64.0"), "{}", chart.alt);
    }
}
