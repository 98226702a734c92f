//! The report for a terminal: a sentence per candidate first, then the tables behind it.

use std::ops::Range;

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use analysis::drift::{Drift, drifts};
use analysis::{
    Cell, Comparison, Duel, Ladder, Part, Parts, Scaling, Step, Watched, Word, WorkloadConclusions, watched,
};
use record::format::{WorkloadRecord, point_text};
use record::point::CORES;

use super::wording;
use super::{
    Evidence, Options, Report, circumstances, contrasts, diagnostics, drift, kinds, ladder, latency, parts, probes,
    scaling, search, sentences, sharpness, tpcc, twins, visible, why,
};

/// Tables fit a terminal of this width.
const WIDTH: u16 = 100;

/// One rule under the header and nothing else: rows are short and few.
const TABLE_STYLE: &str = "     ──            ";

/// Evidence lines of a finding that fit beside the rest; all are in the other reports.
const EVIDENCE_LINES: usize = 3;

pub struct Text;

impl Report for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn description(&self) -> &'static str {
        "a verdict per candidate and the tables behind it, for a terminal"
    }

    fn example(&self) -> &'static str {
        "dbduel report last"
    }

    fn write(&self, evidence: &Evidence, _options: &Options) -> Result<String> {
        let mut lines = heading(evidence);
        // The trials of a search are no duels: what they would say praises whom they chose.
        if evidence.run.search.as_ref().is_some_and(|search| search.run.is_none()) {
            lines.extend(search_section(evidence));
            lines.extend([String::new()].into_iter().chain(footer(evidence)));
            return Ok(lines.join("\n") + "\n");
        }
        for workload in &evidence.conclusions.workloads {
            for duel in &workload.duels {
                let headline = wording::headline(evidence, workload, duel);
                lines.push(format!("{}: {}", headline.claim, headline.numbers));
                lines.extend(headline.asides);
                lines.extend(headline.causes);
            }
        }
        lines.extend(summary(evidence));
        for workload in &evidence.conclusions.workloads {
            lines.extend(workload.ladders.iter().flat_map(|one| ladder_section(workload, one)));
            lines.extend(stages_section(workload));
        }
        for workload in &evidence.conclusions.workloads {
            for duel in workload.duels.iter().filter(|duel| !workload.is_rung(&duel.candidate)) {
                lines.push(String::new());
                lines.extend(duel_section(evidence, workload, duel));
            }
            if workload.duels.iter().any(|duel| workload.is_rung(&duel.candidate)) {
                lines.push(format!(
                    "\n{}: each rung against `{}` at length, with causes and settings that differ: in report.html",
                    workload.workload, evidence.plan.baseline
                ));
            }
            lines.extend(latency_section(evidence, workload));
            lines.extend(scaling_section(evidence, workload));
            lines.extend(types_section(evidence, workload));
        }
        lines.extend(diagnostics_section(evidence));
        lines.extend(probes_section(evidence));
        lines.extend(twins::section(evidence));
        lines.extend(search_section(evidence));
        lines.extend(host(evidence).map(|table| format!("\n{table}")));
        let drifts = drifts(&evidence.plan, &evidence.run);
        lines.extend(drifts.iter().filter(|drift| !is_rung(evidence, drift.candidate)).flat_map(drift_section));
        lines.extend(findings(evidence));
        lines.push(String::new());
        lines.extend(footer(evidence));
        Ok(lines.join("\n") + "\n")
    }

    /// The claim of each headline; only here does a report get control characters.
    fn paint(&self, text: String, evidence: &Evidence) -> String {
        let duels = evidence.conclusions.workloads.iter().flat_map(|one| one.duels.iter().map(move |duel| (one, duel)));
        let headlines = duels.map(|(workload, duel)| wording::headline(evidence, workload, duel));
        let claims: Vec<(String, Word)> = headlines.map(|one| (visible(&one.claim).into_owned(), one.word)).collect();
        let painted = |line: &str| {
            let found =
                claims.iter().find_map(|(claim, word)| Some((claim, line.strip_prefix(claim.as_str())?, *word)));
            let found = found.filter(|(_, rest, _)| rest.starts_with(": "));
            found.map_or(format!("{line}\n"), |(claim, rest, word)| {
                format!("\x1b[1;{}m{claim}\x1b[0m{rest}\n", colour(word))
            })
        };
        text.lines().map(painted).collect()
    }
}

fn heading(evidence: &Evidence) -> Vec<String> {
    let question = evidence.plan.question.iter().cloned();
    let note = evidence.note.iter().map(|note| format!("note: {note}"));
    std::iter::once(evidence.plan.name.clone()).chain(question).chain(note).chain([String::new()]).collect()
}

fn colour(word: Word) -> &'static str {
    match word {
        Word::Faster => "32",
        Word::Slower => "31",
        _ => "33",
    }
}

fn duel_section(evidence: &Evidence, workload: &WorkloadConclusions, duel: &Duel) -> Vec<String> {
    let title = format!(
        "{}: `{}` against `{}`, {}",
        workload.workload,
        duel.candidate,
        duel.baseline,
        wording::primary_title(workload)
    );
    let mut lines = vec![title, table(workload, &workload.metric, &duel.points, &duel.overall)];
    lines.push(
        "Ratio above 1: the candidate is better. n counts pairs. Intervals of points hold together; one marked t is"
            .to_owned(),
    );
    lines.push(
        "a plain t interval, which supports no word. Values are geometric means over the trials that are ok."
            .to_owned(),
    );
    lines.extend(wording::difference(workload, duel));
    lines.push(wording::losses(duel));
    lines.extend(sharpness::sentences(&evidence.plan.method, &workload.metric, duel));
    lines.extend(costs_section(duel));
    for other in &duel.others {
        lines.push(String::new());
        lines.push(wording::other_title(workload, &other.metric));
        lines.push(table(workload, &other.metric, &other.points, &other.overall));
    }
    lines.extend(duel.parts.iter().flat_map(|parts| parts_section(workload, duel, parts)));
    lines
}

/// Latency of each contender below its name; that of a ladder's many stands on the page.
fn latency_section(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<String> {
    let told = latency::table(workload, &[]).filter(|_| workload.ladders.is_empty());
    let Some(told) = told else { return Vec::new() };
    let title = format!(
        "{}: latency of each contender, response time: medians of the trials' own{}",
        workload.workload,
        told.confidence
            .map_or(String::new(), |confidence| format!(", with intervals ({})", wording::percent(confidence)))
    );
    let mut lines = vec![String::new(), title];
    let heading: Vec<String> = ["point"].into_iter().chain(told.columns.iter().copied()).map(str::to_owned).collect();
    for contender in &evidence.plan.contenders {
        let ours = told.rows.iter().filter(|row| row.contender == contender.name);
        let rows = ours.map(|row| std::iter::once(row.point.clone()).chain(row.values.iter().cloned()).collect());
        lines.extend([format!("`{}`", contender.name), plain_table(heading.clone(), rows.collect(), 1)]);
    }
    lines.extend(told.is_corrected.then(|| format!("{}.", latency::ABOUT_CORRECTED)));
    lines
}

/// What a transaction cost on either side, and what of it nobody could see.
fn costs_section(duel: &Duel) -> Vec<String> {
    let rows: Vec<Vec<String>> =
        why::main_costs(duel).into_iter().map(|cost| why::cost_row(cost)[1..].to_vec()).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let heading = [why::COSTS_TITLE, &duel.baseline, &duel.candidate, "ratio", "interval", "n"].map(str::to_owned);
    let mut lines = vec![String::new(), plain_table(heading.into(), rows, 1), why::COSTS_NOTE.to_owned()];
    lines.extend(why::none_at_all(duel));
    lines.extend(why::not_visible(duel));
    lines
}

/// Programs and operations of a pass, and what could not be compared.
fn parts_section(workload: &WorkloadConclusions, duel: &Duel, parts: &Parts) -> Vec<String> {
    let mut lines = vec![format!("{}.", parts::totals(workload, duel, parts))];
    let lists = [
        ("program", &parts.programs, parts::about_programs(parts)),
        ("operation", &parts.operations, parts::about_operations(parts)),
    ];
    for (name, list, about) in lists.into_iter().filter(|(_, list, _)| !list.is_empty()) {
        lines.extend([String::new(), format!("each {name}; share: of the sum of these rows"), format!("{about}.")]);
        let said = parts::shared_caveats(duel, list);
        let row = |part: &Part| std::iter::once(part.name.clone()).chain(parts::cells(part, &said)).collect();
        let heading = std::iter::once(name.to_owned()).chain(parts::heading(duel)).collect();
        let mut rows: Vec<Vec<String>> = list.iter().map(row).collect();
        if name == "operation" {
            let gaps = parts::rows_of_gaps(workload, duel, parts);
            rows.extend(gaps.into_iter().map(|(name, cells)| std::iter::once(name).chain(cells).collect()));
        }
        lines.push(parts_table(heading, rows));
    }
    let left_out = parts::left_out(parts);
    if !left_out.is_empty() {
        lines.extend([String::new(), "compared with nothing:".to_owned()]);
        lines.extend(left_out.into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// As wide as its names need: a row of many stays on one line. The word is the only text behind the name.
fn parts_table(heading: Vec<String>, rows: Vec<Vec<String>>) -> String {
    wide_table(heading, rows, 1..6)
}

/// The same for other tables, whose numbers stand in these columns.
fn wide_table(heading: Vec<String>, rows: Vec<Vec<String>>, numbers: Range<usize>) -> String {
    let mut table = Table::new();
    table.load_preset(TABLE_STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heading).add_rows(rows);
    for column in numbers {
        let numbers = table.column_mut(column).expect("the table has these columns");
        numbers.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Every contender over cores or clients, below its name: beside the columns it would make the table too wide.
fn scaling_section(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<String> {
    // A sweep over clients stands in the tables above; the page has it as scaling too.
    let is_news = |told: &&Scaling| told.variable == CORES || told.laws.iter().any(|law| law.fit.is_ok());
    let Some(told) = workload.scaling.as_ref().filter(is_news) else { return Vec::new() };
    let mut lines = vec![String::new(), format!("{}: {}", workload.workload, scaling::title(told))];
    lines.extend(scaling::about(told).into_iter().map(str::to_owned));
    for contender in evidence.plan.contenders.iter().filter(|_| !told.steps.is_empty()) {
        let steps = told.steps.iter().filter(|step| step.contender == contender.name);
        let rows: Vec<Vec<String>> = steps.map(|step| scaling::row(told, step)).collect();
        lines.push(format!("`{}`", contender.name));
        lines.push(plain_table(scaling::heading(told, &workload.primary.unit), rows, 0));
    }
    if !scaling::cost_heading(told).is_empty() {
        let heading = ["contender", told.variable].map(str::to_owned).into_iter().chain(scaling::cost_heading(told));
        let names = |step: &Step| [step.contender.clone(), step.n.to_string()];
        let rows = told.steps.iter().map(|step| names(step).into_iter().chain(scaling::cost_row(told, step)).collect());
        lines.extend([String::new(), plain_table(heading.collect(), rows.collect(), 1)]);
    }
    lines.extend(scaling::laws(told, &workload.primary.unit, &evidence.plan.baseline));
    lines
}

/// The search that the run belongs to, where it belongs to one.
fn search_section(evidence: &Evidence) -> Vec<String> {
    let Some(told) = &evidence.run.search else { return Vec::new() };
    let mut lines = vec![String::new(), "the search over settings".to_owned()];
    lines.extend(search::about(told).into_iter().chain(search::ending(told)));
    let (rows, settings): (Vec<Vec<String>>, Vec<String>) = search::rows(told).into_iter().unzip();
    let names: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
    lines.push(left_table(&search::COLUMNS, rows));
    lines.extend(names.into_iter().zip(settings).map(|(name, settings)| format!("  {name}: {settings}")));
    if !told.rounds.is_empty() {
        lines.extend([String::new(), left_table(&search::ROUND_COLUMNS, search::round_rows(told))]);
    }
    lines.extend(search::space(told).into_iter().chain(search::recovery(evidence)));
    lines
}

/// Texts more than numbers.
fn left_table(heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = heading.len();
    plain_table(heading.iter().map(|title| (*title).to_owned()).collect(), rows, columns)
}

/// What profiles showed behind the verdict.
fn diagnostics_section(evidence: &Evidence) -> Vec<String> {
    let profiles = &evidence.profiles;
    if profiles.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), format!("profiles: {}", diagnostics::ABOUT)];
    for table in diagnostics::tables(&evidence.plan, profiles) {
        lines.extend([table.title, plain_table(table.heading, table.rows, 1)]);
    }
    lines.extend(diagnostics::not_visible(&evidence.plan, profiles));
    lines
}

/// What ran beside the plan.
fn probes_section(evidence: &Evidence) -> Vec<String> {
    let rows: Vec<Vec<String>> = probes::rows(evidence).into_iter().map(Vec::from).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    vec![String::new(), probes::ABOUT.to_owned(), left_table(&probes::HEADING, rows)]
}

/// One row per contender, one column per workload.
fn summary(evidence: &Evidence) -> Vec<String> {
    let Some((heading, rows)) = wording::summary(evidence) else { return Vec::new() };
    let title = format!("summary: geometric means over the points, with the ratio to `{}`", evidence.plan.baseline);
    vec![String::new(), title, plain_table(heading, rows, 1)]
}

/// Every rung of a ladder, then what its steps are worth elsewhere.
fn ladder_section(workload: &WorkloadConclusions, one: &Ladder) -> Vec<String> {
    let mut lines = vec![String::new(), ladder::title(workload, one)];
    lines.extend(ladder::changes(one).into_iter().map(|line| format!("  {line}")));
    lines.push(wide_table(ladder::heading(workload), ladder::rows(one), 1..6));
    let sentences = ladder::sentences(one);
    lines.extend(std::iter::once(ladder::about(one)).chain(sentences).map(|line| format!("{line}.")));
    if !one.interactions.is_empty() {
        let rows = one.interactions.iter().map(ladder::interaction).collect();
        lines.extend([String::new(), "each step against the final configuration without it".to_owned()]);
        lines.push(wide_table(ladder::INTERACTIONS.map(str::to_owned).to_vec(), rows, 1..7));
        lines.extend(ladder::not_left_out(one).into_iter().map(|line| format!("{line}.")));
    }
    lines
}

/// The first ladder beside the others.
fn stages_section(workload: &WorkloadConclusions) -> Vec<String> {
    if workload.stages.is_empty() {
        return Vec::new();
    }
    let rows = workload.stages.iter().map(ladder::stage).collect();
    let title = format!("{}: {}", workload.workload, ladder::STAGES_TITLE);
    vec![String::new(), title, wide_table(ladder::stages_heading(workload), rows, 2..3)]
}

/// What became of each type of transaction, for workloads that tell them apart.
fn types_section(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<String> {
    let record = evidence.plan.workloads.iter().find(|record| record.label == workload.workload);
    let Some(record) = record.filter(|record| !record.kinds.is_empty()) else { return Vec::new() };
    let option = |name: &str| wording::option(record, name);
    let mut lines = vec![
        String::new(),
        format!("{}: each type of transaction, all trials of a contender at a point together", workload.workload),
    ];
    lines.extend(record.notes.iter().map(|note| format!("{note}.")));
    for contender in &evidence.plan.contenders {
        let cells = workload.cells.iter().filter(|cell| cell.contender == contender.name);
        let heading = kinds::COLUMNS.into_iter().chain([kinds::LIMIT_COLUMN]).map(str::to_owned).collect();
        lines.push(format!("`{}`", contender.name));
        lines.push(plain_table(heading, cells.flat_map(|cell| cell_rows(record, cell)).collect(), 1));
    }
    lines.extend(workload.cells.iter().filter_map(|cell| {
        let skipped = tpcc::skipped_deliveries(|name| cell.metrics.get(name).map(|summary| summary.mean))?;
        Some(format!("`{}`, {}, mean of trials: {skipped}", cell.contender, point_text(&cell.point)))
    }));
    if tpcc::is_paced(option) {
        lines.extend(workload.cells.iter().filter_map(|cell| {
            let reached = cell.metrics.get("nopm_per_warehouse")?.mean;
            Some(format!("`{}`, {}: {}", cell.contender, point_text(&cell.point), tpcc::efficiency(reached)))
        }));
    }
    lines
}

/// The types of one cell below its point, which is a row of its own: beside the types it would make
/// the table too wide.
fn cell_rows(record: &WorkloadRecord, cell: &Cell) -> Vec<Vec<String>> {
    let clients = wording::count(record.clients_at(&cell.point) as usize, "client");
    let named = cell.point.keys().any(|name| name == "clients") || cell.point.is_empty();
    let title = if cell.point.is_empty() { clients.clone() } else { point_text(&cell.point) };
    let title = if named { title } else { format!("{title}, {clients}") };
    let types = kinds::rows(&record.kinds, &cell.kinds).into_iter().map(|row| row.to_vec());
    std::iter::once(vec![title]).chain(types).collect()
}

/// What the host did meanwhile; nothing where nobody watched it second by second.
fn host(evidence: &Evidence) -> Option<String> {
    let row = |seen: Watched| {
        let said = wording::watched(seen.metric)?;
        let is_share = seen.metric.ends_with("_share");
        let figure = |value| if is_share { wording::percent(value) } else { wording::number(value) };
        let second = seen.worst_second.map_or("not known".to_owned(), figure);
        Some(vec![said.to_owned(), figure(seen.mean), figure(seen.worst_trial), second, seen.trials.to_string()])
    };
    let rows: Vec<Vec<String>> =
        watched(evidence.trials.measured(), &evidence.observed).into_iter().filter_map(row).collect();
    let heading = ["host during the trials", "mean", "worst trial", "worst second", "n"].map(str::to_owned);
    (!evidence.observed.is_empty() && !rows.is_empty()).then(|| plain_table(heading.into(), rows, 1))
}

/// What differs without being asked for: nothing where nothing does.
fn drift_section(drift: &Drift) -> Vec<String> {
    let (rows, left) = drift::notable_rows(drift);
    let mut lines = Vec::new();
    if !drift.settings.is_empty() {
        lines.push(format!("\n`{}` against `{}`: {}", drift.candidate, drift.baseline, drift::settings_counted(drift)));
    }
    if !rows.is_empty() {
        let heading = ["setting", drift.baseline, drift.candidate, "why"].map(str::to_owned);
        lines.push(plain_table(heading.into(), rows, 4));
        lines.extend((left > 0).then(|| format!("and {left} more, in report.html")));
    }
    let differing = drift::plan_lines(drift);
    if let Some(counted) = drift::plans_counted(drift).filter(|_| !differing.is_empty()) {
        lines.push(format!("`{}` against `{}`: {counted}", drift.candidate, drift.baseline));
        lines.extend(differing);
    }
    if let Some(same) = &drift.same_settings {
        lines.push(format!("`{}` with the settings of `{}`, as a contender:", drift.candidate, drift.baseline));
        lines.push(drift::contender(drift.baseline, same));
    }
    lines
}

/// A table whose columns from `numbers` on are numbers.
fn plain_table(heading: Vec<String>, rows: Vec<Vec<String>>, numbers: usize) -> String {
    let mut table = Table::new();
    table.load_preset(TABLE_STYLE).set_width(WIDTH).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(heading).add_rows(rows);
    table.column_iter_mut().skip(numbers).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// One row per point, then the whole sweep.
fn table(workload: &WorkloadConclusions, metric: &str, points: &[Comparison], overall: &Comparison) -> String {
    let mut table = empty_table(workload.unit(metric), overall);
    let sweep = (points.len() > 1 && !overall.is_withheld).then_some(overall);
    // What holds for the whole sweep stands in the headline already.
    let said = sweep.map_or(&[][..], |overall| &overall.caveats);
    for comparison in points {
        let name = comparison.point.as_ref().map(point_text).unwrap_or_default();
        let extra = wording::caveats(comparison, said);
        let word = format!("{}{extra}{}", wording::word(comparison), failures(workload, comparison));
        table.add_row(row(name, comparison, word));
    }
    if let Some(overall) = sweep {
        table.add_row(row(wording::sweep(points, overall), overall, wording::word(overall).to_owned()));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The header, with every column of numbers set to the right.
fn empty_table(unit: &str, overall: &Comparison) -> Table {
    let mut table = Table::new();
    table.load_preset(TABLE_STYLE).set_width(WIDTH).set_content_arrangement(ContentArrangement::Dynamic);
    let (baseline, candidate) = (format!("{} {unit}", overall.baseline), format!("{} {unit}", overall.candidate));
    table.set_header(["point", &baseline, &candidate, "ratio", "interval", "n", "word"]);
    for column in 1..6 {
        let numbers = table.column_mut(column).expect("the table has seven columns");
        numbers.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(name: String, comparison: &Comparison, word: String) -> [String; 7] {
    let kind = if comparison.basis == stats::Basis::Plain { " t" } else { "" };
    let interval = wording::interval(comparison).map_or("none".to_owned(), |bounds| format!("{bounds}{kind}"));
    [
        name,
        wording::optional_number(comparison.baseline_value),
        wording::optional_number(comparison.candidate_value),
        wording::ratio_only(comparison),
        interval,
        comparison.blocks.to_string(),
        word,
    ]
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

/// What a ladder adds up is told step by step; each of its rungs against the base is for the page.
fn is_rung(evidence: &Evidence, contender: &str) -> bool {
    evidence.conclusions.workloads.iter().any(|workload| workload.is_rung(contender))
}

fn findings(evidence: &Evidence) -> Vec<String> {
    let mut lines = Vec::new();
    let duels = evidence.conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    let duels = duels.filter(|duel| !is_rung(evidence, &duel.candidate));
    let among_many = evidence.plan.contenders.len() > 2;
    let causes = duels.flat_map(|duel| {
        let of = if among_many { format!(", `{}` against `{}`", duel.candidate, duel.baseline) } else { String::new() };
        duel.diagnosis.causes.iter().map(move |cause| (sentences::causes::said(evidence, cause), of.clone()))
    });
    let others = evidence
        .conclusions
        .findings
        .iter()
        .map(|finding| (sentences::findings::said(evidence, finding), String::new()));
    for (finding, of) in causes.chain(others) {
        lines.push(format!("\n{} ({}){of}: {}", finding.kind, finding.grade, finding.text));
        lines.extend(finding.evidence.iter().take(EVIDENCE_LINES).map(|line| format!("  {line}")));
        if finding.evidence.len() > EVIDENCE_LINES {
            lines.push("  …".to_owned());
        }
    }
    lines
}

fn titled(title: &str, lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(move |line| format!("{title}: {line}"))
}

fn footer(evidence: &Evidence) -> Vec<String> {
    let host = &evidence.run.host;
    let mut lines = vec![
        format!("run: {}", wording::extent(&evidence.conclusions, evidence.run.ended_by.as_deref())),
        format!("method: {}", wording::method(&evidence.plan)),
        format!(
            "host: {}, {} cores, {:.1} GiB, {}, {}, {}",
            host.cpu_model,
            host.cores,
            host.memory_bytes as f64 / (1u64 << 30) as f64,
            host.kernel,
            host.storage,
            host.virtualisation
        ),
    ];
    lines.extend(titled("verdicts", wording::first_verdicts(evidence)));
    lines.extend(wording::flags(&evidence.conclusions).map(|flags| format!("flags of the host: {flags}")));
    lines.extend(titled("host", circumstances::facts(host)));
    lines.extend(circumstances::not_visible(host).map(|names| format!("not visible here: {names}")));
    lines.push(format!("generator: {}", circumstances::generator(&evidence.run, &evidence.conclusions.tally)));
    lines.extend(titled("generator doubled", circumstances::doublings(evidence)));
    lines.extend(titled("contrast", contrasts::lines(evidence)));
    lines.extend(titled("warm-up", circumstances::warm_up(evidence)));
    lines.extend(titled("twins", circumstances::twins(&evidence.run)));
    for contender in &evidence.plan.contenders {
        let facts = evidence.run.contenders.get(&contender.name);
        let version = facts.map_or(&contender.version, |facts| &facts.version);
        let durability = facts.map_or("not known", |facts| &facts.durability_class);
        lines.push(format!(
            "contender `{}`: {} {version}, durability {durability}, data on {}, isolation {}, from {}",
            contender.name,
            contender.kind,
            wording::storage(contender, facts),
            wording::isolation(facts),
            contender.source
        ));
    }
    lines.push(format!("full report: {}/report.html", evidence.folder));
    lines
}
