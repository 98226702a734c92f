//! Settings that later versions of an engine no longer have, from what servers of its catalogue list of themselves.
//!
//! A setting is gone from the first version of the catalogue that has it no longer; in which release in between it
//! went, the catalogue does not know.

use std::collections::BTreeMap;

use record::setting_value::plain;

/// What the same version dropped.
#[derive(Debug)]
pub struct Departures {
    /// The last series of the catalogue that has them.
    pub up_to: &'static str,
    /// The first version of the catalogue that has not.
    pub gone: &'static [u32],
    pub settings: &'static [(&'static str, Instead)],
}

/// What later versions have in the place of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    Nothing,
    /// The same under another name.
    Renamed(&'static str),
    /// Another setting, with values of its own.
    Other(&'static str),
}

/// A setting that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    pub up_to: &'static str,
    gone: &'static [u32],
    pub instead: Instead,
}

impl Departed {
    /// What is known of a setting that some version dropped.
    pub fn find(table: &'static [Departures], name: &str) -> Option<Departed> {
        let name = plain(name);
        table.iter().find_map(|Departures { up_to, gone, settings }| {
            let (_, instead) = settings.iter().find(|(known, _)| *known == name)?;
            Some(Departed { up_to, gone, instead: *instead })
        })
    }

    pub fn is_gone_from(&self, version: &[u32]) -> bool {
        version >= self.gone
    }

    /// For a reader, with the engine's name: `MySQL has it up to 5.7`.
    pub fn text(&self, title: &str) -> String {
        let up_to = format!("{title} has it up to {}", self.up_to);
        match self.instead {
            Instead::Nothing => up_to,
            Instead::Renamed(name) => format!("{up_to}, then as `{name}`"),
            Instead::Other(name) => format!("{up_to}; then `{name}` takes its place"),
        }
    }
}

/// What a server of a version shows against the table.
pub(crate) fn contradicted(
    table: &'static [Departures],
    version: &[u32],
    effective: &BTreeMap<String, String>,
) -> Vec<String> {
    let has = |name: &str| effective.keys().any(|known| plain(known) == name);
    // Later versions may have dropped what took another's place.
    let is_gone = |name: &str| Departed::find(table, name).is_some_and(|departed| departed.is_gone_from(version));
    let gone = table.iter().filter(|departures| version >= departures.gone);
    let wrong = gone.flat_map(|departures| departures.settings).filter_map(|(name, instead)| match instead {
        _ if has(name) => Some(format!("the server has `{name}`, which is said to be gone")),
        Instead::Renamed(now) | Instead::Other(now) if !has(now) && !is_gone(now) => {
            Some(format!("the server has no `{now}`, which is said to be in the place of `{name}`"))
        }
        _ => None,
    });
    wrong.collect()
}
