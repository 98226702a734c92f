//! Who sits on which CPUs: the load generator, and each contender's server at each point.
//!
//! All of it is decided before anything starts: what this host does not have, or will not let us have, is
//! a mistake of the file, not a failed trial.

mod sides;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use self::sides::{Sides, listed};
use experiment::{CORES, CpuList, Experiment};
use record::format::{ClientRecord, PlannedTrial, Point};
use trial::{ClientCpus, host};

pub struct Placement {
    /// All that this process may use.
    cpus: Vec<usize>,
    /// The generator's own; empty where it shares all of them with the servers.
    client: Vec<usize>,
    /// Of servers that have none of their own; the first ones of these where the sweep varies how many.
    /// Empty: all.
    servers: Vec<usize>,
    /// By contender.
    own: BTreeMap<String, Vec<usize>>,
    /// Of a duet; nothing else counts there.
    sides: Option<Sides>,
}

impl Placement {
    pub fn on_this_host(experiment: &Experiment) -> Result<Placement> {
        let mut placement = Placement::shared_out(experiment, host::cpus())?;
        if experiment.method.duet {
            placement.sides = Some(Sides::share_out(&placement.cpus, &sides::core_of, experiment.method.blocks)?);
        }
        let halves = placement.sides.iter().flat_map(Sides::cpus);
        for cpus in placement.own.values().chain([&placement.client, &placement.servers]).chain(halves) {
            probe(cpus)?;
        }
        Ok(placement)
    }

    fn shared_out(experiment: &Experiment, cpus: Vec<usize>) -> Result<Placement> {
        let given = experiment.client_cores.as_ref().map(|list| present(list, "[clients]", &cpus)).transpose()?;
        if let Some(most) = most_cores(experiment) {
            return Placement::of_sweep(most, given, cpus);
        }
        let mut own = BTreeMap::new();
        for contender in &experiment.contenders {
            if let Some(list) = &contender.cores {
                own.insert(contender.name.clone(), present(list, &format!("contender `{}`", contender.name), &cpus)?);
            }
        }
        if let Some(client) = &given {
            refuse_overlap(client, &own)?;
        }
        let client = given.unwrap_or_else(|| match own.is_empty() {
            true => host::shared_out(&cpus).1.to_vec(),
            false => own.values().fold(cpus.clone(), |left, taken| without(&left, taken)),
        });
        let servers = if client.is_empty() { Vec::new() } else { without(&cpus, &client) };
        Ok(Placement { cpus, client, servers, own, sides: None })
    }

    /// The client has what the largest number of cores leaves, where it was not given its own.
    fn of_sweep(most: usize, given: Option<Vec<usize>>, cpus: Vec<usize>) -> Result<Placement> {
        let left = without(&cpus, given.as_deref().unwrap_or_default());
        ensure!(
            most <= left.len(),
            "[sweep] asks for cores = {most}, and what there is for servers on this host is {} ({})\n  next: take away what is more than {}",
            count(left.len()),
            listed(&left),
            left.len()
        );
        let (servers, rest) = left.split_at(most);
        let client = given.unwrap_or_else(|| rest.to_vec());
        Ok(Placement { client, servers: servers.to_vec(), own: BTreeMap::new(), cpus, sides: None })
    }

    /// Of the generator where no contender is behind it.
    pub fn client(&self) -> ClientCpus {
        if let Some(sides) = &self.sides {
            return sides.first();
        }
        ClientCpus::new(&self.client, &self.servers, self.cpus.len())
    }

    /// Of a trial of the plan.
    pub fn of(&self, planned: &PlannedTrial, is_embedded: bool) -> ClientCpus {
        match &self.sides {
            Some(sides) => sides.of(planned, is_embedded),
            None => self.at(&planned.contender, &planned.point, is_embedded),
        }
    }

    /// Of a contender's trial at a point. An embedded engine runs on the generator's own threads: where
    /// its number of cores is not given, these stay where they are.
    fn at(&self, contender: &str, point: &Point, is_embedded: bool) -> ClientCpus {
        let own = self.own.get(contender);
        let all = own.unwrap_or(&self.servers);
        let servers = &all[..point.get(CORES).map_or(all.len(), |cores| *cores as usize)];
        if !is_embedded {
            return ClientCpus::new(&self.client, servers, self.cpus.len());
        }
        let has_number = own.is_some() || point.contains_key(CORES);
        let threads = if has_number { servers } else { &self.client };
        ClientCpus::new(threads, &[], if threads.is_empty() { self.cpus.len() } else { threads.len() })
    }

    pub fn record(&self) -> ClientRecord {
        if let Some(sides) = &self.sides {
            let all: Vec<usize> = sides.cpus().flatten().copied().collect();
            return ClientRecord {
                workers: self.client().workers,
                shared_cores: sides.are_shared(),
                cores: listed(&all),
                server_cores: None,
                sides: sides.records(),
            };
        }
        let shared = self.client.is_empty();
        let kept: BTreeSet<usize> = self.own.values().flatten().chain(&self.servers).copied().collect();
        ClientRecord {
            workers: self.client().workers,
            shared_cores: shared,
            cores: listed(if shared { &self.cpus } else { &self.client }),
            server_cores: (!kept.is_empty()).then(|| CpuList::from_iter(kept).to_string()),
            sides: Vec::new(),
        }
    }
}

/// The largest number of cores of the sweep, where it varies them.
fn most_cores(experiment: &Experiment) -> Option<usize> {
    experiment.points().iter().filter_map(|point| point.get(CORES)).max().map(|most| *most as usize)
}

/// The CPUs of a list, all of which must be here.
fn present(list: &CpuList, whose: &str, cpus: &[usize]) -> Result<Vec<usize>> {
    let asked: Vec<usize> = list.iter().collect();
    ensure!(
        asked.iter().all(|cpu| cpus.contains(cpu)),
        "{whose} asks for cores = \"{list}\", and what there is for dbduel on this host is {}\n  next: name only these",
        listed(cpus)
    );
    Ok(asked)
}

fn without(cpus: &[usize], taken: &[usize]) -> Vec<usize> {
    cpus.iter().copied().filter(|cpu| !taken.contains(cpu)).collect()
}

fn count(cpus: usize) -> String {
    if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") }
}

/// A core that is called the client's and is not would be a lie in every report.
fn refuse_overlap(client: &[usize], own: &BTreeMap<String, Vec<usize>>) -> Result<()> {
    for (name, servers) in own {
        let both: Vec<usize> = client.iter().copied().filter(|cpu| servers.contains(cpu)).collect();
        if !both.is_empty() {
            bail!(
                "[clients] and contender `{name}` both ask for cores = \"{}\"\n  next: part them, or leave `cores` out of [clients]: the client has what is left then",
                listed(&both)
            );
        }
    }
    Ok(())
}

/// Whether the kernel lets a thread of ours run on these CPUs, and on no other: what it refuses here it
/// would refuse in every trial.
fn probe(cpus: &[usize]) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let pinned = || -> Result<Vec<usize>> {
        let mut set = CpuSet::new();
        cpus.iter().try_for_each(|cpu| set.set(*cpu))?;
        sched_setaffinity(Pid::from_raw(0), &set)?;
        let seen = sched_getaffinity(Pid::from_raw(0))?;
        Ok((0..CpuSet::count()).filter(|cpu| seen.is_set(*cpu).unwrap_or(false)).collect())
    };
    let seen = std::thread::scope(|scope| scope.spawn(pinned).join().map_err(|_| anyhow!("the probe died"))?);
    let seen = seen.with_context(|| format!("this host does not let cores = \"{}\" be set", listed(cpus)))?;
    ensure!(
        seen == cpus,
        "cores = \"{}\" were asked for, and this host gave \"{}\"\n  next: raise the CPU limit of this session, or remove `cores`",
        listed(cpus),
        listed(&seen)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::testing::experiment;
    use experiment::{Crowds, Sweep};

    fn of_cores(cores: &[u64]) -> Experiment {
        let mut experiment = experiment(&["a", "b"], &[], 8, 1);
        experiment.sweep =
            Some(Sweep { variable: CORES.into(), values: cores.to_vec(), crowds: Some(Crowds::per_core()) });
        experiment
    }

    fn cores(cores: u64) -> Point {
        Point::from([(CORES.to_owned(), cores)])
    }

    fn list(text: &str) -> Option<CpuList> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_sweep_of_cores_leaves_the_client_what_its_largest_set_does_not_take() {
        let placement = Placement::shared_out(&of_cores(&[1, 2, 4]), (0..8).collect()).unwrap();
        let placed = placement.at("a", &cores(2), false);
        assert_eq!((placed.server_cpus, placed.cpus, placed.engine_cores), (vec![0, 1], vec![4, 5, 6, 7], 2));
        assert_eq!(placement.record().server_cores.as_deref(), Some("0-3"));
        let all = Placement::shared_out(&of_cores(&[1, 2]), vec![4, 6]).unwrap();
        let placed = all.at("a", &cores(1), false);
        assert_eq!((placed.server_cpus, placed.cpus, placed.workers), (vec![4], vec![], 1));
        assert!(all.record().shared_cores);
    }

    #[test]
    fn cores_that_are_given_are_kept_and_the_rest_is_the_other_side_s() {
        let mut experiment = experiment(&["a", "b"], &[], 8, 1);
        experiment.client_cores = list("3");
        let placement = Placement::shared_out(&experiment, (0..4).collect()).unwrap();
        assert_eq!(placement.at("a", &Point::new(), false).server_cpus, [0, 1, 2]);
        assert_eq!(placement.client().cpus, [3]);
        experiment.client_cores = None;
        experiment.contenders[0].cores = list("0-1");
        let placement = Placement::shared_out(&experiment, (0..4).collect()).unwrap();
        assert_eq!(placement.at("a", &Point::new(), false).server_cpus, [0, 1]);
        assert_eq!((placement.client().cpus, placement.at("b", &Point::new(), false).engine_cores), (vec![2, 3], 2));
        experiment.contenders[0].cores = list("0-3");
        assert!(Placement::shared_out(&experiment, (0..4).collect()).unwrap().record().shared_cores);
    }

    #[test]
    fn an_embedded_engine_has_its_cores_under_the_client_s_threads() {
        let placement = Placement::shared_out(&of_cores(&[1, 2]), (0..4).collect()).unwrap();
        let placed = placement.at("a", &cores(1), true);
        assert_eq!((placed.cpus, placed.server_cpus, placed.engine_cores), (vec![0], vec![], 1));
        let plain = Placement::shared_out(&experiment(&["a", "b"], &[], 8, 1), (0..8).collect()).unwrap();
        assert_eq!(plain.at("a", &Point::new(), true).cpus, [6, 7], "as without any word about cores");
    }

    #[test]
    fn what_this_host_does_not_have_is_refused_before_anything_starts() {
        let check = |experiment: &Experiment, cpus: &[usize], expected: &str| {
            let error = Placement::shared_out(experiment, cpus.to_vec()).err().expect("refused").to_string();
            assert!(error.contains(expected) && error.contains("next: "), "{error}");
        };
        check(&of_cores(&[1, 4]), &[0, 1], "[sweep] asks for cores = 4, and what there is for servers");
        let mut one = of_cores(&[2]);
        one.client_cores = list("1");
        check(&one, &[0, 1], "is 1 CPU (0)");
        one.client_cores = list("7");
        check(&one, &[0, 1], "[clients] asks for cores = \"7\"");
        let mut own = experiment(&["a", "b"], &[], 8, 1);
        own.contenders[1].cores = list("0-3");
        check(&own, &[0, 1], "contender `b` asks for cores = \"0-3\", and what there is");
        own.client_cores = list("1");
        check(&own, &[0, 1, 2, 3], "both ask for cores = \"1\"");
    }

    #[test]
    fn a_probe_fails_for_a_cpu_that_the_kernel_does_not_have() {
        let cpus = host::cpus();
        assert!(probe(&cpus[..1]).is_ok() && probe(&cpus).is_ok());
        assert!(probe(&[1023]).is_err(), "no such CPU here");
        assert_eq!(host::cpus(), cpus, "the thread that asks keeps its own");
    }
}
