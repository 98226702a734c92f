//! `[labels]` and `--label`: what runs are found and joined by, such as commit, branch or class of host.

use std::collections::BTreeMap;

use super::section::{Reader, Section};
use record::secrets::{is_secret_key, mask_urls};

pub type Labels = BTreeMap<String, String>;

/// A name becomes a column of tables.
const NAME_CHARS_MAX: usize = 64;
const VALUE_CHARS_MAX: usize = 200;

/// `key=value`, as the command line has it.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no value; write {text}=VALUE"))?;
    checked(name.trim(), value.trim())
}

/// A label that may be stored; a password in a URL is masked.
fn checked(name: &str, value: &str) -> Result<(String, String), String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || !name.chars().all(is_name) {
        return Err(format!("`{name}` is no name of a label; write letters, digits, `_`, `-` and `.`, a letter first"));
    }
    if is_secret_key(name) {
        return Err(format!("`{name}` names a secret, and labels are stored and printed as they are"));
    }
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(format!("the value of label `{name}` is empty or holds control characters"));
    }
    if name.chars().count() > NAME_CHARS_MAX || value.chars().count() > VALUE_CHARS_MAX {
        return Err(format!(
            "label `{name}` is too long; a name has {NAME_CHARS_MAX} characters at most, a value {VALUE_CHARS_MAX}"
        ));
    }
    Ok((name.to_owned(), mask_urls(value)))
}

/// Those of the file, and over them those of the command line.
pub fn read_labels<'a>(reader: &mut Reader<'a>, top: &Section<'a>, given: &Labels) -> Labels {
    let mut labels = Labels::new();
    if let Some(section) = reader.table(top, "labels") {
        for (key, value) in section.table {
            let name = key.get_ref().as_ref();
            let Some(text) = value.get_ref().as_str() else {
                reader.wrong_type(&section, name, value, &format!("a text in quotes: {name} = \"...\""));
                continue;
            };
            match checked(name, text.trim()) {
                Ok(label) => labels.extend([label]),
                Err(cause) => reader.reject(&key.span(), cause, "labels are short texts, such as commit = \"4f2a91c\""),
            }
        }
    }
    labels.extend(given.clone());
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_plain_name_and_a_value_on_one_line() {
        let own = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(label("commit=4f2a91c"), own("commit", "4f2a91c"));
        assert_eq!(label(" host.class = c7g, 8 cores=yes "), own("host.class", "c7g, 8 cores=yes"));
        assert_eq!(label("db=postgres://app:hunter2@db/x"), own("db", "postgres://app:***@db/x"));
        for refused in [
            "commit",
            "=x",
            "1st=x",
            "a b=x",
            "a=",
            "a= ",
            "a=\u{1b}[2J",
            "a=x\ny",
            "a\u{7}=x",
            "db_password=x",
            &format!("a={}", "x".repeat(201)),
            &format!("{}=x", "a".repeat(65)),
        ] {
            assert!(label(refused).is_err(), "{refused:?}");
        }
    }
}
