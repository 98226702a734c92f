//! The whole machine: what the kernel counts of CPUs, disks, memory and network, and where it held us back.
//!
//! Each source is opened once and read again. One that is not here cannot be opened, and its name is
//! what the report lists as not visible.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufRead;
use std::path::PathBuf;

use procfs::net::InterfaceDeviceStatus;
use procfs::prelude::{FromBufRead, FromBufReadSI};
use procfs::process::{MountInfo, Process};
use procfs::{CpuPressure, DiskStats, IoPressure, KernelStats, MemoryPressure, PressureRecord, VmStat};

use super::sample::{Kept, Sample, Source};

/// What can be seen of a machine, at best.
pub const SOURCES: &[SourceKind] = &[
    SourceKind { name: "CPU by state", open: || Some(Box::new(CpuStates(Kept::open("/proc/stat")?))) },
    SourceKind { name: "pressure (PSI)", open: || Some(Box::new(Pressure::open()?)) },
    SourceKind { name: "disks", open: || Some(Box::new(Disks::open()?)) },
    SourceKind { name: "memory events", open: || Some(Box::new(Memory(Kept::open("/proc/vmstat")?))) },
    SourceKind { name: "network", open: || Some(Box::new(Network(Kept::open("/proc/net/dev")?))) },
    SourceKind { name: "throttling of the control group", open: || Some(Box::new(Quota::open()?)) },
    SourceKind { name: "CPU frequency", open: || Some(Box::new(Frequency::open()?)) },
    SourceKind { name: "thermal throttling", open: || Some(Box::new(Thermal::open()?)) },
];

pub struct SourceKind {
    pub name: &'static str,
    /// None where it is not visible.
    pub open: fn() -> Option<Box<dyn Source>>,
}

/// All that can be seen here.
pub fn open_all() -> Vec<Box<dyn Source>> {
    SOURCES.iter().filter_map(|kind| (kind.open)()).collect()
}

/// Ticks of all CPUs in all states, and what they were spent on.
pub fn cpu_ticks(stat: &KernelStats) -> u64 {
    let cpu = &stat.total;
    let known = [cpu.iowait, cpu.irq, cpu.softirq, cpu.steal].into_iter().flatten().sum::<u64>();
    cpu.user + cpu.nice + cpu.system + cpu.idle + known
}

struct CpuStates(Kept);

impl Source for CpuStates {
    fn sample(&mut self, sample: &mut Sample) {
        if let Some(stat) = self.0.read().and_then(parse_stat) {
            add_cpus(&stat, sample);
        }
    }
}

fn parse_stat(text: &[u8]) -> Option<KernelStats> {
    KernelStats::from_buf_read(text, procfs::current_system_info()).ok()
}

fn add_cpus(stat: &KernelStats, sample: &mut Sample) {
    let (cpu, all) = (&stat.total, cpu_ticks(stat));
    let states = [
        ("host_user_share", Some(cpu.user + cpu.nice)),
        ("host_system_share", Some(cpu.system)),
        ("host_iowait_share", cpu.iowait),
        ("host_irq_share", cpu.irq),
        ("host_softirq_share", cpu.softirq),
        ("host_steal_share", cpu.steal),
    ];
    for (name, ticks) in states {
        if let Some(ticks) = ticks {
            sample.share_of_cpus(name, ticks, all);
        }
    }
    sample.per_second("host_context_switches_per_s", stat.ctxt as f64);
}

/// Pressure stall information: how long some task, or all tasks, waited for a resource.
struct Pressure {
    cpu: Option<Kept>,
    io: Option<Kept>,
    memory: Option<Kept>,
}

impl Pressure {
    fn open() -> Option<Pressure> {
        let open = |resource: &str| Kept::open(format!("/proc/pressure/{resource}"));
        let pressure = Pressure { cpu: open("cpu"), io: open("io"), memory: open("memory") };
        (pressure.cpu.is_some() || pressure.io.is_some() || pressure.memory.is_some()).then_some(pressure)
    }
}

impl Source for Pressure {
    fn sample(&mut self, sample: &mut Sample) {
        let mut add = |name: &str, record: PressureRecord| sample.per_second(name, record.total as f64 / 1e6);
        // Of the whole machine the kernel has no time in which all processes waited for a CPU.
        if let Some(seen) = read_as(&mut self.cpu, |text| CpuPressure::from_buf_read(text).ok()) {
            add("host_pressure_cpu_some_share", seen.some);
        }
        if let Some(seen) = read_as(&mut self.io, |text| IoPressure::from_buf_read(text).ok()) {
            add("host_pressure_io_some_share", seen.some);
            add("host_pressure_io_full_share", seen.full);
        }
        if let Some(seen) = read_as(&mut self.memory, |text| MemoryPressure::from_buf_read(text).ok()) {
            add("host_pressure_memory_some_share", seen.some);
            add("host_pressure_memory_full_share", seen.full);
        }
    }
}

fn read_as<T>(file: &mut Option<Kept>, parse: fn(&[u8]) -> Option<T>) -> Option<T> {
    parse(file.as_mut()?.read()?)
}

/// Disks on which no other is built, so that nothing is counted twice.
struct Disks {
    file: Kept,
    names: BTreeSet<String>,
}

const SECTOR_BYTES: u64 = 512;

impl Disks {
    fn open() -> Option<Disks> {
        let blocks = fs::read_dir("/sys/block").ok()?.flatten();
        let is_physical = |name: &String| {
            let in_memory = ["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind));
            let below = fs::read_dir(format!("/sys/block/{name}/slaves")).map_or(0, Iterator::count);
            !in_memory && below == 0
        };
        let names: BTreeSet<String> =
            blocks.map(|block| block.file_name().to_string_lossy().into_owned()).filter(is_physical).collect();
        (!names.is_empty()).then_some(Disks { file: Kept::open("/proc/diskstats")?, names })
    }
}

impl Source for Disks {
    fn sample(&mut self, sample: &mut Sample) {
        if let Some(Ok(stats)) = self.file.read().map(DiskStats::from_buf_read) {
            add_disks(&stats, &self.names, sample);
        }
    }
}

/// A disk that has done nothing since boot is left out: there may be many of those.
fn add_disks(stats: &DiskStats, names: &BTreeSet<String>, sample: &mut Sample) {
    let used = |disk: &&procfs::DiskStat| names.contains(&disk.name) && disk.reads + disk.writes > 0;
    for disk in stats.0.iter().filter(used) {
        let mut add = |what: &str, count: f64| sample.per_second(format!("host_disk.{}.{what}", disk.name), count);
        add("reads_per_s", disk.reads as f64);
        add("writes_per_s", disk.writes as f64);
        add("read_bytes_per_s", (disk.sectors_read * SECTOR_BYTES) as f64);
        add("write_bytes_per_s", (disk.sectors_written * SECTOR_BYTES) as f64);
        add("busy_share", disk.time_in_progress as f64 / 1e3);
        if let Some(flushes) = disk.flushes {
            add("flushes_per_s", flushes as f64);
        }
    }
}

struct Memory(Kept);

impl Source for Memory {
    fn sample(&mut self, sample: &mut Sample) {
        if let Some(Ok(events)) = self.0.read().map(VmStat::from_buf_read) {
            add_memory(&events, sample);
        }
    }
}

/// Old kernels count the scanned pages by zone and the killed processes not at all.
fn add_memory(events: &VmStat, sample: &mut Sample) {
    let sum = |wanted: &dyn Fn(&str) -> bool| {
        let found: Vec<i64> = events.0.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| *count).collect();
        (!found.is_empty()).then(|| found.iter().sum::<i64>() as f64)
    };
    let scanned = |name: &str| name.starts_with("pgscan_kswapd") || name.starts_with("pgscan_direct");
    for (name, count) in [
        ("host_scanned_pages", sum(&|name| scanned(name) && !name.ends_with("throttle"))),
        ("host_swapped_pages", sum(&|name| name == "pswpin" || name == "pswpout")),
        ("host_oom_kills", sum(&|name| name == "oom_kill")),
    ] {
        if let Some(count) = count {
            sample.count(name, count);
        }
    }
}

struct Network(Kept);

impl Source for Network {
    fn sample(&mut self, sample: &mut Sample) {
        if let Some(Ok(devices)) = self.0.read().map(InterfaceDeviceStatus::from_buf_read) {
            add_network(&devices, sample);
        }
    }
}

/// What goes through loopback is sent and received once each; the rest is of all other interfaces.
fn add_network(devices: &InterfaceDeviceStatus, sample: &mut Sample) {
    let (loopback, others): (Vec<_>, Vec<_>) = devices.0.values().partition(|device| device.name == "lo");
    if let Some(loopback) = loopback.first() {
        sample.per_second("host_loopback_bytes_per_s", loopback.sent_bytes as f64);
    }
    if !others.is_empty() {
        let received: u64 = others.iter().map(|device| device.recv_bytes).sum();
        let sent: u64 = others.iter().map(|device| device.sent_bytes).sum();
        sample.per_second("host_network_received_bytes_per_s", received as f64);
        sample.per_second("host_network_sent_bytes_per_s", sent as f64);
    }
}

/// The CPU quota of our own control group: one that runs out stops everything below us.
/// Of every group from this process's own up to the root: a quota may stand at any of them.
struct Quota(Vec<Kept>);

impl Quota {
    fn open() -> Option<Quota> {
        let me = Process::myself().ok()?;
        let (groups, mounts) = (me.cgroups().ok()?, me.mountinfo().ok()?);
        let paths = groups.0.iter().filter_map(|group| {
            let has_cpu = group.controllers.iter().any(|controller| controller == "cpu");
            let is_ours = |mount: &&MountInfo| match group.hierarchy {
                0 => mount.fs_type == "cgroup2",
                _ => has_cpu && mount.fs_type == "cgroup" && mount.super_options.contains_key("cpu"),
            };
            Some(stat_paths(mounts.0.iter().find(is_ours)?, &group.pathname))
        });
        Quota::of(paths.flatten())
    }

    /// Those of these files that count a quota.
    fn of(paths: impl Iterator<Item = PathBuf>) -> Option<Quota> {
        let counts = |file: &mut Kept| file.read().and_then(throttled).is_some();
        let files: Vec<Kept> =
            paths.filter_map(Kept::open).filter_map(|mut file| counts(&mut file).then_some(file)).collect();
        (!files.is_empty()).then_some(Quota(files))
    }

    /// Periods and seconds of all together.
    fn throttled(&mut self) -> Option<(f64, f64)> {
        let seen = self.0.iter_mut().filter_map(|file| throttled(file.read()?));
        seen.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

pub fn throttled_periods() -> Option<f64> {
    Some(Quota::open()?.throttled()?.0)
}

/// The group's own first. A mount inside a container may begin below the root of the groups.
fn stat_paths(mount: &MountInfo, group: &str) -> Vec<PathBuf> {
    let below = group.strip_prefix(mount.root.as_str()).unwrap_or(group);
    let own = mount.mount_point.join(below.trim_start_matches('/'));
    let groups = own.ancestors().take_while(|folder| folder.starts_with(&mount.mount_point));
    groups.map(|folder| folder.join("cpu.stat")).collect()
}

impl Source for Quota {
    fn sample(&mut self, sample: &mut Sample) {
        if let Some((periods, seconds)) = self.throttled() {
            sample.count("host_throttled_periods", periods);
            sample.count("host_throttled_s", seconds);
        }
    }
}

/// Periods in which the quota ran out, and the time that cost. Version 1 counts nanoseconds, version 2
/// microseconds; a group without a quota may have neither.
fn throttled(stat: &[u8]) -> Option<(f64, f64)> {
    let value = |wanted: &str| {
        let mut lines = stat.lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(wanted)?.strip_prefix(' ')?.trim().parse::<f64>().ok())
    };
    let seconds = value("throttled_usec").map(|us| us / 1e6).or_else(|| value("throttled_time").map(|ns| ns / 1e9));
    Some((value("nr_throttled")?, seconds?))
}

/// Frequencies of as many CPUs as are cheap to ask: each answer may interrupt the CPU that it is about.
const CPUS_ASKED: usize = 16;

fn files_of_cpus(file: &str) -> Vec<Kept> {
    let of_cpu = |cpu: usize| Kept::open(format!("/sys/devices/system/cpu/cpu{cpu}/{file}"));
    (0..CPUS_ASKED).map_while(of_cpu).collect()
}

struct Frequency(Vec<Kept>);

impl Frequency {
    fn open() -> Option<Frequency> {
        let files = files_of_cpus("cpufreq/scaling_cur_freq");
        (!files.is_empty()).then_some(Frequency(files))
    }
}

impl Source for Frequency {
    fn sample(&mut self, sample: &mut Sample) {
        let khz: Vec<f64> = self.0.iter_mut().filter_map(Kept::number).collect();
        if !khz.is_empty() {
            sample.level(super::MHZ, khz.iter().sum::<f64>() / khz.len() as f64 / 1e3);
        }
    }
}

struct Thermal(Vec<Kept>);

impl Thermal {
    fn open() -> Option<Thermal> {
        let files = files_of_cpus("thermal_throttle/core_throttle_count");
        (!files.is_empty()).then_some(Thermal(files))
    }
}

impl Source for Thermal {
    fn sample(&mut self, sample: &mut Sample) {
        sample.count("host_thermal_throttles", self.0.iter_mut().filter_map(Kept::number).sum());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What lies between two written samples of a source.
    fn between(add: impl Fn(&str, &mut Sample), before: &str, after: &str) -> BTreeMap<String, f64> {
        let sample = |text| {
            let mut sample = Sample::default();
            add(text, &mut sample);
            sample
        };
        let before = sample(before);
        sample(after).since(&before)
    }

    fn check(seen: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
        let close = |(name, value): &(&str, f64)| seen.get(*name).is_some_and(|seen| (seen - value).abs() < 1e-9);
        assert!(expected.len() == seen.len() && expected.iter().all(close), "{seen:?}");
    }

    #[test]
    fn cpu_states_are_shares_of_all_ticks() {
        let stat =
            |cpu: &str, ctxt: u64| format!("{cpu}\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt {ctxt}\nbtime 1\nprocesses 1\n");
        let add = |text: &str, sample: &mut Sample| add_cpus(&parse_stat(text.as_bytes()).unwrap(), sample);
        // user nice system idle iowait irq softirq steal guest guest_nice
        let (before, after) = ("cpu 100 0 50 800 40 0 5 5 0 0", "cpu 190 10 100 830 50 0 10 10 0 0");
        let mut seen = between(add, &stat(before, 0), &stat(after, 0));
        seen.remove("host_context_switches_per_s").expect("they are counted");
        let shares = [
            ("host_user_share", 0.5),
            ("host_system_share", 0.25),
            ("host_iowait_share", 0.05),
            ("host_irq_share", 0.0),
            ("host_softirq_share", 0.025),
            ("host_steal_share", 0.025),
        ];
        check(&seen, &shares);
        let of_old_kernel = between(add, &stat("cpu 100 0 50 850", 0), &stat("cpu 190 10 100 850", 0));
        assert!(!of_old_kernel.contains_key("host_steal_share"), "{of_old_kernel:?}");
    }

    #[test]
    fn disks_are_listed_by_name_without_partitions_and_idle_disks() {
        let text = "   7       0 loop0 9 0 8 0 0 0 0 0 0 0 0\n 254       0 vda 100 1 800 10 200 2 1600 20 0 500 30\n \
                    254       1 vda1 50 1 400 10 100 2 800 20 0 500 30\n   8       0 sda 0 0 0 0 0 0 0 0 0 0 0\n";
        let mut sample = Sample::default();
        let names = BTreeSet::from(["vda".to_owned(), "sda".to_owned()]);
        add_disks(&DiskStats::from_buf_read(text.as_bytes()).unwrap(), &names, &mut sample);
        let names: Vec<&str> = sample.names().map(String::as_str).collect();
        let expected = ["busy_share", "read_bytes_per_s", "reads_per_s", "write_bytes_per_s", "writes_per_s"]
            .map(|what| format!("host_disk.vda.{what}"));
        assert_eq!(names, expected);
    }

    #[test]
    fn memory_events_are_counted_under_the_names_of_old_and_new_kernels() {
        let add =
            |text: &str, sample: &mut Sample| add_memory(&VmStat::from_buf_read(text.as_bytes()).unwrap(), sample);
        let seen = between(
            add,
            "pgscan_kswapd 10\npgscan_direct 1\npgscan_direct_throttle 5\npswpin 1\npswpout 2\noom_kill 0\n",
            "pgscan_kswapd 30\npgscan_direct 2\npgscan_direct_throttle 9\npswpin 1\npswpout 6\noom_kill 1\n",
        );
        check(&seen, &[("host_scanned_pages", 21.0), ("host_swapped_pages", 4.0), ("host_oom_kills", 1.0)]);
        let old = between(
            add,
            "pgscan_kswapd_normal 1\npswpin 0\npswpout 0\n",
            "pgscan_kswapd_normal 3\npswpin 0\npswpout 0\n",
        );
        check(&old, &[("host_scanned_pages", 2.0), ("host_swapped_pages", 0.0)]);
    }

    #[test]
    fn a_quota_is_read_in_both_versions_and_is_absent_where_there_is_none() {
        for (stat, expected) in [
            ("nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n", Some((3.0, 1.5))),
            ("usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n", Some((3.0, 0.25))),
            ("usage_usec 5\nuser_usec 3\nsystem_usec 2\n", None),
            ("", None),
        ] {
            assert_eq!(throttled(stat.as_bytes()), expected, "{stat}");
        }
    }

    #[test]
    fn the_file_of_a_group_is_found_below_its_mount() {
        let mount = |root: &str, at: &str| {
            MountInfo::from_line(&format!("36 35 98:0 {root} {at} rw - cgroup cgroup rw,cpu,cpuacct")).unwrap()
        };
        for (root, group, expected) in [
            ("/", "/", "/sys/fs/cgroup/cpu/cpu.stat"),
            ("/", "/user/one", "/sys/fs/cgroup/cpu/user/one/cpu.stat"),
            ("/box/7", "/box/7/inner", "/sys/fs/cgroup/cpu/inner/cpu.stat"),
        ] {
            assert_eq!(stat_paths(&mount(root, "/sys/fs/cgroup/cpu"), group)[0], PathBuf::from(expected));
        }
    }

    #[test]
    fn a_quota_of_a_group_above_counts_too() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().join("cpu");
        let write = |folder: &str, stat: &str| {
            fs::create_dir_all(at.join(folder)).unwrap();
            fs::write(at.join(folder).join("cpu.stat"), stat).unwrap();
        };
        write("", "usage_usec 5\n");
        write("box", "nr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n");
        write("box/inner", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
        let line = format!("36 35 98:0 / {} rw - cgroup2 cgroup2 rw", at.display());
        let paths = stat_paths(&MountInfo::from_line(&line).unwrap(), "/box/inner");
        assert_eq!(paths.len(), 3, "{paths:?}");
        let mut quota = Quota::of(paths.into_iter()).unwrap();
        assert_eq!((quota.throttled(), quota.0.len()), (Some((3.0, 0.25)), 2));
        assert!(Quota::of(std::iter::once(at.join("cpu.stat"))).is_none(), "the root has none");
    }

    #[test]
    fn every_source_that_opens_here_shows_something() {
        for kind in SOURCES {
            let Some(mut source) = (kind.open)() else { continue };
            let mut sample = Sample::default();
            source.sample(&mut sample);
            assert!(sample.names().next().is_some(), "{}", kind.name);
        }
        assert!((SOURCES[0].open)().is_some(), "every kernel shows the states of its CPUs");
    }
}
