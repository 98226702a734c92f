//! A pass over operations as metrics and flags.
//!
//! Operations of one name add up, whichever programs they come from.

use std::collections::BTreeMap;

use load::{OperationTally, ProgramTally, SHORT_NS};

use record::format::operations::{
    BETWEEN_SECONDS, ESTIMATED, ESTIMATED_PROGRAM, EXECUTION_CPU, FEWER, GAP, GEOMEAN_RATE, LIMITED, MOVED, PARTIAL,
    RATE, SECONDS, SHORT, WRONG, flag, operation_metric, program_count_metric, program_metric,
};

/// Named as in the JSON report: `seconds`, `program.*`, `op.*`, and what a statement costs the client.
pub fn metrics(programs: &[ProgramTally], in_process: bool) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    let mut add = |name: String, value: f64| *metrics.entry(name).or_insert(0.0) += value;
    let (rated, programs): (Vec<&ProgramTally>, Vec<&ProgramTally>) = programs.iter().partition(|one| is_rated(one));
    rates(&rated, in_process).into_iter().for_each(|(name, value)| add(name, value));
    for program in programs.iter().copied() {
        add(program_metric(program.name), seconds(program.wall_ns));
        add(program_count_metric(program.name), timed(program).map(|operation| operation.count as f64).sum());
        for operation in timed(program) {
            // An embedded engine works in the client's thread.
            let server_ns = if in_process { Some(operation.client_cpu_ns) } else { operation.gauged };
            let figures = [
                (SECONDS, Some(seconds(operation.wall_ns))),
                ("count", Some(operation.count as f64)),
                ("executed", Some(operation.executed as f64)),
                // None where its thread served others as well.
                ("client_cpu_s", (operation.client_cpu_ns > 0).then(|| seconds(operation.client_cpu_ns))),
                ("server_cpu_s", server_ns.map(seconds)),
            ];
            for (what, value) in figures {
                value.into_iter().for_each(|value| add(operation_metric(operation.name, what), value));
            }
            add(SECONDS.to_owned(), seconds(operation.wall_ns));
        }
    }
    // An estimated operation has the CPU time of more statements than were sent.
    let all = || programs.iter().chain(&rated).copied();
    let whole = || all().flat_map(timed).filter(|operation| !operation.estimated);
    let statements: u64 = whole().map(|operation| operation.executed).sum();
    let client_cpu_ns: u64 = whole().map(|operation| operation.client_cpu_ns).sum();
    if !in_process && statements > 0 && client_cpu_ns > 0 {
        metrics.insert("client_cpu_us_per_query".to_owned(), client_cpu_ns as f64 / 1e3 / statements as f64);
    }
    metrics
}

/// Whether its operations ran for a time.
fn is_rated(program: &ProgramTally) -> bool {
    program.operations.iter().any(|operation| operation.by_rate)
}

/// Of operations that ran for a time.
fn rates(groups: &[&ProgramTally], in_process: bool) -> Vec<(String, f64)> {
    let all = || groups.iter().copied().flat_map(timed);
    let mut metrics = Vec::new();
    for one in all() {
        let executions = one.count as f64;
        let server_ns = if in_process { Some(one.client_cpu_ns) } else { one.gauged };
        let figures = [
            (RATE, Some(executions / seconds(one.wall_ns))),
            ("count", Some(executions)),
            ("executed", Some(one.executed as f64)),
            ("client_cpu_s", Some(seconds(one.client_cpu_ns))),
            ("server_cpu_s", server_ns.map(seconds)),
            (EXECUTION_CPU, server_ns.map(|cpu_ns| cpu_ns as f64 / 1e3 / executions)),
        ];
        let named = |(what, value): (&str, Option<f64>)| Some((operation_metric(one.name, what), value?));
        metrics.extend(figures.into_iter().filter_map(named));
        // An embedded engine is part of the client.
        let moved = MOVED.into_iter().zip(one.moved.0).filter(|_| !in_process);
        metrics.extend(moved.map(|(what, value)| (what, value.map(|all| all as f64 / executions))).filter_map(named));
    }
    let (whole_ns, measured_ns): (u64, u64) =
        (groups.iter().map(|group| group.wall_ns).sum(), all().map(|one| one.wall_ns).sum());
    let logarithms: f64 = all().map(|one| (one.count as f64 / seconds(one.wall_ns)).ln()).sum();
    if all().next().is_some() {
        metrics.push((GEOMEAN_RATE.to_owned(), (logarithms / all().count() as f64).exp()));
        metrics.push((SECONDS.to_owned(), seconds(measured_ns)));
        metrics.push((BETWEEN_SECONDS.to_owned(), seconds(whole_ns.saturating_sub(measured_ns))));
    }
    metrics
}

/// Operations that have a time.
fn timed(program: &ProgramTally) -> impl Iterator<Item = &OperationTally> {
    let has_time = |operation: &&OperationTally| {
        operation.refused.is_none() && !(operation.by_rate && (operation.count == 0 || operation.wall_ns == 0))
    };
    program.operations.iter().filter(has_time)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// What must be known about single operations, by flag: `gap:select_big_str` and why.
pub fn remarks(programs: &[ProgramTally]) -> BTreeMap<String, String> {
    let mut remarks = BTreeMap::new();
    for name in short(programs) {
        remarks.insert(flag(SHORT, name), "too short to be timed well, and not repeated".to_owned());
    }
    for program in programs {
        let mut lacking = Vec::new();
        for operation in &program.operations {
            let whys = [
                (GAP, operation.refused.clone()),
                (WRONG, operation.wrong.clone()),
                (FEWER, operation.fewer.clone()),
                (LIMITED, operation.limited.clone()),
                (ESTIMATED, operation.estimated.then(|| "cut off at the time limit; its time is scaled up".to_owned())),
            ];
            let is_less = [&operation.refused, &operation.wrong, &operation.fewer].iter().any(|why| why.is_some());
            lacking.extend(is_less.then_some(operation.name));
            for (kind, why) in whys {
                // The first of several programs is the one to observe.
                why.map(|why| remarks.entry(flag(kind, operation.name)).or_insert(why));
            }
        }
        if program.is_estimated() {
            remarks.insert(flag(ESTIMATED_PROGRAM, program.name), "an operation was cut off and scaled up".to_owned());
        }
        // The mean of a group is over what every contender has.
        if !lacking.is_empty() && !is_rated(program) {
            remarks.insert(flag(PARTIAL, program.name), format!("without all of {}", lacking.join(", ")));
        }
    }
    remarks
}

/// Operations that were timed for too little, in all programs together.
fn short(programs: &[ProgramTally]) -> Vec<&'static str> {
    let mut timed_ns: BTreeMap<&str, u64> = BTreeMap::new();
    for operation in programs.iter().flat_map(timed).filter(|operation| !operation.whole) {
        *timed_ns.entry(operation.name).or_default() += operation.timed_ns;
    }
    timed_ns.into_iter().filter(|(_, timed_ns)| *timed_ns < SHORT_NS).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &'static str, wall_ms: u64, count: u64) -> OperationTally {
        OperationTally {
            name,
            count,
            executed: count,
            wall_ns: wall_ms * 1_000_000,
            timed_ns: wall_ms * 1_000_000,
            client_cpu_ns: wall_ms * 250_000,
            gauged: Some(wall_ms * 500_000),
            ..OperationTally::default()
        }
    }

    fn pass() -> Vec<ProgramTally> {
        let refused = Some("no such function".to_owned());
        let gap = OperationTally { refused, ..operation("std", 0, 0) };
        let wrong = OperationTally { wrong: Some("2 rows instead of 1".to_owned()), ..operation("count", 500, 10) };
        let cut = OperationTally { estimated: true, ..operation("insert", 3000, 300) };
        let program = |name, wall_ms: u64, operations| ProgramTally { name, wall_ns: wall_ms * 1_000_000, operations };
        vec![
            program("ATIS", 2500, vec![operation("insert", 1000, 100), gap]),
            program("insert", 4000, vec![cut]),
            program("select", 700, vec![wrong]),
        ]
    }

    #[test]
    fn operations_of_one_name_add_up_over_programs() {
        let found = metrics(&pass(), false);
        assert_eq!((found["seconds"], found["op.insert.seconds"], found["op.insert.count"]), (4.5, 4.0, 400.0));
        assert_eq!((found["op.insert.server_cpu_s"], found["op.insert.client_cpu_s"]), (2.0, 1.0));
        assert_eq!((found["program.ATIS.seconds"], found["op.count.executed"]), (2.5, 10.0));
        assert!((found["client_cpu_us_per_query"] - 0.375e6 / 110.0).abs() < 1e-9, "without what was estimated");
        assert!(!found.keys().any(|name| name.starts_with("op.std")), "a gap has no number");
    }

    #[test]
    fn what_ran_for_a_time_has_a_rate_and_the_cost_of_an_execution() {
        let by_rate = |name, wall_ms, count| OperationTally { by_rate: true, ..operation(name, wall_ms, count) };
        let wrong = OperationTally { wrong: Some("no row".to_owned()), ..by_rate("point/b", 0, 0) };
        let moved = load::Moved([Some(8000), None, Some(2000)]);
        let first = OperationTally { moved, ..by_rate("point/a", 1000, 4000) };
        let operations = vec![first, wrong, by_rate("point/c", 2000, 2000)];
        let pass = [ProgramTally { name: "point", wall_ns: 3_300_000_000, operations }];
        let found = metrics(&pass, false);
        assert_eq!((found["op.point/a.per_s"], found["op.point/a.count"]), (4000.0, 4000.0));
        assert_eq!((found["op.point/a.cpu_us_per_execution"], found["seconds"]), (125.0, 3.0));
        assert_eq!(
            (found["op.point/a.switches_per_execution"], found["op.point/a.written_bytes_per_execution"]),
            (2.0, 0.5)
        );
        assert!(!found.contains_key("op.point/a.read_bytes_per_execution"), "what cannot be read is absent");
        assert!((found["geomean_per_s"] - 2000.0).abs() < 1e-6 && (found["between_s"] - 0.3).abs() < 1e-9);
        let others = ["op.point/a.seconds", "op.point/b.per_s", "program.point.seconds"];
        assert!(others.iter().all(|name| !found.contains_key(*name)), "{found:?}");
        assert!(remarks(&pass).contains_key("wrong:point/b"));
    }

    #[test]
    fn an_embedded_engine_spends_the_clients_cpu_and_no_other() {
        let found = metrics(&pass(), true);
        assert_eq!(found["op.insert.server_cpu_s"], 1.0);
        assert!(!found.contains_key("client_cpu_us_per_query"));
    }

    #[test]
    fn without_a_reading_there_is_no_server_cpu() {
        let mut pass = pass();
        pass.iter_mut().flat_map(|program| &mut program.operations).for_each(|operation| operation.gauged = None);
        assert!(!metrics(&pass, false).keys().any(|name| name.ends_with("server_cpu_s")));
    }

    #[test]
    fn gaps_wrong_answers_and_estimates_are_flagged_with_their_reasons() {
        let remarks = remarks(&pass());
        let flags: Vec<&str> = remarks.keys().map(String::as_str).collect();
        assert_eq!(
            flags,
            [
                "estimated:insert",
                "estimated_program:insert",
                "gap:std",
                "partial:ATIS",
                "partial:select",
                "short:count",
                "wrong:count"
            ]
        );
        assert_eq!(remarks["gap:std"], "no such function");
    }
}
