//! sysbench itself, on tables that we loaded.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use driver::Dialect;

use super::script::{Done, ROWS, Script};
use crate::held::Held;

pub fn is_here() -> bool {
    Command::new("sysbench").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a script with so many events; `None` where sysbench is not installed or has no such script.
pub fn run(server: &Held, script: &Script, events: u64) -> Result<Option<Done>> {
    let Some(own) = script.sysbench.filter(|_| is_here()) else { return Ok(None) };
    run_with(server, script.workload, own, 1, events).map(Some)
}

pub fn run_with(server: &Held, name: &str, own: &[&str], threads: u32, events: u64) -> Result<Done> {
    let mut command = Command::new("sysbench");
    command.arg(name).args(reach(server)?).args(own);
    command.arg(format!("--table-size={ROWS}")).arg(format!("--threads={threads}"));
    command.args(["--time=0", &format!("--events={events}"), "run"]);
    let output = command.output().context("cannot start sysbench")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "sysbench {name} failed:\n{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let count = |label: &str| -> Result<f64> {
        let value = stdout.lines().find_map(|line| line.trim().strip_prefix(label)?.trim().parse().ok());
        value.with_context(|| format!("sysbench printed no `{label}`:\n{stdout}"))
    };
    let transactions = count("total number of events:")?;
    let statements = [count("read:")?, count("write:")?, count("other:")?].map(|count| count / transactions);
    Ok(Done { connections: u64::from(threads), transactions: transactions as u64, statements })
}

/// Its options for a server that listens on a socket.
pub fn reach(server: &Held) -> Result<Vec<String>> {
    let (socket, user, database) = (server.text("socket")?, server.text("user")?, server.text("database")?);
    if server.dialect() == Dialect::MySql {
        let socket = format!("--mysql-socket={socket}");
        return Ok(vec![socket, format!("--mysql-user={user}"), format!("--mysql-db={database}")]);
    }
    let Some((folder, port)) = socket.split_once("/.s.PGSQL.") else { bail!("an odd socket of PostgreSQL: {socket}") };
    Ok(vec![
        "--db-driver=pgsql".to_owned(),
        format!("--pgsql-host={folder}"),
        format!("--pgsql-port={port}"),
        format!("--pgsql-user={user}"),
        format!("--pgsql-db={database}"),
    ])
}
