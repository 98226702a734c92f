//! The population against clause 4.3.3, without a server. One warehouse has enough rows for that.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use driver::Dialect;

use super::super::schema;
use super::*;

const SEED: u64 = 5;

fn tpcc(warehouses: i64) -> Tpcc {
    let given = [("warehouses".to_owned(), load::OptionValue::Number(warehouses))].into();
    Tpcc::new(&load::Options::new(super::super::options::OPTIONS, &given).unwrap()).unwrap()
}

fn index(relation: Relation) -> usize {
    RELATIONS.iter().position(|known| *known == relation).unwrap()
}

/// Shows every row of a table of one warehouse.
fn each_row(relation: Relation, on_row: &mut dyn FnMut(&[Value<'_>])) {
    let tpcc = tpcc(1);
    let units = schema::tables(&tpcc, Dialect::MySql)[index(relation)].units;
    (0..units).for_each(|unit| unit_rows(&tpcc, relation, unit, on_row));
}

fn unit_rows(tpcc: &Tpcc, relation: Relation, unit: u64, on_row: &mut dyn FnMut(&[Value<'_>])) {
    let mut sink = |row: &[Value<'_>]| {
        on_row(row);
        Ok(())
    };
    rows(tpcc, SEED, index(relation), unit, &mut sink).unwrap();
}

fn number(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(number) | Value::Decimal { units: number, .. } => *number,
        other => panic!("no number: {other:?}"),
    }
}

fn text<'a>(value: &Value<'a>) -> &'a [u8] {
    match value {
        Value::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

/// How often each value came.
type Seen = BTreeMap<i64, u64>;

fn note(seen: &mut Seen, value: i64) {
    *seen.entry(value).or_default() += 1;
}

#[track_caller]
fn expect_all_of(seen: &Seen, range: std::ops::RangeInclusive<i64>) {
    assert!(seen.keys().copied().eq(range.clone()), "{range:?} and {:?}", seen.keys().collect::<Vec<_>>());
}

#[track_caller]
fn expect_share(part: u64, whole: u64, expected: f64, tolerance: f64) {
    let share = part as f64 / whole as f64;
    assert!((share - expected).abs() < tolerance, "{share} and not {expected} +- {tolerance}");
}

/// Whether nothing but letters and digits is there, and all of those.
fn expect_alphabet(seen: &HashSet<u8>) {
    let alphabet: HashSet<u8> = (b'0'..=b'9').chain(b'a'..=b'z').chain(b'A'..=b'Z').collect();
    assert_eq!(*seen, alphabet);
}

fn has_original(text: &[u8]) -> bool {
    text.windows(8).any(|window| window == b"ORIGINAL")
}

#[test]
fn every_table_has_its_rows_and_all_columns_of_each_dialect() {
    let tpcc = tpcc(1);
    for (relation, expected) in [
        (Relation::Warehouse, 1),
        (Relation::District, 10),
        (Relation::Customer, 30_000),
        (Relation::Orders, 30_000),
        (Relation::History, 30_000),
        (Relation::NewOrder, 9_000),
        (Relation::Stock, 100_000),
        (Relation::Item, 100_000),
        (Relation::Meta, 1),
    ] {
        let (mut count, mut columns) = (0, BTreeSet::new());
        each_row(relation, &mut |row| {
            count += 1;
            columns.insert(row.len());
        });
        for dialect in [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite] {
            let table = &schema::tables(&tpcc, dialect)[index(relation)];
            assert_eq!((table.rows, count), (expected, expected), "{}", table.name);
            assert!(columns.iter().eq([&table.columns.len()]), "{}: {columns:?}", table.name);
        }
    }
}

#[test]
fn orders_have_five_to_fifteen_lines_and_each_customer_of_a_district_once() {
    let (mut counts, mut carriers, mut districts) = (Seen::new(), Seen::new(), BTreeMap::<_, Vec<_>>::new());
    each_row(Relation::Orders, &mut |row| {
        let [o, d, w, c] = [0, 1, 2, 3].map(|at| number(&row[at]));
        assert_eq!((w, number(&row[7]), row.len()), (1, 1, 8));
        let orders = districts.entry(d).or_default();
        orders.push(c);
        assert_eq!(o, orders.len() as i64, "orders come by their ids");
        match row[5] {
            Value::Null => assert!(o >= 2101),
            carrier => {
                assert!(o < 2101);
                note(&mut carriers, number(&carrier));
            }
        }
        note(&mut counts, number(&row[6]));
    });
    expect_all_of(&counts, 5..=15);
    let expected = 30_000.0 / 11.0;
    let chi_square: f64 = counts.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    assert!(chi_square < 29.59, "chi-square {chi_square} with 10 degrees of freedom, 0.1 % point 29.59");
    expect_all_of(&carriers, 1..=10);
    assert_eq!(districts.len(), 10);
    assert_eq!(districts.values().collect::<HashSet<_>>().len(), 10, "each district has an order of its own");
    for customers in districts.values_mut() {
        assert!(!customers.is_sorted());
        customers.sort_unstable();
        assert!(customers.iter().copied().eq(1..=3000));
    }
}

#[test]
fn lines_are_those_of_their_orders_and_only_undelivered_ones_have_an_amount() {
    let mut expected = BTreeMap::new();
    each_row(Relation::Orders, &mut |row| {
        expected.insert((number(&row[1]), number(&row[0])), number(&row[6]));
    });
    let (mut lines, mut amounts, mut items) = (BTreeMap::new(), BTreeSet::new(), HashSet::new());
    each_row(Relation::OrderLine, &mut |row| {
        let [o, d, w, line, item, supply_w] = [0, 1, 2, 3, 4, 5].map(|at| number(&row[at]));
        let count = lines.entry((d, o)).or_insert(0);
        *count += 1;
        assert_eq!((w, supply_w, line, number(&row[7])), (1, 1, *count, 5));
        assert_eq!((number(&row[8]) == 0, row[6] != Value::Null), (o < 2101, o < 2101), "order {o}");
        amounts.insert(number(&row[8]));
        items.insert(item);
        assert_eq!(text(&row[9]).len(), 24);
    });
    assert_eq!(lines, expected);
    let total: i64 = lines.values().sum();
    assert!((total - 300_000).abs() < 2_750, "{total} lines");
    assert!(amounts.range(1..).next().is_some_and(|least| (1..100).contains(least)), "about 90,000 draws");
    assert!(amounts.last().is_some_and(|most| (999_900..=999_999).contains(most)));
    assert!(items.iter().all(|item| (1..=ITEMS).contains(item)) && items.len() > 90_000, "{} items", items.len());
}

#[test]
fn customers_have_every_last_name_and_one_in_ten_bad_credit() {
    let (mut bad, mut discounts, mut names) = (0, Seen::new(), BTreeMap::<_, HashSet<Vec<u8>>>::new());
    let (mut firsts, mut streets, mut datas, mut letters) = (Seen::new(), Seen::new(), Seen::new(), HashSet::new());
    each_row(Relation::Customer, &mut |row| {
        let [c, d, w] = [0, 1, 2].map(|at| number(&row[at]));
        assert_eq!(w, 1);
        if c <= 1000 {
            assert_eq!(text(&row[5]), LastName::of(c - 1).as_bytes());
        }
        names.entry(d).or_default().insert(text(&row[5]).to_vec());
        note(&mut firsts, text(&row[3]).len() as i64);
        [6, 7, 8].iter().for_each(|at| note(&mut streets, text(&row[*at]).len() as i64));
        assert!(text(&row[9]).iter().all(u8::is_ascii_uppercase) && text(&row[9]).len() == 2);
        expect_zip(text(&row[10]));
        assert!(text(&row[11]).iter().all(u8::is_ascii_digit) && text(&row[11]).len() == 16);
        bad += u64::from(text(&row[13]) == b"BC");
        note(&mut discounts, number(&row[15]));
        assert_eq!([14, 16, 17, 18, 19].map(|at| number(&row[at])), [5_000_000, -1_000, 1_000, 1, 0]);
        note(&mut datas, text(&row[20]).len() as i64);
        letters.extend(text(&row[20]));
    });
    assert!(names.len() == 10 && names.values().all(|names| names.len() == 1000));
    expect_share(bad, 30_000, 0.1, 0.009);
    expect_all_of(&firsts, 8..=16);
    expect_all_of(&streets, 10..=20);
    expect_all_of(&datas, 300..=500);
    expect_alphabet(&letters);
    let (least, most) = (*discounts.keys().next().unwrap(), *discounts.keys().last().unwrap());
    assert!((0..10).contains(&least) && (4_990..=5_000).contains(&most), "discounts {least} to {most}");
}

#[track_caller]
fn expect_zip(zip: &[u8]) {
    assert!(zip.len() == 9 && zip.ends_with(b"11111") && zip.iter().all(u8::is_ascii_digit), "{zip:?}");
}

/// Names that come often while loading are those that C for loading makes so.
#[test]
fn last_names_behind_the_first_thousand_follow_nurand() {
    let mut counts = BTreeMap::<Vec<u8>, u64>::new();
    each_row(Relation::Customer, &mut |row| {
        if number(&row[0]) > LAST_NAMES {
            *counts.entry(text(&row[5]).to_vec()).or_default() += 1;
        }
    });
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    expect_share(counts[0], 20_000, 0.02563, 0.004);
    expect_share(counts[..100].iter().sum(), 20_000, 0.542, 0.02);
}

#[test]
fn stocks_and_items_are_original_in_one_of_ten() {
    let (mut quantities, mut datas, mut original, mut letters) = (Seen::new(), Seen::new(), 0, HashSet::new());
    each_row(Relation::Stock, &mut |row| {
        assert_eq!((number(&row[1]), [13, 14, 15].map(|at| number(&row[at]))), (1, [0, 0, 0]));
        note(&mut quantities, number(&row[2]));
        assert!(row[3..13].iter().all(|info| text(info).len() == 24));
        letters.extend(text(&row[12]));
        note(&mut datas, text(&row[16]).len() as i64);
        original += u64::from(has_original(text(&row[16])));
    });
    expect_all_of(&quantities, 10..=100);
    expect_all_of(&datas, 26..=50);
    expect_share(original, 100_000, 0.1, 0.005);
    expect_alphabet(&letters);

    let (mut names, mut prices, mut images, mut original) = (Seen::new(), Seen::new(), Seen::new(), 0);
    each_row(Relation::Item, &mut |row| {
        note(&mut images, number(&row[1]));
        note(&mut names, text(&row[2]).len() as i64);
        note(&mut prices, number(&row[3]));
        original += u64::from(has_original(text(&row[4])));
    });
    expect_all_of(&names, 14..=24);
    expect_share(original, 100_000, 0.1, 0.005);
    // Ten draws for each value: a handful may be missing.
    assert!(prices.keys().all(|price| (100..=10_000).contains(price)) && prices.len() > 9_880, "{}", prices.len());
    assert!(images.keys().all(|image| (1..=10_000).contains(image)) && images.len() > 9_980, "{}", images.len());
}

#[test]
fn the_mark_stands_anywhere_in_the_data_of_an_item() {
    let mut rng = Rng::stream(SEED, 0, 0);
    let (mut starts, mut ends) = (Seen::new(), Seen::new());
    for _ in 0..100_000 {
        let data = data(&mut rng);
        let text = data.as_bytes();
        if let Some(start) = text.windows(8).position(|window| window == b"ORIGINAL") {
            note(&mut starts, start as i64);
            note(&mut ends, (text.len() - start - 8) as i64);
        }
    }
    expect_all_of(&starts, 0..=42);
    expect_all_of(&ends, 0..=42);
}

#[test]
fn the_money_of_warehouses_districts_customers_and_history_adds_up() {
    let sum = |relation, column: usize| {
        let mut sum = 0;
        each_row(relation, &mut |row| sum += number(&row[column]));
        sum
    };
    let (warehouses, districts) = (sum(Relation::Warehouse, 8), sum(Relation::District, 9));
    assert_eq!([warehouses, districts, sum(Relation::History, 6)], [30_000_000; 3]);
    assert_eq!(sum(Relation::Customer, 16), -30_000_000);
}

#[test]
fn taxes_reach_from_nothing_to_a_fifth() {
    let tpcc = tpcc(1000);
    let mut taxes = Seen::new();
    (0..10_000).for_each(|unit| {
        unit_rows(&tpcc, Relation::District, unit, &mut |row| {
            assert_eq!([number(&row[1]), number(&row[0])], [unit as i64 / 10 + 1, unit as i64 % 10 + 1]);
            assert_eq!(number(&row[10]), 3001);
            expect_zip(text(&row[7]));
            note(&mut taxes, number(&row[8]));
        });
    });
    let (least, most) = (*taxes.keys().next().unwrap(), *taxes.keys().last().unwrap());
    assert!((0..5).contains(&least) && (1_996..=2_000).contains(&most), "taxes {least} to {most}");
}

#[test]
fn a_unit_is_the_same_whoever_draws_it_and_however_many_there_are() {
    let digest = |tpcc: &Tpcc, relation, unit| {
        let mut rows_text = String::new();
        unit_rows(tpcc, relation, unit, &mut |row| rows_text.push_str(&format!("{row:?}")));
        rows_text
    };
    let (few, many) = (tpcc(2), tpcc(700));
    for relation in RELATIONS.into_iter().filter(|relation| *relation != Relation::Meta) {
        let (first, second) = (digest(&few, relation, 0), digest(&few, relation, 1));
        assert_eq!([digest(&many, relation, 1), digest(&many, relation, 0)], [second.clone(), first.clone()]);
        assert_ne!(first, second);
    }
}
