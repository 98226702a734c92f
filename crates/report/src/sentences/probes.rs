//! Checks of the load generator and cause tests: what they showed, and what they lack.

use analysis::cause_test::BLOCKS as CAUSE_TEST_BLOCKS;
use analysis::headroom::{BLOCKS as HEADROOM_BLOCKS, Doubled, HeadroomCheck};
use record::format::figures::signed_percent;
use record::format::{ContrastKind, ContrastRecord, Failure, point_text};

pub fn headroom(one: &Doubled) -> String {
    format!("{} at {}, {}: {}", one.contender, point_text(&one.point), one.workload, signed_percent(one.rise, 1))
}

pub fn headroom_unfinished(one: &HeadroomCheck) -> String {
    let (done, point) = (one.doubled.len(), point_text(&one.point));
    format!("{} at {point}, {}: {done} of {HEADROOM_BLOCKS} blocks", one.contender, one.workload)
}

/// Why a cause test did not come about, or not to its end.
pub fn stopped(one: &ContrastRecord) -> Option<String> {
    let failed = one.failed.as_ref().map(|(contender, failure)| trial_failed(contender, failure));
    one.refused.clone().or(failed)
}

pub fn trial_failed(contender: &str, failure: &Failure) -> String {
    format!("a trial of `{contender}` failed at `{}`: {}", failure.step, failure.message)
}

pub fn cause_test_unfinished(one: &ContrastRecord) -> String {
    let (what, point, done) = (setting(one.contrast), point_text(&one.point), one.candidate_values.len());
    format!("with {what}: {} at {point}, {}: {done} of {CAUSE_TEST_BLOCKS} blocks", one.candidate, one.workload)
}

/// What both contenders are without in a cause test.
pub fn setting(contrast: ContrastKind) -> &'static str {
    match contrast {
        ContrastKind::Tmpfs => "the data of both on tmpfs",
        ContrastKind::OneClient => "one client",
        ContrastKind::OtherPlan => "steps that only one plan has switched off",
    }
}
