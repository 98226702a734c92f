//! Are the settings that were asked for the ones in force?
//!
//! Servers show the same value in many ways (`1G` and `1073741824`, `1` and `ON`), and some take a
//! setting, warn, and ignore it. This module compares meanings; each engine names the rules that it
//! needs. It never decides that a difference is harmless: only rounding that a manual documents
//! counts as agreement.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

pub use record::setting_value::{parse_quantity, parse_size, parse_switch, plain, unit_size};

pub use super::effective::{Agreement, Effective};

use super::cache::Aside;
use super::departed::Departed;
use super::tunable::other_names;
use super::{Engine, Installation, Site};

/// Fails with one line for each setting that is not in force as asked.
pub fn verify(engine: &dyn Engine, effective: &Effective, asked: &BTreeMap<String, String>) -> Result<()> {
    let mut wrong = Vec::new();
    for (name, value) in asked {
        match engine.agreement(effective, name, value) {
            Agreement::Same => {}
            Agreement::Different { actual } => {
                wrong.push(format!("setting `{name}`: asked {value:?}, server has {actual:?}"));
            }
            Agreement::Unknown => wrong.push(unknown(engine, name, effective)),
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("the server does not run with the settings that were asked for\n{}", wrong.join("\n"))
}

/// The settings among `asked` that a server has none of, each with the name that it has there, or the nearest.
pub fn nearest_known<'a>(
    engine: &dyn Engine,
    asked: &'a BTreeMap<String, String>,
    effective: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, Option<&'a str>)> {
    let is_known = |name: &str| effective.keys().any(|known| plain(known) == plain(name));
    let renamed = |name: &str| other_names(engine, name).into_iter().find_map(|other| effective.get_key_value(other));
    let near = |name: &str| match renamed(name) {
        Some((other, _)) => Some(other.as_str()),
        None => nearest(&plain(name), effective.keys().map(String::as_str)),
    };
    let missing = asked.keys().filter(|name| !is_known(name));
    missing.map(|name| (name.as_str(), near(name))).collect()
}

fn unknown(engine: &dyn Engine, name: &str, effective: &Effective) -> String {
    let renamed = other_names(engine, name).into_iter().find(|other| effective.values.contains_key(*other));
    if let Some(here) = renamed {
        return format!("setting `{name}`: this server has none of that name; here it is `{here}`");
    }
    if let Some(departed) = Departed::find(engine.departures(), name) {
        return format!("setting `{name}`: this server has none of that name: {}", departed.text(engine.title()));
    }
    let near = nearest(name, effective.values.keys().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("setting `{name}`: this server has none of that name (it may accept and ignore it){near}")
}

/// The known name that is most like a wrong one.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Fails for settings of which the server has none, without a start and without a data directory.
pub fn expect_known_settings(installation: &Installation, settings: &BTreeMap<String, String>) -> Result<()> {
    let aside = Aside::new()?;
    let site = Site { installation, data: aside.path(), scratch: aside.path() };
    installation.engine().expect_known(&site, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let known = ["innodb_buffer_pool_size", "innodb_log_file_size", "max_connections"];
        let near = nearest("innodb_bufer_pool_size", known.into_iter());
        assert_eq!(near, Some("innodb_buffer_pool_size"));
        assert_eq!(nearest("zzz", known.into_iter()), None);
    }
}
