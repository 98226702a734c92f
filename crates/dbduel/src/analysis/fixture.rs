//! A stored run made up for tests: realistic numbers from a seed, with every kind of trouble.
//!
//! Names carry `<b>&` so that a report that forgets to escape is caught.

mod cores;
mod ladder;
mod passes;
mod search;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::store::format::*;

pub use cores::{tell_cores, tell_sweep};
pub use ladder::{FLUSH, Gains, INDEPENDENT, LOG, PLANTED, tell_ladder};
pub use passes::tell_passes;
pub use search::{search, tell_duel_of_a_search};

pub const BASELINE: &str = "5.5";
pub const CANDIDATE: &str = "5.6 <b>&tuned";
const CLIENTS: [u64; 4] = [1, 4, 16, 64];

/// What a made-up run looks like; the default has no trouble at all.
#[derive(Debug, Clone)]
pub struct Story {
    pub blocks: u32,
    /// True ratio candidate/baseline at 1, 4, 16 and 64 clients.
    pub ratios: [f64; 4],
    /// Standard deviation of a trial's log throughput.
    pub spread: f64,
    pub trouble: bool,
}

impl Default for Story {
    fn default() -> Story {
        Story { blocks: 8, ratios: [0.98, 0.93, 0.87, 0.78], spread: 0.012, trouble: false }
    }
}

/// A run as it comes from the store.
pub struct StoredRun {
    pub plan: PlanRecord,
    pub run: RunRecord,
    pub trials: Vec<TrialRecord>,
}

impl StoredRun {
    pub fn trial(&mut self, contender: &str, clients: u64, block: u32) -> &mut TrialRecord {
        let wanted = |trial: &&mut TrialRecord| {
            (trial.contender.as_str(), trial.point["clients"], trial.block) == (contender, clients, block)
        };
        self.trials.iter_mut().find(wanted).expect("the story has this trial")
    }

    pub fn fail(&mut self, contender: &str, clients: u64, block: u32) {
        let trial = self.trial(contender, clients, block);
        trial.status = Status::Failed;
        trial.metrics.clear();
        trial.failure =
            Some(Failure { step: "start".into(), message: "mysqld exited with status 1 after 0.8 s <script>".into() });
    }
}

pub fn tell(story: &Story) -> StoredRun {
    let mut random = ChaCha8Rng::seed_from_u64(42);
    let plan = plan(story, &mut random);
    let mut now: Timestamp = "2031-05-04T10:15:00Z".parse().expect("a literal time");
    let trials = plan.trials.iter().map(|planned| record(story, planned, &mut now, &mut random)).collect();
    let run = run_record(now);
    let mut stored = StoredRun { plan, run, trials };
    if story.trouble {
        stored.fail(CANDIDATE, 16, 3);
        stored.trial(BASELINE, 4, 2).flags.push("steal".into());
        stored.trial(CANDIDATE, 64, 5).flags.push("foreign-cpu".into());
        stored.trial(CANDIDATE, 1, 7).flags.push("resumed".into());
    }
    stored
}

fn plan(story: &Story, random: &mut ChaCha8Rng) -> PlanRecord {
    let mut trials = Vec::new();
    for block in 1..=story.blocks {
        for clients in CLIENTS {
            let swapped = random.next_u32() & 1 == 1;
            let names = if swapped { [CANDIDATE, BASELINE] } else { [BASELINE, CANDIDATE] };
            for (index, contender) in names.into_iter().enumerate() {
                trials.push(PlannedTrial {
                    trial: trials.len() as u32 + 1,
                    block,
                    order: index as u32 + 1,
                    workload: "oltp_read_write".into(),
                    contender: contender.into(),
                    point: Point::from([("clients".into(), clients)]),
                    gap_ms: u64::from(random.next_u32() % 1000),
                    input_seed: u64::from(block),
                    repeats: None,
                });
            }
        }
    }
    PlanRecord {
        format_version: FORMAT_VERSION,
        name: "mysql-5.5-vs-5.6".into(),
        question: Some("Is the upgrade safe on a <2-core> box?".into()),
        plan_hash: "9f2c51d07be34a8861c0d3fe5a7712b49f2c51d07be34a8861c0d3fe5a7712b4".into(),
        seed: 1,
        baseline: BASELINE.into(),
        twins: false,
        contenders: vec![contender(BASELINE, "5.5.9", "1G"), contender(CANDIDATE, "5.6.24", "2G")],
        ladders: vec![],
        workloads: vec![WorkloadRecord {
            one_pass: false,
            isolation: None,
            rate: None,
            arrivals: None,
            data_seed: Some(1),
            label: "oltp_read_write".into(),
            name: "oltp_read_write".into(),
            options: [("rows".into(), 100_000.into()), ("tables".into(), 1.into())].into(),
            clients: 16,
            clients_at: BTreeMap::new(),
        }],
        method: method(story),
        trials,
    }
}

fn method(story: &Story) -> MethodRecord {
    MethodRecord {
        preset: "quick".into(),
        rule: RuleName::Exact,
        stop: "overall".into(),
        duration_s: 5.0,
        warmup_s: 2.0,
        pilot_s: None,
        blocks: story.blocks,
        margin: 0.01,
        confidence: 0.95,
        budget_s: None,
        noisy_host: "stamp".into(),
        page_cache: "warm".into(),
        work_copy: None,
        duet: false,
        fast_sweep: false,
        transport: "socket".into(),
        client_cores: None,
        left_out: vec!["pilot".into(), "steady-state check".into()],
        contrast: false,
        diagnose: false,
        thresholds: BTreeMap::new(),
        changed: if story.blocks == 8 { vec![] } else { vec![format!("blocks = {}", story.blocks)] },
    }
}

fn contender(name: &str, version: &str, pool: &str) -> ContenderRecord {
    ContenderRecord {
        name: name.into(),
        engine: format!("mysql@{version}"),
        kind: "mysql".into(),
        version: version.into(),
        source: format!("archive mysql-{version}-linux.tar.gz"),
        settings: [
            ("innodb_buffer_pool_size".into(), pool.into()),
            ("innodb_flush_log_at_trx_commit".into(), "1".into()),
        ]
        .into(),
        own_settings: [("skip_log_bin".into(), "on".into()), ("max_connections".into(), "84".into())].into(),
        storage: "disk".into(),
        cores: None,
        memory_bytes: None,
        target: None,
    }
}

/// Twelve uniform numbers make a good enough normal one.
fn noise(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

fn record(story: &Story, planned: &PlannedTrial, now: &mut Timestamp, random: &mut ChaCha8Rng) -> TrialRecord {
    let index = CLIENTS.iter().position(|clients| *clients == planned.point["clients"]).expect("a planned point");
    let ratio = if planned.contender == CANDIDATE { story.ratios[index] } else { 1.0 };
    let baseline_tps = [310.0, 940.0, 1480.0, 1390.0][index];
    let tps = baseline_tps * ratio * (story.spread * noise(random)).exp();
    let started_at = *now + SignedDuration::from_millis(planned.gap_ms as i64);
    let finished_at = started_at + SignedDuration::from_millis(11_500);
    *now = finished_at;
    TrialRecord {
        trial: planned.trial,
        block: planned.block,
        order: planned.order,
        workload: planned.workload.clone(),
        contender: planned.contender.clone(),
        point: planned.point.clone(),
        status: Status::Ok,
        repeats: None,
        shares_start_with: None,
        failure: None,
        flags: vec![],
        remarks: BTreeMap::new(),
        started_at: started_at.to_string(),
        finished_at: finished_at.to_string(),
        steps: vec![("restore".into(), 1.5), ("start".into(), 1.0), ("warm_up".into(), 2.0), ("measure".into(), 5.0)],
        metrics: metrics(tps, CLIENTS[index] as f64, random),
    }
}

fn metrics(tps: f64, clients: f64, random: &mut ChaCha8Rng) -> BTreeMap<String, f64> {
    let latency_ms = 1000.0 * clients / tps;
    let committed = (tps * 5.0).floor();
    let named = [
        ("tps", tps),
        ("qps", tps * 20.0),
        ("latency_ms_avg", latency_ms),
        ("latency_ms_p50", latency_ms * 0.9),
        ("latency_ms_p95", latency_ms * 1.7 * (0.02 * noise(random)).exp()),
        ("latency_ms_p99", latency_ms * 2.6 * (0.05 * noise(random)).exp()),
        ("latency_ms_max", latency_ms * 9.0),
        ("corrected_ms_p50", latency_ms * 0.9),
        ("corrected_ms_p95", latency_ms * 1.8),
        ("corrected_ms_p99", latency_ms * 3.4),
        ("cpu_us_per_tx", 1_900_000.0 / tps * (0.004 * noise(random)).exp()),
        ("client_cpu_us_per_query", 6.1),
        ("errors_per_s", 0.0),
        ("transactions.due", committed),
        ("transactions.committed", committed),
        ("transactions.rolled_back", 0.0),
        ("transactions.failed", 0.0),
        ("transactions.skipped", 0.0),
        ("transactions.retries", 3.0),
        ("occupancy", 0.99),
        ("client_path_share", 0.012),
    ];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The same story told by the TPC-C-derived workload: four numbers of warehouses with ten terminals each.
pub fn tell_tpcc(story: &Story) -> StoredRun {
    let mut stored = tell(story);
    let record = &mut stored.plan.workloads[0];
    (record.label, record.name) = ("tpcc".into(), "tpcc".into());
    let words =
        [("form", "procedures"), ("profile", "spec"), ("pacing", "auto"), ("mix", "weighted"), ("home", "auto")];
    record.options = words.map(|(name, word)| (name.to_owned(), word.into())).into();
    record.clients_at = CLIENTS.map(|warehouses| (warehouses, warehouses as u32 * 10)).into();
    let warehouses = |point: &Point| Point::from([("warehouses".to_owned(), point["clients"])]);
    for planned in &mut stored.plan.trials {
        (planned.workload, planned.point) = ("tpcc".into(), warehouses(&planned.point));
    }
    for trial in &mut stored.trials {
        let (tps, per) = (trial.metrics["tps"], trial.point["clients"] as f64);
        (trial.workload, trial.point) = ("tpcc".into(), warehouses(&trial.point));
        trial.metrics.extend(of_types(tps, per));
    }
    for facts in stored.run.contenders.values_mut() {
        let ddl = facts.ddl.remove("oltp_read_write").expect("the story has its tables");
        facts.ddl.insert("tpcc".into(), ddl);
        facts.data_bytes = CLIENTS.map(|per| (format!("tpcc, {per} warehouses"), per * 100_000_000)).into();
    }
    stored
}

fn of_types(tps: f64, warehouses: f64) -> Vec<(String, f64)> {
    let nopm = (tps * 5.0 * 0.45).floor() * 12.0;
    let mut metrics = vec![
        ("nopm".to_owned(), nopm),
        ("nopm_with_rollbacks".to_owned(), nopm * 1.01),
        ("nopm_per_warehouse".to_owned(), nopm / warehouses),
        ("tpm".to_owned(), tps * 60.0),
        ("skipped_districts".to_owned(), 0.0),
    ];
    for (name, share, latency_ms) in [
        ("new_order", 0.45, 31.0),
        ("payment", 0.43, 12.0),
        ("order_status", 0.04, 4.0),
        ("delivery", 0.04, 6100.0),
        ("stock_level", 0.04, 6100.0),
    ] {
        let committed = (tps * 5.0 * share).floor();
        let rolled_back = if name == "new_order" { (committed / 100.0).floor() } else { 0.0 };
        let values = [
            ("committed", committed),
            ("rolled_back", rolled_back),
            ("failed", 0.0),
            ("retries", (committed / 50.0).floor()),
            ("committed_inside", committed),
            ("rolled_back_inside", rolled_back),
            ("latency_ms_avg", latency_ms * 0.8),
            ("latency_ms_p90", latency_ms),
        ];
        metrics.extend(values.map(|(what, value)| (format!("{name}.{what}"), value)));
    }
    metrics
}

fn run_record(finished_at: Timestamp) -> RunRecord {
    let facts = |version: &str, pool: &str, query_cache: &str| ContenderFacts {
        version: version.into(),
        effective_settings: [
            ("innodb_buffer_pool_size".into(), pool.into()),
            ("innodb_flush_log_at_trx_commit".into(), "1".into()),
            ("query_cache_type".into(), query_cache.into()),
            ("sync_binlog".into(), "0".into()),
        ]
        .into(),
        durability_class: "D3".into(),
        file_system: Some("ext4 on /dev/vda".into()),
        isolation: [("oltp_read_write".into(), "repeatable read".into())].into(),
        ddl: [(
            "oltp_read_write".into(),
            vec!["CREATE TABLE `sbtest1` (\n  `id` int NOT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB".into()],
        )]
        .into(),
        plans: BTreeMap::new(),
        checksums: BTreeMap::new(),
        data_bytes: [("oltp_read_write".into(), 31_457_280)].into(),
    };
    RunRecord {
        format_version: FORMAT_VERSION,
        dbduel_version: "0.1.0".into(),
        started_at: "2031-05-04T10:15:00Z".into(),
        finished_at: Some(finished_at.to_string()),
        ended_by: Some("blocks".into()),
        host: HostRecord {
            cpu_model: "Example CPU @ 2.40GHz".into(),
            cores: 2,
            memory_bytes: 8 << 30,
            kernel: "Linux 6.1.0".into(),
            storage: "ext4 on vda".into(),
            virtualisation: "kvm".into(),
            facts: BTreeMap::new(),
            not_visible: vec![],
        },
        client: ClientRecord {
            workers: 1,
            shared_cores: true,
            cores: "0-1".into(),
            server_cores: None,
            sides: vec![],
            null_runs: vec![null_run()],
            paths: vec![PathRecord {
                path: "socket".into(),
                bytes_per_s: Some(2.5e9),
                seen_by: PathRecord::STREAMED.into(),
            }],
        },
        contenders: [
            (BASELINE.into(), facts("5.5.9", "1073741824", "ON")),
            (CANDIDATE.into(), facts("5.6.24", "2147483648", "OFF")),
        ]
        .into(),
        refused: BTreeMap::new(),
        given_up: vec![],
        pilots: vec![],
        warmups: vec![],
        doublings: vec![],
        contrasts: vec![],
        diagnostics: vec![],
        twins: vec![],
        search: None,
    }
}

fn null_run() -> NullRecord {
    NullRecord {
        protocol: "mysql".into(),
        as_text: false,
        clients: 4,
        statements_per_s: 123_456.0,
        client_cpu_us_per_statement: 4.5,
    }
}
