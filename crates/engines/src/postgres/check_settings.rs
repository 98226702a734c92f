//! What the server makes of settings without a start: `-C` reads them all and prints one.
//!
//! PostgreSQL changes no value by itself: what it does not take, it refuses.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, ensure};

use engine::{Exit, Program, Site, log_tail};

const LIMIT: Duration = Duration::from_secs(60);

pub fn check(site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
    // No files of a data directory are read, so that there need not be any.
    let mut args: Vec<OsString> = ["-D", "/", "-C", "shared_buffers"].map(Into::into).to_vec();
    args.extend(
        ["config_file", "hba_file", "ident_file"]
            .iter()
            .flat_map(|file| ["-c".into(), format!("{file}=/dev/null").into()]),
    );
    let by_initdb = |name: &str| BY_INITDB.iter().any(|known| known.eq_ignore_ascii_case(name));
    let by_start = settings.iter().filter(|(name, _)| !by_initdb(name));
    args.extend(by_start.flat_map(|(name, value)| ["-c".into(), format!("{name}={value}").into()]));
    let log = site.scratch.join("vet.log");
    let program = Program {
        args,
        directory: Some("/".into()),
        ..site.installation.program(&site.installation.server, &log, &[site.scratch])?
    };
    let exit = program.run(LIMIT)?;
    ensure!(exit == Exit::Status(0), "the server {exit}\nit said: {}", log_tail(&log, 0).join("\n         "));
    Ok(())
}

/// What initdb decides, once and for all.
pub(super) const BY_INITDB: &[&str] = &["data_checksums", "wal_segment_size"];
