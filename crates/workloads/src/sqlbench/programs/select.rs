//! `select`: queries of one small table with composite keys, most of them answered from an index.

mod conditions;

use conditions::REGIONS;
use std::fmt;

use self::conditions::{Data, Query, Row};
use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};
use crate::sqlbench::session::Session;

pub const SELECT: Program = Program {
    name: "select",
    operations: &[
        "insert",
        "select_cache",
        "select_cache2",
        "select_big",
        "select_range",
        "min_max_on_key",
        "count_on_key",
        "count_group_on_key_parts",
        "count_distinct_key_prefix",
        "count_distinct",
        "count_distinct_2",
        "count_distinct_group_on_key",
        "count_distinct_group_on_key_parts",
        "count_distinct_group",
        "count_distinct_big",
    ],
    classic: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let loops = bench.options.loops(10_000, 10);
    let medium = bench.options.loops(1000, 10);
    let small = bench.options.loops(10, 10);
    let data = Data::new(loops, bench.options.loops(100, 10));
    make(bench)?;
    insert(bench, &data)?;
    sums(bench, &data)?;
    conditions(bench, &data, small)?;
    min_max_on_key(bench, &data)?;
    count_on_key(bench, &data)?;
    counts(bench, &data, medium)?;
    bench.drop_if_there("bench1")
}

fn make(bench: &mut Bench) -> Result<(), Stop> {
    let columns = vec![
        Column::required("region", Type::Char(1)),
        Column::required("idn", Type::Int),
        Column::required("rev_idn", Type::Int),
        Column::required("grp", Type::Int),
    ];
    let shape = Shape::new("bench1", columns);
    bench.make(&shape.primary_key("region,idn").unique("region,rev_idn").unique("region,grp,idn"))
}

/// The suite names the columns in the second half of its statements only.
fn insert(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let (rows, fast) = (data.count(), bench.options.fast);
    bench.time(Operation::changes("insert", rows, rows).batched("bench1"), |session, i| {
        let row = data.row(i);
        let columns = if i > rows / 2 && !fast { " (region,idn,rev_idn,grp)" } else { "" };
        let (region, id, reverse, group) = (row.region, row.id, row.reverse_id, row.group);
        session.run_to_change(1, format_args!("insert into bench1{columns} values ('{region}',{id},{reverse},{group})"))
    })?;
    bench.verify_count("insert", "bench1", rows)?;
    bench.book_keeping("bench1")
}

fn sums(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let loops = data.count();
    let same = "select sum(idn+100),sum(rev_idn-100) from bench1";
    bench.set_up("select sum(idn+1000),sum(rev_idn-1000) from bench1")?;
    bench.time(Operation::reads("select_cache", loops, loops), |session, _| {
        session.run_for_rows(1, format_args!("{same}"))
    })?;
    let sum = loops * (loops - 1) / 2;
    bench.verify("select_cache", same, &[sum + 100 * loops, sum - 100 * loops])?;
    bench.time(Operation::reads("select_cache2", loops, loops), |session, i| {
        session.run_for_rows(1, format_args!("select sum(idn+{i}),sum(rev_idn-{i}) from bench1"))
    })?;
    bench.verify("select_cache2", "select sum(idn+0),sum(rev_idn-0) from bench1", &[sum, sum])
}

/// Their statements are put together beforehand, because what they have to find takes long to compute.
fn conditions(bench: &mut Bench, data: &Data, small: u64) -> Result<(), Stop> {
    let big: Vec<_> = (0..small).map(|i| data.big(i)).collect();
    bench.time(Operation::reads("select_big", 7 * small, small), |session, i| run_each(session, &big[i as usize]))?;
    let limits = bench.limits;
    let columns = limits.max_columns.min(500).min((limits.query_size - 50) / 24).min(limits.max_conditions / 2 - 3);
    let ranges = data.ranges(small, columns);
    bench.time(Operation::reads("select_range", 41 * small, small).limited(), |session, i| {
        let range = &ranges[i as usize];
        run_each(session, std::slice::from_ref(&range.as_list))?;
        (0..10).try_for_each(|_| run_each(session, &range.repeated))
    })
}

fn run_each(session: &mut Session, queries: &[Query]) -> Result<(), driver::Error> {
    queries.iter().try_for_each(|query| session.run_for_rows(query.rows, format_args!("{}", query.sql)))
}

fn min_max_on_key(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let loops = data.count();
    bench.time(Operation::reads("min_max_on_key", 7 * loops, loops).limited(), |session, i| {
        let row = data.row(i);
        let (r, g) = (row.region, row.group);
        session.run_for_rows(1, format_args!("select min(region) from bench1"))?;
        session.run_for_rows(1, format_args!("select max(region) from bench1"))?;
        session.run_for_rows(1, format_args!("select min(region),max(region) from bench1"))?;
        session.run_for_rows(1, format_args!("select min(rev_idn) from bench1 where region='{r}'"))?;
        session.run_for_rows(1, format_args!("select max(grp) from bench1 where region='{r}'"))?;
        session.run_for_rows(1, format_args!("select max(idn) from bench1 where region='{r}' and grp={g}"))?;
        session.run_for_rows(1, format_args!("select max(region) from bench1 where region<'{r}'"))
    })?;
    let of_region = |value: fn(&Row) -> u64| data.rows().iter().filter(|row| row.region == 'B').map(value);
    let (least, greatest) = (of_region(|row| row.reverse_id).min(), of_region(|row| row.group).max());
    let values = [least, greatest].map(|value| value.expect("some rows have the second letter"));
    bench.verify("min_max_on_key", "select min(rev_idn),max(grp) from bench1 where region='B'", &values)
}

fn count_on_key(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let loops = data.count();
    let counts = data.key_counts();
    bench.time(Operation::reads("count_on_key", 5 * loops, loops).limited(), |session, i| {
        let (row, [equal, both, above, up_to, partly]) = (data.row(i), counts[i as usize]);
        let (r, g) = (row.region, row.group);
        let mut count = |rows, condition: fmt::Arguments<'_>| {
            session.run_for_values(&[rows], format_args!("select count(*) from bench1 where {condition}"))
        };
        count(equal, format_args!("region='{r}'"))?;
        count(both, format_args!("region='{r}' and grp={g}"))?;
        count(above, format_args!("region>'{r}'"))?;
        count(up_to, format_args!("region<='{r}'"))?;
        count(partly, format_args!("region='{r}' and grp>{g}"))
    })
}

fn counts(bench: &mut Bench, data: &Data, medium: u64) -> Result<(), Stop> {
    let (rows, groups) = (data.count(), data.groups());
    let values = |bench: &mut Bench, name, values: &[u64], what: &str| {
        bench.time(Operation::reads(name, medium, medium).limited(), |session, _| {
            session.run_for_values(values, format_args!("select {what} from bench1"))
        })
    };
    let grouped = |bench: &mut Bench, operation: Operation, rows, what: &str, by: &str| {
        bench.time(operation, |session, _| {
            session.run_for_rows(rows, format_args!("select {by},{what} from bench1 group by {by}"))
        })
    };
    let reads = |name| Operation::reads(name, medium, medium);
    grouped(bench, reads("count_group_on_key_parts"), groups, "count(*)", "grp")?;
    values(bench, "count_distinct_key_prefix", &[REGIONS], "count(distinct region)")?;
    values(bench, "count_distinct", &[groups], "count(distinct grp)")?;
    values(bench, "count_distinct_2", &[groups, rows], "count(distinct grp),count(distinct rev_idn)")?;
    let limited = |name| reads(name).limited();
    grouped(bench, limited("count_distinct_group_on_key"), REGIONS, "count(distinct idn)", "region")?;
    grouped(bench, limited("count_distinct_group_on_key_parts"), groups, "count(distinct idn)", "grp")?;
    grouped(bench, limited("count_distinct_group"), groups, "count(distinct rev_idn)", "grp")?;
    let big = Operation::reads("count_distinct_big", medium / 10, medium / 10).limited();
    grouped(bench, big, rows, "count(distinct region)", "idn")
}
