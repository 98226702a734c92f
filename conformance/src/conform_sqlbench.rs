//! `cargo xtask conform-sqlbench`: does each operation of sql-bench send what the classic suite sends?
//!
//! Per server one pass, with the counter of statements read at both edges of every operation: what is
//! reported, what we count, and what the server counted, against the suite's own table. Answers are checked
//! by the workload itself; a wrong one fails the command. It measures no time.

mod expected;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect, Target};
use load::{Gauge, Load, LoadOptions, OperationTally, OptionValue, Options, ProgramTally, Workload};

use crate::held::dbduel;
use crate::place::Place;
use expected::expected;

const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub struct ConformSqlbench {
    /// A server, as mariadb@system or mysql@5.5.9, or sqlite; may be given several times
    #[arg(long = "engine", default_values = ["mariadb@system", "postgres@system", "sqlite"])]
    engines: Vec<String>,
    /// Programs to run; all of them unless given, `transactions` too
    #[arg(long = "program", default_values = [
        "alter-table", "ATIS", "big-tables", "connect", "create", "insert", "select", "transactions", "wisconsin",
    ])]
    programs: Vec<String>,
    /// Full counts, instead of the small test's
    #[arg(long)]
    full: bool,
}

pub fn run(options: &ConformSqlbench, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let mut sheet = Sheet::default();
    for engine in &options.engines {
        let place = Place::start(&dbduel, engine)?;
        conform(options, engine, &place, &mut sheet).with_context(|| format!("on {engine}"))?;
        place.stop()?;
    }
    println!("{} operations, {} wrong, {} gaps", sheet.operations, sheet.wrong, sheet.gaps);
    ensure!(sheet.wrong == 0, "{} operations are not what they should be", sheet.wrong);
    Ok(())
}

#[derive(Default)]
struct Sheet {
    operations: usize,
    wrong: usize,
    gaps: usize,
}

fn workload(options: &ConformSqlbench) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("sql-bench").context("there is a workload sql-bench")?;
    let given = BTreeMap::from([
        ("programs".to_owned(), OptionValue::List(options.programs.clone())),
        ("small".to_owned(), OptionValue::Flag(!options.full)),
        ("loop_short".to_owned(), OptionValue::Flag(false)),
    ]);
    Ok((kind.build)(&Options::new(kind.options, &given)?)?.into())
}

fn conform(options: &ConformSqlbench, engine: &str, place: &Place, sheet: &mut Sheet) -> Result<()> {
    let (workload, target, admin) = (workload(options)?, place.target()?, place.admin()?);
    let scale = if options.full { "full counts" } else { "the small test" };
    println!("{engine} ({}), {scale}", admin.server_version());
    println!("  {:<36} {:>9} {:>9} {:>9} {:>9}  should be", "", "reported", "executed", "by server", "rows");
    let load_options = LoadOptions { gauge: statement_counter(&target), ..LoadOptions::default() };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(&workload, &target, load_options, &interrupted)?;
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole()?;
    for program in &tally.programs {
        report(options, target.dialect, program, sheet);
    }
    Ok(())
}

/// The server's own counter, without the questions themselves. Servers that have none leave that column empty.
///
/// The session stays on a thread of its own, since the gauge is read from the load's.
fn statement_counter(target: &Target) -> Option<Gauge> {
    if target.dialect != Dialect::MySql {
        return None;
    }
    let (target, (ask, asked), (count, totals)) = (target.clone(), mpsc::channel(), mpsc::channel());
    std::thread::spawn(move || {
        let Ok(admin) = Admin::connect(target.dialect, &target.endpoint, &target.login, STATEMENT_LIMIT) else {
            return;
        };
        let mut counter = Counter { admin, own: 0, sessions: 0 };
        for () in asked {
            if count.send(counter.questions()).is_err() {
                return;
            }
        }
    });
    let line = Mutex::new((ask, totals));
    Some(Gauge::new(move || {
        let (ask, totals) = &*line.lock().ok()?;
        ask.send(()).ok()?;
        totals.recv().ok()?
    }))
}

/// How long the server may take for the end of a session that its client has closed: that end is a question, too.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Asks the server how many questions it has answered.
struct Counter {
    admin: Admin,
    /// Questions asked here.
    own: u64,
    /// How many sessions stay open.
    sessions: u64,
}

impl Counter {
    /// The questions of all others, once the sessions that were closed have ended.
    fn questions(&mut self) -> Option<u64> {
        let begun = Instant::now();
        loop {
            let connected = self.value("Threads_connected")?;
            if connected > self.sessions && begun.elapsed() < ENDS_WITHIN {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            self.sessions = self.sessions.max(connected);
            return self.value("Questions")?.checked_sub(self.own);
        }
    }

    fn value(&mut self, name: &str) -> Option<u64> {
        self.own += 1;
        let rows = self.admin.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).ok()?;
        rows.first()?.get(1)?.as_deref()?.parse().ok()
    }
}

fn report(options: &ConformSqlbench, dialect: Dialect, program: &ProgramTally, sheet: &mut Sheet) {
    println!(" {}: {:.1} s", program.name, program.wall_ns as f64 / 1e9);
    // An operation of several programs is in the table once, with the sum; each part is compared then.
    for operation in &program.operations {
        sheet.operations += 1;
        let verdict = verdict(options, dialect, program, operation);
        sheet.wrong += usize::from(verdict.wrong);
        sheet.gaps += usize::from(operation.refused.is_some());
        let server = operation.gauged.map_or(String::new(), |count| count.to_string());
        println!(
            "  {:<36} {:>9} {:>9} {server:>9} {:>9}  {}",
            operation.name, operation.count, operation.executed, operation.rows, verdict.text
        );
    }
    let missing: Vec<_> = expected_in(program.name).filter(|name| !has(program, name)).collect();
    if !missing.is_empty() {
        sheet.wrong += missing.len();
        println!("  WRONG: not there at all: {}", missing.join(", "));
    }
}

struct Judgement {
    text: String,
    wrong: bool,
}

fn verdict(
    options: &ConformSqlbench,
    dialect: Dialect,
    program: &ProgramTally,
    operation: &OperationTally,
) -> Judgement {
    if let Some(why) = &operation.refused {
        return Judgement { text: format!("gap: {why}"), wrong: false };
    }
    if let Some(what) = &operation.wrong {
        return Judgement { text: format!("WRONG: {what}"), wrong: true };
    }
    let Some(suite) = part(options, program.name, operation.name) else {
        return Judgement { text: "WRONG: not in the suite's table".to_owned(), wrong: true };
    };
    let (reported, executed) = adapted(dialect, program.name, operation.name, suite);
    // Each connection that is left sends a message, which the server counts as a question.
    let by_server = operation.gauged.is_none_or(|count| count == operation.executed + operation.connections);
    let right = operation.count == reported && operation.executed == executed && by_server;
    let text = format!("{reported} {executed} {}", if right { "ok" } else { "WRONG" });
    Judgement { text, wrong: !right }
}

/// What one program has of an operation that several share: reported and executed.
const SHARED: &[(&str, &str, [u64; 2], [u64; 2])] = &[
    // program, operation, full (reported, executed), small
    ("ATIS", "create_table", [28, 56], [28, 56]),
    ("wisconsin", "create_table", [3, 8], [3, 8]),
    ("ATIS", "insert", [9768, 9768], [9768, 9768]),
    ("insert", "insert", [300_000, 300_000], [3000, 3000]),
    ("select", "insert", [10_000, 10_000], [1000, 1000]),
    ("wisconsin", "insert", [31_000, 31_000], [31_000, 31_000]),
    ("ATIS", "select_group", [2800, 2800], [280, 280]),
    ("insert", "select_group", [111, 100], [111, 100]),
    ("select", "select_big", [70, 70], [7, 7]),
    ("insert", "select_big", [10, 10], [10, 10]),
    ("select", "min_max_on_key", [70_000, 70_000], [7000, 7000]),
    ("insert", "min_max_on_key", [15_000, 15_000], [300, 300]),
    ("select", "count_on_key", [50_000, 50_000], [5000, 5000]),
    ("insert", "count_on_key", [100, 100], [100, 100]),
    ("select", "count_distinct_big", [100, 100], [10, 10]),
    ("insert", "count_distinct_big", [20, 20], [20, 20]),
];

fn part(options: &ConformSqlbench, program: &str, operation: &str) -> Option<(u64, u64)> {
    let shared = SHARED.iter().find(|(of, name, _, _)| (*of, *name) == (program, operation));
    if let Some((_, _, full, small)) = shared {
        let [reported, executed] = if options.full { *full } else { *small };
        return Some((reported, executed));
    }
    let counts = expected(operation)?.counts(!options.full);
    Some((counts.reported, counts.executed))
}

/// What another dialect makes of it: elsewhere than in MySQL each secondary index is a statement of its own,
/// and a transaction is opened by one; SQLite has no function for a standard deviation.
fn adapted(dialect: Dialect, program: &str, operation: &str, (reported, executed): (u64, u64)) -> (u64, u64) {
    /// Of the tables of ATIS and wisconsin, and of the one that `create` makes and drops.
    const INDEXES: [(&str, &str, u64); 2] = [("ATIS", "create_table", 7), ("wisconsin", "create_table", 4)];
    const INDEXES_OF_ONE: u64 = 15;
    if dialect == Dialect::MySql {
        return (reported, executed);
    }
    let indexes = INDEXES.iter().find(|(of, name, _)| (*of, *name) == (program, operation));
    match operation {
        _ if indexes.is_some() => (reported, executed + indexes.map_or(0, |(_, _, count)| *count)),
        "create_key+drop" => (reported, executed + INDEXES_OF_ONE * reported),
        // The first transaction is opened before the interval, as in the suite.
        "insert_rollback" | "update_rollback" | "delete_rollback" => (reported, executed + reported - 1),
        "select_group" if dialect == Dialect::Sqlite && program == "ATIS" => {
            (reported - reported / 28, executed - executed / 28)
        }
        _ => (reported, executed),
    }
}

/// The operations that a program has to have, by the workload's own list.
fn expected_in(program: &str) -> impl Iterator<Item = &'static str> {
    workloads::sqlbench_operations(program).iter().copied()
}

fn has(program: &ProgramTally, name: &str) -> bool {
    program.operations.iter().any(|operation| operation.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_shared_operations_add_up_to_the_table() {
        let names: std::collections::BTreeSet<_> = SHARED.iter().map(|(_, name, _, _)| *name).collect();
        for name in names {
            let parts = || SHARED.iter().filter(|(_, of, _, _)| *of == name);
            let full = |at: usize| parts().map(|part| part.2[at]).sum::<u64>();
            let small = |at: usize| parts().map(|part| part.3[at]).sum::<u64>();
            let whole = expected(name).unwrap();
            assert_eq!((full(0), full(1)), (whole.full.reported, whole.full.executed), "{name}");
            assert_eq!((small(0), small(1)), (whole.small.reported, whole.small.executed), "{name}");
        }
    }
}
