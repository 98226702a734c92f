//! Statements per transaction as the server counts them, beside the specification's table.
//!
//! A lone client runs one transaction at a time, and the server's counters are read in between: so each
//! kind gets its own line. MySQL counts statements inside procedures too, and `Questions` only what came
//! over the wire, which is the round trips; PostgreSQL needs pg_stat_statements, where that is installed.
//! SQLite has no counters of its own.

use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use driver::{Admin, AnyConnection, Dialect};
use load::{Attempt, Client, Outcome, Tally, Turn};

use super::forms::{ConformTpcc, WHOLE, given};
use super::sheet::Sheet;
use crate::place::Place;

const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const REPORTS_ARRIVE: Duration = Duration::from_millis(1200);
/// Decks of a lone client, of 23 transactions each.
const DECKS: u64 = 20;
const KINDS: [&str; 5] = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"];
/// Counters of statements, then of transactions' ends, calls and round trips.
const COUNTERS: [&str; 8] = ["select", "insert", "update", "delete", "commit", "rollback", "call", "questions"];
pub type Counted = [f64; COUNTERS.len()];

/// The first four summed: what the specification's table has, by kind, with ten lines per order.
const SPECIFIED: [[f64; 4]; 5] = [
    [22.0, 12.0, 11.0, 0.0],
    [3.7, 1.0, 3.0, 0.0],
    [3.6, 0.0, 0.0, 0.0],
    [30.0, 0.0, 30.0, 10.0],
    [2.0, 0.0, 0.0, 0.0],
];
/// What PostgreSQL's UPDATE ... RETURNING saves of the reads.
const RETURNING_SAVES: [f64; 5] = [1.0, 2.0, 0.0, 10.0, 0.0];
/// The server's sums must be so near to the clients' own.
const SUM_TOLERANCE: f64 = 0.01;

/// Reads the counters of everything but itself.
struct Reader {
    admin: Admin,
    /// pg_stat_statements is there; always on MySQL.
    counts_statements: bool,
}

impl Reader {
    fn open(place: &Place) -> Result<Reader> {
        let Place::Server(server) = place else { bail!("SQLite counts no statements") };
        if server.dialect() == Dialect::MySql {
            return Ok(Reader { admin: place.admin()?, counts_statements: true });
        }
        let mut admin = server.admin("postgres")?;
        let preloaded = "SELECT 1 FROM pg_settings WHERE name = 'pg_stat_statements.track'";
        let counts_statements = admin.value(preloaded)?.is_some()
            && admin.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").is_ok()
            && admin.run("ALTER SYSTEM SET pg_stat_statements.track = 'all'").is_ok()
            && admin.run("SELECT pg_reload_conf()").is_ok();
        Ok(Reader { admin, counts_statements })
    }

    /// A backend reports its commits at its end at the latest; one session is our own.
    fn wait_for_the_last_client(&mut self) -> Result<()> {
        if self.admin.dialect() == Dialect::MySql {
            return Ok(());
        }
        let clients = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'sbtest'";
        while self.admin.value(clients)?.is_some_and(|clients| clients != "0" && clients != "1") {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Before version 15 the reports travel on their own, and arrive in a snapshot twice a second.
        loop {
            let seen = self.read()?;
            std::thread::sleep(REPORTS_ARRIVE);
            if self.read()? == seen {
                return Ok(());
            }
        }
    }

    fn read(&mut self) -> Result<Counted> {
        match self.admin.dialect() {
            Dialect::MySql => self.read_mysql(),
            _ => self.read_postgres(),
        }
    }

    fn read_mysql(&mut self) -> Result<Counted> {
        let rows = self.admin.rows("SHOW GLOBAL STATUS")?;
        let names = COUNTERS.map(|name| match name {
            "call" => "Com_call_procedure".to_owned(),
            "questions" => "Questions".to_owned(),
            name => format!("Com_{name}"),
        });
        let value = |name: &String| {
            let row = rows.iter().find(|row| row[0].as_deref() == Some(name))?;
            row[1].as_deref()?.parse().ok()
        };
        // MySQL 5.0 does not count its calls.
        Ok(std::array::from_fn(|at| value(&names[at]).unwrap_or(0.0)))
    }

    fn read_postgres(&mut self) -> Result<Counted> {
        let mut counted = Counted::default();
        let ends = "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = 'sbtest'";
        let ends = self.admin.rows(ends)?.concat();
        for (at, end) in ends.iter().enumerate() {
            counted[4 + at] = end.as_deref().context("a counter is a number")?.parse()?;
        }
        if self.counts_statements {
            let calls = "SELECT lower(split_part(ltrim(query), ' ', 1)), sum(calls) FROM pg_stat_statements s \
                         JOIN pg_database d ON d.oid = s.dbid WHERE datname = 'sbtest' GROUP BY 1";
            for row in self.admin.rows(calls)? {
                let (Some(word), Some(calls)) = (&row[0], &row[1]) else { continue };
                // The batch form's WITH are set-based changes.
                let word = if word == "with" { "update" } else { word };
                if let Some(at) = COUNTERS[..4].iter().position(|name| *name == word) {
                    counted[at] += calls.parse::<f64>()?;
                }
            }
        }
        Ok(counted)
    }
}

/// Everything that a server has counted once its clients are gone; for SQLite nothing.
pub fn totals(place: &Place) -> Result<Counted> {
    match place {
        Place::File(_) => Ok(Counted::default()),
        Place::Server(_) => {
            let mut reader = Reader::open(place)?;
            reader.wait_for_the_last_client()?;
            reader.read()
        }
    }
}

/// PostgreSQL's sessions report what they did a second later, at the end of a statement; what our own have read
/// at would count as the clients' otherwise.
pub fn report_own(admin: &mut Admin) -> Result<()> {
    if admin.dialect() == Dialect::Postgres {
        std::thread::sleep(REPORTS_ARRIVE);
        admin.run("SELECT 1")?;
    }
    Ok(())
}

/// What each client costs before its first transaction: on PostgreSQL every statement that is prepared is a
/// transaction of its own.
pub fn of_connecting(options: &ConformTpcc, form: &str, place: &Place) -> Result<Counted> {
    if matches!(place, Place::File(_)) {
        return Ok(Counted::default());
    }
    // Twice, because a late report of another session would be taken for a cost of connecting.
    let once = || -> Result<Counted> {
        let before = totals(place)?;
        match options.as_text {
            true => drop(connect(place)?),
            false => drop(client(options, form, place)?),
        }
        let after = totals(place)?;
        Ok(std::array::from_fn(|at| after[at] - before[at]))
    };
    let (one, other) = (once()?, once()?);
    Ok(std::array::from_fn(|at| one[at].min(other[at])))
}

fn client(options: &ConformTpcc, form: &str, place: &Place) -> Result<impl Client<Connection = AnyConnection> + use<>> {
    let mut connection = connect(place)?;
    connection.block()?;
    Ok(workloads::tpcc::client_on(&given(options, form, WHOLE), connection)?)
}

fn connect(place: &Place) -> Result<AnyConnection> {
    let target = place.target()?;
    Ok(AnyConnection::connect(target.dialect, &target.endpoint, &target.login, CONNECT_LIMIT)?)
}

/// The counters around a run, and what each of its clients adds to them by connecting.
pub struct Seen {
    pub before: Counted,
    pub after: Counted,
    pub connecting: Counted,
}

/// The server's sums of a run against the clients' own: retries are in both.
pub fn compare_totals(form: &str, seen: &Seen, tally: &Tally, sheet: &mut Sheet) {
    let clients = f64::from(tally.clients);
    let server: Counted = std::array::from_fn(|at| seen.after[at] - seen.before[at] - clients * seen.connecting[at]);
    let sum: f64 = server[..4].iter().sum();
    let committed: u64 = tally.kinds.iter().map(|kind| kind.committed_ever).sum();
    let near = |found: f64, own: f64| (found - own).abs() <= SUM_TOLERANCE * own + 50.0;
    if sum > 0.0 {
        let per_transaction = sum / tally.ended as f64;
        println!("  {:<44} {per_transaction:>14.2}  (deck of 23: 26.2)", "statements per transaction, by the server");
        // What a procedure does inside is no statement of the client's.
        if form != "procedures" {
            let own = (tally.reads + tally.writes) as f64;
            sheet.line("statements by the server, and by the clients", sum, &format!("{own}"), near(sum, own));
        }
    }
    let commits = server[4];
    sheet.line(
        "commits by the server, and by the clients",
        commits,
        &format!("{committed}"),
        near(commits, committed as f64),
    );
}

/// What a lone client's transactions of one kind cost.
#[derive(Default, Clone, Copy)]
struct Cost {
    transactions: f64,
    counted: Counted,
    /// By the client's own count: reads, writes, other.
    own: [f64; 3],
}

pub fn count(options: &ConformTpcc, form: &str, place: &Place, sheet: &mut Sheet) -> Result<()> {
    if matches!(place, Place::File(_)) {
        return Ok(());
    }
    let mut reader = Reader::open(place)?;
    let costs = costs(options, form, place, &mut reader)?;
    sheet.title(&format!(" {form}: statements per transaction, as the server counts them"));
    println!(
        "  {:<24}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}",
        "", "select", "insert", "update", "delete", "sum", "commit", "rollb.", "call", "question", "client's"
    );
    for (kind, costs) in costs.iter().enumerate() {
        for (cost, ending) in costs.iter().zip(["", ", rolled back"]).filter(|(cost, _)| cost.transactions > 0.0) {
            let mean = cost.counted.map(|count| count / cost.transactions);
            let sum: f64 = mean[..4].iter().sum();
            let own: f64 = cost.own.iter().sum::<f64>() / cost.transactions;
            let (name, counted) = (format!("{}{ending}", KINDS[kind]), mean);
            println!(
                "  {name:<24}{:>8.2}{:>8.2}{:>8.2}{:>8.2}{sum:>8.2}{:>8.2}{:>8.2}{:>8.2}{:>9.2}{own:>9.2}",
                counted[0], counted[1], counted[2], counted[3], counted[4], counted[5], counted[6], counted[7]
            );
        }
    }
    judge(form, place, &reader, &costs, sheet);
    Ok(())
}

fn judge(form: &str, place: &Place, reader: &Reader, costs: &[[Cost; 2]; 5], sheet: &mut Sheet) {
    let is_postgres = matches!(place, Place::Server(server) if server.dialect() == Dialect::Postgres);
    for (kind, [cost, _]) in costs.iter().enumerate() {
        let mean = |at: usize| cost.counted[at] / cost.transactions;
        if form == "rows" && reader.counts_statements {
            let saved = if is_postgres { RETURNING_SAVES[kind] } else { 0.0 };
            let expected: f64 = SPECIFIED[kind].iter().sum::<f64>() - saved;
            let found: f64 = (0..4).map(mean).sum();
            // Of ten lines on average a lone client's orders have a few more or less, and so with names.
            let spread = 0.04 * expected + 0.3;
            sheet.within(&format!("{} statements", KINDS[kind]), found, expected - spread, expected + spread);
        }
        // PostgreSQL's backends report their commits late; a run's sum is compared instead.
        if !is_postgres {
            sheet.within(&format!("{} commits", KINDS[kind]), mean(4), 1.0, 1.0);
        }
        if form == "procedures" {
            let own = cost.own.iter().sum::<f64>() / cost.transactions;
            sheet.within(&format!("{} round trips, by the client", KINDS[kind]), own, 1.0, 1.0);
        }
    }
}

/// By kind, committed and rolled back.
fn costs(options: &ConformTpcc, form: &str, place: &Place, reader: &mut Reader) -> Result<[[Cost; 2]; 5]> {
    let mut client = client(options, form, place)?;
    let mut costs = [[Cost::default(); 2]; 5];
    let reading_cost = {
        let first = reader.read()?;
        let second = reader.read()?;
        std::array::from_fn::<f64, { COUNTERS.len() }, _>(|at| second[at] - first[at])
    };
    let mut before = reader.read()?;
    for number in 0..23 * DECKS {
        let turn = Turn { series: 0, number: FIRST + number, retry: 0 };
        let mut attempt = Attempt::default();
        let outcome = at_once(client.attempt(turn, &mut attempt)).context("it is the connection's own")??;
        let after = reader.read()?;
        let cost = &mut costs[attempt.kind][usize::from(outcome == Outcome::RolledBack)];
        cost.transactions += 1.0;
        // Commits that PostgreSQL's backends report come too late to belong to one of them.
        let known = if reader.admin.dialect() == Dialect::MySql { COUNTERS.len() } else { 4 };
        for at in 0..known {
            cost.counted[at] += after[at] - before[at] - reading_cost[at];
        }
        for (sum, own) in cost.own.iter_mut().zip([attempt.reads, attempt.writes, attempt.other]) {
            *sum += own as f64;
        }
        before = after;
    }
    Ok(costs)
}

/// Transactions that no run before had.
const FIRST: u64 = 1_000_000 * 23;

/// The result of a future that never waits: its connection blocks.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}
