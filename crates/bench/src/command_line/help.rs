//! Help texts of `prepare`, `bench`, `check` and `cleanup`, made from the tables that are parsed by.

use load::{OptionSpec, WorkloadKind};
use workloads::WORKLOADS;

use super::options::FLAGS;
use super::request::Verb;
use super::words::normal;
use super::workload_options::{default_of, is_switch};

/// Help fits a terminal of this width; texts begin at this column.
const WIDTH: usize = 100;
const TEXT_COLUMN: usize = 32;

const SYSBENCH: &str = "\
A command line of sysbench works with its first word replaced by `dbduel bench`:
  dbduel bench oltp_read_write --mysql-socket=/run/mysqld/mysqld.sock --tables=4 --threads=16 --time=60 run
  dbduel bench --test=oltp --oltp-table-size=1000000 --mysql-user=root --num-threads=4 run
It then does what its last word says (prepare, run, cleanup, prewarm, help) and follows sysbench 1.0, or
0.4 with --test=oltp, in distribution, retries, counting and layout. Both `_` and `-` are understood.
A Lua script that is there is run as it stands, with its own options and commands; it is a program, and
has your rights:
  dbduel bench my.lua --mysql-db=shop --tables=4 --threads=16 --time=60 run
A path to no file (tests/db/oltp.lua) means the built-in workload of its name.
";

fn about(verb: Verb) -> &'static str {
    match verb {
        Verb::Prepare => "Make and fill a workload's tables on a running server",
        Verb::Bench => "Run a workload against a running server and report",
        Verb::Check => "Verify a workload's data on a running server",
        Verb::Cleanup => "Drop a workload's tables on a running server",
    }
}

fn example(verb: Verb) -> &'static str {
    match verb {
        Verb::Prepare => {
            "dbduel prepare oltp_read_write --target mysql://app@db.example/bench --tables 4 --rows 100000"
        }
        Verb::Bench => "dbduel bench oltp_read_write --target mysql://app@db.example/bench --clients 16 --duration 60s",
        Verb::Check => "dbduel check oltp_read_write --target postgres://app@db.example/bench --rows 100000",
        Verb::Cleanup => "dbduel cleanup oltp_read_write --target sqlite:///data/bench.db",
    }
}

/// `dbduel bench --help`.
pub fn command_help(verb: Verb) -> String {
    let name = verb.name();
    let mut text = format!("{}\n\nUsage: dbduel {name} WORKLOAD --target URL [OPTIONS]\n\nWorkloads:\n", about(verb));
    for kind in WORKLOADS {
        text.push_str(&entry(kind.name, kind.description));
    }
    text.push_str("\nOptions:\n");
    text.push_str(&flags_help(verb));
    text.push_str(&format!(
        "\nMore options belong to the workload: `dbduel {name} WORKLOAD --help`\n\nExample:\n  {}\n",
        example(verb)
    ));
    if verb == Verb::Bench {
        text.push('\n');
        text.push_str(SYSBENCH);
    }
    text + "\n" + exit_help(verb)
}

/// `dbduel bench oltp_read_write --help`.
pub fn workload_help(verb: Verb, kind: &'static WorkloadKind) -> String {
    let (name, workload) = (verb.name(), kind.name);
    let mut text = format!(
        "{workload}: {}\n\nUsage: dbduel {name} {workload} --target URL [OPTIONS]\n\nOptions of {workload}:\n",
        kind.description
    );
    for spec in kind.options.iter().filter(|spec| spec.name != "compat") {
        let beside = spec.compat_default.map_or(String::new(), |default| format!("; {default} with --compat"));
        text.push_str(&entry(&option_name(spec), &format!("{} [default: {}{beside}]", spec.help, default(spec))));
    }
    text.push_str("\nOptions:\n");
    text + &flags_help(verb)
}

fn default(spec: &OptionSpec) -> String {
    match default_of(spec).as_str() {
        "" => "none".to_owned(),
        "[]" => "all".to_owned(),
        default => default.to_owned(),
    }
}

fn option_name(spec: &OptionSpec) -> String {
    let alias = spec.aliases.first().map_or(String::new(), |alias| format!(", --{}", normal(alias)));
    format!("--{}{alias}{}", normal(spec.name), if is_switch(spec) { "" } else { " VALUE" })
}

/// Options about how to run mean nothing to the other commands, which accept them all the same so
/// that one line of options serves all.
const FOR_EVERY_COMMAND: [&str; 8] =
    ["target", "tls", "password-file", "rand-seed", "compat", "workers", "config-file", "help"];

fn flags_help(verb: Verb) -> String {
    let shown = |name: &str| verb == Verb::Bench || FOR_EVERY_COMMAND.contains(&name);
    let flags = FLAGS.iter().filter(|flag| !flag.help.is_empty() && shown(flag.name));
    let text = flags.map(|flag| {
        let alias = flag.aliases.first().filter(|alias| alias.len() > 1 && **alias != "url");
        let alias = alias.map_or(String::new(), |alias| format!(", --{alias}"));
        let value = if flag.value.is_empty() { String::new() } else { format!(" {}", flag.value) };
        entry(&format!("--{}{alias}{value}", flag.name), flag.help)
    });
    let sysbench = entry(
        "--mysql-*, --pgsql-*",
        "Reach the server as sysbench does: -host, -port, -socket, -user, -password, -db; lists of --mysql- hosts, ports and sockets are several servers, which the clients take in turn",
    );
    text.collect::<String>() + &sysbench
}

/// A name, and its text beside it, wrapped.
fn entry(name: &str, text: &str) -> String {
    let mut out = format!("  {name}");
    if out.len() + 2 > TEXT_COLUMN {
        out.push('\n');
        out.push_str(&" ".repeat(TEXT_COLUMN));
    } else {
        out.push_str(&" ".repeat(TEXT_COLUMN - out.len()));
    }
    let mut column = TEXT_COLUMN;
    for word in text.split(' ') {
        if column + word.chars().count() > WIDTH {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(TEXT_COLUMN));
            column = TEXT_COLUMN;
        }
        out.push_str(word);
        out.push(' ');
        column += word.chars().count() + 1;
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

fn exit_help(verb: Verb) -> &'static str {
    match verb {
        Verb::Bench => {
            "\
Exit status:
    0  done
    2  bad usage
    4  the server, the database or a table is not there or was gone at the end, the run broke off, or answers
       were not what the workload declares; what was measured is reported
  130  interrupted; what was measured is reported
"
        }
        Verb::Check => {
            "\
Exit status:
    0  the data is as it should be
    2  bad usage
    4  the server, the database or a table is not there
    5  the data is not as it should be
"
        }
        Verb::Prepare | Verb::Cleanup => {
            "\
Exit status:
    0  done
    2  bad usage
    4  the server refused it, or is not there
  130  interrupted
"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_a_terminal_and_names_every_option() {
        for verb in Verb::ALL {
            let text = command_help(verb);
            for line in text.lines().filter(|line| !line.starts_with("  dbduel") && !line.starts_with("It ")) {
                assert!(line.chars().count() <= 110, "{line}");
            }
        }
        let text = command_help(Verb::Bench);
        for flag in FLAGS.iter().filter(|flag| !flag.help.is_empty()) {
            assert!(text.contains(&format!("--{}", flag.name)), "{}", flag.name);
        }
    }

    #[test]
    fn the_help_of_a_workload_tells_its_options_with_their_defaults() {
        for kind in WORKLOADS {
            let text = workload_help(Verb::Bench, kind);
            assert!(
                kind.options
                    .iter()
                    .filter(|spec| spec.name != "compat")
                    .all(|spec| text.contains(&format!("--{}", normal(spec.name)))),
                "{text}"
            );
        }
        let text = workload_help(Verb::Prepare, workloads::workload_kind("oltp_read_write").unwrap());
        assert!(text.contains("rows per table [default: 10000]"), "{text}");
    }
}
