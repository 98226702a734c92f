//! DBT-2's table of response times, in which articles before 2012 show a TPC-C-derived run.
//!
//! Of a stored run, one table per contender and point: counts are the sums over its trials, averages
//! those of all transactions, percentiles the mean of the trials' own. What must stay true: a Total
//! that counts rollbacks twice, as the old report did, is printed only where its arithmetic was asked
//! for by name.

use super::{Evidence, Report, wording};
use analysis::{Cell, Kind};
use record::format::{TrialRecord, WorkloadRecord, point_text};

/// How the old report and ours count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// Each transaction once.
    Once,
    /// Rollbacks are added to a total that holds them already.
    Classic,
}

/// What one table tells.
pub struct Figures<'a> {
    pub kinds: &'a [Kind],
    pub measured_s: f64,
    pub ramp_up_s: f64,
    /// Arrivals of an open loop that never ran, and so are in no type's times.
    pub never_ran: f64,
}

/// The kind of transactions that the rate is of.
const NEW_ORDER: &str = "new_order";

/// Rows in the order of the old report.
const ROWS: [(&str, &str); 5] = [
    ("delivery", "Delivery"),
    (NEW_ORDER, "New Order"),
    ("order_status", "Order Status"),
    ("payment", "Payment"),
    ("stock_level", "Stock Level"),
];

const HEADING: &str = "                         Response Time (s)
 Transaction      %    Average :    90th %        Total        Rollbacks      %
------------  -----  ---------------------  -----------  ---------------  -----
";
const RULE: &str = "------------  -----  ---------------------  -----------  ---------------  -----\n";

/// Whether a workload with these kinds of transactions is one that the table can show.
pub fn has_its_transactions<'a>(mut kinds: impl Iterator<Item = &'a str>) -> bool {
    kinds.any(|kind| kind == NEW_ORDER)
}

/// The table with the lines below it.
pub fn table(figures: &Figures, arithmetic: Arithmetic) -> String {
    // Deliveries that were queued are told by their queueing, as they were there.
    let known = |kind: &&Kind| ROWS.iter().any(|(name, _)| *name == kind.name);
    let all: u64 = figures.kinds.iter().filter(known).map(|kind| total(kind, arithmetic)).sum();
    let mut text = HEADING.to_owned();
    for (name, title) in ROWS {
        text += &row(title, figures.kinds.iter().find(|kind| kind.name == name), all, arithmetic);
    }
    let committed = figures.kinds.iter().find(|kind| kind.name == NEW_ORDER).map_or(0, |kind| kind.committed_inside);
    let notpm = if figures.measured_s > 0.0 { committed as f64 * 60.0 / figures.measured_s } else { 0.0 };
    let errors: u64 = figures.kinds.iter().map(|kind| kind.failed).sum();
    text += RULE;
    text += &format!("\n{notpm:.2} new-order transactions per minute (NOTPM)\n");
    text += &format!("{:.1} minute duration\n", figures.measured_s / 60.0);
    text += &format!("{errors} total unknown errors\n{:.0} second(s) ramping up\n", figures.ramp_up_s);
    if figures.never_ran > 0.0 {
        text += &format!("response times are lower bounds: {:.0} arrivals never ran\n", figures.never_ran);
    }
    if arithmetic == Arithmetic::Once {
        text += "Total counts each transaction once; DBT-2's own report counted rollbacks twice (dbt2-compat does)\n";
    }
    text
}

/// Committed and rolled back.
fn ended(kind: &Kind) -> u64 {
    kind.committed_inside + kind.rolled_back_inside
}

fn total(kind: &Kind, arithmetic: Arithmetic) -> u64 {
    match arithmetic {
        Arithmetic::Once => ended(kind),
        Arithmetic::Classic => ended(kind) + kind.rolled_back_inside,
    }
}

fn row(title: &str, kind: Option<&Kind>, all: u64, arithmetic: Arithmetic) -> String {
    let Some(kind) = kind.filter(|kind| ended(kind) > 0) else {
        return format!("{title:>12}   0.00          N/A                      0                0   0.00\n");
    };
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let seconds = |ms: Option<f64>| ms.unwrap_or(0.0) / 1e3;
    format!(
        "{title:>12}  {:5.2}  {:9.3} : {:9.3}  {:11}  {:15}  {:5.2}\n",
        share(total(kind, arithmetic), all),
        seconds(kind.latency_ms_avg),
        seconds(kind.latency_ms_p90),
        total(kind, arithmetic),
        kind.rolled_back_inside,
        share(kind.rolled_back_inside, ended(kind)),
    )
}

pub const DBT2: Report = Report::new(
    "dbt2",
    "tpcc: DBT-2's table for each contender and point, every transaction counted once",
    "dbduel report last --format dbt2",
    |evidence, _| Ok(tables(evidence, Arithmetic::Once)),
);
pub const DBT2_COMPAT: Report = Report::new(
    "dbt2-compat",
    "the same in the arithmetic of DBT-2's old report, which counted rollbacks twice",
    "dbduel report last --format dbt2-compat",
    |evidence, _| Ok(tables(evidence, Arithmetic::Classic)),
);

/// A run's cells as DBT-2's tables.
fn tables(evidence: &Evidence, arithmetic: Arithmetic) -> String {
    let mut text = String::new();
    let ours = |record: &&WorkloadRecord| has_its_transactions(record.kinds.iter().map(|kind| kind.name.as_str()));
    let records = evidence.plan.workloads.iter().filter(ours);
    for record in records.clone() {
        let found = evidence.conclusions.workloads.iter().find(|one| one.workload == record.label);
        for cell in found.into_iter().flat_map(|one| &one.cells) {
            text += &cell_text(evidence, arithmetic, &record.label, record.clients_at(&cell.point), cell);
        }
    }
    if text.is_empty() {
        return "no workload of this run has TPC-C's transactions, and DBT-2's table has no others\n".to_owned();
    }
    let note = records.flat_map(|record| record.notes.first()).next();
    text + &note.map(|note| format!("{note}\n")).unwrap_or_default()
}

fn cell_text(evidence: &Evidence, arithmetic: Arithmetic, label: &str, clients: u32, cell: &Cell) -> String {
    let method = &evidence.plan.method;
    let place = format!("{label} on `{}`, {}", cell.contender, point_text(&cell.point));
    if cell.trials_ok == 0 {
        return format!("{place}: no trial has figures\n\n");
    }
    let trials = wording::count(cell.trials_ok, "trial");
    let interval_s = cell.metrics.get(TrialRecord::INTERVAL).map_or(method.duration_s, |one| one.mean);
    let figures = Figures {
        kinds: &cell.kinds,
        measured_s: interval_s * cell.trials_ok as f64,
        ramp_up_s: method.warmup_s,
        never_ran: cell.metrics.get("transactions.skipped").map_or(0.0, |one| one.mean * one.trials as f64),
    };
    let clients = wording::count(clients as usize, "client");
    let heading = format!("{place}: {clients}, {trials} of {} s together\n", wording::number(interval_s));
    format!("{heading}{}\n", table(&figures, arithmetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of an article of 2011, from log rows (n) and rollbacks among them (r).
    fn published() -> Vec<Kind> {
        let kind = |name: &str, rows: u64, rolled_back: u64, avg_s: f64, p90_s: f64| Kind {
            name: name.into(),
            committed_inside: rows - rolled_back,
            rolled_back_inside: rolled_back,
            latency_ms_avg: Some(avg_s * 1e3),
            latency_ms_p90: Some(p90_s * 1e3),
            ..Kind::default()
        };
        vec![
            kind("delivery", 539, 0, 2.772, 3.442),
            kind("new_order", 5620, 65, 2.386, 3.030),
            kind("order_status", 536, 0, 2.055, 2.465),
            kind("payment", 5500, 0, 2.309, 2.982),
            kind("stock_level", 478, 242, 2.464, 3.105),
        ]
    }

    #[test]
    fn the_old_arithmetic_gives_the_published_table() {
        let expected = "                         Response Time (s)
 Transaction      %    Average :    90th %        Total        Rollbacks      %
------------  -----  ---------------------  -----------  ---------------  -----
    Delivery   4.15      2.772 :     3.442          539                0   0.00
   New Order  43.80      2.386 :     3.030         5685               65   1.16
Order Status   4.13      2.055 :     2.465          536                0   0.00
     Payment  42.37      2.309 :     2.982         5500                0   0.00
 Stock Level   5.55      2.464 :     3.105          720              242  50.63
------------  -----  ---------------------  -----------  ---------------  -----

1118.46 new-order transactions per minute (NOTPM)
5.0 minute duration
0 total unknown errors
1 second(s) ramping up
";
        let figures = Figures { kinds: &published(), measured_s: 298.0, ramp_up_s: 1.0, never_ran: 0.0 };
        assert_eq!(table(&figures, Arithmetic::Classic), expected);
    }

    #[test]
    fn counted_once_a_total_holds_no_rollback_twice() {
        let figures = Figures { kinds: &published(), measured_s: 298.0, ramp_up_s: 1.0, never_ran: 0.0 };
        let text = table(&figures, Arithmetic::Once);
        assert!(
            text.contains("   New Order  44.35      2.386 :     3.030         5620               65   1.16"),
            "{text}"
        );
        assert!(text.contains("1118.46 new-order") && text.contains("counts each transaction once"), "{text}");
    }

    #[test]
    fn times_of_an_open_loop_that_left_arrivals_out_are_marked_as_lower_bounds() {
        let text = |never_ran| {
            table(&Figures { kinds: &published(), measured_s: 298.0, ramp_up_s: 1.0, never_ran }, Arithmetic::Classic)
        };
        assert!(text(17.0).ends_with("\nresponse times are lower bounds: 17 arrivals never ran\n"), "{}", text(17.0));
        assert!(!text(0.0).contains("lower bounds"));
    }

    #[test]
    fn a_type_without_a_transaction_has_no_time() {
        let text = table(&Figures { kinds: &[], measured_s: 60.0, ramp_up_s: 0.0, never_ran: 0.0 }, Arithmetic::Once);
        assert!(
            text.contains("    Delivery   0.00          N/A                      0                0   0.00\n"),
            "{text}"
        );
        assert!(text.contains("0.00 new-order transactions per minute"), "{text}");
    }
}
