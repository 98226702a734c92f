//! `cargo xtask planted`: does dbduel name a cause that we planted?
//!
//! A server duels with itself, and one side has a fault whose nature is known: `planted`, the candidate,
//! beside `sound`. dbduel gets the settings, as from any experiment file, and not what they do. The
//! first cause that it names must be the planted one, of the planted side; where the host or the generator
//! is at fault, it must name nothing else. One plant is no fault but a ladder, whose steps are worth something
//! else in another order.

mod interaction;
mod sql;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use load::Rng;
use serde_json::Value;

use crate::findings::{Finding, findings};
use crate::held::dbduel;
use crate::slowdowns::starved_generator;
use interaction::{Judged, MARIADB};

#[derive(clap::Args)]
pub struct Planted {
    /// Causes to plant; all of them by default
    #[arg(value_enum)]
    name: Vec<Cause>,
    /// Measured seconds of a trial
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Blocks of a duel
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(8..=1000))]
    blocks: u32,
    /// Have dbduel put causes to the test; where that takes the planted one away (flush-mariadb, hot-row), it
    /// must be `confirmed`
    #[arg(long)]
    contrast: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Cause {
    /// One row that every transaction updates, against one for each client (MariaDB)
    HotRow,
    /// The log is flushed at every commit, against once a second (MariaDB)
    FlushMariadb,
    /// The same on PostgreSQL: synchronous_commit
    FlushPostgres,
    /// A buffer pool smaller than the data, against one that holds them (MariaDB)
    SmallPool,
    /// A loop that burns CPU in each statement (MariaDB)
    BusyLoop,
    /// Processes beside the two servers that never rest (MariaDB)
    Neighbour,
    /// A load generator without CPU enough (MariaDB)
    Generator,
    /// Two settings of a ladder that help alone and not together, which its ablation must show (MariaDB)
    Interaction,
}

const ALL: [Cause; 8] = [
    Cause::HotRow,
    Cause::FlushMariadb,
    Cause::FlushPostgres,
    Cause::SmallPool,
    Cause::BusyLoop,
    Cause::Neighbour,
    Cause::Generator,
    Cause::Interaction,
];

/// Every cause that dbduel can name; other findings are no causes.
const NAMES: [&str; 17] = [
    "host limits",
    "generator limits",
    "waiting on log writes",
    "log syncs",
    "buffer misses",
    "waiting on double writes",
    "waiting on row locks",
    "waiting on disks",
    "waiting on latches",
    "waiting on locks or latches",
    "checkpoint stalls",
    "kernel time",
    "spinning",
    "longer code path",
    "shorter code path",
    "more concurrency",
    "more efficient",
];
const POSTGRES: &str = "postgres@system";

/// What one cause is planted with.
struct Plot {
    engine: &'static str,
    workload: String,
    clients: u32,
    sound: String,
    planted: String,
}

pub fn run(options: &Planted, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let causes: &[Cause] = if options.name.is_empty() { &ALL } else { &options.name };
    let mut wrong = Vec::new();
    for cause in causes {
        let Some(judged) = judged(*cause, options, &dbduel)? else {
            println!("{cause:?}: skipped, {} is not here", cause.engine());
            continue;
        };
        let lines = if judged.lines.is_empty() { "nothing".to_owned() } else { judged.lines.join("\n    ") };
        println!("{cause:?}: {}\n    {lines}", if judged.wrong.is_empty() { "right" } else { "WRONG" });
        wrong.extend(judged.wrong.into_iter().map(|what| format!("{cause:?}: {what}")));
    }
    ensure!(wrong.is_empty(), "not reported rightly: {}", wrong.join("; "));
    Ok(())
}

impl Cause {
    /// Where more are right, the host decides: a sync costs time on one whose CPU is idle meanwhile, and CPU
    /// on one whose disk is quick.
    fn expected(self) -> &'static [&'static str] {
        match self {
            Cause::HotRow => &["waiting on row locks"],
            Cause::FlushMariadb | Cause::FlushPostgres => &["waiting on log writes", "log syncs"],
            Cause::SmallPool => &["buffer misses"],
            Cause::BusyLoop => &["longer code path"],
            Cause::Neighbour => &["host limits"],
            Cause::Generator => &["generator limits"],
            // No cause of a difference: its report is checked in `interaction`.
            Cause::Interaction => &[],
        }
    }

    fn engine(self) -> &'static str {
        if self == Cause::FlushPostgres { POSTGRES } else { MARIADB }
    }

    fn is_named(self, named: &[Finding]) -> bool {
        let Some(first) = named.first().filter(|one| self.expected().contains(&one.kind.as_str())) else {
            return false;
        };
        match self {
            Cause::Neighbour | Cause::Generator => named.len() == 1,
            // The contender that is named first in the sentence is the one that it is about.
            _ => first.text.split('`').nth(1) == Some("planted"),
        }
    }

    /// Where no contrast takes the cause away there is nothing to confirm: what a small pool misses, for one,
    /// lies in the page cache, and is copied from there on tmpfs as on disk.
    fn is_confirmed(self, named: &[Finding]) -> bool {
        let can_be = matches!(self, Cause::FlushMariadb | Cause::HotRow);
        !can_be || named.first().is_some_and(|first| first.grade == "confirmed")
    }

    fn judged(self, named: &[Finding], options: &Planted) -> Judged {
        let is_right = self.is_named(named) && (!options.contrast || self.is_confirmed(named));
        let wrong = (!is_right).then(|| format!("it is `{}`", self.expected().join("` or `")));
        let line = |one: &Finding| format!("{} ({}): {}", one.kind, one.grade, one.text);
        Judged { lines: named.iter().map(line).collect(), wrong: wrong.into_iter().collect() }
    }

    /// With nothing set where nothing is planted in a server.
    fn plot(self, folder: &Path) -> Result<Plot> {
        let init_file = |name: &str, text: String| -> Result<String> {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            // Under its own account the server must be able to read it.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644))?;
            Ok(format!("init_file = \"{}\", innodb_flush_log_at_trx_commit = 2", path.display()))
        };
        let plot = |workload: &str, rows: u32, clients, sound: String, planted: String| Plot {
            engine: self.engine(),
            workload: format!("{{ name = \"{workload}\", rows = {rows} }}"),
            clients,
            sound,
            planted,
        };
        Ok(match self {
            Cause::HotRow => plot(
                "oltp_write_only",
                20_000,
                8,
                init_file("own-rows.sql", sql::counting_rows("CONNECTION_ID() MOD 64"))?,
                init_file("hot-row.sql", sql::counting_rows("0"))?,
            ),
            Cause::FlushMariadb => plot(
                "oltp_write_only",
                20_000,
                4,
                "innodb_flush_log_at_trx_commit = 2".to_owned(),
                "innodb_flush_log_at_trx_commit = 1".to_owned(),
            ),
            Cause::FlushPostgres => plot(
                "oltp_write_only",
                20_000,
                4,
                "synchronous_commit = \"off\"".to_owned(),
                "synchronous_commit = \"on\"".to_owned(),
            ),
            Cause::SmallPool => plot(
                "oltp_read_only",
                200_000,
                8,
                "innodb_buffer_pool_size = \"256M\"".to_owned(),
                "innodb_buffer_pool_size = \"8M\"".to_owned(),
            ),
            Cause::BusyLoop => plot(
                "oltp_update_non_index",
                20_000,
                1,
                init_file("idle-loop.sql", sql::burning(1))?,
                init_file("busy-loop.sql", sql::burning(BUSY_ROUNDS))?,
            ),
            Cause::Neighbour | Cause::Generator | Cause::Interaction => {
                plot("oltp_read_only", 20_000, 4, String::new(), String::new())
            }
        })
    }
}

/// Rounds of nothing in each statement: about as long as the statement itself takes.
const BUSY_ROUNDS: u64 = 5_000;

/// What dbduel finds of a plant; none where the engine is not on this machine.
fn judged(cause: Cause, options: &Planted, dbduel: &Path) -> Result<Option<Judged>> {
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
    let file = folder.path().join("planted.toml");
    let text = match cause {
        Cause::Interaction => interaction::experiment(options.blocks, options.seconds),
        _ => experiment(&cause.plot(folder.path())?, options),
    };
    std::fs::write(&file, text)?;
    let planned = Command::new(dbduel).arg("plan").arg(&file).output().context("cannot start dbduel")?;
    let why = String::from_utf8_lossy(&planned.stderr);
    if !planned.status.success() {
        ensure!(why.contains("not installed") || why.contains("not here"), "dbduel plan failed\n{why}");
        return Ok(None);
    }
    let named = match cause {
        Cause::Interaction => return interaction::judged(dbduel, folder.path(), &file).map(Some),
        Cause::Generator => starved(dbduel, options)?,
        Cause::Neighbour => causes(findings(&beside_neighbours(|| report(dbduel, folder.path(), &file))?)),
        _ => causes(findings(&report(dbduel, folder.path(), &file)?)),
    };
    Ok(Some(cause.judged(&named, options)))
}

fn experiment(plot: &Plot, options: &Planted) -> String {
    let Plot { engine, workload, clients, sound, planted } = plot;
    let contender = |name: &str, settings: &str| {
        format!("[[contender]]\nname = \"{name}\"\nengine = \"{engine}\"\nsettings = {{ {settings} }}\n\n")
    };
    format!(
        "name = \"planted\"\nworkload = {workload}\nsweep.clients = [{clients}]\n\
         method = {{ preset = \"quick\", blocks = {}, duration = \"{}ms\", warmup = \"500ms\", test_causes = {} }}\n\n{}{}",
        options.blocks,
        (options.seconds * 1000.0).round(),
        options.contrast,
        contender("sound", sound),
        contender("planted", planted)
    )
}

fn report(dbduel: &Path, folder: &Path, file: &Path) -> Result<Value> {
    let mut command = Command::new(dbduel);
    command.args(["run", "--json", "--accept-noisy", "--runs"]).arg(folder.join("runs")).arg(file);
    let output = command.stdin(Stdio::null()).output().context("cannot start dbduel")?;
    if !output.status.success() {
        bail!("dbduel run failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("dbduel run --json printed no JSON")
}

/// In their order.
fn causes(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|one| NAMES.contains(&one.kind.as_str())).collect()
}

/// While the work is done, each CPU has a thread of ours that never rests.
fn beside_neighbours<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let ended = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        ended.store(true, Ordering::Relaxed);
        done
    })
}

fn starved(dbduel: &Path, options: &Planted) -> Result<Vec<Finding>> {
    let mut rng = Rng::stream(7, 0, 0);
    Ok(causes(starved_generator(dbduel, MARIADB, options.blocks, options.seconds, &mut rng)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kinds: &[(&str, &str)]) -> Vec<Finding> {
        let one = |(kind, text): &(&str, &str)| serde_json::json!({ "kind": kind, "grade": "weak", "text": text });
        causes(findings(&serde_json::json!({ "findings": kinds.iter().map(one).collect::<Vec<_>>() })))
    }

    #[test]
    fn the_first_cause_must_be_the_planted_one_of_the_planted_side() {
        let check = |cause: Cause, kinds: &[(&str, &str)], expected: bool| {
            assert_eq!(cause.is_named(&named(kinds)), expected, "{cause:?} {kinds:?}");
        };
        let busy = ("longer code path", "`planted` needs more CPU for a transaction than `sound`");
        check(Cause::BusyLoop, &[busy], true);
        check(Cause::BusyLoop, &[busy, ("noisy host", "no cause")], true);
        check(Cause::BusyLoop, &[("kernel time", "`planted` x"), busy], false);
        check(Cause::BusyLoop, &[("longer code path", "`sound` needs more CPU than `planted`")], false);
        check(Cause::BusyLoop, &[], false);
        check(Cause::Neighbour, &[("noisy host", "x"), ("host limits", "y")], true);
        check(Cause::Neighbour, &[("host limits", "y"), busy], false);
    }

    #[test]
    fn only_what_a_contrast_takes_away_must_be_confirmed() {
        let named = |grade: &str| vec![Finding { kind: "x".into(), grade: grade.into(), text: String::new() }];
        assert!(Cause::HotRow.is_confirmed(&named("confirmed")) && !Cause::HotRow.is_confirmed(&named("supported")));
        assert!(!Cause::FlushMariadb.is_confirmed(&[]));
        assert!(Cause::BusyLoop.is_confirmed(&named("supported")));
    }
}
