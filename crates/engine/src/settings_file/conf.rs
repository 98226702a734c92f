//! `postgresql.conf`, by the rules of PostgreSQL's own reader (`guc-file.l`).

use std::path::{Path, PathBuf};

use crate::target_url::Around;

/// As deep as files may name files; PostgreSQL's own limit.
const DEPTH_MAX: u32 = 10;

/// Names in lower case, and values, in the order in which the server reads them.
pub fn read(path: &Path, around: &dyn Around) -> Result<Vec<(String, String)>, String> {
    let mut settings = Vec::new();
    if !add(path, around, DEPTH_MAX, &mut settings)? {
        return Err(format!("there is no file {}", path.display()));
    }
    Ok(settings)
}

fn add(path: &Path, around: &dyn Around, depth: u32, settings: &mut Vec<(String, String)>) -> Result<bool, String> {
    let Some(found) = around.file(path)? else { return Ok(false) };
    for (number, line) in (1..).zip(found.text.lines()) {
        let wrong = |why: &str| format!("{}, line {number}: {why}", around.shown(path));
        let Some((name, value)) = entry(line).map_err(|why| wrong(&why))? else { continue };
        let named = |value: &str| path.parent().unwrap_or(Path::new("")).join(value);
        let files: Vec<PathBuf> = match name.as_str() {
            "include" | "include_if_exists" => vec![named(&value)],
            "include_dir" => {
                let is_one = |file: &PathBuf| {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    name.ends_with(".conf") && !name.starts_with('.')
                };
                around.files_in(&named(&value)).into_iter().filter(is_one).collect()
            }
            _ => {
                settings.push((name, value));
                continue;
            }
        };
        if depth == 0 && !files.is_empty() {
            return Err(wrong("files are included too deeply; expected at most 10 in one another"));
        }
        for file in files {
            let is_there = add(&file, around, depth - 1, settings)?;
            if !is_there && name == "include" {
                return Err(wrong(&format!("there is no file {}", file.display())));
            }
        }
    }
    Ok(true)
}

/// Name and value of a line; None where it has none.
fn entry(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|letter: char| !(letter.is_alphanumeric() || "_.$".contains(letter))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return Err("expected name = value".to_owned());
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => unquoted(quoted).ok_or("a quote is not closed")?,
        None => {
            rest.split(|letter: char| letter.is_whitespace() || letter == '#').next().unwrap_or_default().to_owned()
        }
    };
    Ok(Some((name.to_ascii_lowercase(), value)))
}

/// A text up to its closing quote: `''` and `\'` are quotes in it.
fn unquoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = text.chars().peekable();
    loop {
        match letters.next()? {
            '\'' if letters.peek() == Some(&'\'') => value.extend(letters.next()),
            '\'' => return Some(value),
            '\\' => value.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                same => same,
            }),
            letter => value.push(letter),
        }
    }
}
