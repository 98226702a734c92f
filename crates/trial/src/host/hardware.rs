//! The hardware as articles print it: distribution, machine, sockets, cores, threads, caches, disk, mount options.
//!
//! A fact that this host does not show is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use engine::mount_options;
use record::format::HostRecord;
use record::quantity::{bytes, bytes_text};

use super::facts::{disk_of, read};

const CPUS: &str = "/sys/devices/system/cpu";
/// A sector of /sys, whatever the disk's own.
const SECTOR_BYTES: u64 = 512;

/// By name, for a reader.
pub fn facts(work: &Path) -> BTreeMap<String, String> {
    let facts = [
        (HostRecord::DISTRIBUTION, read("/etc/os-release").and_then(|text| pretty_name(&text))),
        (HostRecord::MACHINE, machine()),
        (HostRecord::CPUS, topology(Path::new(CPUS))),
        (HostRecord::CACHES, caches(Path::new(CPUS))),
        (HostRecord::DISK, disk_of(work).and_then(|disk| self::disk(Path::new(&disk)))),
        (HostRecord::MOUNT_OPTIONS, mount_options(work)),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// The entry of /etc/os-release that is made for readers.
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Maker and model as the firmware has them, or the hypervisor.
fn machine() -> Option<String> {
    let dmi = |file: &str| read(&format!("/sys/class/dmi/id/{file}")).filter(|text| !text.is_empty());
    let firmware = [dmi("sys_vendor"), dmi("product_name")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let hypervisor = || {
        let clocks = read("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
        read("/sys/hypervisor/type").or_else(|| hypervisor_by(&clocks).map(str::to_owned))
    };
    if firmware.is_empty() { hypervisor() } else { Some(firmware) }
}

/// A guest's kernel offers the clock of its hypervisor.
fn hypervisor_by(clock_sources: &str) -> Option<&'static str> {
    const CLOCKS: [(&str, &str); 3] =
        [("kvm-clock", "KVM"), ("hyperv_clocksource_tsc_page", "Hyper-V"), ("xen", "Xen")];
    let is_offered = |clock: &str| clock_sources.split_whitespace().any(|one| one == clock);
    CLOCKS.into_iter().find(|(clock, _)| is_offered(clock)).map(|(_, hypervisor)| hypervisor)
}

/// The folders `cpu0`, `cpu1` … of those that are switched on.
fn cpu_folders(cpus: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(cpus).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|folder| folder.join("topology").is_dir()).collect()
}

fn value(folder: &Path, file: &str) -> Option<String> {
    read(folder.join(file).to_str()?)
}

/// `2 sockets, 16 cores, 32 threads`. Threads of a core share its list of siblings.
fn topology(cpus: &Path) -> Option<String> {
    let folders = cpu_folders(cpus);
    let different = |file: &str| folders.iter().filter_map(|cpu| value(cpu, file)).collect::<BTreeSet<_>>().len();
    let (sockets, cores) = (different("topology/physical_package_id"), different("topology/thread_siblings_list"));
    (sockets > 0 && cores > 0)
        .then(|| [(sockets, "socket"), (cores, "core"), (folders.len(), "thread")].map(counted).join(", "))
}

fn counted((count, what): (usize, &str)) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `L1d 2 x 48 KiB, L1i 2 x 32 KiB, L2 2 x 1 MiB, L3 32 MiB`: each cache once, whatever the CPUs that share it.
fn caches(cpus: &Path) -> Option<String> {
    let mut by_kind: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for cpu in cpu_folders(cpus) {
        let indices = fs::read_dir(cpu.join("cache")).into_iter().flatten().flatten().map(|entry| entry.path());
        for (kind, sharers) in indices.filter_map(|folder| cache(&folder)) {
            by_kind.entry(kind).or_default().insert(sharers);
        }
    }
    let text = |((name, size), instances): (&(String, String), &BTreeSet<String>)| match instances.len() {
        1 => format!("{name} {size}"),
        count => format!("{name} {count} x {size}"),
    };
    (!by_kind.is_empty()).then(|| by_kind.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// Name and size of a cache, and the CPUs that share it.
fn cache(folder: &Path) -> Option<((String, String), String)> {
    let letter = match value(folder, "type")?.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    let size = bytes_text(bytes(&value(folder, "size")?)?);
    Some(((format!("L{}{letter}", value(folder, "level")?), size), value(folder, "shared_cpu_list")?))
}

/// Maker and model where the disk has them, else its driver; its size; whether it rotates, where that can be known.
fn disk(disk: &Path) -> Option<String> {
    let name = fs::canonicalize(disk).ok()?.file_name()?.to_string_lossy().into_owned();
    // Of a virtual disk the maker is a number, and it calls itself rotating whatever is below it.
    let is_virtual = value(disk, "device/vendor").is_some_and(|vendor| vendor.starts_with("0x"));
    let named = |file: &str| value(disk, file).filter(|text| !text.is_empty() && !text.starts_with("0x"));
    let driver =
        || Some(fs::canonicalize(disk.join("device/driver")).ok()?.file_name()?.to_string_lossy().into_owned());
    let model = [named("device/vendor"), named("device/model")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let model = Some(model).filter(|model| !model.is_empty()).or_else(|| named("dm/name")).or_else(driver);
    let size = value(disk, "size")
        .and_then(|sectors| sectors.parse::<u64>().ok())
        .map(|sectors| bytes_text(sectors * SECTOR_BYTES));
    let flag = value(disk, "queue/rotational").filter(|flag| flag == "0" || !is_virtual);
    let rotates = flag.map(|flag| if flag == "1" { "rotating" } else { "not rotating" });
    let cache = value(disk, "queue/write_cache").map(|cache| format!("write cache: {cache}"));
    let parts = [model, size, rotates.map(str::to_owned), cache];
    Some(format!("{name}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn threads_of_a_core_and_cpus_under_a_cache_are_counted_once() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, (socket, siblings)) in [("0", "0,2"), ("1", "1,3"), ("0", "0,2"), ("1", "1,3")].iter().enumerate() {
            let folder = root.path().join(format!("cpu{cpu}"));
            write(&folder, &[("topology/physical_package_id", socket), ("topology/thread_siblings_list", siblings)]);
            let cache = |index: &str, level: &str, kind: &str, size: &str, sharers: &str| {
                let folder = folder.join("cache").join(index);
                write(&folder, &[("level", level), ("type", kind), ("size", size), ("shared_cpu_list", sharers)]);
            };
            cache("index0", "1", "Data", "48K", siblings);
            cache("index1", "1", "Instruction", "32K", siblings);
            cache("index2", "2", "Unified", "1024K", siblings);
            cache("index3", "3", "Unified", "32768K", "0-3");
        }
        write(root.path(), &[("cpufreq/boost", "1")]);
        assert_eq!(topology(root.path()).as_deref(), Some("2 sockets, 2 cores, 4 threads"));
        assert_eq!(caches(root.path()).as_deref(), Some("L1d 2 x 48 KiB, L1i 2 x 32 KiB, L2 2 x 1 MiB, L3 32 MiB"));
    }

    #[test]
    fn a_disk_is_named_by_its_model_or_else_by_its_driver() {
        let root = tempfile::tempdir().unwrap();
        let sda = root.path().join("sda");
        let files =
            [("device/vendor", "ATA"), ("device/model", "Model 1"), ("size", "2097152"), ("queue/rotational", "1")];
        write(&sda, &files);
        assert_eq!(disk(&sda).as_deref(), Some("sda: ATA Model 1, 1.0 GiB, rotating"));
        let vda = root.path().join("vda");
        write(&vda, &[("device/vendor", "0x1af4"), ("queue/rotational", "1"), ("queue/write_cache", "write back")]);
        fs::create_dir(root.path().join("virtio_blk")).unwrap();
        std::os::unix::fs::symlink(root.path().join("virtio_blk"), vda.join("device/driver")).unwrap();
        assert_eq!(disk(&vda).as_deref(), Some("vda: virtio_blk, write cache: write back"));
    }

    #[test]
    fn what_a_host_does_not_show_is_absent() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!((topology(empty.path()), caches(empty.path())), (None, None));
        assert_eq!(
            pretty_name("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").as_deref(),
            Some("Debian GNU/Linux 12")
        );
        assert_eq!(pretty_name("NAME=x\n"), None);
        assert_eq!((hypervisor_by("tsc kvm-clock acpi_pm"), hypervisor_by("tsc hpet")), (Some("KVM"), None));
    }
}
