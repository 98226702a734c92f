//! A server in one word, as the command line has it, and the lines of an experiment file that name it.
//!
//! `dbduel init` and contenders on the command line share it. Nothing is fetched and nothing is connected to: which
//! version a word comes to, the reader of the file finds out.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::mistakes::nearest;
use super::{Known, TargetUrl};
use engine::{Engine, Surroundings};

/// What each kind of word looks like.
const FORMS: &str =
    "an engine (mysql@8.0), image:mysql:8.4, dir:/opt/mysql, archive:FILE or the URL of a running server";

/// A password never stands in a file that dbduel writes.
pub const PASSWORD_LINE: &str = "# password_file = \"FILE\"        # else the password comes from DBDUEL_PASSWORD\n";

/// The keys of a contender that say which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub keys: Vec<(&'static str, String)>,
    /// What a reader calls it.
    pub name: String,
    pub is_target: bool,
}

impl Server {
    pub fn of(word: &str, known: &Known) -> Result<Server> {
        if TargetUrl::is_target(word) {
            return target(word);
        }
        if let Some(folder) = word.strip_prefix("dir:") {
            return folder_of(Path::new(folder), known);
        }
        if let Some(reference) = word.strip_prefix("image:") {
            return image(reference, known);
        }
        if let Some(file) = word.strip_prefix("archive:") {
            return archive(Path::new(file), known);
        }
        if Path::new(word).is_dir() {
            return folder_of(Path::new(word), known);
        }
        if Path::new(word).is_file() {
            return archive(Path::new(word), known);
        }
        ensure!(!is_path(word), "{word}: there is no such file or folder\n  expected {FORMS}");
        if word.contains([':', '/']) { image(word, known) } else { engine(word, known) }
    }

    /// As lines of a file.
    pub fn lines(&self) -> String {
        self.keys.iter().map(|(key, value)| format!("{key} = {}\n", quoted(value))).collect()
    }

    /// The same without the password of its URL.
    pub fn without_password(self) -> Server {
        let bare = |(key, value): (&'static str, String)| match TargetUrl::parse(&value) {
            Ok(url) if key == "target" => (key, TargetUrl { password: None, ..url }.to_string()),
            _ => (key, value),
        };
        Server { keys: self.keys.into_iter().map(bare).collect(), ..self }
    }
}

fn is_path(word: &str) -> bool {
    word.starts_with(['/', '.', '~'])
}

fn target(text: &str) -> Result<Server> {
    let url = TargetUrl::parse(text).map_err(|error| anyhow!("cannot read the URL of a target: {error}"))?;
    let name = TargetUrl { password: None, ..url }.to_string();
    Ok(Server { keys: vec![("target", text.to_owned())], name, is_target: true })
}

fn engine(word: &str, known: &Known) -> Result<Server> {
    let kind = word.split('@').next().unwrap_or(word);
    if known.engine(kind).is_none() {
        let meant = known.engines.meant_by(word);
        let meant = meant.or_else(|| nearest(kind, known.engines.names()).map(str::to_owned));
        let next = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("expected {FORMS}"),
        };
        bail!(
            "`{word}` is neither a file nor a server: no file of this name is here, and the engines are {}\n  {next}",
            known.engines.names().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(Server { keys: vec![("engine", word.to_owned())], name: word.to_owned(), is_target: false })
}

/// Which engine it is, the name shows or the user adds.
fn image(reference: &str, known: &Known) -> Result<Server> {
    let is_in_files = engine::expect_image(reference).map_err(|why| anyhow!("`{reference}` is no image: {why}"))?;
    let name = reference.rsplit('/').next().unwrap_or(reference);
    match reference.split_once(':').filter(|_| is_in_files) {
        Some((prefix, path)) => {
            source("image", &format!("{prefix}:{}", std::path::absolute(path)?.display()), name, known)
        }
        None => source("image", reference, name, known),
    }
}

fn archive(file: &Path, known: &Known) -> Result<Server> {
    ensure!(file.is_file(), "{}: there is no such file", file.display());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    source("archive", absolute(file)?.as_str(), &name, known)
}

fn source(key: &'static str, text: &str, name: &str, known: &Known) -> Result<Server> {
    if known.engines.named_in(name).is_none() {
        bail!(
            "`{text}` does not show which engine it is\n  next: write a file by hand, with `engine` beside `{key}`; \
             `dbduel init sqlite sqlite --out FILE` begins one"
        );
    }
    Ok(Server { keys: vec![(key, text.to_owned())], name: name.to_owned(), is_target: false })
}

/// A folder holds the server of one engine.
fn folder_of(folder: &Path, known: &Known) -> Result<Server> {
    let path = absolute(folder)?;
    let version = |engine: &&&dyn Engine| engine.version_of(&engine.locate(path.as_ref())?, &Surroundings::default());
    let Some(engine) = known.engines.0.iter().find(|engine| version(engine).is_ok()) else {
        bail!("{} holds no server: expected an unpacked one, with a folder `bin` or `sbin`", folder.display());
    };
    let name = Path::new(&path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
    let keys = vec![("engine", engine.kind().to_owned()), ("basedir", path)];
    Ok(Server { keys, name, is_target: false })
}

/// A file that is written may lie elsewhere.
pub fn absolute(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path).with_context(|| format!("no file or folder {}", path.display()))?;
    absolute.into_os_string().into_string().map_err(|_| anyhow!("{} is not UTF-8", path.display()))
}

/// A table in one line, of names and values in TOML's syntax.
pub fn inline_table(values: &[(String, String)]) -> String {
    let one = |(name, value): &(String, String)| {
        let is_bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        format!("{} = {value}", if is_bare { name.clone() } else { quoted(name) })
    };
    match values {
        [] => "{}".to_owned(),
        some => format!("{{ {} }}", some.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

pub fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
