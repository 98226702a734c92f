//! An experiment file for two servers that runs as it is, with every other key as a comment.
//!
//! The comments are those of `default-experiment.toml`: a default and its reason stand there and nowhere else.

use std::fmt::Write;

use anyhow::{Context, Result};

use crate::server_word::{PASSWORD_LINE, Server, quoted};
use crate::{DEFAULT_EXPERIMENT, Known};

/// Each server is an engine with its version, an image, a folder, an archive, or the URL of a running server.
pub fn new_file(known: &Known, servers: &[String], workload: &str) -> Result<String> {
    let contenders = servers.iter().map(|server| Ok(Server::of(server, known)?.without_password()));
    let contenders = contenders.collect::<Result<Vec<_>>>()?;
    let kind = known
        .workloads
        .find(workload)
        .with_context(|| format!("unknown workload `{workload}`\n  next: `dbduel list workloads` has the names"))?;
    let one_pass = known.needs(kind, &Default::default()).is_ok_and(|needs| needs.one_pass);
    let same = contenders[0].keys == contenders[1].keys;
    let mut text = "# `dbduel plan FILE` prints what this leads to, `dbduel run FILE` measures it.\n\
                    # `dbduel schema` prints a JSON Schema for editors.\n\n"
        .to_owned();
    for (index, contender) in contenders.iter().enumerate() {
        let name = if same { format!("name = \"{}\"\n", ["a", "b"][index]) } else { String::new() };
        let _ = write!(text, "[[contender]]\n{name}{}", contender.lines());
        text += match contender.is_target {
            true => PASSWORD_LINE,
            false => "# settings = { }             # settings of the server; each is read back\n",
        };
        text.push('\n');
    }
    let _ = write!(text, "# Of each contender:\n{}\n", commented("contender", &[]));
    let _ = write!(text, "[workload]\nname = {}\n", quoted(kind.name));
    for option in kind.options {
        let _ = writeln!(text, "# {}\n# {} = {}", option.help, option.name, shown(option.default));
    }
    text += &commented("workload", &[]);
    if !one_pass {
        text += "\n[sweep]\nclients = [1, 4, 16, 64]\n";
    }
    let _ = write!(
        text,
        "\n[method]\npreset = \"quick\"\n# The values of this preset:\n{}",
        commented("preset.quick", &[])
    );
    let _ = write!(text, "# Of every preset:\n{}", commented("method", &["preset"]));
    let _ = write!(text, "\n# [clients]\n{}", commented("clients", &[]));
    Ok(text)
}

/// The default of an option as TOML has it.
fn shown(default: &str) -> String {
    let is_value = format!("x = {default}").parse::<toml::Table>().is_ok();
    if is_value { default.to_owned() } else { quoted(default) }
}

/// A table of the defaults with its keys as comments; a key that is left out takes its reason with it.
fn commented(table: &str, without: &[&str]) -> String {
    let heading = format!("[{table}]");
    let lines = DEFAULT_EXPERIMENT.lines().skip_while(|line| *line != heading).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with('[')).collect();
    // A comment behind an empty line belongs to the next table.
    let last_key = lines.iter().rposition(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or(0);
    let end = lines[last_key..].iter().position(|line| line.is_empty()).map_or(lines.len(), |end| last_key + end);
    let is_left_out = |line: &str| without.iter().any(|key| line.starts_with(&format!("{key} =")));
    let mut kept: Vec<String> = Vec::new();
    for line in lines[..end].iter().filter(|line| !line.is_empty()) {
        match line {
            line if is_left_out(line) => {
                let reason = kept.iter().rev().take_while(|line| !line.contains(" = ")).count();
                kept.truncate(kept.len() - reason);
            }
            line if line.starts_with('#') => kept.push(format!("{line}\n")),
            line => kept.push(format!("# {line}\n")),
        }
    }
    kept.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Overrides};
    use load::Workloads;

    fn known() -> Known {
        Known { workloads: Workloads(workloads::WORKLOADS), ..crate::testing::known() }
    }

    fn written(servers: [&str; 2], workload: &str) -> String {
        new_file(&known(), &servers.map(str::to_owned), workload).unwrap()
    }

    #[test]
    fn the_file_is_an_experiment_as_it_is_and_its_comments_are_the_defaults() {
        for workload in ["oltp_read_write", "tpcc", "sql-bench"] {
            let text = written(["mysql@5.7", "mysql@8.0"], workload);
            let experiment = Experiment::parse(&text, "x.toml", &known(), &Overrides::default()).unwrap();
            assert_eq!(experiment.contenders.len(), 2, "{text}");
            for line in
                ["# storage = \"disk\"\n", "# margin = \"1%\"\n", "# duration = \"5s\"\n", "# transport = \"socket\"\n"]
            {
                assert!(text.contains(line), "{line}: {text}");
            }
            assert!(!text.contains("# preset =") && !text.contains("lunch break"), "{text}");
        }
    }

    #[test]
    fn every_default_is_also_what_it_is_without_its_comment_sign() {
        let text = written(["mysql@5.7", "mysql@8.0"], "oltp_read_write");
        let given = Experiment::parse(&text, "x.toml", &known(), &Overrides::default()).unwrap();
        let is_default = |line: &&str| DEFAULT_EXPERIMENT.lines().any(|default| format!("# {default}") == **line);
        // A pilot run has no use beside the warm-up of this preset.
        let is_default = |line: &&str| is_default(line) && !line.starts_with("# pilot");
        let bare =
            |line: &str| if is_default(&line) && line.contains(" = ") { line[2..].to_owned() } else { line.to_owned() };
        let method = &text[text.find("[method]").unwrap()..text.find("# [clients]").unwrap()];
        let opened: String = method.lines().map(|line| bare(line) + "\n").collect();
        let opened =
            Experiment::parse(&text.replace(method, &opened), "x.toml", &known(), &Overrides::default()).unwrap();
        assert_eq!(format!("{:?}", given.method), format!("{:?}", opened.method));
    }

    #[test]
    fn two_of_one_server_get_names_and_a_password_is_left_out() {
        let text = written(["sqlite", "sqlite"], "oltp_read_write");
        assert!(text.contains("name = \"a\"\nengine = \"sqlite\"\n") && text.contains("name = \"b\"\n"), "{text}");
        let text = written(["mysql://app:hunter2@db.example:3306/bench", "mariadb@system"], "oltp_point_select");
        assert!(
            !text.contains("hunter2") && text.contains("target = \"mysql://app@db.example:3306/bench\"\n"),
            "{text}"
        );
    }

    #[test]
    fn images_are_named_and_not_fetched() {
        let text = written(["mysql:8.0", "registry.example:5000/db/percona-server:8.4"], "oltp_read_write");
        assert!(text.contains("image = \"mysql:8.0\"\n"), "{text}");
        assert!(text.contains("image = \"registry.example:5000/db/percona-server:8.4\"\n"), "{text}");
        let wrong = |server: &str| Server::of(server, &known()).err().unwrap().to_string();
        assert!(wrong("registry.example/db:1").contains("does not show which engine"));
        assert!(wrong("MySQL:8").contains("upper case"));
    }
}
