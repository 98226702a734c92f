//! What a run took place in: its generator, its warm-up, its host and what that host has shown before.
//!
//! Lines for every report, from stored records alone.

use std::collections::BTreeMap;

use analysis::Tally;
use analysis::headroom::{HeadroomCheck, checks};
use record::format::figures::percent_of_log;
use record::format::{
    AaRecord, CheckRecord, DecisionKind, DecisionRecord, HostRecord, PilotRecord, RunRecord, TrialRecord, point_text,
};

use super::wording::{against_nothing, count, duration, number, percent};
use super::{Evidence, hardware};

/// The generator and what was checked of it.
pub fn generator(run: &RunRecord, tally: &Tally) -> String {
    let client = &run.client;
    let mut text = format!(
        "{}, cores {}{}",
        count(client.workers as usize, "worker"),
        client.cores,
        if client.shared_cores { " (shared with the server)" } else { "" }
    );
    if let Some(cores) = &client.server_cores {
        text += &format!("; servers kept on cores {cores}");
    }
    if let Some(cpu) = tally.client_cpu_us_per_query {
        text += &format!("; {} µs of CPU per query", number(cpu));
    }
    if let Some(occupancy) = tally.occupancy_min {
        text += &format!("; lowest occupancy {}", percent(occupancy));
    }
    if let Some(nothing) = against_nothing(&run.checks) {
        text += &format!("; {nothing}");
    }
    text += &path(&run.checks, tally);
    let all = tally.trials_finished + tally.trials_repeated;
    text + &format!("; it was the limit in {} of {all} trials", tally.trials_generator_bound)
}

/// What the ways to the servers can carry, and how much of it was used.
fn path(checks: &[CheckRecord], tally: &Tally) -> String {
    let way = |one: &CheckRecord| match one.value(CheckRecord::BYTES) {
        Some(bytes_per_s) => format!("{} {} MB/s ({})", one.subject, number(bytes_per_s / 1e6), one.seen_by),
        None => format!("{} not visible here", one.subject),
    };
    let ways = CheckRecord::named(checks, CheckRecord::NETWORK_PATH).map(way).collect::<Vec<_>>().join(", ");
    if ways.is_empty() {
        return String::new();
    }
    let used = tally.path_share_max.map_or(String::new(), |share| format!(", most used {}", percent(share)));
    format!("; network path to the server: {ways}{used}")
}

/// Twice the generator at the peak point: a line for each contender that was tried.
pub fn doublings(evidence: &Evidence) -> Vec<String> {
    let line = |one: &HeadroomCheck| {
        let values = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ");
        format!(
            "`{}` at {}, {}: {} as usual, {} with twice the generator's threads",
            one.contender,
            point_text(&one.point),
            one.workload,
            values(&one.as_usual),
            values(&one.doubled)
        )
    };
    checks(&evidence.plan, evidence.trials.probes()).iter().map(line).collect()
}

/// How warm-ups came about: pilots first, then what trials took.
pub fn warm_up(evidence: &Evidence) -> Vec<String> {
    let pilot = |one: &PilotRecord| {
        let settled = match one.warmup_s {
            Some(seconds) => format!("steady after {seconds:.0} s"),
            None => "not steady".to_owned(),
        };
        let place = point_text(&one.point);
        let cycle = match one.checkpoint_cycle_s {
            None => String::new(),
            Some(cycle_s) if one.holds_a_cycle() => format!(", a checkpoint every {cycle_s:.0} s"),
            Some(cycle_s) => format!(", no checkpoint cycle passed (one takes {cycle_s:.0} s)"),
        };
        format!(
            "pilot run of `{}`, {} at {place}: {settled} within {:.0} s{cycle}",
            one.contender, one.workload, one.seconds
        )
    };
    let warmup = |one: &DecisionRecord| {
        let why = match one.because.as_str() {
            "unsteady" => "because throughput still changed inside the trials",
            "pilot" => "as the pilot runs required",
            other => other,
        };
        format!("{}: {:.0} s of warm-up from block {} on, {why}", one.workload, one.seconds(), one.first_block())
    };
    let pilots = PilotRecord::all(&evidence.plan, evidence.trials.probes());
    pilots.iter().map(pilot).chain(evidence.run.decided(DecisionKind::WarmUp).map(warmup)).collect()
}

/// Earlier A/A tests on this host.
pub fn twins(run: &RunRecord) -> Vec<String> {
    let line = |one: &AaRecord| {
        let shown = |log_ratio: f64| percent_of_log(log_ratio, 1);
        let order = one.order_effect.map(|effect| {
            let [effect, low, high] = effect.map(shown);
            let what =
                if one.arrangement.as_deref() == Some("duet") { "effect of the first side" } else { "order effect" };
            format!("; {what} {effect} ({low} to {high})")
        });
        format!(
            "{} {} against itself ({}, {}; {}): {}, ratio {:.3}, 95 % CI {:.3}–{:.3}, {} of {}; spread between blocks (s_d) {}{}; {} of \
             trials flagged",
            one.engine,
            one.version,
            one.workload,
            point_text(&one.point),
            one.at.get(..10).unwrap_or(&one.at),
            one.verdict,
            one.ratio,
            one.low,
            one.high,
            count(one.blocks as usize, "block"),
            duration(one.block_s / 60.0),
            percent(one.sd),
            order.unwrap_or_default(),
            percent(one.flagged_share)
        )
    };
    run.twins.iter().map(line).collect()
}

/// What may matter of the host beside its hardware and does not change: `governor: performance`.
pub fn facts(host: &HostRecord) -> Vec<String> {
    let is_other = |name: &str| !hardware::FACTS.contains(&name);
    host.facts.iter().filter(|(name, _)| is_other(name)).map(|(name, value)| format!("{name}: {value}")).collect()
}

/// What nobody could see here; it is never told as zero.
pub fn not_visible(host: &HostRecord) -> Option<String> {
    (!host.not_visible.is_empty()).then(|| host.not_visible.join(", "))
}

/// By number of a trial: that of the one that took its place.
pub fn repeated_as(trials: &[TrialRecord]) -> BTreeMap<u32, u32> {
    trials.iter().filter_map(|trial| Some((trial.purpose.repeats()?, trial.trial))).collect()
}

/// `repeated as trial 65`, `repeats trial 12`.
pub fn repetition(trial: &TrialRecord, repeated_as: &BTreeMap<u32, u32>) -> Vec<String> {
    let repeats = trial.purpose.repeats().map(|number| format!("repeats trial {number}"));
    let repeated = repeated_as.get(&trial.trial).map(|number| format!("repeated as trial {number}"));
    repeats.into_iter().chain(repeated).collect()
}
