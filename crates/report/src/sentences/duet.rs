//! What a duet's ratio rests on.

use analysis::{HeadToHead, Shared, Unfounded, less_is_better};
use record::blocks::SOLO_BLOCKS;

/// Goes on from "because" and "does not hold".
pub fn unfounded(why: &Unfounded) -> String {
    match *why {
        Unfounded::PhysicalCoresNotKnown => "physical cores per side are not known".to_owned(),
        Unfounded::TooFewPhysicalCores { least } => format!("fewer than {least} physical cores per side"),
        Unfounded::NotVisible(what) => format!("{} is not visible here", shared(what)),
        Unfounded::Busy { what, share, allowed } => {
            format!("{} {:.1} %, and below {:.0} % is allowed", shared(what), share * 100.0, allowed * 100.0)
        }
        Unfounded::DataSizeNotKnown => "how large the data of both sides are is not known".to_owned(),
        Unfounded::DataLargerThanMemory => "the data of both sides together do not fit the memory".to_owned(),
        Unfounded::DataNotInMemory { share } => {
            format!("only {:.0} % of the data were in memory at the start", share * 100.0)
        }
        Unfounded::SoloBlocksMissing { blocks, has_interval } => {
            let interval = if has_interval { "" } else { ", or no interval" };
            format!("the bias check has {blocks} of {SOLO_BLOCKS} solo blocks{interval}")
        }
        Unfounded::Biased { alone: (low, high), duet: (from, to) } => format!(
            "alone, contenders had a ratio of {low:.3} to {high:.3}, which does not meet {from:.3} to {to:.3} of the duet"
        ),
    }
}

fn shared(what: Shared) -> &'static str {
    match what {
        Shared::Iowait => "iowait",
        Shared::BusiestDisk => "busiest disk",
        Shared::Cpu => "busy CPU time of the host",
    }
}

/// What contenders that ran alone showed; none for what is no duet.
pub fn solo(duel: &HeadToHead) -> Option<String> {
    let solo = duel.solo?;
    let shown = solo.ratio.map_or("no ratio yet".to_owned(), |[ratio, low, high]| {
        format!("ratio {ratio:.3} (95 % t interval {low:.3} to {high:.3})")
    });
    let better = if less_is_better(&duel.overall.metric) { " (above 1: less time)" } else { "" };
    Some(format!("{}, {} alone, {} blocks: {shown}{better}", duel.candidate, duel.overall.workload, solo.blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_that_does_not_hold_has_its_sentence() {
        let check = |why: Unfounded, expected: &str| assert_eq!(unfounded(&why), expected);
        check(
            Unfounded::Busy { what: Shared::Iowait, share: 0.03, allowed: 0.02 },
            "iowait 3.0 %, and below 2 % is allowed",
        );
        check(Unfounded::NotVisible(Shared::BusiestDisk), "busiest disk is not visible here");
        check(Unfounded::SoloBlocksMissing { blocks: 3, has_interval: true }, "the bias check has 3 of 4 solo blocks");
        check(Unfounded::DataNotInMemory { share: 0.5 }, "only 50 % of the data were in memory at the start");
    }
}
