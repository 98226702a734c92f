//! `dbduel selftest --observers`: what sampling costs, as text or JSON.

use anyhow::Context;
use load::Failure as LoadFailure;
use serde_json::json;
use trial::observe::cost::{ALPHA, Answer, COST_MAX, Cost, SLOT_SECS, measure};

use crate::cli::{SelftestArgs, exit};
use crate::commands::{Failure, note, print};

pub fn selftest(args: &SelftestArgs) -> Result<u8, Failure> {
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let cost = match measure(args.blocks, args.seed, &interrupted, &note) {
        Err(error) if error.downcast_ref() == Some(&LoadFailure::Interrupted) => return Ok(exit::INTERRUPTED),
        measured => measured?,
    };
    if args.json {
        let json = serde_json::to_string_pretty(&json(args, &cost)).context("cannot write the figures as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&text(args, &cost))?;
    }
    Ok(if cost.answer() == Answer::Missed { exit::VIOLATION } else { exit::DONE })
}

fn text(args: &SelftestArgs, cost: &Cost) -> String {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let share = format!("{} to {}", percent(1.0 - cost.high), percent(1.0 - cost.low));
    let most = percent(COST_MAX);
    let answer = match cost.answer() {
        Answer::Missed => format!("MISSED: watching costs {share} of throughput, and may cost {most}"),
        Answer::Met => format!("met: watching costs {share} of throughput, and may cost {most}"),
        Answer::Open => format!(
            "not missed, but not shown either: watching costs {share} of throughput, and may cost {most}; more blocks see smaller costs"
        ),
    };
    format!(
        "what the observers cost: {} blocks of {SLOT_SECS} s with them and {SLOT_SECS} s without, in an order drawn by coin,\n\
         of work that keeps every CPU busy; seed {}\n\n\
         throughput with over without: {:.4}x ({:.4}..{:.4}, exact rule, {} % sure, {} blocks)\n\
         the thread that looks once a second: {:.0} us of CPU a second, {:.3} % of {} CPUs\n\n{answer}\n",
        cost.blocks,
        args.seed,
        cost.ratio,
        cost.low,
        cost.high,
        (1.0 - ALPHA) * 100.0,
        cost.blocks,
        cost.cpu_us_per_s,
        cost.cpu_us_per_s / 1e4 / cost.cpus as f64,
        cost.cpus,
    )
}

fn json(args: &SelftestArgs, cost: &Cost) -> serde_json::Value {
    json!({
        "blocks": cost.blocks, "slot_s": SLOT_SECS, "seed": args.seed, "confidence": 1.0 - ALPHA,
        "ratio": cost.ratio, "low": cost.low, "high": cost.high, "cost_max": COST_MAX,
        "observer_cpu_us_per_s": cost.cpu_us_per_s, "cpus": cost.cpus,
        "met": cost.answer() != Answer::Missed, "shown": cost.answer() == Answer::Met,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_beyond_the_bound_is_named_as_missed() {
        let args = SelftestArgs { sim: false, observers: true, blocks: 40, runs: 20, seed: 1, json: false };
        let of = |low: f64, high: f64| {
            text(&args, &Cost { blocks: 40, ratio: (low * high).sqrt(), low, high, cpu_us_per_s: 400.0, cpus: 2 })
        };
        assert!(of(0.990, 0.994).contains("MISSED: watching costs 0.60 % to 1.00 %"));
        assert!(of(0.996, 1.0).contains("400 us of CPU a second, 0.020 % of 2 CPUs"));
    }
}
