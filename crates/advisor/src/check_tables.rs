//! Does every server take the advice that is given for it, and every value that its table offers?
//!
//! Advice for five sizes of machine is put to the server: whole values to the server's own check, which
//! allocates nothing, and then to a real start, where what is set is read back. A start gets sizes as they are
//! where they fit beside everything else on this machine, and cut down where they do not. It measures nothing.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::advice::{Advice, MACHINES, Subject, advise};
use engine::request::Transport;
use engine::tunable::{self, GIB, Machine, Tunable, What, tunables};
use engine::{Cache, Engines, Installation, Resolved, ScratchServer, Site, provision, template};
use record::quantity::{bytes, bytes_text};

const CLIENTS: u32 = 16;
/// To this a size is cut for a start for which there is no room.
const CUT_BYTES: u64 = GIB;

/// What became of one server.
pub struct Checked {
    pub server: String,
    /// One line for each machine and one for the table of settings; none where the server is not here.
    pub lines: Vec<Result<String>>,
}

/// Puts advice and table to the servers whose `kind@version` begins with `name`, as [`engine::selfcheck`] does.
pub fn check_settings(
    engines: Engines,
    name: &str,
    fetch: bool,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Vec<Checked> {
    let checked = |resolved: Resolved| {
        let wanted = fetch || resolved.is_here(cache);
        let lines = match wanted {
            true => check_server(&resolved, cache, progress).unwrap_or_else(|error| vec![Err(error)]),
            false => Vec::new(),
        };
        Checked { server: format!("{} {} ({})", resolved.kind, resolved.version, resolved.source_text()), lines }
    };
    engines.called(name).into_iter().map(checked).collect()
}

fn check_server(resolved: &Resolved, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Vec<Result<String>>> {
    let installation = provision(resolved, cache, progress)?;
    let mut lines: Vec<Result<String>> = Vec::new();
    for machine in MACHINES {
        let size =
            format!("{} / {} / {}", bytes_text(machine.memory_bytes), machine.cores, bytes_text(machine.data_bytes));
        lines.push(
            check_advice(&installation, machine, cache, progress).map(|how| format!("{size}: {how}")).context(size),
        );
    }
    lines.push(check_table(&installation, cache, progress).context("the table of settings"));
    Ok(lines)
}

fn check_advice(
    installation: &Installation,
    machine: Machine,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<String> {
    let subject = Subject { engine: installation.engine(), version: &installation.version, machine, clients: CLIENTS };
    let advice = advise(&subject)?;
    let settings = advice.settings();
    check_in_place(installation, &settings, cache, progress)?;
    let (given, how) = match advice.need_at_last.total_bytes() <= usable_bytes()? {
        true => (settings.clone(), "started as it is".to_owned()),
        false => (
            cut(&advice),
            format!("started with sizes cut to {}, whole ones checked by the server", bytes_text(CUT_BYTES)),
        ),
    };
    start(installation, &given, cache, progress).context("the start")?;
    Ok(format!("{} rungs, {} settings, {how}", advice.rungs.len(), settings.len()))
}

fn check_in_place(
    installation: &Installation,
    settings: &BTreeMap<String, String>,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let work = cache.work()?;
    let data = work.path().join("data");
    template(cache, &work, installation, &BTreeMap::new(), progress)?.restore(&data)?;
    let site = Site { installation, data: &data, scratch: work.path() };
    installation.engine().check_settings(&site, settings).context("the server's own check")
}

/// A third of what is free: others work here, too.
fn usable_bytes() -> Result<u64> {
    use procfs::Current;
    let memory = procfs::Meminfo::current().context("cannot read how much memory is free")?;
    Ok(memory.mem_available.unwrap_or(memory.mem_free) / 3)
}

fn cut(advice: &Advice) -> BTreeMap<String, String> {
    let is_size = |name: &str| {
        let tunable = tunable::find(advice.engine, &advice.version, name);
        tunable.is_some_and(|tunable| matches!(tunable.what, What::Bytes { .. }))
    };
    let mut settings = advice.settings();
    for (name, value) in &mut settings {
        if is_size(name) && bytes(value).is_some_and(|bytes| bytes > CUT_BYTES) {
            *value = advice.engine.tuning().expect("it gave the advice").size_text(CUT_BYTES);
        }
    }
    settings
}

/// Takes a server from a fresh data directory to a clean stop.
fn start(
    installation: &Installation,
    settings: &BTreeMap<String, String>,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let work = cache.work()?;
    let (data, log) = (&work.path().join("data"), &work.path().join("server.log"));
    let scratch = ScratchServer { settings, max_clients: CLIENTS, transport: Transport::Socket, data, log };
    scratch.start(installation, cache, &work, progress)?.stop()
}

/// Each setting's first values together, then the second ones, and so on.
fn check_table(installation: &Installation, cache: &Cache, progress: &dyn Fn(&str)) -> Result<String> {
    let table = tunables(installation.engine(), &installation.version);
    let machine = &MACHINES[2];
    let values: Vec<(&Tunable, Vec<String>)> =
        table.iter().map(|tunable| (*tunable, tunable.values(machine))).collect();
    let rounds = values.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    for round in 0..rounds {
        let chosen = || values.iter().filter_map(|(tunable, values)| Some((*tunable, values.get(round)?)));
        let text = |(tunable, value): (&Tunable, &String)| (tunable.name.to_owned(), value.clone());
        check_in_place(installation, &chosen().map(text).collect(), cache, progress)?;
        // Settings that shape files need a data directory of their own, which old packages bring ready made.
        let startable = chosen().filter(|(tunable, _)| !tunable.needs_reload).map(text).collect();
        start(installation, &startable, cache, progress).with_context(|| format!("a start with {startable:?}"))?;
    }
    let count: usize = values.iter().map(|(_, values)| values.len()).sum();
    let durable = table.iter().filter(|tunable| tunable.touches_durability).count();
    let shaping = table.iter().filter(|tunable| tunable.needs_reload).count();
    Ok(format!(
        "table: {} settings ({durable} can weaken a promise, {shaping} shape files), {count} values, checked by the server and started with",
        table.len()
    ))
}
