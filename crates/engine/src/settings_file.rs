//! A server's own configuration file, read for the settings of a contender: `my.cnf`, `postgresql.conf`.
//!
//! It is read as its server reads it. What dbduel decides by itself, and what the version no longer has, is left out
//! and named: such a file was written for a machine and a version, and is to be tried on others.

mod conf;

use std::path::Path;

use super::departed::{Departed, Instead};
use super::engine::SettingsFile;
use super::target_url::{Around, ThisHost, option_file};
use super::{Engine, Reserved};

/// What a file comes to for one contender.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileSettings {
    /// In the order of the file; of two with one name the later counts.
    pub values: Vec<(String, String)>,
    /// What is not as in the file, one a sentence: `left out: …`.
    pub remarks: Vec<String>,
}

/// The settings of a file for a version, where it is known.
pub fn read_settings_file(engine: &dyn Engine, version: Option<&[u32]>, path: &Path) -> Result<FileSettings, String> {
    let Some(form) = engine.settings_file() else {
        return Err(format!("{} has no configuration file", engine.title()));
    };
    let (given, mut remarks) = given(form, version, path, &ThisHost)?;
    let mut sorted = Sorted::default();
    for (name, value) in given {
        sorted.add(engine, form, version, name, value);
    }
    let Sorted { values, left_out, changed } = sorted;
    let list = |title: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{title}: {}", all.join("; ")));
    let of_reason = |(why, names): (String, Vec<String>)| format!("{} ({why})", names.join(", "));
    remarks.extend(list("left out", left_out.into_iter().map(of_reason).collect()));
    remarks.extend(list("changed", changed));
    Ok(FileSettings { values, remarks })
}

/// Names and values in the order of the file, and what is to be said about files.
type GivenSettings = (Vec<(String, String)>, Vec<String>);

/// What stands in a file for a server of this version.
fn given(
    form: &SettingsFile,
    version: Option<&[u32]>,
    path: &Path,
    around: &dyn Around,
) -> Result<GivenSettings, String> {
    let SettingsFile::Groups { groups, of_series, skips, .. } = form else {
        return Ok((conf::read(path, around)?, Vec::new()));
    };
    let mut all: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
    if let Some([major, minor, ..]) = version {
        all.extend(of_series.iter().map(|group| format!("{group}{major}.{minor}")));
    }
    let groups: Vec<&str> = all.iter().map(String::as_str).collect();
    let found = option_file::read(path, &groups, around)?;
    let options = found.ok_or_else(|| format!("there is no file {}", path.display()))?;
    if options.given.is_empty() {
        let titles: Vec<String> = groups.iter().map(|group| format!("[{group}]")).collect();
        return Err(format!("{} has nothing in {}", path.display(), titles.join(", ")));
    }
    Ok((options.given.into_iter().map(|one| setting(&one.key, one.value, skips)).collect(), options.remarks))
}

/// An option of a group as name and value.
fn setting(key: &str, value: Option<String>, skips: &[&str]) -> (String, String) {
    let name = key.replace('-', "_").to_ascii_lowercase();
    match value {
        Some(value) => (name, value),
        None if skips.contains(&name.as_str()) => (name, "ON".to_owned()),
        None => {
            let off = ["skip_", "disable_"].iter().find_map(|prefix| name.strip_prefix(prefix));
            let on = name.strip_prefix("enable_").unwrap_or(&name);
            (off.unwrap_or(on).to_owned(), if off.is_some() { "OFF" } else { "ON" }.to_owned())
        }
    }
}

#[derive(Default)]
struct Sorted {
    values: Vec<(String, String)>,
    /// Reasons, each with its names.
    left_out: Vec<(String, Vec<String>)>,
    changed: Vec<String>,
}

impl Sorted {
    fn add(&mut self, engine: &dyn Engine, form: &SettingsFile, version: Option<&[u32]>, name: String, value: String) {
        if let SettingsFile::Groups { unseen, .. } = form
            && unseen.iter().any(|known| matches(known, &name))
        {
            return self.leave_out("no variable shows it", name);
        }
        let Some((value, is_shortened)) = allowed(engine.reserved(), &name, value) else {
            return self.leave_out("dbduel decides it", name);
        };
        let gone = Departed::find(engine.departures(), &name)
            .filter(|gone| version.is_some_and(|version| gone.is_gone_from(version)));
        let name = match gone.map(|gone| (gone.text(engine.title()), gone.instead)) {
            Some((why, Instead::Renamed(now))) => {
                self.changed.push(format!("{name} is {now} ({why})"));
                now.to_owned()
            }
            Some((why, _)) => return self.leave_out(&why, name),
            None => name,
        };
        if is_shortened {
            self.changed.push(format!("{name} = {value}, in the server's own folder"));
        }
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
    }

    fn leave_out(&mut self, why: &str, name: String) {
        let at = self.left_out.iter().position(|(reason, _)| reason == why).unwrap_or_else(|| {
            self.left_out.push((why.to_owned(), Vec::new()));
            self.left_out.len() - 1
        });
        let names = &mut self.left_out[at].1;
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// The value that dbduel lets stand, and whether a path went; None where the setting is dbduel's own.
fn allowed(reserved: &Reserved, name: &str, value: String) -> Option<(String, bool)> {
    let may_be = |value: &str| reserved.refusal(name, value).is_none();
    if may_be(&value) {
        return Some((value, false));
    }
    let file = value.rsplit('/').next().unwrap_or_default();
    (value.contains('/') && !file.is_empty() && may_be(file)).then(|| (file.to_owned(), true))
}

#[cfg(test)]
mod tests;
