//! The population, by counts and distributions (clause 4.3.3, with tolerances of four standard deviations).

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};

use super::sheet::Sheet;

/// Chi-square with ten degrees of freedom is above it in one of a thousand populations.
const CHI_SQUARE_MAX: f64 = 29.588;

/// The first number of a query; money comes in the currency, whatever the server keeps.
pub fn number(admin: &mut Admin, sql: &str) -> Result<f64> {
    let found = admin.value(sql)?.with_context(|| format!("no row from {sql}"))?;
    found.parse().with_context(|| format!("no number but {found} from {sql}"))
}

pub fn look(admin: &mut Admin, warehouses: i64, sheet: &mut Sheet) -> Result<()> {
    let w = warehouses as f64;
    counts(admin, w, sheet)?;
    lines_per_order(admin, sheet)?;
    orders(admin, w, sheet)?;
    shares(admin, w, sheet)?;
    names(admin, w, sheet)?;
    ranges(admin, sheet)
}

fn counts(admin: &mut Admin, w: f64, sheet: &mut Sheet) -> Result<()> {
    for (table, rows) in [
        ("warehouse", w),
        ("district", 10.0 * w),
        ("customer", 30_000.0 * w),
        ("history", 30_000.0 * w),
        ("orders", 30_000.0 * w),
        ("new_order", 9_000.0 * w),
        ("stock", 100_000.0 * w),
        ("item", 100_000.0),
    ] {
        let found = number(admin, &format!("SELECT COUNT(*) FROM {table}"))?;
        sheet.exactly(&format!("rows of {table}"), found, rows);
    }
    let lines = number(admin, "SELECT COUNT(*) FROM order_line")?;
    let spread = 2_750.0 * w.sqrt();
    sheet.within("rows of order_line", lines, 300_000.0 * w - spread, 300_000.0 * w + spread);
    let sum = number(admin, "SELECT SUM(o_ol_cnt) FROM orders")?;
    sheet.exactly("rows of order_line, by sum of o_ol_cnt", lines, sum);
    Ok(())
}

fn lines_per_order(admin: &mut Admin, sheet: &mut Sheet) -> Result<()> {
    let rows = admin.rows("SELECT o_ol_cnt, COUNT(*) FROM orders GROUP BY o_ol_cnt ORDER BY o_ol_cnt")?;
    let cell = |row: &Vec<Option<String>>, at: usize| row[at].as_deref().unwrap_or_default().parse::<f64>();
    let values = rows.iter().map(|row| cell(row, 0)).collect::<Result<Vec<_>, _>>()?;
    let counts = rows.iter().map(|row| cell(row, 1)).collect::<Result<Vec<_>, _>>()?;
    let all = (5..=15).map(f64::from).collect::<Vec<_>>();
    sheet.line("values of o_ol_cnt", values.len(), "5 to 15, each", values == all);
    let expected = counts.iter().sum::<f64>() / 11.0;
    let chi_square: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    sheet.within("chi-square of o_ol_cnt (p > 0.001)", chi_square, 0.0, CHI_SQUARE_MAX);
    Ok(())
}

fn orders(admin: &mut Admin, w: f64, sheet: &mut Sheet) -> Result<()> {
    let ordering = "SELECT COUNT(*) FROM (SELECT o_c_id FROM orders GROUP BY o_w_id, o_d_id, o_c_id) x";
    sheet.exactly("customers with an order", number(admin, ordering)?, 30_000.0 * w);
    let open = number(admin, "SELECT COUNT(*) FROM orders WHERE o_carrier_id IS NULL")?;
    sheet.exactly("orders without a carrier", open, 9_000.0 * w);
    for (what, sql) in [
        ("carriers on the wrong side of 2101", "orders WHERE (o_carrier_id IS NULL) <> (o_id >= 2101)"),
        ("carriers out of 1 to 10", "orders WHERE o_carrier_id < 1 OR o_carrier_id > 10"),
        ("new_order on the wrong side of 2101", "new_order WHERE no_o_id < 2101 OR no_o_id > 3000"),
        ("amounts on the wrong side of 2101", "order_line WHERE (ol_amount = 0) <> (ol_o_id < 2101)"),
        ("delivery dates on the wrong side of 2101", "order_line WHERE (ol_delivery_d IS NULL) <> (ol_o_id >= 2101)"),
        ("lines with another quantity than 5", "order_line WHERE ol_quantity <> 5"),
        ("lines from elsewhere", "order_line WHERE ol_supply_w_id <> ol_w_id"),
        ("unused items", "order_line WHERE ol_i_id < 1 OR ol_i_id > 100000"),
    ] {
        sheet.exactly(what, number(admin, &format!("SELECT COUNT(*) FROM {sql}"))?, 0.0);
    }
    Ok(())
}

fn shares(admin: &mut Admin, w: f64, sheet: &mut Sheet) -> Result<()> {
    let bad = number(admin, "SELECT COUNT(*) FROM customer WHERE c_credit = 'BC'")? / (300.0 * w);
    sheet.within("customers with bad credit, %", bad, 10.0 - 0.9 / w.sqrt(), 10.0 + 0.9 / w.sqrt());
    for (table, column, rows, points) in
        [("item", "i_data", 100_000.0, 0.5), ("stock", "s_data", 100_000.0 * w, 0.5 / w.sqrt())]
    {
        // SQLite's LIKE takes lower case for upper case.
        let original = match admin.dialect() {
            Dialect::Sqlite => format!("instr({column}, 'ORIGINAL') > 0"),
            Dialect::MySql | Dialect::Postgres => format!("{column} LIKE '%ORIGINAL%'"),
        };
        let found = number(admin, &format!("SELECT COUNT(*) FROM {table} WHERE {original}"))?;
        sheet.within(&format!("ORIGINAL in {column}, %"), found * 100.0 / rows, 10.0 - points, 10.0 + points);
    }
    Ok(())
}

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

fn names(admin: &mut Admin, w: f64, sheet: &mut Sheet) -> Result<()> {
    let rows =
        admin.rows("SELECT c_id, c_last FROM customer WHERE c_id <= 1000 GROUP BY c_id, c_last ORDER BY c_id")?;
    let fits = |(at, row): (usize, &Vec<Option<String>>)| {
        let name: String = [at / 100, at / 10 % 10, at % 10].map(|digit| SYLLABLES[digit % 10]).concat();
        row[0].as_deref() == Some((at + 1).to_string().as_str()) && row[1].as_deref() == Some(name.as_str())
    };
    let fitting = rows.iter().enumerate().filter(|numbered| fits(*numbered)).count();
    sheet.line("names of customers 1 to 1000", fitting, "1000", fitting == 1000 && rows.len() == 1000);
    let distinct = "SELECT COUNT(*) FROM (SELECT c_last FROM customer GROUP BY c_w_id, c_d_id, c_last) x";
    sheet.exactly("last names, over all districts", number(admin, distinct)?, 10_000.0 * w);
    Ok(())
}

/// Lowest and highest of a column: both ends must be reachable, and of many rows they are reached.
fn ranges(admin: &mut Admin, sheet: &mut Sheet) -> Result<()> {
    let (money, rate) = if admin.dialect() == Dialect::Sqlite { (100.0, 10_000.0) } else { (1.0, 1.0) };
    for (column, table, scale, low, high, is_reached) in [
        ("i_price", "item", money, 1.0, 100.0, true),
        ("s_quantity", "stock", 1.0, 10.0, 100.0, true),
        ("c_discount", "customer", rate, 0.0, 0.5, false),
        ("d_tax", "district", rate, 0.0, 0.2, false),
        ("w_tax", "warehouse", rate, 0.0, 0.2, false),
        ("i_im_id", "item", 1.0, 1.0, 10_000.0, false),
    ] {
        let least = number(admin, &format!("SELECT MIN({column}) FROM {table}"))? / scale;
        let most = number(admin, &format!("SELECT MAX({column}) FROM {table}"))? / scale;
        let holds = if is_reached { least == low && most == high } else { least >= low && most <= high };
        let reached = if is_reached { ", both reached" } else { "" };
        sheet.line(column, format!("{least} to {most}"), &format!("{low} to {high}{reached}"), holds);
    }
    for (column, table) in [("w_zip", "warehouse"), ("d_zip", "district"), ("c_zip", "customer")] {
        let others = number(admin, &format!("SELECT COUNT(*) FROM {table} WHERE {column} NOT LIKE '____11111'"))?;
        sheet.exactly(&format!("{column} without 11111 at its end"), others, 0.0);
    }
    let seeds = number(admin, "SELECT COUNT(*) FROM tpcc_meta")?;
    ensure!(seeds == 1.0, "tpcc_meta has {seeds} rows");
    Ok(())
}
