//! Trials that lack a number because of their own result, and work that is put off: a candidate that is no better
//! than the baseline, on the same hosts, judged by the same code.

use super::noise::{Host, Noise};
use super::{ALPHA, BLOCKS_MAX, MARGIN, MEASURED_S, Order, RUNS_PER_JUDGE, host, in_parallel, log_throughputs};
use crate::missing::{OUTAGE_SHARE, Pair, completed, outages_forbid, with_deferred_work};
use crate::rule::{Judge, Rule, RuleKind, Verdict};

/// Transactions a second of an undisturbed server: what half a transaction is held against.
const RATE: f64 = 1000.0;
const OUTAGES: f64 = 0.1;
/// The candidate leads by so much while it is measured, and owes this share of the interval afterwards.
const LEAD: f64 = 0.05;
const DEFERRED: f64 = 0.08;

/// A way in which a candidate fails, and how often that may look like a win.
#[derive(Debug)]
pub struct Trouble {
    pub name: &'static str,
    pub description: &'static str,
    /// The rate of runs that call the candidate what it is not.
    pub target: f64,
    story: fn(&mut Host) -> Story,
    /// Of a run that ended with `faster`: is it wrong?
    is_wrong: fn(&Story, usize) -> bool,
}

pub const TROUBLES: &[Trouble] = &[
    Trouble {
        name: "outages",
        description: "the candidate commits nothing in a tenth of its trials, and is equal in the others",
        target: ALPHA / 2.0,
        story: |host| outages(host, 0.0),
        is_wrong: |_, _| true,
    },
    Trouble {
        name: "outages of a faster one",
        description: "the same, 5 % faster in the others: wrong where a tenth of the pairs showed an outage",
        target: 0.0,
        story: |host| outages(host, LEAD),
        is_wrong: |story, blocks| story.outages(blocks) as f64 >= OUTAGE_SHARE * blocks as f64,
    },
    Trouble {
        name: "missing quantiles",
        description: "equal servers; the slowest tenth of the candidate's trials has too few requests for the quantile",
        target: ALPHA / 2.0,
        story: |host| missing(host, BLOCKS_MAX / 10),
        is_wrong: |_, _| true,
    },
    Trouble {
        name: "many missing quantiles",
        description: "the same for the slowest quarter",
        target: ALPHA / 2.0,
        story: |host| missing(host, BLOCKS_MAX / 4),
        is_wrong: |_, _| true,
    },
    Trouble {
        name: "unpaid deferred work",
        description: "5 % faster while it is measured, and 8 % of the interval behind with its work",
        target: ALPHA / 2.0,
        story: unpaid,
        is_wrong: |_, _| true,
    },
];

/// What became of all runs with one trouble on one kind of host.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Troubled {
    pub runs: usize,
    pub faster: usize,
    /// Of these.
    pub wrong: usize,
    pub slower: usize,
    pub no_difference: usize,
    pub inconclusive: usize,
}

impl Troubled {
    fn add(&mut self, other: Troubled) {
        self.runs += other.runs;
        self.faster += other.faster;
        self.wrong += other.wrong;
        self.slower += other.slower;
        self.no_difference += other.no_difference;
        self.inconclusive += other.inconclusive;
    }
}

/// Runs the default rule.
pub fn simulate_trouble(
    trouble: &'static Trouble,
    noise: &'static Noise,
    runs: usize,
    seed: u64,
    threads: usize,
) -> Troubled {
    let batches = in_parallel(runs.div_ceil(RUNS_PER_JUDGE), threads, |batch| {
        let first = batch * RUNS_PER_JUDGE;
        let (margin, seed_of_judge) = (MARGIN.ln_1p(), seed ^ first as u64);
        let kind = RuleKind::Exact;
        let judge = Judge::new(Rule { kind, blocks_max: BLOCKS_MAX, alpha: ALPHA, margin, seed: seed_of_judge });
        let mut all = Troubled::default();
        for run in first..runs.min(first + RUNS_PER_JUDGE) {
            all.add(one_run(trouble, &judge, &(trouble.story)(&mut host(noise, seed, run))));
        }
        all
    });
    batches.into_iter().fold(Troubled::default(), |mut all, batch| {
        all.add(batch);
        all
    })
}

fn one_run(trouble: &Trouble, judge: &Judge, story: &Story) -> Troubled {
    let mut seen = Troubled { runs: 1, ..Troubled::default() };
    let looks = judge.rule().looks().into_iter().map(|blocks| (blocks, story.verdict(judge, blocks)));
    let decided = looks.into_iter().find(|(_, verdict)| *verdict != Verdict::Inconclusive);
    let (blocks, verdict) = decided.unwrap_or((BLOCKS_MAX, Verdict::Inconclusive));
    let count = match verdict {
        Verdict::Faster => &mut seen.faster,
        Verdict::Slower => &mut seen.slower,
        Verdict::NoDifference => &mut seen.no_difference,
        Verdict::Inconclusive => &mut seen.inconclusive,
    };
    *count = 1;
    seen.wrong = usize::from(verdict == Verdict::Faster && (trouble.is_wrong)(story, blocks));
    seen
}

/// One run, block by block.
pub(super) struct Story {
    pub pairs: Vec<Pair>,
    is_out: Vec<bool>,
    /// With the time that deferred work takes; empty where nothing is put off.
    adjusted: Vec<f64>,
}

impl Story {
    fn outages(&self, blocks: usize) -> usize {
        self.is_out[..blocks].iter().filter(|is_out| **is_out).count()
    }

    /// As a comparison comes to its verdict.
    fn verdict(&self, judge: &Judge, blocks: usize) -> Verdict {
        let ended = blocks == BLOCKS_MAX;
        let of = |ratios: &[f64]| judge.verdict(ratios, ended).map_or(Verdict::Inconclusive, |(verdict, _)| verdict);
        let verdict = completed(&self.pairs[..blocks]).map_or(Verdict::Inconclusive, |ratios| of(&ratios));
        if outages_forbid(verdict, 0, self.outages(blocks), blocks) {
            return Verdict::Inconclusive;
        }
        if self.adjusted.is_empty() { verdict } else { with_deferred_work(verdict, of(&self.adjusted[..blocks])) }
    }
}

fn outages(host: &mut Host, lead: f64) -> Story {
    let nothing = (0.5 / (RATE * MEASURED_S as f64)).ln();
    let mut is_out = Vec::with_capacity(BLOCKS_MAX);
    let pairs = throughputs(host).into_iter().map(|[baseline, candidate]| {
        let out = host.normals.uniform() < OUTAGES;
        is_out.push(out);
        Pair::Ratio(if out { nothing } else { candidate + lead.ln_1p() } - baseline)
    });
    let pairs = pairs.collect();
    Story { pairs, is_out, adjusted: Vec::new() }
}

/// So many of the candidate's slowest trials lack their value.
pub(super) fn missing(host: &mut Host, lacking: usize) -> Story {
    let throughputs = throughputs(host);
    let mut ascending: Vec<f64> = throughputs.iter().map(|[_, candidate]| *candidate).collect();
    ascending.sort_by(f64::total_cmp);
    let least = ascending[lacking];
    let pair = |[baseline, candidate]: [f64; 2]| match candidate < least {
        true => Pair::CandidateLacks,
        false => Pair::Ratio(candidate - baseline),
    };
    let pairs = throughputs.into_iter().map(pair).collect();
    Story { pairs, is_out: vec![false; BLOCKS_MAX], adjusted: Vec::new() }
}

pub(super) fn unpaid(host: &mut Host) -> Story {
    let leads: Vec<f64> =
        throughputs(host).into_iter().map(|[baseline, candidate]| candidate - baseline + LEAD.ln_1p()).collect();
    // Deferred work differs from trial to trial by a tenth of itself.
    let adjusted = leads.iter().map(|lead| lead - (DEFERRED * (1.0 + 0.1 * host.normals.draw())).ln_1p()).collect();
    let pairs = leads.into_iter().map(Pair::Ratio).collect();
    Story { pairs, is_out: vec![false; BLOCKS_MAX], adjusted }
}

/// Logarithms of baseline and candidate, which are equal.
fn throughputs(host: &mut Host) -> Vec<[f64; 2]> {
    (0..BLOCKS_MAX).map(|block| log_throughputs(host, block, Order::Coin)).collect()
}
