//! Numbers and short texts that topics share.
//!
//! Pure formatting: nothing is computed here that the analysis does not hold.

pub use record::metric::unit;
use std::collections::BTreeSet;

use stats::Basis;

use analysis::{
    Caveat, Cell, Comparison, Conclusions, FlagCount, HeadToHead, Verdict, WorkloadConclusions, less_is_better,
};
use record::format::figures::{fixed, grouped};
use record::format::{CheckRecord, ContenderFacts, ContenderRecord, PlanRecord, Point, WorkloadRecord, point_text};

use super::Evidence;
use record::rule::{self as plan, POINTS};

/// The title of the metric that verdicts come from.
pub fn primary_title(workload: &WorkloadConclusions) -> String {
    match workload.metric.as_str() {
        "tps" => metric_title("tps", workload.is_open_loop),
        _ => workload.primary.title.clone(),
    }
}

/// The title of a metric beside the primary one.
pub fn other_title(workload: &WorkloadConclusions, metric: &str) -> String {
    let title = metric_title(metric, workload.runs_from_due());
    if workload.secondary == Some(metric) { format!("{title}, the secondary verdict") } else { title }
}

/// `a, b and c`.
pub fn joined(mut texts: Vec<String>) -> String {
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} and {last}", texts.join(", ")) }
}

/// The row of all levels together, and how many they are where some have no pair of values.
pub fn sweep(points: &[Comparison], overall: &Comparison) -> String {
    some_levels(points.len(), overall).unwrap_or_else(|| "overall".to_owned())
}

/// `3 of 4 levels`; none where both sides have values at all of them.
fn some_levels(all: usize, overall: &Comparison) -> Option<String> {
    (overall.points < all).then(|| format!("{} of {all} levels", overall.points))
}

/// The absolute differences over the levels: `Mean difference -188 tps over 4 levels; highest …`.
pub fn difference(workload: &WorkloadConclusions, duel: &HeadToHead) -> Option<String> {
    let difference = duel.difference.as_ref()?;
    let unit = &workload.primary.unit;
    if duel.points.len() == 1 {
        return Some(format!("Difference {} {unit}", signed(difference.mean)));
    }
    let extreme = |(point, value): &(Point, f64)| format!("{} {unit} at {}", signed(*value), point_text(point));
    let text = format!(
        "Mean difference {} {unit} over {}; highest {}, lowest {}",
        signed(difference.mean),
        count(difference.points, "level"),
        extreme(&difference.max),
        extreme(&difference.min),
    );
    Some(text)
}

/// Where the candidate loses, and where curves cross. Of several levels never empty: silence could mean anything.
pub fn losses(duel: &HeadToHead) -> Option<String> {
    if duel.points.len() < 2 {
        return None;
    }
    let candidate = quoted(&duel.candidate);
    let of_point = |point: &Point| duel.points.iter().find(|comparison| comparison.point.as_ref() == Some(point));
    if duel.points.iter().all(|point| point.caveats.contains(&Caveat::TooFewBlocks)) {
        return Some("No level has a verdict of its own: that takes more blocks".to_owned());
    }
    let lost: Vec<String> = duel.losing.iter().filter_map(of_point).map(lost_point).collect();
    let mut text = match lost.len() {
        0 => format!("No level at which {candidate} is shown to be slower"),
        _ => format!("{candidate} is slower at {}", lost.join(", ")),
    };
    for (from, to) in &duel.crossings {
        text += &format!("; the curves cross between {} and {}", point_text(from), point_text(to));
    }
    Some(text)
}

fn lost_point(comparison: &Comparison) -> String {
    let place = comparison.point.as_ref().map(point_text).unwrap_or_default();
    format!("{place} ({})", ratio_only(comparison))
}

/// What a contender's data lie on: `disk (ext4 on /dev/vda)`.
pub fn storage(contender: &ContenderRecord, facts: Option<&ContenderFacts>) -> String {
    let below = facts.and_then(|facts| facts.file_system.as_ref());
    below.map_or_else(|| contender.storage.clone(), |below| format!("{} ({below})", contender.storage))
}

/// The level of the clients' transactions, by workload only where it is not the same for all.
pub fn isolation(facts: Option<&ContenderFacts>) -> String {
    let levels = facts.map(|facts| &facts.isolation).into_iter().flatten();
    let distinct: BTreeSet<&String> = levels.clone().map(|(_, level)| level).collect();
    match distinct.into_iter().collect::<Vec<_>>().as_slice() {
        [] => "not known".to_owned(),
        [level] => (*level).clone(),
        _ => levels.map(|(label, level)| format!("{level} ({label})")).collect::<Vec<_>>().join(", "),
    }
}

/// An option of a workload as its word: `procedures`, `5`.
pub fn option(record: &WorkloadRecord, name: &str) -> Option<String> {
    record.options.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// `30000 transactions of oltp or at most `: what may end trials before their time.
fn events(plan: &PlanRecord) -> String {
    let of = |workload: &WorkloadRecord| Some(format!("{} transactions of {}", workload.events?, workload.label));
    let events: Vec<String> = plan.workloads.iter().filter_map(of).collect();
    if events.is_empty() { String::new() } else { format!("{} or at most ", events.join(", ")) }
}

/// `method: preset quick …`, everything needed to know how this was measured.
pub fn method(plan: &PlanRecord) -> String {
    let method = &plan.method;
    let changed = match method.changed.as_slice() {
        [] => "unchanged".to_owned(),
        keys => format!("changed: {}", keys.join(", ")),
    };
    let trial = match plan.end_themselves() {
        true => "one pass a trial".to_owned(),
        false => format!("{}{} s after {} s of warm-up", events(plan), method.duration_s, method.warmup_s),
    };
    let mut text = format!(
        "preset {} ({changed}), rule {}, stop {}, at most {}, {trial}, margin {}, page cache {}, {}, seed {}, plan {}",
        method.preset,
        method.rule.as_str(),
        method.stop,
        count(method.blocks as usize, "block"),
        percent(method.margin),
        method.page_cache,
        method.transport,
        plan.seed,
        short_hash(plan)
    );
    let candidates = plan.candidates().count();
    if candidates > 1 {
        text += &format!("; {candidates} candidates share the error");
    }
    text += &shared_error(plan).map_or(String::new(), |about| format!("; {about}"));
    let clones = method.work_copy.as_ref().map(|how| format!("data by {how}"));
    for told in clones.into_iter().chain(method.arrangement().map(str::to_owned)) {
        text += &format!("; {told}");
    }
    if !method.left_out.is_empty() {
        text += &format!("; left out: {}", method.steps_left_out());
    }
    text
}

pub fn short_hash(plan: &PlanRecord) -> &str {
    plan.plan_hash.get(..12).unwrap_or(&plan.plan_hash)
}

fn ended(ended_by: Option<&str>) -> &str {
    match ended_by {
        Some("blocks") => "completed",
        Some("decided") => "ended because every verdict was decided",
        Some("budget") => "stopped at the budget",
        Some(other) => other,
        None => "not finished",
    }
}

/// `64 of 64 trials, 8 of 8 blocks, 12 min; completed`.
pub fn extent(conclusions: &Conclusions, ended_by: Option<&str>) -> String {
    let tally = &conclusions.tally;
    let repeated =
        if tally.trials_repeated == 0 { String::new() } else { format!(", {} repeated", tally.trials_repeated) };
    format!(
        "{} of {} trials ({} failed{repeated}), {} of {} blocks, {} inside trials; {}",
        tally.trials_finished,
        tally.trials_planned,
        tally.trials_failed,
        tally.blocks_finished,
        tally.blocks_planned,
        duration(tally.minutes),
        ended(ended_by)
    )
}

/// `0.87x, 95 % CI 0.85–0.89`, or that there is no interval.
pub fn ratio_with_interval(comparison: &Comparison) -> String {
    match interval(comparison) {
        Some(bounds) => {
            let kind = if comparison.basis == Basis::Plain { "CI (t)" } else { "CI" };
            format!("{}, {} {kind} {bounds}", ratio_only(comparison), percent(comparison.confidence))
        }
        None => format!("{}, no interval", ratio_only(comparison)),
    }
}

/// `0.87x`
pub fn ratio_only(comparison: &Comparison) -> String {
    if comparison.ratio.is_some() { ratio(comparison) + "x" } else { "no ratio".to_owned() }
}

/// `0.87`: in a column that is headed so.
pub fn ratio(comparison: &Comparison) -> String {
    comparison.ratio.map_or("-".to_owned(), ratio_text)
}

pub fn ratio_text(ratio: f64) -> String {
    format!("{ratio:.*}", ratio_decimals(ratio))
}

pub fn bounds(low: f64, high: f64) -> String {
    format!("{}–{}", bound(low, ratio_decimals(low)), bound(high, ratio_decimals(high)))
}

/// `0.85–0.89`
pub fn interval(comparison: &Comparison) -> Option<String> {
    Some(bounds(comparison.low?, comparison.high?))
}

/// The same; a plain t interval, which allows no verdict, is marked.
pub fn marked_interval(comparison: &Comparison) -> String {
    let mark = if comparison.basis == Basis::Plain { " t" } else { "" };
    // Two blocks that disagree leave everything open.
    let is_open = comparison.low.is_some_and(|low| low < 0.01) && comparison.high.is_some_and(|high| high > 100.0);
    interval(comparison).filter(|_| !is_open).map_or("none".to_owned(), |bounds| bounds + mark)
}

/// Of a ratio and its bounds: three digits, and one more just above 1, where a thousandth matters as it does just
/// below.
pub fn ratio_decimals(ratio: f64) -> usize {
    match ratio {
        ..1.1 => 3,
        ..10.0 => 2,
        _ => 1,
    }
}

/// A bound, with more digits where rounding would put it on the wrong side of 1; no digits of what two blocks
/// that disagree leave open by orders of magnitude.
pub fn bound(value: f64, digits: usize) -> String {
    if value > 1000.0 {
        return ">1000".to_owned();
    }
    if value < 0.001 {
        return "<0.001".to_owned();
    }
    let exact_enough = |digits: &usize| {
        let scale = 10f64.powi(*digits as i32);
        (value * scale).round() != scale || (value - 1.0).abs() < 1e-6
    };
    let digits = (digits..6).find(exact_enough).unwrap_or(6);
    fixed(value, digits)
}

/// The verdict in a table. Less latency is not "faster" but better; less time for the same work is faster.
pub fn verdict(comparison: &Comparison) -> &'static str {
    let is_better = less_is_better(&comparison.metric) && !comparison.metric.ends_with("seconds");
    match comparison.verdict {
        Verdict::Faster if is_better => "better",
        Verdict::Slower if is_better => "worse",
        word => word.as_str(),
    }
}

/// Caveats in brackets, without those that stand elsewhere already.
pub fn caveats(comparison: &Comparison, said: &[analysis::Caveat]) -> String {
    let new = comparison.caveats.iter().filter(|caveat| !said.contains(caveat));
    let words: Vec<&str> = new.map(|caveat| caveat.as_str()).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join("; ")) }
}

pub fn blocks(comparison: &Comparison) -> String {
    count(comparison.blocks, "block")
}

pub fn count(count: usize, noun: &str) -> String {
    count_of(count, noun, &format!("{noun}s"))
}

/// For nouns that take no plain `s`.
pub fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// Three significant digits, all those before the point, and thousands set apart.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 1.0 => 2,
        // A tenth of a billionth is nothing in any unit of a report.
        size => (2 - size.log10().floor() as i32).min(10) as usize,
    };
    let plain = format!("{:.digits$}", value.abs());
    let (whole, fraction) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let grouped = grouped(whole);
    let is_zero = plain.bytes().all(|byte| byte == b'0' || byte == b'.');
    format!("{}{grouped}{fraction}", if value < 0.0 && !is_zero { "-" } else { "" })
}

/// At most so many letters, with a mark where something is left out.
pub fn shortened(text: &str, letters_max: usize) -> String {
    match text.char_indices().nth(letters_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A count, with thousands set apart.
pub fn integer(value: u64) -> String {
    grouped(&value.to_string())
}

/// The median of the trials' own quantiles with its interval: `12.3 (11.9–12.8)`, at least that where
/// arrivals found no place.
pub fn quantile(cell: &Cell, metric: &str) -> String {
    let Some(of_trials) = cell.quantiles.get(metric) else { return "-".to_owned() };
    let bounds = of_trials.bounds.map(|bounds| format!(" ({}–{})", number(bounds.low), number(bounds.high)));
    format!("{}{}{}", at_least(cell), number(of_trials.median), bounds.unwrap_or_default())
}

/// What was skipped would have waited longest.
fn at_least(cell: &Cell) -> &'static str {
    let is_saturated = cell.metrics.get("transactions.skipped").is_some_and(|skipped| skipped.mean > 0.0);
    if is_saturated { ">=" } else { "" }
}

/// A mean over trials; shares as percentages.
pub fn stall(cell: &Cell, metric: &str) -> String {
    let mean = cell.metrics.get(metric).map(|summary| summary.mean);
    match mean {
        Some(share) if metric.ends_with("_share") => percent(share),
        mean => optional_number(mean),
    }
}

pub fn optional_number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", number(value)) } else { number(value) }
}

/// `4.1 %`, `9 %`, `95 %`.
pub fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    let text = fixed(value, if value >= 10.0 { 0 } else { 1 });
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// From two or three blocks the spread is hardly known, and the figure runs away.
pub fn detectable(mde: f64) -> String {
    if mde > 10.0 { "a tenfold difference".to_owned() } else { percent(mde) }
}

pub fn duration(minutes: f64) -> String {
    match minutes {
        short if short < 2.0 => fixed(short * 60.0, 0) + " s",
        long if long < 120.0 => format!("{long:.0} min"),
        longer => format!("{:.1} h", longer / 60.0),
    }
}

/// What observers saw, for a reader; none of what reports leave out.
pub fn watched(metric: &str) -> Option<&'static str> {
    let title = match metric {
        "host_foreign_cpu_share" => "CPU taken by other processes",
        "host_foreign_disk_share" => "disks busy for other processes",
        "host_steal_share" => "CPU taken by hypervisor (steal)",
        "host_iowait_share" => "CPU idle while waiting for disks",
        "host_pressure_cpu_some_share" => "time with a wait for a CPU",
        "host_pressure_io_some_share" => "time with a wait for a disk",
        "host_pressure_memory_some_share" => "time with a wait for memory",
        "server_threads_blocked" => "server threads waiting for disks",
        _ => return None,
    };
    Some(title)
}

/// A metric for a reader: `p95 response time (ms; open loop: from due)`.
///
/// In a closed loop a client waits for its answer before it sends again, and so a slow server keeps its own
/// queue short (Schroeder et al. 2006). A reader must know.
pub fn metric_title(metric: &str, is_open_loop: bool) -> String {
    let kind = if is_open_loop { "open loop: from due" } else { "closed loop: hides queueing" };
    match metric {
        "tps" if is_open_loop => "committed transactions per second (tps; open loop: what arrived)".to_owned(),
        "tps" => "committed transactions per second (tps)".to_owned(),
        "tpm" => "transactions of all types per minute, intended rollbacks included (TPM)".to_owned(),
        "new_order.latency_ms_p90" => format!("p90 response time of New-Order (ms, {kind})"),
        "adjusted_tps" => "tps with the time that deferred work takes".to_owned(),
        "adjusted_nopm" => "NOPM with the time that deferred work takes".to_owned(),
        "cpu_us_per_tx" => "server CPU per transaction (µs)".to_owned(),
        "t_rw_s" => "time from the restart to the first commit (s)".to_owned(),
        "geomean_seconds" => "geometric mean of the operations' times (s): each weighs the same".to_owned(),
        _ => match metric.strip_prefix("latency_ms_") {
            Some("p999") => format!("p99.9 response time (ms, {kind})"),
            Some(quantile) => format!("{quantile} response time (ms, {kind})"),
            None => metric.to_owned(),
        },
    }
}

/// How many trials of each contender carry a flag of the host; nothing where none does.
pub fn flags(conclusions: &Conclusions) -> Option<String> {
    let one = |count: &FlagCount| {
        let by_flag: Vec<String> = count.by_flag.iter().map(|(flag, times)| format!("{flag} {times}")).collect();
        let by_flag = if by_flag.is_empty() { String::new() } else { format!(" ({})", by_flag.join(", ")) };
        format!("`{}` {} of {} trials{by_flag}", count.contender, count.flagged, count.trials)
    };
    let any = conclusions.flags.iter().any(|count| count.flagged > 0);
    any.then(|| conclusions.flags.iter().map(one).collect::<Vec<String>>().join("; "))
}

/// From which block on verdicts are possible, and what no block of this run can decide.
pub fn first_verdicts(evidence: &Evidence) -> Vec<String> {
    let plan = &evidence.plan;
    let workloads = &evidence.conclusions.workloads;
    let points = workloads.iter().map(|workload| workload.points.len()).max().unwrap_or(0);
    let parts = workloads.iter().flat_map(|workload| &workload.duels).filter_map(|duel| duel.parts.as_ref());
    let operations = parts.map(|parts| parts.operations.len()).max().unwrap_or(0);
    if plan.candidates().count() == 0 {
        return Vec::new();
    }
    let asked = [
        (1, "the overall verdict", plan::first_for_points(plan, 1)),
        (points, POINTS, plan::first_for_points(plan, points).filter(|_| points > 1)),
        (
            operations,
            plan::operations_are(plan),
            plan::first_for_operations(plan, operations).filter(|_| operations > 0),
        ),
    ];
    let told: Vec<String> =
        asked.iter().filter_map(|(_, what, first)| Some(format!("{what} from block {} on", (*first)?))).collect();
    let possible = (!told.is_empty()).then(|| format!("possible for {}", told.join(", for ")));
    let too_few =
        asked[1..].iter().filter(|(count, what, first)| first.is_none() && *count > usize::from(*what == POINTS));
    possible.into_iter().chain(too_few.map(|(count, what, _)| plan::too_few(plan, *count, what))).collect()
}

/// What the generator costs and reaches against a server that does nothing.
pub fn against_nothing(checks: &[CheckRecord]) -> Option<String> {
    let one = |check: &CheckRecord| {
        let sent = if check.seen_by == CheckRecord::AS_TEXT { "as text" } else { "prepared" };
        let value = |name: &str| check.value(name).unwrap_or_default();
        format!(
            "{} {sent}, {}: {} statements/s, {} µs of its CPU each",
            check.subject,
            count(value(CheckRecord::CLIENTS) as usize, "client"),
            number(value(CheckRecord::STATEMENTS)),
            number(value(CheckRecord::CLIENT_CPU))
        )
    };
    let runs: Vec<String> = CheckRecord::named(checks, CheckRecord::NULL_SERVER).map(one).collect();
    (!runs.is_empty()).then(|| format!("against the null server: {}", runs.join("; ")))
}

/// How verdicts of several workloads share the error, and how they do not.
fn shared_error(plan: &PlanRecord) -> Option<String> {
    let workloads = plan.workloads.len();
    (workloads > 1).then(|| {
        format!(
            "each of the {workloads} workloads has an error rate of {} of its own; `--gate` uses {} for each",
            percent(1.0 - plan.method.confidence),
            percent(analysis::gate::level(plan))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_group_thousands() {
        for (value, expected) in [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (0.0059949, "0.00599"),
            (-0.000012345, "-0.0000123"),
            (1e-300, "0.0000000000"),
            (0.1234, "0.123"),
            (0.9996, "1.000"),
            (3.456, "3.46"),
            (34.56, "34.6"),
            (99.97, "100"),
            (999.4, "999"),
            (1234567.0, "1,234,567"),
            (-1480.2, "-1,480"),
        ] {
            assert_eq!(number(value), expected);
        }
        assert_eq!((integer(7), integer(16_987)), ("7".into(), "16,987".into()));
    }

    #[test]
    fn percentages_show_what_matters() {
        assert_eq!((percent(0.041), percent(0.95), percent(0.01)), ("4.1 %".into(), "95 %".into(), "1 %".into()));
        assert_eq!((number(-1e-12), percent(-0.0004)), ("0.0000000000".into(), "0 %".into()));
    }
}
