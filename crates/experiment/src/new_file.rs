//! An experiment file for two servers that runs as it is, with every other key as a comment.
//!
//! The comments are those of `default-experiment.toml`: a default and its reason stand there and nowhere else.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::{DEFAULT_EXPERIMENT, Known, TargetUrl};

/// Each server is an engine with its version, a folder, or the URL of a running server.
pub fn new_file(known: &Known, servers: &[String], workload: &str) -> Result<String> {
    let contenders = servers.iter().map(|server| Contender::of(server, known)).collect::<Result<Vec<_>>>()?;
    let kind = known
        .workloads
        .find(workload)
        .with_context(|| format!("unknown workload `{workload}`\n  next: `dbduel list workloads` has the names"))?;
    let one_pass = known.needs(kind, &Default::default()).is_ok_and(|needs| needs.one_pass);
    let same = contenders[0].lines == contenders[1].lines;
    let mut text = "# `dbduel plan FILE` prints what this leads to, `dbduel run FILE` measures it.\n\
                    # `dbduel schema` prints a JSON Schema for editors.\n\n"
        .to_owned();
    for (index, contender) in contenders.iter().enumerate() {
        let name = if same { format!("name = \"{}\"\n", ["a", "b"][index]) } else { String::new() };
        let _ = write!(text, "[[contender]]\n{name}{}", contender.lines);
        if !contender.is_target {
            text += "# settings = { }             # settings of the server; each is read back\n";
        }
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

/// The lines that name one server.
struct Contender {
    lines: String,
    is_target: bool,
}

impl Contender {
    fn of(server: &str, known: &Known) -> Result<Contender> {
        if server.contains("://") {
            return target(server);
        }
        if Path::new(server).is_dir() {
            return folder(Path::new(server), known);
        }
        if Path::new(server).is_file() {
            return source("archive", server, server, known);
        }
        if server.contains([':', '/']) {
            return image(server, known);
        }
        Ok(Contender { lines: format!("engine = {}\n", quoted(server)), is_target: false })
    }
}

/// A password never stands in a file that dbduel writes.
fn target(text: &str) -> Result<Contender> {
    let url = TargetUrl::parse(text).map_err(|error| anyhow!("cannot read the URL of a target: {error}"))?;
    let url = TargetUrl { password: None, ..url };
    let password = "# password_file = \"FILE\"        # else the password comes from DBDUEL_PASSWORD\n";
    Ok(Contender { lines: format!("target = {}\n{password}", quoted(&url.to_string())), is_target: true })
}

/// Nothing is fetched: which engine it is, the name shows or the user adds.
fn image(reference: &str, known: &Known) -> Result<Contender> {
    let is_in_files = engine::expect_image(reference).map_err(|why| anyhow!("`{reference}` is no image: {why}"))?;
    let name = reference.rsplit('/').next().unwrap_or(reference);
    match reference.split_once(':').filter(|_| is_in_files) {
        Some((prefix, path)) => {
            source("image", &format!("{prefix}:{}", std::path::absolute(path)?.display()), name, known)
        }
        None => source("image", reference, name, known),
    }
}

fn source(key: &str, text: &str, name: &str, known: &Known) -> Result<Contender> {
    if known.engines.named_in(name).is_none() {
        bail!(
            "`{text}` does not show which engine it is\n  next: write the file by hand, with `engine` beside `{key}`"
        );
    }
    Ok(Contender { lines: format!("{key} = {}\n", quoted(text)), is_target: false })
}

/// A folder holds the server of one engine.
fn folder(folder: &Path, known: &Known) -> Result<Contender> {
    let path: PathBuf = std::path::absolute(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let version =
        |engine: &&&dyn engine::Engine| engine.version_of(&engine.locate(&path)?, &engine::Surroundings::default());
    let holds = known.engines.0.iter().filter(|engine| version(engine).is_ok());
    let Some(engine) = holds.map(|engine| engine.kind()).next() else {
        bail!("{} holds no server: expected an unpacked one, with a folder `bin` or `sbin`", folder.display());
    };
    let path = path.to_str().with_context(|| format!("{} is not UTF-8", folder.display()))?;
    Ok(Contender { lines: format!("engine = {}\nbasedir = {}\n", quoted(engine), quoted(path)), is_target: false })
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
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
        let wrong = |server: &str| Contender::of(server, &known()).err().unwrap().to_string();
        assert!(wrong("registry.example/db:1").contains("does not show which engine"));
        assert!(wrong("MySQL:8").contains("upper case"));
    }
}
