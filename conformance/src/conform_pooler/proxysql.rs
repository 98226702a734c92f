//! ProxySQL in front of MariaDB, whose sessions clients share, and with a session for each client.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::Admin;

use super::common::{
    AS_TEXT, CLIENTS, Options, Outcomes, POOL, bench, load_tables, load_through, named, run_beside, workload,
};
use super::proxy::{self, PASSWORD, Proxy, Setting, USER};
use crate::held::Held;

/// A session goes to whoever asks first, so a client may wait long.
const SHARED: Setting = Setting { shares: true, pool: POOL, patience_ms: 60_000 };
/// Without sharing a session each, one that watches, and some that ask.
const MODES: [(&str, Setting); 2] =
    [("transaction", SHARED), ("session", Setting { shares: false, pool: CLIENTS + 8, ..SHARED })];
/// How long sessions that have ended may take to be seen.
const COUNTS_LIMIT: Duration = Duration::from_secs(20);

pub fn compare(dbduel: &Path, program: &Path, outcomes: &mut Outcomes) -> Result<()> {
    let Some(version) = proxy::version(program) else {
        println!(
            "NOT COMPARED: ProxySQL is not installed here\n  next: install it, or name its program with --proxysql"
        );
        return Ok(());
    };
    println!("{version}");
    let server = Held::start_or_fail(dbduel, "mariadb@system", &[])?;
    load_tables(&server.target()?)?;
    let mut admin = server.admin("mysql")?;
    admin.run(&format!("CREATE USER '{USER}'@'localhost' IDENTIFIED BY '{PASSWORD}'"))?;
    admin.run(&format!("GRANT ALL ON *.* TO '{USER}'@'localhost'"))?;
    let check = Check { dbduel, program, server: &server };
    for (mode, setting) in MODES {
        for (statements, options) in [("prepared statements", &[] as Options), ("statements as text", AS_TEXT)] {
            let of = |what: &str| format!("ProxySQL, {mode} mode, {what}");
            outcomes.note(of(statements), check.accepts(mode, setting, options));
            outcomes.note(of(&format!("counts of {statements}")), check.counts(setting, options, &mut admin));
        }
    }
    // It would be counted.
    drop(admin);
    outcomes.note("ProxySQL, a run beside the server itself".to_owned(), check.runs());
    outcomes.note("ProxySQL, too few sessions".to_owned(), check.starves());
    server.stop()
}

struct Check<'a> {
    dbduel: &'a Path,
    program: &'a Path,
    server: &'a Held,
}

impl Check<'_> {
    fn proxy(&self, setting: Setting) -> Result<Proxy> {
        Proxy::start(self.program, &self.server.target()?, setting)
    }

    fn accepts(&self, mode: &str, setting: Setting, options: Options) -> Result<String> {
        let proxy = self.proxy(setting)?;
        let (is_measured, text) = bench(self.dbduel, &proxy.url()?, "oltp_read_write", options)?;
        ensure!(is_measured, "it was refused or failed:\n{text}");
        let line = named(&text)?;
        ensure!(line.contains(&format!("ProxySQL ({mode} mode)")), "{line}");
        Ok(line)
    }

    /// A short run of the server by both ways. Busier clients leave no session for the one that watches, and the report has
    /// no number then.
    fn runs(&self) -> Result<String> {
        let proxy = self.proxy(SHARED)?;
        let (finding, figures) =
            run_beside(self.dbduel, [&proxy::url(&self.server.target()?)?, &proxy.url()?], POOL - 1, AS_TEXT)?;
        ensure!(finding.contains("ProxySQL (transaction mode)"), "{finding}");
        Ok(figures)
    }

    /// A client that gets no session in time ends the load, with the reason.
    fn starves(&self) -> Result<String> {
        let proxy = self.proxy(Setting { pool: 1, patience_ms: 100, ..SHARED })?;
        let (is_measured, text) = bench(self.dbduel, &proxy.url()?, "oltp_read_write", AS_TEXT)?;
        ensure!(!is_measured, "it was measured:\n{text}");
        for part in ["server error 9001", "raise max_connections in its mysql_servers"] {
            ensure!(text.contains(part), "`{part}` was expected:\n{text}");
        }
        Ok("9001, with what to do".to_owned())
    }

    /// Statements of a load that goes through ProxySQL, and of the server meanwhile: the same, since ProxySQL adds none
    /// of these kinds.
    fn counts(&self, setting: Setting, options: Options, direct: &mut Admin) -> Result<String> {
        let proxy = self.proxy(setting)?;
        let before = counters(direct)?;
        let tally = load_through(&workload("oltp_read_write", options)?, &proxy.target())?;
        let behind = counters(direct)?["Threads_connected"] - 1;
        drop(proxy);
        wait_until_alone(direct)?;
        let after = counters(direct)?;
        let of = |names: &[&str]| names.iter().map(|name| after[*name] - before[*name]).sum::<u64>();
        let seen = [
            of(&["Com_commit"]),
            of(&["Com_select"]),
            of(&["Com_insert", "Com_update", "Com_delete"]),
            of(&["Com_begin"]),
        ];
        let ours = [tally.committed, tally.reads, tally.writes, tally.other - tally.committed];
        ensure!(seen == ours, "commits, reads, writes and begins: dbduel counted {ours:?}, the server {seen:?}");
        ensure!((1..=u64::from(setting.pool)).contains(&behind), "{behind} sessions of the server");
        let [commits, reads, writes, _] = ours;
        Ok(format!(
            "{commits} commits, {reads} reads and {writes} writes, as of the server; {behind} of its sessions for {CLIENTS} clients"
        ))
    }
}

fn counters(direct: &mut Admin) -> Result<BTreeMap<String, u64>> {
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Com_commit', 'Com_select', \
               'Com_insert', 'Com_update', 'Com_delete', 'Com_begin')";
    let rows = direct.rows(sql)?;
    let cells = rows.into_iter().map(|row| {
        let [name, value] = <[_; 2]>::try_from(row).ok().context("a counter has a name and a value")?;
        Ok((name.context("a counter has a name")?, value.context("a counter has a value")?.parse()?))
    });
    cells.collect()
}

fn wait_until_alone(direct: &mut Admin) -> Result<()> {
    let begun = Instant::now();
    while counters(direct)?["Threads_connected"] > 1 {
        ensure!(begun.elapsed() < COUNTS_LIMIT, "sessions of ProxySQL did not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
