//! The specification's tests of isolation (clause 3.4.2), with the transactions of the form `rows`.
//!
//! Each holds one transaction at a statement, runs another one against it, and lets the first go on. What has
//! to come out is the specification's; whether the other one passes, waits or is sent back meanwhile is what
//! the engine is known to do. Tests 1 to 6 run at each engine's own level, as a trial does, 7 to 9 at repeatable
//! read. At last each runs with something taken away that protects the held transaction, and has to fail: a
//! test that cannot fail shows nothing.

mod pair;
mod stepped;

use anyhow::{Context, Result};
use driver::{Admin, Dialect, Isolation};
use load::Outcome;
use workloads::tpcc::by_hand::{Customer, Delivery, ITEMS, Inputs, Line, NewOrder, OrderStatus, Payment};

use self::pair::{Arena, Asked, Ended, Held, Met, Other, run};
use self::stepped::{END, Robbed, Stop};
use super::forms::{ConformTpcc, FORMS, WHOLE, given};
use super::sheet::Sheet;
use crate::place::Place;

const NEWEST_ORDER: &str = "SELECT o_id, o_entry_d";
const OLDEST_NEW_ORDER: &str = "SELECT no_o_id";
const PRICE: &str = "SELECT i_price";
const AT_THE_END: Stop = Stop { at: END, time: 1 };

/// One claim of a test, and whether it was so.
struct Claim {
    what: &'static str,
    found: String,
    expected: String,
}

impl Claim {
    fn new(what: &'static str, found: impl Describe, expected: impl Describe) -> Claim {
        Claim { what, found: found.described(), expected: expected.described() }
    }

    fn holds(&self) -> bool {
        self.found == self.expected
    }
}

/// A value as text for a reader.
trait Describe {
    fn described(self) -> String;
}

impl Describe for i64 {
    fn described(self) -> String {
        self.to_string()
    }
}

impl Describe for Option<i64> {
    fn described(self) -> String {
        self.map_or_else(|| "none".to_owned(), Describe::described)
    }
}

impl Describe for Met {
    fn described(self) -> String {
        self.as_str().to_owned()
    }
}

impl Describe for &Ended {
    fn described(self) -> String {
        self.outcome.as_ref().map_or_else(ToString::to_string, |outcome| outcome.described())
    }
}

impl Describe for Outcome {
    fn described(self) -> String {
        let word = match self {
            Outcome::Committed => "committed",
            Outcome::RolledBack => "rolled back",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
        };
        word.to_owned()
    }
}

/// A test, and what it is about.
struct Test {
    name: &'static str,
    level: Option<Isolation>,
    run: fn(&Arena, &mut Admin) -> Result<Vec<Claim>>,
}

const fn test(name: &'static str, level: Option<Isolation>, run: fn(&Arena, &mut Admin) -> Result<Vec<Claim>>) -> Test {
    Test { name, level, run }
}

const REPEATABLE: Option<Isolation> = Some(Isolation::RepeatableRead);

const TESTS: &[Test] = &[
    test("1, Order-Status against a New-Order that commits", None, |arena, admin| unseen(arena, admin, false)),
    test("2, Order-Status against a New-Order that rolls back", None, |arena, admin| unseen(arena, admin, true)),
    test("3, two New-Orders of a district, the first commits", None, |arena, admin| numbered(arena, admin, false)),
    test("4, two New-Orders of a district, the first rolls back", None, |arena, admin| numbered(arena, admin, true)),
    test("5, Payment against a Delivery that commits", None, |arena, admin| billed(arena, admin, false)),
    test("6, Payment against a Delivery that rolls back", None, |arena, admin| billed(arena, admin, true)),
    test("7, a price that is read twice", REPEATABLE, priced),
    test("8, a Delivery that finds nothing twice", REPEATABLE, nothing_twice),
    test("9, an Order-Status that finds its order twice", REPEATABLE, same_order_twice),
];

/// Holds a server to all tests; its tables stay consistent.
pub fn hold(options: &ConformTpcc, place: &Place, sheet: &mut Sheet) -> Result<()> {
    let mut admin = place.admin()?;
    for test in TESTS {
        let arena = arena(options, place, test.level, Robbed::Nothing)?;
        sheet.title(&format!(" isolation {} ({})", test.name, level_of(&mut admin, &arena)?));
        for claim in (test.run)(&arena, &mut admin).with_context(|| format!("isolation {}", test.name))? {
            sheet.line(claim.what, &claim.found, &claim.expected, claim.holds());
        }
    }
    Ok(())
}

/// Shows that each test can fail. It leaves half a New-Order behind where nothing brackets one, so the tables
/// are not checked afterwards.
pub fn bite(options: &ConformTpcc, place: &Place, sheet: &mut Sheet) -> Result<()> {
    let mut admin = place.admin()?;
    sheet.title(" isolation, with what protects the held transaction taken away: each test has to fail");
    for test in TESTS {
        for (what, level, robbed) in weaknesses(test, &mut admin)? {
            let arena = arena(options, place, level, robbed)?;
            let claims = (test.run)(&arena, &mut admin).with_context(|| format!("isolation {}, {what}", test.name))?;
            let broken: Vec<&str> = claims.iter().filter(|claim| !claim.holds()).map(|claim| claim.what).collect();
            let number = test.name.split(',').next().unwrap_or_default();
            sheet.line(&format!("{number} {what}"), broken.len(), "1 claim or more broken", !broken.is_empty());
            broken.iter().for_each(|claim| println!("    broken: {claim}"));
        }
    }
    Ok(())
}

/// What is taken away from the held transaction: what makes it one, what its reads lock, or its level.
fn weaknesses(test: &Test, admin: &mut Admin) -> Result<Vec<(&'static str, Option<Isolation>, Robbed)>> {
    let dialect = admin.dialect();
    let mut weak = Vec::new();
    // Of a transaction that only reads, and writes nothing that others read, its level is what protects it.
    if test.level.is_none() || dialect == Dialect::Sqlite {
        weak.push(("without BEGIN and COMMIT", test.level, Robbed::Transaction));
    } else {
        weak.push(("at read committed", Some(Isolation::ReadCommitted), Robbed::Nothing));
    }
    if dialect == Dialect::MySql && test.name.starts_with(['1', '2']) {
        weak.push(("at read uncommitted", Some(Isolation::ReadUncommitted), Robbed::Nothing));
    }
    // The others number an order by an UPDATE, let in one writer only, or keep to snapshots.
    if dialect == Dialect::MySql && test.name.starts_with('3') && !keeps_to_snapshots(admin)? {
        weak.push(("without FOR UPDATE", None, Robbed::Locks));
    }
    Ok(weak)
}

fn arena(options: &ConformTpcc, place: &Place, level: Option<Isolation>, robbed: Robbed) -> Result<Arena> {
    let target = place.target()?;
    // SQLite has one level, which is stronger than any that is asked for.
    let level = level.filter(|_| target.dialect != Dialect::Sqlite);
    Ok(Arena { target, given: given(options, FORMS[0], WHOLE), level, robbed })
}

fn level_of(admin: &mut Admin, arena: &Arena) -> Result<String> {
    let level = arena.level.map_or_else(|| admin.isolation(), Ok)?;
    Ok(if arena.level.is_none() { format!("{}, the server's own", level.as_str()) } else { level.as_str().to_owned() })
}

/// What an engine does with a transaction that needs what an open one has written or locked.
fn blocked(dialect: Dialect) -> Met {
    match dialect {
        Dialect::MySql | Dialect::Postgres => Met::Waited,
        Dialect::Sqlite => Met::Refused,
    }
}

/// The same where the open one may have changed the row for good.
fn overtaken(admin: &mut Admin, rolls_back: bool) -> Result<Met> {
    Ok(if !rolls_back && keeps_to_snapshots(admin)? { Met::Refused } else { blocked(admin.dialect()) })
}

/// MariaDB from 11.6 on rolls back a transaction that would change or lock a row younger than its snapshot.
fn keeps_to_snapshots(admin: &mut Admin) -> Result<bool> {
    if admin.dialect() != Dialect::MySql {
        return Ok(false);
    }
    let rows = admin.rows("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")?;
    Ok(rows.first().and_then(|row| row.last()?.as_deref()) == Some("ON"))
}

/// An order of five lines in warehouse 1, of items from `item` on; the last may be an unused one.
fn order(d: i64, c: i64, item: i64, rolls_back: bool) -> Inputs {
    let mut lines: Vec<Line> =
        (0..5).map(|place| Line { item: item + place, supply_w: 1, quantity: 1 + place }).collect();
    if rolls_back {
        lines[4].item = ITEMS + 1;
    }
    Inputs::NewOrder(NewOrder::of([1, d, c], &lines))
}

fn status(d: i64, c: i64) -> Inputs {
    Inputs::OrderStatus(OrderStatus { w: 1, d, customer: Customer::Id(c) })
}

/// A whole number, money in cents.
fn number(admin: &mut Admin, sql: &str) -> Result<i64> {
    let found = admin.value(sql)?.with_context(|| format!("no row from {sql}"))?;
    found.replace('.', "").parse().with_context(|| format!("no number but {found} from {sql}"))
}

fn ends_with(rolls_back: bool) -> Outcome {
    if rolls_back { Outcome::RolledBack } else { Outcome::Committed }
}

/// 1 and 2: what a New-Order has not committed is invisible to others.
fn unseen(arena: &Arena, admin: &mut Admin, rolls_back: bool) -> Result<Vec<Claim>> {
    let (d, c) = (1, 7);
    let newest = format!("SELECT MAX(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = {d} AND o_c_id = {c}");
    let before = number(admin, &newest)?;
    let held = Held::at(arena, order(d, c, 11, rolls_back), AT_THE_END, false)?;
    let other = Other::start(arena, Asked::transaction(status(d, c)));
    let mut met = other.met(admin)?;
    let asked = other.end(&mut met)?;
    let ended = held.end()?;
    let after = run(arena, Asked::transaction(status(d, c)))?;
    let expected = if rolls_back { Some(before) } else { ended.order() };
    Ok(vec![
        Claim::new("Order-Status meanwhile", met, Met::Passed),
        Claim::new("newest order meanwhile", asked.answer(NEWEST_ORDER), Some(before)),
        Claim::new("New-Order", &ended, ends_with(rolls_back)),
        Claim::new("newest order afterwards", after.answer(NEWEST_ORDER), expected),
    ])
}

/// 3 and 4: a district gives each number once, and takes back the one of an order that was rolled back.
fn numbered(arena: &Arena, admin: &mut Admin, rolls_back: bool) -> Result<Vec<Claim>> {
    let d = 2;
    let next = number(admin, &format!("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = {d}"))?;
    let held = Held::at(arena, order(d, 11, 21, rolls_back), AT_THE_END, false)?;
    let other = Other::start(arena, Asked::transaction(order(d, 12, 31, false)));
    let mut met = other.met(admin)?;
    let first = held.end()?;
    let second = other.end(&mut met)?;
    let after = number(admin, &format!("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = {d}"))?;
    let gone = i64::from(!rolls_back);
    Ok(vec![
        Claim::new("second New-Order meanwhile", met, overtaken(admin, rolls_back)?),
        Claim::new("first New-Order", &first, ends_with(rolls_back)),
        Claim::new("second New-Order", &second, Outcome::Committed),
        Claim::new("number of the first", first.order(), Some(next)),
        Claim::new("number of the second", second.order(), Some(next + gone)),
        Claim::new("next number afterwards", after, next + gone + 1),
    ])
}

/// 5 and 6: a customer's balance holds the Payment, and the Delivery if that committed.
fn billed(arena: &Arena, admin: &mut Admin, rolls_back: bool) -> Result<Vec<Claim>> {
    const PAID: i64 = 10_000;
    let d = 3;
    let oldest = number(admin, &format!("SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = {d}"))?;
    let this = format!("WHERE o_w_id = 1 AND o_d_id = {d} AND o_id = {oldest}");
    let c = number(admin, &format!("SELECT o_c_id FROM orders {this}"))?;
    let lines = format!("WHERE ol_w_id = 1 AND ol_d_id = {d} AND ol_o_id = {oldest}");
    let sum = number(admin, &format!("SELECT SUM(ol_amount) FROM order_line {lines}"))?;
    let balance = format!("SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = {d} AND c_id = {c}");
    let before = number(admin, &balance)?;
    let held = Held::at(arena, Inputs::Delivery(Delivery { w: 1, carrier: 3 }), AT_THE_END, rolls_back)?;
    let paying = Payment { w: 1, d, c_w: 1, c_d: d, customer: Customer::Id(c), amount_cents: PAID };
    let other = Other::start(arena, Asked::transaction(Inputs::Payment(paying)));
    let mut met = other.met(admin)?;
    held.end()?.outcome?;
    let payment = other.end(&mut met)?;
    let waiting = number(
        admin,
        &format!("SELECT COUNT(*) FROM new_order WHERE no_w_id = 1 AND no_d_id = {d} AND no_o_id = {oldest}"),
    )?;
    let delivered = if rolls_back { 0 } else { sum };
    Ok(vec![
        Claim::new("Payment meanwhile", met, overtaken(admin, rolls_back)?),
        Claim::new("Payment", &payment, Outcome::Committed),
        Claim::new("the order waits for its Delivery", waiting, i64::from(rolls_back)),
        Claim::new("balance in cents, beside what it was", number(admin, &balance)? - before, delivered - PAID),
    ])
}

/// 7: a change of a price waits for a New-Order that has read it, or that one does not see it.
fn priced(arena: &Arena, admin: &mut Admin) -> Result<Vec<Claim>> {
    let item = 41;
    let price = format!("SELECT i_price FROM item WHERE i_id = {item}");
    let before = number(admin, &price)?;
    let held = Held::at(arena, order(4, 13, item, false), Stop { at: PRICE, time: 1 }, false)?;
    let change = |by: i64| Asked::Statement(format!("UPDATE item SET i_price = i_price + {by} WHERE i_id = {item}"));
    let other = Other::start(arena, change(1));
    let mut met = other.met(admin)?;
    let ended = held.end()?;
    let changed = other.end(&mut met)?;
    let after = number(admin, &price)?;
    run(arena, change(-1))?.outcome?;
    // Only where there is one writer does a row that was merely read block others.
    let expected = if arena.dialect() == Dialect::Sqlite { Met::Refused } else { Met::Passed };
    let by = if arena.dialect() == Dialect::Sqlite { 1 } else { 100 };
    Ok(vec![
        Claim::new("change of the price meanwhile", met, expected),
        Claim::new("change of the price", &changed, Outcome::Committed),
        Claim::new("price that the New-Order reads again", ended.again, Some(before)),
        Claim::new("New-Order", &ended, Outcome::Committed),
        Claim::new("price afterwards", after, before + by),
    ])
}

/// 8: where a Delivery has found no order, none appears while it is under way.
fn nothing_twice(arena: &Arena, admin: &mut Admin) -> Result<Vec<Claim>> {
    let d = 5;
    admin.run(&format!("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = {d}"))?;
    let stop = Stop { at: OLDEST_NEW_ORDER, time: d as u32 };
    let held = Held::at(arena, Inputs::Delivery(Delivery { w: 1, carrier: 5 }), stop, false)?;
    let other = Other::start(arena, Asked::transaction(order(d, 14, 51, false)));
    let mut met = other.met(admin)?;
    let ended = held.end()?;
    let ordered = other.end(&mut met)?;
    // The district gets back what was taken from it.
    let waiting = format!("o_w_id = 1 AND o_d_id = {d} AND o_carrier_id IS NULL");
    let there = format!("SELECT no_o_id FROM new_order WHERE no_w_id = 1 AND no_d_id = {d}");
    admin.run(&format!(
        "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) SELECT o_id, o_d_id, o_w_id FROM orders \
         WHERE {waiting} AND o_id NOT IN ({there})"
    ))?;
    // A lock of MySQL covers the place where the order would stand; a snapshot of PostgreSQL leaves it out.
    let expected = if arena.dialect() == Dialect::Postgres { Met::Passed } else { blocked(arena.dialect()) };
    Ok(vec![
        Claim::new("New-Order meanwhile", met, expected),
        Claim::new("New-Order", &ordered, Outcome::Committed),
        Claim::new(
            "order that the Delivery finds at first",
            ended.answer_at(OLDEST_NEW_ORDER, d as usize),
            None::<i64>,
        ),
        Claim::new("order that it finds again", ended.again, None::<i64>),
        Claim::new("Delivery", &ended, Outcome::Committed),
    ])
}

/// 9: an Order-Status that asks twice gets the same newest order.
fn same_order_twice(arena: &Arena, admin: &mut Admin) -> Result<Vec<Claim>> {
    let (d, c) = (6, 15);
    let newest = format!("SELECT MAX(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = {d} AND o_c_id = {c}");
    let before = number(admin, &newest)?;
    let held = Held::at(arena, status(d, c), Stop { at: NEWEST_ORDER, time: 1 }, false)?;
    let other = Other::start(arena, Asked::transaction(order(d, c, 61, false)));
    let mut met = other.met(admin)?;
    let ordered = other.end(&mut met)?;
    let ended = held.end()?;
    let after = run(arena, Asked::transaction(status(d, c)))?;
    Ok(vec![
        Claim::new("New-Order meanwhile", met, Met::Passed),
        Claim::new("New-Order", &ordered, Outcome::Committed),
        Claim::new("newest order at first", ended.answer(NEWEST_ORDER), Some(before)),
        Claim::new("newest order again", ended.again, Some(before)),
        Claim::new("newest order afterwards", after.answer(NEWEST_ORDER), ordered.order()),
    ])
}
