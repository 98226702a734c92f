//! What two contenders do differently without being asked: settings in force, and plans of statements.
//!
//! Only contenders of the same dialect are compared with each other; names and plans of others have
//! nothing in common. A difference is reported, never weighed: its effect can only be measured.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::json;
use super::named::named;
use super::plan_changes::{PlanChange, change};
use record::format::{ContenderFacts, ContenderRecord, PlanRecord, RunRecord, StatementPlan};
use record::setting_value::{parse_quantity, parse_switch};

/// A candidate beside the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference<'a> {
    pub baseline: &'a str,
    pub candidate: &'a str,
    /// They have the same dialect; otherwise plans stand side by side, and settings are not compared.
    pub same_family: bool,
    /// By name.
    pub settings: Vec<Setting<'a>>,
    /// By workload, and by point where points have data of their own.
    pub plans: Vec<Plans<'a>>,
    /// What makes the candidate run with the baseline's settings, where any notable one differs and it can be set.
    #[serde(skip)]
    pub same_settings: Option<SameSettings<'a>>,
}

/// A setting whose values mean different things.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Setting<'a> {
    pub name: &'a str,
    pub baseline: Option<&'a str>,
    pub candidate: Option<&'a str>,
    pub why: Why,
    /// Its rank among those that decide how fast the server is or what a commit promises, the first being
    /// what most readers want to see first.
    #[serde(serialize_with = "json::is_some")]
    #[schemars(with = "bool")]
    pub notable: Option<usize>,
    /// The file asks for it, for one of the two at least.
    pub wanted: bool,
}

impl Setting<'_> {
    /// Worth a line where not all can have one.
    pub fn stands_out(&self) -> bool {
        self.wanted || self.notable.is_some()
    }
}

named! {
    pub enum Why {
        /// The experiment file, or dbduel itself, sets it.
        Asked = "asked for",
        /// Nobody sets it: the versions have different defaults.
        Default = "default of the version",
        /// One of the two has no such setting.
        OnlyBaseline = "only the baseline has it",
        OnlyCandidate = "only the candidate has it",
    }
}

/// The statements of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Plans<'a> {
    #[serde(rename = "workload")]
    pub title: &'a str,
    pub statements: Vec<PlanPair<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanPair<'a> {
    pub statement: &'a str,
    pub baseline: Option<&'a StatementPlan>,
    pub candidate: Option<&'a StatementPlan>,
    /// Both showed how they run it, and it is not the same; never true of different families.
    pub differs: bool,
    /// What differs first.
    pub change: Option<PlanChange>,
}

impl PlanPair<'_> {
    /// Both showed how they run it.
    pub fn is_known(&self) -> bool {
        [self.baseline, self.candidate].into_iter().all(|plan| plan.is_some_and(|plan| plan.refused.is_none()))
    }
}

/// A contender for the experiment file.
#[derive(Debug, Clone, PartialEq)]
pub struct SameSettings<'a> {
    pub of: &'a ContenderRecord,
    /// The candidate's own, and the baseline's in place of those that differ.
    pub settings: BTreeMap<&'a str, &'a str>,
    /// How many of them are the baseline's.
    pub changed: usize,
}

/// Every candidate beside the baseline, where both have recorded settings and plans.
pub fn drifts<'a>(plan: &'a PlanRecord, run: &'a RunRecord) -> Vec<Difference<'a>> {
    let facts = |contender: &ContenderRecord| run.contenders.get(&contender.name);
    let baseline = plan.contenders.iter().find(|contender| contender.name == plan.baseline);
    let Some((baseline, of_baseline)) = baseline.and_then(|one| Some((one, facts(one)?))) else { return Vec::new() };
    let candidates = plan.contenders.iter().filter(|contender| contender.name != plan.baseline);
    candidates.filter_map(|one| Some(drift((baseline, of_baseline), (one, facts(one)?)))).collect()
}

type Side<'a> = (&'a ContenderRecord, &'a ContenderFacts);

fn drift<'a>(baseline: Side<'a>, candidate: Side<'a>) -> Difference<'a> {
    let same_family = baseline.1.family == candidate.1.family;
    let settings = if same_family { settings(baseline, candidate) } else { Vec::new() };
    Difference {
        baseline: &baseline.0.name,
        candidate: &candidate.0.name,
        same_family,
        plans: plans(baseline.1, candidate.1, same_family),
        same_settings: same_settings(candidate, &settings),
        settings,
    }
}

fn settings<'a>(baseline: Side<'a>, candidate: Side<'a>) -> Vec<Setting<'a>> {
    let (before, after) = (&baseline.1.effective_settings, &candidate.1.effective_settings);
    // A target whose account may not see them has none: then nothing is known of the other's either.
    if before.is_empty() || after.is_empty() {
        return Vec::new();
    }
    let candidate_facts = candidate.1;
    let asked: BTreeSet<String> = [baseline.0, candidate.0].into_iter().flat_map(asked).collect();
    let wanted: BTreeSet<String> =
        [baseline.0, candidate.0].into_iter().flat_map(|one| plain(one.settings.keys())).collect();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let setting = |name: &'a String| {
        let (baseline, candidate) = (before.get(name).map(String::as_str), after.get(name).map(String::as_str));
        let why = match (baseline, candidate) {
            (Some(one), Some(other)) if meaning(one) == meaning(other) => return None,
            (Some(_), None) => Why::OnlyBaseline,
            (None, Some(_)) => Why::OnlyCandidate,
            _ if asked.contains(name.as_str()) => Why::Asked,
            _ => Why::Default,
        };
        let values = [baseline, candidate];
        let of_the_place = is_of_the_place(name) || values.into_iter().flatten().any(is_a_place);
        if of_the_place && !wanted.contains(name.as_str()) {
            return None;
        }
        let notable = candidate_facts.notable_settings.iter().position(|known| known == name);
        Some(Setting { name, baseline, candidate, why, notable, wanted: wanted.contains(name.as_str()) })
    };
    names.into_iter().filter_map(setting).collect()
}

/// Names of what the file and dbduel set, as servers show them.
fn asked(contender: &ContenderRecord) -> impl Iterator<Item = String> + '_ {
    plain(contender.settings.keys().chain(contender.own_settings.keys()))
}

fn plain<'a>(names: impl Iterator<Item = &'a String> + 'a) -> impl Iterator<Item = String> + 'a {
    names.map(|name| name.to_ascii_lowercase().replace('-', "_"))
}

/// The same for values that mean the same: `128MB` and `131072kB`, `ON` and `1`, lists in another order.
fn meaning(value: &str) -> String {
    let value = value.trim();
    if let Some(switch) = parse_switch(value) {
        return u8::from(switch).to_string();
    }
    if let Some(quantity) = parse_quantity(value, "") {
        return quantity.to_string();
    }
    let mut parts: Vec<String> = value.split(',').map(|part| part.trim().to_ascii_lowercase()).collect();
    parts.sort_unstable();
    parts.join(",")
}

/// Says what the server is, where it is or when: such a setting differs always, and decides nothing.
fn is_of_the_place(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "build_info",
        "cluster_name",
        "gtid_executed",
        "hostname",
        "last_insert_id",
        "license",
        "log_error",
        "port",
        "pseudo_thread_id",
        "rand_seed1",
        "rand_seed2",
        "report_port",
        "server_id",
        "server_uid",
        "server_uuid",
        "socket",
        "system_time_zone",
        "timestamp",
        "unix_socket_directories",
    ];
    const PARTS: &[&str] = &["version", "compile_", "_dir", "datadir", "basedir", "tmpdir", "_path", "pid_file"];
    NAMES.contains(&name) || PARTS.iter().any(|part| name.contains(part))
}

fn is_a_place(value: &str) -> bool {
    const ENDINGS: &[&str] = &[".cnf", ".conf", ".err", ".index", ".log", ".pem", ".pid", ".sock"];
    value.starts_with('/') || value.starts_with("./") || ENDINGS.iter().any(|ending| value.ends_with(ending))
}

/// What decides speed or durability, and what the file asks for: whether a start accepts other settings is
/// not known.
fn same_settings<'a>((contender, _): Side<'a>, drifted: &[Setting<'a>]) -> Option<SameSettings<'a>> {
    if contender.target.is_some() {
        return None;
    }
    let worth_it = drifted.iter().filter(|setting| setting.stands_out());
    let of_baseline: BTreeMap<&str, &str> = worth_it
        .filter(|setting| setting.candidate.is_some())
        .filter_map(|setting| Some((setting.name, setting.baseline.filter(|value| !value.is_empty())?)))
        .collect();
    let own = contender.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let own = own.filter(|(name, _)| !of_baseline.contains_key(name.to_ascii_lowercase().replace('-', "_").as_str()));
    let changed = of_baseline.len();
    (changed > 0).then(|| SameSettings { of: contender, settings: own.chain(of_baseline.clone()).collect(), changed })
}

fn plans<'a>(baseline: &'a ContenderFacts, candidate: &'a ContenderFacts, same_family: bool) -> Vec<Plans<'a>> {
    let titles: BTreeSet<&String> = baseline.plans.keys().chain(candidate.plans.keys()).collect();
    let of_title = |title: &'a String| {
        let of = |facts: &'a ContenderFacts| facts.plans.get(title).map_or(&[][..], Vec::as_slice);
        let statements = pairs(of(baseline), of(candidate), same_family);
        (!statements.is_empty()).then_some(Plans { title, statements })
    };
    titles.into_iter().filter_map(of_title).collect()
}

/// In the order of the baseline; what only the candidate runs comes last.
fn pairs<'a>(before: &'a [StatementPlan], after: &'a [StatementPlan], same_family: bool) -> Vec<PlanPair<'a>> {
    let find = |plans: &'a [StatementPlan], name: &str| plans.iter().find(|plan| plan.statement == name);
    let of_both = before.iter().map(|one| (Some(one), find(after, &one.statement)));
    let of_candidate = after.iter().filter(|one| find(before, &one.statement).is_none()).map(|one| (None, Some(one)));
    let pair = |(baseline, candidate): (Option<&'a StatementPlan>, Option<&'a StatementPlan>)| {
        let both = baseline.zip(candidate).filter(|_| same_family);
        let change = both.and_then(|(one, other)| change(one, other));
        let statement = &baseline.or(candidate)?.statement;
        Some(PlanPair { statement, baseline, candidate, differs: change.is_some(), change })
    };
    of_both.chain(of_candidate).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{StoredRun, Story, stored_run};

    /// The made-up run with other settings and plans.
    fn story(baseline: &[(&str, &str)], candidate: &[(&str, &str)]) -> StoredRun {
        let mut stored = stored_run(&Story::default());
        let names: Vec<String> = stored.plan.contenders.iter().map(|contender| contender.name.clone()).collect();
        for (name, settings) in names.iter().zip([baseline, candidate]) {
            let facts = stored.run.contenders.get_mut(name).unwrap();
            facts.effective_settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        }
        stored
    }

    fn check_meaning(one: &str, other: &str, same: bool) {
        assert_eq!(meaning(one) == meaning(other), same, "{one} and {other}");
    }

    #[test]
    fn values_are_held_against_each_other_by_what_they_mean() {
        check_meaning("128MB", "131072kB", true);
        check_meaning("5min", "300s", true);
        check_meaning("ON", "1", true);
        check_meaning("OFF", "1", false);
        check_meaning("0.200000", "0.2", true);
        check_meaning("STRICT,ANSI", "ansi,strict", true);
        check_meaning("fsync", "O_DIRECT", false);
        check_meaning("", "0", false);
    }

    #[test]
    fn what_the_file_asks_for_is_among_the_settings_of_the_baseline() {
        let mut stored = story(
            &[("max_allowed_packet", "16777216"), ("general_log_file", "a.log"), ("open_files_limit", "1")],
            &[("max_allowed_packet", "4194304"), ("general_log_file", "b.log"), ("open_files_limit", "2")],
        );
        for name in ["max-allowed-packet", "General_Log_File"] {
            stored.plan.contenders[0].settings.insert(name.into(), "asked".into());
        }
        let drift = &drifts(&stored.plan, &stored.run)[0];
        let wanted: Vec<(&str, bool)> = drift.settings.iter().map(|one| (one.name, one.stands_out())).collect();
        assert_eq!(wanted, [("general_log_file", true), ("max_allowed_packet", true), ("open_files_limit", false)]);
        let offered = &drift.same_settings.as_ref().unwrap().settings;
        assert_eq!((offered.get("max_allowed_packet"), offered.get("open_files_limit")), (Some(&"16777216"), None));
    }

    #[test]
    fn a_setting_differs_by_wish_by_default_or_because_one_has_none() {
        let stored = story(
            &[
                ("innodb_buffer_pool_size", "1"),
                ("query_cache_type", "ON"),
                ("old", "1"),
                ("same", "1"),
                ("sync_binlog", "0"),
            ],
            &[("innodb_buffer_pool_size", "2"), ("new", "1"), ("same", "on"), ("sync_binlog", "1"), ("version", "8")],
        );
        let drifts = drifts(&stored.plan, &stored.run);
        let listed: Vec<(&str, Why, bool)> =
            drifts[0].settings.iter().map(|one| (one.name, one.why, one.notable.is_some())).collect();
        let expected = [
            ("innodb_buffer_pool_size", Why::Asked, true),
            ("new", Why::OnlyCandidate, false),
            ("old", Why::OnlyBaseline, false),
            ("query_cache_type", Why::OnlyBaseline, true),
            ("sync_binlog", Why::Default, true),
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn places_and_names_of_builds_are_no_settings() {
        let stored = story(
            &[
                ("datadir", "/a/"),
                ("slow_query_log_file", "x.log"),
                ("innodb_version", "1"),
                ("innodb_log_file_size", "5"),
            ],
            &[
                ("datadir", "/b/"),
                ("slow_query_log_file", "y.log"),
                ("innodb_version", "2"),
                ("innodb_log_file_size", "6"),
            ],
        );
        let names: Vec<&str> = drifts(&stored.plan, &stored.run)[0].settings.iter().map(|one| one.name).collect();
        assert_eq!(names, ["innodb_log_file_size"]);
    }

    #[test]
    fn the_same_settings_are_those_that_the_candidate_has_and_that_matter() {
        let mut stored = story(
            &[("sync_binlog", "0"), ("query_cache_type", "ON"), ("sql_mode", ""), ("innodb_flush_method", "")],
            &[("sync_binlog", "1"), ("sql_mode", "STRICT"), ("innodb_flush_method", "fsync")],
        );
        stored.plan.contenders[1].settings = [("sync-binlog".into(), "1".into()), ("other".into(), "7".into())].into();
        let offered = drifts(&stored.plan, &stored.run)[0].same_settings.clone().unwrap();
        assert_eq!(offered.settings, BTreeMap::from([("other", "7"), ("sync_binlog", "0")]));
        assert_eq!(offered.changed, 1);
        stored.plan.contenders[1].target = Some("mysql://db".into());
        assert_eq!(drifts(&stored.plan, &stored.run)[0].same_settings, None, "nothing is set on a target");
    }

    #[test]
    fn settings_that_cannot_be_seen_are_not_missing_ones() {
        let stored = story(&[("sync_binlog", "0")], &[]);
        assert!(drifts(&stored.plan, &stored.run)[0].settings.is_empty());
    }

    #[test]
    fn plans_differ_by_shape_and_only_within_a_family() {
        let plan = |statement: &str, shape: &str| StatementPlan {
            statement: statement.into(),
            sql: "SELECT 1".into(),
            lines: vec![shape.into()],
            shape: vec![shape.into()],
            tree: None,
            refused: shape.is_empty().then(|| "no".into()),
        };
        let before = [plan("a", "t: ref by k"), plan("b", "t: const by PRIMARY"), plan("c", "")];
        let after = [plan("a", "t: ALL no key"), plan("b", "t: const by PRIMARY"), plan("c", "x"), plan("d", "x")];
        let listed = |same_family| {
            pairs(&before, &after, same_family).iter().map(|pair| (pair.statement, pair.differs)).collect::<Vec<_>>()
        };
        assert_eq!(listed(true), [("a", true), ("b", false), ("c", false), ("d", false)]);
        assert!(listed(false).iter().all(|(_, differs)| !differs));
    }

    #[test]
    fn different_families_have_no_settings_in_common() {
        let mut stored = story(&[("sync_binlog", "0")], &[("fsync", "on")]);
        stored.run.contenders.get_mut(fixtures::CANDIDATE).unwrap().family = "postgres".into();
        let drift = &drifts(&stored.plan, &stored.run)[0];
        assert!(!drift.same_family && drift.settings.is_empty() && drift.same_settings.is_none());
    }
}
