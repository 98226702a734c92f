//! What the classic suite (version 2.15, MySQL profile, without --fast) reports and executes.

/// One operation: what its program reports, and the statements that a server gets inside its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub name: &'static str,
    pub full: Counts,
    pub small: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub reported: u64,
    pub executed: u64,
}

impl Expected {
    pub fn counts(&self, small: bool) -> Counts {
        if small { self.small } else { self.full }
    }
}

/// The operation of that name.
pub fn expected(name: &str) -> Option<Expected> {
    TABLE.lines().filter_map(parse).find(|expected| expected.name == name)
}

/// Every operation of the table.
#[cfg(test)]
pub fn all() -> Vec<Expected> {
    TABLE.lines().filter_map(parse).collect()
}

/// `name reported/executed small/executed`; one number where both are the same.
fn parse(line: &'static str) -> Option<Expected> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let mut counts = || {
        let (reported, executed) = words.next().map(|word| word.split_once('/').unwrap_or((word, word)))?;
        Some(Counts { reported: reported.parse().ok()?, executed: executed.parse().ok()? })
    };
    Some(Expected { name, full: counts()?, small: counts()? })
}

/// The 86 operations of the classic table, then those of the program `transactions`, where a rollback of
/// many statements counts once.
const TABLE: &str = "
alter_table_add 100 92
alter_table_drop 91 46
connect 10000/0 100/0
connect+select_1_row 10000 100
connect+select_simple 10000 100
count 100 100
count_distinct 1000 100
count_distinct_2 1000 100
count_distinct_big 120 30
count_distinct_group 1000 100
count_distinct_group_on_key 1000 100
count_distinct_group_on_key_parts 1000 100
count_distinct_key_prefix 1000 100
count_group_on_key_parts 1000 100
count_on_key 50100 5100
create+drop 10000/20000 10/20
create_MANY_tables 10000 10
create_index 8 8
create_key+drop 10000/20000 100/200
create_table 31/64 31/64
delete_all_many_keys 1/129 1/129
delete_big 1 1
delete_big_many_keys 128 128
delete_key 10000 100
delete_range 12/13 12/13
drop_index 8 8
drop_table 28 28
drop_table_when_MANY_tables 10000 10
insert 350768 44768
insert_duplicates 100000 1000
insert_key 100000 100
insert_many_fields 2000 200
insert_select_1_key 1 1
insert_select_2_keys 1 1
min_max 60 60
min_max_on_key 85000 7300
multiple_value_insert 100000/4 1000/1
once_prepared_select 100000 1000
order_by_big 10 10
order_by_big_key 10 10
order_by_big_key2 10 10
order_by_big_key_desc 10 10
order_by_big_key_diff 10 10
order_by_big_key_prefix 10 10
order_by_key2_diff 500 10
order_by_key_prefix 500 10
order_by_range 500 10
outer_join 10 10
outer_join_found 10 10
outer_join_not_found 500/10 10/10
outer_join_on_key 10 10
prepared_select 100000 1000
select_1_row 100000 1000
select_1_row_cache 100000 1000
select_2_rows 100000 1000
select_big 80 17
select_big_str 10000 100
select_cache 10000 1000
select_cache2 10000 1000
select_column+column 100000 1000
select_diff_key 500 10
select_distinct 800 80
select_group 2911/2900 391/380
select_group_when_MANY_tables 10000 10
select_join 100 10
select_key 200000 20
select_key2 200000 20
select_key2_return_key 200000 20
select_key2_return_prim 200000 20
select_key_prefix 200000 20
select_key_prefix_join 100 10
select_key_return_key 200000 20
select_many_fields 2000 200
select_range 410 41
select_range_key2 25010/15010 505/305
select_range_prefix 25010/15010 505/305
select_simple 100000 1000
select_simple_cache 100000 1000
select_simple_join 500 50
update_big 10 10
update_of_key 50000 500
update_of_key_big 501/502 13/14
update_of_primary_key_many_keys 256 256
update_with_key 300000 3000
update_with_key_prefix 100000 1000
wisc_benchmark 114 34
insert_commit 10000/10001 100/101
insert_autocommit 10000 100
insert_rollback 100/10100 10/110
update_rollback 100/10100 10/110
delete_rollback 100/10100 10/110
update_commit 10000/10001 100/101
update_autocommit 10000 100
delete_commit 10000/10001 100/101
delete_autocommit 10000 100
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_86_operations_whose_counts_add_up_to_the_suite_s_totals() {
        let all = all();
        let classic = &all[..86];
        assert_eq!(classic.last().unwrap().name, "wisc_benchmark");
        assert_eq!(classic.iter().map(|one| one.full.reported).sum::<u64>(), 3_425_950);
        assert_eq!(classic.iter().map(|one| one.small.reported).sum::<u64>(), 78_237);
        assert_eq!(TABLE.lines().filter(|line| !line.is_empty()).count(), all.len(), "every line parses");
    }
}
