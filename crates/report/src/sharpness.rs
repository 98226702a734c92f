//! How sharp a comparison is, what an auditor asks for, and what a sharper run would need.
//!
//! Sentences from the analysis' figures, the same for every report.

use analysis::{Best, Caveat, Comparison, Duel, OrderEffect, Peak, Spread, Unflagged, Word};
use record::format::figures::percent_of_log;
use record::format::{MethodRecord, point_text};

use super::wording::{blocks, count, detectable, duration, number, percent, ratio_only, unit};

/// Each a sentence of its own, without its full stop.
pub fn sentences(method: &MethodRecord, metric: &str, duel: &Duel) -> Vec<String> {
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
    let bounds = without.low.zip(without.high).map(|(low, high)| format!(", interval {low:.3}..{high:.3}"));
    Some(format!(
        "Without the blocks that carry a flag of the host: {:.3}x{}, {}, {}; with them {}, {}",
        without.ratio,
        bounds.unwrap_or_default(),
        count(without.blocks, "block"),
        unflagged_word(without),
        ratio_only(with),
        blocks(with),
    ))
}

fn unflagged_word(without: &Unflagged) -> &'static str {
    without.word.map_or("too few for a word", Word::as_str)
}

/// Each side at its best, and what became of the winner's curse.
fn peak(metric: &str, duel: &Duel, peak: &Peak) -> String {
    let side = |name: &str, best: &Best| {
        let places: Vec<String> = best.points.iter().map(point_text).collect();
        format!("`{name}` {} {} at {}", number(best.value), unit(metric), places.join(" or "))
    };
    let bounds = peak.low.zip(peak.high).map(|(low, high)| format!(", interval {low:.3}..{high:.3}"));
    format!(
        "Peak against peak: {}, {}: {:.3}x{} ({}; one half of the blocks chose the points, the other was compared)",
        side(&duel.candidate, &peak.candidate),
        side(&duel.baseline, &peak.baseline),
        peak.ratio,
        bounds.unwrap_or_default(),
        count(peak.blocks, "block")
    )
}

/// What was seen, what could have been, and what less would take.
fn needed(duel: &Duel) -> Option<String> {
    let overall = &duel.overall;
    let mut text = format!("Spread between blocks {} (sd of the log ratio, {})", percent(overall.sd?), blocks(overall));
    text += &format!("; detectable {}", detectable(overall.mde?));
    if let Some([one, three, five]) = duel.spread.blocks_needed {
        text += &format!("; 1/3/5 % would need {one}/{three}/{five} blocks");
    }
    if let Some(minutes) = duel.spread.minutes_needed {
        text += &format!(" ({})", minutes.map(duration).join("/"));
    }
    Some(text)
}

fn audit(duel: &Duel) -> Option<String> {
    let overall = &duel.overall;
    Some(format!(
        "Audit: ratio by ranks {:.3}x, by means {:.3}x; sign-flip p {:.4} at this number of blocks",
        overall.ratio?, overall.mean_ratio?, overall.sign_flip_p?
    ))
}

/// The candidates share one baseline, and its luck with it.
fn together(duel: &Duel) -> Option<String> {
    Some(format!(
        "All candidates together: p {:.4} (max-t over sign flips of whole blocks); words come from the rule, of \
         whose error each candidate has its share",
        duel.p_together?
    ))
}

fn order(effect: OrderEffect, is_duet: bool) -> String {
    let share = |log_ratio: f64| percent_of_log(log_ratio, 1);
    format!(
        "{} makes {} (95 % t interval {} to {})",
        if is_duet { "Being on the first side" } else { "Being first of the two" },
        share(effect.mean),
        share(effect.low),
        share(effect.high)
    )
}

/// How long to measure (method, section 1), once four blocks tell.
fn advice(method: &MethodRecord, spread: &Spread) -> Option<String> {
    let (second, between) = (spread.sd_of_a_second?, spread.sd_between_trials?);
    let scatter = format!("a second scatters by {}", percent(second));
    let Some(best_s) = spread.best_duration_s else {
        return (between == 0.0).then(|| {
            format!("Trials differ by no more than their seconds explain ({scatter}): the longer they are, the more they tell")
        });
    };
    Some(format!(
        "Trials of {best_s:.0} s would tell most in the same time; these measured {} s ({scatter}, a trial by {} more, {} s \
         of each trial are not measured)",
        method.duration_s,
        percent(between),
        number(spread.overhead_s?)
    ))
}

/// A line below the headline where the lead is owed back.
pub fn deferring(duel: &Duel) -> Option<String> {
    let first = duel.deferring.first()?;
    let (leader, other) = match first.ratio > 1.0 {
        true => (&duel.candidate, &duel.baseline),
        false => (&duel.baseline, &duel.candidate),
    };
    let place = first.point.as_ref().map_or(String::new(), |point| format!(" at {}", point_text(point)));
    Some(format!(
        "`{leader}` is faster only while deferring work{place}: once what it put off is done, `{other}` is ahead (ratio {:.3}x \
         in place of {:.3}x{})",
        first.adjusted,
        first.ratio,
        if first.is_shown { "" } else { "; not shown beyond chance" }
    ))
}

/// `for the first 60 s: ` where nothing longer was shown.
pub fn time_span(method: &MethodRecord, comparison: &Comparison) -> String {
    let unsteady = comparison.caveats.contains(&Caveat::Unsteady);
    if unsteady { format!("for the first {} s: ", method.duration_s) } else { String::new() }
}
