//! `dbduel aa`: the first contender of a file against itself.
//!
//! The twin differs in nothing but its name and the paths that it runs under; whatever tells the two
//! apart is this host, or this program.

use super::Experiment;
use record::format::PlanRecord;

/// Blocks of an A/A run, unless the command line says otherwise (method, section 2).
pub const BLOCKS: u32 = 20;

const NAME_PREFIX: &str = "aa-";
const TWIN: &str = "twin";

/// The experiment that the first contender and its twin make.
pub fn of(experiment: Experiment) -> Experiment {
    let Some(first) = experiment.contenders.first().cloned() else { return experiment };
    let mut twin = first.clone();
    twin.name = format!("{} ({TWIN})", first.name);
    Experiment {
        name: format!("{NAME_PREFIX}{}", experiment.name),
        baseline: first.name.clone(),
        contenders: vec![first, twin],
        ladders: Vec::new(),
        gate: None,
        twins: true,
        ..experiment
    }
}

/// What the plan's experiment was called before it became one of twins.
pub fn name_of_the_file(plan: &PlanRecord) -> &str {
    let bare = plan.name.strip_prefix(NAME_PREFIX).filter(|_| plan.twins);
    bare.unwrap_or(&plan.name)
}

impl Experiment {
    /// Whether this contender is the other one's twin.
    pub fn is_twin(&self, contender: &str) -> bool {
        self.twins && contender != self.baseline
    }
}
