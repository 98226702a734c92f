//! What differs between the servers: builds, settings, tables.

use std::collections::{BTreeMap, BTreeSet};

use analysis::differences::{Difference, drifts};
use record::format::{ContenderFacts, ContenderRecord};

use super::{Topic, settings_and_plans};
use crate::document::{Block, Column, RowKind, Section, Table};
use crate::{Evidence, wording};

pub struct Differences;

impl Topic for Differences {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let drifts = drifts(&evidence.plan, &evidence.run);
        let mut body = vec![Block::Table(contenders(evidence))];
        let own = settings_table(evidence, |contender| &contender.settings, false);
        body.extend(match Block::table(own) {
            Some(table) => [Block::heading("Set in the experiment file"), table].into(),
            None => vec![Block::para("The experiment file sets nothing.")],
        });
        body.extend(drifts.iter().flat_map(|drift| drift_blocks(evidence, drift)));
        let tool = Block::table(settings_table(evidence, |contender| &contender.own_settings, false));
        body.extend(tool.map(|table| Block::OnPage(vec![Block::fold("Set by dbduel itself", vec![table])])));
        let effective = effective_settings(evidence, &drifts);
        let title = format!("All {} settings in force that differ", effective.rows.len());
        body.extend(Block::table(effective).map(|table| Block::OnPage(vec![Block::fold(title, vec![table])])));
        body.extend(
            Block::on_page(schemas(evidence))
                .map(|block| Block::OnPage(vec![Block::fold("Tables as the servers show them", vec![block])])),
        );
        Section::of("differences", "What differs between the servers", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

fn contenders(evidence: &Evidence) -> Table {
    let row = |contender: &ContenderRecord| {
        let facts = evidence.run.contenders.get(&contender.name);
        let is_baseline = contender.name == evidence.plan.baseline;
        let memory = contender.memory_bytes.map(|bytes| format!("{:.1} GiB of memory", gib(bytes)));
        let cores = contender.cores.as_ref().map(|cores| format!("cores {cores}"));
        let place = std::iter::once(wording::storage(contender, facts)).chain(cores).chain(memory);
        let version = facts.map_or(&contender.version, |facts| &facts.version);
        [
            format!("{}{}", contender.name, if is_baseline { " (baseline)" } else { "" }),
            format!("{} {version}", contender.kind),
            durability(evidence, &contender.name),
            wording::isolation(facts),
            place.collect::<Vec<_>>().join(", "),
            source(contender, facts),
        ]
    };
    let columns = [
        Column::name("contender", 0),
        Column::name("server", 0),
        Column::name("survive (claimed)", 0),
        Column::name("isolation", 2),
        Column::prose("data on", 1),
        Column::prose("from", 1),
    ];
    Table::new(columns).with_rows(evidence.plan.contenders.iter().map(row))
}

/// Where its server came from; of an image also when it was made, and what it sets for its programs; of a target also what
/// of its URL was filled in.
fn source(contender: &ContenderRecord, facts: Option<&ContenderFacts>) -> String {
    let Some(image) = &contender.image else {
        let filled_in = facts.and_then(|facts| facts.target_sources.as_deref());
        return [Some(contender.source.as_str()), filled_in].into_iter().flatten().collect::<Vec<_>>().join("; ");
    };
    let made = image.created.as_deref().and_then(|time| time.split('T').next()).map(|day| format!(", made {day}"));
    let mut text = contender.source.trim_end_matches(')').to_owned() + &made.unwrap_or_default() + ")";
    for (name, value) in &image.environment {
        text += &format!(", {name}={value}");
    }
    text
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// `OS crash (D3)`; where this run measured it `OS crash (D3), measured D3`.
fn durability(evidence: &Evidence, contender: &str) -> String {
    let Some(facts) = evidence.run.contenders.get(contender) else { return "not known".to_owned() };
    let class = facts.durability_class.as_str();
    let claimed = match class {
        "D3" => format!("OS crash ({class})"),
        "D2" => format!("server crash only ({class})"),
        "D1" => format!("neither crash, for about a second ({class})"),
        "D0" => format!("nothing ({class})"),
        _ => class.to_owned(),
    };
    match evidence.conclusions.measured_class(contender) {
        Some(measured) => format!("{claimed}, measured {}", measured.text()),
        None => claimed,
    }
}

/// What differs without being asked for. Of the rungs of a ladder, for the page.
fn drift_blocks(evidence: &Evidence, drift: &Difference) -> Vec<Block> {
    let mut body = Vec::new();
    if !drift.settings.is_empty() {
        body.push(Block::heading(format!("`{}` against `{}`", drift.candidate, drift.baseline)));
        body.push(Block::para(settings_and_plans::settings_counted(drift) + "."));
        let (notable, others) = settings_and_plans::tables(drift);
        let left = others.rows.len();
        body.extend(Block::table(notable));
        let title = format!("The other {left} settings that differ");
        body.extend(Block::table(others).map(|table| Block::OnPage(vec![Block::fold(title, vec![table])])));
    }
    if let Some(same) = &drift.same_settings {
        let title = format!(
            "`{}` with {} of `{}`, as a contender for the experiment file",
            drift.candidate,
            wording::count(same.changed, "setting"),
            drift.baseline
        );
        body.push(Block::fold(title, vec![Block::Code(settings_and_plans::contender(drift.baseline, same))]));
    }
    let is_rung = evidence.conclusions.workloads.iter().any(|workload| workload.is_rung(drift.candidate));
    if is_rung { Block::on_page(body).into_iter().collect() } else { body }
}

type Settings = BTreeMap<String, String>;

/// One row for each setting, one value for each contender.
fn settings_table(
    evidence: &Evidence,
    settings: impl Fn(&ContenderRecord) -> &Settings,
    only_different: bool,
) -> Table {
    settings_rows(evidence, &evidence.plan.contenders.iter().map(settings).collect::<Vec<_>>(), only_different)
}

/// What the servers themselves report, where they report different things and no list above has it. A contender
/// whose server never answered leaves its column empty.
fn effective_settings(evidence: &Evidence, drifts: &[Difference]) -> Table {
    let compared = drifts.iter().filter(|drift| drift.same_family).count();
    if compared + 1 == evidence.plan.contenders.len() {
        return Table::new([]);
    }
    let none = Settings::new();
    let of = |contender: &ContenderRecord| {
        evidence.run.contenders.get(&contender.name).map(|facts| &facts.effective_settings)
    };
    let all: Vec<&Settings> = evidence.plan.contenders.iter().map(|contender| of(contender).unwrap_or(&none)).collect();
    settings_rows(evidence, &all, true)
}

fn settings_rows(evidence: &Evidence, all: &[&Settings], only_different: bool) -> Table {
    let names = evidence.plan.contenders.iter().map(|contender| Column::prose(contender.name.as_str(), 0));
    let mut table = Table::new(std::iter::once(Column::name("setting", 0)).chain(names).collect::<Vec<_>>());
    let keys: BTreeSet<&String> = all.iter().flat_map(|settings| settings.keys()).collect();
    for key in keys {
        let values: Vec<Option<&String>> = all.iter().map(|settings| settings.get(key)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        let kind = if differs { RowKind::Different } else { RowKind::Plain };
        let values = values.into_iter().map(|value| value.map_or("not set".to_owned(), Clone::clone));
        if differs || !only_different {
            table.push(kind, std::iter::once(key.clone()).chain(values));
        }
    }
    table
}

fn schemas(evidence: &Evidence) -> Vec<Block> {
    let labels = evidence.conclusions.workloads.iter().map(|workload| workload.workload.as_str());
    let of_label = |label: &str| {
        let with_ddl =
            evidence.run.contenders.iter().filter_map(|(name, facts)| Some((name, facts.ddl.get(label)?, facts)));
        let blocks = with_ddl.flat_map(|(name, ddl, facts)| {
            let size =
                restored(facts, label).map_or(String::new(), |size| format!(", {size} restored before each trial"));
            [Block::para(format!("`{name}`, {label}{size}")), Block::Code(ddl.join(";\n\n"))]
        });
        blocks.collect::<Vec<_>>()
    };
    labels.flat_map(of_label).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{CANDIDATE, Story, stored_run};

    #[test]
    fn what_was_filled_in_of_a_target_stands_behind_its_url() {
        let mut stored = stored_run(&Story::default());
        let contender = ContenderRecord { source: "target postgres:///x".into(), ..stored.plan.contenders[1].clone() };
        let facts = stored.run.contenders.get_mut(CANDIDATE).unwrap();
        assert_eq!(source(&contender, Some(facts)), "target postgres:///x");
        facts.target_sources = Some("postgres://app@db/x: host and user from PGHOST and PGUSER".into());
        assert_eq!(
            source(&contender, Some(facts)),
            "target postgres:///x; postgres://app@db/x: host and user from PGHOST and PGUSER"
        );
    }
}
