//! The table against figures that were published, and against rules that know nothing of its code.

use std::collections::BTreeMap;

use super::log;
use record::format::figures::has_negative_zero;

use super::table::{Column, Layout, Operation, Program, block, common_operations, render, total_s};

const FIGURES: &str = include_str!("figures-2013.txt");
const NAMES: [&str; 4] = ["mysql-5.5", "mysql-5.6", "mysql-5.6-disable_PS", "mysql-rds"];
const VERSIONS: [&str; 4] = ["MySQL 5.5.30 log", "MySQL 5.6.10", "MySQL 5.6.10", "MySQL 5.5.27 log"];

/// Rows of the figures: kind, name, count and four times.
fn figures() -> Vec<(&'static str, &'static str, u64, [f64; 4])> {
    let rows = FIGURES.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let times: Vec<f64> = words[3..].iter().map(|time| time.parse().unwrap()).collect();
        (words[0], words[1], words[2].parse().unwrap(), times.try_into().unwrap())
    });
    rows.collect()
}

fn columns() -> Vec<Column> {
    let column = |index: usize| {
        let (name, suite, version) = (NAMES[index].to_owned(), "2.15".to_owned(), VERSIONS[index].to_owned());
        let mut column = Column { name, suite, version, ..Column::default() };
        for (kind, name, count, times) in figures() {
            let (name, seconds) = (name.to_owned(), times[index]);
            if kind == "program" {
                column.programs.insert(name, Program { seconds, estimated: false });
            } else {
                column.operations.insert(name, Operation { seconds, count, ..Operation::default() });
            }
        }
        column
    };
    (0..4).map(column).collect()
}

/// A row of a table with four narrow columns, made by hand.
fn row(label: &str, times: [f64; 4]) -> String {
    let mut label: String = label.chars().take(36).collect();
    label.push_str(&" ".repeat(36 - label.chars().count()));
    let cell = |time: f64| {
        let number = format!("{time:.2}");
        " ".repeat(7 - number.len()) + &number + "|"
    };
    format!("{label}|{}", times.map(cell).concat())
}

#[test]
fn the_published_figures_make_the_published_table() {
    let text = block(&columns(), &Layout::default());
    let (heads, sheet) = text.split_once("\n\n").unwrap();
    let expected_heads = [
        "The result logs which where found and the options:",
        " 1 mysql-5.5                               : MySQL 5.5.30 log  ",
        " 2 mysql-5.6                               : MySQL 5.6.10  ",
        " 3 mysql-5.6-disable_PS                    : MySQL 5.6.10  ",
        " 4 mysql-rds                               : MySQL 5.5.27 log  ",
    ];
    assert_eq!(heads.lines().collect::<Vec<_>>(), expected_heads);

    let mut expected = vec![
        "=".repeat(69),
        "Operation                           |      1|      2|      3|      4|".to_owned(),
        "                                    |mysql-5|mysql-5|mysql-5|mysql-r|".to_owned(),
        "-".repeat(69),
        "Results per test in seconds:                                        |".to_owned(),
        "-".repeat(69),
    ];
    let of_kind = |wanted: &str| figures().into_iter().filter(|(kind, ..)| *kind == wanted).collect::<Vec<_>>();
    expected.extend(of_kind("program").into_iter().map(|(_, name, _, times)| row(name, times)));
    expected.push("-".repeat(69));
    expected.push("The results per operation:                                          |".to_owned());
    expected.push("-".repeat(69));
    let operations = of_kind("operation");
    expected.extend(operations.iter().map(|(_, name, count, times)| row(&format!("{name} ({count})"), *times)));
    expected.push("-".repeat(69));
    expected.push("TOTALS                              |4143.00|4439.00|4289.00|3790.00|".to_owned());
    expected.push("=".repeat(69));
    assert_eq!(sheet.lines().collect::<Vec<_>>(), expected);
    assert_eq!((of_kind("program").len(), operations.len()), (8, 86));
    assert_eq!(operations.iter().map(|(_, _, count, _)| count).sum::<u64>(), 3_425_950);
}

#[test]
fn single_rows_are_as_they_were_printed() {
    let text = block(&columns(), &Layout::default());
    for line in [
        "ATIS                                |  29.00|  28.00|  28.00|  25.00|",
        "alter-table                         |  26.00|  35.00|  33.00|  22.00|",
        "insert                              |2682.00|2714.00|2653.00|2479.00|",
        "alter_table_add (100)               |  12.00|  17.00|  15.00|  10.00|",
        "count_distinct_group_on_key_parts (1|   9.00|   8.00|   8.00|   7.00|",
        "count_on_key (50100)                |  75.00|  93.00|  76.00|  58.00|",
        "create+drop (10000)                 | 135.00| 194.00| 185.00| 107.00|",
        "create_MANY_tables (10000)          | 115.00| 119.00| 111.00| 114.00|",
        "create_index (8)                    |   0.00|   0.00|   1.00|   0.00|",
        "create_key+drop (10000)             | 435.00| 590.00| 578.00| 392.00|",
        "delete_all_many_keys (1)            |  10.00|  13.00|  14.00|  18.00|",
        "update_of_primary_key_many_keys (256|  37.00|  34.00|  34.00|  47.00|",
        "update_with_key (300000)            | 582.00| 591.00| 578.00| 513.00|",
        "wisc_benchmark (114)                |   1.00|   2.00|   1.00|   1.00|",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    // Upper case goes before lower, and `+` before `_`.
    let at = |begin: &str| text.lines().position(|line| line.starts_with(begin)).unwrap();
    assert!(at("ATIS ") < at("alter-table "));
    assert!(at("create+drop ") < at("create_MANY") && at("create_MANY") < at("create_index"));
}

fn two() -> Vec<Column> {
    let operation = |seconds, count| Operation { seconds, count, ..Operation::default() };
    let column = |name: &str, operations: &[(&str, Operation)]| Column {
        name: name.to_owned(),
        suite: "2.15".to_owned(),
        version: "X 1".to_owned(),
        operations: operations.iter().map(|(name, operation)| ((*name).to_owned(), *operation)).collect(),
        programs: BTreeMap::from([("select".to_owned(), Program { seconds: 4.0, estimated: name == "b" })]),
        ..Column::default()
    };
    let doubtful = Operation { wrong: true, estimated: true, ..operation(3.0, 7) };
    vec![
        column("a", &[("both", operation(2.0, 10)), ("none", operation(0.0, 1)), ("left", operation(5.0, 9))]),
        column("b", &[("both", operation(3.0, 10)), ("none", operation(0.5, 1)), ("right", doubtful)]),
    ]
}

fn lines_of(layout: &Layout) -> Vec<String> {
    block(&two(), layout).lines().map(str::to_owned).collect()
}

#[test]
fn gaps_stay_blank_and_marks_stand_before_the_number() {
    let lines = lines_of(&Layout::default());
    let expect = |line: &str| assert!(lines.iter().any(|found| found == line), "{line}\n{lines:#?}");
    expect("select                              |   4.00|  +4.00|");
    expect("both (10)                           |   2.00|   3.00|");
    expect("left (9)                            |   5.00|       |");
    expect("right ()                            |       |*?+3.00|");
    expect("TOTALS                              |   7.00|   6.50|");
    expect("TOTALS of common operations         |   2.00|   3.50|");
    assert_eq!(common_operations(&two()).into_iter().collect::<Vec<_>>(), ["both", "none"]);
}

#[test]
fn relative_verbose_without_counts_and_without_bars() {
    let check = |layout: Layout, width: usize, expected: &[&str]| {
        let lines = lines_of(&layout);
        for line in expected {
            assert!(lines.iter().any(|found| found == line), "{line}\n{lines:#?}");
        }
        let widths: Vec<usize> = lines[4..].iter().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|seen| *seen == width), "{widths:?}\n{lines:#?}");
    };
    let relative = [
        "Relative results per test (First column is in seconds):   |",
        "both (10)                           |      2.00|      1.50|",
        // Nothing divides by zero: a first column of 0 counts as 1.
        "none (1)                            |      0.00|      0.50|",
        "right ()                            |          |  *?+1.00|",
        "TOTALS                              |      7.00|      0.93|",
    ];
    // Where column 1 lacks it the second is the first defined one.
    check(Layout { relative: true, ..Layout::default() }, 59, &relative[..3]);
    assert!(lines_of(&Layout { relative: true, ..Layout::default() }).contains(&relative[4].to_owned()));
    let verbose = ["both (10)                           |   2.00:    10|   3.00:    10|"];
    check(Layout { verbose: true, ..Layout::default() }, 67, &verbose);
    check(Layout { skip_count: true, ..Layout::default() }, 46, &["both                         |   2.00|   3.00|"]);
    check(
        Layout { no_bars: true, ..Layout::default() },
        53,
        &["both (10)                               2.00    3.00 "],
    );
}

#[test]
fn others_are_relative_to_the_first_column_that_has_the_row() {
    let mut columns = two();
    let late = Operation { seconds: 6.0, count: 7, ..Operation::default() };
    columns.push(Column { operations: [("right".to_owned(), late)].into(), ..columns[1].clone() });
    let text = block(&columns, &Layout { relative: true, ..Layout::default() });
    let expect = |line: &str| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    expect("right ()                            |          |   *?+1.00|     *2.00|");
    // A column of which nothing is known has no total, and none to be relative to.
    columns[0].operations.clear();
    let text = block(&columns, &Layout { relative: true, ..Layout::default() });
    let expect = |line: &str| assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    expect("TOTALS                              |          |      1.00|      0.92|");
    assert!(!text.contains("TOTALS of common operations"), "{text}");
}

#[test]
fn no_zero_has_a_sign() {
    let mut columns = two();
    columns[0].operations.clear();
    columns[0].programs.clear();
    let rounded = Operation { seconds: -0.001, ..Operation::default() };
    columns[1].operations.insert("rounded".to_owned(), rounded);
    for (relative, verbose) in [(false, false), (true, true)] {
        let text = render(&columns, &Layout { relative, verbose, ..Layout::default() });
        assert!(!has_negative_zero(&text), "{text}");
    }
    let text = crate::compare::columns(&columns, &Layout::default(), 80);
    assert!(
        !has_negative_zero(&text) && text.contains("No totals are compared: no operation is in all columns"),
        "{text}"
    );
}

#[test]
fn columns_of_different_suites_are_reported_and_not_compared() {
    let mut columns = two();
    let compared = crate::compare::columns(&columns, &Layout::default(), 80);
    assert!(compared.contains("Totals of the 2 operations that all columns have") && !compared.contains("Warning"));
    columns[1].suite = "2.7".to_owned();
    let text = crate::compare::columns(&columns, &Layout::default(), 80);
    assert!(text.contains("Warning: suite versions differ (a 2.15, b 2.7)"), "{text}");
    assert!(text.contains("No totals are compared: the columns come from different versions of the suite."), "{text}");
    assert!(!text.contains("TOTALS of common operations") && !text.contains(" against "), "{text}");
}

#[test]
fn the_marks_are_explained_above_the_table() {
    let text = render(&two(), &Layout { relative: true, verbose: true, ..Layout::default() });
    let preamble = text.split("The result logs").next().unwrap();
    assert!(preamble.contains("multiples of it") && preamble.contains("colon") && preamble.contains("? wrong answers"));
    let limited = Column { limits_from: "mysql,pg".to_owned(), ..two().remove(0) };
    assert!(render(&[limited], &Layout::default()).contains("these servers share: mysql,pg"));
}

/// A summary as the suite wrote it.
fn summary(column: &Column, arguments: &str, comments: &str) -> String {
    let mut text = String::new();
    for (label, value) in [
        ("Benchmark DBD suite:", column.suite.as_str()),
        ("Date of test:", "2013-03-01 10:11:12"),
        ("Running tests on:", "Linux 2.6.32 x86_64"),
        ("Arguments:", arguments),
        ("Comments:", comments),
        ("Limits from:", ""),
        ("Server version:", column.version.as_str()),
        ("Optimization:", "None"),
        ("Hardware:", ""),
    ] {
        text += &format!("{label:<21}{value}\n");
    }
    text += "\n";
    for (name, program) in &column.programs {
        let title = if program.estimated { "Estimated total time" } else { "Total time" };
        let seconds = program.seconds;
        text += &format!(
            "{name}: {title}: {seconds:2} wallclock secs ( 1.00 usr  0.50 sys +  0.00 cusr  0.00 csys =  1.50 CPU)\n"
        );
    }
    text +=
        "transactions: Test skipped because the database does not support them\n\nAll 9 test executed successfully\n";
    text += "\nTotals per operation:\nOperation             seconds     usr     sys     cpu   tests\n";
    let line = |name: &str, seconds: f64, count: u64, marks: &str| {
        format!("{name:<35.35} {seconds:7.2} {:7.2} {:7.2} {:7.2} {count:7} {marks}\n", 1.0, 0.5, 1.5)
    };
    for (name, operation) in &column.operations {
        let marks = [("+", operation.estimated), ("?", operation.wrong)];
        let marks: String = marks.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark).collect();
        text += &line(name, operation.seconds, operation.count, &marks);
    }
    let counts = column.operations.values().map(|operation| operation.count).sum();
    text + &line("TOTALS", total_s(column), counts, "")
}

#[test]
fn a_summary_of_the_suite_is_the_column_it_was_made_of() {
    for column in columns().into_iter().chain(two()) {
        let read = log::column(&format!("RUN-{}", column.name), &summary(&column, "", "")).unwrap();
        let skipped =
            [("transactions".to_owned(), "Test skipped because the database does not support them".to_owned())];
        assert_eq!(read, Column { not_run: skipped.into(), ..column });
    }
    let arguments = "--server=mysql  --fast --comments='no \"tuning\" yet' --user=root --small-test --password=x";
    let text = summary(&two()[0], arguments, "first try\non a quiet host");
    let read = log::column("RUN-a-cmp-mysql,pg", &text).unwrap();
    assert_eq!((read.name.as_str(), read.arguments.as_str()), ("a", "--fast --small-test"));
    assert_eq!(read.comments, "first try on a quiet host");
}

/// Each in the form of one of the suite's versions: without `wallclock` and the children's times (2.0), with a count of
/// tests before the time, with the headings of 2.8, in lines of Windows behind a byte order mark.
#[test]
fn summaries_of_all_versions_of_the_suite_are_read() {
    let column = &two()[0];
    let whole = summary(column, "", "");
    let expected = log::column("RUN-x", &whole).unwrap();
    let read = |text: &str| log::column("RUN-x", text).unwrap();
    let of_2_0 = whole.replace(
        " wallclock secs ( 1.00 usr  0.50 sys +  0.00 cusr  0.00 csys =  1.50 CPU)",
        " secs ( 1.00 usr  0.50 sys =  1.50 cpu)",
    );
    assert_ne!(of_2_0, whole);
    assert_eq!(read(&of_2_0), expected);
    let counted = whole.replace(": Total time:", ": Done: 43 tests total time:");
    let counted = counted.replace(": Estimated total time:", ": Done: 43 tests estimated total time:");
    assert_eq!(read(&counted), expected);
    let without =
        |label: &str, text: &str| text.lines().filter(|line| !line.starts_with(label)).collect::<Vec<_>>().join("\n");
    assert_eq!(read(&without("Hardware:", &without("Optimization:", &whole))), expected);
    assert_eq!(read(&format!("\u{feff}{}", whole.replace('\n', "\r\n"))), expected);
}

#[test]
fn programs_that_failed_or_were_skipped_are_listed_above_the_table() {
    let whole = summary(&two()[0], "", "");
    let failed =
        whole.replace("\nselect: Total time:", "\ncreate: Failed (output/create-mysql-Linux)\nselect: Total time:");
    let column =
        log::column("RUN-x", &failed.replace("All 9 test executed successfully", "Of 10 tests, 1 tests didn't work"))
            .unwrap();
    assert_eq!(column.not_run.keys().collect::<Vec<_>>(), ["create", "transactions"]);
    let text = render(&[two().remove(1), column], &Layout::default());
    assert!(text.contains("Column 2 has no time of create: Failed (output/create-mysql-Linux)\n"), "{text}");
    assert!(text.contains("Column 2 has no time of transactions: Test skipped because the database"), "{text}");
    assert!(!text.contains("Column 1 has no time"), "{text}");
}

#[test]
fn what_is_no_summary_is_refused_with_its_line() {
    let whole = summary(&two()[0], "", "");
    let said = |text: &str| log::column("RUN-x", text).unwrap_err().to_string();
    assert_eq!(
        said("hello\n"),
        "RUN-x: line 1: `hello`, expected a heading such as `Server version:      MySQL 5.5.30`"
    );
    assert!(said("\n").contains("line 1: ``, expected `Benchmark DBD suite:` first"));
    assert!(said("Server version: 5\n\n").contains("expected `Benchmark DBD suite:` first"));
    let no_time = whole.replace("Total time:  4", "Total time: soon");
    assert!(said(&no_time).contains("RUN-x: line 11: `select: Total time: soon"), "{}", said(&no_time));
    let no_count = whole.replace("     10", "     ten");
    assert!(said(&no_count).contains("line 18: `both"), "{}", said(&no_count));
    let expected = "expected an operation: its name, four times that are not below zero, a count and its marks";
    assert!(said(&no_count).ends_with(expected));
    for odd in ["-1.00", "NaN", "inf", "1e999"] {
        let time = whole.replacen("   2.00", &format!("{odd:>7}"), 1);
        assert!(said(&time).contains("line 18: `both"), "{}", said(&time));
        let program = whole.replace("Total time:  4", &format!("Total time: {odd}"));
        assert!(said(&program).contains("line 11: `select"), "{}", said(&program));
    }
    let edited = whole.replacen("5.00", "9.00", 1);
    assert!(said(&edited).contains("line 21: TOTALS of 7.00 s, expected the sum of the operations above, 11.00 s"));
    let twice = whole.replace("none ", "both ");
    assert!(said(&twice).contains("expected each operation once"), "{}", said(&twice));
    // Cut off anywhere, it is an error and never a column.
    let lines: Vec<&str> = whole.lines().collect();
    for length in 0..lines.len() {
        let cut = log::column("RUN-x", &lines[..length].join("\n"));
        assert!(cut.unwrap_err().to_string().contains("the file ends"), "{length}");
    }
}
