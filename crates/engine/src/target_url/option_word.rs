//! The options that a target may have, each with what becomes of it.

use std::path::PathBuf;

use driver::Secret;

use super::model::{TargetUrl, TlsMode};

type Take = fn(&mut TargetUrl, &str) -> Result<(), String>;

/// One option of a client library.
pub struct OptionWord {
    pub name: &'static str,
    pub meaning: Meaning,
}

pub enum Meaning {
    Taken(Take),
    /// It changes nothing of what is measured here, and is named once.
    Idle,
    /// It would change what is measured, or promises what does not hold here.
    Refused(&'static str),
}

pub const fn taken(name: &'static str, take: Take) -> OptionWord {
    OptionWord { name, meaning: Meaning::Taken(take) }
}

pub const fn idle(name: &'static str) -> OptionWord {
    OptionWord { name, meaning: Meaning::Idle }
}

pub const fn refused(name: &'static str, why: &'static str) -> OptionWord {
    OptionWord { name, meaning: Meaning::Refused(why) }
}

/// Gives one option to the target.
pub fn take(target: &mut TargetUrl, known: &[OptionWord], key: &str, value: &str) -> Result<(), String> {
    let Some(word) = known.iter().find(|word| word.name == key) else { return Err(unknown(known, key)) };
    match word.meaning {
        Meaning::Taken(take) => take(target, value),
        Meaning::Idle => {
            note_idle(target, key);
            Ok(())
        }
        Meaning::Refused(why) => Err(format!("`{key}` {why}")),
    }
}

pub fn note_idle(target: &mut TargetUrl, key: &str) {
    if !target.idle.iter().any(|known| known == key) {
        target.idle.push(key.to_owned());
    }
}

fn unknown(known: &[OptionWord], key: &str) -> String {
    let near = known.iter().map(|word| (strsim::damerau_levenshtein(key, word.name), word.name));
    let near = near.filter(|(slips, _)| *slips <= 1 + key.chars().count() / 5).min_by_key(|(slips, _)| *slips);
    let next = near.map_or_else(
        || {
            let is_taken = |word: &&OptionWord| matches!(word.meaning, Meaning::Taken(_));
            let names: Vec<&str> = known.iter().filter(is_taken).map(|word| word.name).collect();
            format!("known are {}", names.join(", "))
        },
        |(_, name)| format!("did you mean `{name}`?"),
    );
    format!("`{key}` is no option of this target; {next}")
}

pub fn user(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    target.user = (!value.is_empty()).then(|| value.to_owned());
    Ok(())
}

pub fn password(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    target.password = (!value.is_empty()).then(|| Secret::new(value));
    Ok(())
}

pub fn tls(target: &mut TargetUrl, value: &str) -> Result<(), String> {
    target.tls = Some(TlsMode::parse(value)?);
    Ok(())
}

/// A file whose name means the same wherever dbduel runs.
pub fn absolute(key: &str, value: &str) -> Result<Option<PathBuf>, String> {
    if value.starts_with('/') {
        Ok(Some(value.into()))
    } else {
        Err(format!("`{key}` is no absolute path; expected {key}=/path"))
    }
}
