//! Contenders on the command line, in place of those of a file or without any file.
//!
//! What a line asks for becomes the text of an experiment file, which is then read like any other: there is no other
//! way into a plan, and the run keeps that text. What must stay true: the same line makes the same text.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::mistakes::{COMMAND_LINE, Mistake, Mistakes};
use super::section::shortened;
use super::server_word::{PASSWORD_LINE, Server, absolute, inline_table, quoted};
use super::set::{Edited, Made, Settings};
use super::{Known, TargetUrl};
use record::rule::{OPERATIONS_WITH_JOINT_ERROR_MAX, blocks_of_screening};
use record::secrets::{is_secret_key, mask_urls};

/// The preset of a line that names none, and what the line takes from nowhere else: a verdict within three minutes on
/// two cores. The sixteen starts of each server are most of it.
const PRESET: &str = "quick";
const DURATION: &str = "1s";
const WARMUP: &str = "500ms";
/// Of the preset.
const BLOCKS: u32 = 8;
/// Of the default confidence.
const ERROR: f64 = 0.05;
const ROWS: u64 = 10_000;
const CLIENTS: [u64; 2] = [1, 4];
const WORKLOAD: &str = "oltp_read_write";
/// Of a line with a log.
const REPLAY: &str = "replay";

/// What the command line asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Each `[NAME=]SERVER[?SETTING=VALUE&…]`; none where a file has its own.
    pub contenders: Vec<String>,
    /// `NAME=VALUE`: of every contender of the line.
    pub settings: Vec<String>,
    pub workload: Option<String>,
    pub clients: Vec<u64>,
    pub rows: Option<u64>,
    pub duration: Option<String>,
    /// Logs of a server, or a capture of them, to be replayed.
    pub logs: Vec<PathBuf>,
    /// A dump or a data directory that fills the tables.
    pub data: Option<PathBuf>,
    /// Everything else comes from a file.
    pub has_file: bool,
}

impl Line {
    /// The flags beside a file are keys of it.
    pub fn keys_of_file(&self) -> Result<Settings> {
        let clients = (!self.clients.is_empty()).then(|| ("sweep.clients", format!("{:?}", self.clients)));
        let rows = self.rows.map(|rows| ("workload.rows", rows.to_string()));
        let duration = self.duration.clone().map(|duration| ("method.duration", duration));
        let own = self.own_data()?.into_iter().map(|(key, value)| (format!("workload.{key}"), value));
        let flags = [clients, rows, duration].into_iter().flatten().map(|(key, value)| (key.to_owned(), value));
        Ok(flags.chain(own).collect())
    }

    /// The keys of a workload that --log and --data are.
    fn own_data(&self) -> Result<Vec<(&'static str, String)>> {
        let logs = self.logs.iter().map(|log| absolute(log).map(|path| quoted(&path))).collect::<Result<Vec<_>>>()?;
        let log = (!logs.is_empty()).then(|| ("log", format!("[{}]", logs.join(", "))));
        let data = self.data.as_ref().map(|data| {
            let form = if data.is_dir() { "directory" } else { "dump" };
            anyhow::Ok(("data", format!("{{ {form} = {} }}", quoted(&absolute(data)?))))
        });
        Ok(log.into_iter().chain(data.transpose()?).collect())
    }

    /// The same for a file that is kept: a password in a URL comes from elsewhere then.
    pub fn without_passwords(&self) -> Line {
        let bare = |word: &String| {
            let (name, server) = named(word);
            let Ok(url) = TargetUrl::parse(server) else { return word.clone() };
            let url = TargetUrl { password: None, ..url };
            name.map_or_else(|| url.to_string(), |name| format!("{name}={url}"))
        };
        Line { contenders: self.contenders.iter().map(bare).collect(), ..self.clone() }
    }

    /// The text of the experiment: that of the file with other contenders, or one of its own.
    pub fn text(&self, file: Option<&str>, known: &Known, preset: Option<&str>) -> Result<Edited> {
        let contenders = self.contenders(known)?;
        let Some(file) = file else {
            return Ok(Edited::made(&self.whole_file(&contenders, known, preset)?));
        };
        ensure!(
            self.workload.is_none(),
            "--workload stands beside a file, which has its own\n  leave it out, or give --set workload.name=NAME"
        );
        ensure!(
            self.settings.is_empty() || !contenders.is_empty(),
            "--settings is for contenders of the command line, and there are none\n  \
             give --set contender.settings.NAME=VALUE, which sets it for those of the file"
        );
        let mut edited = Edited::untouched(file);
        if !contenders.is_empty() {
            // What names contenders goes with them.
            edited.remove(&["contender", "ladder", "baseline"]);
            let gap = Made { text: "\n".to_owned(), by: None };
            edited.append(&[gap].into_iter().chain(contenders.iter().map(Contender::made)).collect::<Vec<_>>());
        }
        Ok(edited)
    }

    fn contenders(&self, known: &Known) -> Result<Vec<Contender>> {
        let words = self.contenders.iter().map(|word| Word::of(word, known));
        let words: Vec<Word> = words.collect::<Result<_>>()?;
        let common = self.settings.iter().map(|one| setting(one, "--settings")).collect::<Result<Vec<_>>>()?;
        let twice = words.iter().enumerate().find_map(|(index, word)| {
            let name = word.name.as_ref()?;
            words[..index].iter().any(|other| other.name.as_ref() == Some(name)).then_some(name)
        });
        ensure!(
            twice.is_none(),
            "two contenders are called `{}`\n  give each a NAME= of its own",
            twice.expect("there is one")
        );
        let names = names(&words);
        let contender = |(word, name): (Word, Option<String>)| {
            let settings = common.iter().chain(&word.settings).cloned().collect();
            Contender { name, server: word.server, settings }
        };
        Ok(words.into_iter().zip(names).map(contender).collect())
    }

    fn whole_file(&self, contenders: &[Contender], known: &Known, preset: Option<&str>) -> Result<Vec<Made>> {
        let plain = |text: String| Made { text, by: None };
        let by = |text: String, flag: &str| Made { text, by: Some(flag.to_owned()) };
        let names: Vec<&str> = contenders.iter().map(Contender::shown_name).collect();
        let mut made = vec![plain(head(&names))];
        made.extend(contenders.iter().map(Contender::made));

        let replays = !self.logs.is_empty();
        let workload = self.workload.as_deref().unwrap_or(if replays { REPLAY } else { WORKLOAD });
        let kind = known.workloads.find(workload);
        let kind =
            kind.with_context(|| format!("unknown workload `{workload}`\n  `dbduel list workloads` has the names"))?;
        let is_quick = preset.is_none_or(|preset| preset == PRESET);
        let one_pass = replays || known.needs(kind, &Default::default()).is_ok_and(|needs| needs.one_pass);
        made.push(by(format!("[workload]\nname = {}\n", quoted(kind.name)), "--workload"));
        for (key, value) in self.own_data()? {
            made.push(by(format!("{key} = {value}\n"), if key == "log" { "--log" } else { "--data" }));
        }
        let has_rows = kind.options.iter().any(|option| option.name == "rows");
        match self.rows {
            Some(rows) => made.push(by(format!("rows = {rows}\n"), "--rows")),
            None if is_quick && has_rows => {
                made.push(plain(format!(
                    "rows = {ROWS}                    # few, so that loading is no part of the wait\n"
                )));
            }
            None => {}
        }
        match self.clients.as_slice() {
            [] if one_pass => {}
            [] => made.push(plain(format!(
                "\n[sweep]\nclients = {CLIENTS:?}                # one alone, and a few that meet\n"
            ))),
            given => made.push(by(format!("\n[sweep]\nclients = {given:?}\n"), "--clients")),
        }
        let preset_line = match preset {
            Some(preset) => format!("preset = {}\n", quoted(preset)),
            None => {
                format!("preset = {}                # for a first look; \"standard\" for a decision\n", quoted(PRESET))
            }
        };
        made.push(plain(format!("\n[method]\n{preset_line}")));
        match &self.duration {
            Some(duration) => made.push(by(format!("duration = {}\n", quoted(duration)), "--duration")),
            None if is_quick && !one_pass => made.push(plain(format!(
                "duration = {}                 # short: 32 trials are to take three minutes\nwarmup = {}\n",
                quoted(DURATION),
                quoted(WARMUP)
            ))),
            None => {}
        }
        let operations = kind.with(&Default::default()).ok();
        let operations = operations.and_then(|workload| Some(workload.single_pass()?.operations())).unwrap_or(0);
        if let Some(blocks) = blocks_for_single(operations, contenders.len().saturating_sub(1)).filter(|_| is_quick) {
            made.push(plain(format!(
                "blocks = {blocks}                    # fewer cannot show that one of {operations} differs\n"
            )));
        }
        Ok(made)
    }
}

/// More blocks than the preset has, where a long list of operations takes them.
fn blocks_for_single(operations: usize, candidates: usize) -> Option<u32> {
    let is_long = operations > OPERATIONS_WITH_JOINT_ERROR_MAX;
    blocks_of_screening(operations, candidates, ERROR).filter(|blocks| is_long && *blocks > BLOCKS)
}

fn head(names: &[&str]) -> String {
    let mut text =
        "# Written by dbduel for contenders of its command line. Everything that is not here has its default:\n\
                    # `dbduel plan --defaults` prints each, with its reason.\n"
            .to_owned();
    let _ = writeln!(text, "name = {}", quoted(&shortened(names.join(" vs "))));
    if names.len() > 1 {
        let (last, first) = names.split_last().expect("there are two");
        let _ = writeln!(text, "question = {}", quoted(&format!("Which is faster: {} or {last}?", first.join(", "))));
    }
    text + "\n"
}

/// A mistake of the command line, as one of a file.
pub fn mistake(error: &anyhow::Error) -> Mistakes {
    let text = mask_urls(&format!("{error:#}"));
    let mut lines = text.lines().map(|line| line.trim_start().to_owned());
    let mistake = Mistake { line: None, what: lines.next().unwrap_or_default(), notes: lines.collect() };
    Mistakes { file: COMMAND_LINE.to_owned(), list: vec![mistake], about_keys: false }
}

/// One contender of the line, taken apart.
struct Word {
    name: Option<String>,
    server: Server,
    settings: Vec<Setting>,
}

#[derive(Clone)]
enum Setting {
    /// A configuration file of the server's own, by its whole path.
    File(String),
    Value(String, String),
}

impl Word {
    fn of(text: &str, known: &Known) -> Result<Word> {
        let (name, rest) = named(text);
        let name = name.map(|name| name.trim().to_owned());
        // The options of a URL are its own.
        let is_target = TargetUrl::is_target(rest);
        let (server, settings) = rest.split_once('?').filter(|_| !is_target).unwrap_or((rest, ""));
        let settings = settings.split('&').filter(|one| !one.is_empty()).map(|one| setting(one, text));
        Ok(Word { name, server: Server::of(server, known)?, settings: settings.collect::<Result<_>>()? })
    }

    /// The name of one that shares its server with another.
    fn long_name(&self) -> String {
        let shown = self.settings.iter().map(|one| match one {
            Setting::File(path) => Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Setting::Value(name, _) if is_secret_key(name) => name.clone(),
            Setting::Value(name, value) => format!("{name}={value}"),
        });
        format!("{} {}", self.server.name, shown.collect::<Vec<_>>().join(", ")).trim_end().to_owned()
    }
}

/// A name in front, which stands before everything that a server or its settings may have.
fn named(text: &str) -> (Option<&str>, &str) {
    // A connection string begins like a name.
    if TargetUrl::is_target(text) && !text.contains("://") {
        return (None, text);
    }
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(['?', ':', '/', '@']));
    named.map_or((None, text), |(name, rest)| (Some(name), rest))
}

fn setting(text: &str, of: &str) -> Result<Setting> {
    if let Some(path) = text.trim().strip_prefix('@') {
        return Ok(Setting::File(absolute(Path::new(path))?));
    }
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok(Setting::Value(name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => bail!("{of}: `{text}` is no setting\n  expected NAME=VALUE, or @FILE: a configuration file of the server"),
    }
}

/// The names that contenders need beyond their own: those that were given, and others where two would be alike.
fn names(words: &[Word]) -> Vec<Option<String>> {
    let own = |word: &Word| word.name.clone().unwrap_or_else(|| word.server.name.clone());
    let is_shared = |name: &str| words.iter().filter(|word| own(word) == name).count() > 1;
    let mut names: Vec<Option<String>> = Vec::new();
    for word in words {
        let is_folder = word.server.keys.iter().any(|(key, _)| *key == "basedir");
        let name = match &word.name {
            Some(name) => Some(name.clone()),
            None if is_shared(&own(word)) => Some(shortened(word.long_name())),
            None => is_folder.then(|| own(word)),
        };
        let is_taken = |name: &str| names.iter().flatten().any(|other| other == name);
        let numbered = |name: String| {
            let others = (2..).map(|number| format!("{name} ({number})"));
            [name.clone()].into_iter().chain(others).find(|name| !is_taken(name))
        };
        // Two of one name that the user gave are the user's mistake.
        names.push(if word.name.is_some() { name } else { name.and_then(numbered) });
    }
    names
}

/// One contender, as it stands in the file.
struct Contender {
    name: Option<String>,
    server: Server,
    settings: Vec<Setting>,
}

impl Contender {
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.server.name)
    }

    fn made(&self) -> Made {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!("name = {}\n", quoted(name)));
        let password = if self.server.is_target { PASSWORD_LINE } else { "" };
        let text = format!("[[contender]]\n{name}{}{password}{}\n", self.server.lines(), self.settings_line());
        Made { text, by: Some(format!("contender `{}`", self.shown_name())) }
    }

    /// In the order of the line: what stands later wins.
    fn settings_line(&self) -> String {
        let (mut parts, mut values) = (Vec::new(), Vec::<(String, String)>::new());
        for setting in &self.settings {
            match setting {
                Setting::File(path) => {
                    parts.extend((!values.is_empty()).then(|| inline_table(&std::mem::take(&mut values))));
                    parts.push(quoted(&format!("@{path}")));
                }
                Setting::Value(name, value) => {
                    values.retain(|(earlier, _)| earlier != name);
                    values.push((name.clone(), in_toml(value)));
                }
            }
        }
        parts.extend((!values.is_empty()).then(|| inline_table(&values)));
        match parts.as_slice() {
            [] => String::new(),
            [one] => format!("settings = {one}\n"),
            some => format!("settings = [{}]\n", some.join(", ")),
        }
    }
}

/// A number as it is, anything else as a text.
fn in_toml(value: &str) -> String {
    let is_number = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if is_number { value.to_owned() } else { quoted(value) }
}
