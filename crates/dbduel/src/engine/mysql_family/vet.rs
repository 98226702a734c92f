//! What the server's own option parser makes of settings, without a start.
//!
//! `--verbose --help` prints the values that would be in force and allocates nothing. Up to 5.7 and in MariaDB
//! an unknown option ends it with an error; later MySQL leaves it out of the list, which shows as well.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{MysqlFamily, plain, user_argument};
use crate::engine::keeper::{Exit, Program};
use crate::engine::server::server_environment;
use crate::engine::settings::{Effective, verify};
use crate::engine::{Site, log_tail};

const LIMIT: Duration = Duration::from_secs(60);

pub fn vet(family: &MysqlFamily, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
    let asked: BTreeMap<String, String> = settings.iter().map(|(name, value)| (plain(name), value.clone())).collect();
    let mut args = family.common_arguments(site.installation, site.data);
    args.extend(asked.iter().map(|(name, value)| user_argument(name, value)));
    args.extend(["--verbose", "--help"].map(Into::into));
    let log = site.scratch.join("vet.log");
    let program = Program {
        args,
        environment: Some(server_environment()),
        libraries: site.installation.libraries.clone(),
        directory: Some(site.data.to_owned()),
        ..Program::new(&site.installation.server, &log)
    };
    let exit = program.run(LIMIT)?;
    ensure!(exit == Exit::Status(0), "the server {exit}\nit said: {}", log_tail(&log, 0).join("\n         "));
    let said = std::fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    verify(family, &listed(&String::from_utf8_lossy(&said)), &asked)
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
