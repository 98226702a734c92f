//! `clients_limit`: sessions without a state of their own share connections, as they do behind a pooler.
//!
//! On a shared connection transactions come in the order of their ends in the log. A transaction that the order holds
//! back waits for some that ended in the log before it began. So every wait leads to an earlier end, and none of them
//! close a circle.

use crate::assignment::assigned;
use crate::digest::{Kind, Locks};
use crate::schedule::{How, Schedule, Session, Span, Statement, Transaction};

/// Shares connections where the sessions, from when each began and ended, need more than the limit. Returns how many
/// sessions share.
pub fn share(schedule: &mut Schedule, spans: &[Span], limit: usize) -> usize {
    if schedule.clients.len() <= limit {
        return 0;
    }
    let (own, shared): (Vec<usize>, Vec<usize>) =
        (0..schedule.sessions.len()).partition(|at| has_state(schedule, &schedule.sessions[*at]));
    let clients = |sessions: &[usize]| assigned(&sessions.iter().map(|at| spans[*at]).collect::<Vec<_>>());
    let of_own = clients(&own);
    let connections = limit.saturating_sub(of_own.len()).clamp(1, clients(&shared).len().max(1));
    let mut lanes: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new()); connections.min(shared.len())];
    let mut by_begin = shared.clone();
    by_begin.sort_by_key(|at| spans[*at]);
    for session in by_begin {
        let Some((sent, lane)) = lanes.iter_mut().min_by_key(|(sent, _)| *sent) else { break };
        *sent += schedule.sessions[session].transactions.len();
        lane.push(session);
    }
    let old = std::mem::take(&mut schedule.sessions);
    let old_transactions = std::mem::take(&mut schedule.transactions);
    let of = |session: usize| {
        let range = &old[session].transactions;
        old_transactions[range.start as usize..range.end as usize].iter().cloned()
    };
    let mut push = |session: &Session, transactions: Vec<Transaction>| {
        let first = schedule.transactions.len() as u32;
        schedule.transactions.extend(transactions);
        let transactions = first..schedule.transactions.len() as u32;
        schedule.sessions.push(Session { transactions, ..session.clone() });
        schedule.sessions.len() as u32 - 1
    };
    let numbers: Vec<u32> = own.iter().map(|at| push(&old[*at], of(*at).collect())).collect();
    let mut all: Vec<Vec<u32>> =
        of_own.iter().map(|sessions| sessions.iter().map(|at| numbers[*at as usize]).collect()).collect();
    for (_, lane) in &lanes {
        let Some(first) = lane.iter().map(|at| &old[*at]).min_by_key(|session| session.due_us) else { continue };
        let mut transactions: Vec<Transaction> = lane.iter().flat_map(|at| of(*at)).collect();
        let units = &schedule.units;
        transactions.sort_by_key(|one| (units[one.unit as usize].1, units[one.unit as usize].0, one.unit));
        all.push(vec![push(first, transactions)]);
    }
    schedule.clients = all;
    shared.len()
}

/// Whether what a session does depends on what it did before, or may: then it has a connection of its own.
fn has_state(schedule: &Schedule, session: &Session) -> bool {
    let range = session.transactions.start as usize..session.transactions.end as usize;
    let is_apart = |one: &Transaction| one.begins_unit && one.ends_unit && !one.is_left_open;
    let transactions = &schedule.transactions[range];
    let statements = || transactions.iter().flat_map(|one| schedule.statements_of(one));
    !session.prepared.is_empty()
        || session.database.is_some()
        || !transactions.iter().all(is_apart)
        || statements().any(|one| leaves_state(schedule, one))
}

const TRANSACTIONS: [&str; 8] = ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"];

fn leaves_state(schedule: &Schedule, one: &Statement) -> bool {
    let about = &schedule.digests[one.digest as usize];
    let first = about.text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    let is_transaction = TRANSACTIONS.contains(&first);
    let is_temporary = ["create temp", "into temp", "create global temp"].iter().any(|text| about.text.contains(text));
    !matches!(one.how, How::Text | How::Unnamed)
        || about.locks != Locks::default()
        || about.class == capture::Class::Session
        || about.kind == Kind::Other && !is_transaction
        || !one.is_counted && !is_transaction
        || is_temporary
        // A procedure may set anything.
        || matches!(first, "call" | "do")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::tests::{statement, timed_schedule};

    /// Sessions of one transaction each, which begins and ends then in the log, of one of the texts.
    fn of(texts: &[&str], sessions: &[(i64, i64, u32)]) -> (Schedule, Vec<Span>) {
        let mut schedule = timed_schedule(texts);
        for (at, (begin, end, digest)) in (0u32..).zip(sessions) {
            schedule.statements.push(Statement { due_us: *begin as u64, ..statement(*digest) });
            schedule.transactions.push(Transaction {
                statements: at..at + 1,
                is_left_open: false,
                rolls_back: false,
                unit: at,
                begins_unit: true,
                ends_unit: true,
            });
            schedule.units.push((*begin, *end));
            let due_us = *begin as u64;
            schedule.sessions.push(Session { due_us, database: None, transactions: at..at + 1, prepared: 0..0 });
        }
        let spans: Vec<Span> = sessions.iter().map(|(begin, end, _)| (*begin, *end)).collect();
        schedule.clients = assigned(&spans);
        (schedule, spans)
    }

    /// The units of each client, one after the other.
    fn units(schedule: &Schedule) -> Vec<Vec<u32>> {
        let of_session = |session: &u32| {
            let range = &schedule.sessions[*session as usize].transactions;
            schedule.transactions[range.start as usize..range.end as usize].iter().map(|one| one.unit)
        };
        schedule.clients.iter().map(|sessions| sessions.iter().flat_map(of_session).collect()).collect()
    }

    #[test]
    fn sessions_share_connections_in_the_order_of_their_ends() {
        let (mut schedule, spans) = of(&["select a from t"], &[(0, 90, 0), (10, 20, 0), (30, 40, 0), (35, 50, 0)]);
        assert_eq!((share(&mut schedule, &spans, 3), units(&schedule).len()), (0, 3), "they need no more");
        assert_eq!(share(&mut schedule, &spans, 2), 4);
        assert_eq!(units(&schedule), [vec![2, 0], vec![1, 3]]);
        assert_eq!(schedule.sessions.iter().map(|one| one.due_us).collect::<Vec<_>>(), [0, 10]);
    }

    #[test]
    fn a_session_with_a_state_keeps_its_connection() {
        let texts =
            ["select a from t", "set names utf8mb4", "select get_lock(?, ?)", "create temporary table t (a int)"];
        let (mut schedule, spans) = of(&texts, &[(0, 9, 0), (1, 9, 1), (2, 9, 3), (3, 9, 0), (4, 9, 0)]);
        assert_eq!(share(&mut schedule, &spans, 1), 3);
        assert_eq!(units(&schedule), [vec![1], vec![2], vec![0, 3, 4]]);
        let state = |text: &str| leaves_state(&timed_schedule(&[text]), &statement(0));
        assert!(state("select pg_advisory_lock(?)") && state("select last_insert_id()") && state("listen a"));
        assert!(!state("begin") && !state("update t set a = ?") && !state("savepoint a"));
    }
}
