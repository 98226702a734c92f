//! Experiments made up for tests, of this crate and of those above it.

use std::collections::BTreeMap;
use std::time::Duration;

use std::sync::Arc;

use driver::{Admin, AnyConnection, Dialect, Error, RowSink};
use engine::Engines;
use engines::ENGINES;
use load::{
    Audit, ClientFuture, Interarrival, KeepsLedger, OptionError, OptionSpec, OptionValue, ScaledWorkload, SinglePass,
    Slot, Table, Tally, Witnessed, Workload, WorkloadKind, WorkloadSpec, Workloads,
};
use record::format::RuleName;

use crate::plan::{Plan, ResolvedFacts};
use crate::*;

/// The engines that there are, and three workloads that are only read about.
pub fn known() -> Known {
    Known {
        engines: Engines(ENGINES),
        workloads: Workloads(&KINDS),
        null_load: |one_pass| Ok(Arc::new(Unmoved { one_pass, ..Unmoved::default() })),
        advised: ScaledWorkload { kind: &KINDS[0], scale: "rows" },
        shipped: &[],
    }
}

static KINDS: [WorkloadKind; 3] = [
    WorkloadKind {
        name: "oltp_read_write",
        description: "",
        example: "",
        options: &[
            OptionSpec::new("rows", "100000", "rows of each table").alias(&["table_size"]),
            OptionSpec::new("skip_trx", "false", "no BEGIN and COMMIT"),
            OptionSpec::new("compat", "none", "whose rules to follow"),
            OptionSpec::new("rand_type", "uniform", "distribution").beside_compat("special"),
            OptionSpec::new("rand_zipfian_exp", "0.8", "exponent"),
        ],
        build: |options| match options.number("rows", 0, u64::from(u32::MAX))? {
            0 => Err(OptionError::new("rows", "at least one row was expected")),
            rows => Ok(Box::new(Unmoved { rows, ..Unmoved::default() })),
        },
    },
    WorkloadKind {
        name: "sql-bench",
        description: "",
        example: "",
        options: &[
            OptionSpec::new("programs", "[]", "programs to run"),
            OptionSpec::new("small", "false", "shorter loops"),
            OptionSpec::new("scripts", load::ITEMS, "files to run").paths(&["path"]),
        ],
        build: |_| Ok(Box::new(Unmoved { one_pass: true, ..Unmoved::default() })),
    },
    WorkloadKind {
        name: "ledger",
        description: "",
        example: "",
        options: &[],
        build: |_| Ok(Box::new(Unmoved { keeps_ledger: true, ..Unmoved::default() })),
    },
];

/// What the check of the one with a ledger reads.
pub const CHECKED_BYTES: u64 = 700 << 20;

/// A workload of so many rows that is never run.
#[derive(Default)]
struct Unmoved {
    rows: u64,
    one_pass: bool,
    keeps_ledger: bool,
}

impl Workload for Unmoved {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec { clients: self.one_pass.then_some(1), ..WorkloadSpec::reading(self.rows.to_string()) }
    }
    fn tables(&self, _: Dialect) -> Vec<Table> {
        Vec::new()
    }
    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn data_bytes(&self, _: Dialect) -> u64 {
        self.rows * 260
    }
    fn checked_bytes(&self, _: Dialect) -> u64 {
        if self.keeps_ledger { CHECKED_BYTES } else { 0 }
    }
    fn client(&self, _: Slot, _: AnyConnection) -> Result<ClientFuture, Error> {
        Ok(Box::pin(std::future::ready(Ok(()))))
    }
    fn check(&self, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
    fn single_pass(&self) -> Option<&dyn SinglePass> {
        self.one_pass.then_some(self)
    }
    fn keeps_ledger(&self) -> Option<&dyn KeepsLedger> {
        self.keeps_ledger.then_some(self)
    }
}

impl KeepsLedger for Unmoved {
    fn options(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    fn audit(&self, _: &mut Admin, _: &[Witnessed<'_>]) -> Result<Audit, Error> {
        Ok(Audit::default())
    }
}

impl SinglePass for Unmoved {
    fn parts(&self) -> Vec<&'static str> {
        Vec::new()
    }
    fn operations(&self) -> usize {
        0
    }
    fn expected_duration(&self) -> Duration {
        Duration::from_secs(60)
    }
}

pub fn contender(name: &str) -> Contender {
    Contender {
        name: name.to_owned(),
        engine: "mysql@5.6.24".to_owned(),
        kind: known().engine("mysql").expect("mysql is an engine"),
        version: VersionRequest::Series("5.6.24".to_owned()),
        origin: Origin::Managed,
        settings: BTreeMap::from([("innodb_buffer_pool_size".to_owned(), "256M".to_owned())]),
        storage: Storage::Disk,
        transport: None,
        cores: None,
        memory_bytes: None,
    }
}

fn workload(label: &str) -> WorkloadChoice {
    WorkloadChoice {
        label: label.to_owned(),
        kind: &KINDS[0],
        options: BTreeMap::new(),
        in_force: BTreeMap::from([("rows".to_owned(), OptionValue::Number(100_000))]),
        one_pass: false,
        replays: false,
        isolation: None,
        rate: None,
        events: None,
        arrivals: Interarrival::default(),
        data_seed: 1,
        keeps_its_size: true,
        clients: 16,
        clients_at: BTreeMap::new(),
        ledger: None,
        kills: 0,
        loads: 0,
    }
}

pub fn experiment(contenders: &[&str], points: &[u64], blocks: u32, seed: u64) -> Experiment {
    let method = Method {
        preset: "standard".to_owned(),
        duration: Duration::from_secs(60),
        warmup: Duration::from_secs(30),
        rule: RuleName::Exact,
        blocks,
        margin: 0.01,
        budget: None,
        seed,
        stop: Stop::Overall,
        noisy_host: NoisyHost::Refuse,
        page_cache: PageCache::Warm,
        work_copy: WorkCopy::Full,
        duet: false,
        fast_sweep: false,
        pilot: None,
        steady_state: false,
        drain: false,
        repeats: false,
        doubling: false,
        contrast: false,
        diagnose: false,
        changed: Vec::new(),
    };
    Experiment {
        name: "test".to_owned(),
        question: None,
        baseline: contenders[0].to_owned(),
        contenders: contenders.iter().map(|name| contender(name)).collect(),
        ladders: vec![],
        workloads: vec![workload("first"), workload("second")],
        sweep: (!points.is_empty()).then(|| Sweep {
            variable: "clients".to_owned(),
            values: points.to_vec(),
            crowds: None,
        }),
        method,
        transport: Transport::Socket,
        client_cores: None,
        cluster: None,
        gate: None,
        recovery: None,
        labels: Labels::new(),
        twins: false,
        set: Settings::new(),
        text: String::new(),
        remarks: Vec::new(),
    }
}

pub fn plan_of(experiment: &Experiment) -> Plan {
    let facts =
        ResolvedFacts { version: "5.6.24".into(), source: "a test".into(), own_settings: BTreeMap::new(), image: None };
    Plan::new(experiment, &vec![facts; experiment.contenders.len()], &[("steal", 0.01)])
}
