//! The report to keep and to send: one HTML file that needs nothing else and opens offline.
//!
//! Values go through an escaping template; the only text put in unescaped is our own style sheet,
//! our own script and the raw records at the end, whose `<` are written as `\u003c`. With these anyone can
//! recompute every number from the report alone.

mod chart;

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use minijinja::{Environment, Value, context};

use crate::analysis::{COLLECTED_SECONDS, Cell, Comparison, Duel, Part, Parts, WorkloadConclusions};
use crate::store::format::{ContenderFacts, ContenderRecord, Status, TrialRecord, WorkloadRecord, point_text};

use super::{Evidence, Options, Report, parts, tpcc, wording};

const TEMPLATE: &str = include_str!("html/report.html");
const STYLE: &str = include_str!("html/style.css");
/// Sorts long tables by the column that is clicked; they are complete without it.
const SORT_SCRIPT: &str = include_str!("html/sort.js");

/// What a reader wants beside throughput, in the order of the table.
const CELL_METRICS: [(&str, &str); 7] = [
    (COLLECTED_SECONDS, "all it did s"),
    ("latency_ms_p50", "p50 ms"),
    ("latency_ms_p95", "p95 ms"),
    ("latency_ms_p99", "p99 ms"),
    ("latency_ms_max", "max ms"),
    ("cpu_us_per_tx", "server CPU us/tx"),
    ("errors_per_s", "errors/s"),
];

/// The latency that gets a drawing of its own.
const LATENCY_METRIC: &str = "latency_ms_p95";

pub struct Html;

impl Report for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn description(&self) -> &'static str {
        "one self-contained page with curves, intervals, settings and the raw records"
    }

    fn example(&self) -> &'static str {
        "dbduel report last --format html --out report.html"
    }

    fn write(&self, evidence: &Evidence, _options: &Options) -> Result<String> {
        let mut templates = Environment::new();
        templates.set_trim_blocks(true);
        templates.set_lstrip_blocks(true);
        // The name ends in `.html`, which is what switches escaping on.
        templates.add_template("report.html", TEMPLATE).context("the report's template does not parse")?;
        let page = templates.get_template("report.html")?;
        page.render(page_context(evidence)?).context("the report's template does not fit its data")
    }
}

fn page_context(evidence: &Evidence) -> Result<Value> {
    let Evidence { plan, run, conclusions, .. } = evidence;
    let host = &run.host;
    Ok(context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SORT_SCRIPT.to_owned()),
        sortable => plan.workloads.iter().any(|workload| workload.one_pass),
        records => Value::from_safe_string(raw_records(evidence)?),
        name => plan.name, question => plan.question, note => evidence.note,
        verdicts => verdicts(evidence),
        summary => wording::summary(evidence).map(|(heading, rows)| context! { heading, rows, baseline => plan.baseline }),
        workloads => conclusions.workloads.iter().map(|workload| workload_context(evidence, workload)).collect::<Vec<Value>>(),
        findings => conclusions.findings.iter().map(|finding| context! {
            kind => finding.kind, grade => finding.grade, text => finding.text, evidence => finding.evidence,
        }).collect::<Vec<Value>>(),
        contenders => plan.contenders.iter().enumerate().map(|(index, contender)| contender_context(evidence, contender, index)).collect::<Vec<Value>>(),
        own_settings => settings_table(evidence, |contender| &contender.settings, false),
        tool_settings => settings_table(evidence, |contender| &contender.own_settings, false),
        effective_settings => effective_settings(evidence),
        host => context! {
            cpu_model => host.cpu_model, cores => host.cores, memory => format!("{:.1} GiB", host.memory_bytes as f64 / (1u64 << 30) as f64),
            kernel => host.kernel, storage => host.storage, virtualisation => host.virtualisation,
        },
        client => client(evidence),
        extent => wording::extent(conclusions, run.ended_by.as_deref()),
        method => wording::method(plan), plan_hash => plan.plan_hash,
        started_at => run.started_at, finished_at => run.finished_at, dbduel_version => run.dbduel_version,
        trials => evidence.trials.iter().map(trial_context).collect::<Vec<Value>>(),
    })
}

/// Enough to judge the run again: the plan, what was learned while it went on, and the trials.
fn raw_records(evidence: &Evidence) -> Result<String> {
    let records = serde_json::json!({ "plan": evidence.plan, "run": evidence.run, "trials": evidence.trials });
    Ok(serde_json::to_string(&records)?.replace('<', "\\u003c"))
}

fn verdicts(evidence: &Evidence) -> Vec<Value> {
    let workloads = evidence.conclusions.workloads.iter();
    let duels = workloads.flat_map(|workload| workload.duels.iter().map(move |duel| (workload, duel)));
    let verdict = |(workload, duel): (&WorkloadConclusions, &Duel)| {
        let headline = wording::headline(evidence, workload, duel);
        let word = headline.word.as_str();
        context! { class => word.replace(' ', "-"), word, claim => headline.claim, numbers => headline.numbers }
    };
    duels.map(verdict).collect()
}

fn workload_context(evidence: &Evidence, workload: &WorkloadConclusions) -> Value {
    let record = evidence.plan.workloads.iter().find(|record| record.label == workload.workload);
    let options = record.map(|record| {
        record.options.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
    });
    context! {
        label => workload.workload, options, one_pass => record.is_some_and(|record| record.one_pass), unit => wording::unit(&workload.metric), title => wording::metric_title(&workload.metric),
        curves => chart::curves(&evidence.plan, workload, &workload.metric),
        seconds => chart::seconds(evidence, workload),
        latency => chart::curves(&evidence.plan, workload, LATENCY_METRIC), latency_title => wording::metric_title(LATENCY_METRIC),
        duels => workload.duels.iter().map(|duel| duel_context(evidence, workload, duel)).collect::<Vec<Value>>(),
        cell_columns => cell_columns(workload).iter().map(|(_, title)| *title).collect::<Vec<&str>>(),
        cells => workload.cells.iter().map(|cell| cell_context(workload, cell)).collect::<Vec<Value>>(),
        schemas => schemas(evidence, &workload.workload),
        types => record.filter(|record| record.name == tpcc::NAME).map(|record| types_context(workload, record)),
    }
}

/// What became of each type of transaction.
fn types_context(workload: &WorkloadConclusions, record: &WorkloadRecord) -> Value {
    let option = |name: &str| wording::option(record, name);
    let paced = tpcc::is_paced(option);
    let cells = workload.cells.iter().map(|cell| {
        let reached = cell.metrics.get("nopm_per_warehouse").filter(|_| paced);
        context! {
            contender => cell.contender, point => point_text(&cell.point), rows => tpcc::rows(&cell.kinds),
            clients => wording::count(record.clients_at(&cell.point) as usize, "client"),
            efficiency => reached.map(|summary| tpcc::efficiency(summary.mean)),
        }
    });
    context! {
        disclaimer => tpcc::DISCLAIMER, manner => tpcc::manner(option), columns => tpcc::COLUMNS, limit => tpcc::LIMIT_COLUMN,
        cells => cells.collect::<Vec<Value>>(),
    }
}

fn duel_context(evidence: &Evidence, workload: &WorkloadConclusions, duel: &Duel) -> Value {
    let others = duel.others.iter().map(|other| {
        context! { title => wording::metric_title(&other.metric), unit => wording::unit(&other.metric), rows => rows(&other.points, &other.overall) }
    });
    context! {
        baseline => duel.baseline, candidate => duel.candidate, rows => rows(&duel.points, &duel.overall),
        rule => evidence.plan.method.rule.as_str(), forest => chart::forest(&evidence.plan, duel), pairs => chart::pairs(&evidence.plan, duel),
        difference => wording::difference(workload, duel), losses => wording::losses(duel), sharpness => wording::sharpness(duel),
        others => others.collect::<Vec<Value>>(),
        parts => duel.parts.as_ref().map(|parts| parts_context(workload, duel, parts)),
    }
}

/// Programs and operations of a pass.
fn parts_context(workload: &WorkloadConclusions, duel: &Duel, parts: &Parts) -> Value {
    let list = |name: &str, list: &[Part], about: String| {
        let said = parts::shared_caveats(duel, list);
        let row = |part: &Part| {
            let comparison = &part.comparison;
            // What a column is sorted by, where that is not its text.
            let keys = [
                comparison.baseline_value,
                comparison.candidate_value,
                comparison.ratio,
                comparison.low,
                part.shares[0],
            ];
            let keys =
                keys.into_iter().map(|key| key.map_or(String::new(), |key| key.to_string())).chain([String::new()]);
            let cells = parts::cells(part, &said).into_iter().zip(keys).map(|(text, key)| context! { text, key });
            context! { name => part.name, class => comparison.word.as_str().replace(' ', "-"), cells => cells.collect::<Vec<Value>>() }
        };
        let gaps = if name == "operation" { parts::rows_of_gaps(workload, duel, parts) } else { Vec::new() };
        let gap = |(name, cells): (String, [String; 6])| {
            let cells = cells.map(|text| context! { text, key => "" }).to_vec();
            context! { name, class => "inconclusive", cells }
        };
        let rows: Vec<Value> = list.iter().map(row).chain(gaps.into_iter().map(gap)).collect();
        context! { name, about, heading => parts::heading(duel), rows }
    };
    context! {
        lists => [list("program", &parts.programs, parts::about_programs(parts)), list("operation", &parts.operations, parts::about_operations(parts))],
        bars => chart::bars(&parts.operations), totals => parts::totals(workload, duel, parts), left_out => parts::left_out(parts),
    }
}

/// One row per point, then the whole sweep.
fn rows(points: &[Comparison], overall: &Comparison) -> Vec<Value> {
    let sweep = (points.len() > 1).then_some(overall);
    let said = sweep.map_or(&[][..], |overall| &overall.caveats);
    let row = |comparison: &Comparison| {
        context! {
            overall => comparison.point.is_none(),
            name => comparison.point.as_ref().map_or("whole sweep".to_owned(), point_text),
            baseline => wording::optional_number(comparison.baseline_value), candidate => wording::optional_number(comparison.candidate_value),
            ratio => wording::ratio_only(comparison), interval => wording::interval(comparison), t => comparison.basis == stats::Basis::Plain,
            blocks => comparison.blocks, class => comparison.word.as_str().replace(' ', "-"), word => wording::word(comparison),
            caveats => wording::caveats(comparison, if comparison.point.is_none() { &[] } else { said }),
        }
    };
    points.iter().chain(sweep).map(row).collect()
}

fn cell_columns(workload: &WorkloadConclusions) -> Vec<(&'static str, &'static str)> {
    let measured = |(metric, _): &(&str, &str)| workload.cells.iter().any(|cell| cell.metrics.contains_key(*metric));
    CELL_METRICS.into_iter().filter(measured).collect()
}

fn cell_context(workload: &WorkloadConclusions, cell: &Cell) -> Value {
    let primary = cell.metrics.get(&workload.metric);
    let bounds = primary.and_then(|summary| Some((summary.low?, summary.high?)));
    let mean = |metric: &str| wording::optional_number(cell.metrics.get(metric).map(|summary| summary.mean));
    context! {
        contender => cell.contender, point => point_text(&cell.point), trials_ok => cell.trials_ok, trials_failed => cell.trials_failed,
        mean => mean(&workload.metric), interval => bounds.map(|(low, high)| format!("{}..{}", wording::number(low), wording::number(high))),
        values => cell_columns(workload).iter().map(|(metric, _)| mean(metric)).collect::<Vec<String>>(),
    }
}

fn schemas(evidence: &Evidence, workload: &str) -> Vec<Value> {
    let with_ddl =
        evidence.run.contenders.iter().filter_map(|(name, facts)| Some((name, facts.ddl.get(workload)?, facts)));
    let schema = |(name, ddl, facts): (&String, &Vec<String>, &ContenderFacts)| {
        context! { name, ddl => ddl.join(";\n\n"), megabytes => restored(facts, workload) }
    };
    with_ddl.map(schema).collect()
}

/// Bytes of the data directory before each trial; `2 warehouses: …` where points have data of their own.
fn restored(facts: &ContenderFacts, workload: &str) -> Option<String> {
    let size = |bytes: &u64| format!("{:.1} MiB", *bytes as f64 / (1u64 << 20) as f64);
    let sizes = facts.data_bytes.iter().filter_map(|(title, bytes)| match title.strip_prefix(workload)? {
        "" => Some(size(bytes)),
        point => Some(format!("{}: {}", point.strip_prefix(", ")?, size(bytes))),
    });
    let sizes: Vec<String> = sizes.collect();
    (!sizes.is_empty()).then(|| sizes.join(", "))
}

fn contender_context(evidence: &Evidence, contender: &ContenderRecord, index: usize) -> Value {
    let facts = evidence.run.contenders.get(&contender.name);
    context! {
        name => contender.name, color => index % 6, engine => contender.engine, source => contender.source, storage => contender.storage,
        version => facts.map_or(&contender.version, |facts| &facts.version),
        durability => facts.map_or("not known", |facts| &facts.durability_class), isolation => wording::isolation(facts),
        cores => contender.cores, is_baseline => contender.name == evidence.plan.baseline,
        memory => contender.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)),
    }
}

fn client(evidence: &Evidence) -> String {
    let (client, tally) = (&evidence.run.client, &evidence.conclusions.tally);
    let mut text = format!(
        "{}, cores {}{}",
        wording::count(client.workers as usize, "worker"),
        client.cores,
        if client.shared_cores { " (shared with the server)" } else { "" }
    );
    if let Some(cpu) = tally.client_cpu_us_per_query {
        text += &format!("; {} us of CPU per query", wording::number(cpu));
    }
    if let Some(occupancy) = tally.occupancy_min {
        text += &format!("; lowest occupancy {}", wording::percent(occupancy));
    }
    if let Some(nothing) = wording::against_nothing(&client.null_runs) {
        text += &format!("; {nothing}");
    }
    text + &format!(
        "; generator-bound in {} of {} trials",
        tally.trials_generator_bound,
        tally.trials_finished + tally.trials_repeated
    )
}

type Settings = std::collections::BTreeMap<String, String>;

/// One row per setting, one value per contender.
fn settings_table(
    evidence: &Evidence,
    settings: impl Fn(&ContenderRecord) -> &Settings,
    only_different: bool,
) -> Vec<Value> {
    let all: Vec<&Settings> = evidence.plan.contenders.iter().map(settings).collect();
    settings_rows(&all, only_different)
}

/// What the servers themselves said, where they said different things. A contender whose server
/// never answered leaves its column empty.
fn effective_settings(evidence: &Evidence) -> Vec<Value> {
    let none = Settings::new();
    let of = |contender: &ContenderRecord| {
        evidence.run.contenders.get(&contender.name).map(|facts| &facts.effective_settings)
    };
    let all: Vec<&Settings> = evidence.plan.contenders.iter().map(|contender| of(contender).unwrap_or(&none)).collect();
    settings_rows(&all, true)
}

fn settings_rows(all: &[&Settings], only_different: bool) -> Vec<Value> {
    let keys: BTreeSet<&String> = all.iter().flat_map(|settings| settings.keys()).collect();
    let rows = keys.into_iter().filter_map(|key| {
        let values: Vec<Option<&String>> = all.iter().map(|settings| settings.get(key)).collect();
        let different = values.windows(2).any(|pair| pair[0] != pair[1]);
        (different || !only_different).then(|| context! { key, values, different })
    });
    rows.collect()
}

fn trial_context(trial: &TrialRecord) -> Value {
    let primary = ["nopm", "seconds", "tps"].iter().find_map(|metric| Some((metric, trial.metrics.get(*metric)?)));
    context! {
        trial => trial.trial, block => trial.block, order => trial.order, workload => trial.workload, contender => trial.contender,
        point => point_text(&trial.point), failed => trial.status == Status::Failed, flags => trial.flags.join(", "),
        value => primary.map(|(metric, value)| format!("{} {}", wording::number(*value), wording::unit(metric))),
        failure => trial.failure.as_ref().map(|failure| format!("{}: {}", failure.step, failure.message)), started_at => trial.started_at,
    }
}
