//! Right data pass, and every corruption is caught by the rules that one expects, and by no others.
//!
//! The tables are a miniature with the columns that the rules read: two warehouses, ten customers per
//! district, and the traces of two New-Orders, a Payment and a Delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use driver::{Dialect, Endpoint, Login};

use super::*;
use crate::tpcc::{KINDS, options};
use load::{DeferredLog, KindTally, Options, Timing};

const SMALL: Loaded = Loaded { orders: 10, delivered: 7, items: 30 };
const WAREHOUSES: u64 = 2;

const TABLES: &str = "
CREATE TABLE warehouse (w_id, w_ytd);
CREATE TABLE district (d_w_id, d_id, d_next_o_id, d_ytd);
CREATE TABLE customer (c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt);
CREATE TABLE history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount);
CREATE TABLE orders (o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local);
CREATE TABLE new_order (no_w_id, no_d_id, no_o_id);
CREATE TABLE order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
  ol_amount);
CREATE TABLE item (i_id, i_price);
CREATE TABLE stock (s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt);
CREATE TABLE numbers (n);
WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 30) INSERT INTO numbers SELECT n FROM up";

/// As the population leaves them. Customer 11 - o has order o; its lines are of items o and o + 1.
const POPULATION: &str = "
INSERT INTO warehouse SELECT n, 100000 FROM numbers WHERE n <= 2;
INSERT INTO district SELECT w_id, n, 11, 10000 FROM warehouse, numbers WHERE n <= 10;
INSERT INTO customer SELECT d_w_id, d_id, n, -1000, 1000, 1, 0 FROM district, numbers WHERE n <= 10;
INSERT INTO history SELECT c_w_id, c_d_id, c_id, c_w_id, c_d_id, 1000 FROM customer;
INSERT INTO orders SELECT c_w_id, c_d_id, c_id, 11 - c_id, CASE WHEN c_id <= 7 THEN 5 END, 2, 1 FROM customer;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > 7;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, n, o_id + n - 1, o_w_id, CASE WHEN o_id <= 7 THEN 'then' END, 5,
  CASE WHEN o_id <= 7 THEN 0 ELSE 777 END FROM orders, numbers WHERE n <= 2;
INSERT INTO item SELECT n, 100 * n FROM numbers;
INSERT INTO stock SELECT w_id, n, 50, 0, 0, 0 FROM warehouse, numbers";

/// Two New-Orders, one with a remote line and an item that comes twice; a Payment of a customer from
/// elsewhere; a Delivery in all districts of warehouse 1.
const TRANSACTIONS: &str = "
INSERT INTO orders VALUES (1, 1, 11, 3, NULL, 3, 0), (2, 5, 11, 4, NULL, 1, 1);
INSERT INTO new_order VALUES (1, 1, 11), (2, 5, 11);
INSERT INTO order_line VALUES (1, 1, 11, 1, 1, 1, NULL, 2, 200), (1, 1, 11, 2, 2, 2, NULL, 3, 600),
  (1, 1, 11, 3, 1, 1, NULL, 1, 100), (2, 5, 11, 1, 9, 2, NULL, 4, 3600);
UPDATE district SET d_next_o_id = 12 WHERE (d_w_id = 1 AND d_id = 1) OR (d_w_id = 2 AND d_id = 5);
UPDATE stock SET s_ytd = 3, s_order_cnt = 2 WHERE s_w_id = 1 AND s_i_id = 1;
UPDATE stock SET s_ytd = 3, s_order_cnt = 1, s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 2;
UPDATE stock SET s_ytd = 4, s_order_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 9;
UPDATE warehouse SET w_ytd = w_ytd + 5000 WHERE w_id = 1;
UPDATE district SET d_ytd = d_ytd + 5000 WHERE d_w_id = 1 AND d_id = 1;
UPDATE customer SET c_balance = c_balance - 5000, c_ytd_payment = c_ytd_payment + 5000, c_payment_cnt = 2
  WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 6;
INSERT INTO history VALUES (2, 4, 6, 1, 1, 5000);
DELETE FROM new_order WHERE no_w_id = 1 AND no_o_id = 8;
UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_id = 8;
UPDATE order_line SET ol_delivery_d = 'now' WHERE ol_w_id = 1 AND ol_o_id = 8;
UPDATE customer SET c_balance = c_balance + 1554, c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_id = 3";

fn tpcc(given: &[(&str, &str)]) -> Tpcc {
    let text = |(name, value): &(&str, &str)| ((*name).to_owned(), load::OptionValue::Text((*value).to_owned()));
    let given: BTreeMap<_, _> = given.iter().map(text).collect();
    let tpcc = options::read(&Options::new(options::OPTIONS, &given).unwrap()).unwrap();
    Tpcc { warehouses: WAREHOUSES, ..tpcc }
}

/// What the clients of [`TRANSACTIONS`] counted.
fn tally() -> Tally {
    let mut tally = Tally { counts_ever: vec![0; super::super::desk::COUNT_NAMES.len()], ..Tally::default() };
    tally.kinds.resize_with(KINDS.len(), KindTally::default);
    tally.kinds[NEW_ORDER].committed_ever = 2;
    tally.kinds[PAYMENT].committed_ever = 1;
    tally.kinds[DELIVERY].committed_ever = 1;
    for (count, value) in [
        (Count::Lines, 4),
        (Count::Quantity, 10),
        (Count::RemoteLines, 1),
        (Count::RemoteOrders, 1),
        (Count::PaymentCents, 5000),
        (Count::DeliveredOrders, 10),
    ] {
        tally.counts_ever[count as usize] = value;
    }
    tally
}

struct Database {
    admin: Admin,
    tpcc: Tpcc,
    _folder: tempfile::TempDir,
}

impl Database {
    fn populated() -> Database {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::File(folder.path().join("small.db"));
        let admin = Admin::connect(Dialect::Sqlite, &endpoint, &Login::default(), Duration::from_secs(30)).unwrap();
        let mut database = Database { admin, tpcc: tpcc(&[]), _folder: folder };
        database.run(TABLES);
        database.run(POPULATION);
        database
    }

    fn used() -> Database {
        let mut database = Database::populated();
        database.run(TRANSACTIONS);
        database
    }

    fn run(&mut self, statements: &str) {
        for sql in statements.split(';') {
            assert!(self.admin.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}")) < 10_000);
        }
    }

    fn check(&mut self, ran: Option<&Tally>) -> Vec<String> {
        let ledger = Ledger { loaded: SMALL, tpcc: &self.tpcc };
        ledger.check(&mut self.admin, ran).unwrap()
    }

    fn verdict(&mut self, ran: &Tally) -> String {
        Ledger { loaded: SMALL, tpcc: &self.tpcc }.verdict(&mut self.admin, ran).unwrap()
    }

    /// The rules that are broken after these statements, which are then undone.
    fn broken_by(&mut self, statements: &str, ran: Option<&Tally>) -> BTreeSet<String> {
        self.admin.run("BEGIN").unwrap();
        self.run(statements);
        let broken = self.check(ran);
        self.admin.run("ROLLBACK").unwrap();
        broken.iter().map(|line| line.split(" (").next().unwrap().to_owned()).collect()
    }
}

fn names(words: &str) -> BTreeSet<String> {
    let number = |word: &str| if word.parse::<u32>().is_ok() { format!("condition {word}") } else { word.to_owned() };
    words.split_whitespace().map(number).collect()
}

/// What is done to the tables, and the rules that it breaks: a number is a condition of the clause.
const CORRUPTIONS: &[(&str, &str)] = &[
    // Lost and extra lines: of an order that came with the load, and of one since.
    ("DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 9 AND ol_number = 2", "4 6"),
    ("DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 11 AND ol_number = 3", "4 6 E1 E2"),
    ("DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 11 AND ol_number = 2", "4 6 E1 E2 E3 E10"),
    ("INSERT INTO order_line VALUES (1, 4, 9, 3, 1, 1, NULL, 5, 1)", "4 6"),
    // Money.
    ("UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 5", "10 12"),
    ("UPDATE warehouse SET w_ytd = w_ytd - 1 WHERE w_id = 2", "1 8"),
    ("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 10", "1 9"),
    ("UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 1", "12 E9"),
    ("UPDATE history SET h_amount = 5001 WHERE h_amount = 5000", "8 9 10 E8 E9"),
    (
        "UPDATE order_line SET ol_amount = 778 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 1",
        "10 12",
    ),
    (
        "UPDATE order_line SET ol_amount = 1 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 3 AND ol_number = 1",
        "10 12",
    ),
    ("UPDATE order_line SET ol_amount = 201 WHERE ol_w_id = 1 AND ol_o_id = 11 AND ol_number = 1", "E11"),
    // A delivery twice, in half, and not at all.
    (
        "UPDATE customer SET c_balance = c_balance + 1554, c_delivery_cnt = 2 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3",
        "10 11 12 E6",
    ),
    ("UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 8", "5 7 E6"),
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 8", "5 7 E6"),
    ("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 8", "5 11"),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
        "7 10 12",
    ),
    (
        "UPDATE order_line SET ol_delivery_d = 'x' WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
        "7 10 12",
    ),
    ("UPDATE customer SET c_delivery_cnt = 0 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3", "11 E6"),
    // Orders and their ids.
    ("UPDATE district SET d_next_o_id = 13 WHERE d_w_id = 1 AND d_id = 1", "2 E7"),
    ("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 10", "3 5 11"),
    ("INSERT INTO new_order VALUES (1, 1, 12)", "2 5 11"),
    ("DELETE FROM orders WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 9", "4 5 6 11 E7"),
    ("UPDATE orders SET o_ol_cnt = 4 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 11", "4 6"),
    ("UPDATE orders SET o_all_local = 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 11", "E10"),
    ("UPDATE orders SET o_all_local = 0 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 2", "E10"),
    // Swapped between two orders, so that no sum changes.
    (
        "UPDATE order_line SET ol_o_id = 10, ol_number = 3 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 9 AND ol_number = 2",
        "6",
    ),
    // Payments.
    ("DELETE FROM history WHERE h_amount = 5000", "8 9 10 E5 E8 E9"),
    ("DELETE FROM history WHERE h_c_w_id = 1 AND h_c_d_id = 9 AND h_c_id = 9", "8 9 10 E5 E8 E9"),
    ("UPDATE customer SET c_payment_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 6", "E5"),
    // Stock.
    ("UPDATE stock SET s_quantity = 9 WHERE s_w_id = 1 AND s_i_id = 30", "E4"),
    ("UPDATE stock SET s_quantity = 101 WHERE s_w_id = 1 AND s_i_id = 1", "E4"),
    ("UPDATE stock SET s_quantity = 0 WHERE s_w_id = 2 AND s_i_id = 7", "E4"),
    ("UPDATE stock SET s_order_cnt = s_order_cnt - 1 WHERE s_w_id = 1 AND s_i_id = 1", "E1"),
    ("UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 2 AND s_i_id = 5", "E2"),
    ("UPDATE stock SET s_remote_cnt = 0 WHERE s_w_id = 2 AND s_i_id = 2", "E3"),
    ("UPDATE order_line SET ol_quantity = 3 WHERE ol_w_id = 2 AND ol_o_id = 11", "E2 E11"),
    // Rows that nothing ever deletes.
    ("DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 30", "size"),
    ("DELETE FROM item WHERE i_id = 30", "size"),
    ("DELETE FROM district WHERE d_w_id = 2 AND d_id = 9", "size 1 2 9 11 E7"),
];

#[test]
fn right_data_pass_with_and_without_the_clients_counts() {
    assert_eq!(Database::populated().check(None), Vec::<String>::new());
    let mut used = Database::used();
    assert_eq!(used.check(None), Vec::<String>::new());
    assert_eq!(used.check(Some(&tally())), Vec::<String>::new());
}

#[test]
fn every_corruption_is_caught_by_the_rules_that_it_breaks() {
    let mut database = Database::used();
    for (statements, expected) in CORRUPTIONS {
        let broken = database.broken_by(statements, Some(&tally()));
        assert_eq!(broken, names(expected), "{statements}");
    }
    let rules: BTreeSet<String> =
        QUERIES.iter().chain([&BALANCES]).flat_map(|query| query.rules).map(|r| r.name.to_owned()).collect();
    let seen: BTreeSet<String> = CORRUPTIONS.iter().flat_map(|(_, expected)| names(expected)).collect();
    assert!(rules.is_subset(&seen), "no corruption breaks {:?}", rules.difference(&seen));
}

/// Without the clients' counts too, but for what only they contain.
#[test]
fn most_corruptions_are_caught_by_the_tables_alone() {
    let mut database = Database::used();
    for (statements, expected) in CORRUPTIONS {
        let broken = database.broken_by(statements, None);
        let expected: BTreeSet<String> = names(expected).into_iter().filter(|name| name != "E8").collect();
        assert_eq!(broken, expected, "{statements}");
    }
}

/// A transaction that left no trace at all is consistent: only who committed it can miss it.
#[test]
fn a_lost_transaction_is_missed_by_the_client_that_committed_it() {
    let mut database = Database::used();
    let mut check = |change: &dyn Fn(&mut Tally), expected: &str| {
        let mut tally = tally();
        change(&mut tally);
        assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names(expected));
    };
    check(&|tally| tally.kinds[NEW_ORDER].committed_ever += 1, "E7");
    check(&|tally| tally.kinds[PAYMENT].committed_ever += 1, "E8");
    check(&|tally| tally.counts_ever[Count::PaymentCents as usize] += 1, "E8");
    check(&|tally| tally.counts_ever[Count::DeliveredOrders as usize] += 1, "E6");
    check(&|tally| tally.counts_ever[Count::Lines as usize] -= 1, "E1");
    check(&|tally| tally.counts_ever[Count::Quantity as usize] -= 1, "E2");
    check(&|tally| tally.counts_ever[Count::RemoteLines as usize] += 1, "E3");
    check(&|tally| tally.counts_ever[Count::RemoteOrders as usize] += 1, "E10");
}

#[test]
fn unknown_endings_may_have_come_true_or_not() {
    let mut database = Database::used();
    let mut tally = tally();
    tally.kinds[NEW_ORDER].committed_ever -= 1;
    tally.counts_ever[Count::Lines as usize] -= 3;
    tally.counts_ever[Count::Quantity as usize] -= 6;
    tally.counts_ever[Count::RemoteLines as usize] -= 1;
    tally.counts_ever[Count::RemoteOrders as usize] -= 1;
    assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names("E1 E2 E3 E7 E10"));
    tally.kinds[NEW_ORDER].unknown_ever = 1;
    assert_eq!(database.check(Some(&tally)), Vec::<String>::new());
    tally.kinds[NEW_ORDER].committed_ever += 2;
    assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names("E7"));
}

#[test]
fn queued_deliveries_are_counted_where_they_were_run() {
    let mut database = Database::used();
    database.tpcc = tpcc(&[("delivery", "queued")]);
    let mut tally = queued_tally();
    assert_eq!(database.check(Some(&tally)), Vec::<String>::new());
    tally.counts_ever[Count::DeliveredOrders as usize] = 0;
    tally.kinds[DEFERRED_DELIVERY].committed_ever = 0;
    tally.journal = DeferredLog::default();
    tally.kinds[DELIVERY].unknown_ever = 1;
    assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names("E6"), "to queue one delivers nothing");
    tally.kinds[DEFERRED_DELIVERY].unknown_ever = 1;
    assert_eq!(database.check(Some(&tally)), Vec::<String>::new());
}

/// By the Delivery of [`TRANSACTIONS`]: its line, with this carrier and this order of each district.
fn journal(lines: &[(u32, u32)]) -> DeferredLog {
    let mut journal = DeferredLog::with_capacity(12, 2);
    for (carrier, order) in lines {
        let numbers: Vec<u32> = [1, *carrier].into_iter().chain([*order; 10]).collect();
        journal.write(Timing { due_ns: 1, start_ns: 2, end_ns: 3 }, &numbers);
    }
    journal
}

/// The same, where a background slot ran the Delivery.
fn queued_tally() -> Tally {
    let mut tally = tally();
    tally.kinds[DEFERRED_DELIVERY].committed_ever = 1;
    tally.journal = journal(&[(3, 8)]);
    tally
}

#[test]
fn the_log_of_deferred_deliveries_is_held_to_the_counts_and_to_the_tables() {
    let mut database = Database::used();
    database.tpcc = tpcc(&[("delivery", "queued")]);
    let mut check = |lines: &[(u32, u32)], committed: u64, statements: &str, expected: &str| {
        let mut tally = queued_tally();
        tally.journal = journal(lines);
        tally.kinds[DEFERRED_DELIVERY].committed_ever = committed;
        assert_eq!(database.broken_by(statements, Some(&tally)), names(expected), "{lines:?}, {statements}");
    };
    let nothing = "SELECT 1";
    check(&[(3, 8)], 1, nothing, "");
    check(&[], 1, nothing, "E12 E13");
    check(&[(3, 8)], 2, nothing, "E12");
    check(&[(3, 8), (3, 8)], 2, nothing, "E13 E14");
    check(&[(4, 8)], 1, nothing, "E15");
    check(&[(3, 9)], 1, nothing, "E15");
    // What no other rule finds: the log names another carrier.
    check(&[(3, 8)], 1, "UPDATE orders SET o_carrier_id = 4 WHERE o_w_id = 1 AND o_d_id = 5 AND o_id = 8", "E15");
    // Lines that found no room leave open what they would have held, and no more.
    check(&[(3, 8), (3, 8), (3, 8)], 3, nothing, "E13 E14");
    let mut tally = queued_tally();
    tally.journal.lost = 1;
    tally.kinds[DEFERRED_DELIVERY].committed_ever = 2;
    assert_eq!(database.check(Some(&tally)), Vec::<String>::new());
}

#[test]
fn a_wrong_line_is_shown_with_the_values_of_the_tables() {
    let mut database = Database::used();
    database.tpcc = tpcc(&[("delivery", "queued")]);
    let mut tally = queued_tally();
    tally.journal = journal(&[(4, 8)]);
    let message = database.check(Some(&tally)).concat();
    assert!(message.contains("is broken in 10 places: (w 1, d 1, o 8: carrier 3, and 4 in the log), "), "{message}");
    assert!(message.contains("; by: SELECT o_id, o_carrier_id FROM orders WHERE "), "{message}");
    tally.journal = journal(&[(3, 8), (3, 9)]);
    tally.kinds[DEFERRED_DELIVERY].committed_ever = 2;
    let message = database.check(Some(&tally)).concat();
    assert!(message.contains("E13") && message.contains("found 20, expected 10"), "{message}");
    assert!(message.contains("(w 1, d 1, o 9: not delivered)"), "{message}");
}

/// Tries of a Delivery that failed half-way have delivered what they had committed.
#[test]
fn deliveries_by_district_may_have_delivered_more_than_was_counted() {
    let mut database = Database::used();
    let mut tally = tally();
    tally.counts_ever[Count::DeliveredOrders as usize] = 8;
    assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names("E6"));
    database.tpcc = tpcc(&[("delivery", "per-district")]);
    assert_eq!(database.check(Some(&tally)), Vec::<String>::new());
    tally.counts_ever[Count::DeliveredOrders as usize] = 11;
    assert_eq!(database.broken_by("SELECT 1", Some(&tally)), names("E6"));
}

#[test]
fn a_violation_shows_its_rows_and_its_query() {
    let mut database = Database::used();
    database.run("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id < 8");
    let message = database.check(Some(&tally()));
    assert_eq!(message.len(), 2, "{message:?}");
    assert!(message[0].starts_with("condition 4 (the sum of o_ol_cnt is"), "{}", message[0]);
    assert!(message[0].contains(" is broken in 1 place: (w 2, d 3: 7); by: SELECT w, d, SUM(k) AS condition_4 FROM"));
    let places = " is broken in 7 places: (w 2, d 3, o 1: 1), (w 2, d 3, o 2: 1), (w 2, d 3, o 3: 1), ";
    assert!(
        message[1].contains(places) && message[1].contains("(w 2, d 3, o 5: 1), …; by: SELECT w, d, o, COALESCE"),
        "{}",
        message[1]
    );
    let mut tally = tally();
    tally.kinds[NEW_ORDER].committed_ever = 12_345;
    let message = database.check(Some(&tally)).pop().unwrap();
    assert!(
        message.starts_with("E7 (order ids given since the load") && message.contains("found 2, expected 12,345"),
        "{message}"
    );
}

#[test]
fn after_a_crash_the_acknowledged_transactions_are_counted() {
    let mut database = Database::used();
    let mut tally = Tally { clients: 3, ..tally() };
    let message = database.verdict(&tally);
    assert_eq!(
        message,
        "all 2 acknowledged New-Orders are there, all 1 acknowledged Payments are there, all 10 acknowledged delivered \
         orders are there; the data are consistent"
    );
    // Their answers were lost with the server.
    tally.kinds[NEW_ORDER].committed_ever = 1;
    tally.counts_ever[Count::DeliveredOrders as usize] = 0;
    tally.kinds[DELIVERY].committed_ever = 0;
    let message = database.verdict(&tally);
    assert!(
        message.starts_with("all 1 acknowledged New-Orders") && message.ends_with("; the data are consistent"),
        "{message}"
    );
    tally.kinds[NEW_ORDER].committed_ever = 1_005;
    database.run("UPDATE warehouse SET w_ytd = 1 WHERE w_id = 2");
    let message = database.verdict(&tally);
    assert!(message.starts_with("1,003 of 1,005 acknowledged New-Orders are missing, all 1 "), "{message}");
    assert!(message.contains("; the data are wrong:\ncondition 1 (") && message.contains("\nE7 ("), "{message}");
}

#[test]
fn numbers_are_grouped_by_thousands() {
    let check = |number, expected: &str| assert_eq!(grouped(number), expected);
    check(0, "0");
    check(999, "999");
    check(-1_000, "-1,000");
    check(12_345_678, "12,345,678");
}
