//! What crashes have shown: which commits were kept, beside what the settings promise, and how long servers were away.

use analysis::durability::{self, CrashTally, Durability, PerRedo, RecoveryFigures};
use record::format::crash::{CrashKind, INTEGRITY_ERRORS, PARTIAL, PHANTOM, RESURRECTED, WRONG_BALANCES, WRONG_LISTS};

use super::{Topic, levels};
use crate::Evidence;
use crate::document::{Axis, Block, Chart, Column, Dot, Plane, Plot, Scale, Section, Series, Style, Table, Text};
use crate::wording::{count, count_of, joined, number, optional_number, percent};

pub struct Recovery;

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

const UNKNOWN: &str = "a class that is not known";
const CLASSES: &str = "D3: commits survive an OS crash and a kill; D2: they survive a kill, an OS crash may lose the last \
    of them; D1: a kill may lose the last of them; D0: the data may contradict themselves.";
const MODELS: &str = "A kill ends all processes of the server at once. An OS crash shuts down the file system of the \
    data: what was never synced is gone, and what the disk was given counts as kept, so a volatile cache of the disk \
    is not part of it.";
const TIMES: &str = "Medians over the crashes, from the restart of the server: to the first login and query, to the \
    first commit, and to the first 5 s with at least 95 % of the throughput before the crash.";

impl Topic for Recovery {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let all = &named(&evidence.conclusions.durability);
        let told = all.iter().flat_map(sentences).chain(durability::pooled(all).map(larger_logs));
        let mut body: Vec<Block> = told.map(Block::para).collect();
        body.extend(Block::table(crashes(all)));
        body.extend(Block::table(recovery(all)));
        body.extend(charts(evidence, all).into_iter().map(Block::chart));
        if !body.is_empty() {
            body.extend([CLASSES, MODELS, TIMES].map(Block::note));
        }
        Section::of("recovery", "Durability and recovery", body)
    }
}

/// Under several workloads each is named with its own.
fn named(all: &[Durability]) -> Vec<Durability> {
    let is_several = all.iter().any(|one| one.workload != all[0].workload);
    let name = |one: &Durability| match is_several {
        true => format!("{} under {}", one.contender, one.workload),
        false => one.contender.clone(),
    };
    all.iter().map(|one| Durability { contender: name(one), ..one.clone() }).collect()
}

/// For the first screen: what was broken or damaged in sentences, and a row of each contender.
pub fn first(evidence: &Evidence) -> Vec<Block> {
    let all = &named(&evidence.conclusions.durability);
    let is_told = |one: &&Durability| one.is_broken || one.measured.is_none();
    let broken = all.iter().filter(is_told).map(class);
    let damaged = all.iter().flat_map(|one| one.crashes.iter().filter_map(|tally| damage(&one.contender, tally)));
    let sentences = broken.chain(damaged).map(Block::para);
    sentences.chain(Block::table(brief(all))).chain(bound(all).map(Block::para)).collect()
}

/// What the crashes of each contender come to; how many lost anything by kind of crash.
fn brief(all: &[Durability]) -> Table {
    let columns = [
        Column::name("contender", 0),
        Column::name("promised", 2),
        Column::name("measured", 0),
        Column::number("kills with a loss", 0),
        Column::number("OS crashes with a loss", 0),
        Column::number("lost commits", 0),
        Column::number("first commit s", 1),
    ];
    let row = |one: &Durability| {
        let losing = |kind: CrashKind| {
            let tally = one.crashes.iter().find(|tally| tally.kind == kind && tally.crashes > 0);
            tally.map_or("-".to_owned(), |tally| format!("{} of {}", tally.losing, tally.crashes))
        };
        [
            one.contender.clone(),
            claimed(one),
            one.measured.map_or("-".to_owned(), |measured| measured.text()),
            losing(CrashKind::Kill),
            losing(CrashKind::Os),
            whole(one.crashes.iter().map(|tally| tally.lost).sum()),
            optional_number(one.recovery.t_rw_s),
        ]
    };
    Table::new(columns).with_rows(all.iter().map(row)).without_empty_columns()
}

/// The weakest of the bounds: of the contender with the fewest crashes without a loss.
fn bound(all: &[Durability]) -> Option<String> {
    let bounds = all.iter().flat_map(|one| &one.crashes).filter_map(|tally| tally.loss_probability_below);
    let weakest = bounds.max_by(f64::total_cmp)?;
    Some(format!(
        "Where no crash of a kind lost commits, the probability that one does is below {} with 95 % confidence.",
        percent(weakest)
    ))
}

fn claimed(one: &Durability) -> String {
    one.claimed.clone().unwrap_or_else(|| "-".to_owned())
}

fn sentences(one: &Durability) -> Vec<String> {
    let damage = one.crashes.iter().filter_map(|tally| damage(&one.contender, tally));
    let away = away(&one.contender, &one.recovery);
    let losses = format!("{} {}", class(one), losses(one));
    std::iter::once(losses).chain(damage).chain(away).chain(checked(one)).collect()
}

/// `` `A` promises D3 by its settings, and no crash has shown less. ``
fn class(one: &Durability) -> String {
    let contender = &one.contender;
    let claimed = one.claimed.as_deref().unwrap_or(UNKNOWN);
    let Some(measured) = one.measured else {
        return format!("`{contender}` promises {claimed} by its settings; no crash was followed to its end.");
    };
    let class = measured.text();
    if one.is_broken {
        return format!("`{contender}` promises {claimed} by its settings and does not keep it: measured {class}.");
    }
    format!("`{contender}` promises {claimed} by its settings; measured {class}.")
}

fn losses(one: &Durability) -> String {
    one.crashes.iter().filter(|tally| tally.crashes > 0).map(loss).collect::<Vec<_>>().join(" ")
}

/// A count, thousands set apart.
fn whole(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { number(count as f64) }
}

fn crashes_of(kind: CrashKind, crashes: usize) -> String {
    match kind {
        CrashKind::Kill => count(crashes, "kill"),
        CrashKind::Os => count_of(crashes, "OS crash", "OS crashes"),
    }
}

/// `30 kills lost no acknowledged commit: with 95 % confidence fewer than 9.5 % of kills lose any.`
fn loss(tally: &CrashTally) -> String {
    let crashes = crashes_of(tally.kind, tally.crashes);
    if let Some(below) = tally.loss_probability_below {
        return format!(
            "{crashes} lost none of {} acknowledged commits: with 95 % confidence the probability that one loses commits \
             is below {}.",
            whole(tally.acknowledged),
            percent(below)
        );
    }
    let window = tally.window_s.map(|window| format!(", of at most the last {} s", number(window)));
    format!(
        "{} of {crashes} lost commits: {} of {} that were acknowledged{}.",
        tally.losing,
        whole(tally.lost),
        whole(tally.acknowledged),
        window.unwrap_or_default()
    )
}

/// What contradicts itself, and servers that did not come back.
fn damage(contender: &str, tally: &CrashTally) -> Option<String> {
    let found = tally.damage.iter().map(|(metric, found)| damaged(metric, *found));
    let gone =
        (tally.not_restarted > 0).then(|| format!("no restart after {}", crashes_of(tally.kind, tally.not_restarted)));
    let all: Vec<String> = found.chain(gone).collect();
    let crashes = crashes_of(tally.kind, tally.crashes);
    (!all.is_empty()).then(|| format!("`{contender}` was damaged by {crashes}: {}.", joined(all)))
}

fn damaged(metric: &str, found: u64) -> String {
    let (one, many) = match metric {
        PHANTOM => ("transaction that no client sent", "transactions that no client sent"),
        RESURRECTED => ("transaction that was reported as aborted", "transactions that were reported as aborted"),
        PARTIAL => ("transaction with some of its effects only", "transactions with some of their effects only"),
        WRONG_BALANCES => ("account with a wrong balance", "accounts with a wrong balance"),
        WRONG_LISTS => ("list with gaps or out of order", "lists with gaps or out of order"),
        INTEGRITY_ERRORS => ("error of the engine's own check", "errors of the engine's own check"),
        other => (other, other),
    };
    count_of(found as usize, one, many)
}

/// Throughput and recovery time as a pair, and how the second follows the redo log.
fn away(contender: &str, figures: &RecoveryFigures) -> Option<String> {
    let (tps, t_rw_s, longest_s) = (figures.tps?, figures.t_rw_s?, figures.t_rw_s_max?);
    let mut text = format!(
        "`{contender}` committed {} transactions per second before the crash and its first one {} s after the restart \
         (median; longest {} s).",
        number(tps),
        number(t_rw_s),
        number(longest_s)
    );
    if let Some(commits) = figures.work_commits {
        text += &format!(" These are of its workload, beside the ledger: {} in all crashes.", whole(commits));
    }
    if let Some(per) = figures.per_redo {
        let crashes = count_of(per.crashes, "crash", "crashes");
        let bounds = format!("95 % CI {} to {}", number(per.low), number(per.high));
        text += &match per.low > 0.0 || per.high < 0.0 {
            true => format!(
                " Each GiB of redo log since the last checkpoint adds {} s ({bounds}, {crashes}).",
                number(per.seconds_per_gib)
            ),
            false => {
                format!(" It is not shown that more redo log takes longer (seconds for each GiB: {bounds}, {crashes}).")
            }
        };
    }
    Some(text)
}

/// By what its tables were checked, beside the comparison with the ledger.
fn checked(one: &Durability) -> Option<String> {
    one.recovery.t_rw_s?;
    let contender = &one.contender;
    Some(match &one.integrity_check {
        Some(check) => format!("The tables of `{contender}` were checked by {check}."),
        None => format!("`{contender}` has no check of its own tables here."),
    })
}

/// Whether more redo log means a longer recovery, over all contenders.
fn larger_logs(per: PerRedo) -> String {
    let answer = match (per.low > 0.0, per.high < 0.0) {
        (true, _) => "more redo log slows recovery",
        (_, true) => "more redo log does not slow recovery",
        _ => "it is not shown that more redo log slows recovery",
    };
    format!(
        "Over all contenders, {answer}: {} s to the first commit for each GiB of redo log since the last checkpoint \
         (95 % CI {} to {}, {}).",
        number(per.seconds_per_gib),
        number(per.low),
        number(per.high),
        count_of(per.crashes, "crash", "crashes")
    )
}

fn crashes(all: &[Durability]) -> Table {
    let columns = [
        Column::name("contender", 0),
        Column::name("crash", 0),
        Column::number("claimed", 1),
        Column::number("measured", 0),
        Column::number("crashes", 3),
        Column::number("with a loss", 0),
        Column::number("lost commits", 0),
        Column::number("of", 2),
        Column::number("window s", 1),
        Column::number("probability below", 4),
        Column::number("wrong", 2),
    ];
    let row = |one: &Durability, tally: &CrashTally| {
        let damage = tally.damage.iter().map(|(_, found)| found).sum::<u64>() + tally.not_restarted as u64;
        [
            one.contender.clone(),
            tally.kind.title().to_owned(),
            claimed(one),
            one.measured.map_or("-".to_owned(), |measured| measured.text()),
            tally.crashes.to_string(),
            tally.losing.to_string(),
            whole(tally.lost),
            whole(tally.acknowledged),
            optional_number(tally.window_s),
            tally.loss_probability_below.map_or("-".to_owned(), percent),
            damage.to_string(),
        ]
    };
    let rows = all.iter().flat_map(|one| one.crashes.iter().map(move |tally| row(one, tally)));
    Table::new(columns).with_rows(rows)
}

fn recovery(all: &[Durability]) -> Table {
    let titles = ["contender", "tps before", "first login s", "first commit s", "full rate s", "redo MiB", "s per GiB"];
    let row = |one: &Durability| {
        let figures = &one.recovery;
        let per_redo = figures
            .per_redo
            .map(|per| format!("{} ({} to {})", number(per.seconds_per_gib), number(per.low), number(per.high)));
        figures.t_rw_s.map(|_| {
            [
                one.contender.clone(),
                optional_number(figures.tps),
                optional_number(figures.t_conn_s),
                optional_number(figures.t_rw_s),
                optional_number(figures.t_95_s),
                optional_number(figures.redo_bytes.map(|bytes| bytes / MIB)),
                per_redo.unwrap_or_else(|| "-".to_owned()),
            ]
        })
    };
    Table::of_numbers(titles).with_rows(all.iter().filter_map(row))
}

fn charts(evidence: &Evidence, all: &[Durability]) -> Vec<Chart> {
    // Contenders in turn, workload by workload.
    let colored = || all.iter().enumerate().map(|(index, one)| (index % evidence.plan.contenders.len(), one));
    let redo: Vec<Series> = colored().flat_map(|(color, one)| over_redo(color, one)).collect();
    let pairs: Vec<Series> = colored().filter_map(|(color, one)| pair(color, one)).collect();
    let charts = [
        (
            redo,
            "Recovery time over redo log",
            "redo log since the last checkpoint (GiB)",
            "A small dot for each crash, a large one for the medians of a contender with the 95 % interval of the time; \
             lines are the slope of a contender.",
        ),
        (
            pairs,
            "Throughput and recovery time",
            "transactions per second before the crash",
            "Medians, with the 95 % interval of the time: to the right is faster at work, lower is sooner back.",
        ),
    ];
    let drawn = charts.into_iter().filter(|(series, ..)| !series.is_empty());
    drawn.map(|(series, title, x, caption)| chart(evidence, series, title, x, caption)).collect()
}

/// Nothing where the engine does not show its log.
fn over_redo(color: usize, one: &Durability) -> Vec<Series> {
    let pairs: Vec<(f64, f64)> = one.recovery.pairs.iter().map(|(bytes, seconds)| (bytes / GIB, *seconds)).collect();
    let Some(median) = one.recovery.redo_bytes.filter(|_| !pairs.is_empty()) else { return Vec::new() };
    let (first, last) = pairs.iter().fold((f64::MAX, f64::MIN), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let line = one.recovery.per_redo.map(|per| [first, last].map(|x| (x, per.intercept_s + per.seconds_per_gib * x)));
    let small = Series { style: Style::FaintDots, ..dots(color, &one.contender, &pairs) };
    let medians = with_interval(color, one, median / GIB);
    [Some(small), medians.map(|medians| Series { law: line.into_iter().flatten().collect(), ..medians })]
        .into_iter()
        .flatten()
        .collect()
}

fn pair(color: usize, one: &Durability) -> Option<Series> {
    with_interval(color, one, one.recovery.tps?)
}

/// The median time to the first commit at this place, with its interval.
fn with_interval(color: usize, one: &Durability, x: f64) -> Option<Series> {
    let RecoveryFigures { t_rw_s, t_rw_s_low: low, t_rw_s_high: high, .. } = one.recovery;
    let mut series = dots(color, &one.contender, &[(x, t_rw_s?)]);
    series.dots.iter_mut().for_each(|dot| (dot.low, dot.high) = (low, high));
    Some(series)
}

fn dots(color: usize, name: &str, places: &[(f64, f64)]) -> Series {
    let dot = |(x, y): &(f64, f64)| Dot { x: *x, y: *y, title: format!("{name}: {} s", number(*y)), ..Dot::default() };
    Series {
        name: name.to_owned(),
        color,
        style: Style::Dots,
        dots: places.iter().map(dot).collect(),
        law: Vec::new(),
        marks: Vec::new(),
        mark_title: String::new(),
    }
}

fn chart(evidence: &Evidence, series: Vec<Series>, title: &str, x: &str, caption: &str) -> Chart {
    Chart {
        title: title.to_owned(),
        legend: levels::legend(evidence),
        caption: Text::plain(caption),
        alt: format!("{title}: seconds from the restart to the first commit over {x}, one colour for each contender."),
        // The table of recovery times has the figures.
        table: None,
        plot: Plot::Plane(Plane {
            x: Axis { title: x.to_owned(), scale: Scale::Zero, ticks: Vec::new() },
            y: Axis { title: "first commit (s)".to_owned(), scale: Scale::Zero, ticks: Vec::new() },
            series,
            band: None,
            estimate: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::durability::{ClassBound, MeasuredClass};

    fn clean(kind: CrashKind) -> CrashTally {
        CrashTally {
            kind,
            crashes: 30,
            not_restarted: 0,
            failed: 0,
            losing: 0,
            acknowledged: 12_647,
            lost: 0,
            holes: 0,
            unknown: 0,
            damage: Vec::new(),
            window_s: None,
            loss_probability_below: Some(0.095),
        }
    }

    fn lossy(kind: CrashKind) -> CrashTally {
        let none = CrashTally { losing: 28, lost: 1_672, window_s: Some(0.17), ..clean(kind) };
        CrashTally { loss_probability_below: None, ..none }
    }

    fn told(claimed: &str, class: &'static str, is_broken: bool, crashes: Vec<CrashTally>) -> Vec<String> {
        sentences(&of(claimed, class, is_broken, crashes))
    }

    fn of(claimed: &str, class: &'static str, is_broken: bool, crashes: Vec<CrashTally>) -> Durability {
        let per = PerRedo { seconds_per_gib: 9.5, low: 8.25, high: 11.0, intercept_s: 0.2, crashes: 30 };
        let recovery = RecoveryFigures {
            tps: Some(484.0),
            t_conn_s: Some(0.25),
            t_rw_s: Some(0.31),
            t_rw_s_low: None,
            t_rw_s_high: None,
            t_rw_s_max: Some(0.55),
            t_95_s: None,
            without_full_rate: 30,
            work_commits: Some(45_000),
            redo_bytes: None,
            per_redo: Some(per),
            pairs: Vec::new(),
        };
        Durability {
            workload: "ledger".to_owned(),
            contender: "A".to_owned(),
            claimed: Some(claimed.to_owned()),
            measured: Some(MeasuredClass { class, known: ClassBound::Exactly }),
            is_broken,
            crashes,
            recovery,
            integrity_check: Some("CHECK TABLE".to_owned()),
        }
    }

    #[test]
    fn several_workloads_are_told_apart() {
        let one = of("D3", "D3", false, vec![clean(CrashKind::Kill)]);
        let other = Durability { workload: "tpcc".to_owned(), ..one.clone() };
        let names = |all: &[Durability]| named(all).into_iter().map(|one| one.contender).collect::<Vec<_>>();
        assert_eq!(names(&[one.clone(), other]), ["A under ledger", "A under tpcc"]);
        assert_eq!(names(&[one]), ["A"]);
    }

    #[test]
    fn the_first_screen_has_a_row_for_each_contender_and_kinds_of_crashes_that_were_made() {
        let kept = of("D3", "D3", false, vec![clean(CrashKind::Kill), clean(CrashKind::Os)]);
        let lost = of("D2", "D2", false, vec![clean(CrashKind::Kill), lossy(CrashKind::Os)]);
        let shown = |all: &[Durability]| {
            let table = brief(all);
            let titles: Vec<String> = table.columns.iter().map(|column| column.title.clone()).collect();
            let cells = |row: &crate::document::Row| row.cells.iter().map(|cell| cell.text.raw()).collect::<Vec<_>>();
            (titles, table.rows.iter().map(cells).collect::<Vec<_>>())
        };
        let (titles, rows) = shown(&[kept.clone(), lost.clone()]);
        assert_eq!(titles[3..5], ["kills with a loss", "OS crashes with a loss"]);
        assert_eq!(rows[0], ["A", "D3", "D3", "0 of 30", "0 of 30", "0", "0.310"]);
        assert_eq!(rows[1], ["A", "D2", "D2", "0 of 30", "28 of 30", "1,672", "0.310"]);
        let (titles, rows) = shown(&[of("D3", "D3", false, vec![clean(CrashKind::Kill)])]);
        assert!(titles.len() == 6 && rows[0].len() == 6, "{titles:?}");
        let weaker = CrashTally { crashes: 5, loss_probability_below: Some(0.45), ..clean(CrashKind::Kill) };
        let told = bound(&[kept, lost.clone(), of("D3", "D3", false, vec![weaker])]).unwrap();
        assert!(told.contains("is below 45 % with"), "{told}");
        assert_eq!(bound(&[of("D1", "D1", false, vec![lossy(CrashKind::Kill)])]), None);
    }

    #[test]
    fn larger_logs_are_answered_in_one_sentence() {
        let told = |low: f64, high: f64| {
            larger_logs(PerRedo { seconds_per_gib: 5.25, low, high, intercept_s: 0.2, crashes: 36 })
        };
        assert_eq!(
            told(4.5, 6.0),
            "Over all contenders, more redo log slows recovery: 5.25 s to the first commit for each GiB of redo log \
             since the last checkpoint (95 % CI 4.50 to 6.00, 36 crashes)."
        );
        assert!(told(-1.0, 6.0).starts_with("Over all contenders, it is not shown that more redo log slows recovery"));
    }

    #[test]
    fn crashes_are_told_in_sentences() {
        let kept = told("D3", "D3", false, vec![clean(CrashKind::Kill), clean(CrashKind::Os)]);
        assert_eq!(
            kept,
            [
                "`A` promises D3 by its settings; measured D3. 30 kills lost none of 12,647 acknowledged commits: with \
                 95 % confidence the probability that one loses commits is below 9.5 %. 30 OS crashes lost none of \
                 12,647 acknowledged commits: with 95 % confidence the probability that one loses commits is below \
                 9.5 %.",
                "`A` committed 484 transactions per second before the crash and its first one 0.310 s after the \
                 restart (median; longest 0.550 s). These are of its workload, beside the ledger: 45,000 in all \
                 crashes. Each GiB of redo log since the last checkpoint adds 9.50 s (95 % CI 8.25 to 11.0, 30 \
                 crashes).",
                "The tables of `A` were checked by CHECK TABLE.",
            ]
        );
        let damaged = CrashTally { damage: vec![(PHANTOM.to_owned(), 1)], not_restarted: 2, ..lossy(CrashKind::Kill) };
        let broken = told("D2", "D0", true, vec![damaged]);
        assert_eq!(
            broken[..2],
            [
                "`A` promises D2 by its settings and does not keep it: measured D0. 28 of 30 kills lost commits: 1,672 \
                 of 12,647 that were acknowledged, of at most the last 0.170 s.",
                "`A` was damaged by 30 kills: 1 transaction that no client sent and no restart after 2 kills.",
            ]
        );
    }
}
