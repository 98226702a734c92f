//! pgbench's command line taken apart by the rules of `getopt_long`.

/// An option: its letter, its name, and whether a value belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    pub letter: Option<char>,
    pub name: &'static str,
    pub has_value: bool,
}

/// A word in its place: an option by its name, or a word by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    Option { name: &'static str, value: String },
    Plain(String),
}

/// Letters may stand together (`-nS`), values behind their option or in the next word, long names be cut short.
pub fn take_apart(words: &[String], known: &[Spelling]) -> Result<Vec<Word>, String> {
    let (mut found, mut rest) = (Vec::new(), words.iter());
    while let Some(word) = rest.next() {
        if word == "--" {
            found.extend(rest.by_ref().cloned().map(Word::Plain));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let option = by_name(name, known)?;
            let value = match (option.has_value, value) {
                (true, Some(value)) => value.to_owned(),
                (true, None) => next_value(&mut rest, &format!("--{}", option.name))?,
                (false, None) => String::new(),
                (false, Some(_)) => return Err(format!("--{} takes no value", option.name)),
            };
            found.push(Word::Option { name: option.name, value });
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            take_letters(letters, known, &mut rest, &mut found)?;
        } else {
            found.push(Word::Plain(word.clone()));
        }
    }
    Ok(found)
}

fn next_value<'a>(rest: &mut impl Iterator<Item = &'a String>, option: &str) -> Result<String, String> {
    rest.next().cloned().ok_or_else(|| format!("{option} requires a value"))
}

fn take_letters<'a>(
    letters: &str,
    known: &[Spelling],
    rest: &mut impl Iterator<Item = &'a String>,
    found: &mut Vec<Word>,
) -> Result<(), String> {
    for (at, letter) in letters.char_indices() {
        let option = known.iter().find(|one| one.letter == Some(letter));
        let option = option.ok_or_else(|| format!("unknown option -{letter}; `dbduel pgbench --help` lists all"))?;
        if !option.has_value {
            found.push(Word::Option { name: option.name, value: String::new() });
            continue;
        }
        let behind = &letters[at + letter.len_utf8()..];
        let value = if behind.is_empty() { next_value(rest, &format!("-{letter}"))? } else { behind.to_owned() };
        found.push(Word::Option { name: option.name, value });
        break;
    }
    Ok(())
}

/// The option of this name, or the only one whose name begins with it.
fn by_name(name: &str, known: &[Spelling]) -> Result<Spelling, String> {
    if let Some(exact) = known.iter().find(|one| one.name == name) {
        return Ok(*exact);
    }
    let begin: Vec<&Spelling> = known.iter().filter(|one| one.name.starts_with(name)).collect();
    match begin[..] {
        [one] => Ok(*one),
        [] => Err(format!("unknown option --{name}; `dbduel pgbench --help` lists all")),
        _ => {
            let names: Vec<String> = begin.iter().map(|one| format!("--{}", one.name)).collect();
            Err(format!("--{name} may be {}", names.join(" or ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Spelling] = &[
        Spelling { letter: Some('n'), name: "no-vacuum", has_value: false },
        Spelling { letter: Some('c'), name: "client", has_value: true },
        Spelling { letter: Some('S'), name: "select-only", has_value: false },
        Spelling { letter: None, name: "max-tries", has_value: true },
        Spelling { letter: None, name: "max-size", has_value: true },
    ];

    fn apart(words: &[&str]) -> Result<Vec<Word>, String> {
        take_apart(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), KNOWN)
    }

    fn option(name: &'static str, value: &str) -> Word {
        Word::Option { name, value: value.to_owned() }
    }

    #[test]
    fn letters_names_and_values_are_read_as_getopt_reads_them() {
        let all = [option("no-vacuum", ""), option("select-only", ""), option("client", "4")];
        let database = Word::Plain("bench".to_owned());
        for words in [
            &["-nS", "-c4", "bench"][..],
            &["-nSc4", "bench"],
            &["-nSc", "4", "bench"],
            &["--no-vacuum", "--select", "--client=4", "bench"],
            &["--no-v", "-S", "--client", "4", "--", "bench"],
        ] {
            let mut expected = all.to_vec();
            expected.push(database.clone());
            assert_eq!(apart(words).unwrap(), expected, "{words:?}");
        }
        assert_eq!(apart(&["bench", "-n"]).unwrap(), [database, option("no-vacuum", "")]);
    }

    #[test]
    fn what_no_option_is_has_its_name_in_the_error() {
        for (words, expected) in [
            (&["-x"][..], "unknown option -x"),
            (&["--none"], "unknown option --none"),
            (&["--max=3"], "--max may be --max-tries or --max-size"),
            (&["-c"], "-c requires a value"),
            (&["--client"], "--client requires a value"),
            (&["--no-vacuum=1"], "--no-vacuum takes no value"),
        ] {
            let found = apart(words).unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
    }
}
