//! How contenders scale over cores or clients, and the scalability law where one fits.
//!
//! Which clients are best, and whether there is a law, the analysis has decided.

use stats::{UslFit, UslRefusal};

use analysis::{Estimate, Law, LawRatio, Scaling, Step, Summary, WorkloadConclusions};
use record::format::figures::fixed;
use record::point::CORES;

use super::levels::{self, CPU_USE};
use super::{Topic, by_workload, stopped};
use crate::Evidence;
use crate::document::{Block, Column, Section, Table};
use crate::wording::{self, number, percent, ratio_text};

pub struct Cores;

impl Topic for Cores {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        Section::of("scaling", "Scaling", by_workload(evidence, |workload| of_workload(evidence, workload)))
    }
}

fn of_workload(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let Some(scaling) = &workload.scaling else { return Vec::new() };
    let mut body = vec![Block::heading(format!("Scaling over {}", scaling.variable))];
    let chart = levels::cpu_use(evidence, scaling).map(|chart| Block::OnPage(vec![Block::chart(chart)]));
    body.extend(Block::table(table(scaling, &workload.primary.unit)));
    body.push(Block::note(about(scaling).join(" ")));
    body.extend(chart);
    body.extend(Block::list(stopped(laws(scaling, &workload.primary.unit, &evidence.plan.baseline))));
    // A sweep over clients stands by level above; the page has it as scaling too.
    let is_news = scaling.variable == CORES || scaling.laws.iter().any(|law| law.fit.is_ok());
    if !is_news && scaling.steps.iter().all(|step| step.speed_up.is_none()) {
        return Vec::new();
    }
    if is_news { body } else { vec![Block::OnPage(body)] }
}

fn table(scaling: &Scaling, unit: &str) -> Table {
    let numbers = heading(scaling, unit).into_iter().chain(cost_heading(scaling)).enumerate();
    let numbers = numbers.map(|(place, title)| {
        let priority = match title.as_str() {
            "ratio to the baseline" => 0,
            _ if place == 0 => 0,
            _ => place.min(9) as u8,
        };
        Column::number(title, priority)
    });
    let columns: Vec<Column> = std::iter::once(Column::name("contender", 0)).chain(numbers).collect();
    let cells = |step: &Step| [vec![step.contender.clone()], row(scaling, step), cost_row(scaling, step)].concat();
    Table::new(columns).with_rows(scaling.steps.iter().map(cells)).without_empty_columns()
}

/// How to read the table, in sentences.
fn about(scaling: &Scaling) -> Vec<&'static str> {
    if scaling.steps.is_empty() {
        return vec!["Two complete blocks are the least: one half of them chooses the clients for the other."];
    }
    let searched =
        "Each number of cores with the clients that suit it best: odd blocks choose for even ones, and back.";
    let intervals = "Throughput is a geometric mean. Intervals are 95 % CI (t) over blocks; that of a ratio is by the run's rule, or marked t.";
    let searched = scaling.searched.then_some(searched);
    searched.into_iter().chain([intervals]).collect()
}

/// Headings of what each step reaches, behind the contender's name.
fn heading(scaling: &Scaling, unit: &str) -> Vec<String> {
    let clients = scaling.searched.then(|| "clients".to_owned());
    let rest = [unit, "speed-up", "efficiency", "ratio to the baseline", "blocks"].map(str::to_owned);
    std::iter::once(scaling.variable.to_owned()).chain(clients).chain(rest).collect()
}

/// What stands below these headings.
fn row(scaling: &Scaling, step: &Step) -> Vec<String> {
    let best = || step.clients.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ");
    let clients = scaling.searched.then(best);
    let speed_up = step.speed_up.as_ref().map_or("-".to_owned(), |estimate| with_bounds(estimate, number));
    let efficiency = step.efficiency.filter(Estimate::is_determined);
    let efficiency = efficiency.map_or("-".to_owned(), |estimate| percent(estimate.value));
    let ratio = step.ratio.as_ref().map_or("-".to_owned(), |(estimate, basis)| {
        let mark = if *basis == stats::Basis::Plain { " t" } else { "" };
        with_bounds(estimate, ratio_text) + mark
    });
    let value = Estimate { value: step.value.mean, bounds: step.value.low.zip(step.value.high) };
    let rest = [with_bounds(&value, number), speed_up, efficiency, ratio, step.value.trials.to_string()];
    std::iter::once(step.n.to_string()).chain(clients).chain(rest).collect()
}

/// Headings of what each step costs; none where nobody could see a cost.
fn cost_heading(scaling: &Scaling) -> Vec<String> {
    costs(scaling).into_iter().map(|(_, title)| title.to_owned()).collect()
}

/// What stands below these headings.
fn cost_row(scaling: &Scaling, step: &Step) -> Vec<String> {
    let cost = |(name, _): (&str, &str)| match step.costs.get(name) {
        Some(summary) if name == CPU_USE => with_half_width(summary, percent),
        Some(summary) => with_half_width(summary, number),
        None => "-".to_owned(),
    };
    costs(scaling).into_iter().map(cost).collect()
}

fn costs(scaling: &Scaling) -> Vec<(&'static str, &'static str)> {
    let all = [("cpu_us_per_tx", "server CPU µs/tx"), (CPU_USE, "CPU use"), ("ctx_per_tx", "context switches/tx")];
    all.into_iter().filter(|(name, _)| scaling.steps.iter().any(|step| step.costs.contains_key(name))).collect()
}

/// A mean and half of its t interval, which is as long on either side.
fn with_half_width(summary: &Summary, text: impl Fn(f64) -> String) -> String {
    match summary.high {
        Some(high) => format!("{} \u{b1}{}", text(summary.mean), text(high - summary.mean)),
        None => text(summary.mean),
    }
}

/// `2.4 (2.3–2.5)`, or `not determined (0.2–3.5)`.
fn with_bounds(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    match estimate.bounds {
        Some((low, high)) if !estimate.is_determined() => format!("not determined ({}–{})", text(low), text(high)),
        Some((low, high)) => format!("{} ({}–{})", text(estimate.value), text(low), text(high)),
        None => text(estimate.value),
    }
}

/// A sentence for each contender's law, or why there is none; then what candidates have of the baseline's.
fn laws(scaling: &Scaling, unit: &str, baseline: &str) -> Vec<String> {
    if scaling.steps.is_empty() {
        return Vec::new();
    }
    let about = format!("Universal scalability law over {}", scaling.variable);
    let refusals: Vec<&UslRefusal> = scaling.laws.iter().filter_map(|law| law.fit.as_ref().err()).collect();
    // What holds for all is said once.
    if let Some(first) = refusals.first()
        && refusals.len() == scaling.laws.len()
        && refusals.iter().all(|refusal| refusal == first)
    {
        return vec![format!("{about}: none, because {}", why(first, scaling))];
    }
    let law = |law: &Law| match &law.fit {
        Ok(fit) => format!("{about}, `{}`: {}", law.contender, fitted(fit, scaling, unit)),
        Err(refusal) => format!("{about}, `{}`: none, because {}", law.contender, why(refusal, scaling)),
    };
    let contrast = |one: &LawRatio| {
        let part = |name: &str, estimate: &Option<Estimate>| match estimate {
            Some(estimate) => format!("{name} {}", with_bounds(estimate, number)),
            None => format!("{name} not comparable, because one of them may be nothing"),
        };
        let parts = [part("sigma", &one.sigma), part("kappa", &one.kappa)].join(", ");
        format!("`{}` has of the parameters of `{baseline}`, times: {parts}", one.candidate)
    };
    scaling.laws.iter().map(law).chain(scaling.contrasts.iter().map(contrast)).collect()
}

fn fitted(fit: &UslFit, scaling: &Scaling, unit: &str) -> String {
    let peak = match fit.peak {
        Some(peak) => format!("highest at {} {}", number(peak), scaling.variable),
        None => "no peak is claimed: it lies too far beyond what was measured, or there may be none".to_owned(),
    };
    format!(
        "{} of one {}; waiting for each other: {}; agreeing with each other: {}; {peak}; {}",
        with_bounds(&bounded(fit.law.lambda, &fit.lambda), number),
        unit,
        parameter("sigma", fit.law.sigma, &fit.sigma),
        parameter("kappa", fit.law.kappa, &fit.kappa),
        wording::count(fit.blocks, "block"),
    )
}

fn bounded(value: f64, bounds: &stats::Interval) -> Estimate {
    Estimate { value, bounds: Some((bounds.low, bounds.high)) }
}

fn parameter(name: &str, value: f64, bounds: &stats::Interval) -> String {
    format!("{name} {}", with_bounds(&bounded(value, bounds), small))
}

/// Three digits of what may be a ten-thousandth.
fn small(value: f64) -> String {
    if value == 0.0 || value >= 0.001 { fixed(value, 3) } else { format!("{value:.1e}") }
}

/// Why there is no law.
pub fn why(refusal: &UslRefusal, scaling: &Scaling) -> String {
    let one = scaling.variable.trim_end_matches('s');
    match refusal {
        UslRefusal::TooFewValues { have } => {
            format!(
                "it was measured at {} of {}, and six are the least",
                wording::count(*have, "number"),
                scaling.variable
            )
        }
        UslRefusal::NoSingle => format!("nothing was measured with 1 {one}"),
        UslRefusal::TooFewBlocks { have } => {
            format!("its spread takes three blocks at least, and there is {}", wording::count(*have, "block"))
        }
        UslRefusal::TooFewBeyondKnee { have } => format!(
            "the curve has hardly bent: {} behind the knee, and two are the least",
            wording::count(*have, "measured value")
        ),
        UslRefusal::DoesNotFit { n, off } => format!(
            "the values do not follow it: at {n} {} they are off by {}, more than blocks differ",
            scaling.variable,
            percent(off.abs())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_wider_than_a_factor_of_ten_leaves_its_value_undetermined() {
        let shown = |low, high| with_bounds(&Estimate { value: 1.5, bounds: Some((low, high)) }, number);
        assert_eq!(shown(0.5, 4.9), "1.50 (0.500–4.90)");
        assert_eq!(shown(0.2, 3.5), "not determined (0.200–3.50)");
        // An interval of differences may reach below nothing.
        assert_eq!(shown(-0.2, 3.5), "not determined (-0.200–3.50)");
        assert_eq!(with_bounds(&Estimate { value: 1.5, bounds: None }, number), "1.50");
    }

    #[test]
    fn a_parameter_of_the_law_follows_the_same_rule() {
        let shown = |low, high| parameter("sigma", 0.05, &stats::Interval { low, high });
        assert_eq!(shown(0.02, 0.15), "sigma 0.050 (0.020–0.150)");
        assert_eq!(shown(0.01, 0.15), "sigma not determined (0.010–0.150)");
        assert_eq!(shown(0.0, 0.15), "sigma not determined (0.000–0.150)");
    }

    #[test]
    fn every_refusal_says_what_is_missing() {
        let scaling = Scaling { variable: "cores", searched: true, steps: vec![], laws: vec![], contrasts: vec![] };
        let check = |refusal: UslRefusal, expected: &str| {
            let said = why(&refusal, &scaling);
            assert!(said.contains(expected), "{said}");
        };
        check(UslRefusal::TooFewValues { have: 2 }, "measured at 2 numbers of cores, and six are the least");
        check(UslRefusal::NoSingle, "with 1 core");
        check(UslRefusal::TooFewBlocks { have: 1 }, "there is 1 block");
        check(UslRefusal::TooFewBeyondKnee { have: 1 }, "1 measured value behind the knee");
        check(UslRefusal::DoesNotFit { n: 8.0, off: -0.07 }, "at 8 cores they are off by 7 %");
    }
}
