//! Starts the incumbent's server with the values that a search would try, and names those that it refuses.
//!
//! Nothing is loaded and nothing measured. The host is held meanwhile as for a measurement, because starts of a
//! server would disturb one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Error, Result};

use crate::draft::Draft;
use crate::values;
use engine::interruption::ending_servers;
use engine::{Cache, Installation, ScratchServer, WorkFolder, provision};
use experiment::resolve;
use record::format::tuning::RefusedRecord;
use trial::{Interrupted, dataset, host};

/// The values of a draft's space that its incumbent's server does not start with.
pub fn refused(draft: &Draft, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<Vec<RefusedRecord>> {
    let found = ending_servers(interrupted, || ask(draft, interrupted, print));
    // A failure because an interrupt ended the server is not reported.
    if interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { found }
}

fn ask(draft: &Draft, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<Vec<RefusedRecord>> {
    let _lock = host::lock(&draft.experiment.name, None, interrupted, print)?;
    let (incumbent, cache) = (draft.incumbent(), Cache::open()?);
    let installation = provision(&resolve(incumbent)?, &cache, print)?;
    let work = cache.work_on(&incumbent.storage)?;
    print(&format!("starting `{}` with the values that may be tried", incumbent.name));
    let server = Server { draft, print, installation, cache, data: work.path().join("values"), work };
    let has_checked_itself = Cell::new(false);
    let mut starts = |moved: &BTreeMap<String, String>| -> Result<Result<(), String>> {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        if let Err(why) = draft.fits(moved) {
            // Alone its message names the candidates that have it; the others may be in smaller company.
            return Ok(if moved.len() == 1 { Ok(()) } else { Err(why) });
        }
        let Err(error) = server.start(moved) else { return Ok(Ok(())) };
        // Where it does not start at all, no value is at fault.
        if !has_checked_itself.replace(true) {
            server.start(&BTreeMap::new()).with_context(|| format!("cannot start contender `{}`", incumbent.name))?;
        }
        Ok(Err(why(&error)))
    };
    values::refused(&draft.space(), &mut starts)
}

/// The output of the server. Its log goes with the work folder, so the message does not point there.
fn why(error: &Error) -> String {
    let message = format!("{error:#}");
    let lines: Vec<&str> = message.lines().filter(|line| !line.trim_start().starts_with("see: ")).collect();
    lines.join("\n")
}

struct Server<'a> {
    draft: &'a Draft,
    print: &'a dyn Fn(&str),
    installation: Installation,
    cache: Cache,
    data: PathBuf,
    work: WorkFolder,
}

impl Server<'_> {
    /// Takes it from a fresh data directory to a clean stop; what is set is read back meanwhile.
    fn start(&self, moved: &BTreeMap<String, String>) -> Result<()> {
        let (settings, log) = (&self.draft.with(moved), &self.work.path().join("values.log"));
        let experiment = &self.draft.experiment;
        dataset::remove(&self.data)?;
        let (max_clients, transport) = (experiment.clients_max(), experiment.transport);
        let scratch = ScratchServer { settings, max_clients, transport, data: &self.data, log };
        scratch.start(&self.installation, &self.cache, &self.work, self.print)?.stop()
    }
}
