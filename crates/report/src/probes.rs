//! Trials beside the plan, one table of all of them: what each was run for, where, and what came out.

use record::format::{DecisionKind, Point, Purpose, TrialRecord, point_text};
use record::metric::unit;

use super::Evidence;
use super::sentences::probes::setting;
use super::wording::number;

pub const HEADING: [&str; 7] = ["trial", "purpose", "contender", "workload", "level", "block", "outcome"];
pub const ABOUT: &str = "Trials beside the plan. Their throughput is part of no comparison.";

/// A row for each stored trial, then one for each set of trials that was due and not run.
pub fn rows(evidence: &Evidence) -> Vec<[String; 7]> {
    let trial = |one: &TrialRecord| {
        let at = [one.trial, one.block].map(|number| if number > 0 { number.to_string() } else { "-".to_owned() });
        row(at, &one.purpose, &one.contender, &one.workload, &one.point, outcome(evidence, one))
    };
    let left_out = evidence.run.decided(DecisionKind::LeftOut).map(|one| {
        let at = ["-"; 2].map(str::to_owned);
        row(at, &one.purpose, &one.contender, &one.workload, &one.point, format!("left out: {}", one.because))
    });
    evidence.trials.probes().iter().map(trial).chain(left_out).collect()
}

fn row(
    [trial, block]: [String; 2],
    purpose: &Purpose,
    contender: &str,
    workload: &str,
    point: &Point,
    outcome: String,
) -> [String; 7] {
    [trial, self::purpose(purpose), contender.to_owned(), workload.to_owned(), point_text(point), block, outcome]
}

/// `headroom check, 2 threads`.
fn purpose(purpose: &Purpose) -> String {
    let how = match purpose {
        Purpose::Headroom { threads: 1 } => "1 thread".to_owned(),
        Purpose::Headroom { threads } => format!("{threads} threads"),
        Purpose::Answers { pass: 1 } => "one transaction after the other".to_owned(),
        Purpose::Answers { .. } => "again".to_owned(),
        Purpose::CauseTest { cause, .. } => setting(*cause).to_owned(),
        Purpose::Compare
        | Purpose::Repeat { .. }
        | Purpose::Alone
        | Purpose::Pilot
        | Purpose::Profile
        | Purpose::Crash { .. }
        | Purpose::Load { .. }
        | Purpose::Recovery { .. } => {
            return purpose.title().to_owned();
        }
    };
    format!("{}, {how}", purpose.title())
}

fn outcome(evidence: &Evidence, trial: &TrialRecord) -> String {
    if let Some(failure) = &trial.failure {
        return format!("failed at `{}`: {}", failure.step, failure.message);
    }
    if let Some(shown) = trial.shows() {
        return shown;
    }
    let workload = evidence.plan.workloads.iter().find(|one| one.label == trial.workload);
    let metric = workload.map_or("", |one| one.primary_metric());
    let value = trial.metrics.get(metric).map(|value| format!("{} {}", number(*value), unit(metric)));
    value.unwrap_or_else(|| "no throughput was measured".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::full_method;
    use record::StoredTrials;
    use record::format::{Failure, Status};

    #[test]
    fn every_trial_beside_the_plan_and_what_was_left_out_has_a_row() {
        let mut evidence = full_method();
        let failure = Failure { step: "start".into(), message: "no room".into(), ..Failure::default() };
        let mut trials = evidence.trials.all();
        let last = trials.last_mut().unwrap();
        (last.status, last.failure) = (Status::Failed, Some(failure));
        evidence.trials = StoredTrials::new(trials, None);
        let rows = rows(&evidence);
        assert_eq!(rows.len(), evidence.trials.probes().len() + evidence.run.decided(DecisionKind::LeftOut).count());
        let of = |purpose: &str| rows.iter().filter(|row| row[1] == purpose).count();
        assert_eq!((of("headroom check, 1 thread"), of("headroom check, 2 threads")), (4, 4));
        assert_eq!(of("cause test, one client"), 8);
        assert_eq!(rows[evidence.trials.probes().len() - 1][6], "failed at `start`: no room");
        assert!(rows.last().unwrap()[6].starts_with("left out: data and server need"), "{rows:?}");
    }
}
