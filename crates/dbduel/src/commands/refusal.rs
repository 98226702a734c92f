//! Why a contender cannot be measured: what it rests on, what it asks for, and the nearest that there is.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};
use procfs::Current;

use crate::engine::{Cache, FreshStart, Installation, WorkFolder, memory_need, nearest_known};
use crate::experiment::{Contender, Experiment, Transport};
use crate::trial::dataset;

/// What a server says itself when it takes a setting and ignores it; then there is nothing to add.
const TOLD_ALREADY: &str = "none of that name";

/// Fails for a contender that means nothing without another one, which cannot be measured.
pub fn expect_what_it_rests_on(
    experiment: &Experiment,
    contender: &str,
    is_refused: impl Fn(&str) -> bool,
) -> Result<()> {
    for ladder in &experiment.ladders {
        if let Some(below) = ladder.rests_on(contender).filter(|below| is_refused(below)) {
            bail!("it builds on `{below}`, which cannot be measured");
        }
    }
    Ok(())
}

/// Fails for a contender whose settings ask for more memory than it has.
pub fn expect_memory(contender: &Contender, installation: &Installation, clients: u32) -> Result<()> {
    let host = procfs::Meminfo::current().context("cannot see how much memory this host has")?.mem_total;
    let memory = contender.memory_bytes.map_or(host, |bytes| bytes.min(host));
    memory_need::fits(installation.kind, &installation.version, &contender.settings, clients, memory)
}

/// The error, and for every setting that this server has none of the nearest one that it has.
pub fn explained(
    error: Error,
    contender: &Contender,
    installation: &Installation,
    cache: &Cache,
    work: &WorkFolder,
    log: &Path,
) -> Error {
    if contender.settings.is_empty() || installation.is_embedded() || format!("{error:#}").contains(TOLD_ALREADY) {
        return error;
    }
    let Ok(known) = known_settings(installation, cache, work, log) else { return error };
    let missing = nearest_known(installation.kind, &contender.settings, &known).into_iter().map(|(name, near)| {
        let near = near.map_or(String::new(), |near| format!("; the nearest there is `{near}`"));
        format!("\nsetting `{name}`: {} {} has {TOLD_ALREADY}{near}", installation.kind, installation.version)
    });
    let missing: String = missing.collect();
    if missing.is_empty() { error } else { anyhow!("{error:#}{missing}") }
}

/// All settings of a server, as it has them by itself.
fn known_settings(
    installation: &Installation,
    cache: &Cache,
    work: &WorkFolder,
    log: &Path,
) -> Result<BTreeMap<String, String>> {
    let (settings, data) = (&BTreeMap::new(), &work.path().join("look"));
    dataset::remove(data)?;
    let fresh = FreshStart { settings, max_clients: 1, transport: Transport::Socket, data, log };
    let server = fresh.start(installation, cache, work, &|_| ())?;
    let known = server.effective_settings().clone();
    server.stop()?;
    dataset::remove(data)?;
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::experiment;
    use crate::store::format::ladder::{LadderRecord, RungRecord};

    #[test]
    fn what_builds_on_a_refused_rung_is_refused_with_it() {
        let rung = |name: &str| RungRecord { contender: name.into(), changes: vec![] };
        let rungs = vec![rung("one"), rung("two")];
        let ladder = LadderRecord { base: "base".into(), rungs, ablation: vec![], orders: vec![] };
        let mut experiment = experiment(&["base", "one", "two", "other"], &[], 8, 1);
        experiment.ladders.push(ladder);
        let check = |contender: &str| expect_what_it_rests_on(&experiment, contender, |name| name == "one");
        assert!(check("base").is_ok() && check("one").is_ok() && check("other").is_ok());
        assert!(check("two").unwrap_err().to_string().contains("builds on `one`"));
    }
}
