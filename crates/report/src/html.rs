//! The report to keep and to send: one HTML file that needs nothing else and opens offline.
//!
//! Values go through an escaping template; the only text put in unescaped is our own style sheet,
//! our own script and the raw records at the end, whose `<` are written as `\u003c`. With these anyone can
//! recompute every number from the report alone.

mod chart;
mod strip;
mod timeline;
mod waterfall;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use minijinja::{Environment, UndefinedBehavior, Value, context};

use analysis::drift::{Drift, PlanPair, Plans, drifts};
use analysis::timeline::told;
use analysis::{COLLECTED_SECONDS, Cell, Comparison, Duel, Part, Parts, SERIES_COLUMN, Step, WorkloadConclusions};
use record::expect_format;
use record::format::search::SearchRecord;
use record::format::{
    ContenderFacts, ContenderRecord, EmbeddedRecords, FORMAT_VERSION, PlanRecord, Series, StatementPlan, Status,
    TrialRecord, WorkloadRecord, point_text,
};

use super::{
    Evidence, Options, Report, circumstances, contrasts, diagnostics, drift, kinds, ladder, latency, parts, probes,
    scaling, search, sentences, sharpness, tpcc, why, wording,
};

const TEMPLATE: &str = include_str!("html/report.html");
const LADDER_TEMPLATE: &str = include_str!("html/ladder.html");
const STYLE: &str = include_str!("html/style.css");
/// Sorts long tables by the column that is clicked; they are complete without it.
const SORT_SCRIPT: &str = include_str!("html/sort.js");

/// What a reader wants beside throughput, in the order of the table.
const CELL_METRICS: [(&str, &str); 6] = [
    (COLLECTED_SECONDS, "all it did s"),
    ("cpu_us_per_tx", "server CPU us/tx"),
    ("errors_per_s", "errors/s"),
    ("debt_drain_s", "deferred work done after s"),
    ("debt_adjusted_tps", "debt-adjusted tps"),
    ("debt_adjusted_nopm", "debt-adjusted NOPM"),
];

/// The latency that gets a drawing of its own.
const LATENCY_METRIC: &str = "latency_ms_p95";

/// What stands before the raw records, in the template as well.
const RECORDS_BEGIN: &str = "id=\"dbduel-records\">";

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
        let mut templates = templates();
        templates.set_trim_blocks(true);
        templates.set_lstrip_blocks(true);
        // The name ends in `.html`, which is what switches escaping on.
        templates.add_template("report.html", TEMPLATE).context("the report's template does not parse")?;
        templates.add_template("ladder.html", LADDER_TEMPLATE).context("the template of ladders does not parse")?;
        let page = templates.get_template("report.html")?;
        page.render(page_context(evidence)?).context("the report's template does not fit its data")
    }
}

/// Where a key that the data lack is an error: it would print nothing.
pub fn templates<'a>() -> Environment<'a> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates
}

fn page_context(evidence: &Evidence) -> Result<Value> {
    let Evidence { plan, run, conclusions, .. } = evidence;
    let drifts = drifts(plan, run);
    let host = &run.host;
    let repeated_as = circumstances::repeated_as(&evidence.trials);
    Ok(context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SORT_SCRIPT.to_owned()),
        sortable => plan.workloads.iter().any(|workload| workload.one_pass),
        records => Value::from_safe_string(raw_records(evidence)?),
        name => plan.name, question => plan.question, note => evidence.note,
        verdicts => verdicts(evidence),
        summary => wording::summary(evidence).map(|(heading, rows)| context! { heading, rows, baseline => plan.baseline }),
        workloads => conclusions.workloads.iter().map(|workload| workload_context(evidence, workload)).collect::<Vec<Value>>(),
        findings => conclusions.findings.iter().map(|finding| sentences::findings::said(evidence, finding)).map(|said| context! {
            kind => said.kind, grade => said.grade, text => said.text, evidence => said.evidence,
        }).collect::<Vec<Value>>(),
        contenders => plan.contenders.iter().enumerate().map(|(index, contender)| contender_context(evidence, contender, index)).collect::<Vec<Value>>(),
        own_settings => settings_table(evidence, |contender| &contender.settings, false),
        tool_settings => settings_table(evidence, |contender| &contender.own_settings, false),
        effective_settings => effective_settings(evidence, &drifts), drifts => drifts.iter().map(drift_context).collect::<Vec<Value>>(),
        host => context! {
            cpu_model => host.cpu_model, cores => host.cores, memory => format!("{:.1} GiB", host.memory_bytes as f64 / (1u64 << 30) as f64),
            kernel => host.kernel, storage => host.storage, virtualisation => host.virtualisation,
        },
        client => circumstances::generator(run, &conclusions.tally),
        doublings => circumstances::doublings(evidence), beside => probes::rows(evidence), beside_heading => probes::HEADING, beside_about => probes::ABOUT, contrasts => contrasts::lines(evidence), diagnosed => diagnosed(evidence)?, warm_up => circumstances::warm_up(evidence), twins => circumstances::twins(run),
        search => run.search.as_ref().map(|told| search_context(evidence, told)),
        facts => circumstances::facts(host), not_visible => circumstances::not_visible(host),
        flagged => flagged(evidence),
        extent => wording::extent(conclusions, run.ended_by.as_deref()),
        flags => wording::flags(&evidence.conclusions), method => wording::method(plan), first_verdicts => wording::first_verdicts(evidence), plan_hash => plan.plan_hash,
        started_at => run.started_at, finished_at => run.finished_at, dbduel_version => run.dbduel_version,
        trials => evidence.trials.iter().map(|trial| trial_context(plan, trial, &repeated_as)).collect::<Vec<Value>>(),
        strip => strip::strip(evidence), strip_summary => strip::summary(evidence),
    })
}

/// The search that the run belongs to.
fn search_context(evidence: &Evidence, told: &SearchRecord) -> Value {
    let rows = search::rows(told).into_iter().map(|(cells, settings)| context! { cells, settings });
    context! {
        about => search::about(told).into_iter().chain(search::ending(told)).collect::<Vec<String>>(),
        columns => search::COLUMNS, rows => rows.collect::<Vec<Value>>(),
        round_columns => search::ROUND_COLUMNS, rounds => search::round_rows(told),
        space => search::space(told).into_iter().chain(search::recovery(evidence)).collect::<Vec<String>>(),
    }
}

/// What profiles showed behind the verdict; `None` where there are none. Drawings hold no script and no text that
/// was not escaped.
fn diagnosed(evidence: &Evidence) -> Result<Option<Value>> {
    let Evidence { plan, profiles, .. } = evidence;
    if profiles.is_empty() {
        return Ok(None);
    }
    let tables = diagnostics::tables(plan, profiles);
    let table = |one: &diagnostics::Beside| context! { title => one.title, heading => one.heading, rows => one.rows };
    let drawings = diagnostics::flame_graphs(plan, profiles)?.into_iter();
    let drawings = drawings.map(|one| context! { title => one.title, svg => Value::from_safe_string(one.svg) });
    Ok(Some(context! {
        about => diagnostics::ABOUT, not_visible => diagnostics::not_visible(plan, profiles), drawings => drawings.collect::<Vec<Value>>(),
        tables => tables.iter().map(table).collect::<Vec<Value>>(),
    }))
}

/// Trials that are not as the others: disturbed, failed, repeated.
fn flagged(evidence: &Evidence) -> Vec<Value> {
    let repeated_as = circumstances::repeated_as(&evidence.trials);
    let odd = |trial: &&TrialRecord| {
        !trial.flags.is_empty() || trial.purpose.repeats().is_some() || repeated_as.contains_key(&trial.trial)
    };
    let row = |trial: &TrialRecord| {
        let remarks = trial.flags.iter().filter_map(|flag| trial.remarks.get(flag)).cloned();
        context! {
            trial => trial.trial, block => trial.block, contender => trial.contender, point => point_text(&trial.point),
            flags => trial.flags.join(", "), remarks => remarks.chain(circumstances::repetition(trial, &repeated_as)).collect::<Vec<_>>().join("; "),
        }
    };
    evidence.trials.iter().filter(odd).map(row).collect()
}

/// Enough to judge the run again: the plan, what was learned while it went on, the trials, and what reports
/// look at of their seconds.
fn raw_records(evidence: &Evidence) -> Result<String> {
    let Evidence { plan, run, trials, probes, series, note, .. } = evidence;
    let series = series.iter().filter_map(|(trial, series)| Some((*trial, of_reports(series)?)));
    let records = EmbeddedRecords {
        plan: plan.clone(),
        run: run.clone(),
        trials: trials.iter().chain(probes).cloned().collect(),
        series: series.collect(),
        observed: drawn_observed(evidence),
        windows: evidence.windows.clone(),
        profiles: evidence.profiles.clone(),
        note: note.clone(),
    };
    Ok(serde_json::to_string(&records)?.replace('<', "\\u003c"))
}

/// What observers saw of the trials that are drawn second by second.
fn drawn_observed(evidence: &Evidence) -> BTreeMap<u32, Series> {
    let drawn = evidence.conclusions.workloads.iter().filter_map(|workload| timeline::drawn(evidence, workload));
    let observed =
        drawn.flat_map(|drawn| drawn.trials).filter_map(|trial| evidence.observed.get_key_value(&trial.trial));
    observed.map(|(trial, observed)| (*trial, told(observed))).collect()
}

/// The time and the one column that reports look at.
fn of_reports(series: &Series) -> Option<Series> {
    let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
    let row = |row: &Vec<f64>| Some(vec![*row.first()?, *row.get(column)?]);
    let columns = vec![series.columns.first()?.clone(), SERIES_COLUMN.to_owned()];
    Some(Series { columns, rows: series.rows.iter().map(row).collect::<Option<_>>()? })
}

/// The raw records inside a page that this report has written.
pub fn records_of(page: &str) -> Result<EmbeddedRecords> {
    let inside = page.split_once(RECORDS_BEGIN).and_then(|(_, rest)| rest.split_once("</script>"));
    let (records, _) = inside.context("there are no raw records in this page: it is no report of dbduel")?;
    let damaged = "the raw records in this page are damaged";
    let records: serde_json::Value = serde_json::from_str(records).context(damaged)?;
    let version = records["run"]["format_version"].as_u64().context(damaged)?;
    expect_format(version, FORMAT_VERSION).context("cannot read the raw records in this page")?;
    serde_json::from_value(records).context(damaged)
}

fn verdicts(evidence: &Evidence) -> Vec<Value> {
    let workloads = evidence.conclusions.workloads.iter();
    let duels = workloads.flat_map(|workload| workload.duels.iter().map(move |duel| (workload, duel)));
    let verdict = |(workload, duel): (&WorkloadConclusions, &Duel)| {
        let headline = wording::headline(evidence, workload, duel);
        let (word, causes) = (headline.word.as_str(), causes(evidence, &headline, duel));
        context! { class => word.replace(' ', "-"), word, claim => headline.claim, numbers => headline.numbers, asides => headline.asides, causes }
    };
    duels.map(verdict).collect()
}

/// Each with what was seen of it.
fn causes(evidence: &Evidence, headline: &wording::Headline, duel: &Duel) -> Vec<Value> {
    let lines = duel.diagnosis.causes.iter().map(|cause| sentences::causes::said(evidence, cause).evidence);
    headline.causes.iter().zip(lines).map(|(text, evidence)| context! { text, evidence }).collect()
}

/// What a transaction cost: the whole sweep or the only point, and single points of a sweep behind it.
fn costs_context(duel: &Duel) -> Option<Value> {
    let main: Vec<[String; 7]> = why::main_costs(duel).into_iter().map(why::cost_row).collect();
    let of_points = duel.diagnosis.costs.iter().filter(|cost| cost.point.is_some());
    let points: Vec<[String; 7]> = of_points.map(why::cost_row).collect();
    let is_sweep = duel.points.len() > 1;
    (!main.is_empty()).then(|| {
        context! {
            note => why::COSTS_NOTE, rows => main, points => is_sweep.then_some(points),
            none_at_all => why::none_at_all(duel), not_visible => why::not_visible(duel),
        }
    })
}

fn workload_context(evidence: &Evidence, workload: &WorkloadConclusions) -> Value {
    let record = evidence.plan.workloads.iter().find(|record| record.label == workload.workload);
    let options = record.map(|record| {
        let options = record.shown_options().into_iter().map(|(key, value)| format!("{key} = {value}"));
        record.open_loop_text().into_iter().chain(options).collect::<Vec<_>>().join(", ")
    });
    context! {
        label => workload.workload, options, one_pass => record.is_some_and(|record| record.one_pass), unit => workload.primary.unit, title => wording::primary_title(workload),
        curves => chart::throughput(&evidence.plan, workload), scaling => scaling_context(evidence, workload),
        seconds => timeline::seconds(evidence, workload),
        ladders => ladders_context(workload), stages => stages_context(workload),
        latency => chart::curves(&evidence.plan, workload, LATENCY_METRIC), latency_title => wording::metric_title(LATENCY_METRIC, workload.is_open_loop),
        duels => workload.duels.iter().map(|duel| duel_context(evidence, workload, duel)).collect::<Vec<Value>>(),
        cell_columns => cell_columns(workload).iter().map(|(_, title)| *title).collect::<Vec<&str>>(),
        cells => workload.cells.iter().map(|cell| cell_context(workload, cell)).collect::<Vec<Value>>(),
        latencies => latencies(workload),
        schemas => schemas(evidence, &workload.workload),
        types => record.filter(|record| !record.kinds.is_empty()).map(|record| types_context(workload, record)),
    }
}

/// Every ladder with its waterfall.
fn ladders_context(workload: &WorkloadConclusions) -> Vec<Value> {
    let of_ladder = |one| {
        context! {
            title => ladder::title(workload, one), chart => waterfall::waterfall(workload, one),
            changes => ladder::changes(one), heading => ladder::heading(workload), rows => ladder::rows(one), about => ladder::about(one), sentences => ladder::sentences(one),
            interactions_heading => ladder::INTERACTIONS, interactions => one.interactions.iter().map(ladder::interaction).collect::<Vec<_>>(),
            not_left_out => ladder::not_left_out(one),
        }
    };
    workload.ladders.iter().map(of_ladder).collect()
}

fn stages_context(workload: &WorkloadConclusions) -> Option<Value> {
    let rows: Vec<Vec<String>> = workload.stages.iter().map(ladder::stage).collect();
    let heading = ladder::stages_heading(workload);
    (!rows.is_empty()).then(|| context! { title => ladder::STAGES_TITLE, heading, rows })
}

/// The table of a sweep of cores or clients; `None` where nothing scales.
fn scaling_context(evidence: &Evidence, workload: &WorkloadConclusions) -> Option<Value> {
    let told = workload.scaling.as_ref()?;
    let row = |step: &Step| context! { contender => step.contender, values => [scaling::row(told, step), scaling::cost_row(told, step)].concat() };
    Some(context! {
        title => scaling::title(told), variable => told.variable, searched => told.searched,
        has_law => told.laws.iter().any(|law| law.fit.is_ok()), about => scaling::about(told).join(" "),
        columns => [scaling::heading(told, &workload.primary.unit), scaling::cost_heading(told)].concat(),
        rows => told.steps.iter().map(row).collect::<Vec<Value>>(),
        laws => scaling::laws(told, &workload.primary.unit, &evidence.plan.baseline),
        cpu_use => chart::cpu_use(&evidence.plan, workload),
    })
}

/// What became of each type of transaction.
fn types_context(workload: &WorkloadConclusions, record: &WorkloadRecord) -> Value {
    let option = |name: &str| wording::option(record, name);
    let paced = tpcc::is_paced(option);
    let cells = workload.cells.iter().map(|cell| {
        let reached = cell.metrics.get("nopm_per_warehouse").filter(|_| paced);
        context! {
            contender => cell.contender, point => point_text(&cell.point), rows => kinds::rows(&record.kinds, &cell.kinds),
            clients => wording::count(record.clients_at(&cell.point) as usize, "client"),
            efficiency => reached.map(|summary| tpcc::efficiency(summary.mean)),
        }
    });
    context! {
        notes => record.notes, columns => kinds::COLUMNS, limit => kinds::LIMIT_COLUMN,
        has_limits => record.kinds.iter().any(|kind| kind.p90_limit_s.is_some()),
        cells => cells.collect::<Vec<Value>>(),
    }
}

fn duel_context(evidence: &Evidence, workload: &WorkloadConclusions, duel: &Duel) -> Value {
    let others = duel.others.iter().map(|other| {
        context! { title => wording::other_title(workload, &other.metric), unit => workload.unit(&other.metric), rows => rows(&other.points, &other.overall) }
    });
    context! {
        baseline => duel.baseline, candidate => duel.candidate, rows => rows(&duel.points, &duel.overall),
        rule => evidence.plan.method.rule.as_str(), forest => chart::forest(&evidence.plan, duel), pairs => chart::pairs(&evidence.plan, duel),
        difference => wording::difference(workload, duel), losses => wording::losses(duel), sharpness => sharpness::sentences(&evidence.plan.method, &workload.metric, duel),
        others => others.collect::<Vec<Value>>(), costs => costs_context(duel),
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
    let sweep = (points.len() > 1 && !overall.is_withheld).then_some(overall);
    let said = sweep.map_or(&[][..], |overall| &overall.caveats);
    let row = |comparison: &Comparison| {
        context! {
            overall => comparison.point.is_none(),
            name => comparison.point.as_ref().map_or_else(|| wording::sweep(points, overall), point_text),
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
    let bounds = cell.primary.and_then(|summary| Some((summary.low?, summary.high?)));
    let mean = |metric: &str| wording::optional_number(cell.metrics.get(metric).map(|summary| summary.mean));
    context! {
        contender => cell.contender, point => point_text(&cell.point), trials_ok => cell.trials_ok, trials_failed => cell.trials_failed,
        mean => wording::optional_number(cell.primary.map(|summary| summary.mean)), interval => bounds.map(|(low, high)| format!("{}..{}", wording::number(low), wording::number(high))),
        values => cell_columns(workload).iter().map(|(metric, _)| mean(metric)).collect::<Vec<String>>(),
    }
}

/// Latency of each contender on its own; `None` where nothing was timed one by one.
fn latencies(workload: &WorkloadConclusions) -> Option<Value> {
    let told = latency::table(workload, &latency::STALLS)?;
    let row = |row: &latency::Row| context! { contender => row.contender, point => row.point, values => row.values };
    Some(context! {
        columns => told.columns, rows => told.rows.iter().map(row).collect::<Vec<Value>>(), confidence => told.confidence.map(wording::percent),
        corrected => told.is_corrected.then_some(latency::ABOUT_CORRECTED),
    })
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
        name => contender.name, color => index % 6, engine => contender.engine, source => contender.source,
        storage => wording::storage(contender, facts),
        version => facts.map_or(&contender.version, |facts| &facts.version),
        durability => facts.map_or("not known", |facts| &facts.durability_class), isolation => wording::isolation(facts),
        cores => contender.cores, is_baseline => contender.name == evidence.plan.baseline,
        memory => contender.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)),
    }
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

/// What the servers themselves said, where they said different things and no drift tells it. A contender whose
/// server never answered leaves its column empty.
fn effective_settings(evidence: &Evidence, drifts: &[Drift]) -> Vec<Value> {
    let compared = drifts.iter().filter(|drift| drift.same_family).count();
    if compared + 1 == evidence.plan.contenders.len() {
        return Vec::new();
    }
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

fn drift_context(drift: &Drift) -> Value {
    let settings = drift::in_order(drift).into_iter().map(|setting| {
        context! {
            name => setting.name, baseline => setting.baseline, candidate => setting.candidate,
            why => setting.why.as_str(), notable => setting.notable.is_some(),
        }
    });
    let same = drift.same_settings.as_ref();
    context! {
        baseline => drift.baseline, candidate => drift.candidate, same_family => drift.same_family,
        counted => drift::settings_counted(drift), settings => settings.collect::<Vec<Value>>(),
        plans_counted => drift::plans_counted(drift), plans => drift.plans.iter().map(plans_context).collect::<Vec<Value>>(),
        offered => same.map(|same| drift::contender(drift.baseline, same)), changed => same.map(|same| same.changed),
    }
}

fn plans_context(plans: &Plans) -> Value {
    let side = |plan: Option<&StatementPlan>| {
        plan.map(|plan| context! { lines => plan.lines.join("\n"), shape => plan.shape, refused => plan.refused })
    };
    let row = |pair: &PlanPair| {
        context! {
            statement => pair.statement, differs => pair.differs, sql => pair.baseline.or(pair.candidate).map(|plan| &plan.sql),
            sides => [side(pair.baseline), side(pair.candidate)],
        }
    };
    context! { title => plans.title, rows => plans.statements.iter().map(row).collect::<Vec<Value>>() }
}

fn trial_context(plan: &PlanRecord, trial: &TrialRecord, repeated_as: &BTreeMap<u32, u32>) -> Value {
    let notes = trial.flags.iter().cloned().chain(circumstances::repetition(trial, repeated_as));
    let primary = plan.workloads.iter().find(|record| record.label == trial.workload).map(|record| record.primary());
    let primary = primary.and_then(|metric| Some((trial.metrics.get(&metric.name).copied()?, metric.unit)));
    context! {
        trial => trial.trial, block => trial.block, order => trial.order, workload => trial.workload, contender => trial.contender,
        point => point_text(&trial.point), failed => trial.status == Status::Failed, flags => notes.collect::<Vec<_>>().join(", "),
        value => primary.map(|(value, unit)| format!("{} {unit}", wording::number(value))),
        failure => trial.failure.as_ref().map(|failure| format!("{}: {}", failure.step, failure.message)), started_at => trial.started_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_an_error_and_not_an_empty_text() {
        let rendered = |template| templates().render_str(template, context! { known => "x", none => None::<u32> });
        assert_eq!(rendered("{{ known }}{% if none %}y{% endif %}").unwrap(), "x");
        for template in ["{{ knwon }}", "{% if knwon %}y{% endif %}", "{% for one in knwon %}y{% endfor %}"] {
            assert!(rendered(template).is_err(), "{template}");
        }
    }
}
