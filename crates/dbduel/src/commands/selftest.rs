//! `dbduel selftest`: checks of dbduel itself. `--sim` is here: the statistics against simulated truth, printed
//! as tables or as JSON. `--observers` is in a file of its own.
//!
//! The simulation itself and its targets are in the `stats` crate; here they are only run and printed.

mod observers;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use stats::RuleKind;
use stats::simulation::{
    ALPHA, Allowed, BLOCKS_MAX, BROKEN_DESIGNS, Cell, Check, MARGIN, NOISES, Scenario, TROUBLES, TRUTHS, broken_alarms,
    checks, simulate, simulate_trouble,
};

use super::{Failure, note, print};
use crate::cli::{SelftestArgs, exit};

/// Differences at which rule `t` is simulated.
const RULE_T_TRUTHS: [f64; 2] = [0.0, 0.03];

/// Everything that was simulated.
struct Outcome {
    scenarios: Vec<Scenario>,
    checks: Vec<Check>,
}

/// Simulates, prints, and fails with the status of a violation when a target was missed.
pub fn selftest(args: &SelftestArgs) -> Result<u8, Failure> {
    if args.observers {
        return observers::selftest(args);
    }
    let outcome = simulated(args);
    if args.json {
        let json = serde_json::to_string_pretty(&json(args, &outcome)).context("cannot write the figures as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&text(args, &outcome))?;
    }
    let missed = outcome.checks.iter().filter(|check| !check.is_met()).count();
    if missed == 0 {
        return Ok(exit::DONE);
    }
    note(&format!("selftest: {missed} of {} targets missed", outcome.checks.len()));
    Ok(exit::VIOLATION)
}

fn simulated(args: &SelftestArgs) -> Outcome {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = args.runs as usize;
    let mut scenarios = Vec::new();
    for (rule, truths) in [(RuleKind::Exact, &TRUTHS[..]), (RuleKind::T, &RULE_T_TRUTHS[..])] {
        for noise in NOISES {
            note(&format!("rule {}, noise `{}`", rule.name(), noise.name));
            scenarios.push(simulate(rule, noise, truths, runs, args.seed, threads));
        }
    }
    let mut troubled = Vec::new();
    for trouble in TROUBLES {
        note(&format!("trouble `{}`", trouble.name));
        let seen = NOISES.iter().map(|noise| (noise.name, simulate_trouble(trouble, noise, runs, args.seed, threads)));
        troubled.extend(seen.map(|(noise, seen)| Check::of_trouble(trouble, noise, &seen)));
    }
    let broken = BROKEN_DESIGNS.iter().map(|design| {
        note(&format!("broken design `{}`", design.name));
        Check::of_broken(design.name, broken_alarms(design, runs, args.seed, threads), runs)
    });
    let broken: Vec<Check> = broken.collect();
    Outcome { checks: scenarios.iter().flat_map(checks).chain(troubled).chain(broken).collect(), scenarios }
}

fn text(args: &SelftestArgs, outcome: &Outcome) -> String {
    let mut text = format!(
        "the statistics against simulated truth: {} runs of up to {BLOCKS_MAX} blocks for each line, \
         margin {} %, false words at most {} %, seed {}\n",
        args.runs,
        MARGIN * 100.0,
        ALPHA * 100.0,
        args.seed
    );
    text += &format!("\n{}", scenarios_table(&outcome.scenarios));
    text += "\nper cent of runs; true: the candidate is so much faster; sd: of the log ratio between blocks;\n\
             covered: the interval at the end held the truth; blocks: mean until the run stopped\n";
    text += "\nnoise\n";
    text += &NOISES.iter().map(|noise| format!("  {}: {}\n", noise.name, noise.description)).collect::<String>();
    text += "\na candidate in trouble\n";
    text += &TROUBLES.iter().map(|one| format!("  {}: {}\n", one.name, one.description)).collect::<String>();
    text += "\nbroken designs\n";
    let design = |design: &stats::simulation::BrokenDesign| {
        format!("  {}: {}, noise `{}`\n", design.name, design.description, design.noise)
    };
    text += &BROKEN_DESIGNS.iter().map(design).collect::<String>();
    text += &format!("\n{}", checks_table(&outcome.checks));
    let missed = outcome.checks.iter().filter(|check| !check.is_met()).count();
    text + &format!("\n{} targets, {missed} missed\n", outcome.checks.len())
}

fn scenarios_table(scenarios: &[Scenario]) -> String {
    let rows = scenarios.iter().flat_map(|scenario| scenario.cells.iter().map(move |cell| cell_row(scenario, cell)));
    let heading =
        ["rule", "noise", "sd", "true", "faster", "slower", "no difference", "inconclusive", "covered", "blocks"];
    table(&heading, rows, 2..10)
}

fn cell_row(scenario: &Scenario, cell: &Cell) -> Vec<String> {
    let share = |count: usize| format!("{:.2}", percent(count, cell.runs));
    vec![
        scenario.rule.name().to_owned(),
        scenario.noise.name.to_owned(),
        format!("{:.1} %", scenario.sd * 100.0),
        if cell.truth == 0.0 { "0 %".to_owned() } else { format!("{:+.0} %", cell.truth * 100.0) },
        share(cell.faster),
        share(cell.slower),
        share(cell.no_difference),
        share(cell.inconclusive),
        share(cell.covered),
        format!("{:.1}", cell.blocks as f64 / cell.runs as f64),
    ]
}

fn checks_table(checks: &[Check]) -> String {
    let row = |check: &Check| {
        let bound = |sign: &str, count: usize| format!("{sign} {count}");
        let (sign, allowed) = match check.allowed {
            Allowed::UpTo(most) => ("at most", bound("at most", most)),
            Allowed::MoreThan(least) => ("more than", bound("more than", least)),
        };
        vec![
            check.what.to_owned(),
            check.place.clone(),
            format!("{sign} {} %", check.target * 100.0),
            format!("{:.2} %", percent(check.observed, check.runs)),
            format!("{} of {}", check.observed, check.runs),
            allowed,
            if check.is_met() { "met" } else { "MISSED" }.to_owned(),
        ]
    };
    let heading = ["target", "where", "rate", "seen", "runs", "allowed, by luck", ""];
    table(&heading, checks.iter().map(row), 3..5)
}

/// Columns as wide as their widest cell, numbers to the right.
fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>, numbers: std::ops::Range<usize>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(heading.iter().copied()).add_rows(rows);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn percent(count: usize, of: usize) -> f64 {
    count as f64 * 100.0 / of as f64
}

fn json(args: &SelftestArgs, outcome: &Outcome) -> Value {
    let cell = |cell: &Cell| {
        json!({
            "true_difference": cell.truth, "runs": cell.runs, "faster": cell.faster, "slower": cell.slower,
            "no_difference_shown": cell.no_difference, "inconclusive": cell.inconclusive,
            "covered": cell.covered, "blocks_mean": cell.blocks as f64 / cell.runs as f64,
        })
    };
    let scenario = |scenario: &Scenario| {
        json!({
            "rule": scenario.rule.name(), "noise": scenario.noise.name, "sd_log_ratio": scenario.sd,
            "cells": scenario.cells.iter().map(cell).collect::<Vec<Value>>(),
        })
    };
    let check = |check: &Check| {
        let (at_most, more_than) = match check.allowed {
            Allowed::UpTo(most) => (Some(most), None),
            Allowed::MoreThan(least) => (None, Some(least)),
        };
        json!({
            "target": check.what, "where": check.place, "rate": check.target, "observed": check.observed,
            "runs": check.runs, "at_most": at_most, "more_than": more_than, "met": check.is_met(),
        })
    };
    json!({
        "runs": args.runs, "seed": args.seed, "blocks": BLOCKS_MAX, "margin": MARGIN, "alpha": ALPHA,
        "scenarios": outcome.scenarios.iter().map(scenario).collect::<Vec<Value>>(),
        "checks": outcome.checks.iter().map(check).collect::<Vec<Value>>(),
        "met": outcome.checks.iter().all(Check::is_met),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As small as the command allows.
    const SMALL: SelftestArgs = SelftestArgs { sim: true, observers: false, blocks: 8, runs: 20, seed: 1, json: false };

    #[test]
    fn every_line_of_the_simulation_is_told_and_every_miss_is_loud() {
        let mut outcome = simulated(&SMALL);
        let report = text(&SMALL, &outcome);
        let lines = NOISES.len() * (TRUTHS.len() + RULE_T_TRUTHS.len());
        assert_eq!(outcome.scenarios.iter().map(|scenario| scenario.cells.len()).sum::<usize>(), lines);
        assert!(report.contains("seconds as evidence") && report.ends_with(" targets, 0 missed\n"), "{report}");
        assert_eq!(json(&SMALL, &outcome)["met"], true);
        outcome.checks[0].observed = SMALL.runs as usize;
        assert!(text(&SMALL, &outcome).contains("MISSED") && json(&SMALL, &outcome)["met"] == false);
    }
}
