//! Why a contender cannot be measured: what it rests on, what it asks for, and the nearest that there is.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail, ensure};

use super::disk_space::Shortage;
use engine::tunable::{GIB, MIB, rounded_down};
use engine::{Cache, Installation, ScratchServer, WorkFolder, memory_need, nearest_known};
use experiment::plan::{AskedLog, asked_logs};
use experiment::quantity::bytes_text;
use experiment::{Contender, Experiment, Transport};
use record::format::ContenderFacts;
use trial::{dataset, host};

/// The server's own words when it takes a setting and ignores it; then nothing is added.
const UNKNOWN_NAME: &str = "none of that name";

/// Fails for a contender that means nothing without another one, which cannot be measured.
pub fn expect_what_it_rests_on(
    experiment: &Experiment,
    contender: &str,
    is_refused: impl Fn(&str) -> bool,
) -> Result<()> {
    for ladder in &experiment.ladders {
        if let Some(below) = ladder.rests_on(contender).filter(|below| is_refused(below)) {
            bail!("it builds on `{below}`, which cannot be measured");
        }
    }
    Ok(())
}

/// Fails for a contender that asks for more memory than there is, or whose settings do.
pub fn expect_memory(contender: &Contender, version: &str, clients: u32) -> Result<()> {
    let host = host::memory_bytes();
    let memory = contender.memory_bytes.unwrap_or(host);
    ensure!(
        memory <= host,
        "`memory` = {} is more than this host has ({})\nnext: give it less, or take `memory` out",
        bytes_text(memory),
        bytes_text(host)
    );
    memory_need::fits(contender.kind, version, &contender.settings, clients, memory)
}

/// A contender whose data a disk cannot hold, and what would fit. `usual_bytes` are free where `storage` does not
/// lead elsewhere; none where it does not.
pub fn too_little_space(contender: &Contender, shortage: &Shortage, usual_bytes: Option<u64>) -> Error {
    let lower = asked_logs(contender).iter().find_map(|log| lowered(log, shortage.missing_bytes()));
    let place = match usual_bytes {
        Some(bytes) => format!(
            "free some, name another `storage` (\"disk\" has {} free), or plan fewer rows or warehouses",
            bytes_text(bytes)
        ),
        None => "free some (`dbduel cache` shows what lies there), name another place with DBDUEL_CACHE and DBDUEL_WORK, or plan fewer rows or warehouses".to_owned(),
    };
    anyhow!("{shortage}\n  next: {}{place}", lower.unwrap_or_default())
}

/// The nearest size of a log that leaves the rest its room, where that is a size worth having.
fn lowered(log: &AskedLog, missing_bytes: u64) -> Option<String> {
    let each = log.total_bytes().checked_sub(missing_bytes)? / log.files;
    let unit = if each >= GIB { 128 * MIB } else { 16 * MIB };
    (each >= unit).then(|| format!("lower {} to {} MiB at most, ", log.setting, rounded_down(each, unit) / MIB))
}

/// The error, and for every setting that this server has none of the nearest one that it has.
pub fn explained(
    error: Error,
    contender: &Contender,
    installation: &Installation,
    cache: &Cache,
    work: &WorkFolder,
    log: &Path,
) -> Error {
    if contender.settings.is_empty() || installation.is_embedded() || format!("{error:#}").contains(UNKNOWN_NAME) {
        return error;
    }
    let Ok(known) = known_settings(installation, cache, work, log) else { return error };
    let missing = nearest_known(installation.engine(), &contender.settings, &known).into_iter().map(|(name, near)| {
        let near = near.map_or(String::new(), |near| format!("; the nearest there is `{near}`"));
        format!("\nsetting `{name}`: {} {} has {UNKNOWN_NAME}{near}", installation.kind, installation.version)
    });
    let missing: String = missing.collect();
    if missing.is_empty() { error } else { anyhow!("{error:#}{missing}") }
}

/// All settings of a server, as it has them by itself.
fn known_settings(
    installation: &Installation,
    cache: &Cache,
    work: &WorkFolder,
    log: &Path,
) -> Result<BTreeMap<String, String>> {
    let (settings, data) = (&BTreeMap::new(), &work.path().join("look"));
    dataset::remove(data)?;
    let scratch = ScratchServer { settings, max_clients: 1, transport: Transport::Socket, data, log };
    let server = scratch.start(installation, cache, work, &|_| ())?;
    let known = server.effective_settings().clone();
    server.stop()?;
    dataset::remove(data)?;
    Ok(known)
}

/// Contenders that do not return the same rows for the same query are not compared at all: the one that does less
/// would be the faster one.
pub fn expect_equal_answers<'a>(
    baseline: &str,
    contenders: impl Iterator<Item = (&'a str, &'a ContenderFacts)>,
) -> Result<()> {
    let (of_baseline, others): (Vec<_>, Vec<_>) = contenders.partition(|(name, _)| *name == baseline);
    let Some((_, expected)) = of_baseline.first() else { return Ok(()) };
    for (name, facts) in others {
        for (workload, queries) in &facts.checksums {
            let known = expected.checksums.get(workload);
            let expected = |query: &String| known.and_then(|known| known.get(query));
            let different = queries.iter().find(|(query, sum)| expected(query).is_some_and(|known| known != *sum));
            if let Some((query, sum)) = different {
                let known = expected(query).map_or("", String::as_str);
                bail!(
                    "`{name}` and `{baseline}` answer `{query}` of `{workload}` differently: {sum} and {known} \
                     (number and checksum of the rows), so one of them is wrong and neither is measured"
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::testing::experiment;
    use fixtures::{Story, stored_run};
    use record::format::ladder::{LadderRecord, RungRecord};

    #[test]
    fn what_builds_on_a_refused_rung_is_refused_with_it() {
        let rung = |name: &str| RungRecord { contender: name.into(), changes: vec![] };
        let rungs = vec![rung("one"), rung("two")];
        let ladder = LadderRecord { base: "base".into(), rungs, ablation: vec![] };
        let mut experiment = experiment(&["base", "one", "two", "other"], &[], 8, 1);
        experiment.ladders.push(ladder);
        let check = |contender: &str| expect_what_it_rests_on(&experiment, contender, |name| name == "one");
        assert!(check("base").is_ok() && check("one").is_ok() && check("other").is_ok());
        assert!(check("two").unwrap_err().to_string().contains("builds on `one`"));
    }

    #[test]
    fn contenders_that_answer_one_query_differently_are_named_with_it() {
        let facts = |sums: &[(&str, &str)]| {
            let of_workload = sums.iter().map(|(query, sum)| (query.to_string(), sum.to_string())).collect();
            let checksums = [("tpcc, 5 warehouses".to_owned(), of_workload)].into();
            let mut contenders = stored_run(&Story::default()).run.contenders.into_values();
            ContenderFacts { checksums, ..contenders.next().unwrap() }
        };
        let old = facts(&[("customer", "1 rows, 0a"), ("stock", "1 rows, 0b"), ("show-warehouse", "1 rows, 0c")]);
        let other_engine = facts(&[("customer", "1 rows, 0a"), ("stock", "1 rows, 0b")]);
        let wrong = facts(&[("customer", "1 rows, 0a"), ("stock", "0 rows, 00")]);
        assert!(expect_equal_answers("old", [("old", &old), ("other", &other_engine)].into_iter()).is_ok());
        let refused = expect_equal_answers("old", [("new", &wrong), ("old", &old)].into_iter()).unwrap_err();
        let expected = "`new` and `old` answer `stock` of `tpcc, 5 warehouses` differently: 0 rows, 00 and 1 rows, 0b";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }

    #[test]
    fn a_log_that_is_too_large_is_lowered_to_what_fits() {
        let check = |bytes: u64, files: u64, missing: u64, expected: Option<&str>| {
            let log = AskedLog { setting: "redo", bytes, files };
            assert_eq!(lowered(&log, missing).as_deref(), expected, "{bytes} {files} {missing}");
        };
        check(64 * GIB, 1, 24 * GIB, Some("lower redo to 40960 MiB at most, "));
        check(64 * GIB, 2, 24 * GIB, Some("lower redo to 53248 MiB at most, "));
        check(GIB, 1, GIB - 40 * MIB, Some("lower redo to 32 MiB at most, "));
        // Without it there would still be too little.
        check(GIB, 1, 2 * GIB, None);
        check(GIB, 1, GIB - MIB, None);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_where_there_is_room() {
        let experiment = experiment(&["base"], &[], 8, 1);
        let contender = &experiment.contenders[0];
        let shortage = Shortage { folder: "/small".into(), needed_bytes: 2 * GIB, free_bytes: GIB };
        let text = |usual| too_little_space(contender, &shortage, usual).to_string();
        assert!(text(None).contains("2.0 GiB are needed in /small, and 1.0 GiB are free\n  next: free some ("));
        assert!(text(Some(3 * GIB)).contains("another `storage` (\"disk\" has 3.0 GiB free)"), "{}", text(Some(GIB)));
    }
}
