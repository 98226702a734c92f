//! What many clients did, by their own counts and by what stands in the tables: shares and means within
//! what chance explains, and the specification's own ranges where there is enough.

use anyhow::Result;
use driver::{Admin, Dialect};
use load::{KindTally, Tally};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::after_load::number;
use super::forms::ConformTpcc;
use super::sheet::Sheet;

/// How often a right figure may be called wrong, on either side. Each check holds a hundred figures to it.
const CHANCE: f64 = 1e-6;
/// The standard deviations that leave as much of a normal distribution outside.
const SPREAD: f64 = 4.75;
/// Transactions of a kind from which on the specification's acceptance ranges apply (clause 9.2.2.5).
const ENOUGH: f64 = 10_000.0;

/// Customers of a warehouse that count when they pay: one over the sum of their squared shares. Clause 2.5.1.2 draws six in ten by
/// a last name of 1,000, unevenly by the constant 255, and the others by a number of 3,000, unevenly by 1,023.
const DIFFERENT_CUSTOMERS: f64 = 4000.0;

/// Cards of each kind in a deck of 23.
const CARDS: [(&str, f64); 5] =
    [("New-Order", 10.0), ("Payment", 10.0), ("Order-Status", 1.0), ("Delivery", 1.0), ("Stock-Level", 1.0)];

/// The workload's counts by their names.
pub struct Counts<'a>(pub &'a Tally);

impl Counts<'_> {
    pub fn of(&self, name: &str) -> f64 {
        let place = workloads::tpcc::COUNT_NAMES.iter().position(|known| *known == name);
        self.0.counts_ever[place.expect("the name is one of the workload's")] as f64
    }
}

/// A share of so many. Rare ones are skewed, so that deviations to both sides would be wrong by far above.
fn share(sheet: &mut Sheet, what: &str, found: f64, of: f64, expected: f64) {
    let (least, most) = shares_by_chance(of, expected);
    sheet.within(&format!("{what}, %"), 100.0 * found / of, 100.0 * least, 100.0 * most);
}

/// The least and the largest share of so many draws that chance explains.
fn shares_by_chance(draws: f64, expected: f64) -> (f64, f64) {
    let most = |expected: f64| {
        let seen = Binomial::new(expected, draws as u64).expect("what is expected is a share");
        seen.inverse_cdf(1.0 - CHANCE) as f64 / draws.floor()
    };
    (1.0 - most(1.0 - expected), most(expected))
}

/// A mean of so many, each with this standard deviation.
fn mean(sheet: &mut Sheet, what: &str, sum: f64, of: f64, expected: f64, deviation: f64) {
    let spread = SPREAD * deviation / of.sqrt();
    sheet.within(what, sum / of, expected - spread, expected + spread);
}

fn ended(kind: &KindTally) -> f64 {
    (kind.committed_ever + kind.rolled_back_ever) as f64
}

pub fn look(options: &ConformTpcc, tally: &Tally, sheet: &mut Sheet) {
    sheet.exactly("transactions that failed", tally.failed as f64, 0.0);
    for (kind, (name, cards)) in tally.kinds.iter().zip(CARDS) {
        // Each client may be anywhere in its last deck.
        let expected = tally.ended as f64 * cards / 23.0;
        let off = f64::from(options.clients) * cards * (23.0 - cards) / 23.0;
        sheet.within(&format!("{name}, transactions"), ended(kind), expected - off, expected + off);
    }
    new_orders(options, tally, sheet);
    payments(options, tally, sheet);
    queries(tally, sheet);
}

fn new_orders(options: &ConformTpcc, tally: &Tally, sheet: &mut Sheet) {
    let (counts, kind) = (Counts(tally), &tally.kinds[0]);
    let (orders, lines) = (kind.committed_ever as f64, counts.of("lines"));
    let is_remote = options.warehouses > 1;
    share(sheet, "New-Orders rolled back", kind.rolled_back_ever as f64, ended(kind), 0.01);
    // Uniform in 5 to 15, and in 1 to 10.
    mean(sheet, "lines per New-Order", lines, orders, 10.0, 3.162);
    mean(sheet, "quantity per line", counts.of("quantity"), lines, 5.5, 2.872);
    if is_remote {
        let all_local = (5..=15).map(|count| 0.99f64.powi(count)).sum::<f64>() / 11.0;
        share(sheet, "remote lines", counts.of("remote_lines"), lines, 0.01);
        share(sheet, "orders with a remote line", counts.of("remote_orders"), orders, 1.0 - all_local);
    } else {
        sheet.exactly("remote lines", counts.of("remote_lines"), 0.0);
        sheet.exactly("orders with a remote line", counts.of("remote_orders"), 0.0);
    }
    share(sheet, "orders with an item twice", counts.of("repeated_item_orders"), orders, 0.009);
    if orders > ENOUGH {
        sheet.within("rolled back, % (acceptance)", 100.0 * kind.rolled_back_ever as f64 / ended(kind), 0.9, 1.1);
        sheet.within("lines per New-Order (acceptance)", lines / orders, 9.5, 10.5);
        if is_remote {
            sheet.within("remote lines, % (acceptance)", 100.0 * counts.of("remote_lines") / lines, 0.95, 1.05);
        }
    }
}

fn payments(options: &ConformTpcc, tally: &Tally, sheet: &mut Sheet) {
    let (counts, payments) = (Counts(tally), tally.kinds[1].committed_ever as f64);
    if options.warehouses > 1 {
        share(sheet, "remote Payments", counts.of("remote_payments"), payments, 0.15);
    } else {
        sheet.exactly("remote Payments", counts.of("remote_payments"), 0.0);
    }
    let by_name = counts.of("payments_by_name");
    share(sheet, "Payments by last name", by_name, payments, 0.6);
    // The range of all legal constants, and the deviations of names that are asked for few times.
    let off = SPREAD * 2.5 / by_name.sqrt();
    sheet.within("customers of that name, mean", counts.of("payment_name_rows") / by_name, 1.75 - off, 3.95 + off);
    // Some customers pay much more often than others, and whether those have bad credit is chance too: payments
    // carry as much information as so many of customers who differ.
    let customers = 1.0 / (1.0 / payments + 1.0 / (DIFFERENT_CUSTOMERS * options.warehouses as f64));
    let (least, most) = shares_by_chance(customers, 0.1);
    let bad = 100.0 * counts.of("bad_credit_payments") / payments;
    sheet.within("Payments with bad credit, %", bad, 100.0 * least, 100.0 * most);
    mean(sheet, "h_amount, mean", counts.of("payment_cents") / 100.0, payments, 2500.50, 1443.09);
    if payments > ENOUGH {
        sheet.within("Payments by last name, % (acceptance)", 100.0 * by_name / payments, 57.0, 63.0);
        if options.warehouses > 1 {
            let remote = 100.0 * counts.of("remote_payments") / payments;
            sheet.within("remote Payments, % (acceptance)", remote, 14.0, 16.0);
        }
    }
}

fn queries(tally: &Tally, sheet: &mut Sheet) {
    let counts = Counts(tally);
    let (asked, by_name) = (tally.kinds[2].committed_ever as f64, counts.of("order_statuses_by_name"));
    share(sheet, "Order-Statuses by last name", by_name, asked, 0.6);
    let (delivered, skipped) = (counts.of("delivered_orders"), counts.of("skipped_districts"));
    let deliveries = tally.kinds[3].committed_ever as f64;
    sheet.exactly("delivered orders and skipped districts", delivered + skipped, 10.0 * deliveries);
    sheet.exactly("skipped districts", skipped, 0.0);
}

/// What only the tables show, of all runs together.
pub fn check_tables(
    options: &ConformTpcc,
    admin: &mut Admin,
    forms: usize,
    ran: Option<&Tally>,
    sheet: &mut Sheet,
) -> Result<()> {
    let Some(ran) = ran else { return Ok(()) };
    sheet.title(" all forms together, by the tables");
    // The load's own payments are of the day that every load has.
    let since = "h_date > '2025-12-31 00:00:00'";
    let scale = if admin.dialect() == Dialect::Sqlite { 100.0 } else { 1.0 };
    let found = number(admin, &format!("SELECT COUNT(*) FROM history WHERE {since}"))?;
    sheet.exactly("Payments", found, ran.kinds[1].committed_ever as f64);
    let least = number(admin, &format!("SELECT MIN(h_amount) FROM history WHERE {since}"))? / scale;
    let most = number(admin, &format!("SELECT MAX(h_amount) FROM history WHERE {since}"))? / scale;
    let holds = least >= 1.0 && most <= 5000.0;
    sheet.line("h_amount", format!("{least} to {most}"), "1 to 5000", holds);
    let remote = Counts(ran).of("remote_payments");
    if options.warehouses > 1 && remote >= 15.0 * options.warehouses as f64 {
        let hit = "SELECT COUNT(*) FROM (SELECT h_c_w_id FROM history WHERE h_c_w_id <> h_w_id GROUP BY h_c_w_id) x";
        sheet.exactly("warehouses that were a remote one", number(admin, hit)?, options.warehouses as f64);
    }
    let hottest =
        "SELECT COUNT(*) FROM order_line WHERE ol_o_id > 3000 GROUP BY ol_i_id ORDER BY COUNT(*) DESC LIMIT 1";
    let (hottest, lines) = (number(admin, hottest)?, Counts(ran).of("lines"));
    // Each form draws with constants of its own, and so has another hottest item. And the largest of many shares
    // that are nearly as large is larger than any of them is expected to be.
    let expected = 0.001_946 * lines / forms as f64;
    let spread = (SPREAD + 0.25) * expected.sqrt();
    sheet.within("lines of the hottest item", hottest, expected - spread, expected + spread);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_things_may_happen_three_times_as_often_among_few() {
        let (least, most) = shares_by_chance(435.0, 0.01);
        assert!(least == 0.0 && most > 14.0 / 435.0, "{least} to {most}");
        assert!(most < 24.0 / 435.0, "a generator that rolls back far too often is found: {most}");
    }

    #[test]
    fn many_draws_leave_little_to_chance() {
        let (least, most) = shares_by_chance(90_000.0, 0.01);
        assert!(least > 0.0083 && most < 0.0117, "{least} to {most}");
    }
}
