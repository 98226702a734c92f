//! The defaults, read from `default-experiment.toml`, which is compiled in.
//!
//! No default of an experiment file stands in code. What must stay true: the compiled-in file is
//! complete, which a test of this module insists on.

use std::time::Duration;

use toml::de::DeTable;

use engine::request::{PAGE_CACHE_WORDS, TRANSPORT_WORDS, WORK_COPY_WORDS, word_of};

use super::cluster::{self, ClusterDefaults};
use super::contenders::read_storage;
use super::keys::{METHOD_KEYS, names};
use super::recovery::{Recovery, read_table};
use super::section::{Reader, Section};
use super::workloads::{WorkloadDefaults, read_arrivals, read_data_seed};
use super::{NoisyHost, PageCache, Stop, Storage, Transport, WorkCopy};
use record::format::RuleName;

/// The file itself, as `dbduel plan --defaults` prints it.
pub const DEFAULT_EXPERIMENT: &str = include_str!("default-experiment.toml");

/// Least time that a trial can measure: below it a single flush decides the number.
const LEAST_DURATION: Duration = Duration::from_millis(500);
/// Least time that a pilot can run: below it no level can be found.
const LEAST_PILOT: Duration = Duration::from_secs(10);
/// More blocks than any run has; past this a number is a slip of the finger.
const MOST_BLOCKS: u64 = record::format::bounds::BLOCKS_MAX as u64;

/// How long a trial warms up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    Auto,
    Time(Duration),
}

/// The keys of a `[method]` table that were given; layers of them make the method in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MethodKeys {
    pub preset: Option<String>,
    pub duration: Option<Duration>,
    pub warmup: Option<Warmup>,
    pub pilot: Option<Duration>,
    pub rule: Option<RuleName>,
    pub blocks: Option<u32>,
    pub margin: Option<f64>,
    pub budget: Option<Duration>,
    pub seed: Option<u64>,
    pub stop: Option<Stop>,
    pub noisy_host: Option<NoisyHost>,
    pub page_cache: Option<PageCache>,
    pub work_copy: Option<WorkCopy>,
    pub duet: Option<bool>,
    pub fast_sweep: Option<bool>,
    pub steady_state: Option<bool>,
    pub drain: Option<bool>,
    pub repeats: Option<bool>,
    pub doubling: Option<bool>,
    pub contrast: Option<bool>,
    pub diagnose: Option<bool>,
}

impl MethodKeys {
    /// Reads the table and refuses what this version cannot do.
    pub fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Self {
        reader.check_keys(section, &names(METHOD_KEYS), &[]);
        MethodKeys {
            preset: reader.text(section, "preset"),
            duration: reader.duration(section, "duration", LEAST_DURATION),
            warmup: read_warmup(reader, section),
            pilot: reader.duration(section, "pilot", LEAST_PILOT),
            rule: reader.choice(section, "rule", &RULES.map(|rule| (rule.as_str(), Some(rule)))),
            blocks: reader.whole(section, "blocks", 1..=MOST_BLOCKS).map(|blocks| blocks as u32),
            margin: reader.percent(section, "margin"),
            budget: reader.duration(section, "budget", LEAST_DURATION),
            seed: reader.whole(section, "seed", 0..=i64::MAX as u64),
            stop: reader.choice(section, "stop", STOP_WORDS),
            noisy_host: reader.choice(section, "noisy_host", NOISY_HOST_WORDS),
            page_cache: reader.choice(section, "page_cache", PAGE_CACHE_WORDS),
            work_copy: reader.choice(section, "work_copy", WORK_COPY_WORDS),
            duet: reader.flag(section, "duet"),
            fast_sweep: reader.flag(section, "fast_sweep"),
            steady_state: reader.flag(section, "steady_state"),
            drain: reader.flag(section, "wait_for_deferred_work"),
            repeats: reader.flag(section, "repeats"),
            doubling: reader.flag(section, "headroom_check"),
            contrast: reader.flag(section, "test_causes"),
            diagnose: reader.flag(section, "profile"),
        }
    }

    /// These keys, and the ones of `below` where these are silent.
    pub fn over(self, below: &MethodKeys) -> MethodKeys {
        MethodKeys {
            preset: self.preset.or_else(|| below.preset.clone()),
            duration: self.duration.or(below.duration),
            warmup: self.warmup.or(below.warmup),
            pilot: self.pilot.or(below.pilot),
            rule: self.rule.or(below.rule),
            blocks: self.blocks.or(below.blocks),
            margin: self.margin.or(below.margin),
            budget: self.budget.or(below.budget),
            seed: self.seed.or(below.seed),
            stop: self.stop.or(below.stop),
            noisy_host: self.noisy_host.or(below.noisy_host),
            page_cache: self.page_cache.or(below.page_cache),
            work_copy: self.work_copy.or(below.work_copy),
            duet: self.duet.or(below.duet),
            fast_sweep: self.fast_sweep.or(below.fast_sweep),
            steady_state: self.steady_state.or(below.steady_state),
            drain: self.drain.or(below.drain),
            repeats: self.repeats.or(below.repeats),
            doubling: self.doubling.or(below.doubling),
            contrast: self.contrast.or(below.contrast),
            diagnose: self.diagnose.or(below.diagnose),
        }
    }
}

pub const RULES: [RuleName; 2] = [RuleName::Exact, RuleName::T];
pub const STOP_WORDS: &[(&str, Option<Stop>)] = &[
    ("overall", Some(Stop::Overall)),
    ("points", Some(Stop::Points)),
    ("gate", Some(Stop::Gate)),
    ("never", Some(Stop::Never)),
];
pub const NOISY_HOST_WORDS: &[(&str, Option<NoisyHost>)] =
    &[("refuse", Some(NoisyHost::Refuse)), ("stamp", Some(NoisyHost::Stamp))];

impl Stop {
    /// As it stands in an experiment file.
    pub fn word(self) -> &'static str {
        word_of(STOP_WORDS, self)
    }
}

impl NoisyHost {
    /// As it stands in an experiment file.
    pub fn word(self) -> &'static str {
        word_of(NOISY_HOST_WORDS, self)
    }
}

fn read_warmup<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Warmup> {
    if section.value("warmup")?.get_ref().as_str() == Some("auto") {
        return Some(Warmup::Auto);
    }
    reader.duration(section, "warmup", Duration::ZERO).map(Warmup::Time)
}

/// Everything in `default-experiment.toml`.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub method: MethodKeys,
    pub presets: Vec<(String, MethodKeys)>,
    pub least_warmup: Duration,
    pub workload: WorkloadDefaults,
    pub transport: Transport,
    pub storage: Storage,
    pub recovery: Recovery,
    pub cluster: ClusterDefaults,
}

impl Defaults {
    pub fn preset(&self, name: &str) -> Option<&MethodKeys> {
        self.presets.iter().find(|(known, _)| known == name).map(|(_, keys)| keys)
    }
}

/// The names of the presets, weakest first.
pub fn preset_names() -> Vec<String> {
    let mut presets = defaults().presets;
    presets.sort_by_key(|(_, keys)| keys.blocks);
    presets.into_iter().map(|(name, _)| name).collect()
}

/// Reads the compiled-in file. It cannot fail: the file is part of the program and of its tests.
pub fn defaults() -> Defaults {
    let root = DeTable::parse(DEFAULT_EXPERIMENT).expect("default-experiment.toml is TOML");
    let mut reader = Reader::new(DEFAULT_EXPERIMENT);
    let top = Section::new("", root.span(), root.get_ref());
    let read = read_defaults(&mut reader, &top);
    if let Some(mistakes) = reader.finish("default-experiment.toml") {
        panic!("the compiled-in defaults hold mistakes:\n{mistakes}");
    }
    read.expect("default-experiment.toml holds every table and key")
}

fn read_defaults<'a>(reader: &mut Reader<'a>, top: &Section<'a>) -> Option<Defaults> {
    reader.check_keys(
        top,
        &["contender", "workload", "method", "clients", "cluster", "recovery", "pilot", "preset"],
        &[],
    );
    let method = reader.table(top, "method")?;
    let clients = reader.table(top, "clients")?;
    let pilot = reader.table(top, "pilot")?;
    let recovery = reader.table(top, "recovery")?;
    let cluster = reader.table(top, "cluster")?;
    let workload = reader.table(top, "workload")?;
    let contender = reader.table(top, "contender")?;
    let preset_tables = reader.table(top, "preset")?;
    let mut presets = Vec::new();
    for (name, value) in preset_tables.table {
        let section = Section::new(format!("[preset.{}]", name.get_ref()), value.span(), value.get_ref().as_table()?);
        presets.push((name.get_ref().to_string(), MethodKeys::read(reader, &section)));
    }
    Some(Defaults {
        method: MethodKeys::read(reader, &method),
        presets,
        least_warmup: reader.duration(&pilot, "least_warmup", LEAST_DURATION)?,
        workload: WorkloadDefaults {
            clients: reader.whole(&workload, "clients", 1..=u64::from(u16::MAX))? as u32,
            arrivals: read_arrivals(reader, &workload)?,
            data_seed: read_data_seed(reader, &workload)?,
        },
        transport: reader.choice(&clients, "transport", TRANSPORT_WORDS)?,
        storage: read_storage(reader, &contender)?,
        recovery: read_table(reader, &recovery, None)?,
        cluster: cluster::read_defaults(reader, &cluster)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_file_holds_a_value_for_every_key_in_every_preset() {
        let defaults = defaults();
        assert_eq!(preset_names(), ["quick", "standard", "strict"]);
        for (name, preset) in &defaults.presets {
            let keys = preset.clone().over(&defaults.method);
            let whole =
                keys.duration.is_some() && keys.warmup.is_some() && keys.blocks.is_some() && keys.margin.is_some();
            assert!(whole && keys.seed.is_some() && keys.stop.is_some() && keys.rule.is_some(), "{name}");
            assert!(keys.pilot.is_some() && keys.contrast.is_some() && keys.diagnose.is_some(), "{name}");
            assert!(keys.noisy_host.is_some() && keys.page_cache.is_some() && keys.preset.is_some(), "{name}");
        }
    }

    #[test]
    fn presets_are_the_documented_ones() {
        let defaults = defaults();
        let check = |name: &str, secs, warmup, blocks, stop, noisy| {
            let preset = defaults.preset(name).unwrap();
            assert_eq!(preset.duration, Some(Duration::from_secs(secs)), "{name}");
            assert_eq!((preset.warmup, preset.blocks), (Some(warmup), Some(blocks)), "{name}");
            assert_eq!((preset.stop, preset.noisy_host), (Some(stop), Some(noisy)), "{name}");
        };
        check("quick", 5, Warmup::Time(Duration::from_secs(2)), 8, Stop::Overall, NoisyHost::Stamp);
        check("standard", 60, Warmup::Auto, 20, Stop::Overall, NoisyHost::Refuse);
        check("strict", 120, Warmup::Auto, 40, Stop::Points, NoisyHost::Refuse);
    }
}
