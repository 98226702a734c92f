//! Settings that keep a server from steps of a plan, and those that force one plan in the place of another.

use std::collections::BTreeMap;

use record::format::PlanNode;

/// A setting that keeps a server from one kind of step, wherever it can do without.
#[derive(Debug, Clone, Copy)]
pub struct PlanSwitch {
    pub setting: &'static str,
    /// Its value; `flag=off` of a setting that is a list of flags.
    pub off: &'static str,
    pub step: fn(&PlanNode) -> bool,
    /// Steps that a server may take in each other's place.
    pub instead_of: &'static str,
}

impl PlanSwitch {
    fn is_used_in(&self, root: &PlanNode) -> bool {
        root.from_below().into_iter().any(self.step)
    }

    fn is_same(&self, other: &PlanSwitch) -> bool {
        (self.setting, self.off) == (other.setting, other.off)
    }

    /// Whether a server with these settings in force has it.
    fn is_known(&self, effective: &BTreeMap<String, String>) -> bool {
        let is_in = |list: &str, flag: &str| list.split(',').any(|one| one.split('=').next() == Some(flag));
        let flag = self.off.split_once('=').map(|(flag, _)| flag);
        effective.get(self.setting).is_some_and(|value| flag.is_none_or(|flag| is_in(value, flag)))
    }
}

/// What is switched off for several statements at once, so that each is run as on the other server.
#[derive(Debug, Default)]
pub struct SwitchedOff {
    off: Vec<PlanSwitch>,
    /// What must stay on for the statements so far.
    needed: Vec<PlanSwitch>,
}

impl SwitchedOff {
    /// Adds what makes a server run `from` as `to`, or else the other way round; false where nothing of these switches does,
    /// or only what others stand against.
    pub fn force(&mut self, switches: &[PlanSwitch], from: &PlanNode, to: &PlanNode) -> bool {
        self.add(switches, from, to) || self.add(switches, to, from)
    }

    fn add(&mut self, switches: &[PlanSwitch], from: &PlanNode, to: &PlanNode) -> bool {
        let kept: Vec<PlanSwitch> = switches.iter().filter(|one| one.is_used_in(to)).copied().collect();
        let is_kept = |one: &PlanSwitch| kept.iter().any(|kept| kept.is_same(one));
        let differing = switches.iter().filter(|one| one.is_used_in(from) && !is_kept(one));
        let places: Vec<&str> = differing.map(|one| one.instead_of).collect();
        let off = switches.iter().filter(|one| places.contains(&one.instead_of) && !is_kept(one));
        let off: Vec<PlanSwitch> = off.copied().collect();
        let meets = |some: &[PlanSwitch], others: &[PlanSwitch]| {
            some.iter().any(|one| others.iter().any(|other| one.is_same(other)))
        };
        if off.is_empty() || meets(&off, &self.needed) || meets(&kept, &self.off) {
            return false;
        }
        self.off
            .extend(off.into_iter().filter(|one| !self.off.iter().any(|known| known.is_same(one))).collect::<Vec<_>>());
        self.needed.extend(kept);
        true
    }

    /// As settings of a server that has these in force and is started with `asked`; what it does not know it need not be
    /// kept from.
    pub fn settings(
        &self,
        effective: &BTreeMap<String, String>,
        asked: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = BTreeMap::new();
        for one in self.off.iter().filter(|one| one.is_known(effective)) {
            let flags = settings.get(one.setting).or(asked.get(one.setting)).filter(|_| one.off.contains('='));
            let value = flags.map_or(one.off.to_owned(), |flags| format!("{flags},{}", one.off));
            settings.insert(one.setting.to_owned(), value);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCHES: &[PlanSwitch] = &[
        PlanSwitch { setting: "scan", off: "0", step: |node| node.operator == "scan", instead_of: "read" },
        PlanSwitch { setting: "index", off: "0", step: |node| node.operator == "index", instead_of: "read" },
        PlanSwitch { setting: "bitmap", off: "0", step: |node| node.operator == "bitmap", instead_of: "read" },
        PlanSwitch { setting: "flags", off: "hash=off", step: |node| node.operator == "hash", instead_of: "join" },
        PlanSwitch { setting: "flags", off: "loop=off", step: |node| node.operator == "loop", instead_of: "join" },
    ];

    fn tree(operators: &[&str]) -> PlanNode {
        let children = operators.iter().map(|one| PlanNode::of(one)).collect();
        PlanNode { children, ..PlanNode::of("query") }
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn all() -> BTreeMap<String, String> {
        map(&[("scan", "1"), ("index", "1"), ("bitmap", "1"), ("flags", "hash=on,loop=on")])
    }

    #[test]
    fn everything_that_the_wanted_plan_does_without_is_switched_off() {
        let check = |from: &[&str], to: &[&str], expected: &[(&str, &str)]| {
            let mut off = SwitchedOff::default();
            assert_eq!(off.force(SWITCHES, &tree(from), &tree(to)), !expected.is_empty(), "{from:?} {to:?}");
            assert_eq!(off.settings(&all(), &BTreeMap::new()), map(expected), "{from:?} {to:?}");
        };
        check(&["scan"], &["index"], &[("scan", "0"), ("bitmap", "0")]);
        // A scan elsewhere in the wanted plan: only the other way round is left.
        check(&["scan", "scan"], &["scan", "index"], &[("index", "0"), ("bitmap", "0")]);
        check(&["hash"], &["loop"], &[("flags", "hash=off")]);
        check(&["sort"], &["group"], &[]);
        check(&["scan"], &["scan"], &[]);
    }

    #[test]
    fn a_statement_does_not_undo_what_another_one_needs() {
        let mut off = SwitchedOff::default();
        assert!(off.force(SWITCHES, &tree(&["scan"]), &tree(&["index"])));
        assert!(!off.force(SWITCHES, &tree(&["bitmap"]), &tree(&["scan"])), "both are off already");
        assert!(off.force(SWITCHES, &tree(&["bitmap"]), &tree(&["index"])), "the index is what the first one needs");
        assert!(off.force(SWITCHES, &tree(&["hash"]), &tree(&["loop"])));
        assert_eq!(off.settings(&all(), &BTreeMap::new()).len(), 3);
    }

    #[test]
    fn flags_are_added_to_those_asked_for_and_only_where_the_server_has_them() {
        let mut off = SwitchedOff::default();
        off.force(SWITCHES, &tree(&["hash"]), &tree(&["loop"]));
        let asked = map(&[("flags", "mrr=on")]);
        assert_eq!(off.settings(&all(), &asked), map(&[("flags", "mrr=on,hash=off")]));
        assert_eq!(off.settings(&map(&[("flags", "loop=on")]), &asked), map(&[]));
        assert_eq!(off.settings(&map(&[]), &asked), map(&[]));
    }
}
