//! Advice as a person reads it.

use crate::advice::{Advice, Rung};
use crate::{ADVISED_CLIENTS as CLIENTS, wrapped};
use engine::tunable::Machine;
use experiment::quantity::bytes_text;

const WIDTH: usize = 100;
/// Where what belongs to a rung begins.
const INDENT: &str = "       ";

const ASSUMED: &str = "assumed: the server has the machine to itself, on solid-state storage. A client on the same machine \
                       takes memory and cores from it: give --memory and --cores what is left.";
const PROMISES: &str = "promise: D3 survives a crash of the operating system, D2 the end of the server process; D1 may lose the \
                        last moments even then, D0 may tear pages.";

pub fn advice(advice: &Advice, engine: &str) -> String {
    let Machine { memory_bytes, cores, data_bytes } = advice.machine;
    let (memory, data) = (bytes_text(memory_bytes), bytes_text(data_bytes));
    let clients = advice.clients;
    let count = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut lines = vec![
        format!(
            "A ladder for {} {}: {memory} of memory, {}, {data} of data, {}",
            advice.engine.kind(),
            advice.version.trim_end_matches(".*"),
            count(cores, "core"),
            count(clients, "client")
        ),
        String::new(),
    ];
    for (index, rung) in advice.rungs.iter().enumerate() {
        lines.extend(rung_lines(index + 1, rung));
    }
    lines.push(String::new());
    lines.push("left as it is".to_owned());
    for left in &advice.left {
        lines.extend(hanging(&format!("  {}: ", left.setting), &left.reason, "    "));
    }
    lines.push(String::new());
    let at_first = bytes_text(advice.need_at_first.total_bytes());
    let memory = format!("memory: {at_first} with the defaults; on top of the ladder {}", advice.need_at_last.text());
    for text in [memory.as_str(), ASSUMED, PROMISES] {
        lines.extend(hanging("", text, "  "));
    }
    let asked = format!(
        "dbduel advise {engine} --memory {} --cores {cores} --data {}{}",
        flag_bytes(memory_bytes),
        flag_bytes(data_bytes),
        if clients == CLIENTS { String::new() } else { format!(" --clients {clients}") }
    );
    lines.push("next: these are rules of thumb; which rungs matter on your machine is measured:".to_owned());
    lines.push(format!("  {asked} --write ladder.toml"));
    lines.push("  dbduel run ladder.toml".to_owned());
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A size as the command line reads it, to the byte.
fn flag_bytes(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| format!("{bytes}B"), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

fn rung_lines(number: usize, rung: &Rung) -> Vec<String> {
    let mark = if rung.trade.is_some() { "  TRADE" } else { "" };
    let mut lines = vec![format!("{number:>4}.  {:<48}  {}{mark}", rung.name, rung.promise).trim_end().to_owned()];
    lines.extend(rung.settings.iter().map(|(name, value)| format!("{INDENT}{name} = {value}")));
    lines.extend(hanging(INDENT, &rung.reason, INDENT));
    if let Some(trade) = rung.trade {
        lines.extend(hanging(&format!("{INDENT}trade: "), trade, &format!("{INDENT}  ")));
    }
    lines.extend(hanging(&format!("{INDENT}source: "), &rung.source, &format!("{INDENT}  ")));
    lines
}

/// A text behind its heading, and further lines below it.
fn hanging(first: &str, text: &str, further: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let whole = wrapped(&format!("{} {text}", first.trim()), WIDTH - further.len());
    for (index, line) in whole.into_iter().enumerate() {
        let indent = if index == 0 { &first[..first.len() - first.trim_start().len()] } else { further };
        lines.push(format!("{indent}{line}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_the_command_line_reads_them() {
        for bytes in [1, 1 << 10, 512 << 20, 8 << 30, 2 << 40, (1 << 30) + 1] {
            assert_eq!(experiment::quantity::bytes(&flag_bytes(bytes)), Some(bytes));
        }
        assert_eq!(flag_bytes(8 << 30), "8GiB");
    }

    #[test]
    fn what_follows_stands_below_what_it_belongs_to() {
        let lines = hanging("  a: ", &"word ".repeat(30), "    ");
        assert!(lines[0].starts_with("  a: word word") && lines[1].starts_with("    word"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
    }
}
