//! What else of a host may matter to a measurement and does not change while it lasts.
//!
//! A fact that this host does not show is absent.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use procfs::Current;
use record::format::HostRecord;

/// By name, for a reader.
pub fn facts(work: &Path) -> BTreeMap<String, String> {
    let cpu = |file: &str| read(&format!("/sys/devices/system/cpu/{file}"));
    let facts = [
        ("governor", cpu("cpu0/cpufreq/scaling_governor")),
        ("highest frequency", cpu("cpu0/cpufreq/cpuinfo_max_freq").and_then(|khz| megahertz(&khz))),
        ("turbo", turbo(cpu("intel_pstate/no_turbo").as_deref(), cpu("cpufreq/boost").as_deref())),
        ("NUMA nodes", numa_nodes()),
        ("transparent huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text))),
        ("clock source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        (HostRecord::IO_SCHEDULER, io_scheduler(work)),
        ("swap", procfs::Meminfo::current().ok().map(|memory| swap(memory.swap_total))),
        ("isolated CPUs", cpu("isolated").map(|list| if list.is_empty() { "none".to_owned() } else { list })),
        ("mitigations", mitigations()),
        ("kernel parameters", read("/proc/cmdline").and_then(|line| parameters_that_matter(&line))),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

pub fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn megahertz(khz: &str) -> Option<String> {
    Some(format!("{:.0} MHz", khz.parse::<f64>().ok()? / 1e3))
}

/// Intel's driver returns whether there is none, all others whether there is one.
fn turbo(no_turbo: Option<&str>, boost: Option<&str>) -> Option<String> {
    let is_on = no_turbo.map(|flag| flag == "0").or(boost.map(|flag| flag == "1"))?;
    Some(if is_on { "on" } else { "off" }.to_owned())
}

/// `always [madvise] never` has chosen `madvise`.
fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(chosen, _)| chosen).to_owned()
}

fn numa_nodes() -> Option<String> {
    let entries = fs::read_dir("/sys/devices/system/node").ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_node = |name: &String| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    Some(names.filter(is_node).count().to_string())
}

/// Of the disk under the folder, or of the disk that its partition belongs to.
fn io_scheduler(folder: &Path) -> Option<String> {
    Some(chosen(&read(&format!("{}/queue/scheduler", disk_of(folder)?))?))
}

/// The folder in /sys of the disk under `folder`.
pub fn disk_of(folder: &Path) -> Option<String> {
    let device = fs::metadata(folder).ok()?.dev();
    let block = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    [block.clone(), format!("{block}/..")].into_iter().find(|disk| Path::new(disk).join("queue").is_dir())
}

fn swap(bytes: u64) -> String {
    if bytes == 0 { "none".to_owned() } else { format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64) }
}

/// What the kernel does about known faults of the CPU, in the kernel's words.
fn mitigations() -> Option<String> {
    let entries = fs::read_dir("/sys/devices/system/cpu/vulnerabilities").ok()?.flatten();
    let mut known: Vec<(String, String)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, read(entry.path().to_str()?)?)))
        .filter(|(_, state)| state != "Not affected")
        .collect();
    known.sort();
    let listed = known.iter().map(|(name, state)| format!("{name}: {state}")).collect::<Vec<_>>().join("; ");
    Some(if listed.is_empty() { "none needed".to_owned() } else { listed })
}

/// Of the kernel's command line, what shares out CPUs and memory or changes how fast they are.
fn parameters_that_matter(line: &str) -> Option<String> {
    const NAMES: [&str; 10] = [
        "isolcpus",
        "nohz_full",
        "rcu_nocbs",
        "mitigations",
        "nosmt",
        "maxcpus",
        "hugepages",
        "transparent_hugepage",
        "intel_pstate",
        "idle",
    ];
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let words: Vec<&str> = line.split_whitespace().filter(|word| NAMES.contains(&name(word).as_str())).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_texts_are_read_as_documented() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
        assert_eq!(megahertz("3600000").as_deref(), Some("3600 MHz"));
        assert_eq!(turbo(Some("0"), None).as_deref(), Some("on"));
        assert_eq!(turbo(None, Some("0")).as_deref(), Some("off"));
        assert_eq!(turbo(None, None), None);
        assert_eq!(swap(0), "none");
        let line = "console=ttyS0 isolcpus=2,3 root=/dev/vda mitigations=off idlewild=1";
        assert_eq!(parameters_that_matter(line).as_deref(), Some("isolcpus=2,3 mitigations=off"));
        assert_eq!(parameters_that_matter("quiet"), None);
    }

    #[test]
    fn a_fact_that_is_not_shown_here_is_absent() {
        let facts = facts(Path::new("/"));
        assert!(facts.values().all(|fact| !fact.is_empty()), "{facts:?}");
        assert!(facts.contains_key("swap"), "every kernel shows how much swap there is: {facts:?}");
    }
}
