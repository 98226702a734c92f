//! How a server runs a statement: its own answer, and the shape that is read from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server's answer to how it would run a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementPlan {
    /// The same for all engines.
    pub statement: String,
    /// Absent where it holds values that a report must not show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sql: String,
    /// As the server reports it; empty where it did not, and where it holds such values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The same without estimates, line by line: of runs before there were trees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<String>,
    /// What is compared. Absent in older runs, and where there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<PlanNode>,
    /// Why there is no answer, or none that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl StatementPlan {
    /// The tree; of an older run its lines, one below the other.
    pub fn root(&self) -> Option<PlanNode> {
        let of_lines = || {
            let nodes = self.shape.iter().map(|line| PlanNode::of(line.trim()));
            (!self.shape.is_empty()).then(|| PlanNode { children: nodes.collect(), ..PlanNode::of(QUERY) })
        };
        self.tree.clone().or_else(of_lines)
    }
}

/// The operator of what holds the tables of a SELECT, an UPDATE and so on, where the server has no name for it.
pub const QUERY: &str = "query";

/// One step of a plan, above the steps that it takes its rows from. What is estimated is shown and never compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanNode {
    /// What it does, or how it reads its table: `range`, `full scan`, `Hash Join`, `SEARCH`.
    pub operator: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The index has all that is asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub index_only: bool,
    /// How its rows meet those of the tables before it, where it is no plain nested loop: `hash join`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sort: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub temporary_table: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub parallel: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_rows: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<PlanNode>,
}

impl PlanNode {
    pub fn of(operator: &str) -> PlanNode {
        PlanNode { operator: operator.to_owned(), ..PlanNode::default() }
    }

    /// Whether both do the same, whatever is estimated and whatever is below them.
    pub fn does_the_same(&self, other: &PlanNode) -> bool {
        let bare = |node: &PlanNode| PlanNode {
            estimated_rows: None,
            estimated_cost: None,
            children: Vec::new(),
            ..node.clone()
        };
        bare(self) == bare(other)
    }

    /// All nodes, those below before those above: in the order in which their rows come.
    pub fn from_below(&self) -> Vec<&PlanNode> {
        let mut found: Vec<&PlanNode> = self.children.iter().flat_map(PlanNode::from_below).collect();
        found.push(self);
        found
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
