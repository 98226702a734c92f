//! `dbduel aa`: the first contender of a file against itself.
//!
//! The second contender differs in nothing but its name and the paths that it runs under; a difference between
//! the two comes from this host or from this program.

use super::Experiment;
use record::format::PlanRecord;

/// Blocks of an A/A run, unless the command line sets another number (method, section 2).
pub const BLOCKS: u32 = 20;

const NAME_PREFIX: &str = "aa-";
const SECOND: &str = "twin";

/// The experiment of the first contender against itself.
pub fn of(experiment: Experiment) -> Experiment {
    let Some(first) = experiment.contenders.first().cloned() else { return experiment };
    let mut second = first.clone();
    second.name = format!("{} ({SECOND})", first.name);
    Experiment {
        name: format!("{NAME_PREFIX}{}", experiment.name),
        baseline: first.name.clone(),
        contenders: vec![first, second],
        ladders: Vec::new(),
        gate: None,
        twins: true,
        ..experiment
    }
}

/// The name of the plan's experiment before it became an A/A run.
pub fn name_of_the_file(plan: &PlanRecord) -> &str {
    let bare = plan.name.strip_prefix(NAME_PREFIX).filter(|_| plan.twins);
    bare.unwrap_or(&plan.name)
}

impl Experiment {
    /// Whether this contender is the second one of an A/A run.
    pub fn is_second_of_aa(&self, contender: &str) -> bool {
        self.twins && contender != self.baseline
    }
}
