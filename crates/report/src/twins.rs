//! What a run of twins says in plain words: is this host fit to judge, and what can it see?

use std::collections::BTreeSet;

use analysis::twins::{EFFECTS, Sight, is_worth_keeping, sight, told_apart};
use record::format::figures::percent_of_log;
use record::format::{Point, TwinsRecord, point_text};

use super::Evidence;
use super::wording::{duration, percent};

/// The section behind the report of a run of twins; nothing for any other run.
pub fn section(evidence: &Evidence) -> Vec<String> {
    let records = evidence.twins();
    let several = evidence.plan.workloads.len() > 1;
    let mut lines = Vec::new();
    for record in &records {
        let workload = if several { format!("{}, ", record.workload) } else { String::new() };
        lines.push(String::new());
        lines.push(format!("twins at {workload}{}", point_text(&record.point)));
        lines.extend(one(record, level(evidence, &records)).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// The points of a sweep share the error.
fn level(evidence: &Evidence, records: &[TwinsRecord]) -> f64 {
    let points: BTreeSet<&Point> = records.iter().map(|record| &record.point).collect();
    (1.0 - evidence.plan.method.confidence) / points.len().max(1) as f64
}

fn one(record: &TwinsRecord, level: f64) -> Vec<String> {
    let sight = sight(record, level);
    let mut lines = vec![
        format!(
            "{}: ratio {:.4} ({:.4} to {:.4}), {} blocks",
            record.word, record.ratio, record.low, record.high, record.blocks
        ),
        format!(
            "spread between blocks (s_d) {}; {} of the trials flagged",
            percent(record.sd),
            percent(record.flagged_share)
        ),
        format!("inside: {}", inside(record)),
        order(record),
        needed(record, &sight),
    ];
    lines.extend(verdict(record, &sight));
    lines
}

/// What lies between trials and what inside them.
fn inside(record: &TwinsRecord) -> String {
    let unknown = "not visible in trials this short".to_owned();
    let shown = |value: Option<f64>| value.map_or_else(|| unknown.clone(), percent);
    let correlation = record.autocorrelation.map_or_else(|| unknown.clone(), |value| format!("{value:.2}"));
    let best = match (record.best_trial_s, record.trial_s) {
        (Some(best), Some(now)) => format!("{best:.0} s of measuring would tell most for the time (now {now:.1} s)"),
        _ => "which length of trials tells most for the time is not known".to_owned(),
    };
    if record.sd_between_trials.is_none() && record.sd_of_a_second.is_none() && record.autocorrelation.is_none() {
        return format!("spread of trials and of seconds {unknown}; {best}");
    }
    format!(
        "between trials (s_u) {}, of one second (s_w) {}, from one second to the next (AR(1)) {correlation}; {best}",
        shown(record.sd_between_trials),
        shown(record.sd_of_a_second)
    )
}

/// In a duet the coin chooses the side, and what it is worth is the side's effect.
fn order(record: &TwinsRecord) -> String {
    let (what, always) = match record.arrangement.as_deref() {
        Some("duet") => ("side effect (being on the first side of the duet)", "was there"),
        _ => ("being first in a block", "came first"),
    };
    let Some([mean, low, high]) = record.order_effect else {
        return format!("{what}: not known, the same twin always {always}");
    };
    let signed = |log: f64| percent_of_log(log, 2);
    let said = if low > 0.0 || high < 0.0 {
        "it matters here, which the coin of each block makes harmless"
    } else {
        "no effect shown"
    };
    format!("{what}: {} ({} to {}), {said}", signed(mean), signed(low), signed(high))
}

fn needed(record: &TwinsRecord, sight: &Sight) -> String {
    let each = EFFECTS.iter().zip(sight.blocks_needed).zip(sight.minutes_needed);
    let parts: Vec<String> = each
        .map(|((effect, blocks), minutes)| format!("{}: {blocks} blocks, {}", percent(*effect), duration(minutes)))
        .collect();
    format!("to see a difference of {} (a block takes {:.1} s)", parts.join("; of "), record.block_s)
}

/// What it means, for somebody who asks no more than that.
fn verdict(record: &TwinsRecord, sight: &Sight) -> Vec<String> {
    if told_apart(record) {
        return vec![
            "INVESTIGATE: twins were told apart. One such word in twenty comes by chance; run `dbduel aa` again."
                .to_owned(),
            "If it comes again, look at: flagged trials and what ran beside them, clock speed and heat, the effect of"
                .to_owned(),
            "order above, free space and age of the disk, and whether a neighbour shares this machine.".to_owned(),
        ];
    }
    if !is_worth_keeping(record) {
        return vec!["Too few blocks for a verdict: nothing is said about this host.".to_owned()];
    }
    let alike = "Twins came out alike";
    let blocks = record.blocks;
    let seen = EFFECTS.iter().zip(sight.blocks_needed).find(|(_, needed)| *needed <= blocks as usize);
    match seen {
        Some((effect, _)) => vec![format!(
            "{alike}; {blocks} blocks like these show a difference of {} nine times in ten.",
            percent(*effect)
        )],
        None => vec![
            format!("{alike}, but {blocks} blocks like these often miss a difference of 5 %: take longer trials, more"),
            "blocks, or a quieter host.".to_owned(),
        ],
    }
}
