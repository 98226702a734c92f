//! The two halves of a duet: as many cores each, of the same kind, and never two hyperthreads of one core.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use experiment::CpuList;
use record::format::{PlannedTrial, SideRecord};
use trial::{ClientCpus, host};

pub struct Sides {
    halves: [Half; 2],
    /// Blocks behind this one are solo.
    duet_blocks: u32,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Half {
    cpus: Vec<usize>,
    physical_cores: u32,
}

impl Sides {
    /// `core_of` names the physical core of a CPU; none where the kernel does not show it.
    pub fn share_out(cpus: &[usize], core_of: &dyn Fn(usize) -> Option<String>, duet_blocks: u32) -> Result<Sides> {
        let mut cores: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for cpu in cpus {
            let core = core_of(*cpu).with_context(|| {
                format!("`duet` in [method] cannot be: which core CPU {cpu} belongs to is not visible here\n  next: take `duet` out")
            })?;
            cores.entry(core).or_default().push(*cpu);
        }
        // Neighbours go to different sides, so that each has its part of every package.
        let mut cores: Vec<Vec<usize>> = cores.into_values().collect();
        cores.sort_by_key(|cpus| (cpus.len(), cpus.first().copied()));
        let mut halves = [Half::default(), Half::default()];
        let mut left = cores.as_slice();
        while let [one, other, rest @ ..] = left {
            let are_equal = one.len() == other.len();
            if are_equal {
                halves[0].take(one);
                halves[1].take(other);
            }
            left = if are_equal { rest } else { &left[1..] };
        }
        ensure!(
            halves[0].physical_cores > 0,
            "`duet` in [method] cannot be: each side needs a physical core of its own, and what there is for dbduel on this host is {}\n  next: take `duet` out",
            listed(cpus)
        );
        Ok(Sides { halves, duet_blocks })
    }

    pub fn cpus(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.halves.iter().map(|half| &half.cpus)
    }

    /// By the coin in a duet. Contenders that run alone take the same side one after the other, and the next
    /// block takes the other one; so does whatever is no trial of a block.
    pub fn of(&self, planned: &PlannedTrial, is_embedded: bool) -> ClientCpus {
        let is_duet = planned.block > 0 && planned.block <= self.duet_blocks;
        let side = if is_duet { planned.order - 1 } else { planned.block };
        self.halves[side as usize % 2].client_cpus(is_embedded)
    }

    /// A generator that is no contender's.
    pub fn first(&self) -> ClientCpus {
        self.halves[0].client_cpus(false)
    }

    /// Client and server share the cores of a side.
    pub fn are_shared(&self) -> bool {
        self.first().own_cores() == 0
    }

    pub fn records(&self) -> Vec<SideRecord> {
        let record = |half: &Half| SideRecord { cores: listed(&half.cpus), physical_cores: half.physical_cores };
        self.halves.iter().map(record).collect()
    }
}

impl Half {
    fn take(&mut self, core: &[usize]) {
        self.cpus.extend(core);
        self.cpus.sort_unstable();
        self.physical_cores += 1;
    }

    /// Server and client divide a half as they would divide a host.
    fn client_cpus(&self, is_embedded: bool) -> ClientCpus {
        let (server, client) = host::shared_out(&self.cpus);
        let (cpus, server_cpus) = match (is_embedded, client.is_empty()) {
            (true, _) => (self.cpus.clone(), Vec::new()),
            (false, true) => (self.cpus.clone(), self.cpus.clone()),
            (false, false) => (client.to_vec(), server.to_vec()),
        };
        let engine_cores = if is_embedded { cpus.len() } else { server_cpus.len() };
        ClientCpus { workers: client.len().max(1) as u32, cpus, server_cpus, engine_cores }
    }
}

/// The CPUs that share a core with this one, itself among them: the name of the core.
pub fn core_of(cpu: usize) -> Option<String> {
    let siblings = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    Some(siblings.ok()?.trim().to_owned())
}

pub fn listed(cpus: &[usize]) -> String {
    match cpus {
        [] => "nothing".to_owned(),
        _ => cpus.iter().copied().collect::<CpuList>().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::format::Point;

    fn planned(block: u32, order: u32) -> PlannedTrial {
        PlannedTrial {
            trial: 1,
            block,
            order,
            workload: "w".into(),
            contender: "c".into(),
            point: Point::new(),
            gap_ms: 0,
            input_seed: 0,
            purpose: Default::default(),
        }
    }

    /// So many CPUs, with `threads` of them on each core.
    fn sides(cpus: usize, threads: usize) -> Result<Sides> {
        let cpus: Vec<usize> = (0..cpus).collect();
        Sides::share_out(&cpus, &|cpu| Some((cpu / threads).to_string()), 8)
    }

    #[test]
    fn two_hyperthreads_of_a_core_are_on_one_side() {
        let eight = sides(8, 2).unwrap();
        assert_eq!(eight.halves[0], Half { cpus: vec![0, 1, 4, 5], physical_cores: 2 });
        assert_eq!(eight.halves[1], Half { cpus: vec![2, 3, 6, 7], physical_cores: 2 });
        let odd = sides(6, 2).unwrap();
        assert_eq!(odd.records().iter().map(|side| side.physical_cores).collect::<Vec<_>>(), [1, 1], "a core is left");
        let error = sides(2, 2).err().unwrap().to_string();
        assert!(error.contains("each side needs a physical core of its own") && error.contains("next: "), "{error}");
        assert!(sides(1, 1).is_err());
    }

    #[test]
    fn cores_of_another_kind_have_no_counterpart() {
        let core = |cpu: usize| Some(["a", "a", "b", "b", "c", "d", "e"][cpu].to_owned());
        let sides = Sides::share_out(&[0, 1, 2, 3, 4, 5, 6], &core, 8).unwrap();
        assert_eq!(sides.records().iter().map(|side| side.cores.as_str()).collect::<Vec<_>>(), ["0-1,4", "2-3,5"]);
    }

    #[test]
    fn the_coin_decides_in_a_duet_and_solo_contenders_take_one_side_by_turns() {
        let two = sides(2, 1).unwrap();
        let cpus = |block, order| two.of(&planned(block, order), false).cpus;
        assert_eq!((cpus(3, 1), cpus(3, 2)), (vec![0], vec![1]));
        assert_eq!((cpus(9, 1), cpus(9, 2), cpus(10, 1), cpus(10, 2)), (vec![1], vec![1], vec![0], vec![0]));
        assert!(two.are_shared());
        let client_cpus = two.of(&planned(3, 2), true);
        assert_eq!((client_cpus.cpus, client_cpus.server_cpus, client_cpus.engine_cores), (vec![1], vec![], 1));
        let eight = sides(8, 1).unwrap();
        let client_cpus = eight.of(&planned(1, 1), false);
        assert_eq!((client_cpus.server_cpus, client_cpus.cpus, client_cpus.engine_cores), (vec![0, 2, 4], vec![6], 3));
        assert!(!eight.are_shared());
    }

    #[test]
    fn a_core_that_is_not_listed_is_not_guessed() {
        assert!(Sides::share_out(&[0, 1], &|_| None, 8).is_err());
    }
}
