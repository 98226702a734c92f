//! What the server's own option parser makes of settings, without a start.
//!
//! `--verbose --help` prints the values that would be in force and allocates nothing. Up to 5.7 and in MariaDB
//! an unknown option ends it with an error; later MySQL leaves it out of the list, which shows as well.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context, Result, ensure};

use engine::settings::{Agreement, Effective, plain, verify};
use engine::{Engine, Site, log_tail};

/// How a family makes the server's arguments of settings, those of every start first.
pub type Arguments<'a> = &'a dyn Fn(&BTreeMap<String, String>) -> Vec<OsString>;

pub fn check(
    engine: &dyn Engine,
    arguments: Arguments<'_>,
    site: &Site,
    settings: &BTreeMap<String, String>,
) -> Result<()> {
    let asked = under_plain_names(settings);
    verify(engine, &offered(arguments(&asked), site)?, &asked)
}

/// Values are not checked: the list shows them as they were given, a server that has started may not.
pub fn expect_known(
    engine: &dyn Engine,
    arguments: Arguments<'_>,
    site: &Site,
    settings: &BTreeMap<String, String>,
) -> Result<()> {
    let mut asked = under_plain_names(settings);
    let offered = offered(arguments(&asked), site)?;
    asked.retain(|name, value| engine.agreement(&offered, name, value) == Agreement::Unknown);
    verify(engine, &offered, &asked)
}

fn under_plain_names(settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    settings.iter().map(|(name, value)| (plain(name), value.clone())).collect()
}

/// What would be in force with these arguments.
fn offered(mut args: Vec<OsString>, site: &Site) -> Result<Effective> {
    args.extend(["--verbose", "--help"].map(Into::into));
    let around = &site.installation.around;
    let mut command = around.command(&site.installation.server, &[site.scratch, site.data])?;
    command.args(args).current_dir(site.data);
    // Two pipes: in one file, what it complains about would stand in the middle of the list.
    let output = command.output().with_context(|| format!("cannot execute {}", site.installation.server.display()))?;
    let log = site.scratch.join("vet.log");
    std::fs::write(&log, &output.stderr).with_context(|| format!("cannot write {}", log.display()))?;
    ensure!(
        output.status.success(),
        "the server ended with {}\nit said: {}",
        output.status,
        log_tail(&log, 0).join("\n         ")
    );
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// The list behind the help: each variable with its value.
fn listed(help: &str) -> Effective {
    let mut effective = Effective::default();
    let list = help.lines().skip_while(|line| !line.starts_with("------")).skip(1);
    for line in list.take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(' ') {
            effective.values.insert(plain(name), value.trim().to_owned());
        }
    }
    effective
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_behind_the_help_is_read() {
        let help = "mysqld  Ver 5.6\n  --x  does x\n\nVariables (--variable-name=value)\nand boolean options {FALSE|TRUE}\n\
                    ------------- ------------\ninnodb-buffer-pool-size    134217728\nlog-bin   (No default value)\n\nTo see\n";
        let values = listed(help).values;
        assert_eq!(values["innodb_buffer_pool_size"], "134217728");
        assert_eq!(values.len(), 2);
    }
}
