//! The comparison table of sql-bench: columns of figures in, text out.
//!
//! It knows neither runs nor files, so that both can stand side by side in one table. The layout is that
//! of the classic suite, version 2.15, to the byte; where the suite contradicts itself (counts that were
//! to be left out, estimates that did not show in programs) its intention is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use record::format::figures::fixed;

/// One server's figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Column {
    pub name: String,
    /// Version of the suite: in others, operations of one name are other work.
    pub suite: String,
    pub version: String,
    /// Options that shape the work, as a command line.
    pub arguments: String,
    pub comments: String,
    /// Servers whose common limits were kept to, where that is known.
    pub limits_from: String,
    /// By name; the order of bytes is the order of rows.
    pub programs: BTreeMap<String, Program>,
    pub operations: BTreeMap<String, Operation>,
    /// Programs that failed or were skipped, with what the file has in place of their time.
    pub not_run: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Program {
    pub seconds: f64,
    pub estimated: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Operation {
    pub seconds: f64,
    pub count: u64,
    pub estimated: bool,
    pub wrong: bool,
}

/// How the reader wants it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// Seconds in the first column only; the others are multiples of it.
    pub relative: bool,
    /// Each time with its count.
    pub verbose: bool,
    pub skip_count: bool,
    pub no_bars: bool,
}

/// Columns that fit one table.
pub const COLUMNS_MAX: usize = 8;

/// The line above the list of columns.
const HEADER: &str = "The result logs which where found and the options:";
const TOTALS: &str = "TOTALS";
const COMMON_TOTALS: &str = "TOTALS of common operations";

/// What the marks mean, the list of columns, and the table.
pub fn render(columns: &[Column], layout: &Layout) -> String {
    preamble(columns, layout) + "\n" + &block(columns, layout)
}

/// From the list of columns to the last rule.
pub fn block(columns: &[Column], layout: &Layout) -> String {
    let mut text = format!("{HEADER}\n");
    for (number, column) in columns.iter().enumerate() {
        // No arguments are told as one blank.
        let arguments = if column.arguments.is_empty() { " " } else { &column.arguments };
        let _ = writeln!(text, "{:2} {:<40.40}: {} {arguments}", number + 1, column.name, column.version);
        if column.comments.contains(|letter: char| letter.is_alphanumeric() || letter == '_') {
            let _ = writeln!(text, "  {}", column.comments);
        }
    }
    let sheet = Sheet { columns, layout };
    text + "\n" + &sheet.table()
}

fn preamble(columns: &[Column], layout: &Layout) -> String {
    let mut lines = vec![
        "Seconds of one client that runs one operation after the other. In brackets: how many tests the operation",
        "counts. Marks: + estimated, because a time limit cut it off; ? wrong answers; * another count than in column 1.",
    ];
    if layout.relative {
        lines.push("The first column is in seconds.");
        lines.push("The others are multiples of it, or of the first column that has the row: below 1 is faster.");
    }
    if layout.verbose {
        lines.push("Behind each time and a colon stands its count.");
    }
    let mut text = lines.join("\n") + "\n";
    if mixes_suites(columns) {
        let suites = columns.iter().map(|column| format!("{} {}", column.name, column.suite)).collect::<Vec<_>>();
        let suites = suites.join(", ");
        let _ = writeln!(text, "Warning: suite versions differ ({suites}), so that one name is different work.");
    }
    for (number, column) in columns.iter().enumerate() {
        for (program, why) in &column.not_run {
            let _ = writeln!(text, "Column {} has no time of {program}: {why}", number + 1);
        }
    }
    let limits: BTreeSet<&str> = columns.iter().map(|column| column.limits_from.as_str()).collect();
    for limits in limits.into_iter().filter(|limits| !limits.is_empty()) {
        let _ = writeln!(text, "Limits are the least that these servers share: {limits}");
    }
    text
}

/// Whether columns come from different versions of the suite.
pub fn mixes_suites(columns: &[Column]) -> bool {
    columns.windows(2).any(|pair| pair[0].suite != pair[1].suite)
}

/// The sum of all operations of a column.
pub fn total_s(column: &Column) -> f64 {
    column.operations.values().map(|operation| operation.seconds).sum()
}

/// Operations that all columns have, answered rightly in each and counted alike; none where suites are mixed.
pub fn common_operations(columns: &[Column]) -> BTreeSet<&str> {
    let Some((first, others)) = columns.split_first().filter(|_| !mixes_suites(columns)) else {
        return BTreeSet::new();
    };
    let is_common = |(name, operation): &(&String, &Operation)| {
        let alike = |other: &Column| {
            other.operations.get(*name).is_some_and(|theirs| theirs.count == operation.count && !theirs.wrong)
        };
        !operation.wrong && others.iter().all(alike)
    };
    first.operations.iter().filter(is_common).map(|(name, _)| name.as_str()).collect()
}

/// The sum of these operations of a column.
pub fn total_of(column: &Column, operations: &BTreeSet<&str>) -> f64 {
    operations.iter().filter_map(|name| Some(column.operations.get(*name)?.seconds)).sum()
}

/// One cell: a time, its marks, and its count where it has one.
struct Cell {
    seconds: f64,
    marks: String,
    count: Option<u64>,
}

struct Sheet<'a> {
    columns: &'a [Column],
    layout: &'a Layout,
}

impl Sheet<'_> {
    fn table(&self) -> String {
        let (double, single) = (self.rule('='), self.rule('-'));
        let bar = self.bar();
        let title = if self.layout.relative {
            "Relative results per test (First column is in seconds):"
        } else {
            "Results per test in seconds:"
        };
        let mut text = double.clone();
        text += &self.heading("Operation", |number, _| (number + 1).to_string());
        text += &self.heading("", |_, column| column.name.chars().take(self.number_width()).collect());
        let title_width = self.rule_width() - 1;
        let _ = write!(text, "{single}{title:<title_width$}{bar}\n{single}");
        text += &self.programs();
        let _ = write!(text, "{single}{:<title_width$}{bar}\n{single}", "The results per operation:");
        text += &self.operations();
        text + &single + &self.totals() + &double
    }

    fn name_width(&self) -> usize {
        if self.layout.skip_count && !self.layout.verbose { 29 } else { 36 }
    }

    fn number_width(&self) -> usize {
        if self.layout.relative { 10 } else { 7 }
    }

    /// A number, and behind it its count.
    fn cell_width(&self) -> usize {
        self.number_width() + if self.layout.verbose { 7 } else { 0 }
    }

    fn rule_width(&self) -> usize {
        self.name_width() + (self.cell_width() + 1) * self.columns.len() + 1
    }

    fn rule(&self, letter: char) -> String {
        letter.to_string().repeat(self.rule_width()) + "\n"
    }

    fn bar(&self) -> char {
        if self.layout.no_bars { ' ' } else { '|' }
    }

    fn heading(&self, name: &str, text: impl Fn(usize, &Column) -> String) -> String {
        let cells = self.columns.iter().enumerate().map(|(number, column)| text(number, column));
        self.line(name, cells)
    }

    /// A row of the table: what is too long as a name is cut, as a number it is not.
    fn line(&self, name: &str, cells: impl Iterator<Item = String>) -> String {
        let (bar, name_width, cell_width) = (self.bar(), self.name_width(), self.cell_width());
        let cells: String = cells.map(|cell| format!("{cell:>cell_width$}{bar}")).collect();
        format!("{name:<name_width$.name_width$}{bar}{cells}\n")
    }

    /// The figures of a row, the first defined one being what the others are relative to.
    fn row(&self, name: &str, cells: Vec<Option<Cell>>) -> String {
        let first = cells.iter().flatten().map(|cell| cell.seconds).next().unwrap_or(0.0);
        let unit = if first == 0.0 { 1.0 } else { first };
        let shown = cells.into_iter().enumerate().map(|(number, cell)| {
            let Some(cell) = cell else { return String::new() };
            let value = if self.layout.relative && number > 0 { cell.seconds / unit } else { cell.seconds };
            let width = self.number_width();
            let time = format!("{:>width$}", cell.marks + &fixed(value, 2));
            match cell.count {
                Some(count) if self.layout.verbose => format!("{time}:{count:>6}"),
                _ if self.layout.verbose => format!("{time}{:7}", ""),
                _ => time,
            }
        });
        self.line(name, shown)
    }

    fn programs(&self) -> String {
        let names: BTreeSet<&String> = self.columns.iter().flat_map(|column| column.programs.keys()).collect();
        let cell = |program: &Program| {
            let marks = if program.estimated { "+".to_owned() } else { String::new() };
            Cell { seconds: program.seconds, marks, count: None }
        };
        let row =
            |name| self.row(name, self.columns.iter().map(|column| column.programs.get(name).map(cell)).collect());
        names.into_iter().map(|name: &String| row(name)).collect()
    }

    fn operations(&self) -> String {
        let names: BTreeSet<&String> = self.columns.iter().flat_map(|column| column.operations.keys()).collect();
        names.into_iter().map(|name| self.operation(name)).collect()
    }

    fn operation(&self, name: &str) -> String {
        let first = self.columns.first().and_then(|column| column.operations.get(name)).map(|first| first.count);
        let cell = |operation: &Operation| {
            let marks = [("*", Some(operation.count) != first), ("?", operation.wrong), ("+", operation.estimated)];
            let marks = marks.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark).collect();
            Cell { seconds: operation.seconds, marks, count: Some(operation.count) }
        };
        let cells = self.columns.iter().map(|column| column.operations.get(name).map(cell)).collect();
        let count = first.map_or(String::new(), |count| count.to_string());
        let label = if self.layout.skip_count { name.to_owned() } else { format!("{name} ({count})") };
        self.row(&label, cells)
    }

    /// Sums of columns that lack different operations are not of the same work: then there is a second row.
    fn totals(&self) -> String {
        let sum = |operations: &BTreeSet<&str>, column: &Column| {
            let counts = operations.iter().filter_map(|name| Some(column.operations.get(*name)?.count));
            Cell { seconds: total_of(column, operations), marks: String::new(), count: Some(counts.sum()) }
        };
        let own = |column: &Column| {
            let operations: BTreeSet<&str> = column.operations.keys().map(String::as_str).collect();
            (!operations.is_empty()).then(|| sum(&operations, column))
        };
        let mut text = self.row(TOTALS, self.columns.iter().map(own).collect());
        let common = common_operations(self.columns);
        if !common.is_empty() && self.columns.iter().any(|column| column.operations.len() > common.len()) {
            text += &self.row(COMMON_TOTALS, self.columns.iter().map(|column| Some(sum(&common, column))).collect());
        }
        text
    }
}
