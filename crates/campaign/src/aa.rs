//! A/A runs: the first contender of a file against its twin, and what other runs take from it.
//!
//! A run of twins is a run like any other; only its plan differs. Here stand what is remembered of it
//! beside the run itself, and what a later run on this host makes of that.

use std::path::Path;

use anyhow::{Result, bail};

use analysis::twins;
use engine::Cache;
use experiment::shell_path;
use record::Twins;
use record::format::{PlanRecord, RunRecord, TwinsRecord};

/// Remembers what a run of twins has shown, and says so; of any other run nothing.
pub fn remember(plan: &PlanRecord, shown: Vec<TwinsRecord>, say: &dyn Fn(&str)) -> Result<()> {
    if !plan.twins {
        return Ok(());
    }
    let (kept, too_short): (Vec<TwinsRecord>, Vec<TwinsRecord>) = shown.into_iter().partition(twins::is_worth_keeping);
    let cache = Cache::open()?;
    if Twins::at(&cache.twins()).keep(&kept)? > 0 {
        say("kept for later runs on this host, which quote it; `dbduel cache` shows where");
    }
    if kept.is_empty() || !too_short.is_empty() {
        say("with fewer than 8 blocks there is no verdict, and nothing is kept for later runs");
    }
    Ok(())
}

/// What twins have shown on this host that a run has to quote. Refuses to begin where they say that this
/// host cannot judge, and, under preset strict, where they say nothing yet.
pub fn known(plan: &PlanRecord, run: &RunRecord, cache: &Cache, file: &Path) -> Result<Vec<TwinsRecord>> {
    if plan.twins || plan.method.preset == "quick" {
        return Ok(Vec::new());
    }
    let host = twins::host_text(&run.host);
    let here: Vec<TwinsRecord> = Twins::at(&cache.twins()).all()?.into_iter().filter(|one| one.host == host).collect();
    let quotes = twins::quotes(plan, &here, &host);
    if plan.method.preset == "strict" {
        refuse_without_twins(plan, &quotes, file)?;
    }
    let apart = twins::too_many_told_apart(&here);
    if apart.is_empty() {
        return Ok(quotes);
    }
    if plan.method.noisy_host == "refuse" {
        bail!(
            "this host is too noisy to compare servers: {} of the last {} A/A tests found a difference, and chance allows {}\n    {}\n  next: look for what differs between one half hour and the next (neighbours, clock speed, background work), run `dbduel aa {}` until it finds no difference, or measure all the same with --accept-noisy",
            apart.len(),
            twins::last_verdicts(&here).len(),
            twins::TOLD_APART_MAX,
            apart.join("\n    "),
            shell_path(file)
        );
    }
    // The evidence of the caveat, which the stored run has to hold.
    Ok(twins::last_verdicts(&here).into_iter().flatten().cloned().collect())
}

fn refuse_without_twins(plan: &PlanRecord, quotes: &[TwinsRecord], file: &Path) -> Result<()> {
    let missing = twins::missing(plan, quotes);
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "preset strict needs an A/A test that found no difference, on this host and under this workload:\n    {}\n  next: `dbduel aa {}`, or choose preset standard",
        missing.join("\n    "),
        shell_path(file)
    )
}
