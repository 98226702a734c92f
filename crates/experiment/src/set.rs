//! `--set KEY=VALUE`: keys of an experiment file from the command line, for instance fewer rows on a small machine.
//!
//! The text of the file is edited and then read like any other, so a key means the same in both places and a wrong one
//! gets the same answer. A stored run keeps the edited text, and in its plan what was set.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::mistakes::{Mistake, Mistakes};
use super::section::Value;
use record::secrets::{MASK, is_secret_key, mask_urls};

/// The tables with what another preset sets.
pub const PRESET: &str = "preset";

/// Values by the dotted path of their key, as the command line has them.
pub type Settings = BTreeMap<String, String>;

/// `key.of.the.file=value`, as the command line has it.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no value; write {text}=VALUE"))?;
    let (path, value) = (path.trim(), value.trim());
    keys_of(path).ok_or_else(|| format!("`{path}` is no key of an experiment file; write workload.rows=100000"))?;
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(format!("the value of `{path}` is empty or holds control characters"));
    }
    Ok((path.to_owned(), value.to_owned()))
}

/// What may be stored and printed.
pub fn shown(settings: &Settings) -> Settings {
    let masked = |(path, value): (&String, &String)| {
        let is_secret = keys_of(path).and_then(|keys| keys.last().map(|key| is_secret_key(key))).unwrap_or(true);
        (path.clone(), if is_secret { MASK.to_owned() } else { mask_urls(value) })
    };
    settings.iter().map(masked).collect()
}

/// The keys of a dotted path; keys with dots stand in quotes.
fn keys_of(path: &str) -> Option<Vec<String>> {
    let parsed: toml::Table = format!("{path} = 0").parse().ok()?;
    let mut keys = Vec::new();
    let mut table = &parsed;
    loop {
        let (key, value) = table.iter().next()?;
        keys.push(key.clone());
        match value {
            toml::Value::Table(inner) => table = inner,
            _ => return (parsed.len() == 1).then_some(keys),
        }
    }
}

/// A value in TOML's syntax; a bare word becomes a text, and values between commas a list.
fn in_toml(value: &str) -> String {
    if format!("x = {value}").parse::<toml::Table>().is_ok_and(|table| table.len() == 1) {
        return value.to_owned();
    }
    if value.contains(',') && !value.starts_with(['[', '{', '"', '\'']) {
        let values: Vec<String> = value.split(',').map(|one| in_toml(one.trim())).collect();
        return format!("[{}]", values.join(", "));
    }
    toml::Value::String(value.to_owned()).to_string()
}

/// The text of a file with what the command line set, and where its lines come from.
pub struct Edited {
    pub text: String,
    /// What of it is not as it was given, a sentence each.
    pub remarks: Vec<String>,
    lines: Vec<Line>,
}

#[derive(Clone, Default)]
struct Line {
    /// From 1; `None` where the command line made it.
    origin: Option<usize>,
    /// The part of the command line that made it what it is.
    by: Option<String>,
}

/// Whole lines that the command line makes, and the part of it that asked for them.
pub struct Made {
    pub text: String,
    pub by: Option<String>,
}

impl Edited {
    /// The text of a file as it is.
    pub fn untouched(source: &str) -> Edited {
        let own = |line| Line { origin: Some(line), by: None };
        Edited {
            text: source.to_owned(),
            remarks: Vec::new(),
            lines: (1..=source.split('\n').count()).map(own).collect(),
        }
    }

    /// A text that is in no file.
    pub fn made(lines: &[Made]) -> Edited {
        let mut edited = Edited { text: String::new(), remarks: Vec::new(), lines: vec![Line::default()] };
        edited.append(lines);
        edited
    }

    /// Adds whole lines behind the last one.
    pub fn append(&mut self, made: &[Made]) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
            self.lines.push(Line::default());
        }
        // What stands behind the last line break is a line, too.
        self.lines.pop();
        for Made { text, by } in made {
            let line = Line { origin: None, by: by.clone() };
            self.lines.extend(vec![line; text.matches('\n').count()]);
            self.text += text;
        }
        self.lines.push(Line::default());
    }

    /// Takes keys at the top of the file out, with everything below them and the comments in between.
    pub fn remove(&mut self, keys: &[&str]) {
        let Ok(root) = DeTable::parse(&self.text) else { return };
        let line_of = |at: usize| self.text[..at].matches('\n').count();
        let (mut out, mut kept) = (BTreeSet::new(), BTreeSet::new());
        for (key, value) in root.get_ref() {
            let lines = if keys.contains(&key.get_ref().as_ref()) { &mut out } else { &mut kept };
            for span in [key.span()].into_iter().chain(spans(value)) {
                lines.extend(line_of(span.start)..=line_of(span.end.max(1) - 1));
            }
        }
        let texts: Vec<&str> = self.text.split('\n').collect();
        let (mut stays, mut between) = (Vec::new(), Vec::new());
        let mut is_behind_removed = false;
        for line in 0..texts.len() {
            if out.contains(&line) {
                between.clear();
                is_behind_removed = true;
            } else if is_behind_removed && !kept.contains(&line) {
                between.push(line);
            } else {
                stays.append(&mut between);
                stays.push(line);
                is_behind_removed = false;
            }
        }
        stays.append(&mut between);
        let text = stays.iter().map(|line| texts[*line]).collect::<Vec<_>>().join("\n");
        self.lines = stays.into_iter().map(|line| self.lines[line].clone()).collect();
        self.text = text;
    }

    /// With keys that `--set` gives, where the text is readable as TOML; of another one the reader finds what is wrong.
    pub fn with(mut self, file: &str, settings: &Settings) -> Result<Edited, Mistakes> {
        for (path, value) in settings {
            self.set(path, value).map_err(|what| {
                let mistake = Mistake { line: None, what: format!("--set {path}: {what}"), notes: Vec::new() };
                Mistakes { file: file.to_owned(), list: vec![mistake], about_keys: true }
            })?;
        }
        Ok(self)
    }

    /// Without the tables `[preset.NAME]` of the file, and what the one of this name sets.
    pub fn of_preset(mut self, preset: Option<&str>) -> (Edited, Settings) {
        let table = |root: &DeTable<'_>| {
            let of_name = root.get(PRESET)?.get_ref().as_table()?.get(preset?)?.get_ref().as_table()?;
            let entries = of_name.iter();
            Some(
                entries.map(|(path, value)| (path.get_ref().to_string(), self.text[value.span()].to_owned())).collect(),
            )
        };
        let settings = DeTable::parse(&self.text).ok().and_then(|root| table(root.get_ref())).unwrap_or_default();
        self.remove(&[PRESET]);
        (self, settings)
    }

    fn set(&mut self, path: &str, value: &str) -> Result<(), String> {
        let Ok(root) = DeTable::parse(&self.text) else { return Ok(()) };
        let keys = keys_of(path).ok_or("this is no key of an experiment file")?;
        let value = in_toml(value);
        let mut edits = Vec::new();
        let place = Place { source: &self.text, value: &value, is_root: true, path: "" };
        place.edit(root.get_ref(), &keys, &mut edits)?;
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let shown = shown(&Settings::from([(path.to_owned(), value.clone())]));
        for (range, text) in edits {
            self.replace(range, &text, &format!("--set {path}={}", shown[path]));
        }
        Ok(())
    }

    /// Puts a text in the place of another one; `by` is the part of the command line, or the file, that has it.
    pub fn replace(&mut self, range: Range<usize>, text: &str, by: &str) {
        let line_of = |at: usize| self.text[..at].matches('\n').count();
        let (first, last) = (line_of(range.start), line_of(range.end));
        let added = text.matches('\n').count();
        let made = Line { origin: None, by: Some(by.to_owned()) };
        let kept = self.lines[first].clone();
        let lines: Vec<Line> = if range.is_empty() && text.ends_with('\n') {
            (0..added).map(|_| made.clone()).chain([kept]).collect()
        } else {
            let touched = if text.starts_with('\n') { kept } else { Line { by: made.by.clone(), ..kept } };
            [touched].into_iter().chain((0..added).map(|_| made.clone())).collect()
        };
        self.lines.splice(first..=last, lines);
        self.text.replace_range(range, text);
    }

    /// Mistakes by the lines of the file, or by the part of the command line.
    pub fn place(&self, mut mistakes: Mistakes) -> Mistakes {
        for mistake in &mut mistakes.list {
            let Some(line) = mistake.line.and_then(|line| self.lines.get(line - 1)) else { continue };
            mistake.line = line.origin;
            if let Some(by) = &line.by {
                mistake.what = format!("{by}: {}", mistake.what);
            }
        }
        mistakes
    }
}

/// Where a value stands, piece by piece: tables with a header have one for it, and one for each key.
fn spans(value: &Value<'_>) -> Vec<Range<usize>> {
    let inside: Vec<Range<usize>> = match value.get_ref() {
        DeValue::Table(table) => {
            table.iter().flat_map(|(key, value)| [vec![key.span()], spans(value)].concat()).collect()
        }
        DeValue::Array(all) => all.iter().flat_map(spans).collect(),
        _ => Vec::new(),
    };
    [vec![value.span()], inside].concat()
}

type Edits = Vec<(Range<usize>, String)>;

/// One table of the text, on the way to a key.
struct Place<'s> {
    source: &'s str,
    /// The new value, as TOML.
    value: &'s str,
    is_root: bool,
    /// Of the table: `gate.latency`.
    path: &'s str,
}

impl Place<'_> {
    fn edit(&self, table: &DeTable<'_>, keys: &[String], edits: &mut Edits) -> Result<(), String> {
        let (key, rest) = keys.split_first().expect("a path has a key");
        match table.get(key.as_str()) {
            None => edits.push(self.insertion(table, keys)),
            Some(found) if rest.is_empty() => edits.push((self.replaceable(found)?, self.value.to_owned())),
            Some(found) => self.edit_inside(found, key, rest, edits)?,
        }
        Ok(())
    }

    fn edit_inside(&self, found: &Value<'_>, key: &str, rest: &[String], edits: &mut Edits) -> Result<(), String> {
        let path = if self.is_root { quoted(key) } else { format!("{}.{}", self.path, quoted(key)) };
        let inner = Place { is_root: false, path: &path, ..*self };
        match found.get_ref() {
            DeValue::Table(table) => inner.edit(table, rest, edits),
            DeValue::Array(all) => {
                let tables: Vec<&DeTable<'_>> = all.iter().filter_map(|one| one.get_ref().as_table()).collect();
                let chosen: Vec<&&DeTable<'_>> = tables.iter().filter(|one| is_called(one, &rest[0])).collect();
                match chosen.as_slice() {
                    [] if tables.is_empty() => Err(format!("`{key}` of the file holds no tables")),
                    [] => tables.iter().try_for_each(|one| inner.edit(one, rest, edits)),
                    [one] if rest.len() > 1 => inner.edit(one, &rest[1..], edits),
                    _ => Err(format!("`{}` is a whole table; set one of its keys", rest[0])),
                }
            }
            DeValue::String(name) if self.is_root && key == "workload" => {
                let table = format!("{{ name = {}, {} = {} }}", text(name), dotted(rest), self.value);
                edits.push((found.span(), table));
                Ok(())
            }
            _ => Err(format!("`{key}` of the file is no table")),
        }
    }

    /// A value that stands in one piece; tables below a header do not.
    fn replaceable(&self, found: &Value<'_>) -> Result<Range<usize>, String> {
        let piece = |one: &Value<'_>, opening: char| self.source[one.span()].starts_with(opening);
        let is_whole = match found.get_ref() {
            DeValue::Table(_) => piece(found, '{'),
            DeValue::Array(all) => {
                piece(found, '[') && all.iter().all(|one| !one.get_ref().is_table() || piece(one, '{'))
            }
            _ => true,
        };
        if is_whole { Ok(found.span()) } else { Err("this is a whole table; set one of its keys".to_owned()) }
    }

    /// Before the first key of the table, written as that one is; a table without keys of its own gets a header.
    fn insertion(&self, table: &DeTable<'_>, keys: &[String]) -> (Range<usize>, String) {
        let assignment = format!("{} = {}", dotted(keys), self.value);
        let first = table.iter().map(|(key, _)| key.span()).min_by_key(|span| span.start);
        let Some(first) = first else { return self.in_empty(&assignment) };
        let line = self.source[..first.start].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.source[line..first.start];
        if before.contains('{') {
            return (first.start..first.start, format!("{assignment}, "));
        }
        if !before.trim_start().starts_with('[') {
            return (line..line, format!("{before}{assignment}\n"));
        }
        if self.is_root { (line..line, format!("{assignment}\n")) } else { self.with_header(&assignment) }
    }

    fn in_empty(&self, assignment: &str) -> (Range<usize>, String) {
        if self.is_root { (0..0, format!("{assignment}\n")) } else { self.with_header(assignment) }
    }

    fn with_header(&self, assignment: &str) -> (Range<usize>, String) {
        let end = self.source.len();
        (end..end, format!("\n[{}]\n{assignment}", self.path))
    }
}

/// Whether a table of several has this label, or this name.
fn is_called(table: &DeTable<'_>, name: &str) -> bool {
    let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
    text("label").or_else(|| text("name")) == Some(name)
}

fn dotted(keys: &[String]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
    keys.join(".")
}

/// A key as TOML has it.
fn quoted(key: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { text(key) }
}

fn text(value: &str) -> String {
    toml::Value::String(value.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = \"x\"\nbaseline = \"5.5\"\n\n[[contender]]\nname = \"5.5\"\nsettings = { a = \"4G\" }\n\n\
                        [[workload]]\nlabel = \"simple\"\nrows = 6_000_000 # the article's\n\n[[workload]]\nlabel = \"complex\"\n\
                        events = 5\n\n[sweep]\nclients = { from = 25, to = 650, step = 25 }\n\n[gate.latency]\nquantile = 99\n";

    fn edited(source: &str, given: &[&str]) -> Edited {
        let settings = given.iter().map(|one| setting(one).unwrap()).collect();
        Edited::untouched(source).with("x.toml", &settings).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    fn value(text: &str, path: &[&str]) -> String {
        let mut value = toml::Value::Table(text.parse().unwrap_or_else(|error| panic!("{error}\n{text}")));
        for key in path {
            value = match key.parse::<usize>() {
                Ok(index) => value[index].clone(),
                Err(_) => value[*key].clone(),
            };
        }
        value.to_string()
    }

    #[test]
    fn a_file_has_other_values_for_another_preset() {
        let source = "name = \"x\"\n[method]\nblocks = 12\n\n[preset.quick]\n\"method.blocks\" = 8\n\"workload.micro.seconds\" = \"100ms\"\n";
        let of = |preset: Option<&str>| Edited::untouched(source).of_preset(preset);
        let (text, settings) = of(Some("quick"));
        assert!(!text.text.contains("preset") && text.text.contains("blocks = 12"), "{}", text.text);
        let expected = [("method.blocks", "8"), ("workload.micro.seconds", "\"100ms\"")];
        assert_eq!(settings, expected.map(|(path, value)| (path.to_owned(), value.to_owned())).into());
        assert!(of(None).1.is_empty() && of(Some("strict")).1.is_empty());
    }

    #[test]
    fn a_key_is_replaced_or_added_wherever_its_table_stands() {
        let check = |set: &str, path: &[&str], expected: &str| {
            assert_eq!(value(&edited(FILE, &[set]).text, path), expected, "{set}");
        };
        check("workload.rows=100_000", &["workload", "0", "rows"], "100000");
        check("workload.rows=100_000", &["workload", "1", "rows"], "100000");
        check("workload.simple.rows=7", &["workload", "0", "rows"], "7");
        check("sweep.clients=25,100,400", &["sweep", "clients"], "[25, 100, 400]");
        check("sweep.clients=[1]", &["sweep", "clients"], "[1]");
        check("sweep.clients.to=50", &["sweep", "clients", "to"], "50");
        check("method.duration=10s", &["method", "duration"], "\"10s\"");
        check("method.preset=quick", &["method", "preset"], "\"quick\"");
        check("gate.max_slowdown=3%", &["gate", "max_slowdown"], "\"3%\"");
        check("contender.\"5.5\".settings.a=1G", &["contender", "0", "settings", "a"], "\"1G\"");
        check("contender.settings.b=x,y", &["contender", "0", "settings", "b"], "[\"x\", \"y\"]");
        check("contender.settings.b='x,y'", &["contender", "0", "settings", "b"], "\"x,y\"");
        check("question=Which one?", &["question"], "\"Which one?\"");
    }

    #[test]
    fn short_and_dotted_forms_can_be_added_to_as_well() {
        let short =
            "contender = [{ engine = \"mysql\" }, { engine = \"sqlite\" }]\nworkload = \"oltp\"\nmethod.blocks = 8\n";
        let text = edited(short, &["workload.rows=5", "method.duration=2s", "contender.storage=tmpfs"]).text;
        assert_eq!(value(&text, &["workload", "rows"]), "5");
        assert_eq!(value(&text, &["workload", "name"]), "\"oltp\"");
        assert_eq!(value(&text, &["method", "duration"]), "\"2s\"");
        assert_eq!(value(&text, &["contender", "1", "storage"]), "\"tmpfs\"");
        assert_eq!(edited("", &["a.b=1"]).text, "a.b = 1\n");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for refused in ["rows", "=1", "a b=1", "a=", "a.=1", "a=x\ny"] {
            assert!(setting(refused).is_err(), "{refused:?}");
        }
        for refused in ["sweep=1", "workload=1", "workload.simple=1", "name.x=1"] {
            let settings = Settings::from([setting(refused).unwrap()]);
            assert!(Edited::untouched(FILE).with("x.toml", &settings).is_err(), "{refused}");
        }
    }

    #[test]
    fn mistakes_name_the_lines_of_the_file_or_what_was_set() {
        let edited = edited(FILE, &["method.blocks=8", "workload.rows=some"]);
        let line_of = |needle: &str| edited.text.lines().position(|line| line.contains(needle)).map(|at| at + 1);
        let placed = |needle: &str| {
            let mistake = Mistake { line: line_of(needle), what: "wrong".into(), notes: Vec::new() };
            let mut mistakes = edited.place(Mistakes { file: "x.toml".into(), list: vec![mistake], about_keys: true });
            let mistake = mistakes.list.remove(0);
            (mistake.line, mistake.what)
        };
        assert_eq!(placed("quantile"), (Some(20), "wrong".to_owned()));
        assert_eq!(placed("the article's"), (Some(10), "--set workload.rows=\"some\": wrong".to_owned()));
        assert_eq!(placed("blocks"), (None, "--set method.blocks=8: wrong".to_owned()));
        assert_eq!(placed("label = \"complex\""), (Some(13), "wrong".to_owned()));
    }

    #[test]
    fn a_key_goes_with_all_its_tables_and_the_comments_between_them_and_nothing_else() {
        let source = "# what for\nbaseline = 'a'\nname = 'n'\n\n# the first\n[[contender]] # x\nname = 'a'\n# why\n\
                      settings.y = 1\n\n[contender.more]\nz = \'\'\'a\n[b]\'\'\'\n\n# the work\n[workload] # w\nrows = 1\n\
                      [[contender]]\nengine = 'b'\n# end";
        let mut edited = Edited::untouched(source);
        edited.remove(&["contender", "baseline"]);
        assert_eq!(edited.text, "# what for\nname = 'n'\n\n# the first\n\n# the work\n[workload] # w\nrows = 1\n# end");
        edited
            .append(&[Made { text: "[[contender]]\nengine = 'c'\n".to_owned(), by: Some("contender `c`".to_owned()) }]);
        let placed = |line: usize| {
            let mistake = Mistake { line: Some(line), what: "wrong".into(), notes: Vec::new() };
            let mut mistakes = edited.place(Mistakes { file: "x.toml".into(), list: vec![mistake], about_keys: true });
            let mistake = mistakes.list.remove(0);
            (mistake.line, mistake.what)
        };
        assert_eq!(placed(8), (Some(17), "wrong".to_owned()));
        assert_eq!(placed(11), (None, "contender `c`: wrong".to_owned()));
        let mut short = Edited::untouched("contender = [{ engine = 'a' },\n { engine = 'b' }]\nworkload = 'w'\n");
        short.remove(&["contender"]);
        assert_eq!(short.text, "workload = 'w'\n");
    }

    #[test]
    fn passwords_are_not_printed() {
        let settings = ["contender.target=postgres://app:secret@db/x", "contender.settings.password=secret"];
        let settings = settings.iter().map(|one| setting(one).unwrap()).collect();
        assert!(shown(&settings).values().all(|value| !value.contains("secret")), "{settings:?}");
    }
}
