//! What a verdict and a caveat behind it mean, without the figures of a run.

use analysis::{Caveat, Verdict};

pub fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "The candidate is faster; at most 5 % of such verdicts are false.",
        Verdict::Slower => "The candidate is slower; at most 5 % of such verdicts are false.",
        Verdict::NoDifferenceShown => "The whole interval lies within the margin (1 % unless `margin` sets another).",
        Verdict::Inconclusive => {
            "The interval is too wide, or something weakens the run so much that no verdict is given. The report names \
             the reason and the blocks that would decide."
        }
        Verdict::Mixed => "Over all load levels only: faster at one level and slower at another.",
    }
}

/// A sentence of trials that are as long as the log that they replay: no key makes them longer.
pub fn of_replay(text: String) -> String {
    match text.rsplit_once(" Use ") {
        Some((shown, advice)) if advice.contains("`duration") => format!("{shown} Use a longer log."),
        _ => text,
    }
}

/// A sentence, and what to do.
pub fn caveat(caveat: Caveat) -> &'static str {
    match caveat {
        Caveat::Quick => "This is a first look. Use `--preset standard` for a result to act on.",
        Caveat::T => "Verdicts rest on Student's t, which assumes that log ratios are nearly normal.",
        Caveat::Duet => "Both servers ran at the same time: ratios hold for servers that share a host.",
        Caveat::NoisyHost => "Repeat the run on a quiet host to be sure.",
        Caveat::SharedCores => "Client and server shared the cores: peak throughput holds for this machine.",
        Caveat::DurabilityDiffers => {
            "The contenders do not promise the same durability; the verdict names the classes."
        }
        Caveat::GeneratorBound => "The difference may be larger than measured. Give the load generator more cores.",
        Caveat::Outages => "In some trials nothing was committed; they count as the worst.",
        Caveat::Unsteady => "Throughput still rose or fell inside the trials. Use a longer `warmup` or `duration`.",
        Caveat::DeferredWork => "With the time that deferred work takes, the other contender is ahead.",
        Caveat::Accumulating => {
            "Deferred work (unflushed pages, WAL since the last checkpoint) changed in every trial: longer trials may \
             show another throughput. Use `duration = \"120s\"`."
        }
        Caveat::Short => "Steady-state differences may be missed. Use `duration = \"120s\"`.",
        Caveat::FailedTrials => "Pairs with a failed trial are missing.",
        Caveat::TooFewBlocks => "A verdict needs 8 blocks (rule t: 4).",
        Caveat::BudgetEnded => "The run stopped at its budget: more time narrows the interval.",
        Caveat::FlagDependent => {
            "Without the blocks that the host disturbed the verdict is another one: repeat the run on a quiet host."
        }
        Caveat::Screening => "With so many operations one verdict in twenty is false on average.",
        Caveat::Unpaired => "The runs were not interleaved: ratios, never a verdict.",
    }
}
