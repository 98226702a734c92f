//! Experiments made up for tests, of this crate and of those above it.

use std::collections::BTreeMap;
use std::time::Duration;

use load::{Gaps, OptionValue};
use record::format::RuleName;

use crate::plan::{Plan, ResolvedFacts};
use crate::*;

pub fn contender(name: &str) -> Contender {
    Contender {
        name: name.to_owned(),
        engine: "mysql@5.6.24".to_owned(),
        kind: "mysql".to_owned(),
        version: VersionRequest::Series("5.6.24".to_owned()),
        origin: Origin::Managed,
        settings: BTreeMap::from([("innodb_buffer_pool_size".to_owned(), "256M".to_owned())]),
        storage: Storage::Disk,
        cores: None,
        memory_bytes: None,
    }
}

fn workload(label: &str) -> WorkloadChoice {
    WorkloadChoice {
        label: label.to_owned(),
        name: "oltp_read_write".to_owned(),
        options: BTreeMap::new(),
        in_force: BTreeMap::from([("rows".to_owned(), OptionValue::Number(100_000))]),
        one_pass: false,
        isolation: None,
        rate: None,
        arrivals: Gaps::default(),
        data_seed: 1,
        keeps_its_size: true,
        clients: 16,
        clients_at: BTreeMap::new(),
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
        twins: false,
        text: String::new(),
    }
}

pub fn plan_of(experiment: &Experiment) -> Plan {
    let facts = ResolvedFacts { version: "5.6.24".into(), source: "a test".into(), own_settings: BTreeMap::new() };
    Plan::new(experiment, &vec![facts; experiment.contenders.len()], &[("steal", 0.01)])
}
