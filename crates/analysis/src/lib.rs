//! What it means: stored records in, conclusions out.
//!
//! Everything here is pure: no file, no clock, and random numbers only from the plan's seed, so an
//! old run can be judged again and gets the same verdict. The statistics themselves live in the
//! `stats` crate; this module decides which numbers are paired, how much error each comparison may
//! spend, and what weakens a verdict. It does not depend on layout, and reports do not depend on statistics.
//!
//! What must stay true: no trial is left out because of its result. A failed trial takes its pair
//! away, and enough of those take the verdict away.

pub mod aa;
mod comparison;
mod conclude;
mod conclusions;
mod conditions;
mod deferred;
mod diagnosis;
pub mod differences;
mod duet;
pub mod durability;
mod finding;
mod findings;
pub mod flame_graph;
pub mod gate;
pub mod headroom;
pub mod history;
mod host;
mod index;
pub mod json;
mod ladder;
pub mod latency_windows;
mod missing;
mod named;
mod operations;
mod overall;
pub mod plan_causes;
pub mod plan_changes;
pub mod plan_tests;
pub mod race;
mod scaling;
mod scope;
mod steady_state;
pub mod timeline;
mod transaction_kinds;
mod values;
mod variation;
pub mod workers;

pub use comparison::{Caveat, Comparison, Difference, FlagImbalance, QUICK_BELOW_S, Unflagged, Verdict};
pub use conclude::{SECONDARY_METRIC, SoFar, conclude, conclude_with_seconds, never_ok, should_stop, so_far};
pub use conclusions::{Conclusions, FlagCount, HeadToHead, MetricComparison, Tally, WorkloadConclusions};
pub use conditions::{EndReason, FAILURES_UNTIL_GIVEN_UP, given_up};
pub use deferred::WorkLeft;
pub use diagnosis::{
    Cause, CauseKind, CauseTest, Change, Cost, Diagnosis, GapChange, Grade, Measure, Observed, Ratio, Side,
    TestOutcome, cause_test,
};
pub use duet::{Shared, Solo, Unfounded};
pub use finding::{BehindPooler, Facts, Finding, FindingKind, Lost, WorkDiffers};
pub use host::{Watched, watched};
pub use index::{Cell, Summary};
pub use ladder::{Gain, Interaction, Ladder, LevelChange, Rung, Stage, StageKind};
pub use missing::Missing;
pub use operations::{COLLECTED_SECONDS, Explained, LeftOut, LeftOutBecause, Part, PartKind, Parts, ResultsDiffer};
pub use overall::{Best, Deferring, Peak};
pub use record::metric::HOST_FLAGS;
pub use scaling::{Estimate, Law, LawRatio, Scaling, Step};
pub use steady_state::{Growth, Trend};
pub use transaction_kinds::{Kind, kinds};
pub use values::less_is_better;
pub use variation::{OrderEffect, SERIES_COLUMN, Variation, spread};

#[cfg(test)]
mod tests;
