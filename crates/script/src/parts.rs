//! Several transactions in one file: a line `-- transaction: NAME [weight N]` begins each. What stands before the first
//! belongs to all of them: comments and `\set` alone.

use crate::fault::{Fault, Source};

const NOTE: &str = "transaction:";
const WEIGHT_MAX: u64 = 2_147_483_647;

/// One transaction of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub weight: u64,
    /// With the lines of the other transactions left empty, so that every place keeps its line.
    pub source: Source,
}

/// The transactions that notes begin; none where the whole file is one.
pub fn parts(source: &Source) -> Result<Vec<Part>, Fault> {
    let (mut begins, mut at) = (Vec::new(), 0);
    for line in source.text.split_inclusive('\n') {
        if let Some(asked) = asked(line) {
            begins.push((at, title(asked, at)?));
        }
        at += line.len();
    }
    let Some((first, _)) = begins.first() else { return Ok(Vec::new()) };
    expect_shared(&source.text[..*first])?;
    let end_of = |number: usize| begins.get(number + 1).map_or(source.text.len(), |(at, _)| *at);
    let part = |(number, (at, (name, weight))): (usize, &(usize, (String, u64)))| {
        let empty = "\n".repeat(source.text[*first..*at].matches('\n').count());
        let text = [&source.text[..*first], &empty, &source.text[*at..end_of(number)]].concat();
        Part { name: name.clone(), weight: *weight, source: Source { path: source.path.clone(), text } }
    };
    Ok(begins.iter().enumerate().map(part).collect())
}

/// What stands behind `-- transaction:`.
fn asked(line: &str) -> Option<&str> {
    line.trim_start_matches('\u{feff}').trim_start().strip_prefix("--")?.trim_start().strip_prefix(NOTE).map(str::trim)
}

/// `order` or `order weight 3`.
fn title(asked: &str, at: usize) -> Result<(String, u64), Fault> {
    let words: Vec<&str> = asked.split_whitespace().collect();
    let weight = |word: &str| word.parse().ok().filter(|weight| *weight <= WEIGHT_MAX);
    let read = match words[..] {
        [name] => Some((name.to_owned(), 1)),
        [name, "weight", number] => weight(number).map(|weight| (name.to_owned(), weight)),
        _ => None,
    };
    read.ok_or_else(|| {
        let expected =
            format!("expected `-- transaction: NAME` or `-- transaction: NAME weight N`, N up to {WEIGHT_MAX}");
        Fault::new(at, format!("`{asked}` is no name of a transaction"), expected)
    })
}

fn expect_shared(text: &str) -> Result<(), Fault> {
    let (mut at, mut is_continued) = (0, false);
    for line in text.split_inclusive('\n') {
        let command = line.trim_start_matches('\u{feff}').trim();
        let is_set = command.strip_prefix("\\set").is_some_and(|rest| rest.starts_with(char::is_whitespace));
        if !(is_continued || command.is_empty() || command.starts_with("--") || is_set) {
            let what = "this stands before the first `-- transaction:`";
            return Err(Fault::new(at, what, "expected comments and \\set alone: they belong to all transactions"));
        }
        is_continued = (is_continued || is_set) && command.ends_with('\\');
        at += line.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Part>, String> {
        let source = Source { path: "shop.sql".to_owned(), text: text.to_owned() };
        parts(&source).map_err(|fault| source.told(&fault))
    }

    #[test]
    fn each_transaction_keeps_its_lines_and_what_all_share() {
        let text = "-- the shop\n\\set id random(1, \\\n  9)\n-- transaction: browse weight 7\nSELECT 1;\n\n-- transaction: order\nSELECT 2;";
        let found = read(text).unwrap();
        let shared = "-- the shop\n\\set id random(1, \\\n  9)\n";
        let seen: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.weight, one.source.text.clone())).collect();
        let browse = format!("{shared}-- transaction: browse weight 7\nSELECT 1;\n\n");
        let order = format!("{shared}\n\n\n-- transaction: order\nSELECT 2;");
        assert_eq!(seen, [("browse", 7, browse), ("order", 1, order)]);
        assert!(read("SELECT 1; -- transaction: x\n-- a transaction: too\n").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_stand_there_has_its_place() {
        let check = |text: &str, expected: &str| {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(expected), "{text}\n{found}");
        };
        check(
            "SELECT 1;\n-- transaction: a\nSELECT 2;",
            "shop.sql:1:1: this stands before the first `-- transaction:`",
        );
        check("\n-- transaction: a b\nSELECT 2;", "shop.sql:2:1: `a b` is no name of a transaction");
        check("-- transaction: a weight -1\nSELECT 2;", "shop.sql:1:1: `a weight -1` is no name of a transaction");
    }
}
