//! Whether a target, and what stands before it, leaves room for a load.

use std::time::Duration;

use anyhow::{Context, Result};
use driver::{Admin, Target};
use engine::counters::SESSIONS;
use engine::limits::{Need, Whose};
use engine::pooler::{Pooler, recognise};
use engine::target_url::TargetKind;
use engine::{Engine, Engines};
use engines::ENGINES;
use terminal::note;

/// Longest login, and longest answer to a question that any server answers at once.
const LIMIT: Duration = Duration::from_secs(30);

/// Fails where a target has too little of something, or a pooler before it lets no such load through; names what may
/// disturb the load, and the pooler.
pub fn expect(kind: TargetKind, target: &Target, admin: &mut Admin, mut need: Need) -> Result<Option<Pooler>> {
    let limits = engine(kind)?.limits();
    // First, because sessions that are opened for the pooler's sake are counted for a moment longer than they last.
    let asked = (limits.ask)(admin)?;
    let pooler = recognise(target, LIMIT).context("cannot see whether a pooler stands before the server")?;
    if let Some(pooler) = &pooler {
        pooler.expect(&need)?;
        need = pooler.leaves(need);
        note(&format!("note: {}", pooler.remark()));
    }
    let disturbing = limits.expect(&asked, &need, Whose::Users)?;
    disturbing.iter().for_each(|text| note(&format!("warning: {text}")));
    Ok(pooler)
}

/// Names how many sessions the server has behind a pooler, where they can be seen.
pub fn note_sessions(kind: TargetKind, target: &Target, pooler: &Pooler, clients: u32) {
    let count = || {
        let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, LIMIT).ok()?;
        let counters = engine(kind).ok()?.observe()?.counters(&mut admin).ok()?;
        counters.state.get(SESSIONS).copied()
    };
    if let Some(count) = count() {
        let name = &pooler.name;
        note(&format!("note: behind {name} the server has {count:.0} sessions for {clients} clients and dbduel's own"));
    }
}

fn engine(kind: TargetKind) -> Result<&'static dyn Engine> {
    Engines(ENGINES).find(kind.engine())
}
