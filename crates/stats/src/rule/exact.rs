//! Rule `exact`, the default: Wilcoxon's signed ranks against sign vectors.
//!
//! The order of two contenders inside a block is a fair coin. If the true log ratio is `delta`,
//! the sign of every `d - delta` is therefore a coin too, whatever the host did meanwhile, and the
//! ranks can be compared with all (or many seeded) sign vectors. Looking early costs something:
//! each look may only let as many vectors cross as the error spent so far allows (Lan & DeMets
//! 1983), and a vector that crossed once is dead.
//!
//! What must stay true: counts are integers from the ranks to the threshold, so the same data and
//! seed give the same verdict on every machine.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Evidence, Rule};
use crate::describe::{Interval, median, walsh_averages};
use crate::power::minimum_detectable_effect;

/// Up to this many blocks all sign vectors are compared (4 096), beyond it a seeded sample.
const ALL_VECTORS_UP_TO: usize = 12;
const DRAWN_VECTORS: usize = 9_999;

/// Exponent of the spending function: how much of the error early looks may use.
const SPENDING_POWER: f64 = 1.5;

/// Looks that guide the search for the interval's ends from the beginning, with the last one. The others would cost more
/// than they save, and come to it when they reject.
const GUIDED_UP_TO: usize = 60;

/// So often the thresholds of a test show where to test next.
const REFINED: u32 = 4;

/// Even when the signs of all blocks are the same, that must be rarer than the error spent by then.
pub fn verdict_is_possible(rule: &Rule, blocks: usize) -> bool {
    0.5f64.powi(blocks as i32 - 1) <= spent(rule.alpha, rule.blocks_max, blocks) * (1.0 + 1e-12)
}

/// Error spent by the time `blocks` blocks are done.
fn spent(alpha: f64, blocks_max: usize, blocks: usize) -> f64 {
    let share = (blocks as f64 / blocks_max as f64).min(1.0);
    alpha * share.powf(SPENDING_POWER)
}

pub struct Exact {
    alpha: f64,
    blocks_max: usize,
    vectors: SignVectors,
    /// Where the search begins: what the looks of a made-up series leave outside.
    typical: OnceLock<Outside>,
}

/// For each look that can reject: about how many Walsh averages it leaves outside the interval on each side.
type Outside = BTreeMap<usize, usize>;

impl Exact {
    pub fn new(rule: &Rule) -> Exact {
        let vectors = SignVectors::new(rule.blocks_max, rule.seed);
        Exact { alpha: rule.alpha, blocks_max: rule.blocks_max, vectors, typical: OnceLock::new() }
    }

    /// How many vectors may have crossed by this look.
    fn allowed(&self, blocks: usize) -> usize {
        let size = self.vectors.len() + usize::from(!self.vectors.complete);
        (size as f64 * spent(self.alpha, self.blocks_max, blocks) + 1e-9).floor() as usize
    }

    /// Goes through the looks in order and gives the statistics from which on vectors cross, until
    /// the observed signs do.
    fn crossings(&self, log_ratios: &[f64], log_ratio: f64, looks: &[usize]) -> (Vec<usize>, bool) {
        let mut dead = Dead::new(&self.vectors);
        let mut thresholds = Vec::with_capacity(looks.len());
        for blocks in looks {
            let ranks = SignedRanks::new(&log_ratios[..*blocks], log_ratio);
            let statistics = self.vectors.statistics(&ranks);
            let mut counts = statistics.counts(ranks.total);
            dead.list.iter().for_each(|vector| counts[statistics.of(*vector) as usize] -= 1);
            if !self.vectors.complete {
                counts[ranks.observed] += 1;
            }
            let crossing_from = threshold(&counts, dead.list.len(), self.allowed(*blocks));
            thresholds.push(crossing_from);
            if ranks.observed >= crossing_from {
                return (thresholds, true);
            }
            dead.bury(&statistics, crossing_from);
        }
        (thresholds, false)
    }

    /// Thresholds hardly depend on which block has which rank, so a made-up series shows about where they are.
    fn typical(&self, looks: &[usize]) -> &Outside {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        // Sizes in no order, signs in turn: nothing is rejected, so every look is taken.
        let size = |block: usize| 0.1 + (block as f64 * GOLDEN).fract();
        let sign = |block: usize| if block.is_multiple_of(2) { 1.0 } else { -1.0 };
        self.typical.get_or_init(|| {
            let series: Vec<f64> = (0..self.blocks_max).map(|block| sign(block) * size(block)).collect();
            outside(looks, &self.crossings(&series, 0.0, looks).0)
        })
    }
}

/// Of n (n + 1) / 2 averages, w on one side make the statistic n (n + 1) - 4 w in doubled ranks.
fn outside(looks: &[usize], thresholds: &[usize]) -> Outside {
    let left_out = |(blocks, crossing_from): (&usize, &usize)| {
        Some((*blocks, (blocks * (blocks + 1)).checked_sub(*crossing_from)? / 4))
    };
    looks.iter().zip(thresholds).filter_map(left_out).collect()
}

/// Walsh averages of the looks that guide a search, by their blocks.
struct Guides(BTreeMap<usize, Vec<f64>>);

impl Guides {
    /// `averages` are those of all blocks.
    fn new(log_ratios: &[f64], averages: Vec<f64>, looks: &[usize]) -> Guides {
        let mut guides = Guides(BTreeMap::from([(log_ratios.len(), averages)]));
        looks.iter().take_while(|look| **look <= GUIDED_UP_TO).for_each(|look| guides.add(log_ratios, *look));
        looks.last().into_iter().for_each(|look| guides.add(log_ratios, *look));
        guides
    }

    fn add(&mut self, log_ratios: &[f64], look: usize) {
        self.0.entry(look).or_insert_with(|| walsh_averages(&log_ratios[..look]));
    }

    /// About where the interval ends.
    fn about(&self, outside: &Outside) -> Interval {
        let mut about = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
        for (averages, outside) in self.0.iter().filter_map(|(look, averages)| Some((averages, outside.get(look)?))) {
            about.low = about.low.max(averages[*outside]);
            about.high = about.high.min(averages[averages.len() - 1 - outside]);
        }
        about
    }
}

impl Evidence for Exact {
    /// Ranks and signs change only where the supposed log ratio passes a Walsh average, so we
    /// search the gaps between these: bounds are exact, and a handful of tests does.
    fn interval(&self, log_ratios: &[f64], looks: &[usize]) -> Option<Interval> {
        let averages = walsh_averages(log_ratios);
        let gaps = Interarrival::new(averages.clone());
        if gaps.breaks.len() == 1 {
            return Some(Interval { low: gaps.breaks[0], high: gaps.breaks[0] });
        }
        let test = |gap: usize| self.crossings(log_ratios, gaps.inside(gap), looks);
        let accepted = |gap: usize| !test(gap).1;
        let estimate = median(&averages)?;
        let last = gaps.breaks.len();
        if accepted(0) || accepted(last) {
            return None; // even equal signs in every block do not suffice yet
        }
        // When even the middle is rejected, no single ratio fits the data: return the widest.
        let whole = Interval { low: gaps.breaks[0], high: gaps.breaks[last - 1] };
        let Some(start) = gaps.outward_from(estimate).find(|gap| accepted(*gap)) else {
            return Some(whole);
        };
        let (mut guides, typical) = (Guides::new(log_ratios, averages, looks), self.typical(looks));
        let ends = |guides: &Guides, outside: &Outside| {
            let about = guides.about(outside);
            [gaps.after(about.low), gaps.after(about.high).saturating_sub(1)]
        };
        let guess = ends(&guides, typical);
        let mut tested = |gap: usize, side: usize| {
            let (thresholds, is_rejected) = test(gap);
            if is_rejected {
                guides.add(log_ratios, looks[thresholds.len() - 1]);
            }
            // Of the looks behind the one that rejected, nothing new is known.
            let mut known = typical.clone();
            known.extend(outside(looks, &thresholds));
            (!is_rejected, ends(&guides, &known)[side])
        };
        let lowest = edge(start, 0, guess[0], |gap| tested(gap, 0));
        let highest = edge(start, last, guess[1], |gap| tested(gap, 1));
        Some(Interval { low: gaps.breaks[lowest - 1].min(estimate), high: gaps.breaks[highest].max(estimate) })
    }

    fn rejects(&self, log_ratios: &[f64], log_ratio: f64, looks: &[usize]) -> bool {
        self.crossings(log_ratios, log_ratio, looks).1
    }

    fn mde(&self, sd: f64, blocks: usize) -> Option<f64> {
        minimum_detectable_effect(sd, blocks, spent(self.alpha, self.blocks_max, blocks))
    }
}

/// The accepted gap that lies next to a rejected one, on the way from `accepted_gap` to `rejected_gap`, begun at `guess`:
/// where the thresholds of a test put it, then in widening steps past it, then by halves.
fn edge(
    mut accepted_gap: usize,
    mut rejected_gap: usize,
    guess: usize,
    mut test: impl FnMut(usize) -> (bool, usize),
) -> usize {
    let (mut probe, mut step, mut refined) = (guess, 1, 0);
    while accepted_gap.abs_diff(rejected_gap) > 1 {
        let is_between = accepted_gap.min(rejected_gap) < probe && probe < accepted_gap.max(rejected_gap);
        if !is_between {
            probe = (accepted_gap + rejected_gap) / 2;
        }
        let (is_accepted, better) = test(probe);
        let towards = if is_accepted {
            accepted_gap = probe;
            rejected_gap
        } else {
            rejected_gap = probe;
            accepted_gap
        };
        if refined < REFINED && better != probe {
            refined += 1;
            probe = better;
            continue;
        }
        probe = if towards > probe { probe + step } else { probe.saturating_sub(step) };
        step *= 2;
    }
    accepted_gap
}

/// The stretches between Walsh averages; gap `i` ends at break `i`, the last one has no end.
struct Interarrival {
    breaks: Vec<f64>,
}

impl Interarrival {
    fn new(averages: Vec<f64>) -> Interarrival {
        let mut breaks = averages;
        // Averages that differ by rounding alone are one place.
        breaks.dedup_by(|next, kept| (*next - *kept).abs() <= 1e-13 * (1.0 + kept.abs()));
        Interarrival { breaks }
    }

    /// The gap that begins at the last break up to this place.
    fn after(&self, place: f64) -> usize {
        self.breaks.partition_point(|other| *other <= place)
    }

    fn inside(&self, gap: usize) -> f64 {
        match gap {
            0 => self.breaks[0] - 1.0,
            last if last == self.breaks.len() => self.breaks[last - 1] + 1.0,
            middle => (self.breaks[middle - 1] + self.breaks[middle]) / 2.0,
        }
    }

    /// Inner gaps, those nearest to the estimate first.
    fn outward_from(&self, estimate: f64) -> impl Iterator<Item = usize> {
        let last = self.breaks.len();
        let centre = self.breaks.partition_point(|place| *place < estimate).clamp(1, last - 1);
        let inner = move |gap: &usize| (1..last).contains(gap);
        (0..last).flat_map(move |step| [centre + step, centre.wrapping_sub(step)]).filter(inner)
    }
}

/// The sign vectors that the observed one is compared with.
///
/// Ten blocks share a column, so that the ranks which a vector counts as positive are one access to
/// a table for every ten blocks. (With all statistics of a look counted before anything is sorted
/// out, a judgement at twenty blocks takes a seventh of the time it took vector by vector.)
struct SignVectors {
    /// For each ten blocks: the signs of every vector, bit `b` set where block `b` is positive.
    columns: Vec<Vec<u16>>,
    /// All vectors there are, the observed one among them.
    complete: bool,
    /// The vectors that begin with each pattern of ten signs: up to ten blocks, they share their fate.
    by_pattern: Vec<Vec<u16>>,
}

const COLUMN_BLOCKS: usize = 10;
const PATTERNS: usize = 1 << COLUMN_BLOCKS;

impl SignVectors {
    fn new(blocks_max: usize, seed: u64) -> SignVectors {
        let complete = blocks_max <= ALL_VECTORS_UP_TO;
        let columns = if complete { all_signs(blocks_max) } else { drawn_signs(blocks_max, seed) };
        let mut by_pattern = vec![Vec::new(); PATTERNS];
        let first = columns.first().map_or(&[][..], Vec::as_slice);
        first.iter().zip(0..).for_each(|(signs, vector)| by_pattern[*signs as usize].push(vector));
        SignVectors { columns, complete, by_pattern }
    }

    fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    fn statistics(&self, ranks: &SignedRanks) -> Statistics<'_> {
        let deviation = |positive: i32| (2 * positive - ranks.total as i32).abs();
        match ranks.sums.as_slice() {
            [] => unreachable!("no look without a block"),
            [sums] => Statistics::OfPatterns(self, sums.iter().map(|sum| deviation(*sum)).collect()),
            [first, others @ ..] => {
                let mut positive: Vec<i32> = self.columns[0].iter().map(|signs| picked(first, *signs)).collect();
                for (sums, column) in others.iter().zip(&self.columns[1..]) {
                    positive.iter_mut().zip(column).for_each(|(sum, signs)| *sum += picked(sums, *signs));
                }
                positive.iter_mut().for_each(|sum| *sum = deviation(*sum));
                Statistics::OfVectors(positive)
            }
        }
    }
}

fn all_signs(blocks: usize) -> Vec<Vec<u16>> {
    let column = |shift: usize| (0..1u16 << blocks).map(|signs| (signs >> shift) & (PATTERNS as u16 - 1)).collect();
    (0..blocks).step_by(COLUMN_BLOCKS).map(column).collect()
}

fn drawn_signs(blocks: usize, seed: u64) -> Vec<Vec<u16>> {
    let bytes_each = blocks.div_ceil(8);
    let mut bits = vec![0u8; DRAWN_VECTORS * bytes_each];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bits);
    let sign = |vector: &[u8], block: usize| u16::from(vector[block / 8] >> (block % 8) & 1);
    let column = |first: usize| {
        let ours = first..blocks.min(first + COLUMN_BLOCKS);
        let signs = |vector: &[u8]| ours.clone().map(|block| sign(vector, block) << (block - first)).sum();
        bits.chunks_exact(bytes_each).map(signs).collect()
    };
    (0..blocks).step_by(COLUMN_BLOCKS).map(column).collect()
}

fn picked(sums: &[i32; PATTERNS], signs: u16) -> i32 {
    sums[signs as usize & (PATTERNS - 1)]
}

/// |sum of signed ranks| under every sign vector. Dividing by n^1.5 would change nothing within one look.
enum Statistics<'a> {
    /// At most ten blocks: one for each pattern of signs.
    OfPatterns(&'a SignVectors, Vec<i32>),
    OfVectors(Vec<i32>),
}

impl Statistics<'_> {
    fn of(&self, vector: u16) -> i32 {
        match self {
            Statistics::OfPatterns(vectors, statistics) => statistics[vectors.columns[0][vector as usize] as usize],
            Statistics::OfVectors(statistics) => statistics[vector as usize],
        }
    }

    /// How many vectors have each statistic.
    fn counts(&self, statistic_max: usize) -> Vec<usize> {
        let mut counts = vec![0; statistic_max + 1];
        match self {
            Statistics::OfPatterns(vectors, statistics) => {
                let sizes = vectors.by_pattern.iter().map(Vec::len);
                statistics.iter().zip(sizes).for_each(|(statistic, size)| counts[*statistic as usize] += size);
            }
            Statistics::OfVectors(statistics) => {
                statistics.iter().for_each(|statistic| counts[*statistic as usize] += 1);
            }
        }
        counts
    }

    /// The vectors that have at least this statistic.
    fn from(&self, least: i32, mut each: impl FnMut(u16)) {
        match self {
            Statistics::OfPatterns(vectors, statistics) => {
                reaching(statistics, least, |pattern| vectors.by_pattern[pattern].iter().copied().for_each(&mut each));
            }
            Statistics::OfVectors(statistics) => reaching(statistics, least, |vector| each(vector as u16)),
        }
    }
}

/// Places of the statistics that are at least so high. They are few, so the others are passed over
/// a chunk at a time.
fn reaching(statistics: &[i32], least: i32, mut found: impl FnMut(usize)) {
    for (chunk, first) in statistics.chunks(32).zip((0..).step_by(32)) {
        if chunk.iter().fold(false, |any, statistic| any | (*statistic >= least)) {
            let reached = chunk.iter().zip(first..).filter(|(statistic, _)| **statistic >= least);
            reached.for_each(|(_, index)| found(index));
        }
    }
}

/// The vectors that have crossed.
struct Dead {
    is_dead: Vec<bool>,
    list: Vec<u16>,
}

impl Dead {
    fn new(vectors: &SignVectors) -> Dead {
        Dead { is_dead: vec![false; vectors.len()], list: Vec::new() }
    }

    fn bury(&mut self, statistics: &Statistics, crossing_from: usize) {
        statistics.from(crossing_from as i32, |vector| {
            if !std::mem::replace(&mut self.is_dead[vector as usize], true) {
                self.list.push(vector);
            }
        });
    }
}

/// The lowest statistic that still crosses when at most `allowed` vectors may have crossed in all.
/// Equal statistics cross together or not at all.
fn threshold(counts: &[usize], mut crossed: usize, allowed: usize) -> usize {
    let mut crossing_from = counts.len();
    while crossing_from > 0 && crossed + counts[crossing_from - 1] <= allowed {
        crossing_from -= 1;
        crossed += counts[crossing_from];
    }
    crossing_from
}

/// Ranks of the distances from a supposed log ratio, doubled so that shared ranks stay integers.
struct SignedRanks {
    /// For each ten blocks: the sum of ranks that each pattern of signs selects.
    sums: Vec<[i32; PATTERNS]>,
    total: usize,
    /// The statistic of the signs that were seen.
    observed: usize,
}

impl SignedRanks {
    fn new(log_ratios: &[f64], log_ratio: f64) -> SignedRanks {
        let distances: Vec<f64> = log_ratios.iter().map(|ratio| ratio - log_ratio).collect();
        let ranks = doubled_ranks(&distances);
        let total = ranks.iter().sum();
        let positive: usize =
            distances.iter().zip(&ranks).filter(|(distance, _)| **distance > 0.0).map(|(_, rank)| rank).sum();
        let sums = ranks.chunks(COLUMN_BLOCKS).map(sums_by_pattern).collect();
        SignedRanks { sums, total, observed: (2 * positive).abs_diff(total) }
    }
}

/// A distance of zero has no sign, whatever the coin shows: its rank counts for neither side.
fn doubled_ranks(distances: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by(|a, b| distances[*a].abs().total_cmp(&distances[*b].abs()));
    let mut ranks = vec![0; distances.len()];
    let mut first = 0;
    for tied in order.chunk_by(|a, b| distances[*a].abs() == distances[*b].abs()) {
        // Ranks first+1 ..= first+len share their mean; twice that is the sum of both ends.
        let rank = if distances[tied[0]] == 0.0 { 0 } else { 2 * first + tied.len() + 1 };
        tied.iter().for_each(|index| ranks[*index] = rank);
        first += tied.len();
    }
    ranks
}

/// A pattern's sum is that of the pattern without its lowest sign, and that sign's rank.
fn sums_by_pattern(ranks: &[usize]) -> [i32; PATTERNS] {
    let mut sums = [0; PATTERNS];
    for signs in 1..PATTERNS {
        let lowest = signs.trailing_zeros() as usize;
        sums[signs] = sums[signs & (signs - 1)] + ranks.get(lowest).map_or(0, |rank| *rank as i32);
    }
    sums
}
