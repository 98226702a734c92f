//! Which settings a search tries, drawn from a seed before anything is measured.
//!
//! First the advice itself: all settings at the value that one would try first, together, because what
//! helps often helps only together (a larger log under a larger buffer pool). Then one change each, in the
//! order of the table, which has what matters most in front: such candidates show what a gain is due to, and
//! survive where settings harm each other. The other half are random: each setting is moved or left by a coin, to its
//! first value or to any by another; all combinations are too many, and a random sample of them finds one
//! of the best twentieth among thirty draws in four of five searches. Drawn without results, so
//! that the number of candidates, over which the error is shared, stands before the first block.

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use record::format::tuning::{CandidateRecord, OutRecord};

/// Streams of the plan's seed below this one belong to its order and to doublings.
const STREAM: u64 = 9;

/// Random draws that change nothing, or what another one changes, are drawn again; so often for each place.
const DRAWS_PER_PLACE: usize = 50;

/// A setting that may be moved, and its values, the one that one would try first in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub setting: String,
    pub values: Vec<String>,
}

/// Whether a server can have these settings; the error gives the reason not.
pub type Fits<'a> = dyn Fn(&BTreeMap<String, String>) -> Result<(), String> + 'a;

/// So many candidates, or fewer where the space has no more. What does not fit is out before it races, with
/// the reason, and takes no place.
pub fn candidates(space: &[Range], wanted: usize, seed: u64, fits: &Fits) -> Vec<CandidateRecord> {
    let mut drawn = Drawn { seen: BTreeSet::new(), list: Vec::new(), fits };
    let first = |range: &Range| range.values.first().map(|value| (range.setting.clone(), value.clone()));
    drawn.add("all first values together", space.iter().filter_map(first).collect());
    let singles = (wanted / 2).max(1);
    for (depth, range) in one_change_each(space) {
        if drawn.racing() >= singles {
            break;
        }
        let settings = BTreeMap::from([(range.setting.clone(), range.values[depth].clone())]);
        drawn.add("one change", settings);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(STREAM);
    for _ in 0..wanted * DRAWS_PER_PLACE {
        if drawn.racing() >= wanted {
            break;
        }
        let moved = space.iter().filter_map(|range| move_by_coin(range, &mut random)).collect();
        drawn.add("random", moved);
    }
    // A space that is too small for combinations may still have single changes left.
    for (depth, range) in one_change_each(space) {
        if drawn.racing() >= wanted {
            break;
        }
        drawn.add("one change", BTreeMap::from([(range.setting.clone(), range.values[depth].clone())]));
    }
    drawn.list
}

/// First values of all settings, then second ones, and so on.
fn one_change_each(space: &[Range]) -> impl Iterator<Item = (usize, &Range)> {
    let deepest = space.iter().map(|range| range.values.len()).max().unwrap_or(0);
    let at =
        |depth: usize| space.iter().filter(move |range| depth < range.values.len()).map(move |range| (depth, range));
    (0..deepest).flat_map(at)
}

fn move_by_coin(range: &Range, random: &mut ChaCha8Rng) -> Option<(String, String)> {
    // Both are drawn in any case, so that one setting's coin does not shift those of the next.
    let (moves, first, any) = (random.random_bool(0.5), random.random_bool(0.5), range.values.choose(random));
    let value = if first { range.values.first() } else { any };
    value.filter(|_| moves).map(|value| (range.setting.clone(), value.clone()))
}

struct Drawn<'a> {
    seen: BTreeSet<BTreeMap<String, String>>,
    list: Vec<CandidateRecord>,
    fits: &'a Fits<'a>,
}

impl Drawn<'_> {
    fn racing(&self) -> usize {
        self.list.iter().filter(|candidate| candidate.out.is_none()).count()
    }

    /// One more, unless it changes nothing or is there already.
    fn add(&mut self, how: &str, settings: BTreeMap<String, String>) {
        if settings.is_empty() || !self.seen.insert(settings.clone()) {
            return;
        }
        let refused = (self.fits)(&settings).err();
        self.list.push(CandidateRecord {
            name: format!("c{}", self.list.len() + 1),
            how: how.to_owned(),
            settings,
            blocks: 0,
            ratio: None,
            evidence: 1.0,
            shown_faster: false,
            out: refused.map(OutRecord::refused),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(settings: &[(&str, &[&str])]) -> Vec<Range> {
        let range = |(setting, values): &(&str, &[&str])| Range {
            setting: (*setting).to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        settings.iter().map(range).collect()
    }

    fn large() -> Vec<Range> {
        space(&[("pool", &["8G", "4G", "2G"]), ("log", &["2G", "1G"]), ("threads", &["8", "4"]), ("hash", &["off"])])
    }

    fn drawn(wanted: usize, seed: u64) -> Vec<CandidateRecord> {
        candidates(&large(), wanted, seed, &|_| Ok(()))
    }

    #[test]
    fn advice_comes_first_then_one_change_each_then_combinations() {
        let list = drawn(12, 1);
        assert_eq!(list.len(), 12);
        assert_eq!((list[0].how.as_str(), list[0].settings.len()), ("all first values together", 4));
        assert_eq!(list[0].settings["pool"], "8G");
        let single =
            |index: usize| list[index].settings.iter().next().map(|(name, value)| (name.clone(), value.clone()));
        assert_eq!(single(1), Some(("pool".into(), "8G".into())));
        assert_eq!(single(2), Some(("log".into(), "2G".into())));
        assert!(list[1..6].iter().all(|one| one.how == "one change" && one.settings.len() == 1));
        assert!(list[6..].iter().all(|one| one.how == "random"));
        let all: BTreeSet<_> = list.iter().map(|one| &one.settings).collect();
        assert_eq!(all.len(), 12, "no candidate stands there twice");
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(drawn(12, 7), drawn(12, 7));
        assert_ne!(drawn(12, 7), drawn(12, 8));
    }

    #[test]
    fn a_small_space_has_fewer_candidates_and_one_without_settings_none() {
        let list = candidates(&space(&[("jit", &["off", "on"])]), 16, 1, &|_| Ok(()));
        assert_eq!(list.len(), 2);
        assert!(candidates(&[], 16, 1, &|_| Ok(())).is_empty());
    }

    #[test]
    fn candidates_that_do_not_fit_are_listed_and_take_no_place() {
        let fits = |settings: &BTreeMap<String, String>| match settings.get("pool").is_some_and(|pool| pool == "8G") {
            true => Err("8G are more than there is".to_owned()),
            false => Ok(()),
        };
        let list = candidates(&large(), 8, 1, &fits);
        let (out, racing): (Vec<_>, Vec<_>) = list.iter().partition(|one| one.out.is_some());
        assert_eq!(racing.len(), 8);
        assert!(out.iter().all(|one| one.settings["pool"] == "8G") && !out.is_empty());
        assert_eq!(
            out[0].out.as_ref().map(|out| (out.after_block, out.refusal())),
            Some((0, Some("8G are more than there is")))
        );
    }
}
