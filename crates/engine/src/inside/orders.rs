//! The orders of the program that enters an image's root, as its arguments have them.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::account::parse_account;

/// What [`super::Inside::arguments`] say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Orders {
    pub root: PathBuf,
    pub scratch: PathBuf,
    pub places: Vec<PathBuf>,
    pub variables: Vec<(String, String)>,
    pub account: Option<(u32, u32)>,
    pub has_network: bool,
    /// Empty where it is only asked whether there can be namespaces.
    pub program: Vec<OsString>,
}

impl Orders {
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Orders> {
        let mut orders = Orders::default();
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            if name == "--" {
                orders.program = arguments.collect();
                break;
            }
            let value = arguments.next().context("an option without a value")?;
            match name.to_str().unwrap_or("") {
                "--root" => orders.root = value.into(),
                "--scratch" => orders.scratch = value.into(),
                "--place" => orders.places.push(value.into()),
                "--variable" => {
                    let text = value.to_string_lossy().into_owned();
                    let (name, value) = text.split_once('=').context("a variable is NAME=VALUE")?;
                    orders.variables.push((name.to_owned(), value.to_owned()));
                }
                "--network" => orders.has_network = true,
                "--account" => orders.account = Some(parse_account(&value.to_string_lossy())?),
                other => bail!("unknown option {other}"),
            }
        }
        Ok(orders)
    }
}
