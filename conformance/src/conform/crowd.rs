//! Many clients at once: nothing is lost when servers refuse transactions, every event ends, and the
//! data are right afterwards.

use anyhow::Result;
use driver::Dialect;
use load::Tally;

use super::mariadb::status;
use super::script::{Script, load_afresh, run_clients};
use crate::held::Held;

const CLIENTS: u32 = 8;
const EVENTS: u64 = 2000;

const fn script(title: &'static str, workload: &'static str, options: &'static [(&str, &str)]) -> Script {
    Script { title, workload, options, sysbench: None }
}

/// A table of twenty rows: eight clients are always in each other's way.
const DEADLOCKS: &[Script] = &[
    script("oltp_write_only", "oltp_write_only", &[("rows", "20")]),
    script(
        "oltp_write_only, as sysbench",
        "oltp_write_only",
        &[("rows", "20"), ("compat", "sysbench-1.0"), ("rand_type", "uniform")],
    ),
    script("oltp, write_only", "oltp", &[("rows", "20"), ("write_only", "true"), ("rand_type", "uniform")]),
];

const CHECKED: &[Script] = &[
    script("oltp_read_write, 3 tables", "oltp_read_write", &[("tables", "3")]),
    script("oltp_read_write, secondary", "oltp_read_write", &[("secondary", "true")]),
    script("oltp_read_write, as text", "oltp_read_write", &[("db_ps_mode", "disable")]),
    script("oltp_insert", "oltp_insert", &[]),
    script("oltp_insert, auto_inc=off", "oltp_insert", &[("auto_inc", "false"), ("tables", "2")]),
    script("oltp_delete", "oltp_delete", &[]),
    script("select_random_points", "select_random_points", &[("compat", "sysbench-1.0")]),
    script("select_random_ranges", "select_random_ranges", &[]),
    script("bulk_insert", "bulk_insert", &[("tables", "8")]),
    script("oltp, nontrx insert auto_inc=off", "oltp", super::expected::NONTRX_INSERT_ID),
    script("oltp, nontrx delete", "oltp", super::expected::NONTRX_DELETE),
];

/// Returns how many runs are wrong.
pub fn run(mariadb: &Held, postgres: &Held) -> Result<usize> {
    let mut wrong = 0;
    for server in [mariadb, postgres] {
        for (script, events) in DEADLOCKS.iter().chain(CHECKED).map(|script| (script, EVENTS)) {
            let mistakes = run_script(server, script, events)?;
            let verdict = if mistakes.is_empty() { "ok" } else { "WRONG" };
            let name = if server.dialect() == Dialect::MySql { "MariaDB" } else { "PostgreSQL" };
            println!("{CLIENTS} clients of {}: {name}  {verdict}", script.title);
            mistakes.iter().for_each(|mistake| println!("  {mistake}"));
            wrong += usize::from(!mistakes.is_empty());
        }
    }
    Ok(wrong)
}

fn run_script(server: &Held, script: &Script, events: u64) -> Result<Vec<String>> {
    let (workload, target) = (script.build()?, server.target()?);
    load_afresh(&*workload, &target)?;
    let mut admin = server.admin("sbtest")?;
    let before = (target.dialect == Dialect::MySql).then(|| status(&mut admin)).transpose()?;
    let tally = run_clients(&workload, &target, CLIENTS, events)?;
    let mut mistakes = workload.check(&mut admin, None)?;
    if (tally.committed, tally.due) != (events, events) {
        mistakes.push(format!("{} of {events} transactions were committed", tally.committed));
    }
    let (Some(before), true) = (before, script.options.contains(&("rows", "20"))) else { return Ok(mistakes) };
    let after = status(&mut admin)?;
    let difference = |name: &str| (after[name] - before[name]) as u64;
    mistakes.extend(identities(&tally, script, difference));
    Ok(mistakes)
}

/// What the server's counters and ours have in common, whatever was refused how often.
fn identities(tally: &Tally, script: &Script, server: impl Fn(&str) -> u64) -> Vec<String> {
    let (ended, refused) = (tally.committed, tally.retries);
    // dbduel's own rules send and count a ROLLBACK, as text; those of 0.4 count what failed as well.
    let (uncounted, by_text) = match (script.workload, script.options.contains(&("compat", "sysbench-1.0"))) {
        ("oltp", _) => (0, 0),
        (_, true) => (refused, 0),
        (_, false) => (refused, refused),
    };
    let all = [
        ("Com_begin", ended + refused),
        ("Com_commit", ended),
        ("Com_rollback", by_text),
        ("Com_stmt_execute", tally.queries() + uncounted - by_text),
    ];
    println!("  {ended} transactions, {refused} refused, {} statements counted", tally.queries());
    let wrong = all.into_iter().filter(|(name, expected)| server(name) != *expected);
    wrong.map(|(name, expected)| format!("{name} is {}, {expected} was expected", server(name))).collect()
}
