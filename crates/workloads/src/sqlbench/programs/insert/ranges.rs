//! Rows chosen by lists of values and by ranges, on a prefix of the primary key and on the second key.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Data, Scale};
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::limits::Limits;
use crate::sqlbench::sequence::Sequence;

const KEYS: [(&str, &str); 2] = [("select_range_prefix", "id"), ("select_range_key2", "id3")];

/// Statements of one turn over the lists: five lists, three statements each.
const STATEMENTS_PER_TURN: u64 = 15;

/// One list of values that the key may have, and what it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct List {
    values: Vec<u64>,
    rows: u64,
    /// Those below 10.
    low_rows: u64,
}

pub fn lists(bench: &mut Bench, data: &mut Data) -> Result<(), Stop> {
    for (name, key) in KEYS {
        let turns: Vec<Vec<[(String, u64); 3]>> = draw(&mut data.sequence, data.scale, &bench.limits)
            .iter()
            .map(|lists| lists.iter().map(|list| statements(key, list)).collect())
            .collect();
        let count = turns.len() as u64;
        bench.time(Operation::reads(name, STATEMENTS_PER_TURN * count, count).limited(), |session, turn| {
            let mut statements = turns[turn as usize].iter().flatten();
            statements.try_for_each(|(sql, rows)| session.run_for_rows(*rows, format_args!("{sql}")))
        })?;
    }
    Ok(())
}

/// The lists of all turns. Some values lie beyond the last row.
fn draw(sequence: &mut Sequence, scale: Scale, limits: &Limits) -> Vec<Vec<List>> {
    let columns = limits.max_columns.min(50).min((limits.query_size - 50) / 13) / 4 * 4;
    let turns = (10 * scale.ranges).div_ceil(STATEMENTS_PER_TURN);
    let mut list = |length| {
        let mut values = vec![1];
        values.extend(sequence.draw(1..length, scale.loops).iter().map(|number| number % (4 * scale.loops)));
        let found: BTreeSet<u64> = values.iter().copied().filter(|value| *value < scale.rows).collect();
        List { values, rows: found.len() as u64, low_rows: found.range(..10).count() as u64 }
    };
    (0..turns).map(|_| (0..=columns).step_by(columns as usize / 4).map(&mut list).collect()).collect()
}

fn statements(key: &str, list: &List) -> [(String, u64); 3] {
    let (mut alternatives, mut values) = (String::new(), String::new());
    for (place, value) in list.values.iter().enumerate() {
        let (or, comma) = if place == 0 { ("", "") } else { (" or ", ",") };
        write!(alternatives, "{or}{key}={value}").expect("a text takes whatever is written");
        write!(values, "{comma}{value}").expect("a text takes whatever is written");
    }
    let select = "select * from bench1 where";
    [
        (format!("{select} {alternatives}"), list.rows),
        (format!("{select} {key} in ({values})"), list.rows),
        (format!("{select} ({alternatives}) and {key}<10"), list.low_rows),
    ]
}

/// The suite reports two statements for each of these that runs.
pub fn predicates(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    for (name, key) in KEYS {
        let predicates = conditions(scale).map(|(condition, rows)| (condition.replace('k', key), rows));
        let reported = 2 * predicates.len() as u64 * scale.ranges;
        bench.time(Operation::reads(name, reported, scale.ranges).limited(), |session, _| {
            predicates.iter().try_for_each(|(condition, rows)| {
                session.run_for_rows(*rows, format_args!("select * from bench1 where {condition}"))
            })
        })?;
    }
    Ok(())
}

/// Conditions on a key `k` that has every value once, and the rows they find.
fn conditions(scale: Scale) -> [(String, u64); 20] {
    let (last, half) = (scale.rows - 1, scale.loops / 2);
    let (before, after) = (half - 1, half + 2);
    [
        ("k=3 or k=2 or k=1 or k=4 or k=16 or k=10".to_owned(), 6),
        (format!("k>={last} or k<1"), 2),
        ("k>=1 and k<=2".to_owned(), 2),
        ("(k>=1 and k<=2) or (k>=1 and k<=2)".to_owned(), 2),
        ("k>=1 and k<=10 and k<=5".to_owned(), 5),
        (format!("(k>0 and k<2) or k>={last}"), 2),
        (format!("(k>0 and k<2) or (k>={half} and k<={after}) or k={before}"), 5),
        ("(k>=5 and k<=10) or (k>=1 and k<=4)".to_owned(), 10),
        ("(k=1 or k=2) and (k=3 or k=4)".to_owned(), 0),
        ("(k=1 or k=2) and (k=2 or k=3)".to_owned(), 1),
        ("(k=1 or k=5 or k=20 or k=40) and (k=1 or k>=20 or k=4)".to_owned(), 3),
        ("((k=1 or k=3) or (k>1 and k<3)) and k<=2".to_owned(), 2),
        ("(k>=0 and k<4) or (k>=4 and k<6)".to_owned(), 6),
        ("k<=-1 or (k>=0 and k<=5) or (k>=4 and k<6) or (k>=6 and k<=7) or (k>7 and k<=8)".to_owned(), 9),
        ("(k>=1 and k<=2 or k>=4 and k<=5) or (k>=0 and k<=10)".to_owned(), 11),
        ("(k>=1 and k<=2 or k>=4 and k<=5) or (k>2 and k<=10)".to_owned(), 10),
        ("(k>1 or k<1) and k<=2".to_owned(), 2),
        ("k<=2 and (k>1 or k<=1)".to_owned(), 3),
        ("(k>=1 or k<1) and k<=2".to_owned(), 3),
        ("(k>=1 or k<=2) and k<=2".to_owned(), 3),
    ]
}

#[cfg(test)]
mod tests {
    use driver::Dialect;

    use super::*;
    use crate::sqlbench::limits::Era;

    /// Statements, and rows without those of the lists written as `IN`: the suite does not count them.
    fn check(scale: Scale, statements: u64, rows: [u64; 2]) {
        let mut data = Data::new(scale);
        data.sequence.draw(0..scale.loops, scale.loops);
        let limits = Limits::of(Dialect::MySql, Era::Modern);
        let found = [(); 2].map(|()| {
            let turns = draw(&mut data.sequence, scale, &limits);
            assert_eq!(turns.len() as u64 * STATEMENTS_PER_TURN, statements);
            turns.iter().flatten().map(|list| list.rows + list.low_rows).sum::<u64>()
        });
        assert_eq!(found, rows);
    }

    #[test]
    fn lists_find_as_many_rows_as_the_suite_is_known_by() {
        check(Scale::FULL, 5010, [42_084, 42_084]);
    }

    #[test]
    fn predicates_find_87_rows() {
        assert_eq!(conditions(Scale::FULL).map(|(_, rows)| rows).iter().sum::<u64>(), 87);
    }

    #[test]
    fn a_list_is_written_in_three_ways() {
        let list = List { values: vec![1, 7, 5000], rows: 2, low_rows: 2 };
        let expected = [
            ("select * from bench1 where id=1 or id=7 or id=5000", 2),
            ("select * from bench1 where id in (1,7,5000)", 2),
            ("select * from bench1 where (id=1 or id=7 or id=5000) and id<10", 2),
        ];
        assert_eq!(statements("id", &list), expected.map(|(sql, rows)| (sql.to_owned(), rows)));
    }
}
