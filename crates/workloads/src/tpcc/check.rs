//! Are the data right? The consistency conditions of clause 3.3.2, invariants beyond them, and the clients' own counts.
//!
//! A query of `conditions.sql` reads whole tables and returns what contradicts itself: keys, then a
//! column for each rule, 0 where the rule holds. Totals are compared with what the clients counted
//! since the load, exactly, or within what unknown ends of transactions leave open. Run it while nothing
//! changes the tables. It changes nothing, and is no measure of how fast a server was.

mod journal;
mod violation;

use std::ops::RangeInclusive;

use driver::{Admin, Dialect, Error};

use self::violation::{ROWS_MAX, Rule, SQL, grouped, one_line, rule, violation};
use super::desk::Count;
use super::options::Delivery;
use super::options::{DEFERRED_DELIVERY, Tpcc};
use super::random::{CUSTOMERS_PER_DISTRICT, DISTRICTS, ITEMS};
use crate::sections::section;
use load::Tally;

/// Kinds of transactions that change the tables, as places in the list of kinds.
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const DELIVERY: usize = 3;

/// What the population made of each district, so that what came later can be distinguished from it.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    /// Orders, customers and rows of history: one of each per customer.
    orders: i64,
    /// Orders with a carrier.
    delivered: i64,
    /// Items, and so rows of stock per warehouse.
    items: i64,
}

const LOADED: Loaded = Loaded { orders: CUSTOMERS_PER_DISTRICT, delivered: 2_100, items: ITEMS };
/// The first payment of every customer.
const LOADED_CENTS: i64 = 10_00;

impl Loaded {
    fn sql(&self, name: &str, dialect: Dialect) -> String {
        let sql = section(SQL, name, dialect);
        sql.replace("{orders}", &self.orders.to_string()).replace("{delivered}", &self.delivered.to_string())
    }
}

/// A query whose rows are violations.
struct Query {
    section: &'static str,
    /// What its first columns are.
    keys: &'static [&'static str],
    /// What its other columns are about.
    rules: &'static [Rule],
}

const QUERIES: &[Query] = &[
    Query {
        section: "warehouses",
        keys: &["w"],
        rules: &[
            rule("condition 1", "w_ytd is the sum of d_ytd"),
            rule("condition 8", "w_ytd is the sum of the warehouse's h_amount"),
        ],
    },
    Query {
        section: "districts",
        keys: &["w", "d"],
        rules: &[
            rule("condition 2", "d_next_o_id - 1 is the newest order and the newest new_order"),
            rule("condition 3", "the ids of new_order have no hole"),
            rule("condition 9", "d_ytd is the sum of the district's h_amount"),
            rule("condition 11", "orders without new_orders are those loaded as delivered, and the deliveries since"),
            rule("E7", "there are as many orders as ids were given"),
        ],
    },
    Query {
        section: "lines",
        keys: &["w", "d"],
        rules: &[rule("condition 4", "the sum of o_ol_cnt is the number of order lines")],
    },
    Query {
        section: "waiting",
        keys: &["w", "d", "o"],
        rules: &[rule("condition 5", "o_carrier_id is NULL exactly for orders in new_order")],
    },
    Query {
        section: "orders",
        keys: &["w", "d", "o"],
        // By the lines that there are: an order without any is one of condition 4.
        rules: &[
            rule("condition 6", "o_ol_cnt is the number of the order's lines"),
            rule("condition 7", "ol_delivery_d is NULL exactly while o_carrier_id is"),
            rule("E10", "o_all_local is 0 exactly for orders with a remote line"),
        ],
    },
    Query {
        section: "customers",
        keys: &["w", "d", "c"],
        rules: &[rule("condition 12", "c_balance and c_ytd_payment are what was delivered")],
    },
    Query {
        section: "payments",
        keys: &["w", "d", "c"],
        rules: &[
            rule("E5", "c_payment_cnt is the number of the customer's rows in history"),
            rule("E9", "c_ytd_payment is the sum of the customer's h_amount"),
        ],
    },
    Query {
        section: "deliveries",
        keys: &["w", "d", "c"],
        rules: &[rule("E6", "c_delivery_cnt is the number of the customer's orders delivered since the load")],
    },
    Query {
        section: "stock",
        keys: &["w", "i"],
        rules: &[
            rule("E1", "s_order_cnt is the number of lines ordered since the load"),
            rule("E2", "s_ytd is the quantity ordered since the load"),
            rule("E3", "s_remote_cnt is the number of lines ordered elsewhere since the load"),
            rule("E4", "s_quantity is from 10 to 100"),
        ],
    },
    Query {
        section: "amounts",
        keys: &["w", "d", "o", "line"],
        rules: &[rule("E11", "ol_amount of a line ordered since the load is its quantity times i_price")],
    },
];

/// What was delivered without what was paid is the balance, if both the sum of balance and payments is
/// what was delivered (condition 12) and payments are those of history (E9). So this query, which takes as
/// long as all others together, is asked only when one of them is broken.
const BALANCES: Query = Query {
    section: "balances",
    keys: &["w", "d", "c"],
    rules: &[rule("condition 10", "c_balance is what was delivered without what was paid")],
};
const IMPLY_BALANCES: [&str; 2] = ["condition 12", "E9"];

/// Looks for wrong data; each line is a violation.
pub fn check(tpcc: &Tpcc, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
    Ledger { loaded: LOADED, tpcc }.check(admin, ran)
}

/// What became of the transactions whose success a server had acknowledged before it was killed: their
/// effects are there, or not, and the conditions hold, or not.
pub fn after_crash(tpcc: &Tpcc, admin: &mut Admin, ran: &Tally) -> Result<String, Error> {
    Ledger { loaded: LOADED, tpcc }.verdict(admin, ran)
}

fn promise(what: &str, acknowledged: i64, found: i64) -> String {
    match acknowledged - found {
        ..=0 => format!("all {} acknowledged {what} are there", grouped(acknowledged)),
        missing => format!("{} of {} acknowledged {what} are missing", grouped(missing), grouped(acknowledged)),
    }
}

/// What stands in a table as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Warehouses,
    Districts,
    Customers,
    Items,
    Stock,
    NewOrders,
    Payments,
    PaymentCents,
    DeliveredOrders,
    Lines,
    Quantity,
    RemoteLines,
    RemoteOrders,
}

/// Sections of totals, with what their columns are.
const TOTALS: &[(&str, &[Amount])] = &[
    ("all-warehouses", &[Amount::Warehouses]),
    ("all-districts", &[Amount::Districts, Amount::NewOrders]),
    ("all-customers", &[Amount::Customers, Amount::DeliveredOrders]),
    ("all-history", &[Amount::Payments, Amount::PaymentCents]),
    ("all-items", &[Amount::Items]),
    ("all-stock", &[Amount::Stock, Amount::Lines, Amount::Quantity, Amount::RemoteLines]),
    ("all-remote-orders", &[Amount::RemoteOrders]),
];

impl Amount {
    fn rule(self) -> Rule {
        match self {
            Amount::Warehouses => rule("size", "rows of warehouse"),
            Amount::Districts => rule("size", "rows of district"),
            Amount::Customers => rule("size", "rows of customer"),
            Amount::Items => rule("size", "rows of item"),
            Amount::Stock => rule("size", "rows of stock"),
            Amount::NewOrders => {
                rule("E7", "order ids given since the load, and New-Orders that the clients committed")
            }
            Amount::Payments => rule("E8", "rows of history since the load, and Payments that the clients committed"),
            Amount::PaymentCents => rule("E8", "cents in history since the load, and cents that the clients paid"),
            Amount::DeliveredOrders => rule("E6", "sum of c_delivery_cnt, and orders that the clients delivered"),
            Amount::Lines => rule("E1", "sum of s_order_cnt, and lines that the clients ordered"),
            Amount::Quantity => rule("E2", "sum of s_ytd, and quantity that the clients ordered"),
            Amount::RemoteLines => rule("E3", "sum of s_remote_cnt, and remote lines that the clients ordered"),
            Amount::RemoteOrders => rule("E10", "orders that are not all local, and those that the clients made"),
        }
    }
}

/// One amount, with where it was read.
struct Total {
    amount: Amount,
    found: i64,
    sql: String,
}

/// What has come since the load by the clients' counts: between these numbers.
struct ClientCounts {
    new_orders: RangeInclusive<i64>,
    payments: RangeInclusive<i64>,
    payment_cents: RangeInclusive<i64>,
    delivered_orders: RangeInclusive<i64>,
    lines: RangeInclusive<i64>,
    quantity: RangeInclusive<i64>,
    remote_lines: RangeInclusive<i64>,
    remote_orders: RangeInclusive<i64>,
}

impl ClientCounts {
    /// By the clients' counts. Of each kind so many more than they counted may have become permanent
    /// unseen, each with at most what one transaction can do.
    fn by(tpcc: &Tpcc, ran: &Tally, unseen: i64) -> ClientCounts {
        // Deliveries that were queued are counted where they were run.
        let delivery = if tpcc.delivery == Delivery::Queued { DEFERRED_DELIVERY } else { DELIVERY };
        let open = |kind: usize| ran.kinds[kind].unknown_ever as i64 + unseen;
        let committed = |kind: usize| ran.kinds[kind].committed_ever as i64;
        let counted = |count: Count| ran.counts_ever[count as usize] as i64;
        let range = |known: i64, more: i64| known..=known + more;
        let (orders, payments, deliveries) = (open(NEW_ORDER), open(PAYMENT), open(delivery));
        let delivered = counted(Count::DeliveredOrders);
        ClientCounts {
            new_orders: range(committed(NEW_ORDER), orders),
            payments: range(committed(PAYMENT), payments),
            payment_cents: range(counted(Count::PaymentCents), payments * 500_000),
            delivered_orders: match tpcc.delivery {
                Delivery::Whole | Delivery::Queued => range(delivered, deliveries * DISTRICTS),
                // A try that failed in its sixth district has committed five, and is counted as none.
                Delivery::PerDistrict => delivered..=i64::MAX,
            },
            lines: range(counted(Count::Lines), orders * 15),
            quantity: range(counted(Count::Quantity), orders * 150),
            remote_lines: range(counted(Count::RemoteLines), orders * 15),
            remote_orders: range(counted(Count::RemoteOrders), orders),
        }
    }

    fn nothing() -> ClientCounts {
        let none = || 0..=0;
        ClientCounts {
            new_orders: none(),
            payments: none(),
            payment_cents: none(),
            delivered_orders: none(),
            lines: none(),
            quantity: none(),
            remote_lines: none(),
            remote_orders: none(),
        }
    }
}

/// What the tables have to add up to.
struct Ledger<'a> {
    loaded: Loaded,
    tpcc: &'a Tpcc,
}

impl Ledger<'_> {
    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error> {
        let counts = ran.map(|ran| ClientCounts::by(self.tpcc, ran, 0));
        let found = self.totals(admin)?;
        let traces = [Amount::NewOrders, Amount::Payments, Amount::DeliveredOrders];
        let is_untouched = found.iter().all(|total| total.found == 0 || !traces.contains(&total.amount));
        let counts = counts.or_else(|| is_untouched.then(ClientCounts::nothing));
        let mut violations = self.contradictions(admin)?;
        violations.extend(self.differences(&found, counts.as_ref()));
        if let Some(ran) = ran {
            violations.extend(journal::violations(self.tpcc, self.loaded.delivered, admin, ran)?);
            violations.extend(self.early_skips(ran));
        }
        Ok(violations)
    }

    /// No district's queue is empty before all its loaded orders are delivered.
    fn early_skips(&self, ran: &Tally) -> Option<String> {
        let counted = |count: Count| ran.counts_ever[count as usize] as i64;
        let (skipped, delivered) = (counted(Count::SkippedDistricts), counted(Count::DeliveredOrders));
        let queued = self.loaded.orders - self.loaded.delivered;
        (skipped > 0 && delivered < queued).then(|| {
            format!(
                "Deliveries found no order in {skipped} districts, and {queued} orders were waiting in each: \
                 only {delivered} were delivered in all"
            )
        })
    }

    fn verdict(&self, admin: &mut Admin, ran: &Tally) -> Result<String, Error> {
        let found = self.totals(admin)?;
        // Each client may have been waiting for one answer, which is not counted; background slots are
        // no more than there are clients, and change nothing but what was delivered.
        let counts = ClientCounts::by(self.tpcc, ran, i64::from(ran.clients));
        let delivered = ran.counts_ever[Count::DeliveredOrders as usize];
        let promised = [
            ("New-Orders", ran.kinds[NEW_ORDER].committed_ever, Amount::NewOrders),
            ("Payments", ran.kinds[PAYMENT].committed_ever, Amount::Payments),
            ("delivered orders", delivered, Amount::DeliveredOrders),
        ];
        let lines = promised.map(|(what, acknowledged, amount)| {
            let found = found.iter().find(|total| total.amount == amount).map_or(0, |total| total.found);
            promise(what, acknowledged as i64, found)
        });
        let mut violations = self.contradictions(admin)?;
        violations.extend(self.differences(&found, Some(&counts)));
        violations.extend(journal::violations(self.tpcc, self.loaded.delivered, admin, ran)?);
        let rest = match violations.as_slice() {
            [] => "the data are consistent".to_owned(),
            _ => format!("the data are wrong:\n{}", violations.join("\n")),
        };
        Ok(format!("{}; {rest}", lines.join(", ")))
    }

    /// Contradictions within the tables.
    fn contradictions(&self, admin: &mut Admin) -> Result<Vec<String>, Error> {
        let mut violations = Vec::new();
        for query in QUERIES {
            self.ask(query, admin, &mut violations)?;
        }
        if violations.iter().any(|line| IMPLY_BALANCES.iter().any(|name| line.starts_with(&format!("{name} (")))) {
            self.ask(&BALANCES, admin, &mut violations)?;
        }
        Ok(violations)
    }

    fn ask(&self, query: &Query, admin: &mut Admin, violations: &mut Vec<String>) -> Result<(), Error> {
        let sql = self.loaded.sql(query.section, admin.dialect());
        let rows = admin.rows(&format!("{sql} LIMIT {ROWS_MAX}"))?;
        violations.extend(query.rules.iter().enumerate().filter_map(|(place, rule)| {
            let broken = |row: &&Vec<Option<String>>| !row[query.keys.len() + place].as_deref().is_some_and(is_zero);
            let broken: Vec<_> = rows.iter().filter(broken).collect();
            (!broken.is_empty()).then(|| violation(rule, query.keys, place, &broken, &sql))
        }));
        Ok(())
    }

    fn totals(&self, admin: &mut Admin) -> Result<Vec<Total>, Error> {
        let mut totals = Vec::new();
        for (name, amounts) in TOTALS {
            let sql = self.loaded.sql(name, admin.dialect());
            let rows = admin.rows(&sql)?;
            let row = rows.first().ok_or_else(|| Error::Protocol(format!("no row from {sql}")))?;
            for (amount, cell) in amounts.iter().zip(row) {
                let found = units(cell.as_deref(), &sql)? - self.loaded_of(*amount);
                totals.push(Total { amount: *amount, found, sql: sql.clone() });
            }
        }
        Ok(totals)
    }

    /// How much of an amount the population made; what is never changed counts from 0.
    fn loaded_of(&self, amount: Amount) -> i64 {
        let customers = self.tpcc.warehouses as i64 * DISTRICTS * self.loaded.orders;
        match amount {
            Amount::Payments => customers,
            Amount::PaymentCents => customers * LOADED_CENTS,
            _ => 0,
        }
    }

    /// Contradictions between the tables, the options and the clients' counts.
    fn differences(&self, found: &[Total], counts: Option<&ClientCounts>) -> Vec<String> {
        let differs = |total: &Total| {
            let expected = self.expected(total.amount, counts)?;
            (!expected.contains(&total.found)).then(|| {
                let (Rule { name, text }, sql) = (total.amount.rule(), one_line(&total.sql));
                let expected = match (*expected.start(), *expected.end()) {
                    (low, high) if low == high => grouped(low),
                    (low, i64::MAX) => format!("{} or more", grouped(low)),
                    (low, high) => format!("{} to {}", grouped(low), grouped(high)),
                };
                format!("{name} ({text}) is broken: found {}, expected {expected}; by: {sql}", grouped(total.found))
            })
        };
        found.iter().filter_map(differs).collect()
    }

    fn expected(&self, amount: Amount, counts: Option<&ClientCounts>) -> Option<RangeInclusive<i64>> {
        let warehouses = self.tpcc.warehouses as i64;
        let exactly = |count: i64| Some(count..=count);
        match amount {
            Amount::Warehouses => exactly(warehouses),
            Amount::Districts => exactly(warehouses * DISTRICTS),
            Amount::Customers => exactly(warehouses * DISTRICTS * self.loaded.orders),
            Amount::Items => exactly(self.loaded.items),
            Amount::Stock => exactly(warehouses * self.loaded.items),
            Amount::NewOrders => counts.map(|counts| counts.new_orders.clone()),
            Amount::Payments => counts.map(|counts| counts.payments.clone()),
            Amount::PaymentCents => counts.map(|counts| counts.payment_cents.clone()),
            Amount::DeliveredOrders => counts.map(|counts| counts.delivered_orders.clone()),
            Amount::Lines => counts.map(|counts| counts.lines.clone()),
            Amount::Quantity => counts.map(|counts| counts.quantity.clone()),
            Amount::RemoteLines => counts.map(|counts| counts.remote_lines.clone()),
            Amount::RemoteOrders => counts.map(|counts| counts.remote_orders.clone()),
        }
    }
}

fn is_zero(number: &str) -> bool {
    !number.is_empty() && number.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-'))
}

/// A whole number, or money in cents; an empty table's sum is 0.
fn units(cell: Option<&str>, sql: &str) -> Result<i64, Error> {
    let digits = cell.unwrap_or("0").replace('.', "");
    digits.parse().map_err(|_| Error::Protocol(format!("no number but {cell:?} from {sql}")))
}

#[cfg(test)]
mod tests;
