//! Reads one table of a TOML file, key by key, and remembers every mistake with its line.
//!
//! It reads how values are written, not what they mean to dbduel: that is `parse.rs`. A value that
//! cannot be used is noted as a mistake and read as absent, so that reading can go on and one pass
//! finds all the mistakes of a file.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{home_of, in_our_words, in_place_of, meaning};
use super::mistakes::{Mistake, Mistakes, nearest, suggestion};
use super::quantity;
use engine::CpuList;
use record::plain_file;
use record::secrets::mask_urls;

pub type Value<'a> = Spanned<DeValue<'a>>;

/// Mistakes that are worth saying at once; behind them a reader only scrolls.
const MOST_MISTAKES: usize = 20;

/// Names become parts of file names, of which a file system takes 255 bytes.
pub const NAME_CHARS_MAX: usize = 200;

pub fn is_short(name: &str) -> bool {
    name.chars().count() <= NAME_CHARS_MAX
}

/// A name made by dbduel, cut to what file names hold.
pub fn shortened(name: String) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

/// One table of the file, under the name that messages use.
#[derive(Clone)]
pub struct Section<'a> {
    /// `[method]`; empty for the top of the file.
    pub title: String,
    pub span: Range<usize>,
    pub table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    pub fn new(title: impl Into<String>, span: Range<usize>, table: &'a DeTable<'a>) -> Self {
        Section { title: title.into(), span, table }
    }

    pub fn value(&self, key: &str) -> Option<&'a Value<'a>> {
        self.table.get(key)
    }

    /// The key with its table, as it stands in a message.
    pub fn place(&self, key: &str) -> String {
        if self.title.is_empty() { format!("`{key}`") } else { format!("`{key}` in {}", self.title) }
    }
}

/// The source text and the mistakes found in it so far.
pub struct Reader<'a> {
    source: &'a str,
    /// Where files are that the text names.
    pub files: Files,
    mistakes: Vec<Mistake>,
    /// Some are about keys and their types, which the list of defaults shows.
    about_keys: bool,
}

/// Files that an experiment names, by paths relative to its own file.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub folder: PathBuf,
    /// As a run stored them: then no other file is read.
    pub stored: Option<BTreeMap<String, String>>,
}

impl Files {
    fn read(&self, path: &str) -> Result<String, String> {
        match &self.stored {
            Some(files) => files.get(path).cloned().ok_or_else(|| "the run has no such file".to_owned()),
            None => plain_file::read_text(&self.folder.join(path), plain_file::TEXT_BYTES_MAX)
                .map_err(|cause| cause.to_string()),
        }
    }
}

/// What finds out what a file or folder is recognised by.
type Recognise<'f> = &'f dyn Fn(&Path) -> anyhow::Result<String>;

impl Files {
    /// The absolute path of what is for a server, and what it is recognised by.
    fn recognised(&self, path: &str, recognise: Recognise) -> Result<(String, String), String> {
        if let Some(files) = &self.stored {
            // An absolute path has no `.` in it.
            let plain: PathBuf = Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
            let found = files.iter().find(|(stored, _)| Path::new(stored).ends_with(&plain));
            return found.map(|(path, text)| (path.clone(), text.clone())).ok_or("the run has no such file".to_owned());
        }
        let place = std::path::absolute(self.folder.join(path)).map_err(|cause| cause.to_string())?;
        let identity = recognise(&place).map_err(|cause| cause.root_cause().to_string())?;
        Ok((place.display().to_string(), identity))
    }
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a str) -> Self {
        Reader { source, files: Files::default(), mistakes: Vec::new(), about_keys: false }
    }

    /// Says what is wrong at this place of the file.
    pub fn reject(&mut self, span: &Range<usize>, what: impl Into<String>, note: impl Into<String>) {
        // Messages quote values, and a value may be a URL with a password in it.
        let (what, note) = (mask_urls(&what.into()), mask_urls(&note.into()));
        self.mistakes.push(Mistake { line: Some(self.line(span)), what, notes: vec![note] });
    }

    pub fn push(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    /// Reports a mistake of another file, which names its place by itself.
    pub fn reject_elsewhere(&mut self, what: &str) {
        let mut lines = what.lines().map(str::to_owned);
        let what = lines.next().unwrap_or_default();
        self.mistakes.push(Mistake { line: None, what, notes: lines.collect() });
    }

    /// The text of a file that the experiment names at this place.
    pub fn file(&mut self, span: &Range<usize>, path: &str) -> Option<String> {
        match self.files.read(path) {
            Ok(text) => Some(text),
            Err(cause) => {
                self.reject(span, format!("cannot read {path}: {cause}"), "expected a path from the experiment's file");
                None
            }
        }
    }

    /// What the experiment names at this place for a server: its absolute path, and what it is recognised by.
    pub fn own_data(&mut self, span: &Range<usize>, path: &str) -> Option<(String, String)> {
        self.recognised(span, path, &engine::identity)
    }

    /// A file that the experiment names at this place for its bytes alone: its absolute path, and its SHA-256.
    pub fn archive(&mut self, span: &Range<usize>, path: &str) -> Option<(String, String)> {
        self.recognised(span, path, &engine::sha256_of)
    }

    /// An image in files that the experiment names at this place: its path, absolute, and its digest.
    pub fn image(&mut self, span: &Range<usize>, prefix: &str, path: &str) -> Option<(String, String)> {
        self.recognised(span, path, &|place| engine::image_digest(&format!("{prefix}:{}", place.display())))
    }

    /// What a stored run has for a name that means something else from one day to the next.
    pub fn stored_digest(&self, name: &str) -> Option<String> {
        self.files.stored.as_ref()?.get(name).cloned()
    }

    fn recognised(&mut self, span: &Range<usize>, path: &str, recognise: Recognise) -> Option<(String, String)> {
        let found = self.files.recognised(path, recognise);
        if let Err(cause) = &found {
            let note = "expected a path from the experiment's file";
            self.reject(span, format!("cannot read {path}: {cause}"), note);
        }
        found.ok()
    }

    /// Says what is wrong with the command line.
    pub fn reject_option(&mut self, what: impl Into<String>, note: impl Into<String>) {
        self.mistakes.push(Mistake { line: None, what: what.into(), notes: vec![note.into()] });
    }

    pub fn line(&self, span: &Range<usize>) -> usize {
        let end = span.start.min(self.source.len());
        self.source.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// All mistakes in the order of the file; `None` when there are none.
    pub fn finish(mut self, file: &str) -> Option<Mistakes> {
        if self.mistakes.is_empty() {
            return None;
        }
        self.mistakes.sort_by_key(|mistake| mistake.line);
        let more = self.mistakes.len().saturating_sub(MOST_MISTAKES);
        self.mistakes.truncate(MOST_MISTAKES);
        if let (true, Some(last)) = (more > 0, self.mistakes.last_mut()) {
            last.notes.push(format!("and {more} more mistakes behind this one"));
        }
        Some(Mistakes { file: file.to_owned(), list: self.mistakes, about_keys: self.about_keys })
    }

    /// Refuses every key of the table that is neither known nor planned.
    ///
    /// `later` holds keys of the documented file format that this version cannot honour: a key that
    /// is silently without effect would give a result of another experiment than the file describes.
    pub fn check_keys(&mut self, section: &Section, known: &[&str], later: &[&str]) {
        for (key, _) in section.table {
            let (name, span) = (key.get_ref().as_ref(), key.span());
            if known.contains(&name) {
                continue;
            }
            if later.contains(&name) {
                self.not_yet(&span, &section.place(name));
                continue;
            }
            let place =
                if section.title.is_empty() { "at the top of the file" } else { &format!("in {}", section.title) };
            let near = nearest(name, known.iter().copied());
            let home = home_of(name).filter(|_| near.is_none()).map(|home| format!("`{name}` belongs {home}"));
            let meant = in_our_words(name, known, section.title.is_empty());
            let has_instead = in_place_of(name).is_some() || meant.is_some();
            let note = in_place_of(name).map(str::to_owned).or(meant).or(home);
            let mut note = note.unwrap_or_else(|| suggestion(name, known.iter().copied()));
            let is_suggested = near.filter(|_| !has_instead);
            if let Some(meaning) = is_suggested.and_then(|near| meaning(&section.title, near)) {
                note += &format!(" ({meaning})");
            }
            self.about_keys = true;
            self.reject(&span, format!("unknown key `{name}` {place}"), note);
        }
    }

    /// Refuses something that the file format has and this version does not.
    pub fn not_yet(&mut self, span: &Range<usize>, what: &str) {
        self.reject(
            span,
            format!("{what} is not supported by this version yet"),
            "take it out of the file, or wait for a later version",
        );
    }

    /// Refuses a value of the wrong type, naming what was expected.
    pub fn wrong_type(&mut self, section: &Section, key: &str, value: &Value, expected: &str) {
        let found = value.get_ref().type_str();
        self.about_keys = true;
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        self.reject(
            &value.span(),
            format!("{} is {article} {found}", section.place(key)),
            format!("expected {expected}"),
        );
    }

    /// A text on one line, such as a name: it will stand in tables and file names.
    pub fn text(&mut self, section: &Section<'a>, key: &str) -> Option<String> {
        let text = self.prose(section, key)?;
        if text.contains('\n') {
            let what = format!("{} has more than one line", section.place(key));
            self.reject(&section.value(key)?.span(), what, "expected a text on one line");
            return None;
        }
        Some(text)
    }

    /// A text that files and folders are named after.
    pub fn name(&mut self, section: &Section<'a>, key: &str) -> Option<String> {
        let name = self.text(section, key)?;
        if !is_short(&name) {
            let what = format!("{} has {} characters", section.place(key), name.chars().count());
            let note = format!("expected {NAME_CHARS_MAX} at most: files are named after it");
            self.reject(&section.value(key)?.span(), what, note);
            return None;
        }
        Some(name)
    }

    /// A text of any number of lines.
    pub fn prose(&mut self, section: &Section<'a>, key: &str) -> Option<String> {
        let value = section.value(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(section, key, value, &format!("a text in quotes: {key} = \"...\""));
            return None;
        };
        if text.trim().is_empty() || text.chars().any(|letter| letter.is_control() && letter != '\n') {
            self.reject(
                &value.span(),
                format!("{} is empty or holds control characters", section.place(key)),
                "expected a readable text",
            );
            return None;
        }
        Some(text.to_owned())
    }

    /// True or false.
    pub fn flag(&mut self, section: &Section<'a>, key: &str) -> Option<bool> {
        let value = section.value(key)?;
        if value.get_ref().as_bool().is_none() {
            self.wrong_type(section, key, value, &format!("true or false: {key} = true"));
        }
        value.get_ref().as_bool()
    }

    /// A whole number inside `range`.
    pub fn whole(&mut self, section: &Section<'a>, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = section.value(key)?;
        self.whole_value(section, key, value, range)
    }

    pub fn whole_value(
        &mut self,
        section: &Section,
        key: &str,
        value: &Value,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let Some(number) = integer(value) else {
            self.wrong_type(section, key, value, &format!("a whole number: {key} = {}", range.start().max(&8)));
            return None;
        };
        match u64::try_from(number).ok().filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => {
                let expected = format!("expected {} to {}", range.start(), range.end());
                self.reject(
                    &value.span(),
                    format!("{} is {number}, which is out of range", section.place(key)),
                    expected,
                );
                None
            }
        }
    }

    pub fn duration(&mut self, section: &Section<'a>, key: &str, least: Duration) -> Option<Duration> {
        let duration = self.quantity(section, key, "a time with its unit: \"60s\", \"2m\"", quantity::duration)?;
        if duration < least {
            let expected = format!("expected at least {}", quantity::duration_text(least));
            self.reject(&section.value(key)?.span(), format!("{} is too short", section.place(key)), expected);
            return None;
        }
        Some(duration)
    }

    pub fn percent(&mut self, section: &Section<'a>, key: &str) -> Option<f64> {
        self.quantity(section, key, "a percentage: \"1%\"", quantity::percent)
    }

    /// A size that is more than nothing.
    pub fn bytes(&mut self, section: &Section<'a>, key: &str) -> Option<u64> {
        let read = |text: &str| match quantity::bytes(text) {
            Some(bytes) if bytes > 0 && !text.trim().ends_with(|last: char| last.is_ascii_digit()) => Ok(bytes),
            _ => Err(format!("`{text}` is not a size with its unit")),
        };
        self.quantity(section, key, "a size with its unit: \"8GiB\", \"512MiB\"", read)
    }

    /// Numbers of CPUs: `"0-3"`.
    pub fn cpu_list(&mut self, section: &Section<'a>, key: &str) -> Option<CpuList> {
        let value = section.value(key)?;
        let expected = format!("the numbers of CPUs in quotes: {key} = \"0-3\", {key} = \"0,2\"");
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(section, key, value, &expected);
            return None;
        };
        let list = text.parse();
        let list = list.map_err(|cause: String| {
            self.reject(&value.span(), format!("{}: {cause}", section.place(key)), format!("expected {expected}"));
        });
        list.ok()
    }

    /// A text that `read` understands; a bare number is answered with the units.
    fn quantity<T>(
        &mut self,
        section: &Section<'a>,
        key: &str,
        expected: &str,
        read: fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = section.value(key)?;
        if let Some(number) = real(value) {
            let what = format!("{} is {number}, a number without its unit", section.place(key));
            self.reject(&value.span(), what, format!("expected {expected}"));
            return None;
        }
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(section, key, value, expected);
            return None;
        };
        match read(text) {
            Ok(quantity) => Some(quantity),
            Err(cause) => {
                self.reject(&value.span(), format!("{}: {cause}", section.place(key)), format!("expected {expected}"));
                None
            }
        }
    }

    /// One of a list of names; a name with `None` is documented, but not supported by this version.
    pub fn choice<T: Copy>(&mut self, section: &Section<'a>, key: &str, words: &[(&str, Option<T>)]) -> Option<T> {
        let value = section.value(key)?;
        let expected = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Some(word) = value.get_ref().as_str() else {
            self.wrong_type(section, key, value, &format!("one of {}", expected()));
            return None;
        };
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, Some(meaning))) => Some(*meaning),
            Some((_, None)) => {
                self.not_yet(&value.span(), &format!("{key} = \"{word}\""));
                None
            }
            None => {
                let what = format!("{} is \"{word}\", which is none of {}", section.place(key), expected());
                let note = in_place_of(word).map(str::to_owned);
                let note = note.unwrap_or_else(|| suggestion(word, words.iter().map(|(known, _)| *known)));
                self.reject(&value.span(), what, note);
                None
            }
        }
    }

    /// A table under this key.
    pub fn table(&mut self, section: &Section<'a>, key: &str) -> Option<Section<'a>> {
        let (key_span, value) = section.table.get_key_value(key).map(|(key, value)| (key.span(), value))?;
        match value.get_ref().as_table() {
            Some(table) => Some(Section::new(format!("[{key}]"), key_span, table)),
            None => {
                self.wrong_type(section, key, value, &format!("a table: [{key}]"));
                None
            }
        }
    }

    /// The tables of an array such as `[[contender]]`, each under its own span.
    pub fn tables(&mut self, section: &Section<'a>, key: &str) -> Vec<Section<'a>> {
        let Some(value) = section.value(key) else {
            return Vec::new();
        };
        let expected = format!("tables: [[{key}]], or {key} = [{{ ... }}, {{ ... }}]");
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(section, key, value, &expected);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in items.iter() {
            match item.get_ref().as_table() {
                Some(table) => sections.push(Section::new(format!("[[{key}]]"), item.span(), table)),
                None => self.wrong_type(section, key, item, &expected),
            }
        }
        sections
    }
}

/// The integer in a value, in whatever base it was written.
pub fn integer(value: &Value) -> Option<i128> {
    let integer = value.get_ref().as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// The number in a value, whole or not.
pub fn real(value: &Value) -> Option<f64> {
    match value.get_ref() {
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => integer(value).map(|number| number as f64),
    }
}
