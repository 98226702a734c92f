//! Reads the `[[contender]]` tables: who competes, in which version, with which settings.
//!
//! Whether a version can be had is not asked here: that is the engine's business, and reading a file
//! touches neither network nor server.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::keys::{CONTENDER_KEYS, names};
use super::mistakes::suggestion;
use super::section::{Reader, Section, Value, integer, shortened};
use super::vocabulary::Known;
use super::{Contender, Origin, Storage, TargetChoice, TargetUrl, VersionRequest};
use engine::Engine;

/// Keys that mean something to a server that dbduel starts, and nothing to a target.
const KEYS_OF_MANAGED: &[(&str, &str)] = &[
    ("settings", "dbduel sets nothing on a server that it does not manage; set it there"),
    ("storage", "the data of a server that dbduel does not manage stay where they are"),
    ("cores", "dbduel cannot say on which CPUs a server runs that it does not start"),
    ("memory", "dbduel cannot limit the memory of a server that it does not start"),
    ("basedir", "name either a server to start or one that runs"),
];
/// Engines of the file format that this version does not have.
const ENGINES_LATER: &[&str] = &["dolt"];

/// All contenders of the file; their names are unique.
pub fn read_contenders<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    known: &Known,
    storage: &Storage,
) -> Vec<Contender> {
    let sections = reader.tables(top, "contender");
    if top.value("contender").is_none() || top.value("contender").is_some_and(is_empty_array) {
        reader.reject(&(0..0), "no contender", "add a table for each: [[contender]] with engine = \"mysql@8.0.31\"");
    }
    let mut seen: BTreeMap<String, Range<usize>> = BTreeMap::new();
    let mut contenders = Vec::new();
    for section in &sections {
        let Some(contender) = read_contender(reader, section, known, storage) else {
            continue;
        };
        let span = section.value("name").or(section.value("engine")).map_or(section.span.clone(), Value::span);
        match seen.get(&contender.name) {
            Some(first) => {
                let what =
                    format!("contender `{}` has the name of the one in line {}", contender.name, reader.line(first));
                reader.reject(&span, what, "give each [[contender]] its own `name`");
            }
            None => drop(seen.insert(contender.name.clone(), span)),
        }
        contenders.push(contender);
    }
    contenders
}

fn is_empty_array(value: &Value) -> bool {
    value.get_ref().as_array().is_some_and(|items| items.is_empty())
}

fn read_contender<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    known: &Known,
    storage: &Storage,
) -> Option<Contender> {
    reader.check_keys(section, &names(CONTENDER_KEYS), &[]);
    let name = reader.name(section, "name");
    if section.value("target").is_some() {
        return read_target(reader, section, name, storage, known);
    }
    for key in ["overwrite", "password_file"] {
        if let Some(value) = section.value(key) {
            reader.reject(&value.span(), format!("`{key}` stands without `target`"), "it belongs beside a `target`");
        }
    }
    let own_storage = read_storage(reader, section);
    let origin = reader.text(section, "basedir").map_or(Origin::Managed, |path| Origin::Basedir(PathBuf::from(path)));
    let Some(engine_value) = section.value("engine") else {
        reader.reject(
            &section.span,
            "this contender has no `engine`",
            "expected engine = \"mysql@8.0.31\", or another engine and version",
        );
        return None;
    };
    let engine = reader.text(section, "engine")?;
    let (kind, version) = read_engine(reader, &engine_value.span(), &engine, &origin, known)?;
    Some(Contender {
        name: name.unwrap_or_else(|| engine.clone()),
        kind,
        version,
        origin,
        settings: read_settings(reader, section, kind),
        storage: own_storage.unwrap_or_else(|| storage.clone()),
        cores: reader.cpu_list(section, "cores"),
        memory_bytes: reader.bytes(section, "memory"),
        engine,
    })
}

/// A contender that runs anyway: its URL names its kind.
fn read_target<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    name: Option<String>,
    storage: &Storage,
    known: &Known,
) -> Option<Contender> {
    for (key, why) in KEYS_OF_MANAGED {
        if let Some(value) = section.value(key) {
            reader.reject(&value.span(), format!("`{key}` stands beside `target`"), *why);
        }
    }
    let choice = read_target_choice(reader, section)?;
    let name_of_kind = choice.url.kind.engine();
    if let (Some(value), Some(engine)) = (section.value("engine"), reader.text(section, "engine"))
        && engine != name_of_kind
    {
        let what =
            format!("`engine` is \"{engine}\", and the target is a {name_of_kind} server of the version that it has");
        reader.reject(&value.span(), what, format!("leave `engine` out, or say engine = \"{name_of_kind}\""));
    }
    let Some(kind) = known.engine(name_of_kind) else {
        reader.not_yet(&section.value("target")?.span(), &format!("a target of kind `{name_of_kind}`"));
        return None;
    };
    Some(Contender {
        name: name.unwrap_or_else(|| shortened(choice.url.to_string())),
        engine: name_of_kind.to_owned(),
        kind,
        version: VersionRequest::Newest,
        origin: Origin::Target(Box::new(choice)),
        settings: BTreeMap::new(),
        storage: storage.clone(),
        cores: None,
        memory_bytes: None,
    })
}

fn read_target_choice<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<TargetChoice> {
    let text = reader.text(section, "target")?;
    let password_file = reader.text(section, "password_file").map(PathBuf::from);
    let overwrite = reader.flag(section, "overwrite").unwrap_or(false);
    match TargetUrl::parse(&text) {
        Ok(url) => {
            if let (Some(value), true) = (section.value("password_file"), url.password.is_some()) {
                let what = "`password_file` stands beside a password in `target`";
                reader.reject(&value.span(), what, "give one of the two");
            }
            Some(TargetChoice { url, overwrite, password_file })
        }
        Err(error) => {
            let (what, note) = error.split_once("; ").unwrap_or((&error, "expected mysql://user@host[:port]/database"));
            reader.reject(&section.value("target")?.span(), format!("`target`: {what}"), note);
            None
        }
    }
}

/// Takes `mysql@5.6.24` apart.
pub fn read_engine(
    reader: &mut Reader,
    span: &Range<usize>,
    engine: &str,
    origin: &Origin,
    known: &Known,
) -> Option<(&'static dyn Engine, VersionRequest)> {
    if engine.contains("://") {
        let note = "a server that dbduel does not manage is named by `target`, and needs no `engine`";
        reader.reject(span, "`engine` is a URL", note);
        return None;
    }
    let (kind, version) = engine.split_once('@').map_or((engine, None), |(kind, version)| (kind, Some(version)));
    let Some(found) = known.engine(kind) else {
        if ENGINES_LATER.contains(&kind) {
            reader.not_yet(span, &format!("engine `{kind}`"));
        } else {
            let meant = known.engines.meant_by(engine).map(|meant| format!("did you mean `{meant}`?"));
            let note = meant.unwrap_or_else(|| suggestion(kind, known.engines.names()));
            reader.reject(span, format!("unknown engine `{kind}`"), note);
        }
        return None;
    };
    if let (Origin::Basedir(_), Some(_)) = (origin, version) {
        let what = format!("`{engine}` asks for a version and `basedir` for a server that has one already");
        reader.reject(span, what, format!("expected engine = \"{kind}\" beside `basedir`"));
        return None;
    }
    match read_version(version) {
        Ok(version) => Some((found, version)),
        Err(VersionMistake::History) => {
            reader.not_yet(span, &format!("a range of versions (`{engine}`)"));
            None
        }
        Err(VersionMistake::Unreadable) => {
            let note = format!(
                "expected {kind}@5.6.24, {kind}@10.11.*, {kind}@17, {kind}@system, or {kind} alone for the newest"
            );
            reader.reject(span, format!("`{engine}` holds no version that can be read"), note);
            None
        }
    }
}

enum VersionMistake {
    /// `9.6..18`: many versions in one experiment.
    History,
    Unreadable,
}

fn read_version(version: Option<&str>) -> Result<VersionRequest, VersionMistake> {
    let Some(version) = version else {
        return Ok(VersionRequest::Newest);
    };
    if version == "system" {
        return Ok(VersionRequest::System);
    }
    if version.contains("..") {
        return Err(VersionMistake::History);
    }
    let series = version.strip_suffix(".*").unwrap_or(version);
    let readable =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-+_".contains(c));
    if series.starts_with(|c: char| c.is_ascii_digit()) && series.split('.').all(readable) {
        Ok(VersionRequest::Series(series.to_owned()))
    } else {
        Err(VersionMistake::Unreadable)
    }
}

/// `"disk"`, `"tmpfs"` or a directory; a name without a slash is taken for a slip.
pub fn read_storage<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Storage> {
    let text = reader.text(section, "storage")?;
    match text.as_str() {
        "disk" => Some(Storage::Disk),
        "tmpfs" => Some(Storage::Tmpfs),
        path if path.contains('/') => Some(Storage::Directory(PathBuf::from(path))),
        other => {
            let what = format!(
                "`storage` in {} is \"{other}\", which is neither \"disk\", \"tmpfs\" nor a directory",
                section.title
            );
            let note =
                format!("{}; a directory is written with a slash: \"./{other}\"", suggestion(other, ["disk", "tmpfs"]));
            reader.reject(&section.value("storage")?.span(), what, note);
            None
        }
    }
}

/// The server's settings, every value as the text that the server is given.
pub fn read_settings<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    engine: &dyn Engine,
) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let Some(value) = section.value("settings") else {
        return settings;
    };
    match value.get_ref().as_table() {
        Some(table) => {
            add_settings(reader, table, "", engine, &mut settings);
        }
        None => {
            reader.wrong_type(section, "settings", value, "a table: settings = { innodb_buffer_pool_size = \"1G\" }")
        }
    }
    settings
}

/// Adds the settings of one table. Tables inside it are names with dots, as PostgreSQL's extensions
/// have them (`auto_explain.log_min_duration`).
fn add_settings(
    reader: &mut Reader,
    table: &DeTable,
    prefix: &str,
    engine: &dyn Engine,
    settings: &mut BTreeMap<String, String>,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        if let Some(inner) = value.get_ref().as_table() {
            add_settings(reader, inner, &format!("{name}."), engine, settings);
            continue;
        }
        match setting_text(value, engine.dialect().switch_words()) {
            // A line break would smuggle a second setting into the server's configuration file.
            Some(text) if !text.chars().any(char::is_control) => match engine.reserved().refusal(&name, &text) {
                Some(refusal) => reader.reject(&key.span(), refusal.what, refusal.next),
                None => drop(settings.insert(name, text)),
            },
            _ => reader.reject(
                &value.span(),
                format!("setting `{name}` is neither a text on one line, a number, true nor false"),
                format!("expected {name} = \"256M\", {name} = 1 or {name} = true"),
            ),
        }
    }
}

fn setting_text(value: &Value, (on, off): (&str, &str)) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(true) => Some(on.to_owned()),
        DeValue::Boolean(false) => Some(off.to_owned()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_written() {
        let check = |text, expected| assert_eq!(read_version(text).ok(), expected, "{text:?}");
        let series = |text: &str| Some(VersionRequest::Series(text.to_owned()));
        check(None, Some(VersionRequest::Newest));
        check(Some("system"), Some(VersionRequest::System));
        check(Some("5.5.9"), series("5.5.9"));
        check(Some("17"), series("17"));
        check(Some("10.11.*"), series("10.11"));
        check(Some("9.7.4-2"), series("9.7.4-2"));
        for wrong in ["", "*", ".", "5.", "latest", "5.*.1", "9.6..18", "5 .5"] {
            check(Some(wrong), None);
        }
    }
}
