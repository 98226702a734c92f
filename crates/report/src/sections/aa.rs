//! The A/A test: does this host show differences between equal servers, and which difference can it detect?

use std::collections::BTreeSet;

use analysis::aa::{EFFECTS, Sight, is_worth_keeping, sight, told_apart};
use record::format::figures::percent_of_log;
use record::format::{AaRecord, Point, point_text};

use super::{Topic, stopped};
use crate::Evidence;
use crate::document::{Block, Section};
use crate::wording::{duration, percent};

pub struct AaTest;

impl Topic for AaTest {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let records = evidence.aa_records();
        let level = level(evidence, &records);
        let several = evidence.plan.workloads.len() > 1;
        let one = |record: &AaRecord| {
            let workload = if several { format!("{}, ", record.workload) } else { String::new() };
            let title = Block::heading(format!("{workload}{}", point_text(&record.point)));
            std::iter::once(title).chain(Block::list(stopped(lines(record, level))))
        };
        Section::of("aa", "A/A test", records.iter().flat_map(one).collect())
    }
}

/// What the test says of this host, for the first screen.
pub fn verdicts(evidence: &Evidence) -> Vec<String> {
    let records = evidence.aa_records();
    let level = level(evidence, &records);
    let one = |record: &AaRecord| verdict(record, &sight(record, level));
    let mut lines: Vec<String> = stopped(records.iter().map(one).collect());
    lines.dedup();
    lines
}

/// The points of a sweep share the error.
fn level(evidence: &Evidence, records: &[AaRecord]) -> f64 {
    let points: BTreeSet<&Point> = records.iter().map(|record| &record.point).collect();
    (1.0 - evidence.plan.method.confidence) / points.len().max(1) as f64
}

fn lines(record: &AaRecord, level: f64) -> Vec<String> {
    let sight = sight(record, level);
    let lines = vec![
        verdict(record, &sight),
        format!(
            "{}: ratio {:.4} ({:.4} to {:.4}), {} blocks",
            record.verdict, record.ratio, record.low, record.high, record.blocks
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
    lines
}

/// What lies between trials and what inside them.
fn inside(record: &AaRecord) -> String {
    let unknown = "not visible in trials this short".to_owned();
    let shown = |value: Option<f64>| value.map_or_else(|| unknown.clone(), percent);
    let correlation = record.autocorrelation.map_or_else(|| unknown.clone(), |value| format!("{value:.2}"));
    let best = match (record.best_trial_s, record.trial_s) {
        (Some(best), Some(now)) => {
            format!("{best:.0} s of measuring would give the most precision for the time (now {now:.1} s)")
        }
        _ => "the best length of a trial is not known".to_owned(),
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
fn order(record: &AaRecord) -> String {
    let (what, always) = match record.arrangement.as_deref() {
        Some("duet") => ("side effect (being on the first side of the duet)", "was there"),
        _ => ("being first in a block", "came first"),
    };
    let Some([mean, low, high]) = record.order_effect else {
        return format!("{what}: not known, the same side always {always}");
    };
    let signed = |log: f64| percent_of_log(log, 2);
    let shown = if low > 0.0 || high < 0.0 {
        "it matters here; the random order of each block cancels it"
    } else {
        "no effect shown"
    };
    format!("{what}: {} ({} to {}), {shown}", signed(mean), signed(low), signed(high))
}

fn needed(record: &AaRecord, sight: &Sight) -> String {
    let each = EFFECTS.iter().zip(sight.blocks_needed).zip(sight.minutes_needed);
    let parts: Vec<String> = each
        .map(|((effect, blocks), minutes)| format!("{}: {blocks} blocks, {}", percent(*effect), duration(minutes)))
        .collect();
    format!("to detect a difference of {} (a block takes {:.1} s)", parts.join("; of "), record.block_s)
}

/// What it means, for somebody who asks no more than that.
fn verdict(record: &AaRecord, sight: &Sight) -> String {
    if told_apart(record) {
        return "INVESTIGATE: the A/A test found a false difference. One in twenty comes by chance; run `dbduel aa` again. If it \
                comes again, look at: flagged trials and other processes, clock speed and heat, the effect of order below, free \
                space and age of the disk, and other virtual machines on this host"
            .to_owned();
    }
    if !is_worth_keeping(record) {
        return "Too few blocks for a verdict on this host".to_owned();
    }
    let blocks = record.blocks;
    let seen = EFFECTS.iter().zip(sight.blocks_needed).find(|(_, needed)| *needed <= blocks as usize);
    match seen {
        Some((effect, _)) => {
            format!(
                "No false difference. {blocks} blocks like these detect a difference of {} nine times in ten",
                percent(*effect)
            )
        }
        None => format!(
            "No false difference, but {blocks} blocks like these often miss a difference of 5 %: use longer trials, more blocks or \
             a quieter host"
        ),
    }
}
