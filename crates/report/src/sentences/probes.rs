//! Checks of the load generator and cause tests: what they showed, and what they lack.

use analysis::contrast::BLOCKS as CAUSE_TEST_BLOCKS;
use analysis::doubling::{BLOCKS as HEADROOM_BLOCKS, Doubled, HeadroomCheck};
use record::format::figures::signed_percent;
use record::format::{ContrastRecord, point_text};

use super::causes::setting;

pub fn headroom(one: &Doubled) -> String {
    format!("{} at {}, {}: {}", one.contender, point_text(&one.point), one.workload, signed_percent(one.rise, 1))
}

pub fn headroom_unfinished(one: &HeadroomCheck) -> String {
    let (done, point) = (one.doubled.len(), point_text(&one.point));
    format!("{} at {point}, {}: {done} of {HEADROOM_BLOCKS} blocks", one.contender, one.workload)
}

pub fn cause_test_unfinished(one: &ContrastRecord) -> String {
    let (what, point, done) = (setting(one.contrast), point_text(&one.point), one.candidate_values.len());
    format!("with {what}: {} at {point}, {}: {done} of {CAUSE_TEST_BLOCKS} blocks", one.candidate, one.workload)
}
