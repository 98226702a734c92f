//! `settings = "@my.cnf"`: the settings of a server's own configuration file.
//!
//! They take the place of the name in the text of the experiment, before it is checked: a run keeps what was in the
//! file, and never reads it again.

use std::ops::Range;
use std::path::Path;

use engine::{Engine, read_settings_file, version_numbers};
use toml::de::{DeTable, DeValue};

use super::contenders::read_server;
use super::mistakes::{Mistake, Mistakes};
use super::section::{Files, Reader, Section, Value};
use super::server_word::{inline_table, quoted};
use super::set::Edited;
use super::{Known, Origin, VersionRequest};

/// With the settings of every file that the text names; paths are relative to `folder`.
pub fn expand(mut edited: Edited, file: &str, folder: &Path, known: &Known) -> Result<Edited, Mistakes> {
    let text = edited.text.clone();
    // What is no TOML, the reader of the text finds out.
    let Ok(root) = DeTable::parse(&text) else { return Ok(edited) };
    let files = Files { folder: folder.to_owned(), stored: None };
    let mut places = Vec::new();
    for (section, server) in sections(&root, &text, &files, known) {
        let Some(value) = section.value("settings").filter(|value| names_a_file(value)) else { continue };
        let line = text[..value.span().start].matches('\n').count() + 1;
        let wrong = |(what, note): (String, &str)| {
            let mistake = Mistake { line: Some(line), what, notes: vec![note.to_owned()] };
            edited.place(Mistakes { file: file.to_owned(), list: vec![mistake], about_keys: true })
        };
        places.push((value.span(), whole(value, &text, &server, folder).map_err(wrong)?));
    }
    places.sort_by_key(|(span, _): &(Range<usize>, _)| span.start);
    for remark in places.iter().flat_map(|(_, whole)| &whole.remarks) {
        if !edited.remarks.contains(remark) {
            edited.remarks.push(remark.clone());
        }
    }
    for (span, whole) in places.into_iter().rev() {
        edited.replace(span, &whole.table, &whole.by);
    }
    let comments: String = edited.remarks.iter().map(|remark| format!("# {remark}\n")).collect();
    if !comments.is_empty() {
        edited.replace(0..0, &comments, "settings");
    }
    Ok(edited)
}

/// Which server a section means.
#[derive(Clone)]
struct Server {
    engine: &'static dyn Engine,
    version: VersionRequest,
    origin: Origin,
}

impl Server {
    /// The numbers of its version, where that can be known without fetching it.
    fn numbers(&self) -> Option<Vec<u32>> {
        let resolved = engine::resolve(self.engine, &self.version, &self.origin).ok()?;
        Some(version_numbers(&resolved.version)).filter(|numbers| !numbers.is_empty())
    }
}

/// The tables that may have settings. A rung without a server of its own has that of what it stands on.
fn sections<'a>(
    root: &'a toml::Spanned<DeTable<'a>>,
    text: &'a str,
    files: &Files,
    known: &Known,
) -> Vec<(Section<'a>, Server)> {
    // What it finds wrong, the reader of the whole text reports.
    let mut reader = Reader::new(text);
    reader.files = files.clone();
    let top = Section::new("", root.span(), root.get_ref());
    let has_file = |section: &Section<'a>| section.value("settings").is_some_and(names_a_file);
    let (contenders, rungs) = (reader.tables(&top, "contender"), reader.tables(&top, "ladder"));
    // Images and archives are looked at for their versions, which takes time.
    if !contenders.iter().chain(&rungs).any(has_file) {
        return Vec::new();
    }
    // Of each section also the contender at the foot of its ladder.
    let mut found: Vec<(String, Section<'a>, Server)> = Vec::new();
    for section in contenders {
        let name = text_of(&section, "name").or(text_of(&section, "engine")).unwrap_or_default().to_owned();
        if section.value("target").is_none()
            && let Some((engine, _, version, origin)) = read_server(&mut reader, &section, known, None)
        {
            found.push((name, section, Server { engine, version, origin }));
        }
    }
    for section in rungs {
        let foot = text_of(&section, "on").or(found.first().map(|(foot, ..)| foot.as_str())).map(str::to_owned);
        let below = found.iter().rfind(|(name, ..)| Some(name) == foot.as_ref());
        let Some((foot, _, below)) = below else { continue };
        let has_own = ["engine", "image", "archive", "basedir"].iter().any(|key| section.value(key).is_some());
        let own = has_own.then(|| read_server(&mut reader, &section, known, Some(below.engine))).flatten();
        let own = own.map(|(engine, _, version, origin)| Server { engine, version, origin });
        let rung = (foot.clone(), section, own.unwrap_or_else(|| below.clone()));
        found.push(rung);
    }
    found.into_iter().map(|(_, section, server)| (section, server)).collect()
}

fn text_of<'s>(section: &'s Section<'_>, key: &str) -> Option<&'s str> {
    section.value(key)?.get_ref().as_str()
}

fn names_a_file(value: &Value<'_>) -> bool {
    let is_file = |value: &Value<'_>| value.get_ref().as_str().is_some_and(|text| text.starts_with('@'));
    is_file(value) || value.get_ref().as_array().is_some_and(|all| all.iter().any(is_file))
}

/// What stands in the place of a file's name.
struct Whole {
    table: String,
    /// The files, as the text has them.
    by: String,
    remarks: Vec<String>,
}

/// One file, or a list of files and tables, of which a later one wins.
fn whole(value: &Value<'_>, text: &str, server: &Server, folder: &Path) -> Result<Whole, (String, &'static str)> {
    let note = "expected settings = \"@my.cnf\", or [\"@my.cnf\", { innodb_buffer_pool_size = \"1G\" }]";
    let (engine, numbers) = (server.engine, server.numbers());
    let parts: Vec<&Value<'_>> = match value.get_ref() {
        DeValue::Array(all) => all.iter().collect(),
        _ => vec![value],
    };
    let (mut values, mut files, mut remarks) = (Vec::<(String, String)>::new(), Vec::new(), Vec::new());
    for part in parts {
        let of_part: Vec<(String, String)> = match part.get_ref() {
            DeValue::String(name) if name.starts_with('@') => {
                let read = read_settings_file(engine, numbers.as_deref(), &folder.join(&name[1..]));
                let read = read.map_err(|why| (format!("`settings` = \"{name}\": {why}"), note))?;
                let version = numbers.iter().flatten().map(u32::to_string).collect::<Vec<_>>().join(".");
                let of = |remark| format!("settings of {} {version}, from {}: {remark}", engine.kind(), &name[1..]);
                remarks.extend(read.remarks.into_iter().map(of));
                files.push(name.to_string());
                read.values.into_iter().map(|(name, value)| (name, quoted(&value))).collect()
            }
            DeValue::Table(_) => {
                let table = format!("it = {}", &text[part.span()]).parse::<toml::Table>();
                let table = table.ok().and_then(|mut table| table.remove("it")?.try_into::<toml::Table>().ok());
                table.unwrap_or_default().into_iter().map(|(name, value)| (name, value.to_string())).collect()
            }
            _ => return Err(("`settings` lists something that is neither a file nor a table".to_owned(), note)),
        };
        for (name, value) in of_part {
            values.retain(|(known, _)| known.replace('-', "_") != name.replace('-', "_"));
            values.push((name, value));
        }
    }
    Ok(Whole { table: inline_table(&values), by: files.join(", "), remarks })
}
