//! One expression by itself, with its value or error as pgbench's `debug()` shows them.

use crate::eval::shown;
use load::Rng;

use crate::eval::{Scalar, Slot};
use crate::expression::{Names, Parser};

/// Variables of the table of expressions, as they are given on a command line.
pub const TABLE_VARIABLES: &[(&str, &str)] = &[
    ("i", "3"),
    ("d", "2.5"),
    ("t", "true"),
    ("n", "null"),
    ("default_seed", "7"),
    ("e", "1e3"),
    ("neg", "-7"),
    ("yes", "yes"),
    ("off", "off"),
];

/// Reads and evaluates an expression with these variables; `seed` is that of its draws.
///
/// A value is `int 5`, `double 0.5`, `boolean true` or `null`. An error begins with the words of pgbench's own where
/// there is a value missing; what is no expression is `syntax` with our words behind it.
pub fn evaluate(text: &str, variables: &[(&str, &str)], seed: u64) -> Result<String, String> {
    // A name that nobody has set has a place, too, and no value there.
    let place = |name: &str| variables.iter().position(|(known, _)| *known == name).unwrap_or(variables.len());
    let (resolve, default_seed) = (|name: &str| Some(place(name)), place("default_seed"));
    let names = Names { resolve: &resolve, known: &Vec::new, bare: false, default_seed };
    let expr =
        Parser::new(text, 0, &names).and_then(Parser::whole).map_err(|fault| match is_of_values(&fault.what) {
            true => in_words_of_pgbench(&fault.what),
            false => format!("syntax: {}", fault.what),
        })?;
    let values = variables.iter().map(|(_, text)| value_of(text).unwrap_or(Scalar::Undefined));
    let values = values.chain([Scalar::Undefined]);
    let slots: Vec<Slot> = values.map(Slot::new).collect();
    let value = expr.evaluate(&slots, &mut Rng::stream(seed, 0, 0));
    value.map(shown).map_err(|why| in_words_of_pgbench(why.0))
}

/// The value of a variable that is given as text, by pgbench's rule: `y` is true, and what is no number has none.
pub fn value_of(text: &str) -> Option<Scalar> {
    let begins = |word: &str| word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
    let is = |word: &str| word.eq_ignore_ascii_case(text);
    Some(match text {
        "" => return None,
        _ if is("null") => Scalar::Null,
        _ if begins("true") || begins("yes") || is("on") => Scalar::Bool(true),
        _ if begins("false") || begins("no") || is("off") || is("of") => Scalar::Bool(false),
        _ => match text.parse() {
            Ok(number) => Scalar::Int(number),
            Err(_) if text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit()) => return None,
            Err(_) => Scalar::Double(text.parse().ok()?),
        },
    })
}

/// Whether a constant expression was refused for want of a value: pgbench finds that when it runs.
fn is_of_values(what: &str) -> bool {
    let words = ["out of range", "overflow", "division by zero", "coerce", "parameter", "empty range", "range is too"];
    words.iter().any(|word| what.contains(word))
}

/// Three messages have pgbench's numbers in them.
fn in_words_of_pgbench(what: &str) -> String {
    let what = what.split(", got").next().unwrap_or(what);
    what.replace("at least 2.0", "at least 2.000000").replace("must be 1.001 to 1000", "must be in range [1.001, 1000]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expressions with what the real pgbench made of them; `cargo xtask conform-pgbench --bless` writes the file.
    const TABLE: &str = include_str!("expressions.tsv");

    #[test]
    fn variables_given_as_text_have_the_values_of_pgbench() {
        for (text, expected) in [
            ("5", Some(Scalar::Int(5))),
            ("-5", Some(Scalar::Int(-5))),
            ("1.5", Some(Scalar::Double(1.5))),
            ("y", Some(Scalar::Bool(true))),
            ("ON", Some(Scalar::Bool(true))),
            ("n", Some(Scalar::Bool(false))),
            ("of", Some(Scalar::Bool(false))),
            ("Null", Some(Scalar::Null)),
            ("99999999999999999999", None),
            ("some", None),
            ("", None),
        ] {
            assert_eq!(value_of(text), expected, "{text}");
        }
    }

    #[test]
    fn expressions_have_the_values_and_errors_of_pgbench() {
        let mut wrong = Vec::new();
        for line in TABLE.lines() {
            let (text, expected) = line.split_once('\t').expect("an expression, a tab and its value");
            let found = match evaluate(text, TABLE_VARIABLES, 1) {
                Ok(value) => value,
                Err(why) if why.starts_with("syntax: ") => "syntax".to_owned(),
                Err(why) => format!("error: {why}"),
            };
            let is_same = match expected.split_once(": ") {
                Some(("syntax", _)) => found == "syntax",
                Some(_) => expected.starts_with(&found),
                None => expected == found,
            };
            if !is_same {
                wrong.push(format!("{text}: {expected} expected, {found} found"));
            }
        }
        assert!(TABLE.lines().count() >= 300 && wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
