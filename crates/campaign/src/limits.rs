//! Whether a contender's server leaves room for the loads of the plan, asked before the first of them.

use anyhow::Result;
use driver::Admin;
use engine::limits::{Asked, Need, Whose};
use experiment::plan;
use experiment::{Contender, Experiment, Origin};
use trial::need;

/// One that watches a trial, and one that checks.
const SESSIONS_BESIDE: u64 = 2;

/// Fails where the settings of a server that dbduel will start are too low; a target has none here.
pub fn expect_settings(experiment: &Experiment, contender: &Contender) -> Result<()> {
    if let Origin::Target(_) = contender.origin {
        return Ok(());
    }
    let asked = Asked::of(contender.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    contender.kind.limits().expect(&asked, &need(experiment, contender)?, Whose::Ours).map(drop)
}

/// Fails where a server that answers has too little of something; returns what may disturb the load.
pub fn expect_server(experiment: &Experiment, contender: &Contender, admin: &mut Admin) -> Result<Vec<String>> {
    let limits = contender.kind.limits();
    let whose = if let Origin::Target(_) = contender.origin { Whose::Users } else { Whose::Ours };
    limits.expect(&(limits.ask)(admin)?, &need(experiment, contender)?, whose)
}

/// What the most demanding loads of the plan need.
fn need(experiment: &Experiment, contender: &Contender) -> Result<Need> {
    let dialect = contender.kind.dialect();
    let option = |name: &str, value: &str| format!("{name} = \"{value}\"");
    let mut all = Need { beside: SESSIONS_BESIDE, ..Need::default() };
    for choice in &experiment.workloads {
        for point in experiment.points() {
            let workload = plan::workload(choice, &choice.data_point(&point))?;
            let rate = choice.rate_at(&point).map(|rate| rate.per_sec);
            let clients = choice.all_clients_at(&point);
            all = all.or(need::of_clients(workload.as_ref(), dialect, clients, rate, &option));
            all = all.or(need::of_tables(workload.as_ref(), dialect, choice.data_seed));
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
            let found = expect_settings(experiment, &experiment.contenders[0]).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(&experiment, Ok(()));
        experiment.contenders[0].settings = [("max-connections".to_owned(), "66".to_owned())].into();
        check(&experiment, Ok(()));
        experiment.contenders[0].settings = [("max_connections".to_owned(), "10".to_owned())].into();
        check(
            &experiment,
            Err("`max_connections` = 10: 64 clients and 2 sessions of dbduel's own need 66 connections\n  \
                 next: give max_connections = 66 in the contender's settings, or leave it out, or ask for fewer clients"),
        );
    }
}
