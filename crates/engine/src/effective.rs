//! The settings of a running server, and how one compares to what was asked for.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// All settings of a running server.
#[derive(Debug, Clone, Default)]
pub struct Effective {
    /// As the server shows them to people.
    pub values: BTreeMap<String, String>,
    /// As a number of some unit, where the server shows both: value, unit, kind of value.
    pub raw: BTreeMap<String, (String, String, String)>,
}

impl Effective {
    /// A setting that every server of the engine has.
    pub fn value(&self, name: &str) -> Result<&str> {
        let value = self.values.get(name).map(String::as_str);
        value.with_context(|| format!("the server does not tell its `{name}`"))
    }
}

/// How a setting in force compares to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    Same,
    Different {
        actual: String,
    },
    /// The server has no setting of this name.
    Unknown,
}

impl Agreement {
    pub fn of(same: bool, actual: &str) -> Agreement {
        if same { Agreement::Same } else { Agreement::Different { actual: actual.to_owned() } }
    }
}
