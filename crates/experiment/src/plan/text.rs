//! The plan as text: what will be compared, what it takes, and every trial in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{POINTS, Plan, operations_are};
use crate::quantity::{bytes_text, duration_text, percent_text};
use crate::{Cluster, Experiment, Launcher, shell_word};
use record::format::ladder::ChangeRecord;
use record::format::{ContenderRecord, PlanRecord, PlannedTrial, Point, WorkloadRecord};

impl Plan {
    /// The plan as `dbduel plan` prints it.
    pub fn text(&self) -> String {
        render(self)
    }
}

impl Experiment {
    /// `16 clients = 4+4+4+4 on 4 workers`, for each number of clients of the plan, and how the workers are started.
    pub fn worker_lines(&self, binary: &Path, inside_a_step: bool) -> Vec<String> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let points: Vec<Point> = self.points();
        let numbers = self.workloads.iter().flat_map(|one| points.iter().map(|point| one.all_clients_at(point)));
        let numbers: BTreeSet<u32> = numbers.collect();
        let workers = match cluster.workers() {
            1 => "1 worker".to_owned(),
            workers => format!("{workers} workers"),
        };
        let line = |clients: &u32| format!("{clients} clients = {} on {workers}", cluster.division(*clients));
        let starts = match cluster.launcher {
            Launcher::Ssh => 0..cluster.workers(),
            _ => 0..1,
        };
        let command = |cluster: &Cluster, worker: u32| {
            let words = cluster.command(worker, &self.name, binary, inside_a_step);
            words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
        };
        let started = starts.map(|worker| format!("started by: {}", command(cluster, worker)));
        let observed = cluster.observer().map(|observer| format!("observed by: {}", command(&observer, 0)));
        numbers.iter().map(line).chain(started).chain(observed).collect()
    }
}

/// The whole plan; ends with a line break.
fn render(plan: &Plan) -> String {
    let record = &plan.record;
    let mut text = format!("plan: {}\nhash: {}\nseed: {}\n", record.name, record.plan_hash, record.seed);
    if let Some(question) = &record.question {
        text += &format!("question: {question}\n");
    }
    if let Some(set) = record.set_flags() {
        text += &format!("with {set}\n");
    }
    text += "\ncontenders\n";
    for contender in &record.contenders {
        text += &contender_text(contender, &record.baseline);
    }
    text += &ladders_text(record);
    text += "\nworkloads\n";
    let swept = record.trials.iter().any(|trial| trial.point.contains_key("clients"));
    for workload in &record.workloads {
        text += &workload_text(workload, swept);
    }
    text += "\nmethod\n";
    text += &method_text(record);
    text += &gate_text(record).unwrap_or_default();
    text += "\nexpected (estimates, not promises)\n";
    text += &expected_text(plan);
    text += "\ntrials\n";
    text + &trials_text(plan)
}

fn contender_text(contender: &ContenderRecord, baseline: &str) -> String {
    let role = if contender.name == baseline { " (baseline)" } else { "" };
    let mut text =
        format!("  {}{role}: {} {}, from {}", contender.name, contender.kind, contender.version, contender.source);
    let memory = contender.memory_bytes.map(|bytes| format!(", with {} of memory", bytes_text(bytes)));
    let _ = writeln!(text, ", on {}{}", contender.storage, memory.unwrap_or_default());
    for (title, settings) in [("settings", &contender.settings), ("set by dbduel", &contender.own_settings)] {
        if !settings.is_empty() {
            let _ = writeln!(text, "    {title}: {}", pairs(settings));
        }
    }
    text
}

/// Variations from block to block for which a plan shows what a gate takes.
const VARIATIONS: [f64; 3] = [0.01, 0.02, 0.05];
/// An experiment file cannot ask for more.
const BLOCKS_MAX: u32 = 1000;

/// The limits of `--gate`, and after how many blocks each can be answered.
fn gate_text(record: &PlanRecord) -> Option<String> {
    let gate = record.gate?;
    let throughput = gate.max_slowdown.map(|most| (format!("throughput at most {} lower", percent_text(most)), most));
    let latency = gate.latency.map(|limit| {
        let most = limit.max_slowdown;
        (format!("p{} response time at most {} longer", limit.quantile, percent_text(most)), most)
    });
    let limits: Vec<(String, f64)> = throughput.into_iter().chain(latency).collect();
    let blocks = limits.iter().map(|(limit, most)| format!("    {limit}: {}\n", blocks_of_gate(record, *most)));
    let about = "    (if the candidate is as fast as the baseline, in nine of ten runs)\n";
    Some(format!("  gate, with at most {} blocks:\n{}{about}", record.method.blocks, blocks.collect::<String>()))
}

/// `passes after 8 blocks where ratios vary by 1 % between blocks, 14 by 2 %, 70 by 5 %`
fn blocks_of_gate(record: &PlanRecord, max_slowdown: f64) -> String {
    let blocks = |sd: f64| Some((sd, super::blocks_for_limit(record, max_slowdown, sd)?));
    let all: Vec<(f64, u32)> = VARIATIONS.into_iter().filter_map(blocks).collect();
    let Some(((sd, first), rest)) = all.split_first() else { return "no number of blocks is enough".to_owned() };
    let shown = |blocks: u32| if blocks > BLOCKS_MAX { format!("over {BLOCKS_MAX}") } else { blocks.to_string() };
    let rest = rest.iter().map(|(sd, blocks)| format!(", {} by {}", shown(*blocks), percent_text(*sd)));
    let first = shown(*first);
    format!(
        "passes after {first} blocks where ratios vary by {} between blocks{}",
        percent_text(*sd),
        rest.collect::<String>()
    )
}

/// What climbs on what, step by step, and what else is measured to separate the steps.
fn ladders_text(record: &PlanRecord) -> String {
    let mut text = String::new();
    for ladder in &record.ladders {
        let _ = writeln!(text, "\nladder on {}", ladder.base);
        for (rung, place) in ladder.rungs.iter().zip(1..) {
            let changes: Vec<String> = rung.changes.iter().map(ChangeRecord::text).collect();
            let _ = writeln!(text, "  {place}. {}: {}", rung.contender, changes.join(", "));
        }
        let more = record.contenders.iter().filter(|one| ladder.attributes(&one.name)).count();
        if more == 0 {
            continue;
        }
        let of_more = |trial: &&PlannedTrial| ladder.attributes(&trial.contender);
        let trials = record.trials.iter().filter(of_more).count();
        let _ = writeln!(text, "  steps told apart, with steps left out: {more} contenders more, {trials} trials");
    }
    text
}

fn pairs<V: std::fmt::Display>(values: &BTreeMap<String, V>) -> String {
    values.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
}

fn workload_text(workload: &WorkloadRecord, swept: bool) -> String {
    let name = if workload.label == workload.name { String::new() } else { format!(" ({})", workload.name) };
    let grown = workload.clients_at.iter().map(|(value, clients)| format!("{clients} at {value}"));
    let clients = match (swept, workload.clients_at.is_empty()) {
        (true, _) => "clients from [sweep]".to_owned(),
        (false, true) if workload.clients == 1 => "1 client".to_owned(),
        (false, true) => format!("{} clients", workload.clients),
        (false, false) => format!("clients grow with the points: {}", grown.collect::<Vec<_>>().join(", ")),
    };
    let isolation = workload.isolation.as_ref().map_or(String::new(), |level| format!("; isolation {level}"));
    let open_loop = workload.open_loop_text().map_or(String::new(), |how| format!("; {how}"));
    let ledger = workload.ledger_clients.map(|clients| format!(", and {clients} of the ledger beside them"));
    let ledger = ledger.unwrap_or_default();
    let beside = [(workload.kills, "killed"), (workload.loads, "loaded")].map(|(often, word)| match often {
        0 => String::new(),
        1 => format!("; {word} once before the first block"),
        _ => format!("; {word} {often} times before the first block"),
    });
    let mut text = format!("  {}{name}: {clients}{ledger}{open_loop}{isolation}{}\n", workload.label, beside.concat());
    if !workload.options.is_empty() {
        let _ = writeln!(text, "    options: {}", pairs(&workload.shown_options()));
    }
    if workload.replays {
        text.extend(workload.notes.iter().map(|note| format!("    {note}\n")));
        let judged = workload.digests.values().filter(|digest| digest.is_judged).count();
        let _ = writeln!(
            text,
            "    {judged} of {} timed digests can have a verdict: 30 calls in the measured part, and a thousandth of the log's time",
            workload.digests.len()
        );
    }
    text
}

fn method_text(plan: &PlanRecord) -> String {
    let method = &plan.method;
    let changed =
        if method.changed.is_empty() { String::new() } else { format!(", changed: {}", method.changed.join(", ")) };
    let mut text = format!("  preset {}{changed}\n", method.preset);
    let _ = writeln!(
        text,
        "  {} blocks at most; {}; page cache {}, transport {}",
        method.blocks,
        trial_text(plan),
        method.page_cache,
        method.transport
    );
    let _ = writeln!(
        text,
        "  rule {}, stop {}, margin {} %, confidence {} %, noisy host: {}",
        method.rule.as_str(),
        method.stop,
        method.margin * 100.0,
        method.confidence * 100.0,
        method.noisy_host
    );
    for line in arrangement(plan) {
        let _ = writeln!(text, "  {line}");
    }
    if !method.left_out.is_empty() {
        let _ = writeln!(text, "  left out: {}", method.steps_left_out());
    }
    text
}

/// Where trials are not simply one after the other, each from its own full copy of the data.
fn arrangement(plan: &PlanRecord) -> Vec<String> {
    let method = &plan.method;
    let clones = method.work_copy.as_ref().map(|how| format!("data by {how}: first writes to a block are the trial's"));
    let walked = "fast sweep: a contender is started once in a block and goes through all points".to_owned();
    let duet = format!(
        "duet: both contenders at the same time, order is the side; behind it {} solo blocks, from {} on",
        super::SOLO_BLOCKS,
        method.blocks + 1
    );
    let walked = method.fast_sweep.then_some(walked);
    clones.into_iter().chain(walked).chain(method.duet.then_some(duet)).collect()
}

fn ends_by_events(plan: &PlanRecord) -> bool {
    plan.workloads.iter().any(|workload| workload.events.is_some())
}

/// What may end a trial of a workload before its time.
fn events_text(workload: &WorkloadRecord) -> Option<String> {
    Some(format!("; a trial of {} ends after {} transactions", workload.label, workload.events?))
}

/// What one trial does with its time.
fn trial_text(plan: &PlanRecord) -> String {
    let method = &plan.method;
    let warm_up = match method.pilot_s {
        Some(pilot_s) => format!("as long as pilots of {pilot_s} s show, at least {} s,", method.warmup_s),
        None => format!("{} s", method.warmup_s),
    };
    let events: Vec<String> = plan.workloads.iter().filter_map(events_text).collect();
    let at_most = if events.is_empty() { "" } else { "at most " };
    let timed =
        format!("each trial warms up {warm_up} and measures {at_most}{} s{}", method.duration_s, events.concat());
    let passes: Vec<&str> = plan
        .workloads
        .iter()
        .filter(|workload| workload.ends_itself())
        .map(|workload| workload.label.as_str())
        .collect();
    match passes.as_slice() {
        [] => timed,
        _ if plan.end_themselves() => "each trial is one pass, however long it takes".to_owned(),
        labels => format!("{timed}; of {} it is one pass, however long it takes", labels.join(" and ")),
    }
}

fn expected_text(plan: &Plan) -> String {
    let (estimate, record) = (&plan.estimate, &plan.record);
    let at_most = if ends_by_events(record) { "at most " } else { "" };
    let mut text = format!("  time: {at_most}{} for all {} trials", duration_text(estimate.run), record.trials.len());
    let (checks, load) = (duration_text(estimate.checks), duration_text(estimate.first_load));
    let _ = writeln!(text, ", {checks} of checks before them, and {load} to load the data once");
    if let Some(time) = super::headroom::expected(record, &plan.estimate) {
        let _ = writeln!(text, "  after the last block: {} for the generator headroom check", duration_text(time));
    }
    if let Some(time) = super::cause_test::expected(record, &plan.estimate) {
        let _ = writeln!(text, "  after the verdict: {} for each cause that is tested", duration_text(time));
    }
    if !estimate.asked.is_zero() {
        let _ = writeln!(
            text,
            "  kills, loads and answers: {} of that, before the first block",
            duration_text(estimate.asked)
        );
    }
    if !estimate.pilots.is_zero() {
        let _ = writeln!(text, "  pilots: {} of that, before the first block", duration_text(estimate.pilots));
        text += "  a warm-up longer than the least, or repeats of disturbed pairs, come on top\n";
    }
    if !at_most.is_empty() {
        text += "  how long a trial of so many transactions takes is not known before the first; the time is for trials \
                 that all last their duration\n";
    }
    if record.workloads.iter().any(|workload| workload.one_pass) {
        text +=
            "  how long a pass takes is not known before the first: three times less or ten times more is possible\n";
    }
    if let (Some(budget_s), Some(blocks)) = (record.method.budget_s, estimate.budget_blocks) {
        let about = if at_most.is_empty() { "about" } else { "at least about" };
        let _ =
            writeln!(text, "  budget: {budget_s} s, enough for {about} {blocks} of {} blocks", record.method.blocks);
    }
    let _ =
        writeln!(text, "  disk: {}; memory: {}", bytes_text(estimate.disk_bytes), bytes_text(estimate.memory_bytes));
    text + &verdict_text(plan)
}

/// When a verdict is possible at all, and when for single points and operations; and what is too little.
fn verdict_text(plan: &Plan) -> String {
    let (record, estimate) = (&plan.record, &plan.estimate);
    if record.contenders.len() < 2 {
        return "  verdict: none, because there is one contender only\n".to_owned();
    }
    let Some(block) = estimate.overall_verdict_block else {
        let least = super::point_rule(record, 1).kind.first_look();
        let rule = record.method.rule.as_str();
        return format!("  verdict: none in so few blocks; rule {rule} needs at least {least}\n");
    };
    let points = record.trials.iter().map(|trial| &trial.point).collect::<BTreeSet<_>>().len();
    let firsts = [
        (points, POINTS, estimate.point_verdict_block),
        (estimate.operations, operations_are(record), estimate.operation_verdict_block),
    ];
    let asked = |count: usize, what: &str| if what == POINTS { count > 1 } else { count > 0 };
    let mut text = format!("  verdict: at the earliest after block {block}");
    for (_, what, first) in firsts.iter().filter(|(count, what, _)| asked(*count, what)) {
        text += &first.map_or(String::new(), |first| format!("; for {what} after block {first}"));
    }
    text.push('\n');
    for (count, what, _) in firsts.iter().filter(|(count, what, first)| asked(*count, what) && first.is_none()) {
        text += &format!("  warning: {}\n", super::too_few(record, *count, what));
    }
    text
}

fn trials_text(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["trial", "block", "order", "workload", "point", "contender", "gap", "starts after"]);
    for (trial, start) in plan.record.trials.iter().zip(&plan.estimate.trial_starts) {
        table.add_row([
            trial.trial.to_string(),
            trial.block.to_string(),
            trial.order.to_string(),
            trial.workload.clone(),
            point_text(&trial.point),
            trial.contender.clone(),
            format!("{:.1} s", trial.gap_ms as f64 / 1000.0),
            duration_text(*start),
        ]);
    }
    for numeric in [0, 1, 2, 6, 7] {
        table.column_mut(numeric).expect("the table has eight columns").set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt().lines().map(|line| format!(" {line}\n")).collect()
}

fn point_text(point: &Point) -> String {
    if point.is_empty() { "-".to_owned() } else { pairs(point) }
}
