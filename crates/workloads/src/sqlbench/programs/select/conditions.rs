//! The rows of the table of `select`, and the queries whose conditions choose among them.
//!
//! What a query has to find is counted on rows made here, so that it is known at every scale.

use std::collections::{BTreeMap, HashSet};

use crate::sqlbench::sequence::Sequence;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub region: char,
    pub id: u64,
    pub reverse_id: u64,
    pub group: u64,
}

/// A statement and the number of rows it has to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub sql: String,
    pub rows: u64,
}

/// The queries of one turn of `select_range`: one list of values once, four conditions ten times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    pub as_list: Query,
    pub repeated: [Query; 4],
}

/// The whole table.
#[derive(Debug, Clone)]
pub struct Data {
    rows: Vec<Row>,
    groups: u64,
}

/// Letter number `number`, which may be one that no row has.
fn letter(number: u64) -> char {
    char::from(b'A' + number as u8)
}

impl Data {
    pub fn new(count: u64, groups: u64) -> Data {
        let row = |id| Row { region: letter(id % REGIONS), id, reverse_id: count - 1 - id, group: 3 * id % groups };
        Data { rows: (0..count).map(row).collect(), groups }
    }

    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn groups(&self) -> u64 {
        self.groups
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn row(&self, id: u64) -> Row {
        self.rows[id as usize]
    }

    /// For each turn of `count_on_key`, what its five queries have to count.
    pub fn key_counts(&self) -> Vec<[u64; 5]> {
        let mut counts = BTreeMap::new();
        for row in &self.rows {
            *counts.entry((row.region, row.group)).or_insert(0) += 1;
        }
        let sum = |chosen: &dyn Fn(char, u64) -> bool| {
            counts.iter().filter(|((region, group), _)| chosen(*region, *group)).map(|(_, count)| count).sum()
        };
        let of = |row: &Row| {
            let (r, g) = (row.region, row.group);
            [
                sum(&|region, _| region == r),
                sum(&|region, group| region == r && group == g),
                sum(&|region, _| region > r),
                sum(&|region, _| region <= r),
                sum(&|region, group| region == r && group > g),
            ]
        };
        self.rows.iter().map(of).collect()
    }

    /// The queries of one turn of `select_big`. Every seventh asks for a region that is not there.
    pub fn big(&self, turn: u64) -> [Query; 7] {
        let (r, g) = (letter(turn % (REGIONS + 1)), 11 * turn % self.groups);
        let query = |condition: String, chosen: &dyn Fn(&Row) -> bool| Query {
            sql: format!("select idn from bench1 where {condition}"),
            rows: self.found(chosen),
        };
        let from_b_to = |row: &Row, last| ('B'..=last).contains(&row.region) && row.group == g;
        [
            query(format!("region='{r}'"), &|row| row.region == r),
            query(format!("region='{r}' and idn={turn}"), &|row| row.region == r && row.id == turn),
            query(format!("region='{r}' and rev_idn={turn}"), &|row| row.region == r && row.reverse_id == turn),
            query(format!("region='{r}' and grp={g}"), &|row| row.region == r && row.group == g),
            query(format!("region>='B' and region<='C' and grp={g}"), &|row| from_b_to(row, 'C')),
            query(format!("region>='B' and region<='E' and grp={g}"), &|row| from_b_to(row, 'E')),
            query(format!("grp={g}"), &|row| row.group == g),
        ]
    }

    /// The queries of all turns of `select_range`, with `columns` alternatives in each condition.
    pub fn ranges(&self, turns: u64, columns: u64) -> Vec<Ranges> {
        let mut sequence = Sequence::starting_at(0);
        let range = |turn| {
            let drawn = sequence.draw(1..columns, 100_000);
            let mut groups = vec![1];
            groups.extend(drawn.iter().map(|number| number % self.groups));
            let mut pairs = vec![('A', 1)];
            pairs.extend(drawn.iter().map(|number| (letter(number % REGIONS), number % self.groups)));
            self.range(letter(turn % (REGIONS + 1)), &groups, &pairs)
        };
        (0..turns).map(range).collect()
    }

    fn range(&self, region: char, groups: &[u64], pairs: &[(char, u64)]) -> Ranges {
        let joined = |parts: Vec<String>, by: &str| parts.join(by);
        let numbers = joined(groups.iter().map(u64::to_string).collect(), ",");
        let alternatives = joined(groups.iter().map(|group| format!("grp={group}")).collect(), " or ");
        let pair = |(region, group): &(char, u64)| format!("region='{region}' and grp={group}");
        let in_pairs = joined(pairs.iter().map(pair).collect(), " or ");
        let of_group = format!("region='{region}' and ({alternatives})");

        let groups: HashSet<u64> = groups.iter().copied().collect();
        let pairs: HashSet<(char, u64)> = pairs.iter().copied().collect();
        let chosen = |row: &Row| row.region == region && groups.contains(&row.group);
        let few = |row: &Row| row.region == 'A' && row.group < 10;
        let query = |condition: &str, chosen: &dyn Fn(&Row) -> bool| Query {
            sql: format!("select * from bench1 where {condition}"),
            rows: self.found(chosen),
        };
        let low_regions = format!("(({of_group}) or (region='A' and grp<10)) and region<='B'");
        Ranges {
            as_list: query(&format!("region='{region}' and (grp in ({numbers}))"), &chosen),
            repeated: [
                query(&of_group, &chosen),
                query(&in_pairs, &|row| pairs.contains(&(row.region, row.group))),
                query(&format!("({of_group}) and idn<50"), &|row| chosen(row) && row.id < 50),
                query(&low_regions, &|row| (chosen(row) || few(row)) && row.region <= 'B'),
            ],
        }
    }

    fn found(&self, chosen: &dyn Fn(&Row) -> bool) -> u64 {
        self.rows.iter().filter(|row| chosen(row)).count() as u64
    }
}

pub(super) const REGIONS: u64 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of_big(count: u64, groups: u64, turns: u64) -> u64 {
        let data = Data::new(count, groups);
        (0..turns).flat_map(|turn| data.big(turn)).map(|query| query.rows).sum()
    }

    fn rows_of_ranges(count: u64, groups: u64, turns: u64) -> u64 {
        let rows =
            |range: &Ranges| range.as_list.rows + 10 * range.repeated.iter().map(|query| query.rows).sum::<u64>();
        Data::new(count, groups).ranges(turns, 500).iter().map(rows).sum()
    }

    #[test]
    fn queries_find_as_many_rows_as_the_suite_is_known_by() {
        assert_eq!(rows_of_big(10_000, 100, 10), 17_207);
        assert_eq!(rows_of_ranges(10_000, 100, 10), 1_057_904);
    }

    #[test]
    fn every_seventh_turn_asks_for_a_region_that_no_row_has() {
        let data = Data::new(1000, 10);
        let missing = data.big(6);
        assert_eq!(missing[0], Query { sql: "select idn from bench1 where region='G'".to_owned(), rows: 0 });
        assert_eq!(missing[6].rows, 100);
    }
}
