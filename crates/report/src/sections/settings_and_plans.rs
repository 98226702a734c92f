//! Words and rows for what contenders do differently without being asked.

use analysis::differences::{Difference, PlanPair, Plans, SameSettings, Setting, Why, drifts};
use analysis::plan_causes::is_plan_of;

use crate::Evidence;
use crate::document::{Column, RowKind, Table};
use crate::wording::{count, joined};

/// Settings that are not folded.
const SETTINGS_MAX: usize = 12;
/// Changed defaults that a sentence names.
const DEFAULTS_NAMED: usize = 3;

/// What the file asks for first, then the most notable ones, then by name.
pub fn in_order<'a, 'b>(drift: &'b Difference<'a>) -> Vec<&'b Setting<'a>> {
    let mut settings: Vec<&Setting> = drift.settings.iter().collect();
    settings.sort_by_key(|setting| (!setting.wanted, setting.notable.unwrap_or(usize::MAX), setting.name));
    settings
}

/// `41 settings in force differ: 2 asked for, 30 default of the version …`.
pub fn settings_counted(drift: &Difference) -> String {
    let of = |why: Why| drift.settings.iter().filter(|setting| setting.why == why).count();
    let counted = [Why::Asked, Why::Default, Why::OnlyBaseline, Why::OnlyCandidate].map(|why| (of(why), why));
    let parts: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {}", why.as_str()))
        .collect();
    let verb = if drift.settings.len() == 1 { "differs" } else { "differ" };
    format!("{} in force {verb}: {}", count(drift.settings.len(), "setting"), parts.join(", "))
}

/// What the file asks for and what is most likely to matter, and everything else.
pub fn tables(drift: &Difference) -> (Table, Table) {
    let columns = [
        Column::name("setting", 0),
        Column::name(drift.baseline, 0),
        Column::name(drift.candidate, 0),
        Column::name("why", 1),
    ];
    let (mut notable, mut others) = (Table::new(columns.clone()), Table::new(columns));
    for setting in in_order(drift) {
        // What the file asks for always stands in the first.
        let is_first = setting.stands_out() && (setting.wanted || notable.rows.len() < SETTINGS_MAX);
        let kind = if setting.notable.is_some() && !is_first { RowKind::Different } else { RowKind::Plain };
        let why = setting.why.as_str().to_owned();
        let table = if is_first { &mut notable } else { &mut others };
        table.push(kind, [setting.name.to_owned(), value(setting.baseline), value(setting.candidate), why]);
    }
    (notable, others)
}

fn value(value: Option<&str>) -> String {
    match value {
        None => "(no such setting)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(value) => value.to_owned(),
    }
}

/// Without further executions of a statement of a log that are run as its first one is.
pub fn distinct<'a, 'b>(plans: &'b Plans<'a>) -> impl Iterator<Item = &'b PlanPair<'a>> {
    let is_known = |pair: &PlanPair| {
        let same = |first: &&PlanPair| first.statement != pair.statement && is_plan_of(pair.statement, first.statement);
        plans
            .statements
            .iter()
            .find(same)
            .is_some_and(|first| (&first.change, first.is_known()) == (&pair.change, pair.is_known()))
    };
    plans.statements.iter().filter(move |pair| !is_known(pair))
}

/// `2 of 8 statements are run differently`; of different families nothing can be counted.
pub fn plans_counted(drift: &Difference) -> Option<String> {
    let pairs = || drift.plans.iter().flat_map(distinct);
    let (all, known) = (pairs().count(), pairs().filter(|pair| pair.is_known()).count());
    if all == 0 {
        return None;
    }
    let verb = |count: usize| if count == 1 { "is" } else { "are" };
    let unknown = match all - known {
        0 => String::new(),
        unknown => format!("; {unknown} more {} not known of both servers", verb(unknown)),
    };
    let differing = pairs().filter(|pair| pair.differs).count();
    Some(match (known, drift.same_family) {
        (0, _) => format!("no plan of {} is known of both servers", count(all, "statement")),
        (_, false) => format!("plans of {}, side by side{unknown}", count(known, "statement")),
        (_, true) => {
            let is_one = differing == 1 || known == 1;
            let verb = verb(if is_one { 1 } else { 2 });
            format!("{differing} of {} {verb} run differently{unknown}", count(known, "statement"))
        }
    })
}

/// What the versions have otherwise, where nothing was asked for.
pub fn changed_defaults(evidence: &Evidence) -> Option<String> {
    let all = drifts(&evidence.plan, &evidence.run);
    let [drift] = all.as_slice() else { return None };
    let by_itself = drift.settings.iter().filter(|setting| setting.why == Why::Default).count();
    let notable = in_order(drift).into_iter().filter(|setting| setting.why == Why::Default && setting.stands_out());
    let names: Vec<String> = notable.take(DEFAULTS_NAMED).map(|setting| format!("`{}`", setting.name)).collect();
    let verb = if by_itself == 1 { "default differs" } else { "defaults differ" };
    match (by_itself, names.len()) {
        (0, _) => None,
        (_, 0) => Some(format!("{by_itself} {verb} between the servers.")),
        (1, _) => Some(format!("1 {verb} between the servers: {}.", joined(names))),
        (_, 1) => {
            Some(format!("{by_itself} {verb} between the servers; the one most likely to matter is {}.", joined(names)))
        }
        _ => Some(format!(
            "{by_itself} {verb} between the servers; the ones most likely to matter are {}.",
            joined(names)
        )),
    }
}

/// A table for the experiment file.
pub fn contender(baseline: &str, same: &SameSettings) -> String {
    let of = same.of;
    let name = format!("{}, settings of {baseline}", of.name);
    let mut lines = vec!["[[contender]]".to_owned(), pair("name", &name), pair("engine", &of.engine)];
    let plain = of.storage != "disk";
    lines.extend(plain.then(|| pair("storage", &of.storage)));
    lines.extend(of.transport.as_ref().map(|transport| pair("transport", transport)));
    lines.extend(of.cores.as_ref().map(|cores| pair("cores", cores)));
    lines.extend(of.memory_bytes.map(|bytes| pair("memory", &format!("{}KiB", bytes / 1024))));
    let settings: Vec<String> = same.settings.iter().map(|(name, value)| pair(&key(name), value)).collect();
    lines.push(format!("settings = {{ {} }}", settings.join(", ")));
    lines.join("\n")
}

fn pair(key: &str, value: &str) -> String {
    format!("{key} = {}", toml::Value::String(value.to_owned()))
}

/// Names with dots are quoted, or they would be tables.
fn key(name: &str) -> String {
    let is_bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
    if is_bare { name.to_owned() } else { toml::Value::String(name.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::differences::drifts;
    use fixtures::{Story, stored_run};

    #[test]
    fn every_setting_of_the_file_has_its_line() {
        let mut stored = stored_run(&Story::default());
        let names: Vec<String> = (10..30).map(|number| format!("asked_{number}")).collect();
        for (index, contender) in stored.plan.contenders.iter_mut().enumerate() {
            let facts = stored.run.contenders.get_mut(&contender.name).unwrap();
            for name in &names {
                contender.settings.insert(name.clone(), index.to_string());
                facts.effective_settings.insert(name.clone(), (10 + index).to_string());
            }
        }
        let (notable, _) = tables(&drifts(&stored.plan, &stored.run)[0]);
        for name in names {
            assert!(notable.rows.iter().any(|row| row.cells[0].text.raw() == name), "{name} is missing");
        }
    }

    #[test]
    fn the_offered_contender_can_stand_in_an_experiment_file() {
        let mut stored = stored_run(&Story::default());
        stored.plan.contenders[1].settings.insert("a.b".into(), "x\"y".into());
        stored.plan.contenders[1].engine = "mysql@5.6.24".into();
        stored.plan.contenders[1].memory_bytes = Some(8 << 30);
        let drift = &drifts(&stored.plan, &stored.run)[0];
        let text = contender(drift.baseline, drift.same_settings.as_ref().unwrap());
        let table: toml::Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let offered = &table["contender"][0];
        let expected =
            [("name", "5.6 <b>&tuned, settings of 5.5"), ("engine", "mysql@5.6.24"), ("memory", "8388608KiB")];
        for (key, value) in expected {
            assert_eq!(offered[key].as_str(), Some(value), "{text}");
        }
        let settings = &offered["settings"];
        assert_eq!(settings["a.b"].as_str(), Some("x\"y"), "{text}");
        assert_eq!(settings["innodb_buffer_pool_size"].as_str(), Some("1073741824"), "{text}");
    }
}
