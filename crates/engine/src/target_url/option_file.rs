//! Option files of MySQL and MariaDB: `~/.my.cnf`, by the rules of their own reader (`mysys/my_default.c`).
//!
//! Readers of INI files in general take neither `!include`, nor these escapes, nor options without a value.

use std::path::{Path, PathBuf};

use super::around::Around;

/// As deep as files may name files.
const DEPTH_MAX: u32 = 10;

/// One option of a group that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// With `-` in place of `_`.
    pub key: String,
    /// None where the option stands alone.
    pub value: Option<String>,
}

/// What a file gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub given: Vec<Given>,
    /// Files that were passed over, and why.
    pub remarks: Vec<String>,
}

/// Every option of these groups, in the order of the file: of two with one name the later counts. None where there is no
/// such file.
pub fn read(file: &Path, groups: &[&str], around: &dyn Around) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    Ok(add(file, groups, around, DEPTH_MAX, &mut options)?.then_some(options))
}

fn add(file: &Path, groups: &[&str], around: &dyn Around, depth: u32, options: &mut Options) -> Result<bool, String> {
    let Some(found) = around.file(file)? else { return Ok(false) };
    let name = around.shown(file);
    if found.mode & 0o002 != 0 {
        options.remarks.push(format!("{name} is not read, because everyone may write to it"));
        return Ok(true);
    }
    let mut group: Option<&str> = None;
    for (number, line) in (1..).zip(found.text.lines().map(str::trim)) {
        let wrong = |why: &str| format!("{name}, line {number}: {why}");
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            let included = included(directive, around).ok_or_else(|| wrong("expected !include or !includedir"))?;
            if depth == 0 && !included.is_empty() {
                return Err(wrong("files are included too deeply; expected at most 10 in one another"));
            }
            for file in included {
                add(&file, groups, around, depth - 1, options)?;
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some((title, _)) = rest.split_once(']') else { return Err(wrong("a group has no `]`")) };
            group = Some(title.trim());
            continue;
        }
        let Some(group) = group else { return Err(wrong("an option stands before the first [group]")) };
        if groups.contains(&group) {
            options.given.push(option(without_comment(line)));
        }
    }
    Ok(true)
}

/// The files of `!include FILE` and `!includedir FOLDER`.
fn included(directive: &str, around: &dyn Around) -> Option<Vec<PathBuf>> {
    let (word, path) = directive.split_once(char::is_whitespace)?;
    let path = Path::new(path.trim());
    match word {
        "include" => Some(vec![path.to_owned()]),
        "includedir" => {
            let is_one = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "cnf");
            Some(around.files_in(path).into_iter().filter(is_one).collect())
        }
        _ => None,
    }
}

/// A `#` outside of quotes ends the line.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in line.char_indices() {
        match quote {
            Some(open) if letter == open && !escaped => quote = None,
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            None if letter == '#' => return line[..at].trim_end(),
            _ => {}
        }
        escaped = quote.is_some() && letter == '\\' && !escaped;
    }
    line
}

fn option(line: &str) -> Given {
    let (key, value) = line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value.trim())));
    let key = key.trim().replace('_', "-");
    let key = key.strip_prefix("loose-").unwrap_or(&key).to_owned();
    Given { key, value: value.map(|value| unescaped(unquoted(value))) }
}

fn unquoted(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(same @ ('\\' | '"' | '\'')) => text.push(same),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::around::Made;
    use super::*;

    #[test]
    fn a_file_is_read_by_the_rules_of_the_servers_own_reader() {
        let file = "# comment\n; another\n[client]\nuser = app # behind\npassword=\"p#w\\\"q\"\nssl_ca='/a b'\nskip-ssl\n\
                    loose-port = 3307\nsocket=/run/\\s\\\\x\\d\n[mysqld]\nport=1\n[mysql]\nuser=late\n";
        let around = Made { files: vec![("/c", 0o644, file)], ..Made::default() };
        let options = read(Path::new("/c"), &["client", "mysql"], &around).unwrap().unwrap();
        let of = |key: &str| options.given.iter().rfind(|one| one.key == key).map(|one| one.value.as_deref());
        assert_eq!(of("user"), Some(Some("late")));
        assert_eq!(of("password"), Some(Some("p#w\"q")));
        assert_eq!(of("ssl-ca"), Some(Some("/a b")));
        assert_eq!(of("skip-ssl"), Some(None));
        assert_eq!(of("port"), Some(Some("3307")));
        assert_eq!(of("socket"), Some(Some("/run/ \\x\\d")));
        assert_eq!(read(Path::new("/none"), &["client"], &around), Ok(None));
    }

    #[test]
    fn files_name_other_files_but_not_without_end() {
        let around = Made {
            files: vec![
                ("/a", 0o600, "!include /b\n[client]\nport=1\n!includedir /d\n"),
                ("/b", 0o600, "[client]\nuser=b\n"),
                ("/d/x.cnf", 0o600, "[client]\nport=2\n"),
                ("/d/y.txt", 0o600, "[client]\nport=3\n"),
                ("/loop", 0o600, "!include /loop\n"),
                ("/bare", 0o600, "user=x\n"),
                ("/open", 0o666, "[client]\nuser=x\n"),
            ],
            ..Made::default()
        };
        let of = |file: &str| read(Path::new(file), &["client"], &around);
        let keys: Vec<(String, Option<String>)> =
            of("/a").unwrap().unwrap().given.into_iter().map(|one| (one.key, one.value)).collect();
        let pair = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
        assert_eq!(keys, [pair("user", "b"), pair("port", "1"), pair("port", "2")]);
        assert!(of("/loop").unwrap_err().contains("too deeply"));
        assert_eq!(of("/bare").unwrap_err(), "/bare, line 1: an option stands before the first [group]");
        let open = of("/open").unwrap().unwrap();
        assert_eq!(
            (open.given.len(), open.remarks[0].as_str()),
            (0, "/open is not read, because everyone may write to it")
        );
    }
}
