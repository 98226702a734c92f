//! One pass over operations, as `dbduel bench` prints it: programs and their operations as they ran.

use comfy_table::{CellAlignment, ColumnConstraint, Table};
use load::{OperationTally, ProgramTally};

use record::format::figures::{self, fixed};

/// One table row of times.
pub const TABLE_STYLE: &str = "     ──            ";

const COLUMNS: [&str; 7] = ["operation", "count", "statements", "connections", "seconds", "client CPU s", "note"];
/// Statements and connections, which --json has too.
const ONLY_WHERE_WIDE: [usize; 2] = [2, 3];
/// Columns from the first to the last that hold numbers.
const NUMBERS: std::ops::Range<usize> = 1..6;

/// A table, and the sums below it.
pub fn lines(programs: &[ProgramTally], width: usize) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(TABLE_STYLE).set_header(COLUMNS);
    for program in programs {
        let estimated = if program.is_estimated() { "estimated" } else { "" };
        let [empty, total] = [String::new(), seconds(program.wall_ns)];
        let cells = [program.name.to_owned(), empty.clone(), empty.clone(), empty.clone(), total, empty];
        table.add_row(cells.into_iter().chain([estimated.to_owned()]));
        table.add_rows(program.operations.iter().map(row));
    }
    for column in NUMBERS {
        let column = table.column_mut(column).expect("the table has these columns");
        column.set_cell_alignment(CellAlignment::Right);
    }
    let is_wide = table.lines().any(|line| line.trim_end().chars().count() > width);
    if is_wide {
        for column in ONLY_WHERE_WIDE {
            let column = table.column_mut(column).expect("the table has these columns");
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let operations = programs.iter().flat_map(|program| &program.operations);
    let timed: Vec<&OperationTally> = operations.filter(|operation| operation.refused.is_none()).collect();
    let timed_ns = timed.iter().map(|operation| operation.wall_ns).sum();
    let all_ns = programs.iter().map(|program| program.wall_ns).sum();
    lines.push(String::new());
    lines.push(format!(
        "total: {} s for {} operations ({} s with what is between them)",
        seconds(timed_ns),
        timed.len(),
        seconds(all_ns)
    ));
    lines
}

fn row(operation: &OperationTally) -> [String; 7] {
    if operation.refused.is_some() {
        let blank = String::new;
        return [format!("  {}", operation.name), blank(), blank(), blank(), blank(), blank(), "gap".to_owned()];
    }
    let passes = format!("mean of {} passes", operation.passes);
    let notes = [
        ("wrong", operation.wrong.is_some()),
        ("fewer", operation.fewer.is_some()),
        ("estimated", operation.estimated),
        (operation.limited.as_deref().unwrap_or_default(), operation.limited.is_some()),
        ("short", operation.is_short()),
        (passes.as_str(), operation.passes > 1),
    ];
    let notes: Vec<&str> = notes.into_iter().filter(|(_, holds)| *holds).map(|(note, _)| note).collect();
    [
        format!("  {}", operation.name),
        grouped(operation.count as f64),
        grouped(operation.executed as f64),
        grouped(operation.connections as f64),
        seconds(operation.wall_ns),
        if operation.client_cpu_ns > 0 { seconds(operation.client_cpu_ns) } else { String::new() },
        notes.join(", "),
    ]
}

/// To the microsecond.
fn seconds(ns: u64) -> String {
    format!("{:.6}", ns as f64 / 1e9)
}

pub fn grouped(number: f64) -> String {
    figures::grouped(&fixed(number, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_line_and_a_gap_has_no_number() {
        let counted = OperationTally { name: "insert", count: 1200, executed: 1200, passes: 1, ..Default::default() };
        let operations = vec![
            OperationTally {
                wall_ns: 1_500_000_000,
                timed_ns: 1_500_000_000,
                client_cpu_ns: 250_000_000,
                ..counted.clone()
            },
            OperationTally { name: "std", refused: Some("no such function".to_owned()), ..Default::default() },
            OperationTally {
                name: "count",
                wall_ns: 1_234,
                timed_ns: 2_000_000_000,
                passes: 9,
                estimated: true,
                ..counted
            },
        ];
        let programs = [ProgramTally { name: "select", wall_ns: 2_000_000_000, operations }];
        let text = lines(&programs, 120).join("\n");
        let words = |line: usize| text.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(2), "select 2.000000 estimated");
        assert_eq!(words(3), "insert 1,200 1,200 0 1.500000 0.250000");
        assert_eq!(words(4), "std gap");
        assert_eq!(words(5), "count 1,200 1,200 0 0.000001 estimated, mean of 9 passes");
        assert!(text.ends_with("total: 1.500001 s for 2 operations (2.000000 s with what is between them)"), "{text}");
    }
}
