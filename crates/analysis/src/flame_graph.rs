//! Where a server's CPU time went: stacks folded, and laid out as a flame graph or as the difference of two.
//!
//! Widths are shares of a profile's samples, so that profiles of different lengths compare.

use std::collections::BTreeMap;

/// Deeper frames are left out: they are too narrow to read.
const DEPTH_MAX: usize = 60;
/// Narrower frames are left out of a drawing, as a share of its width.
const WIDTH_MIN: f64 = 0.001;

/// Samples by stack, names from the outermost to the innermost with `;` between them. `text` holds each sample
/// behind an empty line: the thread's name, then a line of address and function for each frame, innermost first.
pub fn folded(text: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for sample in text.split("\n\n") {
        let mut lines = sample.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(thread) = lines.next() else { continue };
        let mut names: Vec<String> = lines.map(function).collect();
        names.push(name(thread));
        names.reverse();
        names.truncate(DEPTH_MAX);
        *stacks.entry(names.join(";")).or_default() += 1;
    }
    stacks
}

/// `7f12ab do_command` without its address.
fn function(line: &str) -> String {
    name(line.split_once(char::is_whitespace).map_or(line, |(_, function)| function))
}

/// The separator of stacks may stand in no name.
fn name(text: &str) -> String {
    text.trim().replace(';', ":")
}

/// A rectangle of a flame graph; places are shares of its width.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub name: String,
    /// 0 for all.
    pub depth: usize,
    pub from: f64,
    pub width: f64,
    /// Of the profile that it is held against; none in a graph of one.
    pub other: Option<f64>,
}

#[derive(Default)]
struct Node<'a> {
    /// Share of own and of the other samples that pass through here.
    shares: [f64; 2],
    below: BTreeMap<&'a str, Node<'a>>,
}

/// Frames wide enough to be seen, callers before those they call. Held against `other`, a frame that only the
/// other profile has is absent: it has no width here.
pub fn frames(own: &BTreeMap<String, u64>, other: Option<&BTreeMap<String, u64>>) -> Vec<Frame> {
    let mut root = Node::default();
    for (side, stacks) in [Some(own), other].into_iter().enumerate() {
        let stacks = stacks.into_iter().flatten();
        let all: u64 = stacks.clone().map(|(_, samples)| samples).sum();
        for (stack, samples) in stacks {
            let share = *samples as f64 / all.max(1) as f64;
            let mut node = &mut root;
            node.shares[side] += share;
            for name in stack.split(';') {
                node = node.below.entry(name).or_default();
                node.shares[side] += share;
            }
        }
    }
    let mut frames = Vec::new();
    lay_out("all", &root, 0, 0.0, other.is_some(), &mut frames);
    frames
}

fn lay_out(name: &str, node: &Node, depth: usize, from: f64, is_difference: bool, frames: &mut Vec<Frame>) {
    let [width, other] = node.shares;
    if width < WIDTH_MIN {
        return;
    }
    frames.push(Frame { name: name.to_owned(), depth, from, width, other: is_difference.then_some(other) });
    let mut from = from;
    for (name, below) in &node.below {
        lay_out(name, below, depth + 1, from, is_difference, frames);
        from += below.shares[0];
    }
}

/// Functions by the share of samples in which they, and not what they call, were at work.
pub fn leaves(stacks: &BTreeMap<String, u64>) -> BTreeMap<&str, f64> {
    let all: u64 = stacks.values().sum();
    let mut shares = BTreeMap::new();
    for (stack, samples) in stacks {
        let leaf = stack.rsplit(';').next().unwrap_or(stack);
        *shares.entry(leaf).or_default() += *samples as f64 / all.max(1) as f64;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "connection \n\t    7f1 row_search_mvcc\n\t    7f2 do_command\n\n\
        connection \n\t    7f1 row_search_mvcc\n\t    7f2 do_command\n\n\
        purge;worker \n\tffff [unknown]\n\n";

    #[test]
    fn stacks_are_folded_from_the_outside_in() {
        let stacks: Vec<(String, u64)> = folded(SCRIPT).into_iter().collect();
        let expected = [("connection;do_command;row_search_mvcc", 2), ("purge:worker;[unknown]", 1)];
        assert_eq!(stacks, expected.map(|(stack, samples)| (stack.to_owned(), samples)));
        assert!(folded("").is_empty() && folded("\n\n\n").is_empty());
    }

    fn stacks(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(stack, samples)| ((*stack).to_owned(), *samples)).collect()
    }

    #[test]
    fn a_frame_is_as_wide_as_what_it_holds_and_lies_inside_its_caller() {
        let frames = frames(&stacks(&[("t;a;b", 1), ("t;a;c", 2), ("t;d", 1)]), None);
        let places: Vec<(&str, usize, f64, f64)> =
            frames.iter().map(|frame| (frame.name.as_str(), frame.depth, frame.from, frame.width)).collect();
        let expected = [
            ("all", 0, 0.0, 1.0),
            ("t", 1, 0.0, 1.0),
            ("a", 2, 0.0, 0.75),
            ("b", 3, 0.0, 0.25),
            ("c", 3, 0.25, 0.5),
            ("d", 2, 0.75, 0.25),
        ];
        assert_eq!(places, expected);
        assert!(frames.iter().all(|frame| frame.other.is_none()));
    }

    #[test]
    fn a_difference_compares_shares_and_not_samples() {
        let (own, other) = (stacks(&[("t;a", 30), ("t;b", 10)]), stacks(&[("t;a", 1), ("t;b", 1), ("t;gone", 2)]));
        let frames = frames(&own, Some(&other));
        let of = |name: &str| frames.iter().find(|frame| frame.name == name).map(|frame| (frame.width, frame.other));
        assert_eq!(of("a"), Some((0.75, Some(0.25))));
        assert_eq!(of("b"), Some((0.25, Some(0.25))));
        assert_eq!(of("gone"), None);
        assert_eq!(leaves(&other), [("a", 0.25), ("b", 0.25), ("gone", 0.5)].into());
    }

    #[test]
    fn what_nobody_could_see_is_not_drawn() {
        let frames = frames(&stacks(&[("t;wide", 9_999), ("t;thin", 1)]), None);
        assert!(frames.iter().any(|frame| frame.name == "wide") && !frames.iter().any(|frame| frame.name == "thin"));
        assert!(super::frames(&BTreeMap::new(), None).is_empty());
    }
}
