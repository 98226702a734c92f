//! Corruptions of real tables, one after the other and undone again: each must break the rules named.
//!
//! The workload's own tests hold the same kinds of corruption to the exact set of rules, on a miniature;
//! here the point is that each server's dialect finds them among a million rows.

use anyhow::{Context, Result};
use driver::Admin;
use load::{Tally, Workload};

use super::sheet::Sheet;

/// What is done, the statement, and rules that it breaks. `{waiting}` is an order of district 1 of warehouse 1
/// that is not delivered, `{newest}` its newest one, `{theirs}` that one's customer.
const CORRUPTIONS: &[(&str, &str, &str)] = &[
    ("a lost order line", "DELETE FROM order_line WHERE {of} ol_o_id = {newest} AND ol_number = 1", "4 6"),
    (
        "an extra order line",
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES ({waiting}, 1, 1, 99, 1, 1, NULL, 5, 1, 'x')",
        "4 6",
    ),
    ("a changed balance", "UPDATE customer SET c_balance = c_balance + 1 WHERE {at} c_id = 7", "10 12"),
    ("a changed w_ytd", "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1", "1 8"),
    ("a changed d_ytd", "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1", "1 9"),
    ("a changed c_ytd_payment", "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE {at} c_id = 7", "12 E9"),
    (
        "an order delivered twice",
        "UPDATE customer SET c_balance = c_balance + 100, c_delivery_cnt = c_delivery_cnt + 1 WHERE {at} c_id = 7",
        "10 11 12 E6",
    ),
    (
        "a wrong next order id",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1",
        "2 E7",
    ),
    ("a hole in new_order", "DELETE FROM new_order WHERE {no} no_o_id = {waiting}", "3 5 11"),
    ("a lost order", "DELETE FROM orders WHERE {o} o_id = 100", "4 11 E7"),
    ("a lost row of history", "DELETE FROM history WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 7", "8 9 E5 E8 E9"),
    ("s_quantity 9", "UPDATE stock SET s_quantity = 9 WHERE s_w_id = 1 AND s_i_id = 77777", "E4"),
    ("s_quantity 101", "UPDATE stock SET s_quantity = 101 WHERE s_w_id = 1 AND s_i_id = 77777", "E4"),
    (
        "a changed amount of a delivered order",
        "UPDATE order_line SET ol_amount = ol_amount + 1 WHERE {of} ol_o_id = 100 AND ol_number = 1",
        "10 12",
    ),
    (
        "a changed amount of a new order",
        "UPDATE order_line SET ol_amount = ol_amount + 1 WHERE {of} ol_o_id = {newest} AND ol_number = 1",
        "E11",
    ),
    ("a carrier for an order that waits", "UPDATE orders SET o_carrier_id = 1 WHERE {o} o_id = {waiting}", "5 7 E6"),
    (
        "a delivered line without a date",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE {of} ol_o_id = 100 AND ol_number = 1",
        "7",
    ),
    ("o_ol_cnt off by one", "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {o} o_id = 100", "4 6"),
    ("a wrong o_all_local", "UPDATE orders SET o_all_local = 1 - o_all_local WHERE {o} o_id = {newest}", "E10"),
    ("s_ytd off by one", "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 1 AND s_i_id = 77777", "E2"),
    (
        "s_order_cnt off by one",
        "UPDATE stock SET s_order_cnt = s_order_cnt + 1 WHERE s_w_id = 1 AND s_i_id = 77777",
        "E1",
    ),
    (
        "s_remote_cnt off by one",
        "UPDATE stock SET s_remote_cnt = s_remote_cnt + 1 WHERE s_w_id = 1 AND s_i_id = 77777",
        "E3",
    ),
    ("c_payment_cnt off by one", "UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE {at} c_id = 7", "E5"),
    (
        "c_delivery_cnt off by one",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE {at} c_id = 7",
        "E6 11",
    ),
    ("a lost row of stock", "DELETE FROM stock WHERE s_w_id = 1 AND s_i_id = 77777", "size"),
];

/// The clients count one more commit than there is.
const LOST: [(&str, usize, &str); 2] = [("a lost New-Order", 0, "E7"), ("a lost Payment", 1, "E8")];

pub fn inject(workload: &dyn Workload, admin: &mut Admin, ran: Option<&Tally>, sheet: &mut Sheet) -> Result<()> {
    let mut first = |sql: &str| -> Result<String> { admin.value(sql)?.with_context(|| format!("nothing from {sql}")) };
    let waiting = first("SELECT MAX(no_o_id) - 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = 1")?;
    let newest = first("SELECT MAX(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = 1")?;
    sheet.title(" corruptions, and the rules that they break");
    for (what, sql, rules) in CORRUPTIONS {
        let sql = sql.replace("{waiting}", &waiting).replace("{newest}", &newest);
        let sql =
            sql.replace("{of}", "ol_w_id = 1 AND ol_d_id = 1 AND").replace("{o}", "o_w_id = 1 AND o_d_id = 1 AND");
        let sql =
            sql.replace("{at}", "c_w_id = 1 AND c_d_id = 1 AND").replace("{no}", "no_w_id = 1 AND no_d_id = 1 AND");
        admin.run("BEGIN")?;
        let changed = admin.run(&sql).with_context(|| format!("`{sql}` failed"))?;
        let violations = workload.check(admin, ran)?;
        admin.run("ROLLBACK")?;
        report(what, rules, if changed > 0 { &violations } else { &[] }, sheet);
    }
    let Some(ran) = ran else { return Ok(()) };
    for (what, kind, rules) in LOST {
        let mut ran = ran.clone();
        ran.kinds[kind].committed_ever += 1;
        report(what, rules, &workload.check(admin, Some(&ran))?, sheet);
    }
    Ok(())
}

pub fn report(what: &str, rules: &str, violations: &[String], sheet: &mut Sheet) {
    let broken: Vec<&str> = violations.iter().filter_map(|line| line.split(" (").next()).collect();
    let is_broken = |rule: &str| broken.iter().any(|name| name.strip_prefix("condition ").unwrap_or(name) == rule);
    let caught = rules.split_whitespace().all(is_broken);
    let mut found: Vec<&str> = broken.iter().map(|name| name.strip_prefix("condition ").unwrap_or(name)).collect();
    found.dedup();
    sheet.line(what, found.join(" "), rules, caught);
}
