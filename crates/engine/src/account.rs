//! The account that a server runs under.

use anyhow::{Context, Result};

/// The account a server runs under when it must not be root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

pub(crate) fn parse_account(text: &str) -> Result<(u32, u32)> {
    let (uid, gid) = text.split_once(':').context("an account is uid:gid")?;
    Ok((uid.parse()?, gid.parse()?))
}
