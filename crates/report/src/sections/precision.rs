//! How precise a comparison is, what an auditor asks for, and what a more precise run would need.

use analysis::{Best, Comparison, HeadToHead, OrderEffect, Peak, Unflagged, Variation, Verdict};
use record::format::figures::percent_of_log;
use record::format::{MethodRecord, point_text};

use crate::wording::{blocks, count, detectable, duration, number, percent, ratio_only, ratio_text, unit};

/// Each a sentence of its own, without its full stop.
pub fn sentences(method: &MethodRecord, metric: &str, duel: &HeadToHead) -> Vec<String> {
    let spread = &duel.spread;
    let all = [
        unflagged(&duel.overall),
        duel.peak.as_ref().map(|peak| self::peak(metric, duel, peak)),
        needed(duel),
        audit(duel),
        together(duel),
        spread.order_effect.map(|effect| order(effect, method.duet)),
        advice(method, spread),
    ];
    all.into_iter().flatten().collect()
}

/// The verdict once more, by the blocks that the host left alone.
fn unflagged(with: &Comparison) -> Option<String> {
    let without = with.unflagged.as_ref()?;
    let bounds =
        without.low.zip(without.high).map(|(low, high)| format!(" (95 % CI {}–{})", ratio_text(low), ratio_text(high)));
    Some(format!(
        "Without the blocks that carry a flag of the host: {}{}, {}, {}; with them {}, {}",
        ratio_text(without.ratio),
        bounds.unwrap_or_default(),
        count(without.blocks, "block"),
        unflagged_word(without),
        ratio_only(with),
        blocks(with),
    ))
}

fn unflagged_word(without: &Unflagged) -> &'static str {
    without.verdict.map_or("too few for a verdict", Verdict::as_str)
}

/// Each side at its best, and what became of the winner's curse.
fn peak(metric: &str, duel: &HeadToHead, peak: &Peak) -> String {
    let side = |name: &str, best: &Best| {
        let places: Vec<String> = best.points.iter().map(point_text).collect();
        format!("`{name}` {} {} at {}", number(best.value), unit(metric), places.join(" or "))
    };
    let bounds =
        peak.low.zip(peak.high).map(|(low, high)| format!(" (95 % CI {}–{})", ratio_text(low), ratio_text(high)));
    format!(
        "Peak against peak: {}, {}: ratio {}{} ({}; one half of the blocks chose the levels, the other was compared)",
        side(&duel.candidate, &peak.candidate),
        side(&duel.baseline, &peak.baseline),
        ratio_text(peak.ratio),
        bounds.unwrap_or_default(),
        count(peak.blocks, "block")
    )
}

/// What was seen, what could have been, and what less would take.
fn needed(duel: &HeadToHead) -> Option<String> {
    let overall = &duel.overall;
    let mut text =
        format!("Spread between blocks: {} (sd of the log ratio, {})", percent(overall.sd?), blocks(overall));
    text += &format!("; smallest detectable difference: {}", detectable(overall.mde?));
    if let Some(needed) = duel.spread.blocks_needed {
        let minutes =
            duel.spread.minutes_needed.map(|minutes| minutes.map(|minutes| format!(" ({})", duration(minutes))));
        let [one, three, five] = minutes.unwrap_or_default();
        let blocks = |place: usize, time: String| format!("{}{time}", count(needed[place], "block"));
        text += &format!(". {} would detect 5 %, {} 3 %, {} 1 %", blocks(2, five), blocks(1, three), blocks(0, one));
    }
    Some(text)
}

fn audit(duel: &HeadToHead) -> Option<String> {
    let overall = &duel.overall;
    Some(format!(
        "Cross-check: rank estimate {:.3}, mean of log ratios {:.3}; sign-flip p {:.4} at this number of blocks",
        overall.ratio?, overall.mean_ratio?, overall.sign_flip_p?
    ))
}

/// The candidates share one baseline, and its luck with it.
fn together(duel: &HeadToHead) -> Option<String> {
    Some(format!(
        "All candidates together: p {:.4} (max-t over sign flips of whole blocks); verdicts come from the rule, whose \
         error the candidates share",
        duel.p_together?
    ))
}

fn order(effect: OrderEffect, is_duet: bool) -> String {
    let share = |log_ratio: f64| percent_of_log(log_ratio, 1);
    let what = if is_duet { "Effect of the first side" } else { "Order effect" };
    format!("{what}: {} (95 % CI {} to {})", share(effect.mean), share(effect.low), share(effect.high))
}

/// How long to measure (method, section 1), from four blocks on.
fn advice(method: &MethodRecord, spread: &Variation) -> Option<String> {
    let (second, between) = (spread.sd_of_a_second?, spread.sd_between_trials?);
    let scatter = format!("one second varies by {}", percent(second));
    let Some(best_s) = spread.best_duration_s else {
        return (between == 0.0).then(|| {
            format!(
                "Trials differ by no more than their seconds explain ({scatter}): longer trials give more precision"
            )
        });
    };
    Some(format!(
        "Trials of {best_s:.0} s would give the most precision for the time; these measured {} s ({scatter}, a trial by {} more, {} s \
         of each trial are not measured)",
        method.duration_s,
        percent(between),
        number(spread.overhead_s?)
    ))
}
