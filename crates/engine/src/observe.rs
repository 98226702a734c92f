//! How a server is observed: what it counts, what it defers, what its clients wait for, how it runs a statement.

use std::collections::BTreeMap;

use anyhow::Result;
use driver::Admin;
use record::format::PlanNode;

use crate::Waits;
use crate::counters::{Counters, DeferredWork};
use crate::plan_switches::PlanSwitch;

/// What an engine shows of a server that runs. What it lacks is absent from reports, never zero.
pub trait Observe: Sync {
    /// What the server has counted and how it stands; what it does not show, or not to this account, is absent.
    fn counters(&self, admin: &mut Admin) -> Result<Counters>;
    /// What of it may be asked once a second while a load runs; None where asking would hinder the load.
    fn sample(&self) -> Option<Sample> {
        None
    }
    /// How it shows what its clients wait for, where it does.
    fn waits(&self) -> Option<Waits> {
        None
    }
    /// How the server would run a statement, which is not run. What the server answers is read here, and nothing of it is
    /// trusted.
    fn explain(&self, admin: &mut Admin, sql: &str) -> Result<Explained>;
    /// What keeps the server from steps of its plans, as settings that it starts with.
    fn plan_switches(&self) -> &'static [PlanSwitch] {
        &[]
    }
    /// What of it shows deferred work.
    fn deferred_work(&self) -> &'static DeferredWork;
    /// How much of that work is left, by the names of [`DeferredWork::amounts`].
    fn outstanding(&self, admin: &mut Admin) -> Result<BTreeMap<&'static str, f64>> {
        let mut state = self.counters(admin)?.state;
        state.retain(|name, _| self.deferred_work().amounts.iter().any(|amount| amount.state == *name));
        Ok(state)
    }
    /// Makes the server do at once what it puts off, on a server of our own; gives the statements that put its
    /// settings back. A statement that does the work itself returns when it is done.
    fn hasten(&self, admin: &mut Admin) -> Result<Vec<String>> {
        let _ = admin;
        Ok(Vec::new())
    }
    /// Whether a session beside the load leaves it alone, with these settings.
    fn can_be_watched(&self, effective: &BTreeMap<String, String>) -> bool {
        let _ = effective;
        true
    }
}

/// Reads the part of the counters that is asked for once a second.
pub type Sample = fn(&mut Admin) -> Result<Counters>;

/// How a server would run a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// As the server reports it.
    pub lines: Vec<String>,
    /// What is read from that; why nothing could be.
    pub tree: Result<PlanNode, String>,
}
