//! One worker's part of a load that several processes make together.
//!
//! Pure arithmetic: which clients and which arrivals are whose. What must stay true: the parts are disjoint, and
//! together they are the whole, for any number of workers and any weights.

use std::sync::Arc;

use crate::rng::Rng;

/// How the gaps between arrivals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interarrival {
    /// Exponential: a Poisson process, as from many independent users.
    #[default]
    Poisson,
    Constant,
}

/// What part of a load is made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The numbers of its clients, among those of the whole load.
    pub clients: Vec<u32>,
    pub arrivals: ArrivalShare,
}

/// Which arrivals of an open loop are a worker's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalShare {
    worker: u32,
    /// Workers in turn, each as often as its weight.
    turns: Arc<[u32]>,
}

/// No random stream of a load has this number.
const SHARES: u64 = u64::MAX - 7;

impl ArrivalShare {
    pub fn new(worker: u32, weights: &[u32]) -> ArrivalShare {
        ArrivalShare { worker, turns: in_turn(weights).into() }
    }

    /// Gaps stay what they are: thinned at random, a Poisson process is one; in turn, constant gaps are constant.
    pub fn has(&self, gaps: Interarrival, seed: u64, number: u64) -> bool {
        let turns = self.turns.len() as u64;
        let turn = match gaps {
            Interarrival::Poisson => Rng::stream(seed, SHARES, number).below(turns),
            Interarrival::Constant => number % turns,
        };
        self.turns[turn as usize] == self.worker
    }
}

/// `total` divided by weights, the largest remainders rounded up; of equal ones the first.
pub fn divided(total: u64, weights: &[u32]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum::<u128>().max(1);
    let exact = |weight: &u32| u128::from(total) * u128::from(*weight);
    let mut parts: Vec<u64> = weights.iter().map(|weight| (exact(weight) / sum) as u64).collect();
    let left = total.saturating_sub(parts.iter().sum());
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(exact(&weights[*place]) % sum));
    order.into_iter().take(left as usize).for_each(|place| parts[place] += 1);
    parts
}

/// Each worker's numbers of `0..clients`, dealt out in turn.
pub fn dealt(clients: u32, weights: &[u32]) -> Vec<Vec<u32>> {
    let counts: Vec<u32> = divided(clients.into(), weights).into_iter().map(|count| count as u32).collect();
    let mut parts = vec![Vec::new(); weights.len()];
    (0..).zip(in_turn(&counts)).for_each(|(client, worker)| parts[worker as usize].push(client));
    parts
}

/// Every worker as often as its weight, spread evenly: the next one is the furthest behind its due.
fn in_turn(weights: &[u32]) -> Vec<u32> {
    let sum: u32 = weights.iter().sum();
    let mut due = vec![0_i64; weights.len()];
    let next = |_| {
        due.iter_mut().zip(weights).for_each(|(due, weight)| *due += i64::from(*weight));
        let most = due.iter().max().copied().unwrap_or_default();
        let worker = due.iter().position(|due| *due == most).unwrap_or_default();
        due[worker] -= i64::from(sum);
        worker as u32
    };
    (0..sum).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::{Arrivals, Rate};

    #[test]
    fn totals_are_divided_by_largest_remainders() {
        assert_eq!(divided(16, &[1, 1, 1, 1]), [4, 4, 4, 4]);
        assert_eq!(divided(10, &[1, 1, 1, 1]), [3, 3, 2, 2]);
        assert_eq!(divided(16, &[2, 1, 1, 1]), [7, 3, 3, 3]);
        assert_eq!(divided(3, &[1, 1, 1, 1]), [1, 1, 1, 0]);
        assert_eq!(divided(u64::MAX, &[1, 1]).iter().map(|part| u128::from(*part)).sum::<u128>(), u64::MAX.into());
    }

    #[test]
    fn clients_are_dealt_out_in_turn_and_each_is_somebodys() {
        assert_eq!(dealt(8, &[1, 1, 1]), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        for (clients, weights) in [(16, vec![2, 1, 1, 1]), (2, vec![1, 1, 1]), (97, vec![5, 1, 3])] {
            let mut all = dealt(clients, &weights).concat();
            all.sort_unstable();
            assert_eq!(all, (0..clients).collect::<Vec<_>>());
        }
    }

    /// Number and due time of each arrival of a worker's first two seconds.
    fn taken(gaps: Interarrival, share: Option<ArrivalShare>) -> Vec<(u64, u64)> {
        let rate = Rate { per_sec: 5_000.0, gaps, queue_max: 100 };
        let arrivals = Arrivals::new(rate, 7).only(share);
        arrivals.start(1_234_567_890_123_456_789);
        let end_ns = 1_234_567_890_123_456_789 + 2_000_000_000;
        std::iter::from_fn(|| {
            arrivals.schedule();
            arrivals.take(0).filter(|arrival| arrival.due_ns < end_ns)
        })
        .map(|arrival| (arrival.number, arrival.due_ns))
        .collect()
    }

    #[test]
    fn the_arrivals_of_all_workers_are_those_of_one_to_the_nanosecond() {
        for gaps in [Interarrival::Poisson, Interarrival::Constant] {
            let whole = taken(gaps, None);
            assert!(whole.len() > 9_000, "{}", whole.len());
            for weights in [vec![1], vec![1, 1], vec![1, 1, 1, 1], vec![3, 1]] {
                let part = |worker| taken(gaps, Some(ArrivalShare::new(worker, &weights)));
                let parts: Vec<_> = (0..weights.len() as u32).map(part).collect();
                let sum: u32 = weights.iter().sum();
                for (part, weight) in parts.iter().zip(&weights) {
                    let expected = whole.len() as f64 * f64::from(*weight) / f64::from(sum);
                    assert!((part.len() as f64 / expected - 1.0).abs() < 0.05, "{} of {expected}", part.len());
                }
                let mut all = parts.concat();
                all.sort_unstable();
                assert_eq!(all, whole, "disjoint and complete: {weights:?}");
            }
        }
    }

    #[test]
    fn what_a_worker_leaves_over_is_its_own_only() {
        let rate = Rate { per_sec: 1_000.0, gaps: Interarrival::Constant, queue_max: 10 };
        let left = |worker| {
            let arrivals = Arrivals::new(rate, 7).only(Some(ArrivalShare::new(worker, &[1, 1])));
            arrivals.start(0);
            arrivals.left_over(0, 20_000_000_000).count()
        };
        assert_eq!(left(0) + left(1), 19_999);
    }
}
