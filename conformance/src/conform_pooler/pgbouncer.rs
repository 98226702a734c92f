//! PgBouncer in front of PostgreSQL, in its three modes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Target};
use load::Preparing;

use super::bouncer::{self, Bouncer, Setting};
use super::common::{
    AS_TEXT, CLIENTS, Options, Outcomes, POOL, bench, load_tables, load_through, named, run_beside, workload,
};
use crate::held::Held;

/// How long counts of sessions that have ended may take to be seen.
const COUNTS_LIMIT: Duration = Duration::from_secs(20);

pub fn compare(dbduel: &Path, pgbouncer: &Path, outcomes: &mut Outcomes) -> Result<()> {
    let Some(version) = bouncer::version(pgbouncer) else {
        println!("NOT COMPARED: PgBouncer is not installed here\n  next: install the package pgbouncer");
        return Ok(());
    };
    // From 1.21 on it keeps statements that clients prepare.
    let keeps = version >= (1, 21);
    let server = Held::start_or_fail(dbduel, "postgres@system", &["autovacuum=off"])?;
    load_tables(&server.target()?)?;
    let check = Check { dbduel, pgbouncer, server: &server };
    for (mode, keeps_here) in [("session", false), ("transaction", false), ("transaction", true), ("statement", false)]
    {
        if keeps_here && !keeps {
            println!("skipped  transaction mode with prepared statements: this PgBouncer is older than 1.21");
            continue;
        }
        check.mode(mode, keeps_here, outcomes);
    }
    server.stop()
}

struct Check<'a> {
    dbduel: &'a Path,
    pgbouncer: &'a Path,
    server: &'a Held,
}

const TRANSACTION_REFUSAL: &str = "send statements unprepared with --db-ps-mode=disable";
const STATEMENT_REFUSAL: &str = "no transaction of several statements";

impl Check<'_> {
    fn mode(&self, mode: &'static str, keeps_here: bool, outcomes: &mut Outcomes) {
        let mut note = |what, outcome| outcomes.note(what, outcome);
        let with = if keeps_here { ", max_prepared_statements" } else { "" };
        let of = |what: &str| format!("{mode} mode{with}, {what}");
        let all = Setting { mode, keeps: keeps_here, has_console: true };
        let mute = Setting { has_console: false, ..all };
        match (mode, keeps_here) {
            ("session", _) | (_, true) => {
                note(of("prepared statements"), self.accepts(all, "oltp_read_write", &[]));
                note(of("without a console"), self.accepts(mute, "oltp_read_write", &[]));
                note(of("counts of prepared statements"), self.counts(all, "oltp_read_write", &[]));
            }
            ("transaction", _) => {
                note(of("prepared statements"), self.refuses(all, "oltp_read_write", &[], TRANSACTION_REFUSAL));
                note(of("without a console"), self.refuses(mute, "oltp_read_write", &[], TRANSACTION_REFUSAL));
                note(of("statements as text"), self.accepts(all, "oltp_read_write", AS_TEXT));
                note(of("a run beside the server itself"), self.runs(all));
            }
            _ => {
                note(of("transactions"), self.refuses(all, "oltp_read_write", AS_TEXT, STATEMENT_REFUSAL));
                note(of("single statements"), self.accepts(all, "oltp_point_select", AS_TEXT));
                note(of("counts of single statements"), self.counts(all, "oltp_point_select", AS_TEXT));
            }
        }
        if mode != "statement" {
            note(of("counts of statements as text"), self.counts(all, "oltp_read_write", AS_TEXT));
        }
    }

    fn bouncer(&self, setting: Setting) -> Result<Bouncer> {
        // A session each, one that watches, and some that ask.
        let pool = if setting.mode == "session" { CLIENTS + 8 } else { POOL };
        Bouncer::start(self.pgbouncer, &self.server.target()?, setting, pool)
    }

    /// What a short `dbduel bench` prints through it, and whether it measures.
    fn bench(&self, setting: Setting, name: &str, options: Options) -> Result<(bool, String)> {
        let bouncer = self.bouncer(setting)?;
        bench(self.dbduel, &bouncer.connection_string()?, name, options)
    }

    fn accepts(&self, setting: Setting, name: &str, options: Options) -> Result<String> {
        let (is_measured, text) = self.bench(setting, name, options)?;
        ensure!(is_measured, "it was refused or failed:\n{text}");
        let line = named(&text)?;
        expect_name(&line, setting)?;
        Ok(line)
    }

    fn refuses(&self, setting: Setting, name: &str, options: Options, why: &str) -> Result<String> {
        let (is_measured, text) = self.bench(setting, name, options)?;
        ensure!(!is_measured && text.contains(why), "a refusal with `{why}` was expected:\n{text}");
        expect_name(&text, setting)?;
        ensure!(!text.contains("42P05") && !text.contains("26000"), "the load began:\n{text}");
        Ok("refused".to_owned())
    }

    /// A short run of the server by both ways.
    fn runs(&self, setting: Setting) -> Result<String> {
        let bouncer = self.bouncer(setting)?;
        let Target { endpoint, login, .. } = self.server.target()?;
        let direct = bouncer::connection_string(&endpoint, &login)?;
        let (finding, figures) = run_beside(self.dbduel, [&direct, &bouncer.connection_string()?], CLIENTS, AS_TEXT)?;
        expect_name(&finding, setting)?;
        Ok(figures)
    }

    /// Transactions of a load that goes through PgBouncer, and of the server meanwhile.
    fn counts(&self, setting: Setting, name: &str, options: Options) -> Result<String> {
        let workload = workload(name, options)?;
        let mut direct = self.server.admin("postgres")?;
        let database = self.server.target()?.login.database.context("the server has a database")?;
        let before = commits(&mut direct, &database)?;
        let bouncer = self.bouncer(setting)?;
        let target = bouncer.target();
        let prepared = match workload.preparing(target.dialect) {
            Preparing::Statements { each, .. } => each * u64::from(CLIENTS),
            Preparing::Unknown | Preparing::Nothing => 0,
        };
        let tally = load_through(&workload, &target)?;
        let behind = sessions(&mut direct, &database)?;
        drop(bouncer);
        let counted = commits(&mut direct, &database)? - before;
        // The server also counts the login of each of its sessions, a statement that is parsed alone, and the reset of a
        // session, which a client that has left does not wait for. What PgBouncer keeps is parsed once in each session.
        let resets = if setting.mode == "session" { u64::from(CLIENTS) } else { 0 };
        let least = tally.committed + behind + if setting.keeps { 0 } else { prepared };
        let most = tally.committed + behind + prepared + resets;
        ensure!(
            (least..=most).contains(&counted),
            "dbduel counted {} commits, the server {counted}, where {behind} of logins, {prepared} of prepared statements and up to {resets} of resets were due",
            tally.committed
        );
        let sessions_max = if setting.mode == "session" { u64::from(CLIENTS) } else { u64::from(POOL) };
        ensure!((1..=sessions_max).contains(&behind), "{behind} sessions of the server for {CLIENTS} clients");
        Ok(format!(
            "{} commits, and {counted} of the server; {behind} of its sessions for {CLIENTS} clients",
            tally.committed
        ))
    }
}

fn expect_name(text: &str, setting: Setting) -> Result<()> {
    // Without its console it is known by its refusal to open it.
    let name = if setting.has_console { "PgBouncer 1." } else { "PgBouncer" };
    ensure!(text.contains(name), "`{name}` was expected:\n{text}");
    let mode = format!("({} mode)", setting.mode);
    ensure!(text.contains(&mode), "`{mode}` was expected:\n{text}");
    Ok(())
}

fn sessions(direct: &mut Admin, database: &str) -> Result<u64> {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
    Ok(direct.value(&sql)?.context("a count is a row")?.parse()?)
}

/// Commits in a database, once nobody is in it any more: a session reports its last ones when it ends.
fn commits(direct: &mut Admin, database: &str) -> Result<u64> {
    let begun = Instant::now();
    while sessions(direct, database)? > 0 {
        ensure!(begun.elapsed() < COUNTS_LIMIT, "sessions in {database} did not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let sql = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{database}'");
    Ok(direct.value(&sql)?.context("every database has a row")?.parse()?)
}
