//! `cargo xtask conform-pooler`: PgBouncer between the load and PostgreSQL, in its three modes.
//!
//! A mode has to be recognised by what it answers alone, and by what its console shows. What cannot come through it has
//! to be refused before the load, with the option that changes it; what does come through has to be counted by dbduel as
//! the server counts it. Where PgBouncer is not installed nothing is compared, which is printed.

mod bouncer;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Target};
use load::{Load, LoadOptions, Loader, OptionValue, Preparing, Workload};
use serde_json::Value;

use crate::held::{Held, dbduel};
use bouncer::{Bouncer, Setting};

#[derive(clap::Args)]
pub struct ConformPooler {
    /// PgBouncer's program
    #[arg(long, default_value = "pgbouncer")]
    pgbouncer: PathBuf,
}

const ROWS: i64 = 10_000;
const CLIENTS: u32 = 16;
const TRANSACTIONS: u64 = 2_000;
/// Sessions of the server, where clients share them.
const POOL: u32 = 4;
/// How long counts of sessions that have ended may take to be seen.
const COUNTS_LIMIT: Duration = Duration::from_secs(20);

pub fn run(options: &ConformPooler, root: &Path) -> Result<()> {
    let Some(version) = bouncer::version(&options.pgbouncer) else {
        println!("NOT COMPARED: PgBouncer is not installed here\n  next: install the package pgbouncer");
        return Ok(());
    };
    // From 1.21 on it keeps statements that clients prepare.
    let keeps = version >= (1, 21);
    let dbduel = dbduel(root)?;
    let server = Held::start_or_fail(&dbduel, "postgres@system", &["autovacuum=off"])?;
    let (target, interrupted) = (server.target()?, AtomicBool::new(false));
    let loader = Loader { target: &target, sessions: 2, interrupted: &interrupted };
    loader.load(&*workload("oltp_read_write", &[])?, 1, &mut |_| ()).context("cannot load the tables")?;
    let check = Check { dbduel: &dbduel, pgbouncer: &options.pgbouncer, server: &server };
    let as_text = [("db_ps_mode", "disable")];
    let mut failures = Vec::new();
    let mut note = |what: String, outcome: Result<String>| match outcome {
        Ok(figures) => println!("ok       {what}: {figures}"),
        Err(error) => {
            println!("FAILED   {what}: {error:#}");
            failures.push(what);
        }
    };
    let transaction_refusal = "send statements unprepared with --db-ps-mode=disable";
    let statement_refusal = "no transaction of several statements";
    for (mode, keeps_here) in [("session", false), ("transaction", false), ("transaction", true), ("statement", false)]
    {
        if keeps_here && !keeps {
            println!("skipped  transaction mode with prepared statements: this PgBouncer is older than 1.21");
            continue;
        }
        let with = if keeps_here { ", max_prepared_statements" } else { "" };
        let of = |what: &str| format!("{mode} mode{with}, {what}");
        let all = Setting { mode, keeps: keeps_here, has_console: true };
        let mute = Setting { has_console: false, ..all };
        match (mode, keeps_here) {
            ("session", _) | (_, true) => {
                note(of("prepared statements"), check.accepts(all, "oltp_read_write", &[]));
                note(of("without a console"), check.accepts(mute, "oltp_read_write", &[]));
                note(of("counts of prepared statements"), check.counts(all, "oltp_read_write", &[]));
            }
            ("transaction", _) => {
                note(of("prepared statements"), check.refuses(all, "oltp_read_write", &[], transaction_refusal));
                note(of("without a console"), check.refuses(mute, "oltp_read_write", &[], transaction_refusal));
                note(of("statements as text"), check.accepts(all, "oltp_read_write", &as_text));
                note(of("a run beside the server itself"), check.runs(all));
            }
            _ => {
                note(of("transactions"), check.refuses(all, "oltp_read_write", &as_text, statement_refusal));
                note(of("single statements"), check.accepts(all, "oltp_point_select", &as_text));
                note(of("counts of single statements"), check.counts(all, "oltp_point_select", &as_text));
            }
        }
        if mode != "statement" {
            note(of("counts of statements as text"), check.counts(all, "oltp_read_write", &as_text));
        }
    }
    server.stop()?;
    ensure!(failures.is_empty(), "{} of the comparisons are not as they should be", failures.len());
    Ok(())
}

struct Check<'a> {
    dbduel: &'a Path,
    pgbouncer: &'a Path,
    server: &'a Held,
}

type Options<'a> = &'a [(&'static str, &'static str)];

impl Check<'_> {
    fn bouncer(&self, setting: Setting) -> Result<Bouncer> {
        // A session each, one that watches, and some that ask.
        let pool = if setting.mode == "session" { CLIENTS + 8 } else { POOL };
        Bouncer::start(self.pgbouncer, &self.server.target()?, setting, pool)
    }

    /// What a short `dbduel bench` prints through it, and whether it measures.
    fn bench(&self, setting: Setting, name: &str, options: Options) -> Result<(bool, String)> {
        let bouncer = self.bouncer(setting)?;
        let mut command = Command::new(self.dbduel);
        command.args(["bench", name, "--target", &bouncer.connection_string()?, "--duration", "1s"]);
        command.args(["--clients", &CLIENTS.to_string(), "--rows", &ROWS.to_string(), "--no-wait"]);
        command.args(options.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))));
        let output = command.output().context("cannot run dbduel")?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok((output.status.success(), text))
    }

    fn accepts(&self, setting: Setting, name: &str, options: Options) -> Result<String> {
        let (is_measured, text) = self.bench(setting, name, options)?;
        ensure!(is_measured, "it was refused or failed:\n{text}");
        let line = text.lines().find(|line| line.contains(" mode) stands before the server"));
        let line = line.with_context(|| format!("nothing names the pooler:\n{text}"))?;
        expect_name(line, setting)?;
        Ok(line.to_owned())
    }

    fn refuses(&self, setting: Setting, name: &str, options: Options, why: &str) -> Result<String> {
        let (is_measured, text) = self.bench(setting, name, options)?;
        ensure!(!is_measured && text.contains(why), "a refusal with `{why}` was expected:\n{text}");
        expect_name(&text, setting)?;
        ensure!(!text.contains("42P05") && !text.contains("26000"), "the load began:\n{text}");
        Ok("refused".to_owned())
    }

    /// A short run of the server by both ways: every trial succeeds, and the report names what stands between.
    fn runs(&self, setting: Setting) -> Result<String> {
        let bouncer = self.bouncer(setting)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pooled.toml");
        let Target { endpoint, login, .. } = self.server.target()?;
        let direct = bouncer::connection_string(&endpoint, &login)?;
        let contender = |name: &str, target: &str| {
            format!("[[contender]]\nname = \"{name}\"\ntarget = \"{target}\"\noverwrite = true\n")
        };
        let text = format!(
            "workload = {{ name = \"oltp_read_write\", rows = {ROWS}, db_ps_mode = \"disable\" }}\nsweep.clients = [{CLIENTS}]\n\
             method = {{ preset = \"quick\", duration = \"1s\", warmup = \"0s\", blocks = 1 }}\n{}{}",
            contender("direct", &direct),
            contender("pooled", &bouncer.connection_string()?)
        );
        std::fs::write(&file, text)?;
        let mut command = Command::new(self.dbduel);
        command.args(["run", "--json", "--accept-noisy", "--runs"]).arg(folder.path()).arg(&file);
        let output = command.output().context("cannot run dbduel")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("dbduel run ({}) printed no JSON\n{stderr}", output.status))?;
        let trials = report["trials"].as_array().context("a report has trials")?;
        let is_ok = |trial: &&Value| trial["status"] == "ok" && trial["metrics"]["transactions.committed"] != 0;
        ensure!(trials.iter().filter(is_ok).count() == 2, "not both had a trial\n{stderr}");
        let findings = report["findings"].as_array().context("a report has findings")?;
        let finding = findings.iter().find(|finding| finding["kind"] == "behind a pooler");
        let finding = finding.with_context(|| format!("no finding names the pooler: {findings:?}"))?;
        expect_name(&finding.to_string(), setting)?;
        let behind = &finding["facts"]["behind_pooler"][0];
        let sessions = behind["sessions"].as_f64().context("the sessions behind it are seen")?;
        ensure!((1.0..=f64::from(POOL)).contains(&sessions), "{sessions} sessions of a pool of {POOL}");
        Ok(format!("the report has {sessions:.0} sessions of the server for {CLIENTS} clients"))
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
        let options = LoadOptions {
            clients: CLIENTS,
            transactions_max: Some(TRANSACTIONS),
            drain_max: Duration::from_secs(10),
            ..LoadOptions::default()
        };
        let interrupted = AtomicBool::new(false);
        let load = Load::prepare(&workload, &target, options, &interrupted)?;
        let tally = load.measure(None, &mut |_| (), &mut || ()).whole()?;
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

fn workload(name: &str, options: Options) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind(name).with_context(|| format!("{name} is no workload"))?;
    let given = options.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Text((*value).to_owned())));
    let given = given.chain([("rows".to_owned(), OptionValue::Number(ROWS))]).collect();
    Ok(kind.with(&given)?.into())
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
