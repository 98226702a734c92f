//! Ladders in a plan: contenders that each add one change to the one below, and the contenders that only
//! show what each change is worth elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One ladder. All contenders that it names stand among the plan's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LadderRecord {
    /// The contender that it climbs from.
    pub base: String,
    /// From the lowest up; each holds the changes of all below it.
    pub rungs: Vec<RungRecord>,
    /// The highest rung without one of the steps (`ablation = true`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ablation: Vec<DropRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RungRecord {
    /// Also the name of the step that leads to it.
    pub contender: String,
    pub changes: Vec<ChangeRecord>,
}

/// What a step does differently from the rung below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRecord {
    pub kind: ChangeKind,
    /// Of the setting; else as `kind`.
    pub name: String,
    /// Absent where the rung below leaves it to the server or to this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Engine,
    Setting,
    Storage,
    Cores,
    Memory,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRecord {
    /// The step that is left out, by its rung.
    pub without: String,
    pub contender: String,
}

impl ChangeRecord {
    /// `innodb_buffer_pool_size = 2G (1G below)`.
    pub fn text(&self) -> String {
        let before = self.before.as_ref().map_or(String::new(), |before| format!(" ({before} below)"));
        format!("{} = {}{before}", self.name, self.after)
    }
}

impl LadderRecord {
    /// The base and all rungs, from the lowest up.
    pub fn contenders(&self) -> Vec<&str> {
        let rungs = self.rungs.iter().map(|rung| rung.contender.as_str());
        std::iter::once(self.base.as_str()).chain(rungs).collect()
    }

    /// The highest rung.
    pub fn top(&self) -> &str {
        self.rungs.last().map_or(&self.base, |rung| &rung.contender)
    }

    /// What stands directly below a rung.
    pub fn below(&self, rung: &str) -> Option<&str> {
        let place = self.rungs.iter().position(|one| one.contender == rung)?;
        Some(place.checked_sub(1).map_or(&self.base, |below| &self.rungs[below].contender))
    }

    /// Is this contender here only to show what steps are worth elsewhere?
    pub fn attributes(&self, contender: &str) -> bool {
        let mut dropped = self.ablation.iter().map(|drop| &drop.contender);
        !self.contenders().contains(&contender) && dropped.any(|one| one == contender)
    }

    /// The contender that another one of this ladder means nothing without.
    pub fn rests_on(&self, contender: &str) -> Option<&str> {
        self.below(contender).or_else(|| self.attributes(contender).then(|| self.top()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_has_the_rung_below_each() {
        let rung = |name: &str| RungRecord { contender: name.into(), changes: vec![] };
        let ladder = LadderRecord {
            base: "base".into(),
            rungs: vec![rung("pool"), rung("log")],
            ablation: vec![DropRecord { without: "pool".into(), contender: "log without pool".into() }],
        };
        let check = |contender: &str, expected: Option<&str>| assert_eq!(ladder.rests_on(contender), expected);
        check("base", None);
        check("pool", Some("base"));
        check("log", Some("pool"));
        check("log without pool", Some("log"));
        check("somebody else", None);
        assert!(ladder.attributes("log without pool") && !ladder.attributes("pool") && !ladder.attributes("base"));
    }
}
