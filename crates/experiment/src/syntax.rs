//! A text that is no TOML: one cause, its line with a mark below it, and what to write.
//!
//! The parser goes on behind a mistake and then takes its consequences for further ones; only the first is a cause, or the
//! bracket that was never closed.

use record::secrets;
use toml::de::Error;

use super::mistakes::Mistake;

/// Tables of which a file has several.
const LISTS: [&str; 3] = ["contender", "workload", "ladder"];

/// As much of a line as is shown, and of it what stands before the mark at most.
const SHOWN_CHARS: usize = 70;
const BEFORE_CHARS: usize = 50;

/// The one mistake that stands behind all that the parser found.
pub fn mistake(source: &str, broken: &[Error]) -> Mistake {
    if let Some(mistake) = single_brackets(source) {
        return mistake;
    }
    let place = |error: &Error| error.span().map_or(0, |span| span.start.min(source.len()));
    let unclosed = broken.iter().find(|error| error.message().starts_with("unclosed"));
    let opened = unclosed.and_then(|error| Some((opener(&source[..place(error)])?, error)));
    let first = broken.iter().map(|error| (place(error), error)).min_by_key(|(at, _)| *at);
    let first = first.expect("a broken text has an error");
    let (at, error) = opened.filter(|(at, _)| *at <= first.0).unwrap_or(first);
    let what = format!("not readable as TOML: {}", error.message());
    let mut notes = marked(source, at);
    notes.push("expected TOML: key = value, with texts in quotes".to_owned());
    Mistake { line: Some(line_number(source, at)), what, notes }
}

/// `[contender]` twice, where a list of tables has double brackets.
fn single_brackets(source: &str) -> Option<Mistake> {
    LISTS.into_iter().find_map(|name| {
        let head = format!("[{name}]");
        let is_head = |line: &str| line.split('#').next().unwrap_or_default().trim() == head;
        let lines: Vec<String> = (1..)
            .zip(source.lines())
            .filter(|(_, line)| is_head(line))
            .map(|(number, _): (usize, _)| number.to_string())
            .collect();
        let [_, second, ..] = &lines[..] else { return None };
        let what = format!("`{head}` stands {} times, and a table of this name can stand once", lines.len());
        let note = format!("write [{head}], with double brackets, in each of the lines {}", lines.join(", "));
        Some(Mistake { line: second.parse().ok(), what, notes: vec![note] })
    })
}

/// Where the innermost bracket or brace opens that this text leaves open.
fn opener(text: &str) -> Option<usize> {
    let (mut open, mut quote, mut is_comment, mut is_escaped) = (Vec::new(), None, false, false);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (_, '\n') => (quote, is_comment) = (None, false),
            _ if is_comment => {}
            (Some('"'), '\\') => is_escaped = true,
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') => is_comment = true,
            (None, '[' | '{') => open.push(at),
            (None, ']' | '}') => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

fn line_number(source: &str, at: usize) -> usize {
    source[..at].matches('\n').count() + 1
}

/// The line of this place and a mark below it; only the line where that holds a password.
fn marked(source: &str, at: usize) -> Vec<String> {
    let begin = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = source[begin..].lines().next().unwrap_or_default().replace('\t', " ");
    let shown = secrets::mask(&line);
    let column = source[begin..at].chars().count();
    let skipped = column.saturating_sub(BEFORE_CHARS);
    let number = line_number(source, at).to_string();
    let part: String = shown.chars().skip(skipped).take(SHOWN_CHARS).collect();
    let mut lines = vec![format!("{number} | {part}").trim_end().to_owned()];
    if shown == line {
        lines.push(format!("{} | {}^", " ".repeat(number.len()), " ".repeat(column - skipped)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    fn check(source: &str, line: usize, what: &str, notes: &[&str]) {
        let (_, broken) = DeTable::parse_recoverable(source);
        assert!(!broken.is_empty(), "{source}");
        let found = mistake(source, &broken);
        assert!(found.line == Some(line) && found.what.contains(what), "{source}\n{found:?}");
        assert_eq!(found.notes[..notes.len()], *notes, "{source}");
    }

    #[test]
    fn one_cause_is_named_with_its_line_and_a_mark() {
        check(
            "name = \"x\"\nblocks = [1,\nworkload = oltp_read_write\n",
            2,
            "unclosed array",
            &["2 | blocks = [1,", "  |          ^"],
        );
        check("a = 1\nb = oltp\nc = [\n", 2, "must be quoted", &["2 | b = oltp", "  |     ^"]);
        check(
            "w = { name = \"}\", rows = 1 # }\nmethod = { preset = \"quick\" }\n",
            1,
            "unclosed inline table",
            &["1 | w = { name = \"}\", rows = 1 # }", "  |     ^"],
        );
    }

    #[test]
    fn a_list_of_tables_in_single_brackets_is_one_mistake() {
        let source = "[contender]\nname = \"a\"\n[contender]  # two\nname = \"b\"\n[contender]\nname = \"c\"\n";
        let write = "write [[contender]], with double brackets, in each of the lines 1, 3, 5";
        check(source, 3, "`[contender]` stands 3 times", &[write]);
    }

    #[test]
    fn no_password_is_quoted_and_long_lines_are_cut() {
        check("target = \"mysql://app:hunter2@db/x\" oops\n", 1, "", &["1 | target = \"mysql://app:***@db/x\" oops"]);
        let long = format!("x = [{}] oops\n", "1, ".repeat(60));
        let (_, broken) = DeTable::parse_recoverable(&long);
        let found = mistake(&long, &broken);
        assert!(found.notes[0].chars().count() < 80 && found.notes[1].ends_with('^'), "{found:?}");
    }
}
