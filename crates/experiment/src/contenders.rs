//! Reads the `[[contender]]` tables: who competes, in which version, with which settings.
//!
//! Whether a version can be had is not asked here: that is the engine's business, and reading a file
//! touches neither network nor server.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::keys::{CONTENDER_KEYS, names};
use super::mistakes::suggestion;
use super::section::{Reader, Section, Value, integer, shortened};
use super::vocabulary::Known;
use super::{Archive, Contender, ImageSource, Origin, Storage, TargetChoice, TargetUrl, VersionRequest};
use engine::request::{PULL_WORDS, PullPolicy, TRANSPORT_WORDS, Transport};
use engine::{Engine, PasswordSource};

/// Keys that mean something to a server that dbduel starts, and nothing to a target.
const KEYS_OF_MANAGED: &[(&str, &str)] = &[
    ("settings", "dbduel sets nothing on a server that it does not manage; set it there"),
    ("storage", "the data of a server that dbduel does not manage stay where they are"),
    ("cores", "dbduel cannot say on which CPUs a server runs that it does not start"),
    ("transport", "its URL says how it is reached"),
    ("memory", "dbduel cannot limit the memory of a server that it does not start"),
    ("basedir", "name either a server to start or one that runs"),
    ("archive", "name either a server to start or one that runs"),
    ("sha256", "it is the checksum of an `archive`"),
    ("image", "name either a server to start or one that runs"),
    ("server", "it is a path in an `image`"),
    ("pull", "it is about an `image`"),
    ("platform", "it is about an `image`"),
];
/// Where the password of a target may come from.
const PASSWORD_KEYS: [&str; 3] = ["password_file", "password_env", "password_command"];
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
    for key in ["overwrite"].into_iter().chain(PASSWORD_KEYS) {
        if let Some(value) = section.value(key) {
            reader.reject(&value.span(), format!("`{key}` stands without `target`"), "it belongs beside a `target`");
        }
    }
    let own_storage = read_storage(reader, section);
    let (kind, engine, version, origin) = read_server(reader, section, known, None)?;
    Some(Contender {
        name: name.or_else(|| name_of_source(&origin)).unwrap_or_else(|| engine.clone()),
        kind,
        version,
        origin,
        settings: read_settings(reader, section, kind),
        storage: own_storage.unwrap_or_else(|| storage.clone()),
        transport: read_transport(reader, section, kind),
        cores: reader.cpu_list(section, "cores"),
        memory_bytes: reader.bytes(section, "memory"),
        engine,
    })
}

/// Which server a table means: its engine, that as it is written, its version, and where it comes from. `below` is the
/// engine where a table needs to name none.
pub fn read_server<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    known: &Known,
    below: Option<&'static dyn Engine>,
) -> Option<(&'static dyn Engine, String, VersionRequest, Origin)> {
    let origin = read_origin(reader, section)?;
    let (engine, span) = match section.value("engine") {
        Some(value) => (reader.text(section, "engine")?, value.span()),
        None => (engine_of_source(reader, section, &origin, known, below)?, section.span.clone()),
    };
    let (kind, version) = read_engine(reader, &span, &engine, known)?;
    Some((kind, engine, version, origin))
}

/// The engine of a contender that names none: its image or its archive may be called after it.
fn engine_of_source<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    origin: &Origin,
    known: &Known,
    below: Option<&'static dyn Engine>,
) -> Option<String> {
    let name = name_of_source(origin);
    let found = name.as_deref().and_then(|name| known.engines.named_in(name)).or(below);
    if found.is_none() {
        let note = match name {
            Some(name) => format!("`{name}` does not show which: add engine = \"mysql\", or another one"),
            None => "expected engine = \"mysql@8.0.31\", or another engine and version".to_owned(),
        };
        reader.reject(&section.span, "this contender has no `engine`", note);
    }
    found.map(|engine| engine.kind().to_owned())
}

/// An embedded engine has no connections.
fn read_transport<'a>(reader: &mut Reader<'a>, section: &Section<'a>, kind: &dyn Engine) -> Option<Transport> {
    let value = section.value("transport")?;
    if kind.dialect().is_embedded() {
        let what = format!("`transport` has no use: {} runs inside dbduel", kind.kind());
        reader.reject(&value.span(), what, "take it out");
        return None;
    }
    reader.choice(section, "transport", TRANSPORT_WORDS)
}

/// Where a server comes from that dbduel starts.
fn read_origin<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Origin> {
    for (key, source, what) in [
        ("sha256", "archive", "the checksum of an archive"),
        ("server", "image", "a path in an image"),
        ("pull", "image", "about an image"),
        ("platform", "image", "that of an image"),
    ] {
        if let (Some(value), None) = (section.value(key), section.value(source)) {
            let note = format!("it is {what}, which stands beside it");
            reader.reject(&value.span(), format!("`{key}` stands without `{source}`"), note);
            return None;
        }
    }
    let given: Vec<&str> =
        ["basedir", "archive", "image"].into_iter().filter(|key| section.value(key).is_some()).collect();
    match given.as_slice() {
        [] => Some(Origin::Managed),
        ["basedir"] => reader.text(section, "basedir").map(|path| Origin::Basedir(PathBuf::from(path))),
        [one] => {
            let span = section.value(one)?.span();
            match *one {
                "archive" => read_archive(reader, section, &span).map(Origin::Archive),
                _ => read_image(reader, section, &span).map(Origin::Image),
            }
        }
        [first, .., last] => {
            let what = format!("`{last}` stands beside `{first}`");
            let span = section.value(last)?.span();
            reader.reject(&span, what, "a contender has one source: take one of them out");
            None
        }
    }
}

fn read_image<'a>(reader: &mut Reader<'a>, section: &Section<'a>, span: &Range<usize>) -> Option<ImageSource> {
    let reference = reader.text(section, "image")?;
    let server = reader.text(section, "server").map(PathBuf::from);
    let pull = reader.choice(section, "pull", PULL_WORDS).unwrap_or(PullPolicy::Missing);
    if let Some(platform) = reader.text(section, "platform")
        && let Err(here) = engine::expect_platform(&platform)
    {
        let what = format!("`platform` is \"{platform}\"; this machine is {here}");
        reader.reject(&section.value("platform")?.span(), what, "dbduel runs no server of another platform");
        return None;
    }
    let source = |reference, digest| Some(ImageSource { reference, digest, index_digest: None, server, pull });
    match engine::expect_image(&reference) {
        Err(why) => {
            let note = "expected an image such as \"mysql:8.4\" or \"oci:FOLDER:TAG\"";
            reader.reject(span, format!("`image`: {why}"), note);
            None
        }
        Ok(false) => {
            let digest = reader.stored_digest(&reference);
            source(reference, digest)
        }
        Ok(true) => {
            let (prefix, path) = reference.split_once(':')?;
            let (path, digest) = reader.image(span, prefix, path)?;
            source(format!("{prefix}:{path}"), Some(digest))
        }
    }
}

fn read_archive<'a>(reader: &mut Reader<'a>, section: &Section<'a>, span: &Range<usize>) -> Option<Archive> {
    let path = reader.text(section, "archive")?;
    if path.contains("://") {
        reader.reject(span, "`archive` is a URL", "download the file first, then name it by its path");
        return None;
    }
    let (file, sha256) = reader.archive(span, &path)?;
    let expected = section.value("sha256").and_then(|value| Some((value.span(), reader.text(section, "sha256")?)));
    if let Some((span, expected)) = expected.filter(|(_, expected)| !expected.eq_ignore_ascii_case(&sha256)) {
        let what = format!("{path} has another SHA-256 than `sha256`: expected {expected}, got {sha256}");
        reader.reject(&span, what, "nothing was unpacked; get the file again, or correct the checksum");
        return None;
    }
    Some(Archive { file: file.into(), sha256 })
}

/// The name of a contender that has none of its own: that of its file, without folders.
fn name_of_source(origin: &Origin) -> Option<String> {
    let path = match origin {
        Origin::Archive(archive) => &archive.file,
        Origin::Image(image) => Path::new(&image.reference),
        _ => return None,
    };
    Some(shortened(path.file_name()?.to_string_lossy().into_owned()))
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
        transport: None,
        cores: None,
        memory_bytes: None,
    })
}

fn read_target_choice<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<TargetChoice> {
    let text = reader.text(section, "target")?;
    let overwrite = reader.flag(section, "overwrite").unwrap_or(false);
    match TargetUrl::parse(&text) {
        Ok(url) => {
            let password = read_password(reader, section, url.password.is_some());
            Some(TargetChoice { url, overwrite, password })
        }
        Err(error) => {
            let (what, note) = error.split_once("; ").unwrap_or((&error, "expected mysql://user@host[:port]/database"));
            reader.reject(&section.value("target")?.span(), format!("`target`: {what}"), note);
            None
        }
    }
}

/// Where the password of a target comes from: one place.
fn read_password<'a>(reader: &mut Reader<'a>, section: &Section<'a>, is_in_url: bool) -> PasswordSource {
    let given: Vec<&str> = PASSWORD_KEYS.into_iter().filter(|key| section.value(key).is_some()).collect();
    let Some(key) = given.first() else { return PasswordSource::Unnamed };
    let other =
        if is_in_url { Some("a password in `target`".to_owned()) } else { given.get(1).map(|key| format!("`{key}`")) };
    if let (Some(other), Some(value)) = (other, section.value(key)) {
        reader.reject(&value.span(), format!("`{key}` stands beside {other}"), "give one of the two");
    }
    let Some(text) = reader.text(section, key) else { return PasswordSource::Unnamed };
    match *key {
        "password_file" => PasswordSource::File(text.into()),
        "password_env" => PasswordSource::Variable(text),
        _ => PasswordSource::Command(text),
    }
}

/// Takes `mysql@5.6.24` apart.
fn read_engine(
    reader: &mut Reader,
    span: &Range<usize>,
    engine: &str,
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
        None => reader.wrong_type(
            section,
            "settings",
            value,
            "a table, or a file of the server: settings = { innodb_buffer_pool_size = \"1G\" }, settings = \"@my.cnf\"",
        ),
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
    use crate::parse::Overrides;
    use crate::{Experiment, Mistakes, testing};

    /// SHA-256 of "abc".
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn with_contender(folder: &std::path::Path, lines: &str, overrides: &Overrides) -> Result<Experiment, Mistakes> {
        let file = folder.join("x.toml").display().to_string();
        let source = format!("workload = \"oltp_read_write\"\n[[contender]]\n{lines}");
        Experiment::parse(&source, &file, &testing::known(), overrides)
    }

    #[test]
    fn an_archive_lies_beside_the_file_and_a_stored_run_needs_it_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.tar.xz");
        std::fs::write(&file, "abc").unwrap();
        let lines = format!("engine = \"mysql\"\narchive = \"./server.tar.xz\"\nsha256 = \"{}\"\n", ABC.to_uppercase());
        let read = |overrides: &Overrides| with_contender(folder.path(), &lines, overrides).unwrap();
        let experiment = read(&Overrides::default());
        let archive = Archive { file: file.clone(), sha256: ABC.to_owned() };
        assert_eq!(experiment.contenders[0].name, "server.tar.xz");
        assert_eq!(experiment.contenders[0].origin, Origin::Archive(archive.clone()));
        std::fs::write(&file, "other").unwrap();
        let stored = [(file.display().to_string(), ABC.to_owned())].into();
        let again = read(&Overrides { files: Some(stored), ..Overrides::default() });
        assert_eq!(again.contenders[0].origin, Origin::Archive(archive));
    }

    #[test]
    fn a_contender_has_one_source_that_is_as_the_file_describes_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("s.tar"), "abc").unwrap();
        let check = |lines: &str, expected: &str| {
            let mistakes = with_contender(folder.path(), lines, &Overrides::default()).unwrap_err();
            assert!(mistakes.list.len() == 1 && mistakes.to_string().contains(expected), "{mistakes}");
        };
        let mysql = |lines: &str| format!("engine = \"mysql\"\n{lines}");
        check(&mysql("archive = \"s.tar\"\nbasedir = \"/opt\"\n"), "`archive` stands beside `basedir`");
        check(&mysql(&format!("sha256 = \"{ABC}\"\n")), "`sha256` stands without `archive`");
        check(&mysql("archive = \"s.tar\"\nsha256 = \"00\"\n"), "expected 00, got ba7816bf");
        check(&mysql("archive = \"none.tar\"\n"), "cannot read none.tar");
        check(&mysql("archive = \"https://example.org/s.tar\"\n"), "`archive` is a URL");
        check("archive = \"s.tar\"\n", "`s.tar` does not show which: add engine = \"mysql\"");
        check("target = \"mysql://u@h/d\"\narchive = \"s.tar\"\n", "`archive` stands beside `target`");
    }

    #[test]
    fn an_image_in_a_registry_is_read_without_asking_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let read = |lines: &str, overrides: &Overrides| with_contender(folder.path(), lines, overrides).unwrap();
        let experiment = read("image = \"registry.example/db/mysql:8.4\"\npull = \"always\"\n", &Overrides::default());
        let contender = &experiment.contenders[0];
        assert_eq!((contender.name.as_str(), contender.kind.kind()), ("mysql:8.4", "mysql"));
        let image = |digest: Option<&str>| ImageSource {
            reference: "registry.example/db/mysql:8.4".to_owned(),
            digest: digest.map(str::to_owned),
            index_digest: None,
            server: None,
            pull: PullPolicy::Always,
        };
        assert_eq!(contender.origin, Origin::Image(image(None)));
        let stored = [("registry.example/db/mysql:8.4".to_owned(), ABC.to_owned())].into();
        let overrides = Overrides { files: Some(stored), ..Overrides::default() };
        let again = read("image = \"registry.example/db/mysql:8.4\"\npull = \"always\"\n", &overrides);
        assert_eq!(again.contenders[0].origin, Origin::Image(image(Some(ABC))));
    }

    #[test]
    fn what_is_wrong_with_an_image_is_said_without_any_network() {
        let check = |lines: &str, expected: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mistakes = with_contender(folder.path(), lines, &Overrides::default()).unwrap_err();
            assert!(mistakes.list.len() == 1 && mistakes.to_string().contains(expected), "{mistakes}");
        };
        check("image = \"MySQL:8.4\"\nengine = \"mysql\"\n", "contains upper case letters");
        check("image = \"u:p@registry.example/mysql\"\nengine = \"mysql\"\n", "contains a user and a password");
        check("image = \"mysql@sha256:12\"\nengine = \"mysql\"\n", "64 hexadecimal digits");
        check("image = \"registry.example/db\"\n", "`db` does not show which: add engine = \"mysql\"");
        check("image = \"mysql:8.4\"\nplatform = \"linux/s390x\"\n", "`platform` is \"linux/s390x\"; this machine is");
        check("image = \"mysql:8.4\"\npull = \"often\"\n", "`pull`");
        check("engine = \"mysql\"\npull = \"never\"\n", "`pull` stands without `image`");
        check("engine = \"mysql\"\nplatform = \"linux/amd64\"\n", "`platform` stands without `image`");
        check("image = \"mysql:8.4\"\nbasedir = \"/opt\"\n", "`image` stands beside `basedir`");
    }

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
