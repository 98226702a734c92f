//! Everything one trial needs, decided beforehand.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use driver::{Isolation, Target};
use engine::request::{PageCache, Transport, WorkCopy};
use load::{Failure, Live, Load, LoadOptions, Rate, Workload};
use record::format::{CheckRecord, PlannedTrial};

use super::environment::Environment;
use super::generator::Generated;
use super::host::ClientCpus;
use super::meeting::Meeting;
use super::plans::Explaining;

/// Everything one trial needs, decided beforehand.
pub struct Trial<'a> {
    pub planned: &'a PlannedTrial,
    pub environment: Environment<'a>,
    pub workload: &'a Arc<dyn Workload>,
    pub clients: u32,
    pub limits: Limits<'a>,
    pub sessions: Sessions,
    pub conditions: Conditions,
    pub interval: Interval,
    /// How transactions arrive; none is a closed loop.
    pub rate: Option<Rate>,
    pub data_seed: u64,
    /// What the queries of `Workload::kept_values` brought on the loaded tables.
    pub loaded: &'a [String],
    pub client_cpus: ClientCpus,
    /// Who makes its load.
    pub generator: &'a dyn Generator,
    /// The statements that the server explains behind the interval, where it is to.
    pub explaining: Option<&'a Explaining>,
    /// Where it meets the other side of its duet; none for a trial that runs alone.
    pub meeting: Option<&'a Meeting>,
    /// The trial's folder in the run.
    pub folder: &'a Path,
    pub interrupted: &'a AtomicBool,
}

/// What the load cannot pass, whatever the server does.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// The most statements a second that the generator reached against a server that does nothing.
    pub ceiling: Option<f64>,
    /// What the way to the server can carry; none where there is no way.
    pub path: Option<&'a CheckRecord>,
}

/// How clients meet the server.
#[derive(Debug, Clone, Copy)]
pub struct Sessions {
    /// Most clients of the whole plan, for which every server is configured.
    pub clients_max: u32,
    pub transport: Transport,
    /// The level of all clients' transactions; none is the server's own.
    pub isolation: Option<Isolation>,
}

/// What the method of an experiment asks of each trial.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    pub page_cache: PageCache,
    pub work_copy: WorkCopy,
    /// After the interval the server's deferred work is waited for.
    pub drain: bool,
    pub duration: Duration,
    /// How long the load behind a crash may take to come back to its rate.
    pub full_rate_within: Duration,
}

/// What part of a load is measured: a time, behind another one to warm up, or the whole of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Without one the clients start where the measured interval does.
    pub warmup: Option<Duration>,
    /// None: until the clients are done.
    pub measured: Option<Duration>,
    /// It ends before its time when so many transactions have ended.
    pub events: Option<u64>,
}

impl Interval {
    /// The method's, behind a warm-up that a pilot may have chosen; a pass and a log have the parts that their clients
    /// know.
    pub fn of(workload: &dyn Workload, conditions: &Conditions, warmup: Duration, events: Option<u64>) -> Interval {
        match (workload.single_pass(), workload.replays()) {
            (Some(pass), _) => Interval { warmup: pass.warm_up(), measured: None, events: None },
            (_, Some(log)) => Interval { warmup: Some(log.warm_up()), measured: None, events: None },
            _ => Interval { warmup: Some(warmup), measured: Some(conditions.duration), events },
        }
    }

    /// Of a pilot every second is wanted: how long a server warms up is what it is for.
    pub fn of_pilot(duration: Duration) -> Interval {
        Interval { warmup: None, measured: Some(duration), events: None }
    }

    /// Warms up, where it does, and returns when the measured part begins, or so long before it where that is known.
    pub(super) fn warm_up(
        &self,
        load: &mut dyn Generated,
        lead: Duration,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), Failure> {
        self.warmup.map_or(Ok(()), |time| load.warm_up(time, live))?;
        load.announce(self.measured, lead, live)
    }
}

/// Makes the loads of trials, one after the other.
pub trait Generator: Sync {
    /// Returns when all clients are connected and wait for their start.
    fn prepare<'t>(
        &'t self,
        trial: &'t Trial<'t>,
        target: &Target,
        options: LoadOptions,
    ) -> Result<Box<dyn Generated + 't>, Failure>;
}

/// This process makes the load.
pub struct ThisProcess;

impl Generator for ThisProcess {
    fn prepare<'t>(
        &'t self,
        trial: &'t Trial<'t>,
        target: &Target,
        options: LoadOptions,
    ) -> Result<Box<dyn Generated + 't>, Failure> {
        Ok(Box::new(Load::prepare(trial.workload, target, options, trial.interrupted)?))
    }
}
