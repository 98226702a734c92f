//! Numbers in, numbers out: the statistics of dbduel.
//!
//! Everything here is a pure function of its arguments. Nothing reads a file, a clock or the
//! environment, and random numbers come only from a seed the caller gives, so the same stored run
//! always gives the same verdict. The unit of evidence is the block: a slice named `log_ratios`
//! holds one natural logarithm of candidate over baseline per block, in block order.
//!
//! The module does not depend on servers, metrics or reports.

mod change_points;
mod chi_square;
mod describe;
mod level_changes;
mod missing;
mod power;
mod race;
pub mod random;
mod rule;
mod seconds;
mod several;
pub mod simulation;
mod slope;
mod steady;
mod unpaired;
mod usl;

pub use change_points::{ChangePoint, ChangePointRules, LEVEL_LEAST, change_points};
pub use chi_square::chi_square_p;
pub use describe::{
    Interval, MedianInterval, hodges_lehmann, mean, median_interval, population_sd, sd, t_interval, t_quantile,
};
pub use level_changes::level_changes;
pub use missing::{INCOMPLETE_SHARE_MAX, Pair, completed, outages_forbid, with_deferred_work};
pub use power::{blocks_needed, minimum_detectable_effect, sign_flip_p, sign_test_p};
pub use race::{Out, Race, RaceRules, Runner};
pub use rule::{Basis, FIRST_LOOK, Judge, Judgement, Rule, RuleKind, Verdict};
pub use seconds::{autocorrelation, best_duration_s, sd_between_trials, sd_of_a_second};
pub use several::{PeakComparison, max_t, peak_against_peak, screening, screening_blocks};
pub use slope::{Slope, theil_sen};
pub use steady::{Trend, half_log_ratio, warm_up_needed};
pub use unpaired::difference_interval;
pub use usl::{Usl, UslFit, UslRefusal, fit_usl};
