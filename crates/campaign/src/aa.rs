//! A/A runs: the first contender of a file against itself, and what other runs take from them.
//!
//! A A/A run is a run like any other; only its plan differs. Here stand what is remembered of it
//! beside the run itself, and what a later run on this host makes of that.

use std::path::{Path, PathBuf};

use anyhow::Result;
use thiserror::Error;

use analysis::aa::{self, Uncovered};
use engine::Cache;
use record::AaHistory;
use record::format::{AaRecord, PlanRecord, RunRecord};

/// Why the A/A tests of this host let no run begin. Who prints it makes the sentence.
#[derive(Debug, Error)]
#[error("the A/A tests of this host do not allow this run")]
pub struct Unfit {
    pub file: PathBuf,
    pub because: UnfitBecause,
}

#[derive(Debug)]
pub enum UnfitBecause {
    /// Too many of the last verdicts found a difference where there is none.
    FalseDifferences { apart: Vec<AaRecord>, verdicts: usize },
    /// Preset strict asks for A/A tests that there are not.
    Uncovered(Vec<Uncovered>),
}

/// Remembers what a A/A run has shown, and reports it; of any other run nothing.
pub fn remember(plan: &PlanRecord, shown: Vec<AaRecord>, print: &dyn Fn(&str)) -> Result<()> {
    if !plan.twins {
        return Ok(());
    }
    let (kept, too_short): (Vec<AaRecord>, Vec<AaRecord>) = shown.into_iter().partition(aa::is_worth_keeping);
    let cache = Cache::open()?;
    if AaHistory::at(&cache.aa_history()).keep(&kept)? > 0 {
        print("kept for later runs on this host, which quote it; `dbduel cache` shows where");
    }
    if kept.is_empty() || !too_short.is_empty() {
        print("with fewer than 8 blocks there is no verdict, and nothing is kept for later runs");
    }
    Ok(())
}

/// The A/A results of this host that a run has to quote. Refuses to begin where they show that the host is unfit
/// and, under preset strict, where there are none yet.
pub fn known(plan: &PlanRecord, run: &RunRecord, cache: &Cache, file: &Path) -> Result<Vec<AaRecord>> {
    if plan.twins || plan.method.preset == "quick" {
        return Ok(Vec::new());
    }
    let host = aa::host_text(&run.host);
    let here: Vec<AaRecord> =
        AaHistory::at(&cache.aa_history()).all()?.into_iter().filter(|one| one.host == host).collect();
    let quotes = aa::quotes(plan, &here, &host);
    if plan.method.preset == "strict" {
        refuse_without_aa(plan, &quotes, file)?;
    }
    let apart = aa::too_many_false_differences(&here);
    if apart.is_empty() {
        return Ok(quotes);
    }
    if plan.method.noisy_host == "refuse" {
        let verdicts = aa::last_verdicts(&here).len();
        return Err(Unfit { file: file.to_owned(), because: UnfitBecause::FalseDifferences { apart, verdicts } }.into());
    }
    // The evidence of the caveat, which the stored run has to hold.
    Ok(aa::last_verdicts(&here).into_iter().flatten().cloned().collect())
}

fn refuse_without_aa(plan: &PlanRecord, quotes: &[AaRecord], file: &Path) -> Result<()> {
    let missing = aa::missing(plan, quotes);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unfit { file: file.to_owned(), because: UnfitBecause::Uncovered(missing) }.into())
}
