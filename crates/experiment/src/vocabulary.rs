//! What an experiment file may name; the program that reads the file hands it in.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use engine::{Engine, Engines};
use load::{OptionError, OptionValue, OwnData, ScaledWorkload, Workload, WorkloadKind, Workloads};
use record::plain_file;

/// The engines and workloads that there are.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub engines: Engines,
    pub workloads: Workloads,
    /// What the load generator sends to a server that does nothing, to measure itself: point selects, or, as one
    /// pass, statements sent as text.
    pub null_load: NullLoad,
    /// What a ladder of advice is measured with.
    pub advised: ScaledWorkload,
    /// Experiments inside the program, by name: they need no file.
    pub shipped: &'static [(&'static str, &'static str)],
}

/// Makes what the load generator sends to measure itself.
pub type NullLoad = fn(one_pass: bool) -> Result<Arc<dyn Workload>, OptionError>;

impl Known {
    pub fn engine(&self, kind: &str) -> Option<&'static dyn Engine> {
        self.engines.find(kind).ok()
    }

    /// The text of an experiment file, or of the experiment inside the program that a name without a file means.
    pub fn source(&self, path: &Path) -> io::Result<String> {
        match self.shipped.iter().find(|(name, _)| path == Path::new(name)) {
            Some((_, text)) if !path.exists() => Ok((*text).to_owned()),
            _ => plain_file::read_text(path, plain_file::TEXT_BYTES_MAX),
        }
    }

    /// A workload's own checks of options of the right name and type: their ranges and values, and what it needs
    /// with them.
    pub fn needs(&self, kind: &WorkloadKind, given: &BTreeMap<String, OptionValue>) -> Result<Needs, OptionError> {
        let workload = kind.with(given)?;
        let spec = workload.spec();
        let not_on = self.engines.0.iter().filter_map(|engine| {
            let refused = workload.runs_on(engine.dialect()).err();
            refused.map(|why| (engine.kind(), why))
        });
        Ok(Needs {
            clients: spec.clients,
            one_pass: workload.is_one_pass(),
            replays: workload.replays().is_some(),
            log_writes: workload.replays().and_then(load::Replays::writes),
            rests: spec.rests.is_some(),
            keeps_its_size: spec.keeps_its_size,
            not_on: not_on.collect(),
            own_data: spec.own_data,
        })
    }
}

/// What a workload needs, its options decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Clients, where the workload needs a number of its own.
    pub clients: Option<u32>,
    /// It runs once through: it has its clients, and takes the time it takes.
    pub one_pass: bool,
    /// It replays a log.
    pub replays: bool,
    /// A statement of the log that may change data.
    pub log_writes: Option<String>,
    /// Its clients rest between transactions on purpose.
    pub rests: bool,
    /// Its tables are as large after a run as before.
    pub keeps_its_size: bool,
    /// Engines that it cannot run on, and why not.
    pub not_on: Vec<(&'static str, String)>,
    /// What the user brings in place of loaded tables.
    pub own_data: Option<OwnData>,
}
