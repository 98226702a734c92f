//! `[recovery]`: an experiment whose trials end in a crash.

use std::time::Duration;

use super::keys::{RECOVERY_KEYS, names};
use super::parse::Overrides;
use super::section::{Reader, Section};
use super::{Contender, Experiment, Method, Origin, Stop, WorkloadChoice};
use record::format::Point;
use record::format::crash::CrashKind;

/// More crashes than any run has.
const MOST_KILLS: u64 = 10_000;

pub const CRASH_WORDS: &[(&str, Option<Crashes>)] =
    &[("kill", Some(Crashes::Kills)), ("os", Some(Crashes::OsCrashes)), ("both", Some(Crashes::Both))];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crashes {
    Kills,
    OsCrashes,
    /// One and the other in turn.
    Both,
}

impl Crashes {
    pub fn kinds(self) -> &'static [CrashKind] {
        match self {
            Crashes::Kills => &[CrashKind::Kill],
            Crashes::OsCrashes => &[CrashKind::Os],
            Crashes::Both => &[CrashKind::Kill, CrashKind::Os],
        }
    }
}

/// What `[recovery]` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Of each contender, of each kind.
    pub kills: u32,
    pub crashes: Crashes,
    /// How long the load behind a crash may take to come back to its rate.
    pub full_rate_within: Duration,
}

/// The table over its defaults.
pub fn read_table<'a>(reader: &mut Reader<'a>, section: &Section<'a>, defaults: Option<Recovery>) -> Option<Recovery> {
    reader.check_keys(section, &names(RECOVERY_KEYS), &[]);
    let kills = reader.whole(section, "kills", 1..=MOST_KILLS).map(|kills| kills as u32);
    let crashes = reader.choice(section, "crash", CRASH_WORDS);
    let full_rate_within = reader.duration(section, "full_rate_within", Duration::ZERO);
    Some(Recovery {
        kills: kills.or(defaults.map(|defaults| defaults.kills))?,
        crashes: crashes.or(defaults.map(|defaults| defaults.crashes))?,
        full_rate_within: full_rate_within.or(defaults.map(|defaults| defaults.full_rate_within))?,
    })
}

/// The table, and the method of an experiment that has it: a block for each crash, and nothing beside them.
pub fn read_recovery<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    method: Method,
    overrides: &Overrides,
    defaults: Recovery,
) -> (Option<Recovery>, Method) {
    let Some(section) = reader.table(top, "recovery") else { return (None, method) };
    let Some(recovery) = read_table(reader, &section, Some(defaults)) else { return (None, method) };
    refuse_keys_without_use(reader, top);
    let crashes = recovery.kills * recovery.crashes.kinds().len() as u32;
    let method = Method {
        blocks: overrides.blocks.unwrap_or(crashes),
        stop: Stop::Never,
        pilot: None,
        steady_state: false,
        drain: false,
        repeats: false,
        doubling: false,
        contrast: false,
        diagnose: false,
        // The blocks of a stored plan come back as an option of the command line; they are the crashes.
        changed: method.changed.iter().filter(|key| *key != "blocks").cloned().collect(),
        ..method
    };
    (Some(recovery), method)
}

/// Keys of `[method]` that no crash would keep.
fn refuse_keys_without_use<'a>(reader: &mut Reader<'a>, top: &Section<'a>) {
    let Some(method) = top.value("method").and_then(|method| method.get_ref().as_table()) else { return };
    let refused = [
        ("blocks", "`kills` in [recovery] is the number of crashes"),
        ("stop", "all crashes are made"),
        ("pilot", "the load before a crash is `warmup` and a part of `duration`"),
        ("duet", "a crash needs the host for itself"),
        ("fast_sweep", "each crash ends its server"),
        ("test_causes", "no interval is measured"),
        ("profile", "no interval is measured"),
        ("headroom_check", "no interval is measured"),
    ];
    for (key, why) in refused {
        if let Some(value) = method.get(key) {
            let what = format!("`{key}` in [method] has no use beside [recovery]: {why}");
            reader.reject(&value.span(), what, "take it out");
        }
    }
}

/// Names everything in the file that a crash cannot do.
pub fn refuse<'a>(reader: &mut Reader<'a>, top: &Section<'a>, experiment: &Experiment) {
    if experiment.recovery.is_none() {
        return;
    }
    let span = |key: &str| top.value(key).map_or(0..0, |value| value.span());
    let keeps_ledger = |workload: &&WorkloadChoice| {
        let built = workload.kind.with(&workload.options_at(&Point::new()));
        built.is_ok_and(|workload| workload.keeps_ledger().is_some())
    };
    for workload in experiment.workloads.iter().filter(|workload| !keeps_ledger(workload)) {
        let what = format!("the tables of `{}` do not show which commits a crash has kept", workload.label);
        let note = "[recovery] needs a workload that keeps a ledger: workload = \"ledger\"";
        reader.reject(&span("workload"), what, note);
    }
    if experiment.workloads.iter().any(|workload| workload.rate.is_some()) {
        reader.reject(
            &span("workload"),
            "`rate` has no use beside [recovery]: clients number their transactions",
            "take it out",
        );
    }
    let is_target = |one: &&Contender| matches!(one.origin, Origin::Target(_));
    if let Some(target) = experiment.contenders.iter().find(is_target) {
        let what = format!("contender `{}` is a target, which dbduel never kills", target.name);
        reader.reject(&span("contender"), what, "take it out, or [recovery]");
    }
    if experiment.gate.is_some() {
        reader.reject(&span("gate"), "[gate] has no use beside [recovery]: no interval is measured", "take it out");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tests::{parse, parsed};

    const FILE: &str = "workload = \"ledger\"\ncontender = [{ engine = \"sqlite\" }]\n";

    #[test]
    fn every_crash_is_a_block_and_nothing_is_measured_beside_them() {
        let text = "recovery = { kills = 12, crash = \"both\", full_rate_within = \"0s\" }";
        let experiment = parsed(&format!("{FILE}{text}\n"));
        let expected = Recovery { kills: 12, crashes: Crashes::Both, full_rate_within: Duration::ZERO };
        assert_eq!(experiment.recovery, Some(expected));
        let method = &experiment.method;
        assert_eq!((method.blocks, method.stop, method.pilot, method.repeats), (24, Stop::Never, None, false));
        let experiment = parsed(&format!("{FILE}[recovery]\n"));
        let full_rate_within = Duration::from_secs(10);
        assert_eq!(experiment.recovery, Some(Recovery { kills: 30, crashes: Crashes::Kills, full_rate_within }));
        assert_eq!(experiment.method.blocks, 30);
    }

    #[test]
    fn a_stored_plan_comes_out_the_same() {
        let text = format!("{FILE}recovery = {{ kills = 2, crash = \"both\" }}\nmethod.preset = \"quick\"\n");
        let plan = |overrides: &Overrides| {
            let experiment = Experiment::parse(&text, "x.toml", &crate::testing::known(), overrides).unwrap();
            crate::testing::plan_of(&experiment).record
        };
        let first = plan(&Overrides::default());
        assert_eq!(plan(&Overrides::of_plan(&first)), first);
        assert_eq!((first.trials.len(), first.crashes()), (4, vec![CrashKind::Kill, CrashKind::Os]));
    }

    #[test]
    fn what_a_crash_has_no_use_for_is_refused() {
        for (text, line) in [
            ("recovery = { kills = 3 }\nmethod.blocks = 8\n", "`blocks` in [method] has no use beside [recovery]"),
            ("recovery = { kills = 0 }\n", "`kills` in [recovery] is 0, which is out of range"),
            ("recovery = { crash = \"power\" }\n", "which is none of \"kill\", \"os\", \"both\""),
            ("recovery = { kill = 3 }\n", "unknown key `kill` in [recovery]"),
            ("recovery = {}\ngate = { max_slowdown = \"3%\" }\n", "[gate] has no use beside [recovery]"),
        ] {
            let error = parse(&format!("{FILE}{text}")).unwrap_err().to_string();
            assert!(error.contains(line), "{text}: {error}");
        }
        let error =
            parse("workload = \"oltp_read_write\"\ncontender = [{ engine = \"sqlite\" }]\n[recovery]\n").unwrap_err();
        assert!(error.to_string().contains("needs a workload that keeps a ledger"), "{error}");
    }
}
