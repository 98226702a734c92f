//! Whether a contender's server leaves room for the loads of the plan, asked before the first of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use engine::limits::{Asked, Need, Whose};
use engine::pooler::Pooler;
use engine::{UserServer, free_bytes};
use experiment::plan;
use experiment::quantity::bytes_text;
use experiment::{Contender, Experiment};
use trial::need;

/// One that watches a trial, and one that checks.
const OWN_SESSIONS: u64 = 2;

/// Fails where the settings of a server that dbduel starts are too low: those of the file, and, once it has started,
/// all that are in force. Nobody else is there, so what is in use is not asked for.
pub fn expect_settings(
    experiment: &Experiment,
    contender: &Contender,
    settings: &BTreeMap<String, String>,
) -> Result<()> {
    if settings.is_empty() {
        return Ok(());
    }
    let (asked, given) = (answers(settings), answers(&contender.settings));
    contender.kind.limits().expect(&asked, &need(experiment, contender)?, Whose::Ours(&given)).map(drop)
}

fn answers(settings: &BTreeMap<String, String>) -> Asked {
    Asked::of(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// Fails where a target has too little of something, or a pooler before it lets no such load through; returns what a
/// user should know of both.
pub fn expect_target(experiment: &Experiment, contender: &Contender, target: &UserServer) -> Result<Vec<String>> {
    let (limits, mut need) = (contender.kind.limits(), need(experiment, contender)?);
    // dbduel's notes about its own tables.
    need.transactions |= need.writes;
    // First, because sessions that are opened for the pooler's sake are counted for a moment longer than they last.
    let asked = (limits.ask)(&mut target.session()?)?;
    let mut remarks = Vec::new();
    if let Some(pooler) = target.pooler()? {
        pooler.expect(&need)?;
        expect_own_isolation(experiment, &pooler)?;
        need = pooler.leaves(need);
        remarks.push(pooler.remark());
    }
    remarks.extend(too_little_space(target, need.data_bytes));
    remarks.extend(limits.expect(&asked, &need, Whose::Users)?);
    Ok(remarks)
}

/// Of a server on this host whose folder of data can be seen. Tables of an earlier run are dropped first, so nothing is
/// refused.
fn too_little_space(target: &UserServer, needed_bytes: u64) -> Option<String> {
    let settings = target.settings();
    let folder = Path::new(settings.get("datadir").or_else(|| settings.get("data_directory"))?);
    let free = free_bytes(folder).ok().filter(|free| target.is_on_this_host() && *free < needed_bytes)?;
    Some(format!(
        "about {} will be loaded into {}, where {} are free\n  next: free some, or plan fewer rows or warehouses",
        bytes_text(needed_bytes),
        folder.display(),
        bytes_text(free)
    ))
}

/// Settings of a session would be left to other clients of a pooler.
fn expect_own_isolation(experiment: &Experiment, pooler: &Pooler) -> Result<()> {
    let mut choices = experiment.workloads.iter();
    if !pooler.is_shared() || choices.all(|choice| choice.isolation.is_none()) {
        return Ok(());
    }
    bail!(
        "{} stands before the server: `isolation` is a setting of a session, and clients have none of their own\n  \
         next: leave `isolation` out, or name the server itself",
        pooler.text()
    )
}

/// What the most demanding loads of the plan need.
fn need(experiment: &Experiment, contender: &Contender) -> Result<Need> {
    let dialect = contender.kind.dialect();
    let option = |name: &str, value: &str| format!("{name} = \"{value}\"");
    let mut all = Need { own_sessions: OWN_SESSIONS, ..Need::default() };
    for choice in &experiment.workloads {
        let mut filled = Vec::new();
        for point in experiment.points() {
            let data_point = choice.data_point(&point);
            let workload = plan::workload(choice, &data_point)?;
            let rate = choice.rate_at(&point).map(|rate| rate.per_sec);
            let clients = choice.all_clients_at(&point);
            all = all.or(need::of_clients(workload.as_ref(), dialect, clients, rate, &option));
            if !filled.contains(&data_point) {
                all = all.or(need::of_tables(workload.as_ref(), dialect, choice.data_seed));
                filled.push(data_point);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::testing::experiment;

    #[test]
    fn settings_of_the_file_that_are_too_low_for_the_clients_are_refused_before_a_start() {
        let mut experiment = experiment(&["a"], &[1, 64], 8, 1);
        let check = |experiment: &Experiment, expected: Result<(), &str>| {
            let found = expect_settings(experiment, &experiment.contenders[0], &experiment.contenders[0].settings)
                .map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(&experiment, Ok(()));
        experiment.contenders[0].settings = [("max-connections".to_owned(), "66".to_owned())].into();
        check(&experiment, Ok(()));
        experiment.contenders[0].settings = [("max_connections".to_owned(), "10".to_owned())].into();
        check(
            &experiment,
            Err("`max_connections` = 10: 64 clients and 2 sessions of dbduel's own need 66 connections\n  \
                 next: leave max_connections out of the contender's settings, or give at least max_connections = 66, or ask for fewer clients"),
        );
    }
}
