//! The hardware and system block as articles print it, in a report and by `dbduel host`.

use anyhow::{Context, Result};
use record::format::{ContenderFacts, HostRecord};
use record::quantity::bytes_text;

use super::Evidence;
use super::document::{Cell, Column, Table, Text};
use super::render::{markdown, text};

/// Facts of the host that the block prints.
pub const FACTS: [&str; 7] = [
    HostRecord::DISTRIBUTION,
    HostRecord::MACHINE,
    HostRecord::CPUS,
    HostRecord::CACHES,
    HostRecord::DISK,
    HostRecord::IO_SCHEDULER,
    HostRecord::MOUNT_OPTIONS,
];

/// Formats of `dbduel host`.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// The block of this host alone, in one of `FORMATS`.
pub fn write(host: &HostRecord, format: &str, width: usize) -> Result<String> {
    Ok(match format {
        "json" => serde_json::to_string_pretty(host).context("cannot write the host as JSON")? + "\n",
        "markdown" => markdown::table(&block(host, None)).trim_end().to_owned() + "\n",
        _ => text::table(&block(host, None), text::Layout::new(width, false)).join("\n") + "\n",
    })
}

/// The host, and each server of a run. What cannot be seen has no row.
pub fn block(host: &HostRecord, evidence: Option<&Evidence>) -> Table {
    let fact = |name: &str| host.facts.get(name).cloned();
    let of = |name: &'static str| (name.to_owned(), fact(name));
    let with = |text: &str, more: Option<String>| Some(more.map_or(text.to_owned(), |more| format!("{text}; {more}")));
    let machine =
        fact(HostRecord::MACHINE).map(|machine| format!("{machine}; virtualisation: {}", host.virtualisation));
    let usable = format!("{} usable", super::wording::count(host.cores as usize, "CPU"));
    let rows = [
        of(HostRecord::DISTRIBUTION),
        ("kernel".to_owned(), Some(host.kernel.clone())),
        (HostRecord::MACHINE.to_owned(), machine.or_else(|| Some(format!("virtualisation: {}", host.virtualisation)))),
        ("CPU".to_owned(), Some(host.cpu_model.clone())),
        (HostRecord::CPUS.to_owned(), with(&usable, fact(HostRecord::CPUS))),
        of(HostRecord::CACHES),
        ("memory".to_owned(), Some(bytes_text(host.memory_bytes))),
        of(HostRecord::DISK),
        of(HostRecord::IO_SCHEDULER),
        ("file system".to_owned(), with(&host.storage, fact(HostRecord::MOUNT_OPTIONS))),
    ];
    let rows =
        rows.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(evidence.into_iter().flat_map(servers));
    let cells = |(name, value)| [Cell::from(Text::plain(name)), Cell::from(Text::plain(value))];
    Table::new([Column::name("hardware and system", 0), Column::prose("value", 0)]).with_rows(rows.map(cells))
}

/// Version, architecture and compiler of each server; contenders that differ in their settings alone share a row.
fn servers(evidence: &Evidence) -> Vec<(String, String)> {
    let mut shared: Vec<(String, Vec<&str>)> = Vec::new();
    for contender in &evidence.plan.contenders {
        let Some(server) = evidence.run.contenders.get(&contender.name).map(server) else { continue };
        match shared.iter_mut().find(|(known, _)| *known == server) {
            Some((_, names)) => names.push(&contender.name),
            None => shared.push((server, vec![&contender.name])),
        }
    }
    shared.into_iter().map(|(server, names)| (row_name(&names), server)).collect()
}

fn row_name(contenders: &[&str]) -> String {
    match contenders {
        [first, _, ..] => format!("server {first} and {} more", contenders.len() - 1),
        alone => format!("server {}", alone.concat()),
    }
}

fn server(facts: &ContenderFacts) -> String {
    let build = &facts.build;
    let parts = [build.word_bits.map(|bits| format!("{bits}-bit")), build.architecture.clone()];
    let program = [format!("{} {}", facts.title, facts.version)].into_iter().chain(parts.into_iter().flatten());
    [program.collect::<Vec<_>>().join(", ")].into_iter().chain(compiler(&build.reported)).collect::<Vec<_>>().join("; ")
}

/// Of what the server reports of its build, flags and options left out.
fn compiler(reported: &[String]) -> Vec<String> {
    let lines =
        |wanted: &dyn Fn(&str) -> bool| reported.iter().filter(|line| wanted(line)).cloned().collect::<Vec<_>>();
    // SQLite lists all its options, and the compiler is one of them.
    let named = lines(&|line| line.starts_with("COMPILER="));
    if named.is_empty() { lines(&|line| !line.starts_with("CFLAGS")) } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::format::BuildRecord;

    fn host() -> HostRecord {
        let mut host = fixtures::stored_run(&fixtures::Story::default()).run.host;
        host.facts = FACTS.iter().map(|name| ((*name).to_owned(), format!("its {name}"))).collect();
        host.facts.insert("governor".into(), "performance".into());
        host
    }

    #[test]
    fn every_fact_of_the_block_stands_in_it_once_in_every_format() {
        for format in FORMATS {
            let written = write(&host(), format, 80).unwrap();
            for name in FACTS {
                assert_eq!(written.matches(&format!("its {name}")).count(), 1, "{format} {name}: {written}");
            }
            for other in ["Example CPU", "Linux 6.1.0", "ext4 on vda", "kvm"] {
                assert!(written.contains(other), "{format} {other}: {written}");
            }
        }
        assert!(!write(&host(), "text", 80).unwrap().contains("performance"), "no hardware");
    }

    #[test]
    fn what_is_not_visible_has_no_row() {
        let host = HostRecord { facts: Default::default(), ..host() };
        let written = write(&host, "markdown", 80).unwrap();
        assert!(!written.contains("caches") && written.contains("| memory | 8.0 GiB |"), "{written}");
    }

    #[test]
    fn contenders_of_one_build_share_a_row() {
        assert_eq!(row_name(&["9.6"]), "server 9.6");
        assert_eq!(row_name(&["17", "larger WAL", "tmpfs"]), "server 17 and 2 more");
    }

    #[test]
    fn a_server_is_shown_with_its_architecture_and_compiler_and_without_flags() {
        let run = fixtures::stored_run(&fixtures::Story::default()).run;
        let mut facts = run.contenders.into_values().next().unwrap();
        facts.build = BuildRecord {
            word_bits: Some(64),
            architecture: Some("x86_64".into()),
            reported: vec!["compiled by gcc 12".into(), "CFLAGS -O2".into()],
        };
        assert_eq!(server(&facts), format!("{} {}, 64-bit, x86_64; compiled by gcc 12", facts.title, facts.version));
        assert_eq!(compiler(&["A=1".into(), "COMPILER=gcc-12".into()]), ["COMPILER=gcc-12"]);
    }
}
