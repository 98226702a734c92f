//! What clients wait for: as `performance_schema` sums it up where it is on, else as the server's lists show it.
//!
//! Old versions have no `performance_schema`, and newer ones may have it switched off. There the text of `SHOW ENGINE
//! INNODB STATUS` names who waits for a semaphore or a row lock, and the list of sessions who commits.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use driver::Admin;
use engine::waits::RUNNING;

/// `performance_schema` counts picoseconds.
const SECONDS: f64 = 1e-12;

/// It is read where it is on anyway: switching it on would make another server of this one.
pub fn summed(admin: &mut Admin) -> Result<BTreeMap<String, f64>> {
    let switch = admin.value("SELECT @@performance_schema").context("this version has no performance_schema")?;
    if switch.as_deref() != Some("1") {
        bail!(
            "performance_schema is off; `settings = {{ performance_schema = \"ON\" }}` switches it on, which is another configuration, and slower"
        );
    }
    let rows = admin.rows(
        "SELECT EVENT_NAME, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name \
         WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'",
    )?;
    let seconds = |row: Vec<Option<String>>| match row.as_slice() {
        [Some(event), Some(waited)] => Some((event.clone(), waited.parse::<f64>().ok()? * SECONDS)),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(seconds).collect())
}

/// One event for each client at work, from the lists that every version has.
pub fn sample(admin: &mut Admin) -> Result<Vec<String>> {
    let status = admin.rows("SHOW ENGINE INNODB STATUS").context("cannot read the status of InnoDB")?;
    let status = status.into_iter().flatten().flatten().last().unwrap_or_default();
    let sessions = admin.rows("SHOW FULL PROCESSLIST").context("cannot list the sessions")?;
    Ok(events(&status, sessions.iter().filter_map(|row| Session::of(row))))
}

const ROW_LOCK: &str = "row lock";
const COMMIT: &str = "in COMMIT";

/// A session in the list of sessions.
struct Session<'a> {
    state: &'a str,
    statement: &'a str,
}

impl<'a> Session<'a> {
    /// Of one at work; our own is none.
    fn of(row: &'a [Option<String>]) -> Option<Session<'a>> {
        let cell = |place: usize| row.get(place).and_then(Option::as_deref).unwrap_or_default();
        let statement = cell(7);
        let is_at_work = !["Sleep", "Daemon", "Binlog Dump"].contains(&cell(4));
        (is_at_work && !statement.starts_with("SHOW FULL PROCESSLIST")).then(|| Session { state: cell(6), statement })
    }

    fn event(&self) -> Option<String> {
        let is_commit = self.statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("commit"));
        match self.state {
            state if state.starts_with("Waiting for") || state == "Locked" || state == "Table lock" => {
                Some(state.to_owned())
            }
            _ if is_commit => Some(COMMIT.to_owned()),
            _ => None,
        }
    }
}

/// Who waits for a semaphore, a row lock or a table, who commits; the rest of the sessions at work run.
fn events<'a>(status: &str, sessions: impl Iterator<Item = Session<'a>>) -> Vec<String> {
    let semaphores = semaphores(status);
    // A session in COMMIT that waits for a semaphore is in both lists, and counts as what the first one names.
    let sessions: Vec<Option<String>> = sessions.map(|session| session.event()).collect();
    let mut waiting: Vec<String> = semaphores.into_iter().chain(row_locks(status)).collect();
    let free = sessions.len().saturating_sub(waiting.len());
    waiting.extend(sessions.iter().flatten().take(free).cloned());
    let running = sessions.len().saturating_sub(waiting.len());
    waiting.extend(std::iter::repeat_n(RUNNING.to_owned(), running));
    waiting
}

/// `--Thread … has waited at btr0cur.c line 443 for 0.00 seconds the semaphore:`, and below it what it waits for.
fn semaphores(status: &str) -> Vec<String> {
    let list = status.split_once("\nSEMAPHORES\n").map_or("", |(_, list)| list);
    // Below the list stand statements of clients, which can have any text.
    let list = list.split("\nTRANSACTIONS\n").next().unwrap_or_default();
    let lines: Vec<&str> = list.lines().collect();
    let is_waiting = |line: &str| line.starts_with("--Thread ") && line.contains(" has waited at ");
    let pairs = lines.windows(2).filter(|pair| is_waiting(pair[0]));
    pairs.filter_map(|pair| semaphore(pair[1])).collect()
}

/// The kind and name of `Mutex at 0x2a9 created file log0log.c line 737, lock var 1`, `Mutex at 0x2a9 '&kernel_mutex',
/// lock var 1` or `S-lock on RW-latch at 0x2a9 created in file dict0dict.c line 3709`.
fn semaphore(line: &str) -> Option<String> {
    let (kind, rest) = line.split_once(" at 0x")?;
    let kind = kind.trim_end_matches(" on RW-latch").to_owned();
    let (_, rest) = rest.split_once(' ')?;
    if let Some(name) = rest.strip_prefix('\'') {
        return Some(format!("{kind} {}", name.split('\'').next()?));
    }
    let place = rest.trim_start_matches("created ").trim_start_matches("in ").strip_prefix("file ")?;
    let (file, line) = place.split_once(" line ")?;
    let file = file.rsplit('/').next()?;
    let line: String = line.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{kind} {file}:{line}"))
}

/// A transaction's line behind its heading begins so while it waits for a lock.
fn row_locks(status: &str) -> Vec<String> {
    let list = status.split_once("\nLIST OF TRANSACTIONS").map_or("", |(_, list)| list);
    let mut transactions = list.split("\n---TRANSACTION ").skip(1);
    // Two lines of its own come first: `mysql tables in use …` where a statement runs, then its locks.
    let waits = |one: &str| one.lines().skip(1).take(2).any(|line| line.starts_with("LOCK WAIT "));
    let waiting = transactions.by_ref().filter(|one| waits(one)).count();
    vec![ROW_LOCK.to_owned(); waiting]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of the text of MySQL 5.0 and 5.5, around what is of interest.
    const STATUS: &str = "=====\nINNODB MONITOR OUTPUT\n----------\nSEMAPHORES\n----------\n\
        OS WAIT ARRAY INFO: reservation count 4, signal count 4\n\
        --Thread 1147345216 has waited at btr0cur.c line 443 for 0.00 seconds the semaphore:\n\
        S-lock on RW-latch at 0x2a9c5e created in file dict0dict.c line 3709\n\
        a writer (thread id 1147345216) has reserved it in mode  exclusive\n\
        --Thread 139 has waited at log0log.ic line 322 for 1.00 seconds the semaphore:\n\
        Mutex at 0x7f2b created file /build/innobase/log/log0log.c line 737, lock var 1\n\
        --Thread 140 has waited at trx0trx.c line 9 for 0.00 seconds the semaphore:\n\
        Mutex at 0x7f2c '&kernel_mutex', lock var 1\n\
        Mutex spin waits 3, rounds 40, OS waits 1\n\
        ------------\nTRANSACTIONS\n------------\nTrx id counter 0 1283\n\
        LIST OF TRANSACTIONS FOR EACH SESSION:\n\
        ---TRANSACTION 0 1282, ACTIVE 1 sec\nmysql tables in use 1, locked 1\n\
        LOCK WAIT 2 lock struct(s), heap size 320\nMySQL thread id 4\nUPDATE t SET a = '\n\
        LOCK WAIT 2 lock struct(s)\n--Thread 9 has waited at x line 1 for 0.00 seconds the semaphore:\n\
        Mutex at 0x1 'no such', lock var 1\n'\n\
        ---TRANSACTION 0 1281, ACTIVE 1 sec\n1 lock struct(s), heap size 320\nMySQL thread id 5\nLOCK WAIT for\n\
        --------\nFILE I/O\n";

    fn session(command: &str, state: &str, statement: &str) -> Vec<Option<String>> {
        ["7", "app", "localhost", "bench", command, "0", state, statement].map(|cell| Some(cell.to_owned())).to_vec()
    }

    fn counted(status: &str, sessions: &[Vec<Option<String>>]) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let sessions = sessions.iter().filter_map(|row| Session::of(row));
        events(status, sessions).into_iter().for_each(|event| *counts.entry(event).or_default() += 1);
        counts
    }

    fn expected(counts: &[(&str, usize)]) -> BTreeMap<String, usize> {
        counts.iter().map(|(event, count)| ((*event).to_owned(), *count)).collect()
    }

    #[test]
    fn the_status_text_names_semaphores_and_row_locks_and_no_text_of_a_statement_does() {
        let mut sessions = vec![session("Query", "Updating", "UPDATE t"); 5];
        sessions.extend([session("Sleep", "", ""), session("Query", "", "COMMIT")]);
        let counts = counted(STATUS, &sessions);
        let waits = [("Mutex &kernel_mutex", 1), ("Mutex log0log.c:737", 1), ("S-lock dict0dict.c:3709", 1)];
        let rest = [(ROW_LOCK, 1), (COMMIT, 1), (RUNNING, 1)];
        assert_eq!(counts, expected(&[waits.as_slice(), &rest].concat()));
    }

    #[test]
    fn sessions_alone_show_who_commits_waits_for_a_table_or_runs() {
        let sessions = [
            session("Execute", "", "COMMIT"),
            session("Query", "Waiting for table metadata lock", "ALTER TABLE t"),
            session("Query", "Locked", "SELECT 1"),
            session("Query", "statistics", "SELECT 1"),
            session("Query", "", "SHOW FULL PROCESSLIST"),
            session("Daemon", "Waiting on empty queue", ""),
        ];
        let counts = counted("", &sessions);
        let all = [(COMMIT, 1), ("Waiting for table metadata lock", 1), ("Locked", 1), (RUNNING, 1)];
        assert_eq!(counts, expected(&all));
    }

    #[test]
    fn a_text_that_ends_anywhere_is_read_as_far_as_it_goes() {
        for end in 0..STATUS.len() {
            assert!(semaphores(&STATUS[..end]).len() <= 3 && row_locks(&STATUS[..end]).len() <= 1);
        }
    }
}
