//! Compares the tables with the ledgers, and with themselves.

use std::collections::{BTreeMap, BTreeSet};

use driver::{Admin, Error};
use load::{Audit, Ledger, LedgerEnd, Witnessed};

use super::{BALANCE, Content, LedgerWorkload};

/// A client's number, and a transaction's.
type Key = (i64, i64);

/// What the tables hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    entries: BTreeMap<Key, Content>,
    /// List, place, and who is there; in this order.
    items: BTreeMap<(i64, i64), Key>,
    /// Of the accounts whose balance is not that of the load.
    balances: BTreeMap<i64, i64>,
    /// Of the lists that are not empty, how many items they say they have.
    lists: BTreeMap<i64, i64>,
}

/// Reads the rows that loads have written or changed.
pub fn read(admin: &mut Admin) -> Result<Tables, Error> {
    let mut tables = Tables::default();
    let entries = "SELECT client, number, hash, payer, payee, amount, list_id FROM ledger_entry";
    each(admin, entries, |[client, number, hash, payer, payee, amount, list]| {
        tables.entries.insert((client, number), Content { hash, payer, payee, amount, list });
    })?;
    each(admin, "SELECT list_id, place, client, number FROM ledger_item", |[list, place, client, number]| {
        tables.items.insert((list, place), (client, number));
    })?;
    each(admin, &format!("SELECT id, balance FROM ledger_account WHERE balance <> {BALANCE}"), |[id, balance]| {
        tables.balances.insert(id, balance);
    })?;
    each(admin, "SELECT id, items FROM ledger_list WHERE items <> 0", |[id, items]| {
        tables.lists.insert(id, items);
    })?;
    Ok(tables)
}

/// Hands each row on; the first value that is no number is an error.
fn each<const N: usize>(admin: &mut Admin, sql: &str, mut take: impl FnMut([i64; N])) -> Result<(), Error> {
    let mut failed = Ok(());
    admin.each_row(sql, &mut |rows| {
        let mut row = [0; N];
        for (column, value) in row.iter_mut().enumerate() {
            match rows.int(0, column) {
                Ok(number) => *value = number,
                Err(error) => return failed = Err(error),
            }
        }
        take(row);
    })?;
    failed
}

/// What the tables have of the transactions in the ledgers.
pub fn judge(workload: &LedgerWorkload, tables: &Tables, ledgers: &[Witnessed<'_>]) -> Audit {
    let mut audit = Audit::default();
    ledgers.iter().for_each(|witnessed| count_asked(tables, witnessed, &mut audit));
    for (key, content) in &tables.entries {
        match written(ledgers, *key) {
            Some((ledger, end)) if *content == workload.content(ledger.shape().seed, key.0 as u32, key.1 as u64) => {
                audit.resurrected += u64::from(end == LedgerEnd::Aborted);
            }
            _ => audit.phantom += 1,
        }
    }
    audit.partial = partial(tables);
    audit.wrong_balances = wrong_balances(tables);
    audit.wrong_lists = wrong_lists(tables);
    audit
}

/// What became of the transactions that were asked for.
fn count_asked(tables: &Tables, Witnessed { ledger, crash_ns }: &Witnessed<'_>, audit: &mut Audit) {
    for client in 0..ledger.shape().clients {
        let number_in_tables = i64::from(ledger.shape().first_client + client);
        let mut lost = Vec::new();
        for (number, entry) in ledger.entries(client) {
            let is_present = tables.entries.contains_key(&(number_in_tables, number as i64));
            match entry.end {
                LedgerEnd::Acknowledged { at_ns } if at_ns <= *crash_ns => {
                    audit.acknowledged += 1;
                    if !is_present {
                        lost.push((number, at_ns));
                    }
                }
                LedgerEnd::Acknowledged { .. } | LedgerEnd::Unknown => audit.unknown += 1,
                LedgerEnd::Aborted => {}
            }
        }
        let last = tables.entries.range((number_in_tables, 0)..=(number_in_tables, i64::MAX)).next_back();
        let last = last.map_or(-1, |((_, number), _)| *number);
        audit.lost += lost.len() as u64;
        audit.holes += lost.iter().filter(|(number, _)| (*number as i64) < last).count() as u64;
        let first_ns = lost.iter().map(|(_, at_ns)| *at_ns).min();
        audit.first_lost_ns = [audit.first_lost_ns, first_ns].into_iter().flatten().min();
    }
}

/// The ledger that has a transaction, and how it ended there.
fn written<'a>(ledgers: &[Witnessed<'a>], (client, number): Key) -> Option<(&'a Ledger, LedgerEnd)> {
    ledgers.iter().find_map(|Witnessed { ledger, .. }| {
        let place = client.checked_sub(i64::from(ledger.shape().first_client))?;
        let entry = ledger.entry(u32::try_from(place).ok()?, u64::try_from(number).ok()?)?;
        Some((*ledger, entry.end))
    })
}

/// Entries that are in no list, or in another than theirs, or twice; and items without an entry.
fn partial(tables: &Tables) -> u64 {
    let entries: BTreeSet<(i64, Key)> = tables.entries.iter().map(|(key, content)| (content.list, *key)).collect();
    let items: BTreeSet<(i64, Key)> = tables.items.iter().map(|((list, _), key)| (*list, *key)).collect();
    let twice = tables.items.len() - items.len();
    (entries.symmetric_difference(&items).count() + twice) as u64
}

fn wrong_balances(tables: &Tables) -> u64 {
    let mut expected: BTreeMap<i64, i64> = BTreeMap::new();
    for content in tables.entries.values() {
        *expected.entry(content.payer).or_insert(BALANCE) -= content.amount;
        *expected.entry(content.payee).or_insert(BALANCE) += content.amount;
    }
    expected.retain(|_, balance| *balance != BALANCE);
    let accounts: BTreeSet<&i64> = expected.keys().chain(tables.balances.keys()).collect();
    accounts.into_iter().filter(|id| expected.get(*id) != tables.balances.get(*id)).count() as u64
}

/// A list counts its places from 1 without a gap, and has each client's transactions in their order.
fn wrong_lists(tables: &Tables) -> u64 {
    let mut items: BTreeMap<i64, Vec<(i64, Key)>> = BTreeMap::new();
    for ((list, place), key) in &tables.items {
        items.entry(*list).or_default().push((*place, *key));
    }
    let is_wrong = |list: &i64| {
        let items = items.get(list).map_or(&[][..], Vec::as_slice);
        let has_gap = items.iter().zip(1..).any(|((place, _), expected)| *place != expected);
        let is_as_long = tables.lists.get(list).copied().unwrap_or(0) == items.len() as i64;
        let mut last = BTreeMap::new();
        let turns_back = items.iter().any(|(_, (client, number))| last.insert(*client, *number) > Some(*number));
        has_gap || !is_as_long || turns_back
    };
    let all: BTreeSet<i64> = items.keys().chain(tables.lists.keys()).copied().collect();
    all.iter().filter(|list| is_wrong(list)).count() as u64
}

/// What contradicts itself in the tables, without a ledger to compare them with.
pub fn contradictions(admin: &mut Admin) -> Result<Vec<String>, Error> {
    let queries = [
        ("money has come or gone", format!("SELECT SUM(balance) - COUNT(*) * {BALANCE} FROM ledger_account")),
        (
            "entries and items of lists are not as many",
            "SELECT (SELECT COUNT(*) FROM ledger_entry) - (SELECT COUNT(*) FROM ledger_item)".to_owned(),
        ),
        (
            "lists are longer or shorter than they say",
            "SELECT SUM(items) - (SELECT COUNT(*) FROM ledger_item) FROM ledger_list".to_owned(),
        ),
    ];
    let mut wrong = Vec::new();
    for (what, sql) in queries {
        let found = admin.value(&sql)?.unwrap_or_default();
        if found != "0" {
            wrong.push(format!("{what}: {found} instead of 0 ({sql})"));
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use load::LedgerShape;

    use super::*;

    const WORKLOAD: LedgerWorkload = LedgerWorkload { accounts: 10, lists: 2 };
    const SHAPE: LedgerShape = LedgerShape { first_client: 5, clients: 2, numbers: 100, seed: 3 };

    /// Tables as they are when exactly these transactions have run, one after the other.
    fn ran(keys: &[(u32, u64)]) -> Tables {
        let mut tables = Tables::default();
        let mut balances: BTreeMap<i64, i64> = BTreeMap::new();
        for (client, number) in keys {
            let (content, key) = (WORKLOAD.content(SHAPE.seed, *client, *number), (i64::from(*client), *number as i64));
            let place = tables.lists.entry(content.list).or_default();
            *place += 1;
            tables.items.insert((content.list, *place), key);
            tables.entries.insert(key, content);
            *balances.entry(content.payer).or_insert(BALANCE) -= content.amount;
            *balances.entry(content.payee).or_insert(BALANCE) += content.amount;
        }
        tables.balances = balances.into_iter().filter(|(_, balance)| *balance != BALANCE).collect();
        tables
    }

    /// Client 5 has three acknowledged at 10, 20 and 30, one aborted, one unknown; client 6 none.
    fn ledger(folder: &tempfile::TempDir) -> Ledger {
        let ledger = Ledger::create(&folder.path().join("ledger"), SHAPE).unwrap();
        for number in 0..5 {
            assert!(ledger.intend(0, number, 10 * number + 1));
        }
        (0..3).for_each(|number| ledger.acknowledge(0, number, 10 * (number + 1)));
        ledger.abort(0, 3, 35);
        ledger
    }

    fn judged(tables: &Tables, crash_ns: u64) -> Audit {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        judge(&WORKLOAD, tables, &[Witnessed { ledger: &ledger, crash_ns }])
    }

    #[test]
    fn a_commit_of_unknown_outcome_may_be_there_or_not() {
        for keys in [&[(5, 0), (5, 1), (5, 2)][..], &[(5, 0), (5, 1), (5, 2), (5, 4)]] {
            let audit = judged(&ran(keys), u64::MAX);
            assert_eq!(audit, Audit { acknowledged: 3, unknown: 1, ..Audit::default() });
        }
    }

    #[test]
    fn lost_commits_are_counted_with_their_holes_and_not_behind_the_crash() {
        let audit = judged(&ran(&[(5, 0), (5, 2)]), u64::MAX);
        let expected =
            Audit { acknowledged: 3, lost: 1, first_lost_ns: Some(20), holes: 1, unknown: 1, ..Audit::default() };
        assert_eq!(audit, expected);
        // What was acknowledged at 30 was acknowledged by nobody that was alive at 25.
        let audit = judged(&ran(&[(5, 0)]), 25);
        let expected = Audit { acknowledged: 2, lost: 1, first_lost_ns: Some(20), unknown: 2, ..Audit::default() };
        assert_eq!(audit, expected);
    }

    #[test]
    fn a_planted_row_is_a_phantom_and_an_aborted_one_is_resurrected() {
        let all = [(5, 0), (5, 1), (5, 2)];
        for planted in [(6, 0), (7, 0), (5, 50)] {
            let audit = judged(&ran(&[&all[..], &[planted]].concat()), u64::MAX);
            assert_eq!((audit.phantom, audit.is_corrupt()), (1, true), "{planted:?}");
        }
        let mut tables = ran(&all);
        tables.entries.get_mut(&(5, 1)).unwrap().hash += 1;
        assert_eq!(judged(&tables, u64::MAX).phantom, 1);
        let audit = judged(&ran(&[&all[..], &[(5, 3)]].concat()), u64::MAX);
        assert_eq!((audit.phantom, audit.resurrected), (0, 1));
    }

    #[test]
    fn half_a_transaction_is_found_whichever_half_is_missing() {
        let keys = [(5, 0), (5, 1), (5, 2)];
        let mut without_item = ran(&keys);
        let (place, key) = without_item.items.pop_last().unwrap();
        let audit = judged(&without_item, u64::MAX);
        assert_eq!((audit.partial, audit.wrong_lists, audit.wrong_balances), (1, 1, 0));
        let mut without_entry = ran(&keys);
        let content = without_entry.entries.remove(&key).unwrap();
        assert_eq!(content.list, place.0);
        let audit = judged(&without_entry, u64::MAX);
        assert_eq!((audit.partial, audit.wrong_balances, audit.lost), (1, 2, 1));
        let mut one_sided = ran(&keys);
        *one_sided.balances.entry(0).or_insert(BALANCE) += 1;
        assert_eq!(judged(&one_sided, u64::MAX).wrong_balances, 1);
    }

    #[test]
    fn a_list_in_another_order_is_wrong() {
        let mut tables = ran(&(0..3).map(|number| (5, number)).collect::<Vec<_>>());
        let list = tables.lists.iter().find(|(_, items)| **items >= 2).map(|(list, _)| *list).unwrap();
        let (one, two) = (tables.items[&(list, 1)], tables.items[&(list, 2)]);
        tables.items.insert((list, 1), two);
        tables.items.insert((list, 2), one);
        let audit = judged(&tables, u64::MAX);
        assert_eq!((audit.partial, audit.wrong_lists), (0, 1));
    }
}
