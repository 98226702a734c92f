//! `dbduel init`: an experiment file for two servers that runs as it is, with every other key as a comment.
//!
//! The comments are those of `default-experiment.toml`: a default and its reason stand there and nowhere else.

use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::{Failure, print};
use crate::KNOWN;
use crate::cli::{InitArgs, exit};
use experiment::{DEFAULT_EXPERIMENT, Experiment, Overrides, TargetUrl, shell_path};

pub fn init(args: &InitArgs) -> Result<u8, Failure> {
    let text = text(args).map_err(Failure::usage)?;
    // The workload may need options of its own, or refuse one of the servers.
    let name = args.out.as_deref().unwrap_or(Path::new("experiment.toml"));
    Experiment::parse(&text, &name.display().to_string(), &KNOWN, &Overrides::default()).map_err(Failure::usage)?;
    match &args.out {
        None => print(&text)?,
        Some(path) => {
            create(path, &text).map_err(Failure::usage)?;
            print(&format!("{} written\n  next: dbduel plan {}\n", path.display(), shell_path(path)))?;
        }
    }
    Ok(exit::DONE)
}

/// Writes a new file; one that exists stays as it is.
fn create(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn text(args: &InitArgs) -> Result<String> {
    let contenders = args.servers.iter().map(|server| Contender::of(server)).collect::<Result<Vec<_>>>()?;
    let kind = KNOWN.workloads.find(&args.workload).with_context(|| {
        format!("unknown workload `{}`\n  next: `dbduel list workloads` has the names", args.workload)
    })?;
    let one_pass = KNOWN.needs(kind, &Default::default()).is_ok_and(|needs| needs.one_pass);
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
    fn of(server: &str) -> Result<Contender> {
        if server.contains("://") {
            return target(server);
        }
        if Path::new(server).is_dir() {
            return folder(Path::new(server));
        }
        if Path::new(server).is_file() {
            return source("archive", server, server);
        }
        if server.contains([':', '/']) {
            return image(server);
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
fn image(reference: &str) -> Result<Contender> {
    let is_in_files = engine::expect_image(reference).map_err(|why| anyhow!("`{reference}` is no image: {why}"))?;
    let name = reference.rsplit('/').next().unwrap_or(reference);
    match reference.split_once(':').filter(|_| is_in_files) {
        Some((prefix, path)) => source("image", &format!("{prefix}:{}", std::path::absolute(path)?.display()), name),
        None => source("image", reference, name),
    }
}

fn source(key: &str, text: &str, name: &str) -> Result<Contender> {
    if KNOWN.engines.named_in(name).is_none() {
        bail!(
            "`{text}` does not show which engine it is\n  next: write the file by hand, with `engine` beside `{key}`"
        );
    }
    Ok(Contender { lines: format!("{key} = {}\n", quoted(text)), is_target: false })
}

/// A folder holds the server of one engine.
fn folder(folder: &Path) -> Result<Contender> {
    let path: PathBuf = std::path::absolute(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let version =
        |engine: &&&dyn engine::Engine| engine.version_of(&engine.locate(&path)?, &engine::Surroundings::default());
    let holds = KNOWN.engines.0.iter().filter(|engine| version(engine).is_ok());
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

    fn written(servers: [&str; 2], workload: &str) -> String {
        text(&InitArgs { servers: servers.map(str::to_owned).into(), workload: workload.into(), out: None }).unwrap()
    }

    #[test]
    fn the_file_is_an_experiment_as_it_is_and_its_comments_are_the_defaults() {
        for workload in ["oltp_read_write", "tpcc", "sql-bench"] {
            let text = written(["mysql@5.7", "mysql@8.0"], workload);
            let experiment = Experiment::parse(&text, "x.toml", &KNOWN, &Overrides::default()).unwrap();
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
        let given = Experiment::parse(&text, "x.toml", &KNOWN, &Overrides::default()).unwrap();
        let is_default = |line: &&str| DEFAULT_EXPERIMENT.lines().any(|default| format!("# {default}") == **line);
        // A pilot run has no use beside the warm-up of this preset.
        let is_default = |line: &&str| is_default(line) && !line.starts_with("# pilot");
        let bare =
            |line: &str| if is_default(&line) && line.contains(" = ") { line[2..].to_owned() } else { line.to_owned() };
        let method = &text[text.find("[method]").unwrap()..text.find("# [clients]").unwrap()];
        let opened: String = method.lines().map(|line| bare(line) + "\n").collect();
        let opened =
            Experiment::parse(&text.replace(method, &opened), "x.toml", &KNOWN, &Overrides::default()).unwrap();
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
        let wrong = |server: &str| Contender::of(server).err().unwrap().to_string();
        assert!(wrong("registry.example/db:1").contains("does not show which engine"));
        assert!(wrong("MySQL:8").contains("upper case"));
    }

    #[test]
    fn an_existing_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        create(&path, "first").unwrap();
        assert!(create(&path, "second").is_err());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "first");
    }
}
