//! `[recovery]`: an experiment whose trials end in a crash.

use std::time::Duration;

use super::keys::{RECOVERY_KEYS, names};
use super::section::{Reader, Section};
use super::vocabulary::Known;
use super::{Contender, Experiment, LedgerBeside, Method, Origin, RATE, Stop, WorkloadChoice, plan};
use record::format::Point;

pub use crate::experiment::{Crashes, Recovery};

/// More crashes than any run has.
const MOST_KILLS: u64 = 10_000;
/// The workload that shows which commits were kept.
const LEDGER: &str = "ledger";
const LEDGER_CLIENTS: &str = "ledger_clients";
const MOST_LEDGER_CLIENTS: u64 = 1_000;

pub const CRASH_WORDS: &[(&str, Option<Crashes>)] =
    &[("kill", Some(Crashes::Kills)), ("os", Some(Crashes::OsCrashes)), ("both", Some(Crashes::Both))];

/// The table over its defaults.
pub fn read_table<'a>(reader: &mut Reader<'a>, section: &Section<'a>, defaults: Option<Recovery>) -> Option<Recovery> {
    reader.check_keys(section, &names(RECOVERY_KEYS), &[]);
    let kills = reader.whole(section, "kills", 1..=MOST_KILLS).map(|kills| kills as u32);
    let crashes = reader.choice(section, "crash", CRASH_WORDS);
    let full_rate_within = reader.duration(section, "full_rate_within", Duration::ZERO);
    let ledger_clients = reader.whole(section, LEDGER_CLIENTS, 1..=MOST_LEDGER_CLIENTS).map(|clients| clients as u32);
    Some(Recovery {
        kills: kills.or(defaults.map(|defaults| defaults.kills))?,
        crashes: crashes.or(defaults.map(|defaults| defaults.crashes))?,
        full_rate_within: full_rate_within.or(defaults.map(|defaults| defaults.full_rate_within))?,
        ledger_clients: ledger_clients.or(defaults.map(|defaults| defaults.ledger_clients))?,
    })
}

/// The table, and the method of an experiment that has it: a block for each crash unless there are to be so many, and
/// nothing beside them.
pub fn read_recovery<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    method: Method,
    blocks: Option<u32>,
    defaults: Recovery,
) -> (Option<Recovery>, Method) {
    let Some(section) = reader.table(top, "recovery") else { return (None, method) };
    let Some(recovery) = read_table(reader, &section, Some(defaults)) else { return (None, method) };
    refuse_keys_without_use(reader, top);
    let crashes = recovery.kills * recovery.crashes.kinds().len() as u32;
    let method = Method {
        blocks: blocks.unwrap_or(crashes),
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

/// Gives each workload whose tables do not show which commits a crash has kept clients of a ledger beside its own.
pub fn lay_ledgers_beside<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    known: &Known,
    clients: u32,
    workloads: &mut [WorkloadChoice],
) {
    let Some(kind) = known.workloads.find(LEDGER) else { return };
    let keeps_ledger = |workload: &WorkloadChoice| {
        let built = workload.kind.with(&workload.options_at(&Point::new()));
        built.is_ok_and(|workload| workload.keeps_ledger().is_some())
    };
    let span = |key: &str| top.value(key).map_or(0..0, |value| value.span());
    let without: Vec<&mut WorkloadChoice> = workloads.iter_mut().filter(|workload| !keeps_ledger(workload)).collect();
    let given = top.value("recovery").and_then(|table| table.get_ref().as_table()?.get(LEDGER_CLIENTS));
    if let Some(value) = given.filter(|_| without.is_empty()) {
        let what = format!("`{LEDGER_CLIENTS}` in [recovery] has no use: the workload is the ledger itself");
        reader.reject(&value.span(), what, "take it out; `clients` in [workload] is their number");
    }
    for workload in without {
        workload.ledger = Some(LedgerBeside { kind, clients });
        if let Err(why) = plan::workload(workload, &Point::new()) {
            let what = format!("no ledger can lie beside `{}`: {}", workload.label, why.expected);
            reader.reject(&span("workload"), what, "[recovery] needs another workload, or `ledger` alone");
        }
    }
}

/// Names everything in the file that a crash cannot do.
pub fn refuse<'a>(reader: &mut Reader<'a>, top: &Section<'a>, experiment: &Experiment) {
    if experiment.recovery.is_none() {
        return;
    }
    let span = |key: &str| top.value(key).map_or(0..0, |value| value.span());
    if experiment.workloads.iter().any(|workload| workload.rate_at(&Point::new()).is_some())
        || experiment.sweep.as_ref().is_some_and(|sweep| sweep.variable == RATE)
    {
        let what = "`rate` has no use beside [recovery]: clients number their transactions";
        reader.reject(&span("workload"), what, "take it out");
    }
    for workload in experiment.workloads.iter().filter(|workload| workload.ledger.is_some()) {
        let Ok(built) = plan::workload(workload, &Point::new()) else { continue };
        for contender in &experiment.contenders {
            if let Err(why) = built.runs_on(contender.kind.dialect()) {
                let what = format!("`{}` cannot run beside the ledger on `{}`: {why}", workload.label, contender.name);
                reader.reject(&span("workload"), what, "write workload = \"ledger\"");
            }
        }
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
    use crate::Overrides;
    use crate::parse::tests::{parse, parsed};
    use record::format::crash::CrashKind;

    const FILE: &str = "workload = \"ledger\"\ncontender = [{ engine = \"sqlite\" }]\n";

    #[test]
    fn every_crash_is_a_block_and_nothing_is_measured_beside_them() {
        let text = "recovery = { kills = 12, crash = \"both\", full_rate_within = \"0s\" }";
        let experiment = parsed(&format!("{FILE}{text}\n"));
        let expected =
            Recovery { kills: 12, crashes: Crashes::Both, full_rate_within: Duration::ZERO, ledger_clients: 4 };
        assert_eq!(experiment.recovery, Some(expected));
        let method = &experiment.method;
        assert_eq!((method.blocks, method.stop, method.pilot, method.repeats), (24, Stop::Never, None, false));
        let experiment = parsed(&format!("{FILE}[recovery]\n"));
        let full_rate_within = Duration::from_secs(10);
        assert_eq!(
            experiment.recovery,
            Some(Recovery { kills: 30, crashes: Crashes::Kills, full_rate_within, ledger_clients: 4 })
        );
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
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check(&format!("{FILE}recovery.ledger_clients = 2\n"), "the workload is the ledger itself");
        check(
            "workload = \"oltp_read_write\"\ncontender = [{ engine = \"sqlite\" }]\n[recovery]\n",
            "`oltp_read_write` cannot run beside the ledger on `sqlite`: an embedded engine dies with its load",
        );
        check(
            "workload = \"sql-bench\"\ncontender = [{ engine = \"mysql@5.6.24\" }]\n[recovery]\n",
            "no ledger can lie beside `sql-bench`: it runs once through",
        );
    }

    #[test]
    fn another_workload_has_clients_of_the_ledger_beside_its_own() {
        let text = "workload = { name = \"oltp_read_write\", clients = 16 }\n\
                    contender = [{ engine = \"mysql@5.6.24\" }]\nrecovery = { kills = 3, ledger_clients = 2 }\n";
        let experiment = parsed(text);
        let choice = &experiment.workloads[0];
        let at = Point::new();
        assert_eq!((choice.clients_at(&at), choice.all_clients_at(&at), experiment.clients_max()), (16, 18, 18));
        assert!(plan::workload(choice, &at).unwrap().keeps_ledger().is_some());
        let record = &crate::testing::plan_of(&experiment).record.workloads[0];
        assert_eq!((record.clients, record.ledger_clients), (16, Some(2)));
    }
}
