//! Which units wait for which.
//!
//! Units stand in lanes, each in the order of their ends in the log. A unit begins when so many from the front of a lane
//! have all ended. It waits only for units that had ended in the log before it began, so every wait leads to one that
//! began earlier, and no units wait for each other in a circle. One that ended at the very moment at which another began
//! is not known to have ended before.

use std::collections::HashMap;

use crate::order::Order;
use crate::schedule::{Schedule, Span};
use crate::tables::Touched;

/// Units of a lane: the first so many, or the one behind so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub lane: u32,
    pub count: u32,
}

#[derive(Debug)]
pub struct Waits {
    /// How many units each lane has.
    pub lanes: Vec<u32>,
    waits: Steps,
    places: Steps,
}

/// The steps of each unit, one behind the other.
#[derive(Debug, Clone, Default)]
struct Steps {
    starts: Vec<u32>,
    steps: Vec<Step>,
}

impl Steps {
    fn of(&self, unit: u32) -> &[Step] {
        let bounds = [unit, unit + 1].map(|at| self.starts[at as usize] as usize);
        &self.steps[bounds[0]..bounds[1]]
    }
}

#[derive(Debug, Clone, Default)]
struct Lanes {
    own: Vec<u32>,
    waited_for: Vec<u32>,
}

/// All units, and those that may touch any table.
const ALL: u32 = 0;
const ANY_TABLE: u32 = 1;

impl Waits {
    pub fn of(order: Order, schedule: &Schedule) -> Waits {
        let units = &schedule.units;
        match order {
            Order::Transaction => Waits::by_lanes(units, |_| (&[ALL], &[ALL])),
            Order::Conflict => {
                let lanes = by_tables(schedule);
                Waits::by_lanes(units, |unit| (&lanes[unit].own, &lanes[unit].waited_for))
            }
            Order::Session => Waits::by_lanes(units, |_| (&[], &[])),
            Order::Serial => {
                // Each waits for all in front of its own place.
                let of_one_lane = Waits::by_lanes(units, |_| (&[ALL], &[]));
                Waits { waits: of_one_lane.places.clone(), ..of_one_lane }
            }
        }
    }

    /// How many of which lanes must have ended before a unit begins.
    pub fn of_unit(&self, unit: u32) -> &[Step] {
        self.waits.of(unit)
    }

    /// Where a unit stands.
    pub fn places(&self, unit: u32) -> &[Step] {
        self.places.of(unit)
    }

    /// From the lanes that each unit stands in, and those that it waits for.
    fn by_lanes<'a>(units: &[Span], lanes: impl Fn(usize) -> (&'a [u32], &'a [u32])) -> Waits {
        let mut places = Steps::default();
        for unit in 0..units.len() {
            places.starts.push(places.steps.len() as u32);
            places.steps.extend(lanes(unit).0.iter().map(|lane| Step { lane: *lane, count: 0 }));
        }
        places.starts.push(places.steps.len() as u32);
        let mut by_end: Vec<usize> = (0..units.len()).collect();
        by_end.sort_by_key(|unit| (units[*unit].1, units[*unit].0, *unit));
        let mut ends: HashMap<u32, Vec<i64>> = HashMap::new();
        for unit in by_end {
            for place in &mut places.steps[places.starts[unit] as usize..places.starts[unit + 1] as usize] {
                let ends = ends.entry(place.lane).or_default();
                place.count = ends.len() as u32;
                ends.push(units[unit].1);
            }
        }
        let mut waits = Steps::default();
        for (unit, (begin, _)) in units.iter().enumerate() {
            waits.starts.push(waits.steps.len() as u32);
            let before = |lane: &u32| {
                let count = ends.get(lane)?.partition_point(|end| end < begin) as u32;
                (count > 0).then_some(Step { lane: *lane, count })
            };
            waits.steps.extend(lanes(unit).1.iter().filter_map(before));
        }
        waits.starts.push(waits.steps.len() as u32);
        let count = ends.keys().max().map_or(0, |last| last + 1);
        let lanes = (0..count).map(|lane| ends.get(&lane).map_or(0, |ends| ends.len() as u32)).collect();
        Waits { lanes, waits, places }
    }
}

/// Each table has a lane of all units that name it and one of those that write it. One that writes it waits for the first,
/// one that reads it for the second.
fn by_tables(schedule: &Schedule) -> Vec<Lanes> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut lanes = vec![Lanes::default(); schedule.units.len()];
    let mut touches_any = vec![false; schedule.units.len()];
    for transaction in &schedule.transactions {
        let of_unit = &mut lanes[transaction.unit as usize];
        for statement in schedule.statements_of(transaction) {
            let Touched::These { read, written } = &schedule.digests[statement.digest as usize].tables else {
                touches_any[transaction.unit as usize] = true;
                continue;
            };
            for (names, writes) in [(read, false), (written, true)] {
                for name in names {
                    let next = 2 + 2 * numbers.len() as u32;
                    let named = *numbers.entry(name).or_insert(next);
                    let writing = named + 1;
                    of_unit.own.push(named);
                    if writes {
                        of_unit.own.push(writing);
                    }
                    of_unit.waited_for.push(if writes { named } else { writing });
                }
            }
        }
    }
    for (of_unit, touches_any) in lanes.iter_mut().zip(touches_any) {
        if touches_any {
            *of_unit = Lanes { own: vec![ALL, ANY_TABLE], waited_for: vec![ALL] };
            continue;
        }
        of_unit.own.push(ALL);
        of_unit.waited_for.push(ANY_TABLE);
        for lanes in [&mut of_unit.own, &mut of_unit.waited_for] {
            lanes.sort_unstable();
            lanes.dedup();
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::About;
    use crate::ended::Ended;
    use crate::schedule::Transaction;

    const ORDERS: [Order; 4] = [Order::Transaction, Order::Conflict, Order::Session, Order::Serial];

    /// A unit for each span, of one statement with the digest of that number.
    fn schedule(digests: &[&str], units: &[(Span, u32)]) -> Schedule {
        let digest = |text: &&str| capture::Digest { text: text.as_bytes().to_vec(), ..capture::Digest::default() };
        let digests = digests.iter().map(|text| About::of(&digest(text), true)).collect();
        let mut schedule = Schedule { digests, ..Schedule::default() };
        for (number, (span, digest)) in (0..).zip(units) {
            schedule.units.push(*span);
            schedule.statements.push(crate::schedule::tests::statement(*digest));
            schedule.transactions.push(Transaction {
                statements: number..number + 1,
                is_left_open: false,
                rolls_back: false,
                unit: number,
                begins_unit: true,
                ends_unit: true,
            });
        }
        schedule
    }

    /// The units that each one waits for.
    fn waited_for(waits: &Waits, units: u32) -> Vec<Vec<u32>> {
        let is_among = |other: &u32, step: &Step| {
            waits.places(*other).iter().any(|place| place.lane == step.lane && place.count < step.count)
        };
        let has_to_end = |unit: u32, other: &u32| waits.of_unit(unit).iter().any(|step| is_among(other, step));
        (0..units).map(|unit| (0..units).filter(|other| has_to_end(unit, other)).collect()).collect()
    }

    #[test]
    fn a_unit_waits_for_those_that_had_ended_and_no_others() {
        let schedule = schedule(&["select ?"], &[((0, 10), 0), ((5, 6), 0), ((6, 20), 0), ((11, 12), 0)]);
        let of = |order| waited_for(&Waits::of(order, &schedule), 4);
        assert_eq!(of(Order::Transaction), [vec![], vec![], vec![], vec![0, 1]]);
        assert_eq!(of(Order::Session), vec![Vec::<u32>::new(); 4]);
        assert_eq!(of(Order::Serial), [vec![1], vec![], vec![0, 1, 3], vec![0, 1]]);
        assert_eq!(of(Order::Conflict), vec![Vec::<u32>::new(); 4]);
    }

    #[test]
    fn conflicts_are_of_a_table_that_one_of_both_writes() {
        let digests =
            ["select a from t", "update t set a = ?", "select a from u", "call p()", "select a from t join u"];
        let units: Vec<(Span, u32)> = [0, 1, 2, 0, 1, 3, 2, 4]
            .iter()
            .enumerate()
            .map(|(at, digest)| ((10 * at as i64, 10 * at as i64 + 1), *digest))
            .collect();
        let schedule = schedule(&digests, &units);
        let expected = [vec![], vec![0], vec![], vec![1], vec![0, 1, 3], vec![0, 1, 2, 3, 4], vec![5], vec![1, 4, 5]];
        assert_eq!(waited_for(&Waits::of(Order::Conflict, &schedule), 8), expected);
    }

    #[test]
    fn units_of_one_moment_are_free() {
        let schedule = schedule(&["select ?"], &[((5, 5), 0), ((5, 5), 0)]);
        assert_eq!(waited_for(&Waits::of(Order::Transaction, &schedule), 2), [vec![], vec![]] as [Vec<u32>; 2]);
    }

    /// Whatever units a log has, some unit is under way or may begin until all have ended.
    #[test]
    fn no_order_stands_still() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut draw = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let digests =
            ["select a from t", "update t set a = ?", "insert into u select a from t", "call p()", "select ?"];
        for _ in 0..300 {
            let mut unit = || {
                let begin = draw(60) as i64;
                ((begin, begin + draw(30) as i64), draw(digests.len() as u64) as u32)
            };
            let units: Vec<(Span, u32)> = (0..40).map(|_| unit()).collect();
            let schedule = schedule(&digests, &units);
            for order in ORDERS {
                let waits = Waits::of(order, &schedule);
                let lanes: Vec<Ended> = waits.lanes.iter().map(|units| Ended::none_of(*units as usize)).collect();
                let may_begin = |unit: &u32| {
                    waits.of_unit(*unit).iter().all(|step| lanes[step.lane as usize].front() >= step.count)
                };
                let (mut waiting, mut under_way): (Vec<u32>, Vec<u32>) = ((0..40).collect(), Vec::new());
                while !waiting.is_empty() || !under_way.is_empty() {
                    match waiting.iter().position(may_begin) {
                        Some(at) if under_way.is_empty() || draw(2) == 0 => under_way.push(waiting.swap_remove(at)),
                        _ => {
                            assert!(!under_way.is_empty(), "{order:?} stands still with {units:?}");
                            let unit = under_way.swap_remove(draw(under_way.len() as u64) as usize);
                            waits.places(unit).iter().for_each(|place| _ = lanes[place.lane as usize].end(place.count));
                        }
                    }
                }
            }
        }
    }
}
