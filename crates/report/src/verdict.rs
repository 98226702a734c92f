//! The verdict on one candidate, in sentences.
//!
//! The candidate is the subject; a factor or a percentage, never both; the interval follows.

use analysis::{
    Caveat, Comparison, HeadToHead, MetricComparison, Part, PartKind, Parts, Verdict, WorkloadConclusions,
    less_is_better,
};
use record::format::figures::fixed;
use record::format::{PlanRecord, Point, point_text};
use record::rule;

use super::Evidence;
use super::wording::{self, count, joined, number, percent};

/// From this factor on a factor is easier to read than a percentage.
const FACTOR_MIN: f64 = 2.0;
/// An experiment file cannot ask for more.
const BLOCKS_MAX: usize = 1000;
/// Quantiles of latency that lead in an open loop, and the share that is answered within.
const QUANTILES: [(&str, &str); 3] =
    [("latency_ms_p95", "95 %"), ("latency_ms_p99", "99 %"), ("latency_ms_p50", "half")];

/// Kinds that a sentence names.
const NAMED: usize = 2;

/// The verdict, and what must be read with it.
pub fn sentences(evidence: &Evidence, workload: &WorkloadConclusions, duel: &HeadToHead) -> Vec<String> {
    let plan = &evidence.plan;
    let latency = latency_led(plan, workload, duel);
    let is_led = latency.is_some();
    let first = latency.unwrap_or_else(|| throughput(plan, workload, duel));
    let cost = workload.decided_by_cost(duel).filter(|_| !is_led);
    let parts = kinds(plan, duel).or_else(|| operations(duel));
    let rest = [parts, at_the_limit(duel), deferring(duel), cost.map(|cost| cost_of(plan, cost))];
    let several = evidence.conclusions.workloads.len() > 1;
    let first = if several { format!("{}: {first}", workload.workload) } else { first };
    std::iter::once(first).chain(rest.into_iter().flatten()).chain(durability(evidence, [duel])).collect()
}

/// The kinds of a comparison that has any.
pub fn kinds_of(duel: &HeadToHead) -> Option<&Parts> {
    duel.parts.as_ref().filter(|parts| parts.kind == PartKind::Kind)
}

/// `` `8.0` is slower in 14 of 46 kinds, most at point/connect (0.61x) and write/commit (0.82x); faster in 6; … ``
fn kinds(plan: &PlanRecord, duel: &HeadToHead) -> Option<String> {
    let parts = kinds_of(duel)?;
    let all = parts.operations.len();
    let with = |verdict: Verdict| kinds_with(parts, verdict);
    let (slower, faster) = (with(Verdict::Slower), with(Verdict::Faster));
    let [same, open] = [Verdict::NoDifferenceShown, Verdict::Inconclusive].map(|verdict| with(verdict).len());
    let rest = [(same, "the same within the margin"), (open, "not decided")];
    let rest = rest.into_iter().filter(|(number, _)| *number > 0).map(|(number, text)| format!("{number} {text}"));
    if slower.is_empty() && faster.is_empty() {
        if let Some(needed) = blocks_for_one(plan, all) {
            let blocks = count(plan.method.blocks as usize, "block");
            return Some(format!("{blocks} cannot show that one of {all} kinds differs: that takes {needed}."));
        }
        let rest = joined(rest.collect());
        return Some(format!("None of {} is shown to differ: {rest}.", count(all, "kind")));
    }
    let said = [
        format!("slower in {} of {}{}", slower.len(), count(all, "kind"), furthest(&slower, NAMED)),
        format!("faster in {}{}", faster.len(), furthest(&faster, NAMED)),
    ];
    Some(format!("`{}` is {}.", duel.candidate, said.into_iter().chain(rest).collect::<Vec<_>>().join("; ")))
}

/// The kinds with a verdict, the furthest first.
pub fn kinds_with(parts: &Parts, verdict: Verdict) -> Vec<&Part> {
    let mut kinds: Vec<&Part> = parts.operations.iter().filter(|kind| kind.comparison.verdict == verdict).collect();
    let off = |kind: &Part| kind.comparison.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    kinds.sort_by(|one, other| off(other).total_cmp(&off(one)));
    kinds
}

/// Blocks that it takes to show one of so many operations, where the plan has fewer.
pub fn blocks_for_one(plan: &PlanRecord, operations: usize) -> Option<u32> {
    let first = |plan: &PlanRecord| rule::first_for_operations(plan, operations);
    if first(plan).is_some() { None } else { rule::blocks_for(plan, first) }
}

/// `, most at point/connect (0.61x) and write/commit (0.82x)`
pub fn furthest(kinds: &[&Part], most: usize) -> String {
    let named =
        kinds.iter().take(most).map(|kind| format!("{} ({})", kind.name, wording::ratio_only(&kind.comparison)));
    let word = if kinds.len() > most { "most " } else { "" };
    match kinds {
        [] => String::new(),
        _ if most == 0 => String::new(),
        _ => format!(", {word}at {}", joined(named.collect())),
    }
}

/// `Of 84 operations 42 are slower and 42 are not decided.`
fn operations(duel: &HeadToHead) -> Option<String> {
    let parts = duel.parts.as_ref().filter(|parts| !parts.operations.is_empty())?;
    let noun = if parts.kind == PartKind::Statement { "statement" } else { "operation" };
    let verdicts = [
        (Verdict::Faster, "faster"),
        (Verdict::Slower, "slower"),
        (Verdict::NoDifferenceShown, "the same within the margin"),
        (Verdict::Mixed, "faster at some load levels and slower at others"),
        (Verdict::Inconclusive, "not decided"),
    ];
    let counted = verdicts.iter().filter_map(|(verdict, text)| {
        let judged = parts.operations.iter().filter(|part| !part.has_few_calls());
        let all = judged.filter(|part| part.comparison.verdict == *verdict).count();
        (all > 0).then(|| format!("{all} {} {text}", if all == 1 { "is" } else { "are" }))
    });
    let few = parts.operations.iter().filter(|part| part.has_few_calls()).count();
    let few = (few > 0).then(|| format!("{few} {} too few calls", if few == 1 { "has" } else { "have" }));
    let all = wording::count(parts.operations.len(), noun);
    let is_open = |part: &Part| !part.has_few_calls() && part.comparison.verdict == Verdict::Inconclusive;
    if parts.operations.len() > 1 && parts.operations.iter().all(is_open) {
        return Some(format!("None of {all} is decided."));
    }
    Some(format!("Of {all} {}.", joined(counted.chain(few).collect())))
}

/// Of operations in one sentence.
const NAMES_MAX: usize = 6;

/// What a contender did not answer in time: its time is the limit there, in the total too.
fn at_the_limit(duel: &HeadToHead) -> Option<String> {
    let parts = duel.parts.as_ref()?;
    let of_side = |(contender, side): (&String, usize)| {
        let late = parts.operations.iter().filter(|part| part.limited[side] > 0);
        let mut names: Vec<String> = late.map(|part| part.name.clone()).collect();
        let left = names.len().saturating_sub(NAMES_MAX);
        names.truncate(NAMES_MAX);
        names.extend((left > 0).then(|| format!("{left} more")));
        (!names.is_empty()).then(|| format!("`{contender}` did not answer {}", joined(names)))
    };
    let sides: Vec<String> = [(&duel.baseline, 0), (&duel.candidate, 1)].into_iter().filter_map(of_side).collect();
    (!sides.is_empty()).then(|| {
        format!(
            "Within the statement limit {}: their times are longer than the limit that they count with.",
            joined(sides)
        )
    })
}

/// Of the metric that verdicts come from.
pub fn throughput(plan: &PlanRecord, workload: &WorkloadConclusions, duel: &HeadToHead) -> String {
    let overall = &duel.overall;
    let pair = Pair::of(overall);
    if let Some(missing) = too_few(plan, overall) {
        return missing;
    }
    match overall.verdict {
        Verdict::Faster | Verdict::Slower => {
            let place = kinds_of(duel).map_or_else(|| place(workload, overall), over_kinds);
            format!("{}{}.", pair.difference(overall, &place), but_slower(duel))
        }
        Verdict::NoDifferenceShown => {
            format!(
                "{} and {} differ by less than {} {}{}.",
                pair.candidate,
                pair.baseline,
                percent(plan.method.margin),
                pair.around_zero(overall),
                but_slower(duel)
            )
        }
        Verdict::Mixed => mixed(&pair, duel),
        Verdict::Inconclusive => not_decided(&pair, plan, duel),
    }
}

/// The two names, and how they compare.
struct Pair {
    candidate: String,
    baseline: String,
}

impl Pair {
    fn of(comparison: &Comparison) -> Pair {
        Pair { candidate: format!("`{}`", comparison.candidate), baseline: format!("`{}`", comparison.baseline) }
    }

    /// ```B` is 6.4 % slower than `A` (95 % CI 4.1–9.5 %)``
    fn difference(&self, comparison: &Comparison, place: &str) -> String {
        let Pair { candidate, baseline } = self;
        let ratio = comparison.ratio.unwrap_or(1.0);
        if ratio >= FACTOR_MIN {
            let has = match less_is_better(&comparison.metric) {
                true => format!("is {ratio:.1}x as fast as {baseline}"),
                false => format!("has {ratio:.1}x the throughput of {baseline}"),
            };
            return format!("{candidate} {has}{place}{}", factors(comparison));
        }
        let word = if ratio < 1.0 { "slower" } else { "faster" };
        format!("{candidate} is {} {word} than {baseline}{place}{}", share_of(ratio), shares(comparison))
    }

    /// `(95 % CI -0.6 to +0.8 %)`
    fn around_zero(&self, comparison: &Comparison) -> String {
        let bound = |value: Option<f64>| value.map_or("?".to_owned(), |value| signed(value - 1.0));
        format!("({} CI {} to {} %)", percent(comparison.confidence), bound(comparison.low), bound(comparison.high))
    }

    /// `between 8 % slower and 2 % faster than `A``
    fn between(&self, comparison: &Comparison) -> Option<String> {
        let (low, high) = (comparison.low?, comparison.high?);
        let word = |ratio: f64| if ratio < 1.0 { "slower" } else { "faster" };
        let range = match (low < 1.0, high < 1.0) {
            (true, true) => format!("between {} and {} slower", share_of(low), share_of(high)),
            (false, false) => format!("between {} and {} faster", share_of(low), share_of(high)),
            _ => format!("between {} {} and {} {}", share_of(low), word(low), share_of(high), word(high)),
        };
        Some(format!("{} is {range} than {}", self.candidate, self.baseline))
    }
}

/// `6.4 %`; from 200 % on with thousands set apart.
fn share_of(ratio: f64) -> String {
    if ratio >= 3.0 { format!("{} %", number((ratio - 1.0) * 100.0)) } else { percent((ratio - 1.0).abs()) }
}

fn signed(share: f64) -> String {
    let text = fixed(share * 100.0, 1);
    if share > 0.0 && text != "0.0" { format!("+{text}") } else { text }
}

/// ` (95 % CI 3.0–3.6)`
fn factors(comparison: &Comparison) -> String {
    let bounds = comparison.low.zip(comparison.high);
    let text = |(low, high): (f64, f64)| {
        // With a digit more where both ends would read the same.
        let digits = if fixed(low, 1) == fixed(high, 1) { 2 } else { 1 };
        format!(" ({} CI {low:.digits$}–{high:.digits$})", percent(comparison.confidence))
    };
    bounds.map_or(String::new(), text)
}

/// ` (95 % CI 4.1–9.5 %)`: of the difference, the smaller end first.
fn shares(comparison: &Comparison) -> String {
    let Some((low, high)) = comparison.low.zip(comparison.high) else { return String::new() };
    let level = percent(comparison.confidence);
    let (near, far) = if high <= 1.0 { (high, low) } else { (low, high) };
    if (near < 1.0) != (far < 1.0) {
        return format!(" ({level} CI {} to {} %)", signed(low - 1.0), signed(high - 1.0));
    }
    let (from, to) = apart(share_of(near), share_of(far), [near, far].map(|ratio| (ratio - 1.0).abs()));
    format!(" ({level} CI {}–{to})", from.trim_end_matches(" %"))
}

/// Both ends of an interval, with a digit more where they would read the same.
fn apart(from: String, to: String, shares: [f64; 2]) -> (String, String) {
    if from != to {
        return (from, to);
    }
    let digits = if shares[1] >= 0.1 { 1 } else { 2 };
    let [from, to] = shares.map(|share| fixed(share * 100.0, digits) + " %");
    (from, to)
}

/// `No verdict: 3 of the 8 blocks that a verdict needs.`
pub fn too_few(plan: &PlanRecord, overall: &Comparison) -> Option<String> {
    let needed = rule::blocks_for(plan, |plan| rule::first_for_points(plan, 1))?;
    let is_short = overall.verdict == Verdict::Inconclusive && overall.blocks < needed as usize;
    let missing = (plan.method.blocks as usize).saturating_sub(overall.blocks);
    let failed = overall.caveats.contains(&Caveat::FailedTrials) && plan.method.blocks >= needed;
    let failed = if failed { format!(" In the other {missing} a trial failed.") } else { String::new() };
    is_short.then(|| format!("No verdict: {} of the {needed} blocks that a verdict needs.{failed}", overall.blocks))
}

fn place(workload: &WorkloadConclusions, overall: &Comparison) -> String {
    match workload.points.as_slice() {
        [only] if only.is_empty() => String::new(),
        [only] => format!(" at {}", point_text(only)),
        points if overall.points < points.len() => format!(" over {} of {} load levels", overall.points, points.len()),
        _ => String::new(),
    }
}

/// What the one figure for all kinds of statements is.
fn over_kinds(parts: &Parts) -> String {
    format!(" in the geometric mean of {}", wording::count(parts.in_total, "kind"))
}

/// `, but 3 % slower at 64 clients (95 % CI 1–5 %)`: what a verdict about all points together would hide.
fn but_slower(duel: &HeadToHead) -> String {
    let slower: Vec<&Comparison> = duel.points.iter().filter(|point| point.verdict == Verdict::Slower).collect();
    if slower.is_empty() || duel.points.len() < 2 || duel.overall.verdict == Verdict::Slower {
        return String::new();
    }
    let but = if duel.overall.ratio.is_some_and(|ratio| ratio < 1.0) { "and" } else { "but" };
    format!(", {but} {}", extreme(&slower))
}

/// `3 % slower at 64 clients (95 % CI 1–5 %)`, the furthest of several, which are all named.
fn extreme(points: &[&Comparison]) -> String {
    let off = |one: &Comparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let Some(furthest) = points.iter().max_by(|one, other| off(one).total_cmp(&off(other))) else {
        return String::new();
    };
    let ratio = furthest.ratio.unwrap_or(1.0);
    let word = if ratio < 1.0 { "slower" } else { "faster" };
    let up_to = if points.len() > 1 { "up to " } else { "" };
    let places = places(points.iter().filter_map(|one| one.point.as_ref()));
    format!("{up_to}{} {word} at {places}{}", share_of(ratio), shares(furthest))
}

/// `4, 16 and 64 clients`: the noun once, behind the last number.
pub fn places<'a>(points: impl Iterator<Item = &'a Point>) -> String {
    let mut texts: Vec<String> = points.map(point_text).collect();
    let noun = |text: &str| text.split_once(' ').map(|(_, noun)| noun.trim_end_matches('s').to_owned());
    let is_shared =
        texts.windows(2).all(|pair| noun(&pair[0]) == noun(&pair[1])) && !texts.iter().any(|text| text.contains(','));
    let last = texts.len().saturating_sub(1);
    if is_shared {
        texts[..last].iter_mut().for_each(|text| *text = text.split(' ').next().unwrap_or_default().to_owned());
    }
    joined(texts)
}

/// `` `B` is up to 10 % faster at 1 and 4 clients (…), but up to 15 % slower at 16 clients (…)``
fn mixed(pair: &Pair, duel: &HeadToHead) -> String {
    let with = |verdict: Verdict| duel.points.iter().filter(|point| point.verdict == verdict).collect::<Vec<_>>();
    format!(
        "{} against {} is {}, but {}.",
        pair.candidate,
        pair.baseline,
        extreme(&with(Verdict::Faster)),
        extreme(&with(Verdict::Slower))
    )
}

/// What is known, why it is no verdict, and what would make it one.
fn not_decided(pair: &Pair, plan: &PlanRecord, duel: &HeadToHead) -> String {
    let between = pair.between(&duel.overall);
    let between = between.unwrap_or_else(|| format!("{} against {}", pair.candidate, pair.baseline));
    match withheld(plan, duel) {
        Some(because) => format!("Not decided: {because}. In the measured time {between}{}.", but_slower(duel)),
        None => format!("Not decided: {between}{}.{}", but_slower(duel), more_blocks(duel)),
    }
}

/// Why there is no verdict, where the interval is not the reason.
fn withheld(plan: &PlanRecord, duel: &HeadToHead) -> Option<String> {
    let overall = &duel.overall;
    let has = |caveat: Caveat| overall.caveats.contains(&caveat);
    let is_clear = overall.low.is_some_and(|low| low > 1.0) || overall.high.is_some_and(|high| high < 1.0);
    let clear = [
        (Caveat::GeneratorBound, "the load generator was the limit in too many trials"),
        (Caveat::FailedTrials, "too many trials failed"),
        (Caveat::FlagDependent, "the blocks that the host did not disturb give another verdict"),
        (Caveat::NoisyHost, "the host was disturbed in too many trials"),
        (Caveat::Outages, "too many trials committed nothing"),
    ];
    if has(Caveat::Unsteady) {
        let seconds = plan.method.duration_s;
        return Some(format!("throughput had not settled after {seconds} s, so nothing lasting can be claimed"));
    }
    if has(Caveat::DeferredWork) {
        return Some("the lead is lost once deferred work is counted".to_owned());
    }
    if !duel.unfounded.is_empty() {
        return Some(format!(
            "a duet allows no verdict here, because {}",
            duel.unfounded.iter().map(super::sentences::duet::unfounded).collect::<Vec<_>>().join("; ")
        ));
    }
    let because = clear.into_iter().find(|(caveat, _)| is_clear && has(*caveat));
    because.map(|(_, because)| because.to_owned())
}

/// ` 14 blocks (30 min) instead of 8 would detect a difference of 3 %.`
fn more_blocks(duel: &HeadToHead) -> String {
    let Some(needed) = duel.spread.blocks_needed else { return String::new() };
    let minutes = duel.spread.minutes_needed;
    // 5, 3 and 1 %: the first that this run was too short for.
    let next = [(2, "5 %"), (1, "3 %"), (0, "1 %")].into_iter().find(|(place, _)| needed[*place] > duel.overall.blocks);
    let Some((place, share)) = next else { return String::new() };
    if needed[place] > BLOCKS_MAX {
        return " Blocks differ too much for a decision: repeat the run on a quiet host, or with longer trials."
            .to_owned();
    }
    let time = minutes.map_or(String::new(), |minutes| format!(" ({})", super::wording::duration(minutes[place])));
    let instead = duel.overall.blocks;
    format!(" {} blocks{time} instead of {instead} would detect a difference of {share}.", needed[place])
}

/// In an open loop the throughput is what arrives, and the difference lies in how long an answer takes.
fn latency_led(plan: &PlanRecord, workload: &WorkloadConclusions, duel: &HeadToHead) -> Option<String> {
    if !workload.is_open_loop {
        return None;
    }
    let of = |metric: &str| duel.others.iter().find(|other| other.metric == metric && other.overall.ratio.is_some());
    let (MetricComparison { overall, .. }, within) =
        QUANTILES.iter().find_map(|(metric, within)| Some((of(metric)?, *within)))?;
    let pair = Pair::of(overall);
    // Above 1 the candidate is better, and a reader compares times.
    let bounds = overall.low.zip(overall.high).map(|(low, high)| (1.0 / high, 1.0 / low));
    let bounds =
        bounds.map_or(String::new(), |(low, high)| format!(", {} CI {low:.2}–{high:.2}", percent(overall.confidence)));
    let decided = match overall.verdict {
        Verdict::Inconclusive => " This is not decided.",
        _ => "",
    };
    Some(format!(
        "{}{} answers {within} within {} ms, {} within {} ms ({:.2}x{bounds}).{decided}",
        rate(plan, workload),
        pair.candidate,
        short(overall.candidate_value?),
        pair.baseline,
        short(overall.baseline_value?),
        1.0 / overall.ratio?
    ))
}

/// `8.1`, `21`, `152`: without zeros behind the point.
fn short(value: f64) -> String {
    let text = number(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `At 500 transactions/s `
fn rate(plan: &PlanRecord, workload: &WorkloadConclusions) -> String {
    let rate = plan.workloads.iter().find(|record| record.label == workload.workload).and_then(|record| record.rate);
    rate.map_or(String::new(), |rate| format!("At {} transactions/s ", number(rate as f64)))
}

/// Who promises less than whom.
struct Weaker<'a> {
    weaker: Vec<&'a str>,
    others: Vec<&'a str>,
    may: &'static str,
    known: String,
}

/// What a commit survives, where two promise different things, and whether that was measured here. Those that differ in
/// the same way from one contender share a sentence.
pub fn durability<'a>(evidence: &Evidence, duels: impl IntoIterator<Item = &'a HeadToHead>) -> Vec<String> {
    let mut all: Vec<Weaker> = Vec::new();
    for one in duels.into_iter().filter_map(|duel| weaker(evidence, duel)) {
        let is_alike = |other: &Weaker| {
            (other.may, &other.known) == (one.may, &one.known)
                && (other.weaker == one.weaker || other.others == one.others)
        };
        match all.iter().position(is_alike) {
            Some(place) if all[place].weaker == one.weaker => add(&mut all[place].others, one.others),
            Some(place) => add(&mut all[place].weaker, one.weaker),
            None => all.push(one),
        }
    }
    let named = |names: &[&str]| joined(names.iter().map(|name| format!("`{name}`")).collect());
    let sentence = |one: &Weaker| {
        let verb = if one.others.len() == 1 { "does" } else { "do" };
        format!("{} {}; {} {verb} not ({}).", named(&one.weaker), one.may, named(&one.others), one.known)
    };
    all.iter().map(sentence).collect()
}

fn add<'a>(names: &mut Vec<&'a str>, more: Vec<&'a str>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

fn weaker<'a>(evidence: &Evidence, duel: &'a HeadToHead) -> Option<Weaker<'a>> {
    let (baseline, candidate) = duel.durability.as_ref()?;
    // The letter orders them: D0 promises nothing.
    let (weaker, class, other) = match candidate < baseline {
        true => (&duel.candidate, candidate, &duel.baseline),
        false => (&duel.baseline, baseline, &duel.candidate),
    };
    let may = match class.as_str() {
        "D2" => "may lose up to the last second of commits in an OS crash",
        "D1" => "may lose up to the last second of commits in a crash of the server or the OS",
        _ => "may lose all data in a crash",
    };
    let measured = |contender: &str| evidence.conclusions.measured_class(contender);
    let known = match (measured(weaker), measured(other)) {
        (Some(its), Some(others)) if its == others => {
            format!("claimed by their settings; measured here: {} each", its.text())
        }
        (Some(its), Some(others)) => {
            format!("claimed by their settings; measured here: `{weaker}` {}, `{other}` {}", its.text(), others.text())
        }
        _ => "claimed by their settings, not measured here".to_owned(),
    };
    Some(Weaker { weaker: vec![weaker], others: vec![other], may, known })
}

/// Where one leads only while work is put off.
pub fn deferring(duel: &HeadToHead) -> Option<String> {
    let first = duel.deferring.first()?;
    let (leader, other) = match first.ratio > 1.0 {
        true => (&duel.candidate, &duel.baseline),
        false => (&duel.baseline, &duel.candidate),
    };
    let place = first.point.as_ref().map_or(String::new(), |point| format!(" at {}", point_text(point)));
    Some(format!(
        "`{leader}` leads{place} only until its deferred work (unflushed pages, unchecked WAL) is done: then `{other}` is \
         ahead (ratio {} instead of {}{}).",
        wording::ratio_text(first.adjusted),
        wording::ratio_text(first.ratio),
        if first.is_shown { "" } else { "; not shown beyond chance" }
    ))
}

/// The cost of a transaction where throughput decides nothing.
fn cost_of(plan: &PlanRecord, comparison: &Comparison) -> String {
    let pair = Pair::of(comparison);
    // A ratio above 1 is the baseline's cost over the candidate's.
    let needs = |ratio: f64| 1.0 / ratio;
    let (low, high) = (comparison.high.map_or(f64::NAN, needs), comparison.low.map_or(f64::NAN, needs));
    let needed = comparison.ratio.map_or(f64::NAN, needs);
    let level = percent(comparison.confidence);
    let range = |from: f64, to: f64| {
        let (from, to) = apart(percent(from), percent(to), [from, to]);
        format!("{}–{to}", from.trim_end_matches(" %"))
    };
    let verdict = match comparison.verdict {
        Verdict::Slower if needed >= FACTOR_MIN => {
            format!(
                "{} needs {needed:.1}x as much as {} ({level} CI {low:.1}–{high:.1})",
                pair.candidate, pair.baseline
            )
        }
        Verdict::Slower | Verdict::Faster => {
            let (more, from, to) = match comparison.verdict {
                Verdict::Slower => ("more", low - 1.0, high - 1.0),
                _ => ("less", 1.0 - high, 1.0 - low),
            };
            let share = percent((needed - 1.0).abs());
            format!("{} needs {share} {more} than {} ({level} CI {})", pair.candidate, pair.baseline, range(from, to))
        }
        _ => format!(
            "{} and {} differ by less than {} ({level} CI {} to {} %)",
            pair.candidate,
            pair.baseline,
            percent(plan.method.margin),
            signed(low - 1.0),
            signed(high - 1.0)
        ),
    };
    format!("CPU per transaction is decided: {verdict}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::conclude;
    use fixtures::{Story, stored_run};

    #[test]
    fn more_blocks_than_a_file_can_ask_for_are_no_advice() {
        let printed = printed(|_, workload| {
            let duel = &mut workload.duels[0];
            duel.overall.verdict = Verdict::Inconclusive;
            duel.spread.blocks_needed = Some([90_000, 20_000, 7_002]);
        });
        assert!(
            printed[0].ends_with(
                " Blocks differ too much for a decision: repeat the run on a quiet host, or with longer trials."
            ),
            "{printed:?}"
        );
    }

    /// The made-up run under plain names, with what a test changes of its conclusions.
    fn changed(change: impl FnOnce(&mut PlanRecord, &mut WorkloadConclusions)) -> Evidence {
        let mut stored = stored_run(&Story::default());
        let mut conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        change(&mut stored.plan, &mut conclusions.workloads[0]);
        Evidence {
            folder: String::new(),
            plan: stored.plan,
            run: stored.run,
            trials: record::StoredTrials::new(stored.trials, None),
            profiles: Vec::new(),
            series: Default::default(),
            observed: Default::default(),
            windows: Default::default(),
            note: None,
            conclusions,
        }
    }

    fn printed(change: impl FnOnce(&mut PlanRecord, &mut WorkloadConclusions)) -> Vec<String> {
        let evidence = changed(change);
        let workload = &evidence.conclusions.workloads[0];
        let sentences = sentences(&evidence, workload, &workload.duels[0]);
        sentences.into_iter().map(|line| line.replace("5.6 <b>&tuned", "B").replace("`5.5`", "`A`")).collect()
    }

    fn set(comparison: &mut Comparison, verdict: Verdict, ratio: f64, low: f64, high: f64) {
        (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
            (verdict, Some(ratio), Some(low), Some(high));
    }

    fn check(verdict: Verdict, bounds: [f64; 3], expected: &str) {
        let sentences = printed(|_, workload| {
            let duel = &mut workload.duels[0];
            set(&mut duel.overall, verdict, bounds[0], bounds[1], bounds[2]);
            duel.points.clear();
            duel.others.clear();
        });
        assert_eq!(sentences, [expected]);
    }

    #[test]
    fn a_decided_verdict_is_one_sentence_with_its_interval() {
        check(Verdict::Faster, [3.3, 3.0, 3.6], "`B` has 3.3x the throughput of `A` (95 % CI 3.0–3.6).");
        check(Verdict::Slower, [0.936, 0.905, 0.959], "`B` is 6.4 % slower than `A` (95 % CI 4.1–9.5 %).");
        check(Verdict::Slower, [0.86, 0.8587, 0.8621], "`B` is 14 % slower than `A` (95 % CI 13.8–14.1 %).");
        check(Verdict::Faster, [1.05, 1.031, 1.082], "`B` is 5 % faster than `A` (95 % CI 3.1–8.2 %).");
        check(
            Verdict::NoDifferenceShown,
            [1.001, 0.994, 1.008],
            "`B` and `A` differ by less than 1 % (95 % CI -0.6 to +0.8 %).",
        );
    }

    #[test]
    fn what_is_not_decided_has_its_range_and_what_would_decide_it() {
        let sentences = printed(|_, workload| {
            let duel = &mut workload.duels[0];
            set(&mut duel.overall, Verdict::Inconclusive, 0.97, 0.92, 1.02);
            duel.spread.blocks_needed = Some([100, 14, 6]);
            duel.spread.minutes_needed = Some([220.0, 30.0, 13.0]);
            duel.points.clear();
            let cost = duel.others.iter_mut().find(|other| other.metric == "cpu_us_per_tx").unwrap();
            set(&mut cost.overall, Verdict::Slower, 1.0 / 1.0901, 1.0 / 1.1404, 1.0 / 1.0601);
        });
        assert_eq!(
            sentences,
            [
                "Not decided: `B` is between 8 % slower and 2 % faster than `A`. 14 blocks (30 min) instead of 8 would detect a \
                 difference of 3 %.",
                "CPU per transaction is decided: `B` needs 9 % more than `A` (95 % CI 6–14 %).",
            ]
        );
    }

    #[test]
    fn the_cost_of_a_transaction_is_more_less_the_same_or_a_multiple() {
        let check = |verdict: Verdict, needs: [f64; 3], expected: &str| {
            let sentences = printed(|_, workload| {
                let duel = &mut workload.duels[0];
                duel.overall.verdict = Verdict::Inconclusive;
                let cost = duel.others.iter_mut().find(|other| other.metric == "cpu_us_per_tx").unwrap();
                let [needed, low, high] = needs.map(|needs| 1.0 / needs);
                set(&mut cost.overall, verdict, needed, high, low);
            });
            assert_eq!(sentences.get(1).map(String::as_str), Some(expected));
        };
        let less = "CPU per transaction is decided: `B` needs 21 % less than `A` (95 % CI 17–26 %).";
        check(Verdict::Faster, [0.79, 0.74, 0.83], less);
        let same = "CPU per transaction is decided: `B` and `A` differ by less than 1 % (95 % CI -0.5 to +0.4 %).";
        check(Verdict::NoDifferenceShown, [1.0, 0.995, 1.004], same);
        let multiple = "CPU per transaction is decided: `B` needs 2.5x as much as `A` (95 % CI 2.0–3.3).";
        check(Verdict::Slower, [2.5, 2.0, 3.3], multiple);
    }

    #[test]
    fn too_few_blocks_are_counted() {
        let sentences = printed(|_, workload| {
            (workload.duels[0].overall.verdict, workload.duels[0].overall.blocks) = (Verdict::Inconclusive, 3);
        });
        assert_eq!(sentences[0], "No verdict: 3 of the 8 blocks that a verdict needs.");
    }

    #[test]
    fn a_level_that_loses_stands_in_the_sentence() {
        let sentences = printed(|_, workload| {
            let duel = &mut workload.duels[0];
            set(&mut duel.overall, Verdict::Faster, 1.05, 1.03, 1.07);
            duel.points.iter_mut().for_each(|point| set(point, Verdict::Faster, 1.1, 1.05, 1.15));
            set(&mut duel.points[3], Verdict::Slower, 0.97, 0.95, 0.99);
        });
        let expected = "`B` is 5 % faster than `A` (95 % CI 3–7 %), but 3 % slower at 64 clients (95 % CI 1–5 %).";
        assert_eq!(sentences[0], expected);
        let mixed = printed(|_, workload| {
            let duel = &mut workload.duels[0];
            duel.overall.verdict = Verdict::Mixed;
            set(&mut duel.points[0], Verdict::Faster, 1.1, 1.05, 1.15);
            duel.points[1].verdict = Verdict::Inconclusive;
            set(&mut duel.points[2], Verdict::Slower, 0.97, 0.95, 0.99);
            set(&mut duel.points[3], Verdict::Slower, 0.9, 0.88, 0.92);
        });
        let expected = "`B` against `A` is 10 % faster at 1 client (95 % CI 5–15 %), but up to 10 % slower at 16 and 64 clients \
                        (95 % CI 8–12 %).";
        assert_eq!(mixed[0], expected);
    }

    #[test]
    fn an_open_loop_is_led_by_latency() {
        let sentences = printed(|plan, workload| {
            plan.workloads[0].rate = Some(500);
            workload.is_open_loop = true;
            let others = &mut workload.duels[0].others;
            let p95 = &mut others.iter_mut().find(|other| other.metric == "latency_ms_p95").unwrap().overall;
            set(p95, Verdict::Faster, 21.0 / 8.1, 1.0 / 0.45, 1.0 / 0.35);
            (p95.baseline_value, p95.candidate_value) = (Some(21.0), Some(8.1));
        });
        let expected =
            "At 500 transactions/s `B` answers 95 % within 8.1 ms, `A` within 21 ms (0.39x, 95 % CI 0.35–0.45).";
        assert_eq!(sentences[0], expected);
    }

    #[test]
    fn what_a_commit_survives_is_always_named_where_it_differs() {
        let check = |classes: (&str, &str), expected: &str| {
            let sentences = printed(|_, workload| {
                workload.duels[0].durability = Some((classes.0.to_owned(), classes.1.to_owned()));
            });
            assert_eq!(sentences.last().map(String::as_str), Some(expected));
        };
        let claimed = "(claimed by their settings, not measured here).";
        check(
            ("D3", "D2"),
            &format!("`B` may lose up to the last second of commits in an OS crash; `A` does not {claimed}"),
        );
        check(
            ("D1", "D3"),
            &format!(
                "`A` may lose up to the last second of commits in a crash of the server or the OS; `B` does not \
                 {claimed}"
            ),
        );
        check(("D3", "D0"), &format!("`B` may lose all data in a crash; `A` does not {claimed}"));
    }

    #[test]
    fn those_that_differ_in_the_same_way_from_one_share_the_sentence() {
        let told = |classes: [(&str, &str); 3]| {
            let evidence = changed(|_, workload| {
                let duel = workload.duels[0].clone();
                let of = |name: &str, (one, other): (&str, &str)| HeadToHead {
                    candidate: name.to_owned(),
                    baseline: "A".to_owned(),
                    durability: Some((one.to_owned(), other.to_owned())),
                    ..duel.clone()
                };
                workload.duels = ["B", "C", "D"].into_iter().zip(classes).map(|(name, both)| of(name, both)).collect();
            });
            durability(&evidence, &evidence.conclusions.workloads[0].duels)
        };
        let [of_os, claimed] =
            ["may lose up to the last second of commits in an OS crash", "(claimed by their settings"];
        assert_eq!(
            told([("D3", "D2"), ("D3", "D0"), ("D3", "D2")]),
            [
                format!("`B` and `D` {of_os}; `A` does not {claimed}, not measured here)."),
                format!("`C` may lose all data in a crash; `A` does not {claimed}, not measured here)."),
            ]
        );
        assert_eq!(
            told([("D2", "D3"); 3]),
            [format!("`A` {of_os}; `B`, `C` and `D` do not {claimed}, not measured here).")]
        );
    }
}
